"""Numbers that are Python's own on one path and NumPy's on another, or integers on one and floats on another: what is made
of them is what Python makes, or it is refused, or an error says that the paths differ."""

import itertools
import math
import random

import numpy as np
import pytest

from autodiff import AutodiffError, grad, value_and_grad

from .support import assert_gradient, from_text, module_of

NUMBERS = ("(x[1] < 2.0 < -0.7)", "(x[1] < 2.0 < 2.7)", "(2 > 1 if x[0] > 0 else x[0] < 9)",
           "(3 if x[0] > 0 else np.int64(3))", "(0 if x[0] > 0 else np.int64(0))", "(2.0 if x[0] > 0 else np.float64(2.0))",
           "(True if x[0] > 0 else np.bool_(True))", "(0.0 if x[0] > 0 else np.float64(0.0))",
           "(2 ** 62 if x[0] > 0 else np.int64(2 ** 62))", "(1 if x[0] > 0 else True)", "(3 if x[0] > 0 else 3.0)")
OPERATIONS = (
    "v == 3", "v != 3", "v == True", "v < 3", "3 >= v", "v in (3, 7)", "v == v", "v - v", "v * 0", "v + 0", "abs(v)", "-v",
    "not v", "v and 3", "v or 3", "v | True", "v & 1", "min(v, 7)", "max(v, 0)", "v ** 0", "v ** 2", "v // 2", "v % 2",
    "v / 2", "sum([v])", "bool(v)", "int(v)", "float(v)", "(v, 1) == (3, 1)", "(v == 3) == True", "(v > 1) != (v < 1)",
    "v == np.int64(3)", "all([v])", "(x[1] < 2.0 < -0.7) == (v < 0)", "v + v", "v << 1", "4 * v - v",
    "sum([v] * 3)", "3 >> v", "v + 1 > v", "v * v")
QUESTIONS = ("u + u", "-u", "1 / (u + 1)", "1 if type(u) is bool else 2", "1 if isinstance(u, int) else 2",
             "1 if isinstance(u, np.generic) else 2", "u ** -1", "u / 0.0 if u else 1", "u // 0 if u else 3", "1 % u")
ITEMS = ("np.int64(i)", "x[i] if x[i] > 0 else 0", "i", "x[i]", "float(x[i])", "int(x[i])", "i if i else 0.5",
         "len(x)", "2.5")
CHANGES = ("", "r[0] = 1", "r[0] = np.float64(2)", "r.extend([1, 2.5])", "r += [x[0]]", "r.insert(0, 1)", "r[:1] = [3]",
           "r.append(7)", "r[0] += 1", "r = r + [1]", "r = r[::-1]", "r = list(r)", "r = sorted(r)", "r[1] = r[0]",
           "for k in range(len(r)): r[k] = x[k]", "for k in range(2): r.append(r[0])")
READS = ("r[0]", "r[-1]", "r.pop()", "r[len(x) - 1]", "max(r)", "sum(r)", "[q for q in r][0]", "(r[0], r[1])[1]")
OF_ITEMS = ("1 if isinstance(u, int) else 2", "1 if isinstance(u, np.generic) else 2", "u ** -1", "u / 0", "u // 0",
            "1 if type(u) is float else 2", "1 / u", "u + u", "u.sum()", "1 if type(u) is bool else 2")
POINTS = ([0.4, 1.3], [-1.0, 5.0])


def outcome(f, point):
    with np.errstate(all="ignore"):
        try:
            return f(np.array(point))
        except AutodiffError:
            return "refused"
        except (ArithmeticError, AttributeError, IndexError, ValueError, TypeError) as e:
            return "by path" if "may be Python" in str(e) else type(e).__name__


def function_of(text):
    name = f"<{text}>"
    return module_of(name, text, {"np": np})["f"]


def value_by(f):
    derived = value_and_grad(f, mode="python")
    return lambda x: derived(x)[0]


def check(text):
    f = function_of(text)
    value = value_by(f)
    for point in POINTS:
        expected, found = outcome(f, point), outcome(value, point)
        same = found == expected if isinstance(found, str) or isinstance(expected, str) else \
            np.array_equal(found, expected, equal_nan=True)
        assert same or isinstance(found, str) and found in ("refused", "by path"), (text, point, found, expected)


def number(value, operation, question):
    return f"def f(x):\n    v = {value}\n    u = {operation}\n    return ({question}) + 0.0 * x[0]\n"


def of_list(item, inside, change, read, question):
    made = f"r = [{item} for i in range(len(x))]" if inside is None else \
        f"r = []\n    for i in range(len(x)):\n        if r and {inside}:\n            s += 1.0\n        r.append({item})"
    return (f"def f(x):\n    s = 0.0\n    {made}\n    {change or 'pass'}\n    u = {read}\n"
            f"    return ({question}) + s + 0.0 * x[0]\n")


def test_random_lists():
    draw = random.Random(12)
    for _ in range(130):
        inside = draw.choice([None, "isinstance(r[0], int)", "r[0] > 0", "isinstance(r[-1], float)"])
        check(of_list(draw.choice(ITEMS), inside, draw.choice(CHANGES), draw.choice(READS), draw.choice(OF_ITEMS)))


