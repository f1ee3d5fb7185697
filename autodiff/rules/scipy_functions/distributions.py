"""Functions of the laws of `scipy.stats`. Outside the support a density is 0, without derivative, and so is its logarithm,
-inf. Parameters that no law has give nan, as in SciPy: nan goes in for them."""

import math

import numpy as np
from scipy import special, stats

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines
from .multivariate import LOG_2PI, multivariate_normal
from .special import xlog1py, xlogy


def checked(parameter):
    """A parameter that must be positive: nan if it is not."""
    return np.where(np.asarray(parameter) > 0.0, parameter, np.nan)


def probability(p):
    """A parameter or argument between 0 and 1: nan if it is not."""
    return np.where((np.asarray(p) >= 0.0) & (np.asarray(p) <= 1.0), p, np.nan)


def outside(*parameters):
    """The logarithm of a density of zero, without derivative: minus infinity, or nan if a parameter is."""
    known = True
    for parameter in parameters:
        known = known & (np.asarray(parameter) == parameter)
    return np.where(known, -np.inf, np.nan)


def inside(condition, value, *parameters):
    """A logarithm where a condition holds, elsewhere minus infinity; it is computed everywhere, and must be finite there."""
    return np.where(condition, value, outside(*parameters))


def at_integers(k, low, value, *parameters):
    """A logarithm of probability: minus infinity where `k` is less than `low` or no integer."""
    k = np.asarray(k)
    return np.where((np.floor(k) == k) & (k >= low), value, outside(*parameters))


@defines(stats.norm.logpdf)
def norm(x, loc=0.0, scale=1.0):
    scale = checked(scale)
    z = (x - loc) / scale
    return -0.5 * z * z - 0.5 * LOG_2PI - np.log(scale)


@defines(stats.norm.pdf)
def norm_density(x, loc=0.0, scale=1.0):
    return np.exp(norm(x, loc, scale))


@defines(stats.norm.cdf)
def norm_cdf(x, loc=0.0, scale=1.0):
    return special.ndtr((x - loc) / checked(scale))


@defines(stats.norm.logcdf)
def norm_logcdf(x, loc=0.0, scale=1.0):
    return special.log_ndtr((x - loc) / checked(scale))


@defines(stats.lognorm.logpdf)
def lognorm(x, s, loc=0.0, scale=1.0):
    s, scale = checked(s), checked(scale)
    y = (x - loc) / scale
    on = y > 0.0
    y = np.where(on, y, 1.0)
    z = np.log(y) / s
    return inside(on, -0.5 * z * z - 0.5 * LOG_2PI - np.log(s * y) - np.log(scale), s, scale)


@defines(stats.t.logpdf)
def student(x, df, loc=0.0, scale=1.0):
    df, scale = checked(df), checked(scale)
    z = (x - loc) / scale
    return (special.gammaln(0.5 * (df + 1.0)) - special.gammaln(0.5 * df) - 0.5 * np.log(df * math.pi)
            - 0.5 * (df + 1.0) * np.log1p(z * z / df) - np.log(scale))


@defines(stats.cauchy.logpdf)
def cauchy(x, loc=0.0, scale=1.0):
    scale = checked(scale)
    z = (x - loc) / scale
    return -math.log(math.pi) - np.log1p(z * z) - np.log(scale)


@defines(stats.laplace.logpdf)
def laplace(x, loc=0.0, scale=1.0):
    scale = checked(scale)
    return -np.abs(x - loc) / scale - np.log(2.0 * scale)


@defines(stats.logistic.logpdf)
def logistic(x, loc=0.0, scale=1.0):
    scale = checked(scale)
    z = (x - loc) / scale
    return np.where(z >= 0.0, -z - 2.0 * np.log1p(np.exp(-z)), z - 2.0 * np.log1p(np.exp(z))) - np.log(scale)


@defines(stats.expon.logpdf)
def expon(x, loc=0.0, scale=1.0):
    scale = checked(scale)
    z = (x - loc) / scale
    return inside(z >= 0.0, -z - np.log(scale), scale)


