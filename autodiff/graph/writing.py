"""NumPy's functions that write into their first argument, on Tensors: assignments, which are recorded."""

from __future__ import annotations

import numpy as np

from .tensor import Tensor, data_of


def target(t, name: str) -> Tensor:
    if not isinstance(t, Tensor):
        raise TypeError(f"np.{name} writes a Tensor's values into an array, which would lose their history: write into a "
                        "Tensor")
    return t


def copyto(dst, src, casting="same_kind", where=True):
    dst = target(dst, "copyto")
    if where is True:
        dst[...] = src
    else:
        dst[...] = np.where(where, src, dst)


def put(a, ind, v, mode="raise"):
    """Elements of the flattened array; values repeat where there are too few."""
    a = target(a, "put")
    place = np.asarray(data_of(ind))
    n = a.size
    if mode == "raise" and place.size and (place.min() < -n or place.max() >= n):
        raise IndexError(f"an index is out of bounds for size {n}")
    place = place % n if mode != "clip" else np.clip(place, 0, n - 1)
    a[np.unravel_index(place, a.shape)] = repeated(v, place.size).reshape(place.shape)


def repeated(values, count: int):
    """The values, over and over, to this many."""
    flat = np.ravel(values)
    return flat[np.arange(count) % max(flat.size, 1)]


def putmask(a, mask, values):
    """Where the mask holds, the values at the same places."""
    a = target(a, "putmask")
    mask = np.asarray(data_of(mask)).astype(bool)
    a[...] = np.where(mask, repeated(values, a.size).reshape(a.shape), a)


def place(arr, mask, vals):
    """Where the mask holds, the values one after the other."""
    arr = target(arr, "place")
    mask = np.asarray(data_of(mask)).astype(bool)
    arr[mask] = repeated(vals, int(mask.sum()))


def fill_diagonal(a, val, wrap=False):
    a = target(a, "fill_diagonal")
    marked = np.zeros(a.shape, bool)
    np.fill_diagonal(marked, True, wrap)
    a[marked] = val if np.ndim(val) == 0 else repeated(val, int(marked.sum()))


def put_along_axis(arr, indices, values, axis):
    arr = target(arr, "put_along_axis")
    if axis is None:
        return put(arr, indices, values)
    indices = np.asarray(data_of(indices))
    places = [np.arange(n).reshape(tuple(-1 if j == k else 1 for j in range(arr.ndim))) for k, n in enumerate(arr.shape)]
    places[axis] = indices
    arr[tuple(np.broadcast_arrays(*places))] = np.broadcast_to(values, np.broadcast_shapes(*map(np.shape, places)))
    return None


__all__ = ["copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"]
