"""Norms and products of vectors and matrices."""

import numpy as np

from ...transforms.lower.numpy_functions.reductions import known, unsupported
from ..decorators import defines
from .extrema import floats


@defines(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    """Vector norms; of matrices the Frobenius norm and the largest sums of rows and columns; 0 has derivative 0."""
    a = floats(np.asarray(x))
    if ord is None or ord == "fro":
        return euclidean(a, axis, keepdims)
    if np.ndim(a) == 2 and axis is None:
        return matrix_norm(a, ord, 0, 1, keepdims)
    if axis is not None and np.ndim(axis) == 1:
        return matrix_norm(a, ord, axis[0], axis[1], keepdims)
    if ord == 2:
        return euclidean(a, axis, keepdims)
    size = np.abs(a)
    if ord == 0:
        return np.sum((size != 0).astype(size.dtype), axis=axis, keepdims=keepdims)
    if ord == 1:
        return np.sum(size, axis=axis, keepdims=keepdims)
    if ord == np.inf:
        return np.max(size, axis=axis, keepdims=keepdims, initial=0.0)
    if ord == -np.inf:
        return np.min(size, axis=axis, keepdims=keepdims)
    power = np.sum(size ** ord, axis=axis, keepdims=keepdims)
    nothing = 0.0 if ord > 0 else np.inf            # of no elements, and of infinities alone
    return np.where(power > 0.0, power ** (1.0 / ord), nothing + 0.0 * power)


def squared(x):
    """|x| ** 2."""
    return x.real * x.real + x.imag * x.imag if x.dtype.kind == "c" else x * x


def euclidean(a, axis, keepdims):
    square = np.sum(squared(a), axis=axis, keepdims=keepdims)
    return np.where(square > 0, np.sqrt(square), 0.0 * square)


def matrix_norm(a, ord, row, column, keepdims):
    if ord == 1 or ord == -1:
        sums, other = np.sum(np.abs(a), axis=row, keepdims=True), column
    elif ord == np.inf or ord == -np.inf:
        sums, other = np.sum(np.abs(a), axis=column, keepdims=True), row
    elif ord == 2 or ord == -2 or ord == "nuc":
        return spectral_norm(a, ord, row, column, keepdims)
    else:
        return unsupported("np.linalg.norm of a matrix with this order", "use None, 'fro', 'nuc', 1, -1, 2, -2, inf or -inf")
    result = np.max(sums, axis=other, keepdims=True) if ord > 0 else np.min(sums, axis=other, keepdims=True)
    return result if keepdims else np.sum(result, axis=(row, column))


def spectral_norm(a, ord, row, column, keepdims):
    """The largest, smallest, or sum of the singular values."""
    m = np.ndim(a)
    first, second = row % m, column % m
    s = np.linalg.svd(np.moveaxis(a, (first, second), (-2, -1)), compute_uv=False)
    size = np.max(s, axis=-1) if ord == 2 else (np.min(s, axis=-1) if ord == -2 else np.sum(s, axis=-1))
    return np.expand_dims(size, (first, second)) if keepdims else size


@defines(np.linalg.cond)
def cond(x, p=None):
    if p is None or p == 2 or p == -2:
        s = np.linalg.svd(x, compute_uv=False)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return np.linalg.norm(x, p, axis=(-2, -1)) * np.linalg.norm(np.linalg.inv(x), p, axis=(-2, -1))


@defines(np.linalg.tensorsolve)
def tensorsolve(a, b, axes=None):
    rank = np.ndim(b)
    last = a if axes is None else np.moveaxis(a, axes, tuple(range(np.ndim(a) - len(axes), np.ndim(a))))
    shape = last.shape[rank:]
    size = np.prod(shape) if len(shape) > 0 else 1
    return np.linalg.solve(np.reshape(last, (-1, size)), np.ravel(b)).reshape(shape)


@defines(np.linalg.tensorinv)
def tensorinv(a, ind=2):
    first, last = a.shape[:ind], a.shape[ind:]
    size = np.prod(first)
    return np.linalg.inv(np.reshape(a, (size, -1))).reshape((*last, *first))


@defines(np.kron)
def kron(a, b):
    a2, b2 = np.asarray(a), np.asarray(b)
    rank = max(a2.ndim, b2.ndim)
    outer, inner = (1,) * (rank - a2.ndim) + a2.shape, (1,) * (rank - b2.ndim) + b2.shape
    every_second = tuple(range(1, 2 * rank, 2))
    blocks = np.expand_dims(a2.reshape(outer), every_second)
    insides = np.expand_dims(b2.reshape(inner), tuple(range(0, 2 * rank, 2)))
    return (blocks * insides).reshape(tuple([m * n for m, n in zip(outer, inner, strict=True)]))


@defines(np.cross)
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        return cross(a, b, axis, axis, axis)
    x, y = np.moveaxis(np.asarray(a), axisa, -1), np.moveaxis(np.asarray(b), axisb, -1)
    if min(x.shape[-1], y.shape[-1]) < 2 or max(x.shape[-1], y.shape[-1]) > 3:
        raise ValueError("incompatible dimensions for cross product (dimension must be 2 or 3)")
    if known(x.shape[-1] == 2) and known(y.shape[-1] == 2):
        return x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    if known(x.shape[-1] == 2) or known(y.shape[-1] == 2):
        return unsupported("np.cross of vectors of two elements and of another number, or one known only when the program "
                           "runs", "write the product of the elements: a[0] * b[1] - a[1] * b[0]")
    c = np.stack((x[..., 1] * y[..., 2] - x[..., 2] * y[..., 1],
                  x[..., 2] * y[..., 0] - x[..., 0] * y[..., 2],
                  x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]), axis=-1)
    return np.moveaxis(c, -1, axisc)


