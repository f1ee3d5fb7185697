"""Triangular, general and banded systems for generated code, the same in plain Python and inside compiled code.

Matrices are of floats or complex numbers, all operands of one dtype, of any memory layout, and never modified; arrays
returned are new and C-contiguous. Compiled code calls the LAPACK routines that `scipy.linalg.cython_lapack` exports, under
symbols that this module defines when it is imported. Nothing is checked for nan; singular matrices raise
`np.linalg.LinAlgError` where SciPy raises it.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
import numpy as np
import scipy.linalg
from numba import types
from numba.extending import overload
from scipy.linalg import cython_lapack

from .. import capsules
from ..failing import LinAlgErrorThere
from ..machine_code.kept import kept, kept_for, stands_for
from ..memory import assign
from . import small
from .linalg import _STRICT


def routine(name: str, count: int, letters: str = "sdcz") -> Any:
    """{dtype: LAPACK routine with `count` arguments, all pointers}, of the dtypes that these letters stand for."""
    found = {}
    for letter, dtype in (("s", types.float32), ("d", types.float64), ("c", types.complex64), ("z", types.complex128)):
        if letter not in letters:
            continue
        capsule = cython_lapack.__pyx_capi__[letter + name]
        symbol = f"autodiff_scipy_lapack_{letter}{name}"
        llvm.add_symbol(symbol, capsules.pointer(capsule, capsules.name_of(capsule)))
        found[dtype] = types.ExternalFunction(symbol, types.void(*[types.voidptr] * count))
    return found


_TRTRS, _GETRF, _GBSV = routine("trtrs", 10), routine("getrf", 6), routine("gbsv", 10)


def solve_triangular(a: Any, b: Any, lower: bool, trans: bool, unit: bool) -> Any:
    """The x with t @ x = b, or t.T @ x = b if `trans`, for a triangle t of `a` (n, n); b is (n,) or (n, k).

    lower: the lower triangle, else the upper one; the other is not read. unit: its diagonal is taken as ones, not read.
    LinAlgError for a zero on the diagonal.
    """
    return scipy.linalg.solve_triangular(a, b, trans=int(trans), lower=lower, unit_diagonal=unit, check_finite=False)


def solve_triangular_into(out: Any, a: Any, b: Any, lower: bool, trans: bool, unit: bool) -> None:
    """Set `out` to `solve_triangular(a, b, lower, trans, unit)`; it is other memory, or that of b."""
    out[...] = solve_triangular(a, b, lower, trans, unit)


@stands_for(solve_triangular_into)
def _solve_triangular_into(out, a, b, lower, trans, unit):
    return (_vector if b.ndim == 1 else _matrix), ()


@kept
def _vector(out, a, b, lower, trans, unit):
    if not small.fits(a):
        assign(out, _call_trtrs(a, b, lower, trans, unit))
        return
    if not unit and not small.is_regular(a):
        raise LinAlgErrorThere("Singular matrix")
    assign(out, b)
    small.triangle_of_one(a, out, lower, trans, unit)


@kept
def _matrix(out, a, b, lower, trans, unit):
    if b.size == 0:
        return
    if not small.fits(a):
        assign(out, _call_trtrs(a, b, lower, trans, unit))
        return
    if not unit and not small.is_regular(a):
        raise LinAlgErrorThere("Singular matrix")
    small.triangle_into(out, a, b, lower, trans, unit)


@kept_for(solve_triangular)
def _triangular(a, b, lower, trans, unit):
    x = np.empty(b.shape, b.dtype)
    solve_triangular_into(x, a, b, lower, trans, unit)
    return x


def _call_trtrs(a, b, lower, trans, unit):
    raise NotImplementedError


@overload(_call_trtrs, jit_options=_STRICT)
def _call_trtrs_compiled(a, b, lower, trans, unit):
    trtrs = _TRTRS[a.dtype]

    def compiled(a, b, lower, trans, unit):
        matrix = np.ascontiguousarray(a)                # LAPACK reads rows as columns: the transposed matrix
        solution = np.ascontiguousarray(b.T).copy()
        n = a.shape[0]
        flags = np.array([85 if lower else 76, 78 if trans else 84, 85 if unit else 78], np.uint8)      # U L, N T, U N
        sizes = np.array([n, solution.size // max(n, 1), max(n, 1), 0], np.int32)
        trtrs(flags[0:].ctypes, flags[1:].ctypes, flags[2:].ctypes, sizes[0:].ctypes, sizes[1:].ctypes, matrix.ctypes,
              sizes[2:].ctypes, solution.ctypes, sizes[2:].ctypes, sizes[3:].ctypes)
        if sizes[3] > 0:
            raise LinAlgErrorThere("Singular matrix")
        return np.ascontiguousarray(solution.T)
    return compiled


def lu_factor(a: Any) -> tuple[Any, Any]:
    """(lu, pivots) of `a` (m, n): both triangles in one matrix, and the row exchanged with each of the first (int64)."""
    if not a.size:
        return a.copy(), np.zeros(0, np.int64)
    packed, pivots, _ = scipy.linalg.get_lapack_funcs("getrf", (a,))(np.asarray(a))
    return np.ascontiguousarray(packed), pivots.astype(np.int64)


@kept_for(lu_factor)
def _factors(a):
    columns, pivots = call_getrf(a)
    return np.ascontiguousarray(columns.T), pivots


def call_getrf(a):
    """In compiled code: (the columns of L and U as rows, pivots) of `a`, as LAPACK leaves them."""
    raise NotImplementedError


@overload(call_getrf, jit_options=_STRICT)
def _call_getrf_compiled(a):
    getrf = _GETRF[a.dtype]

    def compiled(a):
        packed = np.ascontiguousarray(a.T).copy()
        m, n = a.shape
        pivots = np.zeros(min(m, n), np.int32)
        sizes = np.array([m, n, max(m, 1), 0], np.int32)
        getrf(sizes[0:].ctypes, sizes[1:].ctypes, packed.ctypes, sizes[2:].ctypes, pivots.ctypes, sizes[3:].ctypes)
        return packed, pivots.astype(np.int64) - 1
    return compiled


def solve_banded(ab: Any, b: Any, below: int, above: int) -> Any:
    """The x with m @ x = b for the matrix m (n, n) with `below` and `above` diagonals beside the main one.

    ab: (below + above + 1, n), m[i, j] being ab[above + i - j, j]; b: (n,) or (n, k). LinAlgError if m is singular.
    """
    return scipy.linalg.solve_banded((below, above), ab, b, check_finite=False)


@kept_for(solve_banded)
def _banded(ab, b, below, above):
    return _call_gbsv(ab, b, below, above)


def _call_gbsv(ab, b, below, above):
    raise NotImplementedError


@overload(_call_gbsv, jit_options=_STRICT)
def _call_gbsv_compiled(ab, b, below, above):
    gbsv = _GBSV[ab.dtype]

    def compiled(ab, b, below, above):
        n = ab.shape[1]
        columns = np.zeros((n, 2 * below + above + 1), ab.dtype)        # with room for what pivoting fills in
        columns[:, below:] = ab.T
        solution = np.ascontiguousarray(b.T).copy()
        pivots = np.zeros(n, np.int32)
        sizes = np.array([n, below, above, solution.size // max(n, 1), columns.shape[1], max(n, 1), 0], np.int32)
        gbsv(sizes[0:].ctypes, sizes[1:].ctypes, sizes[2:].ctypes, sizes[3:].ctypes, columns.ctypes, sizes[4:].ctypes,
             pivots.ctypes, solution.ctypes, sizes[5:].ctypes, sizes[6:].ctypes)
        if sizes[6] > 0:
            raise LinAlgErrorThere("Singular matrix")
        return np.ascontiguousarray(solution.T)
    return compiled


__all__ = ["call_getrf", "lu_factor", "routine", "solve_banded", "solve_triangular", "solve_triangular_into"]
