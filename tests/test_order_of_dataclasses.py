"""Comparisons that `@dataclass(order=True)` and `total_ordering` write, and objects chosen by them: Python is the oracle."""

import dataclasses
import functools

import numpy as np
import pytest

from autodiff import AutodiffError, grad, value_and_grad

from .support import assert_gradient

X = np.array([0.73, 1.31, 2.13, 0.44])


@dataclasses.dataclass(order=True)
class Pt:
    a: float
    b: float = 0.0


@dataclasses.dataclass(order=True)
class Job:
    prio: float
    cost: float = dataclasses.field(compare=False)
    name: str = "a"


@functools.total_ordering
class Tot:
    def __init__(self, v):
        self.v = v

    def __lt__(self, other):
        return self.v < other.v

    def __eq__(self, other):
        return self.v == other.v


class Child(Pt):
    pass


def dc_order(x):
    p = Pt(x[0], x[1])
    q = Pt(x[1], x[0])
    if p < q:
        return p.a * q.b * 3
    return p.b


def dc_fields(x):
    a, b = Job(x[0], x[1]), Job(x[0], x[2], "b")
    c = Job(x[1], 1.0)
    s = 0.0
    if a < b:
        s += a.cost
    if b >= c:
        s += 10
    if a <= a and not a > a:
        s += b.cost * x[0]
    return s


def tot(x):
    a, b = Tot(x[0]), Tot(x[1])
    return x[0] if a > b else x[1] * x[0] if a <= b else 1.0


def of_a_base(x):
    return x[0] * 3 if Child(x[0], x[1]) < Child(x[0], x[2]) else x[1]


def extremes(x):
    points = [Pt(v, v * 2) for v in (x[0], x[1], x[2])]
    return max(points).b + min(points).a * x[0]


@pytest.mark.parametrize("function", [dc_order, dc_fields, tot, of_a_base, extremes], ids=lambda f: f.__name__)
def test_values_and_derivatives(function):
    assert_gradient(function, (X,), (0,), "python")


def test_unlike_classes_are_not_ordered():
    def compared(x):
        return x[0] if Pt(x[0], 1.0) < Job(x[0], 1.0) else x[1]

    with pytest.raises(TypeError, match="'<' not supported between instances of 'Pt' and 'Job'"):
        compared(X)
    with pytest.raises(TypeError, match="'<' not supported between instances of 'Pt' and 'Job'"):
        value_and_grad(compared, mode="python")(X)


# ---- an object that one of two names sees, by the way the program went ------------------------------------------
def first_changes(x):
    p, q = Pt(x[0], x[1]), Pt(x[1], x[0])
    m = p if x[0] < x[1] else q
    p.b = 3 * x[0]
    return m.b * q.b


def first_changes_in_a_method(x):
    p, q = [x[0]], [x[1]]
    if x[0] < x[1]:
        m = p
    else:
        m = q
    return p.pop() + len(m)


def largest_of_lists(x):
    p, q = [x[0], x[1]], [x[1], x[0]]
    m = max(p, q)
    q[0] = 3 * x[0]
    return m[0]


def inside_a_list(x):
    p, q = Pt(x[0], x[1]), Pt(x[1], x[0])
    kept = [p if x[0] < x[1] else q]
    p.b = 3 * x[0]
    return kept[0].b


def two_that_were_chosen(x):
    p, q = Pt(x[0], x[1]), Pt(x[1], x[0])
    m = p if x[0] < x[1] else q
    n = p if x[1] < 2 else q
    p = q = None
    m.b = 3 * x[0]
    return n.b


@pytest.mark.parametrize(
    "function",
    [first_changes, first_changes_in_a_method, largest_of_lists, inside_a_list, two_that_were_chosen],
    ids=lambda f: f.__name__,
)
def test_a_change_that_the_chosen_object_may_share_is_refused(function):
    with pytest.raises(AutodiffError, match="by the way the program went"):
        grad(function, mode="python")(X)


def chosen_and_done_with(x):
    p, q = Pt(x[0], x[1]), Pt(x[1], x[0])
    total = 0.0
    for k in range(3):
        m = p if x[0] < x[1] else q
        total += m.b * q.a
        p.b = p.b * x[2]
    return total


def chosen_by_a_copy(x):
    p, q = Pt(x[0], x[1]), Pt(x[1], x[0])
    m = dataclasses.replace(p if x[0] < x[1] else q)
    p.b = 3 * x[0]
    return m.b * p.b


@pytest.mark.parametrize("function", [chosen_and_done_with, chosen_by_a_copy], ids=lambda f: f.__name__)
def test_a_change_that_nobody_sees_is_not(function):
    assert_gradient(function, (X,), (0,), "python")
