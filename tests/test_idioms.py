"""Idioms of real code: copies, getters, sets of constants, spread arrays, classes with operators, plain Python in SciPy."""

import abc
import copy
import dataclasses
import itertools
import math
import operator

import numpy as np
import pytest
from scipy import constants
from scipy.optimize import rosen

from autodiff import UnsupportedSyntax, grad, jvp, value_and_grad


@dataclasses.dataclass
class Spring:
    k: float
    loads: list


class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __matmul__(self, other):
        return self.x * other.x + self.y * other.y

    def __abs__(self):
        return math.sqrt(self @ self)

    def __round__(self):
        return self.x


class Base(abc.ABC):
    @abc.abstractmethod
    def slope(self, x): ...

    def twice(self, x):
        return 2.0 * self.slope(x)


class Line(Base):
    __slots__ = ("k",)

    def __init__(self, k):
        self.k = k

    def slope(self, x):
        return self.k * x


def objects_with_operators(x):
    a = Point(x, 2.0)
    return a @ Point(1.0, x) + abs(a) + round(a)


def abstract_class(x):
    return Line(x).twice(x)


def copies(x):
    first = Spring(x, [x])
    deep, flat = copy.deepcopy(first), copy.copy(first)
    deep.loads.append(3.0 * x)
    flat.loads.append(2.0)
    return len(first.loads) * first.k + sum(deep.loads) * deep.k


def one_object_twice(x):
    item = [x]
    pair = copy.deepcopy([item, item])
    pair[0][0] = 5.0
    return pair[1][0] * item[0]


def replaced(x):
    first = Spring(x, [x, 1.0])
    second = dataclasses.replace(first, k=2.0 * x)
    second.loads[0] = 7.0
    return first.loads[0] * second.k


def taken_apart(x):
    spring = Spring(x, [x, x * x])
    fields = dataclasses.asdict(spring)
    fields["loads"][0] = 5.0
    return spring.loads[0] * fields["loads"][0] + dataclasses.astuple(spring)[1][1]


def getters(x):
    table = {"a": x, "b": x * x}
    both = operator.itemgetter("a", "b")(table)
    return both[1] + operator.attrgetter("k")(Spring(x, [])) * operator.itemgetter(0)([x])


def sums_so_far(x):
    return sum(itertools.accumulate([x, 2.0, x * x])) + list(itertools.accumulate([x, x], operator.mul, initial=3.0))[-1]


def sorted_pairs(x):
    total = 0.0
    for _, value in sorted({"b": x, "a": x * x}.items()):
        total = 2.0 * total + value
    return total


def sorted_by_key(x):
    return sorted([x, 3.0 * x, -2.0 * x], key=lambda v: v * v)[1] * x + sorted([x, -x], key=lambda v: v, reverse=True)[0]


def chosen_by_a_set(x):
    kinds = {"sine", "cosine"} | {"none"}
    return math.sin(x) if "sine" in kinds and "square" not in kinds else x


def light(x):
    return x * x * constants.value("speed of light in vacuum")


@pytest.mark.parametrize("f", [
    objects_with_operators, abstract_class, copies, one_object_twice, replaced, taken_apart, getters, sums_so_far,
    sorted_pairs, sorted_by_key, chosen_by_a_set, light])
def test_as_python(f):
    value, slope = value_and_grad(f, mode="python")(1.3)
    central = (f(1.3 + 1e-6) - f(1.3 - 1e-6)) / 2e-6
    assert np.isclose(value, f(1.3), rtol=1e-12)
    assert np.isclose(slope, central, rtol=1e-6)
    assert np.isclose(jvp(f, (1.3,), (1.0,), mode="python")[1], slope, rtol=1e-12)


# ---- an array in the place of arguments ------------------------------------------------------------------
T = np.linspace(0.0, 1.0, 5)


def decay(t, a, b):
    return a * np.exp(-b * t)


def fitted(theta, t):
    return np.sum((decay(t, *theta) - 0.3) ** 2)


