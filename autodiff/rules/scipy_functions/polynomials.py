"""Orthogonal polynomials at given points, by their recurrences (DLMF 18.9), and Lambert's W of real numbers (DLMF 4.13)."""

import math

import numpy as np
from scipy import special

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines, partials


def recurred(n, x, step):
    """p_n, where `step(k, p_k, p_k-1)` gives p_k+1 from p_0 = 1 and p_-1 = 0."""
    if np.ndim(n) != 0 or isinstance(n, float):
        return unsupported("a polynomial whose degree is no integer", "call it for each degree, an integer")
    if n < 0:
        raise ValueError("polynomials of negative degree are not differentiated")
    before = 0.0 * np.asarray(x)
    here = before + 1.0
    for k in range(n):
        after = step(k, here, before)
        before = here
        here = after
    return here


@defines(special.eval_legendre)
def eval_legendre(n, x):
    return recurred(n, x, lambda k, p, q: ((2 * k + 1) * (x * p) - k * q) / (k + 1))


@defines(special.eval_sh_legendre)
def eval_sh_legendre(n, x):
    return eval_legendre(n, 2.0 * x - 1.0)


@partials("special.lpmv")
def lpmv(y, m, v, x):
    """DLMF 14.10.4, with the degree above, which is never negative; nan at the ends 1 and -1."""
    if abs(x) == 1.0:
        return None, None, np.nan * x
    return None, None, ((v + 1.0) * x * y - (v - m + 1.0) * special.lpmv(m, v + 1.0, x)) / ((1.0 - x) * (1.0 + x))


@defines(special.eval_chebyt)
def eval_chebyt(n, x):
    return recurred(n, x, lambda k, p, q: (2 * x * p - q) if k > 0 else x * p)


@defines(special.eval_chebyu)
def eval_chebyu(n, x):
    return recurred(n, x, lambda k, p, q: 2 * x * p - q)


@defines(special.eval_hermite)
def eval_hermite(n, x):
    return recurred(n, x, lambda k, p, q: 2 * x * p - 2.0 * k * q)


@defines(special.eval_hermitenorm)
def eval_hermitenorm(n, x):
    return recurred(n, x, lambda k, p, q: x * p - k * q)


@defines(special.eval_laguerre)
def eval_laguerre(n, x):
    return eval_genlaguerre(n, 0.0, x)


@defines(special.eval_genlaguerre)
def eval_genlaguerre(n, alpha, x):
    base = np.asarray(x) + 0.0 * np.asarray(alpha)
    return recurred(n, base, lambda k, p, q: ((2 * k + 1 + alpha - x) * p - (k + alpha) * q) / (k + 1))


@defines(special.eval_gegenbauer)
def eval_gegenbauer(n, alpha, x):
    base = np.asarray(x) + 0.0 * np.asarray(alpha)
    return recurred(n, base, lambda k, p, q: (2 * (k + alpha) * x * p - (k + 2 * alpha - 1) * q) / (k + 1))


@defines(special.eval_jacobi)
def eval_jacobi(n, alpha, beta, x):
    both = alpha + beta

    def step(k, p, q):
        if k == 0:
            return (alpha + 1.0 + (both + 2.0) * (0.5 * (x - 1.0))) * p
        c = 2 * k + both
        return ((c + 1) * ((c + 2) * c * x + both * (alpha - beta)) * p - 2 * (k + alpha) * (k + beta) * (c + 2) * q) / (
            2 * (k + 1) * (k + both + 1) * c)
    return recurred(n, np.asarray(x) + 0.0 * np.asarray(both), step)


# ---- Lambert's W ------------------------------------------------------------------------------------------
def principal(x):
    """W_0 of real numbers not less than -1/e, nan below, by Halley's method from a series at -1/e or a logarithm."""
    p = np.sqrt(np.maximum(2.0 * (math.e * x + 1.0), 0.0))
    large = np.log(np.maximum(x, 1.0) + 1.0)
    w = np.where(x < 0.5, -1.0 + p * (1.0 - p * (1.0 / 3.0 - p * 11.0 / 72.0)), large - np.log(large + 0.5))
    return np.where(x >= -1.0 / math.e, np.where(x == np.inf, np.inf, polished(w, x)), np.nan)


def lower(x):
    """W_-1 of real numbers from -1/e to 0, nan elsewhere."""
    p = -np.sqrt(np.maximum(2.0 * (math.e * x + 1.0), 0.0))
    log = np.log(np.where((x < 0.0) & (x > -0.25), -x, 0.25))
    w = np.where(x < -0.25, -1.0 + p * (1.0 - p * (1.0 / 3.0 - p * 11.0 / 72.0)), log - np.log(-log))
    return np.where((x >= -1.0 / math.e) & (x < 0.0), polished(w, x), np.where(x == 0.0, -np.inf, np.nan))


def polished(w, x):
    for _ in range(6):
        e = np.exp(w)
        gap = w * e - x
        slope = e * (w + 1.0)
        below = np.where(slope == 0.0, 1.0, slope - 0.5 * (w + 2.0) * gap / np.where(w == -1.0, 1.0, w + 1.0))
        w = np.where(np.isfinite(gap) & (slope != 0.0) & (below != 0.0), w - gap / np.where(below == 0.0, 1.0, below), w)
    return w


@partials(principal)
def principal_partials(w, x):
    return np.exp(-w) / (1.0 + w)


@partials(lower)
def lower_partials(w, x):
    return np.exp(-w) / (1.0 + w)


@defines(special.lambertw)
def lambertw(z, k=0, tol=1e-8):
    """Of real numbers where W is real; nan where it is not."""
    x = np.asarray(z) * 1.0
    if np.ndim(k) != 0 or k != 0 and k != -1:
        return unsupported("lambertw on this branch", "use the real ones, k=0 and k=-1")
    return (principal(x) if k == 0 else lower(x)) + 0j


# ---- other ------------------------------------------------------------------------------------------------
@defines(special.inv_boxcox)
def inv_boxcox(x, lmbda):
    zero = np.asarray(lmbda) == 0.0
    return np.where(zero, np.exp(x), np.exp(np.log1p(lmbda * x) / np.where(zero, 1.0, lmbda)))


@defines(special.gammasgn)
def gammasgn(x):
    """Without derivative."""
    a = np.asarray(x) * 1.0
    pole = (a < 0.0) & (np.floor(a) == a)
    sign = np.where((a > 0.0) | (np.floor(a) % 2.0 == 0.0), 1.0, -1.0)
    sign = np.where(a == 0.0, np.copysign(1.0, a), sign)
    return np.where(np.isnan(a) | pole, np.nan, sign).astype(a.dtype)


@defines(special.comb)
def comb(N, k, *, exact=False, repetition=False):
    if exact:
        return math.comb(N + k - 1 if repetition else N, k)
    n, m = np.asarray(N + k - 1 if repetition else N) * 1.0, np.asarray(k) * 1.0
    return np.where((m <= n) & (n >= 0.0) & (m >= 0.0), special.binom(n, m), 0.0)
