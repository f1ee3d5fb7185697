"""Products of one matrix and the rows of another in a loop, taken as one product of matrices where that is the same."""

import random

import numpy as np
import pytest

import autodiff as ad

from .short_programs import compared, function_of
from .support import assert_gradient

R = np.array([[0.8, -0.2, 0.4], [0.3, 0.9, -0.5], [-0.1, 0.6, 0.7]])
X = np.linspace(-1.0, 1.2, 12).reshape(4, 3)


def in_place(A, C):
    for i in range(A.shape[0]):
        row = A[i] @ C
        A[i] = np.sin(row)
    return np.sum(A ** 2)


def turned(R, X):
    s = 0.0
    for i in range(len(X)):
        y = R @ X[i]
        s += np.sin(y[0]) * y[1] + y[2]
    return s


def stacks(A, C):
    B = np.stack((A, A * 1.3))
    s = 0.0
    for k in range(2):
        for i in range(B.shape[1]):
            s += np.max(C.T @ B[k, i]) * np.sum(B[k, i] @ C)
    return s


def by_rows_of_another(R, X):
    s = 0.0
    for x in X:
        s += np.sum(np.cos(R.dot(x)))
    return s


@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize("f, args", [(in_place, (X, R)), (turned, (R, X)), (stacks, (X, R)), (by_rows_of_another, (R, X))])
def test_gradients(f, args, mode):
    assert_gradient(f, args, (0, 1), mode)


@pytest.mark.parametrize("f, args", [(in_place, (X, R)), (turned, (R, X)), (by_rows_of_another, (R, X))])
def test_one_product_is_taken(f, args):
    ad.check_grads(f, args, order=2, mode="python")
    source = ad.grad(f, wrt=(0, 1)).specialize(*args).source
    loop = source.index("    for ")
    assert "matmul_into" in source[:loop]


def test_no_rows():
    for mode in ("python", "numba"):
        value, (R_bar, X_bar) = ad.value_and_grad(turned, wrt=(0, 1), mode=mode)(R, np.empty((0, 3)))
        assert value == 0.0 and R_bar.shape == (3, 3) and not R_bar.any() and X_bar.shape == (0, 3)


# -- random programs: rows that are written, in the loop or by it, matrices that change, loops over some rows -------------
PRODUCTS = ["u = A[i] @ C", "u = C @ A[i]", "u = C.T @ B[i]", "u = A[i] @ C + 0.1 * i", "u = np.dot(C, B[i])",
            "u = A[i - 1] @ C", "u = C @ (A[i] * t)", "u = A[i].dot(D[0])", "u = D[i % 2] @ A[i]", "u = A[n - 1 - i] @ C",
            "v = C @ (A[i] @ C)"]
WRITES = ["A[i] = u", "B[i] = v * t", "A[i, 0] += u[1]", "C[0, 1] = u[0] * 0.5", "A[0] = B[i]", "B[i] += A[i]",
          "C = C * 0.9", "A[i - 1] = 0.3 * v", "D[1, 0] = v", "A = A * 1.0", "B[i] = A[i] @ C", "A[:, 1] *= 0.9"]
OTHERS = ["s += np.sum(u * v)", "s += u[i % 3]", "if s > 2.0: s -= 1.0", "v = np.tanh(u)", "s += np.sum(A[i]) * 0.1",
          "u = v + u", "if u[0] > 0: v = A[i] @ C"]
LOOPS = ["for i in range(n):", "for i in range(n):", "for i in range(1, n):", "for i in range(n - 1):",
         "for i in range(0, n, 2):", "for i in range(n - 1, -1, -1):", "for i in range(A.shape[0]):"]


def program(rng) -> str:
    lines = ["A = x.reshape(4, 3) * 1.1", f"B = {rng.choice(['np.cos(A)', 'A', 'A[::-1]', 'A.copy()'])}",
             "C = A[:3] * 0.5 + t", "D = np.stack((C, C.T))", "n = len(A)", "u = v = A[0]", "s = 0.0"]
    for _ in range(rng.randint(1, 2)):
        kinds = [rng.choice([PRODUCTS, WRITES, OTHERS, OTHERS]) for _ in range(rng.randint(1, 4))]
        body = [rng.choice(lines_of) for lines_of in (PRODUCTS, *kinds)]
        rng.shuffle(body)
        lines += [rng.choice(LOOPS), *("    " + line for line in body)]
    lines.append("return s + np.sum(u) + np.sum(v * v) + np.sum(A * A) + np.sum(B) + np.sum(C * t)")
    return "def f(x, t):\n" + "".join(f"    {line}\n" for line in lines)


def judged(seed: int) -> str:
    rng = random.Random(seed)
    text = program(rng)
    f = function_of(text, f"rows {seed}", {"np": np})
    return compared(f, X.ravel() * rng.choice([1.0, 0.6]), (rng.choice([0.4, 0.8]),), text, lambda value: abs(value) > 1e6)


def test_programs_are_pythons():
    found = [judged(seed) for seed in range(80)]
    assert found.count("ok") > 40
