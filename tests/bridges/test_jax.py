"""Functions inside JAX against the same functions written for JAX: values, derivatives, transformations, refusals."""

import dataclasses
import functools
import random
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402 (only where JAX is)

from autodiff import AutodiffError, ShapeMismatch, TypeConflict  # noqa: E402
from autodiff.bridges import jax as bridge  # noqa: E402
from autodiff.jax import wrap  # noqa: E402


@pytest.fixture(autouse=True)
def double_precision():
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", False)


def recurrence(x, w):
    y = np.zeros(x.shape[0])
    s = 0.0
    for i in range(x.shape[0]):
        s = np.tanh(w * s + x[i])
        y[i] = s
    return y


def in_jax(x, w):
    return jax.lax.scan(lambda s, x: (jnp.tanh(w * s + x),) * 2, 0.0, x)[1]


X = np.linspace(0.1, 1.0, 4)
wrapped = wrap(recurrence)
forward = wrap(recurrence, mode="forward")


def close(a, b, rtol=1e-10):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=rtol, atol=1e-12), a, b)


def total(f):
    return lambda x, w: jnp.sum(jnp.sin(f(x, w)))


TRANSFORMS = [
    lambda h: jax.jit(jax.grad(h, argnums=(0, 1))), lambda h: jax.value_and_grad(h, argnums=1),
    lambda h: jax.grad(lambda x, w: jnp.sum(jax.grad(h)(x, w) ** 2), argnums=(0, 1)),
    lambda h: lambda x, w: jax.lax.fori_loop(0, 3, lambda _, x: x - 0.1 * jax.grad(h)(x, w), x),
    lambda h: jax.jit(lambda x, w: jax.lax.scan(lambda c, _: (c - 0.1 * jax.grad(h)(c, w), h(c, w)), x, None, 3)),
    lambda h: lambda x, w: jax.vjp(h, x, w)[1](2.0)]


def test_reverse():
    for transform in TRANSFORMS:
        close(transform(total(wrapped))(jnp.array(X), 0.5), transform(total(in_jax))(jnp.array(X), 0.5))


def test_forward():
    for transform in (lambda f: jax.jacfwd(f, argnums=(0, 1)), lambda f: jax.jit(jax.jacfwd(jax.jacfwd(f))),
                      lambda f: lambda x, w: jax.jvp(f, (x, w), (x, 1.0))):
        close(transform(forward)(jnp.array(X), 0.5), transform(in_jax)(jnp.array(X), 0.5))
    with pytest.raises(Exception, match="(?i)custom_vjp|forward-mode|jvp"):
        jax.jvp(wrapped, (X, 0.5), (X, 1.0))


@pytest.mark.parametrize("method", bridge.METHODS)
@pytest.mark.parametrize("mode", bridge.MODES)
def test_batches(mode, method):
    def check(f):
        return jax.grad(lambda x, w: jnp.sum(f(x, w))) if mode == "reverse" else jax.jacfwd(f, argnums=1)
    f = check(wrap(recurrence, mode=mode, vmap_method=method))
    xs, ws = jnp.stack([X, -X, 2 * X]), jnp.array([0.5, -0.3])
    batched = jax.jit(jax.vmap(jax.vmap(f, (0, None)), (None, 0)))(xs, ws)
    close(batched, jnp.stack([jnp.stack([check(in_jax)(x, w) for x in xs]) for w in ws]))
    close(jax.vmap(f)(xs[:2], ws), jnp.stack([check(in_jax)(x, w) for x, w in zip(xs, ws)]))


class Pair(NamedTuple):
    a: object
    b: object


@jax.tree_util.register_dataclass
@dataclasses.dataclass
class Model:
    weight: object
    layers: list


def structures(p, n, model, flag, label):
    x = p["x"] * n
    y = x
    for layer in model.layers:
        y = np.tanh(layer.a * y + layer.b)
    if flag:
        y = y * model.weight
    if label == "twice":
        y = 2.0 * y
    return {"y": y, "count": n + 1, "parts": (np.sum(y), Pair(x, y > 0.1))}


