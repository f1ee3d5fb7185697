"""Integers that a loop counts up or down are sums of its index: no tape, and checks of what they index before the loop."""

import numpy as np
import pytest

from autodiff import check_grads, differentiable, value_and_grad

X = np.linspace(0.3, 1.9, 9)


def packed_triangle(x, c):
    p = 0
    s = 0.0
    for a in range(3):
        for b in range(a, 3):
            s += x[p] ** 2 * c[a] * c[b]
            p += 1
    return s * p


def grid(x, c):
    """A counter of an inner loop that starts from one of the outer loop."""
    s, p = 0.0, 0
    for a in range(3):
        k = p
        for b in range(3):
            s = np.sin(s) + x[k] * c[b]
            k += 1
        p += 3
    return s


def down_and_up(x, c):
    k, s = 5, 0.0
    for i in range(1, 4):
        s += x[k] ** 2 * i
        k -= 1
    for i in range(4, 0, -1):
        k += 1
        s = np.sin(s) + x[k] * c[0]
    return s * k


def by_twos(x, c):
    k, s, m = 0, 0.0, 10
    for i in range(0, len(x) - 1, 1):
        if k < len(x):
            s += x[k] * c[1]
        k += 2
        m -= 3
    return s ** 2 + m


def sometimes(x, c):
    """Not in every iteration: a counter that stays carried."""
    k, s = 0, 0.0
    for i in range(len(x)):
        if x[i] > 1.0:
            k += 1
            s += x[k] * c[0]
    return s * s + k


def skipped(x, c):
    k, s = 0, 1.0
    for i in range(len(x)):
        if i % 3 == 1:
            continue
        s *= x[k] + c[1]
        k += 1
    return s


def left_early(x, c):
    k, s = 0, 0.0
    for i in range(len(x)):
        s += x[k] * x[k]
        k += 1
        if s > 3.0:
            break
    return s * k * c[2]


def twice(x, c):
    k, s = 0, 0.0
    for i in range(3):
        k += 1
        s += x[k] ** 2 * c[0]
        k += 1
        s += x[k] ** 3
    return s + k


def becomes_a_float(x, c):
    k, s = 0, 0.0
    for i in range(4):
        s += x[i] * k
        k += 1
    k = k + 0.5
    for i in range(4):
        k += 1
        s += x[i] * k
    return s * k * c[0]


def doubled(x, c):
    k, s = 1, 0.0
    for i in range(3):
        s += x[k] ** 2
        k *= 2
    return s * c[0]


def no_iterations(x, c):
    k = 4
    for i in range(3, 3):
        k += 1
    for i in range(2, 5, -1):
        k -= 1
    return x[k] ** 2 * c[0]


def two_counters(x, c):
    i, j, s = 0, len(x) - 1, 0.0
    for _ in range(len(x) // 2):
        s += x[i] * x[j]
        x[i] = s
        i += 1
        j -= 1
    return s + x[i] + c[0] * j


def writing_a_copy(x, c):
    return two_counters(x.copy(), c)


CASES = [packed_triangle, grid, down_and_up, by_twos, sometimes, skipped, left_early, twice, becomes_a_float, doubled,
         no_iterations, two_counters]


@pytest.mark.parametrize("f", CASES)
def test_derivatives(f):
    args = X, np.array([0.7, 1.2, 0.4])
    check_grads(writing_a_copy if f is two_counters else f, args, mode="python")
    plain = f(X.copy(), args[1])
    for mode in ("numba", "python"):
        np.testing.assert_allclose(value_and_grad(f, mode=mode)(*args)[0], plain, rtol=1e-13)


def test_second_derivatives():
    check_grads(down_and_up, (X, np.array([0.7, 1.2, 0.4])), order=2, mode="python")


@pytest.mark.parametrize("f", [down_and_up, twice, grid])
def test_counters_are_not_taped(f):
    made = value_and_grad(f, wrt=(0, 1), mode="python")
    made(X, X)
    assert not any(name in made.source for name in ("p_tape", "k_tape", "wrap_index"))


def test_the_checks_come_before_the_loop():
    made = value_and_grad(down_and_up, mode="python")
    made(X, X)
    assert "wrap_index" not in made.source
    with pytest.raises(IndexError):
        made(X[:5], X)


def test_a_counter_that_leaves_its_array_is_noticed():
    for mode in ("numba", "python"):
        with pytest.raises(IndexError):
            value_and_grad(packed_triangle, mode=mode)(X[:5], X)
        with pytest.raises(IndexError):
            differentiable(twice, mode=mode)(X[:6], X)


def test_negative_counters_index_from_the_end():
    def f(x):
        k, s = 2, 0.0
        for i in range(4):
            s += x[k] * (i + 1)
            k -= 1
        return s

    expected = X[2] + 2 * X[1] + 3 * X[0] + 4 * X[-1]
    for mode in ("numba", "python"):
        value, x_bar = value_and_grad(f, mode=mode)(X)
        assert value == pytest.approx(expected)
        np.testing.assert_allclose(x_bar, [3, 2, 1, 0, 0, 0, 0, 0, 4])
