"""Variables of comprehensions that an error leaves half way: no name outside means them, in handlers and after the `try`."""

import contextlib
import math

import numpy as np
import pytest

from autodiff import value_and_grad

V = np.array([1.0, 0.0, 2.0, 4.0])


def number_before(x, p):
    u = p
    with contextlib.suppress(ValueError):
        _ = [math.sqrt(u) for u in (x[0], -p)]
    return u * x[1]


def array_before(x, p):
    u = x * p
    with contextlib.suppress(ValueError):
        _ = {k: math.sqrt(u) for k, u in enumerate((x[0], -p))}
    return u[2]


def nothing_before(x, p):
    try:
        _ = max([math.sqrt(u) for u in (x[0], -p)])
        return u
    except (ValueError, NameError):
        return p * x[2]


def in_a_loop_of_finally(x, p):
    try:
        try:
            if p > 3.0:
                raise IndexError(3)
        finally:
            for _ in range(len(x)):
                p += max([math.sqrt(u) for u in (x[0], x[1] - 0.5)])
    except ValueError:
        return x[0]
    return p + x[3]


def bound_by_walrus(x, p):
    w = 1.0
    with contextlib.suppress(ValueError):
        _ = [math.sqrt(w := v) for v in (x[0], -p)]
    return w * x[2]


@pytest.mark.parametrize("f", [number_before, array_before, nothing_before, in_a_loop_of_finally, bound_by_walrus],
                         ids=lambda f: f.__name__)
def test_variables_of_comprehensions_stay_inside(f):
    for x in (V, V + 1.0):
        value, slope = value_and_grad(f, mode="python", debug=True)(x, 0.3)
        assert value == f(x, 0.3)
        assert np.allclose(slope, [(f(x + 1e-6 * e, 0.3) - f(x - 1e-6 * e, 0.3)) / 2e-6 for e in np.eye(4)])
