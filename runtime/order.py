"""The order of the elements of a vector, for generated code: the same in plain Python and inside compiled code.

Vectors are of real numbers of any kind and layout, and never modified; nan comes last. Indices are new arrays of int64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

from .machine_code.kept import kept_for

FEW = 50                # numbers: as soon sorted as parted


def argsort(a: Any) -> Any:
    """The indices that sort the vector `a`, equal elements in their order."""
    return np.argsort(a, kind="stable")


@kept_for(argsort)
def _argsort(a):
    return np.argsort(a, kind="mergesort")              # which is stable


def argpartition(a: Any, places: Any) -> Any:
    """The indices of the vector `a` by which the element at each of the places is the one that sorting puts there: those
    before it are not greater, those behind it not smaller. Equal elements keep their order.

    places: integers from -n to n - 1, in any order, n being the length of `a`; of none if that is 0.
    """
    if len(a) <= FEW:
        return argsort(a)
    values = np.sort(np.partition(a, places)[places])
    return np.argsort(np.searchsorted(values, a) + np.searchsorted(values, a, "right"), kind="stable")


@kept_for(argpartition)
def _argpartition(a, places):
    n, count = len(a), len(places)
    if n <= FEW:
        return np.argsort(a, kind="mergesort")
    order = np.empty(n, np.int64)
    parted = np.partition(a, places % n)
    values = np.empty(count, a.dtype)
    for k in range(count):
        values[k] = parted[places[k]]
    parts = np.empty(n, np.int64)
    starts = np.zeros(2 * count + 2, np.int64)
    for i in range(n):
        part = 0
        for k in range(count):                          # how many of the values are smaller, and how many not greater
            part += int(_before(values[k], a[i])) + int(not _before(a[i], values[k]))
        parts[i] = part
        starts[part + 1] += 1
    for k in range(2 * count):
        starts[k + 1] += starts[k]
    for i in range(n):
        order[starts[parts[i]]] = i
        starts[parts[i]] += 1
    return order


@register_jitable(error_model="numpy")
def _before(x: Any, y: Any) -> bool:
    """Whether x comes before y: numbers in their order, then nan."""
    return x < y or (x == x and y != y)


__all__ = ["argpartition", "argsort"]
