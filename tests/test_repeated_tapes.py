"""Programs that copy their state and change it in place keep it once."""

import random

import numpy as np
import pytest

from autodiff import check_grads, value_and_grad

from .support import beside_python, program_beside_python, random_tests

SUMS = ["for j in range(n):\n    s += a[j] * w[j]", "for j in range(n):\n    s += np.sin(a[j]) * a[n - 1 - j]",
        "s += np.sum(a * a)", "s += a[k % n] ** 2", ""]
RANGES = ["range(n)", "range(1, n)", "range(k + 1)", "range(n - 1, -1, -1)", "range(0, n, 2)", "range(1, n - 1)"]
CHANGES = ["a[j] = old[j] + 0.3 * r * old[n - 1 - j]", "a[j] = a[j] * old[j] * r", "a[j] += 0.2 * np.sin(old[j]) * a[j]",
           "a[j] = old[j] * w[j]\na[j] *= a[j]", "a[j // 2] = 0.9 * a[j // 2] * old[j]",
           "a[k % n] = a[k % n] * old[j] * 0.8", "a[j] = np.cos(a[j] * old[j - 1])",
           "if w[j] > 0.5:\n    a[j] = a[j] * old[j]", "a[n - 1 - j] = a[j] * old[j]",
           "t = a[j]\na[j] = old[j] * t\ns += t * t"]
BETWEEN = ["", "", "", "a[0] = 0.5 * a[0] * a[0]", "old[0] = 0.5", "w = w * 0.9", "a = a * 0.9", "r = 0.5 + 0.1 * s"]
GRID = ["B[i, j] = old[i, j] * B[i, j] + 0.1 * old[j, i]", "B[i, j] = B[i, j] * old[j, i]",
        "B[j, i] = 0.9 * B[j, i] * old[i, j]"]


def random_program(seed: int) -> str:
    """A loop that keeps its state before it changes it."""
    r = random.Random(seed)
    lines = ["import numpy as np", "", "def f(a, w, B):", "    n, s, r = len(a), 0.2, 0.7", "    for k in range(1, 4):"]
    parts = [r.choice(SUMS)]
    if r.random() < 0.25:
        rows = r.choice(["range(n)", "range(1, n)"])
        parts += ["old = B.copy()", r.choice(["", "s += np.sum(B * B)"]),
                  f"for i in {rows}:\n    for j in range(n):\n        " + r.choice(GRID), "s += np.sum(np.sin(B))"]
    else:
        parts += ["old = a.copy()", r.choice(BETWEEN), f"for j in {r.choice(RANGES)}:\n    "
                  + r.choice(CHANGES).replace("\n", "\n    "), r.choice(BETWEEN), r.choice(["s += np.sum(old * w)", ""])]
    lines += ["        " + line for part in parts for line in part.split("\n") if line]
    return "\n".join([*lines, "    return s + np.sum(a * w) + np.sum(B)"])


def differs(seed: int, mode: str, sizes=(2, 3, 6)) -> str:
    return program_beside_python(random_program(seed), seed, mode, [((n,), (n,), (n, n)) for n in sizes])


test_random_loops, test_compiled = random_tests(differs, 60, (1000, 1001))


def in_place(a, w):
    a, s = a.copy(), 0.0
    for k in range(4):
        for j in range(len(a)):
            s += 0.1 * a[j] * w[j] * s + 0.1 * a[j]
        old = a.copy()
        for j in range(1, len(a)):
            a[j] = old[j] * np.sin(s) + old[len(a) - j]
    return s + np.sum(a * a)


def changed_before(a, w):
    """The copy is not what is overwritten."""
    a, s = a.copy(), 0.0
    for k in range(4):
        for j in range(len(a)):
            s += 0.1 * a[j] * w[j] * s + 0.1 * a[j]
        old = a.copy()
        a[2] = 0.5 * np.cos(a[2])
        for j in range(1, len(a)):
            a[j] = old[j] * np.sin(s) * a[j] + old[len(a) - j]
    return s + np.sum(a * a)


@pytest.mark.parametrize(("function", "tape"), [(in_place, False), (changed_before, True)])
def test_which(function, tape):
    args = np.linspace(0.2, 0.5, 5), np.linspace(0.3, 0.1, 5)
    gradient = value_and_grad(function, wrt=(0, 1), mode="python")
    assert gradient(*args)[0] == pytest.approx(function(*args))
    assert ("a_tape[" in gradient.source) == tape
    check_grads(function, args, wrt=(0, 1), mode="python")


def of_a_user(a, m):
    """An array of the program's own that holds the same in some places, and other things in others."""
    a = a.copy()
    n = len(a)
    T, U = np.ones(n), np.zeros((4, n))
    for k in range(m):
        old = a.copy()
        for j in range(1, n - 1):
            T[j] = a[j]
            U[k, j] = a[j]
            a[j] = 0.5 * old[j] + 0.2 * old[j - 1]
    return np.sum(T * T) + np.sum(a * a) + np.sum(U * U)


def in_a_branch(a, m):
    a = a.copy()
    n = len(a)
    T = np.ones(n)
    if m > 1:
        old = a.copy()
        for j in range(1, n - 1):
            T[j] = a[j]
            a[j] = 0.5 * old[j] + 0.2 * old[j - 1]
    return np.sum(T * T) + np.sum(a * a)


def shrinking(a, m):
    """Some places hold what they held in an earlier round."""
    a = a.copy()
    n = len(a)
    T = np.empty(n)
    for j in range(n):
        T[j] = 0.0
    for k in range(m):
        old = a.copy()
        for j in range(n - k):
            T[j] = a[j]
            a[j] = 0.5 * old[j] * a[j] + 0.2 * old[j - 1]
    return np.sum(T * T) + np.sum(a * a)


def kept_twice(a, m):
    n = len(a)
    a, old, T = a.copy(), np.zeros((4, n)), np.zeros((4, n))
    for k in range(m):
        for i in range(n):
            old[k, i] = a[i]
        for j in range(1, n - 1):
            T[k, j] = a[j]
            a[j] = old[k, j] * np.sin(a[j])
    return np.sum(T * T) + np.sum(old) + np.sum(a * a)


@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize("function", [of_a_user, in_a_branch, shrinking, kept_twice])
def test_arrays_of_the_program(function, mode):
    gradient = value_and_grad(function, wrt=(0,), mode=mode)
    for m in (0, 1, 3):
        wrong = beside_python(function, gradient, [np.linspace(0.3, 0.9, 5)], (m,), wrt=(0,))
        assert not wrong, wrong
