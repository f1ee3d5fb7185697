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
addition each are vectorised; what they add is computed once and waits in a row, which stays in the nearest cache. Several
such rows are added by one loop over the places to which all add, and what is left of each at the ends:

    # ---- reverse sweep ----                       v = n - 1
    for j in range(1, n - 1):                       x_bar_row = empty(x_bar.shape[0])
        g = w * y_bar[j]                            for j in range(1, v):
        x_bar[j] += g                                   g = w * y_bar[j]
        x_bar[j + 1] += g               becomes         x_bar_row[j] = g
        x_bar[j - 1] -= 2.0 * g                         x_bar[j] += g
                                                    for j in range(1, min(v, 3)):
                                                        x_bar[j - 1] -= x_bar_row[j] * 2.0
                                                    for j in range(2, n - 2):
                                                        x_bar[j] += x_bar_row[j - 1] - x_bar_row[j + 1] * 2.0
                                                    for j in range(max(1, n - 3), v):
                                                        x_bar[j + 1] += x_bar_row[j]

Numbers that differ in their sign, or by factors that the loop does not change, share a row.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from ..language.build import Builder
from ..language.core import Arr, Atom, Const, For, Function, Var, defined
from ..language.emit import Statements
from ..language.facts import Facts
from ..language.motion import behind_checks
from ..language.names import defined_in
from ..language.queries import is_access, is_addition, is_simple, is_whole, operations, scalars, stores
from ..language.rewrite import each_loop
from ..language.substitution import substitute
from .gather import slice_of

ONE, MINUS_ONE = Const(1, "int64"), Const(-1, "int64")


def scatter_rows(function: Function) -> Function:
    """The program in which innermost loops of the reverse sweep add to one place of each row."""
    return replace(function, body=tuple(made for stmt, facts in behind_checks(function) for made in each_loop(
        (stmt,), lambda s, facts=facts: apart(s, facts) if s.origin == "reverse" else None)))


def apart(loop, facts: Facts) -> list | None:
    """The loop without some of its additions, which loops of their own make after it; None where it may keep them."""
    if not is_whole(loop) or not all(map(is_simple, loop.body)):
        return None
    moved = [found for array in dict.fromkeys(s.array for s in stores(loop.body))
             for found in neighbours(loop, array, facts)]
    if not moved:
        return None
    return Scattered(loop, facts, moved).made()


@dataclass(frozen=True)
class Part:
    """A number as another one of its loop, with a sign, and factors that the loop does not change."""

    base: Atom
    sign: int = 1
    factors: tuple = ()


