"""When parts of an expression are computed: before what the parts after them write."""

import numpy as np
import pytest

from autodiff import UnsupportedSyntax, grad

from .support import assert_gradient

X = np.array([0.3, 0.7, 1.1])


def bump(a):
    a += 1.0
    return a


def first(p, q):
    return np.sum(p*q)


def factor_changed_by_the_other(x):
    a = x.copy()
    return np.sum(a*2 * bump(a))


def argument_changed_by_the_next(x):
    a = x.copy()
    return first(a*2, bump(a))


def two_targets(x):
    a = x.copy()
    b=np.zeros(2)
    a[1:] = b[:] = a[:-1]*2
    return np.sum(a*np.arange(3.))+np.sum(b**2)


def tuple_of_both(x):
    a = x.copy()
    t = (a*2, bump(a)*3)
    return np.sum(t[0]*t[1])


def slices_exchanged(x):
    a = x.copy()
    a[:2], a[1:] = a[1:]*2, a[:2]+1
    return np.sum(a*np.arange(3.)**2)


def dict_of_both(x):
    a = x.copy()
    d = {"p": a*2, "q": bump(a)}
    return np.sum(d["p"]*d["q"])


def whole_arrays_exchanged(x):
    a = x.copy()
    b=x*2
    a[:], b[:] = b+a, a-b
    return np.sum(a*b*x)


def element_and_slice(x):
    a=x.copy()
    a[0], a[1:] = a[1], a[:2]*a[0]
    return np.sum(a*np.arange(3.)**2)


def sums(x):
    a=x.copy()
    s = np.sum(a*2) + np.sum(bump(a)) + a[0]*bump(a)[1]
    return s


def where_with_effects(x):
    a=x.copy()
    return np.sum(np.where(bump(a)>1.5, a*2, bump(a)))


def elements_before_and_after(x):
    a=x.copy()
    return a[0]*bump(a)[1] + (a[0]**2)*bump(a)[0]


def augmented(x):
    a=x.copy()
    y = 0.0
    y += a[1]*bump(a)[0]
    a[1:] += bump(a)[:2]*a[0]
    return y+np.sum(a**2)


@pytest.mark.parametrize("program", [factor_changed_by_the_other, argument_changed_by_the_next, two_targets,
    tuple_of_both, slices_exchanged, dict_of_both, whole_arrays_exchanged, element_and_slice, sums,
    where_with_effects, elements_before_and_after, augmented])
def test_order(program):
    assert_gradient(program, (X,), (0,), "python")


def test_an_element_read_before_its_array_is_changed():
    def f(x):
        a = x.copy()
        a[0] += bump(a)[1]
        return np.sum(a)
    with pytest.raises(UnsupportedSyntax, match="bind it to a name first"):
        grad(f, mode="python")(X)
