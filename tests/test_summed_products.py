"""Sums of products are taken before the product, and only where nothing else needs the product."""

import numpy as np
import pytest

from autodiff import check_grads, differentiable, value_and_grad

R = np.random.default_rng(7)


def whitened(x, mu, w):
    z = (x - mu) @ w
    return np.sum(z * z)


def whitened_by_transpose(x, mu, w):
    z = (x - 2.0 * mu) @ w.T
    return np.sum(np.sin(z))


def components(x, means, factors):
    total = 0.0
    for k in range(means.shape[0]):
        z = (x - means[k]) @ factors[k].T
        total += np.log(np.sum(np.exp(-0.5 * np.sum(z * z, axis=1))))
    return total


CASES = [
    (whitened, (R.random((4, 3)), R.random(3), R.random((3, 2))), (1, 2)),
    (whitened_by_transpose, (R.random((4, 3)), R.random(3), R.random((2, 3))), (1,)),
    (components, (R.random((5, 3)), R.random((2, 3)), R.random((2, 3, 3))), (1, 2)),
]


@pytest.mark.parametrize("f, args, wrt", CASES, ids=lambda x: getattr(x, "__name__", ""))
def test_sums_come_first(f, args, wrt):
    check_grads(f, args, wrt=wrt, mode="python" if f is not components else "numba")
    made = value_and_grad(f, wrt=wrt, mode="python")
    made(*args)
    assert "sums[" in made.source


def test_a_product_that_is_needed_stays():
    args = R.random((4, 3)), R.random(3), R.random((3, 2))
    check_grads(whitened, args, mode="python")
    made = value_and_grad(whitened, wrt=(0, 1, 2), mode="python")
    made(*args)
    assert "sums[" not in made.source


def test_a_square_is_no_multiple():
    """The sum of squares of a product is not the square of its sum, whatever signs are written before it."""
    def squares(x, w, c):
        z = x @ w
        return np.sum(np.sum(-z * z, axis=0) * c)

    args = R.random((4, 3)), R.random((3, 2)), R.random(2)
    for mode in ("numba", "python"):
        np.testing.assert_allclose(differentiable(squares, mode=mode)(*args), squares(*args), rtol=1e-13)
    check_grads(squares, args, mode="python")
    check_grads(squares, args, wrt=2, mode="python")


@pytest.mark.parametrize("n, m", [(0, 3), (4, 0), (1, 1)])
def test_empty_products(n, m):
    _, (mu_bar, w_bar) = value_and_grad(whitened, wrt=(1, 2))(np.ones((n, m)), np.ones(m), np.ones((m, 2)))
    np.testing.assert_array_equal(mu_bar, np.zeros(m))
    np.testing.assert_array_equal(w_bar, np.zeros((m, 2)))
