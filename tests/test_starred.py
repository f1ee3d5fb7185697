"""`f(*theta)` with an array whose length is known only when the program runs, and what unpacks generators."""

from collections import namedtuple
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from autodiff import AutodiffError, check_grads, value_and_grad

V = np.array([0.7, 1.9, 3.1])


class Controller:
    def __init__(self, kp, ki, kd, limits=2.0):
        self.out = kp * ki + kd * limits

    @classmethod
    def made(cls, *, gains):
        return cls(*gains)

    def act(self, x, y, z=4.0):
        return self.out * x - y * z

    def __call__(self, x, y, z):
        return self.out + x * y * z

    @staticmethod
    def plain(x, y=2.0, z=3.0, w=5.0):
        return x * y + z * w


@dataclass
class Point:
    x: float
    y: float
    z: float = 1.0

    def norm(self):
        return self.x ** 2 + self.y * self.z


@dataclass(frozen=True)
class Named:
    name: str
    x: float
    y: float
    z: float


Row = namedtuple("Row", "a b c")
WithDefault = namedtuple("WithDefault", "a b c d", defaults=(3.0, 7.0))


def helper(x, y, z, w=2.0):
    return x * y + z * w


def only_defaults(x=1.0, y=2.0, z=3, w=4):
    return x * y - z * w


OUTSIDE = partial(helper, 0.5), partial(helper, w=3.0), partial(Controller, limits=0.5)

