"""Bessel functions of real arguments (DLMF chapter 10). Orders have no derivative here."""

import numpy as np
from scipy import special

from ..decorators import defines, partials
from .operations import spherical_i, spherical_j, spherical_k, spherical_y


@partials("special.jv", "special.jve")
def jv(y, v, x):
    """DLMF 10.6.1; of real arguments the scaled function is the same."""
    return None, 0.5 * (special.jv(v - 1.0, x) - special.jv(v + 1.0, x))


@partials("special.yv", "special.yve")
def yv(y, v, x):
    return None, 0.5 * (special.yv(v - 1.0, x) - special.yv(v + 1.0, x))


@partials("special.yn")
def yn(y, n, x):
    return None, 0.5 * (special.yn(n - 1, x) - special.yn(n + 1, x))


@partials("special.iv")
def iv(y, v, x):
    """DLMF 10.29.1."""
    return None, 0.5 * (special.iv(v - 1.0, x) + special.iv(v + 1.0, x))


def far(v, x):
    """Whether x is so large beside the order that the first terms of the asymptotic series (DLMF 10.40) are all there is."""
    return abs(x) > 1e5 * (1.0 + 4.0 * v * v)


@partials("special.ive")
def ive(y, v, x):
    """iv times exp(-|x|)."""
    if far(v, x):
        return None, far_first(y, 4.0 * v * v, x)
    return None, 0.5 * (special.ive(v - 1.0, x) + special.ive(v + 1.0, x)) - np.sign(x) * y


def far_first(y, mu, x):
    """The logarithm of y is about -log|x| / 2 - (mu - 1) / (8 |x|)."""
    return y * (-0.5 / x + np.sign(x) * 0.125 * (mu - 1.0) / x / x)


def far_second(y, mu, x):
    """The logarithm of y is about -log x / 2 + (mu - 1) / (8 x)."""
    return y * (-0.5 / x - 0.125 * (mu - 1.0) / x / x)


@partials("special.kv")
def kv(y, v, x):
    """DLMF 10.29.1."""
    return None, -0.5 * (special.kv(v - 1.0, x) + special.kv(v + 1.0, x))


@partials("special.kn")
def kn(y, n, x):
    return None, -0.5 * (special.kn(n - 1, x) + special.kn(n + 1, x))


@partials("special.kve")
def kve(y, v, x):
    """kv times exp(x)."""
    if far(v, x):
        return None, far_second(y, 4.0 * v * v, x)
    return None, y - 0.5 * (special.kve(v - 1.0, x) + special.kve(v + 1.0, x))


@partials("special.j0")
def j0(y, x):
    """DLMF 10.6.3."""
    return -special.j1(x)


@partials("special.j1")
def j1(y, x):
    """DLMF 10.6.2, and near 0 the series."""
    return 0.5 - 0.1875 * x * x if abs(x) < 1e-6 else special.j0(x) - y / x


@partials("special.y0")
def y0(y, x):
    return -special.y1(x)


@partials("special.y1")
def y1(y, x):
    return special.y0(x) - y / x


@partials("special.i0")
def i0(y, x):
    """DLMF 10.29.3."""
    return special.i1(x)


@partials("special.i1")
def i1(y, x):
    """DLMF 10.29.2, and near 0 the series."""
    return 0.5 + 0.1875 * x * x if abs(x) < 1e-6 else special.i0(x) - y / x


@partials("special.i0e")
def i0e(y, x):
    return far_first(y, 0.0, x) if far(0.0, x) else special.i1e(x) - np.sign(x) * y


@partials("special.i1e")
def i1e(y, x):
    if far(1.0, x):
        return far_first(y, 4.0, x)
    return 0.5 - x * np.sign(x) if abs(x) < 1e-9 else special.i0e(x) - y / x - np.sign(x) * y


@partials("special.k0")
def k0(y, x):
    """DLMF 10.29.3."""
    return -special.k1(x)


@partials("special.k1")
def k1(y, x):
    return -special.k0(x) - y / x


@partials("special.k0e")
def k0e(y, x):
    return far_second(y, 0.0, x) if far(0.0, x) else y - special.k1e(x)


@partials("special.k1e")
def k1e(y, x):
    return far_second(y, 4.0, x) if far(1.0, x) else y - special.k0e(x) - y / x