@defines(np.linalg.matrix_rank)
def matrix_rank(A, tol=None, hermitian=False, *, rtol=None):
    """How many singular values exceed `tol`, by default the largest times the longer side and the machine's precision."""
    a = floats(np.asarray(A))
    if np.ndim(a) < 2:
        return int(np.any(a != 0))
    s = np.linalg.svd(a, compute_uv=False, hermitian=hermitian)
    if tol is None:
        smallest = max(a.shape[-2], a.shape[-1]) * np.finfo(a.dtype).eps if rtol is None else np.expand_dims(rtol, -1)
        return np.sum(s > np.max(s, axis=-1, keepdims=True) * smallest, axis=-1)
    if rtol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    return np.sum(s > np.expand_dims(tol, -1), axis=-1)


@defines(np.linalg.multi_dot)
def multi_dot(arrays, out=None):
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    result = arrays[0]
    for other in arrays[1:-1]:
        result = np.dot(result, other)
    return np.dot(result, arrays[-1], out=out)


@defines(np.linalg.matrix_power)
def matrix_power(a, n):
    """By repeated squaring."""
    if a.ndim < 2:
        raise np.linalg.LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    if a.shape[-2] != a.shape[-1]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    if n == 1:
        return a                # itself, as NumPy does
    if known(n):
        return by_squaring(np.linalg.inv(a), -n) if n < 0 else by_squaring(a, n)
    return by_factors(np.linalg.inv(a) if n < 0 else a, abs(n))


def by_factors(a, n):
    """A power that is known only when the program runs, by squaring too: `base` is a to the powers of 2."""
    result, base = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape).copy(), a.copy()
    while n > 0:
        if n % 2 == 1:
            result = result @ base
        n = n // 2
        base = base @ base if n > 0 else base
    return result


def by_squaring(a, n):
    if n == 0:
        return np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape).copy()
    if n == 1:
        return a.copy()
    half = by_squaring(a, n // 2)
    return half @ half if n % 2 == 0 else half @ half @ a


@defines(np.rot90)
def rot90(m, k=1, axes=(0, 1)):
    first, second = axes
    turns = k % 4
    if turns == 0:
        return m[...]
    if turns == 2:
        return np.flip(np.flip(m, first), second)
    if turns == 1:
        return np.swapaxes(np.flip(m, second), first, second)
    return np.flip(np.swapaxes(m, first, second), second)
