"""NumPy functions defined by others that are supported: their derivatives follow from the definitions."""

import numpy as np

from ..transforms.lower.reductions import known, max_value, min_value
from .decorators import defines, with_derivative_of


@defines(np.max, np.amax)
def maximum_of(a, axis=None, out=None, keepdims=False, initial=None, where=True):
    """Ties share the derivative evenly."""
    top = max_value(a, axis, True)
    hit = a == top
    share = np.sum(np.where(hit, a, 0), axis=axis, keepdims=True) / np.sum(hit, axis=axis, keepdims=True)
    result = with_derivative_of(top, share) if a.dtype.kind == "f" else top
    if not keepdims:
        result = np.sum(result, axis=axis)
    if initial is not None:
        result = np.maximum(result, initial)
    return result


@defines(np.min, np.amin)
def minimum_of(a, axis=None, out=None, keepdims=False, initial=None, where=True):
    low = min_value(a, axis, True)
    hit = a == low
    share = np.sum(np.where(hit, a, 0), axis=axis, keepdims=True) / np.sum(hit, axis=axis, keepdims=True)
    result = with_derivative_of(low, share) if a.dtype.kind == "f" else low
    if not keepdims:
        result = np.sum(result, axis=axis)
    if initial is not None:
        result = np.minimum(result, initial)
    return result


@defines(np.ptp)
def ptp(a, axis=None, out=None, keepdims=False):
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


@defines(np.var)
def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    gap = a - np.mean(a, axis=axis, keepdims=True)
    count = a.size / np.mean(a, axis=axis).size if axis is not None else a.size
    return np.sum(gap * gap, axis=axis, keepdims=keepdims) / (count - ddof)


@defines(np.std)
def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    return np.sqrt(np.var(a, axis=axis, ddof=ddof, keepdims=keepdims))


@defines(np.diff)
def diff(a, n=1, axis=-1):
    last = np.moveaxis(a, axis, -1)
    for _ in range(n):
        last = last[..., 1:] - last[..., :-1]
    return np.moveaxis(last, -1, axis)