# ---- spherical -------------------------------------------------------------------------------------------
@partials("special.spherical_jn")
def spherical_slope(y, n, z):
    """DLMF 10.51.2; at 0 the first terms of the series 10.53.1."""
    if z == 0.0:
        if n < 2:
            return None, (-z / 3.0 if n == 0 else 1.0 / 3.0 - 0.1 * z * z)
        return None, (2.0 * z / 15.0 if n == 2 else (z * z / 35.0 if n == 3 else 0.0 * z))
    return None, n / z * y - spherical_j(n + 1, z)


def slope(n, z):
    if z == 0.0:
        return -z / 3.0 if n == 0 else (1.0 / 3.0 - 0.1 * z * z if n == 1 else 2.0 * z / 15.0 if n == 2 else 0.0 * z)
    return n / z * spherical_j(n, z) - spherical_j(n + 1, z)


@defines(special.spherical_jn)
def spherical_jn(n, z, derivative=False):
    if derivative:
        return np.vectorize(slope)(n, z)
    return spherical_j(n, z)


@partials("special.spherical_yn")
def spherical_y_slope(y, n, z):
    """DLMF 10.51.2."""
    return None, n / z * y - spherical_y(n + 1, z)


@defines(special.spherical_yn)
def spherical_yn(n, z, derivative=False):
    if derivative:
        return n / z * spherical_y(n, z) - spherical_y(n + 1, z)
    return spherical_y(n, z)


@partials("special.spherical_in")
def spherical_i_slope(y, n, z):
    """DLMF 10.51.5; at 0 the first terms of the series 10.53.3."""
    if z == 0.0:
        if n < 2:
            return None, (z / 3.0 if n == 0 else 1.0 / 3.0 + 0.1 * z * z)
        return None, (2.0 * z / 15.0 if n == 2 else (z * z / 35.0 if n == 3 else 0.0 * z))
    return None, n / z * y + spherical_i(n + 1, z)


def modified_slope(n, z):
    if z == 0.0:
        return z / 3.0 if n == 0 else (1.0 / 3.0 + 0.1 * z * z if n == 1 else 2.0 * z / 15.0 if n == 2 else 0.0 * z)
    return n / z * spherical_i(n, z) + spherical_i(n + 1, z)


@defines(special.spherical_in)
def spherical_in(n, z, derivative=False):
    if derivative:
        return np.vectorize(modified_slope)(n, z)
    return spherical_i(n, z)


@partials("special.spherical_kn")
def spherical_k_slope(y, n, z):
    """DLMF 10.51.5, of (-1)^n times its function."""
    return None, n / z * y - spherical_k(n + 1, z)


@defines(special.spherical_kn)
def spherical_kn(n, z, derivative=False):
    if derivative:
        return n / z * spherical_k(n, z) - spherical_k(n + 1, z)
    return spherical_k(n, z)


# ---- derivatives of a given order ------------------------------------------------------------------------
# DLMF 10.6.7 and 10.29.5: the mean of the functions of orders v - n, v - n + 2, ..., v + n with binomial weights
@defines(special.jvp)
def jvp(v, z, n=1):
    total, weight = special.jv(v - n, z), 1.0
    for k in range(n):
        weight = -weight * (n - k) / (k + 1)
        total = total + weight * special.jv(v - n + 2 * k + 2, z)
    return 0.5 ** n * total


@defines(special.yvp)
def yvp(v, z, n=1):
    total, weight = special.yv(v - n, z), 1.0
    for k in range(n):
        weight = -weight * (n - k) / (k + 1)
        total = total + weight * special.yv(v - n + 2 * k + 2, z)
    return 0.5 ** n * total


@defines(special.ivp)
def ivp(v, z, n=1):
    total, weight = special.iv(v - n, z), 1.0
    for k in range(n):
        weight = weight * (n - k) / (k + 1)
        total = total + weight * special.iv(v - n + 2 * k + 2, z)
    return 0.5 ** n * total


@defines(special.kvp)
def kvp(v, z, n=1):
    total, weight = special.kv(v - n, z), 1.0
    for k in range(n):
        weight = weight * (n - k) / (k + 1)
        total = total + weight * special.kv(v - n + 2 * k + 2, z)
    return (-0.5) ** n * total
