"""Values of B-splines, in one and two dimensions (`splev`, `bisplev`): by the basis functions that are not zero at a point.

Source: C. de Boor, A Practical Guide to Splines, 1978, chapter X; L. Piegl and W. Tiller, The NURBS Book, 1997, algorithm
A2.2.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import interpolate

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines
from ..definitions.extrema import floats
from ..registry import REGISTRY


def column(a, count):
    """An array with as many more axes behind."""
    for _ in range(count):
        a = a[..., None]
    return a


def knot_interval(t, k, at):
    """The i with t[i] <= at < t[i + 1] among the inner intervals, the first or last one for points outside."""
    last = t.shape[0] - k - 2
    return np.clip(np.searchsorted(t[:last + 1], at, side="right") - 1, k, last)


def basis(t, i, k, at):
    """The values of the k + 1 basis functions i - k, ..., i, those that are not zero in the interval i."""
    if k == 0:
        return (np.ones_like(at),)
    return raised(basis(t, i, k - 1, at), t, i, k, at, 0, 0.0 * at)


def raised(lower, t, i, k, at, j, carried):
    """Those of degree k from number j on, by those of one degree less."""
    if j == k:
        return (carried,)
    right, left = t[i + j + 1], t[i + j + 1 - k]
    part = lower[j] / (right - left)
    return (carried + (right - at) * part, *raised(lower, t, i, k, at, j + 1, (at - left) * part))


def derivative_of(t, c, k):
    """The knots, coefficients and degree of a spline's derivative."""
    n = t.shape[0] - k - 1
    width = column(t[k + 1:n + k] - t[1:n], c.ndim - 1)
    return t[1:-1], k * np.where(width > 0.0, (c[1:n] - c[:n - 1]) / np.where(width > 0.0, width, 1.0), 0.0), k - 1


def spline_value(t, c, k, x, nu, ext):
    """A spline or its derivative of order nu at numbers x; outside as SciPy's `ext` says."""
    at = floats(np.asarray(x))
    first, last = t[k], t[t.shape[0] - k - 1]
    outside = (at < first) | (at > last)
    if ext == 2 or ext == "raise":
        if np.any(outside):
            raise ValueError("A value in x is outside of the knots.")
    if (ext == 3 or ext == "const") and nu == 0:
        at = np.clip(at, first, last)
    if nu > k:
        return unsupported("a derivative of a spline beyond its degree", "it is zero between the knots")
    for _ in range(nu):
        t, c, k = derivative_of(t, c, k)
    i = knot_interval(t, k, at)
    found = 0.0 * column(at, c.ndim - 1)
    for j, b in enumerate(basis(t, i, k, at)):
        found = found + column(b, c.ndim - 1) * c[i - k + j]
    return np.where(column(outside, c.ndim - 1), 0.0, found) if ext == 1 or ext == "zeros" else found


@defines(interpolate.splev)
def splev(x, tck, der=0, ext=0):
    if not isinstance(tck, tuple):
        return tck(x, der)
    t, c, k = tck
    if isinstance(c, list):
        return [spline_value(t, part, k, x, der, ext) for part in c]
    return spline_value(t, c, k, x, der, ext)


# ---- two dimensions --------------------------------------------------------------------------------------
def surface_value(tx, ty, c, kx, ky, x, y, dx, dy):
    """At points (x, y), which are moved to the edge where they are outside."""
    x, y = np.clip(floats(np.asarray(x)), tx[kx], tx[tx.shape[0] - kx - 1]), np.clip(
        floats(np.asarray(y)), ty[ky], ty[ty.shape[0] - ky - 1])
    if dx != 0 or dy != 0:
        return unsupported("a derivative of a spline of two variables", "differentiate its value with autodiff")
    i, j = knot_interval(tx, kx, x), knot_interval(ty, ky, y)
    across = ty.shape[0] - ky - 1
    of_x, of_y = basis(tx, i, kx, x), basis(ty, j, ky, y)
    found = 0.0 * (x + y)
    for p, u in enumerate(of_x):
        for q, v in enumerate(of_y):
            found = found + u * v * c[(i - kx + p) * across + j - ky + q]
    return found


@dataclass
class Surface:
    """A spline of two variables, made outside."""

    tck: Any
    degrees: Any

    def __call__(self, x, y, dx=0, dy=0, grid=True):
        if grid:
            if np.any(np.diff(x) < 0.0) or np.any(np.diff(y) < 0.0):
                raise ValueError("x and y must be sorted to increase where grid is True")
            rows, columns = np.atleast_1d(x), np.atleast_1d(y)
            return self.ev(rows[:, None], columns[None, :], dx, dy)
        return self.ev(x, y, dx, dy)

    def ev(self, xi, yi, dx=0, dy=0):
        tx, ty, c = self.tck
        return surface_value(tx, ty, c, self.degrees[0], self.degrees[1], xi, yi, dx, dy)


@defines(interpolate.bisplev)
def bisplev(x, y, tck, dx=0, dy=0):
    tx, ty, c, kx, ky = tck
    if np.ndim(x) == 0 and np.ndim(y) == 0:
        return surface_value(tx, ty, c, kx, ky, x, y, dx, dy)
    return surface_value(tx, ty, c, kx, ky, np.atleast_1d(x)[:, None], np.atleast_1d(y)[None, :], dx, dy)


for _cls in (interpolate.RectBivariateSpline, interpolate.SmoothBivariateSpline, interpolate.LSQBivariateSpline):
    REGISTRY.stand_ins[_cls] = Surface, ("tck", "degrees")
