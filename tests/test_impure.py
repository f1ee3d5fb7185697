"""What would be frozen at compile time is refused; warnings and records of logs do not happen while compiling."""

import datetime
import logging
import math
import operator
import os
import random
import time
import uuid
import warnings

import numpy as np
import pytest

from autodiff import AutodiffError, UnsupportedSyntax, differentiable, grad

X = np.array([0.5, 1.5, -2.0])
COUNTER = iter(range(100))
LOG = logging.getLogger(__name__)


class Sensor:
    """Objects whose special methods read what is not among the arguments."""

    def __init__(self):
        self.readings = 0

    def __len__(self):
        return os.getpid() % 7

    def __bool__(self):
        return time.time() > 0

    def __float__(self):
        return time.time()

    def __eq__(self, other):
        return random.random() < 0.5

    def __add__(self, other):
        return time.time() + other

    def __contains__(self, key):
        return os.path.exists(key)

    def __getitem__(self, key):
        return os.environ[key]

    def __format__(self, spec):
        return str(datetime.datetime.now())

    @property
    def now(self):
        return len(os.environ["SENSOR"])

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return os.environ[name]

    __hash__ = object.__hash__


SENSOR = Sensor()
IMPURE = {
    "datetime.now": lambda x: x[0] * datetime.datetime.now().year,
    "date.today": lambda x: x[0] * datetime.date.today().day,
    "os.listdir": lambda x: x[0] * len(os.listdir(".")),
    "os.getcwd": lambda x: x[0] * len(os.getcwd()),
    "os.path.exists": lambda x: x[0] * os.path.exists("/tmp"),
    "time.time": lambda x: x[0] * time.time(),
    "perf_counter": lambda x: x[0] * time.perf_counter(),
    "random": lambda x: x[0] * random.random(),
    "randint": lambda x: x[0] * random.randint(1, 6),
    "np.random": lambda x: x[0] * np.random.rand(),
    "uuid": lambda x: x[0] * (uuid.uuid4().int % 7),
    "next": lambda x: x[0] * next(COUNTER),
    "iter": lambda x: x[0] * sum(iter(COUNTER)),
    "sum of an iterator": lambda x: x[0] * sum(COUNTER),
    "open": lambda x: x[0] * len(open(__file__).read()),
    "input": lambda x: x[0] * float(input()),
    "id": lambda x: x[0] * id(LOG),
    "hash": lambda x: x[0] * hash("text"),
    "breakpoint": lambda x: (breakpoint(), x[0])[1],
    "exec": lambda x: (exec("SENSOR.readings = 1"), x[0])[1],
    "eval": lambda x: x[0] * eval("time.time()"),
    "setattr": lambda x: (setattr(SENSOR, "readings", 1), x[0])[1],
    "globals": lambda x: x[0] * len(globals()),
    "write": lambda x: (os.write(1, b"written"), x[0])[1],
    "fromfile": lambda x: x[0] * np.fromfile(__file__, np.uint8).size,
    "load": lambda x: x[0] * np.load("none.npy").size,
    "len of an object": lambda x: x[0] * len(SENSOR),
    "float of an object": lambda x: x[0] * float(SENSOR),
    "truth of an object": lambda x: x[0] if SENSOR else x[1],
    "not an object": lambda x: x[0] * (not SENSOR),
    "comparison of an object": lambda x: x[0] * (SENSOR == 3),
    "difference of an object": lambda x: x[0] * (SENSOR != 3),
    "sum with an object": lambda x: x[0] * (SENSOR + 3),
    "in an object": lambda x: x[0] * ("/tmp" in SENSOR),
}
READ_AT_EVERY_CALL = {
    "os.environ": lambda x: x[0] * len(os.environ["SENSOR"]),
    "item of an object": lambda x: x[0] * len(SENSOR["SENSOR"]),
    "property": lambda x: x[0] * SENSOR.now,
    "__getattr__": lambda x: x[0] * len(SENSOR.SENSOR),
}


