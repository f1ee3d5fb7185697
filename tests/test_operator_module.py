"""The functions of `operator` are the operators, of lists, tuples, texts and objects too: Python is the oracle."""

import functools
import operator
import random

import numpy as np
import pytest

from autodiff import AutodiffError, AutodiffWarning, grad, value_and_grad

from .support import assert_gradient, from_text

HEADER = """__name__ = "laboratory"
import functools
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


# ---- functions that change their first operand --------------------------------------------------------------------
class Sum:
    def __init__(self, v):
        self.v = v

    def __iadd__(self, other):
        self.v = self.v + other
        return self


def add_to(a, b):
    operator.iadd(a, b)


def of_arrays(x):
    a = x.copy()
    b = a[1:]
    operator.isub(b, x[0])
    operator.itruediv(a, 2.0)
    c = operator.imul(a, x)
    operator.ipow(c, 2)
    return np.sum(a) * np.sum(b)


def of_matrices(x):
    a = np.outer(x, x)
    operator.imatmul(a, a.copy())
    return np.sum(a)


def of_lists(x):
    a = [x[0]]
    b = a
    operator.iadd(a, [x[1]])
    operator.imul(b, 2)
    operator.iconcat(a, (x[1],))
    return a[1] * b[2] * len(a) + operator.iadd((x[0],), (x[1],))[1]


def of_growing_lists(x):
    a = [x[0]]
    for v in x:
        operator.iadd(a, [v * v])
    return a[-1] * a[1]


def of_dicts_and_objects(x):
    d, s = {"a": x}, Sum(x[0])
    operator.ior(d, {"b": x * x})
    t = operator.iadd(s, x[1])
    return np.sum(d["b"]) + s.v * t.v


def of_what_a_function_is_given(x):
    a = np.zeros(3)
    for k in range(3):
        add_to(a, x * k)
        operator.imul(a, x)
    return np.sum(a)


def of_numbers(x):
    return operator.iadd(x[0], 2.0) * operator.ipow(x[1], 2)


def joined_by_reduce(x):
    whole = functools.reduce(operator.iadd, [[x[0]], [x[1]], [x[2], x[0]]], [])
    return sum(v * k for k, v in enumerate(whole))


CHANGING = [of_arrays, of_matrices, of_lists, of_growing_lists, of_dicts_and_objects, of_what_a_function_is_given,
            of_numbers, joined_by_reduce]


@pytest.mark.parametrize("function", CHANGING, ids=lambda f: f.__name__)
def test_functions_that_change_their_operand_do_what_statements_do(function):
    assert_gradient(function, (np.array([0.7, 1.3, 2.1]),), (0,), "python")


def test_they_raise_what_python_raises():
    def joined(x):
        return operator.iconcat(x[0], [1.0])

    with pytest.raises(TypeError, match="can't be concatenated"):
        value_and_grad(joined, mode="python")(np.array([0.7, 1.3]))


def test_they_are_differentiated_as_they_are():
    assert grad(operator.mul, wrt=(0, 1), mode="python")(2.0, 3.0) == (3.0, 2.0)
    assert grad(abs, mode="python")(-2.0) == -1.0
