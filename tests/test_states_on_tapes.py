"""States that loops keep and replace lie on their tapes, and what becomes one is made there."""

import random
import re

import numpy as np
import pytest

from autodiff import value_and_grad

from .support import assert_gradient, program_beside_python, random_tests

HEADS = [*3 * ["for k in range(T):"], "for k in range(2, T + 2):", "for k in range(T - 1, -1, -1):",
         "for k in range(0, 2 * T, 2):", "k = 0\nwhile k < T:\n    k += 1", "for k in range(len(H)):"]
STEPS = [*3 * ["x = {e}"], "y = {e}\nx = y", "y = {e}\ns += 0.1 * np.sum(y * x)\nx = y", "x[:] = {e}", "x, y = {e}, x",
         "y = {e}\nx = y\ns += 0.1 * y[0] * x[1]", "y = {e}\ny[0] = 0.3 * s\nx = y.copy()",
         "if x[0] > 0.2:\n    x = {e}", "for i in range(n):\n    d[i] = x[i - 1] * w[i]\nx = x + 0.2 * d",
         "x[1:] = x[:-1] * w[1:]",
         "y = np.empty(n)\nfor i in range(n):\n    y[i] = np.sin(x[(i + 1) % n]) + w[i]\nx = y",
         "y = np.zeros(n)\nfor i in range(1, n):\n    y[i] = 0.5 * y[i - 1] + x[n - 1 - i]\nx = y",
         "y = np.zeros(n)\nfor i in range(n - 1):\n    y[i] += x[i + 1] * w[i]\nx = y + 0.1 * s",
         "for i in range(1, n):\n    x[i] = 0.5 * x[i - 1] + w[i] * x[i]",
         "z = np.dot(W, x)\nx = np.sin(z)\ns += 0.1 * z[0]", "z = W @ x\nx = z", "x *= w",
         "x = x / (1.0 + np.sum(x * x))"]
EXPRESSIONS = ["x + 0.1 * (np.roll(x, 1) - x)", "0.5 * np.roll(x, -1) * w", "np.tanh(W @ x + w)", "W @ x", "x[::-1] * w",
               "0.3 * x * x[0] + w", "0.3 * np.cumsum(x) - w", "np.sin(x) + 0.1 * s", "np.concatenate((x[1:], w[:1]))",
               "w - 0.5 * x"]
KEPT = [*2 * ["H[k % len(H)] = x"], "s += 0.1 * x[k % n]", "s += 0.05 * np.sum(x * x)",
        "s += 0.1 * H[k % len(H), 0] * x[1]", "y = x.copy()\ns += 0.1 * y[n - 1] * x[0]", "if s > 2.0:\n    break",
        "if x[0] > 0.9:\n    continue"]
GRID = ["X = X + 0.1 * (np.roll(X, 1, 0) - X)", "X = W @ X", "Y = X @ W\nX = Y + 0.1 * X\ns += 0.1 * Y[0, 1]",
        "X[1:-1] = 0.5 * (X[2:] + X[:-2])", "X[0] = 0.3 * s\nX = X.T * w",
        "Y = np.zeros((n, n))\nfor i in range(n):\n    for j in range(n):\n        Y[i, j] = 0.5 * X[j, i] + w[j]\nX = Y",
        "U = X - 0.1 * np.roll(V, 1, 1)\nV = V + 0.1 * np.roll(U, -1, 0)\nX = U"]
AFTER = ["np.sum(x * w)", "x[0]", "np.sum(x) + np.sum(H * H)", "np.sum(y * x)", "np.sum(X * W)", "x @ W @ x",
         "np.sum(H[-1])", "np.sum(x * w) + np.sum(np.sin(X))"]


def random_program(seed: int) -> str:
    """A loop over time, or two, or one inside another, with states that steps replace."""
    r = random.Random(seed)
    lines = ["import numpy as np", "", "def f(w, W):", f"    n, T, s = len(w), {r.choice([0, 1, 2, 3, 'len(w) - 1'])}, 0.2",
             "    x, y, d = w * 0.7, w.copy(), np.zeros(n)", "    X, V, H = W * 0.5, W.copy(), np.zeros((3, n))"]

    def put(parts, indent):
        lines.extend(indent + line for part in parts for line in part.split("\n") if line)
    around = r.random() < 0.15
    indent = "    "
    if around:
        put(["for turn in range(2):", r.choice(["    x = x * w", "    x = w * 0.3", "    s *= 0.5"])], indent)
        indent += "    "
    for _ in range(r.choice([1, 1, 2])):
        put([r.choice(HEADS)], indent)
        grid = r.random() < 0.3
        steps = [r.choice(STEPS).format(e=r.choice(EXPRESSIONS)) for _ in range(r.randint(1, 2))]
        steps = [r.choice(GRID)] + steps[:r.randint(0, 1)] if grid else steps
        kept = [r.choice(KEPT) if r.random() < 0.4 else "" for _ in range(2)]
        put([kept[0], *steps, kept[1], "s += 0.01"], indent + "    ")
    put([r.choice(["", "", "x = x * w", "x[0] = 0.1", "s += np.sum(x)"])], indent)
    return "\n".join([*lines, f"    return s + 0.1 * np.sum(w * w) + {r.choice(AFTER)}"])


def differs(seed: int, mode: str, sizes=(2, 3, 5)) -> str:
    shapes = [((n,), (n, n)) for n in sizes]
    wrong = program_beside_python(random_program(seed), seed, mode, shapes, (IndexError, ValueError))
    refused = "a second name may see" in wrong or "known on one path only" in wrong         # for other reasons
    return "" if refused else wrong


