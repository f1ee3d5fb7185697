"""Types that jitted functions declare are kept: by `locals=`, by signatures, by casts."""

import numba
import numpy as np
import pytest
from numba import njit, vectorize

from autodiff import AutodiffError, differentiable, value_and_grad

X = np.array([1.1, 2.3, 3.7])


@njit(locals={"t": numba.float32})
def narrow_name(x):
    t = x[0] * 1.1
    return t * x[1]


@njit(locals={"k": numba.int64})
def whole_name(x):
    k = x[1] * 2.0
    return k * x[0]


@njit("float32(float64[:])")
def narrow_result(x):
    return x[0] * x[1] / 3.0


@njit("float64(float32)")
def narrow_argument(t):
    return t * t


@njit
def narrow_inside(x):
    return np.float32(x[0])


@vectorize(["float64(float64)"])
def wide_third(t):
    return t / 3.0


@vectorize(["float32(float32)"])
def narrow_third(t):
    return t / 3.0


def of_result(x):
    return narrow_result(x) * 3.0


def of_number(x):
    return narrow_argument(x[0]) * x[1]


def of_inside(x):
    return narrow_inside(x) * 1.1


def of_vector(x):
    return np.sum(wide_third(x.astype(np.float32)))


def constants(x):
    return np.float32(1.1) * x[0]


def test_declared_types():
    one = np.float32(1.1)
    wanted = {narrow_name: float(np.float32(X[0] * 1.1)) * X[1], whole_name: 4 * X[0],
              of_result: float(np.float32(X[0] * X[1] / 3.0)) * 3.0, of_number: float(one * one) * X[1],
              of_inside: float(one) * 1.1, of_vector: np.sum(X.astype(np.float32) / np.float64(3.0)), constants: one * X[0]}
    for f, value in wanted.items():
        found = differentiable(f, mode="python")(X)
        assert found == pytest.approx(value, rel=1e-14 if f is not of_number else 1e-7), f.__name__
        assert np.asarray(found).dtype == float, f.__name__
    assert differentiable(narrow_result, mode="python")(X) == np.float32(X[0] * X[1] / 3.0)


def test_gradients_go_through():
    np.testing.assert_allclose(value_and_grad(of_result, mode="python")(X)[1], [X[1], X[0], 0.0], rtol=1e-6)


def test_other_types_are_refused():
    def arrays(x):
        return narrow_result(x.astype(np.float32))

    def loops(x):
        return np.sum(narrow_third(x))
    for f in (arrays, loops):
        with pytest.raises((TypeError, ValueError)):
            f(X)
        with pytest.raises(AutodiffError):
            differentiable(f, mode="python")(X)
