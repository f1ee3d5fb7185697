"""What `try`, `with` cannot hold, and what of that runs for each element all the same."""

import math

import numpy as np
import pytest

from autodiff import UnsupportedSyntax, grad, value_and_grad

from .test_exceptions import V, helper


def returns_in_finally(x):
    try:
        return x
    finally:
        return 2.0 * x              # noqa: B012


def in_a_comprehension(x):
    try:
        y = np.array([math.log(v) for v in np.array(x)])
    except ValueError:
        y = np.array(x)
    return np.sum(y)


def gathered(x, k):
    try:
        y = x[k]
    except IndexError:
        y = 2.0 * x
    return np.sum(y * y)


def test_arrays_of_indices_are_checked_where_they_are_used():
    for k in (np.array([0, 3, -1]), np.array([0, 9]), np.array([-5])):
        value, slope = value_and_grad(gathered, mode="python")(V, k)
        assert np.isclose(value, gathered(V, k))
        assert np.isclose(slope @ V, 2.0 * value)


def unknown_context(x):
    with open("file"):
        return x


def helper_for_each(x):
    try:
        return sum([helper(v) for v in x])
    except ValueError:
        return 7.0 * x[0]


def helper_in_a_generator(x):
    try:
        return sum(helper(v) for v in x)
    except ValueError:
        return 7.0 * x[0]


def helper_mapped(x):
    try:
        return sum(map(helper, x))
    except ValueError:
        return 7.0 * x[0]


def helper_vectorized(x):
    try:
        return np.sum(np.vectorize(helper)(x))
    except ValueError:
        return 7.0 * x[0]


def helper_as_a_condition(x):
    total, i = 0.0, 0
    try:
        while helper(x[i]) > 0.1:
            total += x[i] ** 2
            i += 1
    except ValueError:
        total = 3.0 * total
    return total


FOR_EACH = (helper_for_each, helper_in_a_generator, helper_mapped, helper_vectorized, helper_as_a_condition)


def careful_helper(v):
    try:
        return helper(v)
    except ValueError:
        return -v


def caught_within(x):
    return sum([careful_helper(v) for v in x]) + sum(map(careful_helper, x))


def test_a_try_inside_what_runs_for_each_element():
    value, slope = value_and_grad(caught_within, mode="python")(V - 1.5)
    assert np.isclose(value, caught_within(V - 1.5))
    assert np.allclose(slope, 2.0 * np.where(V < 1.5, -1.0, 1.5 * np.sqrt(np.abs(V - 1.5))))


@pytest.mark.parametrize("f, args, text", [*((f, (V - 1.5,), "runs several times") for f in FOR_EACH),
    (returns_in_finally, (1.0,), "leaves by return"), (in_a_comprehension, (V,), "runs several times"),
    (unknown_context, (1.0,), "of this context")])
def test_refused(f, args, text):
    with pytest.raises(UnsupportedSyntax, match=text):
        grad(f, mode="python")(*args)
