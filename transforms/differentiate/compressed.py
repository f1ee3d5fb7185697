"""Products of a Jacobian with several given directions at once: the sweeps behind sparse Jacobians.

    by_lanes      y_dot[l, ...] = J x_dot[l, ...]       forward, the directions as lanes
    by_rows       x_bar[c, ...] = y_bar[c, ...] J       one forward sweep, then a pullback for each direction

With directions that are sums of unit vectors, one for each colour of a sparse structure, the products hold every entry.
"""

from __future__ import annotations

from dataclasses import replace

from ..language.build import Builder, integer, loops
from ..language.core import ADJOINT, Arr, Function, Resize, Swap, Var, array_of, operands, walk
from ..language.emit import Statements
from ..language.errors import InternalError
from ..language.facts import Facts
from ..language.motion import facts_of
from ..language.queries import is_access, is_allocation
from ..language.rewrite import top_down
from ..language.substitution import substitute
from .forward import Forward, forward, live_in
from .jacobian import results_of, shape_of
from .reverse import linked, reverse
from .split import split
from .tangents import Lanes, Scalars


def by_lanes(function: Function, wanted, registry, lanes: int, name: str) -> Function:
    """The program from the parameters and tangents of each of `wanted`, with one more, first axis of `lanes`, to the
    tangents of the results."""
    function = linked(function, wanted, registry)
    facts, live = facts_of(function), live_in(function, wanted, registry)
    apart = not any(isinstance(s, Resize) and s.array in live for s in walk(function.body))     # lists grow by first axis
    sweep = Forward(facts, live, registry, Scalars(lanes) if apart else Lanes(integer(lanes)))
    made = forward(function, facts, wanted, registry, False, name, sweep)
    return made if apart else lanes_first(made, (*made.params[len(function.params):], *made.returns))


def lanes_first(program: Function, arrays) -> Function:
    """The program with the last axis of `arrays` as their first one: what the user's loops run along is then contiguous."""
    together = set(arrays)
    swaps = [s for s in walk(program.body) if isinstance(s, Swap)]
    for _ in swaps:                             # what changes places has one layout
        for s in swaps:
            if together.intersection(s.targets):
                together.update(s.targets)
    moved = {a: Arr(a.hint, a.dtype, (a.shape[-1], *a.shape[:-1])) for a in together}
    def get(x):
        return moved.get(x, x)

    def turned(s):
        if is_access(s) and s.array in moved:
            return (replace(s, array=moved[s.array], index=(s.index[-1], *s.index[:-1])),)
        if is_allocation(s) and s.array in moved:
            return (replace(s, array=moved[s.array]),)
        if isinstance(s, Swap):
            return (replace(s, targets=tuple(map(get, s.targets)), sources=tuple(map(get, s.sources))),)
        if any(array_of(x) in moved for x in operands(s)):
            raise InternalError("the tangents of a result are more than elements", s.loc)
        return None
    return replace(program, params=tuple(map(get, program.params)), body=top_down(program.body, turned),
                   returns=tuple(map(get, program.returns)), copied=frozenset(map(get, program.copied)))


def by_rows(function: Function, facts: Facts, wanted, registry, name: str) -> Function:
    """The program from the parameters and cotangents of the results, each with one more, leading axis, to the cotangents
    of `wanted`."""
    made, _, forward_size = reverse(function, facts, wanted, registry, True, name, "given")
    first, back = split(made, forward_size, len(function.params), len(function.returns), name)
    results = results_of(function)
    bars = back.params[len(back.params) - len(results):]
    b = Builder(facts)
    b.stmts.extend(first.body)
    count = Var("count", "int64")
    seeds = tuple(Arr(f"{s.hint}_rows", s.dtype, (count, *shape_of(s))) for s in bars)
    head = Statements()
    head.size(count, seeds[0], 0)
    targets = [b.make(Arr(f"{p.hint}_bar", p.dtype, (count, *shape_of(p)), ADJOINT)) for p in wanted]
    row = b.index("c", integer(0), count)
    inner = b.child(loop=True)
    mapping: dict = {}
    for bar, seed in zip(bars, seeds, strict=True):
        if isinstance(bar, Var):
            mapping[bar] = inner.load(seed, (row,))
            continue
        inner.make(bar)
        loops(inner, bar.shape, lambda bb, i, bar=bar, seed=seed: bb.store(bar, i, bb.load(seed, (row, *i))))
    inner.stmts.extend(substitute(back.body, mapping))
    for p, t, bar in zip(wanted, targets, back.returns, strict=True):
        bar = mapping.get(bar, bar)
        loops(inner, shape_of(p), lambda bb, i, t=t, bar=bar: bb.store(
            t, (row, *i), bb.load(bar, i) if isinstance(bar, Arr) else bar))
    b.repeat(row, 0, count, inner.block(), origin="array")
    return replace(function, name=name, params=(*function.params, *seeds), body=(*head.stmts, *b.block()),
                   returns=tuple(targets), copied=first.copied, tape=())


__all__ = ["by_lanes", "by_rows"]
