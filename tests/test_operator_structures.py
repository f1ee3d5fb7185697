"""Operators of structures with parts that are no numbers, and of functions of libraries."""

import functools
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from autodiff import (
    ShapeMismatch,
    grad,
    hessian,
    hvp,
    jvp,
    linearize,
    vjp,
)

from .test_operators import D, X


@dataclass
class Layer:
    name: str
    w: np.ndarray
    repeats: int


def energy(layer, scale):
    return np.sum(layer.w ** 2) * layer.repeats * scale


def energies(x):
    layer = Layer("a", x, 3)
    _, dot = jvp(energy, (layer, 2.0), (Layer(None, x, None), 1.0))
    _, push = linearize(energy, layer, 2.0)
    return dot + push(Layer(None, x, None), None)


def test_tangents_of_structures_with_names_in_them():
    layer = Layer("a", X, 3)
    assert jvp(energy, (layer, 2.0), (Layer(None, D, None), None), mode="python")[1] == pytest.approx(12 * X @ D)
    assert jvp(energy, (layer, 2.0), (None, 1.0), mode="python")[1] == pytest.approx(3 * X @ X)
    np.testing.assert_allclose(grad(energies, mode="python")(X), 54 * X)
    with pytest.raises(ShapeMismatch, match="tangent of primal 0 has another structure"):
        jvp(energy, (layer, 2.0), (D, None), mode="python")


def test_a_vector_may_be_the_argument_itself():
    def march(u):
        u[1:] *= np.sin(u[:-1])
        return np.sum(u * u)
    product = hvp(march, mode="python")
    np.testing.assert_array_equal(product(X, X), product(X, X.copy()))
    assert "# ---- reverse sweep" in product.source


# ---- functions of libraries -----------------------------------------------------------------------------
def of_a_product(x):
    _, pull = vjp(np.matmul, x, x)
    return np.sum(pull(x)[0] * jvp(np.tanh, (x,), (x,))[1])


def test_library_functions_as_they_are():
    """Functions that have no source of their own."""
    a = np.array([[2.0, 0.3], [0.1, 1.0]])
    sine = grad(np.sin, mode="python")
    assert sine(1.0) == np.cos(1.0) == pickle.loads(pickle.dumps(sine))(1.0) and "sin" in repr(sine)
    assert grad(sine, mode="python")(1.0) == -np.sin(1.0) and grad(np.sin)(1.0) == pytest.approx(np.cos(1.0))
    assert grad(functools.partial(np.sum, axis=None), mode="python")(X).tolist() == [1.0] * 3
    np.testing.assert_allclose(jvp(np.cumprod, (X,), (X,), mode="python")[1], np.cumprod(X) * [1, 2, 3])
    np.testing.assert_allclose(vjp(np.linalg.inv, a, mode="python")[1](a)[0], -np.linalg.inv(a).T @ a @ np.linalg.inv(a).T)
    np.testing.assert_allclose(hessian(np.prod, mode="python")(X), np.prod(X) / np.outer(X, X) * (1 - np.eye(3)))
    np.testing.assert_allclose(linearize(np.matmul, a, a, mode="python")[1](a, None), a @ a)
    np.testing.assert_allclose(grad(of_a_product, mode="python")(a), grad(
        lambda x: np.sum(x @ x.T * x * (1 - np.tanh(x) ** 2)), mode="python")(a))
