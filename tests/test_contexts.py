"""Contexts of a user's own, globals that a program writes and restores, functions that look at functions."""

import bisect
import contextlib
import functools
import inspect
import math

import numpy as np
import pytest

from autodiff import UnsupportedSyntax, differentiable, grad
from tests.support import assert_gradient

X = np.array([0.7, 1.4, 0.3, 0.9])
MODE, LEVEL, CALLS, UNIT = "linear", 2.0, 0, [1.0]


def scale(v):
    return v * 2.0 if MODE == "linear" else v * v * LEVEL


def set_mode(mode):
    global MODE
    MODE = mode


class mode:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        self.before = MODE
        set_mode(self.name)
        return self

    def __exit__(self, *args):
        set_mode(self.before)


@contextlib.contextmanager
def level(value):
    global LEVEL
    before = LEVEL
    LEVEL = value
    try:
        yield value * 0.5
    finally:
        LEVEL = before


@contextlib.contextmanager
def halves(v):
    yield v * 0.5, v * 0.25


class Guard:
    def __enter__(self):
        return 2.0

    def __exit__(self, kind, value, traceback):
        return kind is ValueError


class Counter:
    def __init__(self):
        self.entered, self.left = 0, 0

    def __enter__(self):
        self.entered += 1
        return self

    def __exit__(self, *args):
        self.left += 1
        return False


@np.errstate(invalid="ignore")
def quiet_root(v):
    return np.sqrt(v)


def restores(x):
    global MODE
    before, MODE = MODE, "square"
    r = scale(x[0])
    MODE = before
    return r * scale(x[1])


def in_a_loop(x):
    global LEVEL, MODE
    before = LEVEL, MODE
    MODE, s = "square", 0.0
    for v in x:
        LEVEL = v * 1.5
        s += scale(v) * LEVEL
    LEVEL, MODE = before
    return s * LEVEL


def by_path(x):
    global LEVEL
    before = LEVEL
    try:
        if x[0] > 0.5:
            LEVEL = x[1]
        r = LEVEL * x[0]
    finally:
        LEVEL = before
    return r * LEVEL


def of_a_class(x):
    with mode("square"):
        r = scale(x[0])
    with mode("square") as m, np.errstate(all="ignore"):
        r += scale(x[1]) * (m.name == MODE)
    return r + scale(x[2])


def nested(x):
    with mode("square"), level(x[3]) as half:
        r = scale(x[0]) * half
        with mode("linear"):
            r += scale(x[1])
    return r * scale(x[2]) * LEVEL


def of_a_generator(x):
    with halves(x[0]) as (a, b):
        s = a * b
        for v in x:
            s += v * a
    return s


@contextlib.contextmanager
def forgiving(v):
    try:
        yield v * 2.0
    except ValueError:
        pass


def stopped_by_an_error(x):
    s = x[1]
    with forgiving(x[0]) as twice:
        s = s * twice
        for v in x:
            if v < 0.5:
                raise ValueError("low")
            s += v
        s = s * 3.0
    for v in x:
        with forgiving(v) as twice:
            if v > 1.0:
                raise ValueError("high")
            s += twice
    return s


def not_stopped(x):
    s = x[1]
    try:
        with forgiving(x[0]) as twice:
            s = s * twice
            if x[2] < 0.5:
                raise LookupError("none")
            s += 1.0
    except LookupError:
        s += x[3]
    return s


def counted(x):
    c, s = Counter(), 0.0
    for v in x:
        with c:
            if v < 0.5:
                continue
            s += v * c.entered
    return s * c.left


def in_an_error(x):
    c = Counter()
    try:
        with c:
            r = np.sqrt(x[0])
            if x[1] > 1.0:
                raise ValueError("high")
    except ValueError:
        r = x[1] * c.left
    return r


def decorated(x):
    return np.sum(quiet_root(x) * x)


