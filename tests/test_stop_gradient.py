"""stop_gradient: the identity in value, a constant for derivatives."""

from dataclasses import dataclass

import numba
import numpy as np
import pytest

import autodiff
from autodiff import grad, hessian, jacobian, jvp, stop_gradient, value_and_grad, vjp


@dataclass
class Parameters:
    weight: np.ndarray
    scale: float


def product(x):
    return np.sum(x * stop_gradient(x * x)) + 3.0 * stop_gradient(x[0]) * x[1]


def nested(p):
    kept = stop_gradient({"a": (p.weight, p.scale), "b": [p.scale]})
    return np.sum(kept["a"][0] * p.weight) + kept["b"][0] * kept["a"][1] * p.scale


def test_values_outside_compiled_code():
    x = np.array([1.0, 2.0])
    stopped = stop_gradient({"a": (x, 3), "p": Parameters(x, 2.0), "name": "n"})
    np.testing.assert_array_equal(stopped["a"][0], x)
    assert stopped["a"][0] is not x and stopped["a"][1] == 3 and stopped["p"].scale == 2.0 and stopped["name"] == "n"


@pytest.mark.parametrize("mode", ["numba", "python"])
def test_every_mode(mode):
    x = np.array([0.5, -1.5, 2.0])
    expected = x * x + np.array([0.0, 3.0 * x[0], 0.0])
    np.testing.assert_allclose(grad(product, mode=mode)(x), expected)
    np.testing.assert_allclose(jacobian(product, direction="forward", mode=mode)(x), expected)
    value, tangent = jvp(product, (x,), (np.array([1.0, 2.0, -1.0]),), mode=mode)
    np.testing.assert_allclose(value, np.sum(x ** 3) + 3.0 * x[0] * x[1])
    np.testing.assert_allclose(tangent, expected @ np.array([1.0, 2.0, -1.0]))
    np.testing.assert_allclose(vjp(product, x, mode=mode)[1](2.0)[0], 2.0 * expected)


def test_second_order():
    """The gradient x * stop(x) is x**2 whose factors are both constants of the second derivative's first factor."""
    x = np.array([0.5, -1.5, 2.0])
    np.testing.assert_array_equal(hessian(product, mode="python")(x), np.zeros((3, 3)))
    mixed = lambda y: y ** 3 * stop_gradient(y)
    assert grad(grad(mixed, mode="python"), mode="python")(2.0) == pytest.approx(6.0 * 2.0 * 2.0)
    assert grad(grad(grad(mixed, mode="python"), mode="python"), mode="python")(2.0) == pytest.approx(12.0)


def test_structures():
    p = Parameters(np.array([1.0, -2.0]), 3.0)
    value, gradient = value_and_grad(nested, mode="python")(p)
    assert value == 5.0 + 27.0
    np.testing.assert_array_equal(gradient.weight, p.weight)
    assert gradient.scale == 9.0


def test_a_growing_list():
    def total(x):
        items = []
        for v in x:
            items.append(v * v)
        kept = stop_gradient(items)
        return sum(kept) * x[0] + len(kept)
    assert grad(total, mode="python")(np.array([1.0, 2.0])).tolist() == [5.0, 0.0]


def test_writing_to_the_result_leaves_the_argument_alone():
    def f(x):
        y = stop_gradient(x)
        y[0] = 7.0
        return np.sum(y * x)
    x = np.array([1.0, 2.0])
    assert f(x) == 11.0
    np.testing.assert_array_equal(grad(f, mode="python")(x), [7.0, 2.0])
    assert x[0] == 1.0


def test_inside_njit():
    @numba.njit
    def f(x, s):
        y, (z,) = stop_gradient((x, (s,)))
        y[0] += 1.0
        return np.sum(y * x) * z * s
    x = np.array([1.0, 2.0])
    assert f(x, 2.0) == 4.0 * (2.0 + 4.0) and x[0] == 1.0
    by_x, by_s = grad(f, wrt=(0, 1))(x, 2.0)
    np.testing.assert_allclose(by_x, [8.0, 8.0])
    assert by_s == 12.0


def test_tensors_are_detached():
    x = autodiff.tensor([1.0, 2.0], requires_grad=True)
    (x * stop_gradient(x)).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [1.0, 2.0])
