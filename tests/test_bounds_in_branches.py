"""What a branch's condition says of an index is known in the branch, and only there."""

import random

import numpy as np
import pytest

from autodiff import check_grads, value_and_grad
from autodiff.runtime.machine_code import store

from .support import OutOfPlace, program_beside_python, with_places_checked

CONDITIONS = [
    "i > 0", "i >= 1", "i < n - 1", "i != 0", "i == 0", "i + 1 < len(y)", "0 < i < n - 1", "i > 0 and x[i - 1] > 0.5",
    "not i == n - 1", "i > 0 or x[i] > 0.5", "n > 2", "n <= 2", "i % 2 == 0", "i >= n - 1 or x[i + 1] > 0.5", "i < len(x)",
    "i == n - 1", "not (i < 1 or i > n - 2)", "i > 0 and i < len(y) and y[i] > 0.3", "j < i", "i != n - 1", "k < 3",
    "1 != i", "i <= j", "n - i > 1", "2 * i < n", "i > 0 and not i > n - 2", "len(y) >= 2", "(i > 0) == (n > 2)",
    "len(x) < len(y)", "i", "not i", "(i > 0 if n > 2 else i > 1)", "i is not None and i > 0", "n - 1 != i", "k != 0",
    "i - j > 0"]
PLACES = ["i - 1", "i + 1", "i", "i - 2", "i + 2", "0", "1", "2", "-1", "-2", "j", "j + 1", "k", "n - 1", "n - i - 1",
          "i - j", "2 * i", "n - 2", "i // 2", "(i + 1) % n", "p", "p", "p - 1", "p + 1", "max(i - 1, 0)",
          "min(p + 1, n - 1)"]
LOOPS = ["for i in range(n):", "for i in range(len(y)):", "for i in range(1, n):", "for i in range(n - 1, -1, -1):",
         "for i in range(3):", "for i, v in enumerate(x):"]


def step(r, indent: str, depth: int) -> list:
    """Some statements that read and write places that may be there."""
    def place():
        return f"{r.choice('xy')}[{r.choice(PLACES)}]"

    def block():
        return step(r, indent + "    ", depth - 1) if depth else [f"{indent}    s += {place()} * 0.3"]
    kind = r.randrange(10 if depth else 4)
    condition = r.choice(CONDITIONS)
    match kind:
        case 0:
            return [f"{indent}s += {place()} * {place()}"]
        case 1:
            return [f"{indent}{place()} = 0.5 * {place()} + 0.1 * s"]
        case 2:
            return [f"{indent}p = {r.choice(PLACES)} if {condition} else {r.choice(PLACES)}",
                    f"{indent}s += {place()} if {condition} else 0.3 * {place()}"]
        case 3:
            return [f"{indent}{place()} += 0.3 * {place()}", f"{indent}k += 1"]
        case 4 | 5:
            return [f"{indent}if {condition}:", *block(), f"{indent}else:", *block()]
        case 6:
            return [f"{indent}if {condition}:", *block(), f"{indent}elif {r.choice(CONDITIONS)}:", *block()]
        case 7:
            return [f"{indent}if {condition}:", f"{indent}    p = {r.choice(PLACES)}", *block(), f"{indent}else:",
                    f"{indent}    p, k = {r.choice(PLACES)}, k + 1", f"{indent}x[p] += 0.1 * s"]
        case 8:
            return [f"{indent}if {condition}:", f"{indent}    continue", *step(r, indent, depth - 1)]
        case _:
            return [f"{indent}for j in range({r.choice(['i', 'n', '2', 'i + 1'])}):", *block()]


def random_program(seed: int) -> str:
    """Loops with branches at the borders of arrays."""
    r = random.Random(seed)
    lines = ["import numpy as np", "", "def f(x, y):", "    n, s, j, k, p = len(x), 0.1, 1, 0, 0"]
    for _ in range(r.randint(1, 2)):
        lines.append("    " + r.choice(LOOPS))
        for _ in range(r.randint(1, 2)):
            lines += step(r, "        ", 2)
    return "\n".join([*lines, "    return s + np.sum(x) + 0.3 * np.sum(y * y)"])


