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
