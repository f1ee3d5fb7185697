"""Writes to arrays that are items and fields, however they are written: the item is the array that was put there."""

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from autodiff import AutodiffError, vjp

from .support import assert_slope, direction_like, from_text

WRITES = """np.add.at(w, at, 0.5)|np.multiply.at(w, at, y[:2])|np.negative.at(w, at)|np.add.at(w, w > 0.2, 0.5)|w.fill(y[0])
w.sort()|np.copyto(w, y)|np.copyto(w, y, where=w > 0.5)|np.multiply(w, y, out=w)|np.exp(w, w)|np.sin(w, out=w, where=w > 0.3)
np.clip(w, 0.0, 0.3, out=w)|np.cumsum(w, out=w)|np.sum(A, axis=0, out=w)|np.matmul(A, y, out=w)|np.round(w, 1, out=w)
np.concatenate([y[:2], y[:1]], out=w)|np.stack([y[0], y[1], y[2]], out=w)|np.einsum("ij,j->i", A, y, out=w)|w[at] += 0.5
np.put(w, at, 0.5)|np.add.accumulate(w, out=w)|np.add.reduce(A, axis=0, out=w)|np.mean(A, axis=0, out=w)""".replace(
    "\n", "|").split("|")
PLACES = {"b.u": "b = Box(np.sin(x))", "d[0]": "d = {0: x * 1.1}", "l[-2]": "l = [x * 1.1, x]", "t[0]": "t = (x * 1.1, y)",
          "l[0][:]": "l = [x[::-1] * 1.1]"}
X, Y = np.array([0.11, 2.37, 0.34]), np.array([0.4, 0.5, -0.6])
A = np.array([[0.3, 0.2, 0.7], [0.1, 0.9, 0.4], [0.3, 0.6, 0.8]])


@pytest.mark.parametrize("place", PLACES)
def test_written_where_they_stand(place):
    for k, write in enumerate(WRITES):
        line = re.sub(r"\bw\b", place, write)
        f = from_text(f"written_{k}", f"""
import numpy as np
from dataclasses import dataclass

@dataclass
class Box:
    u: np.ndarray

def f(x, y, A, at):
    {PLACES[place]}
    {line}
    return np.sum({place} ** 2 * y)
""")
        args = X, Y, A, np.array([0, 2])
        value, pull = vjp(f, *args, mode="python", debug=True)
        assert np.isclose(value, f(*args), rtol=1e-12), line
        bars = pull(1.0)
        for position in (0, 1):
            d = direction_like(args[position], position)
            assert_slope(float(np.sum(bars[position] * d)), f, args, position, d)


@dataclass
class Counted:
    v: np.ndarray
    n: int = 0

    @property
    def u(self):
        return self.v

    @u.setter
    def u(self, w):
        self.v = w
        self.n += 1

    def __getitem__(self, k):
        return self.v[k]

    def __setitem__(self, k, w):
        self.n += 10


@dataclass(frozen=True)
class Frozen:
    u: np.ndarray


class Named(NamedTuple):
    u: np.ndarray


def by_its_setter(x, y):
    c = Counted(x * 1.0)
    c.u += y
    return np.sum(c.v) * c.n


def by_its_setitem(x, y):
    c = Counted(np.outer(x, y))
    c[1] += y
    return np.sum(c.v) * c.n


@pytest.mark.parametrize("f", [by_its_setter, by_its_setitem], ids=lambda f: f.__name__)
def test_an_array_changed_in_place_is_put_back(f):
    assert np.isclose(vjp(f, X, Y, mode="python")[0], f(X, Y))


@pytest.mark.parametrize("box", [lambda x: (x * 1.0,), lambda x: Named(x * 1.0)], ids=["tuple", "named"])
def test_items_of_tuples_cannot_be_put_back(box):
    def f(x, y):
        t = box(x)
        t[0] += y
        return np.sum(t[0])
    with pytest.raises(TypeError):
        f(X, Y)
    with pytest.raises(AutodiffError, match="does not support item assignment"):
        vjp(f, X, Y, mode="python")


@pytest.mark.parametrize("box", [lambda x: Frozen(x * 1.0), lambda x: Named(x * 1.0)], ids=["frozen", "named"])
def test_fields_that_cannot_be_put_back(box):
    def f(x, y):
        t = box(x)
        t.u += y
        return np.sum(t.u)
    with pytest.raises(AttributeError):
        f(X, Y)
    with pytest.raises(AutodiffError, match="cannot assign|cannot be set"):
        vjp(f, X, Y, mode="python")
