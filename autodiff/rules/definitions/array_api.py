"""Names that the array API standard gave to NumPy 2."""

import numpy as np

from ..decorators import defines
from .extrema import kept, lanes


def new(*names):
    """Registers a definition for names of `numpy` and `numpy.linalg` that this version of NumPy has."""
    found = []
    for name in names:
        module, _, last = name.rpartition(".")
        namespace = np.linalg if module else np
        if hasattr(namespace, last):
            found.append(getattr(namespace, last))
    return defines(*found)


@new("vecdot", "linalg.vecdot")
def vecdot(x1, x2, axis=-1):
    if np.shape(x1)[axis] != np.shape(x2)[axis]:
        raise ValueError("vecdot: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature (n),(n)->()")
    products = np.multiply(np.conjugate(x1), x2)
    return np.sum(products, axis=axis, dtype=products.dtype)


@new("unstack")
def unstack(x, axis=0):
    return tuple(np.moveaxis(x, axis, 0))


@new("matrix_transpose", "linalg.matrix_transpose")
def matrix_transpose(x):
    return np.swapaxes(x, -1, -2)


@new("linalg.outer")
def outer(x1, x2):
    return np.outer(x1, x2)


@new("linalg.trace")
def trace(x, offset=0, dtype=None):
    return np.trace(x, offset, -2, -1, dtype=dtype)


@new("linalg.diagonal")
def diagonal(x, offset=0):
    return np.diagonal(x, offset, -2, -1)


@new("linalg.cross")
def cross(x1, x2, axis=-1):
    return np.cross(x1, x2, axis=axis)


@new("linalg.matmul")
def matmul(x1, x2):
    return np.matmul(x1, x2)


@new("linalg.tensordot")
def tensordot(x1, x2, axes=2):
    return np.tensordot(x1, x2, axes)


@new("linalg.vector_norm")
def vector_norm(x, axis=None, keepdims=False, ord=2):
    if axis is None:
        norm = np.linalg.norm(np.ravel(x), ord=ord)
        return np.reshape(norm, (1,) * np.ndim(x)) if keepdims else norm
    if np.ndim(axis) == 1:
        norm = np.linalg.norm(lanes(x, axis), ord=ord, axis=-1)
        return kept(norm, x, axis) if keepdims else norm
    return np.linalg.norm(x, ord=ord, axis=axis, keepdims=keepdims)


@new("linalg.matrix_norm")
def matrix_norm(x, keepdims=False, ord="fro"):
    return np.linalg.norm(x, ord=ord, axis=(-2, -1), keepdims=keepdims)


@new("astype")
def astype(x, dtype, copy=True):
    return x.astype(dtype, copy=copy)


@new("cumulative_sum")
def cumulative_sum(x, axis=None, dtype=None, out=None):
    return np.cumsum(x, axis=axis, dtype=dtype, out=out)


@new("cumulative_prod")
def cumulative_prod(x, axis=None, dtype=None, out=None):
    return np.cumprod(x, axis=axis, dtype=dtype, out=out)
