"""Roots by `scipy.optimize` in users' code: SciPy's root, the derivative of the equation."""

import math

import numpy as np
import pytest
from scipy import integrate, optimize

from autodiff import AutodiffError, check_grads, grad, jvp, value_and_grad, vjp

X = np.array([0.3, 0.7, 1.1])


def residual(t, a, b):
    return math.exp(a * t) - 2 * b


def slope(t, a, b):
    return a * math.exp(a * t)


def bend(t, a, b):
    return a * a * math.exp(a * t)


PROGRAMS = {
    "captured": lambda x: optimize.brentq(lambda t: np.exp(x[0] * t) - 2 * x[1], 0.0, 9.0),
    "given": lambda x: optimize.brentq(residual, 0, 9 + x[2], args=(x[0], x[1]), xtol=1e-10),
    "one": lambda x: optimize.brentq(lambda t, a: residual(t, a, x[1]), 0, 9, args=x[0], full_output=True)[1].root,
    "hyperbolic": lambda x: optimize.brenth(residual, 0, 9, (x[0], x[1])),
    "halves": lambda x: optimize.bisect(residual, 0, 9, (x[0], x[1])),
    "ridder": lambda x: optimize.ridder(residual, 0, 9, (x[0], x[1])),
    "secant": lambda x: optimize.newton(lambda t: math.exp(x[0] * t) - 2 * x[1], 1.0),
    "two": lambda x: optimize.newton(residual, 1.0, args=(x[0], x[1]), x1=2.0, full_output=True)[0],
    "slope": lambda x: optimize.newton(residual, x[2], fprime=slope, args=(x[0], x[1])),
    "halley": lambda x: optimize.newton(residual, x[2], slope, (x[0], x[1]), fprime2=bend),
    "scalar": lambda x: optimize.root_scalar(residual, args=(x[0], x[1]), bracket=[0, 9]).root,
    "named": lambda x: optimize.root_scalar(residual, (x[0], x[1]), "newton", x0=1.0, fprime=slope).root,
    "ridder by name": lambda x: optimize.root_scalar(residual, (x[0], x[1]), method="ridder", bracket=(0, 9)).root,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name):
    f = PROGRAMS[name]
    value, pullback = vjp(f, X, mode="python")
    assert value == pytest.approx(f(X), rel=1e-10)
    assert check_grads(f, (X,), modes=("fwd", "rev"), mode="python").worst < 1e-6
    if name in ("captured", "one", "secant", "halley", "scalar"):
        assert check_grads(f, (X,), order=2, directions=1, modes=("fwd", "rev"), mode="python").worst < 1e-5
    exact = math.log(2 * X[1]) / X[0]
    np.testing.assert_allclose(pullback(1.0)[0], [-exact / X[0], 1 / (X[0] * X[1]), 0.0], rtol=1e-7)


def test_compiled():
    assert check_grads(lambda x: (optimize.brentq(lambda t: np.exp(x[0] * t) - 2 * x[1], 0.0, 9.0)
                                  * optimize.newton(residual, 1.0, args=(x[0], x[1]))), (X,)).worst < 1e-6


def counted(x):
    found, told = optimize.brentq(lambda t: math.cos(t) - x * t, 0.0, 3.0, full_output=True)
    return found * told.iterations if told.converged else 0.0


def halved(x):
    found, told = optimize.bisect(lambda t: math.cos(t) - x * t, 0.0, 3.0, full_output=True)
    return found * told.iterations


def by_ridder(x):
    found, told = optimize.ridder(lambda t: math.cos(t) - x * t, 0.0, 3.0, full_output=True)
    return found * told.iterations


def stepped(x):
    found, told = optimize.newton(lambda t: math.cos(t) - x * t, 0.5, full_output=True)
    return found * told.iterations


@pytest.mark.parametrize("f", [counted, halved, by_ridder, stepped])
def test_the_iterations_are_scipys(f):
    for x in (0.2, 0.5, 1.0, 3.0):
        assert value_and_grad(f, mode="python")(x)[0] == pytest.approx(f(x), rel=1e-12)


