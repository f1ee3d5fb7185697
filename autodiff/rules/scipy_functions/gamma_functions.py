"""The gamma function and its relatives, complete and incomplete (DLMF chapters 5 and 8), and distributions made of them."""

import math

import numpy as np
from scipy import special

from ..decorators import defines, partials
from .operations import hurwitz


@partials("special.gamma")
def gamma(y, x):
    """DLMF 5.2.2."""
    return y * special.psi(x)


@partials("special.gammaln")
def gammaln(y, x):
    return special.psi(x)


@defines(special.loggamma)
def loggamma(z):
    """Of real numbers: nan below 0, where the function is complex."""
    return np.where(np.asarray(z) >= 0.0, special.gammaln(z), np.nan * np.asarray(z))


@partials("special.rgamma")
def rgamma(y, x):
    """Near -n, a pole of gamma, the series (-1)^n n! (e - psi(n + 1) e^2 + ...) of the distance e."""
    n = -np.floor(x + 0.5)
    if n >= 0.0 and abs(x + n) < 1e-9:
        return (1.0 - 2.0 * np.mod(n, 2.0)) * special.gamma(n + 1.0) * (1.0 - 2.0 * special.psi(n + 1.0) * (x + n))
    return -y * special.psi(x)


@partials("special.psi")
def psi(y, x):
    """DLMF 25.11.12 and 5.15.1: the trigamma function is the Hurwitz zeta function of order 2."""
    return hurwitz(2.0, x)


@partials("special.zeta")
def zeta_of(y, s, q):
    """DLMF 25.11.17."""
    return None, -s * hurwitz(s + 1.0, q)


@defines(special.zeta)
def zeta(x, q=None):
    return hurwitz(x, 1.0 if q is None else q)


@defines(special.polygamma)
def polygamma(n, x):
    """DLMF 25.11.12."""
    if n == 0:
        return special.psi(x)
    return (-1.0) ** (n + 1) * special.gamma(n + 1.0) * hurwitz(n + 1.0, x)


def is_pole(x):
    """Whether x is 0, -1, -2, ..., where gamma and psi have poles."""
    return x <= 0.0 and x == np.floor(x)


def sine_of_turns(x):
    """sin(pi x), exact to rounding near integers too."""
    n = np.floor(x + 0.5)
    return (1.0 - 2.0 * np.mod(n, 2.0)) * np.sin(math.pi * (x - n))


def psi_step(x, d):
    """psi(x + d) - psi(x), also for d small beside x, and where both are infinite: then the limit for x that moves alone.
    Of negative x by reflection (DLMF 5.5.4), in which only the difference of the cotangents is left."""
    if x < 0.5 and x + d < 0.5:
        turn = sine_of_turns(d)
        turned = 0.0 if turn == 0.0 else math.pi * turn / (sine_of_turns(x) * sine_of_turns(x + d))
        return psi_step_of_positive(1.0 - x, -d) + turned
    return psi_step_of_positive(x, d)


def psi_step_of_positive(x, d):
    """Where d is small the first terms of Taylor's series about the middle."""
    middle = x + 0.5 * d
    if abs(d) < 1e-3 * x:
        return d * (hurwitz(2.0, middle) + 0.25 * d * d * hurwitz(4.0, middle))
    return special.psi(x + d) - special.psi(x)


def gamma_at_pole(x, slope):
    """Of a product with 1 / gamma(x): its derivative by x where gamma has a pole, `slope` being the product of the rest."""
    n = -x
    return (1.0 - 2.0 * np.mod(n, 2.0)) * special.gamma(n + 1.0) * slope


@partials("special.beta")
def beta(y, a, b):
    """DLMF 5.12.1."""
    if y == 0.0 and is_pole(a + b):
        slope = gamma_at_pole(a + b, special.gamma(a) * special.gamma(b))
        return slope, slope
    return -y * psi_step(a, b), -y * psi_step(b, a)


@partials("special.betaln")
def betaln(y, a, b):
    return -psi_step(a, b), -psi_step(b, a)


@partials("special.binom")
def binom(y, n, k):
    if y == 0.0 and is_pole(k + 1.0):
        return 0.0, gamma_at_pole(k + 1.0, special.poch(n - k + 1.0, k))
    return y * psi_step(n - k + 1.0, k), y * psi_step(k + 1.0, n - 2.0 * k)


