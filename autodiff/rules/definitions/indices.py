"""Arrays of indices."""

import numpy as np

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
