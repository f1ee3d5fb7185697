"""Pullbacks and tangent maps keep what they read: the caller may change arrays that were passed and those that came back."""

import numba
import numpy as np
import pytest
import scipy.sparse

from autodiff import Tensor, differentiable, linearize, vjp

GLOBAL = np.array([1.0, 2.0, 3.0])
X, Y = np.array([0.5, 1.5, 2.5]), np.array([2.0, 3.0, 4.0])


def product(x, y):
    return x * y


def cube(x):
    return x ** 3


def with_global(x):
    return x * GLOBAL * x


def loop(x, y):
    total = 0.0
    for i in range(x.shape[0]):
        total += np.sin(x[i]) * y[i]
    return total


def of_dict(p, y):
    return p["w"] * p["w"] * y


def exponential(x):
    return np.exp(x)


def matrix(a, x):
    return a @ x


def swapped(x, y):
    for _ in range(3):
        x, y = y, x
    return x * x * y


def written(x, y):
    x[0] = y[1]
    return x * x * y


def complex_product(x, y):
    return x * (y + 1j * y)


def gathered(x, k):
    return x[k] * x[k]


def found(value) -> list:
    """The arrays in a structure."""
    if isinstance(value, np.ndarray):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else ()
    return [a for part in parts for a in found(part)]


CASES = [(product, (X, Y)), (cube, (X,)), (with_global, (X,)), (loop, (X, Y)), (of_dict, ({"w": X}, Y)), (exponential, (X,)),
         (matrix, (np.arange(9.0).reshape(3, 3), X)), (swapped, (X, Y)), (written, (X, Y)),
         (complex_product, (X + 0.5j, Y)), (gathered, (X, np.array([2, 0, 1, 1]))), (cube, (X.astype(np.float32),)),
         (np.sin, (X[::-1],)), (lambda x: np.sum(x, axis=0), (np.ones((2, 3)),))]


def copied(args):
    return tuple({k: v.copy() for k, v in a.items()} if isinstance(a, dict) else a.copy() for a in args)


@pytest.mark.parametrize(("f", "args"), CASES, ids=lambda c: getattr(c, "__name__", ""))
def test_what_is_changed_afterwards_does_not_matter(f, args):
    before = GLOBAL.copy()
    for make in (vjp, linearize):
        given = copied(args)
        value, linear = make(f, *given, mode="python")
        seeds = (np.ones_like(value),) if make is vjp else tuple(
            {k: np.ones_like(v) for k, v in a.items()} if isinstance(a, dict) else
            np.ones_like(a) if a.dtype.kind in "fc" else None for a in given)
        first = found(linear(*seeds))
        expected = copied(first)
        try:
            for array in (*found(given), *found(value), *first, GLOBAL):
                array[...] = 0 if array.dtype.kind == "i" else 7.0
            again = found(linear(*seeds))
            assert len(first) == len(again)
            for a, b in zip(again, expected, strict=True):
                np.testing.assert_array_equal(a, b)
            assert not any(np.shares_memory(a, b) for a in again for b in (*first, *found(seeds)))
        finally:
            GLOBAL[...] = before


def test_no_copy_where_it_is_promised():
    x = X.copy()
    _, pull = vjp(product, x, Y, mode="python", copy=False)
    x[...] = 0.0
    np.testing.assert_array_equal(pull(np.ones(3))[1], 0.0)
    x[...] = X
    _, push = linearize(product, x, Y, mode="python", copy=False)
    x[...] = 0.0
    np.testing.assert_array_equal(push(None, np.ones(3)), 0.0)


def test_only_what_is_read_is_copied():
    x, k = np.ones(1000), np.array([1, 5])
    _, pull = vjp(gathered, x, k, mode="python")
    arrays = [r for r in pull._residuals if isinstance(r, np.ndarray)]
    assert not any(np.shares_memory(r, a) for r in arrays for a in (x, k))
    _, pull = vjp(np.sum, x, mode="python")
    assert not [r for r in pull._residuals if isinstance(r, np.ndarray)]


def test_method_of_compiled_functions():
    x = X.copy()
    _, pull = differentiable(cube, mode="python").vjp(x)
    x[...] = 0.0
    np.testing.assert_array_equal(pull(np.ones(3))[0], 3.0 * X ** 2)


jitted = numba.njit(product)


@numba.njit
def changes_between(x, y):
    value, pull = vjp(jitted, x, y)
    x[:] = 0.0
    value[:] = 0.0
    return pull(np.ones(3))[1]


def test_in_compiled_code():
    np.testing.assert_array_equal(changes_between(X.copy(), Y.copy()), X)


def test_entries_of_sparse_arrays():
    a = scipy.sparse.csr_array(np.array([[1.0, 0.0], [2.0, 3.0]]))
    x = np.array([1.0, 2.0])
    _, pull = vjp(lambda a, x: a @ x, a, x, mode="python")
    expected = pull(np.ones(2))
    a.indices[...], a.data[...], x[...] = 0, 7.0, 7.0
    first = pull(np.ones(2))
    first[0].indices[...] = 0
    found = pull(np.ones(2))
    np.testing.assert_array_equal(found[1], expected[1])
    np.testing.assert_array_equal(found[0].toarray(), np.array([[1.0, 0.0], [1.0, 2.0]]))


def test_arrays_beside_tensors():
    t, y = Tensor(X, requires_grad=True), Y.copy()
    out = differentiable(product, mode="python")(t, y)
    y[...] = 0.0
    out.sum().backward()
    np.testing.assert_array_equal(t.grad.numpy(), Y)
