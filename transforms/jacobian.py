"""Whole Jacobians: a program that runs the tangents or adjoints of another once for every column or row.

    forward     for each input, a few at a time as lanes: its tangent is 1, the program runs with tangents, J[:, c] = y_dot
    reverse     the program runs once with its tape; for each output: its adjoint is 1, the pullback runs, J[r, :] = x_bar
    few rows    outputs of which there are few, and known how many: lanes of one reverse sweep, which shares its values

A block J of result `y` and parameter `x` has the shape of `y`, then that of `x`.
"""

from __future__ import annotations

import math
from dataclasses import replace

from .build import Builder, Facts, integer, loops
from .core import Alloc, Arr, Const, For, Function, If, Let, Store, Var, defined, is_float
from .forward import forward
from .reverse import elements_of, reverse
from .simplify import resolve_links
from .split import copy_into, split
from .substitution import substitute

LANES = 4               # tangents side by side: as many as a vector register holds
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
    """The statements at the top of the program that the integers `atoms` need, all pure; None if there are others."""
    home = {v: s for s in function.body for v in defined(s)}
    needed, waiting = set(), [a for a in atoms if isinstance(a, Var) and a not in function.params]
    while waiting:
        stmt = home.get(waiting.pop())
        if not isinstance(stmt, Let):
            return None
        if stmt not in needed:
            needed.add(stmt)
            waiting += [a for a in stmt.args if isinstance(a, Var) and a not in function.params]
    return [s for s in function.body if s in needed]


def stacked(hint: str, r, p, shape=None) -> Arr:
    return Arr(hint, p.dtype, (*(shape_of(r) if shape is None else shape), *shape_of(p)), "a block of the Jacobian")


def by_columns(function: Function, facts: Facts, wanted, registry, name: str) -> Function | None:
    """The Jacobian in forward mode; None where a result's size is known only when the program has run.

    Returns the blocks of the first result with respect to each of `wanted`, then those of the second, and so on.
    """
    results = results_of(function)
    head = outside(function, [s for x in (*results, *wanted) for s in shape_of(x)])
    if head is None:
        return None
    sizes = [s for s in function.body if isinstance(s, Let) and s.op == "dim" and s.args[0] in function.params]
    head = [s for s in function.body if s in {*head, *sizes}]
    rest = replace(function, body=tuple(s for s in function.body if s not in head))
    b = Builder(facts)
    for s in head:
        b.add(s)
    blocks: dict = {}
    for p in wanted:
        columns(b, rest, facts, p, registry, results, blocks)
    returns = tuple(blocks[k, p] for k in range(len(results)) for p in wanted)
    return replace(function, name=name, body=b.block(), returns=returns, copied=frozenset())


def columns(b: Builder, function: Function, facts, p, registry, results, blocks: dict) -> None:
    """Emit the runs for one parameter; `blocks[k, p]` becomes the block of result k."""
    shape = shape_of(p)
    known = math.prod(s.value for s in shape) if all(isinstance(s, Const) for s in shape) else None
    lanes = known if known is not None and 0 < known <= FEW else LANES if shape else 1
    pushed = forward(function, facts, [p], registry, False, "columns", lanes)
    tangents = pushed.params[len(function.params):]
    for k, r in enumerate(results):
        if shape or shape_of(r):
            blocks[k, p] = stacked("J", r, p)
            b.add(Alloc(blocks[k, p], Const(0.0, r.dtype)))
    if shape:
        for t in tangents:
            b.add(Alloc(t, Const(0.0, t.dtype)))

    def run(at: Builder, seeded) -> None:
        """One run of the program; seeded: for each lane the index of its column and whether it exists (None: yes)."""
        mapping = {} if shape else {tangents[0]: Const(1.0, p.dtype)}
        if shape:
            for t, (index, inside) in zip(tangents, seeded, strict=True):
                put(at, t, index, Const(1.0, t.dtype), inside)
        for a in sorted(pushed.copied, key=pushed.params.index):
            mapping[a] = Arr(a.hint, a.dtype, a.shape)
            at.add(Alloc(mapping[a]))
            copy_into(at, mapping[a], a)
        at.stmts.extend(substitute(pushed.body, mapping))
        dots = iter(mapping.get(x, x) for x in pushed.returns)
        for index, inside in seeded:
            for k, r in enumerate(results):
                dot = next(dots)
                if (k, p) not in blocks:
                    blocks[k, p] = dot
                    continue
                target = Builder(parent=at)
                loops(target, shape_of(r), lambda bb, i, k=k, dot=dot, index=index: bb.store(
                    blocks[k, p], (*i, *index), bb.load(dot, i) if isinstance(dot, Arr) else dot))
                at.stmts.extend(target.stmts if inside is None else [If(inside, target.block(), ())])
        if shape:
            for t, (index, inside) in zip(tangents, seeded, strict=True):
                put(at, t, index, Const(0.0, t.dtype), inside)

    if not shape or lanes == known:
        run(b, [(tuple(map(integer, index)), None) for index in indices(shape)])
        return

    def chunk(at: Builder, index) -> None:
        *front, c = index
        run(at, [((*front, at.iadd(c, lane)), at.compare("lt", at.iadd(c, lane), shape[-1]) if lane else None)
                 for lane in range(lanes)])
    strided(b, shape, lanes, chunk)


