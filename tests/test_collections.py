"""Iterators, the containers of `collections`, objects that are run over, lists inside objects, lists of lists."""

import collections
from collections import Counter, defaultdict, deque, namedtuple

import numpy as np
import pytest

from autodiff import AutodiffError, UnsupportedSyntax, differentiable, grad, hvp
from tests.support import assert_gradient

X = np.array([0.7, 1.4, 0.3, 0.9])


class Track:
    def __init__(self, start):
        self.seen, self.best = [], start

    def push(self, v):
        self.seen.append(v * self.best)
        if v > self.best:
            self.best = v

    def __iter__(self):
        return iter(self.seen)


class Walk:
    def __init__(self, a):
        self.a = a

    def __iter__(self):
        for k in range(len(self.a) - 1):
            yield self.a[k] * self.a[k + 1]


def window(x):
    q, s = deque([0.0, x[0]], maxlen=2), 0.0
    for v in x:
        s += q[0] * q[1] + v
        q.append(v * s)
    return s + sum(q)


def grows(x):
    q = deque(maxlen=3)
    for v in x:
        q.append(v * v)
    a, b, c = q
    return a * b + c * len(q)


def both_ends(x):
    q = deque([x[0], x[1]])
    q.appendleft(x[2])
    q.extend(x[1:3])
    q.rotate(2)
    first, last = q.popleft(), q.pop()
    q.extendleft([first * last])
    return q[0] * len(q) + q.count(0.5) + (first in q)


def by_branch(x):
    q = deque([x[0]])
    if x[1] > 1.0:
        q.append(x[1])
    return sum(q) ** 2


def defaults(x):
    d = defaultdict(float)
    d["a"] += x[0] * x[1]
    d["a"] += x[2]
    d["b"] -= x[3]
    return d["a"] * d["b"] + d["none"] + len(d) + sum(d.values()) + ("none" in d)


def default_lists(x):
    d = defaultdict(list)
    d["a"].append(x[0])
    d["b"].append(x[1])
    d["a"].append(x[2])
    return sum(d["a"]) * sum(d["b"]) + d.get("c", 1.5) + sum([len(v) for v in d.values()])


def default_function(x):
    d = defaultdict(lambda: x[3], {1: x[0]})
    d[0] *= 2.0
    return d[0] * d[1] + sum([k * v for k, v in d.items()])


def counter(x):
    c = Counter("abca")
    c["b"] += 2
    return x[0] * c["a"] + x[1] * c["b"] + x[2] * c["none"] + len(c)


def tuples(x):
    Point = namedtuple("Point", "a b")
    p = Point(x[0], b=x[1])
    return p.a * p.b ** 2 + sum(p._replace(a=x[2]))


def step_by_step(x):
    it = iter(x)
    s = next(it) * next(it)
    for v in it:
        s += v * s
    return s + next(iter((x[1],))) + next(iter([]), x[3])


def own_iterator(x):
    t = Track(x[0])
    for v in x:
        t.push(v)
    s = t.best
    for v in t:
        s += v * v
    return s + sum(t) + max(Walk(x)) + sum([v * s for v in Walk(x)])


class ByPlace:
    def __init__(self, a):
        self.a = a

    def __getitem__(self, k):
        if k >= 3:
            raise IndexError(k)
        return self.a[k] * 2.0


def by_place(x):
    s = 0.0
    try:
        for v in ByPlace(x):
            s += v * v
    except TypeError:
        s = -1.0
    return s * sum(ByPlace(x[:2])) + max(ByPlace(x))


def matrix(x):
    n = len(x)
    m = [[0.0] * 3 for _ in range(2)]
    for i in range(n):
        m[i % 2][i % 3] += x[i] * x[0]
        m[0][1] = m[1][i % 3] * 0.5 + m[0][1]
    return m[0][0] * m[1][1] + m[0][1] + sum(m[1]) + len(m)


def matrix_outside_loops(x):
    m, k = [[0.0] * 2, [x[0], x[1]]], len(x) % 3
    m[k][0] = x[2] * m[1][k]
    m[0][k] += m[k][0]
    return m[1][0] * m[0][1]


def matrix_of_integers(x):
    m = [[1, 2], [3, 4]]
    for i in range(len(x)):
        m[i % 2][0] = m[i % 2][1] * x[i]
    return m[0][0] * m[1][0]


def table(x):
    weights, s = {0: 0.5, 1: 1.5, 2: -1.0}, 0.0
    for i in range(len(x)):
        if i % 4 in weights:
            s += weights[i % 3] * x[i]
    return s


GOOD = [window, grows, both_ends, by_branch, defaults, default_lists, default_function, counter, tuples, step_by_step,
        own_iterator, by_place, matrix, matrix_outside_loops, matrix_of_integers, table]


