"""Python's objects are shared by reference: names that see one list, dict or record see every change of it.

Values of the lowering never change. A change of an object makes a new value that has the identity of the old one, and takes
its place in every name, of every active function, and in every container that holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count

import gast

from ...language.core import Arr
from ...language.errors import UnsupportedSyntax
from ..arrays.aliases import with_twins
from ..numbers.conversions import truth_value
from ..numbers.kinds_on_paths import kinds_of
from ..state import Lowering
from ..structures import describe
from ..values import (
    Array,
    Bound,
    Buffer,
    GrowList,
    Mapping,
    Maybe,
    Record,
    Sequence,
    Static,
    Table,
    Undefined,
    Value,
    View,
    inside,
    is_number,
    known_as,
)


def is_object(value) -> bool:
    """Whether Python would change a value of this kind in place: tuples only hold such values."""
    return isinstance(value, (Mapping, Record, Table, GrowList)) or (isinstance(value, Sequence) and value.kind is list)


def children(value) -> tuple:
    match value:
        case Sequence(items=items):
            return items
        case Mapping(items=items) | Record(fields=items):
            return tuple(items.values())
        case Maybe(value=inner, bound=bound):
            return inner, bound
    return inside(value)


def objects(value) -> list:
    """The objects in a value, itself first."""
    found = [value] if is_object(value) else []
    for child in children(value):
        found += objects(child)
    return found


def has_objects(value) -> bool:
    """Whether a change of an object may change a value."""
    return is_object(value) or isinstance(value, View) and value.item_of is not None or any(
        map(has_objects, children(value)))


def objects_owned(value) -> list:
    """The objects in a value, but for the owners of methods, which are looked up where these are called."""
    found = [value] if is_object(value) else []
    for child in () if isinstance(value, Bound) else children(value):
        found += objects_owned(child)
    return found


MARKS = ("either", "outside", "given", "in_table")        # what is known of an object, whatever it holds now


def identity(value):
    """What two values have in common that are one object at two times."""
    return getattr(value, "origin", value)


def may_be(value) -> set:
    """The objects that one is, by the way the program went."""
    return {identity(value)} | getattr(value, "either", set())


def same_object(value, other) -> bool:
    return identity(value) is identity(other)


def with_children(value: Value, parts) -> Value:
    """A value of the same kind with other parts; an object stays the object it is."""
    match value:
        case Sequence(kind=kind):
            made: Value = Sequence(tuple(parts), kind)
        case Mapping(items=items):
            made = Mapping(dict(zip(items, parts, strict=True)), value.kind)
        case Record(cls=cls, fields=fields):
            made = Record(cls, dict(zip(fields, parts, strict=True)))
        case Maybe():
            made = Maybe(*parts)
        case _:
            return value.with_inside(parts)
    return as_object(made, value)


def as_object(made: Value, value) -> Value:
    """`made`, as the same object that `value` is."""
    if is_object(made) and is_object(value):
        made.origin = identity(value)
        for mark in MARKS:
            if hasattr(value, mark):
                setattr(made, mark, getattr(value, mark))
    return made


EXISTS_OUTSIDE = ("a derivative cannot follow writes to an object that exists outside this function",
                  "work on a copy, or pass it as an argument")


def list_changes(lo: Lowering, owner: Value) -> None:
    """An object is about to change: not one outside, or memory that may stand for a list outside."""
    if isinstance(owner, GrowList):
        lo.changed_lists.add(owner.arr)
    if getattr(owner, "outside", False) or isinstance(owner, GrowList) and owner.arr in lo.outside_lists:
        raise lo.error(UnsupportedSyntax, *EXISTS_OUTSIDE)


def stands_for_outside(lo: Lowering, arr: Arr, sources=None) -> None:
    """Memory of a list gets the items of a list outside, or of memory that stands for one: it must not change, before or
    after."""
    if sources is not None and lo.outside_lists.isdisjoint(sources):
        return
    lo.outside_lists.add(arr)
    if arr in lo.changed_lists:
        raise lo.error(UnsupportedSyntax, *EXISTS_OUTSIDE)


def replace_everywhere(lo: Lowering, old: Value, new: Value) -> None:
    """The object `old` has changed and is now `new`."""
    list_changes(lo, old)
    if getattr(old, "in_table", False):
        raise lo.error(UnsupportedSyntax, "an item of a list whose length is known only when the program runs is "
                       "changed in place", "store a new item, rows[i] = [...], or use an array, np.zeros((n, m))")
    if any(identity(row) in may_be(old) for rows in lo.learnt.rows.values() for row in rows):
        raise lo.error(UnsupportedSyntax, f"{describe(old)} is changed after it became a row of a list whose length is "
                       "known only when the program runs", "put a copy there: list(row)")
    if any(same_object(o, old) for part in children(new) for o in objects_owned(part)):
        raise lo.error(UnsupportedSyntax, f"{describe(old)} is put into itself, or into what it holds",
                       "put a copy into it")
    if any(same_object(o, old) for frame in lo.kept_frames if frame not in lo.frames
           for value in frame.env.values() for o in objects(value)):
        raise lo.error(UnsupportedSyntax, "an object is changed that an inner function keeps after the function "
                       "around it has returned", "pass the object as an argument")
    either = getattr(old, "either", None)
    if either is not None and seen_as(lo, either):
        raise lo.error(UnsupportedSyntax, "this object is one of two, by the way the program went, and is changed "
                       "while another name may see it", "change it inside the branches, or choose a copy")
    for changed in (identity(old), *(either or ())):
        changed.changed = True
    lose(lo, old)
    rebind(lo, [(old, as_object(new, old))])


def lose(lo: Lowering, changed: Value) -> None:
    """A name that may see the object `changed`, by the way the program went, has no value from now on."""
    found = may_be(changed)
    end_names(lo, lambda value: any(chosen & found for chosen in choices(value, changed)),
        f"may be {describe(changed)} that has changed since, or another one, by the way the program went",
        "change it before the choice, or choose a copy")


def end_names(lo: Lowering, sees: Callable[[Value], bool], problem: str, way_out: str) -> None:
    """Names whose value `sees` what has changed have no value from now on; a value that no name has yet is refused."""
    for frame in lo.frames:
        for name, value in frame.env.items():
            if not sees(value):
                continue
            if name.startswith("%"):
                raise lo.error(UnsupportedSyntax, f"a value {problem}", way_out)
            frame.env[name] = Undefined(f"`{name}` {problem}", lo.b.loc, True)


def choices(value: Value, changed: Value) -> Iterator[set]:
    """What each object in a value may be that is one of several, by the way the program went."""
    if is_object(value) and not same_object(value, changed):
        yield getattr(value, "either", set())
    source: Value = value
    while isinstance(source, View) and getattr(value, "is_list", False):
        if source.item_of is not None:
            yield {identity(o) for item in children(source.item_of) for o in objects(item)}
        source = source.source
    for child in children(value):
        yield from choices(child, changed)


def as_it_is_now(lo: Lowering, value: Value) -> Value:
    """An object after what has happened to it since it was read, as by the arguments of a call of its method."""
    if is_object(value):
        for frame in lo.frames:
            for other in frame.env.values():
                for o in objects(other):
                    if same_object(o, value):
                        return o
    return value


class Held:
    """Values of an expression whose other parts are being evaluated. `now`: with the objects in them as these are now."""

    def __init__(self, lo: Lowering, values, acts: bool = True):
        self.values, self.frame, self.name = list(values), lo.frame, ""
        self.follow(lo, values if acts else ())

    def follow(self, lo: Lowering, values) -> None:
        """A hidden name has the values from now on, if there are objects among these."""
        if self.name or any(map(has_objects, values)):
            env = self.frame.env
            self.name = self.name or next(n for n in map("%held{}".format, count(len(env))) if n not in env)
            env[self.name] = Sequence(tuple(self.values))

    @property
    def now(self) -> list:
        if self.name:
            self.values = list(known_as(Sequence, self.frame.env[self.name]).items)
        return self.values

    def add(self, lo: Lowering, *more: Value) -> None:
        self.values = [*self.now, *more]
        self.follow(lo, more)


@contextmanager
def holding(lo: Lowering, *values, node=None) -> Iterator[Held]:
    """While the rest of an expression is evaluated, `node` if that is one: should it write what `values` read, they get
    memory first; should it change an object in them, they follow."""
    lo.around.temporaries.extend(values)
    held = Held(lo, values, not isinstance(node, (gast.Name, gast.Constant)))
    try:
        yield held
        held.values = held.now
    finally:
        del lo.around.temporaries[len(lo.around.temporaries) - len(values):]
        if held.name:
            held.frame.env.pop(held.name, None)
            held.name = ""


def of_each(lo: Lowering, items, call) -> tuple[list, list]:
    """The items, and `call(item)` for each, which follow what the calls change."""
    with holding(lo, *items) as source, holding(lo) as made:
        for k in range(len(items)):
            made.add(lo, call(source.now[k]))
        return source.now, made.now


def from_outside(lo: Lowering, value: Value) -> Value:
    """A global, a default or an attribute: its objects are not the program's to change."""
    for o in objects(value):
        o.outside = True
    return value


