"""Pullbacks and pushforwards of products and matrix functions of complex matrices.

Adjoints are dL/dRe + i dL/dIm, so that dL = Re(sum(conj(y_bar) * y_dot)): the pullback of y_dot = A x_dot is
x_bar = A.conj().T y_bar, and the pushforwards are those of real matrices (linalg.py).
Source: the real rules of Giles 2008 with the conjugate transpose in the place of the transpose.
"""

import numpy as np

from .decorators import pullback, pushforward
from .linalg import inv_forward, matmul_forward, solve_forward


@pullback("complex_matmul")
def complex_matmul(y_bar, y, a, b):
    if np.ndim(a) == 1:
        return b.conj() @ y_bar, np.outer(a.conj(), y_bar)
    if np.ndim(b) == 1:
        return np.outer(y_bar, b.conj()), a.conj().T @ y_bar
    return y_bar @ b.conj().T, a.conj().T @ y_bar


@pullback("complex_matmul_cn")
def complex_matmul_cn(y_bar, y, a, b):
    """y = a.conj().T @ b."""
    return np.outer(b, y_bar.conj()) if np.ndim(b) == 1 else b @ y_bar.conj().T, a @ y_bar


@pushforward("complex_matmul_cn")
def complex_matmul_cn_forward(y, a, b, a_dot, b_dot):
    return a_dot.conj().T @ b, a.conj().T @ b_dot


@pullback("complex_matmul_nc")
def complex_matmul_nc(y_bar, y, a, b):
    """y = a @ b.conj().T."""
    return y_bar @ b, y_bar.conj().T @ a


@pushforward("complex_matmul_nc")
def complex_matmul_nc_forward(y, a, b, a_dot, b_dot):
    return a_dot @ b.conj().T, a @ b_dot.conj().T


@pullback("complex_solve")
def complex_solve(x_bar, x, a, b):
    b_bar = np.linalg.solve(a.conj().T, x_bar)
    if np.ndim(x) == 1:
        return -np.outer(b_bar, x.conj()), b_bar
    return -(b_bar @ x.conj().T), b_bar


@pullback("complex_inv")
def complex_inv(y_bar, y, a):
    return -(y.conj().T @ (y_bar @ y.conj().T))


@pullback("complex_det")
def complex_det(y_bar, y, a):
    """Jacobi's formula; the matrix must be regular."""
    return y_bar * np.conj(y) * np.linalg.inv(a).conj().T


@pullback("complex_slogdet")
def complex_slogdet(y_bar, y, a):
    """y = (Re s, Im s, log |det|). With t = tr(a^-1 a_dot) the logarithm changes by Re t, the sign s by i s Im t."""
    turn = y_bar[1] * y[0] - y_bar[0] * y[1]
    return (y_bar[2] + 1j * turn) * np.linalg.inv(a).conj().T


@pushforward("complex_slogdet")
def complex_slogdet_forward(y, a, a_dot):
    t = np.sum(np.linalg.inv(a).T * a_dot)
    return np.array([-y[1] * t.imag, y[0] * t.imag, t.real])


def lower_half(x):
    """The lower triangle with half of the diagonal, of which the real part counts: that of a factor is real."""
    return np.tril(x, -1) + np.diag(0.5 * np.diag(x).real)


@pullback("complex_cholesky")
def complex_cholesky(l_bar, lower, a):
    inverse = np.linalg.inv(lower)
    s = inverse.conj().T @ (lower_half(lower.conj().T @ l_bar) @ inverse)
    return 0.5 * (s + s.conj().T)


@pushforward("complex_cholesky")
def complex_cholesky_forward(lower, a, a_dot):
    """Of the Hermitian part of a_dot, as in reverse mode."""
    s = 0.5 * (a_dot + a_dot.conj().T)
    inverse = np.linalg.inv(lower)
    return lower @ lower_half(inverse @ (s @ inverse.conj().T))


@pushforward("complex_det")
def complex_det_forward(y, a, a_dot):
    return y * np.sum(np.linalg.inv(a).T * a_dot)


pushforward("complex_matmul")(matmul_forward)
pushforward("complex_solve")(solve_forward)
pushforward("complex_inv")(inv_forward)
