"""Functions of numbers that a program calls several times are generated once, with their partial derivatives."""

import types

import numpy as np
import pytest

import autodiff as ad

from .fuzz.calls import attempt, calls
from .fuzz.programs import Program
from .support import assert_gradient

RATE = 0.4
TABLE = np.array([0.3, 0.7, 1.1])


def copy_of(function):
    """The same function as an object of its own, which shares no compiled code with it."""
    return types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)


def area(a, b=2.0, *, n=3):
    s = 0.0
    for i in range(n):
        s += a ** i / (b + i) + RATE * TABLE[i]
    t = np.sin(s) * b + s
    if t > 1.0:
        t = np.log(t)
    return t, s * b


def ratio(x, c):
    if x > 50.0:
        raise ValueError(f"too large: {x}")
    y = 0.0
    for i in range(4):
        y = y * x + c * np.cos(i * x)
    return y / (1.0 + y * y)


def program(x, y):
    p, q = area(x, y)
    u, v = area(p * q)
    w, z = area(y + u, x)
    for _ in range(3):
        w += ratio(w, z) * ratio(x, y)
    return w * z + v + ratio(p, 1.5) + area(x, n=2)[1]


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_gradient(mode):
    with calls(True):
        assert_gradient(program, (0.7, 0.4), (0, 1), mode)


def four(x, y):
    return ratio(x, y) * ratio(y, x) + ratio(x * y, y) * ratio(x, 0.5)


def eight(x, y):
    return (ratio(x, y) * ratio(y, x) + ratio(x * y, y) * ratio(x, 0.5)
            + (ratio(x, 0.1) + ratio(y, 0.2)) * (ratio(x, 0.3) + ratio(y, 0.4)))


def test_text():
    """One function, with parameters of the same names, called where the program calls it."""
    with calls(True):
        f = ad.grad(four, wrt=(0, 1), mode="python")
        f(0.7, 0.4)
    assert f.source.count("def ratio_and_partials(x, c):") == 1
    assert f.source.count("= ratio_and_partials(") == 4
    assert f.source.count("def ") == 2
    own = f.source_of(ratio)
    assert own == f.source_of("ratio") and own in f.source and own.startswith("def ratio_and_partials(x, c):")
    for other in four, "rat", twice:
        with pytest.raises(ValueError, match="has no function of its own"):
            f.source_of(other)


def ratio_squared(x, c):
    return ratio(x, c) ** 2 + np.sin(x * c) * np.cos(x + c)


def test_text_of_one_of_two_helpers_whose_names_begin_alike():
    with calls(True):
        f = ad.grad(lambda x: ratio(x, 0.1) + ratio(0.2, x) + ratio_squared(x, 0.3) + ratio_squared(0.4, x), mode="python")
        f(0.7)
    assert "def ratio_squared_and_partials" in f.source
    assert "def ratio_squared" not in f.source_of(ratio) and "def ratio_and" not in f.source_of(ratio_squared)


def test_growth():
    """A call more is a line or two more, not a copy of what is called."""
    lines = []
    for function in (four, eight):
        with calls(True):
            made = ad.grad(function, mode="python")
            made(0.4, 0.7)
        lines.append(made.source.count("\n"))
    assert lines[1] - lines[0] < 25


def twice(x, y):
    return ratio(x * y, x) * ratio(ratio(y, x), y)


def test_derivatives_of_derivatives():
    x = np.array([0.7, 0.4])
    loss = lambda x: twice(x[0], x[1])
    with calls(False):
        expected = ad.hessian(loss, mode="python")(x)
        third = ad.grad(ad.grad(ad.grad(twice, mode="python"), mode="python"), mode="python")(0.7, 0.4)
    with calls(True):
        np.testing.assert_allclose(ad.hessian(loss, mode="python")(x), expected, rtol=1e-10)
        assert ad.grad(ad.grad(ad.grad(twice, mode="python"), mode="python"), mode="python")(0.7, 0.4) == pytest.approx(
            third, rel=1e-9)


def rk4(f, t, y, h):
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(t + h, y + h * k3))


def simulated(k, c, w):
    table = np.array([0.1, 0.2]) * w

    def rate(t, y):
        return -k * y + c * np.sin(t) * y * y + w[1] * w[0]
    g = lambda y: np.exp(-y) * k + table[1]
    y = 1.0
    for i in range(5):
        y = rk4(rate, 0.1 * i, y, 0.1)
        y = rk4(lambda t, u: g(u) + t * c * u, 0.1, y, 0.05)
        k = k * 1.01
    return y + g(y) * g(k)


