"""Loops that are distributed over several, so that functions run in loops without an order, against Python."""

import random

import numpy as np
import pytest

from autodiff import differentiable, hvp, jvp, value_and_grad
from autodiff.transforms.optimise import loop_distribution

from .support import assert_gradient, from_text

N = 11
HEADS = ("for i in range(n):", "for i in range(n - 1, -1, -1):", "for i in range(1, n - 1):",
         "for i in range(n - 2, 0, -1):")
FUNCTIONS = ("np.exp(-0.3 * {})", "np.log(30.0 + {} * {})", "np.sin({})", "np.tanh({}) * 0.5", "np.cos({} - {})")
READS = ("x[i]", "a", "b", "x[i - 1]", "c", "0.7", "i * 0.1", "w[i]", "x[i] * x[i]")
STATEMENTS = ("a = 0.5 * a + {}", "b = {}", "b = 0.3 * b - 0.2 * a + {}", "total += {}", "other = other + {}", "total -= {}",
              "c = {}", "y[i] = {}", "y[i] += {}", "w[i] = {}", "z[0] += {}",
              "z[0] = {}", "w[2] = {}", "y[i] = y[i - 1] * 0.5 + {}", "k += 1.0",
              "a, b = b, a + {}", "s32 += {}")


def expression(draw):
    def part():
        text = draw.choice(FUNCTIONS) if draw.random() < 0.5 else draw.choice(("{}", "{} * {}", "{} + {}", "{} - 0.1 * {}"))
        return text.format(*(draw.choice(READS) for _ in range(2)))
    return f"{part()} * {part()}" if draw.random() < 0.3 else part()


def program(draw) -> str:
    lines = [draw.choice(STATEMENTS).format(expression(draw)) for _ in range(draw.randrange(2, 6))]
    loops = [draw.choice(HEADS), *(f"    {line}" for line in lines)]
    return "\n    ".join(["import numpy as np\ndef f(x):", "n = len(x)", "a = x[0]; b = x[1] * 0.5; c = x[2]; k = s32 = 0.0",
                          "total = 0.0; other = x[3]; y = x * 1.0; w = np.cos(x); z = np.zeros(1)", *loops,
                          "return total + 0.3 * other + a * b + c + k + s32 + z[0] + y @ np.arange(n) + np.sum(w * w)"])


