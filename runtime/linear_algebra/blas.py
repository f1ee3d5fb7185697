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
from numba.extending import get_cython_function_address, intrinsic

from ..machine_code.jit import BLAS_PREFIX as PREFIX
from ..machine_code.kept import kept as _kept

ROUTINES = ("dgemm", "sgemm", "zgemm", "cgemm", "dgemv", "sgemv", "zgemv", "cgemv", "dsyrk", "ssyrk")
_LETTERS = {types.float64: "d", types.float32: "s", types.complex128: "z", types.complex64: "c"}
_SMALL = 8                                      # below this, loops beat the call of BLAS
_FEW = 64                                       # numbers of a matrix that BLAS multiplies faster by rows than by columns
_LARGEST = 2**31 - 1                            # sizes are 32-bit integers in BLAS
_PART = 64                                      # rows of a part, and what they are long, at most
_WIDTH = 8                                      # what its columns are a multiple of: a kernel computes so many at once
_ALONE = 2**18                                  # multiplications that OpenBLAS does in one thread (its interface/gemm.c)
_SHARED = 2**24                                 # and what is worth several,
_WORTH = 2**26                                  # or is worth to wait for them

_AS_IT_LIES, _TRANSPOSED, _CONJUGATE, _LOWER, _SCATTERED = (np.uint8(ord(c)) for c in "NTCL?")
_byte = ir.IntType(8)


def provide() -> None:
    """Make the names of the routines known to LLVM; imports SciPy's linear algebra the first time."""
    if not llvm.address_of_symbol(PREFIX + ROUTINES[0]):
        for name in ROUTINES:
            llvm.add_symbol(PREFIX + name, get_cython_function_address("scipy.linalg.cython_blas", name))


@intrinsic(prefer_literal=True)
def _call(typing, routine, arguments):
    """Call a routine of BLAS, all arguments by address: uint8 are characters, int64 sizes, floats take the arrays' dtype,
    complex ones too."""
    provide()
    dtype = next(t.dtype for t in arguments if isinstance(t, types.Array))
    name = PREFIX + _LETTERS[dtype] + routine.literal_value

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


