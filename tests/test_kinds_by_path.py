"""Numbers that are Python's own on one path and NumPy's on another, or integers on one and floats on another: what is made
of them is what Python makes, or it is refused, or an error says that the paths differ."""

import itertools
import linecache
import random

import numpy as np
import pytest

from autodiff import AutodiffError, grad, value_and_grad

NUMBERS = ("(x[1] < 2.0 < -0.7)", "(x[1] < 2.0 < 2.7)", "(2 > 1 if x[0] > 0 else x[0] < 9)",
           "(3 if x[0] > 0 else np.int64(3))", "(0 if x[0] > 0 else np.int64(0))", "(2.0 if x[0] > 0 else np.float64(2.0))",
           "(True if x[0] > 0 else np.bool_(True))", "(0.0 if x[0] > 0 else np.float64(0.0))",
           "(1 if x[0] > 0 else True)", "(3 if x[0] > 0 else 3.0)")
OPERATIONS = (
    "v == 3", "v != 3", "v == True", "v < 3", "3 >= v", "v in (3, 7)", "v == v", "v - v", "v * 0", "v + 0", "abs(v)", "-v",
    "not v", "v and 3", "v or 3", "v | True", "v & 1", "min(v, 7)", "max(v, 0)", "v ** 0", "v ** 2", "v // 2", "v % 2",
    "v / 2", "sum([v])", "bool(v)", "int(v)", "float(v)", "(v, 1) == (3, 1)", "(v == 3) == True", "(v > 1) != (v < 1)",
    "v == np.int64(3)", "all([v])", "(x[1] < 2.0 < -0.7) == (v < 0)")
QUESTIONS = ("u + u", "-u", "1 / (u + 1)", "1 if type(u) is bool else 2", "1 if isinstance(u, int) else 2",
             "1 if isinstance(u, np.generic) else 2", "u ** -1", "u / 0.0 if u else 1", "u // 0 if u else 3", "1 % u")
POINTS = ([0.4, 1.3], [-1.0, 5.0])


def outcome(f, point):
    with np.errstate(all="ignore"):
        try:
            return f(np.array(point))
        except AutodiffError:
            return "refused"
        except (ArithmeticError, ValueError, TypeError) as e:
            return "by path" if "on one path" in str(e) else type(e).__name__


def check(number, operation, question):
    text = f"def f(x):\n    v = {number}\n    u = {operation}\n    return ({question}) + 0.0 * x[0]\n"
    name = f"<{number}, {operation}, {question}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    space = {"np": np}
    exec(compile(text, name, "exec"), space)
    derived = value_and_grad(space["f"], mode="python")
    for point in POINTS:
        expected, found = outcome(space["f"], point), outcome(lambda x: derived(x)[0], point)
        assert found in ("refused", "by path") or type(found) is type(expected) is str and found == expected or \
            np.array_equal(found, expected, equal_nan=True), (text, point, found, expected)


def test_random_operations():
    every = list(itertools.product(NUMBERS, OPERATIONS, QUESTIONS))
    for case in random.Random(11).sample(every, 160):
        check(*case)


@pytest.mark.parametrize("case", [
    ("(x[1] < 2.0 < -0.7)", "v == (1.5 < 0.5)", "u + u"), ("(3 if x[0] > 0 else np.int64(3))", "v == 3", "u + u"),
    ("(0.0 if x[0] > 0 else np.float64(0.0))", "v", "1 / u"),
    ("(3 if x[0] > 0 else 3.0)", "v * 2", "1 if isinstance(u, int) else 2")])
def test_was_wrong_once(case):
    check(*case)


def test_the_mean_of_nothing():
    def mean(x):
        s = 0.0
        for v in x:
            s += v
        return s / len(x)
    with pytest.raises(ZeroDivisionError):
        mean(np.zeros(0))
    for mode in ("python", "numba"):
        with pytest.raises(ZeroDivisionError):
            value_and_grad(mean, mode=mode)(np.zeros(0))
        np.testing.assert_allclose(grad(mean, mode=mode)(np.ones(4)), 0.25)


def test_handlers_of_what_may_be_raised_are_refused():
    def caught(x):
        z = 0.0 if x[0] > 0 else np.float64(0.0)
        try:
            return x[0] * (1 / z)
        except ZeroDivisionError:
            return x[0]
    with pytest.raises(AutodiffError, match="on one path"):
        grad(caught, mode="python")(np.ones(2))
