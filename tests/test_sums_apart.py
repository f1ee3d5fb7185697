"""Loops without functions whose ordered sums, and additions to neighbours, are taken out of them."""

import random

import numpy as np
import pytest

from autodiff import value_and_grad
from autodiff.transforms.optimise import loop_distribution

from .support import assert_gradient, program_beside_python, random_tests

LOOPS = ["range(n)", "range(1, n)", "range(n - 1, -1, -1)", "range(n - 1)", "range(1, n - 1)", "range(n - 2, 0, -1)",
         "range(k)"]
READS = ["x[i]", "x[i - 1]", "w[i]", "p[0]", "p[1]", "p[2]", "P[i, 0]", "P[i, 1]", "P[i - 1, 0]", "x[n - 1 - i]", "0.5",
         "y[i]", "x[2]", "P[2, 1]", "x[q[i]]", "d", "e"]
MADE = ["{a} * {b} + {c}", "{a} - {b} * {c} * {a}", "({a} + 0.3) / (2.5 + {b} * {b})", "np.sqrt(1.5 + {a} * {a}) - {b}",
        "max({a}, {b})", "abs({a}) * {b}", "({a} if {b} > 0.2 else {c})", "min({a} * {b}, 0.4)", "{a} ** 3 - {b}"]
ADDED = ["s += {}", "s -= {}", "t += {}", "s32 = s32 + {}", "y[i] += {}", "y[i] = {}", "z[0] += {}", "z[i] += {}",
         "z[i - 1] += {}", "Z[i, 1] += {}", "if d > 0.1: s += {}", "s += {}; t += s * 0.1", "a = max(a, {})", "s += e * {}"]


def random_program(seed: int) -> str:
    r = random.Random(seed)

    def made() -> str:
        return r.choice(MADE).format(a=r.choice(READS[:15]), b=r.choice(READS), c=r.choice(READS))
    lines = ["import numpy as np", "", "def f(x, w, p, P):", "    n, s, t, s32, a = len(x), 0.3, 0.0, 0.1, 0.2",
             "    k = n - 1", "    q = (np.arange(n) * 7 + 2) % n", "    y, z, Z = x * 0.7, np.zeros(n), P * 1.1"]
    for _ in range(r.randint(1, 2)):
        lines += [f"    for i in {r.choice(LOOPS)}:", "        d = x[i] - w[i]", "        e = " + r.choice(MADE).format(
            a="d", b=r.choice(READS[:15]), c="x[i]")]
        for _ in range(r.randint(1, 4)):
            lines += [f"        {line}" for line in r.choice(ADDED).format(made()).split("; ")]
    return "\n".join([*lines, "    return s * t + s + s32 + a + y @ w + z @ x + np.sum(Z * P)"])


def differs(seed: int, mode: str) -> str:
    shapes = [((n,), (n,), (3,), (n, 2)) for n in (3, 4, 5, 8, 9, 13)]
    return program_beside_python(random_program(seed), seed, mode, shapes, (IndexError, ValueError))


@pytest.fixture
def short_blocks(monkeypatch):
    monkeypatch.setattr(loop_distribution, "BLOCK", 4)
    monkeypatch.setattr(loop_distribution, "FEWEST", 2)
    monkeypatch.setattr(loop_distribution, "WORTH", 4)


test_random_loops, test_compiled_loops = (
    pytest.mark.usefixtures("short_blocks")(test) for test in random_tests(differs, 150, (7000, 7001, 7002)))


def fitted(p, t, y):
    s = 0.0
    for i in range(t.shape[0]):
        d = y[i] - (p[0] + p[1] * t[i] + p[2] * t[i] * t[i])
        s += d * d
    return s


def springs(x, k):
    e = 0.0
    for i in range(x.shape[0] - 1):
        dx, dy = x[i + 1, 0] - x[i, 0], x[i + 1, 1] - x[i, 1]
        stretch = np.sqrt(dx * dx + dy * dy) - 1.0
        e += 0.5 * k[i] * stretch * stretch
    return e


def layers(h, w):
    """What an iteration adds to other blocks of the array may lie far off, or not."""
    s = 0.0
    for i in range(w.shape[0]):
        s += h[i] * h[w.shape[0] + i] * w[i] ** 3 + (h[i] - w[i]) ** 2 * w[i]
    return s


def points(n):
    r = np.random.default_rng(n)
    return {fitted: (r.random(3), r.random(n), r.random(n)), springs: (r.random((n, 2)), r.random(n)),
            layers: (r.random(2 * n), r.random(n))}


@pytest.mark.parametrize("f", [fitted, springs, layers])
@pytest.mark.parametrize("mode", ["python", "numba"])
def test_sums_keep_their_order(f, mode):
    """Compiled, the value has the bits of Python's: numbers are added as they were."""
    for n in (1, 2, 257, 700) if mode == "numba" else (9,):
        args = points(n)[f]
        value, _ = assert_gradient(f, args, (0, 1), mode)
        assert value == f(*args)


def test_what_is_taken_out():
    texts = {}
    for f, args in points(100).items():
        g = value_and_grad(f)
        g(*args)
        texts[f] = g.source
    assert "s += t_row[i - block]" in texts[fitted] and "e += t_row[i - block]" in texts[springs]
    assert "x_bar[i + 1, 0] += dx_bar_row[i - block]" in texts[springs]
    assert "block" not in texts[layers]
