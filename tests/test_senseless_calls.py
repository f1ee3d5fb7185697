"""Calls of NumPy's functions that have no meaning raise what NumPy raises, at the user's line."""

import functools

import numpy as np
import pytest

from autodiff import AutodiffError, differentiable, grad, tensor

from .support import module_of

X, M = np.array([1.1, 2.3, 3.2, 4.4]), np.arange(1.0, 7.0).reshape(2, 3)

CALLS = """
np.tensordot(m, m, axes=3)
np.tensordot(x, m, axes=2)
np.tensordot(m, m, axes=([0], [0, 1]))
np.tensordot(m, m, axes=([0, 1], [0]))
np.stack([])
np.hstack([])
np.dstack([])
np.block([])
np.select([], [])
np.select([x > 2.0], [x, 2.0 * x])
np.choose([], [])
np.convolve(m, x)
np.convolve(x, m)
np.correlate(x, m)
x.sum(axis=(0, 0))
np.max(m, axis=(0, -2))
np.mean(m, axis=(1, 1))
np.std(m, axis=(0, -2))
np.any(m > 2.0, axis=(0, 0))
np.count_nonzero(m, axis=(1, -1))
np.linalg.norm(m, axis=(0, 0))
np.expand_dims(x, (0, 0))
np.flip(m, (0, 0))
np.squeeze(m[None], (0, 0))
np.nansum(m, axis=(0, 0))
np.ptp(m, axis=(0, 0))
np.piecewise(x, [x > 0.0, x < 0.0], [1.0])
np.piecewise(x, [x > 0.0], [1.0, 2.0, 3.0])
np.piecewise(x, [], [1.0, 2.0])
np.piecewise(x, [x > 3.0, x < 2.0], [np.sin])
np.linalg.matrix_power(m @ m.T, 0.5)
np.linalg.matrix_power(m @ m.T, x[0])
np.histogram(x, range=(2, 1))[0]
np.histogram(x, bins=3, range=(x[1], x[0]))[0]
np.histogram(x, range=(1.0, np.inf))[0]
np.histogram(x * np.inf)[0]
np.cov(x, ddof=0.5)
np.cov(m, ddof=x[0])
np.array([x, m])
"""

VALUES = """
np.piecewise(x, [x > 3.0, x < 2.0], [np.sin, 2.0, lambda v: v * v])
np.piecewise(x, x > 3.0, [np.sin, np.cos])
np.piecewise(x, [True, False, True, True], [np.sin, np.cos])
np.piecewise(x[0], [x[0] > 3.0, x[0] < 2.0], [np.sin, np.cos])
np.histogram(x, bins=3, range=(2, 2), weights=x)[0]
np.histogram(x, bins=3, range=(1, 4), weights=x)[0]
np.cov(m, ddof=1.0)
np.cov(m, ddof=0)
np.tensordot(m, m, axes=2)
np.convolve(x, 2.0)
np.select([x > 2.0], [x * x])
"""


def function_of(expression: str):
    source = f"import numpy as np\n\n\ndef f(x, m):\n    return np.sum({expression}) + x[0] * m[0, 0]\n"
    name = f"<call {expression}>"
    return module_of(name, source)["f"]


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


@pytest.mark.parametrize("expression", lines(CALLS))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_call_without_meaning_raises_what_numpy_raises(expression):
    f = function_of(expression)
    with pytest.raises(Exception) as of_python:
        f(X, M)
    with pytest.raises(type(of_python.value)) as raised:
        grad(f, mode="python")(X, M)
    told = "\n".join([str(raised.value), *getattr(raised.value, "__notes__", ())])
    assert f"<call {expression}>:5, in f" in told or f'"<call {expression}>", line 5' in told


@pytest.mark.parametrize("expression", lines(VALUES))
def test_calls_beside_them_have_values(expression):
    f = function_of(expression)
    assert np.isclose(differentiable(f, mode="python")(X, M), f(X, M))


def test_only_what_is_reached_is_raised():
    def f(x, m, deep):
        if deep:
            return np.sum(np.tensordot(m, m, axes=3)) + np.sum(x.sum(axis=(0, 0)))
        return np.sum(x * x)

    assert np.allclose(grad(f, mode="python")(X, M, 0), 2 * X)
    with pytest.raises(IndexError):
        grad(f, mode="python")(X, M, 1)


def test_a_handler_follows():
    def f(x, m):
        try:
            return np.sum(m.sum(axis=(0, 0))) * x[0]
        except ValueError:
            return 3.0 * x[1]

    assert grad(f, mode="python")(X, M)[1] == 3.0


# -- lambdas -----------------------------------------------------------------------------------------------
square = lambda v, k: v[k] * v[k]
LAMBDAS = {
    "index": lambda x: x[7] * x[0],
    "sizes": lambda x: np.sum(x * np.ones(3)),
    "by a partial": functools.partial(lambda k, x: x[k] * x[0], 7),
    "by a condition": lambda x: x[7] if x[0] > 0.0 else x[1],
    "reshape": lambda x: np.sum(x.reshape(3, 2)),
    "inside another": lambda x: x[0] + square(x, 9),
    "over lines": lambda x: (
        x[7] * x[0]),
}


@pytest.mark.parametrize("name", LAMBDAS)
@pytest.mark.parametrize("mode", ["python", "tensor"])
def test_errors_of_lambdas_tell_their_lines(name, mode):
    f = LAMBDAS[name]
    code = square.__code__ if name == "inside another" else getattr(f, "func", f).__code__
    with pytest.raises((IndexError, ValueError)) as raised:
        if mode == "tensor":
            differentiable(f, mode="python")(tensor(X, requires_grad=True))
        else:
            grad(f, mode=mode)(X)
    line = code.co_firstlineno + (name == "over lines")
    assert str(raised.value).endswith(f"test_senseless_calls.py:{line}, in <lambda>")


def test_compiled_lambdas_tell_their_lines():
    with pytest.raises(IndexError, match=r"test_senseless_calls.py:\d+, in <lambda>"):
        grad(LAMBDAS["index"])(X)


def test_refusals_name_no_handler():
    with pytest.raises(AutodiffError, match="axes"):
        grad(lambda m: np.sum(np.tensordot(m, m, axes=m)), mode="python")(M)
