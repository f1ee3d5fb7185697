"""Python's integers anywhere among the arguments of a function inside JAX: values, or constants where sizes need them."""

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402 (only where JAX is)

from autodiff import ShapeMismatch  # noqa: E402
from autodiff.jax import wrap  # noqa: E402


@pytest.fixture(autouse=True)
def double_precision():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Model:
    a: np.ndarray
    n: int = dataclasses.field(metadata={"static": True})


class Pair(NamedTuple):
    u: int
    v: np.ndarray


X = np.array([0.3, 0.7, 1.1])


def raised(m):
    return np.sum(m.a ** 2) * m.n


def spread(m):
    return np.ones(m.n) * m.a[0]


def test_gradients_beside_integers():
    for n in (2, 3):
        given = Model(jnp.asarray(X), n)
        np.testing.assert_allclose(jax.jit(jax.grad(wrap(raised)))(given).a, 2 * n * X)
        second = jax.jacrev(jax.grad(lambda a, n=n: wrap(raised)(Model(a, n))))(X)
        np.testing.assert_allclose(second, 2 * n * np.eye(3), atol=1e-12)
    second = jax.grad(lambda p: wrap(lambda p: np.sum(p["x"]) * p["k"][0])({"x": p, "k": (7, 2.0)}))
    np.testing.assert_allclose(second(X), np.full(3, 7.0))


def test_gradients_of_sizes_in_a_dataclass():
    given = Model(jnp.asarray(X), 4)
    np.testing.assert_allclose(jax.jit(wrap(spread))(given), np.full(4, 0.3))
    np.testing.assert_allclose(jax.jit(jax.grad(lambda m: wrap(spread)(m).sum()))(given).a, [4.0, 0.0, 0.0])


@pytest.mark.parametrize(("function", "given"), [
    (lambda n, a: np.zeros(n) + a, (4, 2.0)),
    (lambda p: np.zeros(p["n"]) + p["a"], ({"n": 3, "a": 2.0},)),
    (lambda p: np.zeros(p["n"]) + p["a"], ({"a": 2.0, "n": 5},)),
    (lambda p, q: np.sum(p["k"][1][0], axis=q.u) * p["k"][0], ({"k": (2, [np.ones((2, 3)), 7])}, Pair(1, X))),
    (lambda q: q.v[q.u:], (Pair(-2, X),)),
    (lambda p: p[0] if p[1] else p[0][:1], ((X, True),)),
    (lambda p: np.reshape(p[0], (p[1][0], p[1][1])), ([np.arange(6.0), [3, 2]],))])
def test_sizes_by_integers_in_structures(function, given):
    np.testing.assert_allclose(wrap(function)(*given), function(*given))


def test_one_wrapped_function_for_several_sizes():
    wrapped = wrap(lambda p: np.zeros(p["n"]) + p["a"])
    for n in (2, 0, 3, 2):
        np.testing.assert_array_equal(wrapped({"n": n, "a": 1.5}), np.full(n, 1.5))


@pytest.mark.parametrize("function", [
    lambda a: np.zeros(int(a.shape[0] / 2)) + a[0], lambda a: np.zeros(int(np.ceil(a.shape[0] / 2))) + a[0],
    lambda a: np.arange(3.0) * a[0], lambda a: np.arange(0, 1, 0.25), lambda a: np.zeros(int(np.sqrt(a.shape[0])) + 1)])
def test_sizes_by_floats_made_of_sizes(function):
    np.testing.assert_allclose(jax.jit(wrap(function))(X), function(X))


def test_no_arguments():
    np.testing.assert_array_equal(jax.jit(wrap(lambda: np.arange(3.0)))(), np.arange(3.0))


def test_a_traced_size_is_refused():
    with pytest.raises(ShapeMismatch, match="static_argnums"):
        jax.jit(wrap(lambda n, a: np.zeros(n) + a))(4, 2.0)
