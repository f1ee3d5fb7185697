"""`and` and `or` give an operand, not whether it is true."""

import numpy as np
import pytest

from autodiff import grad, value_and_grad

from .support import assert_gradient

X = np.array([0.3, 0.7, 1.1, 0.0])


def first_that_is_not_zero(x, c):
    s = c or x[0]
    return s * x[1] + (x[3] or x[1] ** 2) * 2.0


def last_of_all(x, c):
    y = x[0] and x[1] * c
    return y * x[2] + (c and x[2])


def default(x, c, n=None, weights=None):
    n = n or 3
    w = weights if weights is not None else x
    return np.sum(w[:n] * x[:n]) * c


def conditions(x, c):
    s = 0.0
    for i in range(4):
        if (x[i] or c) and i and not (c and x[i] > 1.0):
            s += x[i] ** 2
        s = s + x[i] if i or c else s * 2.0
    t = c > 0 or x[0] > 0
    return s + (2.0 if t else 1.0) * x[1]


def short_circuit(x, c):
    i = 0
    while i < len(x) and x[i] and (x[i] < 1.0 or c):
        i += 1
    assert i >= 0 and x[0] or c
    return np.sum(x[:i] ** 2)


@pytest.mark.parametrize("program", [first_that_is_not_zero, last_of_all, default, conditions, short_circuit])
@pytest.mark.parametrize("c", [2.0, -0.5])
def test_values(program, c):
    x = X[:3] if program is default else X if program is short_circuit else X + 0.2
    assert_gradient(program, (x, c), (0,), "python")


def test_zero():
    value, gradient = value_and_grad(first_that_is_not_zero, wrt=1, mode="python")(X, 0.0)
    assert value == pytest.approx(first_that_is_not_zero(X, 0.0)) and gradient == 0.0


@pytest.mark.parametrize("k", [0, 1, 2])
def test_a_bound_or_none(k):
    def f(x, k):
        return np.sum(x[:-k or None] ** 2)
    np.testing.assert_allclose(grad(f, mode="python")(X, k), np.where(np.arange(4) < 4 - k, 2 * X, 0.0))


def found(x, c):
    for v in x:
        if v > c:
            return v


def or_a_default(x, c):
    return min(1.5, found(x, c) or x[0])


def narrowed_by_truth(x, c):
    m = found(x, c)
    if m:
        return m * 2.0
    return x[1] if not m and c > 1.0 else x[2]


@pytest.mark.parametrize("f", [or_a_default, narrowed_by_truth])
@pytest.mark.parametrize("c", [-1.0, 0.5, 5.0])
def test_none_is_not_what_is_true(f, c):
    assert value_and_grad(f, mode="python")(X, c)[0] == f(X, c)
