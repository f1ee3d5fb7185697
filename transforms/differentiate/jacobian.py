"""Whole Jacobians: a program that runs the tangents or adjoints of another once for every column or row.

    forward     inputs as lanes, 64 at a time: the program runs with a tangent for each, J[:, c:c + 64] = y_dot
    reverse     the program runs once with its tape; for each output: its adjoint is 1, the pullback runs, J[r, :] = x_bar
    few rows    outputs of which there are few, and known how many: lanes of one reverse sweep, which shares its values

A block J of result `y` and parameter `x` has the shape of `y`, then that of `x`.
"""

from __future__ import annotations

from dataclasses import replace

from ..language.build import Builder, integer, loops, place_of, product
from ..language.core import Arr, Const, Function, Var, defined, is_float
from ..language.draws import generators_of, has_draws, kept_state, restore_state, save_state
from ..language.facts import Facts
from ..language.motion import facts_of
from ..language.queries import is_check, is_size, operation
from ..language.substitution import substitute
from .forward import Forward, forward, live_in
from .reverse import linked, reverse
from .seeds import elements_of
from .split import copy_into, split
from .tangents import Lanes

LANES = 64              # tangents side by side, at most
FEW = 8                 # results that are lanes of one reverse sweep, at most


def shape_of(x) -> tuple:
    return x.shape if isinstance(x, Arr) else ()


def results_of(function: Function) -> list:
    """The results that have derivatives, each once."""
    return [r for r in function.returns if is_float(r)]


def count_known(function: Function) -> int | None:
    """How many numbers the results hold; None if that depends on the arguments."""
    sizes = [s for r in results_of(function) for s in shape_of(r)]
    if not all(isinstance(s, Const) for s in sizes):
        return None
    return len(elements_of(function))


def outside(function: Function, atoms) -> list | None:
    """The statements at the top of the program that settle sizes: what the integers `atoms` need, reading the sizes of
    parameters, and every check of such integers. None if an atom needs more than that."""
    home = {v: s for s in function.body for v in defined(s)}
    known = {p for p in function.params if isinstance(p, Var) and not is_float(p)}
    checks = []
    for s in function.body:
        if operation(s) not in ("", "wrap_index") and not is_float(s.var):
            if s.args[0] in function.params if is_size(s) else all(isinstance(a, Const) or a in known for a in s.args):
                known.add(s.var)
        elif is_check(s) and all(isinstance(a, Const) or a in known for a in (s.cond, *s.parts)):
            checks.append(s)
    if not all(isinstance(a, Const) or a in known for a in atoms):
        return None
    needed: set = set(checks)
    waiting = [a for a in (*atoms, *(a for s in checks for a in (s.cond, *s.parts))) if a in home]
    while waiting:
        stmt = home[waiting.pop()]
        if stmt not in needed:
            needed.add(stmt)
            waiting += [a for a in stmt.args if a in home]
    return [s for s in function.body if s in needed]


def stacked(hint: str, r, p) -> Arr:
    """A block for result `r`: its shape, then that of `p`, a parameter or a number of columns."""
    columns = (p,) if isinstance(p, Const) or p.dtype == "int64" else shape_of(p)
    return Arr(hint, r.dtype, (*shape_of(r), *columns), "a block of the Jacobian")


