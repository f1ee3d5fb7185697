"""check_grads: what it accepts, and that it finds what is wrong."""

from collections import namedtuple

import numpy as np
import pytest
from scipy.special import betainc

from autodiff import check_grads, hessian, vjp
from autodiff.check import GradientMismatch, check_rule
from autodiff.rules import partials, pullback, pushforward

X = np.array([0.3, 0.7, -0.9])


def mixed(x, k, n):
    return np.sum(x ** 3) * k, {"a": np.sin(x) * k, "n": n}, x[0] * k ** 2


def scalar(x, w):
    for i in range(1, len(x)):
        x[i] = x[i] * np.tanh(x[i - 1] * w)
    return np.sum(x)


def swapped(x, n):
    y = np.zeros_like(x)
    for _ in range(n):
        y[:] = np.sin(x) * x[::-1]
        x, y = y, x
    return np.sum(x ** 2)


@pytest.mark.parametrize("function, args", [(mixed, (X, 1.5, 3)), (scalar, (X, 0.8)), (lambda x: np.outer(x, x * x), (X,)),
                                            (swapped, (X, 3))])
def test_all_modes_and_orders(function, args):
    report = check_grads(function, args, modes=("fwd", "rev"), mode="python")
    assert report.worst < 1e-6
    assert check_grads(function, args, order=2, modes=("fwd", "rev"), mode="python", directions=1).worst < 1e-5


def test_compiled():
    assert check_grads(scalar, (X, 0.8), modes=("fwd", "rev"), directions=1).worst < 1e-5


def test_chosen_arguments():
    assert check_grads(mixed, (X, 1.5, 3), wrt=("k",), mode="python").argument == "k"
    assert check_grads(mixed, (X, 1.5, 3), wrt=0, modes=("fwd",), mode="python").what == "tangent"


Pair = namedtuple("Pair", "weights scale")


def of_structures(parameters, pairs, n):
    return np.sum(np.sin(parameters["w"]) * parameters["b"]) * n + pairs[0].scale * np.sum(pairs[0].weights ** 3), pairs[1]


def test_arguments_of_any_structure():
    args = {"w": X, "b": 1.5, "name": "a"}, [Pair(2.0 * X, 0.3), X * 1j], 3
    assert check_grads(of_structures, args, order=2, modes=("fwd", "rev"), mode="python", directions=1).worst < 1e-6
    doubled = lambda p, q, n: bent(p["b"]) + np.sum(q[0].weights)
    with pytest.raises(GradientMismatch, match=r"worst component: argument 0, part 1\[0\]"):
        check_grads(doubled, args, mode="python")


def test_other_arguments_need_no_derivative():
    assert check_grads(betainc, (1.3, 2.0, 0.4), wrt=2, mode="python").worst < 1e-6


def bent(x):
    return x ** 2


@partials(bent)
def bent_partials(y, x):
    return 2.1 * x


def test_the_first_wrong_statement_with_complex_arguments():
    def power(z, a):
        w = a * z * z
        return np.sum(np.abs(w) * bent(w.real))

    with pytest.raises(GradientMismatch, match=r"worst component: argument 0(.|\n)*first wrong(.|\n)*bent\(w.real\)"):
        check_grads(power, (X + 1j * X ** 2, 2.0), mode="python")


def crooked(x):
    return 3.0 * x


@pullback(crooked)
def crooked_pullback(y_bar, y, x):
    return 3.0 * y_bar


@pushforward(crooked)
def crooked_pushforward(y, x, x_dot):
    return 2.0 * x_dot


def subtle(x):
    return np.sin(x)


@partials(subtle)
def subtle_partials(y, x):
    """Right in value, wrong in its own derivative."""
    return np.cos(x - 0.0 * x) + 0.0 if x is None else np.cos(np.round(x * 1e9) / 1e9)


def test_a_wrong_rule():
    with pytest.raises(GradientMismatch, match=r"the gradient of .* argument 0 .*\n?.*worst component: argument 0\[0\]"):
        check_grads(lambda x: bent(x), (0.7,), mode="python")
    with pytest.raises(GradientMismatch, match="rule of `bent` is wrong for argument 0"):
        check_rule(bent, [(0.7,)])