@partials("special.poch")
def poch(y, z, m):
    """DLMF 5.2.5: gamma(z + m) / gamma(z)."""
    if y == 0.0 and is_pole(z):
        return gamma_at_pole(z, special.gamma(z + m)), 0.0
    return y * psi_step(z, m), y * special.psi(z + m)


@defines(special.multigammaln)
def multigammaln(a, d):
    """DLMF 35.3.4."""
    total = 0.25 * d * (d - 1.0) * math.log(math.pi)
    for j in range(d):
        total = total + special.gammaln(a - 0.5 * j)
    return total


# ---- incomplete ------------------------------------------------------------------------------------------
def gamma_density(a, x):
    """x^(a - 1) e^-x / gamma(a)."""
    return np.exp(special.xlogy(a - 1.0, x) - x - special.gammaln(a))


@partials("special.gammainc")
def gammainc(y, a, x):
    """DLMF 8.8.13."""
    return None, gamma_density(a, x)


@partials("special.gammaincc")
def gammaincc(y, a, x):
    return None, -gamma_density(a, x)


@partials("special.gammaincinv")
def gammaincinv(x, a, p):
    return None, 1.0 / gamma_density(a, x)


@partials("special.gammainccinv")
def gammainccinv(x, a, q):
    return None, -1.0 / gamma_density(a, x)


def beta_density(a, b, x):
    """x^(a - 1) (1 - x)^(b - 1) / B(a, b)."""
    return np.exp(special.xlogy(a - 1.0, x) + special.xlog1py(b - 1.0, -x) - special.betaln(a, b))


@partials("special.betainc")
def betainc(y, a, b, x):
    """DLMF 8.17.1."""
    return None, None, beta_density(a, b, x)


@partials("special.betaincc")
def betaincc(y, a, b, x):
    """DLMF 8.17.4."""
    return None, None, -beta_density(a, b, x)


@partials("special.betaincinv")
def betaincinv(x, a, b, p):
    return None, None, 1.0 / beta_density(a, b, x)


# ---- distribution functions ------------------------------------------------------------------------------
def student_density(df, t):
    return np.exp(-special.betaln(0.5 * df, 0.5) - 0.5 * np.log(df) - 0.5 * (df + 1.0) * np.log1p(t * t / df))


@partials("special.stdtr")
def stdtr(y, df, t):
    """The derivative is the density of Student's t."""
    return None, student_density(df, t)


@partials("special.stdtrit")
def stdtrit(t, df, p):
    """By the inverse function theorem."""
    return None, 1.0 / student_density(df, t)


@defines(special.chdtr)
def chdtr(v, x):
    return special.gammainc(0.5 * v, 0.5 * x)


@defines(special.chdtrc)
def chdtrc(v, x):
    return special.gammaincc(0.5 * v, 0.5 * x)


def of_positive(x, *parameters):
    """The argument of a distribution on 0 to infinity: nan below 0, and where a parameter is not positive."""
    known = np.asarray(x) >= 0.0
    for parameter in parameters:
        known = known & (np.asarray(parameter) > 0.0)
    return np.where(known, x, np.nan)


@defines(special.fdtr)
def fdtr(dfn, dfd, x):
    x = of_positive(x, dfn, dfd)
    return special.betainc(0.5 * dfn, 0.5 * dfd, dfn * x / (dfd + dfn * x))


@defines(special.fdtrc)
def fdtrc(dfn, dfd, x):
    x = of_positive(x, dfn, dfd)
    return special.betaincc(0.5 * dfn, 0.5 * dfd, dfn * x / (dfd + dfn * x))


@defines(special.gdtr)
def gdtr(a, b, x):
    return special.gammainc(b, a * of_positive(x))


@defines(special.gdtrc)
def gdtrc(a, b, x):
    return special.gammaincc(b, a * of_positive(x))


@defines(special.pdtr)
def pdtr(k, m):
    return special.gammaincc(np.floor(k) + 1.0, m)


@defines(special.pdtrc)
def pdtrc(k, m):
    return special.gammainc(np.floor(k) + 1.0, m)