def by_columns(function: Function, wanted, registry, name: str) -> Function | None:
    """The Jacobian in forward mode; None where a result's size is known only when the program has run.

    Returns the blocks of the first result with respect to each of `wanted`, then those of the second, and so on.
    """
    function = linked(function, wanted, registry)
    if len(wanted) == 1 and isinstance(wanted[0], Var):
        return one_column(function, wanted, registry, name)
    results = results_of(function)
    shapes = outside(function, [s for x in (*results, *wanted) for s in shape_of(x)])
    if shapes is None:
        return None
    head = [s for s in function.body if s in shapes or (
        is_size(s) and s.args[0] in function.params)]
    facts = facts_of(replace(function, body=tuple(head)))       # not what later checks will have made sure of
    b = Builder(facts)
    for s in head:
        b.add(s)
    starts, total = [], integer(0)
    for p in wanted:
        starts.append(total)
        total = b.iadd(total, product(b, shape_of(p)))
    once = isinstance(total, Const) and total.value <= LANES
    lanes = Lanes(total if once else b.imin(total, LANES))
    sweep = Forward(facts, live_in(function, wanted, registry), registry, lanes)
    for p in function.params:
        if p in wanted or p in sweep.live:
            b.make(lanes.given(p), Const(0.0, p.dtype))
    flat = [None if once and isinstance(r, Arr) else stacked("J", r, total) for r in results]
    for block in filter(None, flat):
        b.make(block, Const(0.0, block.dtype))

    drawn = [] if once or not has_draws(function.body) else [(g, kept_state(g)) for g in generators_of(function)]
    for g, state in drawn:                                  # all tangents are those of one run
        b.make(state)
        save_state(b, g, state)

    def run(at: Builder, first) -> None:
        for g, state in drawn:
            restore_state(at, g, state)
        seeds(at, lanes, wanted, starts, first)
        copies = {}
        for p in sorted(function.copied, key=function.params.index) if not once else ():
            copies[p] = at.make(Arr(p.hint, p.dtype, p.shape))
            copy_into(at, copies[p], p)
        sweep.b = at
        body = sweep.block(tuple(s for s in function.body if s not in head))
        at.stmts.extend(substitute(body, copies, fresh=False) if copies else body)
        for r, block in zip(results, flat, strict=True):
            dot = lanes.dots.get(r)
            if block is not None and dot is not None:
                last = at.imin(at.iadd(first, lanes.count), total)
                loops(at, shape_of(r), lambda bb, i, block=block, dot=dot, last=last: columns(
                    bb, block, dot, i, first, last))
    if once:
        run(b, integer(0))
    else:
        first = b.index("c", integer(0), total)
        inner = b.child(loop=True)
        run(inner, first)
        last = b.imax(total, 1) if drawn else total             # what draws runs once at least
        b.repeat(first, 0, last, inner.block(), LANES, origin="array")
    blocks = [lanes.result(r) if block is None else block for r, block in zip(results, flat, strict=True)]
    returns = [apart(b, block, r, p, start) if len(wanted) > 1 or len(shape_of(p)) != 1 else block
               for r, block in zip(results, blocks, strict=True) for p, start in zip(wanted, starts, strict=True)]
    return replace(function, name=name, body=b.block(), returns=tuple(returns),
                   copied=function.copied if once else frozenset())


def one_column(function: Function, wanted, registry, name: str) -> Function:
    """The derivative with respect to one number: its tangent is 1, and there are no lanes."""
    made = forward(function, facts_of(function), wanted, registry, False, name)
    one = {made.params[-1]: Const(1.0, wanted[0].dtype)}
    return replace(made, params=function.params, body=substitute(made.body, one, fresh=False),
                   returns=tuple(one.get(r, r) for r in made.returns))


def seeds(b: Builder, lanes: Lanes, wanted, starts, first) -> None:
    """Lane l of the tangents: the direction of input number first + l."""
    whole = first == integer(0)
    for p, start in zip(wanted, starts, strict=True):
        dot = lanes.dots[p]
        if not whole:
            loops(b, dot.shape, lambda bb, i, dot=dot: bb.store(dot, i, Const(0.0, dot.dtype)))

        def one(bb: Builder, index, p=p, dot=dot, start=start):
            lane = bb.isub(bb.iadd(start, place_of(bb, index, shape_of(p))), first)
            at = bb if whole else bb.child()
            at.store(dot, (*index, lane), Const(1.0, dot.dtype))
            if not whole:
                inside = bb.let("and", bb.compare("ge", lane, integer(0)), bb.compare("lt", lane, lanes.count), dtype="bool")
                bb.branch(inside, at.block())
        loops(b, shape_of(p), one)


