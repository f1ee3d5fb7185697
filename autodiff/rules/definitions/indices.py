"""Arrays of indices."""

import numpy as np

from ...transforms.lower.numpy_functions.reductions import unsupported
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
    if arg.ndim != 1:
        raise ValueError("Cross index must be 1 dimensional")
    if arg.dtype.kind == "f" and arg.shape[0] == 0:
        arg = arg.astype(int)
    places = np.flatnonzero(arg) if arg.dtype.kind == "b" else arg
    return places.reshape((1,) * k + (-1,) + (1,) * (count - k - 1))


@defines(np.argwhere)
def argwhere(a):
    if np.ndim(a) == 0:
        return np.argwhere(np.atleast_1d(a))[:, :0]
    return np.stack(np.nonzero(a), axis=1)


@defines(np.ravel_multi_index)
def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    for k in range(len(dims)):
        if mode == "raise" and np.any((np.asarray(multi_index[k]) < 0) | (np.asarray(multi_index[k]) >= dims[k])):
            raise ValueError("invalid entry in coordinates array")
    place = multi_index[0]
    for k in range(1, len(dims)):
        place = place * dims[k] + multi_index[k]
    return place if mode == "raise" and order == "C" else unsupported("mode= and order= of np.ravel_multi_index",
                                                                      "compute the index by arithmetic")


@defines(np.unravel_index)
def unravel_index(indices, shape, order="C"):
    if order != "C":
        return unsupported("order= of np.unravel_index", "compute the index by arithmetic")
    count = 1
    for size in shape:
        count = count * size
    flat = np.ravel(indices)
    wrong = (flat < 0) | (flat >= count)
    if np.any(wrong):
        raise ValueError(f"index {flat[np.argmax(wrong)]} is out of bounds for array with size {count}")
    parts = []
    rest = np.asarray(indices) if np.ndim(indices) else indices
    for size in reversed(shape):
        parts.append(rest % size)
        rest = rest // size
    return tuple(reversed(parts))


@defines(np.fromfunction)
def fromfunction(function, shape, dtype=float):
    return function(*[axis.astype(dtype) for axis in np.indices(shape)])