def test_inner_functions():
    """What they capture are arguments of theirs, as it is at each call."""
    with calls(True):
        assert_gradient(simulated, (0.5, 0.2, np.array([0.3, 0.4])), (0, 1, 2), "python")


def limited(x, most):
    def check(u):
        if u > most:
            raise ValueError(f"{u:.2f} is more than {most:.2f}")
        return np.sqrt(u) * u
    return check(x) * check(0.5 * x) + ratio(60.0 * x, x) * ratio(x, x)


def test_errors_are_those_of_the_function():
    with calls(True):
        f = ad.grad(limited, mode="python")
        with pytest.raises(ValueError, match=r"0.75 is more than 0.50"):
            f(0.75, 0.5)
        with pytest.raises(ValueError, match="too large: 54.0"):
            f(0.9, 1.0)


def test_what_is_read_outside_is_read_anew(monkeypatch):
    with calls(True):
        f = ad.grad(program, mode="python")
        first = f(0.7, 0.4)
        monkeypatch.setitem(globals(), "RATE", 0.9)
        assert_gradient(program, (0.7, 0.4), (0,), "python")
        assert f(0.7, 0.4) != first
        monkeypatch.setitem(globals(), "TABLE", TABLE * 2.0)
        assert f(0.7, 0.4) == ad.grad(program, mode="python")(0.7, 0.4)


def makers(x):
    def pair(u):
        return u * 2.0, lambda v: v * u + x
    a, f = pair(x)
    b, g = pair(a)
    return f(b) * g(a) + f(0.5) * g(1.5)


def test_functions_that_are_returned():
    with calls(True):
        assert_gradient(makers, (0.6,), (0,), "python")


def applied(f, x):
    return f(x) * f(0.5) + np.sin(f(x * x))


def test_functions_at_one_place_of_two_files():
    """Inner functions that stand in the same line and column."""
    text = "def with_lambda(g, x):\n    return g(lambda u: u * {}, x) + g(lambda u: u * u * {}, x)\n"
    squares, cubes = (Program(0, text.format(*k), "").module(f"<place {k}>")["with_lambda"]
                      for k in ((2.0, 3.0), (0.5, -1.0)))
    with calls(True):
        assert_gradient(lambda x: squares(applied, x) * cubes(applied, x), (0.7,), (0,), "python")


def test_a_function_that_changes_its_arguments_is_inlined():
    def push(v, by):
        v[0] += by
        return v[1] * by

    def loss(x):
        v = x * 1.0
        return push(v, x[0]) + push(v, x[1]) + v[0]
    with calls(True):
        assert_gradient(loss, (np.array([0.3, 0.8]),), (0,), "python")


def clipped(x, c):
    y = ad.on_gradient(x * c, lambda g: np.minimum(g, 0.5))
    return np.sin(y) * c + y


def kept(x, c):
    for _ in ad.checkpoint(range(6), 2):
        x = x + np.sin(x) * c
    return x, x * c


def hooks(x, y):
    a, b = kept(x, y)
    c, d = kept(b, a)
    return 3.0 * clipped(x, y) + 2.0 * clipped(y, x) * clipped(a, c) + b * d


def test_hooks_and_checkpoints_stand_where_they_are_called():
    with calls(True):
        found = ad.grad(hooks, wrt=(0, 1), mode="python")(0.4, 0.7)
    np.testing.assert_allclose(found, ad.grad(copy_of(hooks), wrt=(0, 1), mode="python")(0.4, 0.7), rtol=1e-12)


def weighed(w, i):
    return w * TABLE[i] + np.sin(w) * TABLE[-i] + w ** 3


def test_arrays_that_the_program_changes():
    def loss(x):
        w = np.array([x, 2.0 * x])
        read = lambda u: w[0] * u + w[1] * u * u
        a = read(x) + read(0.5)
        w[0] = a
        return a + read(x) * read(a) + weighed(x, 1) + weighed(a, 2)
    with calls(True):
        assert_gradient(loss, (0.6,), (0,), "python")


@pytest.mark.filterwarnings("ignore::autodiff.AutodiffWarning")
@pytest.mark.parametrize("seed", range(3))
def test_random_programs(seed):
    outcome, text = attempt(seed)
    assert outcome.verdict != "failed", f"{outcome}\n{text}"
