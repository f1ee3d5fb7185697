"""Ranges chosen by branches, comprehensions with several `for`, extrema of arrays with nan."""

import numpy as np
import pytest

from autodiff import value_and_grad

from .support import assert_gradient

X = np.array([0.3, 0.7, 0.9, 1.1, 0.5])


def symmetric_gauss_seidel(b):
    x = np.zeros(len(b))
    for t in range(4):
        for i in (range(len(b)) if t % 2 == 0 else range(len(b) - 1, -1, -1)):
            x[i] = b[i] + 0.3 * np.sin(x[i - 1] if i > 0 else 0.0) + 0.2 * (x[i + 1] if i + 1 < len(b) else 0.0)
    return np.sum(x ** 2)


def turned_round(b):
    x = np.zeros(len(b))
    for t in range(3):
        order = range(1, len(b))
        if t % 2:
            order = reversed(order)
        for i in order:
            x[i] = b[i] * np.cos(x[i - 1])
    return np.sum(x ** 2)


def backwards(b):
    s = 0.0
    for i in reversed(range(1, len(b), 1)):
        s = np.sin(s) * b[i] + b[i - 1]
    for i in reversed(range(3, 0)):
        s = s * b[i]
    return s


def pairs(x):
    return sum([a * b ** 2 for a in x for b in x])


def triangle(x):
    return sum(np.sin(x[i]) * x[j] for i in range(len(x)) for j in range(i) if x[j] < 1.0)


def as_array(x):
    return np.sum(np.array([a * b for a in x if a > 0.4 for b in x]) ** 2) + len([1 for a in x for b in x if a < b]) * x[0]


@pytest.mark.parametrize("program", [symmetric_gauss_seidel, turned_round, backwards, pairs, triangle, as_array])
def test_gradient(program):
    assert_gradient(program, (X,), (0,), "python")


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_the_first_nan_is_the_extremum(mode):
    def picked(x):
        return x[np.argmax(x)] * x[np.argmin(-x)] + x[0]
    derivative = value_and_grad(picked, mode=mode)
    value, gradient = derivative(np.array([1.0, np.nan, 2.0, np.nan]))
    assert np.isnan(value) and gradient[0] == 1.0 and np.isnan(gradient[1]) and not gradient[2:].any()
    assert derivative(np.array([1.0, 3.0, 2.0]))[0] == 10.0
