"""One number on the tape in the place of several that only it is computed from, against Python."""

import random

import numpy as np
import pytest

from autodiff import checkpoint, value_and_grad
from autodiff.transforms.differentiate.dominators import immediate

from .support import assert_gradient, from_text, program_beside_python, random_tests

OUTER = ["range(n)", "range(1, n - 1)", "range(n - 2, 0, -1)", "range(0, n - 1, 2)"]
INNER = ["range(n)", "range(i)", "range(1, n - 1)", "range(n - 1, -1, -1)"]
NUMBERS = ["u[i]", "u[i - 1]", "v[i]", "a", "b", "D[i, j]", "D[j, i]", "u[j]", "x[i]", "0.3", "c", "v[q[i]]"]
ROWS = [n for n in NUMBERS if "j" not in n]
MIXED = ["{a} + {b}", "{a} - 0.5 * {b}", "{a} * {b}", "0.4 * {a} + 0.1", "np.sin({a} + {b})", "max({a}, {b})",
         "({a} if {b} > 0.4 else {c})", "{a} + {b} + {c}", "np.sqrt(abs({a} * {b}) + 0.1)"]
TESTS = ["{a} > 0.45", "{a} + {b} < {c} + 0.5", "{a} < {b}", "{a} > 0.4 and {b} < 0.7", "not ({a} < {b} or {c} > 0.6)",
         "abs({a} - {b}) < 0.2", "0.2 < {a} < {b} + 0.3", "k % 3 == 1", "{a} * {b} > 0.2"]
CHANGES = ["u[i] = 0.5 * u[i] + 0.3 * ({e})", "v[i] = np.cos({e})", "a = 0.5 * a + 0.2 * ({e})", "b = np.tanh({e})",
           "u[i] += 0.1 * np.sin({e})", "s += np.sin({e})", "a, b = b, np.cos(a + {e})", "c = np.sin({e})",
           "if {t}:\n    u[i] = np.cos({e})", "if {t}:\n    a = np.sin({e})\nelse:\n    b = 0.3 * a", "k += 1 if {t} else 2",
           "c = 0.7 * c if {t} else np.sin({e})", "if {t}:\n    continue", "if {t}:\n    s += np.cos({e})", "k = k + i",
           "if {t}:\n    u[i], v[i] = v[i], u[i]", "p = {e}\nif p > 0.4:\n    v[i] = np.sin(p)"]
INSIDE = ["D[i, j] = np.sin({e})", "if {t}:\n    D[i, j] = np.cos({e})", "D[j, i] += 0.1 * np.sin({e})",
          "if {t}:\n    break", "u[j] = np.sin({e})"]


def random_program(seed: int) -> str:
    """Loops that overwrite what their comparisons and expressions read."""
    r = random.Random(seed)

    def filled(text: str, numbers) -> str:
        def part() -> str:
            return r.choice(MIXED).format(a=r.choice(numbers), b=r.choice(numbers), c=r.choice(numbers))
        test = r.choice(TESTS).format(a=r.choice(numbers), b=r.choice(numbers), c=r.choice(numbers))
        return text.format(e=part() if r.random() < 0.6 else f"0.5 * ({part()}) * ({part()})", t=test)
    lines = ["import numpy as np", "", "def f(x, w, W):", "    n = len(x)", "    s, a, b, c, k = 0.2, x[0], 0.4, 0.1, 0",
             "    q = (np.arange(n) * 5 + 1) % n", "    u, v, D = x * 1.1, w * 0.9, W * 1.2"]
    indent = "    "
    if r.random() < 0.6:
        lines.append(f"    for t in range({r.choice([1, 2, 3])}):")
        indent += "    "
    for _ in range(r.randint(1, 2)):
        lines.append(f"{indent}for i in {r.choice(OUTER)}:")
        nested = r.random() < 0.4
        if nested:
            lines.append(f"{indent}    for j in {r.choice(INNER)}:")
        more = indent + ("        " if nested else "    ")
        for _ in range(r.randint(1, 4)):
            text = filled(r.choice(CHANGES + INSIDE * 2 if nested else CHANGES), NUMBERS if nested else ROWS)
            lines += [more + line for line in text.split("\n")]
    return "\n".join([*lines, "    return s + a * b + c + u @ w + v @ x + np.sum(D * W) + 0.01 * k"])


def differs(seed: int, mode: str) -> str:
    return program_beside_python(random_program(seed), seed, mode, [((n,), (n,), (n, n)) for n in (2, 3, 5)],
                                 (IndexError, ValueError))


test_random_loops, test_compiled = random_tests(differs, 160, (7000, 7001, 7002), unwritten=True)