def kept_in_table(lo: Lowering, value: Value) -> Value:
    """An item of a list that keeps its items part by part: a change of the object would not reach it."""
    for o in objects(value):
        o.in_table = True
    return value


def seen_as(lo: Lowering, identities, but: str = "") -> bool:
    """Whether a name, but this one, sees one of these objects."""
    return any(identity(o) in identities for frame in lo.frames for name, value in frame.env.items()
               if name != but or frame is not lo.frame for o in objects(value))


def rebind(lo: Lowering, changes) -> None:
    """Put values in the place of others, in all names and in what they hold. changes: pairs (old, new)."""
    memo = {id(old): (old, new) for old, new in changes}        # keeps the old ones, whose ids would be given again

    def swap(value):
        if id(value) in memo:
            return memo[id(value)][1]
        made = value
        before = children(value)
        after = tuple(map(swap, before))
        if any(a is not b for a, b in zip(after, before, strict=True)):
            made = with_children(value, after)
        memo[id(value)] = value, made
        return made
    for frame in lo.frames:
        for name, value in frame.env.items():
            frame.env[name] = swap(value)


def identical(lo: Lowering, left, right) -> Value:
    """`left is right`, where that is known."""
    numbers = [is_number(v) for v in (left, right)]
    lo.asked_identity |= isinstance(left, Array) and isinstance(right, Array)
    if isinstance(left, Static) and isinstance(right, Static):
        a, b = left.value, right.value
        if a is b and not isinstance(a, (float, complex)) or type(a) is not type(b) or a != b:
            return Static(a is b)
        if isinstance(a, int) and -5 <= a <= 256:               # which CPython has once
            return Static(True)
        if not isinstance(a, (int, float, complex, str, bytes, tuple)):
            return Static(a is b)
    elif all(numbers):
        mine, other = map(partial(kinds_of, lo), (left, right))
        if not mine & other:
            return Static(False)
        if len(mine | other) > 1:
            raise unknown_identity(lo, left, right, "convert it: bool(...)")
        if mine == {("bool", True)}:
            return truth_value(lo, lo.b.compare("eq", lo.atom(left), lo.atom(right)))
    elif left is right:
        return Static(True)
    elif any(numbers):
        return Static(False)
    elif isinstance(left, Array) and isinstance(right, Array) and not (left.roots() & right.roots() & lo.columns):
        mine, other = (frozenset(with_twins(lo, v.roots())) for v in (left, right))
        given = [isinstance(v, Buffer) and v.arr in lo.parameters for v in (left, right)]
        if not (mine & other or all(given)) or any(isinstance(v, View) for v in (left, right)) and mine == left.roots() \
                and other == right.roots():
            return Static(False)
    elif is_object(left) or is_object(right):
        if same_object(left, right) or not (is_object(left) and is_object(right)):
            return Static(same_object(left, right))
        ambiguous: list[set] = [getattr(v, "either", set()) for v in (left, right)]
        if not (identity(right) in ambiguous[0] or identity(left) in ambiguous[1] or ambiguous[0] & ambiguous[1]
                or getattr(left, "outside", False) and getattr(right, "outside", False)):
            if all(getattr(v, "outside", False) or getattr(v, "given", False) for v in (left, right)):
                identity(left).told_apart = identity(right).told_apart = True   # calls see to it that they are two
            return Static(False)
    elif type(left) is not type(right):
        return Static(False)
    raise unknown_identity(lo, left, right, "compare with `==`, or use `is` with None, True, False and objects only")


def unknown_identity(lo: Lowering, left, right, advice: str):
    return lo.error(UnsupportedSyntax, f"whether {describe(left)} and {describe(right)} are one object is not known "
                    "before the program runs", advice)


__all__ = ["as_object", "children", "identity", "is_object", "objects", "same_object", "with_children"]
