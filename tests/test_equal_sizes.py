"""Sizes that a check inside a branch or a loop makes equal to a known integer are that integer behind it."""

import numpy as np
import pytest

from autodiff import grad

from .support import assert_gradient


def total(A, B, near):
    """Products of 3 x 3 with what may have another size, where none is taken."""
    s = np.zeros((3, 3))
    for i in range(A.shape[0]):
        for j in range(near.shape[0]):
            if i >= near[j]:
                s += A[i - near[j]] @ B[j]
    return np.sum(s ** 2)


def A(k=4):
    return np.random.default_rng(k).standard_normal((k, 3, 3))


NEAR = np.array([0, 2, 1])


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_products_in_a_branch(mode):
    assert_gradient(total, (A(), A(3), NEAR), (0, 1), mode)


def weighted(B, near):
    s = 0.0
    for j in range(near.shape[0]):
        if near[j] > 0:
            s += (B[j] @ np.array([1.0, 2.0, 3.0])) ** 2
    return s


def test_the_size_is_known_behind_its_check():
    assert_gradient(weighted, (A()[0], NEAR), (0,), "python")
    g = grad(weighted, wrt=0, mode="python")
    g(A()[0], NEAR)
    assert "for j in range(near_size" in g.source and "range(B_1)" not in g.source


def test_a_size_that_no_iteration_asks_for_may_be_another_one():
    B, near = np.random.default_rng(2).standard_normal((3, 5, 3)), np.array([7, 8, 9])
    a_bar, b_bar = grad(total, wrt=(0, 1), mode="python")(A(), B, near)
    assert not a_bar.any() and not b_bar.any() and b_bar.shape == B.shape
    with pytest.raises(ValueError):
        total(A(), B, NEAR)
    with pytest.raises(ValueError, match="mismatch"):
        grad(total, wrt=(0, 1), mode="python")(A(), B, NEAR)
