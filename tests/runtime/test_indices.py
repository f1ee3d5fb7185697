"""Subscripts of generated code count from the start: Numba adds no length to them."""

import types

import numba
import numpy as np
import pytest

import autodiff as ad
from autodiff.runtime.machine_code.jit import jit_functions
from autodiff.transforms.language import core
from autodiff.transforms.language.python_text import fixed_sizes

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


def test_indices_below_0_are_not_told_from_others():
    x = np.linspace(0.0, 1.0, 9)
    module = types.ModuleType("any")
    exec(TEXT, module.__dict__)
    by_numba, ours = numba.njit(module.__dict__["moved"]), made("from_the_start")
    for function in (by_numba, ours):
        function(x.copy(), np.zeros(2), 4, 1)
    assert sums_lengths(by_numba) and not sums_lengths(ours)


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


def pulls(x, m):
    """Each point is pulled by all others; only the first two coordinates count."""
    s = 0.0
    for i in range(len(x)):
        for j in range(len(x)):
            if j != i:
                dx, dy = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1]
                s += m[j] * np.sqrt(dx * dx + dy * dy + 0.1)
    return s


def test_arrays_of_other_widths_after_one_whose_width_was_known():
    """The machine code for points in the plane takes the distance of rows for granted; others do not come to it."""
    r = np.random.default_rng(3)
    compiled, plain = ad.value_and_grad(pulls, wrt=(0, 1)), ad.value_and_grad(pulls, wrt=(0, 1), mode="python")
    for width in (2, 3, 2, 4, 5, 3, 2):
        x, m = r.random((20, width)), r.random(20)
        (value, slopes), (expected, wanted) = compiled(x, m), plain(x, m)
        assert value == pytest.approx(expected) == pytest.approx(pulls(x, m))
        for one, other in zip(slopes, wanted, strict=True):
            np.testing.assert_allclose(one, other, 1e-10, 1e-12)
    assert '"""Takes x (:, 2).' in compiled.specialize(np.ones((20, 2)), np.ones(20)).source


def test_what_branches_add_to_one_element_is_added_after_the_loop():
    made = ad.grad(pulls, wrt=(0, 1), mode="python").specialize(np.ones((20, 2)), np.ones(20)).source
    inner = made[made.rindex("if j != i:"):]
    assert "x_bar[j, 0] +=" in inner and "\n                x_bar[i" not in inner and "\n        x_bar[i, 0] +=" in inner
    ad.check_grads(pulls, (np.random.default_rng(5).random((6, 2)), np.ones(6)), order=2, mode="python")


def test_an_element_that_a_branch_adds_to_and_another_name_of_it():
    def f(y, z, k):
        for _ in y:
            if z[k % 1]:
                return z[k % 1] + np.sum(z)

    def g(x, k):
        s = 0.0
        for i in range(len(x)):
            if x[k] > 0.0:
                s += x[k] * x[0] + x[i]
            s += x[k] ** 2
        return s

    for mode in ("numba", "python"):
        assert ad.grad(f, wrt=1, mode=mode)(np.ones(3), np.array([-0.183]), 2) == pytest.approx(2.0)
        for k in (0, 1, -3):
            ad.check_grads(lambda x, k=k: g(x, k), (np.array([0.4, 0.9, 1.3]),), mode="python")
            slope = ad.grad(g, mode=mode)(np.array([0.4, 0.9, 1.3]), k)
            np.testing.assert_allclose(slope, ad.vjp(g, np.array([0.4, 0.9, 1.3]), k, mode=mode)[1](1.0)[0])


def test_the_first_size_of_a_parameter_is_not_settled():
    """A tape that has grown is longer than it began."""
    shapes = (16, 2), (16,), (3, 3, 4)
    arrays = [core.Arr("tape", "float64", tuple(core.Const(n, "int64") for n in shape)) for shape in shapes]
    assert fixed_sizes(arrays) == ((None, 2), None, (None, 3, 4))
