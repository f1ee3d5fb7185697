"""Calls of one form go through a function made for it: it gives what the general path gives, or leaves the call to it."""

import dataclasses
import functools
import gc
import tracemalloc
import types
from typing import NamedTuple

import numpy as np
import pytest

from autodiff import differentiable, grad, hvp, jacobian, value_and_grad

from .support import plain


@dataclasses.dataclass
class Config:
    a: float
    w: np.ndarray
    name: str = "config"


@dataclasses.dataclass(frozen=True)
class Frozen:
    __slots__ = ("a", "b")
    a: float
    b: float


class Pair(NamedTuple):
    a: float
    b: np.ndarray


class Model:
    def __init__(self):
        self.k, self.w = 2.0, np.ones(3)

    def loss(self, x):
        return np.sum(self.k * x * self.w)

    def __call__(self, x, p=2.0):
        return np.sum(self.w * x) * p


FACTOR, WEIGHTS = 2.0, np.array([1.0, 2.0, 3.0])
module = types.ModuleType("module")
module.dt = 0.5
X = np.array([1.0, 2.0, 3.0])


def helper(x):
    return FACTOR * x * x


def product(x, k=2.0, *, flag=True):
    return np.sum(x * x) * k if flag else np.sum(x) * k


def of_tree(p):
    return p["a"] * np.sum(p["b"][0] * p["b"][1])


def total(*xs, **named):
    return sum(xs) * named["k"]


def numbers(x, k):
    return np.sum(x) * k


CASES = {
    "a global number": (grad(lambda x: FACTOR * np.sum(x * x)), (X,), {}),
    "a global array": (grad(lambda x: np.sum(WEIGHTS * x)), (X,), {}),
    "a helper": (value_and_grad(lambda a, b: helper(a) * b), (0.5, 2.0), {}),
    "a module": (grad(lambda x: module.dt * np.sum(x * x)), (X,), {}),
    "keywords": (grad(product), (X,), {"k": 3.0, "flag": False}),
    "a keyword alone": (grad(product), (), {"x": X}),
    "several": (value_and_grad(numbers, wrt=(0, 1)), (X, 2.0), {}),
    "a tuple of one": (grad(numbers, wrt=(0,)), (X, 2.0), {}),
    "a dict": (value_and_grad(of_tree), ({"a": 2.0, "b": [X, X + 1.0]},), {}),
    "a dataclass": (grad(lambda c: c.a * np.sum(c.w * c.w)), (Config(2.0, X),), {}),
    "a frozen dataclass": (grad(lambda c: c.a * c.b), (Frozen(2.0, 3.0),), {}),
    "a named tuple": (grad(lambda p: p.a * np.sum(p.b)), (Pair(2.0, X),), {}),
    "an axis of one": (grad(lambda x: np.sum(x * WEIGHTS)), (np.ones((1,)),), {}),
    "an empty array": (grad(numbers), (np.ones(0), 2.0), {}),
    "short rows": (grad(lambda x: np.sum(x[:, 0] * x[:, 1])), (np.ones((20, 2)),), {}),
    "a method": (grad(Model().loss), (X,), {}),
    "a callable object": (grad(Model()), (X,), {"p": 3.0}),
    "a partial application": (grad(functools.partial(product, k=5.0)), (X,), {}),
    "any number": (grad(total), (1.0, 2.0), {"k": 3.0}),
    "integers": (grad(numbers), (X, 3), {}),
    "of 32 bits": (value_and_grad(numbers, wrt=(0, 1)), (X.astype(np.float32), np.float32(3.0)), {}),
    "complex": (grad(lambda z: np.abs(z) ** 2), (1.0 + 2.0j,), {}),
    "strided": (grad(numbers), (np.arange(8.0)[::2], 3.0), {}),
    "a function": (grad(lambda f, x: np.sum(f(x)), wrt=1), (np.sin, X), {}),
    "auxiliary results": (value_and_grad(lambda x: (np.sum(x), {"x": [x, 2.0]}), has_aux=True), (X,), {}),
    "a Jacobian": (jacobian(lambda x: x * x), (X,), {}),
    "products": (hvp(lambda x: np.sum(x ** 3)), (X, X), {}),
    "the function": (differentiable(numbers), (X, 2.0), {}),
}


@pytest.mark.parametrize("name", CASES)
def test_forms_of_calls(name):
    made, args, kwargs = CASES[name]
    first = plain(made(*args, **kwargs))
    known = list(made._fast)                    # those of other objects of the same function
    made(*args, **kwargs)
    fast = made._fast[0]
    assert fast not in known
    found = fast(made, args, kwargs)
    assert plain(found) == first == plain(made(*args, **kwargs))


def twice(made, *args, **kwargs):
    return [made(*args, **kwargs) for _ in range(3)][-1]


def test_other_kinds_of_arguments_do_not_fit():
    made = grad(lambda x, k: np.sum(x * WEIGHTS[:1]) * k)
    for x, k in ((X, 2.0), (np.ones(1), 3), (X.astype(np.float32), np.float64(2.0)), (np.arange(8.0)[::2], 2.0), (X, 3)):
        found = twice(made, x, k)
        assert found.dtype == x.dtype and found.shape == x.shape and np.allclose(found, k) and len(made._fast) <= 4
    read_only = X.copy()
    read_only.flags.writeable = False
    assert np.allclose(twice(made, read_only, 2.0), 2.0)


@dataclasses.dataclass
class WithDefault:
    w: np.ndarray
    k: float = 2.0


