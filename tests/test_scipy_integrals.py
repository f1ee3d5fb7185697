"""Integrals and initial value problems by `scipy.integrate` in users' code."""

import math

import numpy as np
import pytest
from scipy import integrate

from autodiff import AutodiffError, check_grads, differentiable, grad, vjp

X = np.array([0.3, 0.7, 1.1])

INTEGRALS = {
    "captured": lambda x: integrate.quad(lambda t: np.exp(-x[0] * t) * math.sin(t + x[1]), 0.0, 2.0)[0],
    "limits": lambda x: integrate.quad(lambda t, a: math.cos(a * t * t), x[0], 2 + x[1], args=(x[2],))[0],
    "one": lambda x: integrate.quad(lambda t, a: a * t ** 3, x[1], x[0], args=x[2], epsabs=1e-10)[0],
    "gamma": lambda x: integrate.quad(lambda t: t ** x[0] * np.exp(-x[1] * t), 0, np.inf)[0],
    "below": lambda x: integrate.quad(lambda t: np.exp(x[0] * t), -np.inf, x[1])[0],
    "whole": lambda x: integrate.quad(lambda t: np.exp(-x[0] * t * t + x[1] * t), -np.inf, np.inf)[0],
    "backwards": lambda x: integrate.quad(lambda t: np.exp(-x[2] * t), np.inf, x[1])[0],
    "singular": lambda x: integrate.quad(lambda t: x[0] / np.sqrt(t) + x[1] * np.log(t), 0.0, x[2])[0],
    "peak": lambda x: integrate.quad(lambda t: x[0] / ((t - x[1]) ** 2 + 1e-4 * x[2]), 0.0, 2.0)[0],
}


@pytest.mark.parametrize("name", INTEGRALS)
def test_integrals(name):
    f = INTEGRALS[name]
    assert vjp(f, X, mode="python")[0] == pytest.approx(f(X), rel=2e-8)
    assert check_grads(f, (X,), modes=("fwd", "rev"), mode="python").worst < 1e-5


def test_second_order_and_compiled():
    assert check_grads(INTEGRALS["limits"], (X,), order=2, directions=1, modes=("fwd", "rev"), mode="python").worst < 1e-5
    assert check_grads(lambda x: integrate.quad(lambda t: np.exp(-x[0] * t) * math.sin(t + x[1]), 0.0, x[2])[0],
                       (X,)).worst < 1e-6


def decay(t, y, rate, drive):
    return [-rate * y[0] + drive * y[1], -y[1] * y[0]]


def damped(t, y):
    return np.array([y[1], -y[0] - 0.3 * y[1] * t])


