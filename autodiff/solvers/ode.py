"""Initial value problems, solved with steps that are chosen by their error, and differentiated in two ways.

*Discrete adjoint*: the derivative of the numbers that were computed. The steps are chosen once, without derivative; the
derivative is that of the same steps taken again, each as the same part of its interval between two output times. It is
exact for the solution computed, whatever its error.

*Continuous adjoint*: the derivative of the exact solution, from another differential equation that is solved backwards,
a' = -(df/dy)^T a, theta_bar' = -(df/dtheta)^T a, together with y from the outputs. It keeps nothing but the outputs.

Source: E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, 2nd ed., Springer 1993, section II.4
(choice of steps); A. Walther, "Automatic differentiation of explicit Runge-Kutta methods for optimal control", Computational
Optimization and Applications 36 (2007) (discrete adjoints); L. S. Pontryagin et al., The Mathematical Theory of Optimal
Processes, 1962, and R. T. Q. Chen et al., "Neural ordinary differential equations", NeurIPS 2018 (continuous ones).
"""

from __future__ import annotations

import numpy as np

from ..api import differentiable
from ..operators.gradients import partial_grad
from ..operators.pushforwards import jvp
from ..rules import pullback, pushforward
from ..rules.stopping import stop_gradient
from . import tableaus as T
from .flat import shaped, vector
from .steps import advance, explicit_step, rate, rosenbrock_step
from .trees import raveled, unraveled


@differentiable
def odeint(f, y0, t, *theta, rtol=1e-6, atol=1e-8, method="dopri5", adjoint="discrete", max_steps=100_000):
    """The solution of y' = f(y, t, *theta), y(t[0]) = y0, at the times `t`: an array of shape (len(t),) + y0.shape.

    f: the slope, of the shape of y. y0: a number or an array of floats.
    t: a vector of one or more floats, strictly increasing or decreasing; ValueError if not. theta: numbers, arrays and
        structures of them. The solution is differentiated with respect to y0, t, theta and what `f` captures where it is
        defined inside the function that calls `odeint`, in every mode.
    rtol, atol: the error of a step stays below atol + rtol * |y|, in the mean square over the components. Steps end at the
        output times.
    method: "dopri5", Dormand and Prince's explicit method of order 5; "rodas", a Rosenbrock method of order 4 for stiff
        problems, which takes Jacobians of f.
    adjoint: "discrete", the derivative of the steps, with their sizes held fixed: exact for the numbers computed, of any
        order; it keeps one state for each step. "continuous", reverse mode by solving the adjoint equation backwards at the
        same tolerances: it keeps the outputs alone, and its error is that of the tolerances. Forward mode is discrete.
    max_steps: RuntimeError if more are needed, or if a step becomes too small to change t: the problem may be stiff, or the
        solution end before.
    """
    if method != "dopri5" and method != "rodas":
        raise ValueError(f"odeint(): method is 'dopri5' or 'rodas', not {method!r}")
    if adjoint != "discrete" and adjoint != "continuous":
        raise ValueError(f"odeint(): adjoint is 'discrete' or 'continuous', not {adjoint!r}")
    if adjoint == "discrete":
        record = recorded(f, y0, t, *theta, rtol=rtol, atol=atol, method=method, max_steps=max_steps)
        return outputs(record, y0, t)
    return solution(f, y0, t, *theta, rtol=rtol, atol=atol, method=method, max_steps=max_steps)


def outputs(record, y0, t):
    count = t.shape[0]
    if np.ndim(y0) == 0:
        return record[:count]
    return np.reshape(record[:count * np.size(y0)], (count, *np.shape(y0)))


# -- the steps, without derivative ------------------------------------------------------------------------------------