@pytest.mark.parametrize("name", sorted(IMPURE))
def test_refused_with_the_users_line(name, capsys):
    with pytest.raises(AutodiffError) as raised:
        grad(IMPURE[name], mode="python")(X)
    assert raised.value.loc is not None and raised.value.loc.file == __file__, raised.value
    assert SENSOR.readings == 0
    assert "\x01" not in str(raised.value)


@pytest.mark.parametrize("name", sorted(READ_AT_EVERY_CALL))
def test_read_at_every_call(name, monkeypatch):
    gradient = grad(READ_AT_EVERY_CALL[name], mode="python")
    for text in ("a", "bcd", "ef"):
        monkeypatch.setenv("SENSOR", text)
        assert gradient(X)[0] == len(text)


def test_the_way_out_is_told():
    with pytest.raises(UnsupportedSyntax, match="call it outside and pass the result as an argument"):
        grad(IMPURE["datetime.now"], mode="python")(X)
    with pytest.raises(UnsupportedSyntax, match="mode='python'"):
        grad(IMPURE["breakpoint"], mode="python")(X)


ALLOWED = frozenset({"a", "b"})
PICK = operator.itemgetter(1)


class Weights:
    """Special methods that depend on the object alone are the user's code."""

    def __init__(self, values):
        self.values = values

    def __len__(self):
        return len(self.values)

    def __getitem__(self, k):
        return self.values[k]

    @property
    def first(self):
        return self.values[0]

    def __repr__(self):
        return f"Weights of {self.values[0]}"

    def __eq__(self, other):
        return self.values[0] == other

    def __lt__(self, other):
        return self.values[0] < other

    def __radd__(self, other):
        return other + self.values[0]

    def __contains__(self, value):
        return value == self.values[1]

    __hash__ = object.__hash__


WEIGHTS = Weights([2.0, 3.0])
TOKEN = object()


def pure(x):
    scale = math.sqrt(float("4.0")) + abs(-1) + len("abc") + int("2") + round(2.6) + max(1, 2)
    scale += np.finfo(np.float64).bits + np.dtype("float64").itemsize + PICK((1.0, 2.0)) + ("a" in ALLOWED)
    scale += datetime.timedelta(seconds=3).total_seconds() + "a,b".count(",") + len("a,b".split(",")) + ord("a")
    scale += len(ALLOWED.union(("c",))) + math.pi + operator.add(1, 2) + math.factorial(3) + (7).bit_length()
    return scale * x[0] + len(WEIGHTS) * x[1] + WEIGHTS[1] * x[2] + WEIGHTS.first * x[2] * isinstance(WEIGHTS, Weights)


def compared(x):
    score = (WEIGHTS == 2.0) + 10 * (WEIGHTS != 3.0) + 100 * (WEIGHTS < 2.5) + 1000 * (3.0 in WEIGHTS) + (1 + WEIGHTS)
    return x[0] * (score + 1e4 * (7.0 > WEIGHTS) + (1e5 if WEIGHTS else 0.0) + (TOKEN == TOKEN) + (TOKEN != WEIGHTS))


def test_special_methods_are_the_users_code():
    gradient = grad(compared, mode="python")
    assert gradient(X)[0] == compared(np.array([1.0]))
    WEIGHTS.values[0] = 2.2
    try:
        assert gradient(X)[0] == compared(np.array([1.0]))
    finally:
        WEIGHTS.values[0] = 2.0


def test_pure_calls_run():
    found = grad(pure, mode="python")(X)
    assert found[0] == pure(np.array([1.0, 0.0, 0.0]))
    np.testing.assert_array_equal(found[1:], [2.0, 5.0])


def warned(x):
    if x[0] < 0.0:
        warnings.warn(f"negative {x[0]}", stacklevel=2)
        LOG.warning("negative %s", x[0])
        logging.info("negative %s" % x[0])
    logging.getLogger(__name__).debug("%d numbers", len(x))
    return np.sum(x * x)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_warnings_are_left_out(sign, caplog):
    with warnings.catch_warnings(), caplog.at_level(logging.DEBUG):
        warnings.simplefilter("error")
        np.testing.assert_array_equal(grad(warned, mode="python")(sign * X), 2 * sign * X)
    assert not caplog.records


