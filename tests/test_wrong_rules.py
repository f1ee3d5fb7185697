"""Rules that do not fit what they are given to: refused with the name of the rule, where it is given or where it is read."""

import functools

import numpy as np
import pytest

from autodiff import TypeConflict, value_and_grad
from autodiff.rules import constant, partials, pullback, pushforward

X = np.array([1.1, 2.3, 3.2])


def product(a, b):
    return a * b


def too_few(y, a, b):
    return (b,)


def too_many(y, a, b):
    return b, a, a


def one_number(y, a, b):
    return b


def fresh():
    """A function of its own, with the code of `product`."""
    def f(a, b):
        return a * b

    return f


@pytest.mark.parametrize("rule, told", [(too_few, "returns 1 partial derivative for 2 arguments"),
                                        (too_many, "returns 3 partial derivatives for 2 arguments"),
                                        (one_number, "returns 1 partial derivative for 2 arguments")])
@pytest.mark.parametrize("of_arrays", [False, True])
def test_a_rule_of_another_number_of_values_is_named_with_its_line(rule, told, of_arrays):
    f = fresh()
    partials(f)(rule)
    with pytest.raises(TypeConflict, match=f"the rule `{rule.__name__}` of `f` {told}") as e:
        value_and_grad(lambda x: np.sum(f(x, x)) if of_arrays else f(x[0], x[1]), mode="python")(X)
    assert e.value.loc.line == rule.__code__.co_firstlineno


def test_the_rule_of_an_operation_takes_its_arguments():
    with pytest.raises(TypeError, match="the rule `too_few` of `sinh` must take the result and 1 argument, not"):
        partials(np.sinh)(too_few)


@pytest.mark.parametrize("give", [lambda p: partials(p)(lambda y, b: 2.0), lambda p: pullback(p)(lambda y_bar, y, b: 2.0),
                                  lambda p: pushforward(p)(lambda y, b, dot: dot), constant])
def test_no_rule_is_given_to_a_partial(give):
    with pytest.raises(TypeError, match="not to the functools.partial `product`"):
        give(functools.partial(product, 2.0))


def test_no_rule_is_given_to_a_bound_method():
    class Model:
        def energy(self, a):
            return a

    with pytest.raises(TypeError, match="not to the bound method `energy`"):
        partials(Model().energy)(lambda y, a: 1.0)


@pytest.mark.parametrize("given", [lambda rule: functools.partial(rule, 3.0), lambda rule: functools.partial(rule, k=3.0)],
                         ids=["first", "by_name"])
def test_a_rule_may_be_a_partial(given):
    def first(k, y, a, b):
        return k * b, k * a

    def by_name(y, a, b, *, k):
        return k * b, k * a

    f = fresh()
    made = given(first)
    partials(f)(given(by_name) if made.keywords else made)
    value, gradient = value_and_grad(lambda x: f(x[0], x[1]), mode="python")(X)
    assert value == X[0] * X[1]
    np.testing.assert_allclose(gradient, [3 * X[1], 3 * X[0], 0])
