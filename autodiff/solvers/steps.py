"""One step of the methods of `odeint`: an explicit Runge-Kutta pair, and a Rosenbrock method for stiff problems."""

from __future__ import annotations

import numpy as np

from ..operators.gradients import partial_grad
from ..operators.jacobians import jacobian
from ..operators.pushforwards import jvp
from ..rules import pullback, pushforward
from . import tableaus as T
from .flat import shaped


def rate(y, t, like, f, theta):
    """f(y, t, *theta) as a vector, at a vector y."""
    return np.ravel(np.asarray(f(shaped(y, like), t, *theta)))


def explicit_step(k1, y, t, h, like, f, theta):
    """A step of Dormand and Prince from the slope at its start: (y of order 5, the slopes that its error needs)."""
    k2 = rate(y + h * (T.A21 * k1), t + T.C2 * h, like, f, theta)
    k3 = rate(y + h * (T.A31 * k1 + T.A32 * k2), t + T.C3 * h, like, f, theta)
    k4 = rate(y + h * (T.A41 * k1 + T.A42 * k2 + T.A43 * k3), t + T.C4 * h, like, f, theta)
    k5 = rate(y + h * (T.A51 * k1 + T.A52 * k2 + T.A53 * k3 + T.A54 * k4), t + T.C5 * h, like, f, theta)
    k6 = rate(y + h * (T.A61 * k1 + T.A62 * k2 + T.A63 * k3 + T.A64 * k4 + T.A65 * k5), t + h, like, f, theta)
    y_new = y + h * (T.B1 * k1 + T.B3 * k3 + T.B4 * k4 + T.B5 * k5 + T.B6 * k6)
    return y_new, T.E1 * k1 + T.E3 * k3 + T.E4 * k4 + T.E5 * k5 + T.E6 * k6


def rosenbrock_step(k1, y, t, h, like, f, theta):
    """A step of RODAS from the slope at its start: (y of order 4, its error). Six solves with one matrix."""
    J = jacobian(rate, direction="forward")(y, t, like, f, theta)
    slope_of_time = jvp(rate, (y, t, like, f, theta), (None, 1.0, None, None, None))[1]
    W = np.eye(y.shape[0]) / (T.GAMMA * h) - J
    u1 = np.linalg.solve(W, k1 + h * T.D1 * slope_of_time)
    k = rate(y + T.R21 * u1, t + T.N2 * h, like, f, theta)
    u2 = np.linalg.solve(W, k + h * T.D2 * slope_of_time + T.S21 * u1 / h)
    k = rate(y + T.R31 * u1 + T.R32 * u2, t + T.N3 * h, like, f, theta)
    u3 = np.linalg.solve(W, k + h * T.D3 * slope_of_time + (T.S31 * u1 + T.S32 * u2) / h)
    k = rate(y + T.R41 * u1 + T.R42 * u2 + T.R43 * u3, t + T.N4 * h, like, f, theta)
    u4 = np.linalg.solve(W, k + h * T.D4 * slope_of_time + (T.S41 * u1 + T.S42 * u2 + T.S43 * u3) / h)
    y5 = y + T.R51 * u1 + T.R52 * u2 + T.R53 * u3 + T.R54 * u4
    k = rate(y5, t + h, like, f, theta)
    u5 = np.linalg.solve(W, k + (T.S51 * u1 + T.S52 * u2 + T.S53 * u3 + T.S54 * u4) / h)
    y6 = y5 + u5
    k = rate(y6, t + h, like, f, theta)
    u6 = np.linalg.solve(W, k + (T.S61 * u1 + T.S62 * u2 + T.S63 * u3 + T.S64 * u4 + T.S65 * u5) / h)
    return y6 + u6, u6


def step(operands, f, like, method):
    """The state after a step. operands: time, length of the step, state, then theta."""
    t, h, y, theta = operands[0], operands[1], operands[2], operands[3:]
    k1 = rate(y, t, like, f, theta)
    if method == "dopri5":
        return explicit_step(k1, y, t, h, like, f, theta)[0]
    return rosenbrock_step(k1, y, t, h, like, f, theta)[0]


def weighted_step(operands, f, like, method, weights):
    return np.sum(weights * step(operands, f, like, method))


def advance(f, like, method, *operands):
    """`step`, whose stages are computed again in the reverse sweep: of a step only its initial state is kept."""
    return step(operands, f, like, method)


@pullback(advance)
def advance_pullback(y_bar, y, f, like, method, operands):
    return None, None, None, partial_grad(weighted_step)(operands, f, like, method, y_bar)


@pushforward(advance)
def advance_pushforward(y, f, like, method, operands, f_dot, like_dot, method_dot, operands_dot):
    return None, None, None, jvp(step, (operands, f, like, method), (operands_dot, None, None, None))[1]


__all__ = ["advance", "explicit_step", "rate", "rosenbrock_step", "step"]
