"""Pullbacks and pushforwards of decompositions of complex matrices.

Eigenvectors of Hermitian matrices are fixed up to a phase each, left and right singular vectors up to a common one. The
derivative is that of a result which does not depend on these phases. LAPACK makes the diagonal of the triangle of `qr` real,
so that there nothing is left open. Where values coincide or vanish: see decompositions.py.

Sources: M. Giles, Collected matrix derivative results, 2008, with the conjugate transpose in the place of the transpose
(eigh); Z.-Q. Wan and S.-X. Zhang, Automatic differentiation for complex valued SVD, 2019 (svd); S. Walter, L. Lehmann, R.
Lamour, On evaluating higher-order derivatives of the QR decomposition, 2012 (qr).
"""

import numpy as np

from .decompositions import inverse_gaps, inverses
from .decorators import pullback, pushforward


@pullback("complex_eigh")
def complex_eigh(w_bar, v_bar, w, v, a):
    middle = inverse_gaps(w) * (v.conj().T @ v_bar) + np.diag(w_bar)
    s = v @ (middle @ v.conj().T)
    return 0.5 * (s + s.conj().T)


@pushforward("complex_eigh")
def complex_eigh_forward(w, v, a, a_dot):
    p = v.conj().T @ ((0.5 * (a_dot + a_dot.conj().T)) @ v)
    return np.diag(p).real, v @ (inverse_gaps(w) * p)


@pullback("complex_eigh_upper")
def complex_eigh_upper(w_bar, v_bar, w, v, a):
    return complex_eigh(w_bar, v_bar, w, v, a)


@pushforward("complex_eigh_upper")
def complex_eigh_upper_forward(w, v, a, a_dot):
    return complex_eigh_forward(w, v, a, a_dot)


@pullback("complex_svd")
def complex_svd(u_bar, s_bar, vh_bar, u, s, vh, a):
    """As of a real matrix, and the phase between a left vector and its right one, which goes to the left one."""
    f = inverse_gaps(s * s)
    small = inverses(s)
    v, v_bar = vh.conj().T, vh_bar.conj().T
    p = u.conj().T @ u_bar
    left = f * p
    right = f * (vh @ v_bar)
    along = s_bar + 1j * np.diag(p).imag * small
    core = (left + left.conj().T) * s[None, :] + s[:, None] * (right + right.conj().T) + np.diag(along)
    outside = (u_bar - u @ p) * small[None, :]
    beside = (v_bar - v @ (vh @ v_bar)) * small[None, :]
    return u @ (core @ vh) + outside @ vh + u @ beside.conj().T


@pushforward("complex_svd")
def complex_svd_forward(u, s, vh, a, a_dot):
    f = inverse_gaps(s * s)
    small = inverses(s)
    v = vh.conj().T
    right = a_dot @ v
    left = a_dot.conj().T @ u
    p = u.conj().T @ right
    along = p * s[None, :]
    across = s[:, None] * p
    turn = f * (along + along.conj().T) + np.diag(1j * np.diag(p).imag * small)
    u_dot = u @ turn + (right - u @ p) * small[None, :]
    v_dot = v @ (f * (across + across.conj().T)) + (left - v @ (vh @ left)) * small[None, :]
    return u_dot, np.diag(p).real, v_dot.conj().T


@pullback("complex_qr")
def complex_qr(q_bar, r_bar, q, r, a):
    """The first k columns are a square problem; the others are r_rest = q^H a_rest."""
    k = q.shape[1]
    rest = a[:, k:]
    q_all = q_bar + rest @ r_bar[:, k:].conj().T
    m = r[:, :k] @ r_bar[:, :k].conj().T - q_all.conj().T @ q
    lower = np.tril(m, -1)
    hermitian = lower + lower.conj().T + np.diag(np.diag(m).real)
    first = np.linalg.solve(r[:, :k], (q_all + q @ hermitian).conj().T).conj().T
    return np.concatenate((first, q @ r_bar[:, k:]), axis=1)


@pushforward("complex_qr")
def complex_qr_forward(q, r, a, a_dot):
    k = q.shape[1]
    scaled = np.linalg.solve(r[:, :k].T, a_dot[:, :k].T).T
    c = q.conj().T @ scaled
    lower = np.tril(c, -1)
    turn = lower - lower.conj().T + np.diag(1j * np.diag(c).imag)
    q_dot = q @ turn + (scaled - q @ c)
    rest = q_dot.conj().T @ a[:, k:] + q.conj().T @ a_dot[:, k:]
    return q_dot, np.concatenate(((c - turn) @ r[:, :k], rest), axis=1)
