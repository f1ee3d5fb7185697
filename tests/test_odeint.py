"""odeint: solutions, and their derivatives by both adjoints."""

import numpy as np
import pytest

from autodiff import differentiable, grad, jvp, odeint, vjp

TIMES = np.array([0.0, 1.0, 2.5])
WEIGHTS = np.array([[1.0, 2.0], [0.5, -1.0], [0.3, 0.2]])


def oscillator(y, t, w):
    return np.array([y[1], -w[0] * y[0] + w[1] * np.cos(t) * y[1]])


def differences(f, x, h=1e-5):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2.0 * h) for e in np.eye(len(x))])


def loss(p, method, adjoint):
    """p: the state at the start, three times, two parameters."""
    states = odeint(oscillator, p[:2], p[2:5], p[5:], rtol=1e-8, atol=1e-9, method=method, adjoint=adjoint)
    return np.sum(WEIGHTS * states ** 2)


fine = differentiable(lambda p: loss(p, "dopri5", "discrete"), mode="python")       # made once for both adjoints


POINT = np.array([1.0, 0.3, 0.0, 1.0, 2.5, 1.3, 0.4])


@pytest.mark.parametrize(("method", "adjoint"), [("dopri5", "discrete"), ("dopri5", "continuous")])
def test_by_state_times_and_parameters(method, adjoint):
    f = lambda p: loss(p, method, adjoint)
    gradient = grad(f, mode="python")(POINT)
    np.testing.assert_allclose(gradient, differences(fine, POINT), rtol=2e-7, atol=2e-7)
    if method == "dopri5" and adjoint == "discrete":
        tangent = np.linspace(-1.0, 1.0, 7)
        forward = jvp(f, (POINT,), (tangent,), mode="python")[1]
        assert forward == pytest.approx(gradient @ tangent, rel=1e-12)


def decay(y, t, k):
    return -k * y


def test_compiled_and_exact():
    def end(k, y0):
        return odeint(decay, y0, np.array([0.0, 0.5, 2.0]), k, rtol=1e-9, atol=1e-12)[2]
    by_k, by_y0 = grad(end, wrt=(0, 1))(0.7, 3.0)
    assert by_k == pytest.approx(-2.0 * 3.0 * np.exp(-1.4), rel=1e-7)
    assert by_y0 == pytest.approx(np.exp(-1.4), rel=1e-7)


def test_the_discrete_adjoint_is_exact_at_any_tolerance():
    """The derivative of the computed numbers with their steps held: forward and reverse agree to rounding where both are
    far from the derivative of the exact solution."""
    def end(k):
        return odeint(decay, 3.0, np.array([0.0, 2.0]), k, rtol=0.05, atol=0.05)[1]
    reverse = grad(end, mode="python")(0.7)
    assert reverse == pytest.approx(jvp(end, (0.7,), (1.0,), mode="python")[1], rel=1e-13)
    assert 1e-6 < abs(reverse / (-6.0 * np.exp(-1.4)) - 1.0) < 0.1


def test_errors_follow_the_tolerance():
    solve = differentiable(lambda tol: odeint(oscillator, np.array([1.0, 0.0]), np.array([0.0, 3.0]), np.array([2.0, 0.3]),
                                              rtol=tol, atol=tol)[1], mode="python")
    exact = solve(1e-12)
    errors = [np.max(np.abs(solve(tol) - exact)) for tol in (1e-4, 1e-6, 1e-9)]
    assert errors[0] < 1e-3 and errors[1] < 1e-5 and errors[2] < 1e-8
    assert errors[2] < errors[1] < errors[0]


def test_the_steps_have_their_order():
    """Halving a step divides its error by about 2**6 for a method of order 5, 2**5 for order 4."""
    from autodiff.solvers.steps import step

    def slope(y, t, k):
        return np.array([-k * y[0] * t + np.sin(y[1]), y[0] ** 2 - t])
    for method, order in (("dopri5", 5), ("rodas", 4)):
        def after(h, method=method):
            return step((0.3, h, np.array([1.0, 0.4]), 1.1), slope, np.zeros(2), method)
        run = differentiable(after, mode="python")
        exact = differentiable(lambda h: odeint(slope, np.array([1.0, 0.4]), np.array([0.3, 0.3 + h]), 1.1, rtol=1e-13,
                                                atol=1e-13)[1], mode="python")
        errors = [np.max(np.abs(run(h) - exact(h))) for h in (0.1, 0.05)]
        assert errors[0] / errors[1] > 2.0 ** (order + 0.3)


