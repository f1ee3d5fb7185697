"""What a loop keeps of one iteration, as of a search for the largest, has the derivative of that iteration."""

import random

import numpy as np
import pytest

from autodiff import check_grads, grad, value_and_grad

from .support import program_beside_python, random_tests

LOOPS = ["range(n)", "range(n - 1, -1, -1)", "range(1, n)", "range(0, n, 2)", "range(-1, n - 1)", "range(min(n, 3))"]
VALUES = ["x[i] * w[i]", "np.sin(3.0 * x[i]) - w[n - 1 - i]", "abs(x[i] - 0.5) * s", "x[i] * w[j] - w[i]", "q", "x[i]",
          "w[i] ** 2 / x[i]", "x[i] if w[i] > 0.5 else 0.3 * w[i]", "x[k % n] * w[i]", "A[i, j] * x[j]", "0.7",
          "s * w[i]", "A[i, p % n]"]
CONDITIONS = ["c > m", "c < m", "c >= m", "x[i] > 0.5", "abs(c) > abs(m)", "c > m and i % 2 == 0", "c > m or w[i] < 0.3",
              "not c <= m", "i == n // 2", "k < 0 or c < m", "c > x[0]", "m < 0.8", "int(9 * w[i]) % 2 == 0", "c > other"]
ASSIGNED = ["m = c", "m = c; k = i", "m = 2.0 * c; other = c * w[i]", "m = c; other = m", "k = i; m = x[k] * c",
            "m = x[i]; x[i] = 0.9 * x[i]", "other = m; m = c", "m = c; p = i + 1", "m = max(c, m)", "m = m + 0.1 * c"]
BETWEEN = ["", "", "", "s += 0.01 * c", "s += 0.01 * m", "p += 1", "x[i] = 0.5 * x[i] + 0.1", "z[i] = c"]


def random_program(seed: int) -> str:
    """Loops that search, one in another or one after the other."""
    r = random.Random(seed)
    lines = ["import numpy as np", "", "def f(x, w, A):", "    n, s, k, p, j, i = len(x), 0.4, 0, 1, 0, 0",
             "    z = np.zeros(n)", "    other = 0.2"]
    for _ in range(r.randint(1, 2)):
        lines.append(f"    m = {r.choice(['0.0', '9.0', '-9.0', 'x[0]', 's', '0.5 * w[n - 1]'])}")
        nested = r.random() < 0.5
        if nested:
            lines.append(f"    for j in {r.choice(LOOPS)}:")
            lines += [f"        {r.choice(['m = 0.1', 'm = w[j]', 'other = w[j]', 'k = -1'])}"] * (r.random() < 0.5)
        indent = "        " if nested else "    "
        body = search(r)
        lines += [indent + line for line in body]
        lines += [indent + r.choice(["s += m", "z[j] = m", "s += 0.1 * m * x[k]", "s = s * np.cos(m)", ""])] * nested
        lines.append("    s += np.sin(m) + 0.1 * other + 0.01 * k * x[k % n]")
    return "\n".join([*lines, "    return s + np.sum(z * z) + 0.1 * np.sum(x)"])


def search(r) -> list[str]:
    value, between = r.choice(VALUES), r.choice(BETWEEN)
    lines = [f"for i in {r.choice(LOOPS)}:"]
    if value == "q":
        lines += ["    q = 0.0", "    for l in range(n):", "        q += (A[i, l] - x[l]) ** 2"]
    lines += [f"    c = {value}"]
    if r.random() < 0.15:
        return [*lines, f"    m = c if {r.choice(CONDITIONS)} else m"]
    lines += [f"    {between}"] * (between != "")
    condition = r.choice(CONDITIONS)
    if r.random() < 0.2:
        lines += [f"    if {r.choice(CONDITIONS)}:", f"        if {condition}:",
                  *(f"            {part}" for part in r.choice(ASSIGNED).split("; "))]
    else:
        lines += [f"    if {condition}:", *(f"        {part}" for part in r.choice(ASSIGNED).split("; "))]
    if r.random() < 0.2:
        lines += ["    else:", f"        {r.choice(['p += 1', 's += 0.1 * w[i]', 'other = c', 'm = c'])}"]
    return lines


