"""Arrays that are made before a loop, instead of in each iteration, are what Python has there."""

import random
import re

import numpy as np
import pytest

from autodiff import check_grads, grad, value_and_grad

from .support import beside_python, from_text, some_positions

STEPS = [
    "A = 0.5 * W; h = np.tanh(A @ h)", "A = W * k; A[0] += 0.1; h = np.tanh(A @ h)",
    "A = W + V; B = A; B[0, 0] = s; s += np.sum(A @ h)", "W[0] *= 0.9", "A = np.exp(-V); s += np.sum(A @ h)",
    "c = X * 2.0; h = np.tanh(W @ (h + c))", "c = X * 2.0; c += h; h = np.cos(V @ c)",
    "A = np.outer(X, X); h = np.tanh(A @ h)", "c = np.sqrt(X + 1.0); s += np.dot(c, h)",
    "V = V * 0.9; A = 0.5 * V; h = np.sin(A @ h)", "A = W * s; h = np.tanh(A @ h)",
    "A = 0.3 * W.T; B = A @ V; h = np.tanh(B @ h)", "k = k * 0.9", "X = X + 0.1; c = X * 0.5; h = h + V @ c",
    "if s > 0.4:\n                A = 0.7 * W; h = A @ h", "q = 1.0 / k; A = W * q; h = np.tanh(A @ h)",
    "A = W[::-1] * 0.5; W, V = V, W; h = A @ h", "A = np.where(W > 0.0, W, 0.1 * W); h = np.tanh(A @ h)",
    "A = 0.5 * W; h = np.tanh(A @ h); A[:] = 0.0; s += A[0, 0]", "A = np.zeros((n, n)); A[0] = X; h = h + A @ h",
    "A = 0.2 * V; s += np.sum((A @ V)[0]); break"]
LOOPS = [
    "for t in range(T):", "for t in range(2):", "while s < 0.9:\n        s += 0.3",
    "for t in range(T):\n        for r in range(2):", "for t in range(2):\n        for r in range(t * T - 1):"]


def random_program(seed: int) -> str:
    """Loops that make arrays, of what they change and of what they do not."""
    r = random.Random(seed)
    lines = ["import numpy as np", "", "def f(W, V, X, k, T):", "    n, h, s = len(X), X * 0.4, 0.2"]
    for _ in range(r.randint(1, 3)):
        loop = r.choice(LOOPS)
        lines.append("    " + loop)
        indent = " " * (12 if "r in" in loop else 8)
        lines += [indent + part for _ in range(r.randint(1, 3)) for part in r.choice(STEPS).split("; ")]
    return "\n".join([*lines, "    return s + np.sum(h * h) + 0.1 * np.sum(W) + np.sum(V * W)"])


ERRORS = (IndexError, ValueError, ZeroDivisionError, UnboundLocalError)


def differs(seed: int, mode: str) -> str:
    """What is wrong with a random program's value or gradient, for several sizes and numbers of steps."""
    text, r = random_program(seed), random.Random(seed)
    f = from_text("f", text)
    gradient = value_and_grad(from_text("f", text), wrt=(wrt := some_positions(seed, 4)), mode=mode)
    for steps in r.sample([0, 0, 1, 2, 5], 2):
        n = r.choice([1, 2, 4])
        rng = np.random.default_rng(seed)
        args = [rng.uniform(-0.5, 0.6, (n, n)), rng.uniform(-0.5, 0.6, (n, n)), rng.uniform(0.1, 1.0, n), np.float64(0.7)]
        if wrong := beside_python(f, gradient, args, (steps,), ERRORS, wrt):
            return f"{text}\n{n} {steps}: {wrong}"
    return ""


@pytest.mark.filterwarnings("ignore:the gradient of")
@pytest.mark.parametrize("start", range(0, 36, 12))
def test_random_loops(start):
    for seed in range(start, start + 12):
        assert not (wrong := differs(seed, "python")), wrong


def scaled(W, p):
    """The matrix of each step is the same one."""
    for _ in range(5):
        p = np.tanh(0.85 * W @ p)
    return np.sum(p * p)


def scaled_anew(W, p):
    """The matrix is changed in each step."""
    for _ in range(5):
        p = np.tanh(0.85 * W @ p)
        W[0, 0] *= 0.5
    return np.sum(p * p)


@pytest.mark.parametrize(("function", "once"), [(scaled, True), (scaled_anew, False)])
def test_which(function, once):
    """A matrix that is the same in all steps has no place on the tape, and one product with all steps' vectors."""
    r = np.random.default_rng(0)
    W, p = r.normal(size=(4, 4)), r.normal(size=4)
    gradient = value_and_grad(function, wrt=(0, 1), mode="python")
    assert gradient(W.copy(), p)[0] == pytest.approx(function(W.copy(), p))
    assert (re.search(r"empty\(\(5, \w+, \w+\)\)", gradient.source) is None) == once
    check_grads(function, (W, p), wrt=(0, 1), mode="python")


def longer(X, h, n, steps):
    """More elements than there are, in a loop that may not run."""
    for _ in range(steps):
        c = np.empty(n)
        for i in range(n):
            c[i] = X[i] * 0.5
        h = h * (c @ c) + c[0]
    return np.sum(h)


def roots(W, h, times):
    """Roots of a matrix, of which 0 has an infinite slope, in loops that run or not."""
    s = h[0]
    for t in range(len(times)):
        for _ in range(times[t]):
            h = np.tanh(np.sqrt(W) @ h)
    return s + np.sum(h)


def divided(W, k, steps):
    """A quotient by what may be 0, in a loop that may not run."""
    s = 0.5 * k
    h = W[0] * 0.3
    for _ in range(steps):
        q = 1.0 / k
        A = W * q
        h = np.tanh(A @ h)
    return s + np.sum(h)


def test_what_is_infinite_in_a_loop_that_does_not_run():
    """Gradients are those of the rest."""
    gradient = grad(roots, wrt=(0, 1), mode="python")
    W, h = np.array([[0.0, 1.0], [1.0, 1.0]]), np.ones(2)
    np.testing.assert_array_equal(gradient(W, h, np.array([0, 0]))[0], 0.0)
    check_grads(roots, (W + 0.5, h, np.array([0, 2, 1])), wrt=(0, 1), mode="python")
    by_k = grad(divided, wrt=(0, 1), mode="python")
    assert by_k(W, 0.0, 0)[1] == 0.5
    check_grads(divided, (W, 0.7, 3), wrt=(0, 1), mode="python")


def test_elements_that_only_a_loop_asks_for():
    """Where the loop does not run, nothing is read."""
    gradient = value_and_grad(longer, wrt=(0, 1), mode="python")
    args = np.ones(3), np.ones(2), 5
    assert gradient(*args, 0)[0] == longer(*args, 0)
    with pytest.raises(IndexError):
        gradient(*args, 1)
