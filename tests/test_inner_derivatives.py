"""Derivatives of functions made inside the program that is differentiated: what they capture takes part.

The oracle is the same program run by Python, where the derivative is that of an ordinary closure."""

import dataclasses
import functools

import numpy as np
import pytest

from autodiff import (
    AutodiffError,
    check_grads,
    differentiable,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    linearize,
    root,
    value_and_grad,
    vjp,
)

X = np.array([0.7, 1.3, 2.1])


def of_a_number(x):
    return x[0] * grad(lambda y: x[1] * y ** 2)(x[2])


def twice(x):
    return grad(lambda y: grad(lambda z: np.exp(z) * np.tanh(x[0]) * y * z)(x[1] * y))(x[2])


def matrices(x):
    return np.sum(hessian(lambda y: np.sum(y ** 3) * x[0])(x)) + np.sum(jacobian(lambda y: np.sin(y) * x)(x))


def products(x):
    return np.sum(hvp(lambda y: np.sum(y ** 4) * x[0])(x, x))


def forward(x):
    value, tangent = jvp(lambda y: np.sin(y) * x, (x * 2,), (x,))
    return np.sum(value * tangent)


def linear(x):
    value, push = linearize(lambda y, k: np.sin(y) * x * k, x * 2, x[0])
    return np.sum(push(x, x[1]) * value)


def pulled(x):
    value, pullback = vjp(lambda y, k: np.sin(y) * x * k, x * 2, x[0])
    by_y, by_k = pullback(value * x)
    return np.sum(by_y) * by_k


def by_names(x):
    f = lambda a, b, c=2.0: np.sum(a * b * c * x)
    value, (by_b, by_a) = value_and_grad(f, wrt=("b", "a"))(x, x * 2, c=x[1])
    return value + np.sum(by_b * by_a) + np.sum(grad(lambda a, b: f(a, b), wrt=-1)(x, x)) + grad(
        f, wrt="c")(x, x, c=x[0])


def with_auxiliary(x):
    slope, more = grad(lambda y: (np.sum(y ** 2 * x), y * x), has_aux=True)(x)
    return np.sum(slope * more)


def applied(x):
    f = lambda a, b: np.sum(a ** 2 * b * x)
    return np.sum(grad(functools.partial(f, x * 3))(x))


def of_a_dict(x):
    parameters = {"w": x, "b": x[0]}
    loss = lambda p: np.sum(np.tanh(p["w"] * x + p["b"]) ** 2) * x[1]
    slope = grad(loss)(parameters)
    return loss({k: parameters[k] - 0.1 * slope[k] for k in parameters})


@dataclasses.dataclass
class Model:
    w: np.ndarray

    def loss(self, y):
        return np.sum(self.w * y ** 3)


def of_a_method(x):
    return np.sum(grad(Model(x * 2).loss)(x))


def decorated(x):
    @grad(wrt=1)
    def slope(y, z):
        return y ** 3 * x[0] * z ** 2

    @differentiable
    def cube(y):
        return y ** 3 * x[1]
    return slope(x[1], x[2]) + cube(x[0])


def passed_on(x):
    def newton(f, y):
        for _ in range(3):
            y = y - f(y) / grad(f)(y)
        return y
    return newton(lambda y: y ** 2 - x[0], x[1])


def in_a_loop(x):
    steps = [grad(lambda y, k=k: y ** 3 * x[k]) for k in range(3)]
    while np.sum(x) > 3.5:
        x = x - 0.1 * grad(lambda y: np.sum(y ** 2) * x[0])(x)
    return sum(step(x[0]) for step in steps)


def of_a_solver(x):
    return np.sum(grad(lambda y: root(lambda u: u ** 3 + u - y * x[0], 1.0))(x[1]) * x)


def of_complex_numbers(x):
    z = x + 1j
    return np.real(grad(lambda w: np.abs(w * z[0]) ** 2)(z[1])) * x[0]


PROGRAMS = (of_a_number, twice, matrices, products, forward, linear, pulled, by_names, with_auxiliary, applied, of_a_dict,
            of_a_method, decorated, passed_on, in_a_loop, of_a_solver, of_complex_numbers)


D = np.array([0.4, -1.0, 0.7])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_reverse_mode(program):
    """Two runs by Python, each of which derives the inner function anew."""
    slope = (program(X + 1e-5 * D) - program(X - 1e-5 * D)) / 2e-5
    assert grad(program, mode="python")(X) @ D == pytest.approx(slope, rel=1e-6)


def test_forward_mode_and_second_order():
    assert check_grads(twice, (X,), modes=("rev", "fwd"), mode="python", directions=1, order=2).worst < 1e-6
    reverse = grad(pulled, mode="python")(X) @ D
    assert jvp(pulled, (X,), (D,), mode="python")[1] == pytest.approx(reverse, rel=1e-12)


def test_compiled():
    np.testing.assert_allclose(grad(of_a_dict)(X), grad(of_a_dict, mode="python")(X))


def writes_an_array(x):
    kept = np.zeros(3)

    def loss(y):
        kept[0] = y
        return y * x[0]
    return grad(loss)(x[1]) + kept[0]


def writes_an_array_forward(x):
    kept = np.zeros(3)

    def loss(y):
        kept[0] = y
        return y * x[0]
    return jvp(loss, (x[1],), (1.0,))[1] + kept[0]


def writes_a_list(x):
    kept = [1.0]

    def loss(y):
        kept.append(y)
        return y * x[0]
    return grad(loss)(x[1]) + kept[-1]


def writes_a_name(x):
    n = 0.0

    def loss(y):
        nonlocal n
        n += y
        return n * y
    return grad(loss)(x[1]) + n


@pytest.mark.parametrize("program, text", [
    (writes_an_array, "changes an array, an object"), (writes_an_array_forward, "changes an array, an object"),
    (writes_a_list, "changes an array, an object, a list or a dict outside it"), (writes_a_name, "`loss` writes a name"),
    (lambda x: np.sum(grad(lambda y: y * x)(x)), "an array of rank 1"),
    (lambda x: grad(lambda y: y * x[0], wrt="z")(x[1]), "wrt='z' is no argument"),
    (lambda x: grad(lambda y: y * x[0], wrt=1)(x[1]), "wrt=1 is no argument")])
def test_refused_at_the_users_line(program, text):
    with pytest.raises(AutodiffError, match=text) as e:
        grad(program, mode="python")(X)
    assert e.value.loc.file == __file__
