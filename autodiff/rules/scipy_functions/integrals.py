"""Error functions and the normal distribution (DLMF chapter 7), exponential integrals (6, 8), hypergeometric functions (13,
15) and elliptic integrals (19)."""

import math

import numpy as np
from scipy import special

from ..decorators import defines, partials

SQRT_2, SQRT_PI = math.sqrt(2.0), math.sqrt(math.pi)
LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)


# ---- error functions -------------------------------------------------------------------------------------
@partials("special.erfinv")
def erfinv(y, x):
    """DLMF 7.2.1: the reciprocal of erf's derivative."""
    return 0.5 * SQRT_PI * np.exp(y * y)


@partials("special.erfcinv")
def erfcinv(y, x):
    return -0.5 * SQRT_PI * np.exp(y * y)


@partials("special.erfi")
def erfi(y, x):
    return 2.0 / SQRT_PI * np.exp(x * x)


def tail(w):
    """1 + 3 w + 15 w^2 + 105 w^3 + ..., of |w| < 1 / 1000."""
    return 1.0 + w * (3.0 + w * (15.0 + w * (105.0 + w * (945.0 + w * 10395.0))))


@partials("special.erfcx")
def erfcx(y, x):
    """exp(x^2) erfc(x): 2 x y - 2 / sqrt(pi), of which large x leave a small difference (asymptotic, DLMF 7.12.1)."""
    if x > 25.0:
        return -1.0 / (SQRT_PI * x * x) * tail(-0.5 / (x * x))
    return 2.0 * x * y - 2.0 / SQRT_PI


@partials("special.dawsn")
def dawsn(y, x):
    """DLMF 7.5.1."""
    if abs(x) > 25.0:
        return -0.5 / (x * x) * tail(0.5 / (x * x))
    return 1.0 - 2.0 * x * y


@defines(special.ndtr)
def ndtr(x):
    return 0.5 * special.erfc(-x / SQRT_2)


@partials("special.log_ndtr")
def log_ndtr(y, x):
    """The density over the distribution function, DLMF 7.8.1."""
    return math.sqrt(2.0 / math.pi) / special.erfcx(-x / SQRT_2)


@partials("special.ndtri")
def ndtri(y, p):
    return np.exp(0.5 * y * y + LOG_SQRT_2PI)


@partials("special.ndtri_exp")
def ndtri_exp(y, log_p):
    """The quantile of exp(log_p)."""
    return math.sqrt(0.5 * math.pi) * special.erfcx(-y / SQRT_2)


@partials("special.owens_t")
def owens_t(y, h, a):
    """D. Owen, Tables for computing bivariate normal probabilities, 1956."""
    return -np.exp(-0.5 * h * h) * special.erf(a * h / SQRT_2) / (2.0 * math.sqrt(2.0 * math.pi)), \
        np.exp(-0.5 * h * h * (1.0 + a * a)) / (2.0 * math.pi * (1.0 + a * a))


# ---- exponential integrals -------------------------------------------------------------------------------
@partials("special.expi")
def expi(y, x):
    """DLMF 6.2.5."""
    return np.exp(x) / x


@partials("special.exp1")
def exp1(y, x):
    """DLMF 6.2.1."""
    return -np.exp(-x) / x


@partials("special.expn")
def expn(y, n, x):
    """DLMF 8.19.13, with 8.19.12 for n = 0."""
    return None, (-special.expn(n - 1, x) if n >= 1 else -(np.exp(-x) + y) / x)


@partials("special.spence")
def spence(y, z):
    """The integral of log(t) / (1 - t) from 1 to z; at 1 the integrand's series."""
    if z == 1.0:
        return -1.0 + 0.5 * (z - 1.0) - (z - 1.0) * (z - 1.0) / 3.0
    return np.log(z) / (1.0 - z)


# ---- hypergeometric --------------------------------------------------------------------------------------
@partials("special.hyp0f1")
def hyp0f1(y, v, z):
    """DLMF 16.3.1."""
    return None, special.hyp0f1(v + 1.0, z) / v


