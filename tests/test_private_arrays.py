"""Work arrays that each iteration fills anew belong to it; those that carry something from one to the next do not."""

import random

import numpy as np
import pytest

from autodiff import value_and_grad

from .support import assert_gradient, program_beside_python, random_tests

MADE = ["np.zeros(n)", "np.full(n, 0.3)", "np.ones(n)", "w.copy()"]
RANGES = ["range(n)", "range(n)", "range(n)", "range(n - 1, -1, -1)", "range(1, n)", "range(n - 1)", "range(0, n, 2)",
          "range(k, n)", "range(n - 2, -1, -1)", "range(k + 1)"]
WRITES = ["a[j] = np.sin(w[j] + 0.1 * k)", "a[j] = w[j] * s", "a[n - 1 - j] = w[j] + s", "a[j] += 0.3 * w[j]",
          "if w[j] > 0.5:\n    a[j] = w[j] * w[j]", "a[j] = 0.5 * a[j - 1] + w[j]", "a[j] = 0.4 * a[j] + s",
          "if w[j] > 0.6:\n    a[j] = w[j]\nelse:\n    a[j] = 0.2 * s", "if w[j] > 0.7:\n    break\na[j] = w[j]",
          "a[j] = w[j]\nfor i in range(n):\n    a[j] += 0.1 * W[j, i] * w[i]", "a[j // 2] = w[j]", "a[j - 1] = 0.3 * w[j]",
          "for i in range(n):\n    a[i] = W[i, j] * s", "a[j] = w[j]\na[0] += 0.1 * a[j]"]
WHOLE = ["a[:] = w * s", "a[:] = 0.0", "a.fill(0.1)", "a[0] = 0.3 * s", "a[n - 1] = s * w[0]", "a[:] = W @ w", "a[1:] = 0.2",
         "a[:] = np.sort(w)", "a[k] = 0.1", "a *= 0.5"]
READS = ["s += 0.1 * np.sum(a * w)", "s = 0.9 * s + 0.1 * a[k]", "for j in range(1, n):\n    s += 0.1 * a[j] * a[j - 1]",
         "s += 0.1 * a[int(3 * w[k]) % n] ** 2", "s += 0.1 * np.max(a)", "s += 0.05 * (a @ W @ a)",
         "for j in range(n):\n    if w[j] > 0.5:\n        s += 0.1 * a[j] ** 2", ""]
GRID = ["for i in range(n):\n    for j in range(n):\n        B[i, j] = W[i, j] * s",
        "for j in range(n):\n    for i in range(n):\n        B[i, j] = W[j, i] * w[i]",
        "for i in range(n):\n    B[i, 0] = w[i]\n    for j in range(1, n):\n        B[i, j] = 0.5 * B[i, j - 1] + W[i, j]",
        "for i in range(n):\n    B[i] = w * w[i]", "for i in range(n):\n    for j in range(i + 1):\n        B[i, j] = w[j]",
        "B[0] = w\nfor i in range(1, n):\n    for j in range(n):\n        B[i, j] = 0.5 * B[i - 1, j] * w[j]",
        "B[:] = np.outer(w, w)",
        "for i in range(n):\n    for j in range(n):\n        B[i, j] = 0.4 * B[j, i] + w[j]", "B[:, k] = w * s"]
CELLS = ["c[0, 0] = w[k]\nc[0, 1] = s\nc[1, 0] = 0.2\nc[1, 1] = np.sin(s)", "c[0, 0] = w[k]\nc[1, 1] = 0.5 * s",
         "for i in range(2):\n    c[i, 0] = w[i] * s\n    c[i, 1] = 0.3 * c[i, 0]",
         "if w[k] > 0.5:\n    c[0, 0] = 0.2\n    c[0, 1] = s\n    c[1, 0] = w[k]\n    c[1, 1] = 0.4"]


