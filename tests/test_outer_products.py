"""Outer products of a loop that are added block by block give what the sum of them gives."""

import random

import numpy as np
import pytest

from autodiff import check_grads, value_and_grad

from .support import beside_python, from_text, some_positions

STEPS = [
    "h = np.tanh(W @ h + X[t])", "h = h + 0.1 * (0.5 * V @ h) * X[t]", "h = np.cos(W.T @ h)", "s += np.sum((W @ X[t]) ** 2)",
    "h = np.tanh(h @ V - X[t])", "s += h @ W @ X[t]", "h = 0.9 * h + 0.1 * X[t]", "s -= np.sum(np.sin(V @ (h * X[t])))",
    "z = W @ np.tanh(V @ X[t]); s += np.sum(z * z); h = 0.5 * h + z", "h = -(W @ h) * 0.5 + X[T - 1 - t]",
    "for i in range(n):\n            s += np.sum(V[i] * X[t]) * h[i]", "h = np.where(X[t] > 0.5, W @ h, h)",
    "for i in range(n):\n            for j in range(n):\n                s += W[i, j] * X[t, i] * h[j]",
    "if s > 0.3:\n            s += np.sum(W @ h)", "s += np.sum(np.outer(h, X[t]) * V)", "W = W * 0.99",
    "h = h + W[t % n] * 0.1", "for i in range(n):\n            for j in range(n):\n"
    "                h[i] += 0.1 * W[i, j] * X[t, j]\n                if X[t, j] > 0.4:\n"
    "                    h[i] += 0.1 * V[i, j] * X[t, i]", "A = W * s; h = np.tanh(A @ h)",
    "h = np.tanh(W[:, :] @ h[::-1])", "s += np.sum((W @ np.outer(h, h))[0])"]
LOOPS = ["for t in range(T):", "for t in range(T - 1, -1, -1):", "for t in range(1, T):", "for t in range(0, T, 2):",
         "for t in range(min(T, 5)):", "for t in range(-T, 0):"]


def random_program(seed: int) -> str:
    """Loops over the rows of X, each with products of matrices and vectors."""
    r = random.Random(seed)
    lines = ["import numpy as np", "", "def f(W, V, X):", "    T, n = X.shape", "    h, s = np.full(n, 0.4), 0.2"]
    for _ in range(r.randint(1, 2)):
        lines.append("    " + r.choice(LOOPS))
        lines += ["        " + part for _ in range(r.randint(1, 3)) for part in r.choice(STEPS).split("; ")]
    return "\n".join([*lines, "    return s + np.sum(h * h) + 0.1 * np.sum(W)"])


def differs(seed: int, mode: str) -> str:
    """What is wrong with a random program's value or gradient, for several numbers of steps."""
    text, r = random_program(seed), random.Random(seed)
    f = from_text("f", text)
    wrt = some_positions(seed, 3)
    gradient = value_and_grad(from_text("f", text), wrt=wrt, mode=mode)
    for steps in r.sample([0, 1, 2, 7, 63, 64, 65, 70, 130], 3):
        n = r.choice([1, 2, 4, 5])
        rng = np.random.default_rng(seed)
        args = rng.uniform(-0.5, 0.6, (n, n)) / n, rng.uniform(-0.5, 0.6, (n, n)) / n, rng.uniform(0.1, 1.0, (steps, n))
        if wrong := beside_python(f, gradient, args, wrt=wrt):
            return f"{text}\n{n} {steps}: {wrong}"
    return ""


@pytest.mark.filterwarnings("ignore:the gradient of")
@pytest.mark.parametrize("start", range(0, 36, 12))
def test_random_loops(start):
    for seed in range(start, start + 12):
        assert not (wrong := differs(seed, "python")), wrong


@pytest.mark.parametrize("seed", [1, 5])
def test_compiled(seed):
    assert not (wrong := differs(seed, "numba")), wrong


def gated(W, Q, X):
    """Loops that do more than to add an outer product: in a branch, in a loop, by a call."""
    n, m = W.shape
    h = np.zeros(n)
    for t in range(X.shape[0]):
        z = np.zeros(n)
        for i in range(n):
            for j in range(m):
                z[i] += W[i, j] * X[t, j]
                if X[t, j] > 0.0:
                    z[i] += Q[j] * X[t, j]
        for i in range(n):
            for j in range(m):
                z[i] += W[i, j] * h[j]
                for k in range(len(Q)):
                    z[i] += 0.1 * np.sin(Q[k] * X[t, j])
        for i in range(n):
            for j in range(m):
                z[i] += W[i, j] * X[t, j] + 0.1 * np.sum(Q)
        h = np.tanh(z)
    return np.sum(h)


@pytest.mark.parametrize("wrt", [(0,), (1,), (0, 1), (0, 2), (0, 1, 2)])
def test_what_else_a_loop_does(wrt):
    r = np.random.default_rng(0)
    check_grads(gated, (r.normal(size=(4, 4)) / 9, r.normal(size=4) / 3, r.normal(size=(6, 4))), wrt=wrt, mode="python")


def recurrent(W, X):
    h = np.zeros(W.shape[0])
    for t in range(X.shape[0]):
        h = np.tanh(W @ h + X[t])
    return np.sum(h)


def of_six(W, x):
    for _ in range(6):
        x = np.tanh(W @ x)
    return np.sum(x)


def changed(W, X):
    """What is added to the matrix meets what the loop does with it."""
    for t in range(X.shape[0]):
        W = W + np.outer(X[t], W @ X[t])
    return np.sum(W * W)


@pytest.mark.parametrize(("function", "steps", "blocks"), [(recurrent, 70, True), (of_six, 1, True), (changed, 5, False)])
def test_which(function, steps, blocks):
    r = np.random.default_rng(0)
    W, X = r.normal(size=(5, 5)) / 3, r.normal(size=(steps, 5)) if steps > 1 else r.normal(size=5)
    gradient = value_and_grad(function, wrt=(0, 1), mode="python")
    assert gradient(W, X)[0] == pytest.approx(function(W, X))
    assert ("W_bar_rows" in gradient.source) == blocks
    check_grads(function, (W, X), wrt=(0, 1), mode="python")