PROBLEMS = {
    "end": lambda x, tol: integrate.solve_ivp(decay, (0, 2.0), [x[0], x[1]], args=(x[2], 0.4), rtol=tol, atol=tol).y[:, -1],
    "all": lambda x, tol: integrate.solve_ivp(decay, (0, 0.1), x[:2], args=(x[2], 0.4), first_step=0.02, max_step=0.02).y,
    "times": lambda x, tol: x[0] * integrate.solve_ivp(decay, (0, 2), np.array([0.3, 0.2]), args=(1.0, 0.4), rtol=tol).t[:3],
    "wanted": lambda x, tol: integrate.solve_ivp(lambda t, y: damped(t, y) * x[2], [0.0, 3.0], x[:2], rtol=tol, atol=tol,
                                                 t_eval=np.linspace(0.0, 3.0, 4), first_step=0.01, max_step=0.3).y,
    "third": lambda x, tol: integrate.solve_ivp(damped, [0.0, 1.0], x[:2], "RK23", t_eval=np.array([0.5, 1.0]),
                                                rtol=max(tol, 1e-6), max_step=0.01).y,
    "back": lambda x, tol: integrate.solve_ivp(damped, [3, x[2]], x[:2], t_eval=np.array([2.0, 1.5]), rtol=tol, atol=tol).y,
    "limits": lambda x, tol: integrate.solve_ivp(damped, [x[0], x[2]], x[:2], rtol=tol, atol=tol).y[:, -1],
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_initial_value_problems_take_scipys_steps(name):
    f = lambda x, tol: np.sum(PROBLEMS[name](x, tol) * 1.5)
    assert vjp(f, X, 1e-3, mode="python")[0] == pytest.approx(f(X, 1e-3), rel=1e-9)
    assert check_grads(f, (X, 1e-9), wrt=0, modes=("fwd", "rev"), mode="python").worst < 1e-5


def test_no_time_at_all():
    """SciPy takes one step, of no length."""
    def f(x):
        found = integrate.solve_ivp(lambda t, y: -x[0] * y, (1.0, 1.0), x[1:])
        return np.sum(found.y) * len(found.t)
    assert vjp(f, X, mode="python")[0] == pytest.approx(f(X), rel=1e-12)
    assert check_grads(f, (X,), modes=("rev",), mode="python").worst < 1e-6


def test_a_problem_compiled():
    assert check_grads(lambda x: np.sum(integrate.solve_ivp(decay, (0, 2.0), x[:2], args=(x[2], 0.4), rtol=1e-9).y[:, -1]),
                       (X,)).worst < 1e-5


def test_odeint():
    times = np.linspace(0.0, 2.0, 4)
    for f, modes in ((lambda x: np.sum(integrate.odeint(lambda y, t, a: [-a * y[0] + y[1], -y[1] * y[0]], x[:2], times,
                                                        (x[2],))), ("fwd", "rev")),
                     (lambda x: np.sum(integrate.odeint(decay, [x[0], x[1]], times, (x[2], 0.4), tfirst=True)[:, 0]),
                      ("rev",))):
        assert vjp(f, X, mode="python")[0] == pytest.approx(f(X), rel=1e-6)
        assert check_grads(f, (X,), modes=modes, mode="python").worst < 1e-5


def test_errors_are_scipys():
    for f in (lambda x: integrate.solve_ivp(damped, (0.0, 1.0), [x, 1.0], t_eval=np.array([0.5, 2.0])).y[0, 0],
              lambda x: integrate.solve_ivp(damped, (0.0, 1.0), [x, 1.0], t_eval=np.array([0.5, 0.2])).y[0, 0],
              lambda x: integrate.solve_ivp(damped, (0.0, 1.0), x).y[0, 0]):
        with pytest.raises(ValueError) as raised:
            f(1.0)
        with pytest.raises(raised.type):
            grad(f, mode="python")(1.0)


def test_an_integral_that_does_not_converge_is_an_error():
    with pytest.raises((RuntimeError, ValueError)):
        grad(lambda x: integrate.quad(lambda t: x / t, 0.0, 1.0)[0], mode="python")(1.0)


def test_refused_with_what_to_use():
    for f, told in ((lambda x: integrate.quad(lambda t: t * x, 0.0, 1.0, weight="cos", wvar=2.0)[0], "integrand"),
                    (lambda x: integrate.solve_ivp(damped, (0, 1), [x, 1.0], method="BDF").y[0, -1], "rodas"),
                    (lambda x: integrate.solve_ivp(damped, (0, 1), [x, 1.0], dense_output=True).sol(0.5)[0], "t_eval")):
        with pytest.raises(AutodiffError, match=told):
            grad(f, mode="python")(0.5)


def test_no_times_are_lists():
    """As in SciPy, where nothing is wanted, or no time passes."""
    for span, times in (((1, 1), (1.0,)), ((0, 1), ())):
        def first(x, span=span, times=times):
            return integrate.solve_ivp(lambda t, y: -y, span, [x, 1.0], t_eval=times).y[0, -1]

        def count(x, span=span, times=times):
            return x * (1 + len(integrate.solve_ivp(lambda t, y: -y, span, [x, 1.0], t_eval=times).t))
        assert differentiable(count, mode="python")(2.0) == count(2.0) == 2.0
        for f in (first, differentiable(first, mode="python")):
            with pytest.raises(TypeError, match="list indices must be integers or slices, not tuple"):
                f(2.0)
