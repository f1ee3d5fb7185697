"""Activity: which scalars and buffers depend on an input wanted and influence an output (flow-insensitive fixpoints)."""

from __future__ import annotations

from collections.abc import Callable

from ..language import core
from ..language.core import Arr, Function, Var, array_of, is_float, walk
from ..language.draws import is_draw, refuse_active
from ..language.units import Unit, unit_of


def flows(function: Function, passes_through: Callable[[core.Let], tuple], inactive_calls=frozenset()):
    """Pairs (sources, targets): a derivative may flow from each source to each target, one pair a statement."""
    pairs: list[tuple[tuple, tuple]] = []
    for stmt in walk(function.body):
        match stmt:
            case core.Let(var=v):
                pairs.append((passes_through(stmt), (v,)))
            case core.Load(var=v, array=a):
                pairs.append(((a,), (v,)))
            case core.Store(array=a, value=v):
                pairs.append(((v,), (a,)))
            case core.For(carries=carries) | core.While(carries=carries):
                for c in carries:
                    pairs.append(((c.init, c.next), (c.var, c.result)))
            case core.If(merges=merges):
                for m in merges:
                    pairs.append(((m.then, m.orelse), (m.var,)))
            case core.Swap(targets=targets):
                pairs.append((targets, targets))
            case core.Call(outs=outs, args=args, op=op):
                unit = unit_of(stmt)
                if unit is not None:
                    for a, found in zip(args, reached_from(unit, passes_through, inactive_calls), strict=True):
                        pairs.append(((array_of(a),), tuple(array_of(outs[k]) for k in found)))
                elif op not in inactive_calls and not is_draw(stmt):
                    outs = tuple(array_of(o) for o in outs)
                    pairs.append((tuple(array_of(a) for a in args), outs))
    keep = lambda xs: tuple(x for x in xs if isinstance(x, (Var, Arr)) and is_float(x))  # noqa: E731
    return [(keep(s), keep(t)) for s, t in pairs]


def reached_from(unit: Unit, passes_through, inactive_calls) -> tuple:
    """For each parameter of a unit the places of the results to which a derivative may flow from it."""
    if "reached" not in unit.made:
        pairs = flows(unit.function, passes_through, inactive_calls)
        varied = (closure([p] if is_float(p) else [], pairs) for p in unit.function.params)
        unit.made["reached"] = tuple(tuple(k for k, r in enumerate(unit.function.returns) if r in v) for v in varied)
    return unit.made["reached"]


def closure(start, pairs) -> set:
    """Everything reachable from `start` through pairs (sources, targets)."""
    reached = set(start)
    following: dict = {}
    for sources, targets in pairs:
        for s in sources:
            following.setdefault(s, []).append(targets)
    waiting = list(reached)
    while waiting:
        for targets in following.get(waiting.pop(), ()):
            for t in targets:
                if t not in reached:
                    reached.add(t)
                    waiting.append(t)
    return reached


def active(function: Function, wanted, passes_through, inactive_calls=frozenset()) -> set:
    """Variables and buffers that are varied (depend on `wanted`) and useful (influence a returned value).

    NonDifferentiable where a random draw depends on `wanted` in a way that has no derivative.
    """
    pairs = flows(function, passes_through, inactive_calls)
    varied = closure([w for w in wanted if is_float(w)], pairs)
    refuse_active(function, varied)
    useful = closure([r for r in function.returns if isinstance(r, (Var, Arr)) and is_float(r)],
                     [(t, s) for s, t in pairs])
    return varied & useful
