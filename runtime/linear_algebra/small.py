"""Factors of small matrices by loops, where the call of LAPACK takes longer than the work.

Matrices are square, of any memory layout and of real or complex elements. Gaussian elimination with partial pivoting, as in
LAPACK's getrf and getrs: the same pivots and layout of factors, results that differ in their last bits. Source: G. H. Golub,
C. F. Van Loan, Matrix Computations, 4th edition, algorithms 3.4.1 and 4.2.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable

from .blas import _kept

SMALL = 8                           # rows, at most; beyond, LAPACK is as fast
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
        triangle(factors, x, True, False, False)
        triangle(factors, x, False, False, True)
        for k in range(n - 1, -1, -1):
            exchange(x, k, pivots[k])
    else:
        for k in range(n):
            exchange(x, k, pivots[k])
        triangle(factors, x, False, True, True)
        triangle(factors, x, True, True, False)


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
    for forward in (True, False):
        for step in range(n):
            i = step if forward else n - 1 - step
            for before in range(step):
                j = before if forward else n - 1 - before
                x[i] -= (factors[i, j] if trans else factors[j, i]) * x[j]
            if forward == trans:                        # L has ones on its diagonal
                x[i] /= factors[i, i]
    for k in range(n - 1 if trans else -1, -1, -1):
        x[k], x[pivots[k]] = x[pivots[k]], x[k]


@_kept
def triangle(a, x, lower, trans, unit):
    """The columns of x (n, count) become the solutions of t @ x = x, or t.T @ x = x if `trans`, for a triangle t of `a`.

    lower: the lower triangle, else the upper one; unit: its diagonal is taken as ones. A zero on the diagonal is not looked
    for. As BLAS does, several right-hand sides are multiplied by the inverse of an element of the diagonal.
    """
    n, count = x.shape
    forward = lower != trans
    for start in range(0, count, _BLOCK):
        stop = min(start + _BLOCK, count)
        for step in range(n):
            i = step if forward else n - 1 - step
            for before in range(step):
                j = before if forward else n - 1 - before
                factor = a[j, i] if trans else a[i, j]
                for q in range(start, stop):
                    x[i, q] -= factor * x[j, q]
            if not unit and count == 1:
                x[i, 0] /= a[i, i]
            elif not unit:
                factor = 1 / a[i, i]
                for q in range(start, stop):
                    x[i, q] *= factor


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
           "triangle"]
