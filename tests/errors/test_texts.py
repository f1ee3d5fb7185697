"""Texts with numbers of the run: what Python writes, in the messages of errors and assertions."""

from collections import namedtuple
from dataclasses import dataclass

import numpy as np
import pytest

from autodiff import AutodiffError, differentiable, grad, vjp

X = np.array([1.25, -2.5, 1000.0 / 3.0])
Pair = namedtuple("Pair", "left right")
WIDTH = 12


@dataclass
class Point:
    x: float
    y: float


class Told:
    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return f"Told({self.value})"


TOLD = Told(3)
TEXTS = [
    lambda x, n, t: f"bad {x[0]:.3f}",
    lambda x, n, t: f"{x[2]} {x[2]!s} {x[2]!r} {t} {t!r} {n} {n!r} {n:05d} {x[0] > 1} {t > 0.0!r}",
    lambda x, n, t: f"{x[0]=} {n=:>4} {t=!s}",
    lambda x, n, t: f"{x[1]:>{WIDTH}.{2}f}|{{}}|{x[0]:+e}",
    lambda x, n, t: "%.3f of %d, %5s %r %% %s" % (x[0], n, "ab", t, x.shape),
    lambda x, n, t: "%(a)g and %(b)s" % {"a": x[2], "b": "text"},
    lambda x, n, t: "only %s" % x[0],
    lambda x, n, t: "{} {:.2f} {{}} {k!r:>6}".format(n, x[2], k="a"),
    lambda x, n, t: "{1} {0:g} {name}".format(x[0], n, name=t),
    lambda x, n, t: "value " + str(x[0]) + ", " + repr(t) + format(x[2], ".1f"),
    lambda x, n, t: f"{x.shape} {(t, n)} {[n, t]} {({'a': t})} {(x[0],)}",
    lambda x, n, t: f"{Point(t, 2.0)} {Pair(n, 'a')} {TOLD} {TOLD!r:>10} {None} {'a'!r}",
    lambda x, n, t: ", ".join([str(v) for v in (t, n)]),
    lambda x, n, t: t,
    lambda x, n, t: "plain {} text",
    lambda x, n, t: f"{np.float32(x[2])} {np.float32(t)!r}",
    lambda x, n, t: f"{x[0]:.1f} %s of %5.1f" % (n, t),
    lambda x, n, t: "%-8s|%8s|%.4r" % (t, f"{x[0]}", x[2]),
    lambda x, n, t: f"a{{}}{x[0]:.1f}".upper().center(20, "*") + f"{t}".replace(".", ",").zfill(7) + f" {n} " * 3,
    lambda x, n, t: f"{f'{x[0]:.2f} {t}'.strip():>20}|{str(n) + '{'!s:<6}|" + 2 * f"{x[1]}".rjust(6),
    lambda x, n, t: f"{'many' if n > 3 else 'few'} {x[0]}".title(),
]


@pytest.mark.parametrize("number", range(len(TEXTS)))
def test_messages_are_pythons(number):
    text = TEXTS[number]

    def failing(x, n, t):
        if x[0] > 0.0:
            raise ValueError(text(x, n, t))
        return x[0]

    def asserted(x, n, t):
        assert x[0] < 0.0, text(x, n, t)
        return x[0]
    for function, kind in ((failing, ValueError), (asserted, AssertionError)):
        for call in (function, grad(function, mode="python"), lambda *a, f=function: vjp(f, *a, mode="python")):
            with pytest.raises(kind) as found:
                call(X, 7, 0.1)
            if call is function:
                wanted = found.value
            else:
                assert type(found.value) is type(wanted)
                assert str(found.value) == str(wanted).split("\nassert ")[0]       # which pytest adds


