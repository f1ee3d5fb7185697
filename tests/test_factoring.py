"""Systems with one matrix share its factors, and only while the matrix stays what it was."""

import functools

import numpy as np
import pytest

from autodiff import check_grads, differentiable, grad, value_and_grad, vjp

R = np.random.default_rng(11)
A = np.eye(3) * 3.0 + R.random((3, 3))


def implicit_euler(a, x, steps):
    for _ in range(steps):
        x = np.linalg.solve(a, np.sin(x))
    return np.sum(x * x)


def transposed(a, x, steps):
    total = 0.0
    for _ in range(steps):
        x = np.linalg.solve(a.T, x)
        total += np.sum(np.linalg.solve(a, x) ** 2)
    return total


def several_right_hand_sides(a, b, steps):
    for _ in range(steps):
        b = np.linalg.solve(a, b) @ np.linalg.solve(a, a @ b)
    return np.sum(b ** 3)


def changing_matrix(a, x, steps):
    a = a.copy()
    for t in range(steps):
        x = np.linalg.solve(a, x)
        a[0, 1] += 0.1 * x[0]
        x = np.linalg.solve(a, x) + x
    return np.sum(x * x)


def changed_between(a, x, steps):
    m = a.copy()
    y = np.linalg.solve(m, x)
    m[1, 1] *= 2.0
    z = np.linalg.solve(m, y)
    return np.sum(y * z) + steps


def in_a_branch(a, x, steps):
    for t in range(steps):
        if t % 2 == 0:
            x = np.linalg.solve(a, x)
            x = np.cos(x) + np.linalg.solve(a, x)
        else:
            x = x * 0.5
    return np.sum(x)


def until_small(a, x, steps):
    while np.sum(x * x) > 1e-2:
        x = np.linalg.solve(a, x)
    return np.sum(x * x) * 100.0


def one_of_many(stack, x, steps):
    total = 0.0
    for k in range(stack.shape[0]):
        y = x
        for _ in range(steps):
            y = np.linalg.solve(stack[k], y)
        total += np.sum(np.exp(y))
    return total


CASES = [(implicit_euler, A, R.random(3)), (transposed, A, R.random(3)), (several_right_hand_sides, A, R.random((3, 3))),
         (changing_matrix, A, R.random(3)), (changed_between, A, R.random(3)), (in_a_branch, A, R.random(3)),
         (until_small, A, R.random(3)), (one_of_many, np.stack([A, A.T @ A]), R.random(3))]
COMPILED = (several_right_hand_sides, changing_matrix, in_a_branch, one_of_many)      # `implicit_euler` is in other tests
euler_gradient = functools.cache(lambda mode: value_and_grad(implicit_euler, wrt=(0, 1), mode=mode))


@pytest.mark.parametrize("f, a, x", CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_derivatives(f, a, x):
    check_grads(f, (a, x, 3), wrt=(0, 1), mode="python")
    expected = grad(f, wrt=(0, 1), mode="python")(a, x, 3)
    mode = "numba" if f in COMPILED else "python"
    value, (a_bar, x_bar) = value_and_grad(f, wrt=(0, 1), mode=mode)(a, x, 3)
    np.testing.assert_allclose(value, f(a.copy(), x.copy(), 3), rtol=1e-13)
    np.testing.assert_allclose(a_bar, expected[0], rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(x_bar, expected[1], rtol=1e-10, atol=1e-13)


def test_second_derivatives():
    check_grads(implicit_euler, (A, CASES[0][2], 2), wrt=(0, 1), order=2, directions=1, mode="python")


@pytest.mark.parametrize("f, a, x, count", [(*CASES[0], 1), (*CASES[1], 1), (*CASES[2], 1), (*CASES[6], 1)],
                         ids=lambda x: getattr(x, "__name__", ""))
def test_the_matrix_is_factored_once(f, a, x, count):
    made = value_and_grad(f, wrt=(0, 1), mode="python")
    made(a, x, 3)
    assert made.source.count("= factored(") == count
    assert " solve(" not in made.source


def test_a_matrix_that_changes_is_not_shared():
    made = differentiable(changed_between, mode="python")
    made(A, CASES[0][2], 1)
    assert "factored(" not in made.source


def test_float32_and_pullbacks():
    a, x = A.astype(np.float32), CASES[0][2].astype(np.float32)
    value, pull = vjp(implicit_euler, a, x, 3)
    a_bar, x_bar, _ = pull(np.float32(1.0))
    _, expected = euler_gradient("numba")(A, CASES[0][2], 3)
    for found, exact in zip(expected, euler_gradient("python")(A, CASES[0][2], 3)[1], strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-10, atol=1e-13)
    assert a_bar.dtype == x_bar.dtype == np.float32
    np.testing.assert_allclose(a_bar, expected[0], rtol=1e-4)
    np.testing.assert_allclose(x_bar, expected[1], rtol=1e-4)


@pytest.mark.parametrize("mode", ["numba", "python"])
def test_singular_matrices_raise_where_they_are_solved(mode):
    f = euler_gradient(mode)
    with pytest.raises(np.linalg.LinAlgError):
        f(np.ones((3, 3)), np.ones(3), 2)
    value, (a_bar, x_bar) = f(np.ones((3, 3)), np.ones(3), 0)
    assert value == 3.0
    np.testing.assert_array_equal(a_bar, np.zeros((3, 3)))
    np.testing.assert_array_equal(x_bar, 2.0 * np.ones(3))


@pytest.mark.parametrize("mode", ["numba", "python"])
def test_nan_and_empty_matrices(mode):
    f = euler_gradient(mode)
    broken = A.copy()
    broken[0, 2] = np.nan
    value, (a_bar, x_bar) = f(broken, np.ones(3), 2)
    assert np.isnan(value) and np.isnan(a_bar).all() and np.isnan(x_bar).all()
    value, (a_bar, x_bar) = f(np.ones((0, 0)), np.ones(0), 2)
    assert value == 0.0 and a_bar.shape == (0, 0) and x_bar.shape == (0,)
