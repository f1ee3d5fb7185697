"""Derivatives of functions that a differentiated function makes: what these capture has a derivative too."""

import functools

import numpy as np
import pytest

from autodiff import AutodiffError, check_grads, grad, hessian, hvp, jacobian, jvp, linearize, value_and_grad, vjp, vmap

X = np.array([0.3, 0.7, 1.1])


def with_loss(x):
    a = np.exp(x)

    def loss(w, b):
        return np.sum((a * w - b) ** 2)
    value, (dw, db) = value_and_grad(loss, wrt=("w", "b"))(x, 2.0)
    return value + np.sum(dw) * db


def in_a_loop(x):
    total = 0.0
    for i in range(3):
        total += grad(lambda y, i=i: y ** (i + 2) * x[i])(x[1])
    return total


def newton(x):
    def solved(f, z):
        for _ in range(5):
            z = z - f(z) / grad(f)(z)
        return z
    return solved(lambda t: t ** 3 - x[0] - x[1], 1.0)


def decorated(x):
    @value_and_grad(wrt="z")
    def cube(k, z):
        return z ** 3 * x[0] * k
    return cube(2.0, x[1])[1] + cube(2.0, z=x[2])[1]


def of_lists(x):
    ws, d = [x * 1.0, x * 2.0], {"b": [x, 2.0]}
    ws.append(x * 3.0)
    return grad(lambda z: sum(np.sum(w) * z for w in ws) + np.sum(d["b"][0] * z))(x[0])


def of_a_growing_list(x):
    ws, k = [], 0.0
    while k < x[2] * 3:
        ws.append(k * x[0])
        k += 1.0
    return grad(lambda z: np.sum(np.array(ws)) * z)(x[1])


def by_path(x):
    f = (lambda z: z ** 2 * x[1]) if x[0] > 0.0 else (lambda z: z ** 3 * x[1])
    return grad(f)(x[2])


def tangents_inside_tangents(x):
    def slope(f, t):
        return jvp(f, (t,), (1.0,))[1]
    return slope(lambda t: slope(lambda u: u ** 3 * t * x[0], t), x[1])


def pulled(x):
    _, pullback = vjp(lambda z, w: (z ** 2 * x, w * z), x, x[2])
    a, b = pullback((x, x))
    return np.sum(a) * b


def linearized(x):
    a = x[1]
    value, tangents = linearize(lambda z, k: z ** 2 * x * k * a, x, 3)
    return np.sum(tangents(x * 2, None) * value)


def shift(f, c):
    return lambda y: f(y) + c


def shifted(x):
    f = np.sin
    for _ in range(4):
        f = shift(f, x[0])
    return shift(f, x[1] * x[0])(x[2])


def twice(f):
    @functools.wraps(f)
    def doubled(*args):
        return 2 * f(*args)
    return doubled


def decorated_thrice(x):
    @twice
    @twice
    @twice
    def scaled(y):
        return y * x[0]
    return scaled(x[1])


def with_a_sum_of_its_own(x):
    def f(y):
        total = 0.0

        def add(v):
            nonlocal total
            total += v * x[0]
        add(y)
        add(y ** 2)
        return total
    return grad(f)(x[1])


def squares(z, f):
    return np.sum(f(z) ** 2)


def both(z, functions):
    return functions[0](z) * functions["s"](z) if isinstance(functions, dict) else functions[0](z) * functions[1](z)


