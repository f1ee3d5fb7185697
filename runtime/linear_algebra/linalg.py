"""Dense linear algebra for generated code, the same in plain Python and inside compiled code.

Matrices are two-dimensional, float32 or float64, all operands of one dtype, of any memory layout. Operands
are never modified; arrays returned are new and C-contiguous. Compiled code calls BLAS and LAPACK (through
SciPy) and raises `np.linalg.LinAlgError` where NumPy does, in its words. As in NumPy, a matrix
that holds nan or infinity is no error; the whole result is nan, where NumPy can leave parts of it finite.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from ..failing import LinAlgErrorThere
from ..machine_code.kept import kept_for, stands_for
from . import blas, lanes, small
from .blas import _kept

_STRICT: Any = {"error_model": "numpy", "fastmath": False}


# ---- products ------------------------------------------------------------------------------------

def matmul_into(out: Any, a: Any, b: Any) -> None:
    """Set `out` to a @ b, for matrix @ matrix, matrix @ vector, or vector @ matrix.

    out: of the shape and dtype of the product, sharing no memory with `a` or `b`; its old contents are
    ignored. A transposed operand (`a.T`) is read where it lies. Raises ValueError if the shapes do not fit.
    """
    np.matmul(a, b, out=out)


@stands_for(matmul_into)
def _matmul_into(out, a, b):
    return _product(out, a, b, 0.0)


def add_matmul(out: Any, a: Any, b: Any) -> None:
    """Add a @ b to `out`, which is as for `matmul_into`."""
    out += a @ b


@stands_for(add_matmul)
def _add_matmul(out, a, b):
    return _product(out, a, b, 1.0)


def _product(out, a, b, keep):
    """What computes out = a @ b + keep * out, and what it is given besides the arrays."""
    ranks = getattr(a, "ndim", 0), getattr(b, "ndim", 0)
    if ranks not in _PRODUCTS:
        return None
    if ranks == (2, 2) and isinstance(a.dtype, types.Float) and out.dtype == a.dtype == b.dtype:
        return lanes.matrix_matrix, (keep,)
    return (_PRODUCTS if isinstance(a.dtype, types.Float | types.Complex) else _BY_LOOPS)[ranks], (keep,)


def block_product_into(out: Any, a: Any, b: Any) -> None:
    """As `matmul_into` of matrices, one of several in a loop: in parts that one thread computes, unless it is large."""
    np.matmul(a, b, out=out)


@stands_for(block_product_into)
def _block_product_into(out, a, b):
    return blas.in_parts, (0.0,)


def add_block_product(out: Any, a: Any, b: Any) -> None:
    """Add a @ b to `out`, as `block_product_into`."""
    out += a @ b


@stands_for(add_block_product)
def _add_block_product(out, a, b):
    return blas.in_parts, (1.0,)


def multiples_into(out: Any, a: Any, b: Any) -> None:
    """The same, where a zero of `a` makes 0 of whatever it is multiplied by, as if it were not there; `out` may be a
    transposed matrix."""
    out[...] = 0.0
    add_multiples(out, a, b)


@stands_for(multiples_into)
def _multiples_into(out, a, b):
    return blas.multiples, (0.0,)


def add_multiples(out: Any, a: Any, b: Any) -> None:
    """Add a @ b to `out`, which is as for `multiples_into`."""
    if np.isfinite(b).all():
        out += a @ b
        return
    for k in range(b.shape[0]):
        for i in np.flatnonzero(a[:, k]):
            out[i] += a[i, k] * b[k]


@stands_for(add_multiples)
def _add_multiples(out, a, b):
    return blas.multiples, (1.0,)


def add_outer_products(out: Any, columns: Any, rows: Any) -> None:
    """Add the outer product of columns[t] and rows[t] to `out`, for each t: columns.T @ rows, C-contiguous all of them."""
    out += columns.T @ rows


@stands_for(add_outer_products)
def _add_outer_products(out, columns, rows):
    return blas.add_outer_products, ()


def gram_into(out: Any, a: Any) -> None:
    """Set `out` to a.T @ a, symmetric to the last bit. out: C-contiguous, of the dtype of `a`, sharing no memory with it."""
    np.matmul(a.T, a, out=out)


@stands_for(gram_into)
def _gram_into(out, a):
    return blas.gram, ()


@_kept
def _matrix_matrix(out, a, b, keep):
    if a.shape[1] != b.shape[0] or out.shape[0] != a.shape[0] or out.shape[1] != b.shape[1]:
        raise ValueError("matmul_into: the shapes do not fit")
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = out.dtype.type(0)
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            out[i, j] = total if keep == 0.0 else out[i, j] + total


@_kept
def _matrix_vector(out, a, b, keep):
    if a.shape[1] != b.shape[0] or out.shape[0] != a.shape[0]:
        raise ValueError("matmul_into: the shapes do not fit")
    for i in range(a.shape[0]):
        total = out.dtype.type(0)
        for k in range(a.shape[1]):
            total += a[i, k] * b[k]
        out[i] = total if keep == 0.0 else out[i] + total


@_kept
def _vector_matrix(out: Any, a: Any, b: Any, keep: float) -> None:
    _matrix_vector(out, b.T, a, keep)


@_kept
def _vector_matrix_product(out: Any, a: Any, b: Any, keep: float) -> None:
    blas.matrix_vector(out, b.T, a, keep)


_PRODUCTS = {(2, 2): blas.matrix_matrix, (2, 1): blas.matrix_vector, (1, 2): _vector_matrix_product}
_BY_LOOPS = {(2, 2): _matrix_matrix, (2, 1): _matrix_vector, (1, 2): _vector_matrix}


# ---- systems of equations ------------------------------------------------------------------------

def solve(a: Any, b: Any) -> Any:
    """The x with a @ x = b; b is a vector or a matrix. LinAlgError if `a` is singular or not square."""
    return np.linalg.solve(a, b)


@stands_for(solve)
def _solve(a, b):
    return (_solve_vector if b.ndim == 1 else _solve_matrix), ()


@_kept
def _solve_vector(a, b):
    if not (_is_finite_matrix(a) and _is_finite_vector(b)):
        return _no_solution(a, b)
    return _small_solution(a, b) if small.fits(a) and b.shape[0] == a.shape[0] else _solution(a, b)


@_kept
def _small_solution(a, b):
    factors, pivots = small.lu(a)
    if not small.is_regular(factors):
        raise LinAlgErrorThere("Singular matrix")
    x = b.copy()
    small.substitute_vector(factors, pivots, x, False)
    return x


@_kept
def _solve_matrix(a, b):
    return _solution(a, b) if _is_finite_matrix(a) and _is_finite_matrix(b) else _no_solution(a, b)


@register_jitable(**_STRICT)
def _no_solution(a: Any, b: Any) -> Any:
    _check_square(a)
    return np.full(b.shape, np.nan, b.dtype)


@_kept
def _solution(a, b):
    x, found = np.empty(b.shape, b.dtype), True
    n = a.shape[0]
    if small.fits(a) and b.shape[0] == n:
        factors, pivots = small.lu(a)
        found = small.is_regular(factors)
        if found:
            x = b.copy()
            small.substitute(factors, pivots, x.reshape((n, b.size // max(n, 1))), False)
    else:
        try:                            # Numba says it in other words
            x = np.ascontiguousarray(np.linalg.solve(a, b))
        except Exception:
            found = False
    if not found:
        raise LinAlgErrorThere("Singular matrix")
    return x


def inv(a: Any) -> Any:
    """The inverse of `a`. LinAlgError if `a` is singular or not square."""
    return np.linalg.inv(a)


@kept_for(inv)
def _inverse(a):
    if not _is_finite_matrix(a):
        _check_square(a)
        return np.full(a.shape, np.nan, a.dtype)
    return _small_inverse(a) if small.fits(a) else _large_inverse(a)


@_kept
def _small_inverse(a):
    factors, pivots = small.lu(a)
    if not small.is_regular(factors):
        raise LinAlgErrorThere("Singular matrix")
    x = np.eye(a.shape[0], dtype=a.dtype)
    small.substitute(factors, pivots, x, False)
    return x


@_kept
def _large_inverse(a):
    x, found = np.empty((0, 0), a.dtype), True
    try:
        x = np.ascontiguousarray(np.linalg.inv(a))
    except Exception:
        found = False
    if not found:
        raise LinAlgErrorThere("Singular matrix")
    return x


def _takes(function: Any, a: Any) -> float:
    try:
        function(a)
    except np.linalg.LinAlgError:
        return 0.0
    return 1.0


def is_invertible(a: Any) -> float:
    """1 where `inv` and `solve` take the matrix `a`, 0 where they raise LinAlgError."""
    return _takes(np.linalg.inv, a)


@kept_for(is_invertible)
def _is_invertible(a):
    if small.fits(a):
        return 1.0 if not _is_finite_matrix(a) or small.is_regular(small.lu(a)[0]) else 0.0
    return 0.0 if np.linalg.slogdet(np.ascontiguousarray(a))[0] == 0.0 else 1.0


def is_positive_definite(a: Any) -> float:
    """1 where `cholesky` takes the matrix `a`, 0 where it raises LinAlgError."""
    return _takes(np.linalg.cholesky, a)


@kept_for(is_positive_definite)
def _is_positive_definite(a):
    if not _is_finite_matrix(a):
        return 1.0
    try:
        _factor(a)
    except Exception:
        return 0.0
    return 1.0


def cholesky(a: Any) -> Any:
    """The lower triangular L with L @ L.T = a; reads the lower triangle of `a`.

    LinAlgError if `a` is not positive definite or not square.
    """
    return np.linalg.cholesky(a)


@kept_for(cholesky)
def _cholesky(a):
    return _factor(a)


def _factor(a):
    raise NotImplementedError


@overload(_factor, jit_options=_STRICT)
def _factor_compiled(a):
    if isinstance(a.dtype, types.Complex):
        return lambda a: _large_factor(a)
    return lambda a: _small_factor(a) if small.fits(a) else _large_factor(a)


@_kept
def _small_factor(a):
    x = np.empty(a.shape, a.dtype)
    if not small.cholesky(a, x):
        raise LinAlgErrorThere("Matrix is not positive definite")
    return x


@_kept
def _large_factor(a):
    x, found = np.empty((0, 0), a.dtype), True
    try:
        x = np.ascontiguousarray(np.linalg.cholesky(a))
    except Exception:
        found = False
    if not found:
        raise LinAlgErrorThere("Matrix is not positive definite")
    return x


def det(a: Any) -> Any:
    """The determinant of `a`, in its dtype. LinAlgError if `a` is not square."""
    return np.linalg.det(a)


@kept_for(det)
def _determinant(a):
    if not _is_finite_matrix(a):
        _check_square(a)
        return a.dtype.type(np.nan)
    return a.dtype.type(small.determinant(a) if small.fits(a) else np.linalg.det(a))


def slogdet(a: Any) -> tuple[Any, Any]:
    """The sign and the logarithm of the absolute value of det(a); (0, -inf) for a singular `a`."""
    sign, logarithm = np.linalg.slogdet(a)
    return sign, logarithm


@kept_for(slogdet)
def _log_determinant(a):
    if not _is_finite_matrix(a):
        _check_square(a)
        return a.dtype.type(1), a.dtype.type(np.nan)
    sign, logarithm = np.linalg.slogdet(a)
    return a.dtype.type(sign), a.dtype.type(logarithm)


@register_jitable(**_STRICT)
def _check_square(a: Any) -> None:
    if a.shape[0] != a.shape[1]:
        raise LinAlgErrorThere("Last 2 dimensions of the array must be square.")


@register_jitable(**_STRICT)
def _is_finite_matrix(a: Any) -> bool:
    for i in range(a.shape[0]):             # a third of the compile time of np.isfinite(a).all()
        for j in range(a.shape[1]):
            if not np.isfinite(a[i, j]):
                return False
    return True


@register_jitable(**_STRICT)
def _is_finite_vector(a: Any) -> bool:
    for i in range(a.shape[0]):
        if not np.isfinite(a[i]):
            return False
    return True
