"""Structures of numbers and arrays as one vector, and back."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..transforms.language.core import FLOATS
from ..transforms.language.errors import TypeConflict
from ..transforms.lower.arrays.broadcasting import size_of
from ..transforms.lower.numbers.conversions import as_value, dtype_of
from ..transforms.lower.structures import rebuild
from ..transforms.lower.table import lowers
from ..transforms.lower.values import Array, Sequence, Slice, Static, Value, is_number, leaves


def raveled(tree):
    """The floating point numbers and arrays of a structure as one vector, in its order."""
    raise TypeError("raveled() is for the compiler")


def flattened(tree):
    """All numbers and arrays of a structure as one vector, in its order, integers too."""
    raise TypeError("flattened() is for the compiler")


def unraveled(v, like):
    """A vector as the structure that `like` is; None in the places of what is not floating point."""
    raise TypeError("unraveled() is for the compiler")


def floats(lo, tree) -> list:
    return [leaf for leaf in leaves(tree) if (isinstance(leaf, Array) or is_number(leaf)) and dtype_of(lo, leaf) in FLOATS]


@lowers(raveled)
def lower_raveled(lo, tree):
    parts = [lo.call_static(np.ravel, [lo.array(leaf)], {}) for leaf in floats(lo, tree)]
    if not parts:
        return lo.call_static(np.zeros, [Static(0)], {})
    return lo.call_static(np.concatenate, [Sequence(tuple(parts))], {})


@lowers(flattened)
def lower_flattened(lo, tree):
    parts = list(leaves(tree))
    for leaf in parts:
        if not isinstance(leaf, Array) and not is_number(leaf):
            what = f"{leaf.value!r}" if isinstance(leaf, Static) else f"a {type(leaf).__name__.lower()}"
            raise lo.error(TypeConflict, f"{what} is among the values that become one vector",
                           "return numbers, arrays, and tuples, lists or dicts of them")
    if not parts:
        return lo.call_static(np.zeros, [Static(0)], {})
    return lo.call_static(np.concatenate, [Sequence(tuple(lo.call_static(np.ravel, [lo.array(p)], {}) for p in parts))], {})


@lowers(unraveled)
def lower_unraveled(lo, v, like):
    made: list[Value] = []
    start: Value = Static(0)
    wanted = set(map(id, floats(lo, like)))
    for leaf in leaves(like):
        if id(leaf) not in wanted:
            made.append(Static(None))
            continue
        shape = leaf.shape if isinstance(leaf, Array) else ()
        end = as_value(lo, lo.b.iadd(lo.atom(start), size_of(lo, shape)))
        if shape:
            piece = lo.index_array(v, (Slice(start, end, None),))
            made.append(lo.call_static(np.reshape, [piece, Sequence(tuple(map(partial(as_value, lo), shape)))], {}))
        else:
            made.append(lo.index_array(v, (start,)))
        start = end
    return rebuild(like, iter(made))


__all__ = ["flattened", "raveled", "unraveled"]