def indices(shape):
    """Every index of a constant shape, in order."""
    found: list = [()]
    for s in shape:
        found = [(*i, k) for i in found for k in range(s.value)]
    return found


def strided(b: Builder, shape, step: int, body, position: int = 0, index=()) -> None:
    """A loop nest over `shape` whose innermost loop goes in steps."""
    if position == len(shape):
        return body(b, index)
    by = step if position == len(shape) - 1 else 1
    i = b.index("ijkl"[position % 4] if by == 1 else "c", integer(0), shape[position])
    inner = b.child(loop=True)
    strided(inner, shape, step, body, position + 1, (*index, i))
    b.add(For(i, integer(0), shape[position], integer(by), (), inner.block(), origin="array"))
    return None


def put(b: Builder, array: Arr, index, value, inside) -> None:
    stmt = Store(array, index, value)
    b.forget(array)
    b.add(stmt if inside is None else If(inside, (stmt,), ()))


def by_rows(function: Function, facts: Facts, wanted, registry, name: str) -> Function:
    """The Jacobian in reverse mode, with the results of `by_columns`."""
    results = results_of(function)
    count = count_known(function)
    if count is not None and count <= FEW:
        return by_lanes(function, facts, wanted, registry, name)
    made, _, forward_size = reverse(function, facts, wanted, registry, True, name, "given")
    first, back = split(resolve_links(made), forward_size, len(function.params), len(function.returns), name)
    seeds = back.params[len(back.params) - len(results):]
    b = Builder(facts)
    b.stmts.extend(first.body)
    for s in seeds:
        if isinstance(s, Arr):
            b.add(Alloc(s, Const(0.0, s.dtype)))
    returns: list = []
    for k, r in enumerate(results):
        targets = [stacked("J", r, p) if shape_of(r) or isinstance(p, Arr) else None for p in wanted]
        for t in targets:
            if t is not None:
                b.add(Alloc(t))

        def row(at: Builder, index, k=k, targets=targets):
            mapping: dict = {s: Const(1.0 if j == k else 0.0, s.dtype) for j, s in enumerate(seeds) if isinstance(s, Var)}
            if isinstance(seeds[k], Arr):
                put(at, seeds[k], index, Const(1.0, seeds[k].dtype), None)
            at.stmts.extend(substitute(back.body, mapping))
            found = []
            for p, t, bar in zip(wanted, targets, back.returns, strict=True):
                bar = mapping.get(bar, bar)
                found.append(bar if t is None else t)
                if t is not None:
                    loops(at, shape_of(p), lambda bb, i, t=t, bar=bar: bb.store(
                        t, (*index, *i), bb.load(bar, i) if isinstance(bar, Arr) else bar))
            if isinstance(seeds[k], Arr):
                put(at, seeds[k], index, Const(0.0, seeds[k].dtype), None)
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
        targets = [stacked("J", r, p) for p in wanted]
        for t in targets:
            b.add(Alloc(t))
        for place in indices(shape_of(r)):
            index = tuple(map(integer, place))
            for p, t, bar in zip(wanted, targets, next(bars), strict=True):
                loops(b, shape_of(p), lambda bb, i, t=t, bar=bar, index=index: bb.store(
                    t, (*index, *i), bb.load(bar, i) if isinstance(bar, Arr) else bar))
        returns += targets
    return replace(made, body=b.block(), returns=tuple(returns))


__all__ = ["by_columns", "by_rows", "count_known", "outside", "results_of"]
