"""Loops over ranges that the data, or the iterations around, give: their places are checked once, before each of them."""

import random

import numpy as np
import pytest

from autodiff import value_and_grad

from .support import assert_gradient, beside_python, from_text, random_tests, some_positions

RANGES = ["range(p[i], p[i + 1])", "range(p[i], p[i + 1])", "range(a, b)", "range(off, off + 3)", "range(b - 1, a - 1, -1)",
          "range(m)", "range(i, n)", "range(0, b, 2)", "range(p[i + 1], p[i])", "range(n // step)",
          "range(max(a, 0), min(b, n))"]
PLACES = ["q", "q", "q", "off + q", "q - a", "n - 1 - q", "q * step", "(2 * q + 1) * step", "a + 2 * q", "q + 1", "q - 1",
          "q * a", "q * q", "b - q", "off * q + i", "c[q]", "q // 2", "q % n", "i * step + q", "(q + off) * (i + 1)"]
BODY = ["s += x[{0}] * y[{1}]", "x[{0}] += 0.1 * y[{1}]", "if q < n - 1:\n    s += x[{0}] ** 2", "s += x[{0}] * W[i, {1}]",
        "for k in range(a, q):\n    s += x[k] * y[{0}]", "if y[{0}] > 0.8:\n    break\ns += x[{1}]",
        "x[{0}] = 0.9 * x[{0}] + 0.1 * s", "if x[i] > 0.4:\n    s += y[{0}] * x[{1}]", "W[{0}, {1}] += 0.1 * x[i]"]
BETWEEN = ["", "", "step *= 2", "off += 1", "off += m", "a, b = p[i], p[i + 1]", "b = min(b, n)", "m = n - i"]


def random_program(seed: int) -> str:
    r = random.Random(seed)
    lines = ["import numpy as np", "", "def f(x, y, W, p, c):", "    n, s, step, off, m = len(x), 0.1, 1, 0, 2",
             f"    for i in {r.choice(['range(len(p) - 1)', 'range(len(p) - 1)', 'range(2)'])}:",
             "        a, b = p[i], p[i + 1]"]
    for _ in range(r.randint(1, 3)):
        places = r.choice(PLACES), r.choice(PLACES)
        parts = [f"for q in {r.choice(RANGES)}:\n    " + r.choice(BODY).format(*places).replace("\n", "\n    ")]
        parts.insert(r.randrange(2), r.choice(BETWEEN))
        lines += ["        " + line for part in parts for line in part.split("\n") if line]
    return "\n".join([*lines, "    return s + np.sum(x * x) + 0.3 * np.sum(W)"])


def differs(seed: int, mode: str) -> str:
    text, wrt = random_program(seed), some_positions(seed, 3)
    f, gradient = from_text("f", text), value_and_grad(from_text("f", text), wrt=wrt, mode=mode)
    r = np.random.default_rng(seed)
    for n, rows, low, high in ((6, 3, 0, 6), (5, 2, 0, 3), (4, 3, -2, 5), (7, 2, 0, 9), (12, 3, 0, 4)):
        p = r.integers(low, high + 1, rows + 1)
        p = np.sort(p) if r.random() < 0.7 else p
        args = r.uniform(0.2, 0.9, n), r.uniform(0.2, 0.9, n), r.uniform(0.2, 0.9, (n, n))
        if wrong := beside_python(f, gradient, args, (p, r.integers(0, n, n)), (IndexError, ZeroDivisionError), wrt):
            return f"{text}\n{args}, {p}: {wrong}"
    return ""


test_random_loops, test_compiled = random_tests(differs, 60, (1000, 1001, 1002))


def sparse(data, x, indptr, indices):
    s = 0.0
    for i in range(len(indptr) - 1):
        t = 0.0
        for q in range(indptr[i], indptr[i + 1]):
            t += data[q] * x[indices[q]]
        s += t * t
    return s


def lifted(x, levels):
    """Steps of a wavelet in place, with places that are products."""
    y, step = x.copy(), 1
    for _ in range(levels):
        for i in range(len(x) // (2 * step)):
            y[(2 * i + 1) * step] -= 0.5 * y[2 * i * step]
        step *= 2
    return np.sum(y * y)


@pytest.mark.parametrize(("function", "args", "wrt"), [
    (sparse, (np.linspace(0.1, 0.9, 7), np.linspace(0.5, 0.7, 4), np.array([0, 3, 3, 7]),
              np.array([0, 1, 3, 0, 1, 2, 3])), (0, 1)),
    (lifted, (np.linspace(0.1, 0.9, 8), 3), (0,))])
def test_checks_stand_before_the_loops(function, args, wrt):
    assert_gradient(function, args, wrt, "python")
    gradient = value_and_grad(function, wrt=wrt, mode="python")
    gradient(*args)
    inner = gradient.source.partition("for q in" if function is sparse else "for i in range(n // m")[2]
    assert "data[q]" in gradient.source if function is sparse else "wrap_index" not in inner


def at_factor(x, p):
    s = 0.0
    for _ in range(1):
        m = p[0]
        for i in range(p[1]):
            s += x[i * m]
    return s


def at_offset(x, m):
    s = 0.0
    for i in range(3):
        s += x[i + m]
    return s


def at_power(x, q):
    """A place that is a power of a power, and so on: each product has two factors that are one number."""
    s = 0.0
    for i in range(2):
        m = q + i
        for _ in range(24):
            m = m * m
        for k in range(2):
            s += x[m * k]
    return s


@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize(("function", "more"), [
    (at_factor, np.array([2 ** 60, 17])), (at_offset, np.int64(2 ** 63 - 1)), (at_offset, 2 ** 60), (at_offset, -2 ** 60)])
def test_what_64_bits_do_not_hold_is_out_of_range(function, more, mode):
    gradient = value_and_grad(function, mode=mode)
    with pytest.raises(IndexError, match="is out of bounds"):
        gradient(np.arange(8.0), more)


def test_powers_of_powers():
    assert value_and_grad(at_power, mode="python")(np.arange(8.0), 0)[0] == 1.0
