"""Operators on lists and tuples, known and of run time: Python's, in values and gradients, or refused."""

import numpy as np
import pytest

from autodiff import AutodiffError, differentiable, value_and_grad

from .fuzz.list_expressions import alike, attempt, plain
from .support import from_text

X = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
V = np.array([3.0, 1.0, 2.0])


def sorted_between_ends(x):
    e = [0.0] + sorted(x) + [10.0]
    return sum((b - a) ** 2 for a, b in zip(e, e[1:], strict=False))


def sorted_repeated(x):
    return len(sorted(x) * 2), sum(sorted([x[0], x[1]]) + [x[2]]), sorted(x) == sorted(x)


def repeated_by_an_argument(n):
    return [1.0, 2.0] * n, n * [3.0], sum((0.0,) * n + (1.0,)), len([1.0, 0] * n), len([2.0] * (n - 9))


def signs(x):
    return np.array([1, -1.0] * len(x))[:len(x)] @ x


def beyond_the_known(a, b, c, d):
    xs = [a, b, c, d] * 5
    ys = (xs + xs) * 2
    return len(ys), ys[1], ys[79]


def rows_of(x):
    return list(x)


def rows_repeated(x):
    return len(list(x) * 2), sum(([r for r in x] * 2)[4]), (x.tolist() * 2)[4], list(rows_of(x))[0] * 2, len(
        [[v, 1.0] for v in x[0]] + [[v, v] for v in x[1]])


def kinds(x):
    ys = [v * v for v in x]
    return (isinstance(ys, np.ndarray), isinstance(ys, list), isinstance(list(x), list), hasattr(list(x), "shape"),
            type(sorted(x)) is list, isinstance([(v, v) for v in x][0], tuple), not ys,
            isinstance([[v] for v in x][0], list))


def ordered(x):
    pairs = [(x[0], x[1]), (x[0], x[2])]
    return ([1.0, 2.0] < [1.0, 3.0], x.shape > (2, 9), list(x) == [3.0, 1.0, 2.0], list(x) < [3.0, 1.0, 3.0],
            x.shape < (3, 3), pairs[0] < pairs[1], [v for v in x if v > 1.0] >= [3.0], (1.0, 2) == [1.0, 2],
            [[v, v] for v in x] < [[9.0, 1.0]], [x[0]] != [x[0], 1.0], x == None)  # noqa: E711


def largest(x):
    return (max((x[0], 2.0), (x[1], 7.0)), min([v for v in x if v > 9.0], default=3.0), max((), default=4.0),
            max([v for v in x if v > 1.0], default=3.0), max([x[0], 1.0], [x[0], 2.0]))


def sums_of_lists(x):
    return sum([[v] for v in x[0]], []), sum([list(r) for r in x], []), sum([[1.0, x[0, 0]], [2.0]], [])


def in_place(x):
    ys = [x[0], 2.0]
    zs = ys
    ys *= 2
    d = {"a": ys}
    d["a"] += [x[1]]
    return len(zs), sum(zs)


def growing_rows(x):
    rows, arrays = [], []
    for v in x:
        if v > 0.0:
            rows.append([v * u for u in x])
            arrays.append(v * x)
    total = 0.0
    for r in rows:
        total = total + len(r * 2)
    return len(rows[0] * 2), sum(rows[1] + rows[2]), total, sum(arrays[1] * 2)


def as_arrays(x):
    return [f(list(x)) * 2 for f in (np.array, np.asarray, np.atleast_1d, np.transpose, np.squeeze, np.copy)]


@pytest.mark.parametrize("f, args", [
    (sorted_between_ends, (V,)), (sorted_repeated, (V,)), (repeated_by_an_argument, (3,)), (signs, (V,)),
    (beyond_the_known, (1.0, 2.0, 3.0, 4.0)), (rows_repeated, (X,)), (kinds, (V,)), (ordered, (V,)), (largest, (V,)),
    (sums_of_lists, (X,)), (in_place, (V,)), (growing_rows, (V,)), (as_arrays, (V,))],
    ids=lambda p: getattr(p, "__name__", ""))
def test_as_python_does(f, args):
    assert alike(plain(differentiable(f, mode="python")(*args)), plain(f(*args)))


def repeated_rows(x):
    ys = [r * x[0, 0] for r in x] * 2
    return sum(ys[3]) + ys[0][1] * ys[5][0]


def lowest_pair(x):
    a, b = (x[0], x[1] ** 2), (x[1], x[0] ** 2)
    low = min(a, b)
    return low[0] * low[1] + sum([v * v for v in x] * 2)


@pytest.mark.parametrize("f, at", [(sorted_between_ends, V), (signs, V), (repeated_rows, X), (lowest_pair, V)])
def test_gradients(f, at):
    value, gradient = value_and_grad(f, mode="python")(at)
    assert np.isclose(value, f(at))
    for k in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[k] = 1e-6
        assert np.isclose(gradient[k], (f(at + step) - f(at - step)) / 2e-6, atol=1e-5)


