"""Matrices of distances of `scipy.spatial`; those of two vectors are read from SciPy's own source.

Equal points have a Euclidean distance whose derivative is taken as 0.
"""

import numpy as np
from scipy import spatial
from scipy.spatial import distance

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines


def between(gap, metric, p):
    """Distances along the last axis of the differences."""
    if metric == "euclidean" or metric == "minkowski" and p == 2:
        return np.linalg.norm(gap, axis=-1)
    if metric == "sqeuclidean":
        return np.sum(gap * gap, axis=-1)
    if metric == "cityblock":
        return np.sum(np.abs(gap), axis=-1)
    if metric == "chebyshev":
        return np.max(np.abs(gap), axis=-1)
    if metric == "minkowski":
        return np.linalg.norm(gap, ord=p, axis=-1)
    return unsupported("this metric", "use euclidean, sqeuclidean, cityblock, chebyshev or minkowski, or write it in NumPy")


@defines(distance.cdist)
def cdist(XA, XB, metric="euclidean", *, out=None, p=2):
    if out is not None:
        return unsupported("out= of cdist", "use what it returns")
    a, b = np.asarray(XA, dtype=float), np.asarray(XB, dtype=float)
    if np.ndim(a) != 2:
        raise ValueError("XA must be a 2-dimensional array.")
    if np.ndim(b) != 2:
        raise ValueError("XB must be a 2-dimensional array.")
    if a.shape[1] != b.shape[1]:
        raise ValueError("XA and XB must have the same number of columns (i.e. feature dimension.)")
    return between(a[:, None, :] - b[None, :, :], metric, p)


@defines(distance.pdist)
def pdist(X, metric="euclidean", *, out=None, p=2):
    if out is not None:
        return unsupported("out= of pdist", "use what it returns")
    a = np.asarray(X, dtype=float)
    if np.ndim(a) != 2:
        raise ValueError("A 2-dimensional array must be passed.")
    rows, columns = np.triu_indices(a.shape[0], 1)
    return between(a[rows] - a[columns], metric, p)


@defines(distance.squareform)
def squareform(X, force="no", checks=True):
    """Of a vector of distances; of a matrix those above its diagonal."""
    a = np.asarray(X)
    if force == "tomatrix" and np.ndim(a) != 1:
        raise ValueError("Forcing 'tomatrix' but input X is not a distance vector.")
    if force == "tovector" and np.ndim(a) != 2:
        raise ValueError("Forcing 'tovector' but input X is not a distance matrix.")
    if np.ndim(a) == 2:
        if a.shape[0] != a.shape[1]:
            raise ValueError("The matrix argument must be square.")
        if checks and not np.all(a == a.T):
            raise ValueError("Distance matrix 'X' must be symmetric.")
        if checks and not np.all(np.diag(a) == 0):
            raise ValueError("Distance matrix 'X' diagonal must be zero.")
        rows, columns = np.triu_indices(a.shape[0], 1)
        return a[rows, columns]
    n = int(np.ceil(np.sqrt(2.0 * a.shape[0])))
    if n * (n - 1) != 2 * a.shape[0]:
        raise ValueError("Incompatible vector size. It must be a binomial coefficient n choose 2 for some integer n >= 2.")
    square = np.zeros((n, n), dtype=a.dtype)
    place = 0
    for i in range(n):
        for j in range(i + 1, n):
            square[i, j] = a[place]
            square[j, i] = a[place]
            place += 1
    return square


@defines(spatial.distance_matrix)
def distance_matrix(x, y, p=2, threshold=1000000):
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    return between(a[:, None, :] - b[None, :, :], "minkowski", p)
