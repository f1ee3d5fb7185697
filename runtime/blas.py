"""BLAS for generated code: products into given memory, added to it or replacing it, without copies of rows or transposes.

The routines are those of SciPy, called by address (`scipy.linalg.cython_blas`). Machine code that calls them knows them by
the names of this file, so that it can be kept on disk and loaded by another process: `provide` gives the names their
addresses. Source of the interface: J. Dongarra et al., A set of level 3 basic linear algebra subprograms, ACM Transactions
on Mathematical Software 16, 1990.

Matrices here lie in rows, those of BLAS in columns: what BLAS takes for a matrix is our transpose, and out = a b is
computed as out^T = b^T a^T.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import get_cython_function_address, intrinsic, register_jitable

from .jit import BLAS_PREFIX as PREFIX
from .jit import kept as _kept

ROUTINES = ("dgemm", "sgemm", "dgemv", "sgemv", "dsyrk", "ssyrk")
_LARGEST = 2**31 - 1                            # sizes are 32-bit integers in BLAS

_AS_IT_LIES, _TRANSPOSED, _LOWER = (np.uint8(ord(c)) for c in "NTL")
_byte = ir.IntType(8)


def provide() -> None:
    """Make the names of the routines known to LLVM; imports SciPy's linear algebra the first time."""
    if not llvm.address_of_symbol(PREFIX + ROUTINES[0]):
        for name in ROUTINES:
            llvm.add_symbol(PREFIX + name, get_cython_function_address("scipy.linalg.cython_blas", name))


@intrinsic(prefer_literal=True)
def _call(typing, routine, arguments):
    """Call a routine of BLAS, all arguments by address: uint8 are characters, int64 sizes, floats take the arrays' dtype."""
    dtype = next(t.dtype for t in arguments if isinstance(t, types.Array))
    name = PREFIX + ("d" if dtype == types.float64 else "s") + routine.literal_value

    def generate(context, builder, signature, values):
        addresses = []
        for k, kind in enumerate(signature.args[1]):
            value = builder.extract_value(values[1], k)
            if isinstance(kind, types.Array):
                addresses.append(builder.bitcast(context.make_array(kind)(context, builder, value).data, _byte.as_pointer()))
                continue
            if isinstance(kind, types.Float):
                value = context.cast(builder, value, kind, dtype)
            elif kind != types.uint8:
                value = builder.trunc(value, ir.IntType(32))
            place = cgutils.alloca_once_value(builder, value)
            addresses.append(builder.bitcast(place, _byte.as_pointer()))
        function_type = ir.FunctionType(ir.VoidType(), [_byte.as_pointer()] * len(addresses))
        builder.call(cgutils.get_or_insert_function(builder.module, function_type, name), addresses)
        return context.get_dummy_value()
    return types.none(routine, arguments), generate


_routine: Any = _call               # Numba gives the first argument


@register_jitable
def _in_rows(a):
    """Whether BLAS can read a matrix as its own transpose: rows without gaps, one after the other."""
    size = a.itemsize
    return a.strides[1] == size and a.strides[0] >= size * a.shape[1] and a.strides[0] % size == 0


@register_jitable
def _in_columns(a):
    size = a.itemsize
    return a.strides[0] == size and a.strides[1] >= size * a.shape[0] and a.strides[1] % size == 0


@register_jitable
def _distance(a):
    """Elements from one row to the next, or from one column to the next."""
    return max(max(a.strides[0], a.strides[1]) // a.itemsize, 1)


@register_jitable
def _check_sizes(a, b):
    if max(a.shape[0], a.shape[-1], b.shape[0], b.shape[-1]) > _LARGEST:
        raise ValueError("a matrix product of more than 2**31 - 1 rows or columns")


# Calls of BLAS and LAPACK are compiled once for each kind of operands, and kept on disk between processes.
@_kept
def matrix_matrix(out, a, b, beta):
    """out = a b + beta out. out: rows as `_in_rows` wants them, no memory of a or b; for beta 0 its contents are ignored."""
    _check_sizes(a, b)
    if a.size == 0 or b.size == 0:                          # BLAS has its own rules here
        for i in range(out.shape[0]):
            for j in range(out.shape[1]):
                out[i, j] = beta * out[i, j] if beta != 0.0 else 0.0
        return
    if not (_in_rows(a) or _in_columns(a)):
        a = np.ascontiguousarray(a)
    if not (_in_rows(b) or _in_columns(b)):
        b = np.ascontiguousarray(b)
    _routine("gemm", (_AS_IT_LIES if _in_rows(b) else _TRANSPOSED, _AS_IT_LIES if _in_rows(a) else _TRANSPOSED,
                      b.shape[1], a.shape[0], a.shape[1], 1.0, b, _distance(b), a, _distance(a), beta, out, _distance(out)))


@_kept
def matrix_vector(out, a, x, beta):
    """out = a x + beta out, for vectors out and x, out contiguous; for beta 0 its contents are ignored."""
    _check_sizes(a, a)
    if not (_in_rows(a) or _in_columns(a)):
        a = np.ascontiguousarray(a)
    if x.shape[0] > 1 and (x.strides[0] <= 0 or x.strides[0] % x.itemsize != 0):
        x = np.ascontiguousarray(x)
    if a.size == 0:                                         # BLAS leaves `out` alone
        for i in range(out.shape[0]):
            out[i] = beta * out[i] if beta != 0.0 else 0.0
        return
    step = max(x.strides[0] // x.itemsize, 1)
    if _in_rows(a):
        _routine("gemv", (_TRANSPOSED, a.shape[1], a.shape[0], 1.0, a, _distance(a), x, step, beta, out, 1))
    else:
        _routine("gemv", (_AS_IT_LIES, a.shape[0], a.shape[1], 1.0, a, _distance(a), x, step, beta, out, 1))


@_kept
def gram(out, a):
    """out = a^T a, of which one triangle is computed. out: C-contiguous; its contents are ignored."""
    _check_sizes(a, a)
    if not (_in_rows(a) or _in_columns(a)):
        a = np.ascontiguousarray(a)
    n = out.shape[0]
    if a.size == 0:
        out[:, :] = 0.0
        return
    _routine("syrk", (_LOWER, _AS_IT_LIES if _in_rows(a) else _TRANSPOSED, n, a.shape[0], 1.0, a, _distance(a), 0.0, out, n))
    for i in range(1, n):                                   # the lower triangle of BLAS is the upper one in rows
        for j in range(i):
            out[i, j] = out[j, i]


__all__ = ["gram", "matrix_matrix", "matrix_vector", "provide"]
