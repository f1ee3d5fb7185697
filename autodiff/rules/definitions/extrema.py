"""Largest, smallest and ordered: extrema, medians and quantiles."""

import math

import numpy as np

from ...transforms.lower.numpy_functions.reductions import max_value, min_value, unsupported
from ...transforms.lower.numpy_functions.sorting import order_at
from ..decorators import defines, with_derivative_of
from ..stopping import stop_gradient
from .out import mask, stored

OF_BOOLEANS = ("numpy boolean subtract, the `-` operator, is not supported, use the bitwise_xor, the `^` operator, "
               "or the logical_xor function instead.")


@defines(np.max, np.amax)
def maximum_of(a, axis=None, out=None, keepdims=False, initial=None, where=True):
    x = taken(a, where, initial)
    if x.dtype.kind == "c":
        return stored(out, first_in_order(x, 1.0, axis, keepdims, initial), "unsafe")
    top = max_value(x, axis, True, initial is not None)
    return stored(out, extremum(x, top, np.maximum, axis, keepdims, initial), "unsafe")


@defines(np.min, np.amin)
def minimum_of(a, axis=None, out=None, keepdims=False, initial=None, where=True):
    x = taken(a, where, initial)
    if x.dtype.kind == "c":
        return stored(out, first_in_order(x, -1.0, axis, keepdims, initial), "unsafe")
    low = min_value(x, axis, True, initial is not None)
    return stored(out, extremum(x, low, np.minimum, axis, keepdims, initial), "unsafe")


def taken(a, where, initial):
    x = np.asarray(a)
    if where is not True:
        x = np.where(mask(where), x, initial)
    return x


def extremum(x, found, of_two, axis, keepdims, initial):
    """The extremum that is found, with its derivative: ties share it evenly."""
    hit = x == found
    share = np.sum(np.where(hit, x, 0), axis=axis, keepdims=True) / hits_of(hit, axis, x.dtype, initial)
    result = with_derivative_of(found, share) if x.dtype.kind == "f" else found
    if not keepdims:
        result = np.sum(result, axis=axis, dtype=result.dtype)
    if x.dtype.kind == "b":
        result = result > 0
    if initial is not None:
        result = of_two(result, initial != 0 if x.dtype.kind == "b" else initial)
    return result


def first_in_order(z, sign, axis, keepdims, initial):
    """The extremum of complex numbers, by their real parts and then by their imaginary ones; ties share its derivative."""
    if initial is not None:
        return unsupported("an extremum of complex numbers with initial=", "put the initial value among the numbers")
    x, y = stop_gradient(sign * z.real), stop_gradient(sign * z.imag)
    hit = x == np.max(x, axis=axis, keepdims=True)
    y = np.where(hit, y, -np.inf)
    hit = hit & (y == np.max(y, axis=axis, keepdims=True))
    count = np.sum(hit, axis=axis, keepdims=keepdims, dtype=x.dtype)
    return np.sum(np.where(hit, z, 0.0), axis=axis, keepdims=keepdims) / count


def hits_of(hit, axis, dtype, initial):
    """How many elements are the extremum; at least one where there may be no elements."""
    count = np.sum(hit, axis=axis, keepdims=True, dtype=dtype)
    return count if initial is None else np.maximum(count, 1)


@defines(np.ptp)
def ptp(a, axis=None, out=None, keepdims=False):
    return stored(out, np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims))


def lanes(a, axis):
    """The array with the reduced axes last and flattened into one."""
    x = np.asarray(a)
    if axis is None:
        return np.ravel(x)
    if np.ndim(axis) == 0:
        return np.moveaxis(x, axis, -1)
    count = len(axis)
    moved = np.moveaxis(x, axis, tuple(range(-count, 0)))
    return moved.reshape((*moved.shape[:-count], math.prod(moved.shape[-count:])))       # -1 is no size of none


def kept(result, a, axis):
    """A reduction's result with the reduced axes as axes of size 1."""
    if axis is None:
        return np.reshape(result, (1,) * np.ndim(a))
    return np.expand_dims(result, axis)


def floats(x):
    """Integers as floats: their sums and differences may not fit."""
    return np.asarray(x, dtype=float) if x.dtype.kind in "iub" else x


def at_place(x, order, k):
    """The elements of the lanes that are at a place of their order."""
    if x.ndim == 1:
        return x[order[k]]
    return np.take_along_axis(x, np.take(order, k, axis=-1)[..., None], axis=-1)[..., 0]


