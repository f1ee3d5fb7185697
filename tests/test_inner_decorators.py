"""Decorators on inner functions: values and gradients of the same function, as Python runs it."""

import contextlib
import functools

import numpy as np
import pytest

from autodiff import UnsupportedSyntax, check_grads, differentiable, grad, value_and_grad

X = np.array([1.2, 2.5, 0.7, 3.1])


def doubled(f):
    @functools.wraps(f)
    def g(*args, **named):
        return 2.0 * f(*args, **named)
    return g


def scaled(by, *, shift=0.0):
    def decorate(f):
        return lambda v: by * f(v) + shift
    return decorate


def one(x):
    @doubled
    def h(v):
        return np.sum(v * v)
    return h(x)


def inner_decorator(x):
    def cubed(f):
        @functools.wraps(f)
        def g(v):
            return f(v) ** 3
        return g

    @cubed
    def h(v):
        return v * x[1]
    return h(x[0])


def from_the_inside_out(x):
    @doubled
    @scaled(x[1], shift=x[2])
    def h(v):
        return v * v + 1.0
    return h(x[0])


def recurs_through_the_decorator(x):
    @doubled
    def h(v, n):
        return v if n == 0 else v * h(v, n - 1)
    return h(x[0], 3)


def decorator_reads_the_name_anew(x):
    @doubled
    def h(v):
        return v * v
    k = h

    @scaled(h(x[0]))
    def h(v):
        return k(v) + 1.0
    return h(x[1])


def evaluated_before_defaults(x):
    total = x[0]

    def first():
        nonlocal total
        total = total * x[1]
        return doubled

    def second():
        nonlocal total
        total = total + x[2]
        return total

    @first()
    def h(v, w=second()):           # noqa: B008
        return v * w
    return h(x[3])


def decorator_that_changes_names(x):
    total = 0.0

    def counted(f):
        nonlocal total
        total = total + x[1] * x[1]
        return f
    for k in range(3):
        @counted
        def h(v):
            return v * total
        total = total + h(x[k])
    return total


def decorated_in_loops_and_branches(x):
    s = 0.0
    for v in x:
        if v > 1.0:
            @scaled(v)
            def h(w):
                return w * w * v
        else:
            @doubled
            def h(w):
                return w + v
        s += h(x[0])
    return s


def a_name_in_a_decorator(x):
    @scaled(y := x[0] * x[1])
    def h(v):
        return v * y
    return h(x[2])


def with_keywords(x):
    @doubled
    def h(v, *, p=2.0):
        return np.sum(v) * p
    return h(x, p=x[0]) + h(x)


def replaced_by_a_number(x):
    @lambda f: f(x[0])
    def h(v):
        return v ** 3
    return h * x[1]


def by_partial(x):
    def power(n, f):
        return lambda v: f(v) ** n

    @functools.partial(power, 3)
    def h(v):
        return v + x[1]
    return h(x[0])


def vectorized(x):
    @np.vectorize
    def h(v):
        return v * v if v > 1.0 else v
    return np.sum(h(x) * x)


def items_of_a_generator(x):
    @doubled_items
    def items():
        yield x[0]
        yield x[1] * x[1]
    return sum(items())


def doubled_items(f):
    return lambda: [2.0 * v for v in f()]


def questions(x):
    @doubled
    def h(v):
        return v * v
    return h(x[0]) if hasattr(h, "__code__") and hasattr(h, "__name__") and not hasattr(h, "keys") else x[1]


PROGRAMS = [one, inner_decorator, from_the_inside_out, recurs_through_the_decorator, decorator_reads_the_name_anew,
            evaluated_before_defaults, decorator_that_changes_names, decorated_in_loops_and_branches, a_name_in_a_decorator,
            with_keywords, replaced_by_a_number, by_partial, vectorized, items_of_a_generator, questions]


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_as_python(f):
    assert differentiable(f, mode="python", debug=True)(X) == pytest.approx(f(X), rel=1e-13)
    assert check_grads(f, (X,), modes=("fwd", "rev"), order=2, mode="python").worst < 1e-5


def test_compiled():
    def f(x):
        return from_the_inside_out(x) + decorated_in_loops_and_branches(x)
    value, gradient = value_and_grad(f)(X)
    assert value == pytest.approx(f(X))
    np.testing.assert_allclose(gradient, grad(f, mode="python")(X), rtol=1e-13)


def test_refused():
    def cached(x):
        @functools.cache
        def h(v):
            return v
        return h(x[0])

    def asked(x):
        @doubled
        def h(v):
            return v
        return x[0] if hasattr(h, "__wrapped__") else x[1]
    with pytest.raises(UnsupportedSyntax, match="the decorator `cache` is not supported on inner functions"):
        grad(cached, mode="python")(X)
    def managed(x):
        @contextlib.contextmanager
        def h():
            yield x[0]
        with h() as v:
            return v
    with pytest.raises(UnsupportedSyntax, match="the decorator `contextmanager`"):
        grad(managed, mode="python")(X)
    with pytest.raises(UnsupportedSyntax, match="__wrapped__"):
        grad(asked, mode="python")(X)
