"""`outputs=`: the final contents of the arguments that were given, whatever their names come to mean."""

import numpy as np
import pytest

from autodiff import UnsupportedSyntax, vjp


def swapped(x, y):
    x, y = y, x
    x[1] = 5.0 * y[0]
    return x[0] * 2


def bound_anew(x, y):
    x = x * 2
    x[0] = 7.0
    y[1] = x[2]
    return np.sum(x)


def second_name(x, y):
    z = x
    x = y
    z[0] = x[1] * 3
    x[2] = 1.0
    return z[0]


def swapped_in_a_loop(x, y):
    for _ in range(3):
        x, y = y, x
    return x[0]


def inner(a, b):
    a, b = b, a
    a[0] = b[1] * 2


def swapped_in_a_helper(x, y):
    inner(x, y)
    return x[1]


def swapped_and_branch(x, y):
    x, y = y, x
    if y[0] > 0.5:
        y[1] = 9.0 * x[2]
    else:
        x[1] = 2.0
    return x[1]


@pytest.mark.parametrize("f", [swapped, bound_anew, second_name, swapped_in_a_loop, swapped_in_a_helper, swapped_and_branch],
                         ids=lambda f: f.__name__)
def test_results_are_the_arguments_that_were_given(f):
    x, y = np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0])
    given = x.copy(), y.copy()
    expected = f(*given), *given
    found, pull = vjp(f, x, y, outputs=("x", "y"), mode="python")
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other)

    def loss(a, b):
        a, b = a.copy(), b.copy()
        return f(a, b) + 2.0 * np.sum(a) + 3.0 * np.sum(b)
    bars = pull((1.0, np.full(3, 2.0), np.full(3, 3.0)))
    for k, steps in enumerate(bars):
        move = lambda e, k=k: (x + e, y) if k == 0 else (x, y + e)
        np.testing.assert_allclose(steps, [(loss(*move(h)) - loss(*move(-h))) / 2e-6 for h in 1e-6 * np.eye(3)], atol=1e-5)


@pytest.mark.parametrize("k", [0, 1])
def test_a_write_to_one_of_two_results_is_refused(k):
    def f(x, y, k):
        if k > 0:
            x, y = y, x
        x[1] = 5.0
    with pytest.raises(UnsupportedSyntax, match="one of two arrays"):
        vjp(f, np.ones(3), np.zeros(3), k, outputs=("x", "y"), mode="python")
