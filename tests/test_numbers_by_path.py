"""Numbers that are of one kind on one path and of another kind on another: what they are, not only what they hold."""

import numpy as np
import pytest

from autodiff import AutodiffError, differentiable

X = np.array([1.0, 2.0])


def zeros_of_both_signs(x, c):
    z = 0.0 if c > 0 else -0.0
    for _ in range(3):
        z = -z
    pair = (0.0, 1.0)
    if c > 0:
        pair = (-0.0, 1.0)
    return np.copysign(x[0], z) + 3.0 * np.copysign(x[1], pair[0])


def decided_by_its_constants(x, c):
    return x[0] * (-(x[0] < -0.7 < -0.7)) + c


def truth_of_two_libraries(x, c):
    b = x[0] > 0
    z = b if c > 0 else bool(b)
    return (z + z) * 1.0


def truth_or_number(x, c):
    m = (x[0] > 0) or c
    return m + m


def negated_truth_or_number(x, c):
    m = (x[0] > 0) if c > 0 else 3
    return -m


def truth_that_becomes_a_number(x, c):
    m = x[0] > 0
    for i in range(3):
        if i > c:
            m = 2.5
    return m + m


def sine_of_a_truth_or_number(x, c):
    return np.sin((x[0] > 0) if c > 0 else 3.0)


def same_as_true(x, c):
    m = True if c > 0 else 3.0
    return x[0] if m is True else x[1]


def instance(x, c):
    m = 1 if c > 0 else 3.0
    return x[0] if isinstance(m, float) else x[1]


def kind(x, c):
    m = 1 if c > 0 else 3.0
    return x[0] if type(m) is float else x[1]


def instance_after_a_loop(x, c):
    m = 0
    for i in range(int(c > 0)):
        m = m + x[i]
    return x[0] if isinstance(m, float) else x[1]


def place(x, c):
    return np.sum(x[True if c > 0 else 1])


def product_with_a_truth(x, c):
    m = (x[0] > 0) if c > 0 else 3.0
    return m * 2.0 + m / 2.0


@pytest.mark.parametrize("c", [1.0, -1.0])
@pytest.mark.parametrize("f", [
    zeros_of_both_signs, decided_by_its_constants, truth_of_two_libraries, truth_or_number, negated_truth_or_number,
    truth_that_becomes_a_number, sine_of_a_truth_or_number, same_as_true, instance, kind, instance_after_a_loop, place,
    product_with_a_truth])
def test_python_s_result_or_a_refusal(f, c):
    """What Python gives, or an error that says what is not known."""
    try:
        wanted = f(X, c)
    except TypeError as e:
        wanted = e
    if f in (zeros_of_both_signs, product_with_a_truth):
        assert differentiable(f, mode="python")(X, c) == wanted
        return
    with pytest.raises(AutodiffError, match="by the way|on one path|not known before|boolean number|float16"):
        differentiable(f, mode="python")(X, c)


@pytest.mark.parametrize("f", [
    lambda n: np.round(n) * np.ones(2, np.float32), lambda n: np.clip(n, 0, 5) * np.ones(2, np.float32),
    lambda n: np.nan_to_num(n) * np.ones(2, np.float32), lambda n: np.real(n) * np.ones(2, np.float32),
    lambda n: np.sinc(n) * np.ones(2, np.float32)])
def test_what_functions_of_numpy_give_is_numpy_s(f):
    assert differentiable(f, mode="python")(1.5).dtype == f(1.5).dtype
