"""The digests of generated texts: they are the same whenever the compiler is, and show what differs."""

import copy
import types

import numpy as np

import autodiff

from . import digests
from .digests import differences, found, texts_of
from .fuzz.programs import program
from .programs import PROGRAMS


def twice_over(function, args):
    """The texts of a gradient's pullback, for a copy of a function that nothing knows yet."""
    fresh = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    gradient = autodiff.grad(fresh, mode="python")
    return texts_of(lambda: autodiff.vjp(gradient, *copy.deepcopy(args), mode="python"))


def test_text_does_not_depend_on_where_objects_lie_in_memory():
    one = next(p for p in PROGRAMS if p.name == "gram_schmidt")
    kept, texts = [], set()
    for k in range(8):
        kept.append([bytearray(37 * k + n) for n in range(100 * k)][::2])
        texts.add("\n".join(twice_over(one.function, one.arguments())))
    assert len(texts) == 1 and len(texts.pop()) > 1000


def test_digests_of_all_operators():
    now = found(["kernels"])
    assert now == found(["kernels"]) and len(now["kernels"]) > 20
    assert not any(value.startswith("raised") for value in now["kernels"].values())
    one = program(3)
    names = [name for name, _ in digests.operators(one.module()["f"], one.values, (0,))]
    assert {"primal", "vjp", "jvp", "jacobian"} <= set(names)


def test_differences():
    before = {"programs": {"a | grad": "1", "b | grad": "2"}}
    now = {"programs": {"a | grad": "1", "b | grad": "3", "c | grad": "4"}}
    assert list(differences(before, now)) == ["programs: b | grad: 2 -> 3", "programs: c | grad: new -> 4"]


def test_a_function_asked_for_again_has_its_texts():
    def loss(x):
        return np.sum(x * np.sin(x))

    def texts():
        return dict(digests.operators(loss, lambda: [np.array([0.3, 0.7])], (0,)))
    first, again = texts(), texts()
    assert all(first.values())
    assert again == first
