"""Partial derivatives of scalar functions. `y` is the value, the rest are the arguments.

Conventions at kinks are torch's: abs'(0) = 0, ties of maximum and minimum share evenly, clip passes at its bounds.
Formulas: M. Abramowitz and I. Stegun, Handbook of Mathematical Functions, 1964, chapters 4, 6 and 7.
"""

import math

import numpy as np

from .decorators import constant, partials

constant("floor", "ceil", "trunc", "rint", "sign", "floordiv", "isnan", "isinf", "isfinite", "signbit")


@partials("add")
def add(y, a, b):
    return 1.0, 1.0


@partials("sum")
def sum_of(y, a, b):
    return 1.0, 1.0


@partials("sub")
def sub(y, a, b):
    return 1.0, -1.0


@partials("mul")
def mul(y, a, b):
    return b, a


@partials("div")
def div(y, a, b):
    r = 1.0 / b
    return r, -y * r


@partials("neg")
def neg(y, x):
    return -1.0


@partials("abs")
def absolute(y, x):
    return np.sign(x)


@partials("mod")
def mod(y, a, b):
    """Correct almost everywhere: y = a - b * floor(a / b)."""
    return 1.0, -np.floor(a / b)


@partials("fmod")
def fmod(y, a, b):
    return 1.0, -np.trunc(a / b)


@partials("pow")
def power(y, x, p):
    """For x < 0, dy/dp has no real value: nan. At x = 0 (p > 0) it is 0, the limit."""
    return (p * x ** (p - 1) if p != 0 else 0.0), (y * np.log(x) if x != 0.0 else 0.0)


@partials("sin")
def sin(y, x):
    return np.cos(x)


@partials("cos")
def cos(y, x):
    return -np.sin(x)


@partials("tan")
def tan(y, x):
    return 1.0 + y * y


@partials("arcsin")
def arcsin(y, x):
    return 1.0 / np.sqrt(1.0 - x * x)


@partials("arccos")
def arccos(y, x):
    return -1.0 / np.sqrt(1.0 - x * x)


@partials("arctan")
def arctan(y, x):
    return 1.0 / (1.0 + x * x)


@partials("sinh")
def sinh(y, x):
    return np.cosh(x)


@partials("cosh")
def cosh(y, x):
    return np.sinh(x)


@partials("tanh")
def tanh(y, x):
    return 1.0 - y * y


@partials("arcsinh")
def arcsinh(y, x):
    return 1.0 / np.sqrt(x * x + 1.0)


@partials("arccosh")
def arccosh(y, x):
    return 1.0 / np.sqrt(x * x - 1.0)


@partials("arctanh")
def arctanh(y, x):
    return 1.0 / (1.0 - x * x)


@partials("exp")
def exp(y, x):
    return y


@partials("exp2")
def exp2(y, x):
    return y * math.log(2.0)


@partials("expm1")
def expm1(y, x):
    return y + 1.0


@partials("log")
def log(y, x):
    return 1.0 / x


@partials("log1p")
def log1p(y, x):
    return 1.0 / (1.0 + x)


@partials("log2")
def log2(y, x):
    return 1.0 / (x * math.log(2.0))


@partials("log10")
def log10(y, x):
    return 1.0 / (x * math.log(10.0))


@partials("sqrt")
def sqrt(y, x):
    return 0.5 / y


@partials("cbrt")
def cbrt(y, x):
    return 1.0 / (3.0 * y * y)


@partials("arctan2")
def arctan2(z, y, x):
    """z = angle of (x, y). No derivative at the origin: nan there, as NumPy's 0/0."""
    r2 = x * x + y * y
    return x / r2, -y / r2


@partials("hypot")
def hypot(z, x, y):
    """Zero at the origin, as for the norm."""
    return (x / z if z != 0.0 else 0.0), (y / z if z != 0.0 else 0.0)


@partials("logaddexp")
def logaddexp(y, a, b):
    """An infinite operand is the whole result, or nothing of it."""
    return (np.exp(a - y) if np.isfinite(a) else 1.0 if a > 0.0 else 0.0), (
        np.exp(b - y) if np.isfinite(b) else 1.0 if b > 0.0 else 0.0)


