"""Trees of values: their leaves, and trees of the same form with others."""

from __future__ import annotations

from collections.abc import Callable

from .values import (
    Applied,
    Array,
    Bound,
    Closure,
    Either,
    Generator,
    GrowList,
    Mapping,
    Maybe,
    Packed,
    Range,
    Record,
    Scalar,
    Sequence,
    Slice,
    Static,
    Table,
    Undefined,
    Value,
    Vectorized,
    inside,
    is_number,
)


def rebuild(value: Value, new_leaves) -> Value:
    """A value of the same structure with other leaves (an iterator)."""
    match value:
        case Sequence(items=items, kind=kind):
            return Sequence(tuple(rebuild(i, new_leaves) for i in items), kind)
        case Mapping(items=items):
            return value.with_items({k: rebuild(v, new_leaves) for k, v in items.items()})
        case Record(cls=cls, fields=fields):
            return Record(cls, {k: rebuild(v, new_leaves) for k, v in fields.items()})
        case Table(row=row):
            return Table(rebuild(row, new_leaves))
        case Packed(item=item, kind=kind, mark=mark, lead=lead):
            return Packed(rebuild(item, new_leaves), kind, mark, lead)
        case Either(options=options, possible=possible):
            return Either(next(new_leaves), tuple(rebuild(o, new_leaves) for o in options), possible)
        case Maybe(value=inner):
            return Maybe(rebuild(inner, new_leaves), next(new_leaves))
    made = next(new_leaves)
    if parts := inside(value):
        form = made if type(made) is type(value) else value
        return form.with_inside([rebuild(part, new_leaves) for part in parts])
    return made


def mapped(value: Value, change: Callable) -> Value:
    """A tuple, list, dict or record with `change(item)` in the place of each item; anything else as it is."""
    match value:
        case Sequence(items=items, kind=kind):
            return Sequence(tuple(map(change, items)), kind)
        case Mapping(items=items):
            return value.with_items({k: change(v) for k, v in items.items()})
        case Record(cls=cls, fields=fields):
            return Record(cls, {k: change(v) for k, v in fields.items()})
    return value


def structure(value: Value):
    """The shape of nested containers, comparable: equal structures have corresponding leaves."""
    match value:
        case Sequence(items=items, kind=kind):
            return (kind, tuple(structure(i) for i in items))
        case Mapping(items=items):
            return (value.kind, tuple((k, structure(v)) for k, v in items.items()))
        case Record(cls=cls, fields=fields):
            return (cls, tuple((k, structure(v)) for k, v in fields.items()))
        case Table(row=row):
            return ("table", structure(row))
        case Either(options=options):
            return ("either", tuple(map(option_key, options)))
        case Maybe(value=inner):
            return ("maybe", structure(inner))
    if parts := inside(value):
        return (*same_form(value), *map(structure, parts))
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
        case Slice(step=Static(value=int() as step)):       # which must be known where it is used
            parts = tuple(map(option_key, inside(value)))
            return None if None in parts else (Slice, parts, step)
        case Closure() | Slice() | Range() | Applied():
            parts = tuple(map(option_key, inside(value)))
            return None if None in parts else (*same_form(value), parts)
    return None


def same_form(value: Value) -> tuple:
    """What functions, methods, slices and ranges have in common that differ in the values they hold alone."""
    match value:
        case Closure(node=node, frame=frame, keyword_defaults=named):
            return Closure, id(node), id(frame), *(named or {})
        case Range(parallel=parallel, checkpoint=checkpoint):
            return Range, parallel, checkpoint
        case Bound(name=name):
            return Bound, name
        case Applied(args=args, kwargs=named):
            return Applied, len(args), *named
    return (type(value),)


def describe(value: Value) -> str:
    match value:
        case Static(value=x):
            return f"the {type(x).__name__} {x!r}" if isinstance(x, (str, int, float, bool)) else (
                "None" if x is None else f"{getattr(x, '__name__', type(x).__name__)}")
        case Scalar():
            return f"a number ({value.dtype})"
        case Array():
            return "a list" if value.is_list else f"an array of rank {value.rank}"
        case GrowList() | Table():
            return "a list that grows"
        case Generator():
            return "a random generator"
        case Sequence(kind=kind):
            return f"a {kind.__name__}"
        case Mapping():
            return "a dict"
        case Record(cls=cls):
            return f"a {getattr(cls, 'stands_for', cls).__name__}"
        case Either(options=options, possible=possible):
            return " or ".join(dict.fromkeys(describe(options[k]) for k in possible))
        case Undefined(why=why):
            return why or "an undefined value"
        case Bound(name=name):
            return f"the method `{name}`"
        case Closure() | Applied() | Vectorized():
            return "a function"
    return value.told


def as_key(key: Value) -> Value:
    """A tuple of what is known now, and of such tuples, as one value that is."""
    if isinstance(key, Sequence) and key.kind is tuple:
        known = [i.value for i in map(as_key, key.items) if isinstance(i, Static)]
        if len(known) == len(key.items):
            return Static(tuple(known))
    return key
