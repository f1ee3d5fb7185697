"""Differences, integrals, interpolation and convolution of samples."""

import numpy as np

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines
from .extrema import OF_BOOLEANS, floats


@defines(np.diff)
def diff(a, n=1, axis=-1, prepend=None, append=None):
    if n < 0:
        raise ValueError("order must be non-negative")
    last = np.moveaxis(np.asarray(a), axis, -1)
    if prepend is not None:
        last = np.concatenate((end_piece(prepend, last, axis), last), axis=-1)
    if append is not None:
        last = np.concatenate((last, end_piece(append, last, axis)), axis=-1)
    for _ in range(n):
        last = last[..., 1:] != last[..., :-1] if last.dtype.kind == "b" else last[..., 1:] - last[..., :-1]
    return np.moveaxis(last, -1, axis)


def end_piece(value, last, axis):
    if np.ndim(value) == 0:
        return np.broadcast_to(value, (*last.shape[:-1], 1))
    return np.moveaxis(np.asarray(value), axis, -1)


@defines(np.ediff1d)
def ediff1d(ary, to_end=None, to_begin=None):
    flat = np.ravel(ary)
    result = flat[1:] - flat[:-1]
    if to_begin is not None:
        result = np.concatenate((np.ravel(to_begin), result))
    if to_end is not None:
        result = np.concatenate((result, np.ravel(to_end)))
    return result


@defines(*[np.__dict__[name] for name in ("trapezoid", "trapz") if name in np.__dict__])   # renamed in NumPy 2
def trapezoid(y, x=None, dx=1.0, axis=-1):
    last = np.moveaxis(np.asarray(y), axis, -1)
    if x is None:
        return np.sum(dx * (last[..., 1:] + last[..., :-1]) / 2.0, axis=-1)
    places = np.asarray(x)
    step = np.diff(places) if np.ndim(places) == 1 else np.diff(np.moveaxis(places, axis, -1))
    return np.sum(step * (last[..., 1:] + last[..., :-1]) / 2.0, axis=-1)


@defines(np.gradient)
def gradient(f, *spacing, axis=None, edge_order=1):
    """Second-order central differences, one-sided at the ends."""
    y = np.asarray(f)
    if y.dtype.kind == "b":
        raise TypeError(OF_BOOLEANS)
    y = floats(y)
    if axis is not None and np.ndim(axis) == 0:
        return gradient_axis(y, spacing[0] if len(spacing) else 1.0, axis, edge_order)
    axes = range(np.ndim(y)) if axis is None else axis
    steps = [spacing[k] if len(spacing) > 1 else spacing[0] if len(spacing) else 1.0 for k in range(len(axes))]
    if len(axes) == 1:
        return gradient_axis(y, steps[0], axes[0], edge_order)
    return tuple([gradient_axis(y, h, k, edge_order) for h, k in zip(steps, axes, strict=True)])


def gradient_axis(f, h, axis, edge_order):
    last = np.moveaxis(f, axis, -1)
    if last.shape[-1] < edge_order + 1:
        raise ValueError("Shape of array too small to calculate a numerical gradient, at least (edge_order + 1) elements "
                         "are required.")
    out = np.empty(last.shape, dtype=last.dtype)
    step = h if np.ndim(h) == 0 else np.diff(np.asarray(h))
    if np.ndim(h) == 0:
        out[..., 1:-1] = (last[..., 2:] - last[..., :-2]) / (2.0 * h)
        first, second, before, final = step, step, step, step
    else:
        a, b = step[:-1], step[1:]
        out[..., 1:-1] = (a * a * last[..., 2:] + (b * b - a * a) * last[..., 1:-1] - b * b * last[..., :-2]) / (
            a * b * (a + b))
        first, final = step[0], step[-1]
        second, before = (step[1], step[-2]) if edge_order == 2 else (first, final)
    if edge_order == 1:
        out[..., 0] = (last[..., 1] - last[..., 0]) / first
        out[..., -1] = (last[..., -1] - last[..., -2]) / final
    else:
        out[..., 0] = one_sided(last[..., 0], last[..., 1], last[..., 2], first, second)
        out[..., -1] = -one_sided(last[..., -1], last[..., -2], last[..., -3], final, before)
    return np.moveaxis(out, -1, axis)


def one_sided(y0, y1, y2, p, q):
    """The slope at the first of three points that are p and q apart."""
    return -(2.0 * p + q) / (p * (p + q)) * y0 + (p + q) / (p * q) * y1 - p / (q * (p + q)) * y2


@defines(np.interp)
def interp(x, xp, fp, left=None, right=None, period=None):
    """Piecewise linear; outside the range of `xp` the end values, unless there is a period."""
    places, knots, values = np.asarray(x, dtype=float), vector(np.asarray(xp, dtype=float)), vector(floats(np.asarray(fp)))
    if knots.shape[0] != values.shape[0]:
        raise ValueError("fp and xp are not of the same length.")
    if knots.shape[0] == 0:
        raise ValueError("array of sample points is empty")
    if period is not None and period == 0:
        raise ValueError("period must be a non-zero value")
    if period is not None:
        length = abs(period)
        places, knots = places % length, knots % length
        order = np.argsort(knots)
        knots, values = knots[order], values[order]
        n = knots.shape[0]
        knots = np.concatenate((knots[n - 1:] - length, knots, knots[:1] + length))
        values = np.concatenate((values[n - 1:], values, values[:1]))
    if np.ndim(x) == 0:
        return interp_one(places[()] if period is None else np.sum(places), knots, values, left, right)
    flat = np.ravel(places)
    out = np.empty(flat.shape[0])
    for k in range(flat.shape[0]):
        out[k] = interp_one(flat[k], knots, values, left, right)
    return np.reshape(out, places.shape)