def test_what_is_in_records_and_dicts_is_looked_at():
    made, record = grad(lambda s: np.sum(s.k * s.w)), WithDefault(X, 3.0)
    assert twice(made, record).w[0] == 3.0 and made._fast
    del record.k                                                # the class has one
    assert made(record).w[0] == 2.0
    record.k, record.other = 4.0, 1.0
    assert made(record).w[0] == 4.0
    made = grad(lambda p: np.sum(p["k"] * p["w"]))
    assert list(twice(made, {"k": 3.0, "w": X})) == ["k", "w"] and made._fast
    assert list(made({"w": X, "k": 3.0})) == ["w", "k"]
    assert list(made({"k": 3.0, "w": X, "z": 1.0})) == ["k", "w", "z"]


def test_forms_that_alternate_keep_their_functions():
    made = grad(lambda x, k=2.0: np.sum(x * x) * k)
    for _ in range(3):
        made(X), made(X, 3.0), made(X, k=4.0)
    kept = list(made._fast)
    assert len(kept) == 3
    for _ in range(3):
        assert made(X)[0] == 4.0 and made(X, 3.0)[0] == 6.0 and made(X, k=4.0)[0] == 8.0
    assert made._fast == kept


def test_what_is_outside_is_read_at_each_call(monkeypatch):
    made = grad(lambda x: np.sum(WEIGHTS * x) * FACTOR * module.dt)
    assert np.allclose(twice(made, X), WEIGHTS)
    for name, value in (("FACTOR", 4.0), ("WEIGHTS", np.array([5.0, 6.0, 7.0])), ("WEIGHTS", np.ones(1)), ("FACTOR", 3)):
        monkeypatch.setitem(globals(), name, value)
        assert np.allclose(twice(made, X), np.broadcast_to(WEIGHTS, 3) * FACTOR * module.dt)
    kept = np.array([1.0, 2.0, 3.0])
    monkeypatch.setitem(globals(), "WEIGHTS", kept)
    twice(made, X)
    kept[0] = 9.0
    assert np.allclose(made(X), kept * FACTOR * module.dt)
    monkeypatch.setattr(module, "dt", 8.0)
    assert np.allclose(made(X), kept * FACTOR * 8.0)


def test_what_a_bound_object_holds_is_read_at_each_call():
    model = Model()
    made = grad(model.loss)
    assert np.allclose(twice(made, X), 2.0)
    model.k = 3.0
    assert np.allclose(twice(made, X), 3.0)
    model.w[0] = 5.0
    assert np.allclose(made(X), 3.0 * model.w)
    held = {"k": 2.0, "w": X.copy()}
    bound = grad(functools.partial(lambda p, x: p["k"] * np.sum(p["w"] * x), held))
    assert np.allclose(twice(bound, X), 2.0 * X)
    held["k"], held["w"] = 3.0, X + 1.0
    assert np.allclose(bound(X), 3.0 * (X + 1.0))
    held["k"] = 3
    assert np.allclose(bound(X), 3.0 * (X + 1.0))


def test_results_are_new_at_each_call():
    made = value_and_grad(lambda x: (np.sum(x), x), has_aux=True)
    twice(made, X)
    (_, one), first = made(X)
    (_, other), second = made(X)
    assert one is not X and other is not one and second is not first
    assert not np.shares_memory(one, X) and not np.shares_memory(one, other) and not np.shares_memory(first, second)


def test_errors_are_those_of_the_general_path():
    made = grad(lambda x, i: x[i] * x[i])
    twice(made, X, 1)
    with pytest.raises(IndexError):
        made(X, 7)
    assert np.allclose(made(X, 1), [0.0, 4.0, 0.0])
    with pytest.raises(TypeError):
        made(X)


def test_arguments_that_share_memory():
    def f(x, y):
        x[0] = 2.0 * y[0]
        return np.sum(x * y)
    made = grad(f)
    twice(made, X.copy(), X.copy())
    shared = X.copy()
    with pytest.raises(Exception, match="share memory"):
        made(shared, shared)


def test_the_latest_call_is_the_one_that_is_shown():
    made = grad(numbers)
    twice(made, X, 2.0), twice(made, np.ones(1), 2.0)
    one = made.source
    made(X, 2.0)
    assert made.source != one


def test_derivatives_made_anew_share_their_functions():
    def f(x, k):
        return np.sum(x * x) * k
    for _ in range(3):
        assert np.allclose(grad(f)(X, 2.0), 4.0 * X) and np.allclose(grad(f, wrt=1)(X, 2.0), np.sum(X * X))
        assert np.allclose(value_and_grad(f)(X, 2.0)[1], 4.0 * X)
    one, other = grad(f), grad(f)
    assert one._fast is other._fast and len(one._fast) == 1 and grad(f, wrt=1)._fast is not one._fast
    assert one._like(boundscheck=False)._fast == [] and grad(functools.partial(f, k=2.0))._fast == []


def test_derivatives_made_anew_leave_nothing_behind():
    def f(x):
        return np.sum(x * x)

    def many(count):
        for _ in range(count):
            grad(f)(X)
            grad(lambda x: np.sum(x), mode="python")
    def kept():
        gc.collect()
        before = tracemalloc.take_snapshot()
        many(30)
        gc.collect()
        return sum(s.size_diff for s in tracemalloc.take_snapshot().compare_to(before, "filename"))
    many(10)
    tracemalloc.start()
    try:
        assert any(kept() < 30 * 300 for _ in range(3))         # tables that are enlarged now and then aside
    finally:
        tracemalloc.stop()
