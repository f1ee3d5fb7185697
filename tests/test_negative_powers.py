"""Python's integers to powers that are negative by the values of the arguments: floats, as in Python."""

import numpy as np
import pytest

from autodiff import differentiable, hvp, value_and_grad, vjp


def scaled(x, n):
    return x * 2 ** -n


def digits(x, n):
    total = 0.0
    for i in range(n):
        total += x * x * 10 ** -i
    return total


def around(x, n):
    total = 0.0
    for i in range(n):
        total += x * 2 ** (i - 1)
    return total


def signs(x, n):
    return x * (-1) ** (n - 4)


def of_two(x, n, k):
    return x * n ** k


def carried(x, n):
    factor = 1
    for i in range(n):
        factor = factor * 3 ** (1 - i)
    return x * factor


def sized(x, n):
    return x * np.ones(2 ** n).sum()


CASES = [(scaled, 3), (scaled, -3), (digits, 4), (around, 4), (signs, 3), (signs, 4), (signs, 7), (of_two, 3, -2),
         (of_two, 3, 2), (of_two, -3, -3), (carried, 4), (sized, 3)]


def test_values_and_gradients_are_pythons():
    for function, *k in CASES:
        wanted, slope = function(1.5, *k), (function(1.5 + 1e-6, *k) - function(1.5 - 1e-6, *k)) / 2e-6
        assert differentiable(function, mode="python")(1.5, *k) == pytest.approx(wanted, rel=1e-15)
        value, gradient = value_and_grad(function, mode="python")(1.5, *k)
        assert value == pytest.approx(wanted, rel=1e-15) and gradient == pytest.approx(slope, rel=1e-8)
        assert vjp(function, 1.5, *k, mode="python")[0] == pytest.approx(wanted, rel=1e-15)


def test_one_function_at_exponents_of_both_signs():
    made = differentiable(of_two, mode="python")
    for k in (2, -2, 0, -1, 3):
        assert made(1.5, 3, k) == pytest.approx(1.5 * 3 ** k, rel=1e-15)


def test_what_the_first_program_has_written_is_written_once():
    def function(x, n):
        x[0] += 1.0
        return x.sum() * 2 ** (n - 5)
    for n in (3, 7):
        assert differentiable(function, mode="python")(np.array([1.0, 2.0]), n) == function(np.array([1.0, 2.0]), n)


def test_zero_has_no_negative_power():
    with pytest.raises(ZeroDivisionError):
        differentiable(of_two, mode="python")(1.5, 0, -1)


def test_second_derivatives():
    assert hvp(digits, mode="python")(1.5, 3, 1.0) == pytest.approx(2 * 1.11)


def with_a_negative_one(n):
    return n ** n + 10 ** (1 << (n & 15))


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_large_powers_beside_negative_ones_do_not_become_infinite(mode):
    """Those are floats in such a call, but Python's are integers of many digits."""
    assert differentiable(with_a_negative_one, mode=mode)(-13) == with_a_negative_one(-13)
    with pytest.raises(OverflowError):
        differentiable(with_a_negative_one, mode=mode)(-1)