def test_random_operations():
    every = list(itertools.product(NUMBERS, OPERATIONS, QUESTIONS))
    for case in random.Random(11).sample(every, 160):
        check(number(*case))


@pytest.mark.parametrize("made, asked", [
    ("for i in range(len(x)): r.append(i + 1)", "sorted(r)[0] ** -1 + r[1:][0] ** -1"),
    ("r = [0] * len(x)\n    for i in range(len(x)): r[i] = i + 1", "r[1] ** -1 + 2 ** -r[1]"),
    ("for i in range(len(x)): r.append(len(x))\n    r = r[::-1]\n    u = r.pop()", "1 if type(u) is int else 2"),
    ("r = x.tolist()", "1 if type(r[0]) is float else 2"), ("r = list(x)", "1 if type(r[0]) is np.float64 else 2"),
    ("r = [v for v in x]", "r[0] / 0"), ("r = [float(v) for v in x]", "1 if type(max(r)) is float else 2"),
    ("r = [k for k in range(len(x))]\n    u = max(1, np.int64(x[0]))", "u / 0 + r[0]"),
    ("u = x[0]", "1 if u.__class__ is np.float64 else 2"), ("u = 2\n    if x[0] > 0: u = np.int64(3)", "2 ** u")])
def test_answers_about_lists(made, asked):
    text = f"def f(x):\n    r = []\n    {made}\n    return ({asked}) + 0.0 * x[0]\n"
    check(text)
    if "max(1" not in made:                     # which differs by path
        assert outcome(value_by(function_of(text)), POINTS[0]) not in ("refused", "by path")


@pytest.mark.parametrize("case", [
    ("(x[1] < 2.0 < -0.7)", "v == (1.5 < 0.5)", "u + u"), ("(3 if x[0] > 0 else np.int64(3))", "v == 3", "u + u"),
    ("(0.0 if x[0] > 0 else np.float64(0.0))", "v", "1 / u"),
    ("(3 if x[0] > 0 else 3.0)", "v * 2", "1 if isinstance(u, int) else 2"),
    ("(2 ** 62 if x[0] > 0 else np.int64(2 ** 62))", "v + v", "u + 0.5"),
    ("(2 ** 61 if x[0] > 0 else np.int64(2 ** 62))", "v * 2", "u + 0.5")])
def test_was_wrong_once(case):
    check(number(*case))


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

    def power(x):
        z = x[0] - x[0] if x[0] > 0 else 0
        try:
            return np.sum(x) + z ** -0.5
        except ZeroDivisionError:
            return 5.0 * x[0]

    def square(x):
        z = x[0] if x[0] > 0 else 0
        try:
            return np.sum(x) + z ** 2
        except ZeroDivisionError:
            return 5.0 * x[0]
    for function in (caught, power):
        with pytest.raises(AutodiffError, match="may be Python"):
            grad(function, mode="python")(np.ones(2))
    np.testing.assert_array_equal(grad(square, mode="python")(np.ones(2)), [3.0, 1.0])


def test_exponents_and_places_from_lists():
    def series(x):
        degrees = [k for k in range(len(x))]
        places = []
        for k in range(len(x)):
            if x[k] > 0.4:
                places.append(k)
        s = 0.0
        for k in range(len(x)):
            s += x[k] ** degrees[k] * 2 ** degrees[k]
        for k in places:
            s += x[k] ** 2
        return s / len(places)
    x = np.array([0.3, 0.7, 1.1, 0.5])
    value, slope = value_and_grad(series, mode="python")(x)
    assert value == series(x)
    h = 1e-6
    for k in range(4):
        step = np.eye(4)[k] * h
        assert slope[k] == pytest.approx((series(x + step) - series(x - step)) / (2 * h), rel=1e-6)


