"""The laws of draws: their numbers, parameters and checks."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff import (
    NonDifferentiable,
    differentiable,
    grad,
    hessian,
    jacobian,
    jvp,
    stop_gradient,
    vjp,
)

from .test_random_draws import X, differences, generator, same_state


def moved(rng):
    return np.array([
        rng.normal(0.3, 1.7), rng.uniform(-1.0, 2.5), rng.exponential(1.7), rng.laplace(0.3, 1.7), rng.logistic(0.3, 1.7),
        rng.gumbel(0.3, 1.7), rng.lognormal(0.1, 0.4), rng.rayleigh(1.5), rng.weibull(1.5), rng.pareto(2.0), rng.power(2.0),
        rng.triangular(0.0, 0.3, 1.0), rng.gamma(0.6, 2.0), np.sum(rng.standard_exponential(2, method="inv")),
        rng.standard_normal(3, dtype=np.float32)[1], rng.random((2, 2))[1, 0]])


def native(rng):
    return np.array([
        rng.standard_gamma(0.7), rng.standard_cauchy(), rng.beta(0.5, 1.5), rng.chisquare(2.5), rng.f(3.0, 4.0),
        rng.noncentral_chisquare(3.0, 1.0), rng.noncentral_f(3.0, 4.0, 1.0), rng.standard_t(3.0), rng.wald(1.0, 2.0),
        rng.poisson(3.5), rng.binomial(10, 0.3), rng.negative_binomial(5.0, 0.4), rng.geometric(0.3), rng.logseries(0.5),
        rng.zipf(2.5), rng.integers(4, endpoint=True), np.sum(rng.gumbel(size=(2, 2))),
        np.sum(rng.integers(0, np.array([2, 5, 9])))])


def compiled_too(rng):
    return np.array([
        rng.standard_gamma(0.7), rng.poisson(3.5), np.sum(rng.permutation(7) * np.arange(7)), rng.gumbel(0.3, 1.7),
        np.sum(rng.gumbel(size=(2, 2))), rng.integers(2, 9), rng.choice(5, 3)[2], rng.lognormal(0.1, 0.4),
        np.sum(rng.standard_exponential(2, method="inv")), rng.standard_normal(3, dtype=np.float32)[1]])


@pytest.mark.parametrize("draws, mode", [(moved, "python"), (native, "python"), (compiled_too, "numba")])
def test_the_numbers_are_those_of_numpy(draws, mode):
    rng, own = generator(), generator()
    np.testing.assert_allclose(differentiable(draws, mode=mode)(rng), draws(own), rtol=1e-12)
    assert same_state(rng, own)


def permutation(x, rng):
    standard_gumbel = rng.gumbel(x, 0.5)
    return x[rng.permutation(3)] * standard_gumbel


def test_names_of_the_helpers_may_be_the_users():
    np.testing.assert_allclose(differentiable(permutation, mode="python")(X, generator()), permutation(X, generator()))
    np.testing.assert_allclose(jacobian(permutation, mode="python")(X, generator()), differences(permutation, X), atol=1e-8)


ACTIVE = [lambda x, rng: x * rng.poisson(x), lambda x, rng: rng.gamma(x), lambda x, rng: rng.beta(1.0, x),
          lambda x, rng: x * rng.binomial(5, x / 5), lambda x, rng: np.sum(rng.standard_t(np.array([x, 2.0]))),
          lambda x, rng: rng.choice(2, p=np.array([x / 4, 1 - x / 4])) * x]


@pytest.mark.parametrize("law", ACTIVE)
def test_a_parameter_without_derivative_is_refused(law):
    for derivative in (grad(law, mode="python"), hessian(law, mode="python"),
                       lambda x, rng: jvp(law, (x, rng), (1.0, None), mode="python"),
                       lambda x, rng: vjp(law, x, rng, mode="python")):
        with pytest.raises(NonDifferentiable, match="depends on what is differentiated") as caught:
            derivative(2.0, generator())
        assert "stop_gradient" in str(caught.value) and caught.value.loc.line == law.__code__.co_firstlineno


def test_a_parameter_that_is_constant():
    f = grad(lambda x, rate, rng: x * rng.poisson(stop_gradient(x)) * rng.gamma(rate), mode="python")
    own = generator()
    assert f(2.0, 1.5, generator()) == own.poisson(2.0) * own.gamma(1.5)


BAD = [(lambda x, rng: rng.normal(0.0, x), -1.0, "scale < 0"),
       (lambda x, rng: np.sum(rng.normal(0.0, np.array([1.0, x]))), -1.0, "scale < 0"),
       (lambda x, rng: rng.uniform(x, 0.0), 1.0, "high - low < 0"),
       (lambda x, rng: rng.triangular(0.0, x, 1.0), 2.0, "mode > right"),
       (lambda x, rng: rng.poisson(x) * 1.0, -1.0, "lam < 0 or lam is NaN"),
       (lambda x, rng: rng.beta(x, 1.0), 0.0, "a <= 0"), (lambda x, rng: rng.binomial(3, x) * 1.0, 1.5, "p < 0, p > 1"),
       (lambda x, rng: rng.integers(int(x)) * 1.0, 0.0, "low >= high"),
       (lambda x, rng: rng.choice(2, p=np.array([x, x])) * 1.0, 0.3, "do not sum to 1")]


@pytest.mark.parametrize("law, x, message", BAD)
def test_parameters_are_checked_as_numpy_does(law, x, message):
    for f in (law, differentiable(law, mode="python")):
        with pytest.raises(ValueError, match=message if f is not law else None):
            f(x, generator())