@pytest.mark.parametrize("f", GOOD)
def test_value_and_derivatives(f):
    assert differentiable(f, mode="python")(X) == pytest.approx(f(X.copy()), rel=1e-13)
    assert_gradient(f, (X,), (0,), "python")
    u = np.array([0.3, -0.2, 0.5, 0.1])
    g = grad(f, mode="python")
    np.testing.assert_allclose(hvp(f, mode="python")(X, u), (g(X + 1e-6 * u) - g(X - 1e-6 * u)) / 2e-6, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("f", [window, own_iterator, matrix])
def test_compiled(f):
    assert_gradient(f, (X,), (0,), "numba")


def test_classes_are_pythons():
    def f(x):
        q, d = deque([x[0]]), defaultdict(float)
        known = (isinstance(q, deque), isinstance(q, list), isinstance(d, dict), type(q) is collections.deque)
        return x[0] * sum([k * int(v) for k, v in enumerate(known, 1)])
    assert differentiable(f, mode="python")(X) == pytest.approx(f(X))


def errors(x, k):
    if k == 0:
        return deque([x[0]])[3]
    if k == 1:
        return defaultdict(None)["a"]
    if k == 2:
        return deque([]).pop() * x[0]
    if k == 3:
        return {0: 0.5, 1: 1.5}[len(x)] * x[0]
    return next(iter([x[0]][1:]))


@pytest.mark.parametrize("k, cls", [*enumerate([IndexError, KeyError, IndexError, KeyError, StopIteration])])
def test_errors_are_pythons(k, cls):
    with pytest.raises(cls):
        errors(X, k)
    with pytest.raises(cls):
        grad(errors, mode="python")(X, k)


def shared_row(x):
    m = [[0.0] * 2 for _ in range(2)]
    row = m[0]
    for i in range(len(x)):
        m[i % 2][0] += x[i]
    return row[0]


def one_row_twice(x):
    m = [[0.0] * 2] * 2
    for i in range(len(x)):
        m[i % 2][0] += x[i]
    return m[0][0]


def read_again(x):
    it = iter([x[0], x[1]])
    return sum(it) + next(it)


def three_deep(x):
    m, k = [[[0.0] * 2 for _ in range(2)] for _ in range(2)], len(x) % 2
    m[k][1][0] = x[0]
    return m[0][1][0]


def three_deep_sorted(x):
    m, k = [[[x[0], 2.0] for _ in range(2)] for _ in range(2)], len(x) % 2
    m[k][1].sort(reverse=True)
    return m[0][1][0]


def longer_row(x):
    m, k = [[x[0], 1.0], [x[1], 2.0]], len(x) % 2
    r = m[k]
    r += [5.0]
    return m[0][-1]


def longer_row_of_a_matrix(x):
    m = [[0.0] * 2 for _ in range(2)]
    for i in range(len(x)):
        m[i % 2][0] += x[i]
    r = m[0]
    r.append(3.0)
    return m[0][-1] * x[0]


def longer_rows(x):
    m = [[v, v * v] for v in x]
    for r in m:
        r.append(1.0)
    return m[1][-1] * x[0]


@pytest.mark.parametrize("f", [three_deep, three_deep_sorted, longer_row, longer_row_of_a_matrix, longer_rows])
def test_a_change_that_the_list_around_would_not_see_is_refused(f):
    with pytest.raises(UnsupportedSyntax, match="list in a list"):
        differentiable(f, mode="python")(X)


@pytest.mark.parametrize("f, text", [(shared_row, "another name|place known only"),
                                     (one_row_twice, "another name|known only"), (read_again, "read again"),
                                     (lambda x: deque([x[0]]), "returns a deque"),
                                     (lambda x: {"a": iter(x)}, "returns a")])
def test_refused(f, text):
    with pytest.raises(AutodiffError, match=text):
        differentiable(f, mode="python")(X)


@pytest.mark.parametrize("n, m", [(2, 3), (2, 4), (3, 4), (4, 7), (5, 5), (6, 3)])
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_correlate_where_the_second_is_longer(n, m, mode):
    a, v = np.linspace(0.3, 1.2, n), np.cos(np.arange(float(m)))
    np.testing.assert_allclose(differentiable(correlated, mode="python")(a, v, mode), correlated(a, v, mode), rtol=1e-13)


def correlated(a, v, mode):
    return np.correlate(a, v, mode)


def close_by_position(x):
    return x[0] if np.allclose(x, x + 0.01, 1e-5, 0.1) else x[1]


def grid_of_a_number(x):
    a, b = np.meshgrid(x[0], x)
    return np.sum(a * b)


def asked_of_a_constant(x):
    try:
        big = (2.0 > 1.0).any()
    except AttributeError:
        big = False
    return x[0] if big else x[1] * x[2]


@pytest.mark.parametrize("f", [close_by_position, grid_of_a_number, asked_of_a_constant])
def test_small_things(f):
    assert_gradient(f, (X,), (0,), "python")


PARTS = {"scale": 2.0, "rows": np.arange(3.0), "more": {"depth": 2}}


@pytest.mark.parametrize("f", [
    lambda x: x[0] * len(PARTS.keys()), lambda x: x[0] * (len(PARTS.values()) + len(PARTS.items())),
    lambda x: x[0] * len({"first": x[0], "all": x}.values()), lambda x: x[0] * len(max(PARTS.keys(), key=len)),
    lambda x: sum({"a": x[0], "b": x[1]}.values()) * max({"a": x[0], "b": x[1]}.values()),
    lambda x: x[0] * any({"a": x[0], "b": x}.keys())])
def test_views_of_dicts_with_arrays(f):
    value, slope = differentiable(f, mode="python")(X), grad(f, mode="python")(X)
    assert value == f(X)
    np.testing.assert_allclose(slope, [(f(X + e) - f(X - e)) / 2e-6 for e in 1e-6 * np.eye(4)], atol=1e-8)
