"""Copies of objects: `copy`, and the functions of `dataclasses` that make one object of another; `operator`'s getters."""

from __future__ import annotations

import copy
import dataclasses
import functools
import operator
from typing import Any

import numpy as np

from ...language.errors import TypeConflict, WrongKind
from ..functions.outside import record_method, special
from ..functions.places import trusted
from ..functions.purity import is_fixed
from ..state import Lowering
from ..structures import describe
from ..table import lowers
from ..values import Array, GrowList, Mapping, Record, Sequence, Series, Static, Table, Value, is_number, passes
from .sharing import identity, is_object


@lowers(copy.copy)
def lower_copy(lo: Lowering, x) -> Value:
    if isinstance(x, Record) and trusted(x.cls.__module__) and hasattr(x.cls, "copy"):
        return record_method(lo, x, "copy", [], {})         # it stands for a library's class, and holds a list or dict
    made = special(lo, x, "__copy__") if isinstance(x, Record) else None
    return shallow(lo, x) if made is None else made


def shallow(lo: Lowering, x) -> Value:
    """Another object with the same parts."""
    if passes(x) or x.is_flat:
        raise lo.error(WrongKind, "an iterator, or a view of a dict, is not copied", "make a list of it: list(...)")
    match x:
        case Sequence(items=items, kind=kind):
            return Sequence(items, kind)
        case Mapping(items=items):
            return x.with_items(dict(items))
        case Record(cls=cls, fields=fields):
            return Record(cls, dict(fields))
        case Array() if not x.is_list and x.rank:
            return lo.call_static(np.copy, [x], {})
        case Array() | GrowList() if not is_number(x):
            return lo.call_method(x, "copy", [], {})
        case Static(value=v) if not is_fixed(v):
            raise lo.error(TypeConflict, f"{describe(x)} exists outside this function and is not copied here",
                           "copy it outside, and pass the copy as an argument")
    return x


@lowers(copy.deepcopy)
def lower_deepcopy(lo: Lowering, x) -> Value:
    return deep(lo, x, {})


def deep(lo: Lowering, x, made: dict) -> Value:
    """Another object with copies of its parts; what was one object stays one. made: the copies so far."""
    if id(identity(x)) in made:
        return made[id(identity(x))]
    if isinstance(x, Record) and hasattr(x.cls, "__deepcopy__"):
        raise lo.error(TypeConflict, f"a {x.cls.__name__} has a `__deepcopy__` of its own, which is not supported",
                       "call a method that makes the copy")
    if isinstance(x, (Table, Series)):
        raise lo.error(TypeConflict, f"copy.deepcopy of {describe(x)} is not supported", "copy its items")
    found = shallow(lo, x)
    if isinstance(found, Sequence):
        found = Sequence(tuple(deep(lo, v, made) for v in found.items), found.kind)
    elif isinstance(found, Mapping):
        found = found.with_items({k: deep(lo, v, made) for k, v in found.items.items()})
    elif isinstance(found, Record):
        found = Record(found.cls, {k: deep(lo, v, made) for k, v in found.fields.items()})
    if is_object(x) or isinstance(x, Array):
        made[id(identity(x))] = found
    return found


@lowers(dataclasses.replace)
def lower_replace(lo: Lowering, x, /, **changes) -> Value:
    fields = dataclass_of(lo, x, "replace").fields
    given = {f.name: fields[f.name] for f in dataclasses.fields(x.cls) if f.init and f.name in fields}
    return lo.call_static(x.cls, [], {**given, **changes})


@lowers(dataclasses.asdict)
def lower_asdict(lo: Lowering, x) -> Value:
    dataclass_of(lo, x, "asdict")
    return taken_apart(lo, x, Mapping)


@lowers(dataclasses.astuple)
def lower_astuple(lo: Lowering, x) -> Value:
    dataclass_of(lo, x, "astuple")
    return taken_apart(lo, x, lambda fields: Sequence(tuple(fields.values())))


def dataclass_of(lo: Lowering, x, name: str) -> Record:
    if not isinstance(x, Record) or not dataclasses.is_dataclass(x.cls):
        raise lo.error(WrongKind, f"dataclasses.{name}() should be called on dataclass instances")
    return x


def taken_apart(lo: Lowering, x, whole) -> Value:
    """A dataclass, and those in it, as what `whole` makes of their fields; other parts are copied."""
    match x:
        case Record(cls=cls, fields=fields) if dataclasses.is_dataclass(cls):
            return whole({f.name: taken_apart(lo, fields[f.name], whole) for f in dataclasses.fields(cls)})
        case Sequence(items=items, kind=kind):
            return Sequence(tuple(taken_apart(lo, v, whole) for v in items), kind)
        case Mapping(items=items):
            return x.with_items({k: taken_apart(lo, v, whole) for k, v in items.items()})
    return deep(lo, x, {})


def call_getter(lo: Lowering, target, args) -> Value | None:
    """What an `operator.itemgetter`, `attrgetter` or `methodcaller` gives of an object; None for any other function."""
    if not isinstance(target, (operator.itemgetter, operator.attrgetter, operator.methodcaller)) or len(args) != 1:
        return None
    made: Any = target.__reduce__()
    whole, given = made[:2]
    if isinstance(target, operator.methodcaller):
        named = whole.keywords if isinstance(whole, functools.partial) else {}
        name, *others = [*whole.args, *given] if named else given
        return lo.call(lo.attribute(args[0], name), list(map(lo.wrap, others)), {k: lo.wrap(v) for k, v in named.items()})
    dotted = isinstance(target, operator.attrgetter)
    found = []
    for step in given:
        value = args[0]
        for part in step.split(".") if dotted else (step,):
            value = lo.attribute(value, part) if dotted else lo.get_item(value, Static(part))
        found.append(value)
    return found[0] if len(found) == 1 else Sequence(tuple(found))


__all__ = ["call_getter"]
