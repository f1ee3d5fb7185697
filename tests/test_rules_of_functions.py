"""Rules of functions that take functions and structures: what they are given, and what they may not leave out."""

import numpy as np
import pytest

from autodiff import UnsupportedSyntax, grad, jacobian, jvp
from autodiff.errors import TypeConflict
from autodiff.rules import pullback, pushforward


def apply(f, x, *theta, times):
    return times * f(x, *theta)


def weighted(theta, f, x, bar):
    return np.sum(bar * f(x, *theta))


def weighted_at(x, f, theta, bar):
    return np.sum(bar * f(x, *theta))


@pullback(apply)
def apply_pullback(y_bar, y, f, x, theta, *, times):
    return None, times * grad(weighted_at)(x, f, theta, y_bar), grad(weighted)(theta, f, x, 2.0 * times * y_bar)


@pushforward(apply)
def apply_pushforward(y, f, x, theta, f_dot, x_dot, theta_dot, *, times):
    return None, times * jvp(called, (x, f, theta), (x_dot, None, None))[1], 2.0 * times * jvp(
        called, (x, f, theta), (None, None, theta_dot))[1]


def called(x, f, theta):
    return f(x, *theta)


def cubic(x, p):
    return p["a"] * x ** 3 + p["b"][0]


def test_a_rule_with_a_function_and_structures():
    """The rule doubles the derivative by theta, to be told from that of the source."""
    def loss(x, a, b):
        return np.sum(apply(cubic, x, {"a": a, "b": (b, 3)}, times=2.5))
    x = np.array([1.0, 2.0])
    by_x, by_a, by_b = grad(loss, wrt=(0, 1, 2), mode="python")(x, 0.5, 7.0)
    np.testing.assert_allclose(by_x, 2.5 * 1.5 * x ** 2)
    assert by_a == 2.0 * 2.5 * 9.0 and by_b == 2.0 * 2.5 * 2.0
    assert jvp(loss, (x, 0.5, 7.0), (None, 1.0, 1.0), mode="python")[1] == by_a + by_b
    np.testing.assert_allclose(jacobian(loss, direction="forward", mode="python")(x, 0.5, 7.0), by_x)

    def captured(x, a):
        return np.sum(apply(lambda v: a * v ** 3, x, times=2.0))
    assert grad(captured, wrt=1, mode="python")(x, 0.5) == 2.0 * 2.0 * 9.0


def tangent_line(f, x, *theta):
    return f(x, *theta)


@pullback(tangent_line)
def tangent_line_pullback(y_bar, y, f, x, theta):
    return None, y_bar * grad(f)(x, *theta), grad(weighted)(theta, f, x, y_bar)


def test_a_rule_may_differentiate_the_function_it_is_given():
    def loss(x, a):
        return tangent_line(lambda v: a * v ** 3, x)
    assert grad(loss, wrt=(0, 1), mode="python")(2.0, 0.5) == (6.0, 8.0)


def twice(f, x):
    return 2.0 * f(x)


@pullback(twice)
def twice_pullback(y_bar, y, f, x):
    return None, None


def test_what_a_rule_cannot_take():
    with pytest.raises(UnsupportedSyntax, match="reads values of the function around it"):
        grad(lambda x: twice(lambda v: v * x, 1.0), mode="python")(2.0)
    with pytest.raises(TypeConflict, match="returns None for an argument that is active"):
        grad(lambda x: twice(np.sin, x), mode="python")(2.0)


def spread(x, n):
    return np.full(n, x)


@pullback(spread)
def spread_pullback(y_bar, y, x, n):
    return y.shape[0] * y_bar[0], None


def test_a_rule_that_reads_the_shape_of_the_result_alone():
    def loss(x, n):
        return 3.0 * np.sum(spread(x, n))
    assert grad(loss, mode="python", debug=True)(2.0, 4) == 12.0
