"""Elementwise functions of complex numbers: values from real and imaginary part, derivatives dw/dz.

A value function takes the parts of its arguments and returns those of the result. The derivative is a function of the
value and the arguments, as in `@partials`, of complex numbers; without one, the value function is differentiated as it
is written. (So are sine and cosine: each is the derivative of the other, and rules that call one another have no end.)
Principal values and branch cuts are NumPy's.

Sources: W. Kahan, Branch cuts for complex elementary functions, in: The State of the Art in Numerical Analysis, Oxford 1987
(inverse functions, tanh); R. L. Smith, Algorithm 116: Complex division, Communications of the ACM 5, 1962.
"""

import math

import numpy as np

from ..transforms.lower.numpy_functions.reductions import known
from .registry import REGISTRY

LOG_2, LOG_10 = math.log(2.0), math.log(10.0)


def holomorphic(name: str, derivative=None):
    """Registers the value of an operation on complex numbers, with its derivative: `derivative(w, z1, ...)`."""
    def register(value):
        REGISTRY.complex_functions[name] = (value, derivative)
        return value
    return register


# -- division and powers ------------------------------------------------------------------------------------------

@holomorphic("reciprocal", lambda w, z: -w * w)
def reciprocal(c, d):
    turned = abs(c) < abs(d)
    large, small = (d, c) if turned else (c, d)
    ratio = small / large
    scale = 1.0 / (large + small * ratio)
    re, im = (ratio * scale, -scale) if turned else (scale, -(ratio * scale))
    return re, im


def div_slopes(w, a, b):
    r = 1.0 / b
    return r, -w * r


@holomorphic("div", div_slopes)
def div(a, b, c, d):
    """Smith: divided by the larger part of the divisor. Zero divisors give nan."""
    turned = abs(c) < abs(d)
    large, small = (d, c) if turned else (c, d)
    first, second = (b, a) if turned else (a, b)
    ratio = small / large
    scale = 1.0 / (large + small * ratio)
    re = (first + second * ratio) * scale
    im = (second - first * ratio) * scale
    return re, -im if turned else im


def pow_slopes(w, z, k):
    if z == 0.0:
        base = 0.0 * w if k == 0.0 or k.real > 1.0 else w / z
        base = 1.0 + 0.0 * w if k == 1.0 else base
        exponent = 0.0 * w
    else:
        base = k * w / z
        exponent = w * np.log(z)
    return base, exponent


@holomorphic("pow", pow_slopes)
def power(x, y, u, v):
    """exp((u + iv) log z); 0 ** 0 is 1, and 0 to a power with positive real part 0."""
    if x == 0.0 and y == 0.0:
        one = 1.0 if u == 0.0 and v == 0.0 else 0.0 if u > 0.0 else np.nan
        re, im = x * 0.0 + one, 0.0 * x + (one if u < 0.0 else 0.0)
    else:
        log_r, phi = log(x, y)
        size, angle = np.exp(u * log_r - v * phi), v * log_r + u * phi
        re, im = size * np.cos(angle), size * np.sin(angle)
    return re, im


@holomorphic("sqrt", lambda w, z: 0.5 / w)
def sqrt(x, y):
    size = np.sqrt(0.5 * (abs(x) + np.hypot(x, y)))
    other = 0.5 * abs(y) / size if size > 0.0 else 0.0 * size
    return (size, np.copysign(other, y)) if x >= 0.0 else (other, np.copysign(size, y))


# -- exponentials and logarithms ----------------------------------------------------------------------------------

@holomorphic("exp")
def exp(x, y):
    if known(x == 0.0):                     # exp(1j * angle)
        return np.cos(y), np.sin(y)
    size = np.exp(x)
    return size * np.cos(y), size * np.sin(y)


@holomorphic("exp2")
def exp2(x, y):
    size = np.exp2(x)
    return size * np.cos(y * LOG_2), size * np.sin(y * LOG_2)


@holomorphic("expm1")
def expm1(x, y):
    half = np.sin(0.5 * y)
    return np.expm1(x) * np.cos(y) - 2.0 * half * half, np.exp(x) * np.sin(y)


@holomorphic("log", lambda w, z: 1.0 / z)
def log(x, y):
    """Near the unit circle, log |z| from |z|**2 - 1, which does not cancel."""
    size = np.hypot(x, y)
    large, small = max(abs(x), abs(y)), min(abs(x), abs(y))
    near = size > 0.7 and size < 1.4
    return 0.5 * np.log1p((large - 1.0) * (large + 1.0) + small * small) if near else np.log(size), np.arctan2(y, x)