def integrate(f, y0, t, theta, rtol, atol, method, max_steps):
    """(states at t; where each step starts and its length, as parts of its interval; the first step of each interval)."""
    y = vector(y0)
    count = t.shape[0]
    sign = 1.0 if t[count - 1] >= t[0] else -1.0
    states = np.zeros((count, y.shape[0]))
    states[0, :] = y
    first = np.zeros(count)
    starts: list = []
    parts: list = []
    k1 = rate(y, t[0], y0, f, theta)
    if k1.shape[0] != y.shape[0]:
        raise ValueError(f"odeint(): the slope has {k1.shape[0]} elements, the state {y.shape[0]}")
    h = first_step(k1, y, t[0], sign, y0, f, theta, rtol, atol, method)
    taken = 0
    for i in range(count - 1):
        width = t[i + 1] - t[i]
        if not sign * width > 0.0:
            raise ValueError("odeint(): the times must increase or decrease strictly")
        position = 0.0
        refused = False
        while position < 1.0:
            if taken == max_steps:
                raise RuntimeError(f"odeint() needs more than {max_steps} steps")
            part = min(h / np.abs(width), 1.0 - position)
            whole = position + 1.01 * part >= 1.0           # rather a step a little longer than another tiny one
            if whole:
                part = 1.0 - position
            now = t[i] + position * width
            if now + 0.1 * part * width == now:
                raise RuntimeError(f"odeint() cannot go on at t = {now}: the step would be {part * width}; the problem may "
                                   "be stiff, or its solution end there")
            if method == "dopri5":
                y_new, error = explicit_step(k1, y, now, part * width, y0, f, theta)
                k1_new = rate(y_new, now + part * width, y0, f, theta)
                error = part * width * (error + T.E7 * k1_new)
                size = norm(error, atol + rtol * np.maximum(np.abs(y), np.abs(y_new)))
                factor = 0.9 * max(size, 1e-10) ** -0.2
            else:
                y_new, error = rosenbrock_step(k1, y, now, part * width, y0, f, theta)
                size = norm(error, atol + rtol * np.maximum(np.abs(y), np.abs(y_new)))
                factor = 0.9 * max(size, 1e-10) ** -0.25
                k1_new = rate(y_new, now + part * width, y0, f, theta)
            taken += 1
            if size <= 1.0:
                starts.append(position)
                parts.append(part)
                position = 1.0 if whole else position + part
                y = y_new
                k1 = k1_new
                proposed = part * np.abs(width) * min(max(factor, 0.2), 1.0 if refused else 5.0)
                h = max(h, proposed) if whole else proposed     # a step cut short says little about the next
                refused = False
            else:
                h = part * np.abs(width) * (min(max(factor, 0.2), 0.9) if np.isfinite(size) else 0.2)
                refused = True
        states[i + 1, :] = y
        first[i + 1] = len(starts)
    return states, starts, parts, first


def norm(error, scale):
    return np.sqrt(np.mean((error / scale) ** 2))


def first_step(k1, y, t, sign, like, f, theta, rtol, atol, method):
    """A guess at the first step from the sizes of y, y' and y'' (Hairer, Norsett and Wanner, section II.4)."""
    scale = atol + rtol * np.abs(y)
    d0 = norm(y, scale)
    d1 = norm(k1, scale)
    h = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
    k2 = rate(y + sign * h * k1, t + sign * h, like, f, theta)
    d2 = norm(k2 - k1, scale) / h
    steepest = max(d1, d2)
    exponent = 0.2 if method == "dopri5" else 0.25
    further = max(1e-6, 1e-3 * h) if steepest <= 1e-15 else (0.01 / steepest) ** exponent
    return min(100.0 * h, further)


# -- the discrete adjoint ---------------------------------------------------------------------------------------------

def recorded(f, *operands, rtol, atol, method, max_steps):
    """The states at t, then the record of the steps, in one vector. operands: y0, t, then theta."""
    states, starts, parts, first = integrate(f, operands[0], operands[1], operands[2:], rtol, atol, method, max_steps)
    return np.concatenate((np.ravel(states), np.array(starts), np.array(parts), first))


