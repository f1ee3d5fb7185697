"""Factorisations by loops, in place."""

import math

import numpy as np

from .benchmark import also, benchmark, by_hand, exact


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


lu_in_place = exact(lu)


@exact
def lu_primal(A):
    return lu_in_place(A.copy())


@by_hand
def lu_adjoint(A):
    """Each value that is read is final when it is read: the reverse sweep needs the factors alone."""
    A = A.copy()
    value = lu_in_place(A)
    n = A.shape[0]
    A_bar = np.ones_like(A)
    for i in range(n - 1, -1, -1):
        for j in range(n - 1, i - 1, -1):
            s_bar = -A_bar[i, j]
            for k in range(i):
                A_bar[i, k] += s_bar * A[k, j]
                A_bar[k, j] += s_bar * A[i, k]
        for j in range(i - 1, -1, -1):
            q_bar = A_bar[i, j] / A[j, j]
            A_bar[j, j] -= q_bar * A[i, j]
            A_bar[i, j] = q_bar
            for k in range(j):
                A_bar[i, k] -= q_bar * A[k, j]
                A_bar[k, j] -= q_bar * A[i, k]
    return value, A_bar


def dominant(r, tiny, n=60):
    n = 5 if tiny else n
    return (r.random((n, n)) + n * np.eye(n),)


benchmark("LU in place by loops", lu, dominant, (0,), primals=(lu_primal,), adjoint=lu_adjoint, writes=(0,))


@also("LU in place by loops", "jax")
def lu_jax(jax):
    """Rewritten by row operations, one outer product a step."""
    jnp = jax.numpy

    def loss(A):
        n = A.shape[0]
        at = jnp.arange(n)

        def step(A, k):
            column = jnp.where(at > k, A[:, k] / A[k, k], 0.0)
            A = A - column[:, None] * jnp.where(at > k, A[k], 0.0)[None]
            return A.at[:, k].set(jnp.where(at > k, column, A[:, k])), None
        return jax.lax.scan(step, A, at)[0].sum()
    return loss


@also("LU in place by loops", "torch")
def lu_torch(torch):
    """Rewritten by row operations, one outer product a step."""
    def loss(A):
        for k in range(A.shape[0] - 1):
            column = A[k + 1:, k] / A[k, k]
            new = A.clone()
            new[k + 1:, k] = column
            new[k + 1:, k + 1:] = A[k + 1:, k + 1:] - column[:, None] * A[k, k + 1:]
            A = new
        return A.sum()
    return loss


def cholesky(A, w):
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


def positive(r, tiny, n=100):
    n = 5 if tiny else n
    a = r.random((n, n))
    return a @ a.T + n * np.eye(n), r.random((n, n))


@by_hand
def cholesky_adjoint(A, w):
    """From the factor alone; each column is undone by two sums of rows."""
    n, total = len(A), 0.0
    L, A_bar, w_bar = np.empty_like(A), np.zeros_like(A), np.zeros_like(A)
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j]
            for k in range(j):
                s -= L[i, k] * L[j, k]
            L[i, j] = s / L[j, j] if j < i else math.sqrt(s)
            total += w[i, j] * L[i, j]
            A_bar[i, j], w_bar[i, j] = w[i, j], L[i, j]
    for i in range(n - 1, -1, -1):
        row, bar = L[i], A_bar[i]
        bar[i] /= 2.0 * row[i]
        for k in range(i):
            bar[k] -= 2.0 * bar[i] * row[k]
        for j in range(i - 1, -1, -1):
            q, other, other_bar = bar[j] / L[j, j], L[j], A_bar[j]
            bar[j] = q
            other_bar[j] -= q * row[j]
            for k in range(j):
                bar[k] -= q * other[k]
                other_bar[k] -= q * row[k]
    return total, A_bar, w_bar


benchmark("Cholesky in place by loops", cholesky, positive, (0, 1), adjoint=cholesky_adjoint, writes=(0,))


def gauss_solve(A, b):
    """Elimination without pivoting and back substitution, in place."""
    n = len(b)
    for k in range(n - 1):
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= f * A[k, j]
            b[i] -= f * b[k]
    for i in range(n - 1, -1, -1):
        s = b[i]
        for j in range(i + 1, n):
            s -= A[i, j] * b[j]
        b[i] = s / A[i, i]
    return np.sum(b ** 2)


