"""Loops over several axes as one, of `ravel`, `reshape` and the user's own, are nests, and give what Python gives."""

import random

import numpy as np
import pytest

from autodiff import value_and_grad

from .support import beside_python, from_text, some_positions

PARTS = ["x", "x.ravel()", "x.reshape(-1)", "x.reshape(n * m, k)", "x.reshape(n, -1)", "x.reshape(n, m * k)", "x.T.ravel()",
         "x.transpose(0, 2, 1).reshape(n * k, m)", "x.reshape(-1, k)", "x[:, ::2].reshape(-1)", "x.reshape(m, n, k)",
         "np.ravel(x * 2.0)", "x.reshape(k, -1)", "x.flatten()", "np.reshape(x, (n * m, 1, k))", "x.reshape(n, m, k, 1)",
         "x.reshape(-1, n * m)", "x.reshape(n * m * k)", "x.ravel()[1:]", "x.reshape(n * m, k).T"]
USES = ["np.sum(np.exp({a}) * w[:({a}).size].reshape(({a}).shape))", "np.sum({a} * {a})", "np.sum(np.sin({a})[::2])",
        "np.sum(({a}).reshape({b}.shape) * {b})", "np.max({a}) * np.sum({a})",
        "np.sum(np.tanh(({a}).ravel()) * ({b}).ravel())",
        "np.sum(x.reshape(n * m, k) @ w[:k])", "np.sum((x.reshape(-1, k) @ np.outer(w[:k], w[:k])).reshape(n, m, -1) ** 2)",
        "np.sum(w[:n * m] @ x.reshape(-1, k))"]
LOOPS = ["""
    for i in range(n * m):
        s += x[i // m, i % m, 0] * w[i]""", """
    for i in range(n * m):
        y[i // m, i % m] = y[i // m, i % m] ** 2 + w[i]""", """
    for i in range(n * m):
        a, b = divmod(i, m)
        s += np.sum(x[a, b] ** 2) * w[i]""", """
    for i in range(n * m * k):
        a, b, c = i // (m * k), (i // k) % m, i % k
        y[a, b, c] += w[i] * x[a, b, c]""", """
    for i in range(n * m):
        s = 0.5 * s + x[i // m, i % m, k - 1] * y[(i + 1) % n, i // n, 0]""", """
    for i in range(m * k):
        for j in range(n):
            y[j, i // k, i % k] *= 1.0 + 0.1 * w[i]""", """
    for i in range(n * m):
        if i % 2 == 0:
            s += x[i // m, i % m, 0]
        w2[i] = w[i] * y[i // m, i % m, 0]""", """
    for i in range(n * m - 1, -1, -1):
        s += x[i // m, i % m, 0] * s * 0.1""", """
    for i in range(12):
        s += w[i // 4] * w[i % 4]""", """
    for i in range(24):
        s += w[i // -8] * w[i % 4] * w[i // 12]""", """
    for i in range(n * k):
        s += w[i // k] * w[i // (-2 * k)] * w[i // (3 * k)]"""]


def random_program(seed: int) -> str:
    """Sums of reshaped arrays, and loops over one index of two or three axes."""
    r = random.Random(seed)
    lines = ["import numpy as np", "", "def f(x, w):", "    n, m, k = x.shape", "    y, w2, s = x * 1.0, w * 0.5, 0.3"]
    for _ in range(r.randint(1, 3)):
        a, b = r.choice(PARTS), r.choice(PARTS)
        lines.append(r.choice(LOOPS)[1:] if r.random() < 0.5 else f"    s = s + {r.choice(USES).format(a=a, b=b)}")
    return "\n".join([*lines, "    return s + np.sum(y * y) + np.sum(w2)"])


ERRORS = (IndexError, ZeroDivisionError, ValueError)        # that a program may raise


def differs(seed: int, mode: str) -> str:
    """What is wrong with a random program's value or gradient, for arrays of several shapes."""
    text, r = random_program(seed), random.Random(seed)
    wrt = some_positions(seed, 2)
    gradient, f = value_and_grad(from_text("f", text), wrt=wrt, mode=mode), from_text("f", text)
    for _ in range(3):
        shape = tuple(r.choice([0, 1, 2, 2, 3, 4]) for _ in range(3))
        rng = np.random.default_rng(seed)
        x, w = rng.uniform(0.3, 1.2, shape), rng.uniform(0.3, 1.2, 64)
        if wrong := beside_python(f, gradient, (x, w), (), ERRORS, wrt):      # what is certain to fail is refused first
            return f"{text}\n{shape}: {wrong}"
    return ""


@pytest.mark.parametrize("start", range(0, 80, 20))
def test_random_shapes(start):
    for seed in range(start, start + 20):
        assert not (wrong := differs(seed, "python")), wrong


@pytest.mark.parametrize("seed", range(300, 306))
def test_random_shapes_compiled(seed):
    assert not (wrong := differs(seed, "numba")), wrong


def layer(x, W):
    b, t, d = x.shape
    return np.sum(np.tanh(x.reshape(b * t, d) @ W).reshape(b, t, -1) ** 2)


def weighted(x, w):
    return np.sum(np.exp(x.ravel()) * w)


def decoded(x, w):
    n, m, k = x.shape
    s = 0.0
    for i in range(n * m * k):
        s += x[i // (m * k), (i // k) % m, i % k] * w[i]
    return s


def counted(x, w):
    n, m = x.shape
    s = 0.0
    for i in range(n * m):
        s += x[i // m, i % m] * w[i]
    return s


@pytest.mark.parametrize("f, shapes", [(layer, ((3, 4, 2), (2, 5))), (weighted, ((3, 4), (12,))),
                                       (counted, ((3, 4), (12,))), (decoded, ((2, 3, 4), (24,)))])
def test_nothing_is_divided_and_what_has_one_size_is_not_made_zero(f, shapes):
    arrays = [np.full(shape, 0.5) for shape in shapes]
    made = value_and_grad(f, wrt=(0, 1), mode="python")
    np.testing.assert_allclose(made(*arrays)[0], f(*arrays), rtol=1e-13)
    lines = [line for line in made.source.splitlines() if "#" not in line]
    assert not any(sign in line for line in lines for sign in (" // ", " % ", "x_bar = zeros(", "v_bar = zeros("))


def test_two_lengths_below_zero_have_a_product_above_it():
    def f(x, n, m):
        s = 0.0
        for i in range(n * m):
            s += x[i // m] * x[i % m]
        return s

    def g(x, n, m):
        s = 0.0
        for i in range(6 * abs(m)):
            s += x[i // (n * abs(m))] * x[i % abs(m)]
        return s
    x = np.arange(1.0, 9.0)
    for n, m in ((2, 3), (-2, -3), (0, 3), (3, 0), (-1, -1), (-2, 3), (-3, 2)):
        assert value_and_grad(f, mode="python")(x, n, m)[0] == f(x, n, m)
        if n and m:
            assert value_and_grad(g, mode="python")(x, n, m)[0] == g(x, n, m)
