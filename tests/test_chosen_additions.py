"""Branches that add to cotangents along a row, as those of maxima do, as choices: against Python."""

import random

import numpy as np
import pytest

from autodiff import value_and_grad

from .support import assert_gradient, program_beside_python, random_tests

PLACES = ["2 * j", "2 * j + 1", "j", "j + 1", "3 * j", "2 * j + 2", "m - 1 - j", "j + i", "i"]
TESTS = ["{a} > {b}", "{a} >= 0.5", "{a} + {b} < 1.1", "j % 2 == 0", "{a} > 0.4 and {b} < 0.8", "i < j", "u[j] > {a}"]
BODIES = ["s += {a}", "s -= 0.5 * {b}", "s += {a}\n{b} += 0.1", "s += {a} * {b}", "t += {a} + {b}", "y[j] += {a}",
          "z[i, j] = {a}", "y[j] += 0.3 * {a}\ns += {b}", "s = max(s, {a})", "t += {a} if {b} > 0.5 else 0.2"]


def random_program(seed: int) -> str:
    """Loops along rows whose branches read elements of a matrix."""
    r = random.Random(seed)
    lines = ["import numpy as np", "", "def f(u, X):", "    n, m = X.shape",
             "    s, t, y, z, X = 0.2, 0.1, u * 0.5, np.zeros((n, m)), X * 1.1"]
    for _ in range(r.randint(1, 2)):
        step = r.choice([1, 2, 3])
        lines += [f"    for i in range({r.choice(['n', 'n - 1', '1, n'])}):",
                  f"        for j in range((m - {step}) // {step}):"]

        def place() -> str:
            return f"X[{r.choice(['i', 'i', 'n - 1 - i', '0'])}, {r.choice(PLACES)}]"
        for _ in range(r.randint(1, 3)):
            window = r.random() < 0.3
            if window:
                lines += [f"            s += np.max(X[i, {step} * j:{step} * j + {step}]) ** 2"]
            else:
                parts = {"a": place(), "b": place()}
                lines += [f"            if {r.choice(TESTS).format(**parts)}:"]
                lines += [f"                {line}" for line in r.choice(BODIES).format(**parts).split("\n")]
                if r.random() < 0.3:
                    lines += ["            else:", f"                {r.choice(BODIES).format(**parts)}".replace("\n", "; ")]
    return "\n".join([*lines, "    return s + t + y @ u + np.sum(z * X)"])


def differs(seed: int, mode: str) -> str:
    return program_beside_python(random_program(seed), seed, mode, [((m,), (n, m)) for n, m in ((3, 6), (2, 9), (4, 13))],
                                 (IndexError, ValueError))


test_random_branches, test_compiled = random_tests(differs, 120, (8000, 8001, 8002))


def pooled(image):
    n, m = image.shape
    total = 0.0
    for i in range(n // 2):
        for j in range(m // 2):
            total += np.max(image[2 * i:2 * i + 2, 2 * j:2 * j + 2]) ** 2
    return total


@pytest.mark.parametrize("shape", [(4, 6), (5, 7), (1, 8), (3, 1)])
def test_maxima_have_no_branches(shape):
    image = np.random.default_rng(3).standard_normal(shape)
    assert_gradient(pooled, (image,), (0,), "python")
    derived = value_and_grad(pooled, mode="python")
    derived(image)
    assert not [line for line in derived.source.splitlines() if line.strip().startswith("if ")]
