"""What Python's own numbers have and do where NumPy's differ; computed sizes; lists that are bound anew."""

import math

import numpy as np
import pytest

from autodiff import AutodiffError, differentiable, value_and_grad

X = np.array([1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize("f", [
    lambda t, n: t.shape, lambda t, n: t.sum(), lambda t, n: n.T, lambda t, n: (2 * t).dtype, lambda t, n: math.sin(t).ndim,
    lambda t, n: max(t, 1.0).size, lambda t, n: (3.0 * t).reshape(-1), lambda t, n: t.copy(), lambda t, n: t.tolist(),
], ids=range(9))
def test_attributes_that_python_lacks(f):
    with pytest.raises(AttributeError) as expected:
        f(1.5, 2)
    with pytest.raises(AttributeError) as found:
        differentiable(f, mode="python")(1.5, 2)
    assert str(expected.value) in str(found.value)


def test_attributes_of_numpys_numbers():
    f = lambda t, x: np.sin(t).sum() + x[0].sum() + x.sum().ndim + np.float64(t).size + np.ptp(x).size
    assert differentiable(f, mode="python")(0.5, X) == pytest.approx(f(0.5, X))


@pytest.mark.parametrize("f", [
    lambda x, n: x.reshape(n - 3, 2) * x[0], lambda x, n: np.reshape(x, n - 3), lambda x, n: x.reshape((2, 1 - n)),
    lambda x, n: x.reshape((x.size - 5, n, 1)), lambda x, n: x.reshape(n, 2)], ids=range(5))
@pytest.mark.parametrize("mode", ["python", "compiled"])
def test_sizes_left_to_reshape(f, mode):
    options = {"mode": "python"} if mode == "python" else {}
    for n in (2, 2):
        found = differentiable(f, **options)(X, n)
        np.testing.assert_array_equal(found, f(X, n))
    with pytest.raises(ValueError, match="cannot reshape array of size 4"):
        differentiable(lambda x, n: x.reshape(n, 3), **options)(X, -1)


def added(x):
    p = [1.0]
    q = p
    for v in x:
        p = p + [v]
    return sum(q) + sum(p)


def appended_and_added(x):
    p = []
    q = p
    for v in x:
        q.append(v)
        p = p + [v]
    return sum(q) + sum(p)


def alone(x):
    p = [1.0]
    for v in x:
        p = p + [v]
    return sum(p)


@pytest.mark.parametrize("f", [added, appended_and_added, alone])
def test_lists_bound_anew_beside_others(f):
    try:
        value, _ = value_and_grad(f, mode="python")(X)
    except AutodiffError:
        assert f is not alone
        return
    assert value == f(X)


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_order_of_nan(mode):
    """Python's max and min keep the first where a comparison fails, and so does the derivative; NumPy's give nan."""
    def f(a, b, c, d):
        return 2.0 * max(a, b) + 3.0 * min(c, d)

    made = value_and_grad(f, wrt=(0, 1, 2, 3), mode=mode)
    for args in ((1.0, math.nan, 2.0, math.nan), (math.nan, 1.0, 2.0, 3.0), (2.0, 1.0, math.nan, 3.0), (1.0, 2.0, 3.0, 2.0)):
        value, gradient = made(*args)
        np.testing.assert_equal(value, f(*args))
        first = not args[1] > args[0], not args[3] < args[2]
        np.testing.assert_array_equal(gradient, [2.0 * first[0], 2.0 * (not first[0]), 3.0 * first[1], 3.0 * (not first[1])])


def relu(x):
    s = 0.0
    for v in x:
        s += max(v, 0.0) + min(0.0, v) + max([v, 1.0, 2.0 * v])
    return s


def test_order_of_nan_in_loops():
    x = np.array([1.0, math.nan, -2.0])
    np.testing.assert_equal(differentiable(relu, mode="python")(x[::2]), relu(x[::2]))
    one = differentiable(lambda x: max(x[1], 0.0) + min(0.0, x[1]) * 2.0, mode="python")
    assert math.isnan(one(x))
    assert differentiable(lambda x: max(0.0, x[1]) + min(1.0, x[1]), mode="python")(x) == 1.0
    assert differentiable(lambda x: sum(max(0.0, v) for v in x), mode="python")(x) == 1.0


@pytest.mark.parametrize("places", [[[0, 1], [1, 2]], [0, 1], [[0], [1], [2]], [[0, 1]]], ids=range(4))
def test_places_along_an_axis(places):
    def put(m, places):
        made = m.copy()
        np.put_along_axis(made, places, 5.0, axis=1)
        return made

    given = np.arange(12.0).reshape(3, 4), np.array(places)
    try:
        expected = put(*given)
    except (IndexError, ValueError) as e:
        with pytest.raises(type(e)):
            differentiable(put, mode="python")(*given)
    else:
        np.testing.assert_array_equal(differentiable(put, mode="python")(*given), expected)
