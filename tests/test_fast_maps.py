"""Calls of `vjp`, `linearize` and their maps that go through functions made for them give what the general path gives."""

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest

from autodiff import differentiable, jvp, linearize, vjp
from autodiff.operators.fastmaps import unfit
from autodiff.operators.linearizations import Linearize
from autodiff.operators.pullbacks import Vjp
from autodiff.operators.pushforwards import latest
from autodiff.operators.splits import kept_operator

from .support import plain

X = np.array([1.0, 2.0, 3.0])
FACTOR = 2.0


@dataclasses.dataclass
class Held:
    w: np.ndarray
    k: float
    name: str = "held"


class Pair(NamedTuple):
    a: float
    b: np.ndarray


def structured(p, n):
    return {"u": p["w"] * p["k"], "v": [p["k"] * n, Pair(p["k"] ** 2, p["w"] + 1.0)]}


def of_record(h):
    return Held(h.w * h.k, h.k ** 3, "made")


def same(x):
    y = x * 2.0
    return y, x


CASES = {
    "a number": (lambda x, k: np.sum(x * x) * k * FACTOR, (X, 2.0), 3.0),
    "an array": (lambda x: x ** 3, (X,), X),
    "short rows": (lambda x: x * x[:, ::-1], (np.ones((20, 2)),), np.arange(40.0).reshape(20, 2)),
    "of 32 bits": (lambda x, k: x * k, (X.astype(np.float32), np.float32(2.0)), X.astype(np.float32)),
    "a number of 32 bits": (lambda x: x * x, (np.float32(2.0),), np.float32(3.0)),
    "complex": (lambda z: z * z, (X + 1j,), X - 2j),
    "with integers": (lambda x, n, m: x * n * m, (X, 3, np.array([1, 2, 3])), X),
    "several": (lambda a, b: (a * b, a + b), (X, X + 1.0), (X, 2.0 * X)),
    "an argument returned": (same, (X,), (X, X)),
    "structures": (structured, ({"w": X, "k": 2.0}, 3), {"u": X, "v": [1.0, Pair(2.0, X)]}),
    "a record": (of_record, (Held(X, 2.0),), Held(X, 1.0, "made")),
    "read-only": (lambda x: np.sin(x), (np.frombuffer(X.tobytes()),), np.frombuffer(X.tobytes())),
    "strided": (lambda x: np.sin(x), (np.arange(6.0)[::2],), np.arange(6.0)[::2]),
    "a constant": (lambda x, name, flag: x * 2.0 if flag else x, (X, "name", True), X),
    "a list of run-time length": (lambda x: [v * v for v in x], (X,), [1.0, 2.0, 3.0]),
    "rows": (lambda rows: rows[0][1] * rows[1][0], ([[1.0, 2.0], [3.0, 4.0]],), 2.0),
}


def tangents_of(args):
    """Tangents of arguments: themselves, None for what has none."""
    def of(value):
        if isinstance(value, dict):
            return {k: of(v) for k, v in value.items()}
        if isinstance(value, Held):
            return Held(of(value.w), of(value.k))
        if isinstance(value, (tuple, list)):
            return type(value)(map(of, value))
        return value if isinstance(value, (float, np.floating)) or getattr(value, "dtype", X.dtype).kind in "fc" and hasattr(
            value, "dtype") else None
    return tuple(map(of, args))


def operator_of(cls, function):
    return kept_operator(cls, function, True, "numba", True, False, False, False, "cpu", False, (), False)


@pytest.mark.parametrize("name", CASES)
def test_pullbacks(name):
    f, args, bar = CASES[name]
    value, pull = vjp(f, *args)
    first = plain(value), plain(pull(bar))
    made = operator_of(Vjp, f)
    for _ in range(3):
        value, pull = vjp(f, *args)
        assert (plain(value), plain(pull(bar))) == first and isinstance(pull.source, str)
    assert made._fast and made._latest.linear is not unfit
    if not isinstance(value, list) or name == "structures":
        assert plain(made._latest.linear(pull, bar)) == first[1]


@pytest.mark.parametrize("name", CASES)
def test_tangent_maps(name):
    f, args, _ = CASES[name]
    dots = tangents_of(args)
    value, push = linearize(f, *args)
    first = plain(value), plain(push(*dots)), plain(push(*[None] * len(args)))
    for _ in range(3):
        value, push = linearize(f, *args)
        assert (plain(value), plain(push(*dots)), plain(push(*[None] * len(args)))) == first
    assert operator_of(Linearize, f)._fast


