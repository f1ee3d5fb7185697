"""A `raise` that is sure for the arguments given: the program raises what Python raises, whatever operator runs it."""

import contextlib
import io
import math

import numpy as np
import pytest

from autodiff import (
    NonDifferentiable,
    differentiable,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    linearize,
    value_and_grad,
    vjp,
)


class Refused(Exception):
    def __init__(self, value, kind):
        super().__init__(value, kind)
        self.value, self.kind = value, kind


class Base:
    def energy(self, x):
        raise NotImplementedError


class Square(Base):
    def energy(self, x):
        return x * x


BASE, SQUARE = Base(), Square()


def chosen(x, kind):
    if kind == "a":
        return x * x
    raise ValueError(f"unknown kind {kind}")


def matched(x, kind):
    match kind:
        case "a":
            return x * x
        case _:
            raise KeyError(kind)


def abstract(x, kind):
    return 2.0 * (SQUARE if kind == "a" else BASE).energy(x)


def asserted(x, kind):
    assert kind == "a", f"bad {kind}"
    return x * x


def own_class(x, kind):
    if kind != "a":
        raise Refused(x, kind)
    return x * x


def with_effects(x, kind):
    print("before", kind)
    y = chosen(x, kind) + 1.0
    print("after")
    return y * 2


def in_loops(x, kind):
    s = 0.0
    for i in range(3):
        s += chosen(x * i, kind)
    while s < 10.0:
        s = s + chosen(s, kind)
    return s


def in_branch(x, kind):
    if x > 1.0:
        s = chosen(x, kind)
    else:
        s = x * 3
    return s


def in_later_branch(x, kind):
    if x > 5.0:
        y = x * 2
    else:
        chosen(x, kind)
        y = 7.0 * x
    return y * y


def in_expression(x, kind):
    return x * x if x > 100.0 else chosen(x, kind)


def in_late_iteration(x, kind):
    while x < 100:
        x = x * 2
        if x > 50:
            x = chosen(x, kind)
    return x


def on_all_paths(x, kind):
    if kind == "a":
        return x * x
    if x > 3:
        raise ValueError("a")
    elif x < -5:
        raise IndexError("b")
    else:
        raise KeyError(kind)


def without_end(x, kind):
    while True:
        x = x + 1
        if kind == "a" and x > 5.5:
            return x * x
        if x > 10:
            raise RuntimeError(f"too large: {x}")


def nested(x, kind):
    return 2.0 * grad(chosen)(x, kind)


FUNCTIONS = [chosen, matched, abstract, asserted, own_class, with_effects, in_loops, in_branch, in_later_branch,
             in_expression, in_late_iteration, on_all_paths, without_end]
OPERATORS = {
    "primal": lambda f, kind: differentiable(f, mode="python")(2.0, kind),
    "grad": lambda f, kind: grad(f, mode="python")(2.0, kind),
    "value_and_grad": lambda f, kind: value_and_grad(f, mode="python")(2.0, kind),
    "vjp": lambda f, kind: vjp(lambda x: f(x, kind), 2.0, mode="python"),
    "jvp": lambda f, kind: jvp(lambda x: f(x, kind), (2.0,), (1.0,), mode="python"),
    "linearize": lambda f, kind: linearize(lambda x: f(x, kind), 2.0, mode="python"),
    "jacobian": lambda f, kind: jacobian(f, mode="python")(2.0, kind),
    "hessian": lambda f, kind: hessian(f, mode="python")(2.0, kind),
    "hvp": lambda f, kind: hvp(f, mode="python")(2.0, kind, 1.0),
    "twice": lambda f, kind: grad(grad(f, mode="python"), mode="python")(2.0, kind),
}


