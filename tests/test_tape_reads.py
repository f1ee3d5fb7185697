"""Reverse sweeps that read the tape in place of what they would restore, and stores that nobody reads: the gradients of
random time loops are those of forward mode, which has no tape."""

import copy
import random
import re
import warnings
from unittest import mock

import numpy as np
import pytest

from autodiff import grad, jvp, value_and_grad
from autodiff.errors import AutodiffError

from .fuzz.segments import HELPER, Loops
from .support import assert_gradient, from_text


def judged(seed: int) -> str:
    """"" if a random program has Python's value and forward mode's derivative, in segments too; what it has instead; or
    "refused", "skipped"."""
    text, r = Loops(seed).program(), np.random.default_rng(seed)
    args = (*np.round(r.uniform(0.2, 1.0, (2, 3)), 3), np.round(r.uniform(0.2, 1.0, (3, 3)), 3), 0.7,
            random.Random(seed).randint(0, 6))
    f = from_text(f"<tapes {seed}>", text)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = f(*copy.deepcopy(args))
        if not np.isfinite(expected) or abs(expected) > 1e6:
            return "skipped"
        directions = (*r.normal(size=(2, 3)), r.normal(size=(3, 3)), 0.3)
        try:
            slope = jvp(f, copy.deepcopy(args), (*directions, None), mode="python")[1]
            for short in (10 ** 6, 1, 2):
                with mock.patch(HELPER, lambda steps, *_, short=short: max(min(short, steps), 1)):
                    value, bars = value_and_grad(f, wrt=(0, 1, 2, 3), mode="python", debug=True)(*copy.deepcopy(args))
                along = sum(np.sum(b * d) for b, d in zip(bars, directions, strict=True))
                if not (np.isclose(value, expected, rtol=1e-9) and np.isclose(along, slope, rtol=1e-8, atol=1e-9)):
                    return f"seed {seed}, segments of {short}: {value} {along}, not {expected} {slope}\n{text}\n{args!r}"
        except AutodiffError as error:
            return f"refused: {error}".split("\n")[0]
    return ""


@pytest.mark.parametrize("start", range(0, 150, 15))
def test_random_time_loops(start):
    found = [judged(seed) for seed in range(start, start + 15)]
    assert not [x for x in found if x and not x.startswith(("refused", "skipped"))]
    assert found.count("") > 5


def whole(u, v, steps):
    """Both arrays are replaced in each step, and read as they were before."""
    for _ in range(steps):
        v = v + 0.1 * np.sin(u) * np.roll(v, 1)
        u = u - 0.2 * u * v
    return np.sum(u * v)


def afterwards(u, v, steps):
    """What the loop has left is read by the loop behind it, and by the sweep that goes back over that."""
    for _ in range(steps):
        u = np.cos(u) * v
    w = u * u
    for k in range(steps):
        v = v * u + w[k % 3]
    return np.sum(v)


def inside(u, v, steps):
    for _ in range(steps):
        u[1:-1] = u[1:-1] + 0.1 * u[:-2] * u[2:] * v[1:-1]
        v[:] = v * u
    return np.sum(u * v)


def products(u, v, steps):
    """The state is an operand of library calls."""
    A = np.outer(v, v) * 0.1 + np.eye(v.shape[0])
    for _ in range(steps):
        u = A @ (u * u) / (1.0 + u @ u)
    return np.sum(u)


def parts(u, v, steps):
    """Copies of parts of rows, which are shorter than the rows: operands of calls are the copies."""
    A, s = np.outer(u, v), 0.0
    for k in range(steps):
        row = A[k, :3].copy()
        s += np.sum((A[:3, :3] @ row) * row) + row[1] + np.sum(np.sort(row) * row)
    return s


@pytest.mark.parametrize("mode", ["python", "numba"])
@pytest.mark.parametrize("function", [whole, afterwards, inside, products, parts])
def test_programs(function, mode):
    assert_gradient(function, (np.linspace(0.3, 0.9, 5), np.linspace(1.1, 0.4, 5), 4), (0, 1), mode)


def from_the_end(u, v, steps):
    A, s = np.outer(u, v), 0.0
    for k in range(steps):
        row = A[k, :3].copy()
        s += row[-1 - k % 3] * row[k % 2] ** 2
    return s


def test_indices_from_the_end_that_nobody_checks():
    u, v, du, dv = np.linspace(0.3, 0.9, 5), np.linspace(1.1, 0.4, 5), np.linspace(-1.0, 0.5, 5), np.linspace(0.2, 0.7, 5)
    for mode in ("python", "numba"):
        value, slope = jvp(from_the_end, (u, v, 4), (du, dv, None), mode=mode, boundscheck=False)
        assert np.isclose(value, from_the_end(u, v, 4))
        h = 1e-6
        difference = from_the_end(u + h * du, v + h * dv, 4) - from_the_end(u - h * du, v - h * dv, 4)
        assert np.isclose(slope, difference / (2.0 * h), rtol=1e-6)


@pytest.mark.parametrize("function", [whole, afterwards, inside, products, parts])
def test_forward_mode(function):
    u, v, du, dv = np.linspace(0.3, 0.9, 5), np.linspace(1.1, 0.4, 5), np.linspace(-1.0, 0.5, 5), np.linspace(0.2, 0.7, 5)
    bars = grad(function, wrt=(0, 1), mode="python")(u.copy(), v.copy(), 4)
    value, slope = jvp(function, (u.copy(), v.copy(), 4), (du, dv, None), mode="python")
    assert np.isclose(value, function(u.copy(), v.copy(), 4))
    assert np.isclose(slope, bars[0] @ du + bars[1] @ dv)


def test_no_state_is_restored():
    """Each tape is read where it lies: no statement is a copy from it."""
    derivative = grad(whole, mode="python")
    derivative(np.linspace(0.3, 0.9, 5), np.linspace(1.1, 0.4, 5), 4)
    sweep = derivative.source[derivative.source.index("reverse sweep"):]
    assert "_tape[k, " in sweep
    assert not re.search(r"^ *\w+\[\w+\] = \w+_tape\[", sweep, re.MULTILINE)
