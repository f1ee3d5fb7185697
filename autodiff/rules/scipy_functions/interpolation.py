"""Interpolation in one dimension, from `scipy.interpolate`: piecewise polynomials and what is made of them.

An interpolator made in a differentiated function is one of the dataclasses below, whose fields have SciPy's names; one made
outside is read as one of them (`Registry.stand_ins`). It is differentiated in the point, and in the data.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import interpolate, linalg

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines
from ..definitions.extrema import floats
from ..registry import REGISTRY
from .splines import column, spline_value


@dataclass
class Piecewise:
    """A polynomial in x - x[i] for each interval: `c[j, i]` is the coefficient of the power rows - 1 - j.

    taken: how many derivatives.
    """

    c: Any
    x: Any
    extrapolate: Any
    axis: Any = 0
    rows: Any = 4
    taken: Any = 0

    paths = {"rows": ("c", "shape", 0)}

    def __call__(self, x, nu=0, extrapolate=None):
        return value(self, x, nu, extrapolate)

    def derivative(self, nu=1):
        return Piecewise(self.c, self.x, self.extrapolate, self.axis, self.rows, self.taken + nu)

    def integrate(self, a, b, extrapolate=None):
        return integral(self, a, b, extrapolate)


def interval(x, at):
    """The interval of each point, the first or last one for points outside."""
    return np.clip(np.searchsorted(x, at, side="right") - 1, 0, x.shape[0] - 2)


def value(p, at, nu, extrapolate):
    if p.axis != 0:
        return unsupported("an interpolator along another axis than the first",
                           "move that axis to the front with np.moveaxis")
    if nu < 0:
        return unsupported("an antiderivative", "use the method `integrate`")
    beyond = p.extrapolate if extrapolate is None else extrapolate
    x, rows, nu = p.x, p.rows, nu + p.taken
    at = floats(np.asarray(at))
    if beyond == "periodic":
        at = x[0] + (at - x[0]) % (x[-1] - x[0])
    k = interval(x, at)
    s = column(at - x[k], p.c.ndim - 2)
    found = 0.0 * s * p.c[0][k]
    for j in range(rows - nu):
        factor = 1.0
        for i in range(nu):
            factor *= rows - 1 - j - i
        found = found * s + factor * p.c[j][k]
    if not beyond:
        found = np.where(column((at >= x[0]) & (at <= x[-1]), p.c.ndim - 2), found, np.nan)
    return found


def integral(p, a, b, extrapolate):
    """From a to b, beyond the data by the first and last polynomial."""
    if p.axis != 0 or p.taken != 0 or p.c.ndim > 2:
        return unsupported("the integral of a derivative, or of several functions at once", "integrate one function itself")
    beyond = p.extrapolate if extrapolate is None else extrapolate
    if beyond == "periodic":
        return unsupported("the integral of a periodic interpolator", "integrate over parts of a period")
    rows, steps = p.rows, np.diff(p.x)
    whole = np.zeros(p.c.shape[1])
    for j in range(rows):
        whole = whole * steps + p.c[j] / (rows - j)
    before = np.concatenate((np.zeros(1), np.cumsum(whole * steps)))
    found = 1.0 * (primitive(p, b, rows, before) - primitive(p, a, rows, before))
    if not beyond:
        found = np.where((a >= p.x[0]) & (a <= p.x[-1]) & (b >= p.x[0]) & (b <= p.x[-1]), found, np.nan)
    return found


def primitive(p, at, rows, before):
    k = interval(p.x, at)
    s = at - p.x[k]
    part = 0.0 * s
    for j in range(rows):
        part = part * s + p.c[j][k] / (rows - j)
    return before[k] + part * s


# ---- cubic interpolants ----------------------------------------------------------------------------------
def data(x, y, axis, finite=True):
    """The data in double precision, as SciPy takes them."""
    x, y = np.asarray(x).astype(np.float64), np.asarray(y).astype(np.float64)
    if axis != 0 and not (axis == -1 and y.ndim == 1):
        return unsupported("an interpolator along another axis than the first",
                           "move that axis to the front with np.moveaxis")
    if x.shape[0] != y.shape[0]:
        raise ValueError("The length of `y` along the axis of interpolation does not match the length of `x`")
    if x.shape[0] < 2:
        raise ValueError("`x` must contain at least 2 elements.")
    if finite and not np.all(np.isfinite(x)):
        raise ValueError("`x` must contain only finite values.")
    if finite and not np.all(np.isfinite(y)):
        raise ValueError("`y` must contain only finite values.")
    if np.any(np.diff(x) <= 0.0):
        raise ValueError("`x` must be strictly increasing sequence.")
    return x, y


def hermite(x, y, slopes, extrapolate):
    """The cubics through the points with these slopes."""
    h = column(np.diff(x), y.ndim - 1)
    mean = np.diff(y, axis=0) / h
    t = (slopes[:-1] + slopes[1:] - 2.0 * mean) / h
    return Piecewise(np.stack((t / h, (mean - slopes[:-1]) / h - t, slopes[:-1], y[:-1])), x, extrapolate)


@defines(interpolate.CubicHermiteSpline)
def cubic_hermite_spline(x, y, dydx, axis=0, extrapolate=None):
    x, y = data(x, y, axis)
    return hermite(x, y, floats(np.asarray(dydx)), True if extrapolate is None else extrapolate)


def condition(given):
    """(order of the derivative that is given at an end, its value); None for not-a-knot."""
    if isinstance(given, str):
        if given == "not-a-knot":
            return None
        if given == "clamped":
            return (1, 0.0)
        if given == "natural":
            return (2, 0.0)
        return unsupported("this bc_type", "use 'not-a-knot', 'natural', 'clamped' or a pair (order, value)")
    return given


@defines(interpolate.CubicSpline)
def cubic_spline(x, y, axis=0, bc_type="not-a-knot", extrapolate=None):
    x, y = data(x, y, axis)
    return spline_through(x, y, bc_type, extrapolate)


def spline_through(x, y, bc_type="not-a-knot", extrapolate=None):
    """C. de Boor, A Practical Guide to Splines, 1978, chapter IV: slopes by a tridiagonal system, as SciPy has it."""
    if bc_type == "periodic":
        return unsupported("a periodic spline", "make it outside, or give the ends' slopes")
    first, last = (condition(bc_type), condition(bc_type)) if isinstance(bc_type, str) else (
        condition(bc_type[0]), condition(bc_type[1]))
    n = x.shape[0]
    h = np.diff(x)
    w = column(h, y.ndim - 1)
    mean = np.diff(y, axis=0) / w
    bands, right = np.zeros((3, n)), np.zeros(y.shape)
    bands[1, 1:-1] = 2.0 * (h[:-1] + h[1:])
    bands[0, 2:] = h[:-1]
    bands[2, :-2] = h[1:]
    right[1:-1] = 3.0 * (w[1:] * mean[:-1] + w[:-1] * mean[1:])
    if first is None and (n == 2 or (n == 3 and last is None)):
        bands[1, 0] = 1.0
        bands[0, 1] = 1.0 if n == 3 else 0.0
        right[0] = 2.0 * mean[0] if n == 3 else mean[0]
    elif first is None:
        both = x[2] - x[0]
        bands[1, 0] = h[1]
        bands[0, 1] = both
        right[0] = ((w[0] + 2.0 * both) * w[1] * mean[0] + w[0] ** 2 * mean[1]) / both
    elif first[0] == 1:
        bands[1, 0] = 1.0
        bands[0, 1] = 0.0
        right[0] = first[1]
    else:
        bands[1, 0] = 2.0 * h[0]
        bands[0, 1] = h[0]
        right[0] = -0.5 * first[1] * w[0] ** 2 + 3.0 * (y[1] - y[0])
    if last is None and (n == 2 or (n == 3 and first is None)):
        bands[1, -1] = 1.0
        bands[2, -2] = 1.0 if n == 3 else 0.0
        right[-1] = 2.0 * mean[-1] if n == 3 else mean[-1]
    elif last is None:
        both = x[-1] - x[-3]
        bands[1, -1] = h[-2]
        bands[2, -2] = both
        right[-1] = (w[-1] ** 2 * mean[-2] + (2.0 * both + w[-1]) * w[-2] * mean[-1]) / both
    elif last[0] == 1:
        bands[1, -1] = 1.0
        bands[2, -2] = 0.0
        right[-1] = last[1]
    else:
        bands[1, -1] = 2.0 * h[-1]
        bands[2, -2] = h[-1]
        right[-1] = 0.5 * last[1] * w[-1] ** 2 + 3.0 * (y[-1] - y[-2])
    flat = np.reshape(right, (n, -1)) if y.ndim > 2 else right
    slopes = np.reshape(linalg.solve_banded((1, 1), bands, flat, check_finite=False), y.shape)
    return hermite(x, y, slopes, True if extrapolate is None else extrapolate)


@defines(interpolate.PchipInterpolator)
def pchip(x, y, axis=0, extrapolate=None):
    """F. N. Fritsch and J. Butland, SIAM J. Sci. Comput. 5, 1984; ends by C. Moler, Numerical Computing with MATLAB."""
    x, y = data(x, y, axis)
    w = column(np.diff(x), y.ndim - 1)
    mean = np.diff(y, axis=0) / w
    slopes = np.zeros(y.shape)
    if x.shape[0] == 2:
        slopes[0] = mean[0]
        slopes[1] = mean[0]
    else:
        left, right = mean[:-1], mean[1:]
        same = left * right > 0.0
        before, after = 2.0 * w[1:] + w[:-1], w[1:] + 2.0 * w[:-1]
        harmonic = (before / np.where(same, left, 1.0) + after / np.where(same, right, 1.0)) / (before + after)
        slopes[1:-1] = np.where(same, 1.0 / np.where(same, harmonic, 1.0), 0.0)
        slopes[0] = pchip_end(w[0], w[1], mean[0], mean[1])
        slopes[-1] = pchip_end(w[-1], w[-2], mean[-1], mean[-2])
    return hermite(x, y, slopes, True if extrapolate is None else extrapolate)


def pchip_end(h0, h1, m0, m1):
    slope = ((2.0 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    steep = (np.sign(m0) != np.sign(m1)) & (np.abs(slope) > 3.0 * np.abs(m0))
    return np.where(np.sign(slope) != np.sign(m0), 0.0, np.where(steep, 3.0 * m0, slope))


@defines(interpolate.Akima1DInterpolator)
def akima(x, y, axis=0, method="akima", extrapolate=None):
    """H. Akima, A new method of interpolation, J. ACM 17 (1970)."""
    x, y = data(x, y, axis)
    w = column(np.diff(x), y.ndim - 1)
    mean = np.diff(y, axis=0) / w
    if x.shape[0] == 2:
        slopes = np.stack((mean[0], mean[0]))
    else:
        a, b = 2.0 * mean[0] - mean[1], 2.0 * mean[-1] - mean[-2]
        m = np.concatenate((np.stack((2.0 * a - mean[0], a)), mean, np.stack((b, 2.0 * b - mean[-1]))))
        d = np.abs(np.diff(m, axis=0))
        f1, f2 = d[2:], d[:-2]
        if method == "makima":
            p = np.abs(m[1:] + m[:-1])
            f1, f2 = f1 + 0.5 * p[2:], f2 + 0.5 * p[:-2]
        both = f1 + f2
        settled = both > 1e-9 * np.max(both)
        part = f2 / np.where(settled, both, 1.0)
        slopes = np.where(settled, m[1:-2] + part * (m[2:-1] - m[1:-2]), 0.5 * (m[3:] + m[:-3]))
    return hermite(x, y, slopes, False if extrapolate is None else extrapolate)


# ---- interp1d --------------------------------------------------------------------------------------------
@dataclass
class Interp1d:
    """`interp1d` of one function; `_spline` is what it evaluates where `_kind` is "spline"."""

    x: Any
    y: Any
    _kind: Any
    bounds_error: Any
    _extrapolate: Any
    _fill_value_below: Any
    _fill_value_above: Any
    axis: Any = 0
    _spline: Any = None

    def __call__(self, x):
        at, known, y = floats(np.asarray(x)), self.x, self.y
        if y.ndim != 1:
            return unsupported("interp1d of several functions at once", "interpolate each, or use CubicSpline or np.interp")
        below, above = at < known[0], at > known[-1]
        if self.bounds_error and np.any(below):
            raise ValueError("A value in x_new is below the interpolation range's minimum value.")
        if self.bounds_error and np.any(above):
            raise ValueError("A value in x_new is above the interpolation range's maximum value.")
        n = known.shape[0]
        if self._kind == "linear":
            k = np.clip(np.searchsorted(known, at), 1, n - 1)           # of one point, that and the one itself
            step = known[k] - known[k - 1]
            slope = np.where(step == 0.0, np.where(at == known[k], step, np.nan * step),
                             (y[k] - y[k - 1]) / np.where(step == 0.0, step + 1, step))
            found = slope * (at - known[k - 1]) + y[k - 1]
        elif self._kind == "nearest":
            found = y[np.searchsorted(known[1:] / 2.0 + known[:-1] / 2.0, at, side="left").clip(0, n - 1)]
        elif self._kind == "nearest-up":
            found = y[np.searchsorted(known[1:] / 2.0 + known[:-1] / 2.0, at, side="right").clip(0, n - 1)]
        elif self._kind == "previous":
            found = y[np.clip(np.searchsorted(known, at, side="right"), 1, n) - 1]
        elif self._kind == "next":
            found = y[np.clip(np.searchsorted(known, at, side="left"), 0, n - 1)]
        else:
            found = np.reshape(self._spline(at), np.shape(at))
        if self._kind != "linear" and self._kind != "spline":
            found = np.where(at == at, found, y[-1])            # nan is sorted behind all numbers
        if not self._extrapolate:
            first, last = self._fill_value_below[0], self._fill_value_above[0]
            found = np.where(below, first, np.where(above, last, found)).astype(found.dtype)
        return found


@defines(interpolate.interp1d)
def interp1d(x, y, kind="linear", axis=-1, copy=True, bounds_error=None, fill_value=np.nan, assume_sorted=False):
    x, y = floats(np.asarray(x)), floats(np.asarray(y))
    if x.shape[0] != y.shape[0]:
        raise ValueError("x and y arrays must be equal in length along interpolation axis.")
    if x.shape[0] == 0:
        raise ValueError("x and y arrays must have at least 1 entries")
    if not assume_sorted:
        order = np.argsort(x, kind="mergesort")
        x, y = x[order], y[order]
    on = isinstance(fill_value, str)
    if on and bounds_error:
        raise ValueError("Cannot extrapolate and raise at the same time.")
    pair = (np.nan, np.nan) if on else fill_value if isinstance(fill_value, tuple) else (fill_value, fill_value)
    if on and kind == "previous":
        pair = (np.nan, y[-1])
    elif on and kind == "next":
        pair = (y[0], np.nan)
    below, above = np.array([pair[0]]), np.array([pair[1]])
    spline = None
    if kind == "cubic" or kind == 3:
        spline = interpolating(x, y)
    elif kind == "slinear" or kind == 1:
        kind, x, y = "linear", x.astype(np.float64), y.astype(np.float64)
        if x.shape[0] < 2:
            raise ValueError("x and y arrays must have at least 2 entries")
        if np.any(np.diff(x) <= 0.0):
            raise ValueError("Expect x to not have duplicates")
    elif kind not in ("linear", "nearest", "nearest-up", "previous", "next"):
        return unsupported("this kind of interp1d", "use 'linear', 'cubic', 'nearest', 'previous' or 'next'")
    return Interp1d(x, y, kind if spline is None else "spline", not on if bounds_error is None else bounds_error,
                    on and kind != "previous" and kind != "next", below, above, 0, spline)


# ---- B-splines as objects --------------------------------------------------------------------------------
@dataclass
class Spline:
    """A B-spline: knots, coefficients and degree."""

    t: Any
    c: Any
    k: Any
    extrapolate: Any = True
    axis: Any = 0
    taken: Any = 0

    def __call__(self, x, nu=0, extrapolate=None):
        beyond = self.extrapolate if extrapolate is None else extrapolate
        if self.axis != 0 or beyond == "periodic":
            return unsupported("a B-spline that is periodic, or along another axis than the first",
                               "move that axis to the front with np.moveaxis")
        found = spline_value(self.t, self.c, self.k, x, nu + self.taken, 0)
        if not beyond:
            last = self.t.shape[0] - self.k - 1
            on = column((np.asarray(x) >= self.t[self.k]) & (np.asarray(x) <= self.t[last]), self.c.ndim - 1)
            found = np.where(on, found, np.nan)
        return found

    def derivative(self, nu=1):
        return Spline(self.t, self.c, self.k, self.extrapolate, self.axis, self.taken + nu)


@defines(interpolate.BSpline)
def bspline(t, c, k, extrapolate=True, axis=0):
    return Spline(floats(np.asarray(t)), floats(np.asarray(c)), k, extrapolate, axis)


@dataclass
class Smoothing:
    """`UnivariateSpline` and its like, made outside."""

    _eval_args: Any
    ext: Any
    taken: Any = 0

    def __call__(self, x, nu=0, ext=None):
        t, c, k = self._eval_args
        return spline_value(t, c, k, x, nu + self.taken, self.ext if ext is None else ext)

    def derivative(self, n=1):
        return Smoothing(self._eval_args, self.ext, self.taken + n)


@defines(interpolate.make_interp_spline)
def make_interp_spline(x, y, k=3, t=None, bc_type=None, axis=0, check_finite=True):
    """A cubic one is the not-a-knot spline."""
    if k != 3 or t is not None:
        return unsupported("make_interp_spline of another degree than 3, or with knots",
                           "make it outside, or use CubicSpline")
    return interpolating(x, y, axis, bc_type, check_finite)


def interpolating(x, y, axis=0, bc_type=None, finite=False):
    """The not-a-knot spline, or the one with other ends, of as many points as a cubic B-spline needs."""
    x, y = data(x, y, axis, finite)
    if bc_type is None and x.shape[0] < 4:
        raise ValueError("The number of derivatives at boundaries does not match: a cubic spline needs 4 points")
    return spline_through(x, y, "not-a-knot" if bc_type is None else bc_type)


@defines(interpolate.InterpolatedUnivariateSpline)
def interpolated_univariate_spline(x, y, w=None, bbox=(None, None), k=3, ext=0, check_finite=False):
    """A cubic one is the not-a-knot spline."""
    if k != 3 or w is not None or bbox != (None, None) or (ext != 0 and ext != "extrapolate"):
        return unsupported("InterpolatedUnivariateSpline with w, bbox, ext or a degree other than 3",
                           "make it outside, or use CubicSpline")
    return interpolating(x, y)


def outside_only(what):
    def refusal(*args, **kwargs):
        return unsupported(f"{what} in a differentiated function", "make it outside and call it inside, or use CubicSpline")
    return refusal


for _name in ("UnivariateSpline", "LSQUnivariateSpline", "splrep", "make_smoothing_spline", "make_lsq_spline",
              "RectBivariateSpline", "SmoothBivariateSpline", "bisplrep"):
    defines(getattr(interpolate, _name))(outside_only(f"scipy.interpolate.{_name}"))


# ---- made outside ----------------------------------------------------------------------------------------
for _cls in (interpolate.CubicSpline, interpolate.PchipInterpolator, interpolate.Akima1DInterpolator,
             interpolate.CubicHermiteSpline, interpolate.PPoly):
    REGISTRY.stand_ins[_cls] = Piecewise, ("c", "x", "extrapolate", "axis", "rows")
REGISTRY.stand_ins[interpolate.BSpline] = Spline, ("t", "c", "k", "extrapolate", "axis")
REGISTRY.stand_ins[interpolate.interp1d] = Interp1d, (
    "x", "y", "_kind", "bounds_error", "_extrapolate", "_fill_value_below", "_fill_value_above", "axis", "_spline")
for _cls in (interpolate.UnivariateSpline, interpolate.InterpolatedUnivariateSpline, interpolate.LSQUnivariateSpline):
    REGISTRY.stand_ins[_cls] = Smoothing, ("_eval_args", "ext")
