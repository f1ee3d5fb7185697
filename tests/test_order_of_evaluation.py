"""Subscripts, values, items and conditions are evaluated in Python's order, each once, with what they change."""

import numpy as np
import pytest

from autodiff import value_and_grad
from autodiff.errors import UnsupportedSyntax

X = np.linspace(0.3, 1.3, 9)


def subscript_before_value(x):
    y = x * 0.0
    k = 0
    y[k] += x[(k := k + 1)]
    return np.sum(y * x) * k


def two_pops(x):
    places = [1, 2, 3]
    y = x * 1.0
    y[places.pop()] += x[places.pop()]
    return np.sum(y * x)


def two_calls(x):
    at = [0]

    def following():
        at[0] += 1
        return at[0]

    y = x * 1.0
    y[following():following() + 2] *= x[following()]
    return np.sum(y * x) * at[0]


def filter_with_effects(x):
    y = x * 1.0

    def add(z):
        y[0] += z
        return y[0]

    return sum([x[i] for i in range(3) if add(x[i]) < 1.0]) * y[0]


def running_sum(x):
    c = 0.0
    v = [(c := c + z * z) for z in x]
    return v[3] * c


def counted(x):
    k = 0
    v = [(k := k + 1) * z for z in x]
    return sum(v) * k


def pops_in_items(x):
    items = [x[0], x[1], x[2], x[3]]
    v = [items.pop() * x[i] for i in range(len(x) - 6)]
    return sum(v) * len(items)


def appended_by_a_call(x):
    seen = [x[0]]

    def keep(z):
        seen.append(z * z)
        return z

    v = [keep(z) for z in x]
    return seen[-1] * len(seen) * v[2]


def cell_of_a_list(x):
    c = [0.0]

    def add(z):
        c[0] += z
        return c[0]

    v = [add(z) for z in x]
    return v[4] * c[0]


def bound_by_the_item(x):
    v = [(t := z * z) + t for z in x]
    return sum(v) * t


def bound_by_one_of_two(x):
    v = [(t := z * z) + t for z in [x[0], x[1]]]
    return sum(v) * t


def name_of_the_else(x):
    s = x[0]
    for _ in range(3):
        pass
    else:
        s = s * 2
    for i in range(len(x)):
        if x[i] > 5:
            break
        s += x[i]
    else:
        for j in range(2):
            s = s * x[j]
    return s


@pytest.mark.parametrize("f", [
    subscript_before_value, two_pops, two_calls, filter_with_effects, running_sum, counted, pops_in_items,
    appended_by_a_call, cell_of_a_list, bound_by_the_item, bound_by_one_of_two, name_of_the_else])
def test_value_and_gradient(f):
    value, x_bar = value_and_grad(f, mode="python")(X)
    assert value == pytest.approx(f(X.copy()), rel=1e-13)
    h = 1e-6
    expected = [(f(X + d) - f(X - d)) / (2 * h) for d in h * np.eye(len(X))]
    np.testing.assert_allclose(x_bar, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("f", [
    lambda x, rng: np.sum(scattered(x, rng) * x[:3]),
    lambda x, rng: sum([x[i] for i in range(3) if rng.random() < 0.7]),
    lambda x, rng: sum([u * x[0] for u in rng.random(4) if u > 0.5]),
    lambda x, rng: sum([rng.random() * x[i] for i in range(3) if i != 0 or rng.random() < 0.5])])
def test_draws_in_order(f):
    mine, theirs = np.random.default_rng(5), np.random.default_rng(5)
    value, _ = value_and_grad(f, mode="python")(X, mine)
    assert value == pytest.approx(f(X, theirs), rel=1e-13)
    assert mine.bit_generator.state == theirs.bit_generator.state


def scattered(x, rng):
    y = np.zeros(3)
    y[rng.integers(3)] += rng.random() * x[0]
    return y


def late_items(x):
    k = 2.0
    g = (z * k for z in x)
    k = 3.0
    return sum(g)


def stops_early(x):
    y = x * 1.0

    def add(z):
        y[0] += z
        return y[0] > 0.5

    return any(add(z) for z in x) * y[0]


@pytest.mark.parametrize("f", [late_items, lambda x: max((s := z * 2.0) for z in x) + s])
def test_generators_whose_time_matters_are_refused(f):
    with pytest.raises(UnsupportedSyntax, match="generator expression|made when they are asked for"):
        value_and_grad(f, mode="python")(X)


@pytest.mark.parametrize("x", [[0.3, 0.1, 0.2, 0.4], [0.1, 0.1, 0.25, 0.4], [-0.3, 0.6, 0.4, 1.4], [-0.2, 0.1, 0.2, 0.3],
                               [0.4]])
def test_any_stops_before_items_that_would_change_something(x):
    """At the first item, in the middle, at the last one, never; all of them away from where it would stop elsewhere."""
    x = np.array(x)
    value, gradient = value_and_grad(stops_early, mode="python")(x)
    assert value == stops_early(x)
    steps = [(stops_early(x + 1e-6 * e) - stops_early(x - 1e-6 * e)) / 2e-6 for e in np.eye(len(x))]
    np.testing.assert_allclose(gradient, steps, atol=1e-7)


def grown(x):
    found = [x[0], 0.5]
    for a in x[0:2]:                            # written out for each item, since the list is another one in each
        found = [v * 0.5 for v in x]
        x[:] += a
    found.insert(0, x[1])
    return a + sum(found)


def zipped(x):
    total = 0.0
    for a, w in zip(x, (1.0, 2.0)):
        x[:] += a
        total += a * w
    return total


def numbered(x):
    total = 0.0
    for k, (name, a) in enumerate(zip(["a", "b"], x)):
        x[:] += a
        total += (k + 1.0) * a * len(name)
    return total


def at_once(x):
    total = 0.0
    for name, a in list(zip(["a", "b"], x)):
        x[:] += a
        total += a * len(name)
    return total


@pytest.mark.parametrize("function", [grown, zipped, numbered, at_once])
def test_items_are_read_when_their_turn_comes(function):
    x = np.array([-0.3, 0.6, 0.5, 1.4])
    value, gradient = value_and_grad(function, mode="python")(x)
    assert np.allclose(value, function(x.copy()))
    steps = [(function(x + 1e-6 * e) - function(x - 1e-6 * e)) / 2e-6 for e in np.eye(4)]
    assert np.allclose(gradient, steps, atol=1e-7)
