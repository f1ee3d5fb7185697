"""Systems with one matrix and several right-hand sides: the matrix is factored once.

Matrices are square, float32 or float64, of any memory layout. What `np.linalg.solve` would do in one call (LAPACK's gesv:
getrf, then getrs) is done in two, with the same results: a matrix or right-hand side that holds nan or infinity gives nan
everywhere, and a singular matrix raises `np.linalg.LinAlgError` where a system is solved, not where it is factored.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from numba.extending import overload

from ..failing import LinAlgErrorThere
from ..machine_code.kept import kept_for, stands_for
from ..memory import assign
from . import small
from .lapack import call_getrf, routine
from .linalg import _STRICT, _is_finite_matrix, _is_finite_vector, _kept

_GETRS = routine("getrs", 9)


def factored(a: Any) -> tuple[Any, Any]:
    """(factors, pivots) of the matrix `a` (n, n), for `solve_factored_into`: the columns of L and U as rows, and the row
    exchanged with each row."""
    if not np.isfinite(a).all():
        return np.full(a.shape, np.nan, a.dtype), np.arange(len(a))
    packed, pivots, _ = scipy.linalg.get_lapack_funcs("getrf", (a,))(a)
    return np.ascontiguousarray(packed.T), pivots.astype(np.int64)


@kept_for(factored)
def _factors(a):
    if not _is_finite_matrix(a):
        return np.full(a.shape, np.nan, a.dtype), np.arange(a.shape[0])
    if small.fits(a):
        return small.lu(a)
    return call_getrf(a)


def solve_factored_into(out: Any, factors: Any, pivots: Any, b: Any, trans: bool) -> None:
    """Set `out` to the x with a @ x = b, or a.T @ x = b if `trans`; b is (n,) or (n, k). LinAlgError if `a` is singular."""
    if np.isnan(factors).all() or not np.isfinite(b).all():
        out[...] = np.nan
        return
    if not np.diagonal(factors).all():
        raise LinAlgErrorThere("Singular matrix")
    getrs = scipy.linalg.get_lapack_funcs("getrs", (factors,))
    out[...] = getrs(factors.T, pivots, b, trans=int(trans))[0] if out.size else 0.0


@stands_for(solve_factored_into)
def _solve_factored_into(out, factors, pivots, b, trans):
    return (_vector if b.ndim == 1 else _matrix), ()


@_kept
def _vector(out, factors, pivots, b, trans):
    if not _is_finite_vector(b) or not _usable(factors):
        out.fill(np.nan)
    elif small.fits(factors):
        assign(out, b)
        small.substitute_vector(factors, pivots, out, trans)
    else:
        solution = b.copy()
        _call_getrs(factors, pivots, solution, trans)
        assign(out, solution)


@_kept
def _matrix(out, factors, pivots, b, trans):
    if not _is_finite_matrix(b) or not _usable(factors):
        assign(out, np.full(b.shape, np.nan, b.dtype))
    elif small.fits(factors):
        assign(out, b)
        small.substitute(factors, pivots, out, trans)
    else:
        solution = np.ascontiguousarray(b.T).copy()
        _call_getrs(factors, pivots, solution, trans)
        assign(out, solution.T)


@_kept
def _usable(factors):
    """Whether there is a solution; False if nan stands for it. LinAlgError if the matrix is singular."""
    n = factors.shape[0]
    if n > 0 and np.isnan(factors[0, 0]) and np.isnan(factors[n - 1, n - 1]):
        return False
    for i in range(n):
        if factors[i, i] == 0.0:
            raise LinAlgErrorThere("Singular matrix")
    return True


def _call_getrs(factors, pivots, solution, trans):
    raise NotImplementedError


@overload(_call_getrs, jit_options=_STRICT)
def _call_getrs_compiled(factors, pivots, solution, trans):
    getrs = _GETRS[factors.dtype]

    def compiled(factors, pivots, solution, trans):
        n = factors.shape[0]
        flag = np.array([84 if trans else 78], np.uint8)            # T N
        order = (pivots + 1).astype(np.int32)
        sizes = np.array([n, solution.size // max(n, 1), max(n, 1), 0], np.int32)
        getrs(flag.ctypes, sizes[0:].ctypes, sizes[1:].ctypes, factors.ctypes, sizes[2:].ctypes, order.ctypes,
              solution.ctypes, sizes[2:].ctypes, sizes[3:].ctypes)
    return compiled


__all__ = ["factored", "solve_factored_into"]