@defines(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    """Vector norms and the Frobenius norm; the derivative at 0 is 0."""
    if ord is None or ord == 2 or ord == "fro":
        square = np.sum(x * x, axis=axis, keepdims=keepdims)
        return np.where(square > 0.0, np.sqrt(square), 0.0 * square)
    if ord == 1:
        return np.sum(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == np.inf:
        return np.max(np.abs(x), axis=axis, keepdims=keepdims)
    if ord == -np.inf:
        return np.min(np.abs(x), axis=axis, keepdims=keepdims)
    power = np.sum(np.abs(x) ** ord, axis=axis, keepdims=keepdims)
    return np.where(power > 0.0, power ** (1.0 / ord), 0.0 * power)


@defines(np.average)
def average(a, axis=None, weights=None, returned=False, keepdims=False):
    if weights is None:
        return np.mean(a, axis=axis, keepdims=keepdims)
    w = np.asarray(weights)
    if w.ndim == 1 and np.ndim(a) > 1:
        shape = [1] * np.ndim(a)
        shape[axis] = -1
        w = w.reshape(tuple(shape))
    total = np.sum(w * np.ones_like(a), axis=axis, keepdims=keepdims)
    return np.sum(a * w, axis=axis, keepdims=keepdims) / total


@defines(np.trapezoid, *([np.trapz] if "trapz" in np.__dict__ else []))
def trapezoid(y, x=None, dx=1.0, axis=-1):
    last = np.moveaxis(np.asarray(y), axis, -1)
    if x is None:
        return np.sum(0.5 * dx * (last[..., 1:] + last[..., :-1]), axis=-1)
    step = np.diff(np.asarray(x))
    return np.sum(0.5 * step * (last[..., 1:] + last[..., :-1]), axis=-1)


@defines(np.cov)
def cov(m, y=None, rowvar=True, bias=False, ddof=None):
    x = np.atleast_2d(m)
    if not rowvar and np.ndim(m) > 1:
        x = x.T
    if y is not None:
        x = np.concatenate((x, np.atleast_2d(y)))
    if ddof is None:
        ddof = 0 if bias else 1
    gap = x - np.mean(x, axis=1, keepdims=True)
    c = gap @ gap.T / (x.shape[1] - ddof)
    return np.sum(c) if np.ndim(m) == 1 and y is None else c


@defines(np.corrcoef)
def corrcoef(x, y=None, rowvar=True):
    c = np.cov(x, y, rowvar)
    d = np.sqrt(np.diag(c))
    return c / np.outer(d, d)


@defines(np.convolve)
def convolve(a, v, mode="full"):
    n, m = a.shape[0], v.shape[0]
    full = np.zeros(n + m - 1)
    for i in range(n):
        for j in range(m):
            full[i + j] += a[i] * v[j]
    if mode == "full":
        return full
    short = min(n, m)
    if mode == "valid":
        return full[short - 1:n + m - short]
    start = (short - 1) // 2
    return full[start:start + max(n, m)]


@defines(np.correlate)
def correlate(a, v, mode="valid"):
    return np.convolve(a, v[::-1], mode)


@defines(np.kron)
def kron(a, b):
    a2, b2 = np.asarray(a), np.asarray(b)
    if a2.ndim == 1 and b2.ndim == 1:
        return np.outer(a2, b2).ravel()
    p, q = a2.shape
    r, s = b2.shape
    return (a2[:, None, :, None] * b2[None, :, None, :]).reshape(p * r, q * s)


@defines(np.cross)
def cross(a, b, axis=-1):
    x, y = np.moveaxis(a, axis, -1), np.moveaxis(b, axis, -1)
    if known(x.shape[-1] == 2) and known(y.shape[-1] == 2):
        return x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    c = np.stack((x[..., 1] * y[..., 2] - x[..., 2] * y[..., 1],
                  x[..., 2] * y[..., 0] - x[..., 0] * y[..., 2],
                  x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]), axis=-1)
    return np.moveaxis(c, -1, axis)


@defines(np.interp)
def interp(x, xp, fp, left=None, right=None, period=None):
    """Piecewise linear; outside the range of `xp` the end values."""
    if np.ndim(x) == 0:
        return interp_one(x, xp, fp, left, right)
    flat = np.asarray(x)
    out = np.empty(flat.shape[0])
    for k in range(flat.shape[0]):
        out[k] = interp_one(flat[k], xp, fp, left, right)
    return out


def interp_one(x, xp, fp, left, right):
    n = xp.shape[0]
    if x < xp[0]:
        return fp[0] if left is None else left
    if x > xp[n - 1]:
        return fp[n - 1] if right is None else right
    j = np.searchsorted(xp, x, side="right") - 1
    if j >= n - 1:
        return fp[n - 1]
    slope = (fp[j + 1] - fp[j]) / (xp[j + 1] - xp[j])
    return fp[j] + slope * (x - xp[j])


@defines(np.gradient)
def gradient(f, *spacing, axis=None):
    """Second-order central differences, one-sided at the ends; uniform spacing."""
    if np.ndim(f) == 1:
        return gradient_axis(f, spacing[0] if len(spacing) else 1.0, 0)
    if axis is not None:
        return gradient_axis(f, spacing[0] if len(spacing) else 1.0, axis)
    return [gradient_axis(f, (spacing[k] if len(spacing) > 1 else spacing[0]) if len(spacing) else 1.0, k)
            for k in range(np.ndim(f))]


def gradient_axis(f, h, axis):
    last = np.moveaxis(f, axis, -1)
    out = np.empty(last.shape)
    if np.ndim(h) == 0:
        out[..., 1:-1] = (last[..., 2:] - last[..., :-2]) / (2.0 * h)
        out[..., 0] = (last[..., 1] - last[..., 0]) / h
        out[..., -1] = (last[..., -1] - last[..., -2]) / h
    else:
        d = np.diff(h)
        a, b = d[:-1], d[1:]
        out[..., 1:-1] = (a * a * last[..., 2:] + (b * b - a * a) * last[..., 1:-1] - b * b * last[..., :-2]) / (
            a * b * (a + b))
        out[..., 0] = (last[..., 1] - last[..., 0]) / d[0]
        out[..., -1] = (last[..., -1] - last[..., -2]) / d[-1]
    return np.moveaxis(out, -1, axis)


@defines(np.histogram)
def histogram(a, bins=10, range=None, density=None, weights=None):
    """Counts (or summed weights) in bins; the derivative flows through the weights."""
    x = np.ravel(a)
    if np.ndim(bins) == 0:
        low, high = (np.min(x), np.max(x)) if range is None else range
        edges = np.linspace(low, high, bins + 1)
    else:
        edges = np.asarray(bins)
    count = edges.shape[0] - 1
    if weights is None:
        total = np.zeros(count, dtype=int)
        for k in np.arange(x.shape[0]):
            j = np.searchsorted(edges, x[k], side="right") - 1
            if x[k] == edges[count]:
                j = count - 1
            if j >= 0 and j < count:
                total[j] += 1
        return total, edges
    w = np.ravel(weights)
    sums = np.zeros(count)
    for k in np.arange(x.shape[0]):
        j = np.searchsorted(edges, x[k], side="right") - 1
        if x[k] == edges[count]:
            j = count - 1
        if j >= 0 and j < count:
            sums[j] += w[k]
    return sums, edges
