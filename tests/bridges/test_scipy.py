"""SciPy's conventions take compiled objects unchanged: each against the run with SciPy's own differences."""

import numpy as np
import pytest
from scipy import integrate, optimize

from autodiff import differentiable, hessian, hvp, jacobian, value_and_grad


def problem(seed):
    """(weights, start) of a convex sum of squares."""
    generator = np.random.default_rng(seed)
    n = generator.integers(2, 6)
    return generator.uniform(0.5, 2.0, n), generator.uniform(-1.0, 1.0, n)


def loss(x, w):
    return np.sum(w * (x - 1.0) ** 2) + np.sum((x[1:] - x[:-1] ** 2) ** 2)


def residuals(x, w):
    return np.concatenate((np.sqrt(w) * (x - 1.0), x[1:] - x[:-1] ** 2))


PRODUCT = hvp(loss, mode="python")


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("method, second", [
    ("L-BFGS-B", {}), ("trust-ncg", {"hessp": lambda x, v, w: PRODUCT(x, w, v)}),
    ("trust-exact", {"hess": hessian(loss, mode="python")}),
    ("trust-constr", {"hess": hessian(loss, sparse=True, mode="python")})], ids=lambda x: x if isinstance(x, str) else "")
def test_minimize(seed, method, second):
    w, x0 = problem(seed)
    found = optimize.minimize(value_and_grad(loss, mode="python"), x0, args=(w,), jac=True, method=method, **second)
    wanted = optimize.minimize(loss, x0, args=(w,))
    np.testing.assert_allclose(found.x, wanted.x, atol=1e-3)


@pytest.mark.parametrize("sparse", [False, True])
def test_least_squares(sparse):
    w, x0 = problem(3)
    found = optimize.least_squares(differentiable(residuals, mode="python"), x0, args=(w,),
                                   jac=jacobian(residuals, sparse=sparse, mode="python"))
    np.testing.assert_allclose(found.x, optimize.least_squares(residuals, x0, args=(w,)).x, atol=1e-5)


@pytest.mark.parametrize("sparse", [False, True])
def test_solve_ivp(sparse):
    def rate(t, y, k):
        return k * (np.roll(y, 1) - y) - y ** 3
    y0 = np.linspace(0.0, 1.0, 5)
    found = integrate.solve_ivp(rate, (0.0, 1.0), y0, method="Radau", args=(2.0,),
                                jac=jacobian(rate, wrt="y", sparse=sparse, mode="python"))
    wanted = integrate.solve_ivp(rate, (0.0, 1.0), y0, method="Radau", args=(2.0,)).y[:, -1]
    np.testing.assert_allclose(found.y[:, -1], wanted, rtol=1e-5)


def test_root():
    def cubes(x):
        return x ** 3 - np.roll(x, 1) + 0.1
    found = optimize.root(cubes, np.full(3, 2.0), jac=jacobian(cubes, mode="python"))
    np.testing.assert_allclose(found.x, optimize.root(cubes, np.full(3, 2.0)).x, rtol=1e-7)
