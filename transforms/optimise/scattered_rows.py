"""Loops that add to neighbouring places of one row, one place after the other.

    # ---- reverse sweep ----                       v = n - 1
    for j in range(1, n - 1):                       x_bar_row = empty(x_bar.shape[0])
        g = w * y_bar[j]                            for j in range(1, v):
        x_bar[j + 1] += g               becomes         g = w * y_bar[j]
        x_bar[j - 1] += g                               x_bar_row[j] = g
                                                        x_bar[j + 1] += g
                                                    for j in range(1, v):
                                                        x_bar[j - 1] += x_bar_row[j]

Where an iteration adds to what the one before has added to, the processor waits for memory at every step. Loops with one
addition each are vectorised; what they add is computed once and waits in a row, which stays in the nearest cache.
"""

from __future__ import annotations

from dataclasses import replace

from ..language.core import Arr, Function, Var, defined
from ..language.emit import Statements
from ..language.facts import Facts
from ..language.motion import facts_of
from ..language.queries import is_access, is_addition, is_simple, is_whole, operations, scalars, stores
from ..language.rewrite import each_loop
from ..language.substitution import substitute
from .gather import slice_of


def scatter_rows(function: Function) -> Function:
    """The program in which innermost loops of the reverse sweep add to one place of each row."""
    facts = facts_of(function, checks=False)            # which come later than some of these loops
    return replace(function, body=each_loop(function.body, lambda s: apart(s, facts) if s.origin == "reverse" else None))


def apart(loop, facts: Facts) -> list | None:
    """The loop without some of its additions, which loops of their own make after it; None where it may keep them."""
    if not is_whole(loop) or not all(map(is_simple, loop.body)):
        return None
    moved = [found for array in dict.fromkeys(s.array for s in stores(loop.body))
             for found in neighbours(loop, array, facts)]
    if not moved:
        return None
    rows = {s.value: Arr(f"{s.array.hint}_row", s.array.dtype, (s.array.shape[axis],)) for s, axis in moved}
    gone = {s for s, _ in moved}
    body = Statements()
    for s in loop.body:
        if s in gone:
            continue
        body.add(s)
        for v in defined(s):
            if v in rows:
                body.write(rows[v], (loop.index,), v, loc=s.loc)
    integers = operations(loop.body, lambda s: s.var.dtype == "int64")
    after = []
    for s, _ in moved:
        index, value = Var(loop.index.hint, "int64"), Var(s.array.hint, s.value.dtype)
        facts.number(index)
        addition = replace(s, value=value)
        needed = slice_of(addition, integers)
        inner = (*(d for d in loop.body if d in needed), addition)
        again = Statements(s.loc)
        again.read(value, rows[s.value], (index,), s.loc)
        after.append(replace(loop, index=index, carries=(), body=(*again.stmts, *substitute(inner, {loop.index: index}))))
    before = Statements()
    for row in rows.values():
        before.make(row)
    return [*before.stmts, replace(loop, body=tuple(body.stmts)), *after]


def neighbours(loop, array: Arr, facts: Facts) -> list[tuple]:
    """The additions to an array, with the axis they run along, but for those at one place, if the loop adds to several
    places of a row of it, and does nothing else with it."""
    made = scalars(loop.body)
    found: list[tuple] = []
    for s in loop.body:
        if not is_access(s) or s.array is not array:
            continue
        if not (is_addition(s) and s.value in made):
            return []
        where = place(s, loop, facts)
        if where is None:
            return []
        found.append((s, *where))
    offsets = {offset for _, _, offset in found}
    few = len(offsets) < 2 or len(offsets) == 2 and max(offsets) - min(offsets) == 1     # one waits: LLVM keeps it at hand
    if few or max(offsets) < 0 or len({axis for _, axis, _ in found}) > 1:
        return []
    stays = min(offsets, key=abs)
    return [(s, axis) for s, axis, offset in found if offset != stays]


def place(s, loop, facts: Facts) -> tuple[int, int] | None:
    """(axis, constant) of an addition at the loop's index plus a constant along one axis, which its row has in common."""
    forms = [facts.affine(i) for i in s.index]
    mine = [k for k, (_, terms) in enumerate(forms) if loop.index in terms]
    if len(mine) != 1 or forms[mine[0]][1] != {loop.index: 1}:
        return None
    return mine[0], forms[mine[0]][0]


__all__ = ["scatter_rows"]
