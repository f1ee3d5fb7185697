"""Eigenvalues and eigenvectors of general matrices for generated code, the same in plain Python and inside compiled code.

Results are always complex, as pairs: C-contiguous arrays whose last axis, of length 2, holds real and imaginary parts.
Eigenvectors have length 1 and a real largest element, as LAPACK's routine `geev` leaves them, which both forms call.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import overload

from ..failing import LinAlgErrorThere
from ..machine_code.kept import kept_for
from .complex_decompositions import in_pairs
from .complex_linalg import whole
from .lapack import routine
from .linalg import _STRICT, _check_square, _is_finite_matrix, _kept

_GEEV = routine("geev", 14)
_NO, _YES = 78, 86                          # the characters N and V


def eig(a: Any) -> Any:
    """(w, v): the eigenvalues (n, 2) of the real matrix `a` (n, n) and its eigenvectors (n, n, 2) as columns, in pairs.

    LinAlgError if `a` holds nan or infinity, is not square, or the iteration does not converge.
    """
    w, v = np.linalg.eig(a)
    kind = np.result_type(a.dtype, np.complex64)
    return in_pairs(w.astype(kind), a), in_pairs(v.astype(kind), a)


def complex_eig(a: Any) -> Any:
    """`eig` of a complex matrix given in pairs (n, n, 2)."""
    w, v = np.linalg.eig(whole(a))
    return in_pairs(w, a), in_pairs(v, a)


@kept_for(eig)
def _eig(a):
    _check(a)
    return _call_real(np.ascontiguousarray(a.T))


@kept_for(complex_eig, as_they_lie=True)
def _complex_eig(a):
    matrix = whole(a)
    _check(matrix)
    w, v = _call_complex(np.ascontiguousarray(matrix.T))
    return in_pairs(w, a), in_pairs(v, a)


@_kept
def _check(a):
    _check_square(a)
    if not _is_finite_matrix(a):
        raise LinAlgErrorThere("Array must not contain infs or NaNs")


def _call_real(columns):
    raise NotImplementedError


def _call_complex(columns):
    raise NotImplementedError


@overload(_call_real, jit_options=_STRICT)
def _call_real_compiled(columns):
    geev = _GEEV[columns.dtype]

    def compiled(columns):
        n, kind = columns.shape[0], columns.dtype
        matrix, right, none = columns.copy(), np.zeros((n, n), kind), np.zeros(1, kind)
        w = np.zeros((2, n), kind)
        flags = np.array([_NO, _YES], np.uint8)
        sizes = np.array([n, max(n, 1), -1, 0], np.int32)
        work = np.zeros(1, kind)
        for _ in range(2 if n > 0 else 0):                  # the first call asks how much room to give
            geev(flags.ctypes, flags[1:].ctypes, sizes.ctypes, matrix.ctypes, sizes[1:].ctypes, w.ctypes, w[1].ctypes,
                 none.ctypes, sizes[1:].ctypes, right.ctypes, sizes[1:].ctypes, work.ctypes, sizes[2:].ctypes,
                 sizes[3:].ctypes)
            if sizes[2] < 0:
                sizes[2] = int(work[0])
                work = np.zeros(sizes[2], kind)
        if sizes[3] > 0:
            raise LinAlgErrorThere("Eigenvalues did not converge")
        v = np.zeros((n, n, 2), kind)
        for j in range(n):
            pair = j if w[1, j] >= 0 else j - 1             # of conjugates the first one has Im w > 0
            for i in range(n):
                v[i, j, 0] = right[pair, i]
                if w[1, j] != 0:
                    v[i, j, 1] = right[pair + 1, i] if w[1, j] > 0 else -right[pair + 1, i]
        return np.ascontiguousarray(w.T), v
    return compiled


@overload(_call_complex, jit_options=_STRICT)
def _call_complex_compiled(columns):
    geev = _GEEV[columns.dtype]

    def compiled(columns):
        n, kind = columns.shape[0], columns.dtype
        matrix, right, none = columns.copy(), np.zeros((n, n), kind), np.zeros(1, kind)
        w, own = np.zeros(n, kind), np.zeros(2 * n, columns.real.dtype)
        flags = np.array([_NO, _YES], np.uint8)
        sizes = np.array([n, max(n, 1), -1, 0], np.int32)
        work = np.zeros(1, kind)
        for _ in range(2 if n > 0 else 0):
            geev(flags.ctypes, flags[1:].ctypes, sizes.ctypes, matrix.ctypes, sizes[1:].ctypes, w.ctypes, none.ctypes,
                 sizes[1:].ctypes, right.ctypes, sizes[1:].ctypes, work.ctypes, sizes[2:].ctypes, own.ctypes,
                 sizes[3:].ctypes)
            if sizes[2] < 0:
                sizes[2] = int(work[0].real)
                work = np.zeros(sizes[2], kind)
        if sizes[3] > 0:
            raise LinAlgErrorThere("Eigenvalues did not converge")
        return w, np.ascontiguousarray(right.T)
    return compiled


__all__ = ["complex_eig", "eig"]