def sets(x):
    names = {len(s) for s in ("a", "bb", "cc")}
    return x[0] * len(names) + x[1] * (2 in set(range(3))) + np.sum(x[np.isin(np.arange(4), [1, 3])] ** 2)


GOOD = [restores, in_a_loop, by_path, of_a_class, nested, of_a_generator, stopped_by_an_error, not_stopped,
        counted, in_an_error, decorated, sets]


@pytest.mark.parametrize("f", GOOD)
def test_value_and_gradient(f):
    assert_gradient(f, (X,), (0,), "python")
    assert (MODE, LEVEL) == ("linear", 2.0)


def test_globals_are_read_at_every_call():
    global LEVEL
    g = differentiable(by_path, mode="python")
    assert g(X) == pytest.approx(by_path(X))
    LEVEL = 3.0
    try:
        assert g(X) == pytest.approx(by_path(X))
        assert g(X * 0.1) == pytest.approx(by_path(X * 0.1))
    finally:
        LEVEL = 2.0


def counts_calls(x):
    global CALLS
    CALLS += 1
    return x[0] * CALLS


def changes_by_path(x):
    global LEVEL
    if x[0] > 0.0:
        LEVEL = 2.5
    return x[0] * LEVEL


def guarded(x):
    with Guard() as v:
        if x[0] < 0.0:
            raise ValueError("low")
        return x[0] * v
    return 0.0


def leaves_a_generator(x):
    with halves(x[0]) as (a, b):
        return a * b


def opens_a_file(x):
    with open("nothing") as file:
        return x[0] * len(file.read())


@pytest.mark.parametrize("f, text", [(counts_calls, "`CALLS`"), (changes_by_path, "`LEVEL`"), (guarded, "stops them"),
                                     (leaves_a_generator, "a generator manages"), (opens_a_file, "open|context")])
def test_refused(f, text):
    with pytest.raises(UnsupportedSyntax, match=text) as raised:
        grad(f, mode="python")(X)
    assert "test_contexts.py" in str(raised.value)


# -- what functions are --------------------------------------------------------------------------------------
def helper(a, b=2.0, *, c=1.0):
    return a * b * c


def checked(f):
    @functools.wraps(f)
    def run(*args, **kwargs):
        names = inspect.getfullargspec(f).args
        if "rate" in names and args[names.index("rate")] < 0.0:
            raise ValueError("negative rate")
        return f(*args, **kwargs)
    return run


@checked
def growth(amount, rate):
    return amount * (1.0 + rate) ** 3


def by_signature(x):
    parameters = inspect.signature(helper).parameters
    return x[0] * len(parameters) * parameters["b"].default * ("c" in parameters) + inspect.isfunction(helper) * x[1]


def validated(x):
    return growth(x[0], x[1])


def searched(x):
    k, j = bisect.bisect_left([0.5, 1.5, 2.5], x[1]), bisect.bisect([0.1, 0.7, 2.0], x[3])
    return x[k] * x[j] * k


def windows(x):
    return np.sum(np.hanning(5) * x[0]) + np.sum(np.blackman(4) * x[1]) + np.sum(np.bartlett(3) * x[2]) + np.sum(
        np.hamming(1) * x[3]) + np.sum(np.hanning(len(x)) * x) + np.sum(np.bartlett(0))


def choices(x):
    return sum([math.comb(4, k) * x[0] ** k for k in range(5)]) + math.comb(len(x), 2) * math.perm(4, 2) * x[1]


@pytest.mark.parametrize("f", [by_signature, validated, searched, windows, choices])
def test_functions_that_look_at_objects(f):
    assert_gradient(f, (X,), (0,), "python")


def test_changed_defaults_are_noticed(monkeypatch):
    g = differentiable(by_signature, mode="python")
    assert g(X) == pytest.approx(by_signature(X))
    monkeypatch.setattr(helper, "__defaults__", (3.0,))
    assert g(X) == pytest.approx(by_signature(X))
    with pytest.raises(ValueError, match="negative rate"):
        grad(validated, mode="python")(np.array([1.0, -0.5]))
