"""Divisors, roots, choices and bits of integers, products of truths, the order of uint64: Python is the oracle."""

import math

import numpy as np
import pytest

from autodiff import differentiable, grad

from .support import assert_gradient

X = np.array([0.73, 1.31, 2.13, 0.44])


def gcd_run(x):
    k = int(x[0] * 10)
    return np.sum(x) * np.gcd(k, 21)


def gcd_arr(x):
    k = np.arange(4)
    return np.sum(x * np.gcd(k, 6))


def gcd_arr_rt(x):
    k = np.floor(x * 10).astype(int)
    return np.sum(x * np.gcd(k, 6)) + np.sum(x * np.lcm(k, 4))


def lcm_run(x):
    k = int(x[0] * 10)
    return np.sum(x) * np.lcm(k, 21)


def mgcd(x):
    k = int(x[0] * 10)
    return np.sum(x) * math.gcd(k, 21) * math.lcm(k, 4)


def gcd_2d(x):
    k = np.floor(x * 10).astype(np.int32).reshape(2, 2)
    g = np.gcd(k[:, :, None], np.array([2, 3, 4], dtype=np.int8))
    l = np.lcm(k, 6)
    return np.sum(g * x[:2, None, None]) + np.sum(l) * x[1]


def isqrt_(x):
    k = int(x[0] * 100)
    return np.sum(x) * math.isqrt(k)


def isq2(x):
    return sum(math.isqrt(k * 7 + int(x[0])) * v for k, v in enumerate(x))


def isq3(x):
    return math.isqrt(int(x[0] * 10) + 3037000499**2) * x[1] + math.isqrt(2**60 - int(x[0])) * x[2]


def comb_(x):
    k = int(x[2] * 4)
    return np.sum(x) * math.comb(k, 2)


def comb_loop(x):
    s = 0.0
    n = len(x)
    for k in range(n):
        s += math.comb(n, k) * x[k] * math.perm(n, k)
    return s


def fact_loop(x):
    s = 0.0
    for k in range(len(x)):
        s += x[k] ** k / math.factorial(k)
    return s


def fact_rt(x):
    k = int(x[2] * 4)
    return np.sum(x) / math.factorial(k) * 1e4 + math.perm(k, 3) + math.perm(k)


def bits_s(x):
    k = int(x[0] * 10)
    return np.sum(x) * k.bit_count() + k.bit_length()


def bitcount(x):
    k = np.floor(x * 10).astype(np.int64)
    return np.sum(np.bitwise_count(k) * x)


def bitcount_s(x):
    k = int(x[0] * 10)
    return np.sum(np.bitwise_count(k) * x) + k.bit_count() + k.bit_length()


def unpack(x):
    k = np.floor(x * 10).astype(np.uint8)
    return (
        np.sum(np.unpackbits(k) * np.arange(32)) * x[0]
        + np.sum(np.packbits(x[:, None] > x, axis=1) * x[:, None])
        + np.sum(np.unpackbits(k[None], axis=0, bitorder="little") * np.arange(8)[:, None]) * x[0]
        + np.sum(np.packbits(x > 1, bitorder="little"))
    )


def fmod_int(x):
    k = np.arange(4) - 2
    return np.sum(x * np.fmod(k, 3)) + np.sum(x * np.remainder(k, 3))


def fmod_intrt(x):
    k = int(x[0] * 10) - 12
    return np.sum(x) * np.fmod(k, 3) + np.remainder(k, 3)


def fmod_more(x):
    k = np.floor(x * 10 - 10).astype(np.int32)
    u = np.floor(x * 10).astype(np.uint8)
    r = np.fmod(k, np.array([3, -3, 0, -1]))
    assert np.fmod(k, np.int32(2)).dtype == np.int32
    return (
        np.sum(r * x)
        + np.sum(np.fmod(u, 4) * x)
        + np.fmod(-7, int(x[2])) * x[0]
        + np.sum(np.fmod(x > 1, x > 1) * x)
        + np.sum(np.fmod(np.int64(-(2**63)), -1) * x)
        + np.fmod(k, 2.5)[0]
    )


def fmod_u64(x):
    k = np.floor(x * 10).astype(np.uint64)
    return np.sum(np.fmod(k, np.uint64(4)) * x)


def fmod_out(x):
    k = np.floor(x * 10 - 10).astype(np.int32)
    o = np.zeros(4, dtype=int)
    np.fmod(k, -3, out=o)
    f = np.zeros(4)
    np.fmod(k, 4, f)
    return np.sum(o * x) + np.sum(f * x)


def bool_mm(x):
    m = x[:, None] > x[None, :]
    return np.sum((m @ m) * x)


def bool_dot(x):
    m = x > 1
    return np.sum(x) * np.dot(m, m)


