"""Lists that a program makes at run time are lists where they come back: from the function and from its derivatives."""

from __future__ import annotations

from collections import namedtuple

import numba
import numpy as np
import pytest

from autodiff import differentiable, grad, hessian, hvp, jacobian, jvp, linearize, value_and_grad, vjp

X = np.array([3.0, 1.0, 2.0])
M = np.arange(6.0).reshape(3, 2)
Point = namedtuple("Point", "x y")


def numbers(x, n):
    return [v * v for v in x], [0] * n, [v > 1.5 for v in x], tuple([2.0 * v for v in x]), [1j * v for v in x]


def grown(x, n):
    found = []
    for v in x:
        if v > 1.5:
            found.append(v)
    return found


def pairs(x, n):
    found = []
    for i in range(n):
        found.append((i, x[i]))
    return found


def unlike_pairs(x, n):
    return [(v * v, i) for i, v in enumerate(x)]


def points(x, n):
    return [Point(v, [v, 2.0 * v]) for v in x], {"a": [{"b": v} for v in x]}


def of_numbers(x, n):
    return [[v, 1.0] for v in x], [(v, v * v) for v in x], [[float(i * j) for j in range(n)] for i in range(n)]


def of_arrays(x, n):
    return [x * i for i in range(n)], list(np.outer(x, x)), [x[1:]] + [v * x[:2] for v in x]


def lists_of_arrays(x, n):
    rows = [[x * j for j in range(n)] for i in range(n)]
    grown = []
    for i in range(n):
        grown.append([x * float(i + j) for j in range(n)])
    return rows, rows[1][2] * 2, grown, grown[1][1] * 2, [row[0] * 2 for row in rows]


def empty(x, n):
    return [v for v in x if v > 9.0], [[v, v] for v in x if v > 9.0], [(v, 1) for v in x if v > 9.0]


def zipped(x, n):
    return list(zip(range(n), x)), tuple(zip(x, x)), list(enumerate(x)), list(map(abs, x)), tuple(x), list(pairs(x, n))


PROGRAMS = [numbers, grown, pairs, unlike_pairs, points, of_numbers, of_arrays, lists_of_arrays, empty, zipped]


def same(a, b) -> bool:
    """Whether two structures are of one form, with arrays where there are arrays."""
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return type(a) is type(b) and list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and a.shape == b.shape and np.allclose(a, b)
    return not isinstance(b, np.ndarray) and np.asarray(a).dtype == np.asarray(b).dtype and np.isclose(a, b)


@pytest.mark.parametrize("f", PROGRAMS)
def test_as_in_python(f):
    found = differentiable(f, mode="python")(X, 3)
    assert same(f(X, 3), found), found


def test_compiled():
    compiled = differentiable(points)
    for x in (X, 2.0 * X, X):                       # by the general path, and by the fast one
        found = compiled(x, 3)
        assert same(points(x, 3), found) and type(found[0][0].x) is float


def flat(value):
    if isinstance(value, (list, tuple)):
        return [n for v in value for n in flat(v)]
    if isinstance(value, dict):
        return flat(list(value.values()))
    return [] if value is None or np.asarray(value).dtype.kind not in "f" else list(np.ravel(value))


@pytest.mark.parametrize("f", [grown, unlike_pairs, points, of_arrays])
def test_derivatives(f):
    dot, h = np.array([0.3, -0.2, 0.5]), 1e-6
    value, tangent = jvp(f, (X, 3), (dot, None), mode="python")
    wanted = (np.array(flat(f(X + h * dot, 3))) - np.array(flat(f(X - h * dot, 3)))) / (2 * h)
    assert same(f(X, 3), value) and np.allclose(flat(tangent), [w for w in wanted], atol=1e-7)
    value, pullback = vjp(f, X, 3, mode="python")
    assert same(f(X, 3), value) and np.isclose(pullback(value)[0] @ dot, np.dot(flat(value), flat(tangent)))
    value, tangents = linearize(f, X, 3, mode="python")
    assert np.allclose(flat(tangents(dot, None)), flat(tangent))
    batched = np.concatenate([np.reshape(b, (2, -1)).T for b in leaves(tangents.batched(np.stack([dot, 2.0 * dot]), None))])
    assert np.allclose(batched[:, 0], flat(tangent)) and np.allclose(batched[:, 1], 2.0 * batched[:, 0])
    rows = np.concatenate([np.asarray(b).reshape(-1, 3) for b in leaves(jacobian(f, mode="python")(X, 3))])
    assert np.allclose(rows @ dot, flat(tangent))


def leaves(value):
    if isinstance(value, (list, tuple, dict)):
        return [n for v in (value.values() if isinstance(value, dict) else value) for n in leaves(v)]
    return [] if value is None else [value]


def test_cotangents_of_lists_are_lists_or_arrays():
    _, pullback = vjp(pairs, X, 3, mode="python")
    assert pullback([(None, 1.0), (None, 2.0), (None, 3.0)])[0].tolist() == [1.0, 2.0, 3.0]
    _, pullback = vjp(grown, X, 3, mode="python")
    assert pullback([1.0, 2.0])[0].tolist() == pullback(np.array([1.0, 2.0]))[0].tolist() == [1.0, 0.0, 2.0]
    assert pullback.batched([np.ones(2), np.zeros(2)])[0].tolist() == [[1.0, 0.0, 0.0]] * 2
    _, pullback = vjp(grown, 0.1 * X, 3, mode="python")
    assert pullback([])[0].tolist() == [0.0, 0.0, 0.0]


def with_list(xs):
    return sum([v * v for v in xs]), [v + 1.0 for v in xs], xs


@pytest.mark.parametrize("count", [3, 20])
def test_gradients_and_what_comes_with_them(count):
    xs = [0.5] * count
    value, gradient = value_and_grad(lambda xs: with_list(xs)[0], mode="python")(xs)
    assert gradient == [1.0] * count and type(gradient) is list and {type(g) for g in gradient} == {float}
    found = differentiable(with_list, mode="python")(xs)
    assert same(with_list(xs), found) and type(found[1]) is type(found[2]) is list


def inner(x):
    return np.sum(x * x), [v * v for v in x]


def with_derivative(x):
    gradient, found = grad(inner, has_aux=True)(x)
    return np.sum(gradient) + found[0] * len(found + found)


def test_inside_a_differentiated_function():
    assert np.allclose(grad(with_derivative, mode="python")(X), 2.0 + np.array([2 * 3.0 * 6, 0.0, 0.0]))


def test_other_places():
    gradient, found = grad(inner, has_aux=True, mode="python")(X)
    assert np.allclose(gradient, 2.0 * X) and found == [9.0, 1.0, 4.0]
    assert np.allclose(hessian(lambda xs: sum([v ** 3 for v in xs]), mode="python")(X), np.diag(6.0 * X))
    assert np.allclose(hvp(lambda xs: sum([v ** 3 for v in xs]), mode="python")(X, X), 6.0 * X * X)
    squares = differentiable(lambda x: [v * v for v in x])

    @numba.njit
    def caller(x):
        return squares(x).sum()
    assert caller(X) == 14.0                        # compiled callers have an array
