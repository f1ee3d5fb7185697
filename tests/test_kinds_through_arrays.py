"""Arrays and numbers that are integers on one path and floats on another, taken through functions of NumPy: what is asked of
the result (its class, an integer's negative power, division by zero, what is written to it) is as in Python, or refused."""

import random

import numpy as np
import pytest

from autodiff import value_and_grad

from .test_kinds_by_path import check, function_of, outcome, value_by

NUMBERS = ("(2 if x[0] > 0 else x[1])", "(np.int64(3) if x[0] > 0 else 1.5)", "max(np.int64(3), x[1])",
           "(x[1] if x[0] > 0 else 4)", "(np.float64(2.0) if x[0] > 0 else 3)", "min(2, x[1])")
MADE = ("{0}", "np.array({0})", "np.array([{0}])", "np.array([{0}, 1])", "[{0}, 2]", "np.full(2, {0})", "np.stack([{0}, 1])",
        "np.where(x[0] > 5, {0}, 1)", "np.append({0}, 1)", "np.asarray([[{0}, 2]])", "np.asarray([{0}], dtype=float)",
        "(np.arange(2) + 1 if x[0] > 0 else x)", "np.arange(2) + 1", "x[:1]", "7", "x[1]")
THROUGH = ("np.reshape(v, -1)", "np.ravel(v)", "np.sum(v)", "np.max(v)", "np.cumsum(v)", "np.abs(v)", "np.prod(v)",
           "np.repeat(v, 2)", "np.tile(v, 2)", "np.copy(v)", "np.squeeze(v)", "np.atleast_1d(v)", "np.round(v)",
           "np.sort(v, axis=None)", "np.clip(v, 0, 9)", "np.flip(v)",
           "np.diff(np.append(v, 7))", "np.maximum(v, 1)", "np.dot(v, 1)", "np.square(v)",
           "np.asarray(v).astype(float)", "np.asarray(v)[..., None]", "np.asarray(v).T", "np.concatenate([np.ravel(v)] * 2)",
           "np.add(v, 1)", "np.negative(v)", "np.asarray(v) * 2", "-np.asarray(v)", "np.ptp(v)", "np.zeros_like(v) + 1",
           "np.ravel(v)[0]", "np.ravel(v).tolist()", "np.ravel(v)[-1].item()", "np.sqrt(v)", "np.mean(v)", "np.ones_like(v)",
           "np.broadcast_to(v, (2, 2)) if np.size(v) == 1 else v", "np.ravel(v)[::-1]", "np.min(v, keepdims=True)",
           "np.median(v)", "np.add.reduce(np.ravel(v))", "np.outer(v, 1)", "np.ravel(v)[np.ravel(v) > 0]", "np.array(v)")
AROUND = ("", "", "", "if x[1] > 2: ", "if x[0] > 0: ", "for k in range(int(x[1])): ", "for k in range(int(x[0])): ",
          "for k in range(2): ")
ASKED = ("np.sum(np.asarray(v) ** -1)", "np.ravel(v)[0] // 0", "np.ravel(v)[0] % 0", "np.sum(np.asarray(v) // 0)",
         "1 if isinstance(np.ravel(v)[0], float) else 2", "1 if np.asarray(v).dtype == float else 2", "np.sum(v)",
         "1 if np.ravel(v).dtype.kind == 'i' else 2", "np.sum(np.power(2, -np.asarray(v)))", "np.sum(v) / 7",
         "np.floor_divide(np.ravel(v)[-1], 0)", "1 if isinstance(np.ravel(v)[0].item(), int) else 2", "np.max(v) ** -2")
WRITES = ("w[...] = 0.5", "w[0] = x[1]", "w += 0.5", "w.fill(2.5)", "w[:] = w / 2", "w *= 2", "w[0] = 3")


