"""Interpolators of SciPy, made outside and inside of differentiated functions: value, derivative by point and data."""

import numpy as np
import pytest
from scipy import interpolate

from autodiff import AutodiffError, check_grads, differentiable, grad, value_and_grad, vjp

from .support import assert_gradient

T = np.array([0.0, 0.7, 1.1, 2.3, 3.0, 4.2])
Y = np.sin(T) + 0.3 * T
Z = np.outer(np.sin(T), np.cos(T))
P = np.array([0.3, 1.9, 2.8])
EDGES = np.array([0.0, 0.7, 4.2, -0.5, 5.0, 3.0, np.nan])

cubic = interpolate.CubicSpline(T, Y)
columns = interpolate.CubicSpline(T, np.stack((Y, Y * Y), axis=1))
bounded = interpolate.CubicSpline(T, Y, extrapolate=False)
monotone = interpolate.PchipInterpolator(T, Y)
akima = interpolate.Akima1DInterpolator(T, Y)
bspline = interpolate.make_interp_spline(T, Y, k=2)
smooth = interpolate.UnivariateSpline(T, Y, s=0.01)
zeros = interpolate.UnivariateSpline(T, Y, s=0.01, ext=1)
tck = interpolate.splrep(T, Y)
lines = interpolate.interp1d(T, Y, bounds_error=False, fill_value=(-1.0, 9.0))
on = interpolate.interp1d(T, Y, fill_value="extrapolate")
curved = interpolate.interp1d(T, Y, "cubic", bounds_error=False)
steps = [interpolate.interp1d(T, Y, kind, bounds_error=False, fill_value=fill) for kind, fill in (
    ("nearest", "extrapolate"), ("previous", 0.5), ("next", 0.5), ("previous", "extrapolate"))]
grid = interpolate.RegularGridInterpolator((T, T[1:]), Z[:, 1:], bounds_error=False, fill_value=None)
filled = interpolate.RegularGridInterpolator((T, T), Z, bounds_error=False)
near = interpolate.RegularGridInterpolator((T, T), Z, method="nearest", bounds_error=False, fill_value=0.0)
surface = interpolate.RectBivariateSpline(T, T, Z)

OUTSIDE = {
    "cubic": lambda x: cubic(x),
    "columns": lambda x: columns(x),
    "bounded": lambda x: bounded(x),
    "slope": lambda x: cubic(x, 1) + cubic.derivative(2)(x),
    "monotone": lambda x: monotone(x),
    "akima": lambda x: akima(x) + akima.derivative()(x),
    "B": lambda x: bspline(x) + bspline.derivative()(x),
    "smooth": lambda x: smooth(x) + smooth(x, 1),
    "zeros": lambda x: zeros(x),
    "splev": lambda x: interpolate.splev(x, tck) + interpolate.splev(x, tck, der=1, ext=3),
    "lines": lambda x: lines(x),
    "on": lambda x: on(x),
    "curved": lambda x: curved(x),
    "nearest": lambda x: x * steps[0](x) + steps[1](x) + steps[2](x) * x,
    "previous": lambda x: x * steps[3](x),
    "grid": lambda x: grid((x, x[::-1])),
    "points": lambda x: grid(np.stack((x, 2.0 * x), axis=-1)),
    "filled": lambda x: filled((x, x)),
    "near": lambda x: near((x, x)) * x,
    "surface": lambda x: surface.ev(x, x[::-1]),
}


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.filterwarnings("ignore::autodiff.AutodiffWarning")
def test_made_outside(name):
    total = lambda x: np.sum(OUTSIDE[name](x) * 1.5)
    assert vjp(total, P, mode="python")[0] == pytest.approx(total(P), rel=1e-12)
    assert check_grads(total, (P,), modes=("fwd", "rev"), mode="python").worst < 1e-6
    edges = EDGES[:6] if name in ("zeros", "smooth", "splev", "surface") else EDGES     # FITPACK has no answer to nan
    values = value_and_grad(lambda x, out: np.sum(np.where(np.isnan(OUTSIDE[name](x)), 99.0, OUTSIDE[name](x)) * out),
                            mode="python")
    shape = np.shape(OUTSIDE[name](edges))
    for k in range(len(edges)):
        out = np.zeros(shape)
        out[k] = 1.0
        expected = np.sum(np.nan_to_num(OUTSIDE[name](edges), nan=99.0)[k])
        assert values(edges, out)[0] == pytest.approx(expected, rel=1e-11, abs=1e-11), (k, edges[k])


