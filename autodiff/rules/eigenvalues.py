"""Derivatives of the eigenvalues and eigenvectors of general matrices.

With a v = v diag(w) and p = v^-1 a_dot v the eigenvalues change by diag(p), and the eigenvectors by u = v (p / gaps) up to
a complex multiple of each. Two conditions of LAPACK fix that: a vector keeps length 1, and its largest element stays real.
A result that does not depend on the phases of the vectors does not notice the second one.

Where eigenvalues coincide their differences are left out, as in decompositions.py. A matrix without n independent
eigenvectors has no derivative of them, nor of the eigenvalues that coincide: LinAlgError, or huge numbers.

Sources: M. Giles, Collected matrix derivative results for forward and reverse mode algorithmic differentiation, 2008;
C. Boeddeker et al., On the computation of complex-valued gradients with application to statistically optimum beamforming,
2017 (normalised eigenvectors).
"""

import numpy as np

from .decompositions import inverse_gaps
from .decorators import pullback, pushforward


def is_held(v):
    """Where each column has its largest real element."""
    size = np.abs(v.real) - 1e6 * np.abs(v.imag)
    return np.arange(v.shape[0])[:, None] == np.argmax(size, axis=0)[None, :]


@pullback("complex_eig")
def complex_eig(w_bar, v_bar, w, v, a):
    overlap = np.sum(v.conj() * v_bar, axis=0)[None, :]
    turned = np.where(is_held(v), 1j * overlap.imag / v.real, 0.0 * v)
    u_bar = v_bar - v * overlap.real - turned
    middle = inverse_gaps(w).conj() * (v.conj().T @ u_bar) + np.diag(w_bar)
    return np.linalg.solve(v.conj().T, middle @ v.conj().T)


@pushforward("complex_eig")
def complex_eig_forward(w, v, a, a_dot):
    p = np.linalg.solve(v, a_dot @ v)
    u = v @ (inverse_gaps(w) * p)
    longer = np.sum((v.conj() * u).real, axis=0)
    turned = np.sum(np.where(is_held(v), u.imag / v.real, 0.0 * v.real), axis=0)
    return np.diag(p), u - v * (longer + 1j * turned)[None, :]


@pullback("eig")
def eig(w_bar, v_bar, w, v, a):
    return complex_eig(w_bar, v_bar, w, v, a).real


pushforward("eig")(complex_eig_forward)