def fitted_slice(theta, t):
    return np.sum(decay(t, *theta[1:]) * (lambda u, a, b: a + b * u)(t, *theta[:2]))


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_an_array_gives_the_arguments_of_a_function(mode):
    for f, theta in ((fitted, np.array([1.0, 2.0])), (fitted_slice, np.array([0.5, 1.0, 2.0]))):
        central = [(f(theta + 1e-6 * e, T) - f(theta - 1e-6 * e, T)) / 2e-6 for e in np.eye(len(theta))]
        assert np.allclose(grad(f, mode=mode)(theta, T), central, rtol=1e-6)
    with pytest.raises(TypeError):
        grad(fitted, mode=mode)(np.ones(3), T)


def test_plain_python_of_scipy():
    x = np.array([1.1, 1.0, 0.5])
    central = [(rosen(x + 1e-6 * e) - rosen(x - 1e-6 * e)) / 2e-6 for e in np.eye(3)]
    assert np.allclose(grad(lambda v: rosen(v), mode="python")(x), central, rtol=1e-6)


# ---- what is loaded once ---------------------------------------------------------------------------------
lazy_sine = TABLE = None


def sine_twice(x):
    global lazy_sine
    if lazy_sine is None:
        from numpy import sin as lazy_sine
    return lazy_sine(x) * called_with_it(x)


def called_with_it(x):
    return lazy_sine(2.0 * x)


def from_a_table(x):
    global TABLE
    if TABLE is None:
        TABLE = {"k": 3.0}
    return TABLE["k"] * x


def imported_on_a_path(x):
    global lazy_sine
    if x > 0.0:
        from numpy import cos as lazy_sine
    return x


def deleted(x):
    global TABLE
    del TABLE
    return x


def test_globals_that_are_loaded_once():
    wanted = math.cos(0.5) * math.sin(1.0) + 2.0 * math.sin(0.5) * math.cos(1.0)
    assert np.isclose(grad(sine_twice, mode="python")(0.5), wanted, rtol=1e-12)
    assert lazy_sine is None
    with pytest.raises(UnsupportedSyntax, match="call the function itself once"):
        grad(from_a_table, mode="python")(0.5)
    from_a_table(0.5)
    assert grad(from_a_table, mode="python")(0.5) == 3.0
    for f in (imported_on_a_path, deleted):
        with pytest.raises(UnsupportedSyntax, match="global"):
            grad(f, mode="python")(0.5)


# ---- masks of arrays without axes -------------------------------------------------------------------------
def by_mask(x, y):
    z = np.zeros_like(x)
    ok = x > y
    z[ok] = np.sqrt(x[ok] - y[ok])
    z[~ok] = x[~ok] * 3.0
    z[ok] += 1.0
    return np.sum(z * z)


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_masks_of_arrays_without_axes(mode):
    f = value_and_grad(by_mask, wrt=(0, 1), mode=mode)
    for x in (2.0, 0.5):
        value, slopes = f(np.array(x), np.array(1.0))
        central = [(by_mask(np.array(x + h), np.array(1.0 + k)) - by_mask(np.array(x - h), np.array(1.0 - k))) / 2e-6
                   for h, k in ((1e-6, 0.0), (0.0, 1e-6))]
        assert np.isclose(value, by_mask(np.array(x), np.array(1.0)))
        assert np.allclose(slopes, central, rtol=1e-6)


def copied_into_a_number(x):
    np.copyto(x[0], x[1])
    return x[0]


def shown_as_a_number(x):
    return x[0] * len("{:4.1e}".format(x))


def test_what_numpy_refuses_is_refused():
    for f, error in ((copied_into_a_number, TypeError), (shown_as_a_number, TypeError)):
        with pytest.raises(error):
            f(np.ones(3))
        with pytest.raises(error):
            grad(f, mode="python")(np.ones(3))


# ---- refusals --------------------------------------------------------------------------------------------
def changed_set(x):
    seen = {1}
    seen |= {2}
    return x


def set_of_numbers(x):
    return x * len({x, 2.0})


def read_twice(x):
    sums = itertools.accumulate([x, x])
    return sum(sums) + sum(sums)


@pytest.mark.parametrize("f, text", [(changed_set, "a set that changes"), (set_of_numbers, "known only when"),
                                     (read_twice, "empty after")])
def test_refused(f, text):
    with pytest.raises(UnsupportedSyntax, match=text):
        grad(f, mode="python")(1.3)
