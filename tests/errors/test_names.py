"""No message shows a name of the compiler's own."""

import re

import numpy as np
import pytest

from autodiff import AutodiffError, grad
from autodiff.transforms.language.core import Arr, Const
from autodiff.transforms.lower import values
from autodiff.transforms.lower.structures import describe
from autodiff.transforms.lower.syntax.texts import Text, name_of
from autodiff.transforms.lower.values import Slice

from .test_errors import GOLDEN

X = np.linspace(0.1, 1.0, 5)
OURS = re.compile(r"%\w|\x01|\b(Static|Scalar|Buffer|Leaf|Closure|Mangled|Delayed|GrowList|Sequence|Undefined|Const|probe)\b"
                  r"|\b(bound|applied|vectorized|iterable|closure|delayed|undefined)\b(?! )|\w_bar\b|\{\}")


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.txt")), ids=lambda f: f.stem)
def test_golden_messages(file):
    told = [line for line in file.read_text().split("\n") if not line.startswith("    ")]     # but the user's lines
    assert not OURS.search("\n".join(told)), told


ONE = Const(1, "int64")
EVERY = [
    values.Static(3), values.Static("a"), values.Static(None), values.Static(np.sin), values.Scalar(ONE),
    values.Buffer(Arr("x", "float64", (ONE,))), values.Sequence(()), values.Sequence((), list), values.Mapping({}),
    values.Closure(None, None), values.Bound(values.Static(3), "real"), values.Range(*3 * (values.Static(1),)),
    values.Vectorized(values.Static(np.sin)), values.Applied(values.Static(np.sin), (), {}), values.Iterable(ONE, None),
    values.Generator(Arr("rng", "float64", ())), values.GrowList(Arr("l", "float64", (ONE,)), ONE), values.Undefined(),
    Slice(None, None, None), Text(("a",))]


@pytest.mark.parametrize("value", EVERY, ids=lambda v: type(v).__name__)
def test_descriptions(value):
    told = describe(value)
    assert not re.search(r"\b(static|scalar|closure|bound|iterable|growlist|applied|vectorized|undefined)$", told.lower())
    assert re.match(r"(an? |the |None|sin)", told)


def method(x):
    return x.mean * 2.0


def loop_over_method(x):
    total = 0.0
    for v in x.copy:
        total += v
    return total


def lost(x):
    if x[0] > 0.0:
        chosen = x
    else:
        chosen = [x]
    return np.sum(chosen)


def returned_on_some_paths(x):
    if x[0] > 0.0:
        return x
    return [x[0], "a"]


def function_as_number(x):
    return x[0] + (lambda v: v)


def generator(x):
    return np.sum(v for v in range(3)) + (v for v in x)


def range_as_number(x):
    return x[0] * range(3)


def subscript_by_text(x):
    return x["a"]


def slice_as_number(x):
    return x[0] * slice(1, 2)


def two_kinds(x):
    item = None
    for k in range(len(x)):
        item = x if k == 2 else {"a": x[0]}
    return item


REFUSED = [method, loop_over_method, lost, returned_on_some_paths, function_as_number, generator,
           range_as_number, subscript_by_text, slice_as_number, two_kinds]


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_refusals(function):
    with pytest.raises(AutodiffError) as raised:
        grad(function, mode="python")(X)
    error = raised.value
    assert error.loc is not None
    assert not OURS.search(f"{error.problem} {error.hint}"), error.problem


@pytest.mark.parametrize("target, name", [
    (np.poly, "np.poly"), (np.linalg.norm, "np.linalg.norm"), (np.random.normal, "np.random.normal"), (np.sin, "np.sin"),
    (np.polynomial.polynomial.polyder, "np.polynomial.polynomial.polyder"), (np.fft.fft, "np.fft.fft")])
def test_a_function_is_named_as_users_find_it(target, name):
    assert name_of(target) == name
