"""Operators inside operators: every way to take a derivative of some order gives the same, which is the slope of that of the
order below."""

import itertools

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
    value_and_grad,
    vjp,
)

H = 1e-3
STENCIL = ((1, 8.0), (-1, -8.0), (2, -1.0), (-2, 1.0))


def slope(function, x, direction):
    """The central difference of fourth order."""
    return sum(w * function(x + k * H * direction) for k, w in STENCIL) / (12 * H)


# ---- functions of a number, to order 4 ------------------------------------------------------------------
def looped(x):
    s = 1.0
    for _ in range(3):
        s = s * x + np.sin(s)
    return s


def while_loop(x):
    s = x
    while s < 4.0:
        s = s * 1.5 + x * x
    return s * np.sin(x)


def mutated(x):
    a = np.zeros(4)
    a[0] = x
    for i in range(1, 4):
        a[i] = a[i - 1] * x + np.cos(a[i - 1])
        a[i - 1] *= a[i]
    return a[3] * a[1] + a[2]


def listed(x):
    out = [x]
    for _ in range(3):
        out.append(out[-1] * x + np.exp(-out[0]))
    total = 0.0
    for v in out:
        total += v * v
    return total


def bent(x, k):
    return np.tanh(x * k)


def calls(x):
    return bent(x, 2.0) * bent(x * x, 1.0) + bent(bent(x, 1.0), 0.5)


def recursive(x, n=4):
    return x if n <= 1 else np.sin(x) * recursive(x, n - 1) + x


def until(x):
    """A recursion whose depth depends on the argument."""
    return x * x if x > 3.0 else until(x * 1.5) * np.cos(x) + x


def branches(x):
    y = x * x * x if np.sin(x) > 0.2 else np.exp(x)
    return y * np.sqrt(x) + (x if x > 1 else -x ** 2)


def swapped(x):
    a, b = np.array([x, x * x]), np.array([1.0, x])
    for _ in range(3):
        b[:] = a * b + np.sin(b)
        a, b = b, a
    return a[0] * b[1]


def broken_off(x):
    s = x
    for _ in range(10):
        s = s * x + 0.3
        if s > 5:
            break
        s *= 1.1
    return s * s


def quotient(x):
    return np.log(1 + x * x) * np.arctan(x) / (1 + np.sqrt(x))


def pushed(f):
    return lambda x: jvp(f, (x,), (1.0,))[1]


def pulled(f):
    return lambda x: vjp(f, x)[1](1.0)[0]


def mapped(f):
    return lambda x: linearize(f, x)[1](1.0)


WAYS = {"grad": lambda f: grad(f, mode="python"), "jvp": pushed, "vjp": pulled, "linearize": mapped,
        "value_and_grad": lambda f: lambda x: value_and_grad(f)(x)[1],
        "forward": lambda f: jacobian(f, direction="forward", mode="python"),
        "reverse": lambda f: jacobian(f, direction="reverse", mode="python")}


def at(function, x):
    return float(differentiable(function, mode="python")(x))


def chained(function, ways, operators):
    for way in ways:
        function = operators[way](function)
    return function


def sequences(operators, order, every, start):
    return list(itertools.product(operators, repeat=order))[start::every]


NUMBERS = [looped, while_loop, mutated, listed, calls, recursive, until, branches, swapped, broken_off, quotient]


@pytest.mark.parametrize("program", NUMBERS, ids=lambda p: p.__name__)
def test_numbers(program):
    x = 0.7
    k = NUMBERS.index(program)
    for order, every in ((2, 9), (3, 97), (4, 1999)):
        lower = chained(program, ["grad"] * (order - 1), WAYS)
        wanted = slope(lambda x, lower=lower: at(lower, x), x, 1.0)
        for ways in sequences(WAYS, order, every, 5 * k % every):
            assert at(chained(program, ways, WAYS), x) == pytest.approx(wanted, rel=1e-6), ways


# ---- functions of an array, to order 3 ------------------------------------------------------------------
X, D = np.array([0.3, 0.7, 0.9]), np.array([0.3, -0.7, 0.4])
W = np.array([[0.3, 0.2, -0.1], [0.1, 0.5, 0.4], [-0.3, 0.2, 0.6]])


def stencil(x):
    u = x.copy()
    for _ in range(3):
        u[1:-1] = u[1:-1] + 0.3 * (u[2:] - 2 * u[1:-1] + u[:-2]) + np.sin(u[1:-1]) * u[:-2]
    return np.sum(u * u * x)


def recurrent(x):
    h = np.zeros(3)
    for _ in range(3):
        h = np.tanh(W @ h + x * x)
    return h @ h


def solved(x):
    return np.sum(np.linalg.solve(np.outer(x, x) + 2 * np.eye(3), np.sin(x)))


