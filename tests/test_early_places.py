"""Checks of places before the loops that do not change them: the same numbers, the same errors, and no others."""

import random
import warnings

import numpy as np
import pytest

from autodiff import value_and_grad

from .support import beside_python, from_text, outcome, random_tests, some_positions

ROWS = ["u[e]", "v[e]", "p", "u[e] - 1", "q", "-1", "u[0]", "v[u[e]]"]
INNER = ["range(K)", "range(K)", "range(K)", "range(m[e])", "range(1, K)", "range(K - 1, -1, -1)", "range(2)", "range(e)"]
BODY = ["s += X[{0}, k] * Y[{1}, k]", "X[{0}, k] += 0.1 * Y[{1}, k]", "a = X[{0}, k]\nX[{0}, k] = 0.9 * a + 0.1 * Y[{1}, k]",
        "s += X[{0}, k] ** 2", "if w[e] > 0.5:\n    s += X[{0}, k]", "s += 0.1 * (K // (e - 1)) * X[{0}, k]",
        "for l in range(m[e]):\n    s += X[{0}, l] * Y[{1}, k]", "for l in range(K):\n    X[{0}, l] += 0.1 * Y[{1}, k]",
        "s += X[u[k], k] * Y[{1}, k]", "s += X[e % 3, k] * X[{0}, k]", "if s > 3.0:\n    break\ns += X[{0}, k]",
        "s += X[k, {0} % 3] * w[{1}]", "t[k] = X[{0}, k]\ns += t[k] * w[{1}]"]
BETWEEN = ["", "", "q = (q + 2) % 4", "if w[e] > 0.8:\n    continue", "s += w[{0}]", "s = 0.5 * s", "q = p",
           "if s > 2.0:\n    raise ValueError('large')"]


def random_program(seed: int) -> str:
    """Loops over the columns of rows that the data name."""
    r = random.Random(seed)
    lines = ["import numpy as np", "", "def f(X, Y, w, u, v, m, c):", "    s, q, K = 0.1, 1, X.shape[1]",
             "    t = np.zeros(9)", "    for e in range(len(w)):",
             f"        p = {r.choice(['u[e]', 'v[e]', 'u[e] + v[e]', 'e', 'm[e]'])}"]
    for _ in range(r.randint(1, 3)):
        rows = r.choice(ROWS), r.choice(ROWS)
        parts = [f"for k in {r.choice(INNER)}:\n    " + r.choice(BODY).format(*rows).replace("\n", "\n    ")]
        parts.insert(r.randrange(2), r.choice(BETWEEN).format(*rows))
        lines += ["        " + line for part in parts for line in part.split("\n") if line]
    return "\n".join([*lines, "    return s + 0.1 * np.sum(X * X) + np.sum(w)"])


def differs(seed: int, mode: str) -> str:
    text, wrt = random_program(seed), some_positions(seed, 3)
    f, gradient = from_text("f", text), value_and_grad(from_text("f", text), wrt=wrt, mode=mode)
    r = np.random.default_rng(seed)
    for n, rows, columns, off in ((3, 4, 3, 0), (4, 3, 2, 0), (2, 2, 0, 1), (3, 2, 2, 1), (4, 4, 1, 2), (0, 2, 2, 1)):
        if mode == "numba" and not n:
            continue                # all that is left of a program may be a text that was made with checks
        u, v = (r.integers(-rows - off * (r.random() < 0.3), rows + off * (r.random() < 0.3), n) for _ in range(2))
        args = r.uniform(0.2, 0.9, (rows, columns)), r.uniform(0.2, 0.9, (rows, columns)), r.uniform(0.2, 0.9, n)
        more = u, v, r.integers(0, columns + 1, n), float(args[2][0]) if off == 2 and n else 0.1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            first, found = (outcome(g, *(a.copy() for a in args), *more) for g in (f, gradient))
            if isinstance(first, Exception) and "size 0" in str(first):
                continue            # constant places of empty axes are checked where something needs them only
            if isinstance(first, Exception) and type(found) is not type(first):
                return f"{text}\n{found!r} for {first!r}"
            wrong = beside_python(f, gradient, args, more, (IndexError, ValueError, ZeroDivisionError), wrt)
        if wrong:
            return f"{text}\n{args}, {more}: {wrong}"
    return ""


test_random_loops, test_compiled = random_tests(differs, 60, (1000, 1001, 1002))


def sought(x, b):
    """The number that an iteration reads before the loop inside it is no integer."""
    for i in range(4):
        for _ in range(1, 2):
            if x[i] if b > 0.5 else 1.5:
                continue
            return x.sum()
    return b * b


@pytest.mark.filterwarnings("ignore:the gradient of")
@pytest.mark.parametrize("x, b", [(np.ones(3), 0.2), (np.ones(4), 0.7), (np.array([1.0, 0.0, 2.0]), 0.7)])
def test_numbers_that_are_read_early(x, b):
    found = b > 0.5 and not np.all(x)
    value, (x_bar, b_bar) = value_and_grad(sought, wrt=(0, 1), mode="python", debug=True)(x, b)
    assert value == sought(x, b)
    np.testing.assert_allclose(x_bar, np.full(len(x), float(found)))
    assert b_bar == (0.0 if found else 2 * b)
