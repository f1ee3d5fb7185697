"""Sums, products, extrema and what is made of them."""

from __future__ import annotations

import numpy as np

from .record import record
from .tensor import Tensor, data_of

NO = np._NoValue


def axes_of(axis, ndim: int) -> tuple:
    if axis is None:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple(int(a) % ndim if ndim else 0 for a in axes) if ndim else ()


def expand(g, shape: tuple, axes: tuple):
    """A reduced result back at the shape before: the adjoint of a sum."""
    kept = tuple(1 if k in axes else s for k, s in enumerate(shape))
    if g.shape != kept:
        g = g.reshape(kept)
    return np.broadcast_to(g, shape)


def prepared(a, dtype, where, fill):
    if dtype is not None and np.dtype(dtype) != a.dtype:
        a = a.astype(dtype)
    return a if where is NO or where is True else np.where(where, a, fill)


def finished(result, out, initial=NO, combine=None):
    if initial is not NO and initial is not None:
        result = combine(result, initial)
    if out is not None:
        out[...] = result
        return out
    return result


def sum(a, axis=None, dtype=None, out=None, keepdims=False, initial=NO, where=NO):
    a = prepared(a, dtype, where, 0)
    data = a._array
    shape, axes = data.shape, axes_of(axis, data.ndim)
    made = record("Sum", np.sum(data, axis=axis, keepdims=keepdims is True), (a,), lambda g: expand(g, shape, axes))
    return made if out is None and initial is NO else finished(made, out, initial, np.add)


def mean(a, axis=None, dtype=None, out=None, keepdims=False, where=NO):
    if where is not NO:
        count = np.sum(np.broadcast_to(data_of(where), a.shape), axis=axis, keepdims=keepdims is True)
        return finished(sum(a, axis, dtype, None, keepdims, NO, where) / count, out)
    if a.dtype.kind in "biu":
        dtype = np.float64
    a = prepared(a, dtype, NO, 0)
    data = a._array
    shape, axes = data.shape, axes_of(axis, data.ndim)
    count = int(np.prod([shape[k] for k in axes]))
    made = record("Mean", np.mean(data, axis=axis, keepdims=keepdims is True), (a,),
                  lambda g: expand(g / count, shape, axes))
    return finished(made, out)


def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=NO, mean=NO, correction=NO):
    a = prepared(a, dtype, NO, 0)
    center = globals()["mean"](a, axis, keepdims=True, where=where) if mean is NO else mean
    off = a - center
    square = (off * np.conj(off)).real if a.dtype.kind == "c" else off * off
    total = sum(square, axis, None, None, keepdims, NO, where)
    if where is NO:
        count = np.prod([a.shape[k] for k in axes_of(axis, a.ndim)])
    else:
        count = np.sum(np.broadcast_to(data_of(where), a.shape), axis=axis, keepdims=keepdims is True)
    lost = ddof if correction is NO else correction
    return finished(total / np.maximum(count - lost, 0), out)


def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=NO, mean=NO, correction=NO):
    """The root of the variance; its derivative is zero where all values are equal, as torch's and the compiler's."""
    square = var(a, axis, dtype, None, ddof, keepdims, where, mean, correction)

    def pull(g, y):
        return g * 0.5 / np.where(data_of(y) == 0, np.inf, y)
    return finished(record("Std", np.sqrt(square._array), (square,), pull, (0,)), out)


def extremum(name: str, reduce):
    """max and min: ties share the cotangent evenly."""
    def extreme(a, axis=None, out=None, keepdims=False, initial=NO, where=NO):
        if a.dtype.kind == "c":
            raise TypeError(f"np.{name} has no derivative for complex numbers")
        worst = -np.inf if name == "max" else np.inf
        a = prepared(a, None, where, worst)
        if a.size == 0 and initial is not NO:
            return finished(Tensor(np.full(reduce(a._array, axis=axis, keepdims=keepdims is True, initial=initial).shape,
                                           initial, a.dtype)), out)
        data = a._array
        shape, axes = data.shape, axes_of(axis, data.ndim)
        top = reduce(data, axis=axis, keepdims=keepdims is True)

        def pull(g, x, y):
            at = data_of(x) == expand(data_of(y), shape, axes)
            share = at / at.sum(axis=axes, keepdims=True)
            return expand(g, shape, axes) * share.astype(x.dtype)
        made = record(name.title(), top, (a,), pull, (1, 0))
        return finished(made, out, initial, np.maximum if name == "max" else np.minimum)
    extreme.__name__ = name
    return extreme


max = extremum("max", np.max)
min = extremum("min", np.min)


def ptp(a, axis=None, out=None, keepdims=False):
    return finished(max(a, axis, None, keepdims) - min(a, axis, None, keepdims), out)