INSIDE = {
    "cubic": lambda y: interpolate.CubicSpline(T, y)(P),
    "natural": lambda y: interpolate.CubicSpline(T, y, bc_type="natural")(P),
    "clamped": lambda y: interpolate.CubicSpline(T, y, bc_type=("clamped", "not-a-knot"))(P),
    "ends": lambda y: interpolate.CubicSpline(T, y, bc_type=((1, y[0]), (2, 0.5)))(P),
    "columns": lambda y: interpolate.CubicSpline(T, np.stack((y, y ** 2), axis=1))(P),
    "knots": lambda y: interpolate.CubicSpline(T + 0.01 * y, y)(P),
    "three": lambda y: interpolate.CubicSpline(T[:3], y[:3])(P) + interpolate.CubicSpline(T[:2], y[:2])(P),
    "slope": lambda y: interpolate.CubicSpline(T, y).derivative(2)(P),
    "integral": lambda y: interpolate.CubicSpline(T, y).integrate(0.2, 3.5) + cubic.integrate(-y[0], y[1]),
    "monotone": lambda y: interpolate.PchipInterpolator(T, y)(P),
    "akima": lambda y: interpolate.Akima1DInterpolator(T, y)(P),
    "makima": lambda y: interpolate.Akima1DInterpolator(T, y, method="makima")(P),
    "slopes": lambda y: interpolate.CubicHermiteSpline(T, y, np.cos(y))(P),
    "lines": lambda y: interpolate.interp1d(T[::-1], y, bounds_error=False, fill_value=0.0)(P),
    "cubic lines": lambda y: interpolate.interp1d(T, y, kind="cubic", fill_value="extrapolate")(EDGES[:6]),
    "interpolating": lambda y: interpolate.make_interp_spline(T, y)(P) * interpolate.InterpolatedUnivariateSpline(T, y)(P),
    "B": lambda y: interpolate.BSpline(tck[0], np.concatenate((y, np.zeros(4))), 3)(P),
    "splev": lambda y: interpolate.splev(P, (tck[0], np.concatenate((y, np.zeros(4))), 3), der=1),
    "number": lambda y: interpolate.splev(y[1], tck) * lines(y[2]) * grid((y[1], y[2])) * surface.ev(y[1], y[2]),
    "bisplev": lambda y: interpolate.bisplev(y[1], y[2], (*surface.tck, 3, 3)),
    "grid": lambda y: interpolate.RegularGridInterpolator((T, T), np.outer(y, y))((P, P)),
    "interpn": lambda y: interpolate.interpn((T, T), np.outer(y, y), np.stack((P, 1.1 * P), axis=1)),
}


@pytest.mark.parametrize("name", INSIDE)
def test_made_inside(name):
    total = lambda y: np.sum(INSIDE[name](y) * 1.5)
    assert vjp(total, Y, mode="python")[0] == pytest.approx(total(Y), rel=1e-12)
    assert check_grads(total, (Y,), modes=("fwd", "rev"), mode="python").worst < 1e-6
    if name in ("cubic", "monotone", "number"):
        assert check_grads(total, (Y,), order=2, directions=1, modes=("fwd", "rev"), mode="python").worst < 1e-6


def test_compiled():
    """The last of the many numbers that the forward sweep returns is a choice, which Numba refused."""
    def total(y):
        return np.sum(interpolate.CubicSpline(T, y)(P)) + np.sum(cubic(y) + interpolate.splev(y, tck)) + grid((y[0], y[1]))
    assert check_grads(total, (0.4 + 0.5 * Y,)).worst < 1e-6


class Model:
    def __init__(self, curve):
        self.curve = curve

    def loss(self, x):
        return np.sum(self.curve(x) ** 2)


def test_what_is_found_outside_is_read_at_every_call():
    model = Model(cubic)
    gradient = value_and_grad(lambda x: model.loss(x), mode="python")
    for model.curve in (cubic, interpolate.CubicSpline(T, Y * Y), cubic.derivative(), interpolate.PPoly(cubic.c[2:], T),
                        interpolate.CubicSpline(T[:4], Y[:4]), monotone, bspline, smooth, on, cubic):
        assert gradient(P)[0] == pytest.approx(model.loss(P), rel=1e-12), type(model.curve)


FAILING = {
    "below": lambda x: interpolate.interp1d(T, Y)(x - 9.0),
    "grid": lambda x: interpolate.interpn((T, T), Z, np.array([x, 99.0]))[0],
    "order": lambda x: interpolate.CubicSpline(T[::-1], Y)(x),
    "length": lambda x: interpolate.CubicSpline(T[:4], Y)(x),
    "splev": lambda x: interpolate.splev(x + 9.0, tck, ext=2),
    "nan": lambda x: interpolate.CubicSpline(T, np.where(T > 1.0, np.nan, Y))(x) + interpolate.Akima1DInterpolator(T, Y)(x),
    "one point": lambda x: interpolate.PchipInterpolator(T[:1], Y[:1])(x),
    "three points": lambda x: interpolate.interp1d(T[:3], Y[:3], kind="cubic")(x),
    "more values": lambda x: interpolate.interp1d(T[:4], Y)(x) + 0.0,
    "twice": lambda x: interpolate.interp1d(np.array([0.0, 1.0, 1.0]), Y[:3], kind="slinear")(x) + 0.0,
}


