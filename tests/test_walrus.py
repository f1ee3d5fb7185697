"""`:=` where it may or may not run: in conditions joined by `and` and `or`, in tests of loops that end early."""

import numpy as np
import pytest

from autodiff import grad

from .support import assert_gradient


def both(x):
    if x > 0 and (y := x * x) < 4.0:
        return y
    return x


def either(x):
    y = 3 * x
    if x < 0 or (y := x * x) < 4.0:
        return y
    return x + y


def kept(x):
    y = 0.5 * x
    t = x > 1.0 and (y := x * x) < 4.0
    return y + t * x


def three(x):
    y = z = x
    if x > 0.1 and (y := x * x) > 0.2 and (z := y * x) < 4.0:
        y = y + 1.0
    return y * z


def of_arrays(x):
    a = np.array([x, 2 * x])
    if x > 0 and (a := np.array([x, x * x]))[0] < 1.6:
        return a[1]
    return a[0]


def choice(x):
    t = (y := x * x) + y if x > 1.0 else (y := x ** 3)
    return t * y


def loop_and(x):
    s, i = 0.0, 0
    while i < 6 and (y := (x + i) ** 2) < 9.0:
        s += y
        i += 1
    return s


def loop_break(x):
    s, i = 0.0, 0
    while (y := (x + i) ** 2) < 9.0:
        s += y
        i += 1
        if i >= 2:
            break
    return s + y


def loop_continue(x):
    s, i = 0.0, 0
    while (y := x * i) < 3.1:
        i += 1
        if i == 2:
            continue
        s += y
    return s + y


def loop_return(x):
    i = 0
    while (y := x * x * i) < 6.0:
        i += 1
        if i == 5:
            return y * x
    return y


def newton(x):
    y, n = x, 0
    while n < 20 and abs(d := (y - x / y) / 2) > 1e-12:
        y -= d
        n += 1
    return y + d


PROGRAMS = (both, either, kept, three, of_arrays, choice, loop_and, loop_break, loop_continue, loop_return, newton)


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("x", [-0.7, 0.3, 1.3, 1.7, 2.5])
def test_value_and_gradient(program, x):
    if program in (newton, loop_continue) and x < 0:
        x = -x                                      # they need a positive number
    derivative = grad(program, mode="python")
    assert_gradient(program, (x,), (0,), "python")
    assert derivative.primal(x) == pytest.approx(program(x), rel=1e-14)


def test_compiled():
    assert grad(newton)(3.0) == pytest.approx(0.5 / np.sqrt(3.0))


@pytest.mark.parametrize("x, expected", [(1.0, 2.0), (-1.0, 1.0)])
def test_a_walrus_that_a_chain_may_not_reach(x, expected):
    def chained(x):
        y = x
        if 0.0 < x < (y := 2 * x):
            return y
        return y
    assert grad(chained, mode="python")(x) == expected
