"""Remainders have the sign of the divisor: sizes, subscripts and shifts by them, where the divisor may be negative."""

import numpy as np
import pytest

from autodiff import vjp

X = np.array([1.0, 2.0, 3.0])


def place(x, n):
    return x[7 % n]


def places(x, n):
    s = 0.0
    for i in range(4):
        x[i % n] = s
        s += x[(i + 1) % n] * (i + 1)
    return s


def slice_from(x, n):
    y = np.zeros(3)
    y[5 % n:] = x[0]
    return np.sum(y) + np.sum(x[5 % n:])


def size(x, n):
    return np.sum(np.zeros(5 % n) + x[0])


def count(x, n):
    s = 0.0
    for i in range(5 % n):
        s += x[i]
    return s + len(range(7 % n))


def fixed(x, n):
    k = n % -4
    return x[max(k, -2)] if k < 0 else x[0]


def shift(x, n):
    return x[0] * (1 << 7 % n)


@pytest.mark.parametrize("n", [-3, -2, 2, 3])
@pytest.mark.parametrize("f", [place, places, slice_from, size, count, fixed, shift], ids=lambda f: f.__name__)
def test_signs(f, n):
    try:
        expected = f(X.copy(), n)
    except ValueError as python:
        with pytest.raises(ValueError) as found:
            vjp(f, X.copy(), n, mode="python")
        assert str(found.value).split("\n")[0] == str(python)
    else:
        assert vjp(f, X.copy(), n, mode="python")[0] == expected
