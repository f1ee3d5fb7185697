"""Logarithms of densities of `scipy.stats`. Outside the support the value is -inf, without derivative."""

import math

import numpy as np
from scipy import special, stats

from ..decorators import defines
from .special import xlog1py, xlogy

LOG_2PI = math.log(2.0 * math.pi)


def inside(condition, value):
    return np.where(condition, value, -np.inf)


@defines(stats.norm.logpdf)
def norm(x, loc=0.0, scale=1.0):
    z = (x - loc) / scale
    return -0.5 * z * z - 0.5 * LOG_2PI - np.log(scale)


@defines(stats.norm.pdf)
def norm_density(x, loc=0.0, scale=1.0):
    return np.exp(norm(x, loc, scale))


@defines(stats.norm.cdf)
def norm_cdf(x, loc=0.0, scale=1.0):
    return special.ndtr((x - loc) / scale)


@defines(stats.norm.logcdf)
def norm_logcdf(x, loc=0.0, scale=1.0):
    return special.log_ndtr((x - loc) / scale)


@defines(stats.lognorm.logpdf)
def lognorm(x, s, loc=0.0, scale=1.0):
    y = (x - loc) / scale
    z = np.log(y) / s
    return inside(y > 0.0, -0.5 * z * z - 0.5 * LOG_2PI - np.log(s * y) - np.log(scale))


@defines(stats.t.logpdf)
def student(x, df, loc=0.0, scale=1.0):
    z = (x - loc) / scale
    return (special.gammaln(0.5 * (df + 1.0)) - special.gammaln(0.5 * df) - 0.5 * np.log(df * math.pi)
            - 0.5 * (df + 1.0) * np.log1p(z * z / df) - np.log(scale))


@defines(stats.cauchy.logpdf)
def cauchy(x, loc=0.0, scale=1.0):
    z = (x - loc) / scale
    return -math.log(math.pi) - np.log1p(z * z) - np.log(scale)


@defines(stats.laplace.logpdf)
def laplace(x, loc=0.0, scale=1.0):
    return -np.abs(x - loc) / scale - np.log(2.0 * scale)


@defines(stats.logistic.logpdf)
def logistic(x, loc=0.0, scale=1.0):
    z = (x - loc) / scale
    return np.where(z >= 0.0, -z - 2.0 * np.log1p(np.exp(-z)), z - 2.0 * np.log1p(np.exp(z))) - np.log(scale)


@defines(stats.expon.logpdf)
def expon(x, loc=0.0, scale=1.0):
    z = (x - loc) / scale
    return inside(z >= 0.0, -z - np.log(scale))


@defines(stats.gamma.logpdf)
def gamma(x, a, loc=0.0, scale=1.0):
    z = (x - loc) / scale
    return inside(z >= 0.0, xlogy(a - 1.0, z) - z - special.gammaln(a) - np.log(scale))


@defines(stats.invgamma.logpdf)
def invgamma(x, a, loc=0.0, scale=1.0):
    z = (x - loc) / scale
    return inside(z > 0.0, -(a + 1.0) * np.log(z) - 1.0 / z - special.gammaln(a) - np.log(scale))


@defines(stats.beta.logpdf)
def beta(x, a, b, loc=0.0, scale=1.0):
    z = (x - loc) / scale
    return inside((z >= 0.0) & (z <= 1.0), xlogy(a - 1.0, z) + xlog1py(b - 1.0, -z) - special.betaln(a, b) - np.log(scale))


@defines(stats.poisson.logpmf)
def poisson(k, mu):
    return xlogy(k, mu) - mu - special.gammaln(k + 1.0)


@defines(stats.binom.logpmf)
def binom(k, n, p):
    return (special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0) + xlogy(k, p)
            + xlog1py(n - k, -p))


@defines(stats.bernoulli.logpmf)
def bernoulli(k, p):
    return xlogy(k, p) + xlog1py(1.0 - k, -p)


@defines(stats.multivariate_normal.logpdf)
def multivariate_normal(x, mean=None, cov=1):
    """x: (n,) or points (m, n); cov: (n, n), positive definite."""
    lower = np.linalg.cholesky(np.asarray(cov))
    gap = np.atleast_2d(x if mean is None else x - mean)
    z = np.linalg.solve(lower, gap.T)
    found = -0.5 * np.sum(z * z, axis=0) - np.sum(np.log(np.diag(lower))) - 0.5 * lower.shape[0] * LOG_2PI
    return found if np.ndim(x) == 2 else found[0]
