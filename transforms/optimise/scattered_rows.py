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

Numbers that differ in their sign, or by factors that the loop does not change, share a row; those that are read from a row
do not wait. Where all those places are in the array, wherever the loop runs, the row has zeros at its ends; and what goes to
other rows of an array waits too:

    for i in range(n):                         x_bar[:] = 0.0
        for j in range(m):                     x_bar_row = zeros(m + 4)
            x_bar[i, j] = 0.0                  for i in range(1, n - 1):
    # ---- reverse sweep ----                      v = m - 1
    for i in range(1, n - 1):                      for j in range(1, v):
        for j in range(1, m - 1):                      g = w * y_bar[i, j]
            g = w * y_bar[i, j]     becomes            x_bar_row[j + 2] = g
            x_bar[i, j + 1] += g                       x_bar[i, j] -= 4.0 * g
            x_bar[i, j - 1] += g                   for j in range(m):
            x_bar[i + 1, j] += g                       x_bar[i, j] += x_bar_row[j + 1] + x_bar_row[j + 3]
            x_bar[i, j] -= 4.0 * g                 for j in range(1, v):
                                                       x_bar[i + 1, j] += x_bar_row[j + 2]
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from ..language.build import Builder, sum_of
from ..language.core import Arr, Atom, Const, For, Function, Let, Load, Var, defined
from ..language.emit import Statements
from ..language.facts import Facts
from ..language.motion import behind_checks
from ..language.names import defined_in
from ..language.queries import (
    is_access,
    is_addition,
    is_load,
    is_short,
    is_simple,
    is_whole,
    operation,
    operations,
    scalars,
    stores,
)
from ..language.rewrite import each_loop

FEW = 8                 # iterations: LLVM writes out a loop of no more
ONE, MINUS_ONE = Const(1, "int64"), Const(-1, "int64")


def scatter_rows(function: Function, padded: bool = True) -> Function:
    """The program in which innermost loops of the reverse sweep add to one place of each row. padded: rows may be made once,
    in front of all loops, with zeros at their ends."""
    body: list = []
    for stmt, facts in behind_checks(function):
        rows, changes = Builder(facts), defined_in((stmt,))
        made = each_loop((stmt,), lambda s, facts=facts, given=(rows, changes) if padded else None: apart(s, facts, given))
        body += [*rows.stmts, *made]
    return replace(function, body=tuple(body))


def apart(loop, facts: Facts, outside: tuple | None) -> list | None:
    """The loop without some of its additions, which loops of their own make after it; None where it may keep them.
    outside: what takes rows that are made in front of all loops, and what is not known there; None: none is."""
    if not is_whole(loop) or not all(map(is_simple, loop.body)) or is_short(loop, FEW):
        return None
    arrays = dict.fromkeys(s.array for s in stores(loop.body) if s.array.any_order)
    sums = {s.var for s in loop.body if operation(s) == "sum"}
    vector = bool(loop.carries) and all(c.next in sums for c in loop.carries)       # with several terms at a time
    if not any(neighbours(loop, array, facts, few=not vector) for array in arrays):
        return None
    moved = [found for array in arrays for found in neighbours(loop, array, facts)]
    return Scattered(loop, facts, moved).made(outside)


@dataclass(frozen=True)
class Part:
    """A number as another one of its loop, with a sign, and factors that the loop does not change."""

    base: Atom
    sign: int = 1
    factors: tuple = ()