@defines(stats.gamma.logpdf)
def gamma(x, a, loc=0.0, scale=1.0):
    a, scale = checked(a), checked(scale)
    y = x - loc
    on = y >= 0.0
    y = np.where(on, y, 1.0)            # log z = log y - log(scale), whose derivative by the scale is finite at y = 0
    return inside(on, xlogy(a - 1.0, y) - y / scale - special.gammaln(a) - a * np.log(scale), a, scale)


@defines(stats.invgamma.logpdf)
def invgamma(x, a, loc=0.0, scale=1.0):
    a, scale = checked(a), checked(scale)
    z = (x - loc) / scale
    on = z > 0.0
    z = np.where(on, z, 1.0)
    return inside(on, -(a + 1.0) * np.log(z) - 1.0 / z - special.gammaln(a) - np.log(scale), a, scale)


@defines(stats.beta.logpdf)
def beta(x, a, b, loc=0.0, scale=1.0):
    a, b, scale = checked(a), checked(b), checked(scale)
    y = x - loc
    on = (y >= 0.0) & (y <= scale)
    y = np.where(on, y, 0.5 * scale)
    return inside(on, xlogy(a - 1.0, y) + xlog1py(b - 1.0, -y / scale) - special.betaln(a, b) - a * np.log(scale),
                  a, b, scale)


@defines(stats.poisson.logpmf)
def poisson(k, mu):
    mu = np.where(np.asarray(mu) >= 0.0, mu, np.nan)
    return at_integers(k, 0, xlogy(k, mu) - mu - special.gammaln(k + 1.0), mu)


@defines(stats.binom.logpmf)
def binom(k, n, p):
    p, n = probability(p), np.where(np.asarray(n) >= 0.0, n, np.nan)
    value = (special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0) + xlogy(k, p)
             + xlog1py(n - k, -p))
    return at_integers(k, 0, inside(np.asarray(k) <= n, value, n, p), n, p)


@defines(stats.bernoulli.logpmf)
def bernoulli(k, p):
    p = probability(p)
    return at_integers(k, 0, inside(np.asarray(k) <= 1, xlogy(k, p) + xlog1py(1.0 - k, -p), p), p)


@defines(stats.uniform.logpdf)
def uniform(x, loc=0.0, scale=1.0):
    scale = checked(scale)
    z = (x - loc) / scale
    return inside((z >= 0.0) & (z <= 1.0), -np.log(scale + 0.0 * z), scale)


@defines(stats.chi2.logpdf)
def chi2(x, df, loc=0.0, scale=1.0):
    return gamma(x, 0.5 * df, loc, 2.0 * scale)


@defines(stats.weibull_min.logpdf)
def weibull(x, c, loc=0.0, scale=1.0):
    c, scale = checked(c), checked(scale)
    y = x - loc
    on = y >= 0.0
    y = np.where(on, y, 1.0)
    return inside(on, np.log(c) + special.xlogy(c - 1.0, y) - (y / scale) ** c - c * np.log(scale), c, scale)


@defines(stats.halfnorm.logpdf)
def halfnorm(x, loc=0.0, scale=1.0):
    scale = checked(scale)
    z = (x - loc) / scale
    return inside(z >= 0.0, 0.5 * math.log(2.0 / math.pi) - 0.5 * z * z - np.log(scale), scale)


@defines(stats.halfcauchy.logpdf)
def halfcauchy(x, loc=0.0, scale=1.0):
    scale = checked(scale)
    z = (x - loc) / scale
    return inside(z >= 0.0, math.log(2.0 / math.pi) - np.log1p(z * z) - np.log(scale), scale)


@defines(stats.pareto.logpdf)
def pareto(x, b, loc=0.0, scale=1.0):
    b, scale = checked(b), checked(scale)
    z = (x - loc) / scale
    on = z >= 1.0
    return inside(on, np.log(b) - (b + 1.0) * np.log(np.where(on, z, 1.0)) - np.log(scale), b, scale)


@defines(stats.rayleigh.logpdf)
def rayleigh(x, loc=0.0, scale=1.0):
    scale = checked(scale)
    y = x - loc
    on = y >= 0.0
    y = np.where(on, y, 1.0)
    return inside(on, np.log(y) - 0.5 * (y / scale) ** 2 - 2.0 * np.log(scale), scale)


