"""Numbers taken apart (frexp, ldexp, remainder), and what of NumPy's joins and products is refused."""

import math

import numpy as np
import pytest

from autodiff import AutodiffError, check_grads, grad, value_and_grad, vjp


def parts(x):
    m, e = math.frexp(x)
    return m * m * e


def rest(x, y):
    return math.remainder(x, y) ** 2


def scaled(x, i):
    return math.ldexp(x, i)


@pytest.mark.parametrize("x", [0.3, -7.25, 1.0, 0.9999999999999999, 3e300, 5e-324, -2.5e-310, 0.0, math.inf])
def test_mantissa_and_exponent(x):
    np.testing.assert_array_equal(value_and_grad(parts, mode="python")(x)[0], parts(x))
    array = np.array([x, 2 * x, 0.7])
    for ours, numpys in zip(vjp(lambda a: np.frexp(a), array, mode="python")[0], np.frexp(array), strict=True):
        np.testing.assert_array_equal(ours, numpys)
        assert ours.dtype == numpys.dtype


@pytest.mark.parametrize("x, y", [(7.3, 2.0), (-7.3, 2.0), (5.0, 2.0), (3.0, -2.0),
                                  (1e300, 0.7), (0.3, math.inf), (-2.0, 3.0)])
def test_remainder(x, y):
    assert value_and_grad(rest, mode="python")(x, y)[0] == rest(x, y)


def test_their_derivatives():
    assert grad(parts, mode="python")(-7.25) == pytest.approx(2 * -7.25 * 2.0 ** -6 * 3)
    for f, args in ((parts, (0.3,)), (rest, (7.3, 2.0)), (lambda x: scaled(x, 3) ** 2, (1.3,))):
        assert check_grads(f, args, order=2, modes=("fwd", "rev"), mode="python").worst < 1e-5
    assert grad(rest)(7.3, 2.0) == pytest.approx(2 * math.remainder(7.3, 2.0))


def test_errors_as_pythons():
    for f, args, error in ((rest, (1.0, 0.0), ValueError), (rest, (math.inf, 1.0), ValueError),
                           (scaled, (1.5, 5000), OverflowError)):
        with pytest.raises(error):
            f(*args)
        with pytest.raises(error):
            grad(f, mode="python")(*args)


def test_refused_with_a_way_out():
    x = np.array([0.3, 0.7, 1.1])
    for f, told in ((lambda x: np.sum(np.r_["0,2", x, x]), "np.concatenate or np.stack"),
                    (lambda x: np.sum(np.cross(x, x[:2])), "product of the elements"),
                    (lambda x: np.sum(np.real_if_close(x + 0j)), "a.real"),
                    (lambda x: np.sum(np.pad(x, 1, mode="median")), "linear_ramp")):
        with pytest.raises(AutodiffError, match=told):
            grad(f, mode="python")(x)


def test_joins_compiled():
    def f(x):
        table = np.c_[np.r_[x, 1.0], np.r_[0:4] * 1.0]
        return np.sum(np.kron(x, table)[1] ** 2) + np.sum(np.pad(x, 2, mode="linear_ramp", end_values=(0.0, 1.0)) ** 2)
    assert check_grads(f, (np.array([0.3, 0.7, 1.1]),)).worst < 1e-6