def system(r, tiny, n=100):
    n = 5 if tiny else n
    return r.random((n, n)) + n * np.eye(n), r.random(n)


@by_hand
def gauss_adjoint(A, b):
    """The cotangent of b solves the transposed system, with the same factors; that of A is an outer product."""
    A, x, n = A.copy(), b.copy(), len(b)
    for k in range(n - 1):
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            A[i, k] = f
            for j in range(k + 1, n):
                A[i, j] -= f * A[k, j]
            x[i] -= f * x[k]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= A[i, j] * x[j]
        x[i] /= A[i, i]
    b_bar = 2.0 * x
    for i in range(n):
        b_bar[i] /= A[i, i]
        for j in range(i + 1, n):
            b_bar[j] -= A[i, j] * b_bar[i]
    for i in range(n - 1, 0, -1):
        for j in range(i):
            b_bar[j] -= A[i, j] * b_bar[i]
    for i in range(n):
        for j in range(n):
            A[i, j] = -b_bar[i] * x[j]
    return x @ x, A, b_bar


benchmark("Gauss elimination by loops", gauss_solve, system, (0, 1), adjoint=gauss_adjoint, writes=(0, 1))


def triangular_solve(L, b):
    n = len(b)
    x = np.zeros(n)
    for i in range(n):
        s = 0.0
        for j in range(i):
            s += L[i, j] * x[j]
        x[i] = (b[i] - s) / L[i, i]
    return np.sum(x ** 2)


@by_hand
def triangular_adjoint(L, b):
    """The transposed solve runs along rows too, and writes the cotangent of each row that it has read."""
    n = len(b)
    x, L_bar = np.empty(n), np.empty_like(L)
    for i in range(n):
        s = b[i]
        for j in range(i):
            s -= L[i, j] * x[j]
        x[i] = s / L[i, i]
    b_bar = 2.0 * x
    for i in range(n - 1, -1, -1):
        b_bar[i] /= L[i, i]
        for j in range(i):
            b_bar[j] -= b_bar[i] * L[i, j]
        for j in range(i + 1):
            L_bar[i, j] = -b_bar[i] * x[j]
        for j in range(i + 1, n):
            L_bar[i, j] = 0.0
    return x @ x, L_bar, b_bar


benchmark("triangular solve by loops", triangular_solve, lambda r, tiny: system(r, tiny, 1000), (0, 1),
          adjoint=triangular_adjoint)


def gram_schmidt(A, w):
    Q = np.zeros_like(A)
    R = np.zeros((A.shape[1], A.shape[1]))
    for k in range(A.shape[1]):
        R[k, k] = np.sqrt(np.dot(A[:, k], A[:, k]))
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return np.sum(w * Q) + np.sum(R)


def tall(r, tiny):
    n, m = (6, 3) if tiny else (240, 60)
    return r.random((n, m)), r.random((n, m))


@by_hand
def gram_schmidt_adjoint(A, w):
    """By rows of the transpose. A_bar R.T = Q_bar + Q S, S symmetric with R R_bar.T - Q_bar.T Q in its lower triangle;
    R_bar is 1 in the upper triangle, so that R R_bar.T has the sum of a row of R in all of a row's lower triangle."""
    n, m = A.shape
    Q, R, total = np.empty((m, n)), np.zeros((m, m)), 0.0
    Q[:] = A.T
    for k in range(m):
        q = Q[k]
        R[k, k] = np.sqrt(q @ q)
        for i in range(n):
            q[i] /= R[k, k]
        for j in range(k + 1, m):
            s, column = 0.0, Q[j]
            for i in range(n):
                s += q[i] * column[i]
            for i in range(n):
                column[i] -= s * q[i]
            R[k, j] = s
    S = Q @ w
    for i in range(m):
        total += S[i, i]
        row = np.sum(R[i])
        total += row
        for j in range(i + 1):
            S[i, j] = S[j, i] = row - S[j, i]
    X = S @ Q
    X += w.T
    for k in range(m - 1, -1, -1):
        x = X[k]
        for j in range(k + 1, m):
            for i in range(n):
                x[i] -= R[k, j] * X[j, i]
        for i in range(n):
            x[i] /= R[k, k]
    return total, X.T.copy(), Q.T.copy()


benchmark("Gram-Schmidt by columns", gram_schmidt, tall, (0, 1), adjoint=gram_schmidt_adjoint, writes=(0,))
