"""`np.unique` with what it gives beside the values, and the set operations of NumPy."""

import numpy as np
import pytest

from autodiff import check_grads, value_and_grad

LABELS = np.array([3, 1, 1, 7, 3, 3, 0])
FIXED = np.array([5, 1, 1])
WORDS = [2, 0, 2, 1]
MATRIX = np.array([[4, 1, 4], [2, 1, 9]])


def groups(x):
    names, inverse, counts = np.unique(LABELS, return_inverse=True, return_counts=True)
    sums = np.zeros(len(names))
    for k in range(len(LABELS)):
        sums[inverse[k]] += x[k] ** 2
    return np.sum(sums / counts * names)


def scattered(x):
    names, inverse = np.unique(LABELS, return_inverse=True)
    sums = np.zeros(names.shape[0])
    np.add.at(sums, inverse, x)
    return np.sum(sums ** 3)


def first_of_each(x):
    _, first = np.unique(LABELS, return_index=True)
    return np.sum(x[first] ** 2 * np.arange(1, 5))


def all_of_it(x):
    u, first, inverse, counts = np.unique(MATRIX, True, True, True)
    return np.sum(u[inverse] * x[0]) + np.sum(x[first] ** 2) + counts @ x[:4]


def of_a_list(x):
    u, counts = np.unique(WORDS, return_counts=True)
    return np.sum(u * counts * x[:3] ** 2)


def of_what_is_differentiated(x):
    u, first, inverse, counts = np.unique(np.concatenate((x, x[:2])), return_index=True, return_inverse=True,
                                          return_counts=True)
    return np.sum(u ** 2 * counts) + np.sum(x[first[:4]]) + np.sum(u[inverse] ** 3)


def reduced(x):
    free = np.setdiff1d(np.arange(x.shape[0]), [0, 4])
    return np.sum(x[free] ** 2 * np.arange(1, len(free) + 1))


def reduced_by_array(x, fixed=FIXED):
    return np.sum(x[np.setdiff1d(np.arange(len(x)), fixed)] ** 2)


def common(x):
    return np.sum(x[np.intersect1d([1, 4, 4, 2], np.array([4, 5, 1]))] ** 2)


def either(x):
    return np.sum(x[np.setxor1d([1, 4, 4, 2], np.array([4, 5, 1]))] ** 2)


@pytest.mark.parametrize("function", [
    groups, scattered, first_of_each, all_of_it, of_a_list, of_what_is_differentiated, reduced, reduced_by_array, common,
    either])
def test_value_and_gradient(function):
    x = np.array([0.7, 1.9, 0.2, 1.1, 2.3, 0.4, 3.1])
    assert np.isclose(value_and_grad(function, mode="python")(x)[0], function(x))
    check_grads(function, (x,), modes=("rev",), mode="python")


@pytest.mark.parametrize("values", [[], [2.0], [1.0, 1.0], [np.nan, 1.0, np.nan, -0.0, 0.0], [3.0, 1.0, 2.0, 1.0]])
@pytest.mark.parametrize("option", ["return_index", "return_inverse", "return_counts"])
def test_what_is_beside_the_values(values, option):
    x = np.array(values)

    def function(x):
        return np.unique(x, return_index=option == "return_index", return_inverse=option == "return_inverse",
                         return_counts=option == "return_counts")[1]
    weights = np.arange(1.0, 9.0)
    program = lambda x, w: np.sum(function(x) * w[:len(function(x))])
    assert np.isclose(value_and_grad(program, wrt=1, mode="python")(x, weights)[0], program(x, weights))


@pytest.mark.parametrize("operation", [np.setdiff1d, np.intersect1d, np.setxor1d, np.union1d])
@pytest.mark.parametrize("a, b", [([], [1]), ([1], []), ([3, 1, 3], [1, 2]), ([2, 1], [1, 2]), ([5, 4], [1])])
def test_sets(operation, a, b):
    a, b = np.array(a, dtype=int), np.array(b, dtype=int)
    program = lambda x, a, b: np.sum(x * operation(a, b))
    assert value_and_grad(program, mode="python")(2.0, a, b)[0] == program(2.0, a, b)
