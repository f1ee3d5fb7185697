"""on_gradient: the identity in value, a function of the user's for the adjoint."""

import numba
import numpy as np
import pytest

import autodiff
from autodiff import (
    AutodiffError,
    NonDifferentiable,
    checkpoint,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    linearize,
    on_gradient,
    vjp,
)

X = np.array([0.3, 1.7, 0.9])


def clipped(x, limit):
    """The hook reads an argument of the function around it."""
    y = on_gradient(np.sin(x) * x, lambda g: np.clip(g, -limit, limit))
    return np.sum(y ** 3)


def of_norm_one(g):
    size = np.linalg.norm(g)
    if size > 1.0:
        g = g / size
    return g


def normalised(x):
    return np.sum(on_gradient(x, of_norm_one) ** 2)


def test_values():
    assert on_gradient(X, of_norm_one) is X and on_gradient(2.0, of_norm_one) == 2.0
    assert autodiff.differentiable(clipped, mode="python")(X, 0.5) == clipped(X, 0.5)
    assert numba.njit(lambda x: on_gradient(x, None) * 2.0)(3.0) == 6.0


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_what_the_hook_returns_flows_on(mode):
    y = np.sin(X) * X
    wanted = np.clip(3 * y ** 2, -0.5, 0.5) * (np.cos(X) * X + np.sin(X))
    made = grad(clipped, mode=mode, debug=True)
    np.testing.assert_allclose(made(X, 0.5), wanted)
    np.testing.assert_allclose(jacobian(clipped, mode=mode)(X, 0.5), wanted)
    np.testing.assert_allclose(vjp(clipped, X, 0.5, mode=mode)[1](2.0)[0], np.clip(6 * y ** 2, -0.5, 0.5) * (
        np.cos(X) * X + np.sin(X)))
    assert "np.minimum(np.maximum(" in made.source


def carried(x):
    """Numbers: the hook reads a value that the loop carries, as it was in that iteration."""
    s = 1.0
    for _ in range(3):
        s = on_gradient(s * x, lambda g: g * s)
    return s


def overwritten(x):
    """The hook reads an array that is written to later."""
    w = x * 2.0
    y = on_gradient(x * x, lambda g: g * w)
    w[:] = 0.0
    return np.sum(y) + np.sum(w)


def one_branch(x):
    y = on_gradient(x, lambda g: 10.0 * g) if x[0] > 0.5 else x
    return np.sum(y * x)


def several(a):
    for k in range(2):
        a = on_gradient(a, lambda g: g + k) * 2.0
    return np.sum(a)


def stepped(x, n):
    """A loop that is reversed from copies of its state."""
    for _ in checkpoint(range(n), snapshots=2):
        x = on_gradient(np.sin(x) * 1.1, lambda g: 0.5 * g)
    return np.sum(x)


def plainly_stepped(x, n):
    for _ in range(n):
        x = np.sin(x) * 1.1
    return np.sum(x)


def in_place(x):
    def doubled(g):
        g *= 2.0
        return g
    return np.sum(on_gradient(x, doubled) * x)


def test_where_it_stands():
    def python(f):
        return grad(f, mode="python", debug=True)
    assert python(carried)(1.3) == pytest.approx(1.3 ** 4 + 2 * 1.3 ** 5)
    np.testing.assert_allclose(python(overwritten)(X), 2 * X * 2 * X)
    np.testing.assert_allclose(python(one_branch)(X), 2 * X)
    np.testing.assert_allclose(python(one_branch)(X + 1), 11 * (X + 1))
    np.testing.assert_allclose(python(several)(X), np.full(3, (2.0 + 1.0) * 2.0))
    np.testing.assert_allclose(python(in_place)(X), 3 * X)
    np.testing.assert_allclose(python(stepped)(X, 7), python(plainly_stepped)(X, 7) / 2 ** 7)


def test_second_order():
    """A derivative of the gradient is that of what it computes, in every way to take it."""
    size = np.linalg.norm(X)
    wanted = (np.eye(3) - np.outer(X, X) / size ** 2) / size
    gradient = grad(normalised, mode="python", debug=True)
    np.testing.assert_allclose(gradient(X), X / size)
    np.testing.assert_allclose(hessian(normalised, mode="python", debug=True)(X), wanted)
    np.testing.assert_allclose(jacobian(gradient, direction="reverse", mode="python", debug=True)(X), wanted)
    np.testing.assert_allclose(hvp(normalised, mode="python")(X, X[::-1]), wanted @ X[::-1])
    np.testing.assert_allclose(grad(lambda x: gradient(x) @ X[::-1], mode="python")(X), wanted @ X[::-1])


def test_looking_on(capsys):
    def looked_at(x):
        def show(g):
            print("adjoint", g[0], g[1])
        return np.sum(on_gradient(x, show) ** 2)
    for mode in ("python", "numba"):
        np.testing.assert_allclose(grad(looked_at, mode=mode)(X), 2 * X)
        assert capsys.readouterr().out.split() == ["adjoint", "0.6", "3.4"]


def test_refused():
    for call in (lambda: jvp(normalised, (X,), (X,), mode="python"), lambda: linearize(normalised, X, mode="python"),
                 lambda: jacobian(normalised, direction="forward", mode="python")(X)):
        with pytest.raises(NonDifferentiable, match="forward mode has no adjoint"):
            call()
    with pytest.raises(AutodiffError, match="what the hook returns has not the shape"):
        grad(lambda x: np.sum(on_gradient(x, lambda g: g[0])), mode="python")(X)
    with pytest.raises(AutodiffError, match="takes a number or an array"):
        grad(lambda x: on_gradient((x, x), of_norm_one)[0], mode="python")(2.0)


def test_tensors():
    x = autodiff.tensor(X, requires_grad=True)
    (on_gradient(x, lambda g: 3 * g) * x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 4 * X)


def test_complex_values_are_refused():
    with pytest.raises(autodiff.TypeConflict, match="complex"):
        grad(lambda z: np.sum(np.abs(on_gradient(z, lambda g: 2.0 * g)) ** 2), mode="python")(np.array([0.3 + 1j]))
