"""Scalar operations with NumPy's meaning, the same in plain Python and inside compiled code.

Generated code may call any function here from either. Results follow NumPy's elementwise rules for
float64, float32 and integers: float32 in gives float32 out, and a domain error or an overflow gives nan or an
infinity, never an exception. Plain Python runs under `np.errstate(all="ignore")`; compiled code needs
`error_model="numpy"`. Two kinds of definition:

- most names are NumPy's own functions, because Numba compiles those on scalars to what `math` gives,
  inlined and vectorised: `sqrt` is `np.sqrt`;
- the rest are functions, where Numba's version is missing, differs from NumPy, or widens float32. In plain
  Python they call NumPy; Numba takes the implementation registered below the function.

Compiled implementations never inherit `fastmath`: Numba shares one compiled copy between all callers. The
functions that choose them carry no annotations: Numba compares signatures, annotations included.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.core.errors import TypingError
from numba.extending import overload, register_jitable
from numba.np.numpy_support import as_dtype

from ..checkpoint import revolve_split as revolve_split
from ..checkpoint import segment_length as segment_length
from ..memory import copy_to_start
from ..raising import IndexErrorAt

# Numba agrees with NumPy on these (tests/runtime/test_helpers.py checks it) at the price of `math`.
sqrt, cbrt, square, reciprocal, absolute = np.sqrt, np.cbrt, np.square, np.reciprocal, np.absolute
exp, exp2, expm1, log, log2, log10, log1p = np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p
sin, cos, tan, arcsin, arccos, arctan = np.sin, np.cos, np.tan, np.arcsin, np.arccos, np.arctan
sinh, cosh, tanh, arcsinh, arccosh, arctanh = np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh
hypot, arctan2, copysign = np.hypot, np.arctan2, np.copysign
fmax, fmin, maximum, minimum = np.fmax, np.fmin, np.maximum, np.minimum
floor, ceil, trunc, rint = np.floor, np.ceil, np.trunc, np.rint
isnan, isinf, isfinite, signbit = np.isnan, np.isinf, np.isfinite, np.signbit
deg2rad, rad2deg = np.deg2rad, np.rad2deg
divide = np.true_divide             # 1.0/0.0 is inf where `/` on Python floats would raise

_STRICT: Any = {"error_model": "numpy", "fastmath": False}


# ---- uint64, as the int64 with its bits ------------------------------------------------------------

def unsigned_floordiv(a: int, b: int) -> int:
    """`a // b` of two uint64 in the bits of int64; 0 where b is 0, as NumPy has it.

    >>> unsigned_floordiv(-2, 2) == 2 ** 63 - 1, unsigned_floordiv(7, 2)
    (True, 3)
    """
    a, b = int(a) % 2 ** 64, int(b) % 2 ** 64
    return (a // b + 2 ** 63) % 2 ** 64 - 2 ** 63 if b else 0


def unsigned_mod(a: int, b: int) -> int:
    """`a % b` of two uint64 in the bits of int64; 0 where b is 0, as NumPy has it.

    >>> unsigned_mod(-1, 10), unsigned_mod(7, 4)
    (5, 3)
    """
    a, b = int(a) % 2 ** 64, int(b) % 2 ** 64
    return (a % b + 2 ** 63) % 2 ** 64 - 2 ** 63 if b else 0


@overload(unsigned_floordiv)
def _unsigned_floordiv(a, b):
    def compiled(a, b):
        if np.int64(b) == 0:
            return 0
        return np.int64(np.uint64(a) // np.uint64(b))
    return compiled


@overload(unsigned_mod)
def _unsigned_mod(a, b):
    def compiled(a, b):
        if np.int64(b) == 0:
            return 0
        return np.int64(np.uint64(a) % np.uint64(b))
    return compiled


# ---- indices -------------------------------------------------------------------------------------

def wrap_index(i: int, n: int, axis: int = 0, place: str = "") -> int:
    """The index from 0 to n - 1 that `i` means on an axis of length `n`: -1 is the last element.

    Raises IndexError, which tells the number of the axis and the place, unless -n <= i < n.

    >>> wrap_index(-1, 5), wrap_index(3, 5)
    (4, 3)
    """
    wrapped = i + n if i < 0 else i
    if not 0 <= wrapped < n:
        raise IndexErrorAt("index {} is out of bounds for axis {} with size {}", place, i, axis, n)
    return wrapped


@overload(wrap_index, jit_options=_STRICT)
def _wrap_index(i, n, axis=0, place=""):
    _require(types.Integer, i, n)

    def compiled(i, n, axis=0, place=""):
        length = np.int64(n)            # an int64 beside a uint64 would become a float
        wrapped = np.int64(i)
        if wrapped < 0:
            wrapped += length
        if wrapped < 0 or wrapped >= length:
            raise IndexErrorAt("index {} is out of bounds for axis {} with size {}", place, i, axis, n)
        return wrapped
    return compiled


def check_index(i: int, n: int) -> int:
    """`i` itself, if it is a valid index, negative ones included, on an axis of length `n`.

    Raises IndexError("index out of bounds") unless -n <= i < n.
    """
    if not -n <= i < n:
        raise IndexError("index out of bounds")
    return i


@overload(check_index, jit_options=_STRICT)
def _check_index(i, n):
    _require(types.Integer, i, n)

    def compiled(i, n):
        if np.int64(i) < -np.int64(n) or np.int64(i) >= np.int64(n):
            raise IndexError("index out of bounds")
        return np.int64(i)
    return compiled


# ---- division with remainder ---------------------------------------------------------------------

def mod(x: Any, y: Any) -> Any:
    """`np.mod`: the remainder with the sign of `y`; by zero it is nan for floats and 0 for integers."""
    return np.mod(x, y)


@overload(mod, jit_options=_STRICT)
def _mod(x, y):
    if _are_integers(x, y):
        return lambda x, y: np.mod(x, y)
    kind = _float_kind(x, y)

    def compiled(x, y):
        divisor = kind(y)
        remainder = np.fmod(kind(x), divisor)
        if divisor != 0 and remainder == 0:
            return kind(np.copysign(kind(0), divisor))
        if divisor != 0 and (remainder < 0) != (divisor < 0) and remainder == remainder:
            remainder += divisor
        return kind(remainder)
    return compiled


def floor_divide(x: Any, y: Any) -> Any:
    """`np.floor_divide`: the quotient that goes with `mod`, 9 for 1.0 by 0.1.

    By zero inf or nan; 0 for integers.
    """
    return np.floor_divide(x, y)


@overload(floor_divide, jit_options=_STRICT)
def _floor_divide(x, y):
    if _are_integers(x, y):
        if getattr(y, "signed", False):
            return lambda x, y: -x if y == -1 else x // y       # Numba gives 0 for the smallest integer // -1
        return lambda x, y: x // y
    kind = _float_kind(x, y)

    def compiled(x, y):
        dividend, divisor = kind(x), kind(y)
        if divisor == 0:
            return kind(dividend / divisor)
        remainder = np.fmod(dividend, divisor)
        quotient = (dividend - remainder) / divisor
        if remainder != 0 and (remainder < 0) != (divisor < 0) and remainder == remainder:
            quotient -= kind(1)
        if quotient == 0:
            return kind(np.copysign(kind(0), dividend / divisor))
        floored = np.floor(quotient)
        if quotient - floored > kind(0.5):
            floored += kind(1)
        return kind(floored)
    return compiled


def fmod(x: Any, y: Any) -> Any:
    """`np.fmod`: the remainder with the sign of `x`; by zero it is nan for floats and 0 for integers."""
    return np.fmod(x, y)


@overload(fmod, jit_options=_STRICT)
def _fmod(x, y):
    if not _are_integers(x, y):
        return lambda x, y: np.fmod(x, y)

    def compiled(x, y):                 # Numba's np.fmod floors integers
        remainder = np.mod(x, y)
        return remainder - y if remainder != 0 and (x < 0) != (y < 0) else remainder
    return compiled


@register_jitable(**_STRICT)
def int_floor_divide(x: int, y: int) -> int:
    """Python's `x // y` on integers: rounds down, and raises ZeroDivisionError for y = 0."""
    if y == 0:
        raise ZeroDivisionError("integer division or modulo by zero")
    return x // y


