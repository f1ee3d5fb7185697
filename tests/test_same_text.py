"""A program has one text, however its variables lie in memory: what is compiled is found again by its text."""

import numpy as np
import pytest

from autodiff import grad

from .support import from_text

STEPS = """
import numpy as np

def f(x, h, tol):
    a, b, t, acc = x[0], x[1], 0.0, 0.0
    while t < 1.0:
        y = b - h * a * b
        z = a + h * y
        err = np.sqrt((y - b) ** 2 + (z - a) ** 2) / tol + 1e-10
        acc += h * z * z
        t, a, b = t + h, z, y
        h = h * min(2.0, max(0.3, 0.9 * err ** (-1 / 3)))
    return acc
"""

FIELDS = """
import numpy as np

def f(u, v, w, steps):
    for _ in range(steps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] += 0.1 * (v[i - 1, j] * u[i, j - 1] - w[i, j] * u[i, j])
        for i in range(1, v.shape[0] - 1):
            for j in range(1, v.shape[1] - 1):
                v[i, j] += 0.1 * u[i, j] * w[i, j + 1]
                w[i, j] += 0.1 * u[i, j] * v[i, j]
    return np.sum(u * v)
"""


def steps():
    return np.array([0.3, 0.8]), 0.1, 0.01


def fields():
    r = np.random.default_rng(1)
    return r.random((5, 6)), r.random((5, 6)), r.random((5, 6)), 3


@pytest.mark.parametrize("text, arguments, wrt", [(STEPS, steps, 0), (FIELDS, fields, (0, 1))])
def test_a_program_has_one_text(text, arguments, wrt):
    texts, taken = set(), []
    for k in range(6):
        taken.append([object() for _ in range(1000 * k)])           # variables lie elsewhere
        g = grad(from_text(f"same_text_{wrt}", text), wrt=wrt, mode="python")
        g(*arguments())
        texts.add(g.source)
    assert len(texts) == 1
