"""What a function writes is apart from all else that it is given or reads outside, or the call is refused."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
import pytest

from autodiff import UnsupportedSyntax, grad, jacobian, jvp, value_and_grad, vjp

SHAPES = [(), (3,), (2, 2)]
POINT, VECTOR, ITEMS = np.array(3.0), np.array([3.0, 1.0, 2.0]), [1.0, 2.0]
HOLDER = SimpleNamespace(a=None)


@dataclass
class Part:
    a: Any


def first(a, b):
    a += 1.0
    return np.sum(a * b)


def second(a, b):
    b[...] = 4.0
    return np.sum(a * b)


def in_list(a, b):
    b[0] += 1.0
    return np.sum(a * b[0])


def in_dict(a, b):
    a += 1.0
    return np.sum(a * b["a"])


def in_record(a, b):
    a += 1.0
    return np.sum(a * b.a)


def refused(function, *args, **options):
    with pytest.raises(UnsupportedSyntax, match="share"):
        value_and_grad(function, mode="python", **options)(*args)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_one_array_in_two_arguments(shape):
    def one():
        return np.full(shape, 3.0)
    for function, wrapped in ((first, lambda a: a), (second, lambda a: a), (in_list, lambda a: [a]),
                              (in_dict, lambda a: {"a": a}), (in_record, Part)):
        shared, apart = one(), (one(), wrapped(one()))
        refused(function, shared, wrapped(shared))
        expected = function(*copy.deepcopy(apart))
        assert value_and_grad(function, mode="python")(*apart)[0] == expected
    for operator in (grad, jacobian):
        with pytest.raises(UnsupportedSyntax, match="share memory"):
            operator(first, mode="python")(shared, shared)
    with pytest.raises(UnsupportedSyntax, match="share memory"):
        vjp(first, shared, shared, mode="python")
    with pytest.raises(UnsupportedSyntax, match="share memory"):
        jvp(first, (shared, shared), (one(), one()), mode="python")


def test_elements_and_views_of_one_array():
    a = np.ones(4)
    for pair in ((a, a[0, ...]), (a[1, ...], a[1, ...]), (a, a[::-1])):
        refused(first, *pair)
    assert value_and_grad(first, mode="python")(a[:2], a[2:])[0] == 4.0
    assert value_and_grad(first, mode="python")(a[0, ...], a[1, ...])[0] == 2.0


def test_arrays_that_are_read_outside():
    def outside_point(a):
        a += 1.0
        return np.sum(a * POINT)

    def outside_vector(a):
        a += 1.0
        return np.sum(a * VECTOR)

    def outside_attribute(a):
        a += 1.0
        return np.sum(a * HOLDER.a)

    def outside_element(a):
        a[0] = 7.0
        return np.sum(a) * VECTOR[0]

    def default(a, b=POINT):
        a += 1.0
        return np.sum(a * b)
    HOLDER.a = np.ones(2)
    for function, array in ((outside_point, POINT), (default, POINT), (outside_vector, VECTOR), (outside_element, VECTOR),
                            (outside_vector, VECTOR[::-1]), (outside_attribute, HOLDER.a)):
        refused(function, array)
        assert value_and_grad(function, mode="python")(array.copy())[0] == function(array.copy())


def test_what_one_call_allows_the_next_may_not():
    made = value_and_grad(first)
    a, b = np.ones(3), np.ones(3)
    for _ in range(4):                          # the last ones by the function for calls of this form
        assert made(a, b)[0] == 6.0
    with pytest.raises(UnsupportedSyntax, match="`a` and `b` share memory"):
        made(a, a)


def test_objects_in_two_arguments():
    def lists(x, a, b):
        a[0] = x * 3.0
        return b[0] * x

    def nested(x, a):
        a[0][0] = x * 3.0
        return a[1][0] * x

    def records(x, a, b):
        a.a = x * 3.0
        return b.a * x

    def appends(x, a, b):
        a.append(x)
        return len(b) * x

    def outside(x, a):
        a[0] = x * 3.0
        return ITEMS[0] * x

    def compared(x, a, b):
        return x * 2.0 if a is b else x
    items, record = [1.0, 2.0], Part(1.0)
    for function, args in ((lists, (items, items)), (lists, ([1.0] * 30,) * 2), (nested, ([items, items],)),
                           (records, (record, record)), (appends, (items, items)), (appends, ([1.0] * 30,) * 2),
                           (outside, (ITEMS,)), (compared, (items, items))):
        refused(function, 2.0, *args)
        apart = [copy.deepcopy(a) for a in args] if function is not nested else [[items.copy(), items.copy()]]
        assert value_and_grad(function, mode="python")(2.0, *apart)[0] == function(2.0, *copy.deepcopy(apart))


def test_what_is_only_read_may_be_shared():
    def reads(x, state, a, b):
        state.a = x * a[0]
        return state.a * b[1]
    items = [1.0, 2.0]
    assert value_and_grad(reads, mode="python")(2.0, Part(1.0), items, items) == (4.0, 2.0)


def test_arrays_outside_without_axes_are_not_written():
    def by_name():
        p = POINT
        p += 3.0
        return p

    def by_out():
        np.add(POINT, 1.0, out=POINT)
        return POINT
    for function in (by_name, by_out):
        with pytest.raises(UnsupportedSyntax, match="writes to an array that exists outside"):
            grad(lambda x, function=function: x * function(), mode="python")(2.0)
    assert POINT == 3.0


def test_derivatives_inside_a_program():
    def vectors(x):
        return np.sum(grad(first)(x, x))

    def points(x):
        z = np.array(3.0)
        return x * grad(first)(z, z)

    def apart(x):
        return np.sum(grad(first)(x, x * 1.0))
    for function, x in ((vectors, np.ones(3)), (points, 2.0)):
        with pytest.raises(UnsupportedSyntax, match="shares memory"):
            grad(function, mode="python")(x)
    assert np.allclose(grad(apart, mode="python")(np.ones(3)), 1.0)


def test_compiled_callers():
    derivative = grad(lambda a, b: second(a, b) + 0.0)

    @numba.njit
    def caller(a, b):
        return derivative(a, b)
    a = np.ones(6)
    assert np.allclose(caller(a[:3], a[3:]), 4.0)
    for pair in ((a, a), (a[:3], a[2:5]), (a, a[::-1])):
        with pytest.raises(UnsupportedSyntax, match="share memory"):
            caller(*pair)


def chosen_argument(c, q, u, v):
    if c > 0:
        u = q
    u[1] = v[0] * 2.0
    return u[0] + np.sum(v)


def chosen_field(c, q, r):
    if c > 0:
        r.a = q
    r.a[1] = r.a[0] * 2.0
    return r.a[0] + np.sum(q)


def chosen_outside(c, u):
    if c > 0:
        u = VECTOR
    u[1] = 7.0
    return c * np.sum(u)


@pytest.mark.parametrize("c", [1.0, -1.0])
def test_an_argument_that_is_written_under_a_name_that_a_branch_chooses(c):
    base = np.array([1.0, 2.0, 3.0, 4.0])
    refused(chosen_argument, c, base[1:], np.ones(3), base)
    refused(chosen_argument, c, np.ones(3), base[1:], base)
    apart = c, np.ones(3), np.full(3, 2.0), base
    value = value_and_grad(chosen_argument, wrt=1, mode="python")(*apart)[0]
    assert value == chosen_argument(*copy.deepcopy(apart))
    with pytest.raises(UnsupportedSyntax):
        value_and_grad(chosen_field, mode="python")(c, base, Part(base))
    with pytest.raises(UnsupportedSyntax, match="outside"):
        value_and_grad(chosen_outside, mode="python")(c, np.ones(3))


COMPARED = [[1.0, 2.0]]


def same_lists(x, a, b):
    return x * (a[0] + b[0]) + (1.0 if a is b else 0.0)


def same_records(x, a, b):
    return x * a.a if a is not b.a else x


def same_parts(x, a):
    return x * 2.0 if a[0] is a[1] else x


def same_outside(x, a):
    return x * 2.0 if a is COMPARED[0] else x


def through_an_operator(x, a, b):
    return grad(same_lists)(x, a, b)


SHARED = [3.0, 1.0]


@pytest.mark.parametrize("function, args", [
    (same_lists, (SHARED, SHARED)), (same_records, (Part(SHARED), Part(Part(SHARED)))), (same_parts, ((SHARED, SHARED),)),
    (same_parts, ([SHARED, SHARED],)), (same_outside, (COMPARED[0],)), (through_an_operator, (SHARED, SHARED))])
def test_what_is_compared_by_is_alone_is_not_said_to_be_changed(function, args):
    if function is same_records:
        record = Part(2.0)
        args = record, Part(record)
    with pytest.raises(UnsupportedSyntax, match="asks with `is` whether they are one") as e:
        value_and_grad(function, mode="python")(2.0, *args)
    assert "changes it" not in str(e.value) and "copy" not in str(e.value)
    apart = tuple(copy.deepcopy(a) for a in args) if function is not same_parts else ([[1.0], [1.0]],)
    assert value_and_grad(function, mode="python")(2.0, *apart)[0] == function(2.0, *apart)


def test_one_list_inside_a_program_that_asks_with_is():
    def program(x):
        one = [x, 2.0]
        return grad(same_lists)(x, one, one)
    with pytest.raises(UnsupportedSyntax, match=r"shares[\s\S]*asks with `is` whether") as e:
        grad(program, mode="python")(2.0)
    assert "writes to it" not in str(e.value)
