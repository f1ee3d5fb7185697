"""Unknowns of any shape as vectors, and the pairings of a residual with weights that adjoints differentiate."""

from __future__ import annotations

import numpy as np


def vector(x):
    """A number or array as a new vector of floats."""
    return 1.0 * np.ravel(np.asarray(x))


def shaped(z, like):
    """A vector in the shape of `like`: a number, or an array."""
    return z[0] if np.ndim(like) == 0 else np.reshape(z, np.shape(like))


def values(z, like, f, theta):
    """f(x, *theta) as a vector, at a vector z that stands for x."""
    return np.ravel(np.asarray(f(shaped(z, like), *theta)))


def weighted(theta, z, like, f, weights):
    """The sum of weights * f(x, *theta): its gradient is what a pullback of f gives for the cotangent `weights`."""
    return np.sum(weights * values(z, like, f, theta))


def weighted_of_unknown(z, theta, like, f, weights):
    """The same as a function of the unknown first."""
    return weighted(theta, z, like, f, weights)


def values_of_parameters(theta, z, like, f):
    """f(x, *theta) as a vector, as a function of theta first."""
    return values(z, like, f, theta)


def length(v):
    """The Euclidean norm, without derivative."""
    return np.sqrt(np.sum(v * v))


def largest(v):
    return np.max(np.abs(v))


def solved(A, b, like):
    """A^-1 b, where the unknown stands for something like `like`."""
    return b / A[0] if np.ndim(like) == 0 else np.linalg.solve(A, b)


def reachable(tol, z):
    """A relative tolerance that rounding errors allow in the precision of z."""
    return max(tol, 8.0 * np.finfo(z.dtype).eps)
