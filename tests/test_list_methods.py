"""Methods of lists of run-time length, and what built-in functions make of their tuples, as in Python."""

from __future__ import annotations

import numpy as np
import pytest

from autodiff import AutodiffError, differentiable, grad, value_and_grad

from .fuzz.list_methods import attempt
from .test_returned_lists import same

X = np.array([3.0, 1.0, 2.0, 5.0])


def rows(x):
    return [(v, i) for i, v in enumerate(x)]


def of_tuples(x, n):
    pairs = rows(x)
    return max(pairs), min((v, i) for i, v in enumerate(x)), sorted(pairs, reverse=True), (1.0, 1) in pairs, sorted(zip(
        x, range(n))), pairs.index((2.0, 2)), pairs.count((2.0, 3)), (7.0, 1) not in pairs


def by_keys(x, n):
    return max(range(n), key=lambda i: x[i]), min(x, key=lambda v: (v - 2.0) ** 2), sorted(x, key=lambda v: -v), sorted(
        rows(x), key=lambda p: p[1] % 2), sorted(rows(x), key=lambda p: p[1] % 2, reverse=True), sorted(
        range(n), key=lambda i: (i % 2, x[i]))


def found(x, n):
    a, b = list(x), [3.0, 1.0, 2.0]
    return a.index(2.0), a.count(2.0), b.index(x[1]), b.count(x[2]), tuple(x).index(5.0)


def inserted(x, n):
    a, front = [v for v in x], []
    a.insert(1, 5.0)
    a.insert(-1, 6.0)
    a.insert(100, 7.0)
    for v in x:
        front.insert(0, v)
    return a, front


def in_order(x, n):
    a, b, c, d = [v for v in x], [v for v in x], [v for v in x], [x[0], x[1], x[2]]
    second = a
    a.sort()
    b.sort(reverse=True)
    c.reverse()
    d.sort()
    return a, b, c, d, second


def extended(x, n):
    a = [v for v in x]
    a.extend([2.0 * v for v in x])
    a.extend(v + 1.0 for v in x[:2])
    a += [1.0]
    b = a.copy()
    b[0] = 9.0
    b.clear()
    b.append(x[0])
    return a, b


def shortened(x, n):
    a, b = [v * v for v in x], [v for v in x]
    del a[1]
    a.remove(4.0)
    first = a.pop(0)
    del b[:2]
    del b[-1:]
    pairs = rows(x)
    del pairs[0]
    taken = pairs.pop(1)
    return a, first, b, pairs, taken


def queue(x, n):
    a = [v for v in x]
    while len(a) > 1:
        first = a.pop(0)
        second = a.pop(0)
        a.append(first * second + 1.0)
    return a[0]


@pytest.mark.parametrize("f", [of_tuples, by_keys, found, inserted, in_order, extended, shortened, queue])
def test_as_in_python(f):
    made = differentiable(f, mode="python")(X, 4)
    assert same(f(X, 4), made), made


def test_what_is_in_an_array_is_a_truth_of_python():
    assert differentiable(lambda x: (1.0 in x) + (2.0 in x) + (9.0 not in x), mode="python")(X) == 3
    assert differentiable(lambda x: 9.0 in x, mode="python")(X) is False


def test_compiled():
    assert same(shortened(X, 4), differentiable(shortened)(X, 4))


def test_gradients():
    def loss(x):
        a = [v * v for v in x]
        a.sort()
        a.insert(1, x[0] * x[1])
        return a[0] * a.pop(1) + 2.0 * max((v, -v) for v in x)[0] + sorted(x, key=lambda v: -v)[1] ** 3
    assert np.allclose(grad(loss, mode="python")(X), [1.0 + 3 * 9.0, 9.0, 0.0, 2.0])
    assert np.allclose(grad(lambda x: queue(x, 4), mode="python")(X), [11.0, 33.0, 20.0, 8.0])


@pytest.mark.parametrize("f", [
    lambda x: [v for v in x].index(7.0), lambda x: max((v, v) for v in x if v > 9.0)])
def test_errors(f):
    with pytest.raises((ValueError, IndexError)) as wanted:
        f(X)
    with pytest.raises(wanted.type):
        differentiable(f, mode="python")(X)


def test_random_programs():
    for seed in range(20):
        outcome, text = attempt(seed)
        assert outcome.verdict != "failed", f"{text}\n{outcome}"


def kind_by_iteration(x, n):
    b = [x[0]] * n
    for _ in range(n - 1):
        b = tuple([v for v in x])
    return b


def kind_by_branch(x, n):
    b = [v for v in x]
    if x[0] > 100.0:
        b = tuple([v * 2.0 for v in x])
    return b


@pytest.mark.parametrize("f", [kind_by_iteration, kind_by_branch])
def test_a_list_on_one_path_and_a_tuple_on_another_is_refused(f):
    with pytest.raises(AutodiffError):
        differentiable(f, mode="python")(X, 4)


def doubled_by_an_operator(x, n):
    a = []
    for k in range(n):
        a.append(x * k)
    a += a
    return sum(a) * len(a)


def doubled_by_a_method(x, n):
    a = []
    for k in range(n):
        a.append(x * k)
        a.extend(a)
    a[0] = 5.0
    return sum(a) * a[-1]


@pytest.mark.parametrize("f", [doubled_by_an_operator, doubled_by_a_method])
def test_a_list_is_extended_by_itself(f):
    value, slope = value_and_grad(f, mode="python")(2.0, 3)
    assert value == f(2.0, 3)
    assert slope == pytest.approx((f(2.0 + 1e-6, 3) - f(2.0 - 1e-6, 3)) / 2e-6, rel=1e-6)