def program(draw):
    lines = [f"v = {draw.choice(MADE).format(draw.choice(NUMBERS))}"]
    lines += [draw.choice(AROUND) + f"v = {draw.choice(THROUGH)}" for _ in range(draw.randrange(3))]
    asked = draw.choice(ASKED)
    if draw.random() < 0.3:
        lines += ["w = np.ravel(v).copy()" if draw.random() < 0.5 else "w = np.zeros_like(np.ravel(v))", draw.choice(WRITES)]
        asked = "np.sum(w)"
    return "def f(x):\n" + "".join(f"    {line}\n" for line in lines) + f"    return ({asked}) + 0.0 * x[0]\n"


def run(seed, count):
    draw = random.Random(seed)
    for _ in range(count):
        check(program(draw))


def test_random_programs():
    run(3, 170)


@pytest.mark.parametrize("asked", ["np.array([v]) / 3", "np.sum([v, 1]) * 2.5", "np.mean(np.array([v])) ** -1",
                                   "np.array([v]) // 2", "np.asarray([v], dtype=float)[0] ** -1"])
def test_what_is_alike_for_integers_and_floats_is_taken(asked):
    f = function_of(f"def f(x):\n    v = 2 if x[0] > 0 else x[1]\n    return np.sum({asked}) + 0.0 * x[0]\n")
    for point in ([0.4, 1.3], [-1.0, 5.0]):
        assert outcome(value_by(f), point) == outcome(f, point)
    step = 1e-6
    slope = (f(np.array([-1.0, 5.3 + step])) - f(np.array([-1.0, 5.3 - step]))) / (2 * step)
    np.testing.assert_allclose(value_and_grad(f, mode="python")(np.array([-1.0, 5.3]))[1][1], slope, atol=1e-6)


@pytest.mark.parametrize("attempt", [
    "x[(2 if x[0] < 2 else x[1])]", "np.sum([1.0] * (3 if x[0] < 2 else 3.0))", "np.sum(x[:(3 if x[0] < 2 else 3.0)])",
    "1.0 * ((2 if x[0] < 2 else 3.0) | 1)", "(1, 2, 3)[1 if x[0] < 2 else 1.0]", "(2 if x[0] < 2 else np.int64(3))[()]",
    "np.sum(np.repeat(x, 2 if x[0] > 2 else 3.0))", "len('a' * (2 if x[0] < 2 else 3.0))", "np.gcd(max(x[0], 2), 4)",
    "[1.0, 2.0][1 if x[0] < 2 else 1.0]", "(2.0 if x[0] > 2 else np.asarray(x[0]))[()]", "(2.0 if x[0] < 2 else x[0])[None]",
    "1 in (x[..., 0] if x[0] < 2 else np.linalg.norm(x))", "-(np.array(False) if x[0] < 2 else x[0])",
    "np.floor_divide(x[0] if x[0] > 2 else 0, 0)", "np.sum(np.array([3 if x[0] < 2 else 1.5]) ** -1)"])
def test_a_handler_takes_errors_of_the_path_that_is_gone(attempt):
    f = function_of(f"def f(x):\n    try:\n        r = {attempt}\n    except (TypeError, IndexError, ValueError):\n"
                    "        r = 7.0\n    return r * x[1]\n")
    for point in ([1.2, 0.3, 2.0], [2.2, 0.3, 2.0]):
        expected, found = outcome(f, point), outcome(value_by(f), point)
        assert found in ("refused", expected)


@pytest.mark.parametrize("made", [
    "np.fmod(min(not x[0], 3), 0)", "np.remainder(min(not x[0], 3), 0)", "np.add(2 > 1 if x[0] > 0 else 3, 1)",
    "np.floor_divide(True if x[0] > 0 else 3, 0)", "np.power(True if x[0] > 0 else 3, -1)",
    "np.multiply(min(not x[0], 3), 2)",
    "np.subtract(True if x[0] > 0 else 3, True)", "np.negative(True if x[0] > 0 else 3)", "np.left_shift(not x[0], 70)"])
def test_pythons_numbers_are_numpys_for_its_functions(made):
    f = function_of(f"def f(x):\n    return np.sum({made}) + 0.0 * x[0]\n")
    for point in ([1.2, 0.3], [-2.2, 0.3]):
        expected, found = outcome(f, point), outcome(value_by(f), point)
        assert found in ("refused", expected)