@register_jitable(**_STRICT)
def int_mod(x: int, y: int) -> int:
    """Python's `x % y` on integers: has the sign of `y`, and raises ZeroDivisionError for y = 0."""
    if y == 0:
        raise ZeroDivisionError("integer division or modulo by zero")
    return x % y


# ---- powers, steps, rounding ---------------------------------------------------------------------

def power(x: Any, p: Any) -> Any:
    """`np.power` on floats: 0**0 is 1, a negative base needs an integer-valued exponent, else nan.

    Never complex, never ZeroDivisionError: power(0.0, -1.0) is inf. Two integers give a float64; an integer
    beside a float32 gives a float32.
    """
    if isinstance(x, (int, np.integer)):
        x = float(x)
    if isinstance(p, (int, np.integer)):
        p = float(p)
    return np.power(x, p)


@overload(power, jit_options=_STRICT, prefer_literal=True)
def _power(x, p):
    kind = _weak_float_kind(x, p)
    exponent = getattr(p, "literal_value", None)
    if exponent in range(9):            # products: as exact as pow up to the last digits, and 60 times faster
        return lambda x, p: kind(x) ** exponent
    return lambda x, p: np.power(kind(x), kind(p))


def sign(x: Any) -> Any:
    """`np.sign`: -1, 0 or 1 in the type of `x`; nan for nan; 0.0 for -0.0."""
    return np.sign(x)


@overload(sign, jit_options=_STRICT)
def _sign(x):
    if _are_integers(x):
        return lambda x: np.sign(x)
    kind = _float_kind(x)
    return lambda x: kind(1) if x > 0 else (kind(-1) if x < 0 else (kind(0) if x == 0 else x))


def heaviside(x: Any, at_zero: Any) -> Any:
    """`np.heaviside`: 0 below zero, 1 above, `at_zero` at it; nan for nan."""
    return np.heaviside(x, at_zero)


