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
    """A `RegularGridInterpolator`."""

    _grid: Any
    _values: Any
    method: Any
    bounds_error: Any
    fill_value: Any

    def __call__(self, xi, method=None):
        how = self.method if method is None else method
        if how != "linear" and how != "nearest":
            return unsupported("interpolation on a grid by splines", "use the method 'linear' or 'nearest'")
        count = len(self._grid)
        if self._values.ndim != count:
            return unsupported("interpolation of several functions on a grid", "interpolate each")
        parts = coordinates(xi, count)
        places, ways, outside, lost = [], [], False, False
        for axis, at in zip(self._grid, parts, strict=True):
            beyond = (at < axis[0]) | (at > axis[-1])
            if self.bounds_error and np.any(beyond | (at != at)):
                raise ValueError("One of the requested xi is out of bounds")
            k = np.clip(np.searchsorted(axis, at, side="right") - 1, 0, axis.shape[0] - 2)
            places.append(k)
            ways.append((at - axis[k]) / (axis[k + 1] - axis[k]))
            outside = outside | beyond
            lost = lost | (at != at)
        found = corner(self._values, places, ways, how == "linear")
        if not self.bounds_error and self.fill_value is not None:
            found = np.where(outside, self.fill_value, found)
        return np.where(lost, np.nan, found)


def corner(values, places, ways, linear, *index):
    """The value in a cell, one axis after the other."""
    n = len(index)
    if n == len(places):
        return values[index]
    if not linear:
        return corner(values, places, ways, linear, *index, np.where(ways[n] <= 0.5, places[n], places[n] + 1))
    return ((1.0 - ways[n]) * corner(values, places, ways, linear, *index, places[n])
            + ways[n] * corner(values, places, ways, linear, *index, places[n] + 1))


def axes_and_values(points, values):
    """With every axis rising."""
    values = floats(np.asarray(values))
    axes = []
    for k, p in enumerate(points):
        p = floats(np.asarray(p))
        if p.shape[0] != values.shape[k]:
            raise ValueError("There are other numbers of points and of values along an axis")
        steps = np.diff(p)
        if np.any(steps <= 0.0):
            raise ValueError("The points of an axis must be strictly ascending (descending ones are to be flipped here)")
        axes.append(p)
    return tuple(axes), values


@defines(interpolate.RegularGridInterpolator)
def regular_grid_interpolator(points, values, method="linear", bounds_error=True, fill_value=np.nan, solver=None,
                              solver_args=None):
    axes, values = axes_and_values(points, values)
    return Grid(axes, values, method, bounds_error, fill_value)


@defines(interpolate.interpn)
def interpn(points, values, xi, method="linear", bounds_error=True, fill_value=np.nan):
    return regular_grid_interpolator(points, values, method, bounds_error, fill_value)(xi)


REGISTRY.stand_ins[interpolate.RegularGridInterpolator] = Grid, (
    "_grid", "_values", "method", "bounds_error", "fill_value")
