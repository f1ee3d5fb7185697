"""Functions of `scipy.special`.

Sources: M. Abramowitz and I. Stegun, Handbook of Mathematical Functions, 1964 (polygamma series, 6.4.6, 6.4.11); P. J.
Acklam's rational approximation of the normal quantile, 2003, as a start for Halley's iteration.
"""

import math

import numpy as np
from scipy import special

from ...transforms.lower.reductions import unsupported
from ...transforms.ops import CALLABLES
from ..decorators import defines, partials
from ..elementwise import digamma
from ..registry import REGISTRY

OPERATIONS = {special.erf: "erf", special.erfc: "erfc", special.gammaln: "lgamma", special.gamma: "gamma",
                  special.expm1: "expm1", special.log1p: "log1p", special.exp2: "exp2", special.cbrt: "cbrt"}
CALLABLES.update({f: op for f, op in OPERATIONS.items() if f not in REGISTRY.definitions})
SQRT_2, SQRT_PI = math.sqrt(2.0), math.sqrt(math.pi)


# ---- logistic and logarithms -----------------------------------------------------------------------------
@defines(special.expit)
def expit(x):
    return np.where(np.asarray(x) >= 0.0, 1.0 / (1.0 + np.exp(-x)), np.exp(x) / (1.0 + np.exp(x)))


@defines(special.logit)
def logit(p):
    return np.log(p / (1.0 - p))


@defines(special.log_expit)
def log_expit(x):
    return np.where(np.asarray(x) >= 0.0, -np.log1p(np.exp(-x)), x - np.log1p(np.exp(x)))


@defines(special.xlogy)
def xlogy(x, y):
    """0 for x = 0, whatever y is."""
    return np.where(np.asarray(x) == 0.0, 0.0 * np.asarray(x), x * np.log(y))


@defines(special.xlog1py)
def xlog1py(x, y):
    return np.where(np.asarray(x) == 0.0, 0.0 * np.asarray(x), x * np.log1p(y))


@defines(special.entr)
def entr(x):
    return np.where(np.asarray(x) > 0.0, -x * np.log(x), np.where(np.asarray(x) == 0.0, 0.0 * np.asarray(x), -np.inf))


@defines(special.rel_entr)
def rel_entr(x, y):
    return np.where(np.asarray(x) > 0.0, x * np.log(x / y), np.where(np.asarray(x) == 0.0, 0.0 * (x + y), np.inf))


@defines(special.kl_div)
def kl_div(x, y):
    return rel_entr(x, y) - x + y


@defines(special.exp10)
def exp10(x):
    return np.exp(math.log(10.0) * x)


# ---- sums of exponentials --------------------------------------------------------------------------------
@defines(special.logsumexp)
def logsumexp(a, axis=None, b=None, keepdims=False, return_sign=False):
    if return_sign:
        return unsupported("logsumexp with return_sign", "take the logarithm of the sum yourself")
    top = np.max(a, axis=axis, keepdims=True)
    shift = np.where(np.isfinite(top), top, 0.0 * np.ones_like(top))
    weights = np.exp(a - shift) if b is None else b * np.exp(a - shift)
    total = np.log(np.sum(weights, axis=axis, keepdims=True)) + shift
    return total if keepdims else np.squeeze(total, axis=axis)


@defines(special.softmax)
def softmax(x, axis=None):
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


@defines(special.log_softmax)
def log_softmax(x, axis=None):
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


# ---- gamma and its relatives -----------------------------------------------------------------------------
def zeta_tail(n, x):
    """The n-th polygamma function at x > 0 without its sign and n!: sum of (x + k)^-(n + 1), by recurrence up to 15 and the
    Euler-Maclaurin series."""
    total, z = 0.0, x
    while z < 15.0:
        total += z ** -(n + 1.0)
        z += 1.0
    s = n + 1.0
    power = z ** (1.0 - s)
    total += power / (s - 1.0) + 0.5 * power / z
    term = s * power / (z * z)
    w = 1.0 / (z * z)
    total += term / 12.0
    term *= (s + 1.0) * (s + 2.0) * w
    total -= term / 720.0
    term *= (s + 3.0) * (s + 4.0) * w
    total += term / 30240.0
    term *= (s + 5.0) * (s + 6.0) * w
    total -= term / 1209600.0
    term *= (s + 7.0) * (s + 8.0) * w
    return total + term / 47900160.0


def psi_of(x):
    return digamma(x)


@partials(psi_of)
def psi_partials(y, x):
    return trigamma(x)


def trigamma(x):
    """By reflection for x <= 0 (Abramowitz and Stegun, 6.4.7)."""
    if x <= 0.0:
        s = math.pi / math.sin(math.pi * x)
        return s * s - zeta_tail(1, 1.0 - x)
    return zeta_tail(1, x)


@partials(trigamma)
def trigamma_partials(y, x):
    return tetragamma(x)


