"""Operators of structures with parts that are no numbers, and of functions of libraries."""

import functools
import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from autodiff import (
    NonDifferentiable,
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


def of_dicts(p):
    return {"u": p["a"] ** 2 * p["b"], "v": {"w": p["b"] * 3.0, "x": p["a"] * 5.0}}


def sum_of_dicts(p):
    return np.sum(p["a"] ** 2 * p["b"])


def turned(value):
    """A structure with all its dicts in the opposite order."""
    if isinstance(value, dict):
        return {k: turned(value[k]) for k in reversed(value)}
    return type(value)(map(turned, value)) if isinstance(value, (list, tuple)) else value


def equal_parts(found, expected):
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(equal_parts(found[k], expected[k]) for k in expected)
    if isinstance(expected, (list, tuple)):
        return all(map(equal_parts, found, expected))
    return np.array_equal(found, expected)


def test_dicts_are_matched_by_key():
    p = {"a": np.array([1.0, 2.0]), "b": np.array([3.0, 5.0])}
    v = {"a": np.array([1.0, 0.0]), "b": np.array([0.0, 7.0])}
    bar = {"u": np.array([1.0, 2.0]), "v": {"w": np.array([3.0, 4.0]), "x": np.array([5.0, 6.0])}}
    _, pull = vjp(of_dicts, p, mode="python")
    expected = pull(bar)
    np.testing.assert_array_equal(expected[0]["b"], bar["u"] * p["a"] ** 2 + 3.0 * bar["v"]["w"])
    assert equal_parts(pull(turned(bar)), expected)
    rows = {"u": np.eye(2), "v": {"w": 2.0 * np.eye(2), "x": 3.0 * np.eye(2)}}
    assert equal_parts(pull.batched(turned(rows)), pull.batched(rows))
    product = hvp(sum_of_dicts, mode="python")
    np.testing.assert_array_equal(product(p, v)["a"], 2.0 * p["b"] * v["a"] + 2.0 * p["a"] * v["b"])
    assert equal_parts(product(p, turned(v)), product(p, v)) and equal_parts(product(turned(p), v), product(p, v))
    both = hvp(lambda p, q: sum_of_dicts(p) * sum_of_dicts(q), wrt=("q", "p"), mode="python")
    assert equal_parts(both(p, p, (turned(v), v)), both(p, p, (v, v)))
    out = {"b": np.empty(2), "a": np.empty(2)}
    grad(sum_of_dicts, mode="python")(p, out=out)
    assert equal_parts(out, grad(sum_of_dicts, mode="python")(p))
    listed = hvp(lambda ps: sum([sum_of_dicts(p) for p in ps]), mode="python")
    assert equal_parts(listed([p] * 20, [turned(v)] * 20), listed([p] * 20, [v] * 20))
    with pytest.raises(ShapeMismatch, match="the cotangent has a part 'z'"):
        pull({"u": bar["u"], "z": bar["v"]})


def test_arguments_that_are_empty():
    """A layer without parameters: its gradient is as empty; a number or None has none."""
    layered = lambda p, x: p.get("w", x) ** 2
    assert grad(layered, wrt=(0, 1), mode="python")({}, 3.0) == ({}, 6.0)
    assert grad(layered, mode="python")({}, 3.0) == {}
    assert grad(lambda p, x: x * 2, wrt=(0, 1), mode="python")({"a": [], "b": ()}, 2.0) == ({"a": [], "b": ()}, 2.0)
    assert hessian(layered, wrt=(0, 1), mode="python")({}, 3.0) == ({}, ({}, 2.0))
    for alone in ((hessian, {}), (grad, None)):
        with pytest.raises(NonDifferentiable, match="holds no numbers"):
            alone[0](lambda p, x: x * 2, mode="python")(alone[1], 3.0)
