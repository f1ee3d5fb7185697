"""Values that two loops of one iteration need are computed once; the gradient stays what it was."""

import math

import numpy as np
import pytest

from autodiff import check_grads, value_and_grad


def softmax_rows(x, labels):
    shifted = x - np.max(x, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(shifted), axis=1)) - shifted[np.arange(len(labels)), labels])


def normalised_rows(x, c):
    total = 0.0
    w = np.empty(x.shape[1])
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            w[j] = math.exp(c * x[i, j])
            s += w[j]
        for j in range(x.shape[1]):
            total += w[j] / s * math.exp(c * x[i, j])       # computed once more by the user
    return total


def planes(x, c):
    total = 0.0
    for k in range(x.shape[0]):
        total += np.log(np.sum(np.exp(c * x[k]))) * np.sum(x[k])
    return total


def overwritten_between(x, c):
    """The second exponential is of something else."""
    total = 0.0
    row = np.empty(x.shape[1])
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            row[j] = x[i, j]
        for j in range(x.shape[1]):
            s += math.exp(c * row[j])
        for j in range(x.shape[1]):
            row[j] = row[j] * row[j]
        for j in range(x.shape[1]):
            s += math.exp(c * row[j])
        total += math.log(s)
    return total


def triangle(x, c):
    """The inner loops are of different lengths from one iteration to the next, down to none."""
    total = 0.0
    for i in range(x.shape[0]):
        s = 1.0
        for j in range(i - 1):
            s += math.exp(c * x[i, j])
        total += math.log(s)
    return total


def shifted_reader(x, c):
    """The second loop wants the neighbour's value, not its own."""
    total = 0.0
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1] - 1):
            s += math.exp(c * x[i, j])
        for j in range(x.shape[1] - 1):
            total += s * math.exp(c * x[i, j + 1])
    return total


X = np.random.default_rng(3).standard_normal((5, 4))


@pytest.mark.parametrize("mode", ["numba", "python"])
@pytest.mark.parametrize("f", [normalised_rows, overwritten_between, triangle, shifted_reader])
def test_gradients_where_values_repeat(f, mode):
    if mode == "numba":
        check_grads(f, (X, 0.7), order=1)
    else:
        value, (x_bar, c_bar) = value_and_grad(f, wrt=(0, 1), mode="python")(X, 0.7)
        expected, (x_expected, c_expected) = value_and_grad(f, wrt=(0, 1))(X, 0.7)
        np.testing.assert_allclose(value, expected, rtol=1e-13)
        np.testing.assert_allclose(x_bar, x_expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(c_bar, c_expected, rtol=1e-12)


def test_planes():
    check_grads(planes, (np.random.default_rng(5).standard_normal((3, 4, 2)), 0.4), order=2)


@pytest.mark.parametrize("f, args, most", [
    (softmax_rows, (X, np.array([0, 3, 1, 2, 2])), 1), (planes, (np.ones((2, 3, 4)), 0.3), 1),
    (normalised_rows, (X, 0.7), 1)])        # in both sweeps, as the row belongs to the iteration
def test_exponentials_are_not_computed_again(f, args, most):
    made = value_and_grad(f, mode="python")
    made(*args)
    code = [line for line in made.source.splitlines() if not line.lstrip().startswith("#")]
    assert sum("exp(" in line for line in code) == most


def test_empty_rows():
    value, x_bar = value_and_grad(triangle)(np.empty((0, 0)), 0.7)
    assert value == 0.0 and x_bar.shape == (0, 0)
    value, x_bar = value_and_grad(triangle)(np.ones((1, 1)), 0.7)
    assert value == 0.0 and x_bar[0, 0] == 0.0


def test_sums_at_top_level_keep_no_row():
    """Over one long vector, a tape costs more than computing again."""
    made = value_and_grad(lambda x: np.log(np.sum(np.exp(x))), mode="python")
    made(np.ones(3))
    assert "_row" not in made.source


@pytest.mark.parametrize("expression", [
    lambda x, s: x * np.exp(s),
    lambda x, s: x * np.exp(s)[None],
    lambda x, s: x * np.exp(s).reshape(1, -1),
    lambda x, s: x * np.tile(np.exp(s), (len(x), 1)),
    lambda x, s: x * np.repeat(np.exp(s)[None, :], len(x), axis=0),
    lambda x, s: np.outer(x[:, 0], np.exp(s)),
    lambda x, s: x * np.broadcast_to(np.sqrt(np.exp(s)), x.shape)])
def test_what_is_repeated_is_computed_first(expression):
    """Exponentials are taken in loops over `s`, not over `x`."""
    def f(x, s):
        return np.sum(expression(x, s) ** 2)

    made = value_and_grad(f, wrt=(0, 1), mode="python")
    made(X, X[0])
    depth = [len(line) - len(line.lstrip()) for line in made.source.splitlines() if "exp(" in line and "#" not in line]
    assert set(depth) == {8}
    check_grads(f, (X, X[0]), mode="python")
