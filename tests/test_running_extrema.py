"""The largest and smallest numbers that loops keep with Python's `max` and `min`: values, ties, what is no number."""

import random

import numpy as np
import pytest

from autodiff import check_grads, grad, hessian, jvp, value_and_grad

from .support import from_text, outcome, program_beside_python, with_places_checked

LOOPS = ["range(n)", "range(n - 1, -1, -1)", "range(1, n)", "range(0, n, 2)", "range(-1, n - 1)", "range(min(n, 3))",
         "range(12)", "range(3)"]
VALUES = ["x[i % n]", "abs(x[i % n] - 0.5)", "x[i] * w[i]", "abs(x[i]) + np.sqrt(2.0 * w[i])", "s * w[i]", "x[i] - x[i - 1]",
          "q", "w[k % n]", "x[i] if w[i] > 0.5 else 0.3", "A[i, j % n]", "A[i, (i + 1) % n] * x[j]", "0.6", "x[p % n]",
          "A[j, i]"]
KEPT = ["m = max(m, c)", "m = max(c, m)", "m = min(m, c)", "m = min(c, m)", "m = max(m, c); l = min(l, c * w[0])",
        "m = max(l, m)", "m = max(m, c, l)", "m = max(m, c) * 1.0", "l = max(m, c); m = l",
        "m = max(m, c); x[i % n] = 0.9 * x[i % n]", "m = max(m, l)", "m = max(m, 0.5 * m)", "m = np.maximum(m, c)"]
AROUND = ["", "", "", "if w[i % n] > 0.4:", "if i != j:", "if c > 0.3:", "if c > m:", "if i % 2 == 0:", "if m < 0.8:"]
BETWEEN = ["", "", "", "s += 0.01 * c", "s += 0.01 * m", "p += 1", "z[i % n] = c", "k = i"]


def random_program(seed: int) -> str:
    """Loops that keep extrema, one in another or one after the other, under conditions, of what else they compute."""
    r = random.Random(seed)
    lines = ["import numpy as np", "", "def f(x, w, A):", "    n, s, k, p, j, i, l = len(x), 0.4, 0, 1, 0, 0, 0.7",
             "    z = np.zeros(n)"]
    for _ in range(r.randint(1, 2)):
        lines.append(f"    m = {r.choice(['0.0', '9.0', '0.6', 'x[0]', 's', '-5.0', '0.5 * w[n - 1]'])}")
        nested = r.random() < 0.5
        if nested:
            lines.append(f"    for j in {r.choice(LOOPS[:6])}:")
            lines += [f"        {r.choice(['m = 0.1', 'm = w[j]', 'l = w[j]', 'k = -1'])}"] * (r.random() < 0.5)
        indent = "        " if nested else "    "
        lines += [indent + line for line in kept(r)]
        lines += [indent + r.choice(["s += m", "z[j] = m", "s += 0.1 * m * x[k % n]", "s = s * np.cos(m)", ""])] * nested
        lines.append("    s += np.sin(max(m, -9.0)) + 0.1 * l + 0.01 * k * x[k % n]")
    return "\n".join([*lines, "    return s + np.sum(z * z) + 0.1 * np.sum(x)"])


def kept(r) -> list[str]:
    value, around, between = r.choice(VALUES), r.choice(AROUND), r.choice(BETWEEN)
    lines = [f"for i in {r.choice(LOOPS)}:"]
    if value == "q":
        lines += ["    q = 0.0", "    for h in range(n):", "        q += (A[i % n, h] - x[h]) ** 2"]
    lines += [f"    c = {value}", *([f"    {between}"] if between else []), *([f"    {around}"] if around else [])]
    return lines + [("        " if around else "    ") + part for part in r.choice(KEPT).split("; ")]


def differs(seed: int, mode: str, sizes=(1, 3, 4, 7)) -> str:
    shapes = [((n,), (n,), (n, n)) for n in sizes]
    return program_beside_python(random_program(seed), seed, mode, shapes, (IndexError, ValueError))


RULE = """
def mx(a, b, *more):
    c = b if b > a else (0.5 * a + 0.5 * b if a == b else a)
    return mx(c, *more) if more else c

def mn(a, b, *more):
    c = b if b < a else (0.5 * a + 0.5 * b if a == b else a)
    return mn(c, *more) if more else c
"""


