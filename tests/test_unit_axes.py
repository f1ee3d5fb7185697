"""Broadcasting where an axis turns out to be 1 long when the program runs."""

import numpy as np
import pytest

from autodiff import grad, value_and_grad

from .support import assert_gradient

X, A = np.linspace(0.3, 1.4, 6), np.linspace(0.2, 2.0, 12).reshape(3, 4)


def literal(x, n):
    return np.sum(x[:2] * x[2:3] + x[-3:-2])


def by_a_bound(x, n):
    return np.sum(x[:3] * x[:n]) + np.sum(x * np.sin(x[n + 4:]))


def strided(x, n):
    return np.sum(x[::2] * x[5:] ** 2)


def rows_and_columns(A, n):
    return np.sum(A[:n] * A[:, :1]) + np.sum(A[n:n + 1] - A) ** 2


def written(x, n):
    y = np.zeros(4)
    y[:] = x[:n] * x[1]
    y += x[n + 4:]
    return np.sum(y ** 2)


def chosen(x, n):
    return np.sum(np.where(x[:n] > 0.0, x, x[:n] ** 2))


def in_a_loop(x, n):
    s = 0.0
    for k in range(n):
        s += np.sum(x[:k + 1] * x[1:3 - k])
    return s


PROGRAMS = ((literal, X), (by_a_bound, X), (strided, X), (rows_and_columns, A), (written, X), (chosen, X), (in_a_loop, X))


@pytest.mark.parametrize("program, x", PROGRAMS)
def test_an_axis_of_one(program, x):
    assert_gradient(program, (x, 1), (0,), "python")


def test_compiled_and_again_with_equal_sizes():
    derivative = value_and_grad(by_a_bound)
    for n in (1, 1):
        value, gradient = derivative(X, n)
        assert value == pytest.approx(by_a_bound(X, n))
        assert gradient == pytest.approx(grad(by_a_bound, mode="python")(X, n))


def test_a_literal_slice_needs_no_second_program():
    derivative = grad(literal, mode="python")
    derivative(X, 1)
    assert "moves" not in derivative.source and not derivative._checked


def test_sizes_that_do_not_fit_are_numpys_error():
    for mode in ("python", "numba"):
        with pytest.raises(ValueError, match=r"shapes \(3,\) \(2,\)"):
            grad(lambda x, n: np.sum(x[:3] * x[:n]), mode=mode)(X, 2)


def refusing(x):
    if x[0] > 0.0:
        raise ValueError("operands could not be broadcast: said by the user")
    return np.sum(x)


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_an_error_of_the_users_starts_nothing_again(mode):
    derivative = grad(refusing, mode=mode)
    with pytest.raises(ValueError, match="said by the user"):
        derivative(X)
    assert not derivative._checked


def rows_of_a_comprehension(x, y):
    """Another statement lets axes be 1 long, and the rows have the longer one's length."""
    rows = np.array([(x - y * p).sum(axis=1) for p in y])
    return np.sum(rows ** 2) + np.sum(np.add.reduceat(x, np.arange(0, x.shape[0], 2), axis=0) ** 3)


def test_rows_that_are_broadcast_where_axes_may_be_1_long():
    x, y = np.random.default_rng(0).random((4, 2)), np.random.default_rng(1).random((4, 2))
    for given in ((x, y), (x[:1], y), (x, y[:1])):
        assert_gradient(rows_of_a_comprehension, given, (0, 1), "python")
