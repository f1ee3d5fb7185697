"""Matrices walked by columns, and products with one matrix in every step of a loop."""

import numpy as np

from .benchmark import also, benchmark, by_hand


def coordinate_descent(X, y, shrink, sweeps):
    """Least squares with a penalty on absolute values, one coordinate after the other (T. T. Wu and K. Lange, Coordinate
    descent algorithms for lasso penalized regression, Annals of Applied Statistics 2008)."""
    w, r = np.zeros(X.shape[1]), y.copy()
    for _ in range(sweeps):
        for j in range(X.shape[1]):
            square = np.dot(X[:, j], X[:, j])
            rho = np.dot(X[:, j], r) + w[j] * square
            new = np.sign(rho) * max(abs(rho) - shrink, 0.0) / square
            r -= X[:, j] * (new - w[j])
            w[j] = new
    return np.sum(r * r) + shrink * np.sum(np.abs(w))


@by_hand
def descent(X, y, shrink, sweeps, tape):
    """On the transpose; tape: rho of each step."""
    p, n = X.shape
    w, r, squares = np.zeros(p), y.copy(), np.empty(p)
    for j in range(p):
        squares[j] = X[j] @ X[j]
    for k in range(sweeps):
        for j in range(p):
            rho = X[j] @ r + w[j] * squares[j]
            new = np.sign(rho) * max(abs(rho) - shrink, 0.0) / squares[j]
            tape[k, j] = rho
            step, x = new - w[j], X[j]
            for i in range(n):
                r[i] -= x[i] * step
            w[j] = new
    return w, r, squares


@by_hand
def coordinate_descent_primal(X, y, shrink, sweeps):
    w, r, _ = descent(X.T.copy(), y, shrink, sweeps, np.empty((sweeps, X.shape[1])))
    return np.sum(r * r) + shrink * np.sum(np.abs(w))


@by_hand
def coordinate_descent_adjoint(X, y, shrink, sweeps):
    """Residuals are undone, not recorded."""
    X = X.T.copy()
    p, n = X.shape
    tape = np.empty((sweeps, p))
    w, r, squares = descent(X, y, shrink, sweeps, tape)
    value = np.sum(r * r) + shrink * np.sum(np.abs(w))
    X_bar, squares_bar, shrink_bar = np.zeros_like(X), np.zeros(p), np.sum(np.abs(w))
    r_bar, w_bar = 2.0 * r, shrink * np.sign(w)
    for k in range(sweeps - 1, -1, -1):
        for j in range(p - 1, -1, -1):
            rho, new, x, x_bar = tape[k, j], w[j], X[j], X_bar[j]
            old = 0.0
            if k > 0:
                old = np.sign(tape[k - 1, j]) * max(abs(tape[k - 1, j]) - shrink, 0.0) / squares[j]
            step, step_bar = new - old, 0.0
            for i in range(n):
                step_bar -= r_bar[i] * x[i]
                x_bar[i] -= r_bar[i] * step
                r[i] += x[i] * step
            new_bar, w_bar[j] = w_bar[j] + step_bar, -step_bar
            squares_bar[j] -= new_bar * new / squares[j]
            if abs(rho) > shrink:
                rho_bar = new_bar / squares[j]
                shrink_bar -= rho_bar * np.sign(rho)
                squares_bar[j] += rho_bar * old
                w_bar[j] += rho_bar * squares[j]
                for i in range(n):
                    x_bar[i] += rho_bar * r[i]
                    r_bar[i] += rho_bar * x[i]
            w[j] = old
    for j in range(p):
        for i in range(n):
            X_bar[j, i] += 2.0 * squares_bar[j] * X[j, i]
    return value, X_bar.T.copy(), r_bar, shrink_bar


def descent_arguments(r, tiny):
    n, p = (6, 3) if tiny else (2000, 50)
    return r.standard_normal((n, p)), r.standard_normal(n), 5.0, 2 if tiny else 10


benchmark("coordinate descent by columns", coordinate_descent, descent_arguments, (0, 1, 2),
          primals=(coordinate_descent_primal,), adjoint=coordinate_descent_adjoint)


@also("coordinate descent by columns", "jax")
def coordinate_descent_jax(jax):
    jnp = jax.numpy

    def loss(X, y, shrink, sweeps):
        columns, squares = X.T, jnp.sum(X * X, axis=0)

        def step(state, j):
            w, r = state
            rho = columns[j] @ r + w[j] * squares[j]
            new = jnp.sign(rho) * jnp.maximum(jnp.abs(rho) - shrink, 0.0) / squares[j]
            return (w.at[j].set(new), r - columns[j] * (new - w[j])), None
        order = jnp.tile(jnp.arange(X.shape[1]), 10 if len(y) > 10 else 2)
        w, r = jax.lax.scan(step, (jnp.zeros(X.shape[1]), y), order)[0]
        return jnp.sum(r * r) + shrink * jnp.sum(jnp.abs(w))
    return loss


def page_rank(W, p):
    W = W / np.sum(W, axis=0)
    for _ in range(30):
        p = 0.85 * W @ p + 0.15 / len(p)
    return np.sum(p * p)


@by_hand
def page_rank_primal(W, p):
    W = 0.85 * (W / np.sum(W, axis=0))
    for _ in range(30):
        p = W @ p + 0.15 / len(p)
    return np.sum(p * p)


@by_hand
def page_rank_adjoint(W, p):
    """The cotangent of the matrix is one product of all steps' vectors."""
    n, sums = len(p), np.sum(W, axis=0)
    M, states, bars = np.empty_like(W), np.empty((31, n)), np.empty((30, n))
    for i in range(n):
        for j in range(n):
            M[i, j] = 0.85 * (W[i, j] / sums[j])
    states[0] = p
    for t in range(30):
        states[t + 1] = M @ states[t] + 0.15 / n
    bar = 2.0 * states[30]
    for t in range(29, -1, -1):
        bars[t] = bar
        bar = bar @ M
    W_bar, sums_bar = bars.T @ states[:30], np.zeros(n)
    for i in range(n):
        for j in range(n):
            sums_bar[j] -= W_bar[i, j] * M[i, j] / sums[j]
            W_bar[i, j] *= 0.85 / sums[j]
    for i in range(n):
        for j in range(n):
            W_bar[i, j] += sums_bar[j]
    return np.sum(states[30] ** 2), W_bar, bar


def page_rank_arguments(r, tiny):
    n = 4 if tiny else 300
    return r.random((n, n)), np.full(n, 1.0 / n)


benchmark("page rank", page_rank, page_rank_arguments, (0, 1), primals=(page_rank_primal,), adjoint=page_rank_adjoint)


def page_rank_whole(matmul, np):
    def loss(W, p):
        W = W / W.sum(0)
        for _ in range(30):
            p = 0.85 * matmul(W, p) + 0.15 / len(p)
        return (p * p).sum()
    return loss


@also("page rank", "jax")
def page_rank_jax(jax):
    jnp = jax.numpy

    def loss(W, p):
        W = W / W.sum(0)
        p = jax.lax.scan(lambda p, _: (0.85 * (W @ p) + 0.15 / len(p), None), p, None, length=30)[0]
        return jnp.sum(p * p)
    return loss


@also("page rank", "torch")
def page_rank_torch(torch):
    return page_rank_whole(torch.matmul, torch)