class Scattered:
    """A loop, and the additions that leave it: each with the axis it runs along, and its distance from the index.

    parts: what is added, by the number that waits in a row; rows: by that number, with what is added to the index for an
    element's place there, which is not below 0.
    """

    def __init__(self, loop: For, facts: Facts, moved: list):
        self.loop, self.facts, self.moved = loop, facts, moved
        self.before = Builder(facts)
        self.low, self.high = loop.start, loop.stop
        if loop.step == MINUS_ONE:
            self.low, self.high = self.before.iadd(loop.stop, 1), self.before.iadd(loop.start, 1)
        below = not facts.at_least(self.low)
        self.inside = defined_in((loop,))
        chains = [self.chain(s.value) for s, *_ in moved]
        count = Counter(v for chain in chains for v in chain)
        self.parts: dict[Atom, Part] = {}
        for chain in chains:                # the first number that several have in common
            value = next(iter(chain))
            self.parts[value] = chain[next((v for v in chain if count[v] > 1), value)]
        self.rows: dict[Atom, tuple[Arr, int]] = {}
        for s, axis, offset in reversed(moved):
            base = self.parts[s.value].base
            self.rows[base] = Arr(f"{s.array.hint}_row", base.dtype, (s.array.shape[axis],)), offset if below else 0

    def chain(self, value: Atom) -> dict[Atom, Part]:
        """A number, and those of the loop that it is but for the sign and for factors that the loop does not change."""
        made: dict = operations(self.loop.body)
        part = Part(value)
        found = {value: part}
        while (d := made.get(part.base)) is not None and d.op in ("neg", "mul"):
            fixed = [x for x in d.args if x not in self.inside]
            if len(fixed) != len(d.args) - 1:
                break
            base, = (x for x in d.args if x in self.inside)
            part = Part(base, -part.sign, part.factors) if d.op == "neg" else Part(base, part.sign, (*fixed, *part.factors))
            found[base] = part
        return found

    def made(self) -> list:
        gone = {s for s, *_ in self.moved}
        body = Builder(self.facts)
        for s in self.loop.body:
            if s in gone:
                continue
            body.add(s)
            for v in defined(s):
                if v in self.rows:
                    row, more = self.rows[v]
                    body.write(row, (body.iadd(self.loop.index, more),), v, loc=s.loc)
        after = [s for group in self.groups() for s in (
            self.together(group) if len(group) > 1 else [self.alone(group[0][0])])]
        allocs = Statements()
        for row, _ in self.rows.values():
            allocs.make(row)
        return [*allocs.stmts, *self.before.stmts, replace(self.loop, body=tuple(body.stmts)), *after]

    def groups(self) -> list[list]:
        """The additions that one loop can make: to one row of one array, which the loop does not change."""
        found: dict = {}
        for s, axis, offset in self.moved:
            others = (*s.index[:axis], *s.index[axis + 1:])
            fixed = self.inside.isdisjoint(others) and self.loop.step in (ONE, MINUS_ONE)
            found.setdefault((s.array, axis, others) if fixed else s, []).append((s, axis, offset))
        return list(found.values())

    def alone(self, s, start=None, stop=None):
        """A loop with one addition; all of it, or a part that begins and ends elsewhere."""
        index, b = Var(self.loop.index.hint, "int64"), Builder(self.facts)
        self.facts.number(index)
        addition = replace(s, value=self.read(b, s, index))
        needed = slice_of(addition, operations(self.loop.body, lambda s: s.var.dtype == "int64"))
        inner = substitute((*(d for d in self.loop.body if d in needed), addition), {self.loop.index: index})
        part = {} if start is None else {"start": start, "stop": stop, "step": ONE}
        return replace(self.loop, index=index, carries=(), body=(*b.stmts, *inner), **part)

    def read(self, b: Builder, s, index: Atom, signed: bool = True) -> Atom:
        """What one addition adds in an iteration; without its sign if it is not `signed`."""
        part = self.parts[s.value]
        row, more = self.rows[part.base]
        value: Atom = b.read(Var(s.array.hint, row.dtype), row, (b.iadd(index, more),), s.loc)
        for factor in part.factors:
            value = b.let("mul", value, factor, dtype=s.value.dtype, hint=s.array.hint)
        return b.let("neg", value, dtype=s.value.dtype, hint=s.array.hint) if signed and part.sign < 0 else value

    def together(self, group: list) -> list:
        """A loop over the places to which all of a group add, between loops with what is left of each."""
        b, (s, axis, _) = Builder(self.facts), group[0]
        least, most = min(offset for *_, offset in group), max(offset for *_, offset in group)
        for one in group:
            if (room := most - one[2]):
                b.add(self.alone(one[0], self.low, b.imin(self.high, b.iadd(self.low, room))))
        start, stop = b.iadd(self.low, most), b.iadd(self.high, least)
        index, inner = Var(self.loop.index.hint, "int64"), Builder(self.facts)
        self.facts.number(index)
        terms = sorted(group, key=lambda one: -self.parts[one[0].value].sign)
        found = [(t, self.read(inner, t, inner.isub(index, offset), t is terms[0][0])) for t, _, offset in terms]
        total = found[0][1]
        for t, more in found[1:]:
            op = "sub" if self.parts[t.value].sign < 0 else "add"
            total = inner.let(op, total, more, dtype=more.dtype, hint=s.array.hint)
        inner.write(s.array, (*s.index[:axis], index, *s.index[axis + 1:]), total, True, s.loc)
        b.add(replace(self.loop, index=index, start=start, stop=stop, step=ONE, carries=(), body=tuple(inner.stmts)))
        for one in group:
            if one[2] > least:
                first = b.iadd(self.low, most - one[2])
                b.add(self.alone(one[0], b.imax(first, b.iadd(self.high, least - one[2])), self.high))
        return b.stmts


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
    return [one for one in found if one[2] != stays]


def place(s, loop, facts: Facts) -> tuple[int, int] | None:
    """(axis, constant) of an addition at the loop's index plus a constant along one axis, which its row has in common."""
    forms = [facts.affine(i) for i in s.index]
    mine = [k for k, (_, terms) in enumerate(forms) if loop.index in terms]
    if len(mine) != 1 or forms[mine[0]][1] != {loop.index: 1}:
        return None
    return mine[0], forms[mine[0]][0]


__all__ = ["scatter_rows"]
