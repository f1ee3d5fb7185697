"""Feed-forward networks and regressions, where products take the time."""

import numpy as np

from autodiff.runtime.numbers import vectormath as vm

from .benchmark import also, benchmark, by_hand


def mlp(W1, b1, W2, b2, W3, b3, X, Y):
    h1 = np.tanh(X @ W1 + b1)
    h2 = np.tanh(h1 @ W2 + b2)
    return np.mean((h2 @ W3 + b3 - Y) ** 2)


@by_hand
def dense_tanh(z, b):
    for i in range(z.shape[0]):
        for j in range(z.shape[1]):
            z[i, j] = vm.tanh(z[i, j] + b[j])


@by_hand
def mlp_primal(W1, b1, W2, b2, W3, b3, X, Y):
    h1 = X @ W1
    dense_tanh(h1, b1)
    h2 = h1 @ W2
    dense_tanh(h2, b2)
    out = h2 @ W3
    total = 0.0
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            r = out[i, j] + b3[j] - Y[i, j]
            total += r * r
    return total / out.size


@by_hand
def through_tanh(h_bar, h, b_bar):
    """The cotangent before the activation, in place; its sum over the batch."""
    for i in range(h.shape[0]):
        for j in range(h.shape[1]):
            h_bar[i, j] *= 1.0 - h[i, j] * h[i, j]
            b_bar[j] += h_bar[i, j]


@by_hand
def mlp_adjoint(W1, b1, W2, b2, W3, b3, X, Y):
    h1 = X @ W1
    dense_tanh(h1, b1)
    h2 = h1 @ W2
    dense_tanh(h2, b2)
    out = h2 @ W3
    b1_bar, b2_bar, b3_bar = np.zeros_like(b1), np.zeros_like(b2), np.zeros_like(b3)
    total, scale = 0.0, 2.0 / out.size
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            r = out[i, j] + b3[j] - Y[i, j]
            total += r * r
            out[i, j] = scale * r
            b3_bar[j] += scale * r
    h2_bar = out @ W3.T
    through_tanh(h2_bar, h2, b2_bar)
    h1_bar = h2_bar @ W2.T
    through_tanh(h1_bar, h1, b1_bar)
    return total / out.size, X.T @ h1_bar, b1_bar, h1.T @ h2_bar, b2_bar, h2.T @ out, b3_bar


def mlp_arguments(batch):
    def make(r, tiny):
        n, a, b, c, d = (5, 4, 3, 3, 2) if tiny else (batch, 128, 256, 256, 10)
        return (r.standard_normal((a, b)) / 12, r.standard_normal(b), r.standard_normal((b, c)) / 16, r.standard_normal(c),
                r.standard_normal((c, d)) / 16, r.standard_normal(d), r.standard_normal((n, a)), r.standard_normal((n, d)))
    return make


for _batch in (64, 256):
    benchmark(f"MLP of 3 layers, batch {_batch}", mlp, mlp_arguments(_batch), range(6), primals=(mlp_primal,),
              adjoint=mlp_adjoint, jax=True, torch=True, autograd=True)


def logistic_regression(w, b, X, y):
    z = X @ w + b
    return np.mean(np.log1p(np.exp(z)) - y * z) + 0.1 * np.dot(w, w)


@by_hand
def regression_adjoint(w, b, X, y):
    """By blocks of rows that stay in the second cache between the two products."""
    n, total, b_bar = len(y), 0.0, 0.0
    w_bar = 0.2 * w
    for start in range(0, n, 256):
        rows, labels = X[start:start + 256], y[start:start + 256]
        z = rows @ w
        for i in range(len(z)):
            e = vm.exp(z[i] + b)
            total += vm.log1p(e) - labels[i] * (z[i] + b)
            z[i] = (e / (1.0 + e) - labels[i]) / n
            b_bar += z[i]
        w_bar += z @ rows
    return total / n + 0.1 * (w @ w), w_bar, b_bar


def regression_arguments(r, tiny):
    n, d = (6, 3) if tiny else (20000, 50)
    return r.standard_normal(d), 0.2, r.standard_normal((n, d)), (r.random(n) > 0.5) * 1.0


benchmark("logistic regression", logistic_regression, regression_arguments, (0, 1), adjoint=regression_adjoint, jax=True,
          torch=True, autograd=True)


def kernel_ridge(X, y, scale, noise):
    gap = X[:, None, :] - X[None, :, :]
    K = np.exp(-np.sum(gap ** 2, axis=-1) / (2.0 * scale ** 2))
    alpha = np.linalg.solve(K + noise * np.eye(X.shape[0]), y)
    return np.sum((K @ alpha - y) ** 2) + noise * np.sum(alpha ** 2)


@by_hand
def solve_factored(U, b):
    """x with U.T U x = b, U upper triangular, along its rows."""
    x, n = b.copy(), len(b)
    for i in range(n):
        x[i] /= U[i, i]
        for j in range(i + 1, n):
            x[j] -= U[i, j] * x[i]
    for i in range(n - 1, -1, -1):
        s = x[i]
        for j in range(i + 1, n):
            s -= U[i, j] * x[j]
        x[i] = s / U[i, i]
    return x


@by_hand
def squared_gaps(columns, i, out):
    out[:] = 0.0
    for k in range(len(columns)):
        column = columns[k]
        for j in range(len(out)):
            out[j] += (column[i] - column[j]) * (column[i] - column[j])


@by_hand
def ridge_adjoint(X, y, scale, noise):
    """K alpha - y is -noise alpha, so that the value is a multiple of alpha @ alpha; both solves share the factors."""
    n, d, factor = X.shape[0], X.shape[1], -0.5 / scale ** 2
    columns, gaps, K = X.T.copy(), np.empty(n), np.empty((n, n))
    for i in range(n):
        squared_gaps(columns, i, gaps)
        for j in range(n):
            K[i, j] = vm.exp(factor * gaps[j])
        K[i, i] += noise
    U = np.linalg.cholesky(K).T
    alpha = solve_factored(U, y)
    square = alpha @ alpha
    y_bar = solve_factored(U, 2.0 * (noise * noise + noise) * alpha)
    X_bar, total = np.empty_like(X), 0.0
    for i in range(n):
        squared_gaps(columns, i, gaps)
        for j in range(n):
            t = (y_bar[i] * alpha[j] + y_bar[j] * alpha[i]) * K[i, j]
            total += t * gaps[j]
            K[i, j] = -2.0 * factor * t
        for k in range(d):
            column, s = columns[k], 0.0
            for j in range(n):
                s += K[i, j] * (column[i] - column[j])
            X_bar[i, k] = s
    return ((noise * noise + noise) * square, X_bar, y_bar, -0.5 * total / scale ** 3,
            (2.0 * noise + 1.0) * square - y_bar @ alpha)


def ridge_arguments(r, tiny):
    n, d = (5, 2) if tiny else (400, 5)
    return r.random((n, d)), r.random(n), 0.8, 0.3


benchmark("kernel ridge regression", kernel_ridge, ridge_arguments, (0, 1, 2, 3), adjoint=ridge_adjoint, jax=True,
          torch=True, autograd=True)


@also("kernel ridge regression", "torch")
def ridge_torch(torch):
    def loss(X, y, scale, noise):
        gap = X[:, None, :] - X[None, :, :]
        K = torch.exp(-torch.sum(gap ** 2, dim=-1) / (2.0 * scale ** 2))
        alpha = torch.linalg.solve(K + noise * torch.eye(X.shape[0], dtype=X.dtype), y)
        return torch.sum((K @ alpha - y) ** 2) + noise * torch.sum(alpha ** 2)
    return loss
