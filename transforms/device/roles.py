"""Who collects an addition: the loops whose indices say where it goes, and what it needs to be computed elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..language import core
from ..language.build import integer
from ..language.core import For, If, Let, Load, Store, Var, While, defined, operands, walk
from ..language.facts import Facts
from ..language.names import defined_in
from ..language.ops import EXPENSIVE
from ..language.queries import allocated_in, is_loop
from .nests import Accesses, collapsed, offset


@dataclass(frozen=True)
class Place:
    """A statement and the loops and branches around it: (statement, block of it) pairs, outermost first."""

    stmt: object
    path: tuple

    @property
    def loops(self) -> tuple:
        return tuple(s for s, _ in self.path if isinstance(s, For))


class Nest:
    """A loop nest: where everything stands, who defines what, in the order of the text."""

    def __init__(self, loop: For, facts: Facts):
        self.loop, self.facts = loop, facts
        self.inside = defined_in((loop,))
        self.place: dict = {}
        self.definition: dict = {}
        self.order: dict = {}
        self.private = allocated_in(loop.body)
        self.known = Accesses(loop, facts)
        self.visit((loop,), ())

    def visit(self, block, path) -> None:
        for s in block:
            self.place[s] = Place(s, path)
            self.order[s] = len(self.order)
            for v in defined(s):
                self.definition[v] = s
            for inner in core.sub_blocks(s):
                self.visit(inner, (*path, (s, inner)))

    def stored(self, load: Load, later: bool) -> bool:
        """Whether what a load reads may have been written, earlier in its iteration; or, later, by the nest."""
        return any((later or self.before(s, load)) and not self.known.never_meet(s, load)
                   for s in self.known.stores.get(load.array, ()))

    def before(self, store: Store, load: Load) -> bool:
        """Whether a store may write what a load of the same iteration reads after it: it stands before, or an inner loop
        comes round to the load."""
        if self.order[store] < self.order[load]:
            return True
        around = {s for s, _ in self.place[load].path}
        return any(isinstance(s, While) or isinstance(s, For) and not self.known.apart(store, load, s)
                   for s, _ in self.place[store].path if s is not self.loop and s in around)

    def only_added_to(self, store: Store) -> bool:
        """Whether the nest does nothing else with the elements that a store adds to."""
        return all(isinstance(s, Store) and s.accumulate or self.known.never_meet(store, s)
                   for s in self.known.all[store.array])


@dataclass
class Group:
    """Additions that the same threads can collect.

    owners: the loops whose indices, plus `shifts`, are the subscripts at `axes`. A shift is (constant, terms, width): with a
    width, the subscript is the sum modulo the width, which is what the loop runs to. needed: the statements that compute
    what is added; kept: those whose values come from an array instead.
    """

    owners: tuple
    shifts: tuple
    axes: tuple
    path: tuple
    stores: list = field(default_factory=list)
    needed: set = field(default_factory=set)
    kept: dict = field(default_factory=dict)


def groups_of(loop: For, nest: Nest, facts: Facts) -> list[Group]:
    """The additions in a nest that others than its own threads should collect, as far as that can be."""
    threads = {found.index for found in collapsed(loop, facts)}
    made: dict[Store, Any] = {}
    for s, place in nest.place.items():
        if isinstance(s, Store) and s.accumulate and s.array not in nest.private and nest.only_added_to(s):
            made[s] = owners_of(s, place, nest)
    groups: dict = {}
    for s, found in made.items():
        alike = all(other == found for t, other in made.items() if t.array is s.array)
        if found is None or alike and {o.index for o in found[0]} == threads:
            continue
        loops, shifts, axes = found
        path = nest.place[s].path
        key = (*found, tuple((id(around), id(block)) for around, block in path))       # one side of each branch
        groups.setdefault(key, Group(loops, shifts, axes, path)).stores.append(s)
    return [g for g in groups.values() if sliced(g, nest, False) or sliced(g, nest, True)]


def path_statements(path) -> list:
    return [s for s, _ in path]


def owners_of(store: Store, place: Place, nest: Nest):
    """(loops, shifts, axes): at each of these axes the subscript is a loop's index and a shift; None if at no axis."""
    loops: list = []
    shifts: list = []
    axes: list = []
    for axis, subscript in enumerate(store.index):
        for loop in place.loops:
            shift = shift_of(subscript, loop, nest)
            if shift is not None and loop not in loops and fixed_range(loop, nest):
                loops.append(loop)
                shifts.append(shift)
                axes.append(axis)
                break
    return (tuple(loops), tuple(shifts), tuple(axes)) if loops else None


