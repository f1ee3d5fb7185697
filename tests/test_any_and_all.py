"""`any`, `all`, `next` and `in` stop at the item that decides: what is printed, counted and raised is what Python does."""

import contextlib
import io
import random

import numpy as np
import pytest

from autodiff import differentiable, value_and_grad

from .support import module_of

X = np.array([0.5, 1.0, 2.0, -0.25])
HEAD = """import numpy as np


def show(v):
    print("asked", float(v))
    return v > 0.7


def strict(v):
    if v > 1.5:
        raise ValueError("too large")
    return v > 0.7


def asked(x, counted):
    for v in x:
        counted[0] += 1.0
        yield v


def f(x):
    counted = [0.0]

    def count(v):
        counted[0] += 1.0
        return v > 0.7

"""
ITEMS = ("show({v})", "strict({v})", "count({v})", "count({v}) and show({v})", "1.0 / ({v} - 2.0) < 0.0", "{v} > 0.7",
         "x[int(4.0 * {v})] > 0.0", "not count({v})")
SOURCES = ("x", "[x[0], x[1], x[2]]", "(x[1], x[0])", "x[::-1]", "asked(x, counted)", "map(abs, x)", "x[:0]",
           "filter(count, x)", "(u * 2.0 for u in x if count(u))")


def program(seed: int) -> str:
    choose = random.Random(seed).choice
    lines = []
    for k in range(2):
        item, source = choose(ITEMS), choose(SOURCES)
        form = choose(("{q}({i} for v in {s})", "{q}({i} for v in {s} if {j})", "{q}(map({f}, {s}))",
                       "{q}({i} for v in {s} for w in x)", "not {q}({i} for v in {s})",
                       "True in ({i} for v in {s})", "True not in map({f}, {s})", "1.0 in ({i} for v in {s} if {j})",
                       "next((v for v in {s} if {i}), 0.5) > 0.6", "next(({i} for v in {s} if {j}), x[2]) > 0.9",
                       "next((v * w for v in {s} for w in x if {j}), x[2]) > 0.9", "next(v for v in {s} if {i}) > 0.7",
                       "next(({i} for v in {s}), True)"))
        names = {"q": choose(("any", "all")), "i": item.format(v=choose(("v", "v * w")) if "for w" in form else "v"),
                 "s": source, "j": choose(("v > 0.0", "count(v)", "show(v - 0.2)")),
                 "f": choose(("show", "count", "strict", "lambda t: count(t)"))}
        lines.append(f"    r{k} = {form.format(**names)}")
    return HEAD + "\n".join(lines) + "\n    return (2.0 if r0 else 1.0) * x[1] + (x[0] if r1 else 0.0) + counted[0] * x[2]\n"


def run(f):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            made = f(X)
        except (ValueError, IndexError, ZeroDivisionError, StopIteration) as e:
            made = type(e).__name__
    return made, printed.getvalue()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    text, name = program(seed), f"<in turn {seed}>"
    space = module_of(name, text, {"__name__": name})
    expected, told = run(space["f"])
    found, printed = run(differentiable(space["f"], mode="python", debug=True))
    assert (found, printed) == (pytest.approx(expected) if not isinstance(expected, str) else expected, told), text


def test_next():
    def f(x, most):
        first = next((v for v in x if v > most), None)
        where = next((k for k, v in enumerate(x) if v < 0), len(x) - 1)
        return (x[0] if first is None else first ** 2) * x[where]
    for most in (0.7, 70.0):
        value, slope = value_and_grad(f, wrt="x", mode="python")(X, most)
        assert value == f(X, most)
        for k in range(4):
            step = 1e-6 * np.eye(4)[k]
            assert slope[k] == pytest.approx((f(X + step, most) - f(X - step, most)) / 2e-6, abs=1e-6)


def test_an_index_that_is_not_asked_for():
    def f(x):
        return x[0] * (2.0 if any(x[int(4.0 * v)] > 0.7 for v in x) else 1.0)
    for mode in ("python", "numba"):
        assert value_and_grad(f, mode=mode)(X)[0] == f(X)           # the last indices are out of range


def test_compiled():
    def f(x):
        n = 0

        def above(v):
            nonlocal n
            n += 1
            return v > 0.7
        return (2.0 if any(above(v) for v in x) and not all(map(above, x)) else 1.0) * x[0] + n * x[1]

    value, gradient = value_and_grad(f)(X)
    assert value == f(X) == 4.0
    np.testing.assert_array_equal(gradient, [2.0, 3.0, 0.0, 0.0])
