"""Functions of arrays that a program calls several times are generated once, with a pullback."""

import numpy as np
import pytest

import autodiff as ad

from .fuzz.array_calls import attempt
from .fuzz.calls import calls
from .fuzz.programs import Program
from .support import assert_gradient
from .test_calls import copy_of

X, Y = np.array([0.3, -0.6, 1.1, 0.2]), np.array([0.5, 0.1, -0.4, 0.9])
A = np.array([[0.9, 0.2, -0.1, 0.4], [0.1, 0.7, 0.3, -0.2], [0.5, -0.3, 0.8, 0.1], [-0.2, 0.6, 0.1, 1.1]])


def pull(x, k, t):
    f = np.zeros(x.shape[0])
    for i in range(x.shape[0]):
        for j in range(x.shape[0]):
            d = x[j] - x[i]
            f[i] += k * d / (0.1 + d * d)
    return f - 0.1 * np.cos(t) * x


def rk4(x, k, h):
    t = 0.0
    for _ in range(3):
        a = pull(x, k, t)
        b = pull(x + 0.5 * h * a, k, t + 0.5 * h)
        c = pull(x + 0.5 * h * b, k, t + 0.5 * h)
        x = x + h / 6.0 * (a + 2.0 * b + 2.0 * c + pull(x + h * c, k, t + h))
        t += h
    return np.sum(x * x * x)


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_gradient(mode):
    with calls(True):
        assert_gradient(rk4, (X, 0.7, 0.1), (0, 1, 2), mode)


def code_of(f) -> str:
    return "\n".join(line for line in f.source.splitlines() if not line.lstrip().startswith("#"))


def test_text():
    """One function and one pullback, which the reverse sweep calls with the adjoint of the result."""
    with calls(True):
        f = ad.grad(rk4, mode="python")
        f(X, 0.7, 0.1)
    code = code_of(f)
    assert code.count("def pull(x, k, t):") == code.count("def pull_pullback(x, k, t, ") == 1
    assert code.count("= pull(") == code.count("= pull_pullback(") == 4
    assert "a = pull(x_1, k, " in code


def test_a_call_more_is_a_few_lines_more():
    lines = []
    for count in (3, 6):
        text = "".join(f"    x = x + 0.1 * pull(x, k, {i}.0)\n" for i in range(count))
        made = ad.grad(programs(f"def loss(x, k):\n{text}    return np.sum(x)\n"), mode="python")
        with calls(True):
            made(X, 0.7)
        lines.append(made.source.count("\n"))
    assert lines[1] - lines[0] < 3 * 16


def programs(text: str):
    text = f"import numpy as np\nfrom {__name__} import pull\n\n\n{text}"
    return Program(0, text, "").module(f"<calls of {hash(text)}>")["loss"]


def scaled(x, w, by=1.0):
    y = np.exp(-x * x) * w
    return y * by, np.sum(y[1:] * x[:-1]), x


def views(x, A):
    """Rows, columns, reversals, the same array twice, results that are arguments, a tuple."""
    a, s, same = scaled(A[1], x)
    b, r, _ = scaled(A[:, 2], x[::-1], s)
    c, q, _ = scaled(x, x, by=r)
    d, p, _ = scaled(x[1:], b[:-1])
    same[0] = 2.0                               # a row of a matrix of the program's own
    return np.sum(a * b * c) + s * r * q + np.sum(d) * p + np.sum(A * A)


def test_views():
    loss = lambda x, A: views(x, A * 1.0)
    with calls(True):
        assert_gradient(loss, (X, A), (0, 1), "python")


def energy(x, y):
    return np.sum(np.sin(x) * y) + np.sum(x ** 2) * x[0]


def both(x, y):
    return energy(x, y) * energy(y, x) + energy(x * y, x)


