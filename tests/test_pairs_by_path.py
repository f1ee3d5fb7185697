"""What a fresh reader found: pairs of which either part may be None, dicts and lists whose parts keep what they are, objects
outside whose attributes are bound anew."""

from collections import Counter

import numpy as np
import pytest
from numpy.polynomial import Polynomial

from autodiff import AutodiffError, value_and_grad

from .support import assert_slope, direction_like

X = np.array([0.7, 1.9, 0.3, 1.2, 2.4])
COUNTS = Counter("aab")
P = Polynomial([1.0, 2.0])


def either_end(x):
    s = slice(None, 2) if x[1] > 1 else slice(2, None)
    n = len(x) - 3
    r = slice(None, n) if x[3] > 1 else slice(n, None)
    return np.sum(x[s]) + np.sum(x[r] ** 2)


def either_number(x):
    n = len(x) - 3
    a, b = (None, n) if x[1] > 1 else (n, None)
    return x[0] * (10 if a is None else a) + x[1] * (20 if b is None else b)


def either_axis(x):
    total, a = 0.0, np.outer(x, x ** 2)
    for i in range(len(x)):
        place = (i, slice(None)) if x[i] > 1 else (slice(None), i)
        total += np.sum(a[place])
    return total


def helper(v, n):
    if v > 1:
        return None, n
    return n, None


def ends_of_a_helper(x):
    total = 0.0
    for i in range(len(x)):
        low, high = helper(x[i], i)
        total += np.sum(x[low:high])
    return total


def written(x):
    y, n = x.copy(), len(x) - 3
    s = slice(None, n) if x[1] > 1 else slice(n, None)
    y[s] *= 2.0
    return np.sum(y ** 2)


def inserted(x):
    return np.sum(np.insert(x, [1], [x[0], x[1]]) ** 2)


def one_list(x):
    d = dict.fromkeys("ab", [])
    d["a"].append(x[0])
    return sum(d["b"]) + x[1]


def truths_counted(x):
    m = sum(1 for v in x if v > 1)
    flags = [v > 1 for v in x]
    return x[0] * m ** -1 + sum([x[k] for k in range(5) if flags[k]])


@pytest.mark.parametrize("f", [either_end, either_number, either_axis, ends_of_a_helper, written, inserted, one_list,
                               truths_counted])
def test_as_in_python(f):
    value, gradient = value_and_grad(f, mode="python", debug=True)(X)
    assert np.isclose(value, f(X.copy()))
    d = direction_like(X)
    assert_slope(float(gradient @ d), lambda x: f(x.copy()), (X,), 0, d)


def added_truths(x):
    r = []
    for v in x:
        r.append(v > 1)
    return x[0] * (r[1] + r[3])


def view_and_set(x):
    return x[0] * (3 if {"a": 1}.keys() == {"a"} else 2)


def missing_count(x):
    try:
        t = COUNTS["zz"]
    except KeyError:
        t = 7.0
    return t * x[0]


def view_joined(x):
    try:
        {"a": 1.0}.keys() & {"a"}
        t = 1.0
    except TypeError:
        t = 2.0
    return t * x[0]


def power_by_path(x):
    k = np.int64(2)
    if x[0] > 0:
        k = 2
    return x[0] * k ** -1


@pytest.mark.parametrize("f", [added_truths, view_and_set, view_joined, power_by_path])
def test_refused_not_wrong(f):
    with pytest.raises(AutodiffError):
        value_and_grad(f, mode="python")(X)


def test_what_a_counter_does_not_hold():
    np.testing.assert_array_equal(value_and_grad(missing_count, mode="python")(X)[0], missing_count(X))


def test_small_integers_in_lists():
    def f(x):
        r = [np.int8(100) for _ in range(len(x))]
        return x[0] * (r[1] + r[3])
    with np.errstate(over="ignore"):
        assert np.isclose(value_and_grad(f, mode="python")(X)[0], f(X))


def test_coefficients_bound_anew(monkeypatch):
    def f(x):
        return P(x[0]) + P.coef[0] * x[1]
    g = value_and_grad(f, mode="python")
    for coefficients in ([1.0, 2.0], [5.0, 6.0], [1.0, 2.0, 3.0]):
        monkeypatch.setattr(P, "coef", np.array(coefficients))
        for made in (g, value_and_grad(f, mode="python")):
            assert np.isclose(made(X)[0], f(X))
