"""Refusals are of the classes that Python and NumPy raise for the same; names that nothing has bound."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff import AutodiffError, grad, value_and_grad

A, V = np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 3.0])
y = 3.0                                     # which functions that bind a `y` of their own do not read


def never_bound(x):
    if False:
        y = x
    return y * x


def bound_later(x):
    z = y * x                               # noqa: F823
    y = 2.0
    return z * y


def bound_by_no_iteration(x):
    for y in ():
        pass
    return y * x


def free(x):
    def inner(v):
        return v * y
    made = inner(x)
    y = 1.0
    return made * y


@pytest.mark.parametrize(("program", "x"), [
    (lambda x: np.sum(np.sum(x, axis=3)), A),
    (lambda x: np.sum(np.concatenate([x, x], axis=2)), A),
    (lambda x: np.sum(np.sort(x, axis=-4)), A),
    (lambda x: np.sum(np.expand_dims(x, 5)), A),
    (lambda x: np.sum(np.linalg.norm(x, axis=4)), A),
    (lambda x: x[0, 0], V),
    (lambda x: np.sum(x[..., ...]), A),
    (lambda x: x[1.0], V),
    (lambda x: x["a"], V),
    (lambda x: np.sum(np.linalg.inv(x)), V),
    (lambda x: [].pop() * x, 1.0),
    (lambda x: x.foo, 1.0),
    (never_bound, 1.0), (bound_later, 1.0), (bound_by_no_iteration, 1.0), (free, 1.0),
])
def test_class(program, x):
    with pytest.raises(Exception) as expected:
        program(x)
    with pytest.raises(AutodiffError) as raised:
        grad(program, mode="python")(x)
    assert isinstance(raised.value, expected.type)


def of_a_loop(x, n):
    for k in range(n):
        last = x * k
    return last


def of_a_while(x, n):
    while n > 0:
        z = x * n
        n -= 1
    return z * 2.0


def counter(x, n):
    for k in range(n):
        pass
    return k * x


def array(x, n):
    for k in range(n):
        t = np.array([x, x * k])
    return np.sum(t)


@pytest.mark.parametrize("program", [of_a_loop, of_a_while, counter, array])
def test_names_of_loops_that_do_not_run(program):
    gradient = value_and_grad(program, mode="python")
    for n in (3, 1):
        assert gradient(2.0, n)[0] == program(2.0, n)
    with pytest.raises(UnboundLocalError, match="cannot access local variable") as raised:
        gradient(2.0, 0)
    assert program.__name__ in str(raised.value)
    assert gradient(2.0, 2)[0] == program(2.0, 2)


def guarded(x, n):
    for k in range(n):
        last = x * k
    return last if n > 0 else x


def test_names_that_are_not_read():
    assert [value_and_grad(guarded, mode="python")(2.0, n)[0] for n in (0, 3)] == [2.0, 4.0]


@pytest.mark.parametrize("f", [
    lambda x, n, k: np.sum(np.reshape(x, (n, k))), lambda x, n, k: np.sum(np.reshape(x, (-1, n))[0]) * k,
    lambda x, n, k: np.sum(np.reshape(x, (n, -1))[0]) * k, lambda x, n, k: np.sum(x.reshape(n, k, n)[0]),
    lambda x, n, k: np.sum(x.reshape(n, 2, k)[0]), lambda x, n, k: np.sum(x.reshape(1, n, -1, k)[0, 0])])
def test_sizes_of_reshape_that_are_negative_when_the_program_runs(f):
    slope, x = value_and_grad(f, wrt="x", mode="python"), np.arange(6.0)
    for n in (-2, -1, 0, 1, 2, 3, 6):
        for k in (-1, 0, 1, 3):
            try:
                expected = f(x, n, k)
            except (ValueError, IndexError) as e:
                with pytest.raises(type(e)):
                    slope(x, n, k)
            else:
                assert slope(x, n, k)[0] == expected
