"""Scalar operations of kernels that `math` does not have, with NumPy's meaning, as device functions.

float32 arguments are computed in float32 throughout: no instruction of a float32 kernel is a float64 one. A domain error or
an overflow gives nan or an infinity. Under Numba's simulator the same functions run as plain Python.
"""

from __future__ import annotations

import math

import numpy as np

from .simulation import SIMULATED, device_function

f32 = np.float32                # for literals: a bare 0.5 is float64, and makes all that it meets float64


def by_width(name: str, plain, double: str = ""):
    """The function of CUDA's libdevice of this name (`double`, where that differs) that fits the argument's width.

    plain: the function that the simulator calls.
    """
    if SIMULATED:
        return plain
    from numba.cuda import extending, libdevice  # the simulator has no libdevice
    wide, narrow = getattr(libdevice, double or name), getattr(libdevice, (double or name) + "f")

    def function(*numbers):
        return plain(*numbers)
    function.__name__ = function.__qualname__ = name

    @extending.overload(function)
    def choose(x):
        return (lambda x: narrow(x)) if str(x) == "float32" else (lambda x: wide(x))
    return function


rint = by_width("rint", np.rint)
exp2 = by_width("exp2", np.exp2)
cbrt = by_width("cbrt", np.cbrt)
sinpi = by_width("sinpi", lambda x: np.sin(np.pi * x))          # of large float32, `sin` itself needs float64 instructions
cospi = by_width("cospi", lambda x: np.cos(np.pi * x))


@device_function
def maximum(x, y):
    """`np.maximum`: nan if one of the two is."""
    return x if x >= y or x != x else y


@device_function
def minimum(x, y):
    """`np.minimum`: nan if one of the two is."""
    return x if x <= y or x != x else y


@device_function
def larger(x, y):
    """Python's `max`: the first, unless the second is larger."""
    return y if y > x else x


@device_function
def smaller(x, y):
    """Python's `min`: the first, unless the second is smaller."""
    return y if y < x else x


@device_function
def fmax(x, y):
    """`np.fmax`: the other one, if one of the two is nan."""
    return x if x >= y or y != y else y


@device_function
def fmin(x, y):
    """`np.fmin`: the other one, if one of the two is nan."""
    return x if x <= y or y != y else y


@device_function
def sign(x):
    """`np.sign`: -1, 0 or 1 in the type of `x`; nan for nan."""
    return type(x)(1) if x > 0 else type(x)(-1) if x < 0 else type(x)(0) if x == 0 else x


@device_function
def signbit(x):
    """`np.signbit`: whether the sign is a minus, that of -0.0 too."""
    return math.copysign(type(x)(1), x) < 0


@device_function
def heaviside(x, at_zero):
    """`np.heaviside`: 0 below zero, 1 above, `at_zero` at it; nan for nan."""
    return at_zero if x == 0 else type(x)(1) if x > 0 else type(x)(0) if x < 0 else x


@device_function
def reciprocal(x):
    """1 / x in the type of `x`."""
    return type(x)(1) / x


@device_function
def sinc(x):
    """`np.sinc`: sin(pi x) / (pi x), and 1 at 0."""
    return type(x)(1) if x == 0 else sinpi(x) / (type(x)(math.pi) * x)


@device_function
def logaddexp(x, y):
    """`np.logaddexp`: log(exp(x) + exp(y)) without overflow."""
    gap = type(x - y)(0) if x == y else abs(x - y)                  # equal infinities have no difference
    return (x if x > y else y) + math.log1p(math.exp(-gap))


@device_function
def logaddexp2(x, y):
    """`np.logaddexp2`: log2(2**x + 2**y) without overflow."""
    if x == y:                          # exact, and equal infinities have no difference
        return x + type(x - y)(1)
    gap = abs(x - y)
    return (x if x > y else y) + type(gap)(1.4426950408889634) * math.log1p(exp2(-gap))


@device_function
def wrap_index(i, n, failed):
    """The index from 0 to n - 1 that `i` means on an axis of length `n`, -1 being the last element.

    failed: an int64 array of one element. Out of range it becomes 1, and the index is 0: a kernel cannot raise.
    """
    wrapped = i + n if i < 0 else i
    if wrapped < 0 or wrapped >= n:
        failed[0] = 1
        return type(wrapped)(0)
    return wrapped


__all__ = ["by_width", "cbrt", "cospi", "exp2", "f32", "fmax", "fmin", "heaviside", "larger", "logaddexp", "logaddexp2",
           "maximum", "minimum", "reciprocal", "rint", "sign", "signbit", "sinc", "sinpi", "smaller", "wrap_index"]
