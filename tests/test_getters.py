"""Properties, descriptors and `__getattr__` of objects outside are calls of the user's functions, as methods are."""

import functools
import time

import numpy as np
import pytest

from autodiff import AutodiffError, UnsupportedSyntax, differentiable, grad


class Scaled:
    """A descriptor that an attribute of the object hides."""

    def __init__(self, factor):
        self.factor = factor

    def __get__(self, owner, cls=None):
        return owner.scale * self.factor


class Fixed(Scaled):
    """A descriptor that nothing hides."""

    def __set__(self, owner, value):
        raise AttributeError("fixed")


class Base:
    """What a class inherits."""

    @property
    def inherited(self):
        return self.scale + 0.5


class Model(Base):
    """Getters of all kinds."""

    read = 0
    scaled = Scaled(3.0)
    fixed = Fixed(4.0)

    def __init__(self):
        self.scale = 2.0
        self.data = np.arange(6.0)
        self.items = iter([1.0, 2.0, 3.0])
        self.table = {"first": 1.5}
        self.cache = None

    @property
    def counted(self):
        self.read += 1
        return float(self.read)

    @property
    def taken(self):
        return next(self.items)

    @property
    def largest(self):
        return max(self.items)

    @property
    def now(self):
        return time.time()

    @property
    def twice(self):
        return 2.0 * self.scale

    @property
    def nested(self):
        return self.twice * self.twice

    @property
    def every_other(self):
        return self.data[::2]

    @property
    def pair(self):
        return [self.scale, self.twice]

    @property
    def told(self):
        return f"scale {self.scale}"

    @property
    def filled(self):
        if self.cache is None:
            self.cache = self.scale
        return self.cache

    @property
    def wrong(self):
        raise ValueError("no such value")

    @property
    def absent(self):
        raise AttributeError("absent")

    @functools.cached_property
    def kept(self):
        return self.scale + 1.0

    def __getattr__(self, name):
        if name.startswith("_") or name not in self.table:
            raise AttributeError(name)
        return self.table[name]


MODEL = Model()
READ = {
    "property": lambda x: x * MODEL.twice,
    "nested": lambda x: x * MODEL.nested + MODEL.scale,
    "inherited": lambda x: x * MODEL.inherited,
    "array": lambda x: x * MODEL.every_other.sum(),
    "list": lambda x: x * sum(MODEL.pair),
    "text": lambda x: x * len(MODEL.told),
    "descriptor": lambda x: x * MODEL.scaled,
    "fixed descriptor": lambda x: x * MODEL.fixed,
    "__getattr__": lambda x: x * MODEL.first,
    "branch": lambda x: x * MODEL.wrong if x < 0.0 else x * MODEL.twice,
    "hasattr": lambda x: x * (hasattr(MODEL, "twice") + 2 * hasattr(MODEL, "first") + 4 * hasattr(MODEL, "second")),
    "getattr": lambda x: x * getattr(MODEL, "twice", 9.0) + getattr(MODEL, "second", 7.0) + getattr(MODEL, "first", 5.0),
    "condition": lambda x: x * 2.0 if hasattr(MODEL, "second") else x * 3.0,
    "kept": lambda x: x * MODEL.kept,
    "caught": lambda x: caught(x),
}


def caught(x):
    try:
        return x * MODEL.wrong
    except ValueError:
        return x * 5.0


def changes(model):
    """What is written to an object between calls, one after another."""
    yield
    model.scale = 3.0
    yield
    model.table["first"] = 2.5
    model.table["second"] = 4.5
    yield
    model.__dict__["scaled"] = 11.0
    model.__dict__["fixed"] = 12.0
    model.__dict__["first"] = 13.0
    yield
    model.data = np.arange(8.0)
    yield
    del model.__dict__["scaled"]
    yield


@pytest.fixture(autouse=True)
def anew():
    """The object as it is made, for each test."""
    yield
    MODEL.__dict__.clear()
    MODEL.__init__()


@pytest.mark.parametrize("name", sorted(READ))
def test_what_getters_give_now(name):
    f = READ[name]
    ours, slope = differentiable(f, mode="python"), grad(f, mode="python")
    for _ in changes(MODEL):
        assert ours(2.0) == f(2.0)
        np.testing.assert_allclose(slope(2.0), (f(2.25) - f(1.75)) / 0.5)


@pytest.mark.parametrize("f", [
    lambda x: x * MODEL.counted + x * MODEL.counted, lambda x: x * MODEL.counted if x < 0.0 else x,
    lambda x: x * MODEL.taken, lambda x: x * MODEL.largest, lambda x: x * MODEL.now, lambda x: x * MODEL.filled,
    lambda x: x * hasattr(MODEL, "counted"), lambda x: x * getattr(MODEL, "taken", 1.0)], ids=[
    "counted", "counted in a branch", "next", "max", "clock", "filled", "hasattr", "getattr"])
def test_getters_that_change_or_read_more_are_refused(f):
    with pytest.raises(AutodiffError) as raised:
        differentiable(f, mode="python")(2.0)
    assert raised.value.loc.file == __file__ and raised.value.hint
    assert MODEL.read == 0 and MODEL.cache is None and list(MODEL.items) == [1.0, 2.0, 3.0]


def test_what_was_filled_before_is_read():
    assert MODEL.filled == 2.0
    assert differentiable(lambda x: x * MODEL.filled, mode="python")(2.0) == 4.0


@pytest.mark.parametrize("name", ["wrong", "absent", "second"])
def test_what_getters_raise(name):
    def f(x):
        return x * getattr(MODEL, name)
    with pytest.raises((ValueError, AttributeError)) as wanted:
        f(2.0)
    with pytest.raises(wanted.type) as raised:
        differentiable(f, mode="python")(2.0)
    assert str(raised.value) == str(wanted.value)


def test_a_property_that_a_class_gets_another_of():
    class Changing:
        """A class that is written to."""

        @property
        def value(self):
            return 2.0

    one = Changing()
    f = differentiable(lambda x: x * one.value, mode="python")
    assert f(3.0) == 6.0
    Changing.value = property(lambda self: 5.0)
    assert f(3.0) == 15.0
    Changing.value = 7.0
    assert f(3.0) == 21.0


def test_a_class_that_looks_up_itself():
    class Proxy:
        """All attributes are one."""

        def __getattribute__(self, name):
            return 3.0

    one = Proxy()
    for f in (lambda x: x * one.anything, lambda x: x * hasattr(one, "anything")):
        with pytest.raises(UnsupportedSyntax, match="__getattribute__"):
            differentiable(f, mode="python")(2.0)
