"""What a loop adds to neighbouring places waits in rows, and is added where all of it meets."""

import random

import numpy as np
import pytest

from autodiff import value_and_grad

from .support import assert_gradient, program_beside_python, random_tests, with_places_checked

RANGES = [("range(2, n - 2)", -2, 2), ("range(1, n - 1)", -1, 1), ("range(n - 3)", 0, 3), ("range(3, n)", -3, 0),
          ("range(n - 3, 1, -1)", -2, 2), ("range(n - 1, 2, -1)", -3, 0), ("range(-1, n - 4)", 1, 4),
          ("range(k, n - 2)", -1, 2), ("range(n)", None, None), ("range(2, n - 2, 2)", -2, 2),
          ("range(2, min(n - 2, m))", -2, 2)]
TERMS = ["{a}", "2.0 * {a}", "-{a}", "{a} * {b}", "np.sin({a})", "{a} * w[i % n]", "0.3 * {a} * {a}"]
USES = ["s += 0.1 * ({e})", "y[i] = {e}\ns += 0.1 * y[i] * w[i % n]", "d = {e}\ns += 0.1 * np.sin(d)",
        "d = {e}\nif d > 0.4:\n    s += d", "d = {e}\ny[i] = d\nz[i] = d * d", "y[i] = {e} + 0.3 * y[i - 1]"]


def random_program(seed: int) -> str:
    """Loops that read neighbours at random distances, in one or two axes."""
    r = random.Random(seed)
    lines = ["import numpy as np", "", "def f(w, W):",
             f"    n, m, k, s = len(w), {r.choice([3, 6])}, {r.choice([1, 2])}, 0.3",
             "    x, y, z = w * 1.2, np.zeros(n), np.zeros(n)"]
    indent = "    "
    if r.random() < 0.5:
        lines.append(f"    for t in range({r.choice([1, 2, 'm'])}):")
        indent += "    "
    for _ in range(r.randint(1, 2)):
        head, low, high = r.choice(RANGES)
        rows = r.random() < 0.4

        def read(low=low, high=high, rows=rows):
            name = r.choice(["x", "x", "w"])
            if low is None:
                place = f"(i + {r.randint(-3, 3)}) % n"
            else:
                offset = r.randint(low, high)
                place = "i" if offset == 0 else f"i {'+' if offset > 0 else '-'} {abs(offset)}"
            return f"W[j, {place}]" if rows else f"{name}[{place}]"
        parts = [r.choice(TERMS).format(a=read(), b=read()) for _ in range(r.randint(2, 5))]
        lines += [indent + "for j in range(n):"] if rows else []
        inner = indent + ("    " if rows else "")
        lines.append(f"{inner}for i in {head}:")
        use = r.choice(USES).format(e=" + ".join(parts).replace("+ -", "- "))
        lines += [f"{inner}    {line}" for line in use.split("\n")]
        lines.append(indent + r.choice(["x = x + 0.1 * y", "x = np.sin(y) + w", "x[1:] = np.sin(y[:-1]) * w[1:]",
                                        "s += 0.1 * np.sum(z)"]))
    return "\n".join([*lines, "    return s + np.sum(x * w) + 0.1 * np.sum(W * W)"])


def differs(seed: int, mode: str, sizes=(3, 4, 5, 7)) -> str:
    return program_beside_python(random_program(seed), seed, mode, [((n,), (n, n)) for n in sizes], (IndexError, ValueError))


test_random_loops, test_compiled = random_tests(differs, 120, (5000, 5001, 5002), unwritten=True)


def third_order(u, c):
    """An upwind scheme that reads four places."""
    d = np.zeros(len(u))
    for i in range(2, len(u) - 1):
        d[i] = c * (2.0 * u[i + 1] + 3.0 * u[i] - 6.0 * u[i - 1] + u[i - 2])
    return np.sum(d * d)


@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize("n", [3, 4, 5, 6, 9])
def test_rows_meet_in_one_loop(n, mode):
    u = np.linspace(0.1, 0.9, n) ** 2
    assert_gradient(third_order, (u, 0.7), (0, 1), mode)
    gradient = value_and_grad(third_order, wrt=(0, 1), mode=mode)
    gradient(u, 0.7)
    assert "u_bar[i] += u_bar_row[i + 2] + u_bar_row[i - 1] * 2.0 - u_bar_row[i + 1] * 6.0" in gradient.source


def two_lengths(u, v, p):
    """Places of two arrays, one of which ends sooner, from an index on that may be below 0."""
    d = np.zeros(len(u))
    for i in range(p, len(v) - 3):
        d[i + 1] = np.sin(v[i + 1]) * v[i + 3] + u[i + 4] * u[i + 1]
    return np.sum(d * d)


def test_rows_are_as_long_as_what_they_are_added_to(monkeypatch):
    with_places_checked(monkeypatch)
    u, v = np.linspace(0.1, 0.9, 9), np.linspace(0.8, 0.3, 7)
    for p in (-1, 0, 2):
        assert_gradient(two_lengths, (u, v, p), (0, 1), "python")
