"""Derivatives of triangular and banded systems, of LU factors and of the exponential of a matrix, real or complex.

Sources: M. Giles, Collected matrix derivative results for forward and reverse mode algorithmic differentiation, 2008
(systems); S. Walter, Structured higher-order algorithmic differentiation in the forward and reverse mode, 2012 (LU); N.
Higham and S. Relton, Higher order Frechet derivatives of matrix functions, SIAM J. Matrix Anal. Appl. 35, 2014 (the
exponential's second derivative as a first one of blocks).
"""

import numpy as np

from ..runtime.linear_algebra.lapack import lu_factor, solve_banded, solve_triangular
from ..runtime.linear_algebra.matrix_functions import expm_frechet
from .decorators import pullback, pushforward


def outer(p, q):
    """p q.T of vectors or of matrices with a column for each right-hand side."""
    return np.outer(p, q) if np.ndim(p) == 1 else p @ q.T


def triangle(a, lower, unit):
    if lower:
        return np.tril(a, -1 if unit else 0)
    return np.triu(a, 1 if unit else 0)


@pullback("solve_triangular", "complex_solve_triangular")
def solve_triangular_pullback(x_bar, x, a, b, lower, trans, unit):
    """As for a full matrix; the adjoint is 0 where the matrix is not read."""
    b_bar = solve_triangular(a.conj(), x_bar, lower, not trans, unit)
    product = outer(x.conj(), b_bar) if trans else outer(b_bar, x.conj())
    return -triangle(product, lower, unit), b_bar


@pushforward("solve_triangular", "complex_solve_triangular")
def solve_triangular_pushforward(x, a, b, a_dot, b_dot, lower, trans, unit):
    t_dot = triangle(a_dot, lower, unit)
    moved = t_dot.T @ x if trans else t_dot @ x
    return -solve_triangular(a, moved, lower, trans, unit), solve_triangular(a, b_dot, lower, trans, unit)


# ---- banded systems --------------------------------------------------------------------------------------
def transposed_band(ab, below, above):
    """The bands of the transposed matrix, in the same form."""
    n = ab.shape[1]
    out = np.zeros_like(ab)
    for shift in range(-above, below + 1):              # i - j
        for j in range(max(0, -shift), min(n, n - shift)):
            out[below - shift, j + shift] = ab[above + shift, j]
    return out


def bands_of_product(p, q, below, above):
    """The bands of p q.T."""
    n = p.shape[0]
    out = np.zeros((below + above + 1, n), dtype=p.dtype)
    for shift in range(-above, below + 1):
        for j in range(max(0, -shift), min(n, n - shift)):
            out[above + shift, j] = p[j + shift] * q[j] if np.ndim(p) == 1 else np.sum(p[j + shift] * q[j])
    return out


def banded_product(ab, x, below, above):
    """The banded matrix times x."""
    n = ab.shape[1]
    out = np.zeros_like(x)
    for shift in range(-above, below + 1):
        for j in range(max(0, -shift), min(n, n - shift)):
            out[j + shift] += ab[above + shift, j] * x[j]
    return out


@pullback("solve_banded", "complex_solve_banded")
def solve_banded_pullback(x_bar, x, ab, b, below, above):
    """The transposed system; elements of ab outside the matrix have adjoint 0."""
    b_bar = solve_banded(transposed_band(ab.conj(), below, above), x_bar, above, below)
    return -bands_of_product(b_bar, x.conj(), below, above), b_bar, 0, 0


@pushforward("solve_banded", "complex_solve_banded")
def solve_banded_pushforward(x, ab, b, below, above, ab_dot, b_dot, below_dot, above_dot):
    by_matrix = -solve_banded(ab, banded_product(ab_dot, x, below, above), below, above)
    return by_matrix, solve_banded(ab, b_dot, below, above), 0.0 * x, 0.0 * x


# ---- LU factors ------------------------------------------------------------------------------------------
def order_of(pivots, rows):
    """The permutation p of the rows with a[p] = l u."""
    order = np.arange(rows)
    for k in range(pivots.shape[0]):
        other = pivots[k]
        row = order[k]
        order[k] = order[other]
        order[other] = row
    return order