@defines(np.median)
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    x = lanes(a, axis)
    n = x.shape[-1]
    if n == 0:
        middle = np.mean(floats(x), axis=-1)        # nan
    else:
        low, high = (n - 1) // 2, n // 2
        order = order_at(x, (low, high))
        middle = (floats(at_place(x, order, low)) + floats(at_place(x, order, high))) / 2
        if x.dtype.kind == "f":
            middle = np.where(np.any(np.isnan(x), axis=-1), np.nan, middle)
    return stored(out, kept(middle, a, axis) if keepdims else middle, "unsafe")


@defines(np.quantile)
def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    x = lanes(a, axis)
    if x.dtype.kind == "b" and method in ("linear", "midpoint"):
        raise TypeError(OF_BOOLEANS)
    if np.ndim(q) == 0:
        result = quantile_at(x, order_for(x, q), q, method)
        return stored(out, kept(result, a, axis) if keepdims else result)
    qs = np.asarray(q)
    order = np.argsort(x, axis=-1) if qs.shape[0] > FEW else order_for(x, qs)
    first = quantile_at(x, order, qs[0], method) if qs.shape[0] else x[..., 0]
    rows = np.empty((qs.shape[0], *np.shape(first)), dtype=float if method in ("linear", "midpoint") else x.dtype)
    for k in range(qs.shape[0]):
        rows[k] = quantile_at(x, order, qs[k], method)
    return stored(out, np.reshape(rows, (qs.shape[0], *np.shape(kept(first, a, axis)))) if keepdims else rows)


FEW = 8                 # places: of more, sorting takes less time than to find each


def order_for(x, q):
    """The order of the lanes in which the elements around quantiles are in their places."""
    if not np.all((np.asarray(q) >= 0.0) & (np.asarray(q) <= 1.0)):
        raise ValueError("Quantiles must be in the range [0, 1]")
    last = x.shape[-1] - 1
    if last < 0:
        raise IndexError("index -1 is out of bounds for axis 0 with size 0")
    low = np.floor(np.ravel(q) * last).astype(int)
    return order_at(x, np.concatenate((low, np.minimum(low + 1, last))))


def quantile_at(x, order, q, method):
    last = x.shape[-1] - 1
    place = q * last
    low = int(np.floor(place))
    if method in ("linear", "midpoint"):
        a, b = floats(at_place(x, order, low)), floats(at_place(x, order, min(low + 1, last)))
        part = place - low if method == "linear" else 0.5 if place > low else 0.0
        result = a + (b - a) * part if part < 0.5 else b - (b - a) * (1.0 - part)       # as NumPy rounds
    elif method in ("lower", "higher", "nearest"):
        k = low if method == "lower" else int(np.ceil(place)) if method == "higher" else int(np.round(place))
        result = at_place(x, order, min(k, last))
    else:
        return unsupported("np.quantile with this method", "use linear, lower, higher, midpoint or nearest")
    return np.where(np.any(np.isnan(x), axis=-1), np.nan, result) if x.dtype.kind == "f" else result


@defines(np.percentile)
def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    if not np.all((np.asarray(q) >= 0.0) & (np.asarray(q) <= 100.0)):
        raise ValueError("Percentiles must be in the range [0, 100]")
    return np.quantile(a, (q if np.ndim(q) == 0 else np.asarray(q)) / 100.0, axis=axis, out=out, method=method,
                       keepdims=keepdims)


@defines(np.unique)
def unique(ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True):
    if axis is not None and np.ndim(ar) > 1:
        return unsupported("np.unique along an axis", "call it for the whole array, or loop over the rows")
    if not equal_nan:
        return unsupported("np.unique with equal_nan=False", "leave nans out before: x[~np.isnan(x)]")
    flat = np.ravel(ar)
    if return_index or return_inverse:
        order = np.argsort(flat, kind="stable")
        ordered = flat[order]
    else:
        order, ordered = np.zeros(0, dtype=np.intp), np.sort(flat)
    first = np.ones(ordered.shape[0], dtype=bool)
    first[1:] = (ordered[1:] != ordered[:-1]) & (ordered[:-1] == ordered[:-1])       # nans lie last, and count as one
    made: tuple = (ordered[first],)
    if return_index:
        made = (*made, order[first])
    if return_inverse:
        inverse = np.zeros(flat.shape[0], dtype=np.intp)
        inverse[order] = np.cumsum(first) - 1
        made = (*made, np.reshape(inverse, np.shape(ar)) if axis is None else inverse)
    if return_counts:
        made = (*made, np.diff(np.append(np.nonzero(first)[0], flat.shape[0])))
    return made if len(made) > 1 else made[0]