@partials("logaddexp2")
def logaddexp2(y, a, b):
    return (np.exp2(a - y) if np.isfinite(a) else 1.0 if a > 0.0 else 0.0), (
        np.exp2(b - y) if np.isfinite(b) else 1.0 if b > 0.0 else 0.0)


@partials("copysign")
def copysign(y, a, b):
    return np.sign(a) * np.sign(y), 0.0


@partials("deg2rad")
def deg2rad(y, x):
    return math.pi / 180.0


@partials("rad2deg")
def rad2deg(y, x):
    return 180.0 / math.pi


@partials("sinc")
def sinc(y, x):
    """sinc(x) = sin(pi x) / (pi x); near 0 the series, of which the difference would leave rounding alone."""
    if abs(x) < 0.01:
        w = math.pi * x * (math.pi * x)
        return -math.pi * math.pi / 3.0 * x * (1.0 - w * (0.1 - w * (1.0 / 280.0 - w / 15120.0)))
    return (np.cos(math.pi * x) - y) / x


@partials("erf")
def erf(y, x):
    return 2.0 / math.sqrt(math.pi) * np.exp(-x * x)


@partials("erfc")
def erfc(y, x):
    return -2.0 / math.sqrt(math.pi) * np.exp(-x * x)


def digamma(x):
    """psi(x) = d log gamma(x) / dx, by recurrence up to 10 and the asymptotic series (Abramowitz and Stegun, 6.3.18);
    for x <= 0 by reflection (6.3.7). Relative error below 1e-13 away from the poles and the root."""
    reflected = x <= 0.0
    z = 1.0 - x if reflected else x
    total = 0.0
    while z < 10.0:
        total -= 1.0 / z
        z += 1.0
    w = 1.0 / (z * z)
    total += math.log(z) - 0.5 / z - w * (1.0 / 12.0 - w * (1.0 / 120.0 - w * (1.0 / 252.0 - w * (
        1.0 / 240.0 - w * (1.0 / 132.0 - w * (691.0 / 32760.0 - w / 12.0))))))
    return total - math.pi / math.tan(math.pi * x) if reflected else total


@partials("lgamma")
def lgamma(y, x):
    return digamma(x)


@partials("gamma")
def gamma(y, x):
    return y * digamma(x)


@partials("maximum")
def maximum(y, a, b):
    return (0.0 if b > a else (0.5 if a == b else 1.0)), (0.0 if a > b else (0.5 if a == b else 1.0))


@partials("minimum")
def minimum(y, a, b):
    return (0.0 if b < a else (0.5 if a == b else 1.0)), (0.0 if a < b else (0.5 if a == b else 1.0))


@partials("larger")
def larger(y, a, b):
    """Python's max(a, b): a, unless b > a; so it is a where one is nan."""
    return (0.0 if b > a else (0.5 if a == b else 1.0)), (0.0 if not b >= a else (0.5 if a == b else 1.0))


@partials("smaller")
def smaller(y, a, b):
    return (0.0 if b < a else (0.5 if a == b else 1.0)), (0.0 if not b <= a else (0.5 if a == b else 1.0))


@partials("fmax")
def fmax(y, a, b):
    return ((0.5 if a == b else 1.0) if a >= b or b != b else 0.0), ((0.5 if a == b else 1.0) if b >= a or a != a else 0.0)


@partials("fmin")
def fmin(y, a, b):
    return ((0.5 if a == b else 1.0) if a <= b or b != b else 0.0), ((0.5 if a == b else 1.0) if b <= a or a != a else 0.0)


@partials("clip")
def clip(y, x, low, high):
    return (1.0 if low <= x <= high else 0.0), (1.0 if x < low and low <= high else 0.0), \
        (1.0 if x > high or low > high else 0.0)


@partials("heaviside")
def heaviside(y, x, h):
    return 0.0, (1.0 if x == 0.0 else 0.0)