def differs(seed: int, mode: str) -> str:
    """What is wrong with a random program's value, gradient or error, for several lengths."""
    r = random.Random(seed)
    lengths = [((n := r.choice([1, 2, 3, 5])), r.choice([n, n, n, n + 1, max(n - 1, 1)])) for _ in range(4)]
    return program_beside_python(random_program(seed), seed, mode, lengths, (IndexError, ZeroDivisionError))


@pytest.mark.filterwarnings("ignore:the gradient of")
@pytest.mark.parametrize("start", range(0, 60, 15))
def test_random_branches(start, monkeypatch):
    with_places_checked(monkeypatch)
    for seed in range(start, start + 15):
        assert not (wrong := differs(seed, "python")), wrong


def relaxed(u, f, steps):
    """A string whose ends are not held."""
    n = len(u)
    for _ in range(steps):
        d = np.zeros(n)
        for i in range(n):
            left = u[i - 1] if i > 0 else u[i]
            if i == n - 1:
                right = u[i]
            else:
                right = u[i + 1]
            d[i] = left - 2.0 * u[i] + right + f[i] - u[i] ** 3
        u = u + 0.1 * d
    return np.sum(u * u)


def test_ends_of_a_string():
    """Neither end needs a check, nor the other places; the middle has a loop without branches."""
    r = np.random.default_rng(0)
    for n in (1, 2, 3, 40):
        check_grads(relaxed, (r.random(n), r.random(n), 3), wrt=(0, 1), mode="python")
    gradient = value_and_grad(relaxed, wrt=(0, 1), mode="python")
    gradient(r.random(5), r.random(5), 2)
    assert "wrap_index" not in gradient.source
    with pytest.raises(IndexError):
        gradient(r.random(5), r.random(4), 2)


def far(x, k):
    """The place before a place that is not the first."""
    return x[k - 1] * x[k] if k > 0 else x[k]


def sum_far(x):
    """As a function is called with a condition known, and without."""
    s = 0.0
    for i in range(len(x)):
        s += far(x, i) * x[i]
        if i > 0:
            s += far(x, i - 1)
    return s + far(x, len(x) - 1)


def test_helper_with_a_condition():
    x = np.random.default_rng(0).random(6)
    check_grads(sum_far, (x,), mode="python")
    gradient = value_and_grad(sum_far, mode="python")
    gradient(x)
    assert "wrap_index" not in gradient.source


INSIDE = ["i > 0", "i < n - 1", "j > 0", "j < m - 1", "i >= 1 and j >= 1", "i + 1 < n", "i > 1", "i < n - 2", "j + 2 < m",
          "0 <= i + a < n", "0 <= j - a < m", "0 <= i + a < n and 0 <= j + b < m", "not (i == 0 or j == 0)", "i - a >= 0",
          "j >= 2", "i < 3", "i > n - 4", "i != j", "j == m - 1", "i * 2 < n", "a > 0", "i + j < n", "i - j >= 0", "n > 2"]
SHIFTS = [("i - 1", "j"), ("i + 1", "j"), ("i", "j - 1"), ("i", "j + 1"), ("i", "j"), ("i + a", "j"), ("i", "j - a"),
          ("i + a", "j + b"), ("i - 2", "j"), ("i", "j + 2"), ("i - a", "j"), ("n - 1 - i", "j"), ("i - 1", "j - 1")]


