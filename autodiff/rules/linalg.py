"""Pullbacks and pushforwards of matrix functions.

Source: M. Giles, Collected matrix derivative results for forward and reverse mode algorithmic differentiation,
Advances in Automatic Differentiation, Springer 2008.
"""

import numpy as np

from .decorators import pullback, pushforward


@pullback("matmul")
def matmul(y_bar, y, a, b):
    """Shapes: a (m, k) or (k,), b (k, n) or (k,)."""
    if np.ndim(a) == 1:
        return b @ y_bar, np.outer(a, y_bar)
    if np.ndim(b) == 1:
        return np.outer(y_bar, b), a.T @ y_bar
    return y_bar @ b.T, a.T @ y_bar


@pullback("gram")
def gram(y_bar, y, a):
    """y = a.T a. Shapes: a (m, n), y (n, n)."""
    return a @ (y_bar + y_bar.T)


@pullback("solve")
def solve(x_bar, x, a, b):
    """x = solve(a, b): b_bar = solve(a.T, x_bar), a_bar = -b_bar x.T. Shapes: a (n, n), b (n,) or (n, k)."""
    b_bar = np.linalg.solve(a.T, x_bar)
    if np.ndim(x) == 1:
        return -np.outer(b_bar, x), b_bar
    return -(b_bar @ x.T), b_bar


@pullback("inv")
def inv(y_bar, y, a):
    return -(y.T @ (y_bar @ y.T))


@pullback("det")
def det(y_bar, y, a):
    """Jacobi's formula; the matrix must be regular."""
    return y_bar * y * np.linalg.inv(a).T


@pullback("slogdet")
def slogdet(sign_bar, logdet_bar, sign, logdet, a):
    return logdet_bar * np.linalg.inv(a).T


@pullback("cholesky")
def cholesky(l_bar, lower, a):
    """a = L L.T: a_bar = L^-T Phi(L.T l_bar) L^-1, symmetric; Phi takes the lower triangle with half the diagonal."""
    p = np.tril(lower.T @ l_bar)
    p = 0.5 * (p + np.tril(p, -1))
    inverse = np.linalg.inv(lower)
    s = inverse.T @ (p @ inverse)
    return 0.5 * (s + s.T)


@pushforward("matmul")
def matmul_forward(y, a, b, a_dot, b_dot):
    return a_dot @ b, a @ b_dot


@pushforward("gram")
def gram_forward(y, a, a_dot):
    p = a_dot.T @ a
    return p + p.T


@pushforward("solve")
def solve_forward(x, a, b, a_dot, b_dot):
    """a x = b: a x_dot = b_dot - a_dot x."""
    return -np.linalg.solve(a, a_dot @ x), np.linalg.solve(a, b_dot)


@pushforward("inv")
def inv_forward(y, a, a_dot):
    return -(y @ (a_dot @ y))


@pushforward("det")
def det_forward(y, a, a_dot):
    return y * np.sum(np.linalg.inv(a).T * a_dot)


@pushforward("slogdet")
def slogdet_forward(sign, logdet, a, a_dot):
    return 0.0, np.sum(np.linalg.inv(a).T * a_dot)


@pushforward("cholesky")
def cholesky_forward(lower, a, a_dot):
    """l_dot = L Phi(L^-1 a_dot L^-T), of the symmetric part of a_dot, as in reverse mode."""
    s = 0.5 * (a_dot + a_dot.T)
    inverse = np.linalg.inv(lower)
    p = np.tril(inverse @ (s @ inverse.T))
    return lower @ (0.5 * (p + np.tril(p, -1)))
