"""Functions of integers: divisors, roots, factorials, choices, and bits. None has a derivative."""

import itertools
import math

import numpy as np

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines
from .out import mask, stored


# ---- Python's ---------------------------------------------------------------------------------------------------
@defines(math.factorial)
def factorial(n):
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    product = 1
    for k in range(2, n + 1):
        product = product * k
    return product


@defines(math.comb)
def comb(n, k):
    if n < 0 or k < 0:
        raise ValueError("n and k must not be negative")
    if k > n:
        return 0
    total = 1
    for i in range(min(k, n - k)):
        total = total * (n - i) // (i + 1)
    return total


@defines(math.perm)
def perm(n, k=None):
    if n < 0 or k is not None and k < 0:
        raise ValueError("n and k must not be negative")
    total = 1
    for i in range(n if k is None else k):
        total = total * (n - i)
    return total


@defines(math.gcd)
def gcd(*integers):
    found = 0
    for n in integers:
        found = greatest_divisor(found, n)
    return found


@defines(math.lcm)
def lcm(*integers):
    found = 1
    for n in integers:
        common = gcd(found, n)
        found = 0 if common == 0 else abs(found // common * n)
    return found


@defines(math.isqrt)
def isqrt(n):
    """The floating-point root, which may be off by one (integers have 64 bits), and comparisons of squares."""
    if isinstance(n, float):
        raise TypeError("'float' object cannot be interpreted as an integer")
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = min(int(np.sqrt(float(n))), 3037000499)          # the largest whose square has 63 bits
    if root * root > n:
        root -= 1
    elif root < 3037000499 and (root + 1) * (root + 1) <= n:
        root += 1
    return root


@defines(int.bit_length)
def bit_length(n):
    found, rest = 0, abs(n)
    while rest > 0:
        rest >>= 1
        found += 1
    return found


@defines(int.bit_count)
def bit_count(n):
    found, rest = 0, abs(n)
    while rest > 0:
        found += rest & 1
        rest >>= 1
    return found


# ---- NumPy's, element by element --------------------------------------------------------------------------------
def of_each(f, name, x1, x2, out, where, dtype):
    """`f` of each pair of integers of NumPy's."""
    a, b = np.asarray(x1), np.asarray(x2)
    kind = np.result_type(x1, x2) if dtype is None else np.dtype(dtype)
    if kind.kind not in "iu":
        raise TypeError(f"ufunc '{name}' did not contain a loop with signature matching types")
    if mask(where) is not True:
        return unsupported(f"np.{name} with where", "np.where of the result")
    check_fits(x1, kind)
    check_fits(x2, kind)
    a, b = a.astype(kind), b.astype(kind)
    if a.ndim == 0 and b.ndim == 0:
        return stored(out, f(a[()], b[()]))
    p, q = np.broadcast_arrays(a, b)
    made = np.empty(p.shape, dtype=kind)
    for place in itertools.product(*[range(n) for n in p.shape]):
        made[place] = f(p[place], q[place])
    return stored(out, made)


def check_fits(x, kind):
    """Python's integers are of the dtype of what stands beside them."""
    if isinstance(x, int) and not np.iinfo(kind).min <= x <= min(np.iinfo(kind).max, 2 ** 63 - 1):
        raise OverflowError(f"Python integer {x} out of bounds for {kind}")


@defines(np.gcd)
def numpy_gcd(x1, x2, out=None, where=True, dtype=None):
    return of_each(greatest_divisor, "gcd", x1, x2, out, where, dtype)


@defines(np.lcm)
def numpy_lcm(x1, x2, out=None, where=True, dtype=None):
    return of_each(least_multiple, "lcm", x1, x2, out, where, dtype)


def greatest_divisor(a, b):
    a, b = abs(a), abs(b)
    while b != 0:
        a, b = b, a % b
    return abs(a)                       # the least integer has no absolute value: what is left may be negative


def least_multiple(a, b):
    """It wraps, as in NumPy."""
    common = greatest_divisor(a, b)
    return common if common == 0 else abs(abs(a) // common) * abs(b)


# ---- bits -------------------------------------------------------------------------------------------------------
def bitwise_count(x, out=None, where=True):
    """Of the absolute value: sums of neighbouring bits, of pairs of them, of fours, and so on."""
    a = np.asarray(x)
    if a.dtype.kind not in "biu":
        raise TypeError("ufunc 'bitwise_count' not supported for the input types")
    if mask(where) is not True:
        return unsupported("np.bitwise_count with where", "np.where of the result")
    v = a.astype(np.int64) if a.dtype.kind in "bu" else np.abs(a.astype(np.int64))
    v = v - ((v >> 1) & 0x5555555555555555)
    v = (v & 0x3333333333333333) + ((v >> 2) & 0x3333333333333333)
    v = (v + (v >> 4)) & 0x0F0F0F0F0F0F0F0F
    v = v + (v >> 8)
    v = v + (v >> 16)
    v = (v + (v >> 32)) & 0x7F
    return stored(out, v.astype(np.uint8))


if hasattr(np, "bitwise_count"):            # from NumPy 2 on
    defines(np.bitwise_count)(bitwise_count)


def weights_of(bitorder):
    if bitorder not in ("big", "little"):
        raise ValueError("'order' must be either 'little' or 'big'")
    return np.arange(7, -1, -1) if bitorder == "big" else np.arange(8)


@defines(np.packbits)
def packbits(a, axis=None, bitorder="big"):
    """Eight truths in a byte, the last one filled up with zeros."""
    truths = np.asarray(a)
    if truths.dtype.kind not in "biu":
        raise TypeError("Expected an input array of integer or boolean data type")
    lanes = np.ravel(truths) if axis is None else np.moveaxis(np.atleast_1d(truths), axis, -1)
    count = (lanes.shape[-1] + 7) // 8
    bits = np.zeros((*lanes.shape[:-1], 8 * count), dtype=np.int64)
    bits[..., :lanes.shape[-1]] = lanes != 0
    bytes_ = np.sum(bits.reshape((*lanes.shape[:-1], count, 8)) << weights_of(bitorder), axis=-1).astype(np.uint8)
    return bytes_ if axis is None else np.moveaxis(bytes_, -1, axis)


@defines(np.unpackbits)
def unpackbits(a, axis=None, count=None, bitorder="big"):
    octets = np.asarray(a)
    if octets.dtype != np.uint8:
        raise TypeError("Expected an input array of unsigned byte data type")
    lanes = np.ravel(octets) if axis is None else np.moveaxis(np.atleast_1d(octets), axis, -1)
    n = 8 * lanes.shape[-1]
    bits = ((lanes[..., None].astype(np.int64) >> weights_of(bitorder)) & 1).astype(np.uint8).reshape((*lanes.shape[:-1], n))
    if count is not None:
        if count > n:
            return unsupported("np.unpackbits to more bits than there are", "pad the result with zeros")
        bits = bits[..., :count]
    return bits if axis is None else np.moveaxis(bits, -1, axis)
