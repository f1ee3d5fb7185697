"""`scipy.integrate.solve_ivp` and `odeint` in users' code.

The explicit methods RK45 and RK23 take SciPy's steps, whose sizes have no derivative: the result is SciPy's, and its
derivative that of the numbers computed. Source: J. R. Dormand and P. J. Prince, J. Comp. Appl. Math. 6 (1980); P. Bogacki
and L. F. Shampine, Appl. Math. Lett. 2 (1989); L. F. Shampine, Math. Comp. 46 (1986) (values between steps).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import integrate
from scipy.integrate import RK23, RK45

from ..rules import defines
from ..rules.stopping import stop_gradient
from ..transforms.lower.numpy_functions.reductions import known, unsupported
from .ode import odeint as solution

RK45_A, RK23_A = (tuple(map(tuple, method.A.tolist())) for method in (RK45, RK23))
RK45_B, RK45_C, RK45_E = (tuple(row.tolist()) for row in (RK45.B, RK45.C, RK45.E))
RK23_B, RK23_C, RK23_E = (tuple(row.tolist()) for row in (RK23.B, RK23.C, RK23.E))


@dataclass
class OdeResult:
    """What SciPy tells of a solution. An error was raised where it found none."""

    t: Any
    y: Any
    success: Any = True
    status: Any = 0
    message: Any = "The solver successfully reached the end of the integration interval."


def rate(fun, t, y, args):
    return 1.0 * np.asarray(fun(t, y, *args))


def rms(x):
    return np.sqrt(np.sum(x * x) / np.size(x))


def first_length(fun, t0, y0, length, f0, direction, order, rtol, atol, max_step, args):
    """E. Hairer, S. P. Norsett, G. Wanner, Solving Ordinary Differential Equations I, section II.4."""
    scale = atol + np.abs(y0) * rtol
    d0, d1 = rms(y0 / scale), rms(f0 / scale)
    h0 = 1e-6 if d0 < 1e-5 or d1 < 1e-5 else 0.01 * d0 / d1
    h0 = min(h0, length)
    f1 = rate(fun, t0 + h0 * direction, y0 + h0 * direction * f0, args)
    d2 = rms((f1 - f0) / scale) / h0
    steepest = max(d1, d2)
    h1 = max(1e-6, h0 * 1e-3) if steepest <= 1e-15 else (0.01 / steepest) ** (1.0 / (order + 1.0))
    return min(min(100.0 * h0, h1), min(length, max_step))


def stages_of(fun, t, y, h, f, A, C, n, args, found):
    """The slopes of a step, one after the other. n: how many; found: those known."""
    s = len(found)
    if s == n:
        return found
    moved = 0.0 * y
    for j, slope in enumerate(found):
        moved = moved + A[s][j] * slope
    return stages_of(fun, t, y, h, f, A, C, n, args, (*found, rate(fun, t + C[s] * h, y + h * moved, args)))


def combined(weights, slopes):
    total = 0.0 * slopes[0]
    for j, slope in enumerate(slopes):
        total = total + weights[j] * slope
    return total


@defines(integrate.solve_ivp)
def solve_ivp(fun, t_span, y0, method="RK45", t_eval=None, dense_output=False, events=None, vectorized=False, args=None,
              rtol=1e-3, atol=1e-6, first_step=None, max_step=np.inf, jac=None, jac_sparsity=None, lband=None, uband=None,
              min_step=0.0):
    if dense_output or events is not None:
        return unsupported("scipy.integrate.solve_ivp with dense_output or events", "use t_eval")
    args = () if args is None else args
    t0, tf = 1.0 * t_span[0], 1.0 * t_span[1]
    start = 1.0 * np.asarray(y0)
    if start.ndim != 1:
        raise ValueError("`y0` must be 1-dimensional.")
    if method == "RK45" or method is RK45:
        return runge_kutta(fun, t0, tf, start, t_eval, rtol, atol, first_step, max_step, args,
                           RK45_A, RK45_B, RK45_C, RK45_E, RK45.P, 6, 4)
    if method == "RK23" or method is RK23:
        return runge_kutta(fun, t0, tf, start, t_eval, rtol, atol, first_step, max_step, args,
                           RK23_A, RK23_B, RK23_C, RK23_E, RK23.P, 3, 2)
    return unsupported("scipy.integrate.solve_ivp with this method", "use RK45, or autodiff.odeint, with method='rodas' for "
                                                                     "stiff problems")


def runge_kutta(fun, t0, tf, start, t_eval, rtol, atol, first, max_step, args, A, B, C, E, P, n, order):
    rtol = max(rtol, 100.0 * 2.220446049250313e-16)
    direction = 1.0 if tf >= t0 else -1.0
    t, y = t0, start
    f = rate(fun, t, y, args)
    if f.shape[0] != y.shape[0]:
        raise ValueError("`fun` is expected to return as many numbers as `y0` has")
    h_abs = stop_gradient(1.0 * first) if first is not None else stop_gradient(first_length(
        fun, t, y, abs(tf - t0), f, direction, order, rtol, atol, max_step, args))
    times, states, slopes = [t], [y], []
    rejected = False
    while direction * (t - tf) < 0.0:
        smallest = 2.2e-15 * abs(stop_gradient(t))
        if not rejected:
            h_abs = min(max(h_abs, smallest), max_step)
        if not h_abs >= smallest:
            raise RuntimeError("solve_ivp(): required step size is less than spacing between numbers.")
        t_new = t + stop_gradient(h_abs * direction)
        if direction * (t_new - tf) > 0.0:
            t_new = tf
        h = t_new - t
        found = stages_of(fun, t, y, h, f, A, C, n, args, (f,))
        y_new = y + h * combined(B, found)
        f_new = rate(fun, t_new, y_new, args)
        scale = atol + np.maximum(np.abs(y), np.abs(y_new)) * rtol
        size = stop_gradient(rms(h * combined(E, (*found, f_new)) / scale))
        factor = 10.0 if size == 0.0 else 0.9 * size ** (-1.0 / (order + 1.0))
        h_abs = stop_gradient(abs(h))
        if size < 1.0:
            if t_eval is not None:
                slopes.append(np.concatenate((*found, f_new)))
            times.append(t_new)
            states.append(y_new)
            h_abs = h_abs * (min(1.0, factor) if rejected else min(10.0, factor))
            t, y, f = t_new, y_new, f_new
            rejected = False
        else:
            h_abs = h_abs * max(0.2, factor)
            rejected = True
    if t_eval is None:
        if t0 == tf:                                # SciPy takes one step, of no length
            times.append(tf)
            states.append(y)
        return OdeResult(np.array(times), np.array(states).T)
    wanted = 1.0 * np.asarray(t_eval)
    check_times(wanted, min(t0, tf), max(t0, tf), direction)
    if known(t0 == tf) or known(wanted.shape[0] == 0):          # SciPy has lists then
        return OdeResult([], [])
    return OdeResult(wanted, between(wanted, np.array(times), np.array(states), np.array(slopes), P, direction))


def check_times(wanted, first, last, direction):
    """The times at which the solution is wanted are SciPy's."""
    if wanted.ndim != 1:
        raise ValueError("`t_eval` must be 1-dimensional.")
    if np.any(wanted < first) or np.any(wanted > last):
        raise ValueError("Values in `t_eval` are not within `t_span`.")
    if np.any(direction * np.diff(wanted) <= 0.0):
        raise ValueError("Values in `t_eval` are not properly sorted.")


