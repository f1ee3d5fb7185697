"""Derivatives of solutions of Sylvester equations, and of square roots, powers and logarithms of matrices.

For a function f of matrices, f([[a, e], [0, a]]) = [[f(a), L], [0, f(a)]], where L is the derivative of f at a along e. The
adjoint of e -> L(a, e) is e -> L(a^H, e) for the functions here.

Sources: R. Mathias, A chain rule for matrix functions and applications, SIAM J. Matrix Anal. Appl. 17, 1996 (the blocks);
A. Al-Mohy, N. Higham and S. Relton, Computing the Frechet derivative of the matrix logarithm and estimating the condition
number, SIAM J. Sci. Comput. 35, 2013; N. Higham, Functions of Matrices, SIAM, 2008, chapters 3 and 6 (adjoint, square root).
"""

import numpy as np

from ..transforms.lower.numpy_functions.matrix_functions import logm, matrix_power, solve_sylvester
from .decorators import pullback, pushforward
from .stopping import stop_gradient


@pullback("solve_sylvester", "complex_solve_sylvester")
def solve_sylvester_pullback(x_bar, x, a, b, q):
    """a x + x b = q."""
    q_bar = solve_sylvester(a.conj().T, b.conj().T, x_bar)
    return -(q_bar @ x.conj().T), -(x.conj().T @ q_bar), q_bar


@pushforward("solve_sylvester", "complex_solve_sylvester")
def solve_sylvester_pushforward(x, a, b, q, a_dot, b_dot, q_dot):
    return -solve_sylvester(a, b, a_dot @ x), -solve_sylvester(a, b, x @ b_dot), solve_sylvester(a, b, q_dot)


@pullback("sqrtm", "complex_sqrtm")
def sqrtm_pullback(y_bar, y, a):
    """y y = a, so that y y_dot + y_dot y = a_dot."""
    adjoint = y.conj().T
    return solve_sylvester(adjoint, adjoint, y_bar)


@pushforward("sqrtm", "complex_sqrtm")
def sqrtm_pushforward(y, a, a_dot):
    return solve_sylvester(y, y, a_dot)


def size_beside(e, a):
    """How large `e` is beside `a`: blocks of unlike size would lose the smaller one to rounding."""
    ratio = stop_gradient(np.sum(np.abs(e)) / np.sum(np.abs(a)))
    return ratio if ratio > 0.0 else 1.0


def enlarged(a, e):
    n = a.shape[0]
    out = np.zeros((2 * n, 2 * n), dtype=a.dtype)
    out[:n, :n] = a
    out[n:, n:] = a
    out[:n, n:] = e
    return out


def logm_slope(a, e):
    """The derivative of the logarithm at `a` along `e`."""
    n, size = a.shape[0], size_beside(e, a)
    return size * logm(enlarged(a, e / size))[:n, n:]


@pullback("logm", "complex_logm")
def logm_pullback(y_bar, y, a):
    return logm_slope(a.conj().T, y_bar)


@pushforward("logm", "complex_logm")
def logm_pushforward(y, a, a_dot):
    return logm_slope(a, a_dot)


def power_slope(a, t, e):
    """The derivative of the power with exponent `t` at `a` along `e`."""
    n, size = a.shape[0], size_beside(e, a)
    return size * matrix_power(enlarged(a, e / size), t)[:n, n:]


@pullback("matrix_power", "complex_matrix_power")
def power_pullback(y_bar, y, a, t):
    """y = exp(t log a)."""
    return power_slope(a.conj().T, t, y_bar), np.sum((y_bar.conj() * (logm(a) @ y)).real)


@pushforward("matrix_power", "complex_matrix_power")
def power_pushforward(y, a, t, a_dot, t_dot):
    return power_slope(a, t, a_dot), t_dot * (logm(a) @ y)
