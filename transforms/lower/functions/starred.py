"""`f(t, *theta)` where the length of `theta` is known only when the program runs: `f` says by its parameters."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import gast

from ...language.core import Const
from ...language.errors import AutodiffError
from ...source.definitions import MISSING, definition, generated, own, plain_function
from ...source.plain import tuple_fields
from ..arrays.broadcasting import require_same
from ..checks import guard
from ..containers.containers import closure_defaults
from ..state import Lowering
from ..values import Applied, Array, Bound, Closure, GrowList, Record, Static, Value, is_number
from .binding import positional_names
from .outside import class_attribute, defaults_of


class Taken(NamedTuple):
    """What a callable takes by position: names, without those that are bound already, and values of the last ones."""

    names: list[str]
    defaults: list[Value]

    def without(self, named) -> Taken:
        """What is left to take by position where `named` are given by keyword."""
        most = next((k for k, n in enumerate(self.names) if n in named), len(self.names))
        required = len(self.names) - len(self.defaults)
        return Taken(self.names[:most], self.defaults[:max(most - required, 0)])

    def behind(self, count: int) -> Taken | None:
        """What is left to take after the first `count`."""
        left = len(self.names) - count
        return None if left < 0 else Taken(self.names[count:], self.defaults[max(len(self.defaults) - left, 0):])


def one_for_each_parameter(lo: Lowering, function: Value, value, given: int, rest) -> tuple | None:
    """The items of an array of unknown length in `f(t, *theta)`, as many as `f` has parameters; None where these do not say.

    given: the arguments before it; rest: the nodes of those behind it. Where the last parameters have numbers as defaults,
    the length says when the program runs which of them are given. A length that does not fit raises TypeError.
    """
    value = lo.array(value) if isinstance(value, GrowList) else value
    if not isinstance(value, Array) or not value.rank or isinstance(value.shape[0], Const) or any(
            isinstance(n, gast.Starred) or isinstance(n, gast.keyword) and n.arg is None for n in rest):
        return None
    taken = taken_by(lo, function)
    if taken is None:
        return None
    taken = taken.without({n.arg for n in rest if isinstance(n, gast.keyword)})
    behind = sum(not isinstance(n, gast.keyword) for n in rest)
    required = len(taken.names) - len(taken.defaults)
    least, most = required - given - behind, len(taken.names) - given - behind
    if most < 0 or least != most and behind:            # those behind it would be bound by its length
        return None
    least = max(least, 0)
    size = value.shape[0]
    if least == most:
        require_same(lo, size, Const(most, "int64"), "the array does not have as many items as the function called here "
                     f"takes further arguments ({most})", "TypeError")
        return tuple(item(lo, value, k) for k in range(most))
    others = taken.defaults[given + least - required:][:most - least]
    if not all(map(is_number, others)) or value.rank > 1:
        return None
    told = f"the array does not have {least} to {most} items, as many as the function called here takes further arguments"
    fits = lo.b.let("and", lo.b.compare("ge", size, Const(least, "int64")), lo.b.compare("le", size, Const(most, "int64")),
                    dtype="bool")
    guard(lo, fits, "TypeError", told)
    made = [item(lo, value, k) for k in range(least)]
    for k, default in enumerate(others, least):
        more = lo.b.compare("gt", size, Const(k, "int64"))
        made.append(lo.choose(more, lambda k=k: item(lo, value, k), lambda default=default: default))
    return tuple(made)


def item(lo: Lowering, value: Array, k: int) -> Value:
    return lo.index_array(value, (Static(k),))


def taken_by(lo: Lowering, function: Value) -> Taken | None:
    """What a function, a method or a class takes; None where it takes any number, or where that is not known."""
    match function:
        case Closure():
            return of_definition(function.node.args, closure_defaults(lo, function)[0], 0)
        case Applied(function=inner, args=first, kwargs=named):
            taken = taken_by(lo, inner)
            return taken and taken.without(named).behind(len(first))
        case Static(value=functools.partial() as made):
            taken = taken_by(lo, Static(made.func))
            return taken and taken.without(made.keywords).behind(len(made.args))
        case Record(cls=cls):
            return of_method(lo, cls, "__call__")
        case Bound(owner=Record(cls=cls), name=name):
            return of_method(lo, cls, name)
        case Static(value=type() as cls):
            return of_class(lo, cls)
        case Static(value=target):
            plain: Any = plain_function(target)
            if not hasattr(plain, "__code__"):
                return None
            return of_function(lo, plain, int(getattr(plain, "__self__", None) is not None))
    return None


def of_function(lo: Lowering, function, bound: int) -> Taken | None:
    try:
        spec = definition(function).node.args
    except AutodiffError:
        return None
    return of_definition(spec, defaults_of(lo, function)[0], bound)


def of_definition(spec, defaults, bound: int) -> Taken | None:
    return None if spec.vararg is not None else Taken(positional_names(spec)[bound:], list(defaults))


def of_method(lo: Lowering, cls: type, name: str) -> Taken | None:
    found = class_attribute(lo, cls, name)
    bound = int(not isinstance(found, staticmethod))
    plain: Any = getattr(found, "__func__", found)
    return of_function(lo, plain, bound) if hasattr(plain, "__code__") else None


def of_class(lo: Lowering, cls: Any) -> Taken | None:
    """What the `__init__` of a class takes, that of a dataclass by its fields; a namedtuple takes its own."""
    init: Any = class_attribute(lo, cls, "__init__")
    if hasattr(cls, "__dataclass_fields__") and generated(init):
        fields = [f for f in cls.__dataclass_fields__.values() if f.init and not f.kw_only and f._field_type is not CLASSVAR]
        if any(f.default_factory is not dataclasses.MISSING for f in fields):
            return None
        return Taken([f.name for f in fields], [lo.wrap(f.default) for f in fields if f.default is not dataclasses.MISSING])
    if issubclass(cls, tuple) and hasattr(cls, "_fields") and own(cls, "__new__") is None and own(cls, "__init__") is None:
        names = list(tuple_fields(cls))
        return Taken(names, [lo.wrap(v) for v in getattr(cls, "_field_defaults", {}).values()])
    return of_function(lo, init, 1) if init is not MISSING and hasattr(init, "__code__") else None


CLASSVAR: Any = vars(dataclasses)["_FIELD_CLASSVAR"]


__all__ = ["one_for_each_parameter"]
