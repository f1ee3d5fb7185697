"""Python's objects are shared by reference: names that see one list, dict or record see every change of it.

Values of the lowering never change. A change of an object makes a new value that has the identity of the old one, and takes
its place in every name, of every active function, and in every container that holds it.
"""

from __future__ import annotations

from ..language.errors import UnsupportedSyntax
from .values import GrowList, Mapping, Maybe, Record, Sequence, Table, Value, inside


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


MARKS = ("either", "outside", "in_table")        # what is known of an object, whatever it holds now


def identity(value):
    """What two values have in common that are one object at two times."""
    return getattr(value, "origin", value)


def same_object(value, other) -> bool:
    return identity(value) is identity(other)


def with_children(value: Value, parts) -> Value:
    """A value of the same kind with other parts; an object stays the object it is."""
    match value:
        case Sequence(kind=kind):
            made: Value = Sequence(tuple(parts), kind)
        case Mapping(items=items):
            made = Mapping(dict(zip(items, parts, strict=True)))
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


class Sharing:
    """What the lowering does with objects that several names see."""

    frames: list
    kept_frames: list

    def replace_everywhere(self, old: Value, new: Value) -> None:
        """The object `old` has changed and is now `new`."""
        if getattr(old, "outside", False):
            raise self.error(UnsupportedSyntax, "a derivative cannot follow writes to an object that exists outside this "
                             "function", "work on a copy, or pass it as an argument")
        if getattr(old, "in_table", False):
            raise self.error(UnsupportedSyntax, "an item of a list whose length is known only when the program runs is "
                             "changed in place", "store a new item, rows[i] = [...], or use an array, np.zeros((n, m))")
        if any(same_object(o, old) for frame in self.kept_frames if frame not in self.frames
               for value in frame.env.values() for o in objects(value)):
            raise self.error(UnsupportedSyntax, "an object is changed that an inner function keeps after the function "
                             "around it has returned", "pass the object as an argument")
        either = getattr(old, "either", None)
        if either is not None and self.seen_as(either):
            raise self.error(UnsupportedSyntax, "this object is one of two, by the way the program went, and is changed "
                             "while another name may see it", "change it inside the branches, or choose a copy")
        identity(old).changed = True
        self.rebind([(old, as_object(new, old))])

    def as_it_is_now(self, value: Value) -> Value:
        """An object after what has happened to it since it was read, as by the arguments of a call of its method."""
        if is_object(value):
            for frame in self.frames:
                for other in frame.env.values():
                    for o in objects(other):
                        if same_object(o, value):
                            return o
        return value

    def from_outside(self, value: Value) -> Value:
        """A global, a default or an attribute: its objects are not the program's to change."""
        for o in objects(value):
            o.outside = True
        return value

    def kept_in_table(self, value: Value) -> Value:
        """An item of a list that keeps its items part by part: a change of the object would not reach it."""
        for o in objects(value):
            o.in_table = True
        return value

    def seen_as(self, identities) -> bool:
        """Whether a name sees one of these objects."""
        return any(identity(o) in identities
                   for frame in self.frames for value in frame.env.values() for o in objects(value))

    def rebind(self, changes) -> None:
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
        for frame in self.frames:
            for name, value in frame.env.items():
                frame.env[name] = swap(value)


__all__ = ["Sharing", "as_object", "children", "identity", "is_object", "objects", "same_object", "with_children"]
