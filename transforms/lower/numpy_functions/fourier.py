"""Discrete Fourier transforms: three library calls, unscaled, that all functions of np.fft are made of."""

from __future__ import annotations

from ...language.build import ONE
from ...language.core import Const
from ...language.errors import ShapeMismatch, TypeConflict
from ...language.ops import COMPLEX, PARTS, is_complex
from ..arrays.broadcasting import convert
from ..checks import guard, show_number
from ..table import lowers
from ..values import Array
from .library_calls import array_call


def transform(x, axes, sign):
    """For definitions and rules: sum_j x_j exp(sign 2 pi i j k / n) over each axis whose bit is set in `axes`."""


def real_transform(x):
    """For definitions and rules: the first n // 2 + 1 values of the transform of a real array along its last axis."""


def real_inverse(x, n):
    """For definitions and rules: the unscaled inverse of `real_transform`, of n // 2 + 1 values to n."""


def points(n):
    """For definitions: `n`, the length of an axis that is transformed, which must be one or more."""


@lowers(points)
def lower_points(lo, n):
    size = lo.atom(n, "int64")
    if isinstance(size, Const):
        if size.value < 1:
            raise lo.error(ShapeMismatch, f"Invalid number of FFT data points ({size.value}) specified")
    elif not lo.b.facts.at_least(size, 1):
        guard(lo, lo.b.compare("ge", size, ONE), "ValueError",
              f"Invalid number of FFT data points ({show_number(lo, size)}) specified")
    return n


def call(lo, op, dtype, shape, operand, *numbers):
    return array_call(lo, op, [("v", shape, dtype)], operand, *(lo.atom(k, "int64") for k in numbers))[0]


@lowers(transform)
def lower_transform(lo, x, axes, sign):
    a = lo.array(x)
    dtype = a.dtype if is_complex(a.dtype) else COMPLEX.get(a.dtype, "complex128")
    return call(lo, "fft", dtype, a.shape, convert(lo, a, dtype), axes, sign)


@lowers(real_transform)
def lower_real_transform(lo, x):
    a = lo.array(x)
    if is_complex(a.dtype):
        raise lo.error(TypeConflict, "transforms of real arrays take no complex ones", "use np.fft.fft, or the real part")
    a = lo.array(convert(lo, a, a.dtype if a.dtype in COMPLEX else "float64"))
    half = lo.b.iadd(lo.b.let("floordiv", a.shape[-1], lo.b.iadd(ONE, ONE), dtype="int64"), ONE)
    return call(lo, "rfft", COMPLEX[a.dtype], (*a.shape[:-1], half), a)


@lowers(real_inverse)
def lower_real_inverse(lo, x, n):
    a: Array = lo.array(x)
    dtype = a.dtype if is_complex(a.dtype) else COMPLEX.get(a.dtype, "complex128")
    return call(lo, "irfft", PARTS[dtype], (*a.shape[:-1], lo.atom(n, "int64")), convert(lo, a, dtype))


__all__ = ["points", "real_inverse", "real_transform", "transform"]
