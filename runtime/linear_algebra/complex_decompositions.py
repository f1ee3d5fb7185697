"""Spectral and orthogonal decompositions of complex matrices for generated code, in plain Python and inside compiled code.

Operands and results are pairs, as in `complex_linalg.py`; eigenvalues and singular values are real. A matrix that holds nan
or infinity gives nan throughout.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from ..machine_code.kept import kept_for
from ..memory import assign
from . import decompositions
from .complex_linalg import whole
from .linalg import _STRICT, _is_finite_matrix, _kept


def in_pairs(z: Any, like: Any) -> Any:
    """The complex array `z` as an array of pairs in the dtype of `like`."""
    return np.ascontiguousarray(z).reshape((*z.shape, 1)).view(like.dtype)


@overload(in_pairs, jit_options=_STRICT)
def _in_pairs(z, like):
    kind = np.float64 if like.dtype == types.float64 else np.float32
    if z.ndim == 1:
        return lambda z, like: np.ascontiguousarray(z).reshape((z.shape[0], 1)).view(kind)
    return lambda z, like: np.ascontiguousarray(z).reshape((z.shape[0], z.shape[1], 1)).view(kind)


def complex_eigh(a: Any) -> Any:
    """(w, v): the eigenvalues, ascending, of the Hermitian matrix whose lower triangle is that of `a`, and its eigenvectors
    as columns."""
    w, v = decompositions.eigh(whole(a))
    return w.real, in_pairs(v, a)


@kept_for(complex_eigh, as_they_lie=True)
def _complex_eigh(a):
    w, v = _hermitian(whole(a))
    return w, in_pairs(v, a)


def complex_eigh_upper(a: Any) -> Any:
    """As `complex_eigh`, of the upper triangle."""
    w, v = decompositions.eigh_upper(whole(a))
    return w.real, in_pairs(v, a)


@kept_for(complex_eigh_upper, as_they_lie=True)
def _complex_eigh_upper(a):
    w, v = _hermitian_upper(whole(a))
    return w, in_pairs(v, a)


def complex_svd(a: Any) -> Any:
    """(u, s, vh) with a = (u * s) @ vh, of shapes (m, k), (k,), (k, n) for a of shape (m, n), k the smaller of both."""
    u, s, vh = decompositions.svd(whole(a))
    return in_pairs(u, a), s.real, in_pairs(vh, a)


@kept_for(complex_svd, as_they_lie=True)
def _complex_svd(a):
    u, s, vh = _singular(whole(a))
    return in_pairs(u, a), s, in_pairs(vh, a)


def complex_qr(a: Any) -> Any:
    """(q, r) with a = q @ r, of shapes (m, k) and (k, n): orthonormal columns, and a triangle with a real diagonal."""
    q, r = decompositions.qr(whole(a))
    return in_pairs(q, a), in_pairs(r, a)


@kept_for(complex_qr, as_they_lie=True)
def _complex_qr(a):
    q, r = _orthogonal(whole(a))
    return in_pairs(q, a), in_pairs(r, a)


def complex_pinv_into(out: Any, a: Any, rcond: float) -> None:
    """Set `out` (n, m) to the pseudo-inverse of `a` (m, n); singular values up to `rcond` times the largest are zero."""
    whole(out)[...] = decompositions.pinv(whole(a), rcond)


@kept_for(complex_pinv_into, as_they_lie=True)
def _complex_pinv_into(out, a, rcond):
    assign(whole(out), _pseudo_inverse(whole(a), rcond))


@_kept
def _hermitian(a):
    w = np.full(a.shape[0], np.nan, a.real.dtype)
    v = np.full(a.shape, np.nan, a.dtype)
    if _is_finite_matrix(a):
        w_found, v_found = np.linalg.eigh(a)
        w[:] = w_found
        v[:] = v_found
    return w, v


@_kept
def _hermitian_upper(a):
    w = np.full(a.shape[0], np.nan, a.real.dtype)
    v = np.full(a.shape, np.nan, a.dtype)
    if _is_finite_matrix(a):
        w_found, v_found = decompositions.upper_spectrum(a)
        w[:] = w_found
        v[:] = v_found
    return w, v


@_kept
def _singular(a):
    k = min(a.shape[0], a.shape[1])
    u, vh = np.full((a.shape[0], k), np.nan, a.dtype), np.full((k, a.shape[1]), np.nan, a.dtype)
    s = np.full(k, np.nan, a.real.dtype)
    if _is_finite_matrix(a):
        u_found, s_found, vh_found = np.linalg.svd(a, False)
        u[:] = u_found
        s[:] = s_found
        vh[:] = vh_found
    return u, s, vh


@_kept
def _orthogonal(a):
    k = min(a.shape[0], a.shape[1])
    q, r = np.full((a.shape[0], k), np.nan, a.dtype), np.full((k, a.shape[1]), np.nan, a.dtype)
    if _is_finite_matrix(a):
        q_found, r_found = np.linalg.qr(a)
        q[:] = q_found
        r[:] = r_found
    return q, r


@_kept
def _pseudo_inverse(a, rcond):
    out = np.full((a.shape[1], a.shape[0]), np.nan, a.dtype)
    if _is_finite_matrix(a):
        out[:] = np.linalg.pinv(a, rcond)
    return out


__all__ = ["complex_eigh", "complex_pinv_into", "complex_qr", "complex_svd", "in_pairs"]
