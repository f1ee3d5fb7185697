"""Statistics and machine learning with whole arrays."""

import numpy as np

from .catalogue import program


@program(lambda r: (r.standard_normal(3), 0.2, r.standard_normal((6, 3)), (r.random(6) > 0.5) * 1.0), wrt=(0, 1, 2))
def logistic_regression(w, b, X, y):
    z = X @ w + b
    return np.mean(np.log1p(np.exp(z)) - y * z) + 0.1 * np.dot(w, w)


@program(lambda r: (r.standard_normal((4, 3)), np.array([0, 2, 1, 1])))
def softmax_cross_entropy(logits, labels):
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    log_z = np.log(np.sum(np.exp(shifted), axis=1))
    return np.mean(log_z - shifted[np.arange(len(labels)), labels])


@program(lambda r: (r.random((3, 4)), r.random(4), r.random((4, 2)), r.random(2), r.random((5, 3)), r.random((5, 2))),
         wrt=(0, 1, 2, 3, 4))
def mlp(W1, b1, W2, b2, X, Y):
    hidden = np.tanh(X @ W1 + b1)
    out = hidden @ W2 + b2
    return np.mean((out - Y) ** 2)


@program(lambda r: (r.random((6, 3)), r.random((3, 3))), wrt=(0,))
def covariance(data, w):
    data -= np.mean(data, axis=0)
    cov = data.T @ data / (data.shape[0] - 1.0)
    return np.sum(w * cov)


@program(lambda r: (r.random((6, 3)), r.random((3, 3))), wrt=(0,))
def correlation(data, w):
    data -= np.mean(data, axis=0)
    data /= np.sqrt(np.mean(data ** 2, axis=0))
    return np.sum(w * (data.T @ data)) / data.shape[0]


@program(lambda r: (r.random((5, 3)), r.random((5, 3)), r.random((3, 3))), wrt=(0,))
def gram_schmidt(A, w, v):
    Q = np.zeros_like(A)
    R = np.zeros((A.shape[1], A.shape[1]))
    for k in range(A.shape[1]):
        R[k, k] = np.sqrt(np.dot(A[:, k], A[:, k]))
        Q[:, k] = A[:, k] / R[k, k]
        for j in range(k + 1, A.shape[1]):
            R[k, j] = np.dot(Q[:, k], A[:, j])
            A[:, j] -= Q[:, k] * R[k, j]
    return np.sum(w * Q) + np.sum(v * R)


@program(lambda r: (r.standard_normal(3), r.standard_normal((3, 2)), r.standard_normal((3, 2)) * 0.2,
                    r.standard_normal((5, 2))), wrt=(0, 1, 2, 3))
def gaussian_mixture(weights, means, log_scales, x):
    """Log-likelihood with diagonal covariances."""
    top = np.max(weights)
    log_w = weights - top - np.log(np.sum(np.exp(weights - top)))
    gap = (x[:, None, :] - means[None]) * np.exp(-log_scales)[None]
    terms = log_w - 0.5 * np.sum(gap ** 2, axis=2) - np.sum(log_scales, axis=1)
    peak = np.max(terms, axis=1)
    return np.sum(peak + np.log(np.sum(np.exp(terms - peak[:, None]), axis=1)))


@program(lambda r: (r.random((5, 2)), r.random(5), 0.8, 0.3), wrt=(0, 1, 2, 3))
def kernel_ridge(X, y, scale, noise):
    gap = X[:, None, :] - X[None, :, :]
    K = np.exp(-np.sum(gap ** 2, axis=-1) / (2.0 * scale ** 2))
    alpha = np.linalg.solve(K + noise * np.eye(X.shape[0]), y)
    return np.sum((K @ alpha - y) ** 2) + noise * np.sum(alpha ** 2)


@program(lambda r: (r.random(12), np.array([0, 1, 2, 0, 1, 2, 2, 1, 0, 0, 1, 2])))
def masked_means(x, group):
    total = 0.0
    for g in range(3):
        mask = group == g
        mean = np.sum(np.where(mask, x, 0.0)) / np.sum(mask)
        total += mean ** 2 + np.mean(x[mask] ** 3)
    return total


@program(lambda r: (r.random((4, 4)),))
def spectral_norm(A):
    """Largest singular value by power iteration."""
    v = np.ones(A.shape[1])
    for _ in range(6):
        u = A @ v
        u /= np.linalg.norm(u)
        v = A.T @ u
        v /= np.linalg.norm(v)
    return u @ A @ v
