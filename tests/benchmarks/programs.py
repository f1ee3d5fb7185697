"""The programs that are timed, and the hand-written primals they are compared with."""

import numba
import numpy as np

FAST = {"contract", "reassoc", "nsz", "arcp"}


def stencil(A, B, steps):
    for _ in range(steps):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])
    return A.sum()


@numba.njit(fastmath=FAST, error_model="numpy")
def stencil_by_hand(A, B, steps):
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


def lu(A):
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
    total = 0.0
    for i in range(n):
        for j in range(n):
            total += A[i, j]
    return total


lu_jitted = numba.njit(error_model="numpy")(lu)


def lu_by_hand(A):
    return lu_jitted(A.copy())


def chain(x, w):
    return np.sum(np.sin(x) * np.exp(-w * x) + np.log(x) * w)


@numba.njit(error_model="numpy")
def chain_by_hand(x, w):
    s = 0.0
    for i in range(x.shape[0]):
        s += np.sin(x[i]) * np.exp(-w[i] * x[i]) + np.log(x[i]) * w[i]
    return s


def rosenbrock(x, y):
    return (1.0 - x) ** 2 + 100.0 * (y - x * x) ** 2


rosenbrock_jitted = numba.njit(error_model="numpy")(rosenbrock)


def rnn(W, xs):
    h = np.zeros(W.shape[0])
    for t in range(xs.shape[0]):
        h = np.tanh(W @ h + xs[t])
    return h.sum()


TWENTY_LINES = '''
import math, sys, time
import numba
start = time.perf_counter()
import numpy as np
from autodiff import grad

def model(p, x, y):
    a, b, c = p[0], p[1], p[2]
    total = 0.0
    for i in range(x.shape[0]):
        u = a * math.exp(-b * x[i])
        if u > c:
            v = u - c * math.sin(u)
        else:
            v = c * u
        w = v * v + 0.1
        for k in range(3):
            w = w + 0.5 * math.tanh(w * x[i])
        r = y[i] - w
        if r < 0.0:
            total += 2.0 * r * r
        else:
            total += r * r
    penalty = 0.0
    for j in range(p.shape[0]):
        penalty += p[j] ** 2
    return total + 0.01 * penalty

x = np.linspace(0.0, 1.0, 50)
grad(model)(np.array([1.0, 0.5, 0.3]), x, np.cos(x))
print(time.perf_counter() - start)
'''


def smooth(x, k):
    for _ in range(3):
        x = x + k * x * x
    return x


def mixture(alphas, means, factors, x):
    """The log-likelihood of a Gaussian mixture with triangular factors of the inverse covariances, packed by rows."""
    K, d = means.shape
    diagonal = np.exp(factors[:, :d])
    logs = np.sum(factors[:, :d], axis=1)
    total = 0.0
    for i in range(len(x)):
        terms = np.empty(K)
        for k in range(K):
            square = 0.0
            for a in range(d):
                v = diagonal[k, a] * (x[i, a] - means[k, a])
                for b in range(a):
                    v += factors[k, d + a * (a - 1) // 2 + b] * (x[i, b] - means[k, b])
                square += v * v
            terms[k] = alphas[k] + logs[k] - 0.5 * square
        top = terms.max()
        total += top + np.log(np.sum(np.exp(terms - top)))
    return total
