"""Integers that `while` loops and loops with `break` count are told by the number of the iteration."""

import random

import numpy as np
import pytest

from autodiff import value_and_grad

from .support import assert_gradient, program_beside_python, random_tests

HEADS = ["while j < n and x[j] < 0.8:", "while s < 2.0 and j < n:", "while j >= 0 and x[j] > w[0] * 0.5:",
         "for i in range(n):", "for i in range(n - 1, -1, -1):", "for i in range(0, n, 2):", "while True:"]
CHANGES = ["j += 1", "j -= 1", "j = j + 2", "k += 3", "j, k = j + 1, k - 1", "if s > 1.0:\n    k += 1", "k = k + 1\nj += 1",
           "k = j\nj += 1", "k += 1\nk += 1", "if s > 0.7:\n    j += 1\nelse:\n    j += 1", "k = 2 * k % 7", "j = n - j"]
WORK = ["s += x[j] * w[k % n]", "x[j] = 0.9 * x[j] + 0.1 * w[k % n] * x[j]", "s = s * 0.9 + 0.3 * k * x[j % n]",
        "s += 0.1 * x[(j + k) % n] ** 2", "s += 0.2 * np.sin(s) * j"]
ENDS = ["if s > 1.5:\n    break", "if j > n - 2 or j < 1:\n    break", "if x[j % n] > 0.85:\n    break", ""]


def random_program(seed: int) -> str:
    r = random.Random(seed)
    lines = ["import numpy as np", "", "def f(x, w):", f"    n, s, k, turns = len(x), 0.1, {r.choice([0, 1, 2])}, 0",
             f"    j = {r.choice(['0', 'n - 1', '1', 'n // 2'])}"]
    indent = "    "
    if r.random() < 0.4:
        lines.append("    for t in range(2):")
        indent += "    "
        lines += [indent + r.choice(["j = t", "j = n - 1 - t", "s *= 0.8", "k = t"])]
    head = r.choice(HEADS)
    lines.append(indent + head)
    ends = r.choice(ENDS[:2] if head == "while True:" else ENDS)
    parts = ["turns += 1", "if turns > 30:\n    break" if head != "for i in range(n):" or r.random() < 0.5 else "",
             r.choice(WORK), r.choice(CHANGES), ends]
    if r.random() < 0.3:
        parts.insert(2, r.choice(["if x[j % n] < 0.3:\n    j += 1\n    continue", r.choice(CHANGES)]))
    lines += [indent + "    " + line for part in parts for line in part.split("\n") if line]
    lines.append(indent + r.choice(["s += 0.1 * k", "s += x[j % n] * 0.3", "s += 0.01 * turns * x[0]"]))
    return "\n".join([*lines, "    return s + np.sum(x * x) + 0.1 * j * w[0] + 0.01 * k"])


def differs(seed: int, mode: str, sizes=(1, 3, 6)) -> str:
    return program_beside_python(random_program(seed), seed, mode, [((n,), (n,)) for n in sizes])


test_random_loops, test_compiled = random_tests(differs, 60, (1000, 1001))


def sorted_weights(x, w):
    """Insertion sort."""
    y, s = x.copy(), 0.0
    for i in range(1, len(y)):
        v, j = y[i], i - 1
        while j >= 0 and y[j] > v:
            y[j + 1] = y[j]
            j -= 1
        y[j + 1] = v
    for i in range(len(y)):
        s += y[i] * w[i]
    return s


def series(x, w):
    """Terms until they are small."""
    s, term, k = 0.0, x[0], 1
    for _ in range(50):
        s += term * w[0]
        k += 2
        term *= -x[0] * x[0] / (k * (k - 1))
        if abs(term) < 1e-12:
            break
    return s + 0.1 * k


@pytest.mark.parametrize("function", [sorted_weights, series])
def test_no_tape_of_what_is_counted(function):
    args = np.array([0.7, 0.2, 0.9, 0.4, 0.1]), np.linspace(0.3, 0.8, 5)
    assert_gradient(function, args, (0, 1), "python")
    gradient = value_and_grad(function, wrt=(0, 1), mode="python")
    assert gradient(*args)[0] == pytest.approx(function(*args))
    assert "j_tape" not in gradient.source and "k_tape" not in gradient.source
