"""Trees of values: their leaves, and trees of the same form with others."""

from __future__ import annotations

from collections.abc import Callable

from .values import Array, Closure, Either, Mapping, Packed, Record, Sequence, Static, Table, Value, is_number


def rebuild(value: Value, new_leaves) -> Value:
    """A value of the same structure with other leaves (an iterator)."""
    match value:
        case Sequence(items=items, kind=kind):
            return Sequence(tuple(rebuild(i, new_leaves) for i in items), kind)
        case Mapping(items=items):
            return Mapping({k: rebuild(v, new_leaves) for k, v in items.items()})
        case Record(cls=cls, fields=fields):
            return Record(cls, {k: rebuild(v, new_leaves) for k, v in fields.items()})
        case Table(row=row):
            return Table(rebuild(row, new_leaves))
        case Packed(item=item, kind=kind, mark=mark, lead=lead):
            return Packed(rebuild(item, new_leaves), kind, mark, lead)
        case Either(options=options, possible=possible):
            return Either(next(new_leaves), tuple(rebuild(o, new_leaves) for o in options), possible)
    return next(new_leaves)


def mapped(value: Value, change: Callable) -> Value:
    """A tuple, list, dict or record with `change(item)` in the place of each item; anything else as it is."""
    match value:
        case Sequence(items=items, kind=kind):
            return Sequence(tuple(map(change, items)), kind)
        case Mapping(items=items):
            return Mapping({k: change(v) for k, v in items.items()})
        case Record(cls=cls, fields=fields):
            return Record(cls, {k: change(v) for k, v in fields.items()})
    return value


def structure(value: Value):
    """The shape of nested containers, comparable: equal structures have corresponding leaves."""
    match value:
        case Sequence(items=items, kind=kind):
            return (kind, tuple(structure(i) for i in items))
        case Mapping(items=items):
            return ("dict", tuple((k, structure(v)) for k, v in items.items()))
        case Record(cls=cls, fields=fields):
            return (cls, tuple((k, structure(v)) for k, v in fields.items()))
        case Table(row=row):
            return ("table", structure(row))
        case Either(options=options):
            return ("either", tuple(map(option_key, options)))
    return "leaf"


def option_key(value: Value):
    """What kind of option a value is: values of one kind fit together. None: it cannot be one."""
    if is_number(value):
        return "number"
    match value:
        case Static(value=v):
            try:
                return (type(v), hash(v), v)
            except TypeError:
                return (type(v), id(v))
        case Array() if not value.is_list:
            return ("array", value.rank)
        case Sequence(items=items, kind=kind) if kind is tuple:
            parts = tuple(map(option_key, items))
            return None if None in parts else ("tuple", parts)
        case Closure():
            return ("function", id(value))
    return None
