"""Assertions of `numpy.testing`: they raise as NumPy's do, with the head of its message."""

import numpy as np
from numpy import testing

from ..decorators import defines


def demand(x, y, fits, problem, err_msg):
    """Raise unless each element fits, or is the same in both, nan and infinities included."""
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    if not np.all(same | fits):
        raise AssertionError(f"\n{problem}\n{err_msg}")


@defines(testing.assert_allclose)
def assert_allclose(actual, desired, rtol=1e-07, atol=0, equal_nan=True, err_msg="", verbose=True):
    x, y = np.asarray(actual), np.asarray(desired)
    if not equal_nan and (np.any(np.isnan(x)) or np.any(np.isnan(y))):
        raise AssertionError(f"\nNot equal to tolerance rtol={rtol}, atol={atol}\n{err_msg}")
    demand(x, y, np.abs(x - y) <= atol + rtol * np.abs(y), f"Not equal to tolerance rtol={rtol}, atol={atol}", err_msg)


@defines(testing.assert_array_almost_equal)
def assert_array_almost_equal(actual, desired, decimal=6, err_msg="", verbose=True):
    x, y = np.asarray(actual), np.asarray(desired)
    demand(x, y, np.abs(x - y) < 1.5 * 10.0 ** (-decimal), f"Arrays are not almost equal to {decimal} decimals", err_msg)


@defines(testing.assert_almost_equal)
def assert_almost_equal(actual, desired, decimal=7, err_msg="", verbose=True):
    x, y = np.asarray(actual), np.asarray(desired)
    demand(x, y, np.abs(x - y) < 1.5 * 10.0 ** (-decimal), f"Arrays are not almost equal to {decimal} decimals", err_msg)


@defines(testing.assert_array_equal)
def assert_array_equal(actual, desired, err_msg="", verbose=True):
    x, y = np.asarray(actual), np.asarray(desired)
    demand(x, y, False, "Arrays are not equal", err_msg)


@defines(testing.assert_array_less)
def assert_array_less(x, y, err_msg="", verbose=True):
    if not np.all(np.asarray(x) < np.asarray(y)):
        raise AssertionError(f"\nArrays are not strictly ordered `x < y`\n{err_msg}")
