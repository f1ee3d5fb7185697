"""Arrays that a caller gives away may be swapped with others by the function it calls."""


import numpy as np
import pytest

from autodiff import UnsupportedSyntax, grad

from .support import assert_gradient


def swapping(a, b, n):
    for _ in range(n):
        b[:] = np.sin(a) * b[::-1] + 0.3
        a, b = b, a
    return np.sum(a ** 2)


def given_through_a_tuple(x):
    both = (x, np.ones(3))
    return swapping(*both, 3)


def one_array_under_two_names(x):
    y = x
    return swapping(x, y, 3)


def given_anew_in_a_loop(x):
    total = 0.0
    for k in range(2):
        y = np.ones(3) * (k + 1)
        total += swapping(x.copy(), y, 3)
    return total


def read_afterwards(x):
    y = np.ones(3)
    return swapping(x, y, 3) + y[0]


def read_by_a_view(x):
    y = np.ones(3)
    end = y[1:]
    total = swapping(x, y, 3)
    return total + end[0]


def read_by_an_inner_function(x):
    y = np.ones(3)

    def later():
        return y[1] * x[0]
    return swapped_then(later, x, y)


def swapped_then(later, a, b):
    return swapping(a, b, 2) + later()


def read_in_the_next_iteration(x):
    y = np.ones(3)
    total = 0.0
    for _ in range(2):
        total = total + swapping(x.copy(), y, 3)
    return total


@pytest.mark.parametrize("function", [given_through_a_tuple, one_array_under_two_names, given_anew_in_a_loop])
def test_arrays_given_away_may_be_swapped(function):
    assert_gradient(function, (np.array([0.3, 0.7, -0.9]),), (0,), "python")


@pytest.mark.parametrize("function", [read_afterwards, read_by_a_view, read_by_an_inner_function,
                                      read_in_the_next_iteration])
def test_arrays_read_later_may_not_be_swapped(function):
    with pytest.raises(UnsupportedSyntax, match="a second name may see"):
        grad(function, mode="python")(np.array([0.3, 0.7, -0.9]))