def differs(seed: int, mode: str, sizes=(1, 2, 5, 9)) -> str:
    return program_beside_python(random_program(seed), seed, mode, [((n,), (n,), (n, n)) for n in sizes])


test_random_searches, test_compiled = random_tests(differs, 80, (1003, 1008))


# -- which loops need no reverse ------------------------------------------------------------------------------------
def viterbi(A, x):
    """The best way through the states, x (steps, states)."""
    d = x[0]
    for t in range(1, x.shape[0]):
        new = np.zeros(x.shape[1])
        for j in range(x.shape[1]):
            m = -1e300
            for i in range(x.shape[1]):
                c = d[i] * A[i, j]
                if c > m:
                    m = c
            new[j] = m + np.sin(x[t, j])
        d = new
    return np.sum(d * d)


def nearest(X, C):
    s = 0.0
    for i in range(X.shape[0]):
        best, which = 1e300, -1
        for j in range(C.shape[0]):
            q = 0.0
            for k in range(X.shape[1]):
                q += (X[i, k] - C[j, k]) ** 2
            if q < best:
                best, which = q, j
        s += best * np.log(1.0 + best) + 0.0 * which
    return s


def of_pairs(x, y):
    best = 0.0
    for i in range(len(x)):
        for j in range(len(y)):
            v = (x[i] - y[j]) ** 2 * x[i]
            if v > best:
                best = v
    return np.sin(best)


def ternary(x):
    m = x[0]
    for i in range(1, len(x)):
        m = x[i] if x[i] > m else m
    return m * m


def last_one(x):
    m = 1.0
    for i in range(len(x)):
        m = np.exp(x[i])
    return m


def with_a_sum(x):
    """What is replaced is needed besides."""
    m = s = 0.0
    for i in range(len(x)):
        s += m * x[i]
        if x[i] > m:
            m = x[i]
    return s + m


def of_the_state(x):
    """What is assigned depends on what the loop carries."""
    m, s = 0.0, 0.3
    for i in range(len(x)):
        s = 0.5 * s + x[i]
        if s > m:
            m = s
    return m


R = np.random.default_rng(4)


@pytest.mark.parametrize(("function", "args", "behind"), [
    (viterbi, (R.random((4, 4)), R.random((6, 4))), "last = "),
    (nearest, (R.random((7, 3)), R.random((4, 3))), "C_bar[which"),
    (of_pairs, (R.random(6), R.random(5)), "x_bar[last]"), (ternary, (R.random(9),), "x_bar[last]"),
    (last_one, (R.random(4),), "x_bar[last]"), (with_a_sum, (R.random(9),), ""), (of_the_state, (R.random(9),), "")])
def test_which(function, args, behind):
    wrt = tuple(range(len(args)))
    gradient = value_and_grad(function, wrt=wrt, mode="python")
    assert gradient(*args)[0] == pytest.approx(function(*args))
    assert behind in gradient.source and (behind or "last = " not in gradient.source)
    check_grads(function, args, wrt=wrt, mode="python", order=2)


def first_of_equal(x):
    m = -1.0
    for i in range(len(x)):
        if x[i] > m:
            m = x[i]
    return m


def last_of_equal(x):
    m = -1.0
    for i in range(len(x)):
        if x[i] >= m:
            m = x[i]
    return m


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_the_one_that_python_takes(mode):
    x = np.array([1.0, 3.0, 2.0, 3.0])
    np.testing.assert_array_equal(grad(first_of_equal, mode=mode)(x), [0, 1, 0, 0])
    np.testing.assert_array_equal(grad(last_of_equal, mode=mode)(x), [0, 0, 0, 1])
    np.testing.assert_array_equal(grad(first_of_equal, mode=mode)(np.array([-3.0, -2.0])), [0, 0])
    np.testing.assert_array_equal(grad(first_of_equal, mode=mode)(np.array([np.nan, 2.0])), [0, 1])
    assert grad(first_of_equal, mode=mode)(np.zeros(0)).shape == (0,)
