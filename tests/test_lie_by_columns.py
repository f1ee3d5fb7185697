"""Matrices whose columns are walked are held transposed, and programs give what Python gives."""

import random

import numpy as np
import pytest

from autodiff import check_grads, hvp, value_and_grad, vjp

from .support import beside_python, from_text, some_positions

MATRICES = ["A", "B", "Q", "P"]             # parameters, and matrices of the program
COLUMNS = ["{a}[:, {j}]", "{a}[:, {j}]", "{a}[:, -1]", "{a}[:, (2 * {j}) % m]", "{a}[::-1, {j}]", "{a}[:, m - 1 - {j}]"]
STEPS = [
    "{c} += {d} * {g}", "{c} = {d} * 0.5 + {e}", "{c} *= 1.0 + 0.1 * {g}", "s += np.dot({c}, {d})",
    "s += np.sum(np.sin({c} * {d}))", "v = {c} * {g}", "v += {d}", "{c} = v", "{c} -= 0.1 * v * np.dot(v, {d})",
    "r = np.sqrt(np.sum({c} ** 2) + 1.0); {c} = {c} / r", "{c} = np.tanh({c})", "s = 0.5 * s + {c}[0] * {d}[n - 1]",
    "for i in range(n): {a}[i, {j}] = {b}[i, {j}] * 0.3 + v[i]",
    "for i in range(1, n): {a}[i, {j}] += 0.2 * {a}[i - 1, {j}]",
    "for i in range(n - 1, -1, -1): s += {a}[i, {j}] * {b}[n - 1 - i, {j}]",
    "for i in range(n): v[i] = {a}[i, {j}] if {b}[i, {j}] > 0.5 else {a}[i, 0]",
    "if s > 0.4: {c} = {d} * 0.9", "{a}[{j} % n] = {b}[{j} % n] * 0.4", "s += np.sum({a}[{j} % n] * {b}[0])",
    "for i in range(n): {a}[i, {j}], {b}[i, {j}] = {b}[i, {j}] * 0.6, {a}[i, {j}] * 0.7"]
LOOPS = ["for j in range(m):", "for j in range(m - 1, -1, -1):", "for j in range(1, m):", "for j in range(m // 2):"]
AROUND = ["for t in range(3):", "for t in range(T):", "t = 0\n    while t < T and s < 9.0:\n        t += 1", "if T > 0:"]
INNER = ["for l in range(j + 1, m):", "for l in range(j):", "for l in range(m):"]
LAST = ["s = s + np.sum(Q @ B.T)", "Q, P = P, Q", "s = s + np.sum(A * Q)", "s = s + np.sum((P - B) ** 2)", "Q = P * 2.0",
        "s = s + np.sum(Q[:, 0] * A[:, -1])", "s = s + np.max(P)", "s = s + np.sum(Q.T.ravel() * P.T.ravel())", "P = Q"]
MADE = ["np.zeros((n, m))", "np.zeros_like(A)", "A.copy()", "B * 0.5", "np.ones((n, m)) * 0.3", "np.full((n, m), 0.1)"]


def random_program(seed: int) -> str:
    """Nests that read and write columns of parameters and of the program's own matrices, among other uses of them."""
    r = random.Random(seed)
    lines = ["import numpy as np", "", "def f(A, B, T):", "    n, m = A.shape", f"    Q = {r.choice(MADE)}",
             f"    P = {r.choice(MADE)}", "    v, s = A[:, 0] * 1.0, 0.2"]

    def step(index: str, indent: int) -> str:
        a, b = r.choice(MATRICES), r.choice(MATRICES)
        first, second = r.choice(COLUMNS).format(a=a, j=index), r.choice(COLUMNS).format(a=b, j=r.choice(["j", index]))
        text = r.choice(STEPS).format(a=a, b=b, c=first, d=second, e=r.choice(COLUMNS).format(a=r.choice(MATRICES), j=index),
                                      g=r.choice(["0.4", "np.cos(s)", f"{b}[0, {index}]"]), j=index)
        return "\n".join(" " * indent + part for part in text.split("; "))
    for _ in range(r.randint(1, 3)):
        indent = 4
        if r.random() < 0.6:
            lines.append(" " * indent + r.choice(AROUND))
            indent += 4
        lines.append(" " * indent + r.choice(LOOPS))
        indent += 4
        lines += [step("j", indent) for _ in range(r.randint(1, 2))]
        if r.random() < 0.6:
            lines.append(" " * indent + r.choice(INNER))
            lines += [step("l", indent + 4) for _ in range(r.randint(1, 2))]
        if r.random() < 0.4:
            lines.append("    " + r.choice(LAST))
    return "\n".join([*lines, "    return s + np.sum(np.sin(Q)) + np.sum(P * P) + np.sum(v) * 0.1"])


ERRORS = (IndexError, ValueError, ZeroDivisionError)


def differs(seed: int, mode: str) -> str:
    """What is wrong with a random program's value or gradient, for matrices of several shapes."""
    text, r = random_program(seed), random.Random(seed)
    f = from_text("f", text)
    gradient = value_and_grad(from_text("f", text), wrt=(wrt := some_positions(seed, 2)), mode=mode)
    for _ in range(3):
        shape, steps = (r.choice([1, 2, 3, 4, 5]), r.choice([1, 2, 2, 3, 4])), r.choice([0, 1, 2])
        rng = np.random.default_rng(seed)
        A, B = rng.uniform(0.3, 1.2, shape), rng.uniform(0.3, 1.2, shape)
        if wrong := beside_python(f, gradient, (A, B), (steps,), ERRORS, wrt):
            return f"{text}\n{shape} {steps}: {wrong}"
    return ""


