"""Integrals of samples, from `scipy.integrate`."""

import numpy as np
from scipy import integrate

from ..decorators import defines
from ..definitions.differences import trapezoid as sum_of_trapezoids
from ..definitions.extrema import floats


@defines(integrate.trapezoid)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    return sum_of_trapezoids(y, x, dx, axis)


def steps(x, dx, last, axis):
    """The distances between the samples, with the axis of the integral last."""
    if x is None:
        return np.full((last.shape[-1] - 1,), dx, dtype=floats(last).dtype)
    places = np.asarray(x)
    return np.diff(places) if np.ndim(places) == 1 else np.diff(np.moveaxis(places, axis, -1))


@defines(integrate.cumulative_trapezoid)
def cumulative_trapezoid(y, x=None, dx=1.0, axis=-1, initial=None):
    last = np.moveaxis(np.asarray(y), axis, -1)
    result = np.cumsum(0.5 * steps(x, dx, last, axis) * (last[..., 1:] + last[..., :-1]), axis=-1)
    if initial is not None:
        result = np.concatenate((np.full((*last.shape[:-1], 1), initial, dtype=last.dtype), result), axis=-1)
    return np.moveaxis(result, -1, axis)


@defines(integrate.simpson)
def simpson(y, x=None, dx=1.0, axis=-1):
    """Simpson's rule; of an even number of samples the last interval by the parabola of the last three (K. Cartwright,
    Simpson's rule cumulative integration with MS Excel and irregularly-spaced data, 2017), as SciPy does it."""
    last = np.moveaxis(floats(np.asarray(y)), axis, -1)
    h = steps(x, dx, last, axis)
    n = last.shape[-1]
    if n % 2 == 1:
        return pairs(last, h, n)
    first = max(n - 3, 0)
    p, q, a, b, c = h[..., first], h[..., n - 2], last[..., first], last[..., n - 2], last[..., n - 1]
    end = (2.0 * q * q + 3.0 * p * q) / (6.0 * (p + q)) * c + (q * q + 3.0 * p * q) / (6.0 * p) * b \
        - q * q * q / (6.0 * p * (p + q)) * a
    return pairs(last, h, n - 1) + np.where(n == 2, 0.5 * q * (b + c), end)


def pairs(y, h, n):
    """The rule over the first n samples, an odd number: two intervals at a time."""
    p, q = h[..., 0:max(n - 2, 0):2], h[..., 1:n - 1:2]
    both = p + q
    return np.sum(both / 6.0 * (y[..., 0:max(n - 2, 0):2] * (2.0 - q / p) + y[..., 1:n - 1:2] * both * both / (p * q)
                                + y[..., 2:n:2] * (2.0 - p / q)), axis=-1)
