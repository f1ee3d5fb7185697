"""Buffers that a loop swaps are other memory than each other until it does: what one holds is read again, not kept."""

import random

import numpy as np
import pytest

from autodiff import value_and_grad

from .support import beside_python, program_beside_python

SWAPS = ["a, b = b, a", "a, b, c = b, c, a", "b, c = c, b", "a, c = c, a", "a, b = b, a\n{0}b, c = c, b",
         "t = a\n{0}a = b\n{0}b = t"]
TERMS = ["a[i]", "b[i]", "c[i]", "a[i - 1]", "b[i - 1]", "a[0]", "c[n - 1]", "np.sin(b[i])", "a[i] * b[i]",
         "c[i] * a[i - 1]", "k"]


def random_program(seed: int) -> str:
    """Time steps over two or three buffers, which are swapped within and between them."""
    r = random.Random(seed)

    def update(indent):
        value = f"0.5 * {r.choice(TERMS)} + 0.3 * {r.choice(TERMS)} * {r.choice(TERMS)}"
        return f"{indent}{r.choice('abc')}[{r.choice(['i', 'i', 'i', 'i - 1'])}] {r.choice(['=', '=', '+='])} {value}"

    def swap(indent):
        return indent + r.choice(SWAPS).format(indent)
    lines = ["import numpy as np", "", "def f(x, y, k):", "    a, b, c = x.copy(), y.copy(), x * y",
             "    n, s = len(x), 0.0", f"    for _ in range({r.randint(1, 4)}):"]
    for _ in range(r.randint(1, 3)):
        what = r.randrange(5)
        if what == 0:
            lines.append(swap("        "))
        elif what == 1:
            lines += ["        for _ in range(2):", "            for i in range(1, n):", *(
                update("                ") for _ in range(r.randint(1, 2))), swap("            ")]
        else:
            lines += ["        for i in range(1, n):", *(update("            ") for _ in range(r.randint(1, 3)))]
        if r.random() < 0.3:
            lines.append(f"        s += np.sum({r.choice('abc')} * {r.choice('abc')})")
    lines.append(swap("        "))
    return "\n".join([*lines, "    return s + np.sum(a * a) + np.sum(b) + 0.3 * np.sum(c * b)"])


def differs(seed: int, mode: str) -> str:
    """What is wrong with a random program's value or gradient."""
    return program_beside_python(random_program(seed), seed, mode, [(n, n, ()) for n in (1, 2, 4)])


@pytest.mark.parametrize("start", range(0, 30, 10))
def test_random_swaps(start):
    for seed in range(start, start + 10):
        assert not (wrong := differs(seed, "python")), wrong


def coupled(u, v, steps):
    """Two fields, each with a second buffer."""
    un, vn = u.copy(), v.copy()
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            un[i] = u[i] - 0.1 * u[i] * v[i] * (u[i] - u[i - 1])
            vn[i] = v[i] + 0.1 * u[i] * (v[i + 1] - v[i]) * v[i]
        u, un = un, u
        v, vn = vn, v
    return np.sum(u * v)


def test_one_tape_for_each_field():
    """What a step overwrites in the second buffer is all that is kept."""
    r = np.random.default_rng(0)
    gradient = value_and_grad(coupled, wrt=(0, 1), mode="python")
    args = r.random(6), r.random(6)
    assert not beside_python(coupled, gradient, args, (4,))
    assert gradient.source.count("_tape = empty(") == 2
