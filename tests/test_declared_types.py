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


@njit(locals={"x": numba.int32})
def whole_argument(x):
    return x * x * 1.5


@njit(locals={"y": numba.float32})
def narrow_second_argument(x, y):
    return x * y


@njit(locals={"y": numba.float32})
def narrow_default(x, y=0.1):
    return x * y


@njit(locals={"n": numba.uint8})
def wraps(x, n):
    n = n + 250
    return n * 10 * x


@njit
def types_called(x):
    t = 0.0
    for i in range(3):
        t += numba.int64(i) * x
    return t + numba.float32(0.1) * x + numba.int32(2.7) * x + numba.uint8(300) * x + numba.boolean(3) * x


@njit
def narrow_integers_are_widened(x):
    return numba.uint8(200) * 2 * x + numba.int8(x * 100) * 3


def inside(x):
    return whole_argument(x) + narrow_second_argument(x, x) * 2.0


CALLS = {"whole_argument": whole_argument, "second": lambda x: narrow_second_argument(x, x), "default": narrow_default,
         "wraps": lambda x: wraps(x, 9), "types_called": types_called, "widened": narrow_integers_are_widened,
         "inside": inside}
SLOPES = {"whole_argument": 0.0, "second": 2 * 2.9, "default": np.float32(0.1), "wraps": 30.0,
          "types_called": 50 + np.float32(0.1), "widened": 400.0, "inside": 4 * 2.9}


@pytest.mark.parametrize("name", CALLS)
def test_declared_arguments_and_types_that_are_called(name):
    value, slope = value_and_grad(CALLS[name], mode="python")(2.9)
    assert value == pytest.approx(CALLS[name](2.9), rel=1e-6)
    assert slope == pytest.approx(SLOPES[name], rel=1e-6)


def test_the_declared_function_itself_is_differentiated():
    assert value_and_grad(whole_argument)(2.9) == (6.0, 0.0)


def test_an_array_under_a_name_of_a_number_is_refused():
    with pytest.raises(AutodiffError, match="declared"):
        differentiable(lambda x: np.sum(whole_argument(x)), mode="python")(X)


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