@_kept
def _lies(a):
    """How a matrix lies, as BLAS reads it, and the elements from one row, or column, to the next.

    `_AS_IT_LIES`: rows without gaps, one after the other (BLAS sees the transpose); `_TRANSPOSED`: columns; or `_SCATTERED`.
    """
    size = a.itemsize
    if a.strides[1] == size and a.strides[0] >= size * a.shape[1] and a.strides[0] % size == 0:
        return _AS_IT_LIES, max(a.strides[0] // size, 1)
    if a.strides[0] == size and a.strides[1] >= size * a.shape[0] and a.strides[1] % size == 0:
        return _TRANSPOSED, max(a.strides[1] // size, 1)
    return _SCATTERED, 1


@intrinsic
def _as_rows(typing, a):
    """A matrix of any layout as one whose rows lie one after the other without gaps, as the caller knows that they do: LLVM
    then reads several elements at once."""
    kind = types.Array(a.dtype, a.ndim, "C", readonly=not a.mutable, aligned=a.aligned)

    def generate(context, builder, signature, values):
        context.nrt.incref(builder, a, values[0])
        return values[0]
    return kind(a), generate


as_rows: Any = _as_rows                         # Numba gives the first argument


@_kept
def _packed(a):
    """A copy of a matrix whose rows lie one after the other."""
    copy = np.empty(a.shape, a.dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            copy[i, j] = a[i, j]
    return copy


@_kept
def matrix_matrix(out, a, b, keep):
    """out = a b + keep out. out: no memory of a or b; for keep = 0 its contents are ignored."""
    n, m, k = out.shape[0], out.shape[1], a.shape[1]
    if b.shape[0] != k or a.shape[0] != n or b.shape[1] != m:
        raise ValueError("matmul_into: the shapes do not fit")
    if (n >= _SMALL or m >= _SMALL or k >= _SMALL) and n and m and k:
        _large(out, a, b, keep)
        return
    for i in range(n):                                      # BLAS has its own rules for none
        for j in range(m):
            total = out.dtype.type(keep * out[i, j] if keep != 0.0 else 0.0)
            for p in range(k):
                total += a[i, p] * b[p, j]
            out[i, j] = total


@_kept
def _large(out, a, b, keep):
    """`matrix_matrix` by BLAS. Apart from it, as what binds an array anew counts its references, which takes time."""
    n, m, k = out.shape[0], out.shape[1], a.shape[1]
    if n > _LARGEST or m > _LARGEST or k > _LARGEST:
        raise ValueError("a matrix product of more than 2**31 - 1 rows or columns")
    how, step = _lies(a)
    if how == _SCATTERED:
        a, how, step = _packed(a), _AS_IT_LIES, k
    how_b, step_b = _lies(b)
    if how_b == _SCATTERED or how_b == _TRANSPOSED and k * m <= _FEW:
        b, how_b, step_b = _packed(b), _AS_IT_LIES, m
    how_out, step_out = _lies(out)
    if how_out == _AS_IT_LIES:
        _routine("gemm", (how_b, how, m, n, k, 1.0, b, step_b, a, step, keep, out, step_out))
        return
    rows = _packed(out)
    _routine("gemm", (how_b, how, m, n, k, 1.0, b, step_b, a, step, keep, rows, m))
    for i in range(n):
        for j in range(m):
            out[i, j] = rows[i, j]


@_kept
def in_parts(out, a, b, keep):
    """`matrix_matrix` in parts that OpenBLAS does in one thread, unless it is worth several.

    A second one may wait for a busy processor ten times as long as all of a product takes, which stands for loops in which
    nobody would expect it.
    """
    n, m, k = out.shape[0], out.shape[1], a.shape[1]
    if n * m * k <= _ALONE or n * m * k > _WORTH:
        matrix_matrix(out, a, b, keep)
        return
    if b.shape[0] != k or a.shape[0] != n or b.shape[1] != m:
        raise ValueError("matmul_into: the shapes do not fit")
    deep, down = _even(k), _even(n)
    across = _ALONE // (deep * down) // _WIDTH * _WIDTH
    for p in range(0, k, deep):
        for i in range(0, n, down):
            for j in range(0, m, across):
                matrix_matrix(out[i:i + down, j:j + across], a[i:i + down, p:p + deep], b[p:p + deep, j:j + across],
                              keep if p == 0 else 1.0)


@_kept
def _even(n):
    """The length of parts of `n` that are as long as each other."""
    parts = (n + _PART - 1) // _PART
    return (n + parts - 1) // parts


@_kept
def all_finite(a):
    """Whether all numbers of a matrix are finite; row by row."""
    finite = True
    for i in range(a.shape[0]):
        if a.strides[1] == a.itemsize:
            row = as_rows(a[i])
            for j in range(len(row)):
                finite &= abs(row[j]) < np.inf
        else:
            for j in range(a.shape[1]):
                finite &= abs(a[i, j]) < np.inf
    return finite


@_kept
def multiples(out, a, b, keep):
    """out = a b + keep out, as `in_parts`, where a zero of `a` makes 0 of whatever it is multiplied by."""
    finite = all_finite(b.T) if abs(b.strides[0]) < abs(b.strides[1]) else all_finite(b)
    if finite and out.strides[0] == out.itemsize:           # as a transposed matrix lies
        in_parts(out.T, b.T, a.T, keep)
    elif finite:
        in_parts(out, a, b, keep)
    else:
        for i in range(out.shape[0]):
            for j in range(out.shape[1]):
                total = out.dtype.type(keep * out[i, j] if keep != 0.0 else 0.0)
                for k in range(b.shape[0]):
                    if a[i, k] != 0.0:
                        total += a[i, k] * b[k, j]
                out[i, j] = total


@_kept
def add_outer_products(out, columns, rows):
    """out += columns^T rows, of C-contiguous matrices.

    In parts that OpenBLAS does in one thread, as of `in_parts`, each of all the rows that there are to multiply.
    """
    n, m, k = out.shape[0], out.shape[1], rows.shape[0]
    if columns.shape[0] != k or columns.shape[1] != n or rows.shape[1] != m:
        raise ValueError("add_outer_products: the shapes do not fit")
    if n > _LARGEST or m > _LARGEST or k > _LARGEST:
        raise ValueError("a matrix product of more than 2**31 - 1 rows or columns")
    if n == 0 or m == 0 or k == 0:
        return
    step = n if n * m * k > _SHARED else max(_ALONE // (m * k), _SMALL)
    for first in range(0, n, step):
        part = min(step, n - first)
        _routine("gemm", (_AS_IT_LIES, _TRANSPOSED, m, part, k, 1.0, rows, m, columns[:, first:], n, 1.0, out[first:], m))


@_kept
def matrix_vector(out, a, x, keep):
    """out = a x + keep out, for vectors out and x; for keep = 0 the contents of `out` are ignored."""
    n, k = a.shape
    if x.shape[0] != k or out.shape[0] != n:
        raise ValueError("matmul_into: the shapes do not fit")
    across, along = x.strides[0], out.strides[0]
    apart = across <= 0 or across % x.itemsize != 0 or along <= 0 or along % x.itemsize != 0     # BLAS does not take them
    if n < _SMALL and k < _SMALL or n == 0 or k == 0 or apart:
        for i in range(n):
            total = out.dtype.type(keep * out[i] if keep != 0.0 else 0.0)
            for p in range(k):
                total += a[i, p] * x[p]
            out[i] = total
    else:
        _large_vector(out, a, x, keep)


@_kept
def _large_vector(out, a, x, keep):
    """`matrix_vector` by BLAS."""
    n, k = a.shape
    across, along = x.strides[0], out.strides[0]
    if n > _LARGEST or k > _LARGEST:
        raise ValueError("a matrix product of more than 2**31 - 1 rows or columns")
    how, step = _lies(a)
    if how == _SCATTERED:
        a, how, step = _packed(a), _AS_IT_LIES, k
    if how == _AS_IT_LIES:
        n, k, how = k, n, _TRANSPOSED
    else:
        how = _AS_IT_LIES
    _routine("gemv", (how, n, k, 1.0, a, step, x, across // x.itemsize, keep, out, along // out.itemsize))


@_kept
def conjugate_product(out, a, b, first, second, keep):
    """out = a b + keep out of complex C-contiguous matrices. first, second: with the conjugate transpose of a, of b in its
    place. For keep = 0 the contents of `out` are ignored."""
    n, m, k = out.shape[0], out.shape[1], a.shape[0] if first else a.shape[1]
    if (a.shape[1] if first else a.shape[0]) != n or (b.shape[0] if second else b.shape[1]) != m or (
            b.shape[1] if second else b.shape[0]) != k:
        raise ValueError("matmul_into: the shapes do not fit")
    if n > _LARGEST or m > _LARGEST or k > _LARGEST:
        raise ValueError("a matrix product of more than 2**31 - 1 rows or columns")
    if n == 0 or m == 0 or k == 0:
        if keep == 0.0:
            out[...] = 0.0
        return
    how, how_b = _CONJUGATE if first else _AS_IT_LIES, _CONJUGATE if second else _AS_IT_LIES
    _routine("gemm", (how_b, how, m, n, k, 1.0, b, b.shape[1], a, a.shape[1], keep, out, m))


@_kept
def gram(out, a):
    """out = a^T a, of which one triangle is computed. out: C-contiguous; its contents are ignored."""
    n, k = a.shape[1], a.shape[0]
    if out.shape[0] != n or out.shape[1] != n:
        raise ValueError("gram_into: the shapes do not fit")
    if n > _LARGEST or k > _LARGEST:
        raise ValueError("a matrix product of more than 2**31 - 1 rows or columns")
    if n < _SMALL and k < _SMALL or k == 0:
        for i in range(n):
            for j in range(i + 1):
                total = out.dtype.type(0)
                for p in range(k):
                    total += a[p, i] * a[p, j]
                out[i, j] = out[j, i] = total
        return
    how, step = _lies(a)
    if how == _SCATTERED:
        a, how, step = _packed(a), _AS_IT_LIES, n
    _routine("syrk", (_LOWER, how, n, k, 1.0, a, step, 0.0, out, n))
    for i in range(1, n):                                   # the lower triangle of BLAS is the upper one in rows
        for j in range(i):
            out[i, j] = out[j, i]


__all__ = ["add_outer_products", "as_rows", "conjugate_product", "gram", "in_parts", "matrix_matrix", "matrix_vector",
           "multiples", "provide"]