@holomorphic("log2", lambda w, z: 1.0 / (z * LOG_2))
def log2(x, y):
    re, im = log(x, y)
    return re / LOG_2, im / LOG_2


@holomorphic("log10", lambda w, z: 1.0 / (z * LOG_10))
def log10(x, y):
    re, im = log(x, y)
    return re / LOG_10, im / LOG_10


@holomorphic("log1p", lambda w, z: 1.0 / (1.0 + z))
def log1p(x, y):
    near = abs(x) < 0.5 and abs(y) < 0.5
    re = 0.5 * np.log1p(x * (2.0 + x) + y * y) if near else np.log(np.hypot(1.0 + x, y))
    return re, np.arctan2(y, 1.0 + x)


# -- circular and hyperbolic functions ----------------------------------------------------------------------------

@holomorphic("sin")
def sin(x, y):
    return np.sin(x) * np.cosh(y), np.cos(x) * np.sinh(y)


@holomorphic("cos")
def cos(x, y):
    return np.cos(x) * np.cosh(y), -(np.sin(x) * np.sinh(y))


@holomorphic("sinh")
def sinh(x, y):
    return np.sinh(x) * np.cos(y), np.cosh(x) * np.sin(y)


@holomorphic("cosh")
def cosh(x, y):
    return np.cosh(x) * np.cos(y), np.sinh(x) * np.sin(y)


@holomorphic("tanh", lambda w, z: 1.0 - w * w)
def tanh(x, y):
    """Kahan: with s = sinh x and t = tan y; far out the limit and what is left of the imaginary part."""
    if abs(x) > 18.0:
        re, im = np.copysign(1.0 + 0.0 * x, x), 4.0 * np.sin(y) * np.cos(y) * np.exp(-2.0 * abs(x))
    else:
        t, s = np.tan(y), np.sinh(x)
        beta = 1.0 + t * t
        below = 1.0 + beta * s * s
        re, im = beta * np.sqrt(1.0 + s * s) * s / below, t / below
    return re, im


@holomorphic("tan", lambda w, z: 1.0 + w * w)
def tan(x, y):
    """tan z = -i tanh iz."""
    re, im = tanh(-y, x)
    return im, -re


# -- inverse circular and hyperbolic functions --------------------------------------------------------------------

@holomorphic("arcsin", lambda w, z: 1.0 / (np.sqrt(1.0 - z) * np.sqrt(1.0 + z)))
def arcsin(x, y):
    (a, b), (c, d) = sqrt(1.0 - x, -y), sqrt(1.0 + x, y)
    return np.arctan2(x, a * c - b * d), np.arcsinh(a * d - b * c)


@holomorphic("arccos", lambda w, z: -1.0 / (np.sqrt(1.0 - z) * np.sqrt(1.0 + z)))
def arccos(x, y):
    (a, b), (c, d) = sqrt(1.0 - x, -y), sqrt(1.0 + x, y)
    return 2.0 * np.arctan2(a, c), np.arcsinh(b * c - a * d)


@holomorphic("arcsinh", lambda w, z: 1.0 / (np.sqrt(1.0 - 1j * z) * np.sqrt(1.0 + 1j * z)))
def arcsinh(x, y):
    """arcsinh z = i arcsin(-iz)."""
    re, im = arcsin(y, -x)
    return -im, re


@holomorphic("arccosh", lambda w, z: 1.0 / (np.sqrt(z - 1.0) * np.sqrt(z + 1.0)))
def arccosh(x, y):
    (a, b), (c, d) = sqrt(x - 1.0, y), sqrt(x + 1.0, y)
    return np.arcsinh(a * c + b * d), 2.0 * np.arctan2(b, c)


@holomorphic("arctanh", lambda w, z: 1.0 / ((1.0 - z) * (1.0 + z)))
def arctanh(x, y):
    """By log1p of the ratio of |1 + z| and |1 - z|, for the side of the plane where that does not cancel."""
    a = abs(x)
    re = 0.25 * np.log1p(4.0 * a / ((1.0 - a) * (1.0 - a) + y * y))
    return np.copysign(re, x), 0.5 * np.arctan2(2.0 * y, (1.0 - x) * (1.0 + x) - y * y)


@holomorphic("arctan", lambda w, z: 1.0 / ((1.0 - 1j * z) * (1.0 + 1j * z)))
def arctan(x, y):
    """arctan z = -i arctanh iz."""
    re, im = arctanh(-y, x)
    return im, -re
