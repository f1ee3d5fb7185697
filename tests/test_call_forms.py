"""All signatures, called in all ways, in every operator, against Python: see fuzz/call_forms.py."""

import functools

import numpy as np
import pytest

import autodiff
from autodiff import grad, hvp, value_and_grad

from .fuzz.call_forms import attempt


def positional(a=2.0, /, b=3.0, *, c=1.0):
    return a * b ** 2 * c ** 3


def named(x, **others):
    total = x * x
    for v in others.values():
        total = total * v ** 2
    return total


def test_a_positional_parameter_that_is_left_out():
    """What comes after it by keyword was taken for it."""
    assert value_and_grad(positional, wrt="b", mode="python")(b=5.0) == (50.0, 20.0)
    assert value_and_grad(positional, wrt="c", mode="python")(c=2.0, b=5.0) == (400.0, 600.0)


def test_vectors_beside_any_keyword():
    """`v` is a keyword of the function: the vector has none of its own."""
    product = hvp(named, wrt="v", mode="python")
    assert product(3.0, 1.5, v=5.0) == 27.0
    assert product(3.0, 1.5, u=2.0, v=5.0) == 108.0
    bound = hvp(functools.partial(named, 3.0), wrt="v", mode="python")
    assert bound(1.5, v=5.0) == 27.0
    assert hvp(lambda v: v ** 3, mode="python")(2.0, vector=1.0) == 12.0
    assert hvp(lambda x: x ** 3, mode="python")(2.0, v=1.0) == 12.0
    assert grad(named, wrt="v", mode="python")(3.0, v=5.0) == 90.0


def in_order(**others):
    total = 1.0
    for v in others.values():
        total = total * v + v
    return total


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_the_order_of_any_keywords(mode):
    """A function of `**named` sees the order of the call, the third time too."""
    slope = grad(in_order, wrt="u", mode=mode)
    assert [slope(u=2.0, w=3.0) for _ in range(4)] == [6.0] * 4
    assert [slope(w=3.0, u=2.0) for _ in range(4)] == [7.0] * 4
    assert [slope(u=2.0, w=3.0), slope(w=3.0, u=2.0)] == [6.0, 7.0]


@pytest.mark.parametrize("start", [31_000_000, 31_001_000, 31_002_000])
def test_random_calls(start):
    found = [(seed, *attempt(seed)) for seed in range(start, start + 80)]
    assert not [f"{seed}: {result.text}\n{text}" for seed, result, text in found if result.verdict == "failed"]
    assert sum(result.verdict == "ok" for _, result, _ in found) >= 75


def test_the_random_test_can_fail(monkeypatch):
    right = autodiff.grad

    def wrong(f, **options):
        return lambda *args, **named: np.multiply(2.0, right(f, **options)(*args, **named))
    monkeypatch.setattr(autodiff, "grad", wrong)
    assert any(attempt(seed)[0].verdict == "failed" for seed in range(31_000_000, 31_000_040))


def scaled(a, /, b=2.0, **more):
    return a * b * more.get("a", 1.0)


@pytest.mark.parametrize("call", [lambda x: scaled(x, a=3.0), lambda x: scaled(x, b=3.0), lambda x: scaled(x, a=x),
                                  lambda x: scaled(x, x, a=x, c=1.0)])
def test_a_keyword_with_the_name_of_a_positional_parameter(call):
    assert value_and_grad(call, mode="python")(3.0)[0] == call(3.0)