PROGRAMS = {
    "one variable in both": lambda x: np.sum(x * grad(lambda y: np.sum(x * y ** 2))(x * 2)),
    "jacobian": lambda x: np.sum(jacobian(lambda z: z ** 2 * x[0] + np.roll(z, 1) * x)(x * 2.0) @ x),
    "hessian": lambda x: np.sum(hessian(lambda z: np.sum(z ** 3 * x) + z[0] * z[1] * x[2])(np.sin(x))),
    "hvp": lambda x: np.sum(hvp(lambda z: np.sum(z ** 3 * x))(np.sin(x), x[::-1] * 1.0)),
    "gradient inside a gradient": lambda x: grad(lambda a: grad(lambda b: a * b ** 3 * x[0])(a) * x[1])(x[2]),
    "of a map": lambda x: np.sum(jacobian(vmap(lambda r: r ** 3 * x[0]))(x)),
    "in a map": lambda x: np.sum(vmap(lambda r: grad(lambda q: q ** 2 * r)(x[0]))(x)),
    "jvp": lambda x: np.sum(jvp(lambda z: z ** 2 * x, (x,), (x * 3,))[1]),
    "partial": lambda x: grad(functools.partial(lambda a, b: a ** 2 * b * x[0], b=x[1]))(x[2]),
    "variadic": lambda x: grad(lambda z, *r: z * r[0] * x[0])(x[1], x[2]),
    "default": lambda x: grad(lambda z, s={"k": 2.0}: z * s["k"] * x[0])(x[1]),
    "mask": lambda x: np.sum(grad(lambda z: np.sum(z[x > 0.5] ** 2 * x[x > 0.5]))(x)),
    "list of gradients": lambda x: sum(f(x[1]) for f in [grad(lambda z, k=k: z ** (k + 2) * x[k]) for k in range(3)]),
    "given": lambda x: np.sum(grad(squares)(x * 2, lambda z: z * x[0])),
    "given by name": lambda x: np.sum(grad(squares)(x * 2, f=lambda z: z * x[0])),
    "given in a list": lambda x: np.sum(jacobian(both)(x * 2, [lambda z: z * x[0], np.sin])),
    "both": lambda x: np.sum(jacobian(lambda z, g: g(z) * x)(x * 2, lambda z: z * x[0])),
    "given to jvp": lambda x: jvp(squares, (x * 2, lambda z: z * x[0]), (x, None))[1],
    "given to vjp": lambda x: np.sum(vjp(squares, x * 2, lambda z: z * x[0])[1](1.0)[0]),
    **{f.__name__: f for f in (with_loss, in_a_loop, newton, decorated, of_lists, of_a_growing_list, by_path,
                               tangents_inside_tangents, pulled, linearized, shifted, decorated_thrice,
                               with_a_sum_of_its_own)},
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name):
    f = PROGRAMS[name]
    assert vjp(f, X, mode="python")[0] == pytest.approx(f(X), rel=1e-12)
    assert check_grads(f, (X,), modes=("fwd", "rev"), mode="python").worst < 1e-6
    if name in ("one variable in both", "jacobian", "pulled", "given"):
        assert check_grads(f, (X,), order=2, directions=1, modes=("fwd", "rev"), mode="python").worst < 1e-5


def test_compiled():
    for f in (PROGRAMS["one variable in both"], with_loss):
        assert check_grads(f, (X,)).worst < 1e-6


def appended(x):
    seen = []

    def g(z):
        seen.append(z)
        return z * z
    return grad(g)(x[0]) * len(seen)


def counted(x):
    n = 0

    def g(z):
        nonlocal n
        n += 1
        return z * z
    return grad(g)(x[0]) * n


def written(x):
    a = np.zeros(3)

    def g(z):
        a[0] += z
        return a[0] * z
    return grad(g)(x[0]) + a[0]


@pytest.mark.parametrize("f", [appended, counted, written])
def test_functions_with_effects_are_refused(f):
    with pytest.raises(AutodiffError, match="outside|writes a name of the function around it") as raised:
        grad(f, mode="python")(X)
    assert "test_local_functions.py" in str(raised.value)


def test_a_keyword_without_a_place_is_refused():
    with pytest.raises(AutodiffError, match="keyword `b`.*\n.*\n.*\n.*\n?Try: pass the arguments by position, or"):
        grad(lambda x: grad(lambda a, *, b: a * b * x[0])(x[1], b=2.0), mode="python")(X)


def cubed(y):
    if y < 0:
        raise ValueError("negative")
    return y ** 3


def test_what_a_derivative_raises_is_not_caught():
    def guarded(x):
        try:
            return grad(cubed)(-x[0])
        except ValueError:
            return x[0] ** 2

    def other(x):
        try:
            return grad(cubed)(x[0])
        except ZeroDivisionError:
            return x[0] ** 2
    with pytest.raises(AutodiffError, match="taken in a `try` that would catch"):
        grad(guarded, mode="python")(X)
    np.testing.assert_allclose(grad(other, mode="python")(X), [6.0 * X[0], 0.0, 0.0])