@pytest.mark.parametrize("f", [
    lambda x: [1.0] * 20 + 1.0, lambda x: -list(x), lambda x: abs(list(x)), lambda x: list(x) * 2.0, lambda x: list(x) < 2.0,
    lambda x: list(x)[0, 1], lambda x: list(x)[[0, 1]], lambda x: list(x)[None], lambda x: list(x)[x > 1.0],
    lambda x: list(x) + (1.0,), lambda x: (1.0,) + list(x), lambda x: max(3.0), lambda x: sum([[]] * 20),
    lambda x: [v for v in x if v > 1.0] - [1.0], lambda x: [x[0], 1.0] / 2, lambda x: list(x) @ list(x),
    lambda x: (x[0],) < [1.0], lambda x: x[0] * [1.0],
    lambda x: sum([0.5] * len(x), []), lambda x: -(x[0], 1.0)])
def test_type_errors(f):
    with pytest.raises(TypeError):
        f(V)
    with pytest.raises((TypeError, AutodiffError)):
        differentiable(f, mode="python")(V)


def test_lists_have_no_attributes_of_arrays():
    for f in (lambda x: list(x).sum(), lambda x: [v for v in x].shape):
        with pytest.raises(AttributeError):
            differentiable(f, mode="python")(V)
    with pytest.raises(ValueError, match="is empty|is an empty sequence"):
        differentiable(lambda x: max([]), mode="python")(V)


def shared_row(x):
    ys = list(x) * 2
    ys[0][0] = 5.0
    return sum(ys[3])


def second_name(x):
    ys = [v for v in x]
    zs = ys
    ys *= 2
    return len(zs)


def unlike_rows(x):
    rows = []
    for v in x:
        if v > 0.0:
            rows.append([u for u in x])
            rows.append(v * x)
    return rows[0] * 2


def dict_of_run_time(n):
    return {i: i * 2 for i in range(n)}


@pytest.mark.parametrize("f, argument", [
    (shared_row, X), (second_name, V), (unlike_rows, V), (dict_of_run_time, 3),
    (lambda n: [np.zeros(2), np.ones(3)] * n, 3), (lambda x: max(x), X)])
def test_refused(f, argument):
    with pytest.raises(AutodiffError):
        differentiable(f, mode="python")(argument)


@pytest.mark.parametrize("start", range(0, 200, 50))
def test_random_expressions(start):
    for seed in range(start, start + 50):
        outcome, script = attempt(seed)
        assert outcome.verdict != "failed", f"{script}\n{outcome.text}"


@pytest.mark.parametrize("times", [0, -1, False])
def test_no_items_of_any_shape(times):
    """NumPy's array of a list without items has one axis, whatever the items would have been."""
    def f(x):
        rows = [list(row) for row in x]
        again = rows * times
        rows *= times
        return np.array(times * [list(row) for row in x]) * 2.0, np.array(again), len(rows)

    for found, expected in zip(differentiable(f, mode="python")(X), f(X), strict=True):
        assert np.shape(found) == np.shape(expected)


ORDERS = ["[x[0], 2.0] < [x[0], x[1]]", "list(x) > [1.0] * n", "[1.0] * n < sorted([x[2], x[0]])",
          "known < [x[1], 1.0, x[2]] * 2",
          "[[x[0], 1.0]] < [[v, v] for v in x]", "(x[0], 2.0) <= (x[0], 2.0)", "[1.0, 2.0] <= known", "x.shape < (4,) * n"]


@pytest.mark.parametrize("expression", ["{0}", "-({0})", "({0}) + ({0})", "({0}) * ({0})", "hasattr({0}, 'shape')",
                                        "2.0 * ({0})"])
@pytest.mark.parametrize("order", ORDERS)
def test_an_order_is_a_truth_as_of_the_items_that_differ(order, expression):
    """NumPy's where its numbers differ, else Python's own: what differs between them is as in Python, or refused."""
    f = from_text("f", f"def f(x, n, known):\n    return {expression.format(order)}")
    differentiated = differentiable(f, mode="python")
    try:
        expected = f(V, 3, [3.0, 1.0])
    except TypeError:
        with pytest.raises(AutodiffError):
            differentiated(V, 3, [3.0, 1.0])
        return
    try:
        found = differentiated(V, 3, [3.0, 1.0])
    except AutodiffError:
        assert expression not in ("{0}", "2.0 * ({0})")
        return
    assert found == expected and (expression in ("{0}", "2.0 * ({0})") or type(found) is type(expected))


def test_a_sum_of_pythons_own_numbers_is_one():
    """Beside NumPy's, lists are arrays."""
    with pytest.raises(AutodiffError, match="unsupported operand"):
        differentiable(lambda x, n: x.tolist()[1:] / sum([0.5] * n), mode="python")(V, 3)
    with pytest.raises(AutodiffError, match="a list are compared"):
        differentiable(lambda n: sum([0.5] * n) == [0.5] * n, mode="python")(3)


@pytest.mark.parametrize("use", ["{0} == list(x)", "{0} != None", "[{0}] == [list(x)]", "list(x) in [{0}]", "({0}) is None"])
@pytest.mark.parametrize("chosen", ["(x.tolist() or [[v, v] for v in x])",
                                    "(x.tolist() if x[0] > 0 else [[v, v] for v in x])"])
def test_lists_that_do_not_fit_together_have_no_comparison(chosen, use):
    f = from_text("f", f"def f(x):\n    return {use.format(chosen)}")
    with pytest.raises(AutodiffError, match="a list on one path and another one on another"):
        differentiable(f, mode="python")(V)
