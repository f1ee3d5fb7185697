"""Factors of small matrices by loops, where the call of LAPACK takes longer than the work.

Matrices are square, of any memory layout and of real or complex elements. Gaussian elimination with partial pivoting, as in
LAPACK's getrf and getrs: the same pivots and layout of factors, results that differ in their last bits. Source: G. H. Golub,
C. F. Van Loan, Matrix Computations, 4th edition, algorithms 3.4.1 and 4.2.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

from .blas import _kept, as_rows

SMALL = 8                           # rows, at most; beyond, LAPACK is as fast
_MANY = 16                          # right-hand sides from which on they are copied for vectors
_BLOCK = 128                        # right-hand sides at a time: their rows stay in the first-level cache


@_kept
def fits(a):
    """Whether a matrix is square, and small."""
    return a.shape[0] <= SMALL and a.shape[1] == a.shape[0]


@_kept
def lu(a):
    """(factors, pivots): the columns of L and U as rows, and the row exchanged with each row."""
    n = a.shape[0]
    factors, pivots = np.empty((n, n), a.dtype), np.empty(n, np.int64)
    for i in range(n):
        for j in range(n):
            factors[j, i] = a[i, j]
    for k in range(n):
        pivot, most = k, np.abs(factors[k, k])
        for i in range(k + 1, n):
            size = np.abs(factors[k, i])
            if size > most:
                pivot, most = i, size
        pivots[k] = pivot
        if pivot != k:
            for j in range(n):
                factors[j, k], factors[j, pivot] = factors[j, pivot], factors[j, k]
        if most != 0.0:
            for i in range(k + 1, n):
                factors[k, i] /= factors[k, k]
            for j in range(k + 1, n):
                above = factors[j, k]
                for i in range(k + 1, n):
                    factors[j, i] -= factors[k, i] * above
    return factors, pivots


@_kept
def substitute(factors, pivots, x, trans):
    """The columns of x (n, count), right-hand sides, become solutions, of the transposed system if `trans`."""
    n = factors.shape[0]
    if trans:
        triangle_into(x, factors, x, True, False, False)
        triangle_into(x, factors, x, False, False, True)
        for k in range(n - 1, -1, -1):
            exchange(x, k, pivots[k])
    else:
        for k in range(n):
            exchange(x, k, pivots[k])
        triangle_into(x, factors, x, False, True, True)
        triangle_into(x, factors, x, True, True, False)


@register_jitable(error_model="numpy")
def exchange(x: Any, i: int, j: int) -> None:
    """Exchange two rows of x."""
    if i != j:
        for q in range(x.shape[1]):
            x[i, q], x[j, q] = x[j, q], x[i, q]


@_kept
def substitute_vector(factors, pivots, x, trans):
    """`substitute` for one right-hand side x (n,), operation by operation."""
    n = factors.shape[0]
    for k in range(0 if trans else n):
        x[k], x[pivots[k]] = x[pivots[k]], x[k]
    triangle_of_one(factors, x, trans, not trans, not trans)            # L has ones on its diagonal
    triangle_of_one(factors, x, not trans, not trans, trans)
    for k in range(n - 1 if trans else -1, -1, -1):
        x[k], x[pivots[k]] = x[pivots[k]], x[k]


@_kept
def triangle_into(out, a, b, lower, trans, unit):
    """The columns of `out` (n, count) become the solutions of t @ x = b, or t.T @ x = b if `trans`, for a triangle t of `a`.

    out: other memory than b, or the same. lower: the lower triangle, else the upper; unit: its diagonal is taken as ones.
    A zero on the diagonal is not looked for. As BLAS does, several right-hand sides are multiplied by the inverse of an
    element of the diagonal.
    """
    n, count = out.shape
    if count < _MANY:
        move(out, 0, b, 0, count)
        eliminate(a, out, count, lower, trans, unit)
        return
    rows = np.empty((n, min(count, _BLOCK)), out.dtype)           # where the numbers of a row lie side by side
    for start in range(0, count, _BLOCK):
        wide = min(count - start, _BLOCK)
        take(rows, b, start, wide)
        eliminate(a, rows, wide, lower, trans, unit)
        give(rows, out, start, wide)


@register_jitable(error_model="numpy")
def eliminate(a: Any, rows: Any, count: int, lower: bool, trans: bool, unit: bool) -> None:
    """`triangle_into` for the first columns of `rows`, in place."""
    n = rows.shape[0]
    forward = lower != trans
    for step in range(n):
        i = step if forward else n - 1 - step
        for before in range(step):
            j = before if forward else n - 1 - before
            factor = a[j, i] if trans else a[i, j]
            for q in range(count):
                rows[i, q] -= factor * rows[j, q]
        if not unit and rows.shape[1] == 1:
            rows[i, 0] /= a[i, i]
        elif not unit:
            factor = 1 / a[i, i]
            for q in range(count):
                rows[i, q] *= factor


@register_jitable(error_model="numpy")
def is_in_rows(a: Any) -> bool:
    """Whether the rows of a matrix lie one after the other without gaps."""
    return a.strides[1] == a.itemsize and a.strides[0] == a.shape[1] * a.itemsize


@register_jitable(error_model="numpy")
def take(rows: Any, b: Any, start: int, count: int) -> None:
    """Copy columns of b, from `start` on, to the first ones of `rows`."""
    if is_in_rows(b):
        move(rows, 0, as_rows(b), start, count)
    elif is_in_rows(b.T):
        move(rows, 0, as_rows(b.T).T, start, count)
    else:
        move(rows, 0, b, start, count)


@register_jitable(error_model="numpy")
def give(rows: Any, out: Any, start: int, count: int) -> None:
    """Copy the first columns of `rows` to those of `out` from `start` on."""
    if is_in_rows(out):
        move(as_rows(out), start, rows, 0, count)
    else:
        move(out, start, rows, 0, count)


@register_jitable(error_model="numpy")
def move(target: Any, first: int, source: Any, start: int, count: int) -> None:
    """Copy columns; places are unsigned, as LLVM does not know that they are not negative."""
    to, since = np.uint64(first), np.uint64(start)
    for i in range(target.shape[0]):
        for q in range(count):
            target[np.uint64(i), to + np.uint64(q)] = source[np.uint64(i), since + np.uint64(q)]


@register_jitable(error_model="numpy")
def triangle_of_one(a: Any, x: Any, lower: bool, trans: bool, unit: bool) -> None:
    """`triangle_into` for one right-hand side x (n,), in place."""
    n = x.shape[0]
    forward = lower != trans
    for step in range(n):
        i = step if forward else n - 1 - step
        for before in range(step):
            j = before if forward else n - 1 - before
            x[i] -= (a[j, i] if trans else a[i, j]) * x[j]
        if not unit:
            x[i] /= a[i, i]


@_kept
def is_regular(factors):
    """Whether no pivot is 0."""
    for i in range(factors.shape[0]):
        if factors[i, i] == 0.0:
            return False
    return True


@_kept
def determinant(a):
    factors, pivots = lu(a)
    product = a.dtype.type(1)
    for i in range(a.shape[0]):
        product *= factors[i, i] if pivots[i] == i else -factors[i, i]
    return product


@_kept
def cholesky(a, out):
    """Whether a real matrix, of which the lower triangle is read, is positive definite; `out` becomes its factor."""
    n = a.shape[0]
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= out[i, k] * out[j, k]
            if i == j:
                if not s > 0.0:
                    return False
                out[i, i] = np.sqrt(s)
            else:
                out[i, j] = s / out[j, j]
                out[j, i] = 0.0
    return True


__all__ = ["SMALL", "cholesky", "determinant", "fits", "is_regular", "lu", "substitute", "substitute_vector",
           "triangle_into", "triangle_of_one"]