@pytest.mark.parametrize("name", FAILING)
def test_errors_are_scipys(name):
    with pytest.raises(ValueError) as raised:
        FAILING[name](1.0)
    with pytest.raises(raised.type):
        grad(FAILING[name], mode="python")(1.0)


def test_values_of_steps_at_nan_and_dtypes():
    """A step function has a number at nan, its last value; linear ones of single precision stay in it, others do not."""
    single = lambda x: x.astype(np.float32)
    for make in (lambda x, y: interpolate.interp1d(x, y, "nearest", fill_value="extrapolate"),
                 lambda x, y: interpolate.interp1d(x, y, "previous", bounds_error=False, fill_value=0.5),
                 lambda x, y: interpolate.interp1d(x, y, "next", bounds_error=False),
                 lambda x, y: interpolate.interp1d(x, y, bounds_error=False, fill_value=0.25),
                 interpolate.Akima1DInterpolator, interpolate.CubicSpline):
        f = lambda y, at, make=make: make(T if y.dtype == np.float64 else single(T), y)(at)
        for args in ((Y, EDGES), (single(Y), single(EDGES))):
            found, expected = differentiable(f, mode="python")(*args), f(*args)
            np.testing.assert_allclose(found, expected, rtol=1e-6 if args[0] is not Y else 1e-12, atol=1e-6)
            assert found.dtype == expected.dtype


def test_nan_is_behind_all_edges():
    for side in ("left", "right"):
        f = lambda at, side=side: np.searchsorted(T, at, side=side)
        np.testing.assert_array_equal(differentiable(f, mode="python")(EDGES), f(EDGES))
        assert differentiable(f, mode="python")(np.nan) == f(np.nan)


def test_refused_with_what_to_use():
    rows = interpolate.CubicSpline(T, np.stack((Y, Y)), axis=1)
    for f, told in ((lambda x: np.sum(rows(x)), "moveaxis"),
                    (lambda x: interpolate.UnivariateSpline(T, x * Y)(1.0), "outside"),
                    (lambda x: cubic(x) if isinstance(cubic, interpolate.CubicSpline) else x, "outside"),
                    (lambda x: interpolate.CubicSpline(T, x * Y, bc_type="periodic")(1.0), "outside")):
        with pytest.raises(AutodiffError, match=told):
            grad(f, mode="python")(0.5)


def test_callable_objects_and_methods():
    held = Model(cubic)
    f = lambda x: np.sum(cubic(x)) if callable(cubic) and callable(held.loss) else 0.0 * x[0]
    assert value_and_grad(f, mode="python")(P)[0] == f(P)


FALLING = np.linspace(1.0, 0.0, 4)
V = np.array([1.0, 2.5, 0.5, 3.0])
GRIDS = {
    "falling": lambda v: interpolate.RegularGridInterpolator((FALLING,), v)([0.3])[0],
    "one of two falls": lambda v: interpolate.RegularGridInterpolator(
        (FALLING, FALLING[::-1]), np.outer(v, v))([[0.3, 0.4]])[0],
    "nearest of falling": lambda v: interpolate.RegularGridInterpolator((FALLING,), v, "nearest")([0.3])[0],
    "beyond": lambda v: interpolate.RegularGridInterpolator((FALLING,), v, bounds_error=False, fill_value=None)([1.3])[0],
    "one point": lambda v: interpolate.RegularGridInterpolator((FALLING[:1],), v[:1])([1.0])[0],
    "one point and more": lambda v: interpolate.RegularGridInterpolator(
        (FALLING[:1], FALLING), np.outer(v[:1], v))([[1.0, 0.3]])[0],
    "one point of a function": lambda v: interpolate.interp1d(FALLING[:1], v[:1], bounds_error=False, fill_value=0.0)(1.0),
    "beside one point": lambda v: interpolate.interp1d(FALLING[:1], v[:1], bounds_error=False, fill_value=0.0)(0.5) + v[0],
}


@pytest.mark.parametrize("name", GRIDS)
def test_axes_that_fall_and_axes_of_one_point(name):
    assert_gradient(GRIDS[name], (V,), (0,), "python")


def test_single_precision_on_grids():
    """Linear interpolation is in double precision, the nearest value as it is."""
    axis = FALLING.astype(np.float32)
    for method in ("linear", "nearest"):
        f = lambda v, method=method: interpolate.RegularGridInterpolator((axis,), v, method)(axis[1:3])
        assert differentiable(f, mode="python")(V.astype(np.float32)).dtype == f(V.astype(np.float32)).dtype


def test_points_that_neither_rise_nor_fall():
    f = lambda v: interpolate.RegularGridInterpolator((np.array([0.0, 2.0, 1.0, 3.0]),), v)([1.0])[0]
    with pytest.raises(ValueError, match="strictly ascending or descending"):
        differentiable(f, mode="python")(V)
