"""What Python means: truths, identity, values that differ by path, comparisons that stop. Python says what is right."""

import sys

import numpy as np
import pytest

from autodiff import AutodiffError, TypeConflict, UnsupportedSyntax, value_and_grad

from .support import Collected

X = np.array([1.0, 2.0, 3.0, 4.0])
program = PROGRAMS = Collected()


@program
def numpy_truths_added(x):
    return x[0] * ((x[0] > 0) + (x[1] > 0))


@program
def truths_of_python_added(x):
    a = bool(x[0] > 0)
    b = bool(x[1] > 0)
    return x[0] * (a + b)


@program
def sum_of_truths(x):
    return x[0] * sum([x[0] > 0, x[1] > 0])


@program
def product_of_a_truth(x):
    return x[0] * (x[0] > 0) * 3.0


@program
def arithmetic_of_own_truths(x, k=2.0):
    f = k > 1
    return x[0] * (f + f + True) + x[1] * (-f) + x[2] * (~f)


@program
def inverted_numpy_truth(x):
    return x[0] * (~(x[0] > 0)) + x[1]


@program
def all_operators_of_a_truth(x):
    f = not x[0] > 3
    return x[0] * (f / 2 + f**2 + f // 2 + f % 2 + round(f) + abs(f) + int(f) + max(f, False))


@program
def counts_by_numpy(x):
    return x[0] * np.sum(x > 1.5) + x[1] * np.sum([v > 1.5 for v in x])


@program
def sum_of_generated_truths(x):
    return x[0] * sum(v > 1.5 for v in x)


@program
def best_so_far(x):
    best = None
    for v in x:
        if best is None or v > best:
            best = v
    return best * 2


@program
def best_so_far_in_while(x):
    best = None
    where = -1
    i = 0
    while i < len(x):
        if best is None or x[i] > best:
            best = x[i]
            where = i
        i += 1
    return best * 2 + x[where]


def first_large(x):
    for v in x:
        if v > 2.5:
            return v


@program
def number_or_nothing(x):
    return first_large(x) * 2


@program
def nothing_returns_early(x):
    m = first_large(x)
    if m is None:
        return 0.0
    return m * m


@program
def nothing_was_found(x):
    m = first_large(x - 10)
    if m is None:
        return x[0]
    return m * m


@program
def number_or_default(x):
    m = first_large(x)
    return (m or 5.0) * x[1]


@program
def function_by_path(x):
    f = np.sin if x[0] > 0.5 else np.cos
    return f(x[1])


@program
def lambda_by_path(x):
    f = (lambda v: v * v) if x[0] > 0.5 else (lambda v: v * 3)
    return f(x[1])


@program
def dict_item_by_path(x):
    d = {"a": x[0], "b": x[1] * 2}
    k = "a" if x[0] > 5 else "b"
    return d[k]


@program
def dict_item_written_by_path(x):
    d = {"a": x[0], "b": x[1] * 2}
    k = "a" if x[0] > 5 else "b"
    d[k] = x[2]
    return d["a"] + d["b"] * 3


@program
def text_in_tuple(x):
    k = "a" if x[0] > 5 else "b"
    return x[0] if k in ("b", "c") else x[1]


@program
def array_or_none(x):
    k = None if x[0] > 5 else x
    if k is not None:
        return np.sum(k * k)
    return x[0]


@program
def sum_from_none(x):
    s = None
    for i in range(len(x)):
        y = x * i
        if s is None:
            s = y
        else:
            s = s + y
    return np.sum(s * s)


@program
def state_machine(x):
    state = "up"
    t = 0.0
    for i in range(len(x)):
        if state == "up":
            t = t + x[i]
            if t > 2.5:
                state = "down"
        else:
            t = t - 0.5 * x[i]
    return t


@program
def isinstance_by_path(x):
    r = first_large(x)
    return isinstance(r, float) * x[0] + (r is None) * x[1]


@program
def previous_or_none(x):
    prev = None
    t = 0.0
    for v in x:
        if prev is not None:
            t += v * prev
        prev = v
    return t


@program
def slice_bound_by_path(x):
    n = None
    if x[0] > 0.5:
        n = 2
    return np.sum(x[:n])


@program
def text_decides_then_raises(x):
    kind = "l1" if x[0] > 5 else "l2"
    if kind == "l1":
        return np.sum(np.abs(x))
    elif kind == "l2":
        return np.sqrt(np.sum(x * x))
    raise ValueError(kind)


@program
def tuple_or_none(x):
    r = (1, x[0]) if x[0] > 0.5 else None
    if r is None:
        return 0.0
    i, v = r
    return i * v


@program
def long_chain(x):
    return 1.0 if 0 < x[0] < x[1] < x[2] else x[0]


@program
def chain_guards_an_index(x):
    i = 4
    return x[0] if 0 <= i < len(x) and x[i] > 0 else x[1]


@program
def numpy_truth_is_not_true(x):
    ok = x[0] > 0.5 and x[1] > 0.5
    return x[0] * (ok is True) + x[1] * ok


@program
def slice_bound_none(x):
    k = None if x[0] > 5 else 2
    return np.sum(x[:k] * x[:k]) + np.sum(x[k:])


@program
def text_compared_where_it_stands(x):
    def kind(v):
        if v > 2.5:
            return "convex"
        return "concave"
    return (x[0] if kind(x[0]) == "convex" else x[1]) + (x[2] if kind(x[2]) != "concave" else x[3])


@program
def text_from_a_loop(x):
    def search(v):
        for i in range(len(v)):
            if v[i] > 2.5:
                return "found"
        return "none"
    return x[0] if search(x) == "found" else x[1]


@program
def flag_is_true(x):
    found = False
    for v in x:
        if v > 2.5:
            found = True
    return x[0] if found is True else x[1]


@program
def one_array_or_two(x):
    def gram(u, v):
        return np.sum(u * v) + (100.0 if u is v else 0.0)
    return gram(x, x) + gram(x, x * 1.0)


@program
def one_list_or_two(x):
    first = [x[0]]
    second, third = first, [x[0]]
    return (x[0] if second is first else x[1]) + (x[2] if third is not first else x[3])


@program
def a_chain_stops(x):
    calls = [0.0]
    def g(v):
        calls[0] += 1.0
        return v
    r = 1.0 if g(x[3]) < g(x[0]) < g(x[1]) else 2.0
    return r * x[0] + calls[0] * x[1]


@program
def piecewise_of_a_number(x):
    return np.piecewise(x[0], [x[0] < 0, x[0] >= 0], [lambda v: -v, lambda v: v * v]) + np.piecewise(
        x[1], [x[1] < 0], [0.0, lambda v: v * 3])


@program
def tuples_with_texts(x):
    a, b = (x[0], "up") if x[0] > 0.5 else (x[1], "down")
    pair = (x[2], None) if x[0] > 0.5 else (None, x[3])
    return (a * 2 if b == "up" else a) + (pair[0] if pair[0] is not None else 0.0)


@program
def array_from_the_first_turn_on(x):
    a = None
    for i in range(len(x)):
        if a is None:
            a = x.copy()
        a[i] = a[i] * 2
    return np.sum(a)


@program
def sorted_downwards(x):
    return sum(sorted([x[2], x[0], x[1]], reverse=True)[:2]) + sorted([3, 1, 2], key=lambda v: -v)[0] * x[3]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_program(f):
    value, gradient = value_and_grad(f, mode="python", debug=True)(X)
    assert value == pytest.approx(f(X), rel=1e-12)
    differences = [(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(4)]
    np.testing.assert_allclose(gradient, differences, atol=1e-5)


def test_arithmetic_with_nothing_raises_where_python_does():
    def f(x):
        return first_large(x) * x[0]
    run = value_and_grad(f, mode="python")
    assert run(X)[0] == 3.0
    with pytest.raises(TypeError):
        run(X - 10.0)


def test_the_result_may_be_missing():
    run = value_and_grad(first_large, mode="python")
    assert run(X)[0] == 3.0
    with pytest.raises(TypeError, match="returned None"):
        run(X - 10.0)


@pytest.mark.parametrize("f", [lambda x: x[0] * -(x[0] > 0), lambda x: x[0] * ((x[0] > 0) - (x[1] > 0)),
                               lambda x: np.sum(x * (-(x > 0)))])
def test_numpy_truths_without_meaning(f):
    with pytest.raises(TypeError):
        f(X)
    with pytest.raises(TypeConflict, match="booleans"):
        value_and_grad(f, mode="python")(X)


def same_number(x):
    a = x[0]
    return x[1] if a is x[0] else x[2]


def same_argument(x, y):
    return np.sum(x * y) if x is y else np.sum(x)


def truth_of_two_kinds(x):
    flag = True
    if x[0] > 0.5:
        flag = x[1] > 0.5
    return x[0] * (flag + flag)


@pytest.mark.parametrize("f, args", [(same_number, (X,)), (same_argument, (X, X + 1.0)), (truth_of_two_kinds, (X,))])
def test_what_is_not_known_is_refused(f, args):
    with pytest.raises(UnsupportedSyntax) as raised:
        value_and_grad(f, mode="python")(*args)
    assert "%" not in str(raised.value)


def test_messages_have_no_names_of_the_compiler():
    def f(x):
        return np.sum([x[0]] if x[0] > 0.0 else {"a": x[0]})
    with pytest.raises(AutodiffError) as raised:
        value_and_grad(f, mode="python")(X)
    assert "%" not in str(raised.value)


def test_compiled():
    found, _ = value_and_grad(best_so_far)(X)
    assert found == 8.0


def divided_by_zero(x):
    return x[0] + -1.0 / 0.0


def remainder_by_zero(x):
    return x[0] * (1 % 0)


def power_of_zero(x):
    k = 0.0
    return x[0] * k ** -1


def divided_in_a_branch(x):
    if x[0] > 100:
        return x[0] * (1 // 0)
    return x[0]


@pytest.mark.parametrize("f", [divided_by_zero, remainder_by_zero, power_of_zero])
def test_constants_divided_by_zero_raise_as_python(f):
    with pytest.raises(ZeroDivisionError):
        value_and_grad(f, mode="python")(X)


def test_a_division_by_zero_raises_where_it_stands():
    f = value_and_grad(divided_in_a_branch, mode="python")
    assert f(X)[0] == 1.0
    with pytest.raises(ZeroDivisionError):
        f(X * 200)


@pytest.mark.parametrize("f", [lambda x: print(x[0], file=sys.stderr) or x[0], lambda x: print(x[0], end=f"{x[1]}") or x[0],
                               lambda x: print(x[0], x[1], sep=f"{x[1]}") or x[0]])
def test_prints_of_another_form_are_refused(f):
    with pytest.raises(UnsupportedSyntax, match=r"print\(\)"):
        value_and_grad(f, mode="python")(X)
