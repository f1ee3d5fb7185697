"""Values that a later loop of the same iteration would compute again are kept in a row.

    for i in range(n):                                             for i in range(n):
        s = 0.0                                                        exp_row = np.empty(m)
        for j in range(m):                                             s = 0.0
            s = np.add(s, np.exp(x[i, j] - top))                       for j in range(m):
        for j in range(m):                              becomes            v = np.exp(x[i, j] - top)
            x_bar[i, j] += s * np.exp(x[i, j] - top)                       exp_row[j] = v
                                                                           s = np.add(s, v)
                                                                       for j in range(m):
                                                                           x_bar[i, j] += s * exp_row[j]

Only functions that cost more than a store and a load are kept, and only for one iteration of a loop around: a row stays in
the cache, where a tape of all iterations would not.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import Builder
from ..language.core import Arr, Function, Var, walk, written
from ..language.emit import Statements
from ..language.motion import facts_of
from ..language.ops import EXPENSIVE
from ..language.queries import counts_up, is_load, is_loop, is_range, is_store, operation, operations, stores
from .joint import IMPURE
from .producer_fusion import rebuild

WORTH_KEEPING = EXPENSIVE - {"div", "maximum", "minimum", "larger", "smaller"}


def keep_rows(function: Function) -> Function:
    """The program with the dear values that a block inside a loop computes twice, in two loops, computed once."""
    if not dear(walk(function.body)):
        return function
    return replace(function, body=visited(function.body, Rows(function), False))


def visited(block, rows: Rows, inside: bool) -> tuple:
    block = tuple(core.with_blocks(s, lambda inner, s=s: visited(inner, rows, inside or is_loop(s)))
                  for s in block)
    return rows.block(block) if inside else block


class Rows:
    def __init__(self, function: Function):
        self.facts = facts_of(function, checks=False)
        self.rebound = core.rebound(function.body)

    def block(self, block) -> tuple:
        position = 0
        while position < len(block):
            second = nest(block[position])
            for k in range(position - 1, -1, -1) if second is not None and dear(second[1]) else ():
                made = self.reused(block, k, position, second)
                if made is not None:
                    position += len(made) - len(block)
                    block = made
                    break
            else:
                position += 1
        return block

    def reused(self, block, k: int, position: int, second):
        """The block with a value of the nest at `position`, `second`, taken from the nest at `k`; None if there is none."""
        first = nest(block[k])
        if first is None or len(first[0]) != len(second[0]) or not all(
                self.facts.same(p.stop, q.stop) for p, q in zip(first[0], second[0], strict=True)):
            return None
        (loops, body), (others, tail) = first, second
        later = written(block[k + 1:position + 1]) | self.rebound
        known, stored = self.values(loops, body, later, written(block[k:k + 1]) | later)
        same: dict = {q.index: p.index for p, q in zip(loops, others, strict=True)}
        for s in tail:
            key = key_of(s, same)
            v = known.get(key) if key is not None else None
            if v is None:
                continue
            same[s.var] = v
            if operation(s) not in WORTH_KEEPING:
                continue
            back = {p.index: q.index for p, q in zip(loops, others, strict=True)}
            found = stored.get(v)
            if found is not None:
                b = Statements()
                b.read(s.var, found.array, tuple(back.get(i, i) for i in found.index), s.loc)
                return (*block[:position], rebuild(others, swapped(tail, s, *b.stmts)), *block[position + 1:])
            b = Builder(self.facts)
            row = Arr(f"{s.op.rpartition('.')[2]}_row", v.dtype, tuple(b.imax(p.stop, 0) for p in loops))
            b.make(row)
            place = operations(body)[v]
            store, load = Statements(), Statements()
            store.write(row, tuple(p.index for p in loops), v, loc=place.loc)
            load.read(s.var, row, tuple(q.index for q in others), s.loc)
            return (*block[:k], *b.stmts, rebuild(loops, swapped(body, place, place, *store.stmts)),
                    *block[k + 1:position], rebuild(others, swapped(tail, s, *load.stmts)), *block[position + 1:])
        return None

    def values(self, loops, body, later: set, changing: set):
        """(what the first nest computes or finds in memory that stays as it is, where its own elements are stored)."""
        indices = {p.index for p in loops}
        known: dict = {}
        stored: dict = {}
        for s in body:
            if is_store(s):
                if s.array not in later and not s.accumulate and indices <= set(s.index) and isinstance(s.value, Var) \
                        and sum(t.array is s.array for t in stores(walk(body))) == 1 \
                        and not calls_fill(body, s.array):
                    known[("load", s.array, *s.index)] = s.value
                    stored[s.value] = s
            elif not (is_load(s) and s.array in changing):
                key = key_of(s, {})
                if key is not None:
                    known.setdefault(key, s.var)
        return known, stored


def calls_fill(body, array: Arr) -> bool:
    return any(array in written((s,)) for s in walk(body) if not is_store(s) and not core.sub_blocks(s))


def key_of(s, same: dict):
    """What a statement computes, in the first nest's names; None if that cannot be said."""
    get = lambda x: same.get(x, x) if isinstance(x, Var) else x  # noqa: E731
    if is_load(s):
        return ("load", s.array, *map(get, s.index))
    return (s.op, s.var.dtype, *map(get, s.args)) if operation(s) not in ("", *IMPURE) else None


def dear(body) -> bool:
    return any(operation(s) in WORTH_KEEPING for s in body)


def nest(stmt):
    """(loops from 0 upwards around one another, what the innermost does); None for anything else."""
    loops = []
    while counts_up(stmt) and stmt.trip is None:
        loops.append(stmt)
        if len(stmt.body) != 1 or not is_range(stmt.body[0]):
            return loops, stmt.body
        stmt = stmt.body[0]
    return None


def swapped(body, old, *new) -> tuple:
    return tuple(x for s in body for x in (new if s is old else (s,)))


__all__ = ["keep_rows"]
