"""What a rule is given for, and the shapes of what it returns."""

import numpy as np
import pytest

from autodiff import MissingRule, TypeConflict, differentiable, grad, jvp, vjp
from autodiff.rules import constant, defines, partials, pullback, pushforward

X = np.arange(1.0, 5.0)


def test_a_rule_for_what_is_differentiable():
    @differentiable
    def square(a):
        return a * a
    partials(square)(lambda y, a: 41.0 * a)
    assert grad(square, mode="python")(2.0) == 82.0
    assert grad(lambda a: 2.0 * square(a), mode="python")(2.0) == 164.0


def test_a_definition_for_a_function_with_source():
    def f(a):
        return a * a
    defines(f)(lambda a: a ** 3)
    assert grad(f, mode="python")(1.0) == grad(lambda a: f(a), mode="python")(1.0) == 3.0


class Called:
    def __call__(self, a):
        return a * a


@pytest.mark.parametrize("target", [Called(), grad(lambda a: a * a)])
def test_what_can_have_no_rule(target):
    for give in (partials, pullback, pushforward, defines):
        with pytest.raises(TypeError, match="a rule belongs to a function"):
            give(target)(lambda y, a: a)


def product(x, w):
    return x * w


ADJOINTS = {"short": lambda y_bar, y, x, w: (np.array([1.0, 2.0]), y_bar * x), "long": lambda y_bar, y, x, w: (
    y_bar * w, np.concatenate((x, y))), "inside": lambda y_bar, y, x, w: (y_bar * w[:3], y_bar * x)}
TANGENTS = {"short": lambda y, x, w, x_dot, w_dot: (x_dot * w, (w_dot * x)[1:]), "long": lambda y, x, w, x_dot, w_dot: (
    np.concatenate((x_dot, w)), w_dot * x), "inside": lambda y, x, w, x_dot, w_dot: (x_dot[:2] * w, w_dot * x)}


@pytest.mark.parametrize("which", ADJOINTS)
@pytest.mark.parametrize("mode", ["python", "numba"])
def test_results_of_another_shape(which, mode):
    """Memory outside an array is never read."""
    def f(x, w):
        return product(x, w)
    pullback(product)(ADJOINTS[which])
    pushforward(product)(TANGENTS[which])
    with pytest.raises(ValueError, match="returns an array of shape|could not be broadcast"):
        grad(lambda x, w: np.sum(product(x, w)), wrt=(0, 1), mode=mode)(X, X + 1)
    with pytest.raises(ValueError, match="returns an array of shape|could not be broadcast"):
        vjp(f, X, X + 1, mode=mode)[1](X)
    with pytest.raises(ValueError, match="returns an array of shape|could not be broadcast"):
        jvp(f, (X, X + 1), (X, X), mode=mode)


def test_a_pushforward_alone():
    def f(x):
        return x * x
    pushforward(f)(lambda y, x, x_dot: 50.0 * x_dot)
    assert jvp(f, (3.0,), (1.0,), mode="python") == (9.0, 50.0)
    np.testing.assert_allclose(jvp(lambda x: 2.0 * f(x), (X,), (X,), mode="python")[1], 100.0 * X)
    for loss in (f, lambda x: 2.0 * f(x)):
        with pytest.raises(MissingRule, match="has a pushforward, and no pullback"):
            grad(loss, mode="python")(3.0)
    pullback(f)(lambda y_bar, y, x: 7.0 * y_bar)
    assert grad(f, mode="python")(3.0) == 7.0


def test_results_that_fit():
    def scaled(x, k):
        return k * x
    pullback(scaled)(lambda y_bar, y, x, k: (k * y_bar, np.sum(y_bar * x)))
    pushforward(scaled)(lambda y, x, k, x_dot, k_dot: (k * x_dot, k_dot * x))
    for mode in ("python", "numba"):
        gradient = grad(lambda x, k: np.sum(scaled(x, k) ** 2), wrt=(0, 1), mode=mode)(X, 3.0)
        np.testing.assert_allclose(gradient[0], 18.0 * X)
        np.testing.assert_allclose(gradient[1], 6.0 * np.sum(X ** 2))
        np.testing.assert_allclose(jvp(scaled, (X, 3.0), (X + 1, 0.5), mode=mode)[1], 3.0 * (X + 1) + 0.5 * X)


class Spring:
    def __init__(self, k):
        self.k = k

    def energy(self, x):
        return self.k * x * x

    def force(self, x):
        return self.k * x * x

    def offset(self, x):
        return self.k * x * x

    def __call__(self, x):
        return self.k * x * x


@partials(Spring.energy)
def energy_partials(y, self, x):
    return None, 7.0 * self.k


@partials(Spring.__call__)
def call_partials(y, self, x):
    return None, 11.0 * self.k


@pullback(Spring.force)
def force_pullback(y_bar, y, self, x):
    return None, 5.0 * y_bar


@pushforward(Spring.force)
def force_pushforward(y, self, x, self_dot, x_dot):
    return None, 5.0 * x_dot


constant(Spring.offset)
SPRING = Spring(3.0)


@pytest.mark.parametrize("f, slope", [
    (SPRING.energy, 21.0), (SPRING, 33.0), (SPRING.force, 5.0), (SPRING.offset, 0.0),
    (lambda x: SPRING.energy(x), 21.0), (lambda x: Spring.energy(SPRING, x), 21.0), (lambda x: SPRING(x), 33.0),
    (lambda x: SPRING.force(x), 5.0), (lambda x: SPRING.offset(x), 0.0), (lambda x: Spring(2.0).energy(x), 14.0),
    (lambda x: np.sum(SPRING.energy(x * np.ones(3))), 63.0), (lambda x: Spring(2.0).force(x), 5.0)])
def test_a_rule_for_a_method_of_a_class(f, slope):
    assert grad(f, mode="python")(2.0) == jvp(f, (2.0,), (1.0,), mode="python")[1] == slope


def test_partial_derivatives_are_none_of_an_object_that_holds_numbers_of_the_run():
    with pytest.raises(TypeConflict, match="an object that holds numbers"):
        grad(lambda x: Spring(x).energy(2.0), mode="python")(3.0)
