"""Dataclasses and namedtuples whose classes and objects have something of their own: Python says what is right."""

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from autodiff import value_and_grad

from .support import Collected

X = np.array([1.5, 2.0, 3.0])
program = PROGRAMS = Collected()
refused = REFUSED = Collected()


@dataclass
class Spring:
    k: float = 2.0

    def force(self, v):
        return v * self.k


shadowed = Spring()
shadowed.force = lambda v: v * 100.0
marked = Spring()
marked.extra = 7.0


@program
def shadowed_method(x):
    return shadowed.force(x[0])


@program
def more_than_fields(x):
    return x[0] * marked.extra + (x[1] if hasattr(marked, "extra") else 0.0) + (x[2] if hasattr(shadowed, "extra") else 0.0)


@program
def shadowed_here(x):
    p = Spring()
    p.force = lambda v: v * 50.0
    return p.force(x[0])


@dataclass
class Own:
    a: float
    b: float = 1.0

    def __eq__(self, other):
        return self.a == (other.a if isinstance(other, Own) else other)

    def __add__(self, other):
        return Own(self.a * 10 + other.a, self.b)

    def __radd__(self, other):
        return Own(self.a * 10 + other, self.b)

    def __mul__(self, other):
        return self.a * other * 7

    def __matmul__(self, other):
        return self.a * 13

    def __iadd__(self, other):
        self.a = self.a * 17
        return self

    def __neg__(self):
        return -3 * self.a

    def __invert__(self):
        return self.a * 29

    def __bool__(self):
        return False

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return self.a * (i + 1)

    def __setitem__(self, i, v):
        self.a = v * 2

    def __contains__(self, v):
        return v == 5

    def __int__(self):
        return 3

    def __lt__(self, other):
        return self.b > 0

    def __round__(self, n=None):
        return 3

    def __divmod__(self, other):
        return (1, self.a)


@program
def own_equality(x):
    r, q = Own(x[0]), Own(x[1], 2.0)
    same = (2.0 if r == q else 3.0) + (5.0 if r == x[0] else 7.0) + (11.0 if r != Own(x[0]) else 13.0)
    inside = (17.0 if r in [q, Own(x[0])] else 19.0) + (23.0 if [r] == [Own(x[0])] else 29.0)
    return x[0] * same + x[1] * inside


@program
def own_operators(x):
    r, q = Own(x[0]), Own(x[1], 2.0)
    return (r + q).a + (2.0 + r).a + r * x[2] - -r + ~r + r @ 2.0 + r @ q + divmod(r, 2)[1]


@program
def own_update(x):
    r = Own(x[0])
    s = r
    r += x[1]
    return s.a * x[1]


@program
def own_truth(x):
    r, q = Own(x[0]), Own(x[1], 2.0)
    total = x[0] * (2.0 if r else 3.0) + x[1] * (2.0 if not r else 3.0) + x[2] * (2.0 if bool(r) else 3.0)
    while r:
        return x[1]
    assert not r
    return total + (r or q).b * x[0] + (r and q).b * x[1] + (2.0 if any([r, q]) else 3.0) * x[2] + len(
        [v for v in [r, q] if v]) * x[0]


@program
def own_items(x):
    r = Own(x[0])
    before = r[2] * len(r)
    r[0] = x[1]
    return before + r.a


@program
def own_members_and_order(x):
    r, q = Own(x[0]), Own(x[1])
    return x[0] * (2.0 if 5 in r else 3.0) + x[1] * (2.0 if 4 not in r else 3.0) + x[2] * (2.0 if r < q else 3.0) + x[
        0] * (2.0 if r > q else 3.0) + int(r) * x[1] + round(r) * x[2]


class Pair(NamedTuple):
    a: float
    b: float = 2.0

    def __add__(self, other):
        return Pair(self.a * 10, self.b)

    def __rmul__(self, k):
        return Pair(self.a * k, self.b * k)

    def __eq__(self, other):
        return False

    def __bool__(self):
        return False

    def __getitem__(self, i):
        return 99.0


@program
def own_of_a_namedtuple(x):
    p = Pair(x[0])
    return (p + p).a + (2 * p).a + (2.0 if p == p else 3.0) * x[1] + (2.0 if p else 3.0) * x[2] + p[0] * x[0]


class Plain(NamedTuple):
    a: float
    b: float = 2.0


class Empty(NamedTuple):
    pass


@program
def namedtuples_are_tuples(x):
    p = Plain(x[0])
    return len(p + Plain(x[1])) * x[0] + len(p * 2) * x[1] + (2.0 if p == (x[0], 2.0) else 3.0) * x[2] + (
        2.0 if Empty() else 3.0) * x[0] + (2.0 if 2.0 in p else 3.0) * x[1]


