"""The functions of `operator` are the operators, of lists, tuples, texts and objects too: Python is the oracle."""

import operator
import random

import numpy as np
import pytest

from autodiff import AutodiffError, AutodiffWarning, grad, value_and_grad

from .support import from_text

HEADER = """__name__ = "laboratory"
import functools
import operator

import numpy as np


class Meter:
    __array_ufunc__ = None

    def __init__(self, k):
        self.k = k

    def __add__(self, other):
        return self.k + other

    def __radd__(self, other):
        return self.k * other

    def __matmul__(self, other):
        return self.k * other[0]

    def __lt__(self, other):
        return self.k < other

    def __eq__(self, other):
        return self.k == other

    def __contains__(self, other):
        return other > self.k

    def __getitem__(self, key):
        return self.k * key

    def __abs__(self):
        return 5.0

    def __neg__(self):
        return 2.0 * self.k

    def __divmod__(self, other):
        return other, self.k * other


O = Meter(0.5)


"""
VALUES = ("x[0]", "x", "[x[0], 2.0]", "[1.0]", "(x[1], 0.3)", "(1, 2)", "float(x[0])", "float(x[1] - x[1])", "2", "0", "1.0",
          "True", "x[0] > 0.5", "np.float64(2.0)", "np.array([1, 0])", "x > 0.5", "O", "'ab'", "None", "int(x[0])",
          "{'a': x[0]}", "{1, 2}", "range(2)")
BINARY = ("add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift lt le gt ge eq ne is_ is_not contains "
          "getitem concat iadd isub imul itruediv imod").split()
UNARY = ("neg", "pos", "invert", "abs", "not_", "truth", "inv")
POINT = np.array([1.0, 0.3])
pytestmark = pytest.mark.filterwarnings(f"ignore::{AutodiffWarning.__module__}.AutodiffWarning")


def outcome(f, x):
    """A number or the class of the error; "refused" where it is this package's own."""
    try:
        with np.errstate(all="ignore"):
            return float(f(x))
    except AutodiffError as e:
        return next((c.__name__ for c in (TypeError, ValueError, IndexError) if isinstance(e, c)), "refused")
    except (ArithmeticError, TypeError, ValueError, IndexError, KeyError) as e:
        return type(e).__name__


def check(expression):
    text = (f"{HEADER}def f(x):\n    r = {expression}\n"
            "    return np.sum(r) * 1.0 if not isinstance(r, (dict, set)) else 7.0\n")
    f = from_text(f"<operator {expression}>", text)
    derived = value_and_grad(f, mode="python")
    expected, found = outcome(f, POINT), outcome(lambda x: derived(x)[0], POINT)
    if isinstance(expected, float) and isinstance(found, float):
        assert found == expected or np.isnan(found) and np.isnan(expected), expression
    else:
        assert isinstance(found, str), (expression, expected, found)    # an error of Python's is never a number
        return found != "refused" and not isinstance(expected, float)
    return True


@pytest.mark.parametrize("seed", range(2))
def test_random_operands(seed, programs=110):
    draw = random.Random(seed)
    right = 0
    for _ in range(programs):
        a, b = draw.choice(VALUES), draw.choice(VALUES)
        name = draw.choice(BINARY + list(UNARY))
        right += check(f"operator.{name}({a})" if name in UNARY else f"operator.{name}({a}, {b})")
    assert right > 0.7 * programs


@pytest.mark.parametrize("expression", [
    "operator.eq((x[0], 2), (1.0, 2))", "operator.add((1.0,), (x[0],))[1]", "operator.truediv(float(x[0]), 0)",
    "operator.mod(float(x[0]), 0)"])
def test_was_wrong_once(expression):
    check(expression)


@pytest.mark.parametrize("expression", [
    "O + x[0]", "x[0] + O", "O + x", "O @ x", "(1.0 if O < x[0] else 2.0) * x[0]", "(1.0 if x[0] > O else 2.0) * x[0]",
    "(1.0 if x[0] in O else 2.0) * x[0]", "(1.0 if x[0] != O else 2.0) * x[0]", "divmod(O, x[0])[1]", "abs(O) * x[0]",
    "O[x[0]]", "-O * x[0]", "sum([O, x[0]])", "operator.add(x[0], O)", "functools.reduce(operator.add, [x[0], O])",
    "operator.contains(O, x[0]) * x[0]", "operator.getitem(O, x[1])", "operator.neg(O) * x[0]"])
def test_operators_of_objects_outside(expression):
    f = from_text(f"<object {expression}>", f"{HEADER}def f(x):\n    return np.sum({expression})\n")
    value, slope = value_and_grad(f, mode="python")(POINT)
    assert value == f(POINT)
    for k in range(2):
        step = 1e-6 * np.eye(2)[k]
        assert slope[k] == pytest.approx((f(POINT + step) - f(POINT - step)) / 2e-6, rel=1e-6, abs=1e-9)


class Scale:
    __array_ufunc__ = None

    def __init__(self, k):
        self.k = k

    def __mul__(self, other):
        return self.k * other


SCALE = Scale(2.0)


def scaled(x):
    return operator.mul(SCALE, x[0]) + (SCALE * x).sum()


def test_operators_are_read_when_they_change():
    derived = grad(scaled, mode="python")
    np.testing.assert_array_equal(derived(POINT), [4.0, 2.0])
    SCALE.k = 3.0
    np.testing.assert_array_equal(derived(POINT), [6.0, 3.0])
    before = Scale.__mul__
    try:
        Scale.__mul__ = lambda self, other: other * 10.0
        np.testing.assert_array_equal(derived(POINT), [20.0, 10.0])
    finally:
        Scale.__mul__ = before