def between(wanted, times, states, slopes, P, direction):
    """The solution at the times that are wanted, from the slopes of the steps."""
    size, parts = states.shape[1], P.shape[1]
    found = np.zeros((size, wanted.shape[0]))
    for i in range(wanted.shape[0]):
        k = np.searchsorted(direction * times, direction * wanted[i]) - 1
        k = min(max(k, 0), times.shape[0] - 2)
        h = times[k + 1] - times[k]
        u = (wanted[i] - times[k]) / h
        for c in range(size):
            total = 0.0
            for j in range(P.shape[0]):
                weight = 0.0
                for p in range(parts - 1, -1, -1):
                    weight = (weight + P[j, p]) * u
                total += weight * slopes[k, j * size + c]
            found[c, i] = states[k, c] + h * total
    return found


@defines(integrate.odeint)
def odeint(func, y0, t, args=(), Dfun=None, col_deriv=0, full_output=0, ml=None, mu=None, rtol=None, atol=None, tcrit=None,
           h0=0.0, hmax=0.0, hmin=0.0, ixpr=0, mxstep=0, mxhnil=0, mxordn=12, mxords=5, printmessg=0, tfirst=False):
    """By autodiff.odeint, at least as exactly as was asked for: LSODA, which SciPy takes, has other steps."""
    if full_output or tcrit is not None:
        return unsupported("scipy.integrate.odeint with full_output or tcrit", "leave them out")
    args = args if isinstance(args, tuple) else (args,)
    start = 1.0 * np.atleast_1d(np.asarray(y0))

    def slope(y, at, *given):
        return np.asarray(func(at, y, *given) if tfirst else func(y, at, *given))
    return solution(slope, start, 1.0 * np.asarray(t), *args, rtol=1e-9 if rtol is None else min(rtol, 1e-9),
                    atol=1e-10 if atol is None else min(atol, 1e-10))
