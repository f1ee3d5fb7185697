"""Programs written with explicit loops over arrays."""

import math

import numpy as np

from .catalogue import program


@program(lambda r: (r.random(6), 0.7), wrt=(0, 1))
def horner(c, x):
    """A polynomial by Horner's scheme."""
    y = 0.0
    for k in range(len(c) - 1, -1, -1):
        y = y * x + c[k]
    return y


@program(lambda r: (r.random(5),))
def rosenbrock(x):
    s = 0.0
    for i in range(x.shape[0] - 1):
        s += 100.0 * (x[i + 1] - x[i] ** 2) ** 2 + (1.0 - x[i]) ** 2
    return s


@program(lambda r: (r.standard_normal(6),))
def log_sum_exp(x):
    """log(sum(exp(x))) by the recurrence that keeps a running maximum."""
    m = x[0]
    s = 1.0
    for i in range(1, len(x)):
        if x[i] > m:
            s = s * math.exp(m - x[i]) + 1.0
            m = x[i]
        else:
            s += math.exp(x[i] - m)
    return m + math.log(s)


@program(lambda r: (r.random((5, 5)) + 5 * np.eye(5), r.random((5, 5))), wrt=(0, 1))
def lu_in_place(A, w):
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
            total += w[i, j] * A[i, j]
    return total


def positive(r, n):
    a = r.random((n, n))
    return a @ a.T + n * np.eye(n)


@program(lambda r: (positive(r, 4), r.random((4, 4))), wrt=(0,))
def cholesky_in_place(A, w):
    n = A.shape[0]
    for j in range(n):
        for k in range(j):
            A[j, j] -= A[j, k] * A[j, k]
        A[j, j] = math.sqrt(A[j, j])
        for i in range(j + 1, n):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
    total = 0.0
    for i in range(n):
        for j in range(i + 1):
            total += w[i, j] * A[i, j]
    return total


@program(lambda r: (r.random(5), 4 + r.random(5), r.random(5), r.random(5), r.random(5)), wrt=(0, 1, 2, 3))
def thomas(a, b, c, d, w):
    """Tridiagonal solve; the coefficients are overwritten."""
    n = len(d)
    for i in range(1, n):
        m = a[i] / b[i - 1]
        b[i] = b[i] - m * c[i - 1]
        d[i] = d[i] - m * d[i - 1]
    x = np.zeros(n)
    x[n - 1] = d[n - 1] / b[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = (d[i] - c[i] * x[i + 1]) / b[i]
    return np.sum(w * x)


@program(lambda r: (np.array([4.0, 1.5, 0.7, 0.3, 0.2]), r.random(5)), wrt=(0, 1))
def levinson_durbin(t, w):
    """Predictor coefficients of a symmetric Toeplitz matrix."""
    n = len(t)
    a = np.zeros(n)
    a[0] = 1.0
    e = t[0]
    for k in range(1, n):
        acc = 0.0
        for j in range(k):
            acc += a[j] * t[k - j]
        ref = -acc / e
        old = a.copy()
        for j in range(1, k + 1):
            a[j] = old[j] + ref * old[k - j]
        e *= 1.0 - ref * ref
    return np.dot(w, a) + e


@program(lambda r: (r.standard_normal((3, 2)), r.standard_normal((3, 2)) * 0.1, 1.0 + r.random(3)), wrt=(0, 1, 2))
def leapfrog(x, v, m):
    """Gravitating bodies in the plane, leapfrog steps."""
    n = x.shape[0]
    dt = 0.05
    for _ in range(3):
        for i in range(n):
            ax, ay = 0.0, 0.0
            for j in range(n):
                if j != i:
                    dx, dy = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1]
                    r2 = dx * dx + dy * dy + 0.1
                    f = m[j] / (r2 * math.sqrt(r2))
                    ax += f * dx
                    ay += f * dy
            v[i, 0] += dt * ax
            v[i, 1] += dt * ay
        x += dt * v
    return np.sum(x * x) + np.sum(v[:, 0])


@program(lambda r: (r.random((5, 5)), r.random((5, 5))), wrt=(0, 1))
def gauss_seidel(u, f):
    n, m = u.shape
    for _ in range(3):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - f[i, j] * u[i, j])
    return np.sum(u ** 2)


@program(lambda r: (np.arange(25).reshape(5, 5) % 3 == 0, r.random((5, 5)), 0.9), wrt=(1, 2))
def game_of_life_payoff(alive, payoff, discount):
    """Integer state, float payoff."""
    state = alive.astype(np.int64)
    n, m = state.shape
    total = 0.0
    weight = 1.0
    for _ in range(3):
        new = np.zeros_like(state)
        for i in range(n):
            for j in range(m):
                neighbours = 0
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        if di != 0 or dj != 0:
                            neighbours += state[(i + di) % n, (j + dj) % m]
                if neighbours == 3 or (state[i, j] == 1 and neighbours == 2):
                    new[i, j] = 1
                    total += weight * payoff[i, j] ** 2
        state = new
        weight *= discount
    return total


@program(lambda r: (r.random((4, 4)), r.random((4, 3))), wrt=(0,))
def soft_dtw(D, unused):
    """Soft dynamic time warping of a cost matrix."""
    n, m = D.shape
    R = np.full((n + 1, m + 1), 1e3)
    R[0, 0] = 0.0
    gamma = 0.5
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            a, b, c = -R[i - 1, j - 1] / gamma, -R[i - 1, j] / gamma, -R[i, j - 1] / gamma
            top = max(a, b, c)
            z = math.exp(a - top) + math.exp(b - top) + math.exp(c - top)
            R[i, j] = D[i - 1, j - 1] - gamma * (math.log(z) + top)
    return R[n, m]