PROGRAMS = {
    "class": lambda v: Controller(*v).out,
    "class, some given": lambda v: Controller(0.3, *v).out,
    "class, keyword": lambda v: Controller(*v, limits=5.0).out,
    "class, keyword that is differentiated": lambda v: Controller(*v, limits=v[1]).out,
    "class, slice": lambda v: Controller(*v[:3]).out,
    "class, short slice": lambda v: Controller(1.0, *v[1:]).out,
    "classmethod": lambda v: Controller.made(gains=v * 2).out,
    "method": lambda v: Controller(1.0, 2.0, v[0]).act(*v),
    "method, less": lambda v: Controller(1.0, 2.0, v[0]).act(*v[:2]),
    "called object": lambda v: Controller(1.0, 2.0, v[0])(*v),
    "staticmethod": lambda v: Controller.plain(*v),
    "staticmethod, one": lambda v: Controller.plain(*v[2:]),
    "dataclass": lambda v: Point(*v).norm(),
    "dataclass, less": lambda v: Point(*v[1:]).norm() + Point(v[0], *v[1:]).norm(),
    "dataclass with a text": lambda v: Named("q", *v).y * Named("q", *v).z,
    "namedtuple": lambda v: Row(*v).a * Row(*v).c,
    "namedtuple, defaults": lambda v: WithDefault(*v).c * WithDefault(*v).d * WithDefault(*v).a,
    "function": lambda v: helper(*v),
    "function, expression": lambda v: helper(*(v ** 2)),
    "all defaults": lambda v: only_defaults(*v),
    "partial": lambda v: partial(helper, 2.0)(*v[1:]) + partial(helper, w=v[0])(*v),
    "partial outside": lambda v: OUTSIDE[0](*v) + OUTSIDE[0](*v[1:]) + OUTSIDE[1](*v) + OUTSIDE[2](*v).out,
    "inner": lambda v: (lambda x, y, z, w=3.0: x * y * z * w)(*v),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_parameters_say_how_many(name):
    check(PROGRAMS[name], V)


@pytest.mark.parametrize("function, lengths", [
    (lambda v: helper(*v), {3, 4}), (lambda v: Controller(*v).out, {3, 4}), (lambda v: Point(*v).norm(), {2, 3}),
    (lambda v: WithDefault(*v).d * v[0], {2, 3, 4}), (lambda v: Row(*v).b ** 2, {3}),
    (lambda v: Controller(*v, limits=1.0).out, {3}), (lambda v: only_defaults(*v), {0, 1, 2, 3, 4}),
    (lambda v: Named("a", *v).z ** 2, {3})])
def test_a_length_that_does_not_fit_raises_pythons_error(function, lengths):
    compiled = value_and_grad(function, mode="python")
    for n in range(6):
        v = np.linspace(1.0, 2.0, n)
        if n in lengths:
            value, gradient = compiled(v)
            assert np.isclose(value, function(v)) and gradient.shape == (n,)
        else:
            for call in (function, compiled):
                with pytest.raises((TypeError, IndexError)):
                    call(v)


def pair(d):
    a, b = (float(d[k]) for k in ("a", "b"))
    return a * b


def pair_of_list(d):
    [a, b] = (d[k] ** 2 for k in d)
    return a * b


def from_array(v):
    a, b, c = (t * t for t in v)
    return a * b - c


def from_map(v):
    a, b, c = map(float, v)
    return a * b - c


def from_map_of_two(v):
    a, b, c = map(lambda s, t: s * t, v, v[::-1])
    return a * b - c


def from_rows(v):
    a, b, c = (row.sum() for row in np.outer(v, v))
    return a * b - c


def starred(v):
    a, *rest = (t * t for t in v)
    return a * sum(rest)


def held(v):
    g = (2.0 * t for t in v)
    return sum(g)


def held_and_passed(v):
    squares = (t ** 2 for t in v)
    scaled = (3.0 * s for s in squares)
    return sum(scaled) * v[0]


def held_with_loop(v):
    total = 0.0
    pairs = ((t, t + 1.0) for t in v)
    for a, b in pairs:
        total += a * b
    return total


def held_as_list(v):
    g = (np.sin(t) for t in v)
    return np.sum(np.array(list(g)) ** 2)


def held_max(v):
    g = (np.sin(t) for t in v)
    return max(g)


@pytest.mark.parametrize("function, at", [
    (pair, {"a": 1.3, "b": 2.1}), (pair_of_list, {"a": 1.3, "b": 2.1}), *((f, V) for f in (
        from_array, from_map, from_map_of_two, from_rows, starred, held, held_and_passed, held_with_loop, held_as_list,
        held_max))])
def test_generators_unpacked_or_held(function, at):
    if isinstance(at, dict):
        value, gradient = value_and_grad(function, mode="python")(at)
        assert np.isclose(value, function(at))
        for k in at:
            up, down = ({**at, k: at[k] + h} for h in (1e-6, -1e-6))
            assert np.isclose(gradient[k], (function(up) - function(down)) / 2e-6)
    else:
        check(function, at)


@pytest.mark.parametrize("function", [from_array, from_map, from_map_of_two])
@pytest.mark.parametrize("n", [0, 2, 4])
def test_unpacking_another_length_raises(function, n):
    for call in (function, value_and_grad(function, mode="python")):
        with pytest.raises(ValueError):
            call(np.ones(n))


def run_twice(v):
    g = (2.0 * t for t in v)
    return sum(g) + sum(g)


def changed_before(v):
    a = 2.0
    g = (a * t for t in v)
    a = 3.0
    return sum(g) * a


def changed_array(v):
    x = v * 1.0
    g = (a * t for a, t in zip(x, v))
    x[0] = 5.0
    return sum(g)


def left_early(v):
    g = (2.0 * t for t in v)
    total = 0.0
    for t in g:
        if t > 1.0:
            break
        total += t
    return total + sum(g)


def never_asked(v):
    g = (int(1.0 / (t - t)) for t in v)      # noqa: F841
    return v[0]


def asked_twice_in_loop(v):
    g = (2.0 * t for t in v)
    total = 0.0
    for _ in range(2):
        total += sum(g)
    return total


def next_of(v):
    g = (2.0 * t for t in v)
    return next(g) + sum(g)


def member(v):
    g = (2.0 * t for t in v)
    found = 3.8 in g
    return sum(g) + (1.0 if found else 2.0)


@pytest.mark.parametrize("function", [
    run_twice, changed_before, changed_array, left_early, never_asked, asked_twice_in_loop, next_of, member])
def test_what_a_generator_gives_once_is_never_given_twice(function):
    """The value is Python's, or the program is refused."""
    try:
        value = value_and_grad(function, mode="python")(V)[0]
    except AutodiffError:
        return
    assert np.isclose(value, function(V))


def stores(v):
    g = (2.0 * t for t in v)
    g[0] = 5.0
    return v[0]


def adds(v):
    g = (2.0 * t for t in v)
    g[0] += 5.0
    return v[0]


def subscripts(v):
    g = (2.0 * t for t in v)
    return g[0] * v[0]


def computes(v):
    g = (2.0 * t for t in v)
    return np.sum(g * v)


def measures(v):
    g = (2.0 * t for t in v)
    return len(g) * v[0]


@pytest.mark.parametrize("function", [stores, adds, subscripts, computes, measures])
def test_a_generator_is_no_array(function):
    with pytest.raises(TypeError):
        function(V)
    with pytest.raises((AutodiffError, TypeError)):
        value_and_grad(function, mode="python")(V)


def check(function, v):
    assert np.isclose(value_and_grad(function, mode="python")(v)[0], function(v))
    check_grads(function, (v,), modes=("rev",), mode="python")