def random_stencil(seed: int) -> str:
    """Loops over a grid, in which each place collects from those of its neighbours that are there."""
    r = random.Random(seed)

    def term(indent):
        condition, (i, j) = r.choice(INSIDE), r.choice(SHIFTS)
        what = f"w[{r.randrange(3)}] * {r.choice('uq')}[{i}, {j}]"
        if r.random() < 0.3:
            return [f"{indent}s += {what} if {condition} else 0.2 * u[i, j]"]
        other = [f"{indent}else:", f"{indent}    s -= 0.1 * q[i, j]"] if r.random() < 0.3 else []
        return [f"{indent}if {condition}:", f"{indent}    s += {what}", *other]
    lines = ["import numpy as np", "", "def f(u, q, w):", "    n, m = u.shape", "    total = 0.0"]
    for _ in range(r.randint(1, 2)):
        lines += ["    d = np.zeros((n, m))"] if r.random() < 0.7 else ["    d = q.copy()"]
        lines += ["    for i in range(n):", f"        for j in range({r.choice(['m', 'm', 'm - 1', 'i'])}):",
                  "            s = 0.0", f"            for a in range({r.choice(['-1, 2', '2', '1', '-2, 1'])}):"]
        indent = "                "
        if r.random() < 0.5:
            lines.append(f"{indent}for b in range({r.choice(['-1, 2', '2'])}):")
            indent += "    "
        else:
            lines.append(f"{indent}b = a")
        for _ in range(r.randint(1, 3)):
            lines += term(indent)
        if r.random() < 0.5:
            lines += term("            ")
        lines.append("            " + r.choice(["d[i, j] = s", "d[i, j] = np.sin(s)", "d[i, j] += s * u[i, j]",
                                                "total += s * s"]))
        lines.append("    " + r.choice(["u = u + 0.1 * d", "total += np.sum(d * d)", "q[:] = d", "u = d"]))
    return "\n".join([*lines, "    return total + np.sum(u * u) + np.sum(q)"])


def stencil_differs(seed: int, mode: str) -> str:
    """The same of a random stencil."""
    r = random.Random(seed)
    shapes = [(r.choice([1, 2, 3, 4, 6]), r.choice([1, 2, 4, 5])) for _ in range(3)]
    return program_beside_python(random_stencil(seed), seed, mode, [(shape, shape, 3) for shape in shapes])


@pytest.mark.filterwarnings("ignore:the gradient of")
@pytest.mark.parametrize("start", range(0, 40, 10))
def test_random_stencils(start, monkeypatch):
    with_places_checked(monkeypatch)
    for seed in range(start, start + 10):
        assert not (wrong := stencil_differs(seed, "python")), wrong


def spread(u, k):
    """Each place of a grid takes from those of its four neighbours that it has."""
    n, m = u.shape
    for _ in range(2):
        out = np.zeros((n, m))
        for i in range(n):
            for j in range(m):
                s = 0.0
                if i > 0:
                    s += u[i - 1, j] - u[i, j]
                if i < n - 1:
                    s += u[i + 1, j] - u[i, j]
                if j > 0 and k[i, j] > 0.1:
                    s += u[i, j - 1] - u[i, j]
                if j + 1 < m:
                    s += u[i, j + 1] - u[i, j]
                out[i, j] = k[i, j] * s
        u = u + out
    return np.sum(u ** 2)


def test_middle_of_a_grid():
    """The rows and columns in the middle have no branches but those on values."""
    r = np.random.default_rng(0)
    for shape in ((1, 1), (1, 5), (2, 1), (2, 2), (3, 4), (12, 9)):
        check_grads(spread, (r.random(shape), r.random(shape)), wrt=(0, 1), mode="python")
    gradient = value_and_grad(spread, wrt=(0, 1), mode="python")
    gradient(r.random((4, 5)), r.random((4, 5)))
    middle = gradient.source.split("for j in range(1, m - 1):")[1].split("for ")[0]
    branches = [line for line in map(str.strip, middle.splitlines()) if line.startswith("if ")]
    assert len(branches) == 1 and branches[0].endswith(" > 0.1:")


def test_places_are_checked(monkeypatch):
    """What the random tests rely on: a place before an array, which NumPy takes for one at its end."""
    with_places_checked(monkeypatch)
    space = {"x": np.ones(3), "place": 2}
    exec(store.compile("y = x[place]", "f", "exec"), space)
    assert space["y"] == 1.0
    for text in ("y = x[-1]", "y = x[place + 1]", "x[place - 3] = 0.0"):
        with pytest.raises(OutOfPlace):
            exec(store.compile(text, "f", "exec"), space)