def test_pullbacks_of_numbers_with_rules():
    """The statements of a rule's value are gone when the program is split."""
    out, back = vjp(lambda x: bent(bent(x)) * x, 0.7, mode="python")
    assert out == pytest.approx(0.7 ** 5) and back(1.0)[0] == pytest.approx(0.7 ** 4 * (2.1 ** 2 + 1.0))


def test_forward_and_reverse_that_disagree():
    def f(x):
        return np.sum(crooked(x) ** 2)
    assert check_grads(f, (X,), mode="python").worst < 1e-6
    with pytest.raises(GradientMismatch, match="tangent"):
        check_grads(f, (X,), modes=("rev", "fwd"), mode="python")


def test_a_wrong_second_derivative():
    def f(x):
        return np.sum(subtle(x) * x)
    assert check_grads(f, (X,), modes=("fwd", "rev"), mode="python").worst < 1e-6
    for mode in ("fwd", "rev"):
        with pytest.raises(GradientMismatch, match="Hessian"):
            check_grads(f, (X,), order=2, modes=(mode,), mode="python")


def cubed(x):
    return x * x * x


@partials(cubed)
def cubed_partials(y, x):
    return 3.0 * y / x


def test_second_derivatives_of_rules():
    """Slopes that read the value have the rule's derivative too."""
    def f(x):
        return np.sum(cubed(x) * x)
    assert check_grads(f, (X,), order=2, modes=("fwd", "rev"), mode="python").worst < 1e-6
    np.testing.assert_allclose(hessian(f, mode="python")(X), np.diag(12.0 * X ** 2))


def test_mistakes():
    with pytest.raises(ValueError, match="order must be 1 or 2"):
        check_grads(scalar, (X, 1.0), order=3)
    with pytest.raises(ValueError, match="modes must be some of"):
        check_grads(scalar, (X, 1.0), modes=("forward",))


# ---- where it is wrong ---------------------------------------------------------------------------------
def steep(u, v):
    return u * np.sin(v)


@partials(steep)
def steep_partials(y, u, v):
    return np.sin(v), u * np.sin(v)


def in_a_loop(x, a):
    s = 0.0
    for i in range(len(x)):
        s += np.tanh(x[i]) * a
        if x[i] > 0.4:
            s += steep(s, a)
    return s + np.sum(x)


def in_arrays(x, a):
    y = np.exp(x) * a
    z = steep(y, x)
    return np.sum(z * y)


def through_a_pullback(x, a):
    y = np.sin(x) * a
    return np.sum(reverse_only(y))


def reverse_only(x):
    return x * x


@pullback(reverse_only)
def reverse_only_pullback(y_bar, y, x):
    return 3.0 * x * y_bar


@pytest.mark.parametrize("function, line", [(in_a_loop, "s += steep(s, a)"), (in_arrays, "z = steep(y, x)"),
                                            (through_a_pullback, "return np.sum(reverse_only(y))")])
def test_the_first_wrong_statement_is_named(function, line):
    with pytest.raises(GradientMismatch) as caught:
        check_grads(function, (np.array([0.3, 0.5, 0.8]), 0.4), mode="python")
    place = function.__code__.co_firstlineno
    shown = str(caught.value)
    assert f"    {line}\n" in shown and "first wrong at" in shown and "rule" in shown
    number = int(shown.split("test_check.py\", line ")[1].split()[0])
    assert place < number < place + 8


@pytest.mark.parametrize("function, line", [(reverse_only, "def reverse_only(x):"), (
    lambda x: np.sum(reverse_only(x)), "lambda x: np.sum(reverse_only(x))")], ids=["the rule's own function", "a lambda"])
def test_the_place_of_a_wrong_rule_is_the_users(function, line):
    with pytest.raises(GradientMismatch, match="the pullback rule of `reverse_only` is used there") as caught:
        check_grads(function, (np.array([0.3, 0.5, 0.8]),), modes=("rev",), mode="python")
    shown = str(caught.value)
    assert line in shown and f'test_check.py", line {function.__code__.co_firstlineno}' in shown


def test_complex_step():
    """Where the function takes complex numbers, errors far below those of differences are seen; elsewhere it is left out."""
    assert check_grads(lambda x, k: np.sum(np.sin(x) * np.exp(x) * k), (X, 1.5), mode="python").worst < 1e-14
    report = check_grads(lambda x: np.sum(np.abs(x) * x), (X,), mode="python")
    assert 0.0 < report.worst < 1e-6
