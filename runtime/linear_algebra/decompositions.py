"""Spectral and orthogonal decompositions for generated code, the same in plain Python and inside compiled code.

Operands are two-dimensional, float32 or float64, of any memory layout, and never modified; arrays returned are new and
C-contiguous. Compiled code calls LAPACK through SciPy. A matrix that holds nan or infinity gives nan throughout.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from .linalg import _STRICT, _check_square, _is_finite_matrix


def eigh(a: Any) -> Any:
    """(w, v): the eigenvalues, ascending, of the symmetric matrix whose lower triangle is that of `a`, and its
    eigenvectors as columns. LinAlgError if `a` is not square."""
    if not np.isfinite(a).all():
        return np.full(a.shape[0], np.nan, a.dtype), np.full(a.shape, np.nan, a.dtype)
    return tuple(np.linalg.eigh(a))


@overload(eigh, jit_options=_STRICT)
def _eigh(a):
    def compiled(a):
        _check_square(a)
        if not _is_finite_matrix(a):
            return np.full(a.shape[0], np.nan, a.dtype), np.full(a.shape, np.nan, a.dtype)
        w, v = np.linalg.eigh(np.ascontiguousarray(a))
        return w, np.ascontiguousarray(v)
    return compiled


def svd(a: Any) -> Any:
    """(u, s, vh) with a = (u * s) @ vh, of shapes (m, k), (k,), (k, n) for a of shape (m, n), k the smaller of both."""
    k = min(a.shape)
    if not np.isfinite(a).all():
        return (np.full((a.shape[0], k), np.nan, a.dtype), np.full(k, np.nan, a.dtype),
                np.full((k, a.shape[1]), np.nan, a.dtype))
    return tuple(np.linalg.svd(a, full_matrices=False))


@overload(svd, jit_options=_STRICT)
def _svd(a):
    def compiled(a):
        k = min(a.shape[0], a.shape[1])
        if not _is_finite_matrix(a):
            return (np.full((a.shape[0], k), np.nan, a.dtype), np.full(k, np.nan, a.dtype),
                    np.full((k, a.shape[1]), np.nan, a.dtype))
        u, s, vh = np.linalg.svd(np.ascontiguousarray(a), False)
        return np.ascontiguousarray(u), s, np.ascontiguousarray(vh)
    return compiled


def qr(a: Any) -> Any:
    """(q, r) with a = q @ r, of shapes (m, k) and (k, n): orthonormal columns, and an upper triangle."""
    if not np.isfinite(a).all():
        k = min(a.shape)
        return np.full((a.shape[0], k), np.nan, a.dtype), np.full((k, a.shape[1]), np.nan, a.dtype)
    return tuple(np.linalg.qr(a))


@overload(qr, jit_options=_STRICT)
def _qr(a):
    def compiled(a):
        if not _is_finite_matrix(a):
            k = min(a.shape[0], a.shape[1])
            return np.full((a.shape[0], k), np.nan, a.dtype), np.full((k, a.shape[1]), np.nan, a.dtype)
        q, r = np.linalg.qr(np.ascontiguousarray(a))
        return np.ascontiguousarray(q), np.ascontiguousarray(r)
    return compiled


def pinv(a: Any, rcond: float) -> Any:
    """The pseudo-inverse (n, m) of `a` (m, n); singular values up to `rcond` times the largest count as zero."""
    if not np.isfinite(a).all():
        return np.full(a.shape[::-1], np.nan, a.dtype)
    return np.linalg.pinv(a, rcond)


@overload(pinv, jit_options=_STRICT)
def _pinv(a, rcond):
    def compiled(a, rcond):
        if not _is_finite_matrix(a):
            return np.full((a.shape[1], a.shape[0]), np.nan, a.dtype)
        return np.ascontiguousarray(np.linalg.pinv(np.ascontiguousarray(a), rcond))
    return compiled


__all__ = ["eigh", "pinv", "qr", "svd"]