@pullback("lu_factor", "complex_lu_factor")
def lu_pullback(lu_bar, pivots_bar, lu, pivots, a):
    """a[p] = l u: F = l^-1 a_dot[p] u^-1 gives l_dot = l tril(F, -1), u_dot = triu(F) u. The pivots stay as they are.

    Of a matrix with more rows than columns or fewer, that holds for the square block of both; the rows below it are those of
    a[p] u^-1, the columns beside it those of l^-1 a[p].
    """
    m, n = a.shape
    k = min(m, n)
    square, below, beside = lu[:k, :k].conj(), lu[k:, :k], lu[:k, k:]
    unit = np.tril(square, -1) + np.eye(k, dtype=lu.dtype)
    below_bar = solve_triangular(square, lu_bar[k:, :k].T, False, False, False).T
    beside_bar = solve_triangular(square, lu_bar[:k, k:], True, True, True)
    l_bar = np.tril(lu_bar[:k, :k] - beside_bar @ beside.conj().T, -1)
    u_bar = np.triu(lu_bar[:k, :k] - below.conj().T @ below_bar)
    f_bar = np.tril(unit.T @ l_bar, -1) + np.triu(u_bar @ np.triu(square).T)
    left = solve_triangular(square, f_bar, True, True, True)
    permuted = solve_triangular(square, left.T, False, False, False).T
    order = order_of(pivots, m)
    a_bar = np.zeros_like(lu)
    a_bar[order[:k], :k] = permuted
    a_bar[order[k:], :k] = below_bar
    a_bar[order[:k], k:] = beside_bar
    return a_bar


@pushforward("lu_factor", "complex_lu_factor")
def lu_pushforward(lu, pivots, a, a_dot):
    m, n = a.shape
    k = min(m, n)
    square, permuted = lu[:k, :k], a_dot[order_of(pivots, m)]
    unit = np.tril(square, -1) + np.eye(k, dtype=lu.dtype)
    left = solve_triangular(square, permuted[:k], True, False, True)
    f = solve_triangular(square, left[:, :k].T, False, True, False).T
    l_dot, u_dot = unit @ np.tril(f, -1), np.triu(f) @ np.triu(square)
    lu_dot = np.zeros_like(lu)
    lu_dot[:k, :k] = l_dot + u_dot
    lu_dot[:k, k:] = left[:, k:] - solve_triangular(square, l_dot @ lu[:k, k:], True, False, True)
    lu_dot[k:, :k] = solve_triangular(square, (permuted[k:, :k] - lu[k:, :k] @ u_dot).T, False, True, False).T
    return lu_dot, np.zeros_like(pivots)


# ---- the exponential -------------------------------------------------------------------------------------
@pullback("expm", "complex_expm")
def expm_pullback(y_bar, y, a):
    """The derivative L(a, e) is linear in e, and its adjoint is L(a^H, y_bar)."""
    return expm_frechet(a.conj().T, y_bar)


@pushforward("expm", "complex_expm")
def expm_pushforward(y, a, a_dot):
    return expm_frechet(a, a_dot)


def second(a, e, d):
    """The derivative of L(a, e) with a along d: a block of L([[a, e], [0, a]], [[d, 0], [0, d]])."""
    n = a.shape[0]
    zero = np.zeros_like(a)
    return expm_frechet(np.block([[a, e], [zero, a]]), np.block([[d, zero], [zero, d]]))[:n, n:]


@pullback("expm_frechet", "complex_expm_frechet")
def expm_frechet_pullback(y_bar, y, a, e):
    return second(a.conj().T, e.conj().T, y_bar), expm_frechet(a.conj().T, y_bar)


@pushforward("expm_frechet", "complex_expm_frechet")
def expm_frechet_pushforward(y, a, e, a_dot, e_dot):
    return second(a, e, a_dot), expm_frechet(a, e_dot)


__all__ = ["lu_factor", "order_of"]