class Scattered:
    """A loop, and the additions that leave it: each with the axis it runs along, and its distance from the index.

    parts: what is added, by the number that waits in a row; rows: by that number, with what is added to the index for an
    element's place there, which is not below 0; groups: the additions that one loop can make.
    """

    def __init__(self, loop: For, facts: Facts, moved: list):
        self.loop, self.facts = loop, facts
        self.gone = {s for s, *_ in moved}
        self.before = Builder(facts)
        self.low, self.high = loop.start, loop.stop
        if loop.step == MINUS_ONE:
            self.low, self.high = self.before.iadd(loop.stop, 1), self.before.iadd(loop.start, 1)
        self.below = not facts.at_least(self.low)
        self.inside = defined_in((loop,))
        chains = [self.chain(s.value) for s, *_ in moved]
        count = Counter(v for chain in chains for v in chain)
        self.parts: dict[Atom, Part] = {}
        for chain in chains:                # the first number that several have in common
            value = next(iter(chain))
            self.parts[value] = chain[next((v for v in chain if count[v] > 1), value)]
        self.rows: dict[Atom, tuple[Arr, int]] = {}
        self.there = lying(loop)
        for s, axis, offset in reversed(moved):
            base = self.parts[s.value].base
            if base not in self.there:
                self.rows[base] = Arr(f"{s.array.hint}_row", base.dtype, (s.array.shape[axis],)), offset if self.below else 0
        by_row: dict = {}
        for s, axis, offset in moved:           # to one row of one array
            key = (s.array, axis, row_of(s, axis, self.inside, facts)) if loop.step in (ONE, MINUS_ONE) else s
            by_row.setdefault(key, []).append((s, axis, offset))
        self.groups = list(by_row.values())

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

    def made(self, outside: tuple | None) -> list:
        """The loop and those after it, behind what they need; rows with zeros at their ends go `outside`."""
        wide = [group for group in self.groups if outside is not None and self.fits(group, outside[1])]
        allocs = Statements()
        padded = {} if outside is None else self.pad(wide, outside[0])
        for base, (row, more) in self.rows.items():
            self.rows[base] = padded[base] if base in padded else (allocs.make(row), more)
        body = Builder(self.facts)
        for s in self.loop.body:
            if s in self.gone:
                continue
            body.add(s)
            for v in defined(s):
                if v in self.rows:
                    row, more = self.rows[v]
                    body.write(row, (body.iadd(self.loop.index, more),), v, loc=s.loc)
        after = Builder(self.facts)
        for group in self.groups:
            least, most = ends(group)
            if len(group) == 1:
                after.add(self.alone(group[0]))
            elif group in wide:
                after.add(self.together(group, after.iadd(self.low, least), after.iadd(self.high, most)))
            else:
                self.in_parts(group, after)
        return [*allocs.stmts, *self.before.stmts, replace(self.loop, body=tuple(body.stmts)), *after.stmts]

    def fits(self, group: list, changes: set) -> bool:
        """Whether a loop from the first place to the last one that a group adds to stays in its array, though the loop that
        it stands for may not run, and adds to the same places each time."""
        s, axis, _ = group[0]
        size, (least, most) = s.array.shape[axis], ends(group)
        known = {v for x in (self.low, self.high, size) for v in self.facts.affine(x)[1]}
        factors = any(self.parts[one[0].value].factors for one in group)        # which may be infinite
        others = [(i, n) for k, (i, n) in enumerate(zip(s.index, s.array.shape, strict=True)) if k != axis]
        there = any(self.parts[one[0].value].base in self.there for one in group)
        return len(group) > 1 and not (self.below or factors or there) and known.isdisjoint(changes) and self.facts.at_least(
            self.low, -least) and self.facts.at_most(self.high, size, most) and all(
            self.facts.at_least(i) and self.facts.at_most(i, n, 1) for i, n in others)

    def pad(self, groups: list, outside: Builder) -> dict:
        """Rows with zeros for the places where a group adds less than all, with what is added to the index."""
        needed: dict[Atom, list] = {}
        for group in groups:
            least, most = ends(group)
            for s, _, offset in group:
                needed.setdefault(self.parts[s.value].base, []).append((offset - least, most - offset))
        found = {}
        for base, rooms in needed.items():
            left, right = map(max, zip(*rooms, strict=True))
            more = 0 if self.facts.at_least(self.low, left) else max(left, 2)      # a place j + 1 hinders LLVM here
            row = self.rows[base][0]
            longer = Arr(row.hint, row.dtype, (outside.iadd(row.shape[0], more + right),))
            found[base] = outside.make(longer, Const(0.0, row.dtype)), more
        return found

    def alone(self, one: tuple, start=None, stop=None):
        """A loop with one addition; all of it, or a part that begins and ends elsewhere."""
        s, axis, offset = one
        index, inner = Var(self.loop.index.hint, "int64"), Builder(self.facts)
        self.facts.number(index)
        value = self.read(inner, s, index)
        inner.write(s.array, self.place(inner, s, axis, inner.iadd(index, offset)), value, True, s.loc)
        part = {} if start is None else {"start": start, "stop": stop, "step": ONE}
        return replace(self.loop, index=index, carries=(), body=tuple(inner.stmts), **part)

    def place(self, b: Builder, s, axis: int, at: Atom) -> tuple:
        """The place `at` of the row that an access is to."""
        return tuple(at if k == axis else sum_of(b, self.facts.affine(i)) for k, i in enumerate(s.index))

    def read(self, b: Builder, s, index: Atom, signed: bool = True) -> Atom:
        """What one addition adds in an iteration; without its sign if it is not `signed`."""
        part = self.parts[s.value]
        if (load := self.there.get(part.base)) is not None:
            row, place = load.array, (*load.index[:-1], index)
        else:
            row, more = self.rows[part.base]
            place = (b.iadd(index, more),)
        value: Atom = b.read(Var(s.array.hint, row.dtype), row, place, s.loc)
        for factor in part.factors:
            value = b.let("mul", value, factor, dtype=s.value.dtype, hint=s.array.hint)
        return b.let("neg", value, dtype=s.value.dtype, hint=s.array.hint) if signed and part.sign < 0 else value

    def together(self, group: list, start: Atom, stop: Atom):
        """A loop that adds all of a group at each place."""
        s, axis, _ = group[0]
        index, inner = Var(self.loop.index.hint, "int64"), Builder(self.facts)
        self.facts.number(index)
        terms = sorted(group, key=lambda one: -self.parts[one[0].value].sign)
        found = [(t, self.read(inner, t, inner.isub(index, offset), t is terms[0][0])) for t, _, offset in terms]
        total = found[0][1]
        for t, more in found[1:]:
            op = "sub" if self.parts[t.value].sign < 0 else "add"
            total = inner.let(op, total, more, dtype=more.dtype, hint=s.array.hint)
        inner.write(s.array, self.place(inner, s, axis, index), total, True, s.loc)
        return replace(self.loop, index=index, start=start, stop=stop, step=ONE, carries=(), body=tuple(inner.stmts))

    def in_parts(self, group: list, b: Builder) -> None:
        """A loop over the places to which all of a group add, between loops with what is left of each."""
        least, most = ends(group)
        for one in group:
            if (room := most - one[2]):
                b.add(self.alone(one, self.low, b.imin(self.high, b.iadd(self.low, room))))
        b.add(self.together(group, b.iadd(self.low, most), b.iadd(self.high, least)))
        for one in group:
            if one[2] > least:
                first = b.iadd(self.low, most - one[2])
                b.add(self.alone(one, b.imax(first, b.iadd(self.high, least - one[2])), self.high))


