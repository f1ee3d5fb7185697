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
    """At -n, a pole of gamma, the series (-1)^n n! (e - psi(n + 1) e^2 + ...) of the distance e."""
    n = -np.floor(x)
    if x <= 0.0 and x == -n:
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


@partials("special.beta")
def beta(y, a, b):
    """DLMF 5.12.1."""
    both = special.psi(a + b)
    return y * (special.psi(a) - both), y * (special.psi(b) - both)


@partials("special.betaln")
def betaln(y, a, b):
    both = special.psi(a + b)
    return special.psi(a) - both, special.psi(b) - both


@partials("special.binom")
def binom(y, n, k):
    rest = special.psi(n - k + 1.0)
    return y * (special.psi(n + 1.0) - rest), y * (rest - special.psi(k + 1.0))


@partials("special.poch")
def poch(y, z, m):
    """DLMF 5.2.5: gamma(z + m) / gamma(z)."""
    both = special.psi(z + m)
    return y * (both - special.psi(z)), y * both


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


@partials("special.betaincinv")
def betaincinv(x, a, b, p):
    return None, None, 1.0 / beta_density(a, b, x)


@defines(*[getattr(special, name) for name in ("betaincc",) if hasattr(special, name)])     # SciPy 1.11
def betaincc(a, b, x):
    """DLMF 8.17.4."""
    return special.betainc(b, a, 1.0 - x)


# ---- distribution functions ------------------------------------------------------------------------------
@partials("special.stdtr")
def stdtr(y, df, t):
    """The derivative is the density of Student's t."""
    return None, np.exp(-special.betaln(0.5 * df, 0.5) - 0.5 * np.log(df) - 0.5 * (df + 1.0) * np.log1p(t * t / df))


@defines(special.chdtr)
def chdtr(v, x):
    return special.gammainc(0.5 * v, 0.5 * x)


@defines(special.chdtrc)
def chdtrc(v, x):
    return special.gammaincc(0.5 * v, 0.5 * x)


@defines(special.fdtr)
def fdtr(dfn, dfd, x):
    return special.betainc(0.5 * dfn, 0.5 * dfd, dfn * x / (dfd + dfn * x))


@defines(special.fdtrc)
def fdtrc(dfn, dfd, x):
    return special.betainc(0.5 * dfd, 0.5 * dfn, dfd / (dfd + dfn * x))


@defines(special.gdtr)
def gdtr(a, b, x):
    return special.gammainc(b, a * x)


@defines(special.gdtrc)
def gdtrc(a, b, x):
    return special.gammaincc(b, a * x)


@defines(special.pdtr)
def pdtr(k, m):
    return special.gammaincc(np.floor(k) + 1.0, m)


@defines(special.pdtrc)
def pdtrc(k, m):
    return special.gammainc(np.floor(k) + 1.0, m)
