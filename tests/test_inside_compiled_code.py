"""Derivatives in the functions that users compile."""


import subprocess
import sys

import numba
import numpy as np
import pytest

import autodiff
from autodiff import grad, value_and_grad, vjp


def scaled_sine(x, w):
    return np.sum(np.sin(x) * w)


def sine_and_double(x, w):
    return np.sum(np.sin(x) * w), 2 * x


TABLE = np.array([1.0, 2.0, 4.0])


def with_table(x, w):
    return np.sum(TABLE * x ** 2) * w


class TestInsideNumba:
    x = np.array([0.1, 0.5, 0.9])

    def agrees(self, derivative, function):
        found = numba.njit(function)(self.x, 2.0)
        expected = derivative(self.x, 2.0)
        for a, b in zip(np.broadcast_arrays(*flat(found)), np.broadcast_arrays(*flat(expected)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-14)

    def test_value_and_gradient(self):
        derivative = autodiff.value_and_grad(scaled_sine, wrt=(0, 1))
        self.agrees(derivative, lambda x, w: derivative(x, w))

    def test_keywords(self):
        derivative = autodiff.grad(scaled_sine)
        self.agrees(derivative, lambda x, w: derivative(w=w, x=x))

    def test_auxiliary_result(self):
        derivative = autodiff.grad(sine_and_double, has_aux=True)
        self.agrees(derivative, lambda x, w: derivative(x, w))

    def test_primal_with_several_results(self):
        primal = autodiff.differentiable(sine_and_double)
        self.agrees(primal, lambda x, w: primal(x, w))

    def test_global_array(self):
        derivative = autodiff.grad(with_table)
        self.agrees(derivative, lambda x, w: derivative(x, w))

    def test_strided_and_integer_arguments(self):
        derivative = autodiff.grad(scaled_sine, wrt="w")
        self.agrees(derivative, lambda x, w: derivative(x[::2], w) - derivative(x[::2].copy(), w) + derivative(x, w))

    def test_descent_loop(self):
        derivative = autodiff.value_and_grad(with_table)

        @numba.njit
        def descend(x, rate, steps):
            value = 0.0
            for _ in range(steps):
                value, slope = derivative(x, 1.0)
                x = x - rate * slope
            return value, x
        value, x = descend(self.x, 0.05, 200)
        assert value < 1e-6 and np.max(np.abs(x)) < 1e-3

    def test_a_structure_that_compiled_code_cannot_hold(self):
        primal = autodiff.differentiable(lambda x: {"double": 2 * x})
        with pytest.raises(numba.core.errors.TypingError, match="numbers, arrays and tuples"):
            numba.njit(lambda x: primal(x))(self.x)


def flat(tree):
    if isinstance(tree, (tuple, list)):
        return [leaf for item in tree for leaf in flat(item)]
    return [tree]


def test_source_is_shared_by_equal_objects():
    autodiff.grad(scaled_sine, mode="python")(np.ones(2), 1.0)
    assert "def scaled_sine_grad" in autodiff.grad(scaled_sine, mode="python").source


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_float32_numbers_stay_float32(mode):
    def scaled(x, w):
        return np.sum(x * w)
    args = np.ones(3, np.float32), np.float32(2.0)
    value, (bar, number) = value_and_grad(scaled, wrt=(0, 1), mode=mode)(*args)
    assert type(value) is type(number) is np.float32 and bar.dtype == np.float32
    value, pullback = vjp(scaled, *args, mode=mode)
    assert type(value) is type(pullback(np.float32(1.0))[1]) is np.float32
    assert type(grad(lambda a: a * 2, mode=mode)(np.float32(3.0))) is np.float32


def gradient_of_inner(x):
    def cube(z):
        return np.sum(z ** 3)
    return np.sum(grad(cube)(x))


def test_gradient_of_an_inner_function():
    np.testing.assert_allclose(grad(gradient_of_inner, mode="python")(np.ones(2)), 6.0)


def cubes_within(x, n):
    s = 0.0
    for i in range(n):
        if i < len(x):
            s += x[i] ** 3
    return s


def test_indices_that_are_checked_one_by_one_inside_nested_gradients():
    """The bounds cannot be proven at the head of the program: the careful program must be used at every level."""
    x = np.arange(1.0, 6.0)
    np.testing.assert_allclose(vjp(grad(cubes_within), x, 10)[1](np.ones(5))[0], 6 * x)
    np.testing.assert_allclose(grad(lambda x, n: (grad(cubes_within)(x, n) ** 2).sum())(x, 10), 36 * x ** 3)


def test_compiled_callers_are_answered_with_a_check_at_each_access(capfd):
    """As callers in Python are: the check before the loops asks for more than the accesses that the program makes."""
    noise = np.random.default_rng(0).normal

    def printed(x, n):
        print("once", n)
        return cubes_within(x, n)

    def drawn(x, n, rng):
        return cubes_within(x, n) * rng.normal()

    x = np.arange(1.0, 6.0)
    first, second, third = value_and_grad(cubes_within), grad(printed), grad(drawn)
    jitted = numba.njit(cubes_within)

    @numba.njit
    def caller(x, n, rng):
        value, pullback = autodiff.vjp(jitted, x, n)
        return first(x, n), second(x, n), third(x, n, rng), value, pullback(2.0)[0]
    (value, bar), seen, moved, again, pulled = caller(x, 10, np.random.default_rng(0))
    assert value == again == 225.0
    assert capfd.readouterr().out == "once 10\n"
    for found, factor in ((bar, 1.0), (seen, 1.0), (moved, noise()), (pulled, 2.0)):
        np.testing.assert_allclose(found, factor * 3.0 * x ** 2)


def test_functions_of_the_package_are_found_while_a_caller_is_typed():
    script = """if 1:
        import numba, autodiff
        @numba.njit
        def square(x):
            return x * x
        @numba.njit
        def caller(x):
            return autodiff.jvp(square, (x,), (1.0,))
        print(caller(3.0))"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "(9.0, 6.0)\n", done.stderr
