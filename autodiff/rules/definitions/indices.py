"""Arrays of indices."""

import numpy as np

from ...transforms.lower.reductions import unsupported
from ..decorators import defines


@defines(np.diag_indices)
def diag_indices(n, ndim=2):
    return tuple([np.arange(n) for _ in range(ndim)])


@defines(np.diag_indices_from)
def diag_indices_from(arr):
    return diag_indices(arr.shape[0], arr.ndim)


@defines(np.triu_indices)
def triu_indices(n, k=0, m=None):
    return np.nonzero(np.tri(n, n if m is None else m, k - 1) == 0.0)


@defines(np.tril_indices)
def tril_indices(n, k=0, m=None):
    return np.nonzero(np.tri(n, n if m is None else m, k) != 0.0)


@defines(np.triu_indices_from)
def triu_indices_from(arr, k=0):
    return triu_indices(arr.shape[-2], k, arr.shape[-1])


@defines(np.tril_indices_from)
def tril_indices_from(arr, k=0):
    return tril_indices(arr.shape[-2], k, arr.shape[-1])


@defines(np.ix_)
def ix_(*args):
    count = len(args)
    return tuple([open_axis(np.asarray(arg), k, count) for k, arg in enumerate(args)])


def open_axis(arg, k, count):
    places = np.flatnonzero(arg) if arg.dtype.kind == "b" else arg
    return places.reshape((1,) * k + (-1,) + (1,) * (count - k - 1))


@defines(np.argwhere)
def argwhere(a):
    return np.stack(np.nonzero(a), axis=1)


@defines(np.ravel_multi_index)
def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    place = multi_index[0]
    for k in range(1, len(dims)):
        place = place * dims[k] + multi_index[k]
    return place if mode == "raise" and order == "C" else unsupported("mode= and order= of np.ravel_multi_index",
                                                                      "compute the index by arithmetic")


@defines(np.unravel_index)
def unravel_index(indices, shape, order="C"):
    if order != "C":
        return unsupported("order= of np.unravel_index", "compute the index by arithmetic")
    parts = []
    rest = indices
    for size in reversed(shape):
        parts.append(rest % size)
        rest = rest // size
    return tuple(reversed(parts))


@defines(np.fromfunction)
def fromfunction(function, shape, dtype=float):
    return function(*[axis.astype(dtype) for axis in np.indices(shape)])


@defines(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(x, window_shape, axis=None):
    """Windows as copies: all of them along new last axes. Writing into them does not reach `x`."""
    a = np.asarray(x)
    sizes = (window_shape,) if np.ndim(window_shape) == 0 else tuple(window_shape)
    if axis is None:
        axes = tuple(range(len(sizes)))
    else:
        axes = (axis,) if np.ndim(axis) == 0 else tuple(axis)
    for size, along in zip(sizes, axes, strict=True):
        k = along % np.ndim(x) if along < 0 else along
        starts = np.arange(a.shape[k] - size + 1)
        a = np.moveaxis(np.take(a, starts[:, None] + np.arange(size)[None, :], axis=k), k + 1, -1)
    return a
