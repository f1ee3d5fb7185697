"""Loops whose first iteration is of another kind: it stands before the loop of the others."""

import random
from functools import cached_property

import numpy as np
import pytest

import autodiff as ad

from .short_programs import compared, function_of
from .support import assert_gradient

X, A = np.array([0.4, -0.3, 0.8]), np.linspace(-0.5, 1.0, 12).reshape(4, 3)


class Grid:
    def __init__(self, n):
        self.n = n

    @cached_property
    def laplacian(self):
        return np.diag(np.ones(self.n - 1), 1) + np.diag(np.ones(self.n - 1), -1) - 2 * np.eye(self.n)


def cached(x):
    """The first step makes what the others find."""
    grid = Grid(3)
    for _ in range(20):
        x = x + 0.05 * (grid.laplacian @ x) * x[0]
    return np.sum(x * x)


def number_first(x):
    s = 0.0
    for k in range(15):
        s = s * 0.5 + x * k
    return np.sum(s * s)


def key_first(x):
    d = {}
    for k in range(12):
        d["mean"] = np.mean(x) * k + d.get("mean", 1.0) * 0.5
        x = x * 0.9
    return d["mean"] * np.sum(x)


def kept_last(x):
    """None at the start, another array at each turn."""
    last, s = None, 0.0
    for k in range(14):
        now = np.sin(x * (k + 1))
        if last is not None:
            s += np.sum((now - last) ** 2)
        last = now
    return s + last[0]


def shape_first(x):
    a = x
    for k in range(11):
        a = np.tanh(a[:, None] * x if a.ndim == 1 else a @ a.T + k)
    return np.sum(a)


def rows(x, A):
    """A sum that starts as a number."""
    total = 0
    for row in A:
        total = total + row * x
    return np.sum(total ** 2)


def counted(x, A, n):
    total, last = 0, None
    for k in range(n):
        total = total + A[k % 4] * x
        last = total if last is None else last * 0.5 + total
    return np.sum(total) + (0.0 if last is None else np.sum(last))


def iterated(x, A):
    """Until it is large: a number grows into an array."""
    a, k = 1.0, 0
    while np.sum(a) < 30.0:
        a = a * (1.2 + x * x)
        k += 1
        if k > 50:
            break
    else:
        a = a + A[0]
    return np.sum(a)


@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize("f, rest", [
    (rows, (A,)), (counted, (A, 0)), (counted, (A, 1)), (counted, (A, 90)), (iterated, (A,))])
def test_any_number_of_iterations(f, rest, mode):
    value, slope = ad.value_and_grad(f, mode=mode)(X, *rest)
    assert abs(value - f(X, *rest)) < 1e-12 * max(1.0, abs(value))
    for k, e in enumerate(np.eye(3)):
        assert abs(slope[k] - (f(X + 1e-6 * e, *rest) - f(X - 1e-6 * e, *rest)) / 2e-6) < 1e-6 * max(1.0, abs(slope[k]))


def broken(x):
    s = 0.0
    for k in range(30):
        s = s + x * k
        if k > 20:
            break
    else:
        s = s * 3.0
    return np.sum(s)


@pytest.mark.parametrize("f", [cached, number_first, key_first, kept_last, shape_first, broken])
def test_gradients_and_texts(f):
    assert_gradient(f, (X,), (0,), "python")
    made = ad.grad(f, mode="python")
    made(X)
    assert made.source.count("\n") < 150


@pytest.mark.parametrize("f", [cached, number_first])
def test_compiled(f):
    assert_gradient(f, (X,), (0,), "numba")


STARTS = ("a = 0.0", "a = None", "a = x", "a = x[0]", "a = [x[0]]", "a = (x, 1.0)", "a = np.zeros((2, 3))", "a = 1",
          "a = True")
STEPS = ("a = x * k if a is None else x * 0.5", "a = x + 1.0", "a = np.outer(x, x) * 0.1", "a = [x[k % 3], s]",
         "a = (x * s, k)", "a = s if k else x", "d['v'] = x * k", "d['w'] = d.get('v', s)",
         "s = s + np.sum(d['v']) if 'v' in d else s * 0.5",
         "s = s * 0.9 + np.sum(np.asarray(a if a is not None else 0.0, float)) * 0.1", "x = x * 0.95 + 0.01 * k",
         "b = x if k else x * 2.0", "s += np.sum(b)", "o.v = x * s", "s += np.sum(o.v)", "first = False",
         "if first: s = s * 2.0", "s += len(L)", "a = a + row * 0.1", "a += row", "s = s + row", "y = y * row + k",
         "L.append(s)", "L = L[-3:] + [k]", "if s > 9.0: break", "if k == 5: continue", "s = float(s)",
         "y = y[:2] if len(y) > 2 else y", "s += y[-1]", "t = 'u' if k else 'v'", "s += 1.0 if t == 'u' else 0.5")


HEADS = ("for k in range({n}):", "for k in range(70):", "for k in range(m):", "for k in range(m):",
         "for k, row in enumerate(A):", "for k in range(2, m + 2):", "for k in range(m)[::-1]:",
         "for k, row in zip(range(9), A):", "for k in np.arange(m):", "while k < m + 1:;        k += 1",
         "while s < 9.0 and k < m:;        k += 1", "for k, row in enumerate(A[:m]):",
         "while True:;        k += 1;        if k > m: break")


def program(seed: int) -> str:
    chosen = random.Random(seed)
    head = chosen.choice(HEADS).format(n=chosen.randint(10, 16)).replace(";", "\n")
    steps = "\n".join(f"        {chosen.choice(STEPS)}" for _ in range(chosen.randint(2, 6)))
    return f"""class O:
    v = 0.5

def f(x, A, m):
    {chosen.choice(STARTS)}
    s, d, o, L, first, y, b, t, k, row = 0.5, {{}}, O(), [], True, x * 2.0, 0.25, 'v', 0, x
    {head}
{steps}
    return np.sum(np.asarray(a if a is not None and not isinstance(a, tuple) else 0.0, float)) + s + np.sum(x) + np.sum(o.v)
"""


def attempt(seed: int) -> str:
    f = function_of(program(seed), f"peeled {seed}", {"np": np, "__name__": "peeled"})
    m = random.Random(seed).choice((0, 1, 3, 12, 80))
    return compared(f, X, (A, m), program(seed), lambda value: abs(value) > 1e6)


@pytest.mark.filterwarnings("ignore::autodiff.AutodiffWarning")
def test_random_loops():
    found = [attempt(seed) for seed in range(60)]
    assert found.count("ok") > 20, found
