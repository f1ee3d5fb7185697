"""A gradient that is zero because comparisons are all that the result has of an argument gets a warning, others do not."""

import warnings

import numpy as np
import pytest

from autodiff import AutodiffWarning, Tensor, differentiable, grad, hessian, jacobian, jvp, linearize, vjp

X = np.array([1.0, 2.0, 3.0])


def bisected(c):
    low, high = 0.0, 4.0
    for _ in range(30):
        middle = 0.5 * (low + high)
        if middle * middle > c:
            high = middle
        else:
            low = middle
    return low


@pytest.mark.parametrize("f, x", [(bisected, 2.0), (lambda x: 2.0 * bisected(x[1]), X)])
def test_bisection(f, x):
    with pytest.warns(AutodiffWarning, match=r"comparisons alone, in line 17: if middle \* middle > c") as caught:
        g = grad(f, mode="python")
        assert not np.any(g(x))
        g(x)
    assert len(caught) == 1 and caught[0].filename == __file__ and caught[0].lineno == 17


@pytest.mark.parametrize("differentiate", [
    lambda f, x: vjp(f, x, mode="python"), lambda f, x: jvp(f, (x,), (1.0,), mode="python"),
    lambda f, x: jacobian(f, mode="python")(x), lambda f, x: linearize(f, x, mode="python"),
    lambda f, x: differentiable(f, mode="python")(Tensor(x, requires_grad=True))])
def test_every_operator_says_so(differentiate):
    def f(c):
        return 2.0 * bisected(c)
    with pytest.warns(AutodiffWarning, match=r"comparisons alone, in line 17: if middle \* middle > c") as caught:
        differentiate(f, 2.0)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", AutodiffWarning)
        differentiate(lambda c: 2.0 * bisected(c) + c, 2.0)


@pytest.mark.parametrize("f, args", [
    (lambda x: np.sum(np.where(x > 0, x, 0.0)), (X,)), (lambda x, y: 2.0 * y, (X, 1.0)),
    (lambda x: np.sum(np.floor(x)), (X,)), (lambda x, y: y * len(x), (X, 1.0)),
    (lambda x: x[0] if x[1] > 0 else x[2], (X,)), (lambda x: 3.0, (X,))])
def test_no_warning(f, args):
    with warnings.catch_warnings():
        warnings.simplefilter("error", AutodiffWarning)
        grad(f, mode="python")(*args)


def test_no_warning_for_second_derivatives():
    with warnings.catch_warnings():
        warnings.simplefilter("error", AutodiffWarning)
        hessian(lambda x: np.sum(np.where(x > 0, x, 0.0)), mode="python")(X)
