"""Elements and parts of Tensors."""

from __future__ import annotations

import numpy as np

from ..transforms.source.plain import as_plain
from .record import record, tracked
from .tensor import Tensor, data_of
from .views import view


def plain_index(index):
    """An index with the Tensors in it replaced by their arrays, and arrays by copies: it is read again in backward."""
    if isinstance(index, Tensor):
        return index._array.copy()
    if isinstance(index, np.ndarray):
        return as_plain(index).copy()
    if isinstance(index, tuple):
        return tuple(map(plain_index, index))
    if isinstance(index, list):
        return np.asarray([data_of(i) for i in index]) if index else np.zeros(0, np.int64)
    return index


def is_basic(index) -> bool:
    """Whether NumPy gives a view for it."""
    parts = index if isinstance(index, tuple) else (index,)
    return all(p is None or p is Ellipsis or isinstance(p, (slice, np.integer)) or
               (isinstance(p, int) and not isinstance(p, bool)) for p in parts)


def getitem(t: Tensor, index):
    index = plain_index(index)
    data = t._array[index]
    basic = is_basic(index)
    if basic and type(data) is not np.ndarray:          # one element: NumPy copies, a view is wanted
        full = index if isinstance(index, tuple) else (index,)
        data = t._array[(*full, ...)]
    if not tracked((t,)) and not basic:
        return record("Index", data, (t,), None)
    shape = t._array.shape

    def pull(g):
        return put(g, index, shape)
    if basic:
        parts = index if isinstance(index, tuple) else (index,)
        title = "Slice" if any(isinstance(p, slice) for p in parts) else "Select"
        return view(title, t, data, lambda a: element(a, index), pull)
    return record("Index", data, (t,), pull)


def element(array, index):
    """A part of an array or Tensor as a view, also where it is one element."""
    part = array[index]
    if not isinstance(part, np.generic):
        return part
    return array[(*(index if isinstance(index, tuple) else (index,)), ...)]


def put(g, index, shape):
    """Zeros of `shape` with `g` added at `index`: the adjoint of indexing."""
    data = data_of(g)
    out = np.zeros(shape, data.dtype)
    if is_basic(index):
        out[index] = data
    else:
        np.add.at(out, index, data)
    if not isinstance(g, Tensor):
        return out
    return record("IndexPut", out, (g,), lambda h: h[index])


__all__ = ["element", "getitem", "is_basic", "plain_index", "put"]