def ends(group: list) -> tuple[int, int]:
    """The least and the largest distance from the index at which a group adds."""
    offsets = [offset for *_, offset in group]
    return min(offsets), max(offsets)


def neighbours(loop, array: Arr, facts: Facts, few: bool = False) -> list[tuple]:
    """The additions to an array, with the axis they run along, but for those at one place, if the loop adds to several
    places of a row of it, and does nothing else with it."""
    made, there = scalars(loop.body), lying(loop)
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
    if max(offsets, default=-1) < 0 or len({axis for _, axis, _ in found}) > 1:
        return []
    stays = min(offsets, key=abs)
    inside = defined_in((loop,))
    rows: dict = {}
    for s, axis, offset in found:
        rows.setdefault(row_of(s, axis, inside, facts), set()).add(offset)
    first = max(rows, key=lambda row: (stays in rows[row], len(rows[row])))
    few = few and len(offsets) == 2 and max(offsets) - min(offsets) == 1        # one waits: LLVM keeps it at hand
    numbers = {*there, *(v for v, d in made.items() if isinstance(d, Let) and d.op == "neg" and d.args[0] in there)}
    gathered = len(offsets) > 1 and numbers.issuperset(s.value for s, *_ in found)
    return [(s, axis, offset) for s, axis, offset in found if (row := row_of(s, axis, inside, facts)) is not None
            and (gathered or row != first and axis == len(s.index) - 1 or offset != stays and not few)]


def lying(loop: For) -> dict[Atom, Load]:
    """The numbers of a loop that lie in a row already: read at the loop's index, from what the loop does not write."""
    written, inside = {s.array for s in stores(loop.body)}, defined_in((loop,))
    return {s.var: s for s in loop.body if is_load(s) and s.array not in written and s.index[-1:] == (loop.index,)
            and inside.isdisjoint(s.index[:-1])}


def row_of(s, axis: int, inside: set, facts: Facts) -> tuple | None:
    """The places of an access along the other axes, as sums of what the loop does not change; None if it changes them."""
    forms = [facts.affine(i) for k, i in enumerate(s.index) if k != axis]
    return None if any(v in inside for _, terms in forms for v in terms) else tuple(
        (constant, frozenset(terms.items())) for constant, terms in forms)


def place(s, loop, facts: Facts) -> tuple[int, int] | None:
    """(axis, constant) of an addition at the loop's index plus a constant along one axis, which its row has in common."""
    forms = [facts.affine(i) for i in s.index]
    mine = [k for k, (_, terms) in enumerate(forms) if loop.index in terms]
    if len(mine) != 1 or forms[mine[0]][1] != {loop.index: 1}:
        return None
    return mine[0], forms[mine[0]][0]


__all__ = ["scatter_rows"]
