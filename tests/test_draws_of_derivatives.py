"""Draws in programs that are made of the program: Jacobians, Hessians, calls that start again, checks, Tensors."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff import (
    AutodiffError,
    NonDifferentiable,
    check_grads,
    differentiable,
    grad,
    hessian,
    jacobian,
    tensor,
    value_and_grad,
)

from .test_random_draws import RNG, X, differences, generator, linear, noisy, same_state


def many(x, rng):
    z = rng.standard_normal(x.shape[0])
    y = np.zeros(x.shape[0])
    for i in range(x.shape[0] - 1):
        y[i] = x[i] * x[i + 1] * z[i] * rng.random()
    return y


def few(x, rng):
    z = rng.standard_normal(x.shape[0])
    return np.array([np.sum(np.sin(x * z)), np.sum(x * x) * rng.random()])


@pytest.mark.parametrize("function", [many, few], ids=lambda f: f.__name__)
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_all_columns_and_rows_see_one_run(function, direction):
    for n in (3, 70):
        x, after, rng = generator(1).standard_normal(n), generator(), generator()
        function(x, after)
        J = jacobian(function, direction=direction, mode="python")(x, rng)
        np.testing.assert_allclose(J, differences(function, x), atol=1e-7)
        assert same_state(rng, after)


def test_hessians():
    x, after, rng = generator(1).standard_normal(5), generator(), generator()
    H = hessian(noisy, mode="python")(x, rng)
    noisy(x, after)
    np.testing.assert_allclose(H, differences(grad(noisy, mode="python"), x), atol=1e-5)
    assert same_state(rng, after)


def test_sparse_jacobians():
    J = jacobian(many, sparse=True, mode="python")
    for seed in (42, 7):
        x, rng, own = generator(1).standard_normal(9), generator(seed), generator(seed)
        np.testing.assert_allclose(J(x, rng).toarray(), jacobian(many, mode="python")(x, own), atol=1e-12)
        assert same_state(rng, own)
    rng, own = generator(), generator()
    assert not jacobian(lambda x, rng: np.floor(x) * rng.random(), sparse=True, mode="python")(X, rng).nnz
    own.random()
    assert same_state(rng, own)


def test_a_call_that_starts_again_draws_again():
    def f(x, y, rng):
        return np.sum((x + y) * rng.standard_normal(3)) * rng.random() + x[5 % x.shape[0]]
    gradient = value_and_grad(f, mode="python")
    for x, y in ((X, X), (X, np.ones(1)), (np.ones(1), X), (X, np.ones(1))):
        rng, own = generator(), generator()
        assert gradient(x, y, rng)[0] == f(x, y, own)
        assert same_state(rng, own)

    def at(x, i, rng):
        return np.sum(x * rng.standard_normal(3)) + x[i] * rng.random()
    for i in (0, -1, 2):
        rng, own = generator(), generator()
        assert value_and_grad(at, mode="python")(X, i, rng)[0] == at(X, i, own)
        assert same_state(rng, own)


def test_loops_that_draw_are_for_one_thread():
    def f(x, rng):
        s, t = 0.0, 0.0
        for i in range(x.shape[0]):
            s += np.sin(x[i] * rng.standard_normal())
        for i in range(x.shape[0]):
            t += np.cos(x[i])
        return s * t
    gradient = grad(f, parallel=True, mode="python").specialize(X, generator())
    blocks, main = gradient.source.split("\ndef f_grad_parallel(")
    assert "prange" in blocks and "= rng." not in blocks and "draw = rng.standard_normal()" in main


def test_check_grads_draws_the_same_every_time():
    rng = generator()
    assert check_grads(noisy, (X, rng), order=2, modes=("rev", "fwd"), mode="python").worst < 1e-6
    assert same_state(rng, generator())
    with pytest.raises(AutodiffError, match="goes on from call to call"):
        check_grads(lambda x: np.sum(x * RNG.random(3)), (X,), mode="python")


def test_tensors():
    t, rng, own = tensor(X, requires_grad=True), generator(), generator()
    differentiable(linear, mode="python")(t, rng).backward()
    np.testing.assert_array_equal(np.asarray(t.grad), own.standard_normal(3))
    assert same_state(rng, own)


def test_tensors_differentiated_twice():
    t, rng, own = tensor(X, requires_grad=True), generator(), generator()
    (g,) = grad(differentiable(noisy, mode="python")(t, rng), t, create_graph=True)
    (h,) = grad((g * g).sum(), t)
    H, slope = hessian(noisy, mode="python")(X, generator()), grad(noisy, mode="python")(X, generator())
    np.testing.assert_allclose(np.asarray(h), 2.0 * H @ slope, rtol=1e-12)
    noisy(X, own)
    assert same_state(rng, own)
    outside = differentiable(lambda x: np.sum(x * x * RNG.random(3)), mode="python")
    with pytest.raises(NonDifferentiable, match="generator outside"):
        grad(outside(t), t, create_graph=True)