def tetragamma(x):
    if x <= 0.0:
        s = math.sin(math.pi * x)
        return -2.0 * zeta_tail(2, 1.0 - x) - 2.0 * math.pi ** 3 * math.cos(math.pi * x) / (s * s * s)
    return -2.0 * zeta_tail(2, x)


@partials(tetragamma)
def tetragamma_partials(y, x):
    return pentagamma(x)


def pentagamma(x):
    if x <= 0.0:
        s, c = math.sin(math.pi * x), math.cos(math.pi * x)
        return 2.0 * math.pi ** 4 * (1.0 + 2.0 * c * c) / (s * s * s * s) - 6.0 * zeta_tail(3, 1.0 - x)
    return 6.0 * zeta_tail(3, x)


@partials(pentagamma)
def pentagamma_partials(y, x):
    if x <= 0.0:
        s, c = math.sin(math.pi * x), math.cos(math.pi * x)
        return -24.0 * zeta_tail(4, 1.0 - x) - 8.0 * math.pi ** 5 * c * (c * c + 2.0) / s ** 5
    return -24.0 * zeta_tail(4, x)


@defines(special.psi, special.digamma)
def psi(z):
    return psi_of(z)


@defines(special.polygamma)
def polygamma(n, x):
    if n == 0:
        return psi_of(x)
    if n == 1:
        return trigamma(x)
    if n == 2:
        return tetragamma(x)
    if n == 3:
        return pentagamma(x)
    return unsupported("polygamma of an order above 3", "use orders 0 to 3")


@defines(special.betaln)
def betaln(a, b):
    return special.gammaln(a) + special.gammaln(b) - special.gammaln(a + b)


@defines(special.beta)
def beta(a, b):
    return np.exp(betaln(a, b))


@defines(special.binom)
def binom(n, k):
    return np.exp(special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0))


@defines(special.multigammaln)
def multigammaln(a, d):
    total = 0.25 * d * (d - 1.0) * math.log(math.pi)
    for j in range(d):
        total = total + special.gammaln(a - 0.5 * j)
    return total


# ---- the normal distribution -----------------------------------------------------------------------------
@defines(special.ndtr)
def ndtr(x):
    return 0.5 * special.erfc(-x / SQRT_2)


def log_ndtr_of(x):
    """log Phi(x); for x < -20 by the continued fraction of Mills' ratio (Abramowitz and Stegun, 26.2.14)."""
    if x > -20.0:
        return math.log1p(-0.5 * math.erfc(x / SQRT_2)) if x > 0.0 else math.log(0.5 * math.erfc(-x / SQRT_2))
    return -0.5 * x * x - 0.5 * math.log(2.0 * math.pi) + math.log(mills(-x))


def mills(x):
    """(1 - Phi(x)) / phi(x) for x >= 20."""
    t = x
    for k in range(20, 0, -1):
        t = x + k / t
    return 1.0 / t


@partials(log_ndtr_of)
def log_ndtr_partials(y, x):
    """phi / Phi."""
    return math.exp(-0.5 * x * x - 0.5 * math.log(2.0 * math.pi) - y)


@defines(special.log_ndtr)
def log_ndtr(x):
    return log_ndtr_of(x)


def quantile(p, q):
    """The normal quantile of p, of which q = 1 - p is given as exactly as it is known."""
    if p <= 0.0 or q <= 0.0:
        return (-math.inf if p == 0.0 else math.inf if q == 0.0 else math.nan)
    low = min(p, q)
    t = math.sqrt(-2.0 * math.log(low))
    z = t - (2.515517 + 0.802853 * t + 0.010328 * t * t) / (1.0 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t)
    for _ in range(4):                              # Halley's steps on the upper tail
        tail = 0.5 * math.erfc(z / SQRT_2)
        u = (tail - low) / (math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi))
        z = z + u / (1.0 - 0.5 * u * z)
    return z if q < p else -z


def ndtri_of(p):
    return quantile(p, 1.0 - p)


@partials(ndtri_of)
def ndtri_partials(y, p):
    return math.sqrt(2.0 * math.pi) * math.exp(0.5 * y * y)


@defines(special.ndtri)
def ndtri(p):
    return ndtri_of(p)


def erfinv_of(x):
    if abs(x) < 1e-4:                               # its series: the quantile near 1/2 loses what x has
        return 0.5 * SQRT_PI * x * (1.0 + math.pi * x * x / 12.0)
    return quantile(0.5 * (1.0 + x), 0.5 * (1.0 - x)) / SQRT_2


@partials(erfinv_of)
def erfinv_partials(y, x):
    return 0.5 * SQRT_PI * math.exp(y * y)


@defines(special.erfinv)
def erfinv(y):
    return erfinv_of(y)


def erfcinv_of(x):
    return quantile(1.0 - 0.5 * x, 0.5 * x) / SQRT_2


@partials(erfcinv_of)
def erfcinv_partials(y, x):
    return -0.5 * SQRT_PI * math.exp(y * y)


@defines(special.erfcinv)
def erfcinv(y):
    return erfcinv_of(y)


