"""Sparse Hessians."""


import numpy as np
import pytest

from autodiff import (
    hessian,
)
from autodiff.rules import pullback, pushforward

from .test_jacobian import recurrent, rosenbrock
from .test_sparse import N, U, assembled, check, near, pattern


def chained(x):
    s = 0.0
    for i in range(len(x) - 1):
        s += np.cos(x[i] * x[i + 1]) + (x[i] ** 4 if x[i] > 0.5 else x[i] ** 2)
    return s


def shared(x):
    """Every element meets the first."""
    return np.sum(np.exp(x[1:] * x[0]) + x[1:] ** 2)


def products(x):
    a = x[:4].reshape(2, 2)
    return np.sum((a @ a) ** 2) + np.sum(np.sin(x[4:]) ** 2) + x[5] * x[6]


@pytest.mark.parametrize("program", [rosenbrock, recurrent, chained, shared, products])
def test_hessians(program):
    H, dense = hessian(program, sparse=True, mode="python", debug=True), hessian(program, mode="python")
    generator = np.random.default_rng(1)
    for x in (U, generator.standard_normal(N), generator.standard_normal(N)):
        check(H, dense, x)
    assert H.sparsity.star


def test_neighbours_make_three_diagonals():
    for f in (rosenbrock, chained):
        H = hessian(f, sparse=True, mode="python")
        H(np.linspace(0.2, 0.9, 50))
        assert (pattern(H) == near(50, -1, 0, 1)).all() and H.sparsity.colours == 3


def test_symmetry_saves_directions():
    H = hessian(shared, sparse=True, mode="python")
    H(np.linspace(0.2, 0.9, 50))
    assert H.sparsity.colours == 2 and H.sparsity.nnz == 50 + 2 * 49


def test_blocks_of_a_hessian():
    def f(x, y, k):
        return np.sum(x * y) * k + np.sum(x ** 3)
    options = {"wrt": ("x", "k"), "mode": "python"}
    found, wanted = hessian(f, sparse=True, **options)(U, 2 * U, 3.0), hessian(f, **options)(U, 2 * U, 3.0)
    np.testing.assert_allclose(assembled(found, [N, 1], [N, 1]), assembled(wanted, [N, 1], [N, 1]))


def straight(x):
    return np.round(4 * x) / 4 * x[0]


@pullback(straight)
def straight_pullback(y_bar, y, x):
    """Not the derivative, and not that of any function: what the user wants."""
    return y_bar * x[0]


@pushforward(straight)
def straight_pushforward(y, x, x_dot):
    return x_dot * x[0]


def test_what_rules_say_need_not_be_symmetric():
    def f(x):
        return np.sum(straight(x))
    H = hessian(f, sparse=True, mode="python")
    check(H, hessian(f, mode="python"), U)
    assert not H.sparsity.star