test_random_loops, test_compiled = random_tests(differs, 120, (5000, 5001, 5002), unwritten=True)


def ring(x, forcing, steps):
    """Lorenz's ring of 1996, by a loop."""
    for _ in range(steps):
        d = np.zeros(len(x))
        for i in range(len(x)):
            d[i] = (x[(i + 1) % len(x)] - x[i - 2]) * x[i - 1] - x[i] + forcing
        x = x + 0.01 * d
    return np.sum(x ** 2)


def waves(u, v, steps):
    """Two states, of which the second needs the first's new values."""
    for _ in range(steps):
        new = u - 0.1 * (np.roll(v, -1) - np.roll(v, 1)) * u
        v = v - 0.1 * (np.roll(new, -1) - np.roll(new, 1)) * v
        u = new
    return np.sum(u * v)


def layers(h, W, steps):
    """A recurrent net, whose state is the result of a product."""
    for _ in range(steps):
        h = np.tanh(W @ h)
    return np.sum(h)


@pytest.mark.parametrize("function, args, wrt, states", [
    (ring, (np.linspace(0.1, 2.0, 7) ** 2, 8.0, 4), (0, 1), ["x"]),
    (waves, (np.linspace(0.1, 2.0, 7), np.linspace(1.0, 0.3, 7) ** 2, 3), (0, 1), ["u", "v"]),
    (layers, (np.linspace(0.1, 0.9, 3), np.linspace(-1.0, 1.0, 9).reshape(3, 3), 5), (0, 1), ["h"])])
@pytest.mark.parametrize("mode", ["python", "numba"])
def test_states_lie_on_their_tapes(function, args, wrt, states, mode):
    assert_gradient(function, args, wrt, mode)
    gradient = value_and_grad(function, wrt=wrt, mode=mode)
    for count in (0, 1, 2):
        assert gradient(*args[:-1], count)[0] == pytest.approx(function(*args[:-1], count))
    for name in states:
        tape = re.search(rf"    {name}_tape\w* = empty\(\((\w+) \+ 1, ", gradient.source)
        assert tape and re.search(rf" {name}_tape\[(k \+ 1|k_next), i\] = ", gradient.source)
    assert gradient.source.count("_tape = ") == len(states)


def shorter_runs(w, T):
    """A later run of the loop writes fewer rows of what an earlier one has kept."""
    n, x, y, H, s = len(w), w * 0.7, np.empty(len(w)), np.empty((T, len(w))), 0.0
    for turn in range(2):
        for k in range(T - turn):
            for i in range(n):
                y[i] = x[n - 1 - i] * w[i]
            for i in range(n):
                H[k, i] = x[i]
                x[i] = y[i]
    for k in range(T):
        for i in range(n):
            s += H[k, i] * H[k, n - 1 - i]
    return s


def rows_of_the_run_before(w, T):
    """An iteration reads the row that the next one will write, as the run before left it."""
    n, x, y, H, s = len(w), w * 0.7, np.empty(len(w)), np.empty((T + 1, len(w))), 0.0
    for turn in range(3):
        for k in range(T):
            for i in range(n):
                y[i] = x[n - 1 - i] * 0.5
            for i in range(n):
                H[k, i] = x[i]
                x[i] = y[i]
            if turn > 0 and k < T - 1:
                s += H[k + 1, 1]
    return s


def a_part_for_each(w, T):
    """Each of two series has a part of the rows, which a loop around all writes again, not all of it."""
    n, s, H = len(w), 0.0, np.empty((2, T, len(w)))
    for turn in range(2):
        for j in range(2):
            x = w * 0.7 + j + turn
            y = np.empty(n)
            for k in range(T - turn):
                for i in range(n):
                    y[i] = 0.5 * x[n - 1 - i]
                for i in range(n):
                    H[j, k, i] = x[i]
                    x[i] = y[i]
            s += x[0]
    return s + np.sum(H)


def two_series(w, T):
    """One series is copied to the other, one row on, and read when that is written anew."""
    n, s, S, H = len(w), 0.0, np.empty((T, len(w))), np.empty((T + 1, len(w)))
    for turn in range(2):
        for k in range(T + 1):
            for i in range(n):
                H[k, i] = w[i] * 0.5 + turn
        if turn > 0:
            for i in range(n):
                s += S[0, i] * 0.3
        for k in range(T):
            for i in range(n):
                S[k, i] = H[k, n - 1 - i] * 0.3
            for i in range(n):
                H[k + 1, i] = S[k, i]
    for i in range(n):
        s += H[T, i] * H[T, i]
    return s


def made_after(w, T):
    """The rows are made when what is copied there has been."""
    n, s, x = len(w), 0.0, w * 0.7
    for k in range(T):
        y = np.empty(n)
        for i in range(n):
            y[i] = x[n - 1 - i] * 0.5
        H = np.empty((k + 1, n))
        for i in range(n):
            H[k, i] = y[i]
        for i in range(n):
            s += H[k, n - 1 - i] + y[n - 1 - i]
    return s


@pytest.mark.parametrize("function", [shorter_runs, rows_of_the_run_before, a_part_for_each, two_series, made_after])
@pytest.mark.parametrize("T", [1, 3])
def test_rows_that_another_run_needs(function, T):
    w = np.linspace(0.3, 0.9, 4)
    gradient = value_and_grad(function, mode="python", debug=True)
    assert gradient(w, T)[0] == pytest.approx(function(w, T), rel=1e-13)
    assert_gradient(function, (w, T), (0,), "python")
