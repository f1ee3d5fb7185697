"""Names of comprehensions in functions made there, attributes that are not there, objects that cannot be hashed."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from autodiff import AutodiffError, UnsupportedSyntax, grad, value_and_grad, vjp


def late(x):
    return [lambda v: v * i for i in range(3)][1](x)


def beside_an_outer_name(x):
    i = 10.0
    made = [lambda v: v * i for i in range(3)]
    return made[0](x) * i


def in_a_dict(x):
    made = {name: (lambda v: v * k * x) for name, k in (("a", 1.0), ("b", 2.0))}
    return made["a"](x)


def by_default(x):
    return sum([f(x) for f in [lambda v, i=i: v * i for i in range(3)]])


def data(x):
    return [lambda v: v * a for a in (x, 2.0 * x)][0](x)


@pytest.mark.parametrize("program", [late, beside_an_outer_name, in_a_dict, by_default, data])
def test_functions_made_in_comprehensions(program):
    value, slope = value_and_grad(program, mode="python")(3.0)
    assert value == program(3.0)
    assert slope == pytest.approx((program(3.0 + 1e-6) - program(3.0 - 1e-6)) / 2e-6, rel=1e-8)


def test_functions_made_in_generator_expressions():
    with pytest.raises(UnsupportedSyntax, match="generator expression"):
        grad(lambda x: sum(f(x) for f in (lambda v: v * j for j in range(3))), mode="python")(2.0)


@pytest.mark.parametrize(("program", "told"), [
    (lambda x: x.foo * 2.0, "'float' object has no attribute 'foo'"),
    (lambda x: x.foo(), "'float' object has no attribute 'foo'"),
    (lambda x: (np.ones(2) * x).foo, "'numpy.ndarray' object has no attribute 'foo'"),
])
def test_no_such_attribute(program, told):
    with pytest.raises(AttributeError, match=told) as raised:
        grad(program, mode="python")(2.0)
    assert isinstance(raised.value, AutodiffError)


def test_unsupported_attribute():
    with pytest.raises(AutodiffError, match="the attribute `strides`"):
        grad(lambda x: np.sum(x) * x.strides[0], mode="python")(np.ones(2))


class Square:
    def __init__(self, factor):
        self.factor = factor

    def __eq__(self, other):
        return isinstance(other, Square) and self.factor == other.factor

    def __call__(self, x):
        return self.factor * x * x


THREE = Square(3.0)


def test_callable_objects_without_hash():
    assert grad(lambda x: THREE(x), mode="python")(2.0) == 12.0
    assert grad(THREE, mode="python")(2.0) == 12.0
    applied = grad(lambda f, x: f(x), wrt="x", mode="python")
    assert [applied(f, 2.0) for f in (THREE, Square(4.0), THREE)] == [12.0, 16.0, 12.0]
    THREE.factor = 5.0
    try:
        assert applied(THREE, 2.0) == grad(THREE, mode="python")(2.0) == 20.0
    finally:
        THREE.factor = 3.0


class Odd:
    def __getattr__(self, name):
        raise ValueError(f"no {name}")


ODD = Odd()


def test_attributes_that_raise():
    """Where the program reads them, and only there."""
    program = grad(lambda x: getattr(ODD, "a", 2.0) * x if x < 0 else x * x, mode="python")
    assert program(3.0) == 6.0
    with pytest.raises(ValueError, match="no a"):
        program(-1.0)
    with pytest.raises(ValueError, match="no a"):
        grad(lambda x: hasattr(ODD, "a") * x, mode="python")(1.0)


def test_pullbacks_are_copied_and_not_pickled():
    pullback = vjp(late, 3.0, mode="python")[1]
    assert copy.deepcopy(pullback)(1.0) == pullback(1.0)
    with pytest.raises(TypeError, match="Pickle the function and its arguments"):
        pickle.dumps(pullback)