def vector(a):
    """An array of one axis, which NumPy needs here."""
    if a.ndim < 1:
        raise ValueError("object of too small depth for desired array")
    if a.ndim > 1:
        raise ValueError("object too deep for desired array")
    return a


def interp_one(x, xp, fp, left, right):
    n = xp.shape[0]
    if x < xp[0]:
        return fp[0] if left is None else left
    if x > xp[n - 1]:
        return fp[n - 1] if right is None else right
    j = np.searchsorted(xp, x, side="right") - 1
    if j >= n - 1:
        return x if np.isnan(x) else fp[n - 1]
    slope = (fp[j + 1] - fp[j]) / (xp[j + 1] - xp[j])
    return fp[j] + slope * (x - xp[j])


@defines(np.unwrap)
def unwrap(p, discont=None, axis=-1, period=2 * np.pi):
    """Jumps larger than half a period are replaced by their complement; they have no derivative."""
    last = np.moveaxis(p, axis, -1)
    if last.dtype.kind in "iu" and isinstance(period, int):
        return unsupported("np.unwrap of integers with an integer as the period", "make the period a float")
    step = last[..., 1:] - last[..., :-1]
    last = floats(last)
    half = period / 2
    moved = np.mod(step + half, period) - half
    moved = np.where((moved == -half) & (step > 0), half, moved)
    limit = half if discont is None else max(discont, half)
    turns = np.where(np.abs(step) < limit, 0.0, np.round((moved - step) / period))
    shift = np.cumsum(turns, axis=-1) * period
    out = last.copy()
    out[..., 1:] = last[..., 1:] + shift
    return np.moveaxis(out, -1, axis)


@defines(np.polyfit)
def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    """Least squares, each power scaled to length 1 as in NumPy."""
    if full or cov:
        return unsupported("np.polyfit with full or cov", "it gives the coefficients alone")
    places, values = np.asarray(x), np.asarray(y)
    if deg < 0:
        raise ValueError("expected deg >= 0")
    if places.ndim != 1 or places.shape[0] == 0:
        raise TypeError("expected non-empty vector for x")
    if places.shape[0] != values.shape[0]:
        raise TypeError("expected x and y to have same length")
    powers = np.vander(places + 0.0, deg + 1)
    if w is not None:
        weights = np.asarray(w)
        powers = powers * weights[:, None]
        values = values * (weights if np.ndim(values) == 1 else weights[:, None])
    scale = np.sqrt(np.sum(powers * powers, axis=0))
    cutoff = places.shape[0] * 2.220446049250313e-16 if rcond is None else rcond
    found = np.linalg.lstsq(powers / scale, values, rcond=cutoff)[0]
    return found / scale if np.ndim(values) == 1 else found / scale[:, None]


@defines(np.convolve)
def convolve(a, v, mode="full"):
    left, right = np.atleast_1d(a), np.atleast_1d(v)
    if left.ndim > 1 or right.ndim > 1:
        raise ValueError("object too deep for desired array")
    n, m = left.shape[0], right.shape[0]
    if n == 0:
        raise ValueError("a cannot be empty")
    if m == 0:
        raise ValueError("v cannot be empty")
    full = np.zeros(n + m - 1, dtype=(left[:1] * right[:1]).dtype)
    if n < m:
        add_products(full, right, left)
    else:
        add_products(full, left, right)
    if mode == "full":
        return full
    short = min(n, m)
    if mode == "valid":
        return full[short - 1:n + m - short]
    start = (short - 1) // 2
    return full[start:start + max(n, m)]


def add_products(full, long, short):
    """The convolution of two vectors, added in parts that stay in the nearest cache; the inner loop is the long one."""
    for first in range(0, long.shape[0], 1024):
        last = min(first + 1024, long.shape[0])
        for j in range(short.shape[0]):
            for i in range(first, last):
                full[i + j] += long[i] * short[j]


@defines(np.correlate)
def correlate(a, v, mode="valid"):
    a, v = vector(np.asarray(a)), vector(np.asarray(v))
    n, m = len(a), len(v)
    if n == 0:
        raise ValueError("first array argument cannot be empty")
    if m == 0:
        raise ValueError("second array argument cannot be empty")
    if mode not in ("valid", "same", "full"):
        raise ValueError(f"mode must be one of 'valid', 'same', or 'full' (got {mode!r})")
    if mode == "same" and n < m:                # what is in the middle is counted from the other end
        return np.convolve(a, np.conjugate(v[::-1]))[n // 2:n // 2 + m]
    return np.convolve(a, np.conjugate(v[::-1]), mode)
