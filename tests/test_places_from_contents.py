"""Where a program writes may depend on what it overwrites: the reverse sweep finds the place before it restores that."""

import random

import numpy as np
import pytest

from autodiff import check_grads

from .support import program_beside_python, with_places_checked

READS = ["x[i]", "x[k]", "x[0]", "y[i]", "y[k]", "x[i - 1]", "y[n - 1]", "s"]
PLACES = [
    "int(abs({a}) * 7.0) % n", "(k + 1) % n", "i", "0 if {a} > 0.5 else i", "1 if {a} > {b} else k",
    "int(abs({a} * {b}) * 9.0) % n", "k if {a} < 0.4 else (i + 1) % n", "i if x[k] > 0.5 and y[i] < 0.6 else 0"]
WRITES = [
    "x[{p}] = 0.4 * {a} + 0.3 * {b}", "x[{p}] += 0.2 * {a} * {b}", "y[{p}] = np.sin({a}) * 0.8", "y[{p}] *= 0.9 * x[i]",
    "k = {p}", "x[k] = 0.5 * x[k] * {a} + 0.1", "y[k] -= 0.3 * {a}", "x[i], x[k] = x[k], x[i]",
    "x[{p}], y[{p}] = y[k], 0.9 * x[k]", "x[k:] = 0.9 * x[k:] * {a}", "y[:k] += 0.1 * x[:k]", "s += x[{p}] * y[k]"]


def random_program(seed: int) -> str:
    """Loops that write at places that they find in what they write."""
    r = random.Random(seed)

    def filled(text):
        text = text.replace("{p}", r.choice(PLACES)) if text.count("{p}") < 2 else text.replace("{p}", "k")
        return text.replace("{a}", r.choice(READS)).replace("{b}", r.choice(READS))
    lines = ["import numpy as np", "", "def f(x, y):", "    n, k, s = len(x), 0, 0.2"]
    for _ in range(r.randint(1, 2)):
        lines.append("    " + r.choice(["for i in range(n):", "for i in range(n - 1, -1, -1):", "for i in range(1, n):"]))
        for _ in range(r.randint(1, 4)):
            branch = r.random() < 0.3
            lines += [f"        if {r.choice(READS)} > 0.45:"] if branch else []
            lines.append(("            " if branch else "        ") + filled(r.choice(WRITES)))
    return "\n".join([*lines, "    return s + np.sum(x * x) + 0.3 * np.sum(y * x)"])


def differs(seed: int, mode: str) -> str:
    """What is wrong with a random program's value or gradient."""
    return program_beside_python(random_program(seed), seed, mode, [(n, n) for n in (1, 2, 3, 5)])


@pytest.mark.filterwarnings("ignore:the gradient of")
@pytest.mark.parametrize("start", range(0, 40, 10))
def test_random_places(start, monkeypatch):
    with_places_checked(monkeypatch)
    for seed in range(start, start + 10):
        assert not (wrong := differs(seed, "python")), wrong


def hashed(x):
    """Each place says where the next number goes, which may be the place itself."""
    s, n = 0.0, len(x)
    for i in range(n):
        k = int(x[i] * 7.0) % n
        x[k] = x[k] * x[i] + 0.3 * s
        s += np.sin(x[i])
    return s + np.sum(x * x)


def swept(x, y):
    """A place that a comparison with what is then overwritten chooses."""
    s = 0.1
    for i in range(len(x) - 1, -1, -1):
        if i == len(x) - 1 or x[i + 1] > 0.5:
            p = 0
            s += y[0]
        else:
            p = i + 1
        x[p] += 0.1 * s
        s += i * y[0] * y[-1]
    return s + np.sum(x) + np.sum(y * y)


def rows(A):
    """Rows that a library function fills, at places found in the matrix."""
    s, n = 0.0, len(A)
    for _ in range(3):
        k = int(abs(A[0, 0]) * 5.0) % n
        A[k] = np.tanh(A @ A[1])
        s += np.sum(A * A)
    return s


def test_places():
    r = np.random.default_rng(3)
    for _ in range(4):
        check_grads(hashed, (r.uniform(0.05, 0.95, 5),), mode="python")
        check_grads(swept, (r.uniform(0.2, 0.9, 4), r.uniform(0.2, 0.9, 2)), wrt=(0, 1), mode="python")
        check_grads(rows, (r.uniform(-0.9, 0.9, (3, 3)),), mode="python")
