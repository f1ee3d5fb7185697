"""Every program of the catalogue: value and gradient, in Python mode and compiled, joint and split, twice."""

import copy

import numpy as np
import pytest

import autodiff

from .programs import PROGRAMS
from .support import assert_gradient, assert_slope, direction_like

BY_NAME = [pytest.param(p, id=p.name) for p in PROGRAMS]
TWICE = [pytest.param(p, id=p.name) for p in PROGRAMS if p.twice]


@pytest.mark.parametrize("program", BY_NAME)
def test_gradient(program):
    assert_gradient(program.function, program.arguments(), program.wrt, "python")


@pytest.mark.parametrize("program", BY_NAME[::2])
def test_compiled_gradient(program):
    assert_gradient(program.function, program.arguments(), program.wrt, "numba")


@pytest.mark.parametrize("program", BY_NAME)
def test_split_form_agrees_with_joint_form(program):
    args = program.arguments()
    value, gradients = autodiff.value_and_grad(program.function, wrt=program.wrt, mode="python")(*args)
    out, pullback = autodiff.vjp(program.function, *args, mode="python", debug=True)
    np.testing.assert_allclose(out, value, rtol=1e-12)
    for _ in range(2):                              # the tape may be read twice
        bars = pullback(1.0)
        for position, gradient in zip(program.wrt, gradients, strict=True):
            np.testing.assert_allclose(bars[position], gradient, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("program", TWICE)
def test_second_order(program):
    """Hessian-vector products: the derivative of <gradient, v> against differences of the gradient."""
    args = program.arguments()
    position = program.wrt[0]
    gradient = autodiff.grad(program.function, wrt=position, mode="python")
    v = direction_like(args[position], 5)

    def along(*arguments):
        return np.sum(gradient(*arguments) * v)

    found = autodiff.grad(along, wrt=position, mode="python", debug=True)(*copy.deepcopy(args))
    d = direction_like(args[position], 6)
    assert_slope(float(np.sum(found * d)), along, args, position, d, tolerance=1e-5)
