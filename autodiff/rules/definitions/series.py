"""Roots of polynomials, and the series of numpy.polynomial at given points: their coefficients stand lowest order first."""

import numpy as np
from numpy.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial, polyutils

from ..decorators import defines
from .extrema import floats


def recurred(x, c, step):
    """The sum of c_k p_k(x), where `step(k, p_k, p_k-1)` gives p_k+1 from p_0 = 1 and p_-1 = 0."""
    coefficients = np.asarray(c)
    before = 0.0 * x
    here = before + 1.0
    total = coefficients[0] * here
    for k in range(coefficients.shape[0] - 1):
        after = step(k, here, before)
        before = here
        here = after
        total = total + coefficients[k + 1] * here
    return total


@defines(polyutils.mapdomain)
def mapdomain(x, old, new):
    """Points of the line through `old` on that through `new`."""
    length = old[1] - old[0]
    return (old[1] * new[0] - old[0] * new[1]) / length + (new[1] - new[0]) / length * np.asarray(x)


@defines(polynomial.polyval)
def polyval(x, c):
    """Horner's scheme."""
    coefficients = np.asarray(c)
    y = 0.0 * x + 0.0 * coefficients[0]
    for k in range(coefficients.shape[0] - 1, -1, -1):
        y = y * x + coefficients[k]
    return y


@defines(chebyshev.chebval)
def chebval(x, c):
    """T_k+1 = 2 x T_k - T_k-1, T_1 = x."""
    return recurred(x, c, lambda k, p, q: (2 * x * p - q) if k > 0 else x * p)


@defines(legendre.legval)
def legval(x, c):
    """(k + 1) P_k+1 = (2 k + 1) x P_k - k P_k-1."""
    return recurred(x, c, lambda k, p, q: ((2 * k + 1) * (x * p) - k * q) / (k + 1))


@defines(hermite.hermval)
def hermval(x, c):
    """H_k+1 = 2 x H_k - 2 k H_k-1."""
    return recurred(x, c, lambda k, p, q: 2 * x * p - 2.0 * k * q)


@defines(hermite_e.hermeval)
def hermeval(x, c):
    """He_k+1 = x He_k - k He_k-1."""
    return recurred(x, c, lambda k, p, q: x * p - k * q)


@defines(laguerre.lagval)
def lagval(x, c):
    """(k + 1) L_k+1 = (2 k + 1 - x) L_k - k L_k-1."""
    return recurred(x, c, lambda k, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1))


@defines(np.roots)
def roots(p):
    """The eigenvalues of the companion matrix. NumPy drops first coefficients of 0 and sets last ones apart."""
    c = floats(np.asarray(p))
    n = c.shape[0] - 1
    if n < 1 or c[0] == 0 or c[n] == 0:
        raise ValueError("np.roots is differentiated for polynomials whose first and last coefficients are not 0")
    companion = np.zeros((n, n), dtype=c.dtype)
    companion[0] = -c[1:] / c[0]
    for k in range(n - 1):
        companion[k + 1, k] = 1.0
    return np.linalg.eigvals(companion)


# -- windows ------------------------------------------------------------------------------------------------
def sum_of_cosines(M, *weights):
    """A window of M samples: weights[k] cos(k pi n / (M - 1)) for n = 1 - M, 3 - M, ..., M - 1, summed (NumPy's manual)."""
    if M < 1:
        return np.zeros(0)
    if M == 1:
        return np.ones(1)
    angle = np.pi * np.arange(1 - M, M, 2) / (M - 1)
    total = weights[0] + weights[1] * np.cos(angle)
    return total if len(weights) < 3 else total + weights[2] * np.cos(2.0 * angle)


@defines(np.hanning)
def hanning(M):
    return sum_of_cosines(M, 0.5, 0.5)


@defines(np.hamming)
def hamming(M):
    return sum_of_cosines(M, 0.54, 0.46)


@defines(np.blackman)
def blackman(M):
    return sum_of_cosines(M, 0.42, 0.5, 0.08)


@defines(np.bartlett)
def bartlett(M):
    if M < 1:
        return np.zeros(0)
    if M == 1:
        return np.ones(1)
    n = np.arange(1 - M, M, 2)
    return np.where(n <= 0, 1 + n / (M - 1), 1 - n / (M - 1))
