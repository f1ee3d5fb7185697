"""Reshaped arrays whose sizes are not known to be multiples of the new ones, beside NumPy."""

import numpy as np
import pytest

from autodiff import differentiable, grad, hessian, jvp, value_and_grad, vjp
from autodiff.errors import UnsupportedSyntax

from .support import from_text

SHAPES = [(-1, 4), (-1, 2, 3), (4, -1), (2, 3, -1), (-1,), (-1, 2, 2, 2), (3, -1, 4), (2, -1), (6, -1, 2)]
GIVEN = [(4, 6), (2, 12), (2, 3, 4), (3, 8), (1, 24), (4, 3, 2), (24,)]
STEPS = [
    "a = np.tanh(a) * 2.0", "a = a + np.arange(a.shape[-1]) * 0.1", "a = np.cumsum(a, axis=-1) * 0.5",
    "a = a - a.max(axis=-1, keepdims=True)", "a = a.T.copy()", "a = a.copy(); a[0] *= 0.5", "a = a[..., ::-1] + a ** 2",
    "a = np.where(a > 0.2, a, a * b.sum())",
    "a = a * np.sin(b.reshape(a.shape))", "a = a + b.reshape(a.shape[::-1]).T", "c = np.zeros(a.shape); c[...] = a; a = c",
    "a = np.sort(a, axis=-1)", "a = np.roll(a, 1, axis=0) * a",
]


def program(r):
    """Reshapes between steps, of an array of 24 elements and of one that is only read."""
    lines = [f"a = x.reshape{SHAPES[r.integers(len(SHAPES))]!r}"]
    for _ in range(r.integers(1, 4)):
        lines.append(str(r.choice(STEPS)))
        if r.random() < 0.7:
            lines.append(f"a = a.reshape{SHAPES[r.integers(len(SHAPES))]!r}")
        if r.random() < 0.2:
            lines.append("for t in range(2):\n        a = (a * 1.1).reshape(-1, 6).T.reshape(-1, 4) + t")
    body = "".join(f"    {line}\n" for line in lines)
    return f"import numpy as np\ndef f(x, b):\n{body}    return np.sum(a * np.cos(np.arange(24.0).reshape(a.shape)))\n"


def laid(r, values):
    """The values in C's or Fortran's order, or not in one piece."""
    way = r.integers(3)
    return values if way == 0 else np.asfortranarray(values) if way == 1 else np.repeat(values, 2, axis=-1)[..., ::2]


@pytest.mark.filterwarnings("ignore::autodiff.AutodiffWarning")
@pytest.mark.parametrize("mode, seeds", [("python", range(60)), *(("numba", [seed]) for seed in range(100, 112))])
def test_random_programs(mode, seeds):
    for seed in seeds:
        r = np.random.default_rng(seed)
        text = program(r)
        f = from_text("f", text)
        x, b = (laid(r, r.standard_normal(GIVEN[r.integers(len(GIVEN))])) for _ in range(2))
        try:
            expected = f(x, b)
        except ValueError:
            continue
        gradient = value_and_grad(f, wrt=(0, 1), mode=mode)
        try:
            value, (x_bar, b_bar) = gradient(x, b)
        except UnsupportedSyntax:                       # what is a view and what a copy depends on how they lie
            value, (x_bar, b_bar) = gradient(np.ascontiguousarray(x), np.ascontiguousarray(b))
        assert value == pytest.approx(expected, rel=1e-12), text
        dx, db, h = r.standard_normal(x.shape), r.standard_normal(b.shape), 1e-6
        slope = (f(x + h * dx, b + h * db) - f(x - h * dx, b - h * db)) / (2 * h)
        assert np.sum(x_bar * dx) + np.sum(b_bar * db) == pytest.approx(slope, rel=1e-5, abs=1e-6), text


def stacks(x, y):
    return np.sum(np.matmul(x.reshape(-1, 2, 3), y.reshape(-1, 3, 2)) ** 2)


def test_no_division_is_left():
    x, y = np.random.default_rng(0).standard_normal((2, 4, 9))
    f = grad(stacks, wrt=(0, 1))
    f(x, y)
    loops = f.source.partition("_flat = ")[2]
    assert "//" not in loops and "%" not in loops and "x_bar = shaped(x_bar_flat, " in loops


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_every_operator(mode):
    r = np.random.default_rng(1)
    x, y, dx = r.standard_normal((3, 4, 9))
    g = grad(stacks, mode=mode)(x, y)
    h = 1e-6
    slope = (stacks(x + h * dx, y) - stacks(x - h * dx, y)) / (2 * h)
    assert np.sum(g * dx) == pytest.approx(slope, rel=1e-7)
    assert jvp(stacks, (x, y), (dx, 0 * y), mode=mode)[1] == pytest.approx(slope, rel=1e-7)
    value, pullback = vjp(lambda x, y: np.matmul(x.reshape(-1, 2, 3), np.sin(y).reshape(-1, 3, 2)), x, y, mode=mode)
    seed = r.standard_normal(value.shape)
    before = [a.copy() for a in pullback(seed)]
    x *= 0.0                                        # the pullback has its own
    y *= 0.0
    for a, b in zip(before, pullback(seed), strict=True):
        np.testing.assert_array_equal(a, b)
    x, y = r.standard_normal((2, 4, 9))
    out = np.full((4, 9), 7.0)
    np.testing.assert_allclose(grad(stacks, mode=mode)(x, y, out=out), grad(stacks, mode=mode)(np.asfortranarray(x), y))
    assert np.shares_memory(grad(stacks, mode=mode)(x, y, out=out), out)
    second = hessian(lambda x: stacks(x.reshape(4, -1), y), mode=mode)(x.reshape(-1)[:36])
    np.testing.assert_allclose(second, second.T, atol=1e-10)
    np.testing.assert_array_equal(grad(stacks, mode=mode, parallel=mode == "numba")(x, y), grad(stacks, mode=mode)(x, y))


def test_of_each_kind():
    for dtype in (np.float32, np.complex128, np.int64):
        x = (np.random.default_rng(2).standard_normal((4, 9)) * 5).astype(dtype)
        f = lambda x: (x.reshape(-1, 2, 3) * np.arange(3)).sum(axis=1)
        for a in (x, np.asfortranarray(x), x[::-1, ::-1]):
            np.testing.assert_allclose(differentiable(f)(a), f(a), rtol=1e-6)


def test_the_bill_counts_memory_once():
    x, y = np.random.default_rng(0).standard_normal((2, 4, 9))
    f = grad(stacks)
    f(x, y)
    assert [(item.name, item.bytes) for item in f.tape.bill(x, y)] == [("x_bar", 288)]
