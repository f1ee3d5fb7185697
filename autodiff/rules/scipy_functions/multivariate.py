"""The normal law of several variables, of `scipy.stats`."""

import math

import numpy as np
from scipy import stats

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines

LOG_2PI = math.log(2.0 * math.pi)


@defines(stats.multivariate_normal.logpdf)
def multivariate_normal(x, mean=None, cov=1, allow_singular=False):
    """x: points (..., n); cov: (n, n), positive definite, or with a mean (n,) the n variances or one for all."""
    points, spread = np.asarray(x), np.asarray(cov)
    rank = 1 if mean is None else np.ndim(mean)
    if spread.ndim > 2 or rank > 1:
        return unsupported("scipy.stats.multivariate_normal of several laws", "call it for each mean and covariance")
    if points.ndim == 0 or rank == 0 or mean is None and spread.ndim < 2:
        return unsupported("scipy.stats.multivariate_normal of numbers", "use scipy.stats.norm, whose scale is a deviation")
    gap = points if mean is None else points - np.asarray(mean)
    n = gap.shape[-1]
    if spread.ndim < 2:
        variances = spread * np.ones(len(mean))
        found = -0.5 * ((gap * gap) @ (1.0 / variances)) - 0.5 * np.sum(np.log(variances))
    else:
        if allow_singular and is_singular(spread):
            return np.reshape(degenerate(np.reshape(gap, (-1, n)), spread), gap.shape[:-1])
        lower = np.linalg.cholesky(spread)
        z = np.linalg.solve(lower, np.reshape(gap, (-1, n)).T)
        found = np.reshape(-0.5 * np.sum(z * z, axis=0), gap.shape[:-1]) - np.sum(np.log(np.diag(lower)))
    return found - 0.5 * n * LOG_2PI


def is_singular(covariance):
    """Whether SciPy takes some eigenvalues for zero."""
    sizes = np.abs(np.linalg.eigvalsh(covariance))
    return np.min(sizes) <= 1e6 * np.finfo(float).eps * np.max(sizes)


def degenerate(gap, covariance):
    """The logarithm of the density on the space that the covariance spans, -inf outside: by its eigenvalues above SciPy's
    tolerance. The inverse is not made of eigenvectors, which have no derivative where eigenvalues coincide."""
    tolerance = 1e6 * np.finfo(float).eps
    w, v = np.linalg.eigh(covariance)
    smallest = tolerance * np.max(np.abs(w))
    if np.min(w) < -smallest:
        raise ValueError("The input matrix must be symmetric positive semidefinite.")
    kept = w > smallest
    found = np.sum((gap @ np.linalg.pinv(covariance, tolerance)) * gap, axis=1) + np.sum(np.log(np.where(kept, w, 1.0)))
    beside = np.where(kept, 0.0, gap @ v)
    return np.where(np.sqrt(np.sum(beside * beside, axis=1)) < 1e3 * smallest, -0.5 * found - 0.5 * LOG_2PI * np.sum(kept),
                    -np.inf)


@defines(stats.multivariate_normal.entropy)
def multivariate_normal_entropy(mean=None, cov=1):
    """-log p(mean) + n / 2, of what `multivariate_normal` takes."""
    if mean is None and np.ndim(cov) < 2:
        return unsupported("scipy.stats.multivariate_normal of numbers", "use scipy.stats.norm, whose scale is a deviation")
    centre = np.zeros(np.shape(cov)[-1]) if mean is None else np.asarray(mean)
    return 0.5 * np.size(centre) - multivariate_normal(centre, mean, cov)
