"""`cached_property` of objects made in a function, outside and given; properties beside `__getattr__`."""

import copy
import dataclasses
import functools

import numpy as np
import pytest

from autodiff import AutodiffError, grad, value_and_grad

from .support import assert_gradient

X = np.array([0.73, 1.31])


@dataclasses.dataclass
class Lens:
    w: np.ndarray
    k: float

    @functools.cached_property
    def norm(self):
        return self.w @ self.w * self.k

    @functools.cached_property
    def unit(self):
        return self.w / self.norm

    @functools.cached_property
    def kept(self):
        return [self.k, self.k * 2]


class Asked:
    def __init__(self, v):
        self.v = v

    @property
    def bad(self):
        return self.missing

    @property
    def worse(self):
        if self.v > 0:
            raise AttributeError("no")
        return self.v

    @property
    def good(self):
        return self.v * 3

    def __getattr__(self, name):
        if name in ("bad", "worse"):
            return self.v * self.v
        raise AttributeError(name)


OUTSIDE = Lens(np.array([1.0, 2.0]), 3.0)


def kept_after_a_change(x):
    lens = Lens(x, 2.0)
    first = lens.norm
    lens.k = x[0]
    return first * lens.norm


def read_after_a_change(x):
    lens = Lens(x, 2.0)
    if x[0] > 5:
        return lens.norm
    lens.k = x[0]
    return lens.norm


def set_instead(x):
    lens = Lens(x, 2.0)
    lens.norm = x[1]
    return lens.norm * x[0] + np.sum(lens.unit)


def written_to(x):
    lens = Lens(x, 2.0)
    lens.unit[0] = 5.0
    lens.kept.append(x[0])
    return np.sum(lens.unit) + sum(lens.kept)


def read_in_a_loop(x):
    lens, total = Lens(x, 2.0), 0.0
    norm = lens.norm
    for v in x:
        total += lens.norm * v + norm
    return total


def of_many(x):
    lenses, total = [Lens(x * v, v) for v in x], 0.0
    for lens in lenses:
        total += lens.norm
    return total


def of_one_outside(x):
    return OUTSIDE.norm * x[0] + np.sum(OUTSIDE.unit * x)


def beside_getattr(x):
    return Asked(x[0]).bad + Asked(x[1]).worse * Asked(-x[0]).worse + Asked(x[1]).good


FUNCTIONS = [kept_after_a_change, read_after_a_change, set_instead, written_to, read_in_a_loop, of_many, of_one_outside,
             beside_getattr]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_values_and_derivatives(function):
    assert_gradient(function, (X,), (0,), "python")


def test_of_an_argument():
    def value(lens, x):
        return lens.norm * x[0] + lens.norm * np.sum(lens.unit)

    lens = Lens(X, 2.0)
    got, slopes = value_and_grad(value, mode="python")(lens, X)
    assert got == pytest.approx(value(copy.deepcopy(lens), X))
    h = 1e-6
    difference = (value(Lens(X, 2.0 + h), X) - value(Lens(X, 2.0 - h), X)) / (2 * h)
    assert slopes.k == pytest.approx(difference, rel=1e-6)
    assert "norm" not in vars(lens)


def test_what_cannot_be_followed_is_refused():
    def in_a_branch(x):
        lens, total = Lens(x, 2.0), 0.0
        if x[0] > 0:
            total += lens.norm
        return total + lens.norm

    with pytest.raises(AutodiffError):
        grad(in_a_branch, mode="python")(X)
