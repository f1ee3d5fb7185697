"""Long functions are cut in pieces, functions of their own, and have the values and gradients that they had whole."""

from unittest import mock

import numpy as np
import pytest

from autodiff import value_and_grad, vjp
from autodiff.transforms.lower.functions import pieces

from .fuzz.checks import outcome
from .fuzz.programs import program
from .fuzz.shrink import script
from .short_programs import function_of
from .support import assert_gradient


def long_function(parts: int, line: str):
    """A function of so many branches, or other parts."""
    body = "".join(line.format(k=k, c=0.1 + k / parts) for k in range(parts))
    text = f"def f(T, x):\n    v = T\n    w = np.zeros(3)\n{body}    return v + np.sum(w * x)\n"
    return function_of(text, f"long_{parts}_{hash(line)}", {"np": np})


BRANCHES = "    if v > {c}:\n        v = v - {c} * np.sin(v * x[{k} % 3])\n    else:\n        v = v + 0.01 * x[0]\n"
LOOPS = "    for i in range(4):\n        v = 0.9 * v + np.cos(v * x[i % 3]) * {c}\n"
STORES = "    if v > {c}:\n        v = v - 0.5 * x[0]\n    v = np.cos(v) + x[1]\n    w[{k} % 3] += v * {c}\n"
ARRAYS = "    u = x * {c}\n    for i in range(1, 3):\n        u[i] += u[i - 1] * v\n    v = v * 0.5 + np.sum(u) * 0.1\n"
RAISES = "    if v > 1e6 + {k}:\n        raise ValueError('too large')\n    v = v * 1.01 + (x[2] if v > {c} else 0.1)\n"
T, X = 0.7, np.array([0.4, -0.3, 0.8])


@pytest.mark.parametrize("line", [BRANCHES, LOOPS, STORES, ARRAYS, RAISES])
def test_long_functions(line):
    f = long_function(70, line)
    assert_gradient(f, (T, X), (0, 1), "python")
    made = value_and_grad(f, wrt=(0, 1), mode="python")
    value, (slope, slopes) = made(T, X)
    assert value == f(T, X)
    assert "def f_1" in made.source and "def f_3" in made.source and "pieces" in made.stages
    with mock.patch.object(pieces, "LONG", 10 ** 9):
        whole = value_and_grad(long_function(70, line), wrt=(0, 1), mode="python")
        _, (other, others) = whole(T, X)
        assert "def f_1" not in whole.source
    np.testing.assert_allclose([slope, *slopes], [other, *others], rtol=1e-10)
    _, pullback = vjp(f, T, X, mode="python")
    np.testing.assert_allclose(np.hstack(pullback(2.0)), np.hstack([2 * slope, 2 * slopes]), rtol=1e-10)


def test_the_first_error_is_raised():
    text = "def f(x, out):\n" + "".join(
        f"    if x[0] > {k}:\n        out[0] = x[0] * {k}\n    if x[1] > {k} + 2:\n        raise ValueError('{k}')\n"
        f"    if out[0] > 99.5 * {k} and {k} > 3:\n        raise IndexError('{k}')\n" for k in range(40)) + (
        "    return np.sum(out * x)\n")
    f = function_of(text, "long_errors", {"np": np})
    made = value_and_grad(f, wrt=(0, 1), mode="python")
    assert made(np.array([3.5, 0.2]), np.ones(2))[0] == f(np.array([3.5, 0.2]), np.ones(2))
    for x in ([50.0, 7.5], [50.0, 41.5], [105.0, 20.0], [100.5, 0.0]):
        errors = []
        for call in (f, made):
            with pytest.raises((ValueError, IndexError)) as raised:
                call(np.array(x), np.ones(2))
            errors.append((raised.type, str(raised.value).partition("\n")[0]))
        assert errors[0] == errors[1]


def test_lists_and_arrays_that_grow_stay_whole():
    """Their memory has other sizes than it is made with."""
    def often(x):
        total, s = [], 0.0
        for k in range(12):
            if x[0] > 3.0 + k:
                break
            total = total + [x[k % 3] * k]
            if k > 10:
                continue
            s = x[1]
        return s + sum(total)

    def swapped(x, w, t):
        n = x.shape[0]
        a, b = w.copy(), np.zeros(n * 3)
        if n % 2 == 1:
            if x[2] > x[1]:
                if x[1] > 1e3:
                    raise ValueError("large")
                b, a = a, b
        return t + np.sum(np.cos(b) * 0.5) + a[0]
    assert_gradient(often, (X,), (0,), "python")
    body = "    out = []\n    for i in range(len(x)):\n        out.append(np.sin(x[i]) * v)\n" + "".join(
        f"    if v > {0.3 + k / 10}:\n        v = v * 0.9 + 0.1 * x[{k % 3}]\n" for k in range(40)) + (
        "    for o in out:\n        v += o * o\n") + "".join(
        f"    if v > {0.3 + k / 10}:\n        v = v * 0.9 + 0.1 * out[{k % 3}]\n" for k in range(40)) + (
        "    for o in out:\n        v += o * o\n")
    appended = function_of(f"def f(x):\n    v = x[0]\n{body}    return v\n", "long_append", {"np": np})
    assert_gradient(appended, (np.linspace(0.5, 1.4, 20),), (0,), "python")
    with mock.patch.multiple(pieces, LONG=8, PIECE=6, BLOCK=3):
        assert_gradient(swapped, (X, X[::-1] * 0.5, T), (0, 1, 2), "python")


def test_short_functions_are_whole():
    f = long_function(10, LOOPS)
    made = value_and_grad(f, mode="python")
    made(T, X)
    assert "def f_1" not in made.source


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::SyntaxWarning")
def test_random_programs_in_small_pieces():
    with mock.patch.multiple(pieces, LONG=8, PIECE=6, BLOCK=3):
        results = [(seed, outcome(program(seed), level=1)) for seed in range(9000, 9012)]
    wrong = [script(program(seed), o.kind, o.text) for seed, o in results if o.verdict == "failed"]
    assert not wrong, "\n".join(wrong)
    assert sum(o.verdict == "ok" for _, o in results) >= 6
