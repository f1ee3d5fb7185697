"""Dense linear algebra of complex matrices for generated code, the same in plain Python and inside compiled code.

Operands are C-contiguous float64 or float32 arrays whose last axis, of length 2, holds real and imaginary parts; they are
read, and results written, as complex arrays on the same memory. Compiled code calls BLAS and LAPACK through SciPy and
raises `np.linalg.LinAlgError` where NumPy does. A matrix with nan or infinity is no error: the result is nan.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from ..memory import assign
from . import linalg
from .blas import _SMALL, _kept
from .linalg import _STRICT

_WHOLE = {np.dtype(np.float64): np.complex128, np.dtype(np.float32): np.complex64}


def whole(pairs: Any) -> Any:
    """The complex array on the memory of `pairs`, without its last axis."""
    return pairs.view(_WHOLE[pairs.dtype]).reshape(pairs.shape[:-1])


@overload(whole, jit_options=_STRICT)
def _whole(pairs):
    kind = np.complex128 if pairs.dtype == types.float64 else np.complex64
    return lambda pairs: pairs.view(kind).reshape(pairs.shape[:-1])


def complex_matmul_into(out: Any, a: Any, b: Any) -> None:
    """Set `out` to a @ b, of matrices or a matrix and a vector; `out` shares no memory with them."""
    linalg.matmul_into(whole(out), whole(a), whole(b))


@overload(complex_matmul_into, jit_options=_STRICT)
def _complex_matmul_into(out, a, b):
    if a.ndim == b.ndim == 3:
        def compiled(out, a, b):
            if not _small_product(out, a, b):
                linalg.matmul_into(whole(out), whole(a), whole(b))
    else:
        def compiled(out, a, b):
            linalg.matmul_into(whole(out), whole(a), whole(b))
    return compiled


@_kept
def _small_product(out, a, b):
    """out = a b by loops, if that is faster than a call and the shapes fit; whether it was done."""
    n, m, p = a.shape[0], b.shape[1], b.shape[0]
    if n >= _SMALL or m >= _SMALL or p >= _SMALL or a.shape[1] != p or out.shape[0] != n or out.shape[1] != m:
        return False
    for i in range(n):
        for j in range(m):
            re = im = out.dtype.type(0)
            for k in range(p):
                re += a[i, k, 0] * b[k, j, 0] - a[i, k, 1] * b[k, j, 1]
                im += a[i, k, 0] * b[k, j, 1] + a[i, k, 1] * b[k, j, 0]
            out[i, j, 0] = re
            out[i, j, 1] = im
    return True


def complex_solve_into(out: Any, a: Any, b: Any) -> None:
    """Set `out` to the solution x of a @ x = b; b is a vector or a matrix. LinAlgError if `a` is singular."""
    whole(out)[...] = linalg.solve(whole(a), whole(b))


@overload(complex_solve_into, jit_options=_STRICT)
def _complex_solve_into(out, a, b):
    return lambda out, a, b: assign(whole(out), linalg.solve(whole(a), whole(b)))


def complex_inv_into(out: Any, a: Any) -> None:
    """Set `out` to the inverse of `a`. LinAlgError if `a` is singular."""
    whole(out)[...] = linalg.inv(whole(a))


@overload(complex_inv_into, jit_options=_STRICT)
def _complex_inv_into(out, a):
    return lambda out, a: assign(whole(out), linalg.inv(whole(a)))


def complex_det_into(out: Any, a: Any) -> None:
    """Set the two elements of `out` to the parts of the determinant of `a`."""
    value = linalg.det(whole(a))
    out[0], out[1] = value.real, value.imag


@overload(complex_det_into, jit_options=_STRICT)
def _complex_det_into(out, a):
    def compiled(out, a):
        value = linalg.det(whole(a))
        out[0] = value.real
        out[1] = value.imag
    return compiled


def complex_slogdet_into(out: Any, a: Any) -> None:
    """Set the three elements of `out` to the parts of the sign of the determinant of `a`, and to the logarithm of its
    modulus."""
    sign, logarithm = linalg.slogdet(whole(a))
    out[0], out[1], out[2] = sign.real, sign.imag, logarithm


@overload(complex_slogdet_into, jit_options=_STRICT)
def _complex_slogdet_into(out, a):
    def compiled(out, a):
        sign, logarithm = linalg.slogdet(whole(a))
        out[0] = sign.real
        out[1] = sign.imag
        out[2] = logarithm.real
    return compiled


def complex_cholesky_into(out: Any, a: Any) -> None:
    """Set `out` to the lower triangular L with L @ L.conj().T = a, of which the lower triangle is read.

    LinAlgError if `a` is not positive definite.
    """
    whole(out)[...] = linalg.cholesky(whole(a))


@overload(complex_cholesky_into, jit_options=_STRICT)
def _complex_cholesky_into(out, a):
    return lambda out, a: assign(whole(out), linalg.cholesky(whole(a)))


__all__ = ["complex_cholesky_into", "complex_det_into", "complex_inv_into", "complex_matmul_into", "complex_slogdet_into",
           "complex_solve_into", "whole"]