WAVES = [
    lambda x: optimize.brentq(lambda t: math.sin(x * t), 1.0, 70.0),
    lambda x: optimize.brenth(lambda t: math.sin(x * t), 1.0, 70.0),
    lambda x: optimize.bisect(lambda t: math.sin(x * t), 1.0, 70.0),
    lambda x: optimize.ridder(lambda t: math.sin(x * t), 1.0, 70.0),
    lambda x: optimize.newton(lambda t: math.sin(x * t) - 0.1, 4.6),
    lambda x: optimize.newton(lambda t: math.sin(x * t) - 0.1, 4.6, lambda t: x * math.cos(x * t)),
]


@pytest.mark.parametrize("k", range(len(WAVES)))
def test_of_several_roots_scipys(k):
    found = 0
    gradient = value_and_grad(WAVES[k], mode="python")
    for x in (0.35, 0.5, 0.93, 1.3, 2.1, 2.7):
        try:
            expected = WAVES[k](x)
        except (ValueError, RuntimeError) as error:
            with pytest.raises(type(error)):
                gradient(x)
            continue
        found += 1
        assert gradient(x)[0] == pytest.approx(expected, rel=1e-8)
    assert found > 1


FAILING = {
    "no change of sign": lambda x: optimize.brentq(lambda t: t * t + x, -1.0, 2.0),
    "few steps": lambda x: optimize.brentq(lambda t: t * t - x, 0.0, 2.5, maxiter=2),
    "few halves": lambda x: optimize.bisect(lambda t: t * t - x, 0.0, 2.5, maxiter=2),
    "no root": lambda x: optimize.newton(lambda t: t * t + x, 1.0),
    "flat": lambda x: optimize.newton(lambda t: t * t + x, 0.0, lambda t: 2 * t),
    "tolerance": lambda x: optimize.brentq(lambda t: t * t - x, 0.0, 2.0, xtol=-1.0),
    "relative": lambda x: optimize.brentq(lambda t: t * t - x, 0.0, 2.0, rtol=1e-20),
    "nan": lambda x: optimize.brentq(lambda t: np.sqrt(t) - x, -1.0, 2.0),
    "equal starts": lambda x: optimize.newton(lambda t: t * t - x, 1.0, x1=1.0),
}


@pytest.mark.parametrize("name", FAILING)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_errors_are_scipys(name):
    with pytest.raises((ValueError, RuntimeError)) as raised:
        FAILING[name](1.0)
    with pytest.raises(raised.type):
        grad(FAILING[name], mode="python")(1.0)


def test_at_the_ends():
    at_an_end = lambda x: optimize.brentq(lambda t: t - x, 0.0, 1.0)
    assert value_and_grad(at_an_end, mode="python")(1.0) == (1.0, 1.0)
    assert value_and_grad(at_an_end, mode="python")(0.0) == (0.0, 1.0)


def test_where_the_function_jumps_there_is_no_derivative():
    f = lambda x: optimize.brentq(lambda t: (2.0 if t > 0.3 else -1.0) + 0.1 * x * t, 0.0, 1.0)
    assert f(1.0) == pytest.approx(0.3)
    with pytest.raises(RuntimeError, match="no derivative"):
        grad(f, mode="python")(1.0)


def logged(x):
    log = []

    def f(t):
        log.append(t)
        return t - x
    return optimize.brentq(f, -1.0, 10.0) * len(log)


def printing(x):
    def f(t):
        print("f")
        return t * t - x
    return optimize.newton(f, 1.0)


def written(x):
    calls = np.zeros(1)

    def f(t):
        calls[0] += 1.0
        return t - x
    return integrate.quad(f, 0.0, 1.0)[0] * calls[0]


def counted_calls(x):
    n = 0

    def f(t):
        nonlocal n
        n += 1
        return t - x
    return integrate.quad(f, 0.0, np.inf)[0] * n


