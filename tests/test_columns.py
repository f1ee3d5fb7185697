"""Loops down columns are turned: the same bits for the primal, right gradients, and left alone where the order matters."""

import numpy as np
import pytest

from autodiff import check_grads, differentiable, grad, vjp

RANDOM = np.random.default_rng(0)
A, B, C = RANDOM.normal(size=(5, 6)), RANDOM.normal(size=(6, 4)), RANDOM.normal(size=(5, 4))


def quotients(a, b):
    """As a product of matrices, which would be BLAS's."""
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] / b[k, j]
            c[i, j] = s
    return c


def symmetric(a, b, c):
    """PolyBench's symm: the inner loop writes down a column, and to the row at its foot."""
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            t = 0.0
            for k in range(i):
                c[k, j] += 1.5 * b[i, j] * a[i, k]
                t += b[k, j] * a[i, k]
            c[i, j] = 1.2 * c[i, j] + b[i, j] * a[i, i] + t
    return c


def two_numbers(b):
    """Two numbers go through the inner loop; others pass it by."""
    out = np.zeros(b.shape[1])
    for j in range(b.shape[1]):
        low, high = b[0, j], 1.0
        scale = np.sin(low)
        for k in range(1, b.shape[0]):
            low = low + b[k, j] * high
            high = 0.5 * high + low
        out[j] = low * scale + high
    return out


def upwards(b):
    """From the last column to the first."""
    out = np.zeros(b.shape[1])
    for j in range(b.shape[1] - 1, -1, -1):
        s = 0.0
        for k in range(b.shape[0]):
            s += np.cos(b[k, j]) * b[k, j]
        out[j] = s
    return out


PROGRAMS = [(quotients, (A, B)), (symmetric, (RANDOM.normal(size=(5, 5)), RANDOM.normal(size=(5, 4)), C)),
            (two_numbers, (B,)), (upwards, (B,)), (two_numbers, (np.ones((1, 4)),)),
            (quotients, (np.ones((2, 0)), np.ones((0, 3))))]


@pytest.mark.parametrize("f, args", PROGRAMS)
def test_the_same_value_to_the_last_bit_and_the_right_gradient(f, args):
    made = differentiable(f, mode="python")
    np.testing.assert_array_equal(made(*args), f(*(a.copy() for a in args)))
    check_grads(f, args, mode="python", modes=("fwd", "rev"))
    if args[0].shape[0] > 1 and args[0].size:
        inner = [line for line in made.source.splitlines() if line.strip().startswith("for j")]
        assert any(line.startswith("        ") for line in inner), "a loop over rows is within the one over columns"


@pytest.mark.parametrize("f, args", PROGRAMS[:2])
def test_compiled(f, args):
    value, pullback = vjp(f, *args)
    expected, plain = vjp(f, *args, mode="python")
    np.testing.assert_array_equal(value, expected)
    for p, q in zip(pullback(value), plain(value), strict=True):
        np.testing.assert_allclose(p, q, 1e-12, 1e-12)


def running(b):
    """A column starts from what the one before it left."""
    s = 0.0
    out = np.zeros(b.shape[1])
    for j in range(b.shape[1]):
        for k in range(b.shape[0]):
            s = 0.9 * s + b[k, j]
        out[j] = s
    return out


def neighbours(b):
    for j in range(1, b.shape[1]):
        t = 1.0
        for k in range(b.shape[0]):
            b[k, j] += b[k, j - 1] * t
            t *= 0.5
    return b


def counted(b):
    """All columns add to the same numbers, in the user's order."""
    h = np.zeros(3)
    for j in range(b.shape[1]):
        for k in range(b.shape[0]):
            h[k % 3] += 1.0 / 3.0 * b[k, j]
    return h


def ragged(b):
    out = np.zeros(b.shape[1])
    for j in range(b.shape[1]):
        s = 0.0
        for k in range(j):
            s += b[k, j]
        out[j] = s
    return out


@pytest.mark.parametrize("f", [running, neighbours, counted, ragged])
def test_left_as_written_where_columns_depend(f):
    b = RANDOM.normal(size=(6, 4))
    np.testing.assert_array_equal(differentiable(f, mode="python")(b.copy()), f(b.copy()))
    check_grads(f, (b,), mode="python")


def test_elements_known_by_checks_are_held_in_scalars():
    """Sizes of `a` are known from checks before the loop alone; its adjoint is not touched in the innermost loop."""
    def loss(a, b, c):
        return np.sum(symmetric(a, b, c))
    source = grad(loss, mode="python").specialize(*PROGRAMS[1][1]).source
    assert "a_bar[" in source and not any("a_bar[" in line and "+=" in line for line in source.splitlines())


def test_many_known_bounds_do_not_slow_the_proofs_down():
    """Every check makes a bound known; the search through them is limited (it took minutes for this program)."""
    def f(x, A, p, q):
        z = np.ones(q)
        s = 0.5
        for i in range(q - 1, -1, -1):
            for j in range(2, len(z)):
                A[i, j] = 0.5 * (x[i - 1] + z[q])
                for k in range(A.shape[0]):
                    A[k, p - 1] += 0.5 * (z[p + q] + s)
        s += 0.3 * A[-1, i] * A[0, i]
        return s
    made = grad(f, wrt=(0, 1), mode="python").specialize(np.zeros(4), np.zeros((4, 4)), 2, 2)
    assert "raise IndexError" in made.source
