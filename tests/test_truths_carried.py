"""Truths that are NumPy's in one iteration of a loop and Python's own in the next: what tells them apart is refused."""

import numpy as np
import pytest

from autodiff import AutodiffError, value_and_grad

X = np.array([0.5, 1.0, -2.0, 0.3])


def replaced(x):
    b = x[0] < 1.5
    for _ in x:
        b = b is not True
    return b + x[0]


def replaced_on_a_path(x):
    b = x[0] < 1.5
    for v in x:
        if v > 0.0:
            b = b is not True
    return b + x[0]


def in_a_while(x):
    b, k = np.any(x > 0.0), 0
    while k < 3:
        b, k = b is not True, k + 1
    return b + x[0]


def asked_for_its_class(x):
    best = x[0]
    for _ in range(2):
        best = 2.0 if isinstance(best, np.floating) else best + 1.0
    return best * x[1]


def swapped(x):
    a, b = x[0] > 0.0, True
    for _ in range(3):
        a, b = b, a
    return (2.0 if a is True else 3.0) * x[1]


@pytest.mark.parametrize("function", [replaced, replaced_on_a_path, in_a_while, asked_for_its_class, swapped])
def test_never_wrong(function):
    try:
        value = value_and_grad(function, mode="python")(X.copy())[0]
    except AutodiffError as e:
        assert "not known" in str(e) or "by the way" in str(e)
    else:
        assert value == function(X.copy())


def test_truth_alone_is_enough():
    def counted(x):
        b, n = x[0] < 1.5, 0.0
        for v in x:
            if b:
                n = n + v * v
            b = not b
        return n
    value, gradient = value_and_grad(counted, mode="python")(X)
    assert value == counted(X)
    np.testing.assert_array_equal(gradient, [1.0, 0.0, -4.0, 0.0])
