"""Arrays of rank 0: NumPy changes them in place, and replaces numbers."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff import UnsupportedSyntax, grad, value_and_grad, vjp

from .fuzz.points import attempt

X = np.array([1.0, 2.0, 3.0])


def add(t, v):
    t += v


def second_name(x):
    t = np.zeros(())
    s = t
    for v in x:
        s += v * v
    return t * 1.0


def made_of_a_number(x):
    t = np.array(0.0)
    s = t
    for v in x:
        s += v * v
    return t * 1.0


def view_of_an_argument(x):
    m = np.squeeze(x[:1])
    m *= 10.0
    return x.sum()


def element(x):
    y = x * 1.0
    e = y[0, ...]
    e += 5 * x[1]
    return y.sum()


def reshaped(x):
    y = x[:1] * 1.0
    e = y.reshape(())
    e += 5 * x[1]
    return y.sum()


def helper(x):
    t = np.zeros(())
    for v in x:
        add(t, v * v)
    return t * 1.0


def looped_over(x):
    a, b = np.zeros(()), np.array(x[1])
    for t in [a, b]:
        t += x[0]
    return a * b


def chosen(x):
    y = np.where(x[0] > 0, x[0], x[1])
    s = y
    y += x[2]
    return s * 2.0


def ufunc(x):
    t = np.array(1.0)
    s = t
    np.multiply(t, x[0] + x[1], out=t)
    return s * 2.0


def through_a_view(x):
    t = np.array(x[0])
    u = t[None]
    u[0] -= x[1]
    return t * x[2]


def copied(x):
    t = np.array(x[0])
    s, r = np.array(t), t.copy()
    t += x[1]
    return s * t + r


def named_afterwards(x):
    t = np.array(0.0)
    t += x[0]
    s = t
    t += x[1]
    return s * x[2]


def read_later(x):
    e = x[..., 0]
    x[0] = 5.0
    return e * x[1]


def in_a_dict(x):
    d = {"a": np.zeros(())}
    s = d["a"]
    d["a"] += x[0]
    return s * x[1]


def a_number(x):
    s = x[0]
    first = s
    s += x[1]
    return first * s


@pytest.mark.parametrize("f", [
    second_name, made_of_a_number, view_of_an_argument, element, reshaped, helper, looped_over, chosen, ufunc,
    through_a_view, copied, named_afterwards, read_later, in_a_dict, a_number])
def test_writes_are_seen_by_all_names(f):
    value, gradient = value_and_grad(f, mode="python")(X.copy())
    assert value == pytest.approx(f(X.copy()))
    step = 1e-6
    slopes = [(f(X + step * d) - f(X - step * d)) / (2 * step) for d in np.eye(3)]
    np.testing.assert_allclose(gradient, slopes, atol=1e-6)


def by_path(x):
    t = np.zeros(())
    s = t
    if x[0] > 0:
        t = x[1]
    t += 1.0
    return s + t


def in_a_list_that_grows(x):
    t, seen = np.array(0.0), []
    for v in x:
        t += v
        seen.append(t)
    return seen[0] * seen[1]


def copy_of_what_a_loop_makes_a_number(x):
    a = np.where(x[0] > 0, x[1], 0.5)
    for v in x:
        a = a + v
    c = a.copy()
    add(c, x[0])
    return c


def conversion_of_one_by_path(x):
    a = np.where(x[0] > 0, x[1], 0.5)
    if x[1] > 0:
        a = x[1] * 2.0
    c = a.astype(float)
    add(c, x[0])
    return c


@pytest.mark.parametrize("f", [by_path, in_a_list_that_grows, copy_of_what_a_loop_makes_a_number, conversion_of_one_by_path])
def test_what_cannot_be_followed_is_refused(f):
    with pytest.raises(UnsupportedSyntax, match="rank 0|appended to a list"):
        grad(f, mode="python")(X.copy())


def test_integers_are_not_made_floats_in_place():
    def halved(x):
        t = np.array(4)
        t /= 2
        return t * x[0]
    with pytest.raises(TypeError, match="Cannot cast"):
        grad(halved, mode="python")(X)


@pytest.mark.parametrize("first", [0, 20, 40])
def test_random_programs(first):
    for seed in range(first, first + 20):
        outcome, text = attempt(seed)
        assert outcome.verdict != "failed", f"{outcome.kind}: {outcome.text}\n{text}"


def argument(t, x):
    s = t
    s += x
    return t * s


def argument_in_place(t, x):
    add(t, x)
    np.multiply(t, x, out=t)
    t[...] = t * t
    return t * x


def argument_in_a_list(t, x):
    kept = [t]
    kept[0] += x
    return t * x


def argument_in_a_loop(t, x):
    s = t
    for _ in range(3):
        s *= x
    return t + s


def argument_left(t, x):
    t += x


@pytest.mark.parametrize("program", [argument, argument_in_place, argument_in_a_list, argument_in_a_loop])
def test_arguments(program):
    """A caller's array is changed under all its names; a number is not."""
    gradient = value_and_grad(program, wrt="x", mode="python")
    for given in (np.array(1.5), np.float64(1.5), 1.5, np.array(1.5)):
        if program is argument_in_place and not isinstance(given, np.ndarray):
            continue
        expected = [program(np.array(given) if isinstance(given, np.ndarray) else given, 2.0 + h) for h in (0, 1e-6, -1e-6)]
        value, slope = gradient(given, 2.0)
        assert value == pytest.approx(expected[0])
        assert slope == pytest.approx((expected[1] - expected[2]) / 2e-6, rel=1e-6)


def test_an_argument_as_output():
    given = np.array(1.5)
    assert vjp(argument_left, given, 2.0, outputs=("t",), mode="python")[0] == 3.5
    assert given == 1.5


OF_ONE_ARRAY = [getattr(np, name) for name in (
    "sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "cumsum", "cumprod", "argsort", "mean", "std", "var",
    "median", "nansum", "nanmax", "nanmin", "nanmean", "nanprod", "ptp", "count_nonzero", "sort", "squeeze", "expand_dims",
    "flip")]
WITH_MORE = [lambda v, axis: np.take(v, 0, axis=axis), lambda v, axis: np.repeat(v, 2, axis=axis),
             lambda v, axis: np.argpartition(v, 0, axis=axis), lambda v, axis: np.compress([True], v, axis=axis),
             lambda v, axis: np.partition(v, 0, axis=axis), lambda v, axis: np.argwhere(v),
             lambda v, axis: np.sum(v, axis=axis, keepdims=True), lambda v, axis: np.interp(v, v, v),
             lambda v, axis: np.correlate(v, v), lambda v, axis: np.add.reduce(v, axis=axis)]


@pytest.mark.parametrize("function", [*OF_ONE_ARRAY, *WITH_MORE])
def test_the_only_axis_of_a_number(function):
    """NumPy's functions in C take 0 and -1, those in Python refuse them."""
    for axis in (0, -1, 1, None):
        for made in (lambda x: x[0], lambda x: np.array(x[0]), lambda x: np.squeeze(x[1:2]), lambda x: 2.5):
            f = lambda x: np.sum(function(made(x), axis=axis)) + np.sum(x)
            try:
                expected = f(X)
            except Exception as e:
                with pytest.raises(type(e)):
                    value_and_grad(f, mode="python")(X)
            else:
                np.testing.assert_allclose(value_and_grad(f, mode="python")(X)[0], expected)
