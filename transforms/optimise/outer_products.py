"""Outer products that the steps of a loop add to one matrix, as products of matrices, each for many steps.

    # ---- reverse sweep ----                             w_bar = np.zeros((50, 40))
    w_bar = np.zeros((50, 40))                            w_bar_columns = np.zeros((20, 50))
    for t in range(20):                                   w_bar_rows = np.zeros((20, 40))
        for i in range(50):                               for t in range(20):
            for j in range(40):                becomes        for i in range(40):
                w_bar[i, j] += y[t, i] * x[j]                     w_bar_rows[19 - t, i] = x[i]
    return w_bar                                              for i in range(50):
                                                                  w_bar_columns[19 - t, i] = y[t, i]
                                                          add_outer_products(w_bar, w_bar_columns, w_bar_rows)
                                                          return w_bar

Each outer product goes through the whole matrix, which BLAS does once for many of them. So the vectors of up to 64 steps
wait in rows, near the processor, and are then added as one product. Blocks are as long as each other and end with the last
step; what the first one lacks are zeros.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

from ..language import core
from ..language.build import Builder, integer, loops, trips
from ..language.core import Arr, Atom, Call, Const, For, Function, Let, Load, Ref, Store, Var, array_of
from ..language.facts import Facts
from ..language.motion import facts_of
from ..language.names import defined_in
from ..language.queries import counts_up, is_addition, is_range, is_simple, is_store, is_whole, scalars
from ..language.rewrite import top_down

MOST_ROWS = 64          # that wait: BLAS gains nothing by more
NEAR = 4096             # numbers that stay in the nearest cache
FEW = 4                 # steps, or elements along an axis, that are as well added one by one
STEPS = (integer(1), integer(-1))


@dataclass(frozen=True, eq=False)
class Outer:
    """An addition of an outer product: the loops over the rows of a matrix and along one, the store in them, the factors of
    the element of the column, whether it is subtracted, and the load of the element of the row."""

    nest: For
    loop: For
    store: Store
    column: tuple[Atom | Load, ...]
    negative: bool
    row: Load


def multiply_at_once(function: Function) -> Function:
    """The program whose outermost loops of the reverse sweep add their outer products block by block."""
    facts = facts_of(function)
    body: list = []
    for s in function.body:
        body += in_blocks(s, facts) if is_range(s) else (s,)
    return replace(function, body=tuple(body))


def in_blocks(loop: For, facts: Facts) -> list:
    """The statements that do what a loop did."""
    if loop.origin != "reverse" or not is_whole(loop) or loop.step not in STEPS or loop.checkpoint is not None:
        return [loop]
    found = outers(loop, facts)
    if not found:
        return [loop]
    b, step = Builder(facts), core.known_value(loop.step)
    count = trips(b, loop.start, loop.stop, step)
    if is_few(count):
        return [loop]
    inner = Builder(facts)
    size = length_of_blocks(b, count, found)
    place = inner.isub(loop.index, inner.iadd(loop.stop, 1)) if step < 0 else inner.isub(
        inner.isub(loop.stop, 1), loop.index)
    at_once = isinstance(size, Const) and size == count
    if not at_once:
        place = inner.let_anew("mod", place, size, dtype="int64", hint="place")
    columns, rows, products = {}, {}, []
    for o in found:
        matrix = o.store.array
        sides = [Arr(f"{matrix.hint}_{name}", matrix.dtype, (size, n))
                 for name, n in zip(("columns", "rows"), matrix.shape, strict=True)]
        for a in sides:
            b.make(a, Const(0.0, a.dtype), o.store.loc)
        columns[o.store], rows[o] = sides
        products.append(Call((Ref(matrix),), "add_outer_products", tuple(map(Ref, sides)), loc=o.store.loc))
    body: list = []
    for s in loop.body:
        for o in found:
            if o.nest is s:
                copy = Builder(facts)
                loops(copy, rows[o].shape[1:], lambda bb, i, o=o: bb.store(
                    rows[o], (place, *i), bb.load(o.row.array, (*o.row.index[:-1], *i))), loc=o.store.loc)
                body += copy.stmts
        body.append(core.with_blocks(s, lambda block: kept(block, found, columns, place)))
    last = Builder(facts)
    if not at_once:
        last.branch(last.compare("eq", place, integer(0)), tuple(products))
    return [*b.stmts, replace(loop, body=(*inner.stmts, *body, *last.stmts)), *(products if at_once else ())]


def length_of_blocks(b: Builder, count: Atom, found: list[Outer]) -> Atom:
    """How many steps are added at once: of as many blocks as it takes, each as long as the others. What waits takes no more
    memory than the matrix, unless it fits into the cache."""
    most: Atom = integer(MOST_ROWS)
    for o in found:
        n, m = o.store.array.shape
        room = b.imax(b.imul(n, m), integer(NEAR))
        most = b.imin(most, b.let("floordiv", room, b.imax(b.iadd(n, m), 1), dtype="int64"))
    most = b.imax(most, 1)
    blocks = b.let("floordiv", b.isub(b.iadd(count, most), 1), most, dtype="int64")
    blocks = b.let("max", blocks, integer(1), dtype="int64", hint="blocks")
    size = b.let("floordiv", b.isub(b.iadd(count, blocks), 1), blocks, dtype="int64")
    return b.let("max", size, integer(1), dtype="int64", hint="size")


def kept(block, found: list[Outer], columns: dict, place: Atom) -> tuple:
    """The block whose outer products only leave their columns."""
    def change(s):
        mine = [o for o in found if o.loop is s]
        if not mine:
            return None
        b = Builder()
        for o in mine:
            factors = (b.load(x.array, x.index) if isinstance(x, Load) else x for x in o.column)
            value = reduce(lambda x, y: b.let("mul", x, y, dtype=x.dtype), factors)
            value = b.let("neg", value, dtype=value.dtype) if o.negative else value
            b.write(columns[o.store], (place, o.nest.index), value, loc=o.store.loc)
        rest = tuple(t for t in s.body if t not in columns)
        does_more = s.carries or any(is_store(t) or not is_simple(t) for t in rest)
        return [*b.stmts, *([replace(s, body=rest)] if does_more else [])]
    return top_down(block, change)


def outers(loop: For, facts: Facts) -> list[Outer]:
    """The outer products of a loop, each all that the loop does with a matrix or among others that are."""
    nests = [(nest, inner) for nest in loop.body if counts_up(nest) for inner in nest.body if counts_up(inner)]
    found = [o for nest, inner in nests for s in inner.body if (o := outer(nest, inner, s, facts)) is not None]
    sites: dict[Arr, int] = {}
    for s in core.walk(loop.body):
        for a in {array_of(x) for x in (*core.operands(s), *core.results(s))}:
            if isinstance(a, Arr):
                sites[a] = sites.get(a, 0) + 1
    mine: dict[Arr, int] = {}
    for o in found:
        mine[o.store.array] = mine.get(o.store.array, 0) + 1
    within = defined_in(loop.body)
    return [o for o in found if mine[o.store.array] == sites[o.store.array] and o.store.array not in within]


def outer(nest: For, loop: For, stmt, facts: Facts) -> Outer | None:
    """A statement of two loops as the addition of an outer product to all of a matrix; None if it is anything else."""
    if not is_addition(stmt) or not stmt.array.any_order or stmt.index != (nest.index, loop.index) or any(
            map(is_few, stmt.array.shape)) or not all(map(facts.same, stmt.array.shape, (nest.stop, loop.stop))):
        return None
    made, within = scalars(loop.body), defined_in((loop,))
    row: Load | None = None
    column: list[Atom | Load] = []
    negative, changed = False, core.written((loop,))
    waiting = [stmt.value]
    while waiting:
        x = waiting.pop()
        s = made.get(x) if isinstance(x, Var) else None
        if s is None:
            column.append(x)
        elif isinstance(s, Load) and s.array not in changed and not within & set(s.index):
            column.append(s)
        elif isinstance(s, Load) and row is None:
            row = s
        elif isinstance(s, Let) and s.op in ("mul", "neg"):
            negative ^= s.op == "neg"
            waiting += reversed(s.args)
        else:
            return None
    if row is None or not column or within & set(column) or row.index[-1:] != (loop.index,) or row.array in core.written(
            (nest,)) or defined_in((nest,)) & set(row.index[:-1]):
        return None
    kinds = {x.var.dtype if isinstance(x, Load) else x.dtype for x in (row, *column)}
    return Outer(nest, loop, stmt, tuple(column), negative, row) if kinds == {stmt.array.dtype} else None


def is_few(count: Atom) -> bool:
    return isinstance(count, Const) and count.value < FEW


__all__ = ["multiply_at_once"]
