"""Work arrays that a program makes once, and each iteration of a loop fills anew, belong to the iteration.

    a = zeros(m)                                      s = 0.0
    s = 0.0                                           for i in range(n):
    for i in range(n):                                    a = np.empty(m)
        for j in range(m):                                for j in range(m):
            a[j] = np.tanh(w[j] * x[i])    becomes            a[j] = np.tanh(w[j] * x[i])
        for j in range(m):                                for j in range(m):
            s += a[j] * v[j]                                  s += a[j] * v[j]
    return s                                          return s

What an iteration leaves in such an array no other one reads. So no tape keeps it when the next iteration overwrites it, and
iterations that have nothing else in common may run in any order, or be reversed at once. In the end the memory is made once
again. Zeros that are all overwritten before they are read need not be there.

All that an iteration reads must be written by it before, which is known of rows one after the other, by the ranges of the
loops that write them, and of elements at constant places.

Source: P. Tu, D. Padua, Automatic Array Privatization, LCPC 1993, whose regions are intervals of rows here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from ..language import core
from ..language.core import Alloc, Arr, Const, For, Function, Ref, array_of
from ..language.draws import is_draw
from ..language.facts import Facts, combine
from ..language.names import names_in
from ..language.queries import called, is_access, is_addition, is_branch, is_load, is_loop, is_store, is_whole
from ..language.units import unit_of

Form = tuple[int, dict]


def make_inside(function: Function, facts: Facts) -> Function:
    """The program that makes such arrays in the loops that fill them."""
    made: list[Arr] = [s.array for s in core.walk(function.body) if isinstance(s, Alloc)]
    fixed = core.rebound(function.body) | {a for a in function.returns if isinstance(a, Arr)} | {
        array_of(x) for s in core.walk(function.body) if is_draw(s) or unit_of(s) for x in core.operands(s)}
    fixed |= {a for a in made if made.count(a) > 1}

    def visit(block) -> tuple:
        body = list(block)
        for s in block:
            if isinstance(s, Alloc) and s.array not in fixed and s.array.shape:
                at = body.index(s)
                later = [t for t in body[at + 1:] if s.array in names_in((t,))]
                inside = later[0] if len(later) == 1 and is_loop(later[0]) else None
                made = replace(s, fill=None)
                if inside is not None and written_first(inside.body, s.array, facts):
                    body[body.index(inside)] = replace(inside, body=(made, *inside.body))
                    del body[at]
                elif s.fill is not None and later and written_first(later, s.array, facts):
                    body[at] = made
        return tuple(core.with_blocks(s, visit) for s in body)
    return replace(function, body=visit(function.body))


def written_first(block, array: Arr, facts: Facts) -> bool:
    """Whether a block reads nothing of an array that it has not written before."""
    return Reading(array, facts).fine(block, Written((), [None]))


@dataclass
class Written:
    """What is known to be written. rows: the row of a row, and so on, that the loops around are at; regions: for each of
    those axes, and the next one, the rows (from, to before) that are all written; cells: elements at constant places.
    An element, beyond the last axis, has the region (0, 1) if it is written."""

    rows: tuple[Form, ...]
    regions: list[tuple[Form, Form] | None]
    cells: frozenset = frozenset()

    def copy(self) -> Written:
        return Written(self.rows, [*self.regions], self.cells)


ELEMENT: tuple[Form, Form] = ((0, {}), (1, {}))


class Reading:
    """Whether a program reads of one array what it has written only."""

    def __init__(self, array: Arr, facts: Facts):
        self.array, self.facts = array, facts

    def fine(self, block, known: Written) -> bool:
        """Whether all that a block reads is known to be written; adds what it writes."""
        return all(self.fine_at(s, known) for s in block if self.array in names_in((s,)))

    def fine_at(self, s, known: Written) -> bool:
        if is_access(s):
            if (is_load(s) or is_addition(s)) and not self.covered(s.index, known):
                return False
            if is_store(s):
                self.write(s.index, known)
            return True
        if is_whole(s):
            return self.loop(s, known)
        if is_branch(s) or is_loop(s):
            return all(self.fine(inner, known.copy()) for inner in core.sub_blocks(s))
        return self.call(s, known) if called(s) else False

    def call(self, s, known: Written) -> bool:
        """Of library functions, which fill what they give."""
        parts = [(x.prefix if isinstance(x, Ref) else ()) for x in s.args if array_of(x) is self.array]
        if not all(self.covered(p, known) for p in parts):
            return False
        for x in s.outs:
            if array_of(x) is self.array:
                self.write(x.prefix if isinstance(x, Ref) else (), known)
        return True

    def loop(self, s: For, known: Written) -> bool:
        """Of a loop over a range. What it writes of each of its rows is written behind it."""
        depth, step = len(known.rows), core.known_value(s.step)
        place = self.place_of(s, known) if step in (1, -1) and depth < len(self.array.shape) else None
        if place is None:
            return self.fine(s.body, known.copy())
        start, stop = (combine(self.facts.affine(x), (place, {}), 1) for x in (s.start, s.stop))
        row = place, {s.index: 1}
        before = known.regions[depth]
        if step == -1:                          # from `stop + 1` to `start`
            start, stop = combine(stop, (1, {}), 1), combine(start, (1, {}), 1)
        grows = before is None or self.equal(*((before[1], start) if step == 1 else (before[0], stop)))
        low, high = (before[0] if before and step == 1 else start), (before[1] if before and step == -1 else stop)
        so_far = (low, row) if step == 1 else (combine(row, (1, {}), 1), high)
        inside = Written((*known.rows, row), [*known.regions[:depth], so_far if grows else before, None], known.cells)
        if grows and self.fine(s.body, inside) and self.all_of_row(inside):
            known.regions[depth] = low, high
            return True
        inside = Written((*known.rows, row), [*known.regions[:depth], before, None], known.cells)
        return self.fine(s.body, inside)

    def place_of(self, s: For, known: Written) -> int | None:
        """What must be added to a loop's index to have the row that an iteration writes first; None if there is none."""
        depth = len(known.rows)
        for t in core.walk(s.body):
            parts = [t.index] if is_store(t) and t.array is self.array else [
                x.prefix for x in t.outs if isinstance(x, Ref) and x.array is self.array] if called(t) else []
            for index in parts:
                if len(index) > depth and all(self.equal(self.facts.affine(i), r) for i, r in zip(
                        index, known.rows, strict=False)):
                    constant, terms = self.facts.affine(index[depth])
                    if terms == {s.index: 1}:
                        return constant
        return None

    def equal(self, a: Form, b: Form) -> bool:
        return combine(a, b, -1) == (0, {})

    def all_of_row(self, known: Written) -> bool:
        """Whether the row that the loops around are at is written."""
        return self.spans(known.regions[-1], len(known.rows))

    def spans(self, region, depth: int) -> bool:
        """Whether a region is all of an axis; beyond the last one, the element."""
        size = self.array.shape[depth] if depth < len(self.array.shape) else Const(1, "int64")
        return region is not None and self.facts.proven(combine((0, {}), region[0], -1)) and self.facts.proven(
            combine(region[1], self.facts.affine(size), -1))

    def covered(self, index: tuple, known: Written) -> bool:
        """Whether an element, or all that is behind some indices, is written."""
        sizes = [n.value for n in self.array.shape if isinstance(n, Const)]
        if index in known.cells or len(sizes) == len(self.array.shape) and len(known.cells) >= prod(sizes):
            return True
        for depth, region in enumerate(known.regions):
            if self.spans(region, depth):
                return True
            if depth == len(index):
                return False
            i = self.facts.affine(index[depth])
            if region is not None and self.facts.proven(combine(i, region[0], -1)) and self.facts.proven(
                    combine(combine(region[1], i, -1), (1, {}), -1)):
                return True
            if depth == len(known.rows) or not self.equal(i, known.rows[depth]):
                return False
        return False

    def write(self, index: tuple, known: Written) -> None:
        """An element, or all that is behind some indices, is written from here on."""
        depth = len(known.rows)
        if len(index) == len(self.array.shape) and all(isinstance(i, Const) for i in index):
            known.cells |= {index}
        if len(index) < depth:
            if all(self.equal(self.facts.affine(i), r) for i, r in zip(index, known.rows, strict=False)):
                known.regions[len(index)] = (0, {}), self.facts.affine(self.array.shape[len(index)])
            return
        if not all(self.equal(self.facts.affine(i), r) for i, r in zip(index, known.rows, strict=False)):
            return
        if len(index) == depth:
            known.regions[depth] = ELEMENT if depth == len(self.array.shape) else (
                (0, {}), self.facts.affine(self.array.shape[depth]))
        elif len(index) == depth + 1:
            i = self.facts.affine(index[depth])
            low, high = known.regions[depth] or (i, i)
            if self.equal(i, high):
                known.regions[depth] = low, combine(i, (1, {}), 1)
            elif self.equal(combine(i, (1, {}), 1), low):
                known.regions[depth] = i, high


__all__ = ["make_inside"]
