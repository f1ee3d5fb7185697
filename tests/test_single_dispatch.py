"""Functions made by `functools.singledispatch`: Python chooses, by the class of the first argument."""

import dataclasses
import functools

import numpy as np
import pytest

from autodiff import grad, value_and_grad

from .support import assert_gradient

X = np.array([0.73, 1.31, 2.13])


@functools.singledispatch
def measured(v, scale=1.0):
    return v * 3.0 * scale


@measured.register(float)
def _(v, scale=1.0):
    return v * 2.0 * scale


@measured.register
def _(v: np.ndarray, scale=1.0):
    return np.sum(v) * scale


@measured.register(tuple)
@measured.register(list)
def _(v, scale=1.0):
    return v[0] * scale


@dataclasses.dataclass
class Shape:
    a: float


@dataclasses.dataclass
class Square(Shape):
    pass


@measured.register
def _(v: Shape, scale=1.0):
    return v.a ** 2 * scale


def of_each_class(x):
    total = measured(x) + measured((x[0], 1.0)) * measured([x[1]], scale=x[2])
    return total + measured(float(x[1])) + measured(x[1], 2.0) + measured(3) * x[0] + measured(Square(x[2]))


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_values_and_derivatives(mode):
    assert_gradient(of_each_class, (X,), (0,), mode)


def test_what_is_registered_later_is_called():
    @functools.singledispatch
    def f(v):
        return v * 2.0

    def value(x):
        return f(x[0])

    derivative = value_and_grad(value, mode="python")
    assert derivative(X)[0] == 2.0 * X[0]
    f.register(np.float64, lambda v: v * 5.0)
    assert derivative(X)[0] == 5.0 * X[0]


def test_an_error_of_the_one_that_is_chosen():
    @functools.singledispatch
    def f(v):
        raise TypeError(f"no way for {type(v)}")

    with pytest.raises(TypeError, match="no way"):
        grad(lambda x: f(x[0]), mode="python")(X)
