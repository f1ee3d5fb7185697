"""Interpolation on grids of any number of dimensions, from `scipy.interpolate`: linear and by the nearest point."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import interpolate

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines
from ..definitions.extrema import floats
from ..registry import REGISTRY
from . import interpolation  # noqa: F401  (it fills the registry)


def coordinates(xi, count):
    """The coordinates of points, an array for each, as SciPy reads them: a tuple has one item for each axis."""
    if isinstance(xi, tuple) and len(xi) > 1:
        if len(xi) != count:
            raise ValueError("The requested sample points xi have another dimension than this RegularGridInterpolator")
        return [floats(np.asarray(x)) for x in np.broadcast_arrays(*xi)]
    points = floats(np.asarray(xi[0] if isinstance(xi, tuple) else xi))
    if points.ndim < 2:
        points = np.reshape(points, (-1, count))
    if points.shape[-1] != count:
        raise ValueError("The requested sample points xi have another dimension than this RegularGridInterpolator")
    return [points[..., k] for k in range(count)]


@dataclass
class Grid:
    """A `RegularGridInterpolator`. turned: for each axis, whether the values along it stand in the other order."""

    _grid: Any
    _values: Any
    method: Any
    bounds_error: Any
    fill_value: Any
    turned: Any = None

    def __call__(self, xi, method=None):
        how = self.method if method is None else method
        if how != "linear" and how != "nearest":
            return unsupported("interpolation on a grid by splines", "use the method 'linear' or 'nearest'")
        count = len(self._grid)
        if self._values.ndim != count:
            return unsupported("interpolation of several functions on a grid", "interpolate each")
        parts = coordinates(xi, count)
        places, ways, outside, lost = [], [], False, False
        turned = [False] * count if self.turned is None else self.turned
        for axis, at, other in zip(self._grid, parts, turned, strict=True):
            beyond = (at < axis[0]) | (at > axis[-1])
            if self.bounds_error and np.any(beyond | (at != at)):
                raise ValueError("One of the requested xi is out of bounds")
            n = axis.shape[0]
            k = np.clip(np.searchsorted(axis, at, side="right") - 1, 0, n - 2)      # -1 on an axis of one point
            step = axis[k + 1] - axis[k]
            places.append((np.where(other, n - 1 - k, k) % n, np.where(other, n - 2 - k, k + 1) % n))
            ways.append(np.where(step > 0.0, at - axis[k], 0.0) / np.where(step > 0.0, step, 1.0))
            outside = outside | beyond
            lost = lost | (at != at)
        found = corner(self._values, places, ways, how == "linear")
        if how == "linear":
            found = found.astype(np.float64)
        if not self.bounds_error and self.fill_value is not None:
            found = np.where(outside, self.fill_value, found)
        return np.where(lost, np.nan, found)


def corner(values, places, ways, linear, *index):
    """The value in a cell, one axis after the other."""
    n = len(index)
    if n == len(places):
        return values[index]
    if not linear:
        return corner(values, places, ways, linear, *index, np.where(ways[n] <= 0.5, places[n][0], places[n][1]))
    return ((1.0 - ways[n]) * corner(values, places, ways, linear, *index, places[n][0])
            + ways[n] * corner(values, places, ways, linear, *index, places[n][1]))


def axes_and_values(points, values):
    """Every axis rising, the values, and for each axis whether it was falling."""
    values = floats(np.asarray(values))
    axes, turned = [], []
    for k, p in enumerate(points):
        p = np.asarray(p).astype(np.float64)
        if p.shape[0] != values.shape[k]:
            raise ValueError("There are other numbers of points and of values along an axis")
        n = p.shape[0]
        falling = n > 1 and p[n - 1] < p[0]
        p = p[np.where(falling, n - 1 - np.arange(n), np.arange(n))]
        if np.any(np.diff(p) <= 0.0):
            raise ValueError(f"The points in dimension {k} must be strictly ascending or descending")
        axes.append(p)
        turned.append(falling)
    return tuple(axes), values, tuple(turned)


@defines(interpolate.RegularGridInterpolator)
def regular_grid_interpolator(points, values, method="linear", bounds_error=True, fill_value=np.nan, solver=None,
                              solver_args=None):
    axes, values, turned = axes_and_values(points, values)
    return Grid(axes, values, method, bounds_error, fill_value, turned)


@defines(interpolate.interpn)
def interpn(points, values, xi, method="linear", bounds_error=True, fill_value=np.nan):
    return regular_grid_interpolator(points, values, method, bounds_error, fill_value)(xi)


REGISTRY.stand_ins[interpolate.RegularGridInterpolator] = Grid, (
    "_grid", "_values", "method", "bounds_error", "fill_value")
