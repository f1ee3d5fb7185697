"""Forward mode against reverse mode: <y_bar, jvp(x_dot)> = <vjp(y_bar), x_dot>, on every program; for library functions see
test_numpy_catalogue.py."""

import copy

import numpy as np
import pytest

from autodiff import NonDifferentiable, ShapeMismatch, grad, hvp, jvp, value_and_grad
from autodiff.errors import MissingRule
from autodiff.options import Options
from autodiff.rules import pullback, pushforward

from . import test_language
from .programs import PROGRAMS
from .support import direction_like


def close(found, wanted):
    assert abs(found - wanted) <= 1e-9 * max(1.0, abs(wanted)), (found, wanted)


@pytest.mark.parametrize("program", [pytest.param(p, id=p.name) for p in PROGRAMS])
def test_programs(program):
    args = program.arguments()
    value, gradients = value_and_grad(program.function, wrt=program.wrt, mode="python")(*args)
    tangents: list = [None] * len(args)
    for k, position in enumerate(program.wrt):
        tangents[position] = direction_like(args[position], k)
    before = copy.deepcopy(args)
    found, dot = jvp(program.function, args, tuple(tangents), mode="python", debug=True)
    np.testing.assert_allclose(found, value, rtol=1e-12)
    close(dot, sum(np.sum(g * tangents[p]) for p, g in zip(program.wrt, gradients, strict=True)))
    for a, b in zip(args, before, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("program", [pytest.param(p, id=p.name) for p in PROGRAMS[1::6]])
def test_compiled_programs(program):
    args = program.arguments()
    position = program.wrt[0]
    tangents = tuple(direction_like(a) if k == position else None for k, a in enumerate(args))
    slow = jvp(program.function, args, tangents, mode="python")
    np.testing.assert_allclose(jvp(program.function, args, tangents), slow, rtol=1e-9)


@pytest.mark.parametrize("program", [pytest.param(p, id=p.name) for p in PROGRAMS if p.twice])
def test_hessian_products(program):
    """Forward over reverse against reverse over reverse."""
    args, position = program.arguments(), program.wrt[0]
    gradient = grad(program.function, wrt=position, mode="python")
    v = direction_like(args[position], 5)
    wanted = grad(lambda *a: np.sum(gradient(*a) * v), wrt=position, mode="python")(*args)
    found = hvp(program.function, wrt=position, mode="python", debug=True)(*args, v)
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("program", test_language.PROGRAMS, ids=lambda p: p.__name__)
def test_language_programs(program):
    x, d = test_language.X, direction_like(test_language.X, 2)
    value, dot = jvp(program, (x,), (d,), mode="python", debug=True)
    np.testing.assert_allclose(value, program(x.copy()), rtol=1e-10)
    close(dot, np.sum(grad(program, mode="python")(x) * d))


# ---- the interface --------------------------------------------------------------------------------------
X = np.array([0.3, 0.7, 0.9])


def structured(state, k, name="sin"):
    a, (b, n) = state["a"], state["pair"]
    return {"y": a * b * k, "n": n + 1}, np.sum(a) ** 2


def test_structures_and_missing_tangents():
    state, dots = {"a": X, "pair": (2.0, 3)}, {"a": X * 2, "pair": (0.5, None)}
    (value, square), (dot, square_dot) = jvp(structured, (state, 3.0), (dots, None), mode="python")
    assert value["n"] == 4 and dot["n"] is None
    np.testing.assert_allclose(dot["y"], (2 * X * 2.0 + X * 0.5) * 3.0)
    assert square == pytest.approx(X.sum() ** 2) and square_dot == pytest.approx(2 * X.sum() * 2 * X.sum())
    _, (dot, _) = jvp(structured, (state, 3.0), (None, 1.0), mode="python")
    np.testing.assert_allclose(dot["y"], X * 2.0)


def test_no_tangent_is_zero():
    assert jvp(lambda x, y: x * y, (2.0, 3.0), (None, None), mode="python") == (6.0, 0.0)


def test_float32():
    value, dot = jvp(lambda x, s: np.sum(x * x) * s, (X.astype(np.float32), np.float32(2.0)), (np.ones(3, np.float32), None))
    assert type(value) is np.float32 and type(dot) is np.float32
    assert dot == pytest.approx(4 * X.sum(), rel=1e-6)


def test_mistakes():
    def f(x, n):
        return np.sum(x) * n
    with pytest.raises(ShapeMismatch, match=r"tangent of `x` has shape \(2,\), the primal \(3,\)"):
        jvp(f, (X, 2), (X[:2], None), mode="python")
    with pytest.raises(NonDifferentiable, match="primal 1 of `f` holds int64"):
        jvp(f, (X, 2), (X, 1), mode="python")
    with pytest.raises(TypeError, match="1 primals and 2 tangents"):
        jvp(f, (X,), (X, None), mode="python")
    with pytest.raises(TypeError, match="tuple of primals"):
        jvp(f, X, X, mode="python")
    with pytest.raises(NonDifferentiable, match="returns nothing"):
        jvp(lambda x: 3, (1.0,), (1.0,), mode="python")
    with pytest.raises(TypeError, match="1 parts for 2 arguments"):
        hvp(f, wrt=(0, 1))(X, 2.0, (X,))


def cube(x):
    return x @ x * x


def scaled(x, s):
    _, dot = jvp(cube, (x * s,), (np.sin(x),))
    return np.sum(dot * x)


def test_inside_a_differentiated_function():
    """Reverse over forward, against differences."""
    gradient = grad(scaled, mode="python", debug=True)(X, 1.5)

    def plain(x):
        h = 1e-5
        return np.sum((cube(1.5 * x + h * np.sin(x)) - cube(1.5 * x - h * np.sin(x))) / (2 * h) * x)
    for k, e in enumerate(np.eye(3)):
        assert gradient[k] == pytest.approx((plain(X + 1e-4 * e) - plain(X - 1e-4 * e)) / 2e-4, rel=1e-5)


def curvature(x, s):
    return np.sum(hvp(quartic)(x * s, np.cos(x)) * x)


def quartic(x):
    return np.sum(x ** 2 * np.roll(x, 1) ** 2)


def test_hessian_products_inside():
    gradient = grad(curvature, mode="python", debug=True)(X, 1.5)

    def plain(x):
        g = grad(quartic, mode="python")
        h = 1e-5
        return np.sum((g(1.5 * x + h * np.cos(x)) - g(1.5 * x - h * np.cos(x))) / (2 * h) * x)
    for k, e in enumerate(np.eye(3)):
        assert gradient[k] == pytest.approx((plain(X + 1e-4 * e) - plain(X - 1e-4 * e)) / 2e-4, rel=1e-5)


def test_hessian_products_of_several_arguments():
    def f(x, y):
        return np.sum(x * y ** 2) + np.prod(x)
    product = hvp(f, wrt=("x", "y"), mode="python")
    found = product(X, 2 * X, (X, X))
    h = 1e-6
    up, down = (grad(f, wrt=(0, 1), mode="python")(X + s * X, 2 * X + s * X) for s in (h, -h))
    for part, a, b in zip(found, up, down, strict=True):
        np.testing.assert_allclose(part, (a - b) / (2 * h), rtol=1e-6)
    assert "f_grad_jvp" in product.source


def solved(a, b):
    return np.linalg.solve(a, b)


@pullback(solved)
def solved_pullback(x_bar, x, a, b):
    b_bar = np.linalg.solve(a.T, x_bar)
    return -np.outer(b_bar, x), b_bar


def halved(x):
    return 0.5 * x


@pullback(halved)
def halved_pullback(y_bar, y, x):
    return 0.5 * y_bar


def test_rules():
    a, b = np.array([[2.0, 0.5, 0.1], [0.3, 1.5, 0.2], [0.1, 0.4, 3.0]]), X
    with pytest.raises(MissingRule, match="`halved` has a pullback, but no pushforward"):
        jvp(lambda x: np.sum(halved(x)), (X,), (X,), mode="python")

    @pushforward(solved)
    def solved_pushforward(x, a, b, a_dot, b_dot):
        return -np.linalg.solve(a, a_dot @ x), np.linalg.solve(a, b_dot)

    def loss(a, b):
        return solved(a, b) * 2.0
    for dots in ((a * 0.3, X), (None, X), (a * 0.3, None)):
        _, dot = jvp(loss, (a, b), dots, mode="python")
        h = 1e-6
        up, down = (loss(a + s * (0 if dots[0] is None else dots[0]), b + s * (0 if dots[1] is None else dots[1]))
                    for s in (h, -h))
        np.testing.assert_allclose(dot, (up - down) / (2 * h), rtol=1e-7)
    with pytest.raises(TypeError, match="must take"):
        @pushforward(solved)
        def wrong(x, a, b, a_dot):
            return a_dot


def test_the_program_reads_well():
    from autodiff.operators.pushforwards import pushforward_of

    def march(x, k):
        for i in range(1, len(x)):
            x[i] += k * np.sin(x[i - 1])
        return x
    made = pushforward_of(march, (0,), options=Options("python"))
    made.push((X, 0.5), {}, [X])
    assert "x_dot[i] += " in made.source and "test_forward.py" in made.source