@defines(stats.rayleigh.pdf)
def rayleigh_density(x, loc=0.0, scale=1.0):
    """Not by its logarithm, whose derivative at 0 is infinite."""
    scale = checked(scale)
    z = (x - loc) / scale
    return np.where(z >= 0.0, z * np.exp(-0.5 * z * z) / scale, np.exp(outside(scale)))


@defines(stats.gumbel_r.logpdf)
def gumbel(x, loc=0.0, scale=1.0):
    scale = checked(scale)
    z = (x - loc) / scale
    return -z - np.exp(-z) - np.log(scale)


@defines(stats.f.logpdf)
def f_ratio(x, dfn, dfd, loc=0.0, scale=1.0):
    dfn, dfd, scale = checked(dfn), checked(dfd), checked(scale)
    y = x - loc
    on = y >= 0.0
    y = np.where(on, y, 1.0)
    return inside(on, 0.5 * dfn * np.log(dfn / dfd) + special.xlogy(0.5 * dfn - 1.0, y)
                  - 0.5 * (dfn + dfd) * np.log1p(dfn / dfd * (y / scale)) - special.betaln(0.5 * dfn, 0.5 * dfd)
                  - 0.5 * dfn * np.log(scale), dfn, dfd, scale)


@defines(stats.geom.logpmf)
def geometric(k, p):
    p = checked(probability(p))
    return at_integers(k, 1, special.xlog1py(k - 1.0, -p) + np.log(p), p)


@defines(stats.nbinom.logpmf)
def negative_binomial(k, n, p):
    n, p = checked(n), checked(probability(p))
    return at_integers(k, 0, special.gammaln(n + k) - special.gammaln(k + 1.0) - special.gammaln(n) + n * np.log(p)
                       + special.xlog1py(k, -p), n, p)


@defines(stats.dirichlet.logpdf)
def dirichlet(x, alpha):
    """x: one point (n,) of the simplex, or points along further axes; or without the last coordinate, which completes 1."""
    points, powers = np.asarray(x), np.asarray(alpha) - 1.0
    if powers.ndim != 1 or points.ndim == 0:
        return unsupported("scipy.stats.dirichlet with these dimensions", "give one vector alpha and points as columns")
    k = points.shape[0]
    along = np.reshape(powers, (-1, *[1 for _ in range(points.ndim - 1)]))
    found = np.sum(special.xlogy(along[:k], points), axis=0)
    if k + 1 == powers.shape[0]:
        found = found + special.xlogy(powers[k], 1.0 - np.sum(points, axis=0))
    elif k != powers.shape[0]:
        raise ValueError("dirichlet: a point has as many coordinates as alpha, or one less")
    return found - np.sum(special.gammaln(powers + 1.0)) + special.gammaln(np.sum(powers + 1.0))


@defines(stats.dirichlet.entropy)
def dirichlet_entropy(alpha):
    """alpha: (n,). log B + (sum - n) psi(sum) - sum((alpha - 1) psi(alpha))."""
    alpha = np.asarray(alpha)
    if alpha.ndim != 1:
        return unsupported("scipy.stats.dirichlet of several laws", "call it for each alpha")
    total = np.sum(alpha)
    return (np.sum(special.gammaln(alpha)) - special.gammaln(total) + (total - np.size(alpha)) * special.psi(total)
            - np.sum((alpha - 1.0) * special.psi(alpha)))


# ---- densities -------------------------------------------------------------------------------------------
def exponential_of(log_density):
    """The density that goes with a logarithm."""
    def density(*args, **kwargs):
        return np.exp(log_density(*args, **kwargs))
    return density


DENSITIES = {"lognorm": lognorm, "t": student, "cauchy": cauchy, "laplace": laplace, "logistic": logistic, "expon": expon,
             "gamma": gamma, "invgamma": invgamma, "beta": beta, "uniform": uniform, "chi2": chi2, "weibull_min": weibull,
             "halfnorm": halfnorm, "halfcauchy": halfcauchy, "pareto": pareto, "gumbel_r": gumbel,
             "f": f_ratio, "dirichlet": dirichlet, "multivariate_normal": multivariate_normal}
for _name, _log in DENSITIES.items():
    defines(getattr(stats, _name).pdf)(exponential_of(_log))