def check(text: str, x) -> bool:
    """Whether the gradient has a loop in blocks; it is compared with Python and central differences."""
    f = from_text(f"<{text}>", text)
    derived = value_and_grad(f, mode="python")
    value, slope = derived(x)
    np.testing.assert_allclose(value, f(x), rtol=1e-12)
    d = np.cos(np.arange(len(x)))
    moved = (f(x + 1e-6 * d) - f(x - 1e-6 * d)) / 2e-6
    np.testing.assert_allclose(slope @ d, moved, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(jvp(f, (x,), (d,), mode="python")[1], moved, rtol=2e-5, atol=2e-6)
    return "block" in derived.source


@pytest.fixture
def short_blocks(monkeypatch):
    monkeypatch.setattr(loop_distribution, "BLOCK", 4)


def test_random_loops(short_blocks):
    draw = random.Random(3)
    x = np.random.default_rng(2).uniform(-1, 1, N)
    distributed = sum(check(program(draw), x) for _ in range(90))
    assert distributed > 15


@pytest.mark.parametrize("n", [0, 1, 3, 4, 5, 8])
def test_ends_of_blocks(n, short_blocks):
    def f(x):
        s, total = 0.5, 0.0
        for i in range(len(x)):
            total += np.log(s) * np.exp(x[i])
            s = 0.5 * s + 0.1 * x[i] ** 2 + 0.3
        return total
    x = np.linspace(0.5, 1.5, n)
    value, slope = value_and_grad(f, mode="python")(x)
    assert value == pytest.approx(f(x), rel=1e-13)
    moved = [(f(x + e) - f(x - e)) / 2e-6 for e in 1e-6 * np.eye(n)]
    np.testing.assert_allclose(slope, np.reshape(moved, n), rtol=1e-6)


@pytest.mark.parametrize("n", [7, 256, 700])
def test_compiled(n):
    def f(p, r):
        s, total = p[0], 0.0
        for t in range(len(r)):
            total += np.log(s) + r[t] ** 2 / s
            s = p[0] + p[1] * r[t] ** 2 + p[2] * s
        return 0.5 * total
    p, r = np.array([0.1, 0.1, 0.8]), np.random.default_rng(0).standard_normal(n)
    derived = value_and_grad(f)
    value, slope = derived(p, r)
    assert "for block in range(0, r_size, 256):" in derived.source
    assert value == pytest.approx(f(p, r), rel=1e-13)
    moved = [(f(p + e, r) - f(p - e, r)) / 2e-6 for e in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(slope, moved, rtol=1e-5)
    turned = hvp(f)(p, r, np.ones(3))
    ahead, behind = (value_and_grad(f, mode="python")(p + e, r)[1] for e in (1e-6, -1e-6))
    np.testing.assert_allclose(turned, (ahead - behind) / 2e-6, rtol=1e-5)


@pytest.mark.parametrize("body", [
    "total += x[i] * x[i]",                                       # no function
    "s = np.exp(-s) + x[i]",                                      # the recurrence itself
    "s = 0.5 * s + x[i]\n        if s > 9.0: break\n        total += np.log(2.0 + s * s)"])
def test_loops_that_stay_as_they_are(body):
    f = from_text(f"<{body}>", "import numpy as np\ndef f(x):\n    s = total = 0.0\n    for i in range(len(x)):\n"
                  f"        {body}\n    return s + total\n")
    value = differentiable(f, mode="python")
    assert value(np.ones(5)) == f(np.ones(5)) and "block" not in value.source


def test_loops_over_the_iterations_of_a_while_stay_as_they_are():
    def f(x):
        v = x
        while abs(v * v - x) > 1e-12:
            v = 0.5 * (v + x / v) + 0.0 * np.sin(v)
        return v
    derived = value_and_grad(f, mode="python")
    assert derived(2.0)[1] == pytest.approx(0.5 / np.sqrt(2.0))
    assert "block" not in derived.source


def test_short_loops_of_known_length_stay_as_they_are():
    def f(x):
        y = 0.0
        for i in range(4):
            y = y * x + np.cos(i * x)
        return y
    derived = value_and_grad(f, mode="python")
    assert derived(0.7)[0] == pytest.approx(f(0.7)) and "block" not in derived.source


def pairs(x, c):
    s = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            if j != i:
                s += np.exp(-np.abs(x[j] - x[i]))
    return s


def chosen(x, c):
    s = 0.0
    for i in range(len(x)):
        for j in range(c[i]):
            s += np.exp(-x[c[j]] * x[i])
    return s


def columns(x, c):
    s, m = 0.0, np.outer(x, x)
    for i in range(len(x)):
        for j in range(len(x)):
            s += np.exp(-m[j, i])
    return s


def in_a_box(x, c):
    """A quotient by a number that is no array's: it is one of an array's, so that it does not end in ZeroDivisionError."""
    s, box = 0.0, 0.7 * c[1]
    for i in range(len(x)):
        for j in range(len(x)):
            if j != i:
                d = x[j] - x[i]
                s += np.exp(-np.abs(d - box * np.round(d / box)))
    return s


@pytest.mark.parametrize("f, apart", [(pairs, True), (in_a_box, True), (chosen, False), (columns, False)])
def test_loops_inside_others(f, apart):
    """Where LLVM reads one number after the other, there is nothing to gain."""
    x, c = np.linspace(0.2, 0.9, 7), np.array([1, 3, 5, 0, 2, 6, 4])
    assert_gradient(f, (x, c), (0,), "python")
    derived = value_and_grad(f, wrt=0, mode="python")
    derived(x, c)
    assert ("for block in" in derived.source) == apart
