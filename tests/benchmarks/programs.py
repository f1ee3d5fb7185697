"""The programs measured, as a user writes them, and primals written by hand for Numba to compare with."""

from __future__ import annotations

import numpy as np
from numba import njit

by_hand = njit(error_model="numpy")


def stencil(A, B, steps):
    """Two half steps of a 5-point average, written with slices."""
    for _ in range(steps):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])
    return A.sum()


@by_hand
def stencil_loops(A, B, steps):
    """The loops most people write."""
    A, B = A.copy(), B.copy()
    n, m = A.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                A[i, j] = 0.2 * (B[i, j] + B[i, j - 1] + B[i, j + 1] + B[i + 1, j] + B[i - 1, j])
    return A.sum()


@by_hand
def stencil_expert(A, B, steps):
    """The same, counted from 0: no subscript can be negative, and LLVM vectorises."""
    A, B = A.copy(), B.copy()
    n, m = A.shape
    for _ in range(steps):
        for i in range(n - 2):
            for j in range(m - 2):
                B[i + 1, j + 1] = 0.2 * (A[i + 1, j + 1] + A[i + 1, j] + A[i + 1, j + 2] + A[i + 2, j + 1] + A[i, j + 1])
        for i in range(n - 2):
            for j in range(m - 2):
                A[i + 1, j + 1] = 0.2 * (B[i + 1, j + 1] + B[i + 1, j] + B[i + 1, j + 2] + B[i + 2, j + 1] + B[i, j + 1])
    return A.sum()


def lu(A):
    """In-place LU factors without pivoting."""
    n = A.shape[0]
    for i in range(n):
        for j in range(i):
            s = 0.0
            for k in range(j):
                s += A[i, k] * A[k, j]
            A[i, j] = (A[i, j] - s) / A[j, j]
        for j in range(i, n):
            s = 0.0
            for k in range(i):
                s += A[i, k] * A[k, j]
            A[i, j] -= s
    return A.sum()


def chain(x, w):
    return np.sum(np.sin(x) * np.exp(-w * x) + np.log(x) * w)


@by_hand
def chain_loop(x, w):
    s = 0.0
    for i in range(x.shape[0]):
        s += np.sin(x[i]) * np.exp(-w[i] * x[i]) + np.log(x[i]) * w[i]
    return s


def rosenbrock(x, y):
    return (1.0 - x) ** 2 + 100.0 * (y - x * x) ** 2


def rnn(W, x):
    h = np.zeros(W.shape[0])
    for t in range(x.shape[0]):
        h = np.tanh(W @ h + x[t])
    return np.sum(h)