@pytest.mark.parametrize("f", [logged, printing, written, counted_calls])
def test_functions_with_effects_are_refused(f):
    """They would run more often than in SciPy."""
    with pytest.raises(AutodiffError, match="changes something outside") as raised:
        grad(f, mode="python")(0.5)
    assert "test_scipy_roots.py" in str(raised.value)


def test_refused_with_what_to_use():
    for f, told in ((lambda x: optimize.newton(lambda t: t - x, np.ones(2))[0], "autodiff.root"),
                    (lambda x: optimize.brentq(lambda t: t - x, 0.0, 1.0, disp=False), "RuntimeError"),
                    (lambda x: optimize.toms748(lambda t: t - x, 0.0, 1.0), "brentq"),
                    (lambda x: optimize.fmin_bfgs(lambda t: (t - x) ** 2, 0.0)[0], "scipy.optimize.minimize")):
        with pytest.raises(AutodiffError, match=told):
            grad(f, mode="python")(0.5)


def test_the_root_of_an_integral():
    """The gradient reads the nodes of the quadrature, which are arrays outside, as the equation does."""
    def reach(x):
        return optimize.brentq(lambda u: integrate.quad(lambda t: np.exp(-t * t * x[0]), 0.0, u)[0] - 0.3, 0.0, 5.0)
    x, h = np.array([1.3]), 1e-4
    value, slope = value_and_grad(reach, mode="python")(x)
    assert np.isclose(value, reach(x)) and np.isclose(slope[0], (reach(x + h) - reach(x - h)) / (2 * h))
    assert np.isclose(jvp(reach, (x,), (np.ones(1),), mode="python")[1], slope[0])


def shot(x):
    """The slope with which a solution that starts at x[1] ends at 2."""
    def miss(slope):
        end = integrate.solve_ivp(lambda t, y: [y[1], -x[0] * y[0]], (0, 1), [x[1], slope], rtol=1e-9, atol=1e-9)
        return end.y[0, -1] - 2.0
    return optimize.brentq(miss, -10.0, 20.0)


def powers(x):
    """A function that makes a list of a length of the run."""
    def f(z):
        found, k = [z * x[0]], 0.0
        while k < 12.0 * x[1]:
            k += 1.0
            found.append(found[-1] * z)
        return np.sum(np.array(found) ** 2) - 3.0
    return optimize.newton(f, 1.0)


@pytest.mark.parametrize("f", [shot, powers])
def test_functions_that_make_lists(f):
    """A list that grows in the function is no change of anything outside it; its adjoint grows with it."""
    at = np.array([0.9, 1.05])
    assert vjp(f, at, mode="python")[0] == pytest.approx(f(at), rel=1e-8)
    assert check_grads(f, (at,), modes=("fwd", "rev"), mode="python").worst < 1e-5


@pytest.mark.parametrize("search", [
    lambda f: optimize.brentq(f, -5, 5, xtol=1e-2), lambda f: optimize.bisect(f, -5, 5, xtol=1e-1),
    lambda f: optimize.newton(f, 0.5, tol=1e-1), lambda f: optimize.brentq(f, -5, 5, rtol=1e-1)])
def test_loose_tolerances(search):
    """The derivative is that of the equation at the point that was found, which is no root to many digits."""
    value, gradient = value_and_grad(lambda x: search(lambda s: s ** 3 + s - x[0]), mode="python")(X)
    assert value == search(lambda s: s ** 3 + s - X[0])
    np.testing.assert_allclose(gradient, [1.0 / (3.0 * value * value + 1.0), 0.0, 0.0], rtol=1e-12)


def test_a_jump_is_no_root_and_named_at_the_users_line():
    def f(x):
        return optimize.brentq(lambda s: 1.0 + s if s > x[0] else s - 4.0, -5, 5)

    with pytest.raises(RuntimeError, match="no derivative where its root was found") as raised:
        grad(f, mode="python")(X)
    assert f"test_scipy_roots.py:{f.__code__.co_firstlineno + 1}" in "".join(raised.value.__notes__)