def repeated(operands, f, like, record, method):
    """The steps of a record taken again: the states at t as one vector."""
    y0, t, theta = operands[0], operands[1], operands[2:]
    count = t.shape[0]
    y = vector(y0)
    n = y.shape[0]
    steps = (record.shape[0] - count * n - count) // 2
    starts = record[count * n:count * n + steps]
    parts = record[count * n + steps:count * n + 2 * steps]
    first = record[count * n + 2 * steps:]
    states = np.zeros((count, n))
    states[0, :] = y
    for i in range(count - 1):
        width = t[i + 1] - t[i]
        for k in range(int(first[i]), int(first[i + 1])):
            y = advance(f, like, method, t[i] + starts[k] * width, parts[k] * width, y, *theta)
        states[i + 1, :] = y
    return np.ravel(states)


def weighted_states(operands, f, like, record, method, weights):
    return np.sum(weights * repeated(operands, f, like, record, method))


@pullback(recorded)
def recorded_pullback(record_bar, record, f, operands, *, method):
    y0 = stop_gradient(operands[0])
    weights = record_bar[:operands[1].shape[0] * np.size(y0)]
    return None, partial_grad(weighted_states)(operands, f, y0, stop_gradient(record), method, weights)


@pushforward(recorded)
def recorded_pushforward(record, f, operands, f_dot, operands_dot, *, method):
    y0, kept = stop_gradient(operands[0]), stop_gradient(record)
    states_dot = jvp(repeated, (operands, f, y0, kept, method), (operands_dot, None, None, None, None))[1]
    return None, np.concatenate((states_dot, np.zeros(record.shape[0] - states_dot.shape[0])))


# -- the continuous adjoint -------------------------------------------------------------------------------------------

def solution(f, *operands, rtol, atol, method, max_steps):
    """The states at t, in the shape of the result. operands: y0, t, then theta."""
    y0, t = operands[0], operands[1]
    states = integrate(f, y0, t, operands[2:], rtol, atol, method, max_steps)[0]
    return states[:, 0] if np.ndim(y0) == 0 else np.reshape(states, (t.shape[0], *np.shape(y0)))


def weighted_rate(y, theta, t, like, f, weights):
    return np.sum(weights * rate(y, t, like, f, theta))


def adjoint_rate(z, t, f, like, theta):
    """The slopes of y, of its adjoint and of the adjoint of theta, as one vector."""
    n = np.size(like)
    y, a = z[:n], z[n:2 * n]
    y_bar, theta_bar = partial_grad(weighted_rate, wrt=("y", "theta"))(y, theta, t, like, f, a)
    return np.concatenate((rate(y, t, like, f, theta), -y_bar, -raveled(theta_bar)))


@pullback(solution)
def solution_pullback(y_bar, ys, f, operands, *, rtol, atol, method, max_steps):
    y0, t, theta = operands[0], operands[1], operands[2:]
    count, n = t.shape[0], np.size(y0)
    like = stop_gradient(y0)
    states, weights = np.reshape(ys, (count, n)), np.reshape(y_bar, (count, n))
    a = 1.0 * weights[count - 1]
    q = 0.0 * raveled(theta)
    t_bar = np.zeros(count)
    if count > 1:
        t_bar[count - 1] = np.sum(a * rate(states[count - 1], t[count - 1], like, f, theta))
    for back in range(count - 1):
        i = count - 2 - back
        z = np.concatenate((states[i + 1], a, q))
        times = np.array([t[i + 1], t[i]])
        z = solution(adjoint_rate, z, times, f, like, theta, rtol=rtol, atol=atol, method=method, max_steps=max_steps)[1]
        a = z[n:2 * n] + weights[i]
        q = z[2 * n:]
        slope = rate(states[i], t[i], like, f, theta)
        t_bar[i] = np.sum((weights[i] if i > 0 else weights[i] - a) * slope)
    return None, (shaped(a, y0), t_bar, *unraveled(q, theta))


@pushforward(solution)
def solution_pushforward(ys, f, operands, f_dot, operands_dot, *, rtol, atol, method, max_steps):
    kept = stop_gradient(operands)
    record = recorded(f, *kept, rtol=rtol, atol=atol, method=method, max_steps=max_steps)
    states_dot = jvp(repeated, (operands, f, kept[0], record, method), (operands_dot, None, None, None, None))[1]
    return None, np.reshape(states_dot, np.shape(ys))


__all__ = ["odeint"]
