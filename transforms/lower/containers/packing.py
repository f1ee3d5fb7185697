"""Long lists and tuples of alike items, as compiled code takes them: one array for each number or array of an item.

A list is packed if it has LEAST items or more, all of one kind: Python's floats, its integers, NumPy's numbers of one dtype,
arrays of one dtype and shape, or containers of equal structure with such parts. Its length is no part of its kind. What the
program may do with it is said in series.py; where it does more, its items are arguments one by one.
"""

from __future__ import annotations

import dataclasses
import functools
import marshal
from array import array
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from ...language.ops import normal_dtype
from ...source.plain import beside_fields, tuple_fields
from ..kinds import MANY, ColumnArg, Leaf, known_sizes
from ..values import Mapping, Packed, Record, Sequence, Static, Value

LEAST = 17                      # how many items a list has that is packed
LARGE = 4096                    # elements of an array in a list that is packed, at most: each call copies them
LARGEST = 2 ** 61               # what Python's integers may be as arguments: sums of a few fit in 64 bits
NUMBERS = {float: "float64", int: "int64", np.float64: "float64", np.float32: "float32", np.int64: "int64"}
PYTHON = {float: "d", int: "q"}
ALIKE = (str, bool, type(None))


class Packing(NamedTuple):
    """key: what all items are, equal for lists of one kind; arrays: of their parts, in order.

    A key is a tuple whose first entry says what it is: "number" (class), "array" (dtype, sizes), "static" (class, value),
    "row" (class, length, key of its numbers), "list" (class, key of its items), "parts" (class, names or None, keys).
    """

    key: Any
    arrays: list

    @property
    def tree(self) -> Value:
        """A Packed with the kinds of the parts."""
        return tree_of(self.key, ())


def packed(value) -> Packing | None:
    """How a list or tuple is packed; None if it is not, or `value` is something else."""
    kind = type(value)
    if kind is not list and kind is not tuple or len(value) < LEAST:
        return None
    found = part(value)
    return Packing(("list", kind, found.key), found.arrays) if found is not None and found.arrays else None


def part(items) -> Packing | None:
    """One part of all items, items first; None if they are not of one kind."""
    kinds = set(map(type, items))
    if len(kinds) > 1:
        return None
    kind, = kinds
    if kind in NUMBERS:
        return numbers(items, kind)
    if kind is np.ndarray:
        return arrays(items)
    if kind in ALIKE:
        first = items[0]
        return Packing(("static", kind, first), []) if all(x == first for x in items) else None
    if kind is list or kind is tuple:
        return containers(items, kind)
    if kind is dict:
        names = tuple(items[0])
        if any(tuple(x) != names for x in items):
            return None
        return together(kind, names, [[x[n] for x in items] for n in names])
    is_tuple = issubclass(kind, tuple) and hasattr(kind, "_fields")
    if not (is_tuple or dataclasses.is_dataclass(kind)) or any(map(beside_fields, items)):
        return None
    names = tuple_fields(kind) if is_tuple else tuple(f.name for f in dataclasses.fields(kind))
    return together(kind, names, [[getattr(x, n) for x in items] for n in names])


def numbers(items, kind) -> Packing | None:
    try:
        made = np.frombuffer(array(PYTHON[kind], items), NUMBERS[kind]) if kind in PYTHON else np.array(items, NUMBERS[kind])
    except OverflowError:
        return None
    if kind is int and not -LARGEST <= made.min() <= made.max() <= LARGEST:
        return None
    return Packing(("number", kind), [made])


def arrays(items) -> Packing | None:
    """Arrays of one shape and dtype, of plain floats or integers, that are copied sooner than their lists are unrolled."""
    shape, dtype = items[0].shape, items[0].dtype
    if not shape or items[0].size > LARGE or dtype.char not in "dfl" or not dtype.isnative or len(
            {x.shape for x in items}) > 1 or len({id(x.dtype) for x in items}) > 1 and any(x.dtype != dtype for x in items):
        return None
    return Packing(("array", dtype.char, known_sizes(shape)), [np.array(items)])


def containers(items, kind) -> Packing | None:
    """Lists or tuples of one length: long ones are packed in their turn; of short ones each place is a part, but numbers of
    one kind stay together."""
    lengths = set(map(len, items))
    if len(lengths) > 1:
        return None
    length, = lengths
    whole = list(chain.from_iterable(items)) if length and (length >= LEAST or type(items[0][0]) in NUMBERS) else []
    kinds = set(map(type, whole))
    alike = len(kinds) == 1 and whole[0].__class__ in NUMBERS
    if length < LEAST and not alike:
        return together(kind, None, list(zip(*items, strict=True)))
    inner = numbers(whole, *kinds) if alike else part(whole)
    if inner is None or not inner.arrays:
        return None
    key = ("row", kind, length, inner.key) if length < LEAST else ("list", kind, inner.key)
    return Packing(key, [a.reshape(len(items), length, *a.shape[1:]) for a in inner.arrays])


def together(kind, names, columns) -> Packing | None:
    """Several parts, `names` those of a dict or record."""
    made = []
    for column in columns:
        found = part(column)
        if found is None:
            return None
        made.append(found)
    return Packing(("parts", kind, names, tuple(p.key for p in made)), [a for p in made for a in p.arrays])


def tree_of(key, around: tuple) -> Value:
    """The tree of kinds for a key; `around`: the sizes of the first axes of its arrays."""
    match key:
        case "number", kind:
            return Leaf(ColumnArg(NUMBERS[kind], around, kind in PYTHON))
        case "array", char, sizes:
            return Leaf(ColumnArg(normal_dtype(np.dtype(char)), (*around, *sizes), None))
        case "static", _, value:
            return Static(value)
        case "row", kind, length, inner:
            return Packed(tree_of(inner, (*around, length)), kind, length)
        case "list", kind, inner:
            return Packed(tree_of(inner, (*around, MANY)), kind, object())
        case "parts", kind, names, inner:
            parts = [tree_of(k, around) for k in inner]
            if names is None:
                return Sequence(tuple(parts), kind)
            named = dict(zip(names, parts, strict=True))
            return Mapping(named) if kind is dict else Record(kind, named)
    raise TypeError(key)


def arrays_like(value, key) -> list:
    """The arrays of a list of this kind. TypeError for one of another kind."""
    found = packed(value)
    if found is None or found.key != key:
        raise TypeError
    return found.arrays


class Kept:
    """`arrays_like` for a list of Python's numbers that seldom changes: its arrays are made anew when its bytes differ."""

    def __init__(self, key):
        self.key = key
        self.last: tuple = (None, [])

    def __call__(self, value) -> list:
        try:
            now = marshal.dumps(value, 2)           # types and bits of all numbers, in no time
        except ValueError:                          # there are other objects in it
            return arrays_like(value, self.key)
        before, made = self.last
        if now != before:
            made = arrays_like(value, self.key)
            self.last = now, made
        return made


def reader(key):
    """A function that gives the arrays of a list of this kind, and raises TypeError for one of another kind."""
    return Kept(key) if of_numbers(key) else functools.partial(arrays_like, key=key)


def of_numbers(key) -> bool:
    """Whether all parts are Python's own numbers in plain lists and tuples."""
    match key:
        case "number", kind:
            return kind in PYTHON
        case ("row", _, _, inner) | ("list", _, inner):
            return of_numbers(inner)
        case "parts", _, None, inner:
            return all(map(of_numbers, inner))
    return False


__all__ = ["LARGEST", "LEAST", "Packing", "arrays_like", "packed", "reader"]