@partials("special.hyp1f1")
def hyp1f1(y, a, b, x):
    """DLMF 13.3.15."""
    return None, None, (a / b * special.hyp1f1(a + 1.0, b + 1.0, x) if a != 0.0 else 0.0)


@partials("special.hyperu")
def hyperu(y, a, b, x):
    """DLMF 13.3.22."""
    return None, None, (-a * special.hyperu(a + 1.0, b + 1.0, x) if a != 0.0 else 0.0)


@partials("special.hyp2f1")
def hyp2f1(y, a, b, c, z):
    """DLMF 15.5.1."""
    return None, None, None, (a * b / c * special.hyp2f1(a + 1.0, b + 1.0, c + 1.0, z) if a * b != 0.0 else 0.0)


@partials("special.exprel")
def exprel(y, x):
    """(exp(x) - 1) / x is 1F1(1, 2, x), whose series does not end far out."""
    if x < -1.0:
        return (np.exp(x) - y) / x
    return y * (1.0 - 1.0 / x) + 1.0 / x if x > 1.0 else 0.5 * special.hyp1f1(2.0, 3.0, x)


# ---- elliptic integrals ----------------------------------------------------------------------------------
def ellipk_slope(m, first):
    """DLMF 19.4.1, and near 0 the derivative of 19.5.1."""
    if abs(m) < 0.05:
        return math.pi / 8.0 * special.hyp2f1(1.5, 1.5, 2.0, m)
    return (special.ellipe(m) / (1.0 - m) - first) / (2.0 * m)


@partials("special.ellipk")
def ellipk(y, m):
    return ellipk_slope(m, y)


@partials("special.ellipkm1")
def ellipkm1(y, p):
    """ellipk of 1 - p."""
    if abs(1.0 - p) < 0.05:
        return -math.pi / 8.0 * special.hyp2f1(1.5, 1.5, 2.0, 1.0 - p)
    return (y - special.ellipe(1.0 - p) / p) / (2.0 * (1.0 - p))


@partials("special.ellipe")
def ellipe(y, m):
    """DLMF 19.4.2, and near 0 the derivative of 19.5.2."""
    if abs(m) < 0.05:
        return -math.pi / 8.0 * special.hyp2f1(0.5, 1.5, 2.0, m)
    return (y - special.ellipk(m)) / (2.0 * m)


def sine_powers(phi):
    """The integrals of sin^2, sin^4 and sin^6 from 0 to phi."""
    two, four, six = np.sin(2.0 * phi), np.sin(4.0 * phi), np.sin(6.0 * phi)
    return (phi / 2.0 - two / 4.0, 0.375 * phi - two / 4.0 + four / 32.0,
            0.3125 * phi - 15.0 * two / 64.0 + 3.0 * four / 64.0 - six / 192.0)


@partials("special.ellipkinc")
def ellipkinc(y, phi, m):
    """DLMF 19.2.4 and 19.4.5; near m = 0 the series of the integrand."""
    root = np.sqrt(1.0 - m * np.sin(phi) ** 2)
    if abs(m) < 1e-3:
        s2, s4, s6 = sine_powers(phi)
        return 1.0 / root, 0.5 * s2 + m * (0.75 * s4 + 0.9375 * m * s6)
    return 1.0 / root, (special.ellipeinc(phi, m) / (1.0 - m) - y) / (2.0 * m) - np.sin(2.0 * phi) / (4.0 * (1.0 - m) * root)


@partials("special.ellipeinc")
def ellipeinc(y, phi, m):
    """DLMF 19.2.5 and 19.4.6; near m = 0 the series of the integrand."""
    root = np.sqrt(1.0 - m * np.sin(phi) ** 2)
    if abs(m) < 1e-3:
        s2, s4, s6 = sine_powers(phi)
        return root, -0.5 * s2 - m * (0.25 * s4 + 0.1875 * m * s6)
    return root, (y - special.ellipkinc(phi, m)) / (2.0 * m)
