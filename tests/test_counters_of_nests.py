"""Integers that several loops count: polynomials of the outer index, checked once, without a tape."""

import random

import numpy as np
import pytest

import autodiff as ad

from .short_programs import compared, function_of
from .support import assert_gradient

X = np.linspace(0.4, 1.7, 10)
C = np.array([0.7, 1.2, 0.4, 0.9])


def packed(x, c):
    d, p, s = len(c), 0, 0.0
    for a in range(d):
        for b in range(a, d):
            s = np.sin(s) + x[p] * c[a] * c[b]
            p += 1
    return s * p


def behind_the_diagonal(x, c):
    """The strict lower triangle behind the diagonal, column by column."""
    d = len(c)
    z = x[:d] * c
    p = d
    for a in range(d):
        for b in range(a + 1, d):
            z[b] += x[p] * c[a]
            p += 1
    return np.sum(z * z)


def row_by_row(x, c):
    p, s = 0, 0.0
    for a in range(len(c)):
        for b in range(a + 1):
            s = np.cos(s) * x[p] + c[b]
            p += 1
    return s


def from_the_last(x, c):
    p, s, d = 0, 0.0, len(c)
    for a in range(d - 1, -1, -1):
        for b in range(d - 1, a - 1, -1):
            s = np.sin(s) * x[p] + c[b]
            p += 1
    return s * p


def rectangle(x, c):
    m, p, s = len(c), 0, 0.0
    for a in range(2):
        for b in range(m):
            s = s * x[p] + c[b]
            p += 1
        p += 1
    return s


def again_for_each(x, c):
    s = 0.0
    for k in range(3):
        p = k
        for a in range(len(c) - 1):
            for b in range(a, len(c) - 1):
                s = np.sin(s + k) * x[p] + c[a]
                p += 1
    return s


COUNTED = [packed, behind_the_diagonal, row_by_row, from_the_last, rectangle, again_for_each]


@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize("f", COUNTED)
def test_gradients(f, mode):
    assert_gradient(f, (X, C), (0, 1), mode)


@pytest.mark.parametrize("f", COUNTED)
def test_no_tape_and_no_checks_in_loops(f):
    source = ad.grad(f, wrt=(0, 1), mode="python").specialize(X, C).source
    assert "p_tape" not in source and "wrap_index" not in source


@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize("f", COUNTED)
def test_a_short_array_is_an_error(f, mode):
    with pytest.raises(IndexError):
        f(X[:5], C)
    with pytest.raises(IndexError):
        ad.value_and_grad(f, mode=mode)(X[:5], C)


def test_second_derivatives():
    ad.check_grads(packed, (X, C), order=2, mode="python")


def test_branches_and_falling_counts_stay_carried():
    def sometimes(x, c):
        p, s = 0, 0.0
        for a in range(len(c)):
            for b in range(a, len(c)):
                s += x[p] ** 2 * c[b]
                if b % 2:
                    p += 1
        return s

    def shrinking(x, c):
        p, s = 9, 0.0
        for a in range(len(c)):
            for b in range(a + 1):
                s = np.sin(s) + x[p] * c[b]
                p -= 1
        return s

    for f in (sometimes, shrinking):
        assert_gradient(f, (X, C), (0, 1), "python")


def bounds(rng: random.Random, outer: list[str]) -> str:
    ends = ["d", "d - 1", "m", "3", "d + 1", *(f"{i} + 1" for i in outer), *outer, *(f"d - {i}" for i in outer)]
    starts = ["0", "0", "1", *outer, *(f"{i} + 1" for i in outer)]
    low, high = rng.choice(starts), rng.choice(ends)
    return f"range({high} - 1, {low} - 1, -1)" if rng.random() < 0.2 else f"range({low}, {high})"


def program(rng: random.Random) -> str:
    """One to three loops in each other, with counters that grow and fall in them."""
    lines = ["def f(x, d, m, c):", "    s = 0.0", f"    p = {rng.choice(['0', '0', 'd', '1', 'len(x) - 1'])}",
             f"    q = {rng.choice(['0', 'm', 'len(x) - 1'])}"]
    indices: list[str] = []
    written = rng.random() < 0.3

    def count(pad):
        name = rng.choice("pppq")
        by = rng.choice(["1", "1", "1", "1", "2", "m", "d - 1", *indices])
        line = f"{pad}{name} {rng.choice('+++-')}= {by}"
        return [f"{pad}if {indices[-1]} % 2:", f"    {line}"] if rng.random() < 0.08 else [line]

    depth = rng.choice([2, 2, 2, 3])
    for level in range(depth):
        pad = "    " * (level + 1)
        if level and rng.random() < 0.15:
            lines.append(f"{pad}p = {rng.choice(['0', indices[-1], 'd', 'q'])}")
        name = "abe"[level]
        lines.append(f"{pad}for {name} in {bounds(rng, indices)}:")
        indices.append(name)
    pad = "    " * (depth + 1)
    place = rng.choice(["p", "p", "p", "q", "p - q", "p + 1", f"p - {indices[-1]}"])
    if rng.random() < 0.3:
        lines += count(pad)
    if written:
        lines.append(f"{pad}x[{place}] = np.sin(x[{place}]) + c")
    lines.append(f"{pad}s = {rng.choice(['s', 'np.sin(s)'])} + x[{place}] * {rng.choice(['c', 'x[p]', 's', indices[0]])}")
    lines += count(pad)
    for level in range(depth, 0, -1):
        if rng.random() < 0.35:
            indices = indices[:level]
            lines += count("    " * level + "    " if level < depth else "    " * (level + 1))
    return "\n".join([*lines, f"    return s + x[{rng.choice(['0', '-1', 'p % len(x)', '0'])}] * p + q", ""])


def judged(seed: int) -> str:
    rng = random.Random(seed)
    text = program(rng)
    f = function_of(text, f"counters {seed}", {"np": np})
    x = np.resize(X, rng.choice([1, 4, 10, 16, 40, 40, 60])) * rng.choice([1.0, 0.6])
    rest = rng.choice([0, 1, 2, 3, 4, 5]), rng.choice([-1, 0, 1, 2, 3]), 0.3
    found = compared(f, x, rest, text, lambda value: not abs(value) < 1e6)
    if found == "raises":
        try:
            f(x.copy(), *rest)
        except Exception as error:
            with pytest.raises(type(error)):
                ad.value_and_grad(f, mode="python")(x.copy(), *rest)
    return found


def test_programs_are_pythons():
    found = [judged(seed) for seed in range(150)]
    assert found.count("ok") > 70 and found.count("raises") > 15, found
