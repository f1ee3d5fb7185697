"""What nests add to neighbours of a grid: rows of their own, rows that data name, other rows of the same array."""

import random

import numpy as np
import pytest

from autodiff import value_and_grad

from .support import assert_gradient, program_beside_python, random_tests, with_places_checked

OUTER = [("range(1, n - 1)", -1, 1), ("range(n - 1)", 0, 1), ("range(1, n)", -1, 0), ("range(n - 2, 0, -1)", -1, 1),
         ("range(n)", 0, 0), ("range(2, n)", -2, 0), ("range(n - 2, -1, -1)", 0, 1)]
INNER = [("range(1, m - 1)", -1, 1), ("range(m - 1)", 0, 1), ("range(1, m)", -1, 0), ("range(m - 2, 0, -1)", -1, 1),
         ("range(2, m - 2)", -2, 2), ("range(1, min(i + 2, m - 1))", -1, 1), ("range(i, m - 1)", 0, 1)]
ROWS = ["q[i]", "q[j]", "k", "0", "n - 1", "-1", "i // 2", "(i + 1) % n", "c", "n - 1 - i", "-i"]
TERMS = ["{a}", "2.0 * {a}", "-{a}", "{a} * {b}", "np.sin({a})", "{a} * w[j]", "0.3 * {a} * {a}", "w[0] * {a}"]
USES = ["s += 0.1 * ({e})", "H[i, j] = {e}", "H[i, j] += 0.2 * ({e})", "d = {e}\ns += 0.1 * np.sin(d)",
        "d = {e}\nH[i, j] = d\ns += d * d",
        "d = {e}\nif d > 0.4:\n    s += d", "d = {e}\nH[i, j] = np.sin(d)\nV[j] += d", "H[i, j] = {e} + 0.2 * H[i, j - 1]",
        "c = int(j * {a} + 9) % n\nH[i, j] = {e}"]
AFTER = ["G = G + 0.1 * H", "G, H = H, G", "G = 0.5 * H.copy()", "G[1:-1, 1:-1] = 0.5 * H[1:-1, 1:-1]", "G[:, 0] = V[0]",
         "H[0] = 0.3 * V"]


def random_program(seed: int) -> str:
    """Nests over a grid that read its neighbours, and rows that something else names."""
    r = random.Random(seed)
    lines = ["import numpy as np", "", "def f(w, W):", "    n, m = W.shape", "    k, c, s = n // 2, 0, 0.3",
             "    q = (w * 97.0).astype(np.int64) % n", "    G, H, V = W * 1.2, np.zeros((n, m)), w + 0.1"]
    indent = "    "
    if r.random() < 0.5:
        lines.append(f"    for t in range({r.choice([1, 2, 3])}):")
        indent += "    "

    def sign(name, offset):
        return name if offset == 0 else f"{name} {'+' if offset > 0 else '-'} {abs(offset)}"
    for _ in range(r.randint(1, 2)):
        (outer, up, down), (inner, left, right) = r.choice(OUTER), r.choice(INNER)
        named = r.random() < 0.4

        def read(up=up, down=down, left=left, right=right, named=named):
            row = r.choice(ROWS) if named and r.random() < 0.6 else sign("i", r.randint(up, down))
            return f"{r.choice('GGW')}[{row}, {sign('j', r.randint(left, right))}]"
        parts = [r.choice(TERMS).format(a=read(), b=read()) for _ in range(r.randint(2, 6))]
        lines += [f"{indent}for i in {outer}:", f"{indent}    for j in {inner}:"]
        e = " + ".join(parts).replace("+ -", "- ")
        use = r.choice(USES).format(e=r.choice([f"0.2 * ({e})", f"np.sin({e})"]), a=read())
        lines += [f"{indent}        {line}" for line in use.split("\n")]
        lines.append(indent + r.choice(AFTER))
    return "\n".join([*lines, "    return s + np.sum(G * W) + 0.1 * np.sum(np.sin(H)) + np.sum(V * w)"])


def differs(seed: int, mode: str, sizes=((3, 3), (4, 4), (5, 7), (6, 5), (2, 6))) -> str:
    shapes = [((m,), (n, m)) for n, m in sizes]
    return program_beside_python(random_program(seed), seed, mode, shapes, (IndexError, ValueError))


test_random_nests, test_compiled = random_tests(differs, 100, (5000, 5001, 5002), unwritten=True)


def chosen_rows(x, a, m):
    """Three neighbours of a row that an earlier iteration may have chosen."""
    n = x.shape[1]
    y, k = np.zeros(n), 0
    for j in range(1, n - 1):
        if a[j] > 0.5:
            k = j % m
        y[j] = np.sin(x[k, j + 1] * x[k, j - 1]) * x[k, j]
    return np.sum(y * y)


def named_rows(x, a, m):
    """The same of rows that data name."""
    q, s = (a * m).astype(np.int64), 0.0
    for j in range(1, x.shape[1] - 1):
        k = q[j]
        s += np.sin(x[k, j + 1] * x[k, j - 1]) * x[k, j]
    return s


@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize("f", [chosen_rows, named_rows])
def test_rows_that_change_in_the_loop(f, mode):
    assert_gradient(f, (np.linspace(0.3, 0.9, 27).reshape(3, 9), np.linspace(0.9, 0.0, 9), 3), (0,), mode)


def heat(u, k, steps):
    """Five-point diffusion by loops."""
    n, m = u.shape
    for _ in range(steps):
        v = u.copy()
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                v[i, j] = u[i, j] + k * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j])
        u = v
    return np.sum(u * u)


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_other_rows_have_loops_of_their_own(mode):
    u = np.linspace(0.1, 0.9, 30).reshape(5, 6) ** 2
    assert_gradient(heat, (u, 0.1, 3), (0, 1), mode)
    gradient = value_and_grad(heat, wrt=(0, 1), mode=mode)
    gradient(u, 0.1, 3)
    assert "_bar_1[i - 1, j] += u_bar_row[j + 2]" in gradient.source


def in_a_column(x, k):
    """A loop that may not run is alone to know that the column exists."""
    s = 0.0
    for i in range(1, x.shape[0] - 1):
        s += np.sin(x[i - 1, k] * x[i + 1, k] + x[i, k])
    return s


def in_a_row(x, p, k):
    y, s = np.outer(x[:p], x), 0.0
    for t in range(2):
        r = int(x[t % len(x)]) + k
        for j in range(1, len(x) - 1):
            s += y[r, j - 1] * y[r, j + 1] + y[r, j] * y[r, j]
        s = np.sin(s)
    return s + np.sum(x)


def test_a_loop_that_does_not_run_adds_nothing(monkeypatch):
    with_places_checked(monkeypatch)
    for checks in (True, False):
        gradient = value_and_grad(in_a_column, mode="python", boundscheck=checks)
        np.testing.assert_array_equal(gradient(np.ones((2, 3)), 7)[1], np.zeros((2, 3)))
    np.testing.assert_array_equal(value_and_grad(in_a_row, mode="python")(np.full(2, 0.5), 0, 0)[1], [1.0, 1.0])