def outcome(run):
    """(what was printed, class of the exception, its arguments) of a call."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), pytest.raises(Exception) as caught:
        run()
    assert not isinstance(caught.value, NonDifferentiable), caught.value
    args = caught.value.args
    if isinstance(caught.value, AssertionError):        # pytest adds lines of its own
        args = (args[0].splitlines()[0],)
    return printed.getvalue(), type(caught.value), args


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("operator", ["grad", "vjp", "hvp"])
def test_raised_as_in_python(function, operator):
    assert outcome(lambda: OPERATORS[operator](function, "b")) == outcome(lambda: function(2.0, "b"))


@pytest.mark.parametrize("operator", OPERATORS)
def test_by_every_operator(operator):
    assert outcome(lambda: OPERATORS[operator](with_effects, "b")) == ("before b\n", ValueError, ("unknown kind b",))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_otherwise_differentiated(function):
    step = 1e-6
    with contextlib.redirect_stdout(io.StringIO()):
        slope = (function(2.0 + step, "a") - function(2.0 - step, "a")) / (2 * step)
        np.testing.assert_allclose(grad(function, mode="python")(2.0, "a"), slope, rtol=1e-6)


def test_of_a_derivative_in_a_program():
    assert outcome(lambda: grad(nested, mode="python")(2.0, "b"))[1:] == (ValueError, ("unknown kind b",))
    assert grad(nested, mode="python")(2.0, "a") == 4.0


def test_compiled():
    assert outcome(lambda: grad(with_effects)(2.0, "b")) == outcome(lambda: with_effects(2.0, "b"))


def test_line_of_the_raise_is_told():
    with pytest.raises(ValueError, match="unknown kind b") as caught:
        grad(chosen, mode="python")(2.0, "b")
    assert f"test_certain_raises.py:{chosen.__code__.co_firstlineno + 3}" in "".join(caught.value.__notes__)


def many_checks(x):
    for _ in range(1):
        if x > 1e30:
            raise ValueError("too large")
    if x > 1e10:
        raise ValueError("large")
    y = x * x
    if y < 0:
        raise ValueError("negative")
    return y


def test_what_follows_a_check_stands_outside_of_branches():
    gradient = grad(many_checks, mode="python")
    assert gradient(3.0) == 6.0
    assert "else" not in gradient.source
    source = "def f(x):\n" + "".join(f"    if x > {k}.5:\n        raise ValueError('{k}')\n" for k in range(10, 130))
    namespace: dict = {}
    import linecache
    linecache.cache["<checks>"] = (len(source), None, (source + "    return x * x\n").splitlines(True), "<checks>")
    exec(compile(source + "    return x * x\n", "<checks>", "exec"), namespace)
    assert grad(namespace["f"], mode="python")(3.0) == 6.0


def parsed(x, kind):
    return x * float(kind)


def not_found(x, kind):
    return x * "a".index(kind)


def of_constants(x, kind):
    return x * math.log(-1.0 if kind == "b" else 8.0, 2)


@pytest.mark.parametrize("function", [parsed, not_found, of_constants], ids=lambda f: f.__name__)
def test_calls_that_are_sure_to_raise(function):
    wanted, found = outcome(lambda: function(2.0, "b")), outcome(lambda: grad(function, mode="python")(2.0, "b"))
    assert wanted[1] is found[1] is ValueError
    if function is not parsed:
        assert grad(function, mode="python")(2.0, "a") == function(1.0, "a")


# Of sizes that are known, so that it is certain before the program runs that an error comes where they stand.
NO_VALUE = {
    "an element of no elements": lambda x: np.zeros(0)[0] * x,
    "an element behind the last": lambda x: np.zeros((2, 3))[:, 3][0] * x,
    "an element before the first": lambda x: np.zeros((2, 3))[-3, 0] * x,
    "too many indices": lambda x: np.ones(3)[0, 0] * x,
    "a letter of a text": lambda x: len("ab"[5]) * x,
    "an item of a list": lambda x: (x, [x])[1][2],
    "a mask of another length": lambda x: np.sum(np.ones(3)[np.array([True, False])]) * x,
    "shapes that do not fit": lambda x: np.sum(np.ones(3) * x + np.ones(2)),
    "a product of them": lambda x: np.sum(np.ones((2, 3)) @ np.ones(2)) * x,
    "reshape": lambda x: np.zeros(4).reshape(3, 2)[0, 0] * x,
    "concatenate": lambda x: np.concatenate((np.ones((2, 2)), np.ones((3, 3))))[0, 0] * x,
    "an axis that is not there": lambda x: np.sum(np.ones(3), axis=2) * x,
    "inv of no square": lambda x: np.linalg.inv(np.ones((2, 3)))[0, 0] * x,
}


@pytest.mark.parametrize("name", NO_VALUE)
def test_what_has_no_value_counts_only_where_the_program_comes_to_it(name):
    without = NO_VALUE[name]

    def branch(x, n):
        if n > 1:
            x = without(x)
        return x * x

    def loop(x, n):
        for _ in range(n - 1):
            x += without(x)
        return x * x
    with pytest.raises(Exception) as expected:
        without(2.0)
    with pytest.raises(expected.type):
        differentiable(without, mode="python")(2.0)
    for f in branch, loop:
        derivative = value_and_grad(f, mode="python")
        assert derivative(3.0, 1) == (9.0, 6.0)
        with pytest.raises(expected.type) as found:
            derivative(3.0, 3)
        assert found.type is expected.type


def test_compiled_code_raises_the_error_of_an_axis():
    def f(x, n):
        return np.sum(np.ones(3) * x, axis=2) if n > 1 else x * x
    assert grad(f)(3.0, 1) == 6.0
    with pytest.raises(np.exceptions.AxisError, match=r"axis 2 is out of bounds for array of dimension 1\n  test_certain"):
        grad(f)(3.0, 2)