@pytest.mark.parametrize("derivative", [
    lambda f: ad.hessian(f, mode="python")(X, Y),
    lambda f: ad.hvp(f, mode="python")(X, Y, Y),
    lambda f: ad.jvp(f, (X, Y), (Y, None), mode="python"),
    lambda f: ad.linearize(f, X, Y, mode="python")[1](Y, X),
    lambda f: ad.vjp(f, X, Y, mode="python")[1](1.5),
    lambda f: ad.jacobian(f, mode="python", direction="reverse")(X, Y),
    lambda f: ad.grad(lambda x: np.sum(ad.grad(f, mode="python")(x, Y) ** 2), mode="python")(X)])
def test_other_derivatives(derivative):
    with calls(False):
        expected = derivative(copy_of(both))
    with calls(True):
        found = derivative(both)
    for a, b in zip(*(v if isinstance(v, tuple) else (v,) for v in (found, expected)), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10)


def filtered(m, P, z):
    for _ in range(3):
        for k in range(2):
            m, P, _ = predicted(m, P, z[k])
        m, P, loss = predicted(m, P, z[2])
    return loss + np.sum(P)


def predicted(m, P, z):
    m, P = A @ m, A @ P @ A.T + np.eye(A.shape[0])
    s = P[0, 0] + 0.5
    gain = P[:, 0] / s
    v = z - m[0]
    return m + gain * v, P - np.outer(gain, gain) * s, v * v / s + np.log(s)


def test_sizes_that_are_known_at_some_calls():
    """Which arrays have equal sizes is not known at the first call; the loops are not written out for it."""
    with calls(True):
        assert_gradient(filtered, (X, A @ A.T, Y), (0, 1, 2), "python")
        f = ad.grad(filtered, mode="python")
        f(X, A @ A.T, Y)
    assert code_of(f).count("= predicted(") == 2


def test_a_shape_that_changes_once():
    """Where the sizes of arguments do not agree the few iterations are written out."""
    def loss(x, B):
        for k in range(1):
            x = np.sin(B @ x) * (k + 1.0)
        return np.sum(x)
    assert_gradient(loss, (X, A[:2]), (0, 1), "python")
    assert_gradient(loss, (X, A), (0, 1), "python")


def chosen(x, by):
    y = x.copy() if by > 0.5 else x
    return y * by + np.sin(y)


def test_results_that_may_be_arguments():
    def loss(x):
        a = chosen(x, 0.3) + chosen(x * x, 0.7)
        return np.sum(a * x)
    with calls(True):
        assert_gradient(loss, (X,), (0,), "python")


def checked(x, y):
    return x[3] * y[:2] + np.dot(x, y)


def test_errors_are_those_of_the_function():
    loss = lambda x, y: np.sum(checked(x, y) * checked(y, x))
    with calls(True):
        f = ad.grad(loss, mode="python")
        f(X, Y)
        with pytest.raises(IndexError, match="index 3 is out of bounds"):
            f(X[:3], Y[:3])
        with pytest.raises(ValueError, match=r"shapes \(4,\) and \(5,\) not aligned"):
            f(X, np.ones(5))


def test_narrow_floats():
    with calls(True):
        found = ad.grad(both, mode="python")(X.astype(np.float32), Y.astype(np.float32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, ad.grad(copy_of(both), mode="python")(X, Y), rtol=1e-5)


@pytest.mark.filterwarnings("ignore::autodiff.AutodiffWarning")
@pytest.mark.parametrize("seed", (1000003, 2000009, 2000013, 2000035))
def test_random_programs(seed):
    outcome, text = attempt(seed)
    assert outcome.verdict != "failed", f"{outcome}\n{text}"


def test_columns_of_numbers():
    """It was an error of axes."""
    x = np.array([1.0, 2.0, 3.0])
    for f in (lambda x: np.column_stack(x) * x, lambda x: np.column_stack((x[0], x[1] * x[2]))):
        np.testing.assert_array_equal(ad.differentiable(f, mode="python")(x), f(x))
        assert ad.check_grads(lambda x, f=f: np.sum(f(x) ** 2), (x,), mode="python").worst < 1e-6
