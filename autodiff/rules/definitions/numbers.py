"""Numbers taken apart, and orders by several keys."""

import bisect
import math

import numpy as np

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines


@defines(np.frexp)
def frexp(x):
    """The mantissa has the derivative 2 ** -e, the exponent none."""
    a = np.asarray(x)
    small = np.abs(a) < 2.0 ** -100
    lifted = np.ldexp(a, np.where(small, 90, 0))                # 2 ** -e of the smallest numbers would be infinite
    number = np.isfinite(a) & (a != 0)
    e = np.floor(np.log2(np.abs(np.where(number, lifted, 1)))).astype(int) + 1
    m = np.abs(np.ldexp(np.where(number, lifted, 1), -e))
    e = np.where(number, e + np.where(m >= 1, 1, 0) - np.where(m < 0.5, 1, 0), 0)      # where the logarithm was rounded
    return np.ldexp(lifted, -e), (e - np.where(small & number, 90, 0)).astype(np.int32)


@defines(math.frexp)
def math_frexp(x):
    m, e = np.frexp(float(x))
    return float(m), int(e)


@defines(math.ldexp)
def math_ldexp(x, i):
    y = float(np.ldexp(x, i))
    if math.isinf(y) and math.isfinite(x):
        raise OverflowError("math range error")
    return y


@defines(math.remainder)
def remainder(x, y):
    """x - n y for the n nearest to x / y, even at ties, without error (CPython's way)."""
    if math.isnan(x) or math.isnan(y):
        return x + y
    if math.isinf(x) or y == 0:
        raise ValueError("math domain error")
    if math.isinf(y):
        return 1.0 * x
    size = abs(y)
    m = math.fmod(abs(x), size)
    c = size - m
    if m < c:
        r = m
    elif m > c:
        r = -c
    else:
        r = m - 2.0 * math.fmod(0.5 * (abs(x) - m), size)
    return math.copysign(1.0, x) * r


@defines(np.lexsort)
def lexsort(keys, axis=-1):
    """Stable orders by one key after the other, the last one decides."""
    if np.ndim(keys[0]) != 1:
        return unsupported("np.lexsort of keys that are no vectors", "loop over the rows")
    if axis not in (0, -1):
        raise np.exceptions.AxisError(axis, 1)
    order = np.argsort(np.asarray(keys[0]), kind="stable")
    for key in keys[1:]:
        if np.shape(key) != np.shape(keys[0]):
            raise ValueError("all keys need to be the same shape")
        order = order[np.argsort(np.asarray(key)[order], kind="stable")]
    return order


@defines(np.trim_zeros)
def trim_zeros(filt, trim="fb"):
    a = np.asarray(filt)
    if a.ndim != 1:
        return unsupported("np.trim_zeros of an array that is no vector", "slice it")
    n = a.shape[0]
    first, last = 0, n
    if "f" in trim.lower():
        while first < n and a[first] == 0:
            first += 1
    if "b" in trim.lower():
        while last > first and a[last - 1] == 0:
            last -= 1
    return a[first:last]


@defines(np.real_if_close)
def real_if_close(a, tol=100):
    x = np.asarray(a)
    if x.dtype.kind == "c":
        return unsupported("np.real_if_close of complex numbers, whose result is real or complex by their values",
                           "take the real part, a.real")
    return x


@defines(bisect.bisect_left)
def bisect_left(a, x, lo=0, hi=None, *, key=None):
    """The first place in a sorted list before which all items are smaller (Python's `bisect`)."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    hi = len(a) if hi is None else hi
    while lo < hi:
        mid = (lo + hi) // 2
        if (a[mid] if key is None else key(a[mid])) < x:
            lo = mid + 1
        else:
            hi = mid
    return lo


@defines(bisect.bisect_right, bisect.bisect)
def bisect_right(a, x, lo=0, hi=None, *, key=None):
    """The first place in a sorted list behind which all items are larger (Python's `bisect`)."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    hi = len(a) if hi is None else hi
    while lo < hi:
        mid = (lo + hi) // 2
        if x < (a[mid] if key is None else key(a[mid])):
            hi = mid
        else:
            lo = mid + 1
    return lo
