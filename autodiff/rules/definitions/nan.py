"""Reductions that leave NaN out."""

import math

import numpy as np

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines
from .extrema import floats, kept, lanes
from .out import stored


def without_nan(a, value):
    x = np.asarray(a)
    return np.where(np.isnan(x), value, x) if x.dtype.kind == "f" else x


@defines(np.nansum)
def nansum(a, axis=None, dtype=None, out=None, keepdims=False):
    return stored(out, np.sum(without_nan(a, 0.0), axis=axis, dtype=dtype, keepdims=keepdims), "unsafe")


@defines(np.nanprod)
def nanprod(a, axis=None, dtype=None, out=None, keepdims=False):
    return stored(out, np.prod(without_nan(a, 1.0), axis=axis, dtype=dtype, keepdims=keepdims), "unsafe")


@defines(np.nancumsum)
def nancumsum(a, axis=None, dtype=None):
    return np.cumsum(without_nan(a, 0.0), axis=axis, dtype=dtype)


@defines(np.nancumprod)
def nancumprod(a, axis=None, dtype=None, out=None):
    return stored(out, np.cumprod(without_nan(a, 1.0), axis=axis, dtype=dtype), "unsafe")


@defines(np.nanmean)
def nanmean(a, axis=None, dtype=None, out=None, keepdims=False):
    x = np.asarray(a)
    axis = None if x.ndim == 0 and axis in (0, -1) else axis
    return stored(out, np.mean(x, axis=axis, dtype=dtype, keepdims=keepdims, where=np.logical_not(np.isnan(x))))


@defines(np.nanvar)
def nanvar(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    x = np.asarray(a)
    return np.var(x, axis=axis, dtype=dtype, out=out, ddof=ddof, keepdims=keepdims, where=np.logical_not(np.isnan(x)))


@defines(np.nanstd)
def nanstd(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False):
    x = np.asarray(a)
    return np.std(x, axis=axis, dtype=dtype, out=out, ddof=ddof, keepdims=keepdims, where=np.logical_not(np.isnan(x)))


@defines(np.nanmax)
def nanmax(a, axis=None, out=None, keepdims=False):
    x = np.asarray(a)
    top = np.max(without_nan(x, -np.inf), axis=axis, keepdims=keepdims)
    if x.dtype.kind == "f":
        top = np.where(np.all(np.isnan(x), axis=axis, keepdims=keepdims), np.nan, top)
    return stored(out, top, "unsafe")


@defines(np.nanmin)
def nanmin(a, axis=None, out=None, keepdims=False):
    x = np.asarray(a)
    low = np.min(without_nan(x, np.inf), axis=axis, keepdims=keepdims)
    if x.dtype.kind == "f":
        low = np.where(np.all(np.isnan(x), axis=axis, keepdims=keepdims), np.nan, low)
    return stored(out, low, "unsafe")


@defines(np.nanmedian)
def nanmedian(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    return stored(out, of_present(a, axis, keepdims, lambda numbers: np.median(numbers), np.nan))


@defines(np.nanquantile)
def nanquantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    if (axis is not None or keepdims) and np.ndim(q) != 0:
        return stored(out, of_each(a, q, lambda x, p: np.nanquantile(x, p, axis=axis, method=method, keepdims=keepdims)))
    nothing = of_nothing(q, 1, "Quantiles must be in the range [0, 1]")
    return stored(out, of_present(a, axis, keepdims, lambda numbers: np.quantile(numbers, q, method=method), nothing))


@defines(np.nanpercentile)
def nanpercentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False):
    if (axis is not None or keepdims) and np.ndim(q) != 0:
        return stored(out, of_each(a, q, lambda x, p: np.nanpercentile(x, p, axis=axis, method=method, keepdims=keepdims)))
    nothing = of_nothing(q, 100, "Percentiles must be in the range [0, 100]")
    return stored(out, of_present(a, axis, keepdims, lambda numbers: np.percentile(numbers, q, method=method), nothing))


def of_each(a, q, function):
    """The arrays that `function` gives of several quantiles, one below the other, in the dtype that holds them too."""
    if np.ndim(q) != 1:
        return unsupported("quantiles along an axis at places in a matrix", "give the places as a vector")
    places, numbers = np.asarray(q), floats(np.asarray(a))
    x = numbers.astype(np.result_type(numbers.dtype, places.dtype))
    return np.stack([function(x, one) for one in places])


def of_nothing(q, most, message):
    """nan for each quantile of no numbers."""
    places = np.asarray(q)
    if np.any(places < 0) or np.any(places > most):
        raise ValueError(message)
    return (q if np.ndim(q) == 0 else places) * np.nan


def of_present(a, axis, keepdims, function, nothing):
    """`function` of the numbers that are no nan, of each lane along `axis`; `nothing` where there are none."""
    rows = lanes(a, axis)
    if axis is None:
        numbers = rows[np.logical_not(np.isnan(rows))]
        result = function(numbers) if len(numbers) > 0 else nothing
    else:
        flat = np.reshape(rows, (math.prod(rows.shape[:-1]), rows.shape[-1]))
        made = np.empty(flat.shape[0], dtype=floats(rows).dtype)
        for r in range(flat.shape[0]):
            row = flat[r]
            numbers = row[np.logical_not(np.isnan(row))]
            made[r] = function(numbers) if len(numbers) > 0 else nothing
        result = np.reshape(made, rows.shape[:-1])
    return kept(result, a, axis) if keepdims else result


def refuse_only_nan(a, axis):
    x = np.asarray(a)
    if x.dtype.kind == "f" and np.any(np.all(np.isnan(x), axis=axis)):
        raise ValueError("All-NaN slice encountered")


@defines(np.nanargmax)
def nanargmax(a, axis=None):
    refuse_only_nan(a, axis)
    return np.argmax(without_nan(a, -np.inf), axis=axis)


@defines(np.nanargmin)
def nanargmin(a, axis=None):
    refuse_only_nan(a, axis)
    return np.argmin(without_nan(a, np.inf), axis=axis)
