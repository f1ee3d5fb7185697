"""What a call costs in each of its forms, beside the compiled function alone with the same numbers and arrays."""

from __future__ import annotations

import dataclasses
import timeit
import types
from importlib.util import find_spec

import numba
import numpy as np

from autodiff import differentiable, grad, hvp, jacobian, jvp, linearize, value_and_grad, vjp

from .suite.elementwise import rosenbrock

rosenbrock_jitted = numba.njit(error_model="numpy")(rosenbrock)
FACTOR, module = 2.0, types.ModuleType("module")
module.dt = 0.5


@dataclasses.dataclass
class Spring:
    k: float
    x: np.ndarray

    def energy(self, x):
        return self.k * x[0] * x[1]


def squared(x):
    return FACTOR * x * x


def scaled(x, k=2.0):
    return k * x[0] * x[1]


def with_closure(k):
    return lambda x: k * x[0] * x[1]


def written(a, b):
    a[0] = 2.0 * b[0]
    b[1] = 3.0
    return np.sum(a * b)


def square(x):
    return x * x


def frozen(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def derivatives() -> list:
    """(form of the call, derivative, arguments, keywords)."""
    x, one = np.array([0.3, 0.7]), np.array([0.3])
    made: list = [
        ("two numbers", grad(rosenbrock), (0.3, 0.7), {}),
        ("`wrt=(0,)`", grad(rosenbrock, wrt=(0,)), (0.3, 0.7), {}),
        ("an array", grad(lambda x: x[0] * x[1]), (x,), {}),
        ("`wrt=('x', 'k')`", grad(scaled, wrt=("x", "k")), (x, 2.0), {}),
        ("`value_and_grad`", value_and_grad(scaled), (x, 2.0), {}),
        ("an axis of length 1", grad(lambda x: x[0] * x[0]), (one,), {}),
        ("keywords", grad(scaled), (x,), {"k": 3.0}),
        ("all by keyword", grad(scaled), (), {"x": x, "k": 3.0}),
        ("a read-only array", grad(scaled), (frozen(x), 2.0), {}),
        ("a strided array", grad(scaled), (np.arange(4.0)[::2], 2.0), {}),
        ("float32", grad(scaled), (x.astype(np.float32), np.float32(2.0)), {}),
        ("np.float64", grad(scaled), (x, np.float64(2.0)), {}),
        ("int32", grad(scaled, wrt=1), (np.array([1, 2], np.int32), 2.0), {}),
        ("complex", grad(lambda z: np.abs(z[0]) ** 2), (x + 1j,), {}),
        ("a dict", grad(lambda p: p["k"] * p["x"][0]), ({"k": 2.0, "x": x},), {}),
        ("a dataclass", grad(lambda s: s.k * s.x[0]), (Spring(2.0, x),), {}),
        ("nested", grad(lambda p: p["a"].k * p["b"][0][0] * p["b"][1]), ({"a": Spring(2.0, x), "b": (x, 3.0)},), {}),
        ("a tuple of 8 arrays", grad(lambda p: p[0][0] * p[7][0] * p[2][1]), (tuple(x + k for k in range(8)),), {}),
        ("a list of 200 numbers", grad(lambda p: sum([v * v for v in p])), ([float(k) for k in range(200)],), {}),
        ("a global number", grad(lambda x: FACTOR * x[0]), (x,), {}),
        ("a closure", grad(with_closure(2.0)), (x,), {}),
        ("a helper that reads a global", grad(lambda x: squared(x[0])), (x,), {}),
        ("an attribute of a module", grad(lambda x: module.dt * x[0]), (x,), {}),
        ("a method of an object", grad(Spring(2.0, x).energy), (x,), {}),
        ("both arguments written", grad(written), (x, x + 1.0), {}),
        ("`jacobian`", jacobian(square), (x,), {}),
        ("`hvp`", hvp(lambda x: np.sum(x ** 3)), (x, x), {}),
        ("`differentiable`", differentiable(scaled), (x, 2.0), {}),
        ("`out=`", grad(scaled), (x, 2.0), {"out": np.empty(2)}),
    ]
    if find_spec("jax"):
        import jax.numpy as jnp  # optional
        made.append(("a JAX array", grad(scaled), (jnp.array([0.3, 0.7]), 2.0), {}))
    if find_spec("torch"):
        import torch  # optional
        made.append(("a torch tensor", grad(scaled), (torch.tensor([0.3, 0.7]), 2.0), {}))
    return made


def least(call, repeats: int) -> float:
    """The least of many microseconds of a call."""
    for _ in range(3):
        call()
    def run():
        for _ in range(200):
            call()
    return min(timeit.repeat(run, number=1, repeat=repeats)) / 200 * 1e6


def forms(quick: bool) -> None:
    """Calls of small derivatives: microseconds of a call, and of the compiled function alone."""
    repeats = 2 if quick else 300
    print(f"{'a Numba call of a function of two numbers':44s} {least(lambda: rosenbrock_jitted(0.3, 0.7), repeats):7.2f}")
    for name, made, args, kwargs in derivatives():
        whole = least(lambda made=made, args=args, kwargs=kwargs: made(*args, **kwargs), repeats)
        latest, named = made._latest, {k: v for k, v in kwargs.items() if k != "out"}
        passed = made._leaves(latest, *made._taken(args, named))
        bare = least(lambda call=latest.call, passed=passed: call(*passed), repeats)
        print(f"{name:44s} {whole:7.2f} {bare:7.2f} {whole - bare:7.2f}", flush=True)
    x = np.array([0.3, 0.7])
    _, pull = vjp(square, x)
    _, push = linearize(square, x)
    method = differentiable(square)
    cases = [
        ("`vjp(f, x)`", lambda: vjp(square, x)),
        ("`vjp(f, x, k)`", lambda: vjp(scaled, x, 2.0)),
        ("`vjp(f, x, copy=False)`", lambda: vjp(square, x, copy=False)),
        ("`f.vjp(x)`", lambda: method.vjp(x)),
        ("its pullback", lambda: pull(x)),
        ("`linearize(f, x)`", lambda: linearize(square, x)),
        ("its tangent map", lambda: push(x)),
        ("`jvp(f, (x,), (v,))`", lambda: jvp(square, (x,), (x,))),
        ("`grad(f)(x)`, made anew", lambda: grad(scaled)(x, 2.0)),
    ]
    for name, call in cases:
        print(f"{name:44s} {least(call, repeats):7.2f}", flush=True)


__all__ = ["forms"]
