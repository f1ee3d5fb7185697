"""Finite differences written with slices."""

import numpy as np

from .catalogue import program


@program(lambda r: (r.random(8), r.random(8)), wrt=(0, 1))
def jacobi_1d(A, B):
    for _ in range(3):
        B[1:-1] = 0.33333 * (A[:-2] + A[1:-1] + A[2:])
        A[1:-1] = 0.33333 * (B[:-2] + B[1:-1] + B[2:])
    return np.sum(A ** 2)


@program(lambda r: (r.random((5, 6)), r.random((5, 6))), wrt=(0, 1))
def jacobi_2d(A, B):
    for _ in range(1, 4):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])
    return np.sum(A * A) + B[2, 2]


@program(lambda r: (r.random((4, 4, 4)), 0.1), wrt=(0, 1))
def heat_3d(u, k):
    for _ in range(2):
        v = u.copy()
        u[1:-1, 1:-1, 1:-1] = v[1:-1, 1:-1, 1:-1] + k * (
            v[2:, 1:-1, 1:-1] + v[:-2, 1:-1, 1:-1] + v[1:-1, 2:, 1:-1] + v[1:-1, :-2, 1:-1]
            + v[1:-1, 1:-1, 2:] + v[1:-1, 1:-1, :-2] - 6.0 * v[1:-1, 1:-1, 1:-1])
    return np.sum(u ** 2)


@program(lambda r: (r.random((5, 5)), r.random((5, 5)), r.random((5, 5)), r.random(3)), wrt=(0, 1, 2, 3))
def fdtd_2d(ex, ey, hz, source):
    for t in range(len(source)):
        ey[0, :] = source[t]
        ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return np.sum(hz ** 2)


@program(lambda r: (r.random(8), r.standard_normal(8)), wrt=(0, 1))
def upwind_advection(u, c):
    for _ in range(3):
        left = u - np.roll(u, 1)
        right = np.roll(u, -1) - u
        u = u - 0.1 * np.where(c > 0.0, c * left, c * right)
    return np.sum(u ** 3)


@program(lambda r: (r.random((7, 7)), r.random((3, 3))), wrt=(0, 1))
def convolution_by_slices(image, kernel):
    n, m = image.shape
    k = kernel.shape[0]
    out = np.zeros((n - k + 1, m - k + 1))
    for a in range(k):
        for b in range(k):
            out += kernel[a, b] * image[a:a + n - k + 1, b:b + m - k + 1]
    return np.sum(np.tanh(out))


@program(lambda r: (r.random((6, 6)), r.random((3, 3))), wrt=(0, 1))
def convolution_by_windows(image, kernel):
    n, m = image.shape
    out = np.empty((n - 2, m - 2))
    for i in range(n - 2):
        for j in range(m - 2):
            out[i, j] = np.sum(image[i:i + 3, j:j + 3] * kernel)
    return np.sum(out ** 2)


@program(lambda r: (r.random((6, 6)),), twice=False)
def max_pooling(image):
    n, m = image.shape
    out = np.zeros((n // 2, m // 2))
    for i in range(n // 2):
        for j in range(m // 2):
            out[i, j] = np.max(image[2 * i:2 * i + 2, 2 * j:2 * j + 2])
    return np.sum(out ** 2)