def differs_from_the_rule(seed: int, mode: str, sizes=(1, 3, 5, 8)) -> str:
    """What is wrong where many numbers are equal, and some are none, beside the rule of `max` written out."""
    text = random_program(seed)
    written = RULE + text.replace(" max(", " mx(").replace(" min(", " mn(").replace("(max(", "(mx(")
    f, by_rule = from_text("f", text), from_text("by_rule", written)
    found, expected = value_and_grad(f, wrt=(0, 1, 2), mode=mode), value_and_grad(by_rule, wrt=(0, 1, 2), mode="python")
    for n in sizes:
        rng = np.random.default_rng(seed)
        args = [np.round(rng.uniform(0.2, 0.9, shape), 1) for shape in (n, n, (n, n))]
        if seed % 5 == 0:
            args[seed % 3].flat[rng.integers(0, args[seed % 3].size)] = np.nan
        value = outcome(f, *(a.copy() for a in args))
        a, b = (outcome(g, *(a.copy() for a in args)) for g in (found, expected))
        if any(isinstance(y, Exception) for y in (value, a, b)):
            if not all(isinstance(y, IndexError | ValueError) for y in (value, a, b)):
                return f"{text}\n{n}: {a} for {b}, {value}"
            continue
        if not np.allclose(a[0], value, rtol=1e-12, equal_nan=True):
            return f"{text}\n{n}: {a[0]} for {value}"
        right = all(np.allclose(p[known], q[known], 1e-9, 1e-12) for p, q in zip(a[1], b[1], strict=True)
                    for known in [~np.isnan(q)])        # 0 * nan is nan there, where nothing comes of it
        if np.isfinite(value) and not right:
            return f"{text}\n{n}: {a} for {b}\n{args}"
    return ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("start", range(0, 120, 30))
def test_random_loops(start, monkeypatch):
    with_places_checked(monkeypatch)
    for seed in range(start, start + 30):
        assert not (wrong := differs(seed, "python")), wrong


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("start", range(0, 120, 30))
def test_equal_numbers(start, monkeypatch):
    with_places_checked(monkeypatch)
    for seed in range(start, start + 30):
        assert not (wrong := differs_from_the_rule(seed, "python")), wrong


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", [5000, 5005, 5002])
def test_compiled(seed):
    assert not (wrong := differs(seed, "numba") or differs_from_the_rule(seed, "numba")), wrong


def fastest(u, h, g):
    """The time step that the fastest wave on a grid allows."""
    m = 0.0
    for i in range(u.shape[0]):
        for j in range(u.shape[1]):
            m = max(m, abs(u[i, j]) + np.sqrt(g * h[i, j]))
    return 0.5 / m


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_the_place_alone_is_kept(mode):
    rng = np.random.default_rng(1)
    args = rng.standard_normal((4, 5)), rng.uniform(0.5, 1.0, (4, 5)), 9.8
    check_grads(fastest, args, order=2, modes=("fwd", "rev"), mode=mode)
    gradient = value_and_grad(fastest, wrt=(0, 1, 2), mode=mode)
    gradient(*args)
    tapes = {line.split(" = ")[0].strip() for line in gradient.source.splitlines() if "_tape = " in line}
    assert tapes == {"m_tape", "last_tape"}


def largest(x):
    m = -np.inf
    for i in range(len(x)):
        m = max(m, x[i])
    return m


def largest_first(x):
    m = -np.inf
    for i in range(len(x)):
        m = max(x[i], m)
    return m


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_equal_ones_and_what_is_no_number(mode):
    x = np.array([1.0, 3.0, 2.0, 3.0, 3.0])
    for f in (largest, largest_first):
        np.testing.assert_array_equal(grad(f, mode=mode)(x), [0, 0.25, 0, 0.25, 0.5])
        np.testing.assert_array_equal(jvp(f, (x,), (np.arange(5.0),), mode=mode)[1], 3.0)
        np.testing.assert_array_equal(hessian(f, mode=mode)(x), np.zeros((5, 5)))
        assert grad(f, mode=mode)(np.zeros(0)).shape == (0,)
    for x in ([np.nan, 2.0], [2.0, np.nan], [1.0, np.nan, 2.0], [np.nan]):
        for f in (largest, largest_first):
            value, x_bar = value_and_grad(f, mode=mode)(np.array(x))
            np.testing.assert_array_equal(value, f(np.array(x)))         # Python's `max` takes what is not below
            np.testing.assert_array_equal(x_bar[~np.isnan(x)], np.equal(x, value)[~np.isnan(x)])
