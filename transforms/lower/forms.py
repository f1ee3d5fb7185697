"""Values that hold others without being containers: functions made by the program, methods, slices, ranges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any


class Value:
    """Anything an expression can denote. `told`: what messages call it.

    A value may be marked while it has one name only. origin: which object of Python it is; either: which it may be;
    in_table: whether it is an item of a growing list; whole: the choice that this is a part of; mirror: its items in memory;
    again: an item computed anew; attributes: the items that are attributes too; once: what is known of an iterator;
    viewed: the dict and the method that this is a view by.
    """

    told = "a value"
    is_flat = False                             # `x.flat`, whose slices are copies
    made_in: Any = None                         # of `x.flat`: what was around it there, and how many loops stood there
    is_list = False                             # an array that stands for a Python list
    read_only: bool | str = False               # memory that NumPy does not let be written
    mixed: bool | frozenset = False             # a number of other kinds by the way the program goes
    origin: Any
    either: set
    in_table: bool
    whole: Value
    mirror: Any
    again: Callable
    attributes: frozenset
    once: Any
    viewed: tuple[Value, str]

    def inside(self) -> tuple[Value, ...]:
        """The values that a function, method, slice or range holds: defaults, an owner, bounds."""
        return ()

    def with_inside(self, parts) -> Value:
        """The same with others."""
        return self


@dataclass(eq=False)
class Static(Value):
    """A Python value known now."""

    value: Any


@dataclass(eq=False)
class Closure(Value):
    """A function or lambda defined inside the program."""

    node: Any
    frame: Any
    defaults: tuple = ()
    keyword_defaults: dict | None = None
    name: str = "lambda"

    def inside(self):
        return (*self.defaults, *(self.keyword_defaults or {}).values())

    def with_inside(self, parts):
        count = len(self.defaults)
        named = dict(zip(self.keyword_defaults or {}, parts[count:], strict=True))
        return replace(self, defaults=tuple(parts[:count]), keyword_defaults=named)


@dataclass(eq=False)
class Bound(Value):
    """A method waiting for its call: `owner.name`."""

    owner: Value
    name: str

    def inside(self):
        return (self.owner,)

    def with_inside(self, parts):
        return Bound(parts[0], self.name)


class Slice(Value):
    told = "a slice"

    def __init__(self, start, stop, step):
        self.start, self.stop, self.step = start, stop, step

    def inside(self):
        return tuple(Static(None) if p is None else p for p in (self.start, self.stop, self.step))

    def with_inside(self, parts):
        return Slice(*parts)


@dataclass(eq=False)
class Range(Value):
    """A `range` to loop over."""

    told = "a range"

    start: Value
    stop: Value
    step: Value
    parallel: bool = False
    checkpoint: tuple | None = None

    def inside(self):
        return self.start, self.stop, self.step

    def with_inside(self, parts):
        return Range(parts[0], parts[1], parts[2], self.parallel, self.checkpoint)


def as_range(value: Value) -> Value:
    """A `range` object that is known now as the Range that loops run over; anything else as it is."""
    if isinstance(value, Static) and isinstance(value.value, range):
        r = value.value
        return Range(Static(r.start), Static(r.stop), Static(r.step))
    return value


@dataclass(eq=False)
class Vectorized(Value):
    """np.vectorize of a function written inside the program."""

    function: Value

    def inside(self):
        return (self.function,)

    def with_inside(self, parts):
        return Vectorized(*parts)


@dataclass(eq=False)
class Applied(Value):
    """functools.partial of a function, made inside the program."""

    function: Value
    args: tuple
    kwargs: dict

    def inside(self):
        return self.function, *self.args, *self.kwargs.values()

    def with_inside(self, parts):
        function, *rest = parts
        count = len(self.args)
        return Applied(function, tuple(rest[:count]), dict(zip(self.kwargs, rest[count:], strict=True)))


def inside(value) -> tuple[Value, ...]:
    """What a value holds that is no container, of a leaf of any tree."""
    return value.inside() if isinstance(value, Value) else ()


__all__ = ["Applied", "Bound", "Closure", "Range", "Slice", "Static", "Value", "Vectorized", "as_range",
           "inside"]
