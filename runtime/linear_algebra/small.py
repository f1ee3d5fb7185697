"""Factors of small matrices by loops, where the call of LAPACK takes longer than the work.

Matrices are square, of any memory layout and of real or complex elements. Gaussian elimination with partial pivoting, as in
LAPACK's getrf and getrs: the same pivots and layout of factors, results that differ in their last bits. Source: G. H. Golub,
C. F. Van Loan, Matrix Computations, 4th edition, algorithms 3.4.1 and 4.2.2.
"""

from __future__ import annotations

import numpy as np

from .blas import _kept

SMALL = 8                           # rows, at most; beyond, LAPACK is as fast


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
    """Right-hand sides, the rows of x (count, n), become solutions, of the transposed system if `trans`."""
    n = factors.shape[0]
    for r in range(x.shape[0]):
        if trans:
            for k in range(n):
                for i in range(k):
                    x[r, k] -= factors[k, i] * x[r, i]
                x[r, k] /= factors[k, k]
            for k in range(n - 1, -1, -1):
                for i in range(k + 1, n):
                    x[r, k] -= factors[k, i] * x[r, i]
            for k in range(n - 1, -1, -1):
                x[r, k], x[r, pivots[k]] = x[r, pivots[k]], x[r, k]
        else:
            for k in range(n):
                x[r, k], x[r, pivots[k]] = x[r, pivots[k]], x[r, k]
            for k in range(n):
                for i in range(k + 1, n):
                    x[r, i] -= factors[k, i] * x[r, k]
            for k in range(n - 1, -1, -1):
                x[r, k] /= factors[k, k]
                for i in range(k):
                    x[r, i] -= factors[k, i] * x[r, k]


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


__all__ = ["SMALL", "cholesky", "determinant", "fits", "is_regular", "lu", "substitute"]