class Opaque:
    """An object that says nothing of itself in Python."""


OPAQUE = Opaque()
MISSING = logging.getLogger("missing")


def formatted(x):
    if x < 0.0:
        warnings.warn("negative {}".format(OPAQUE), stacklevel=2)
        warnings.warn(stacklevel=2, message="negative {0.__class__} {1!r:>9}".format(OPAQUE, x), category=RuntimeWarning)
        warnings.warn("of " + "{}".format(OPAQUE) + str(OPAQUE) + "%s %s" % (OPAQUE, "{0[0]}".format([x])), stacklevel=2)
        MISSING.warning("negative {}".format(OPAQUE), exc_info=bool(OPAQUE))
        logging.info(f"negative {'{0.readings}'.format(SENSOR)} {SENSOR!r}", extra={"of": repr(OPAQUE)})
        MISSING.log(logging.INFO, "{} {x}".format(*[OPAQUE], x=x))
    return x * x


def acted(x):
    seen = [x]
    warnings.warn("{0.__class__} {1}".format(OPAQUE, seen.append(2.0 * x)), stacklevel=2)
    MISSING.info("%s", (y := seen.pop() + x))
    warnings.warn(f"{'{0.__class__} {1}'.format(OPAQUE, (z := y * x))}", stacklevel=2)
    return len(seen) * y + z


@pytest.mark.parametrize("f", [formatted, acted])
@pytest.mark.parametrize("x", [1.5, -2.0])
def test_texts_of_warnings_are_not_made(f, x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted, slope = f(x), (f(x + 1e-6) - f(x - 1e-6)) / 2e-6
    assert differentiable(f, mode="python")(x) == wanted
    np.testing.assert_allclose(grad(f, mode="python")(x), slope, rtol=1e-6)


CHANGED = {
    "joined": lambda x: (warnings.warn(", ".join(COUNTER), stacklevel=2), x)[1],
    "sum": lambda x: (MISSING.info("%s", "{}".format(sum(COUNTER))), x)[1],
    "next": lambda x: (MISSING.info(f"{next(COUNTER)}"), x)[1],
    "method": lambda x: (warnings.warn("{}".format(SENSOR), stacklevel=2), x)[1],
}


@pytest.mark.parametrize("name", sorted(CHANGED))
def test_what_a_warning_would_change_is_refused(name):
    left = operator.length_hint(COUNTER)
    with pytest.raises(AutodiffError):
        differentiable(CHANGED[name], mode="python")(2.0)
    assert operator.length_hint(COUNTER) == left


def by_filter(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            warnings.warn("a", stacklevel=2)
        except UserWarning:
            return x * 3.0
    return x * 2.0


def of_one_class(x):
    with warnings.catch_warnings():
        warnings.filterwarnings(action="error", category=RuntimeWarning)
        return x * 2.0


def by_context(x):
    with warnings.catch_warnings(action="error"):
        return x * 2.0


def by_condition(x):
    warnings.simplefilter("error" if x > 0.0 else "ignore")
    return x * 2.0


@pytest.mark.parametrize("f", [by_filter, of_one_class, by_context, by_condition])
def test_filters_that_make_errors(f):
    with pytest.raises(UnsupportedSyntax, match="errors of warnings") as raised:
        differentiable(f, mode="python")(2.0)
    assert raised.value.loc.file == __file__ and "raise UserWarning" in raised.value.hint


@pytest.mark.parametrize("action", ["ignore", "always", "once", "default", "module"])
def test_other_filters(action):
    def f(x):
        with warnings.catch_warnings():
            warnings.simplefilter(action, category=RuntimeWarning)
            warnings.filterwarnings(action, "a", UserWarning)
            return x * 2.0
    assert differentiable(f, mode="python")(2.0) == 4.0
