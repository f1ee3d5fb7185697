"""Spectral and orthogonal decompositions for generated code, the same in plain Python and inside compiled code.

Operands are two-dimensional, float32 or float64, of any memory layout, and never modified; arrays returned are new and
C-contiguous. Compiled code calls LAPACK through SciPy. A matrix that holds nan or infinity gives nan throughout.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numba.extending import overload

from ..failing import LinAlgErrorThere
from ..machine_code.kept import kept_for
from .lapack import routine
from .linalg import _STRICT, _check_square, _is_finite_matrix


def eigh(a: Any) -> Any:
    """(w, v): the eigenvalues, ascending, of the symmetric matrix whose lower triangle is that of `a`, and its
    eigenvectors as columns. LinAlgError if `a` is not square."""
    if not np.isfinite(a).all():
        return np.full(a.shape[0], np.nan, a.dtype), np.full(a.shape, np.nan, a.dtype)
    return tuple(np.linalg.eigh(a))


@kept_for(eigh)
def _eigh(a):
    _check_square(a)
    if not _is_finite_matrix(a):
        return np.full(a.shape[0], np.nan, a.dtype), np.full(a.shape, np.nan, a.dtype)
    w, v = np.linalg.eigh(np.ascontiguousarray(a))
    return w, np.ascontiguousarray(v)


_SYEVD, _HEEVD = routine("syevd", 11, "sd"), routine("heevd", 13, "cz")


def eigh_upper(a: Any) -> Any:
    """As `eigh`, of the upper triangle, with the signs that NumPy gives eigenvectors there."""
    if not np.isfinite(a).all():
        return np.full(a.shape[0], np.nan, a.real.dtype), np.full(a.shape, np.nan, a.dtype)
    return tuple(np.linalg.eigh(a, "U"))


@kept_for(eigh_upper)
def _eigh_upper(a):
    _check_square(a)
    if not _is_finite_matrix(a):
        return np.full(a.shape[0], np.nan, a.dtype), np.full(a.shape, np.nan, a.dtype)
    return upper_spectrum(a)


def upper_spectrum(a):
    raise NotImplementedError


@overload(upper_spectrum, jit_options=_STRICT)
def _upper_spectrum_compiled(a):
    complex_ones = a.dtype in _HEEVD
    driver = _HEEVD[a.dtype] if complex_ones else _SYEVD[a.dtype]

    def compiled(a):
        n = a.shape[0]
        matrix = np.ascontiguousarray(a.T).copy()               # LAPACK reads rows as columns
        w = np.empty(n, a.real.dtype)
        flags = np.array([86, 85], np.uint8)                                            # V, U
        work, reals, integers = np.zeros(1, a.dtype), np.zeros(1, a.real.dtype), np.zeros(1, np.int32)
        # n, leading dimension, sizes of work space (-1: ask), error
        sizes = np.array([n, max(n, 1), -1, -1, -1, 0], np.int32)
        for _ in range(2):
            if complex_ones:
                driver(flags[0:].ctypes, flags[1:].ctypes, sizes[0:].ctypes, matrix.ctypes, sizes[1:].ctypes, w.ctypes,
                       work.ctypes, sizes[2:].ctypes, reals.ctypes, sizes[3:].ctypes, integers.ctypes, sizes[4:].ctypes,
                       sizes[5:].ctypes)
            else:
                driver(flags[0:].ctypes, flags[1:].ctypes, sizes[0:].ctypes, matrix.ctypes, sizes[1:].ctypes, w.ctypes,
                       work.ctypes, sizes[2:].ctypes, integers.ctypes, sizes[4:].ctypes, sizes[5:].ctypes)
            if sizes[2] < 0:
                sizes[2], sizes[3], sizes[4] = int(work[0].real), int(reals[0]), integers[0]
                work, reals = np.zeros(sizes[2], a.dtype), np.zeros(max(sizes[3], 1), a.real.dtype)
                integers = np.zeros(sizes[4], np.int32)
        if sizes[5] > 0:
            raise LinAlgErrorThere("Eigenvalues did not converge")
        return w, np.ascontiguousarray(matrix.T)
    return compiled


_SYEVR = routine("syevr", 21, "sd")


def syevr(a: Any, lower: bool) -> Any:
    """As `eigh`, of the lower or the upper triangle, by the algorithm that SciPy takes: other signs of eigenvectors."""
    if not np.isfinite(a).all():
        return np.full(a.shape[0], np.nan, a.dtype), np.full(a.shape, np.nan, a.dtype)
    w, v = scipy.linalg.eigh(a, lower=bool(lower), check_finite=False)
    return w, np.ascontiguousarray(v)


@kept_for(syevr)
def _robust(a, lower):
    _check_square(a)
    if not _is_finite_matrix(a):
        return np.full(a.shape[0], np.nan, a.dtype), np.full(a.shape, np.nan, a.dtype)
    return _call_syevr(a, lower)


def _call_syevr(a, lower):
    raise NotImplementedError


@overload(_call_syevr, jit_options=_STRICT)
def _call_syevr_compiled(a, lower):
    driver = _SYEVR[a.dtype]

    def compiled(a, lower):
        n = a.shape[0]
        matrix = np.ascontiguousarray(a.T).copy()               # LAPACK reads rows as columns
        w, columns = np.empty(n, a.dtype), np.empty((n, n), a.dtype)
        flags = np.array([86, 65, 76 if lower else 85], np.uint8)                       # V, A, L or U
        bounds, work = np.zeros(3, a.dtype), np.zeros(1, a.dtype)
        integers, support = np.zeros(1, np.int32), np.zeros(2 * max(n, 1), np.int32)
        # n, leading dimension, first and last wanted, how many were found, sizes of work space (-1: ask), error
        sizes = np.array([n, max(n, 1), 1, n, 0, -1, -1, 0], np.int32)
        for _ in range(2):
            driver(flags[0:].ctypes, flags[1:].ctypes, flags[2:].ctypes, sizes[0:].ctypes, matrix.ctypes, sizes[1:].ctypes,
                   bounds[0:].ctypes, bounds[1:].ctypes, sizes[2:].ctypes, sizes[3:].ctypes, bounds[2:].ctypes,
                   sizes[4:].ctypes, w.ctypes, columns.ctypes, sizes[1:].ctypes, support.ctypes, work.ctypes,
                   sizes[5:].ctypes, integers.ctypes, sizes[6:].ctypes, sizes[7:].ctypes)
            if sizes[5] < 0:
                sizes[5], sizes[6] = int(work[0]), integers[0]
                work, integers = np.zeros(sizes[5], a.dtype), np.zeros(sizes[6], np.int32)
        if sizes[7] > 0:
            raise LinAlgErrorThere("Internal Error.")
        return w, np.ascontiguousarray(columns.T)
    return compiled


def svd(a: Any) -> Any:
    """(u, s, vh) with a = (u * s) @ vh, of shapes (m, k), (k,), (k, n) for a of shape (m, n), k the smaller of both."""
    k = min(a.shape)
    if not np.isfinite(a).all():
        return (np.full((a.shape[0], k), np.nan, a.dtype), np.full(k, np.nan, a.dtype),
                np.full((k, a.shape[1]), np.nan, a.dtype))
    return tuple(np.linalg.svd(a, full_matrices=False))


@kept_for(svd)
def _svd(a):
    k = min(a.shape[0], a.shape[1])
    if not _is_finite_matrix(a):
        return (np.full((a.shape[0], k), np.nan, a.dtype), np.full(k, np.nan, a.dtype),
                np.full((k, a.shape[1]), np.nan, a.dtype))
    u, s, vh = np.linalg.svd(np.ascontiguousarray(a), False)
    return np.ascontiguousarray(u), s, np.ascontiguousarray(vh)


def qr(a: Any) -> Any:
    """(q, r) with a = q @ r, of shapes (m, k) and (k, n): orthonormal columns, and an upper triangle."""
    if not np.isfinite(a).all():
        k = min(a.shape)
        return np.full((a.shape[0], k), np.nan, a.dtype), np.full((k, a.shape[1]), np.nan, a.dtype)
    return tuple(np.linalg.qr(a))


@kept_for(qr)
def _qr(a):
    if not _is_finite_matrix(a):
        k = min(a.shape[0], a.shape[1])
        return np.full((a.shape[0], k), np.nan, a.dtype), np.full((k, a.shape[1]), np.nan, a.dtype)
    q, r = np.linalg.qr(np.ascontiguousarray(a))
    return np.ascontiguousarray(q), np.ascontiguousarray(r)


def pinv(a: Any, rcond: float) -> Any:
    """The pseudo-inverse (n, m) of `a` (m, n); singular values up to `rcond` times the largest count as zero."""
    if not np.isfinite(a).all():
        return np.full(a.shape[::-1], np.nan, a.dtype)
    return np.linalg.pinv(a, rcond)


@kept_for(pinv)
def _pinv(a, rcond):
    if not _is_finite_matrix(a):
        return np.full((a.shape[1], a.shape[0]), np.nan, a.dtype)
    return np.ascontiguousarray(np.linalg.pinv(np.ascontiguousarray(a), rcond))


__all__ = ["eigh", "eigh_upper", "pinv", "qr", "svd", "syevr"]