def test_backward_in_time_matrices_and_closures():
    def end(p):
        growth = np.exp(p[0])
        states = odeint(lambda Y, t: growth * Y @ np.array([[0.0, 1.0], [-1.0, p[1]]]), np.eye(2), np.array([1.0, 0.0]))
        return np.sum(states[1] * np.array([[1.0, 2.0], [3.0, 4.0]]))
    p = np.array([0.1, -0.2])
    np.testing.assert_allclose(grad(end, mode="python")(p), differences(differentiable(end, mode="python"), p), rtol=1e-5)


def test_second_derivative():
    def end(k):
        return odeint(decay, 1.0, np.array([0.0, 1.0]), k, rtol=1e-9, atol=1e-12)[1]
    gradient = grad(end, mode="python")
    assert jvp(gradient, (0.7,), (1.0,), mode="python")[1] == pytest.approx(np.exp(-0.7), rel=1e-6)

    def continuous(k):
        return odeint(decay, 1.0, np.array([0.0, 1.0]), k, rtol=1e-9, atol=1e-12, adjoint="continuous")[1]
    assert jvp(grad(continuous, mode="python"), (0.7,), (1.0,), mode="python")[1] == pytest.approx(np.exp(-0.7), rel=1e-6)


def robertson(y, t, k):
    slow = -k[0] * y[0] + k[1] * y[1] * y[2]
    fast = k[2] * y[1] ** 2
    return np.array([slow, -slow - fast, fast])


def test_stiff_sensitivities():
    """Robertson's problem: y at t = 40 is (0.7158, 9.185e-6, 0.2842) (Hairer and Wanner, section IV.10)."""
    def solve(scale):
        k = scale * np.array([0.04, 1e4, 3e7])
        return odeint(robertson, np.array([1.0, 0.0, 0.0]), np.array([0.0, 40.0]), k, method="rodas", rtol=1e-6,
                      atol=1e-10)[1]
    value, pull = vjp(solve, np.ones(3), mode="python")
    np.testing.assert_allclose(value, [0.7158270688, 9.185534764e-6, 0.2841637457], rtol=1e-5)
    J = np.array([pull(e)[0] for e in np.eye(3)])
    expected = differences(differentiable(solve, mode="python"), np.ones(3), 1e-3).T
    np.testing.assert_allclose(J, expected, rtol=2e-3, atol=1e-11)
    np.testing.assert_allclose(np.sum(J, axis=0), 0.0, atol=1e-10)         # mass is conserved


def test_refusals():
    blow_up = lambda y, t: y ** 2
    with pytest.raises(RuntimeError, match="cannot go on at t = 1.0000"):
        differentiable(lambda y: odeint(blow_up, y, np.array([0.0, 2.0])), mode="python")(1.0)
    with pytest.raises(RuntimeError, match="more than 5 steps"):
        differentiable(lambda y: odeint(decay, y, TIMES, 50.0, max_steps=5), mode="python")(1.0)
    with pytest.raises(ValueError, match="increase or decrease strictly"):
        differentiable(lambda y: odeint(decay, y, np.array([0.0, 1.0, 1.0]), 1.0), mode="python")(1.0)


@pytest.mark.parametrize("adjoint", ["discrete", "continuous"])
def test_one_output_time(adjoint):
    """There is no step: the state at the first time is the initial one, whatever the time."""
    def last(y0, t, k):
        return np.sum(odeint(lambda y, t: -k * y, y0, t, adjoint=adjoint) ** 2)
    y0, t = np.array([0.5, 2.0]), np.array([0.3])
    y0_bar, t_bar, k_bar = grad(last, wrt=(0, 1, 2), mode="python")(y0, t, 1.5)
    np.testing.assert_array_equal(y0_bar, 2.0 * y0)
    assert t_bar == [0.0] and k_bar == 0.0
