"""Options: every operator hands on each that it takes, and they are checked in one place."""

import copy
import inspect
import pickle
from dataclasses import fields, replace

import pytest

import autodiff
from autodiff.operators import pushforwards, splits
from autodiff.options import DEFAULT, Options

CHANGED = {"mode": "python", "boundscheck": False, "fastmath": True, "precise": True, "parallel": True, "target": "auto",
           "deterministic": True, "outputs": "y", "debug": True}
OPERATORS = ("grad", "value_and_grad", "differentiable", "jacobian", "hessian", "hvp")


class Made(Exception):
    pass


def square(x):
    return x * x


def options_of(name: str, **given) -> Options:
    """The options that a call of an operator makes its program with."""
    operator = getattr(autodiff, name)
    if name in OPERATORS:
        return operator(square, **given).options
    with pytest.raises(Made) as e:
        operator(square, (1.0,), (1.0,), **given) if name == "jvp" else operator(square, 1.0, **given)
    return e.value.args[0]


@pytest.mark.parametrize("name", [*OPERATORS, "vjp", "linearize", "jvp"])
def test_operators_hand_on_their_options(name, monkeypatch):
    def made_for(cls, function, options, **parameters):
        raise Made(options)
    for module in (splits, pushforwards):
        monkeypatch.setattr(module, "made_for", made_for)
    assert options_of(name) == DEFAULT
    assert {*CHANGED, "segments"} == {f.name for f in fields(Options)}      # which is internal
    taken = set(CHANGED).intersection(inspect.signature(getattr(autodiff, name)).parameters) - {"target"}
    for option in taken:
        assert options_of(name, **{option: CHANGED[option]}) == replace(DEFAULT, **{option: CHANGED[option]}), option


def test_what_there_is_not():
    for operator in (autodiff.grad, autodiff.hvp, autodiff.differentiable):
        with pytest.raises(ValueError, match="mode must be 'numba' or 'python', not 'fast'"):
            operator(square, mode="fast")
    with pytest.raises(ValueError, match="target must be 'cpu', 'cuda' or 'auto', not 'gpu'"):
        autodiff.vjp(square, 1.0, target="gpu")


def test_equal_objects_have_the_same_options():
    made = autodiff.value_and_grad(square, mode="python", precise=True, debug=True)
    for other in (copy.copy(made), pickle.loads(pickle.dumps(made)), made._like(), made.primal):
        assert other.options == made.options and other(3.0) in ((9.0, 6.0), 9.0)
    assert autodiff.grad(square, target="cuda").options.target == "cuda"
