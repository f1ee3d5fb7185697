"""Arrays that change their length in a loop of a known, moderate number of iterations: it stays a loop."""

import random

import numpy as np
import pytest

import autodiff as ad

from .short_programs import compared, function_of
from .support import assert_gradient


def american(sigma, strike, n=30):
    """An American option by a binomial tree, its arrays shorter in each step."""
    h = 1.0 / n
    u = np.exp(sigma * np.sqrt(h))
    d = 1.0 / u
    p = (np.exp(0.03 * h) - d) / (u - d)
    prices = 100.0 * u ** np.arange(n, -1, -1) * d ** np.arange(0, n + 1)
    values = np.maximum(strike - prices, 0)
    for i in reversed(range(n)):
        values = np.exp(-0.03 * h) * (p * values[:-1] + (1 - p) * values[1:])
        prices = prices[:-1] * d
        values = np.maximum(values, strike - prices)
    return values[0]


def neville(x, n=12):
    points = np.linspace(0.0, 1.0, n)
    p = np.exp(points * x)
    for m in range(1, n):
        p = ((0.3 - points[m:]) * p[:-1] + (points[:-m] - 0.3) * p[1:]) / (points[:-m] - points[m:])
    return p[0]


def growing(x):
    a = np.array([x, x * x])
    for k in range(10):
        a = np.concatenate((a * 0.9, np.sin(a[-1:]) + k))
    return np.sum(a * np.arange(a.size))


def rows(x):
    """Whole rows of a matrix, and how many are left."""
    m = np.outer(np.linspace(0.5, 1.5, 15), np.array([x, 1.0, x * x]))
    s = 0.0
    for _ in range(12):
        m = 0.5 * (m[1:] + m[:-1]) * x
        s += len(m) * m[0, 2]
    return s + m.sum()


LOOPS = {"american": (american, (0.2, 105.0)), "neville": (neville, (0.4,)), "growing": (growing, (0.3,)),
         "rows": (rows, (0.7,))}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_stay_loops(name):
    f, args = LOOPS[name]
    assert_gradient(f, args, tuple(range(len(args))), "python")
    made = ad.grad(f, mode="python")
    made(*args)
    assert made.source.count("\n") < 220


@pytest.mark.parametrize("name", ["american", "rows"])
def test_compiled(name):
    f, args = LOOPS[name]
    assert_gradient(f, args, tuple(range(len(args))), "numba")


def unpacked(x):
    """What follows wants the length before the program runs."""
    a = np.linspace(0.5, 1.5, 14) * x
    for _ in range(11):
        a = a[:-1] * a[1:] + 0.1
    p, q, r = a
    return p * q - r


def columns(x):
    """Not only the length changes."""
    m = np.outer(np.linspace(0.5, 1.5, 12), np.linspace(0.2, 0.9, 12)) * x
    for _ in range(10):
        m = m[1:, :-1] - 0.5 * m[:-1, 1:]
    return m.sum()


def written(x):
    a = np.linspace(0.5, 1.5, 12) * x
    for k in range(10):
        a = a[1:]
        a[0] = a[0] * a[1] + k
    return a.sum()


def reshaped(x):
    a = np.linspace(0.5, 1.5, 20) * x
    for _ in range(12):
        a = np.cos(a[2:] * a[:-2]) if a.size > 8 else a * 1.1
    return a.reshape(2, 4)[1].sum() + a.shape[0] * x


@pytest.mark.parametrize("f", [unpacked, columns, written, reshaped])
def test_loops_that_cannot_stay_are_written_out(f):
    assert_gradient(f, (0.8,), (0,), "python")


STEPS = ("a = a[1:]", "a = a[:-1] * 0.9", "a = a[::2] if k == 3 else a", "b = b[1:] - 0.5 * b[:-1]", "a = np.diff(a) + x",
         "b = np.concatenate((b, a[:1] * k))", "a = np.append(b[-1], a)", "s += a[0] * b[-1]", "s += len(a) * 0.1",
         "if k % 3 == 1: b = b[1:]", "a, b = b, a", "c = a[:3]", "s += c.sum()", "M = M[1:] + M[:-1] * 0.2", "s += M[0, 1]",
         "b = np.sin(a)", "a[0] = x * k", "if s > 4: continue", "s = s * 0.9 + np.sum(a * a) * 0.01", "b = b * 1.0",
         "a = a[a.size // 2 - 4:] if a.size > 12 else a", "L.append(a[0])", "if len(b) < 6: break",
         "M = np.vstack((M, M[:1] * s))")
ENDS = ("s + a.sum()", "s * a[0] + b.sum()", "a[-1] + len(b) * s", "s + c[0] + M.sum()", "s + sum(L)",
        "a[:4].reshape(2, 2)[1].sum()", "s + (a[:3] * b[:3]).sum()", "M[-1] @ M[0]")


def program(seed: int) -> str:
    chosen = random.Random(seed)
    steps = "\n".join(f"        {chosen.choice(STEPS)}" for _ in range(chosen.randint(2, 6)))
    return f"""def f(x):
    a = np.linspace(0.2, 1.2, {chosen.randint(16, 30)}) * x
    b, c, s, L = np.cos(a * x), a[:3], x * 0.5, [x]
    M = np.outer(np.linspace(0.5, 1.0, {chosen.randint(14, 24)}), np.array([x, 1.0, x * x]))
    for k in range({chosen.randint(9, 14)}):
{steps}
    return {chosen.choice(ENDS)}
"""


def attempt(seed: int) -> str:
    """What becomes of a program."""
    text = program(seed)
    return compared(function_of(text, f"lengths {seed}", {"np": np}), 0.7, (), text, lambda value: False)


@pytest.mark.filterwarnings("ignore::autodiff.AutodiffWarning")
def test_random_loops():
    found = [attempt(seed) for seed in range(25)]
    assert found.count("ok") > 10 and found.count("refused") < 5, found


def test_other_operators():
    f = lambda x: neville(x) * growing(x)
    assert abs(ad.hessian(f, mode="python")(0.4) - ad.jacobian(ad.grad(f, mode="python"), mode="python")(0.4)) < 1e-8
    np.testing.assert_allclose(ad.jvp(f, (0.4,), (1.0,), mode="python")[1], ad.grad(f, mode="python")(0.4), rtol=1e-12)