for _name, _log in {"poisson": poisson, "binom": binom, "bernoulli": bernoulli, "geom": geometric,
                    "nbinom": negative_binomial}.items():
    defines(getattr(stats, _name).pmf)(exponential_of(_log))


# ---- distribution functions, of the standardised variable ------------------------------------------------
def lognorm_cdf(z, s):
    on = z > 0.0
    return np.where(on, special.ndtr(np.log(np.where(on, z, 1.0)) / s), np.exp(outside(z, s)))


def laplace_cdf(z):
    return np.where(z < 0.0, 0.5 * np.exp(z), 1.0 - 0.5 * np.exp(-z))


def positive(z):
    return np.maximum(z, 0.0)


DISTRIBUTIONS = {
    "lognorm": lognorm_cdf,
    "t": lambda z, df: special.stdtr(df, z),
    "cauchy": lambda z: 0.5 + np.arctan(z) / math.pi,
    "laplace": laplace_cdf,
    "logistic": lambda z: special.expit(z),
    "expon": lambda z: -np.expm1(-positive(z)),
    "gamma": lambda z, a: special.gammainc(a, positive(z)),
    "invgamma": lambda z, a: special.gammaincc(a, 1.0 / positive(z)),
    "beta": lambda z, a, b: special.betainc(a, b, np.minimum(positive(z), 1.0)),
    "uniform": lambda z: np.minimum(positive(z), 1.0),
    "chi2": lambda z, df: special.gammainc(0.5 * df, 0.5 * positive(z)),
    "weibull_min": lambda z, c: -np.expm1(-positive(z) ** c),
    "halfnorm": lambda z: special.erf(positive(z) / math.sqrt(2.0)),
    "rayleigh": lambda z: -np.expm1(-0.5 * positive(z) ** 2),
    "gumbel_r": lambda z: np.exp(-np.exp(-z)),
}
# One minus these, without the loss of small differences.
SURVIVAL = {
    "lognorm": lambda z, s: lognorm_cdf(1.0 / np.where(z <= 0.0, 1e-300, z), s),
    "t": lambda z, df: special.stdtr(df, -z),
    "cauchy": lambda z: 0.5 - np.arctan(z) / math.pi,
    "laplace": lambda z: laplace_cdf(-z),
    "logistic": lambda z: special.expit(-z),
    "expon": lambda z: np.exp(-positive(z)),
    "gamma": lambda z, a: special.gammaincc(a, positive(z)),
    "invgamma": lambda z, a: special.gammainc(a, 1.0 / positive(z)),
    "beta": lambda z, a, b: special.betaincc(a, b, np.minimum(positive(z), 1.0)),
    "uniform": lambda z: 1.0 - np.minimum(positive(z), 1.0),
    "chi2": lambda z, df: special.gammaincc(0.5 * df, 0.5 * positive(z)),
    "weibull_min": lambda z, c: np.exp(-positive(z) ** c),
    "halfnorm": lambda z: special.erfc(positive(z) / math.sqrt(2.0)),
    "rayleigh": lambda z: np.exp(-0.5 * positive(z) ** 2),
    "gumbel_r": lambda z: -np.expm1(-np.exp(-z)),
}
# Logarithms that stay finite where the probabilities themselves are 0 in floating point.
LOG_DISTRIBUTIONS = {
    "laplace": lambda z: np.where(z < 0.0, z - math.log(2.0), np.log1p(-0.5 * np.exp(-np.abs(z)))),
    "logistic": lambda z: special.log_expit(z),
    "gumbel_r": lambda z: -np.exp(-z),
}
LOG_SURVIVAL = {
    "laplace": lambda z: np.where(z > 0.0, -z - math.log(2.0), np.log1p(-0.5 * np.exp(-np.abs(z)))),
    "logistic": lambda z: special.log_expit(-z),
    "expon": lambda z: -positive(z),
    "weibull_min": lambda z, c: -positive(z) ** c,
    "rayleigh": lambda z: -0.5 * positive(z) ** 2,
}
# Of probabilities from 0 to 1.
QUANTILES = {
    "lognorm": lambda q, s: np.exp(s * special.ndtri(q)),
    "t": lambda q, df: np.where(q == 0.0, np.log(q), special.stdtrit(df, q)),
    "cauchy": lambda q: np.where(q < 0.5, -1.0 / np.tan(math.pi * q), 1.0 / np.tan(math.pi * (1.0 - q))),
    "laplace": lambda q: np.where(q < 0.5, np.log(2.0 * q), -np.log(2.0 * (1.0 - q))),
    "logistic": lambda q: special.logit(q),
    "expon": lambda q: -np.log1p(-q),
    "gamma": lambda q, a: special.gammaincinv(a, q),
    "invgamma": lambda q, a: 1.0 / special.gammainccinv(a, q),
    "beta": lambda q, a, b: special.betaincinv(a, b, q),
    "uniform": lambda q: 1.0 * q,
    "chi2": lambda q, df: 2.0 * special.gammaincinv(0.5 * df, q),
    "weibull_min": lambda q, c: (-np.log1p(-q)) ** (1.0 / c),
    "halfnorm": lambda q: special.ndtri(0.5 * (1.0 + q)),
    "rayleigh": lambda q: np.sqrt(-2.0 * np.log1p(-q)),
    "gumbel_r": lambda q: -np.log(-np.log(q)),
}