def shortest(D, rounds):
    D, n = D.copy(), len(D)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                t = D[i, k] + D[k, j]
                if t < D[i, j]:
                    D[i, j] = t
    return np.sum(np.sqrt(D + rounds))


def ordered(D, rounds):
    """Demands from a pipeline: of three numbers, only sums are read."""
    stock = a = b = c = 0.5
    cost = 0.0
    for t in range(len(D)):
        stock += a
        order = np.exp(-(stock + b + c))
        cost += stock * stock * 0.1
        stock, a, b, c = 0.9 * stock - D[t, 0], b, c, order
    return cost + rounds * stock


@pytest.mark.parametrize("f, dtypes", [(shortest, ["bool"]), (ordered, ["float64", "float64"])])
@pytest.mark.parametrize("mode", ["python", "numba"])
def test_one_for_several(f, dtypes, mode):
    D = np.random.default_rng(0).uniform(0.1, 2.0, (7, 7))
    assert_gradient(f, (D, 1.0), (0,), mode)
    derived = value_and_grad(f, wrt=0, mode=mode)
    derived(D, 1.0)
    assert [one.dtype for one in derived.tape] == dtypes


def test_dominators():
    """The graph of the paper by Lengauer and Tarjan, without the edges that close its cycles."""
    edges = {"A": "D", "B": "ADE", "C": "FG", "D": "L", "E": "H", "F": "I", "G": "IJ", "H": "K", "I": "K", "J": "I",
             "L": "H"}
    askers: dict = {v: set() for v in "ABCDEFGHIJKL"}
    for p, later in {None: "ABC", **edges}.items():
        for v in later:
            askers[v].add(p)
    above = immediate(askers)
    assert above == {"A": None, "B": None, "C": None, "D": None, "E": "B", "F": "C", "G": "C", "H": None, "I": "C", "J": "G",
                     "K": None, "L": "D"}
    assert "X" not in immediate({"X": {"Y"}, "Y": {"X"}})


@pytest.mark.filterwarnings("ignore:the gradient of")
@pytest.mark.parametrize("levels", [12, 20])
def test_chains_that_take_many_rounds(levels):
    """Each index is read by the next: a sweep asks for one more in each round, before and after a decision."""
    text = ["import numpy as np", "def f(x, w):", "    n, s, u = len(x), 0.1, x * 1.0"]
    text += [f"    q{k} = (np.arange(n) * {2 * k + 1} + {k}) % n" for k in range(levels)]
    text += ["    for t in range(3):", "        for i in range(n):", "            if u[i] + u[i - 1] < w[i] + s * 0.1:",
             "                s += x[i] * 0.3", "            u[q0[i]] = np.sin(u[q0[i]] * x[i])"]
    text += [f"            q{k}[q{k + 1}[i]] = (q{k}[i] + 1) % n" for k in range(levels - 1)]
    f = from_text(f"<chain of {levels}>", "\n".join([*text, "    return s + np.sum(u)"]))
    x = np.random.default_rng(0).uniform(0.1, 1.0, 5)
    assert_gradient(f, (x, 0.7 * x), (0, 1), "python")


def sheared(u, steps):
    u, n = u.copy(), len(u)
    for _ in checkpoint(range(steps), snapshots=2):
        for i in range(1, n - 1):
            if u[i - 1] + u[i + 1] < 2.0 * u[i]:
                u[i] = 0.5 * u[i] + 0.3 * u[i - 1]
            else:
                u[i] = 0.7 * u[i] + 0.2 * u[i + 1]
    return np.sum(u * u)


def test_steps_that_run_from_copies():
    u = np.random.default_rng(1).uniform(0.1, 1.0, 7)
    assert_gradient(sheared, (u, 5), (0,), "python")
    derived = value_and_grad(sheared, mode="python")
    derived(u, 5)
    assert "bool" in [one.dtype for one in derived.tape] and not any("is not cheap" in one.reason for one in derived.tape)


def waiting(arrivals, service):
    """Of two clerks, the one that is free first: what is asked is on the tape, in a line of its own."""
    now = total = 0.0
    free = np.zeros(2)
    for i in range(len(arrivals)):
        now += arrivals[i]
        k = 0 if free[0] < free[1] else 1
        total += max(free[k] - now, 0.0) ** 2
        free[k] = max(free[k], now) + service[i]
    return total


def test_the_questions_are_answered():
    r = np.random.default_rng(2)
    derived = value_and_grad(waiting, wrt=(0, 1), mode="python")
    derived(r.uniform(0, 1, 9), r.uniform(0, 2, 9))
    assert "on the tape, `k_tape`" in str(derived.why("k"))
    assert any("whether a condition holds is needed again, and smaller" in one.reason for one in derived.tape)
