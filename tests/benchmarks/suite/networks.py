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


def regression_arguments(r, tiny):
    n, d = (6, 3) if tiny else (20000, 50)
    return r.standard_normal(d), 0.2, r.standard_normal((n, d)), (r.random(n) > 0.5) * 1.0


benchmark("logistic regression", logistic_regression, regression_arguments, (0, 1), jax=True, torch=True, autograd=True)


def kernel_ridge(X, y, scale, noise):
    gap = X[:, None, :] - X[None, :, :]
    K = np.exp(-np.sum(gap ** 2, axis=-1) / (2.0 * scale ** 2))
    alpha = np.linalg.solve(K + noise * np.eye(X.shape[0]), y)
    return np.sum((K @ alpha - y) ** 2) + noise * np.sum(alpha ** 2)


def ridge_arguments(r, tiny):
    n, d = (5, 2) if tiny else (400, 5)
    return r.random((n, d)), r.random(n), 0.8, 0.3


benchmark("kernel ridge regression", kernel_ridge, ridge_arguments, (0, 1, 2, 3), jax=True, torch=True, autograd=True)


@also("kernel ridge regression", "torch")
def ridge_torch(torch):
    def loss(X, y, scale, noise):
        gap = X[:, None, :] - X[None, :, :]
        K = torch.exp(-torch.sum(gap ** 2, dim=-1) / (2.0 * scale ** 2))
        alpha = torch.linalg.solve(K + noise * torch.eye(X.shape[0], dtype=X.dtype), y)
        return torch.sum((K @ alpha - y) ** 2) + noise * torch.sum(alpha ** 2)
    return loss
