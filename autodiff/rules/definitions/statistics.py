"""Means, variances, correlations and histograms."""

import numpy as np

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines
from .algebra import squared
from .extrema import floats
from .out import mask, stored


@defines(np.var)
def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=True):
    if dtype is not None and np.dtype(dtype).kind != "f":
        return unsupported("the variance in a dtype of no real floats", "compute it in float, and convert it")
    x = floats(np.asarray(a)) if dtype is None else np.asarray(a).astype(dtype)
    if where is not True:
        where = mask(where)
        count = np.sum(np.broadcast_to(where, x.shape), axis=axis, keepdims=True)
        gap = np.where(where, x - np.sum(x, axis=axis, keepdims=True, where=where) / count.astype(x.dtype), 0)
        total = np.sum(squared(gap), axis=axis, keepdims=True) / np.maximum(count - ddof, 0).astype(gap.real.dtype)
        return stored(out, total if keepdims else np.sum(total, axis=axis))
    gap = x - np.mean(x, axis=axis, keepdims=True)
    count = x.size / np.mean(x, axis=axis).size if axis is not None else x.size
    return stored(out, np.sum(squared(gap), axis=axis, keepdims=keepdims) / max(count - ddof, 0), "unsafe")


@defines(np.std)
def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, where=True):
    """The root of the variance; of equal numbers its derivative is 0, as for the norm."""
    square = np.var(a, axis=axis, dtype=dtype, ddof=ddof, keepdims=keepdims, where=where)
    return stored(out, np.where(square > 0, np.sqrt(square), 0.0 * square))


@defines(np.average)
def average(a, axis=None, weights=None, returned=False, keepdims=False):
    x = floats(np.asarray(a))
    w = np.ones_like(x) if weights is None else floats(np.asarray(weights)) if x.dtype == float else np.asarray(weights)
    if w.ndim != x.ndim:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        if w.ndim != 1 or np.ndim(axis) != 0:
            raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
        shape = [1] * x.ndim
        shape[axis] = -1
        w = w.reshape(tuple(shape))
    elif weights is not None and w.shape != x.shape:
        if axis is None:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        raise ValueError("Shape of weights must be consistent with shape of a along specified axis.")
    total = np.sum(w * np.ones_like(x), axis=axis, keepdims=keepdims)
    if weights is None:
        mean = np.mean(x, axis=axis, keepdims=keepdims)
    else:
        if np.any(total == 0.0):
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        mean = np.sum(x * w, axis=axis, keepdims=keepdims) / total
    return (mean, total) if returned else mean


@defines(np.cov)
def cov(m, y=None, rowvar=True, bias=False, ddof=None):
    x = np.atleast_2d(m)
    if not rowvar and np.ndim(m) > 1:
        x = x.T
    if y is not None:
        other = np.atleast_2d(y)
        x = np.concatenate((x, other if rowvar or np.ndim(y) == 1 else other.T))
    if ddof is None:
        ddof = 0 if bias else 1
    elif ddof != int(ddof):
        raise ValueError("ddof must be integer")
    x = x.astype(float)
    gap = x - np.mean(x, axis=1, keepdims=True)
    c = gap @ gap.T / max(x.shape[1] - ddof, 0)
    return np.squeeze(c)


@defines(np.corrcoef)
def corrcoef(x, y=None, rowvar=True):
    c = np.cov(x, y, rowvar)
    d = np.sqrt(np.diag(c))
    return c / np.outer(d, d)


@defines(np.histogram)
def histogram(a, bins=10, range=None, density=None, weights=None):
    """Counts (or summed weights) in bins; the derivative flows through the weights."""
    x = np.ravel(a)
    if np.ndim(bins) == 0:
        if bins < 1:
            raise ValueError("`bins` must be positive, when an integer")
        low, high = (0.0, 1.0) if not x.shape[0] and range is None else (np.min(x), np.max(x)) if range is None else range
        if range is not None and low > high:
            raise ValueError("max must be larger than min in range parameter.")
        if not (np.isfinite(low) and np.isfinite(high)):
            raise ValueError(f"{'autodetected' if range is None else 'supplied'} range of [{low}, {high}] is not finite")
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges = np.linspace(low, high, bins + 1)
    else:
        edges = np.asarray(bins)
        if np.any(edges[1:] < edges[:-1]):
            raise ValueError("`bins` must increase monotonically, when an array")
    count = edges.shape[0] - 1
    if weights is not None and np.ravel(weights).shape[0] != x.shape[0]:
        raise ValueError("weights should have the same shape as a.")
    w = np.ones(x.shape[0], dtype=int) if weights is None else np.ravel(weights)
    sums = np.zeros(count, dtype=w.dtype)
    for k in np.arange(x.shape[0]):
        j = np.searchsorted(edges, x[k], side="right") - 1
        if x[k] == edges[count]:
            j = count - 1
        if j >= 0 and j < count:
            sums[j] += w[k]
    if density:
        return sums / np.diff(edges) / np.sum(sums), edges
    return sums, edges


@defines(np.digitize)
def digitize(x, bins, right=False):
    """For increasing or decreasing bins."""
    edges = np.asarray(bins)
    rising, falling = np.all(edges[1:] >= edges[:-1]), np.all(edges[1:] <= edges[:-1])
    if not (rising or falling):
        raise ValueError("bins must be monotonically increasing or decreasing")
    if not rising:
        return edges.shape[0] - np.searchsorted(edges[::-1], x, side="left" if right else "right")
    return np.searchsorted(bins, x, side="left" if right else "right")