@pytest.mark.parametrize("start", range(0, 48, 12))
def test_random_walks(start):
    for seed in range(start, start + 12):
        assert not (wrong := differs(seed, "python")), wrong


@pytest.mark.parametrize("seed", [3, 11, 27])
def test_compiled(seed):
    assert not (wrong := differs(seed, "numba")), wrong


def by_coordinates(X, y, sweeps):
    """Each column in turn, several times."""
    w, r = np.zeros(X.shape[1]), y.copy()
    for _ in range(sweeps):
        for j in range(X.shape[1]):
            step = 0.1 * np.dot(X[:, j], r)
            r -= X[:, j] * step
            w[j] += step
    return np.sum(r * r) + np.sum(w * w)


def states(x0, k, steps):
    """A matrix of the program's own, a column for each step."""
    x = np.zeros((len(x0), steps))
    x[:, 0] = x0
    for t in range(steps - 1):
        x[1:-1, t + 1] = x[1:-1, t] + k * (x[2:, t] - 2.0 * x[1:-1, t] + x[:-2, t])
    return np.sum(x[:, -1] ** 2)


def once(X, y, sweeps):
    """Each element is met once."""
    s = 0.0
    for j in range(X.shape[1]):
        s += np.tanh(np.dot(X[:, j], y)) * sweeps
    return s


def one_column(X, y, sweeps):
    """One column, whose neighbours nobody asks for."""
    s = 0.0
    for k in range(sweeps):
        s = np.tanh(s + np.dot(X[:, -1], y))
    return s


def pairs(X, y, sweeps):
    """Rows as short as a line of the cache."""
    s = 0.0
    for _ in range(sweeps):
        for j in range(2):
            s = np.tanh(s + np.dot(X[:, j], y))
    return s


def some(X, y, sweeps):
    """Not all columns."""
    r = y.copy()
    for _ in range(sweeps):
        for j in range(sweeps - 1):
            r -= X[:, j] * (0.01 * np.dot(X[:, j], r))
    return np.sum(r * r)


def picked(X, y, sweeps):
    """Columns by what the program computes."""
    r, w = y.copy(), 0.0
    for t in range(sweeps):
        j = int(10.0 * r[0] + 0.5) % X.shape[1]
        g = np.dot(X[:, j], r)
        r -= X[:, j] * 0.01 * g
        w += np.tanh(g)
    return w + np.sum(r * r)


def in_a_branch(X, y, sweeps):
    """Perhaps no column at all."""
    r = y.copy()
    if y[0] > 0.5:
        for _ in range(sweeps):
            for j in range(X.shape[1]):
                r -= X[:, j] * (0.01 * np.dot(X[:, j], r))
    return np.sum(r * r)


X, Y = np.linspace(0.1, 1.0, 15).reshape(5, 3) ** 2, np.linspace(1.0, 0.2, 5)


@pytest.mark.parametrize(("function", "args", "held"), [
    (by_coordinates, (X, Y, 3), {"X_T", "X_bar_T"}), (states, (Y, 0.1, 4), {"x_T", "x_bar_T"}), (once, (X, Y, 3), set()),
    (one_column, (X, Y, 3), set()), (pairs, (X, Y, 3), set()), (some, (X, Y, 3), set()), (picked, (X, Y, 3), set()),
    (in_a_branch, (X, Y, 3), set())], ids=lambda x: getattr(x, "__name__", ""))
def test_which(function, args, held):
    """What is met once, or in part, lies as it was given."""
    gradient = value_and_grad(function, wrt=(0, 1), mode="python")
    value, _ = gradient(*args)
    assert value == function(*args)
    assert {name for name in ("X_T", "X_bar_T", "x_T", "x_bar_T") if f" {name} = " in gradient.source} == held
    check_grads(function, args, wrt=(0, 1), mode="python")


def test_other_derivatives():
    """Products with Hessians, and pullbacks that are called later, hold the transposes of their own matrices."""
    def slope(h):
        return value_and_grad(by_coordinates, mode="python")(X + h * V, Y, 3)[1]
    V = np.cos(np.arange(15.0)).reshape(5, 3)
    assert np.allclose(hvp(by_coordinates, mode="python")(X, Y, 3, V), (slope(1e-6) - slope(-1e-6)) / 2e-6, atol=1e-7)
    value, pullback = vjp(by_coordinates, X, Y, 3, mode="python")
    assert value == by_coordinates(X, Y, 3)
    assert np.allclose(pullback(1.0)[0], slope(0.0))


def test_its_argument_stays():
    """The caller's matrix is not written to, and what a function writes to is its own transpose."""
    def in_place(A):
        for k in range(A.shape[1]):
            for j in range(k + 1, A.shape[1]):
                A[:, j] -= A[:, k] * np.dot(A[:, k], A[:, j])
        return np.sum(A)
    A = X.copy()
    value, bar = value_and_grad(in_place, mode="python")(A)
    assert np.array_equal(A, X) and value == pytest.approx(in_place(X.copy()))
    step = np.zeros_like(X)
    step[2, 1] = 1e-6
    assert bar[2, 1] == pytest.approx((in_place(X + step) - in_place(X - step)) / 2e-6, rel=1e-6)
