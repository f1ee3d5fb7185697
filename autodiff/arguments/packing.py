"""Lists that are packed: whether arguments hold some, and lists again from the arrays of results."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..transforms.language.errors import UnsupportedSyntax
from ..transforms.lower.containers.packing import packed
from ..transforms.lower.containers.series import lists_around
from ..transforms.lower.structures import mapped
from ..transforms.lower.values import Array, Mapping, Packed, Record, Scalar, Sequence, Static, Value, leaves
from ..transforms.source.plain import Unread

ITEMS = "items one by one"      # among the names of static parameters: no list is packed
EXACT = (np.float64, np.int64, np.bool_, np.complex128)         # whose items Python's own numbers are
NO_TUPLES = ("a list of tuples or records, of a length known only when the program runs, is returned where lists are arrays",
             None, "return a list for each of their parts")
ONE_BY_ONE = frozenset({ITEMS})


def holds_packed(values) -> bool:
    """Whether there is a list that is packed in these arguments."""
    return any(packed(v) is not None or holds_packed(inside(v)) for v in values)


def inside(value) -> tuple:
    if isinstance(value, (tuple, list)):
        return tuple(value)
    if isinstance(value, dict):
        return tuple(value.values())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return tuple(getattr(value, f.name) for f in dataclasses.fields(value))
    return ()


def holds_lists(tree: Value) -> bool:
    """Whether a list of run-time length is in a result tree."""
    match tree:
        case Sequence(items=items):
            return any(map(holds_lists, items))
        case Mapping(items=items) | Record(fields=items):
            return any(map(holds_lists, items.values()))
    return isinstance(tree, Packed)


def unpacked(tree: Packed, parts: list, lead: int = 0):
    """The list whose parts are these arrays, in the order of the tree's numbered leaves.

    lead: how many axes they have before those that the tree knows of, which the parts of items keep.
    """
    lead += tree.lead
    if not isinstance(parts[0], np.ndarray):    # what stands for an array in generated code
        return parts[0].unpacked(tree, parts)
    if lead:
        parts = [np.moveaxis(p, lead, 0) for p in parts]
    made = items_of(tree.item, iter(parts), len(parts[0]), lead)
    return made if tree.kind is list else tree.kind(made)


def items_of(tree: Value, columns, count: int, lead: int) -> list:
    """All items of a list, from the arrays of their parts, as a tree of one item says."""
    match tree:
        case Scalar() | Array():                # numbered, or of a result
            column = next(columns)
            return column.tolist() if column.ndim == 1 and column.dtype in EXACT else list(np.ascontiguousarray(column))
        case Static(value=v):
            return [v] * count
        case Packed(item=item, kind=kind):
            own = [next(columns) for leaf in leaves(item) if isinstance(leaf, (Scalar, Array))]
            if kind is list and isinstance(item, (Scalar, Array)) and own[0].ndim == 2 and not lead \
                    and not tree.lead and own[0].dtype in EXACT:
                return own[0].tolist()
            return [unpacked(tree, [c[k] for c in own], lead) for k in range(count)]
        case Sequence(items=items, kind=kind):
            made = [items_of(i, columns, count, lead) for i in items]
            rows = zip(*made, strict=True)
            return list(rows if kind is tuple else map(kind, rows)) if made else [kind()] * count
        case Mapping(items=items):
            made = [items_of(i, columns, count, lead) for i in items.values()]
            return [dict(zip(items, row, strict=True)) for row in zip(*made, strict=True)]
        case Record(cls=cls, fields=fields):
            made = [items_of(i, columns, count, lead) for i in fields.values()]
            return [instance(cls, dict(zip(fields, row, strict=True))) for row in zip(*made, strict=True)]
    raise TypeError(tree)


def instance(cls, fields: dict):
    """An object of a class with these fields, without running its `__init__` again."""
    fields = {k: v for k, v in fields.items() if not isinstance(v, Unread)}
    if hasattr(cls, "_fields"):
        return cls(**fields)
    made = object.__new__(cls)
    for name, value in fields.items():
        object.__setattr__(made, name, value)
    return made


def in_arrays(tree: Value) -> Value:
    """A result tree with the array in the place of each list of run-time length; UnsupportedSyntax for one of tuples."""
    if not isinstance(tree, Packed):
        return mapped(tree, in_arrays)
    array, *more = leaves(tree)
    if more:
        raise UnsupportedSyntax(*NO_TUPLES)
    return array


def none_of(tree: Packed, leaf: Value, array: np.ndarray) -> np.ndarray:
    """None for each item of a list, and of lists in it, in the place of this array of a leaf."""
    return np.full(array.shape[:len(lists_around(tree)[id(leaf)])], None, object)


def parts_in(value):
    """What stands in tuples, lists, dicts and dataclasses, one after the other."""
    if isinstance(value, (tuple, list)):
        for v in value:
            yield from parts_in(v)
    elif isinstance(value, dict):
        for v in value.values():
            yield from parts_in(v)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for f in dataclasses.fields(value):
            yield from parts_in(getattr(value, f.name))
    else:
        yield value


__all__ = ["ITEMS", "ONE_BY_ONE", "NO_TUPLES", "holds_lists", "holds_packed", "in_arrays", "none_of", "parts_in", "unpacked"]