def others(x, axis: int):
    """At each place along an axis, the product of all the other elements; exact where some are zero."""
    x = np.moveaxis(x, axis, 0)
    one = np.ones((1, *x.shape[1:]), x.dtype)
    before = np.concatenate((one, np.cumprod(x[:-1], axis=0)))
    after = np.concatenate((np.cumprod(x[:0:-1], axis=0)[::-1], one))
    return np.moveaxis(before * after, 0, axis)


def prod(a, axis=None, dtype=None, out=None, keepdims=False, initial=NO, where=NO):
    a = prepared(a, dtype, where, 1)
    shape, axes = a.shape, axes_of(axis, a.ndim)
    if len(axes) != 1:                                      # several axes as one
        rest = tuple(k for k in range(a.ndim) if k not in axes)
        a = np.transpose(a, (*rest, *axes)).reshape(*(shape[k] for k in rest), -1)
    along = axes[0] if len(axes) == 1 else a.ndim - 1
    full = a.shape

    def pull(g, x):
        factor = others(x, along)
        return expand(g, full, (along,)) * (np.conj(factor) if factor.dtype.kind == "c" else factor)
    made = record("Prod", np.prod(a._array, axis=along), (a,), pull, (1,))
    if keepdims is True:
        made = made.reshape(tuple(1 if k in axes else s for k, s in enumerate(shape)))
    return finished(made, out, initial, np.multiply)


def cumsum(a, axis=None, dtype=None, out=None):
    a = prepared(a, dtype, NO, 0)
    if axis is None:
        a, axis = a.reshape(-1), 0
    made = record("Cumsum", np.cumsum(a._array, axis=axis), (a,),
                  lambda g: np.flip(np.cumsum(np.flip(g, axis), axis=axis), axis))
    return finished(made, out)


def cumprod(a, axis=None, dtype=None, out=None):
    """What later products have in common with one of theirs is divided by it; where one is 0 or infinite, their sum is
    multiplied up instead, from the last one."""
    a = prepared(a, dtype, NO, 0)
    if axis is None:
        a, axis = a.reshape(-1), 0

    def pull(g, x):
        x, g = np.moveaxis(x, axis, 0), np.moveaxis(g, axis, 0)
        x = np.conj(x) if x.dtype.kind == "c" else x
        y = np.cumprod(x, axis=0)
        values = data_of(y)
        if np.all((values != 0) & np.isfinite(values)):
            return np.moveaxis(np.flip(np.cumsum(np.flip(g * y, 0), axis=0), 0) / x, 0, axis)
        rows = [g[-1]]                                      # g_k + x_k+1 (g_k+1 + x_k+2 (...))
        for k in range(x.shape[0] - 2, -1, -1):
            rows.append(g[k] + x[k + 1] * rows[-1])
        before = np.concatenate((np.ones((1, *x.shape[1:]), x.dtype), y[:-1]))
        return np.moveaxis(before * np.stack(rows[::-1]), 0, axis)
    return finished(record("Cumprod", np.cumprod(a._array, axis=axis), (a,), pull, (1,)), out)


def norm(x, ord=None, axis=None, keepdims=False):
    """Vector norms, the Frobenius norm, and matrix norms from sums; zero has derivative zero."""
    if x.dtype.kind in "biu":
        x = x.astype(np.float64)
    axes = axes_of(axis, x.ndim)
    if axis is None and x.ndim > 2 and ord is None:
        x, axes = x.reshape(-1), (0,)
    matrix = len(axes) == 2
    if ord in (None, "fro", "f") or ord == 2 and not matrix:
        data = x._array
        shape = data.shape

        def pull(g, v, y):
            size = expand(y, shape, axes)
            return v * expand(g, shape, axes) / np.where(data_of(size) == 0, np.inf, size)
        out = np.linalg.norm(data if matrix or data.ndim == 1 or axis is not None else data, None, tuple(axes) if matrix
                             else axis if axis is not None else None, keepdims)
        return record("LinalgVectorNorm", out, (x,), pull, (1, 0))
    size = abs(x)
    if matrix:
        if ord in (1, -1, np.inf, -np.inf):
            first = axes[0] if abs(ord) == 1 else axes[1]
            other = axes[1] if abs(ord) == 1 else axes[0]
            found = (max if ord > 0 else min)(sum(size, first, keepdims=True), other, keepdims=True)
            return found if keepdims else found.reshape(tuple(s for k, s in enumerate(x.shape) if k not in axes))
        return NotImplemented
    if ord == np.inf:
        return max(size, axis, keepdims=keepdims)
    if ord == -np.inf:
        return min(size, axis, keepdims=keepdims)
    if ord == 0:
        return Tensor(np.linalg.norm(x._array, 0, axis, keepdims))
    total = sum(size ** ord, axis, keepdims=keepdims)
    alive = total._array > 0
    return np.where(alive, np.where(alive, total, 1.0) ** (1.0 / ord), 0.0)


__all__ = ["axes_of", "cumprod", "cumsum", "expand", "max", "mean", "min", "norm", "prod", "ptp", "std", "sum", "var"]