def shift_of(subscript, loop: For, nest: Nest):
    """(constant, terms, width) of a subscript that is a loop's index and a shift, modulo the width if there is one."""
    found = offset(subscript, loop.index, nest.inside, nest.facts)
    if found is not None:
        return (*found, None)
    op, args = nest.facts.definition.get(subscript, ("", ())) if isinstance(subscript, Var) else ("", ())
    if op != "mod" or args[1] in nest.inside or loop.start != integer(0) or not nest.facts.same(loop.stop, args[1]):
        return None
    found = offset(args[0], loop.index, nest.inside, nest.facts)
    return None if found is None else (*found, args[1])


def fixed_range(loop: For, nest: Nest) -> bool:
    return (loop.step == integer(1) and loop.exit is None and loop.trip is None
            and loop.start not in nest.inside and loop.stop not in nest.inside)


def sliced(group: Group, nest: Nest, later: bool) -> bool:
    """Whether what is added can be computed by other threads; fills `needed` and `kept`.

    later: after the nest itself has run, when arrays hold what it has written to them.
    """
    group.needed, group.kept = set(), {}
    path = path_statements(group.path)
    if any(not isinstance(s, (For, If)) or isinstance(s, For) and s.exit is not None for s in path):
        return False
    waiting: list = [x for s in group.stores for x in (*s.index, s.value)]
    for s in path:
        waiting += [s.cond] if isinstance(s, If) else [s.start, s.stop, s.step]
    indices = {s.index for s in path if isinstance(s, For)}
    seen: set = set()
    while waiting:
        v = waiting.pop()
        if not isinstance(v, Var) or v not in nest.inside or v in indices or v in seen:
            continue
        seen.add(v)
        made = nest.definition.get(v)
        if made is None or path_statements(nest.place[made].path) != path[:len(nest.place[made].path)]:
            return False
        if made in group.needed:
            continue
        if again(made, group, nest, later):
            group.needed.add(made)
            own = defined_in((made,))
            waiting += [x for s in walk((made,)) for x in operands(s) if x not in own]
        elif later and can_be_kept(made, v, nest):
            group.kept[v] = made
        else:
            return False
    return True


def again(stmt, group: Group, nest: Nest, later: bool) -> bool:
    """Whether a value may be computed again by the threads of a group."""
    place = nest.place[stmt]
    innermost = len(place.path) == len(group.path)
    more_often = not innermost and any(o not in place.loops for o in group.owners)
    for s in walk((stmt,)):
        if isinstance(s, Load):
            if s.array in nest.private or nest.stored(s, later):
                return False
        elif not isinstance(s, (Let, For, While, If, core.Comment)):
            return False
        if is_loop(s) and not innermost or isinstance(s, Let) and s.op in EXPENSIVE and more_often:
            return False
    return True


def can_be_kept(stmt, v: Var, nest: Nest) -> bool:
    """Whether a value of each iteration can stand in an array."""
    place = nest.place[stmt]
    return v.dtype in (*core.FLOATS, "int64", "bool") and all(isinstance(s, For) and fixed_range(s, nest)
                                                              for s in path_statements(place.path))


__all__ = ["Group", "Nest", "groups_of", "path_statements"]
