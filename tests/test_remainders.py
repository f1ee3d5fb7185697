"""Places on a ring, `x[(i + 1) % n]`, and places that count from the end, `x[i - 1]`: Python's, without divisions."""

import random

import numpy as np
import pytest

from autodiff import value_and_grad
from autodiff.transforms.optimise.remainders import without_remainders

from .pictures import Reader, body_of
from .support import assert_gradient, from_text, outcome


def advected(u, c, steps):
    n = u.shape[0]
    for _ in range(steps):
        new = np.empty(n)
        for i in range(n):
            new[i] = u[i] - c * (u[i] - u[i - 1]) + 0.1 * u[(i + 1) % n] * u[(i - 2) % n]
        u = new
    return np.sum(u * u)


def neighbours(x):
    n, m = x.shape
    s = 0.0
    for i in range(n):
        for j in range(m):
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    if di != 0 or dj != 0:
                        s += x[(i + di) % n, (j + dj) % m] ** 2 * x[i, j]
    return s


def circular(x, k):
    n = len(x)
    y = np.zeros(n)
    for i in range(n):
        for j in range(n):
            y[i] += x[(i - j) % n] * k[(i + j) % n]
    return np.sum(y ** 2)


RING = np.random.default_rng(5).random(9) + 0.2


@pytest.mark.parametrize("f, arguments", [(lambda u: advected(u, 0.3, 3), (RING,)), (neighbours, (RING.reshape(3, 3),)),
                                          (circular, (RING, RING[::-1].copy()))])
def test_no_division_is_left_where_all_are_near(f, arguments):
    made = value_and_grad(f, wrt=tuple(range(len(arguments))), mode="python")
    np.testing.assert_allclose(made(*arguments)[0], f(*arguments), rtol=1e-14)
    assert_gradient(f, arguments, tuple(range(len(arguments))), "python")
    lines = [line for line in made.source.splitlines() if "#" not in line]
    assert not any("wrap_index" in line or " % " in line.split(" >= 0 else ")[0] for line in lines)


@pytest.mark.parametrize("place, told", [
    ("(i + 1) % n", "v if v < n else 0"), ("(i - 1) % n", "v if v >= 0 else n - 1"), ("(i + n - 1) % n", "v if v < n"),
    ("i % n", "y[i] = x[i]"), ("(i - 2) % n", "v if v >= 0 else v % n"), ("(7 * i) % n", "7 * i % n"),
    ("(i + 9) % n", "% n")])
def test_what_becomes_of_a_place(place, told):
    text = body_of(without_remainders(Reader(f"for i in range(n):\n    v = {place}\n    y[i] = x[v]").program), False)
    assert told in text.replace("v_1", "v"), text


PLACES = ["(i + {c}) % n", "(i - {c}) % n", "({c} - i) % n", "(i + j) % n", "(i - j) % n", "(2 * i + {c}) % n", "i - {c}",
          "i - j", "-i", "i % n", "(n - i) % n", "(i + p[j]) % n", "(i + {c}) % 3", "j - {c}", "(j - i - {c}) % n",
          "(i + n - {c}) % n", "i - n", "i - n + {c}", "(i - {c}) % -3", "(i + {c}) % (n - 9)", "i % -n",
          "(i - {c}) % (n - 3)"]
LOOPS = ["range(n)", "range({c}, n)", "range(n - 1)", "range(n - 1, -1, -1)", "range(0, n, 2)", "range(n + {c})", "range(3)",
         "range(-1, 2)", "range({c}, -1, -1)", "range(m)"]


def random_program(seed: int) -> str:
    """Two loops over places of several kinds, whose sums and arrays are in the result."""
    r = random.Random(seed)

    def place():
        return r.choice(PLACES).format(c=r.randint(0, 3))
    lines = ["import numpy as np", "", "def f(x, p):", "    n, m = x.shape[0], p.shape[0]", "    y, s = x * 0.5, 0.0"]
    for _ in range(r.randint(1, 2)):
        lines += [f"    for i in {r.choice(LOOPS).format(c=r.randint(0, 2))}:",
                  f"        for j in {r.choice(LOOPS).format(c=r.randint(0, 2))}:"]
        for _ in range(r.randint(1, 3)):
            lines.append(r.choice([
                f"            s += x[{place()}] * y[{place()}]", f"            y[{place()}] = x[{place()}] * x[{place()}]",
                f"            y[{place()}] += 0.5 * x[{place()}]",
                f"            if i != {r.randint(0, 2)} or j != 1:\n                s += x[{place()}] ** 2"]))
    return "\n".join([*lines, "    return s + np.sum(y * y)"])


@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize("n", [-4, -3, -2, -1, 1, 2, 4])
def test_divisors_below_zero(n, mode):
    def ring(x, n):
        s = 0.0
        for i in range(n + 5):
            s += x[(i - 1) % n] * ((i + 1) % n) + x[0] * ((i - 1) % -3) - x[1] * ((2 - i) % n)
        return s
    x = np.array([1.0, 2.0, 4.0, 8.0])
    value, gradient = value_and_grad(ring, mode=mode)(x, n)
    assert value == ring(x, n)
    np.testing.assert_array_equal(gradient, [ring(e, n) for e in np.eye(4)])


ERRORS = (IndexError, ZeroDivisionError)            # that a program may raise


def differs(seed: int, mode: str) -> str:
    """What is wrong with a random program's value or gradient, for arrays of several sizes."""
    text = random_program(seed)
    f = from_text("f", text)
    gradient = value_and_grad(f, mode=mode)
    for n in (random.Random(seed).sample(range(8), 3)):
        x, p = np.linspace(0.5, 1.2, n), np.random.default_rng(seed).integers(-2, 3, 4)
        value, found = outcome(f, x.copy(), p), outcome(gradient, x.copy(), p)
        if isinstance(value, Exception) or isinstance(found, Exception):
            both = isinstance(value, ERRORS) and isinstance(found, ERRORS)
            if not both or n and not isinstance(found, type(value)):    # of n = 0, which of two errors is first may differ
                return f"{text}\nn = {n}: {found} for {value}"
            continue
        steps = 1e-6 * np.eye(n)
        expected = [(f(x + h, p) - f(x - h, p)) / 2e-6 for h in steps]
        if not (np.allclose(found[0], value, rtol=1e-13) and np.allclose(found[1], expected, rtol=1e-4, atol=1e-5)):
            return f"{text}\nn = {n}: {found} for {value}, {expected}"
    return ""


@pytest.mark.parametrize("start", range(0, 90, 30))
def test_random_places(start):
    for seed in range(start, start + 30):
        assert not (wrong := differs(seed, "python")), wrong


@pytest.mark.parametrize("seed", range(200, 208))
def test_random_places_compiled(seed):
    assert not (wrong := differs(seed, "numba")), wrong