def random_program(seed: int) -> str:
    """A loop that writes to arrays made before it, and reads them."""
    r = random.Random(seed)
    lines = ["import numpy as np", "", "def f(w, W):", "    n, s = len(w), 0.2", f"    a = {r.choice(MADE)}",
             "    B, c = np.full((n, n), 0.4), np.full((2, 2), 0.3)", "    t = 0"]
    head = r.choice([*2 * ["for k in range(2):"], "for k in range(1, n):", "while t < 2:\n    k = t\n    t += 1"])
    lines += ["    " + line for line in head.split("\n")]

    def put(parts, indent="        "):
        lines.extend(indent + line for part in parts for line in part.split("\n") if line)
    for _ in range(r.randint(1, 2)):
        kind = r.random()
        if kind < 0.65:
            part = f"for j in {r.choice(RANGES)}:\n    " + r.choice(WRITES).replace("\n", "\n    ")
            whole = r.choice(WHOLE)
            put([whole if r.random() < 0.3 else "", part, whole if r.random() < 0.2 else "", r.choice(READS)])
        elif kind < 0.85:
            put([r.choice(GRID), r.choice(["s += 0.1 * np.sum(B * W)", "s += 0.1 * B[n - 1, 0] * B[0, n - 1]",
                                           "for i in range(n):\n    s += 0.1 * B[i, i]"])])
        else:
            put([r.choice(CELLS), r.choice(["s += 0.1 * np.sum(c)", "s += c[0, 1] * c[1, 0]",
                                            "s += 0.1 * np.sum(np.linalg.inv(c + 3 * np.eye(2)))"])])
    put(["if s > 3.0:\n    continue"] if r.random() < 0.1 else [])
    put([r.choice(READS)])
    after = r.choice(["", "", "", " + np.sum(a * w)", " + np.sum(B)", " + a[0] + c[0, 0]"])
    return "\n".join([*lines, f"    return s + 0.1 * np.sum(w * w){after}"])


def differs(seed: int, mode: str, sizes=(2, 3, 5)) -> str:
    return program_beside_python(random_program(seed), seed, mode, [((n,), (n, n)) for n in sizes], (IndexError, ValueError))


test_random_loops, test_compiled = random_tests(differs, 120, (5000, 5001, 5002), unwritten=True)


def layers(W, V, X, labels):
    """A net of two layers whose memory is made once."""
    hidden, scores, loss = np.zeros(len(W)), np.zeros(len(V)), 0.0
    for i in range(len(X)):
        for j in range(len(W)):
            t = 0.0
            for k in range(X.shape[1]):
                t += W[j, k] * X[i, k]
            hidden[j] = np.tanh(t)
        for j in range(len(V)):
            scores[j] = 0.0
            for k in range(len(W)):
                scores[j] += V[j, k] * hidden[k]
        total = 0.0
        for j in range(len(V)):
            total += np.exp(scores[j])
        loss += np.log(total) - scores[labels[i]]
    return loss / len(X)


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_layers_by_loops(mode):
    r = np.random.default_rng(0)
    labels = r.integers(-4, 4, 9)
    args = r.standard_normal((11, 10)), r.standard_normal((4, 11)), r.standard_normal((9, 10)), labels
    assert_gradient(layers, args, (0, 1, 2), mode)
    gradient = value_and_grad(layers, wrt=(0, 1), mode=mode)
    assert gradient(*args)[0] == pytest.approx(layers(*args))
    assert "hidden_tape" not in gradient.source and "block_product" in gradient.source
    labels[5] = 4
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4"):
        gradient(*args)


def handed_on(w, W):
    """Of the place that is not written, each step reads what the one before left."""
    a, s = np.zeros(len(w)), 0.0
    for k in range(3):
        for j in range(1, len(w)):
            a[j] = w[j] * a[j - 1] + W[k, j]
        a[0] = np.sin(a[len(w) - 1])
        s += np.sum(a * w)
    return s


def read_behind(w, W):
    """The last step's numbers are read behind the loop."""
    a, s = np.zeros(len(w)), 0.0
    for k in range(3):
        for j in range(len(w)):
            a[j] = w[j] * W[k, j] * a[j]
        s += np.sum(np.sin(a))
    return s + np.sum(a)


@pytest.mark.parametrize("function", [handed_on, read_behind])
def test_what_is_handed_on(function):
    r = np.random.default_rng(1)
    assert_gradient(function, (r.random(4), r.random((4, 4))), (0, 1), "python")
