"""`out=`: gradients into arrays of the caller."""

import numpy as np
import pytest

from autodiff import ShapeMismatch, TypeConflict, grad, jacobian, value_and_grad

X = np.array([0.3, 0.7, 0.9, 1.1])
W = np.arange(12.0).reshape(3, 4) / 7


def network(w, x, k):
    return np.sum(np.tanh(w @ x) ** 2) * k


def swapped(x):
    a, b = x * 1.0, np.zeros(len(x))
    for t in range(3):
        b[:] = np.sin(a) * x
        a, b = b, a
    return np.sum(a)


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_filled_and_returned(mode):
    derivative = grad(network, wrt=("w", "x", "k"), mode=mode)
    wanted = derivative(W, X, 2.0)
    outs = (np.full((3, 4), np.nan), np.full(4, np.nan), None)
    for _ in range(2):
        found = derivative(W, X, 2.0, out=outs)
        assert found[0] is outs[0] and found[1] is outs[1] and found[2] == wanted[2]
        np.testing.assert_array_equal(found[0], wanted[0])
        np.testing.assert_array_equal(found[1], wanted[1])


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_value_and_structures(mode):
    def f(p):
        return np.sum(p["a"] * p["b"][0]) + p["b"][1]
    point = {"a": X, "b": (2 * X, 3.0)}
    out = {"a": np.empty(4), "b": (np.empty(4), None)}
    value, found = value_and_grad(f, mode=mode)(point, out=out)
    assert value == pytest.approx(f(point)) and found["a"] is out["a"] and found["b"][1] == 1.0
    np.testing.assert_array_equal(found["b"][0], X)


def test_one_result_some_of_them_and_float32():
    narrow = X.astype(np.float32)
    out = np.empty(4, np.float32)
    found = grad(lambda x: np.sum(x * x))(narrow, out=out)
    assert found is out
    np.testing.assert_array_equal(out, 2 * narrow)
    first = np.empty((3, 4))
    found = grad(network, wrt=("w", "x"), mode="python")(W, X, 1.0, out=(first, None))
    assert found[0] is first and found[1].shape == (4,)


def test_results_that_move_are_copied():
    out = np.empty(4)
    assert grad(swapped, mode="python")(X, out=out) is out
    np.testing.assert_allclose(out, grad(swapped, mode="python")(X))


def test_sizes_of_one():
    """The program that starts again with every access checked fills the array too."""
    def f(x, n):
        return np.sum(x[:n] * x ** 2)
    out = np.empty(4)
    grad(f, mode="python")(X, 1, out=out)
    np.testing.assert_allclose(out, grad(f, mode="python")(X, 1))


def test_a_function_with_an_argument_of_that_name():
    def f(x, out):
        return np.sum(x) * out
    np.testing.assert_array_equal(grad(f, mode="python")(X, out=3.0), np.full(4, 3.0))


def test_mistakes():
    derivative = grad(network, wrt="x", mode="python")
    for out, error, message in [
            (np.empty(3), ShapeMismatch, r"out= for `x` has shape \(3,\)"), (np.empty(4, int), TypeConflict, "float64"),
            (np.empty(8)[::2], TypeConflict, "C-contiguous"), (X, TypeConflict, "shares memory"),
            ((np.empty(4), np.empty(4)), ShapeMismatch, "holds 2 parts"), ([1.0], TypeConflict, "must be a writeable")]:
        with pytest.raises(error, match=message):
            derivative(W, X, 1.0, out=out)
    with pytest.raises(TypeConflict, match="gradient of `k` is a number"):
        grad(network, wrt="k", mode="python")(W, X, 1.0, out=np.empty(()))
    both = np.empty(4)
    with pytest.raises(TypeConflict, match="another result"):
        grad(lambda a, b: np.sum(a * b), wrt=(0, 1), mode="python")(X, 2 * X, out=(both, both))


def test_calls_like_the_last_one():
    """The functions made for calls with `out=` give what the general path gives."""
    def f(p, k):
        return np.sum(p["a"] * np.abs(p["b"]) ** 2) * k
    made, p = value_and_grad(f), {"a": np.array([1.0, 2.0]), "b": np.array([1.0 + 1j, 3.0])}
    _, expected = made(p, 2.0)
    out = {"a": np.empty(2), "b": np.empty(2, complex)}
    for _ in range(4):
        for given in (out, {"b": out["b"], "a": out["a"]}, {"a": out["a"], "b": None}):
            for a in out.values():
                a[:] = 0.0
            _, found = made(p, 2.0, out=given)
            for name in out:
                np.testing.assert_array_equal(found[name], expected[name])
                assert found[name] is given[name] or given[name] is None
    assert len(made._fast) >= 2
    two = value_and_grad(lambda x, y: np.sum(x * y * y), wrt=(0, 1))
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    a, b = np.empty(2), np.empty(2)
    for _ in range(4):
        two(x, y, out=(a, b))
        np.testing.assert_array_equal(a, y * y)
        np.testing.assert_array_equal(b, 2.0 * x * y)
    for wrong, error in (((a, a), TypeConflict), ((x, b), TypeConflict), ((a, np.empty(3)), ShapeMismatch),
                         ((a, np.empty(2, np.float32)), TypeConflict), ((a, np.empty(4)[::2]), TypeConflict),
                         ((a,), ShapeMismatch)):
        with pytest.raises(error):
            two(x, y, out=wrong)
    rows = jacobian(lambda x: x[:2] * x[1:])
    j = np.empty((2, 3))
    for n in (3, 3, 3, 4):
        out = j if n == 3 else np.empty((2, 3))
        x = np.arange(1.0, n + 1.0)
        if n == 3:
            assert rows(x, out=out) is out
            np.testing.assert_array_equal(out, [[2.0, 1.0, 0.0], [0.0, 3.0, 2.0]])
        else:
            with pytest.raises(ValueError):
                rows(x, out=out)
