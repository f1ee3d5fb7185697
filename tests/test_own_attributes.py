"""The `__dict__` of objects, and keywords named as the parameters of dict and its like are: what Python makes of them."""

import collections
import functools  # noqa: F401 (for the texts)
from dataclasses import dataclass

import numpy as np
import pytest

from autodiff import AutodiffError, value_and_grad

from .support import module_of, outcome

X = np.array([0.7, 0.2, 1.3])


class Plain:
    order = 3

    def __init__(self, a):
        self.a = a


class Loose:
    def __init__(self, **options):
        self.__dict__.update(options)
        self.__dict__["z"] = 2.0


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a


@dataclass
class Pair:
    a: float
    b: float


P = collections.namedtuple("P", "a b")


def product(function, self, x=1.0, lo=1.0):
    return function * self * x * lo


LINES = """
o = Plain(x[0]); r = o.__dict__.get("a", 1.0) * x[0]
o = Plain(x[0]); r = x[0] * len(o.__dict__)
o = Plain(x[0]); r = x[0] if "a" in o.__dict__ else -3 * x[0]
o = Plain(x[0]); r = x[0] if "order" in vars(o) else -3 * x[0]
o = Pair(x[0], x[1]); r = o.a * (1.0 if len(o.__dict__) == 2 else 7.0)
o = Loose(k=x[0], l=x[1]); r = o.k * o.l * o.z
o = Plain(x[0]); o.__dict__["a"] = x[1]; o.__dict__.update(b=x[2]); r = o.a * o.b
o = Plain(x[0]); o.__dict__.update({"a": x[1], "c": 2.0}, b=x[2]); r = o.a * o.b * o.c
o = Plain(x[0]); r = sum({k: v for k, v in o.__dict__.items()}.values())
o = Pair(x[0], x[1]); r = Pair(**{**o.__dict__, "b": x[2]}).b * 2 + Pair(**o.__dict__).a
o = Plain(x[0]); v = vars(o); o.a = x[1]; r = v["a"] * x[2]
o = Plain(x[0]); v = o.__dict__; v["q"] = x[1]; r = o.q * len(v)
o = Plain(x[0]); v = dict(vars(o)); o.a = x[1]; r = v["a"] + o.a
o = Plain(x[0]); v = o.__dict__.copy(); v["a"] = 2.0; r = o.a * v["a"]
o = Plain(x[0]); r = sum(getattr(o, k) for k in o.__dict__)
o = Plain(x[0]); r = x[0] * (1.0 if o.__dict__ == {"a": x[0]} else 2.0)
o = Plain(x[0]); r = x[0] * (1.0 if isinstance(vars(o), dict) else 2.0)
o = Plain(x[0]); r = o.__dict__["nope"] * x[0]
o = Plain(x[0]); del o.__dict__["a"]; r = x[0]
o = Slotted(x[0]); r = len(o.__dict__) * x[0]
o = P(x[0], x[1]); r = len(o.__dict__) * x[0]
s = dict(x={"a": 1.0}, scale=x[0]); r = s["scale"] * len(s) * (10.0 if "x" in s else 1.0)
s = dict(x=(("v", 2.0),), w=x[0]); r = s["w"] * s.get("v", 1.0)
s = dict(x=np.zeros(3), v=np.ones(3) * x[0]); r = np.sum(s["v"] + s["x"])
s = dict({"a": 1.0}, x=x[0]); r = s["a"] * s["x"]
s = collections.OrderedDict(x=x[0], lo=2.0); r = s["x"] * s["lo"]
s = collections.defaultdict(float, x=x[0], default_factory=2.0); r = s["x"] * s["default_factory"] + s["q"]
s = dict(**{"a": x[1]}, x=x[0], self=3.0, lo=2.0); r = s["x"] * s["a"] * s["self"] * s["lo"]
s = collections.Counter(x=2, iterable=3); r = x[0] * s["x"] * s["iterable"]
s = dict(a=1.0); s.update(other=x[0], self=2.0); r = s["other"] * s["self"]
g = functools.partial(product, function=x[0], x=2.0); r = g(self=x[1], lo=3.0)
""".strip().split("\n")


@pytest.mark.parametrize("line", LINES)
def test_as_in_python(line):
    text = "def f(x):\n" + "".join(f"    {part.strip()}\n" for part in line.split(";")) + "    return r\n"
    f = module_of(f"<{line}>", text, {**globals()})["f"]
    expected, found = outcome(f, X), outcome(value_and_grad(f, mode="python"), X)
    if isinstance(expected, Exception) or line.startswith("o = Plain(x[0]); del"):
        assert isinstance(found, (AutodiffError, type(expected)))
        return
    value, slope = found
    assert value == pytest.approx(expected, rel=1e-14)
    moved = [(f(X + e) - f(X - e)) / 2e-6 for e in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(slope, moved, rtol=1e-6, atol=1e-9)


def test_of_an_argument():
    def f(pair):
        return pair.a * len(vars(pair)) * pair.__dict__.get("b", 1.0)
    pair = Pair(2.0, 3.0)
    value, slope = value_and_grad(f, mode="python")(pair)
    assert value == f(pair) and (slope.a, slope.b) == (6.0, 4.0)
