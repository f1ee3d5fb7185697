"""Loops inside others that are distributed over several, with branches, and those that leave out one iteration."""

import random

import pytest

from autodiff.transforms.optimise import loop_distribution

from .support import program_beside_python, random_tests

OUTER = ["range(n)", "range(1, n)", "range(n - 1, -1, -1)", "range(n - 1)"]
INNER = ["range(n)", "range(i + 1, n)", "range(i)", "range(n - 1, -1, -1)", "range(1, n - 1)", "range(n - 1, i, -1)",
         "range(q[i], n)", "range(1, n)"]
TERMS = ["np.exp(-0.3 * abs({a}))", "np.sin(s) * {a}", "np.log(2.0 + {a} * {b})", "1.0 / (2.0 + {a})",
         "np.sqrt(1.5 + {a}) / (3.0 + {b})", "abs({a}) ** (1.5 + w[j])", "{a} ** 3", "(np.exp({a}) if {b} > 0.3 else {b})",
         "{a} * {b}", "np.sin({a} + a) * {b}", "{a} / (1.2 + {b} * {b})", "w[j] * {a}", "d / np.sqrt(d * d + 0.1)",
         "np.exp(-d * d)", "np.log(abs(d) + 0.5)", "0.5 * {a}", "np.hypot({a}, {b})", "d * d"]
FAR = ["1.0 / np.sqrt(d * d)", "np.log(abs(d))", "np.exp(-d * d) / d", "np.sin(d) / d + {a}",
       "{a} / (d * d) + np.sqrt(1.5 + {b})"]
READS = ["x[j]", "x[i]", "w[j]", "np.sin(H[i, j])", "np.cos(H[j, i])", "w[i]", "np.sin(s)", "np.cos(a)", "np.tanh(d)",
         "np.sin(y[j])", "0.1 * j", "np.sin(H[i, j - 1])"]
USES = ["s += {e}", "s -= 0.1 * {e}", "a = 0.5 * a + {e}", "y[j] += {e}", "y[j] = {e}", "y[i] += {e}", "H[i, j] = {e}",
        "H[j, i] += {e}", "z[q[j]] += {e}", "z[0] += {e}", "b = {e}\ns += np.sin(b)", "y[j] = 0.5 * y[j - 1] + {e}",
        "s += {e}\na += {f}", "H[i, j] += {e}", "v[j] = {e}", "v[j] += {e}\ns += {f}", "c += 1.0",
        "s += np.sin(a)\ns += {e}",
        "a = max(a, {e})"]
TESTS = ["if j != i:", "if i != j:", "if not i == j:", "if j != k:", "if d > 0.1:", "if {a} > 0.5:", "if i < j:"]
SUMS = ["s += {e}", "y[j] += {e}", "H[i, j] += {e}", "s += {e}\ny[j] += {f}", "z[q[j]] += {e}", "b += {e}"]
APART = ("if j != i:", "if i != j:", "if not i == j:")


def random_program(seed: int) -> str:
    """Nests whose inner loop computes functions and divides, adds up and leaves out iterations."""
    r = random.Random(seed)

    def expression(terms) -> str:
        return " + ".join(f"0.3 * ({r.choice(terms).format(a=r.choice(READS), b=r.choice(READS))})"
                          for _ in range(r.randint(1, 2)))

    def statement(terms, uses=USES) -> list[str]:
        return r.choice(uses).format(e=expression(terms), f=expression(terms)).split("\n")
    lines = ["import numpy as np", "", "def f(x, w, W):", "    n = len(x)", "    s, c, k, a, b = 0.3, 0.0, n // 2, 0.1, 0.2",
             "    q = (np.arange(n) * 7 + 2) % n", "    H, y, z, v = W * 1.1, x * 0.7, np.zeros(n), np.ones(n)"]
    for _ in range(r.randint(1, 2)):
        lines += [f"    for i in {r.choice(OUTER)}:"]
        lines += ["        " + r.choice(["s = 0.2 * s", "a = 0.1", "pass", "e = s * 0.1"])]
        lines += [f"        for j in {r.choice(INNER)}:", "            d = x[i] - x[j] + (i - j)"]
        for _ in range(r.randint(1, 3)):
            if r.random() < 0.5:
                test = r.choice(TESTS).format(a=r.choice(READS))
                terms, uses = (TERMS + FAR, r.choice((USES, SUMS))) if test in APART else (TERMS, USES)
                if test in APART and r.random() < 0.3:
                    lines += ["            if i == j:", "                " + r.choice(["continue", "pass"])]
                    lines += ["            d = 2.0 * d"] if r.random() < 0.3 and "continue" in lines[-1] else []
                lines += [f"            {test}"]
                for _ in range(r.randint(1, 2)):
                    lines += [f"                {line}" for line in statement(terms, uses)]
                if r.random() < 0.3:
                    other = r.choice(["s += 0.5", "s += w[j]", "c += 1.0", "a = 0.3"])
                    lines += ["            else:", f"                {other}"]
            else:
                lines += [f"            {line}" for line in statement(TERMS)]
        lines += ["        " + r.choice(["y[i] += 0.1 * s", "s += np.cos(a)", "v[i] = np.sin(s)", "s = np.sin(s)"])]
    return "\n".join([*lines, "    return s + np.sum(H * W) + np.sum(np.sin(y)) + a * c + b + z @ w + v @ x"])


def differs(seed: int, mode: str) -> str:
    shapes = [((n,), (n,), (n, n)) for n in (2, 3, 5, 6, 9)]
    return program_beside_python(random_program(seed), seed, mode, shapes, (IndexError, ValueError))


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch):
    monkeypatch.setattr(loop_distribution, "BLOCK", 4)
    monkeypatch.setattr(loop_distribution, "FEWEST", 2)


test_random_nests, test_compiled = random_tests(differs, 120, (6000, 6001, 6002))
