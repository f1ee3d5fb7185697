"""Loops that copy or clear, before loops over a part of their range."""

import random

import numpy as np
import pytest

from autodiff import value_and_grad

from .support import assert_gradient, program_beside_python, random_tests

COPY = "for i in range(n):\n    v[i] = u[i]"
WHOLE = ["v = u.copy()", "v[:] = u", "v[:] = 0.0", COPY, COPY + "\n    u[i] = 0.3", "v = np.zeros(n)", "u, v = v, u",
         "V[:] = W", "v = np.empty(n)\nfor i in range(n):\n    v[i] = w[n - 1 - i]",
         "for i in range(1, n):\n    v[i] = u[i - 1]", "V[i % n] = w", "V = W.copy()",
         "for i in range(n):\n    for j in range(n):\n        V[i, j] = W[i, j]",
         COPY.replace("u[i]", "u[i]\n    w[i] = v[k % n]"),
         *(f"for i in range(n):\n    for j in range(n):\n        {text}" for text in (
             "V[i, j] = V[j, i]", "W[i, j] = V[j, i]\n        V[i, j] = w[j]", "W[i, j] = u[j]\n        u[j] = w[i]",
             "v[j] = w[i]"))]
PARTS = ["range(1, n - 1)", "range(n - 1)", "range(2, n)", "range(1, n - 3)", "range(4, n - 4)", "range(5, n)", "range(n)",
         "range(1, m)", "range(n - 2, 0, -1)", "range(k, n - 1)"]
BODIES = ["v[i] = v[i] + 0.2 * u[i]", "v[i] += 0.1 * np.sin(u[i])", "v[i] = 0.5 * u[i] * w[i]", "s += v[i] * u[i]",
          "v[i] += 0.1 * (u[i - 1] - u[i])", "u[i] = 0.9 * v[i]", "v[i] = 0.4 * v[i - 1] + u[i]", "v[i] = s * u[i]",
          "u[i] += 0.1 * v[i]\ns += 0.1 * u[i] * u[i]", "V[i, 0] = u[i]",
          "for j in PART:\n    V[i, j] = 0.5 * W[i, j] * w[j]",
          "for j in PART:\n    V[i, j] += 0.1 * (W[i, j - 1] + W[i - 1, j])", "V[i] += 0.1 * w",
          "for j in PART:\n    W[i, j] = 0.3 * V[i, j]\n    s += V[i, j]"]
AFTER = ["u = 0.7 * v", "u = v.copy()", "u, v = v, u", "u = u + 0.2 * v", "s += 0.1 * np.sum(v * u)", "W = 0.6 * V",
         "W, V = V, W", "u[:] = V[0] + 0.1 * u", ""]


def random_program(seed: int) -> str:
    """Arrays copied or cleared whole, and then changed but for their ends, in time loops."""
    r = random.Random(seed)
    lines = ["import numpy as np", "", "def f(w, A):", "    n, m, k, s, i = len(w), min(len(w), 4), 1, 0.3, 0",
             "    u, v, W, V = w * 1.1, np.zeros(n), A * 0.9, np.zeros((n, n))"]
    indent = "    "
    if r.random() < 0.7:
        lines.append(f"    for t in range({r.choice([1, 2, 3])}):")
        indent += "    "
    for _ in range(r.randint(1, 2)):
        for text in (r.choice(WHOLE), *(f"for i in {r.choice(PARTS)}:\n    " + r.choice(BODIES).replace(
                "PART", r.choice(PARTS)).replace("\n", "\n    ") for _ in range(r.randint(1, 2))), r.choice(AFTER)):
            lines += [indent + line for line in text.split("\n")]
    return "\n".join([*lines, "    return s + np.sum(u * w) + np.sum(np.sin(v)) + 0.1 * np.sum(W * V) + 0.2 * np.sum(V)"])


def differs(seed: int, mode: str, sizes=(1, 2, 3, 5, 9)) -> str:
    return program_beside_python(random_program(seed), seed, mode, [((n,), (n, n)) for n in sizes], (IndexError, ValueError))


test_random_loops, test_compiled = random_tests(differs, 100, (5000, 5001, 5002), unwritten=True)


def transposed(w, z):
    n = len(w)
    V, T, U = np.outer(w, z), np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            V[i, j] = V[j, i]
            U[i, j] = w[j]
    for i in range(n - 2):
        for j in range(n):
            T[i, j] = U[i, j] * z[i]
    return np.sum(T * U) + np.sum(V * V * z)


def read_transposed(w, z):
    n = len(w)
    V, T, U = np.outer(w, z), np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            U[i, j] = V[j, i]
            V[i, j] = w[j]
    for i in range(1, n - 1):
        for j in range(n):
            T[i, j] = U[i, j] * z[i]
    return np.sum(T * U) + np.sum(V * V * z)


def handed_on(w, z):
    n = len(w)
    r, T, U = np.zeros(n), np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            U[i, j] = r[j]
            r[j] = w[i]
    for i in range(1, n - 1):
        for j in range(n):
            T[i, j] = U[i, j] * z[i]
    return np.sum(T * U) + np.sum(r * z)


def one_element(w, z):
    n = len(w)
    x, y, v, k = np.zeros(n), np.zeros(n), w * 0.4, len(w) // 2
    for i in range(n):
        v[i] = w[i]
        x[i] = v[k]
    for i in range(n - 1):
        y[i] = x[i] * z[i]
    return np.sum(y * x * w) + np.sum(v * v) * 0.5


@pytest.mark.parametrize("f", [transposed, read_transposed, handed_on, one_element])
@pytest.mark.parametrize("wrt", [(0,), (1,), (0, 1)])
def test_copies_in_an_order(f, wrt):
    for n in (2, 5):
        w, z = np.linspace(0.2, 0.9, n), np.linspace(0.8, 0.3, n) ** 2
        assert np.isclose(value_and_grad(f, wrt=wrt, mode="python")(w, z)[0], f(w, z), rtol=1e-12)
        assert_gradient(f, (w, z), wrt, "python")


def diffusion(u, k, steps):
    """The ends stay as they are."""
    n = len(u)
    for _ in range(steps):
        v = u.copy()
        for i in range(1, n - 1):
            v[i] = u[i] + k * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        u = v
    return np.sum(u * u)


@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize("n", [2, 3, 4, 9])
def test_the_middle_is_not_copied(n, mode):
    u = np.linspace(0.1, 0.9, n) ** 2
    assert_gradient(diffusion, (u, 0.2, 3), (0, 1), mode)
    gradient = value_and_grad(diffusion, wrt=(0, 1), mode=mode)
    gradient(u, 0.2, 3)
    assert "for i in range(max(count_" in gradient.source.partition("reverse sweep")[2]