def test_integers_or_floats_beside_arrays_of_integers():
    """`//`, and all that wraps, differs: 0 and inf. What is the same for both runs."""
    places = np.array([0, -1, 7])

    def quotient(x):
        return np.sum(max(x[0] * 0.0, 3) // places) * x[0]

    def narrow(x):
        return np.sum((3 if x[0] > 0 else 3.0) * places.astype(np.int16)) * x[0]

    def conversion(x):
        return np.uint16(np.int16(x[0]) if x[0] > 0 else 3) * x[0]

    def product(x):
        return np.sum((3 if x[0] > 0 else 0.5) * places) * x[0]
    for function in (quotient, narrow, conversion):
        with pytest.raises(AutodiffError, match="on one path"):
            grad(function, mode="python")(np.ones(2))
    for start in (np.ones(2), -np.ones(2)):
        assert value_and_grad(product, mode="python")(start)[0] == product(start)


def test_large_integers_that_only_an_error_depends_on():
    """Python's integers do not wrap, where a check of a divisor reads them either."""
    def divided(x, n):
        k = 1
        for _ in range(n):
            k = k * 2
        unused = 1 / k
        return x * 1.0 if unused is not None else x
    g = grad(divided, mode="python")
    assert g(0.5, 62) == 1.0
    with pytest.raises(OverflowError):
        g(0.5, 64)


W, Q, G = "w = 1 if x[0] > 0 else 0.5", "q = 2 if x[0] > 0 else 0.5", "g = np.array([1, -2, 3]) * w"
CUT_OFF = [(W, G, "g[0] = x[0]"), (Q, "g = np.full(3, q)", "g[0] = x[0]"), (Q, "g = np.array([q, 3])", "g[0] = x[0]"),
           ("g = np.array([1, -2, 3])", "if x[0] > 5: g = g / 2", "g[0] = x[0]"),
           ("g = np.zeros(3, int) if x[0] > 0 else np.zeros(3)", "g[1:] = x[1:]"), (W, G, "g /= 3.0"),
           ("g = np.array([1, -2, 3]) if x[0] > 0 else np.zeros(3)", "g = g // 0"),
           (Q, "g = np.array([q, 3])", "g = x[0] if g.dtype == float else x[1]")]
THE_SAME = [(W, G), (W, "g = (np.array([1, -2, 3]) * w).astype(float)", "g[0] = x[0]"), (W, "g = x * w", "g[0] = 0.5"),
            (W, "g = np.array([1, -2, 3]) * w / 3", "g[0] = x[0]"), (W, "g = np.zeros(3)", "g[0] = w"),
            (W, G, "g[0] = 7", "g = g * x"), (W, "g = np.max(np.array([1, 2]) * w) + np.std(np.array([1, 2]) * w)")]


@pytest.mark.parametrize("lines", CUT_OFF + THE_SAME, ids="; ".join)
def test_arrays_of_integers_on_one_path_and_floats_on_another(lines):
    """NumPy cuts off what is written to the one: refused. What is the same for both runs."""
    text = "".join(f"    {line}\n" for line in lines)
    f = from_text(f"<writes {lines}>", f"import numpy as np\n\n\ndef f(x):\n{text}    return np.sum(g) * 1.0 + x[0]\n")
    for x in (np.array([0.6, 0.7, 1.8]), np.array([-0.6, 0.7, 1.8])):
        if lines in CUT_OFF:
            with pytest.raises(AutodiffError, match="on one path|differs by the way"):
                value_and_grad(f, mode="python")(x)
        else:
            assert value_and_grad(f, mode="python")(x)[0] == pytest.approx(f(x))


def test_factorials():
    def series(x, n):
        return sum([x ** k / math.factorial(k) for k in range(n)]) + x / math.factorial(30) + x * math.comb(70, 35)
    value, slope = value_and_grad(series, mode="python")(0.5, 12)
    assert value == pytest.approx(series(0.5, 12), rel=1e-14)
    assert slope == pytest.approx((series(0.5 + 1e-3, 12) - series(0.5 - 1e-3, 12)) / 2e-3, rel=1e-6)


# ---- arrays of truths, and of integers of other widths, by the way the program goes -------------------------------
def chosen_by_an_expression(x):
    m = x > 1
    m = m.astype(int) if x[0] == 0 else m
    return np.sum(x[m])


def chosen_in_a_branch(x):
    m = x > 1
    if len(x) > 3:
        m = np.array([0, 1, 1])
    return np.sum(x[m])


def turned_into_numbers_by_a_loop(x):
    m, total = x > 1, 0.0
    for k in range(int(x[1] * 2)):
        total += np.sum(x[m])
        m = np.array([0, 1, 1])
    return total


def added_to_themselves_by_a_loop(x):
    m, total, k = x > 1, 0.0, 0
    while k < int(x[1] * 2):
        total += np.sum(m + m)
        m = m * 2
        k += 1
    return total + x[0]


def of_two_widths(x):
    m = np.arange(3, dtype=np.int8) * 60 if x[0] < 1 else np.arange(3)
    return np.sum((m + m) * x)


@pytest.mark.parametrize("function", [turned_into_numbers_by_a_loop, added_to_themselves_by_a_loop])
@pytest.mark.parametrize("x", [[0.7, 1.3, 2.1], [0.7, 0.3, 2.1], [1.7, 3.6, 2.1]])
def test_truths_that_the_first_iteration_makes_numbers(function, x):
    assert_gradient(function, (np.array(x),), (0,), "python")


@pytest.mark.parametrize("function", [chosen_by_an_expression, chosen_in_a_branch, of_two_widths], ids=lambda f: f.__name__)
def test_arrays_of_unlike_dtypes_by_path_are_refused(function):
    with pytest.raises(AutodiffError, match="by the (path|iteration)"):
        value_and_grad(function, mode="python")(np.array([0.7, 1.3, 2.1]))


def test_a_loop_that_is_written_out_follows_them():
    def value(x):
        m, total = x > 1, 0.0
        for _ in range(2):
            total += np.sum(x[m])
            m = m.astype(int)
        return total

    x = np.array([0.7, 1.3, 2.1])
    got, slopes = value_and_grad(value, mode="python")(x)
    assert got == value(x)
    np.testing.assert_allclose(slopes, [1.0, 3.0, 1.0])
