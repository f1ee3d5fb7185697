"""Functions of `scipy.special` written with elementary ones: logistic, entropies, sums of exponentials."""

import math

import numpy as np
from scipy import special

from ...transforms.language.ops import CALLABLES
from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines
from . import bessel, gamma_functions, integrals, polynomials  # noqa: F401  (they fill the registry)

CALLABLES.update({special.erf: "erf", special.erfc: "erfc", special.expm1: "expm1", special.log1p: "log1p",
                  special.exp2: "exp2", special.cbrt: "cbrt"})


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
    """0 for x = 0, whatever y is; its derivative by x is log y there too, where that is finite."""
    return np.where((np.asarray(x) == 0.0) & (np.asarray(y) <= 0.0), 0.0 * np.asarray(x), x * np.log(y))


@defines(special.xlog1py)
def xlog1py(x, y):
    return np.where((np.asarray(x) == 0.0) & (np.asarray(y) <= -1.0), 0.0 * np.asarray(x), x * np.log1p(y))


@defines(special.entr)
def entr(x):
    below = np.where(np.asarray(x) < 0.0, -np.inf, 0.0 * np.asarray(x))
    return np.where(np.asarray(x) > 0.0, -x * np.log(x), below)


@defines(special.rel_entr)
def rel_entr(x, y):
    p, q = np.asarray(x), np.asarray(y)
    inside = np.logical_not((p <= 0.0) | (q <= 0.0))            # nan is
    close = inside & (p < 2.0 * q) & (q < 2.0 * p)
    inner = np.where(close, x * np.log1p((x - y) / y), x * (np.log(x) - np.log(y)))
    outer = np.where((p == 0.0) & (q >= 0.0), 0.0 * p, np.where((p == p) & (q == q), np.inf, p - p + np.nan))
    return np.where(inside, inner, outer)


@defines(special.kl_div)
def kl_div(x, y):
    relative = rel_entr(x, y)
    return np.where(relative == np.inf, relative, relative - x + y)


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


# ---- other ----------------------------------------------------------------------------------------------
@defines(special.boxcox)
def boxcox(x, lmbda):
    """(x^lmbda - 1) / lmbda, and log(x) for lmbda = 0."""
    end = (np.asarray(x) == 0.0) | (np.asarray(x) == np.inf)
    return np.where(end, power_at_end(x, lmbda), power_less_one(np.log(np.where(end, 1.0, x)), lmbda))


@defines(special.boxcox1p)
def boxcox1p(x, lmbda):
    end = (np.asarray(x) == -1.0) | (np.asarray(x) == np.inf)
    return np.where(end, power_at_end(1.0 + x, lmbda), power_less_one(np.log1p(np.where(end, 0.0, x)), lmbda))


def power_less_one(log, lmbda):
    """(x^lmbda - 1) / lmbda from the logarithm of x, which is finite; derivatives too are exact to rounding."""
    u = lmbda * log
    near = np.abs(u) <= 1.0
    return np.where(near, log * special.exprel(np.where(near, u, 0.0)), (np.exp(u) - 1.0) / np.where(near, 1.0, lmbda))


def power_at_end(x, lmbda):
    """(x^lmbda - 1) / lmbda of 0 and infinity."""
    zero = np.asarray(lmbda) == 0.0
    return np.where(zero, np.log(np.where(zero, x, 1.0)), (np.power(x, lmbda) - 1.0) / np.where(zero, 1.0, lmbda))


@defines(special.huber)
def huber(delta, r):
    size = np.abs(r)
    return np.where(np.asarray(delta) < 0.0, np.inf, np.where(size <= delta, 0.5 * r * r, delta * (size - 0.5 * delta)))


@defines(special.pseudo_huber)
def pseudo_huber(delta, r):
    """delta^2 (sqrt(1 + (r / delta)^2) - 1), without the loss of a small difference; delta |r| at the ends."""
    on = (np.asarray(delta) > 0.0) & (np.abs(r) < np.inf) & (np.asarray(delta) < np.inf)
    value = r * (r / (1.0 + np.hypot(1.0, r / np.where(on, delta, 1.0))))
    end = np.where(np.asarray(delta) < np.inf, delta * np.abs(r), np.nan)
    return np.where(on, value, np.where(np.asarray(delta) < 0.0, np.inf, end))