def structures_in_jax(p, n, model, flag, label):
    x = p["x"] * n
    y = x
    for layer in model.layers:
        y = jnp.tanh(layer.a * y + layer.b)
    y = jnp.where(flag, y * model.weight, y)
    y = 2.0 * y if label == "twice" else y
    return {"y": y, "count": n + 1, "parts": (jnp.sum(y), None)}


@pytest.mark.parametrize("seed", range(3))
def test_random_structures(seed):
    """Pytrees in and out, integers, booleans and strings among them; which of them are differentiated is drawn."""
    chosen, rng = random.Random(seed), np.random.default_rng(seed)
    f, n = wrap(structures), chosen.randint(2, 4)
    p = {"z": jnp.array(rng.normal()), "x": jnp.array(rng.normal(size=n))}
    layers = [Pair(jnp.array(rng.normal(size=n)), chosen.choice([0.1, jnp.array(0.3)])) for _ in range(chosen.randint(1, 2))]
    model = Model(chosen.choice([1.5, jnp.array(0.7)]), layers)
    args = (p, jnp.array(3), model, jnp.array(chosen.random() < 0.5), chosen.choice(["once", "twice"]))
    out, expected = f(*args), structures_in_jax(*args)
    assert isinstance(out["parts"][1], Pair) and out["parts"][1].b.dtype == bool and out["count"] == 4
    close(out["y"], expected["y"])

    def loss(f, p, model):
        out = f(p, *args[1:2], model, *args[3:])
        return jnp.sum(out["y"] ** 2) + out["parts"][0]
    argnums, change = (0, 1, (0, 1))[seed % 3], chosen.choice((lambda f: f, jax.jit))
    close(change(jax.grad(functools.partial(loss, f), argnums))(p, model),
          change(jax.grad(functools.partial(loss, structures_in_jax), argnums))(p, model))


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
def test_dtypes_and_complex_conventions(dtype):
    def f(z, k):
        return z * z * np.exp(z) * k

    z, k = jnp.array((np.array([0.3, -0.5]) + (0.4j if "c" in dtype else 0.0)).astype(dtype)), jnp.asarray(1.5)
    g = wrap(f)
    out, ours = jax.vjp(g, z, k)
    expected, theirs = jax.vjp(lambda z, k: z * z * jnp.exp(z) * k, z, k)
    close(out, expected, rtol=1e-5)
    seed = jnp.array([1.0, 2.0]) + 0.5 * z
    for a, b in zip(ours(seed.astype(out.dtype)), theirs(seed.astype(expected.dtype))):
        close(a, b, rtol=1e-5)
    close(jax.grad(lambda z: jnp.sum(jnp.abs(g(z, k)) ** 2))(z),
          jax.grad(lambda z: jnp.sum(jnp.abs(z * z * jnp.exp(z) * k) ** 2))(z), rtol=1e-4)


def test_without_double_precision():
    """float64 results are float32, as all of JAX's are, and memory is not overrun."""
    jax.config.update("jax_enable_x64", False)

    def f(x, n):
        return x * np.arange(x.shape[0]), np.arange(x.shape[0]) + n, x * 1.0
    out = wrap(f)(jnp.ones(3), 2)
    assert [str(o.dtype) for o in out] == ["float32", "int32", "float32"]
    close(out[0], jnp.arange(3.0))
    close(jax.grad(lambda x: jnp.sum(wrap(f)(x, 2)[0]))(jnp.ones(3)), jnp.arange(3.0))


