"""Dense linear algebra of complex matrices for generated code, the same in plain Python and inside compiled code.

Operands are C-contiguous float64 or float32 arrays whose last axis, of length 2, holds real and imaginary parts; they are
read, and results written, as complex arrays on the same memory. Compiled code calls BLAS and LAPACK through SciPy and
raises `np.linalg.LinAlgError` where NumPy does. A matrix with nan or infinity is no error: the result is nan.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from ..machine_code.kept import kept, kept_for, stands_for
from ..memory import assign
from . import blas, linalg
from .lanes import complex_product
from .linalg import _STRICT

_SMALL = 12                 # up to here, vectors beat the call of BLAS
_kept_c = functools.partial(kept, as_they_lie=True)

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


@stands_for(complex_matmul_into)
def _complex_matmul_into(out, a, b):
    return _as_they_are(a, b, 0.0)


def add_complex_matmul(out: Any, a: Any, b: Any) -> None:
    """Add a @ b to `out`, which is as for `complex_matmul_into`."""
    linalg.add_matmul(whole(out), whole(a), whole(b))


@stands_for(add_complex_matmul)
def _add_complex_matmul(out, a, b):
    return _as_they_are(a, b, 1.0)


def _as_they_are(a, b, keep):
    """What computes out = a @ b + keep * out, and what it is given besides the arrays."""
    return (_product, (False, False, keep)) if a.ndim == b.ndim == 3 else (_of_any, (keep,))


@_kept_c
def _of_any(out, a, b, keep):
    if keep == 0.0:
        linalg.matmul_into(whole(out), whole(a), whole(b))
    else:
        linalg.add_matmul(whole(out), whole(a), whole(b))


def complex_matmul_cn_into(out: Any, a: Any, b: Any) -> None:
    """Set `out` to a.conj().T @ b, of a matrix and a matrix or a vector; `out` shares no memory with them."""
    linalg.matmul_into(whole(out), whole(a).conj().T, whole(b))


@stands_for(complex_matmul_cn_into)
def _complex_matmul_cn_into(out, a, b):
    return _with_first(b, 0.0)


def add_complex_matmul_cn(out: Any, a: Any, b: Any) -> None:
    """Add a.conj().T @ b to `out`, which is as for `complex_matmul_cn_into`."""
    linalg.add_matmul(whole(out), whole(a).conj().T, whole(b))


@stands_for(add_complex_matmul_cn)
def _add_complex_matmul_cn(out, a, b):
    return _with_first(b, 1.0)


def _with_first(b, keep):
    """What computes out = a.conj().T @ b + keep * out, and what it is given besides the arrays."""
    return (_with_a_column, (keep,)) if b.ndim == 2 else (_product, (True, False, keep))


@_kept_c
def _with_a_column(out, a, b, keep):
    _product(_column(out), a, _column(b), True, False, keep)


def complex_matmul_nc_into(out: Any, a: Any, b: Any) -> None:
    """Set `out` to a @ b.conj().T, of two matrices; `out` shares no memory with them."""
    linalg.matmul_into(whole(out), whole(a), whole(b).conj().T)


@stands_for(complex_matmul_nc_into)
def _complex_matmul_nc_into(out, a, b):
    return _product, (False, True, 0.0)


def add_complex_matmul_nc(out: Any, a: Any, b: Any) -> None:
    """Add a @ b.conj().T to `out`, which is as for `complex_matmul_nc_into`."""
    linalg.add_matmul(whole(out), whole(a), whole(b).conj().T)


@stands_for(add_complex_matmul_nc)
def _add_complex_matmul_nc(out, a, b):
    return _product, (False, True, 1.0)


@_kept_c
def _product(out, a, b, first, second, keep):
    """out = a b + keep out; first, second: with the conjugate transpose of a, of b in its place."""
    n, m, k = out.shape[0], out.shape[1], a.shape[0] if first else a.shape[1]
    if n <= _SMALL and m <= _SMALL and k <= _SMALL and a.shape[0] * a.shape[1] == n * k and (
            b.shape[0] * b.shape[1] == k * m) and (b.shape[1] if second else b.shape[0]) == k:
        complex_product(out, a, b, first, second, keep)
    else:
        blas.conjugate_product(whole(out), whole(a), whole(b), first, second, keep)


@register_jitable(**_STRICT)
def _column(x: Any) -> Any:
    """A vector as a matrix of one column."""
    return x.reshape((x.shape[0], 1, 2))


def complex_solve_into(out: Any, a: Any, b: Any) -> None:
    """Set `out` to the solution x of a @ x = b; b is a vector or a matrix. LinAlgError if `a` is singular."""
    whole(out)[...] = linalg.solve(whole(a), whole(b))


@kept_for(complex_solve_into, as_they_lie=True)
def _complex_solve_into(out, a, b):
    assign(whole(out), linalg.solve(whole(a), whole(b)))


def complex_inv_into(out: Any, a: Any) -> None:
    """Set `out` to the inverse of `a`. LinAlgError if `a` is singular."""
    whole(out)[...] = linalg.inv(whole(a))


@kept_for(complex_inv_into, as_they_lie=True)
def _complex_inv_into(out, a):
    assign(whole(out), linalg.inv(whole(a)))


def complex_det_into(out: Any, a: Any) -> None:
    """Set the two elements of `out` to the parts of the determinant of `a`."""
    value = linalg.det(whole(a))
    out[0], out[1] = value.real, value.imag


@kept_for(complex_det_into, as_they_lie=True)
def _complex_det_into(out, a):
    value = linalg.det(whole(a))
    out[0] = value.real
    out[1] = value.imag


def complex_slogdet_into(out: Any, a: Any) -> None:
    """Set the three elements of `out` to the parts of the sign of the determinant of `a`, and to the logarithm of its
    modulus."""
    sign, logarithm = linalg.slogdet(whole(a))
    out[0], out[1], out[2] = sign.real, sign.imag, logarithm


@kept_for(complex_slogdet_into, as_they_lie=True)
def _complex_slogdet_into(out, a):
    sign, logarithm = linalg.slogdet(whole(a))
    out[0] = sign.real
    out[1] = sign.imag
    out[2] = logarithm.real


def complex_cholesky_into(out: Any, a: Any) -> None:
    """Set `out` to the lower triangular L with L @ L.conj().T = a, of which the lower triangle is read.

    LinAlgError if `a` is not positive definite.
    """
    whole(out)[...] = linalg.cholesky(whole(a))


@kept_for(complex_cholesky_into, as_they_lie=True)
def _complex_cholesky_into(out, a):
    assign(whole(out), linalg.cholesky(whole(a)))


__all__ = ["add_complex_matmul", "add_complex_matmul_cn", "add_complex_matmul_nc", "complex_cholesky_into",
           "complex_det_into", "complex_inv_into", "complex_matmul_cn_into", "complex_matmul_into", "complex_matmul_nc_into",
           "complex_slogdet_into", "complex_solve_into", "whole"]
