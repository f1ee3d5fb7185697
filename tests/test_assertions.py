"""`np.testing.assert_...` inside a function: what raises in NumPy raises, and nothing else does."""

import numpy as np
import pytest

from autodiff import check_grads, grad, value_and_grad

X = np.array([0.3, 1.2, np.nan, np.inf])
ASSERTIONS = {
    "allclose": lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-3, err_msg="here"),
    "allclose_of_nan": lambda x, y: np.testing.assert_allclose(x, y, equal_nan=False),
    "almost": lambda x, y: np.testing.assert_array_almost_equal(x, y, decimal=3),
    "almost_equal": lambda x, y: np.testing.assert_almost_equal(x[0], y[0], 2),
    "equal": lambda x, y: np.testing.assert_array_equal(x, y),
    "less": lambda x, y: np.testing.assert_array_less(x[:2], y[:2]),
}


def raised(function, *args):
    try:
        function(*args)
    except AssertionError as e:
        return str(e).split("\n")[1]
    return ""


@pytest.mark.parametrize("name", ASSERTIONS)
def test_they_raise_as_numpys_do(name):
    demand = ASSERTIONS[name]

    def f(x, y):
        demand(x, y)
        return np.sum(x[:2] * y[:2])
    program = grad(f, mode="python")
    for change in (0.0, 1e-5, 1e-3, 2e-3, 0.1, -0.1, np.array([0.0, 0.0, 1.0, 0.0]), np.array([0.0, 0.0, 0.0, -np.inf])):
        assert raised(program, X, X + change) == raised(f, X, X + change)


def test_derivatives_pass():
    def f(x):
        np.testing.assert_allclose(np.linalg.norm(x / np.linalg.norm(x)), 1.0)
        return np.sum(x ** 3)
    check_grads(f, (X[:2],), modes=("fwd", "rev"), mode="python")


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_a_message_is_made_where_the_assertion_fails_alone(mode):
    def f(x, k):
        told = [0.0]

        def note(v):
            told[0] += 1.0
            return f"bad {v:.1f}"

        s = 0.0
        assert len(x) > 0, note(k)
        for i in range(len(x)):
            assert x[i] < k, note(x[i])
            s += x[i] ** 2 + told[0]
        return s

    x = np.array([0.5, 1.5, 2.5])
    value, slope = value_and_grad(f, mode=mode)(x, 9.0)
    assert value == f(x, 9.0) == 8.75
    np.testing.assert_array_equal(slope, 2.0 * x)
    for k in (2.0, 1.0):
        with pytest.raises(AssertionError, match=r"bad \d\.5"):
            value_and_grad(f, mode=mode)(x, k)
