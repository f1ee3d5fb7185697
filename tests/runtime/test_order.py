"""Orders of vectors, in Python and compiled: beside sorting, with repeated numbers, nan, memory of any layout."""

import numba
import numpy as np
import pytest

from autodiff.runtime import order


@numba.njit
def sorted_places(a):
    return order.argsort(a)


@numba.njit
def parted_places(a, places):
    return order.argpartition(a, places)


@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.bool_])
def test_elements_are_where_sorting_puts_them(dtype, mode):
    argsort, argpartition = (order.argsort, order.argpartition) if mode == "python" else (sorted_places, parted_places)
    r = np.random.default_rng(5)
    for n in (1, 2, 3, 10, 11, 100, 257):
        for numbers in (r.standard_normal(n) * 5.0, r.integers(-2, 3, n) * 0.5, np.zeros(n), np.sort(r.standard_normal(n))):
            if dtype in (np.float64, np.float32):
                numbers[r.integers(0, n, n // 5)] = r.choice([np.nan, np.inf, -np.inf, -0.0, 0.0], n // 5)
            a = numbers.astype(dtype)
            stable = np.argsort(a, kind="stable")
            np.testing.assert_array_equal(argsort(a), stable)
            wide = np.repeat(a, 3)[::-3][::-1] if dtype is np.float64 else a
            for count in (1, 2, 5):
                places = r.integers(-n, n, count)
                found = argpartition(wide, places)
                np.testing.assert_array_equal(np.sort(found), np.arange(n))
                np.testing.assert_array_equal(found[places], stable[places])        # the same of equal elements
                for k in places % n:
                    assert set(found[:k]) == set(stable[:k])


def test_python_orders_as_machine_code_does():
    r = np.random.default_rng(6)
    for n in (5, 50, 51, 90):
        for a in (r.standard_normal(n), r.integers(0, 4, n) * 1.0):
            places = r.integers(-n, n, 3)
            np.testing.assert_array_equal(order.argpartition(a, places), parted_places(a, places))


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_a_vector_without_elements(mode):
    argpartition = order.argpartition if mode == "python" else parted_places
    assert argpartition(np.zeros(0), np.array([3])).shape == (0,)