def test_what_the_pullback_keeps_is_its_own():
    def f(x):
        y = x * x
        return np.sum(y * x), y
    x = X.copy()
    for _ in range(4):
        (_, y), pull = vjp(f, x)
        expected = pull((1.0, np.zeros(3)))[0]
        x *= 5.0
        y[:] = 7.0
        np.testing.assert_array_equal(pull((1.0, np.zeros(3)))[0], expected)
        x /= 5.0
    for _ in range(4):
        _, pull = vjp(f, x, copy=False)
        np.testing.assert_allclose(pull((1.0, np.zeros(3)))[0], 3.0 * x ** 2)


def test_other_cotangents_are_seen_to():
    _, pull = vjp(lambda x: x * x, X)
    for _ in range(4):
        np.testing.assert_array_equal(pull(X)[0], 2.0 * X * X)
    for bar in (X.astype(np.float32), X.astype(int), np.stack([X, X], 1)[:, 0], np.array(X, ">f8"),
                np.frombuffer(X.tobytes())):
        for _ in range(3):
            np.testing.assert_array_equal(pull(bar)[0], 2.0 * X * X)
    for bar in (X[:2], 1.0, [1.0, 2.0, 3.0], np.ma.masked_array(X, [0, 1, 0])):
        with pytest.raises((ValueError, TypeError)):
            pull(bar)
    _, pull = vjp(lambda x: np.sum(x), X)
    for _ in range(4):
        for bar in (2.0, 2, np.float64(2.0), np.float32(2.0), np.array(2.0)):
            np.testing.assert_array_equal(pull(bar)[0], [2.0, 2.0, 2.0])
    _, push = linearize(lambda x, n: x * n, X, 2)
    for _ in range(4):
        np.testing.assert_array_equal(push(X, None), 2.0 * X)
    with pytest.raises(TypeError, match="no tangent"):
        push(X, 1)
    with pytest.raises(TypeError, match="takes 2 tangents"):
        push(X)


def test_sizes_of_another_point():
    f = lambda x: x * x
    pulls = []
    for n in (3, 4, 3, 5):
        x = np.arange(1.0, n + 1.0)
        value, pull = vjp(f, x)
        pulls.append((pull, x))
        np.testing.assert_array_equal(pull(x)[0], 2.0 * x * x)
    for pull, x in pulls:
        np.testing.assert_array_equal(pull(x)[0], 2.0 * x * x)
        with pytest.raises(ValueError, match="shape"):
            pull(np.ones(len(x) + 1))


def test_what_is_outside_is_read_at_each_call(monkeypatch):
    f = lambda x: x * FACTOR
    for factor in (2.0, 3.0, 4.0, 5.0, 5):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        for _ in range(3):
            value, pull = vjp(f, X)
            np.testing.assert_array_equal(value, factor * X)
            np.testing.assert_array_equal(pull(X)[0], factor * X)
            np.testing.assert_array_equal(linearize(f, X)[1](X), factor * X)


def test_methods_and_compiled_functions():
    made = differentiable(lambda x: x * x)
    for _ in range(4):
        value, pull = made.vjp(X)
        np.testing.assert_array_equal(pull(X)[0], 2.0 * X * X)
        np.testing.assert_array_equal(vjp(made, X)[1](X)[0], 2.0 * X * X)
    with pytest.raises(TypeError, match="function is needed"):
        vjp(3.0, X)


@pytest.mark.parametrize("name", CASES)
def test_pushforwards(name):
    f, args, _ = CASES[name]
    dots = tangents_of(args)
    first = plain(jvp(f, args, dots)), plain(jvp(f, args, (*dots[:-1], None)))
    for _ in range(4):
        assert (plain(jvp(f, args, dots)), plain(jvp(f, args, (*dots[:-1], None)))) == first
    assert plain(jvp(f, list(args), list(dots))) == first[0]


def test_tangents_of_other_kinds_are_seen_to():
    f = lambda x, k: x * k
    for _ in range(4):
        np.testing.assert_array_equal(jvp(f, (X, 2.0), (X, None))[1], 2.0 * X)
        np.testing.assert_array_equal(jvp(f, (X, 2.0), (None, 1.0))[1], X)
        np.testing.assert_array_equal(jvp(f, (X, 2.0), (X.astype(np.float32), 1))[1], 3.0 * X)
    assert len(latest(f, "numba", True, False, False, False, "cpu", False, False)) >= 2
    for primals, tangents, error in (((X, 2.0), (X[:2], None), ValueError), ((X, 2.0), (X,), TypeError),
                                     (X, (X,), TypeError), ((X, 2), (X, 1.0), TypeError),
                                     ((X, 2.0), (np.ma.masked_array(X), None), TypeError)):
        with pytest.raises(error):
            jvp(f, primals, tangents)
    np.testing.assert_array_equal(jvp(f, (X[:1], 2.0), (X[:1], None))[1], 2.0 * X[:1])
