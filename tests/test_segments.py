"""Loops whose tape is long are taken in segments: the same derivatives, with little memory."""


import numpy as np
import pytest
from numba import njit

from autodiff import grad, value_and_grad
from autodiff.calling.building import compile_programs
from autodiff.operators.gradients import Gradient
from autodiff.options import Options
from autodiff.runtime import checkpoint
from autodiff.transforms.language.errors import UnsupportedSyntax

from .support import assert_gradient, from_text


@pytest.fixture(params=[1, 2, 3, 5])
def short(request, monkeypatch):
    """All tapes are long, and a segment has about so many iterations."""
    def length(steps, *iteration):
        return max(min(request.param, steps), 1)
    monkeypatch.setattr("autodiff.runtime.numbers.helpers.segment_length", length)


def both(f, wrt):
    """The derivative, and the one that never takes segments."""
    return value_and_grad(f, wrt=wrt, mode="python"), Gradient(f, wrt, True, options=Options("python", segments="never"))


def same(f, args, wrt, taken):
    asking, plain = both(f, wrt)
    value, gradients = asking(*(a.copy() if isinstance(a, np.ndarray) else a for a in args))
    expected = plain(*(a.copy() if isinstance(a, np.ndarray) else a for a in args))
    assert value == expected[0]
    for mine, theirs in zip(gradients, expected[1], strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-13)
    assert (" for segment in " in asking.source) or not taken


def reaction(u, v, steps, k):
    for t in range(steps):
        r = u * v ** 2
        u[1:-1] += 0.1 * (u[2:] - 2.0 * u[1:-1] + u[:-2]) - r[1:-1] + k * t
        v += r - k * v
    return np.sum(v * v) + np.sum(u)


@pytest.mark.parametrize("steps", [0, 1, 2, 7, 8])
def test_fields_in_place(short, steps):
    u, v = np.random.default_rng(0).random((2, 6))
    same(reaction, (u, v, steps, 0.3), (0, 1, 3), steps == 8)


def downward(x, w, steps):
    """Numbers are carried too, the loop runs down, and what it reads was made before and is overwritten after it."""
    s, k, y = 1.0, 0, np.sin(x)
    c = np.exp(w)
    for t in range(steps, 2, -1):
        if y[t % 4] > 0.5:
            s = s * 0.9 + np.sum(y * c)
            y = y * np.cos(s) + 0.1 * x
        else:
            y = y * y + c * 0.2
            k += 1
        s = np.tanh(s) + y[k % 4]
    c[:] = c * y
    return s * np.sum(y ** 2) + np.sum(c) + k


def two_loops(x, w, steps):
    """The second loop reads what the first has left; the first writes an argument that was read before it."""
    a = np.sum(x * x)
    history = np.zeros((steps + 1, x.shape[0]))
    history[0] = x
    for t in range(steps):
        x[1:] = x[:-1] * w[1:] + 0.1 * np.sin(x[1:])
        history[t + 1] = x * a
    y = w * 1.0
    for t in range(1, steps):
        y = y + 0.1 * np.sin(y * history[t]) * y
    return np.sum(y) + np.sum(history ** 2)


@pytest.mark.parametrize("program", [downward, two_loops])
@pytest.mark.parametrize("steps", [0, 3, 8])
def test_other_loops(short, program, steps):
    x, w = np.random.default_rng(1).random((2, 4))
    same(program, (x, w, steps), (0, 1), steps == 8)
    assert_gradient(lambda x, w: program(x.copy(), w, steps), (x, w), (0, 1), "python")


def rows(x, k, steps):
    """Arrays that begin with zeros, or another number, in each iteration, and are saved."""
    for t in range(steps):
        f = np.zeros_like(x)
        f[1:] += k * x[:-1] ** 2
        f[:-1] -= x[1:] * k
        g = np.full(3, 0.1 * t)
        for i in range(3):
            h = np.ones(2)
            h[0] += x[i] * f[i]
            g[i] -= h[0] * h[1] * h[0]
        x = x + f * np.sum(f) + 0.1 * x * np.sum(g * g)
    return np.sum(x ** 2)


@pytest.mark.parametrize("steps", [1, 5, 8])
def test_rows_that_begin_with_a_number(short, steps):
    """A row of the tape serves several segments, and begins with the number in each."""
    x = np.random.default_rng(2).uniform(0.1, 0.4, 4)
    same(rows, (x, 0.3, steps), (0, 1), steps == 8)
    assert_gradient(rows, (x, 0.3, steps), (0, 1), "python")


