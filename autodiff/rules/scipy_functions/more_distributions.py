"""More laws of `scipy.stats`, and laws with their parameters fixed: `stats.norm(loc, scale).logpdf(x)`."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats

from ..decorators import defines
from ..registry import REGISTRY
from . import statistics  # noqa: F401  (it fills the registry)
from .distributions import LOG_2PI, checked, exponential_of, inside, outside


@defines(stats.skewnorm.logpdf)
def skewnorm(x, a, loc=0.0, scale=1.0):
    scale = checked(scale)
    z = (x - loc) / scale
    return math.log(2.0) - 0.5 * z * z - 0.5 * LOG_2PI + special.log_ndtr(a * z) - np.log(scale)


@defines(stats.skewnorm.cdf)
def skewnorm_cdf(x, a, loc=0.0, scale=1.0):
    """With Owen's T function."""
    z = (x - loc) / checked(scale)
    return special.ndtr(z) - 2.0 * special.owens_t(z, a)


def log_mass(a, b):
    """The logarithm of the mass of a normal law between a < b, from the side where the smaller numbers are."""
    right = np.asarray(a) > 0.0
    low, high = special.log_ndtr(np.where(right, -b, a)), special.log_ndtr(np.where(right, -a, b))
    return high + np.log1p(-np.exp(low - high))


@defines(stats.truncnorm.logpdf)
def truncnorm(x, a, b, loc=0.0, scale=1.0):
    scale = checked(scale)
    z = (x - loc) / scale
    on = (z >= a) & (z <= b)
    z = np.where(on, z, 0.0)
    return inside(on, -0.5 * z * z - 0.5 * LOG_2PI - log_mass(a, b) - np.log(scale), a, b, scale)


@defines(stats.truncnorm.cdf)
def truncnorm_cdf(x, a, b, loc=0.0, scale=1.0):
    z = (x - loc) / checked(scale)
    on = (z > a) & (z < b)
    part = np.exp(log_mass(a, np.where(on, z, 0.5 * (np.maximum(a, -1e3) + np.minimum(b, 1e3)))) - log_mass(a, b))
    return np.where(on, part, np.where(z <= a, np.exp(outside(scale)), 1.0 + np.exp(outside(scale))))


@defines(stats.gumbel_l.logpdf)
def gumbel_left(x, loc=0.0, scale=1.0):
    scale = checked(scale)
    z = (x - loc) / scale
    return z - np.exp(z) - np.log(scale)


@defines(stats.maxwell.logpdf)
def maxwell(x, loc=0.0, scale=1.0):
    scale = checked(scale)
    z = (x - loc) / scale
    on = z > 0.0
    z = np.where(on, z, 1.0)
    return inside(on, 0.5 * math.log(2.0 / math.pi) + 2.0 * np.log(z) - 0.5 * z * z - np.log(scale), scale)


@defines(stats.invgauss.logpdf)
def invgauss(x, mu, loc=0.0, scale=1.0):
    mu, scale = checked(mu), checked(scale)
    z = (x - loc) / scale
    on = z > 0.0
    z = np.where(on, z, 1.0)
    return inside(on, -0.5 * LOG_2PI - 1.5 * np.log(z) - 0.5 * (z / mu - 1.0) ** 2 / z - np.log(scale), mu, scale)


@defines(stats.vonmises.logpdf)
def vonmises(x, kappa, loc=0.0, scale=1.0):
    scale = checked(scale)
    z = (x - loc) / scale
    kappa = np.where(np.asarray(kappa) >= 0.0, kappa, np.nan)
    return kappa * (np.cos(z) - 1.0) - math.log(2.0 * math.pi) - np.log(special.i0e(kappa)) - np.log(scale)


@defines(stats.genpareto.logpdf)
def genpareto(x, c, loc=0.0, scale=1.0):
    """An exponential law where c is 0, which has no derivative by c there."""
    scale = checked(scale)
    z = (x - loc) / scale
    zero = np.asarray(c) == 0.0
    shape = np.where(zero, 1.0, c)
    on = (z >= 0.0) & (1.0 + c * z > 0.0)
    z = np.where(on, z, 0.0)
    return inside(on, np.where(zero, -z, -(1.0 + 1.0 / shape) * np.log1p(shape * z)) - np.log(scale), c, scale)


@defines(stats.loguniform.logpdf)
def loguniform(x, a, b, loc=0.0, scale=1.0):
    scale = checked(scale)
    z = (x - loc) / scale
    on = (z >= a) & (z <= b)
    return inside(on, -np.log(np.where(on, z, 1.0)) - np.log(np.log(b) - np.log(a)) - np.log(scale), a, b, scale)


@defines(stats.gennorm.logpdf)
def gennorm(x, beta, loc=0.0, scale=1.0):
    beta, scale = checked(beta), checked(scale)
    return (np.log(0.5 * beta) - special.gammaln(1.0 / beta) - np.abs((x - loc) / scale) ** beta - np.log(scale))


for _law, _log in ((stats.skewnorm, skewnorm), (stats.truncnorm, truncnorm), (stats.gumbel_l, gumbel_left),
                   (stats.maxwell, maxwell), (stats.invgauss, invgauss), (stats.vonmises, vonmises),
                   (stats.genpareto, genpareto), (stats.loguniform, loguniform), (stats.gennorm, gennorm)):
    defines(_law.pdf)(exponential_of(_log))


# ---- laws with fixed parameters ---------------------------------------------------------------------------
class Methods:
    """What can be asked of a law with its parameters."""

    law: Any
    args: Any
    kwds: Any

    def logpdf(self, x):
        return self.law.logpdf(x, *self.args, **self.kwds)

    def pdf(self, x):
        return self.law.pdf(x, *self.args, **self.kwds)

    def logpmf(self, k):
        return self.law.logpmf(k, *self.args, **self.kwds)

    def pmf(self, k):
        return self.law.pmf(k, *self.args, **self.kwds)

    def cdf(self, x):
        return self.law.cdf(x, *self.args, **self.kwds)

    def logcdf(self, x):
        return self.law.logcdf(x, *self.args, **self.kwds)

    def sf(self, x):
        return self.law.sf(x, *self.args, **self.kwds)

    def logsf(self, x):
        return self.law.logsf(x, *self.args, **self.kwds)

    def ppf(self, q):
        return self.law.ppf(q, *self.args, **self.kwds)


@dataclass
class Frozen(Methods):
    """What `scipy.stats` makes of a law and its parameters."""

    law: Any
    args: tuple
    kwds: dict


@dataclass
class FrozenOutside(Methods):
    """The same made outside, where SciPy has put a copy of the law: its class and name tell which it is."""

    kind: Any
    name: Any
    args: tuple
    kwds: dict

    paths = {"kind": ("dist", "__class__"), "name": ("dist", "name")}

    @staticmethod
    def fits(value):
        return type(value.dist) is type(getattr(stats, str(value.dist.name), None))

    @property
    def law(self):
        return getattr(stats, self.name)


for _cls in (type(stats.norm()), type(stats.poisson(1.0))):
    REGISTRY.stand_ins[_cls] = FrozenOutside, ("kind", "name", "args", "kwds")


def freezing(law):
    """What calling a law means."""
    def frozen(*args, **kwds):
        return Frozen(law, args, kwds)
    return frozen


for _owner in {getattr(f, "__self__", None) for f in REGISTRY.definitions}:
    if isinstance(_owner, (stats.rv_continuous, stats.rv_discrete)):
        defines(_owner)(freezing(_owner))
