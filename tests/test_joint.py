"""Loops joined with their reverse: where it happens, and that values and gradients stay right where it must not."""

import numpy as np
import pytest

from autodiff import value_and_grad

from .support import assert_gradient

X = np.array([0.3, 0.7, 0.9, 1.1])


def mixture(x):
    """A Gaussian mixture: rows of terms, a maximum, a sum of exponentials in each iteration."""
    centres, total = np.array([0.2, 0.5, 1.0]), 0.0
    for i in range(len(x)):
        terms = np.empty(3)
        for k in range(3):
            terms[k] = -(x[i] - centres[k]) ** 2 * x[0]
        top = np.max(terms)
        total += top + np.log(np.sum(np.exp(terms - top)))
    return total


def elementwise(x):
    return np.sum(np.tanh(x * x[0]) * np.exp(-x))


def branches(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 0.8:
            t = np.exp(x[i] * x[1])
        else:
            t = np.sin(x[i])
        s += t * t * x[i]
    return s


def inner_while(x):
    s = 0.0
    for i in range(len(x)):
        y, k = x[i], 0
        while y > 0.1 and k < 5:
            y *= np.cos(y) * x[1]
            k += 1
        s += y
    return s


def rows_of_a_matrix(x):
    A = np.outer(x, x)
    s = 0.0
    for i in range(len(x)):
        row = np.sin(A[i]) * x
        n = np.sqrt(row @ row + 1.0)
        for j in range(len(x)):
            s += row[j] / n * (j + 1)
    return s


def two_sums(x):
    a = b = 0.0
    for v in x:
        e = np.exp(v)
        a += e
        b += e * v
    return a * 2.0 + 3.0 * b


JOINED = [mixture, elementwise, branches, rows_of_a_matrix, two_sums]


def seed_known_only_after(x):
    s = 0.0
    for v in x:
        s += np.exp(v)
    return s ** 2


def recurrence(x):
    h, s = 0.5, 0.0
    for v in x:
        h = np.tanh(h * v + x[0])
        s += h
    return s


def earlier_elements_read(x):
    y, s = x.copy(), 0.0
    for i in range(1, len(x)):
        y[i] = np.sin(y[i] * y[i - 1])
        s += y[i]
    return s


def overwritten_afterwards(x):
    y, s = x * 2, 0.0
    for i in range(len(x)):
        s += np.exp(y[i]) * y[(i + 1) % 4]
        y[i] = s
    return s + y.sum()


def a_later_loop_scales(x):
    y, s = np.empty(4), 0.0
    for i in range(len(x)):
        y[i] = np.exp(x[i] * x[1])
        s += y[i]
    t = 0.0
    for i in range(len(x)):
        t += y[i] * s
    return t


def early_exit(x):
    s = 0.0
    for v in x:
        s += np.exp(v) * x[2]
        if s > 4.0:
            break
    return s


def two_loops_of_one_line(x):
    s = [np.exp(v) for v in x][0] + sum(np.sin(v) * v for v in x); return s + sum(np.cos(v) ** 2 for v in x)  # noqa: E702


def shared_accumulator(x):
    y = np.zeros(4)
    s = 0.0
    for i in range(len(x)):
        y[i] += np.exp(x[i])
        s += y[0] * x[i]
    return s


KEPT_APART = [seed_known_only_after, recurrence, earlier_elements_read, overwritten_afterwards, a_later_loop_scales,
              early_exit, inner_while, two_loops_of_one_line, shared_accumulator]


@pytest.mark.parametrize("program, mode", [*((p, "python") for p in (*JOINED, *KEPT_APART)),
                                           *((p, "numba") for p in (*JOINED[::3], *KEPT_APART[::3]))],
                         ids=lambda p: getattr(p, "__name__", p))
def test_gradients(program, mode):
    assert_gradient(program, (X,), (0,), mode)
    value, _ = value_and_grad(program, mode=mode)(X)
    np.testing.assert_allclose(value, program(X.copy()), rtol=1e-12)


@pytest.mark.parametrize("program", JOINED, ids=lambda p: p.__name__)
def test_joined(program):
    """One loop over the rows, and nothing taped for all of them."""
    made = value_and_grad(program, mode="python")
    made(X)
    told = "in blocks of" if program in (two_sums, mixture) else "this iteration reversed"     # functions apart
    assert told in made.source
    rows = 1 if program is rows_of_a_matrix else 0
    assert all(entry.shape.count("x_size") <= rows for entry in made.tape)
    code = [line for line in made.source.splitlines() if not line.strip().startswith("#")]
    assert sum("np.sqrt" in line for line in code) <= 1     # what the forward part computed is used


def test_second_order():
    def slope(x):
        from autodiff import grad
        return (grad(mixture)(x) ** 2).sum()
    assert_gradient(slope, (X,), (0,), "python", 1e-5)


def test_arguments_that_share_memory():
    def f(x, y):
        s = 0.0
        for i in range(len(x)):
            s += np.exp(x[i] * y[0])
        return s
    value, (gx, gy) = value_and_grad(f, wrt=(0, 1))(X, X)
    np.testing.assert_allclose(gx, np.exp(X * X[0]) * X[0])
    np.testing.assert_allclose(gy, [np.sum(np.exp(X * X[0]) * X), 0, 0, 0])


def test_rules_leave_no_decided_branches():
    """Constants that meet an inlined rule are folded, and whole powers are products."""
    made = value_and_grad(lambda x: np.sum(x ** 3 + x ** -2 + x ** 1.5), mode="python")
    value, gradient = made(X)
    np.testing.assert_allclose(gradient, 3 * X ** 2 - 2 * X ** -3 + 1.5 * X ** 0.5)
    code = [line for line in made.source.splitlines() if not line.strip().startswith("#")]
    assert not any("True" in line or "if " in line or "** -" in line for line in code)
