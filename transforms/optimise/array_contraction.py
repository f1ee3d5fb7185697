"""Memory that need not be memory: buffers that one iteration fills and reads lose an axis, elements at fixed places
become scalars.

    e = empty(n)                          for i in range(n):
    for i in range(n):                        e = np.exp(x[i])
        e[i] = np.exp(x[i])    becomes        y[i] = e * e
        y[i] = e[i] * e[i]

    k = empty(2)                    return a * y, -y
    k[0] = a * y
    k[1] = -y            becomes
    return k[0], k[1]
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..language import core
from ..language.build import Builder, loops
from ..language.core import Arr, Carry, Const, Function, Merge, Ref, Var, array_of, operands, sub_blocks, walk
from ..language.draws import is_draw
from ..language.emit import Statements
from ..language.names import defined_in
from ..language.queries import is_access, is_allocation, is_branch, is_load, is_loop, is_range, is_store, operations, stores
from ..language.rewrite import without_operations
from ..language.substitution import renamed
from ..language.units import unit_of
from .joint import without_axis

MOST_CELLS = 32


class Use:
    """Where a buffer is allocated and touched: the blocks around, outermost first, as (statement, block) pairs."""

    def __init__(self):
        self.alloc: Any = None
        self.home: tuple = ()
        self.accesses: list = []        # (statement, path)
        self.fixed = False              # used as a whole, resized, swapped, or its size asked for


def uses_of(function: Function) -> dict[Arr, Use]:
    found: dict[Arr, Use] = {}

    def visit(block, path):
        for s in block:
            if is_allocation(s):
                use = found.setdefault(s.array, Use())
                use.fixed |= use.alloc is not None
                use.alloc, use.home = s, path
            elif is_access(s):
                found.setdefault(s.array, Use()).accesses.append((s, path))
            else:
                for x in operands(s):
                    if isinstance(x, Ref) and x.prefix:
                        found.setdefault(x.array, Use()).accesses.append((s, path))
                    elif isinstance(x, (Arr, Ref)):
                        found.setdefault(array_of(x), Use()).fixed = True
            for inner in sub_blocks(s):
                visit(inner, (*path, s))
    visit(function.body, ())
    for a in (*function.params, *function.returns):
        if isinstance(a, Arr):
            found.setdefault(a, Use()).fixed = True
    return found


def contract(function: Function, rows: dict | None = None) -> Function:
    """Drop axes that belong to one iteration, then turn elements at fixed places into scalars.

    `rows` gets, for every buffer that lost an axis, what is left of it.
    """
    rows = {} if rows is None else rows
    while True:
        made = drop_axis(function, rows)
        if made is None:
            break
        function = made
    return scalars(function)


# -- axes ---------------------------------------------------------------------------------------------------------
def drop_axis(function: Function, rows: dict) -> Function | None:
    """The program with the buffers allocated inside the loop whose index is an axis of theirs; None if there is none."""
    moved: dict = {}                # loop -> [(buffer, axis, row, its allocation)]
    for array, use in uses_of(function).items():
        if use.fixed or use.alloc is None or not use.accesses or not array.shape:
            continue
        depth = len(use.home)
        paths = {path[:depth + 1] for _, path in use.accesses}
        loop = next(iter(paths))[-1] if len(paths) == 1 and len(next(iter(paths))) > depth else None
        if not is_range(loop) or loop.exit is not None:
            continue
        axes = set(range(len(array.shape)))
        for s, _ in use.accesses:
            for index in indices(s, array):
                axes &= {k for k, i in enumerate(index) if i is loop.index}
        if axes and first_is_kept(array, use):
            axis = min(axes)
            shape = (*array.shape[:axis], *array.shape[axis + 1:])
            row = Arr(array.hint, array.dtype, shape, array.why)
            moved.setdefault(loop, []).append((array, axis, row, use.alloc))
            rows[array] = row
    if not moved:
        return None
    gone = {alloc for group in moved.values() for *_, alloc in group}

    def visit(block) -> tuple:
        out = []
        for s in block:
            if s in gone:
                continue
            if s in moved:
                body = visit(s.body)
                for array, axis, row, alloc in moved[s]:
                    body = (replace(alloc, array=row), *without_axis(body, array, axis, row))
                s = replace(s, body=body)
            else:
                s = core.with_blocks(s, visit)
            out.append(s)
        return tuple(out)
    return replace(function, body=visit(function.body))


def first_is_kept(array: Arr, use: Use) -> bool:
    """A library call needs memory: its operands keep one axis at least, with what it gets of them."""
    return all(is_access(s) or len(array.shape) > 1 for s, _ in use.accesses)


def indices(stmt, array: Arr):
    if is_access(stmt):
        yield stmt.index
    else:
        for x in operands(stmt):
            if isinstance(x, Ref) and x.array is array:
                yield x.prefix


# -- scalars ------------------------------------------------------------------------------------------------------
def scalars(function: Function) -> Function:
    """Buffers that are only touched at constant places become scalars, one for each place."""
    chosen: dict[Arr, dict] = {}
    for array, use in uses_of(function).items():
        if use.fixed or use.alloc is None:
            continue
        places = dict.fromkeys(s.index if is_access(s) else None for s, _ in use.accesses)
        if len(places) > MOST_CELLS or not all(
                place is not None and all(isinstance(i, Const) for i in place) for place in places):
            continue
        chosen[array] = {place: (array, place) for place in places}
    if not chosen:
        return function
    body, _ = Renaming(chosen).block(function.body, {})
    return renamed(function, *unlinked(body))


class Renaming:
    """Memory cells to values: a cell that a loop or branch writes is carried or merged there."""

    def __init__(self, chosen: dict):
        self.chosen = chosen

    def block(self, block, values: dict) -> tuple:
        """(statements, values of the cells after them)."""
        out, values = Statements(), dict(values)
        for s in block:
            if is_allocation(s) and s.array in self.chosen:
                a, start = s.array, s.fill
                if start is None:
                    start = Const({"bool": False, "int64": 0}.get(a.dtype, 0.0), a.dtype)
                values.update(dict.fromkeys(self.chosen[a].values(), start))
            elif is_load(s) and s.array in self.chosen:
                out.bind(s.var, "copy", values[s.array, s.index], loc=s.loc)
            elif is_store(s) and s.array in self.chosen:
                a, old, value = s.array, values[s.array, s.index], s.value
                if s.accumulate and not (isinstance(old, Const) and old.value == 0):
                    value = out.bind(Var(a.hint, a.dtype), "sum" if s.any_order else "add", old, value, loc=s.loc)
                values[a, s.index] = value
            else:
                out.add(self.loop(s, values) if is_loop(s) else self.branch(s, values) if is_branch(s) else s)
        return tuple(out.stmts), values

    def changed(self, blocks, values) -> list:
        """The cells with a value here that the blocks write."""
        found = {self.chosen[s.array][s.index] for block in blocks for s in stores(walk(block)) if s.array in self.chosen}
        return [cell for cell in values if cell in found]

    def loop(self, s, values: dict):
        cells = self.changed((s.body,), values)
        heads = {cell: Var(cell[0].hint, cell[0].dtype) for cell in cells}
        body, after = self.block(s.body, {**values, **heads})
        carries = []
        for cell in cells:
            result = Var(cell[0].hint, cell[0].dtype)
            carries.append(Carry(heads[cell], values[cell], after[cell], result))
            values[cell] = result
        return replace(s, body=body, carries=(*s.carries, *carries))

    def branch(self, s, values: dict):
        cells = self.changed((s.then, s.orelse), values)
        then, left = self.block(s.then, values)
        orelse, right = self.block(s.orelse, values)
        merges = []
        for cell in cells:
            var = Var(cell[0].hint, cell[0].dtype)
            merges.append(Merge(var, left[cell], right[cell]))
            values[cell] = var
        return replace(s, then=then, orelse=orelse, merges=(*s.merges, *merges))


def unlinked(block) -> tuple:
    """The block without the copies that loads became, and what takes the place of each."""
    links = {v: s.args[0] for v, s in operations(walk(block)).items() if s.op == "copy"}
    return without_operations(block, links), links


# -- allocations --------------------------------------------------------------------------------------------------
def hoist_allocations(function: Function, stay=lambda loop: False) -> Function:
    """Buffers of a loop whose size the loop does not change are allocated once, before it.

    stay: whether the buffers of a loop's own iterations stay in it, because several are to run at once.
    """
    return replace(function, body=hoisted(function.body, core.rebound(function.body), stay))


def hoisted(block, fixed: set, stay) -> tuple:
    out: list = []
    for s in block:
        made = core.with_blocks(s, lambda inner: hoisted(inner, fixed, stay))
        if is_loop(made):
            inside, own = defined_in((made,)), stay(s)
            kept: list = []
            drawn = {t.outs[0] for t in made.body if is_draw(t)}        # a draw makes its own array, units theirs
            drawn |= {x for t in made.body if unit_of(t) for x in t.outs}
            for t in made.body:
                if is_allocation(t) and t.array not in fixed | drawn and not inside & set(t.array.shape):
                    (kept if own else out).append(replace(t, fill=None))
                    kept.extend(() if t.fill is None else filled(t))
                else:
                    kept.append(t)
            made = replace(made, body=tuple(kept))
        out.append(made)
    return tuple(out)


def filled(alloc) -> list:
    """A nest that stores the initial value."""
    b = Builder()
    b.loc = alloc.loc
    loops(b, alloc.array.shape, lambda inner, index: inner.store(alloc.array, index, alloc.fill), loc=alloc.loc)
    return b.stmts


__all__ = ["contract", "hoist_allocations", "scalars"]