def random_loop(seed):
    """A loop over statements on three vectors and a number, in place or not, with branches, before and after others."""
    rng = np.random.default_rng(seed)

    def term():
        a, b = rng.choice(["u", "v", "w", "x", "s", "t * 0.1"], 2)
        return rng.choice([f"{a} * {b}", f"np.sin({a}) + {b}", f"{a} - 0.3 * {b} ** 2", f"{a} / (2.0 + np.cos({b}))"])

    def statement(indent):
        target = rng.choice(["u", "v", "w", "s"])
        value = f"0.5 * ({term()})"
        if target == "s":
            return f"{indent}s = np.sum({value} + 0.0 * u) * 0.1 + s * 0.5"
        return indent + rng.choice([f"{target} = {value} + 0.0 * x", f"{target} += 0.2 * {value}", f"{target}[:] = {value}",
                                    f"{target}[1:] -= 0.1 * ({value} + 0.0 * u)[:-1]",
                                    f"if u[t % 3] > 0.3:\n{indent}    {target} = {target} * 0.7 + {value}"])
    before, inside, after = (["\n".join(statement(i) for _ in range(n))] for i, n in (
        ("    ", rng.integers(0, 3)), ("        ", rng.integers(2, 5)), ("    ", rng.integers(0, 3))))
    loop = rng.choice(["range(n)", "range(1, n)", "range(n, 0, -1)"])
    text = "\n".join(["import numpy as np", "", "def f(x, y, n):", "    s, t = 0.5, 1",
                      "    u, v, w = x * 1.0, y * 1.0, x * y",
                      *before, f"    for t in {loop}:", *inside, *after,
                      "    return np.sum(u * v) + np.sum(w ** 2) + s * np.sum(x)", ""])
    return from_text(f"<segments {seed}>", text)


@pytest.mark.parametrize("seed", range(20))
def test_random_loops(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    each = int(rng.integers(1, 5))
    monkeypatch.setattr("autodiff.runtime.numbers.helpers.segment_length",
                        lambda steps, *iteration: max(min(each, steps), 1))
    x, y = rng.uniform(0.2, 1.0, (2, 4))
    asking, plain = both(random_loop(seed), (0, 1))
    n = int(rng.integers(0, 10))
    mine, theirs = asking(x, y, n), plain(x, y, n)
    np.testing.assert_array_equal(mine[0], theirs[0])
    np.testing.assert_allclose(mine[1], theirs[1], rtol=1e-12, atol=1e-13)     # sums over segments are sums of sums


def test_compiled_where_the_tape_is_long():
    """Nothing asks for segments but the size of the tape; callers that are compiled keep the tape whole."""
    def diffused(u, k, steps):
        for _ in range(steps):
            u = u + k * (np.roll(u, 1) - u) * u
        return np.sum(u * u)
    u = np.random.default_rng(0).random(40_000)
    made = grad(diffused, wrt=("u", "k"))
    made(u[:9], 0.1, 60)
    assert " for segment in " not in made.source
    mine = made(u, 0.1, 60)
    assert " for segment in " in made.source and made.tape.bill(u, 0.1, 60).total < 60 * u.nbytes
    caller = njit(lambda u: made(u, 0.1, 60))
    whole = Gradient(diffused, ("u", "k"), options=Options(segments="never"))
    into = np.empty_like(u)
    for found in (whole(u, 0.1, 60), caller(u), made(u, 0.1, 60, out=(into, None))):
        for a, b in zip(mine, found, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


    assert made.tape.bill(u[:9], 0.1, 60).total < made.tape.bill(u.shape, 0.1, 60).total
    for n in (9, 9, 9, u.size, 9, u.size):          # the function for calls of one form asks too
        np.testing.assert_allclose(made(u[:n], 0.1, 60)[0], whole(u[:n], 0.1, 60)[0], rtol=1e-12)
        assert (" for segment in " in made.source) == (n > 9)


def test_what_is_compiled_is_what_runs(monkeypatch):
    """Neither the program for short tapes nor the one for long ones is compiled where the other is wanted."""
    compiled = []
    monkeypatch.setattr("autodiff.calling.compiled.compile_programs",
                        lambda text, *given, **named: compiled.append(text) or compile_programs(text, *given, **named))
    def smoothed(u, k, steps):
        for _ in range(steps):
            u = u + k * (np.roll(u, 1) - u) * u
        return np.sum(u * u)
    u = np.random.default_rng(0).random(40_000)
    first = grad(smoothed)
    first(u, 0.1, 60)
    first(u, 0.1, 60)
    assert [" for segment in " in text for text in compiled] == [True]
    grad(smoothed).specialize(u[:9], 0.1, 60)
    assert [" for segment in " in text for text in compiled] == [True, False]


def test_loops_that_cannot_be_taken_in_segments(monkeypatch):
    """Where that turns out late, the tape is kept whole."""
    def refuse(*given):
        raise UnsupportedSyntax("a loop cannot be taken in segments")
    monkeypatch.setattr("autodiff.runtime.numbers.helpers.segment_length", lambda steps, *iteration: 1)
    monkeypatch.setattr("autodiff.transforms.differentiate.reverse.reverse_segments", refuse)
    u, v = np.random.default_rng(0).random((2, 6))
    same(reaction, (u, v, 5, 0.3), (0, 1, 3), False)


def test_how_long_a_segment_is():
    assert checkpoint.segment_length(0, 8, 8, 0) == checkpoint.segment_length(1, 1 << 40, 8, 0) == 1
    for steps in (7, 100, 12345):
        for tape in (8, 10_000, 600_000, 5_000_000):
            for state in (0, tape, 50 * tape):
                length = checkpoint.segment_length(steps, tape, state, 0)
                assert length == steps or state <= length * tape <= checkpoint.SEGMENT + state + tape and 2 * length < steps