def columns(b: Builder, block: Arr, dot: Arr, index, first, last) -> None:
    """Lanes of one element of a result into its row."""
    j = b.index("j", first, last)
    inner = b.child(loop=True)
    inner.store(block, (*index, j), inner.load(dot, (*index, inner.isub(j, first))))
    b.forget(block)
    b.repeat(j, first, last, inner.block(), origin="array")


def apart(b: Builder, block: Arr, r, p, start):
    """The columns of one parameter, in its shape."""
    if not shape_of(r) and not shape_of(p):
        return b.load(block, (start,), "J")
    out = b.make(stacked("J", r, p))
    loops(b, shape_of(r), lambda bb, i: loops(bb, shape_of(p), lambda bbb, k: bbb.store(
        out, (*i, *k), bbb.load(block, (*i, bbb.iadd(start, place_of(bbb, k, shape_of(p))))))))
    return out


def indices(shape):
    """Every index of a constant shape, in order."""
    found: list = [()]
    for s in shape:
        found = [(*i, k) for i in found for k in range(s.value)]
    return found


def by_rows(function: Function, facts: Facts, wanted, registry, name: str) -> Function:
    """The Jacobian in reverse mode, with the results of `by_columns`."""
    results = results_of(function)
    count = count_known(function)
    if count is not None and count <= FEW:
        return by_lanes(function, facts, wanted, registry, name)
    made, _, forward_size = reverse(function, facts, wanted, registry, True, name, "given")
    first, back = split(made, forward_size, len(function.params), len(function.returns), name)
    seeds = back.params[len(back.params) - len(results):]
    b = Builder(facts)
    b.stmts.extend(first.body)
    for s in seeds:
        if isinstance(s, Arr):
            b.make(s, Const(0.0, s.dtype))
    returns: list = []
    for k, r in enumerate(results):
        targets = [b.make(stacked("J", r, p)) if shape_of(r) or isinstance(p, Arr) else None for p in wanted]

        def row(at: Builder, index, k=k, targets=targets):
            mapping: dict = {s: Const(1.0 if j == k else 0.0, s.dtype) for j, s in enumerate(seeds) if isinstance(s, Var)}
            if isinstance(seeds[k], Arr):
                at.store(seeds[k], index, Const(1.0, seeds[k].dtype))
            at.stmts.extend(substitute(back.body, mapping))
            found = []
            for p, t, bar in zip(wanted, targets, back.returns, strict=True):
                bar = mapping.get(bar, bar)
                found.append(bar if t is None else t)
                if t is not None:
                    loops(at, shape_of(p), lambda bb, i, t=t, bar=bar: bb.store(
                        t, (*index, *i), bb.load(bar, i) if isinstance(bar, Arr) else bar))
            if isinstance(seeds[k], Arr):
                at.store(seeds[k], index, Const(0.0, seeds[k].dtype))
            return found
        if shape_of(r):
            loops(b, r.shape, row)
            returns += targets
        else:
            returns += row(b, ())
    return replace(function, name=name, body=b.block(), returns=tuple(returns), copied=first.copied)


def by_lanes(function: Function, facts: Facts, wanted, registry, name: str) -> Function:
    """The Jacobian of few results: every element a lane of one reverse sweep."""
    made, _, _ = reverse(function, facts, wanted, registry, False, name, "each")
    b = Builder(facts)
    b.stmts.extend(made.body)
    bars = iter([made.returns[k:k + len(wanted)] for k in range(0, len(made.returns), len(wanted))])
    returns: list = []
    for r in results_of(function):
        if not shape_of(r):
            returns += next(bars)
            continue
        targets = [b.make(stacked("J", r, p)) for p in wanted]
        for place in indices(shape_of(r)):
            index = tuple(map(integer, place))
            for p, t, bar in zip(wanted, targets, next(bars), strict=True):
                loops(b, shape_of(p), lambda bb, i, t=t, bar=bar, index=index: bb.store(
                    t, (*index, *i), bb.load(bar, i) if isinstance(bar, Arr) else bar))
        returns += targets
    return replace(made, body=b.block(), returns=tuple(returns))


__all__ = ["by_columns", "by_rows", "count_known", "outside", "results_of"]