@dataclass
class Open:
    a: float

    def __getattr__(self, name):
        return 5.0


@program
def missing_attributes(x):
    return Open(x[0]).anything * x[0]


@dataclass
class Checked:
    a: float

    @property
    def double(self):
        return self.a * 2

    @double.setter
    def double(self, v):
        self.a = v * 5


@program
def set_through_a_property(x):
    p = Checked(x[0])
    p.double = x[1]
    return p.double


@dataclass
class Made:
    a: float

    def __init__(self, v):
        self.a = v * 4


@dataclass
class Given:
    a: float
    scale: dataclasses.InitVar[float] = 3.0

    def __post_init__(self, scale):
        self.a = self.a * scale


@dataclass(frozen=True)
class Fixed:
    a: float
    b: float = dataclasses.field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "b", self.a * 2)


@program
def made_by_their_own(x):
    return Made(x[0]).a + Given(x[1]).a + Given(x[2], 5.0).a + Fixed(x[0]).b


@dataclass(eq=False)
class ByIdentity:
    a: float


@dataclass
class Partly:
    a: float
    b: float = dataclasses.field(default=1.0, compare=False)


@program
def equality_of_dataclasses(x):
    one, other = ByIdentity(x[0]), ByIdentity(x[0])
    return x[0] * (2.0 if one == other else 3.0) + x[1] * (2.0 if one == one else 3.0) + x[2] * (
        2.0 if Partly(x[0]) == Partly(x[0], 5.0) else 3.0) + x[0] * (2.0 if Partly(x[0]) == x[0] else 3.0)


@dataclass
class Sized:
    a: float

    def __len__(self):
        return 0


empty = Sized(1.0)


@program
def truth_by_length(x):
    return x[0] * (2.0 if Sized(x[0]) else 3.0) + x[1] * (2.0 if empty else 3.0)


@dataclass
class Base:
    a: float

    def f(self):
        return self.a * 2

    @classmethod
    def kind(cls):
        return 3.0

    @property
    def twice(self):
        return self.a * 2


@dataclass
class Derived(Base):
    b: float = 3.0

    def f(self):
        return super().f() + self.b + super().kind() + super().twice

    def g(self):
        return super(Derived, self).f() * 2


class Held:
    def __init__(self):
        self.k = 2.0

    def f(self, v):
        return v * self.k


class Holder(Held):
    def __init__(self, more=1.0):
        super().__init__()
        self.more = more

    def f(self, v):
        return super().f(v) + self.more


holder = Holder()


@program
def methods_of_parents(x):
    return Derived(x[0]).f() + Derived(x[1]).g() + holder.f(x[2]) + Holder(x[0]).f(x[1])


@program
def new_before_it_is_changed(x):
    springs = []
    s = Spring(1.0)
    for i in range(len(x)):
        springs.append(s)
        s = Spring(s.k * x[i])
        s.k = s.k * 2
    return springs[1].k * springs[2].k


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_as_python(f):
    value, gradient = value_and_grad(f, mode="python")(X)
    h = 1e-6
    assert np.isclose(value, f(X))
    assert np.allclose(gradient, [(f(X + h * e) - f(X - h * e)) / (2 * h) for e in np.eye(3)], atol=1e-6)


@dataclass
class Looked:
    a: float

    def __getattribute__(self, name):
        return object.__getattribute__(self, name)


@dataclass
class Watched:
    a: float

    def __setattr__(self, name, v):
        object.__setattr__(self, name, v * 3)


@dataclass
class New:
    a: float

    def __new__(cls, *args):
        return object.__new__(cls)


class Scaled:
    k = 2.0

    def __init__(self, v):
        self.v = v

    @staticmethod
    def by(a, b=None):
        return a * 2.0 if b is None else a * b

    @classmethod
    def made(cls, v):
        return cls(v * cls.k)

    def run(self):
        return self.by(self.v) + self.by(self.v, 3.0) + self.made(self.v).v


class Inherits(Scaled):
    k = 3.0


class Overrides(Inherits):
    @staticmethod
    def by(a, b=None):
        return a * 5.0


@program
def inherited_static_and_class_methods(x):
    first, second = Inherits(x[0]), Overrides(x[1])
    return first.run() * second.run() + Inherits.by(x[2]) + Overrides.made(x[0]).v * first.by(x[2])


class Run(NamedTuple):
    a: float

    def __iter__(self):
        return iter([5.0])


@refused
def own_lookup(x):
    return Looked(x[0]).a


@refused
def own_setting(x):
    return Watched(x[0]).a


@refused
def own_making(x):
    return New(x[0]).a


@program
def own_iteration(x):
    (a,) = Run(x[0])
    return a


@refused
def set_of_frozen(x):
    p = Fixed(x[0])
    p.a = x[1]
    return p.a
