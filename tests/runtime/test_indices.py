"""Subscripts of generated code count from the start: Numba adds no length to them, unless it is asked for."""

import types

import numpy as np
import pytest

import autodiff as ad
from autodiff.runtime.machine_code.jit import jit_functions

TEXT = """
def moved(x, y, i, by):
    for k in range(len(y)):
        y[k] += x[i - by + k]
    x[i, ] = y[0]
    return x[-1] + x[1:][0]
"""


def made(name: str, **how):
    module = types.ModuleType(name)
    exec(TEXT, module.__dict__)
    return jit_functions(module, ["moved"], **how)["moved"]


def sums_lengths(function) -> bool:
    """Whether its machine code tells an index below 0 from others."""
    text = function.inspect_llvm(function.signatures[0])
    body = text[text.index("define"):text.index("define", text.index("define") + 1)]
    return "icmp slt" in body and "select" in body


def test_the_same_values():
    x = np.linspace(0.0, 1.0, 9)
    for mode in ("numba", "python"):
        y, z = np.zeros(3), x.copy()
        assert made("plain", mode=mode)(z, y, 5, 2) == 1.0 + x[1]
        np.testing.assert_array_equal(y, x[3:6])
        assert z[5] == x[3]


def test_indices_below_0_are_told_apart_only_where_there_may_be_some():
    x = np.linspace(0.0, 1.0, 9)
    negative, plain = made("any", negative=True), made("from_the_start")
    for function in (negative, plain):
        function(x.copy(), np.zeros(2), 4, 1)
    assert sums_lengths(negative) and not sums_lengths(plain)
    y = np.zeros(2)
    negative(x.copy(), y, 1, 4)
    np.testing.assert_array_equal(y, x[-3:-1])


@pytest.mark.parametrize("boundscheck", [True, False])
def test_indices_of_a_program_that_are_below_0(boundscheck):
    def f(x, k):
        s = 0.0
        for i in range(3):
            s += x[k - i] ** 2 * (i + 1)
        return s * x[-k]

    x = np.linspace(0.3, 1.5, 7)
    for k in (1, -1, 4):
        value, slope = ad.value_and_grad(f, boundscheck=boundscheck)(x, k)
        assert value == pytest.approx(f(x, k), rel=1e-12)
        np.testing.assert_allclose(slope, ad.grad(f, mode="python")(x, k))
        ad.check_grads(lambda x: f(x, k), (x,), mode="python")
