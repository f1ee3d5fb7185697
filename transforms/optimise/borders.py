"""Scatters to neighbours along several axes as two nests: the elements that collect from all terms, and the rest.

Peeled axis by axis, as `gather.py` does it for one, the border of a stencil is a nest for each face, edge and corner:
forty in three axes. Here the first nest holds the elements to which every term adds. The second goes through all rows: in
those that the first has been in, a loop jumps from one end of the row to the other and asks for each term whether it has
an iteration there; to the others each term adds what it has, in a loop of its own.

Source: J. Hückelheim et al., Automatic differentiation for adjoint stencil loops ("PerforAD"), ICPP 2019, which
splits such borders, or guards them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..language.build import Builder, integer
from ..language.core import Atom, Const, Merge, Var
from ..language.facts import Facts
from ..language.queries import acting, is_load, is_range, is_store, operation, scalars, stores

TRUE = Const(True, "bool")


@dataclass
class Term:
    """A perfect nest that adds at a fixed distance from its indices. levels: the statements of each of its loops."""

    loops: list
    levels: list[list]
    shifts: tuple[int, ...] = ()

    @property
    def store(self):
        return stores(self.levels[-1])[0]


def term_of(loop, facts: Facts) -> Term | None:
    """The nest as a term; None where it has several stores, or adds elsewhere than at a distance from each index."""
    term = Term([], [])
    inner = loop
    while inner is not None:
        term.loops.append(inner)
        term.levels.append([s for s in acting(inner.body) if not is_range(s)])
        below = [s for s in inner.body if is_range(s)]
        if len(below) > 1 or inner.start != integer(0) or inner.step != integer(1):
            return None
        inner = below[0] if below else None
    found = stores(s for level in term.levels for s in level)
    if len(found) != 1 or found[0] is not term.levels[-1][-1] or not found[0].accumulate:
        return None
    shifts = []
    for at in term.loops:
        here = [c for i in found[0].index for c, terms in [facts.affine(i)] if terms == {at.index: 1}]
        if len(here) != 1:
            return None
        shifts.append(here[0])
    term.shifts = tuple(shifts)
    return term


def in_two_nests(loops: list, facts: Facts) -> list | None:
    """The nests, which may run in any order, as the two above; None where the distances differ along less than two axes."""
    found = [term_of(loop, facts) for loop in loops]
    terms = [t for t in found if t is not None]
    if len(terms) < len(found) or len({len(t.loops) for t in terms}) > 1 or len({t.store.array for t in terms}) > 1:
        return None
    own = set(scalars(s for t in terms for level in t.levels for s in level))
    b = Builder(facts)
    known = [outside(b, at.stop, own, facts) for at in terms[0].loops]
    stops = [stop for stop in known if stop is not None]
    if len(stops) < len(known) or not all(
            facts.same(at.stop, stop) for t in terms for at, stop in zip(t.loops, stops, strict=True)):
        return None
    axes = [Axis(stop, min(s), max(s)) for stop, s in zip(stops, zip(*(t.shifts for t in terms), strict=True), strict=True)]
    if sum(axis.span > 0 for axis in axes) < 2:
        return None
    common(b, terms, axes, facts)
    rest(b, terms, axes, facts)
    return b.stmts


def outside(b: Builder, stop: Atom, own: set, facts: Facts) -> Atom | None:
    """A trip count by what is bound outside the nests."""
    constant, terms = facts.affine(stop)
    if own & set(terms):
        return None
    total: Atom = integer(constant)
    for v, coefficient in terms.items():
        total = b.iadd(b.imul(v, integer(coefficient)), total)
    return total


@dataclass
class Axis:
    """stop: of each term's loop; least, most: the distances along this axis."""

    stop: Atom
    least: int
    most: int

    @property
    def span(self) -> int:
        return self.most - self.least


def common(b: Builder, terms, axes, facts: Facts) -> None:
    """The elements to which all terms add."""
    mappings: list[dict] = [{} for _ in terms]
    builders, made = [b], []
    for k, axis in enumerate(axes):
        count = b.isub(axis.stop, axis.span)
        index = fresh(terms[0].loops[k], facts)
        inner = builders[-1].child(loop=True)
        for term, mapping in zip(terms, mappings, strict=True):
            mapping[term.loops[k].index] = inner.iadd(index, axis.most - term.shifts[k])
            copy(inner, term.levels[k], mapping)
        made.append((index, count))
        builders.append(inner)
    closed(builders, terms, made)