@overload(heaviside, jit_options=_STRICT)
def _heaviside(x, at_zero):
    kind = _weak_float_kind(x, at_zero)

    def compiled(x, at_zero):
        step = kind(1) if x > 0 else (kind(0) if x < 0 else kind(x))
        return kind(at_zero) if x == 0 else step
    return compiled


def round_half_even(x: Any, decimals: int = 0) -> Any:
    """`np.round`: to the nearest multiple of 10**-decimals, halves to the even one, in the type of `x`.

    >>> [float(round_half_even(x)) for x in (0.5, 1.5, -2.5)]
    [0.0, 2.0, -2.0]
    """
    return np.round(x, decimals)


@overload(round_half_even, jit_options=_STRICT)
def _round_half_even(x, decimals=0):
    if _are_integers(x):
        if not isinstance(decimals, (int, types.Omitted)):
            raise TypingError("an integer is rounded to whole numbers only")
        return lambda x, decimals=0: x
    kind = _float_kind(x)
    if isinstance(decimals, (int, types.Omitted)):
        return lambda x, decimals=0: np.rint(x)

    def compiled(x, decimals=0):
        if decimals == 0:
            return np.rint(x)
        scale = kind(10.0 ** abs(decimals))
        return np.rint(x * scale) / scale if decimals > 0 else np.rint(x / scale) * scale
    return compiled


# ---- functions that Numba computes in float64, or with branches ----------------------------------

def sinc(x: Any) -> Any:
    """`np.sinc`: sin(pi x) / (pi x), and 1 at 0."""
    return np.sinc(x)


@overload(sinc, jit_options=_STRICT)
def _sinc(x):
    kind = _float_kind(x)

    def compiled(x):
        angle = kind(np.pi) * (kind(1e-20) if x == 0 else kind(x))
        return np.sin(angle) / angle
    return compiled


def logaddexp(x: Any, y: Any) -> Any:
    """`np.logaddexp`: log(exp(x) + exp(y)) without overflow."""
    return np.logaddexp(x, y)


@overload(logaddexp, jit_options=_STRICT)
def _logaddexp(x, y):
    kind = _float_kind(x, y)

    def compiled(x, y):
        a, b = kind(x), kind(y)
        gap = kind(0) if a == b else abs(a - b)                 # equal infinities have no difference
        return (a if a > b else b) + np.log1p(np.exp(-gap))
    return compiled


def logaddexp2(x: Any, y: Any) -> Any:
    """`np.logaddexp2`: log2(2**x + 2**y) without overflow."""
    return np.logaddexp2(x, y)


@overload(logaddexp2, jit_options=_STRICT)
def _logaddexp2(x, y):
    kind = _float_kind(x, y)
    log2_e = kind(1.4426950408889634)

    def compiled(x, y):
        a, b = kind(x), kind(y)
        gap = kind(0) if a == b else abs(a - b)
        return (a if a > b else b) + log2_e * np.log1p(np.exp2(-gap))
    return compiled


# ---- growing arrays ------------------------------------------------------------------------------

def resize(array: Any, length: int) -> Any:
    """An array of at least `length` rows that starts with the rows of `array`, for tapes of unknown length.

    array: any rank from 1, C-contiguous, not modified; returned as it is if it is long enough. Otherwise a
    new one with at least twice the rows, so that n appended rows cost of the order of n; the new rows are
    not initialised.

    >>> resize(np.array([1.0, 2.0, 3.0]), 4).shape
    (6,)
    """
    if length <= array.shape[0]:
        return array
    grown = np.empty((max(length, 2 * array.shape[0]),) + array.shape[1:], array.dtype)
    grown[:array.shape[0]] = array
    return grown


@overload(resize, jit_options=_STRICT)
def _resize(array, length):
    def compiled(array, length):
        if length <= array.shape[0]:
            return array
        grown = np.empty((max(length, 2 * array.shape[0]),) + array.shape[1:], array.dtype)
        copy_to_start(grown, array)  # type: ignore[call-arg]  # `grown[:n] = array` takes seconds to compile
        return grown
    return compiled


# ---- what the implementations are chosen by ------------------------------------------------------

def _are_integers(*kinds: Any) -> bool:
    return all(isinstance(kind, (types.Integer, types.Boolean)) for kind in kinds)


def _float_kind(*kinds: Any) -> Any:
    """np.float32 or np.float64, by Numba's (and NumPy's arrays') promotion of these scalar types."""
    _require((types.Integer, types.Boolean, types.Float), *kinds)
    promoted = np.result_type(np.float16, *(as_dtype(types.unliteral(kind)) for kind in kinds))
    return np.float32 if promoted == np.float32 else np.float64


def _weak_float_kind(*kinds: Any) -> Any:
    """As `_float_kind`, but an integer takes the type of the float beside it, as a Python integer does."""
    floats = [kind for kind in kinds if isinstance(kind, types.Float)]
    return _float_kind(*kinds) if not floats else _float_kind(*floats)


def _require(allowed: Any, *kinds: Any) -> None:
    for kind in kinds:
        if not isinstance(kind, allowed):
            raise TypingError(f"not available for {kind}")
