"""The reverse of library calls: the statements of their rule, with operands and adjoints in the rule's places."""

from __future__ import annotations

from ..language import core
from ..language.build import loops
from ..language.core import Arr, NoCotangent, Ref, Var, array_of
from ..language.draws import is_draw
from ..language.errors import InternalError
from ..language.substitution import placed, substitute
from ..language.units import unit_of
from .units import pullback


def reverse_call(sweep, stmt) -> None:
    sweep.scope.inside = True               # what the call overwrote is put back last
    for lane in sweep.each_lane():
        if any(array_of(o) in sweep.live[lane] for o in stmt.outs):
            sweep.comment(stmt)
            if is_draw(stmt):
                clear_outs(sweep, stmt)         # what was drawn over
            else:
                pull_call(sweep, stmt)
    sweep.scope.inside = False
    if stmt in sweep.plan.saves:
        for out in stmt.outs:
            if not isinstance(out, Var):
                sweep.plan.restore_array(stmt, array_of(out), sweep)


def pull_call(sweep, stmt) -> None:
    b = sweep.scope.b
    mask = tuple(array_of(a) in sweep.live[sweep.lane] for a in stmt.args)
    rule = rule_of(sweep, stmt, mask)
    if rule is None:
        raise InternalError(f"the function `{stmt.op}` has no derivative rule", stmt.loc)
    mapping: dict = {}
    sizes = sweep.order.equal_sizes(stmt)
    for out, out_bar, out_value in zip(stmt.outs, rule.out_bars, rule.outs, strict=True):
        if out_bar is None:
            continue
        if isinstance(out, Var):
            g = sweep.take_bar(out)
            mapping[out_bar] = g if g is not None else NoCotangent(out.dtype)
            if out_value in rule.used:
                mapping[out_value] = sweep.need(out)
            continue
        if array_of(out) not in sweep.live[sweep.lane]:         # another result of the call is
            a = array_of(out)
            shape = tuple(map(sweep.need, a.shape))
            bar = sweep.bar_of[sweep.lane, a] = Arr(sweep.bar_hint(a), a.dtype, shape, core.ADJOINT)
            b.add(core.Alloc(bar, NoCotangent(a.dtype)))
        bind_array(sweep, mapping, sizes, out_bar, as_ref(sweep, out), sweep.bar(array_of(out)))
        if out_value in rule.used:
            sweep.plan.read(array_of(out), stmt, None, after=True)
            bind_primal(sweep, mapping, sizes, out_value, out)
        elif set(out_value.shape) & rule.used:
            bind_shape(sweep, mapping, sizes, out_value, as_ref(sweep, out))
    for arg, value, arg_bar in zip(stmt.args, rule.args, rule.arg_bars, strict=True):
        if isinstance(arg, Ref):
            if value in rule.used or set(value.shape) & rule.used:
                if value in rule.used:
                    sweep.plan.read(arg.array, stmt, None)
                bind_primal(sweep, mapping, sizes, value, arg)
            if arg_bar is not None:
                bind_array(sweep, mapping, sizes, arg_bar, as_ref(sweep, arg), sweep.bar(arg.array))
        elif value in rule.used:
            mapping[value] = sweep.need(arg)
    b.stmts.extend(placed(substitute(rule.body, mapping), stmt.loc))
    for arg, result in zip(stmt.args, rule.scalar_bars, strict=True):
        if result is not None:
            sweep.add_bar(arg, mapping.get(result, result))
    for a in core.written(rule.body):
        target = mapping.get(a)
        if isinstance(target, Ref):
            b.forget(target.array)
    clear_outs(sweep, stmt)


def rule_of(sweep, stmt, mask: tuple):
    unit = unit_of(stmt)
    if unit is None:
        return sweep.registry.pullback(stmt.op, tuple(map(kind_of, stmt.outs)), tuple(map(kind_of, stmt.args)), mask,
                                       stmt.static)
    live = sweep.live[sweep.lane]
    return pullback(unit, tuple(k for k, out in enumerate(stmt.outs) if array_of(out) in live),
                    tuple(k for k, on in enumerate(mask) if on), sweep.registry, sweep.reversed)


def clear_outs(sweep, stmt) -> None:
    """The adjoints of what a call fills are zero before it, where an earlier statement may add to them."""
    for out in stmt.outs:
        if not isinstance(out, Var) and array_of(out) in sweep.live[sweep.lane] and sweep.order.touched_before(
                array_of(out), stmt, sweep.active):
            clear(sweep, out)


def as_ref(sweep, r):
    if isinstance(r, Arr):
        return Ref(r)
    return Ref(r.array, tuple(sweep.need(p) for p in r.prefix), r.transposed)


def bind_array(sweep, mapping, sizes, param: Arr, where: Ref, target: Arr) -> None:
    mapping[param] = Ref(target, where.prefix, where.transposed)
    bind_shape(sweep, mapping, sizes, param, where)


def bind_primal(sweep, mapping, sizes, param: Arr, r) -> None:
    where = as_ref(sweep, r)
    found = sweep.plan.whole(where.array, where.prefix, sweep)
    mapping[param] = Ref(found.array, found.prefix, where.transposed)
    bind_shape(sweep, mapping, sizes, param, where)


def bind_shape(sweep, mapping, sizes, param: Arr, where: Ref) -> None:
    """The sizes of a parameter of a rule. sizes: what checks let them be called (`Order.equal_sizes`)."""
    for p, s in zip(param.shape, where.shape, strict=True):
        if isinstance(p, Var):
            mapping[p] = sweep.need(sizes.get(s, s))


def clear(sweep, out) -> None:
    """The adjoint of what a library call overwrote is zero before it."""
    where = as_ref(sweep, out)
    bar = sweep.bar(where.array)
    loops(sweep.scope.b, [sweep.need(s) for s in where.shape], lambda b, index: b.store(
        bar, where.prefix + index, NoCotangent(bar.dtype)))


def kind_of(x):
    """What a rule must know of an operand: rank and dtype, or just dtype for numbers."""
    if isinstance(x, (Ref, Arr)):
        return ("array", x.dtype, len(x.shape))
    return ("scalar", x.dtype)