def grown(x):
    out, s, k = [], 0.0, 0
    while s < 2.0:
        s += x[k % 3] ** 2
        out.append(np.sin(s) * x[(k + 1) % 3])
        k += 1
    total = 1.0
    for v in out:
        total = total * v + v
    return total


def masked(x):
    y = np.where(x > 0.6, x ** 3, np.exp(x))
    return np.sum(y[x > 0.4] ** 2) + np.prod(x)


def taking_turns(x):
    a, b = x * 1.0, np.ones(3)
    for _ in range(4):
        b[:] = np.sin(a) * b + x
        a, b = b, a
    return np.sum(a * b)


def cumulated(z, k):
    return z * np.cumsum(z) * k


def called_twice(x):
    return np.sum(cumulated(cumulated(x, 2.0), x[0]))


def ordered(x):
    return np.sum(np.sort(x) * np.array([1.0, 2.0, 3.0])) ** 2 * np.max(x)


def reduced(x):
    m = np.outer(x, np.cos(x))
    return np.sum(m.sum(axis=0) ** 3) + np.std(x) + np.linalg.norm(m)


def in_place(x):
    for i in range(1, 3):
        x[i] = x[i] * np.cos(x[i - 1]) + x[0]
    x *= x
    return np.sum(x) * x[2]


def grad_along(f):
    g = grad(f)
    return lambda x: np.sum(g(x) * D)


def value_and_grad_along(f):
    g = value_and_grad(f)
    return lambda x: np.sum(g(x)[1] * D)


def rows_along(f):
    g = jacobian(f, direction="reverse")
    return lambda x: np.sum(g(x) * D)


def columns_along(f):
    g = jacobian(f, direction="forward")
    return lambda x: g(x) @ D


def twice_along(f):
    h = hvp(f)
    return lambda x: np.sum(h(x, D) * D)


def form_along(f):
    h = hessian(f)
    return lambda x: D @ h(x) @ D


ALONG = {"grad": grad_along, "value_and_grad": value_and_grad_along, "jvp": lambda f: lambda x: jvp(f, (x,), (D,))[1],
         "vjp": lambda f: lambda x: np.sum(vjp(f, x)[1](1.0)[0] * D), "linearize": lambda f: lambda x: linearize(f, x)[1](D),
         "forward": columns_along, "reverse": rows_along, "hvp": twice_along, "hessian": form_along}
TWICE = ("hvp", "hessian")
ARRAYS = [stencil, recurrent, solved, grown, masked, taking_turns, called_twice, ordered, reduced, in_place]


@pytest.mark.parametrize("program", ARRAYS, ids=lambda p: p.__name__)
def test_arrays(program):
    k = ARRAYS.index(program)

    def along(function, x):
        return float(differentiable(function, mode="python", debug=True)(x.copy()))
    for order, every in ((2, 11), (3, 191)):
        lower = chained(program, ["grad"] * (order - 1), ALONG)
        wanted = slope(lambda x, lower=lower: along(lower, x), X, D)
        ways = [w for length in range(1, order + 1) for w in itertools.product(ALONG, repeat=length)
                if sum(1 + (way in TWICE) for way in w) == order]
        for way in ways[7 * k % every::every]:
            if program is grown and {"forward", "hessian"} & set(way[:-1]):
                continue                        # growing lists made for each group of columns: their reverse is refused
            assert along(chained(program, way, ALONG), X) == pytest.approx(wanted, rel=1e-6), way


def test_the_second_derivative_reads_well():
    """Names say what is what: the tangent of an adjoint, with the user's lines above both."""
    product = hvp(in_place, mode="python")
    product(X.copy(), D)
    assert "x_bar_dot" in product.source and "test_nesting.py" in product.source
    twice = grad(grad_along(stencil), mode="python")
    twice(X)
    assert "u_bar_bar" in twice.source


def scaled(x, y):
    return x * y * y


def chosen_by(x, which):
    return grad(scaled, wrt=which)(x, x)


def test_options_that_are_arguments():
    """An integer makes a program for each of its values; other numbers are refused, at the line."""
    derivative = grad(chosen_by, mode="python")
    assert derivative(0.7, 0) == pytest.approx(1.4) and derivative(0.7, 1) == pytest.approx(2.8)
    for wrong in (0.5, np.ones(2)):
        with pytest.raises(AutodiffError, match="an option of `grad` must be known") as e:
            derivative(0.7, wrong)
        assert e.value.loc.line == chosen_by.__code__.co_firstlineno + 1


def contracted(a, first, b):
    return np.sum(np.einsum(a, first, b, (1, 2)) ** 2)


def test_integers_in_tuples_that_an_inner_derivative_must_know():
    check_grads(contracted, (np.ones((2, 3)), (0, 1), np.arange(12.0).reshape(3, 4)), order=2, mode="python", directions=1)
