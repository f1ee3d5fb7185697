"""Reductions that leave NaN out."""

import numpy as np

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines
from .out import stored


def without_nan(a, value):
    x = np.asarray(a)
    return np.where(np.isnan(x), value, x) if x.dtype.kind == "f" else x


@defines(np.nansum)
def nansum(a, axis=None, dtype=None, out=None, keepdims=False):
    return stored(out, np.sum(without_nan(a, 0.0), axis=axis, dtype=dtype, keepdims=keepdims))


@defines(np.nanprod)
def nanprod(a, axis=None, dtype=None, out=None, keepdims=False):
    return stored(out, np.prod(without_nan(a, 1.0), axis=axis, dtype=dtype, keepdims=keepdims))


@defines(np.nancumsum)
def nancumsum(a, axis=None, dtype=None):
    return np.cumsum(without_nan(a, 0.0), axis=axis, dtype=dtype)


@defines(np.nancumprod)
def nancumprod(a, axis=None, dtype=None, out=None):
    return stored(out, np.cumprod(without_nan(a, 1.0), axis=axis, dtype=dtype))


@defines(np.nanmean)
def nanmean(a, axis=None, dtype=None, out=None, keepdims=False):
    x = np.asarray(a)
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
    return stored(out, top)


@defines(np.nanmin)
def nanmin(a, axis=None, out=None, keepdims=False):
    x = np.asarray(a)
    low = np.min(without_nan(x, np.inf), axis=axis, keepdims=keepdims)
    if x.dtype.kind == "f":
        low = np.where(np.all(np.isnan(x), axis=axis, keepdims=keepdims), np.nan, low)
    return stored(out, low)


@defines(np.nanmedian)
def nanmedian(a, axis=None, out=None):
    kept = present(a, axis)
    return stored(out, np.median(kept) if len(kept) > 0 else np.nan)


@defines(np.nanquantile)
def nanquantile(a, q, axis=None, out=None, method="linear"):
    kept = present(a, axis)
    return stored(out, np.quantile(kept, q, method=method) if len(kept) > 0 else of_nothing(
        q, 1, "Quantiles must be in the range [0, 1]"))


@defines(np.nanpercentile)
def nanpercentile(a, q, axis=None, out=None, method="linear"):
    kept = present(a, axis)
    return stored(out, np.percentile(kept, q, method=method) if len(kept) > 0 else of_nothing(
        q, 100, "Percentiles must be in the range [0, 100]"))


def of_nothing(q, most, message):
    """nan for each quantile of no numbers."""
    places = np.asarray(q)
    if np.any(places < 0) or np.any(places > most):
        raise ValueError(message)
    return q * np.nan


def present(a, axis):
    if axis is not None:
        return unsupported("axis= of nanmedian, nanquantile and nanpercentile", "loop over the rows")
    flat = np.ravel(a)
    return flat[np.logical_not(np.isnan(flat))]


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