def test_compiled_messages_are_pythons():
    def failing(x, n, t):
        if x[0] > 0.0:
            raise ValueError(f"{x[2]} {x[2]!r} {t!r} {n:05d} {x[0] > 1!r} {np.float32(x[2])}" + "%6.2f" % x[1])
        return x[0]
    with pytest.raises(ValueError, match="333") as wanted:
        failing(X, 7, 0.1)
    with pytest.raises(ValueError, match="333") as found:
        grad(failing)(X, 7, 0.1)
    assert str(found.value) == str(wanted.value)


def test_several_arguments():
    def failing(x):
        if x[0] > 0.0:
            raise ValueError("bad", x[0], 3)
        return x[0]
    with pytest.raises(ValueError, match="bad") as wanted:
        failing(X)
    with pytest.raises(ValueError, match="bad") as found:
        grad(failing, mode="python")(X)
    assert str(found.value) == str(wanted.value)


def test_texts_of_numbers_are_not_compared_or_returned():
    for function in (lambda x: x[0] * (str(x[0]) == "1.25"), lambda x: x[0] * len(str(x[0])), lambda x: (x[0], str(x[0])),
                     lambda x: x[0] * float(str(x[0])), lambda x: x[0] * ("5" in str(x[0])),
                     lambda x: x[0] * {str(x[0]): 1.0}["1.25"]):
        with pytest.raises(AutodiffError) as found:
            vjp(function, X, mode="python")
        assert "\x01" not in str(found.value)
        assert "text" in str(found.value) or "dict keys" in str(found.value)


def by_path(x):
    """A text, a number and None by the way the program goes."""
    kind = "a{}" if x[0] > 5.0 else "b{0}" if x[0] > 1.0 else "c"
    number = None if x[1] > 0.0 else 2.5
    return kind, number


PRINTED = [
    lambda x: print(by_path(x)[0]),
    lambda x: print("kind", by_path(x)[0], "of", x[0]),
    lambda x: print(f"{by_path(x)[0]:>8}|{by_path(x)[1]}|{x[0]:.2f}|{by_path(x)[0]!r}"),
    lambda x: print("%6s and %r" % by_path(x), "{} {}".format(*by_path(x)), "-".join(["k", by_path(x)[0]])),
    lambda x: print([x[0], by_path(x)], {"k": by_path(x)[1]}, x.shape),
    lambda x: print((x[0], 1) if x[0] > 1.0 else (x[1], 2)),
]


@pytest.mark.parametrize("k", range(len(PRINTED)))
def test_printed_values_that_differ_by_path(k, capsys):
    def f(x):
        PRINTED[k](x)
        return x[0]
    compiled = differentiable(f, mode="python")
    for x in (X, X + 9.0, -X):
        f(x)
        wanted = capsys.readouterr().out
        compiled(x)
        assert capsys.readouterr().out == wanted


def parts(x):
    raise ValueError("bad shape", x.shape, [x[0], 1], (x[1], "a", [2.5]), {"k": x[0]}, ())


def unpacked(x):
    kind, number = by_path(x)
    raise KeyError("of", kind, number, [kind])


def one_text(x):
    raise ValueError(by_path(x)[0])


def text_of_two(x):
    raise ValueError(f"{by_path(x)[0]} {x[0]:.3f} {by_path(x)[1]}")


@pytest.mark.parametrize("function", [parts, one_text, text_of_two])
def test_arguments_of_exceptions_are_those_of_python(function):
    compiled = differentiable(lambda x: x[0] if x[2] < 0.0 else function(x), mode="python")
    assert compiled(-X) == -1.25
    for x in (X, X + 9.0):
        with pytest.raises(ValueError, match=".") as wanted:
            function(x)
        with pytest.raises(ValueError, match=".") as found:
            compiled(x)
        assert repr(found.value.args) == repr(wanted.value.args)


def test_arguments_of_exceptions_that_differ_by_path():
    compiled = differentiable(unpacked, mode="python")
    for x in (X, X + 9.0):
        with pytest.raises(KeyError) as wanted:
            unpacked(x)
        with pytest.raises(KeyError) as found:
            compiled(x)
        assert repr(found.value.args) == repr(wanted.value.args)