def bool_more(x):
    m = x[:, None] > x[None, :]
    v = x > 1
    r = m @ v
    q = np.dot(m, m)
    o = np.outer(v, ~v)
    t = np.tensordot(m, m, 1)
    i = np.inner(v, v)
    vd = np.vdot(v, v)
    e = np.einsum("ij,jk->ik", m, m)
    st = np.stack([m, m]) @ m
    n = m @ np.arange(4)
    assert r.dtype == bool
    return (
        np.sum(x[r])
        + np.sum(q * x)
        + np.sum(o * x)
        + np.sum(t * x)
        + i * x[0]
        + vd * x[1]
        + np.sum(e * x)
        + np.sum(st * x)
        + np.sum(n * x)
        + (v @ v) * x[3]
    )


def bool_ein(x):
    m = x[:, None] > x[None, :]
    return np.sum(np.einsum("ij->i", m) * x) + np.sum(np.einsum("ij,kj->j", m, m) * x)


def bool_power(x):
    adj = np.abs(x[:, None] - x[None, :]) < 0.9
    reach = adj
    for _ in range(3):
        reach = reach @ adj | reach
    return np.sum(reach * x)


def sort_u64(x):
    k = np.floor(x * 10).astype(np.uint64)
    return np.sum(np.sort(k) * x)


def argsort_u64(x):
    k = np.floor(x * 10).astype(np.uint64)
    return np.sum(np.argsort(k) * x)


def sort_u64_more(x):
    k = np.floor(x * 10).astype(np.uint64) + np.uint64(2**63 - 9)
    k2 = k.reshape(2, 2)
    return (
        np.sum(np.argsort(k) * x)
        + np.sum(np.argsort(k2, axis=0) * x[:2])
        + np.sum((np.sort(k2, axis=None) - np.uint64(2**63 - 9)) * x)
        + np.unique(k).size * x[0]
        + float(np.median(np.floor(x * 10).astype(np.uint64)))
        + float(np.max(k)) * 1e-18
    )


FUNCTIONS = [
    gcd_run,
    gcd_arr,
    gcd_arr_rt,
    lcm_run,
    mgcd,
    gcd_2d,
    isqrt_,
    isq2,
    isq3,
    comb_,
    comb_loop,
    fact_loop,
    fact_rt,
    bits_s,
    bitcount,
    bitcount_s,
    unpack,
    fmod_int,
    fmod_intrt,
    fmod_more,
    fmod_u64,
    fmod_out,
    bool_mm,
    bool_dot,
    bool_more,
    bool_ein,
    bool_power,
    sort_u64,
    argsort_u64,
    sort_u64_more,
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_values_and_derivatives(function):
    assert_gradient(function, (X,), (0,), "python")


def all_of_them(x):
    k = np.floor(x * 10).astype(np.int32)
    truths = x[:, None] > x
    total = np.sum(np.gcd(k, 6) * x) + np.sum(np.bitwise_count(k) * x) + np.sum(np.fmod(k - 10, 3) * x)
    return (
        total
        + math.isqrt(int(x[0] * 1000)) * x[1]
        + np.sum((truths @ truths) * x)
        + np.sum(np.sort(k.astype(np.uint64)) * x)
    )


def test_compiled():
    assert_gradient(all_of_them, (X,), (0,), "numba")


@pytest.mark.parametrize(
    "function",
    [
        lambda x: math.isqrt(-int(x[2])) * x[0],
        lambda x: math.isqrt(1.5) * x[0],
        lambda x: np.gcd(1.5, 2) * x[0],
        lambda x: np.packbits(x)[0] * x[0],
        lambda x: np.unpackbits(np.arange(3))[0] * x[0],
        lambda x: math.comb(-int(x[2]), 1) * x[0],
        lambda x: np.unpackbits(np.zeros(2, np.uint8), bitorder="no")[0] * x[0],
    ],
)
def test_errors_are_pythons(function):
    with pytest.raises(Exception) as wanted:
        function(X)
    with pytest.raises(TypeError if issubclass(wanted.type, TypeError) else wanted.type):
        grad(function, mode="python")(X)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "uint8", "uint64"])
@pytest.mark.parametrize("function", [np.gcd, np.lcm])
def test_the_least_and_the_largest_integers(function, dtype):
    """Beside each other, and beside Python's own integers, which may not fit in the dtype."""
    ours, info = differentiable(lambda a, b: function(a, b), mode="python"), np.iinfo(dtype)
    some = np.array([v for v in (info.min, info.min + 1, -6, -1, 0, 1, 3, 50, 100, info.max) if v >= info.min], dtype)
    for other in (*some, -1, 7, 200):
        try:
            expected = function(some, other)
        except OverflowError:
            with pytest.raises(OverflowError):
                ours(some, other)
        else:
            np.testing.assert_array_equal(ours(some, other), expected, strict=True)


@pytest.mark.parametrize("f", [
    lambda x: np.dot(x[0] > 0, x[1] > 0), lambda x: np.dot(np.any(x > 0), np.any(x > 1)), lambda x: np.inner(x > 0, x > 1),
    lambda x: np.dot(np.any(x > 0), x > 1), lambda x: np.outer(np.any(x > 0), x > 0), lambda x: np.vdot(x > 1, x > 0)])
def test_products_of_two_truths(f):
    x = np.array([-1.0, 2.0, 0.5])
    np.testing.assert_array_equal(differentiable(f, mode="python")(x), f(x), strict=True)
