"""Draws that derivatives refuse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from autodiff import (
    AutodiffError,
    NonDifferentiable,
    grad,
    on_gradient,
)
from autodiff.rules import pullback

from .test_random_draws import Layer, X, dropped, generator, linear


def ruled(x, rng):
    return np.sum(x * rng.random(3))


@pullback(ruled)
def ruled_pullback(y_bar, y, x, rng):
    return y_bar * rng.random(3), None


def exchanged(x, a, b):
    s = 0.0
    for _ in range(3):
        s += np.sum(x) * a.random()
        a, b = b, a
    return s


R = generator()
REFUSED = [
    (lambda x: np.sum(x * np.random.normal(size=3)), (), "does not share"),
    (lambda x: np.sum(x * np.random.default_rng(0).random(3)), (), "pass it as an argument"),
    (lambda x, state: np.sum(x * state.normal(size=3)), (np.random.RandomState(0),), "does not share"),
    (lambda x, rng: np.sum(x * stats.norm.rvs(size=3, random_state=rng)), (R,), "methods of a generator"),
    (lambda x, rng: np.sum(x) * rng.vonmises(0.0, 1.0), (R,), "draw before the call"),
    (lambda x, rng: np.sum(x) * rng.nothing(), (R,), "has no method"),
    (lambda x, rng: np.sum(rng.choice(x, 2, replace=False)), (R,), "rng.permutation"),
    (lambda x, rng: np.sum(rng.multivariate_normal(x, np.eye(3))), (R,), "cholesky"),
    (lambda x, rng: np.sum(x) * rng.integers(0, 3, dtype=np.int8), (R,), "narrower types"),
    (lambda x, rng: np.sum(x) * rng.beta(1.0), (R,), "missing the argument `b`"),
    (lambda x, rng: sum(v * rng.random() for v in x), (R,), "generator expression"),
    (lambda x, rng: sum(map(lambda v: v * rng.random(), x)), (R,), "map"),
    (lambda x, rng: np.sum(np.vectorize(lambda v: v * rng.random())(x)), (R,), "write the loop"),
    (lambda x, rng: np.sum(on_gradient(x, lambda g: g * rng.random())), (R,), "hook"),
    (ruled, (R,), "derivative rule"),
    (exchanged, (R, generator(1)), "another random generator"),
]


@pytest.mark.parametrize("function, further, message", REFUSED)
def test_refused(function, further, message):
    called = (lambda x, *args: function(x, *args)) if function is ruled else function
    with pytest.raises(AutodiffError, match=message):
        grad(called, mode="python")(X, *further)


def test_no_derivative_with_respect_to_a_generator():
    for wrt in (1, (0, 1)):
        with pytest.raises(NonDifferentiable, match="random generator"):
            grad(linear, wrt=wrt, mode="python")(X, R)
    with pytest.raises(NonDifferentiable, match="random generator"):
        grad(dropped, wrt=1, mode="python")(X, Layer(X, R))