def test_integers_that_decide_shapes():
    def powers(x, n):
        out = np.empty((n, x.shape[0]))
        for k in range(n):
            out[k] = x ** k
        return out
    f = wrap(powers)
    close(f(jnp.array(X), 2), powers(X, 2))
    close(jax.jit(jax.grad(lambda x: jnp.sum(f(x, n=3))))(jnp.array(X)), sum(k * X ** max(k - 1, 0) for k in range(3)))

    def chosen(x):
        return x[x > 0.2]
    with pytest.raises(ShapeMismatch, match="depends on the data"):
        wrap(chosen)(jnp.array(X))
    with pytest.raises((ShapeMismatch, TypeConflict)):
        jax.jit(f)(jnp.array(X), 2)                 # traced: an integer of the run


def test_what_is_outside_is_as_it_is_when_jax_traces():
    scale = [2.0]

    def f(x):
        return scale[0] * x
    g = wrap(f)
    compiled = jax.jit(lambda x: g(x))
    assert g(1.0) == 2.0 and compiled(1.0) == 2.0
    scale[0] = 3.0
    assert g(1.0) == 3.0 and compiled(1.0) == 2.0   # as JAX's own functions are
    assert jax.grad(g)(1.0) == 3.0


def test_errors():
    def f(x, k):
        if x[0] < 0.0:
            raise ValueError(f"negative: {x[0]}")
        return x[k] * 2.0
    g = jax.jit(lambda x, k: wrap(f)(x, k))
    assert g(X, 2) == 2.0 * X[2]
    for x, k, text in ((X, 7, "IndexError: index 7 is out of bounds"), (-X, 0, "ValueError: negative: -0.1")):
        with pytest.raises(Exception, match=f"(?s){text}.*test_jax.py:\\d+, in f"):
            g(x, k).block_until_ready()
    with pytest.raises(Exception, match="index 7 is out of bounds"):
        jax.grad(lambda x: wrap(f)(x, 7))(X)
    with pytest.raises(AutodiffError, match="test_jax.py"):
        wrap(lambda x: open(x))(X)
    for bad in ({"mode": "both"}, {"vmap_method": "legacy"}):
        with pytest.raises(ValueError, match="both|legacy"):
            wrap(f, **bad)
    with pytest.raises(TypeConflict, match="bfloat16"):
        wrap(f)(jnp.ones(2, jnp.bfloat16), 0)

    @jax.tree_util.register_pytree_node_class
    class Node:
        def __init__(self, x):
            self.x = x

        def tree_flatten(self):
            return (self.x,), None

        @classmethod
        def tree_unflatten(cls, _, parts):
            return cls(*parts)
    with pytest.raises(TypeConflict, match="dict, holds arrays"):
        wrap(lambda d: d["node"].x * d["x"])({"x": jnp.ones(2), "node": Node(jnp.ones(2))})


class Spring:
    k = 3.0

    def force(self, x, scale=1.0):
        return np.sum(x * self.k) * scale


def test_methods_and_results_without_arrays():
    close(jax.grad(wrap(Spring().force))(jnp.array(X)), 3.0 * np.ones(4))
    close(jax.grad(lambda x: wrap(Spring().force)(x, scale=2.0))(jnp.array(X)), 6.0 * np.ones(4))
    close(jax.grad(wrap(functools.partial(Spring.force, Spring())))(jnp.array(X)), 3.0 * np.ones(4))
    assert wrap(lambda x: None)(1.0) is None and wrap(lambda: np.ones(2))().shape == (2,)
    assert wrap(lambda x: (x, "t"))(1)[1] == "t"


def test_by_python_where_the_interface_is_not_known(monkeypatch):
    monkeypatch.setattr(bridge, "version", lambda: None)
    f = wrap(recurrence)
    close(jax.jit(jax.grad(total(f)))(jnp.array(X), 0.5), jax.grad(total(in_jax))(jnp.array(X), 0.5))
    close(jax.vmap(f, (0, None))(jnp.stack([X, -X]), 0.5), jnp.stack([in_jax(X, 0.5), in_jax(-X, 0.5)]))


def test_jax_is_imported_only_when_it_is_asked_for():
    code = "import sys, autodiff; autodiff.entry; assert 'jax' not in sys.modules; autodiff.jax.wrap; import autodiff.jax"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