def without_shape(standard):
    """The distribution function with location and scale, from the standard one."""
    def function(x, loc=0.0, scale=1.0):
        return standard((x - loc) / checked(scale))
    return function


def with_shape(standard):
    def function(x, shape, loc=0.0, scale=1.0):
        return standard((x - loc) / checked(scale), checked(shape))
    return function


def with_shapes(standard):
    def function(x, first, second, loc=0.0, scale=1.0):
        return standard((x - loc) / checked(scale), checked(first), checked(second))
    return function


def quantile_without_shape(standard):
    """The quantile with location and scale, from the standard one."""
    def function(q, loc=0.0, scale=1.0):
        return loc + checked(scale) * standard(probability(q))
    return function


def quantile_with_shape(standard):
    def function(q, shape, loc=0.0, scale=1.0):
        return loc + checked(scale) * standard(probability(q), checked(shape))
    return function


def quantile_with_shapes(standard):
    def function(q, first, second, loc=0.0, scale=1.0):
        return loc + checked(scale) * standard(probability(q), checked(first), checked(second))
    return function


def logarithm_of(probability_at):
    def function(*args, **kwargs):
        return np.log(probability_at(*args, **kwargs))
    return function


LOCATED = (without_shape, with_shape, with_shapes)
for _name, _standard in DISTRIBUTIONS.items():
    _made = LOCATED[getattr(stats, _name).numargs](_standard)
    defines(getattr(stats, _name).cdf)(_made)
    defines(getattr(stats, _name).logcdf)(logarithm_of(_made))
for _name, _standard in SURVIVAL.items():
    _made = LOCATED[getattr(stats, _name).numargs](_standard)
    defines(getattr(stats, _name).sf)(_made)
    defines(getattr(stats, _name).logsf)(logarithm_of(_made))
for _name, _standard in LOG_DISTRIBUTIONS.items():
    defines(getattr(stats, _name).logcdf)(LOCATED[getattr(stats, _name).numargs](_standard))
for _name, _standard in LOG_SURVIVAL.items():
    defines(getattr(stats, _name).logsf)(LOCATED[getattr(stats, _name).numargs](_standard))
for _name, _standard in QUANTILES.items():
    _located = (quantile_without_shape, quantile_with_shape, quantile_with_shapes)[getattr(stats, _name).numargs]
    defines(getattr(stats, _name).ppf)(_located(_standard))


@defines(stats.norm.sf)
def norm_sf(x, loc=0.0, scale=1.0):
    return special.ndtr((loc - x) / checked(scale))


@defines(stats.norm.logsf)
def norm_logsf(x, loc=0.0, scale=1.0):
    return special.log_ndtr((loc - x) / checked(scale))


@defines(stats.norm.ppf)
def norm_ppf(q, loc=0.0, scale=1.0):
    return loc + checked(scale) * special.ndtri(q)


@defines(stats.poisson.cdf)
def poisson_cdf(k, mu):
    return special.pdtr(k, mu)