def rest(b: Builder, terms, axes, facts: Facts) -> None:
    """The other elements. Of the rows that `common` has been in, the two ends; of the others what each term adds."""
    builders, made, places = [b], [], []
    inside: Atom = TRUE
    for k, axis in enumerate(axes[:-1]):
        count = b.iadd(axis.stop, axis.span)
        place = fresh(terms[0].loops[k], facts)
        inner = builders[-1].child(loop=True)
        if axis.span:
            inside = both(inner, inside, within(inner, place, axis.span, axis.stop, 0), "inside")
        places.append(place)
        made.append((place, count))
        builders.append(inner)
    row = builders[-1]
    then, orelse = row.child(), row.child()
    if axes[-1].span:
        ends(then, terms, axes, places, facts)
    for shifts, group in grouped(terms, slice(0, -1)).items():
        known: Atom = TRUE
        for place, shift, axis in zip(places, shifts, axes, strict=False):
            known = both(orelse, known, within(orelse, place, shift - axis.least, axis.stop, axis.span))
        adding = orelse.child()
        for term in group:
            mapping = {at.index: adding.isub(place, shift - axis.least)
                       for at, place, shift, axis in zip(term.loops, places, shifts, axes, strict=False)}
            for level in term.levels[:-2]:
                copy(adding, level, mapping)
            copy(adding, term.loops[-2].body, mapping)
        orelse.branch(known, adding.block())
    if axes[-1].span:
        row.branch(inside, then.block(), orelse.block())
    else:
        row.branch(row.let("not", inside, dtype="bool", hint="outside"), orelse.block())
    closed(builders, terms, made)


def ends(b: Builder, terms, axes, places, facts: Facts) -> None:
    """What sticks out at both ends of a row in which only the last axis decides."""
    axis = axes[-1]
    room = b.imax(b.isub(axis.stop, axis.span), integer(0))
    count = b.isub(b.iadd(axis.stop, axis.span), room)
    index = fresh(terms[0].loops[-1], facts)
    inner = b.child(loop=True)
    at = Var(index.hint, "int64")
    facts.number(at)
    beyond = inner.child()
    far = beyond.iadd(index, room)
    inner.branch(inner.compare("ge", index, integer(axis.span)), beyond.block(), (), (Merge(at, far, index),))
    for (shift,), group in grouped(terms, slice(-1, None)).items():
        then = inner.child()
        for term in group:
            mapping = {loop.index: then.isub(place, s - along.least)
                       for loop, place, s, along in zip(term.loops, (*places, at), term.shifts, axes, strict=True)}
            for level in term.levels:
                copy(then, level, mapping)
        inner.branch(within(inner, at, shift - axis.least, axis.stop, axis.span), then.block())
    closed([b, inner], [replace(terms[0], loops=terms[0].loops[-1:])], [(index, count)])


def grouped(terms, axes: slice) -> dict:
    """The terms by their distances along some axes."""
    groups: dict = {}
    for term in terms:
        groups.setdefault(term.shifts[axes], []).append(term)
    return groups


def within(b: Builder, at: Atom, first: int, stop: Atom, span: int) -> Atom:
    """Whether first <= at < first + stop, where at < stop + span is known."""
    low = b.compare("ge", at, integer(first)) if first else TRUE
    high = b.compare("lt", at, b.iadd(stop, min(first, span))) if first < span or not span else TRUE
    return both(b, low, high)


def both(b: Builder, x: Atom, y: Atom, hint: str = "t") -> Atom:
    return b.let("and", x, y, dtype="bool", hint=hint)


def fresh(loop, facts: Facts) -> Var:
    index = Var(loop.index.hint, "int64")
    facts.number(index)
    facts.range[index] = (integer(0), None)
    return index


def closed(builders, terms, made) -> None:
    """Each builder's block as the body of a loop in the one before it."""
    for k in range(len(made) - 1, -1, -1):
        index, count = made[k]
        builders[k].add(replace(terms[0].loops[k], index=index, stop=count, body=builders[k + 1].block()))


def copy(b: Builder, block, mapping: dict) -> None:
    """Emit statements again with other indices; sums with constants are folded, so that equal places look equal."""
    def get(x: Atom) -> Atom:
        return mapping.get(x, x)
    for s in block:
        if operation(s) in ("add", "sub", "mul") and s.var.dtype == "int64":
            mapping[s.var] = {"add": b.iadd, "sub": b.isub, "mul": b.imul}[s.op](*map(get, s.args))
        elif operation(s):
            mapping[s.var] = b.bind(Var(s.var.hint, s.var.dtype), s.op, *map(get, s.args), loc=s.loc)
        elif is_load(s):
            mapping[s.var] = b.read(Var(s.var.hint, s.var.dtype), s.array, tuple(map(get, s.index)), s.loc)
        elif is_store(s):
            b.add(replace(s, index=tuple(map(get, s.index)), value=get(s.value)))
        elif is_range(s):
            own = Var(s.index.hint, "int64")
            b.facts.number(own)
            low, high = b.facts.range.get(s.index, (s.start, None))
            b.facts.range[own] = (low and get(low), high and get(high))
            inner = b.child(loop=True)
            copy(inner, s.body, {**mapping, s.index: own})
            b.add(replace(s, index=own, start=get(s.start), stop=get(s.stop), body=inner.block()))
        else:
            b.add(s)


__all__ = ["copy", "in_two_nests"]
