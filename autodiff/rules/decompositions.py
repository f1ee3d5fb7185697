"""Derivatives of spectral and orthogonal decompositions.

Where eigenvalues or singular values coincide, the vectors that belong to them are not functions of the matrix. Differences
of equal values are left out (their share of the derivative is 0): functions that do not depend on the choice of vectors
among equal values have the right derivative all the same; the others have none. Symmetric matrices: adjoints and tangents
are those of the symmetric part.

Sources: M. Giles, Collected matrix derivative results for forward and reverse mode algorithmic differentiation, 2008 (eigh);
J. Townsend, Differentiating the singular value decomposition, 2016 (svd); S. Walter, L. Lehmann, R. Lamour, On evaluating
higher-order derivatives of the QR decomposition, 2012 (qr); G. Golub, V. Pereyra, The differentiation of pseudo-inverses and
nonlinear least squares problems whose variables separate, 1973 (pinv).
"""

import numpy as np

from .decorators import pullback, pushforward


def inverse_gaps(w):
    """1 / (w_j - w_i), 0 where the two are equal."""
    gap = w[None, :] - w[:, None]
    return np.where(gap == 0.0, 0.0 * gap, 1.0 / gap)


def inverses(s):
    """1 / s, 0 for 0."""
    return np.where(s == 0.0, 0.0 * s, 1.0 / s)


@pullback("eigh")
def eigh(w_bar, v_bar, w, v, a):
    middle = inverse_gaps(w) * (v.T @ v_bar) + np.diag(w_bar)
    s = v @ (middle @ v.T)
    return 0.5 * (s + s.T)


@pullback("eigh_upper")
def eigh_upper(w_bar, v_bar, w, v, a):
    return eigh(w_bar, v_bar, w, v, a)


@pushforward("eigh_upper")
def eigh_upper_forward(w, v, a, a_dot):
    return eigh_forward(w, v, a, a_dot)


@pullback("syevr")
def syevr(w_bar, v_bar, w, v, a, lower):
    return eigh(w_bar, v_bar, w, v, a)


@pushforward("syevr")
def syevr_forward(w, v, a, a_dot, lower):
    return eigh_forward(w, v, a, a_dot)


@pushforward("eigh")
def eigh_forward(w, v, a, a_dot):
    p = v.T @ ((0.5 * (a_dot + a_dot.T)) @ v)
    return np.diag(p), v @ (inverse_gaps(w) * p)


@pullback("svd")
def svd(u_bar, s_bar, vh_bar, u, s, vh, a):
    f = inverse_gaps(s * s)
    v_bar = vh_bar.T
    left = f * (u.T @ u_bar)
    right = f * (vh @ v_bar)
    core = (left + left.T) * s[None, :] + s[:, None] * (right + right.T) + np.diag(s_bar)
    small = inverses(s)
    outside = (u_bar - u @ (u.T @ u_bar)) * small[None, :]
    beside = (v_bar - vh.T @ (vh @ v_bar)) * small[None, :]
    return u @ (core @ vh) + outside @ vh + u @ beside.T


@pushforward("svd")
def svd_forward(u, s, vh, a, a_dot):
    f = inverse_gaps(s * s)
    p = u.T @ (a_dot @ vh.T)
    small = inverses(s)
    along = p * s[None, :]
    across = s[:, None] * p
    right = a_dot @ vh.T
    left = a_dot.T @ u
    u_dot = u @ (f * (along + along.T)) + (right - u @ (u.T @ right)) * small[None, :]
    v_dot = vh.T @ (f * (across + across.T)) + (left - vh.T @ (vh @ left)) * small[None, :]
    return u_dot, np.diag(p), v_dot.T


@pullback("qr")
def qr(q_bar, r_bar, q, r, a):
    """The first k columns are a square problem; the others are r_rest = q.T a_rest."""
    k = q.shape[1]
    rest = a[:, k:]
    q_all = q_bar + rest @ r_bar[:, k:].T
    m = r[:, :k] @ r_bar[:, :k].T - q_all.T @ q
    symmetric = np.tril(m) + np.tril(m, -1).T
    first = np.linalg.solve(r[:, :k], (q_all + q @ symmetric).T).T
    return np.concatenate((first, q @ r_bar[:, k:]), axis=1)


@pushforward("qr")
def qr_forward(q, r, a, a_dot):
    k = q.shape[1]
    scaled = np.linalg.solve(r[:, :k].T, a_dot[:, :k].T).T
    c = q.T @ scaled
    turn = np.tril(c, -1) - np.tril(c, -1).T
    q_dot = q @ turn + (scaled - q @ c)
    rest = q_dot.T @ a[:, k:] + q.T @ a_dot[:, k:]
    return q_dot, np.concatenate(((c - turn) @ r[:, :k], rest), axis=1)


@pullback("pinv", "complex_pinv")
def pinv(p_bar, p, a, rcond):
    """The rank stays as it is."""
    if a.shape[0] >= a.shape[1]:
        return adjoint_of_pinv(p_bar, p, a), 0.0
    return adjoint_of_pinv(p_bar.conj().T, p.conj().T, a.conj().T).conj().T, 0.0


def adjoint_of_pinv(p_bar, p, a):
    """For a matrix with no more columns than rows: no product has a row and a column for each of its rows."""
    ph, e = p.conj().T, p_bar.conj().T
    left = e - a @ (p @ e)
    return -(ph @ (p_bar @ ph)) + left @ (p @ ph) + ph @ (p @ (e - e @ (p @ a)))


@pushforward("pinv", "complex_pinv")
def pinv_forward(p, a, rcond, a_dot, rcond_dot):
    if a.shape[0] >= a.shape[1]:
        return tangent_of_pinv(p, a, a_dot), 0.0 * p
    return tangent_of_pinv(p.conj().T, a.conj().T, a_dot.conj().T).conj().T, 0.0 * p


def tangent_of_pinv(p, a, a_dot):
    """As for the adjoint."""
    ph, e = p.conj().T, a_dot.conj().T
    left = (p @ ph) @ (e - (e @ a) @ p)
    right = ((e - (p @ a) @ e) @ ph) @ p
    return left + right - (p @ a_dot) @ p
