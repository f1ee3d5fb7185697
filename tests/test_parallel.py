"""Threads: the same values and gradients, the same bits for any number of threads, and serial loops where it must be so."""

import numba
import numpy as np
import pytest

from autodiff import differentiable, grad, value_and_grad
from autodiff.calling.building import ByThreads

from .programs import PROGRAMS as CATALOGUE
from .programs import loops, stencils

R = np.random.default_rng(5)
X = R.random(40) + 0.2


@pytest.fixture(autouse=True)
def every_array_is_large(monkeypatch):
    monkeypatch.setattr(ByThreads, "LARGE", 1)


def chain(x, w):
    return np.sum(np.sin(x) * np.exp(-w * x) + np.log(x) * w)


def heat(u, k):
    for _ in range(3):
        v = u.copy()
        u[1:-1, 1:-1] = v[1:-1, 1:-1] + k * (v[2:, 1:-1] + v[1:-1, :-2] - 2.0 * v[1:-1, 1:-1])
    return np.sum(u ** 3)


def rows(A):
    """Each row needs room of its own."""
    shifted = A - np.max(A, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(shifted), axis=1)))


def several_sums(x):
    s, t = 0.0, 0.0
    y = np.exp(-x)
    for i in range(len(x)):
        s += y[i] * x[i]
        t += x[i] ** 2
    return s * t + np.sum(y)


def recurrence(x):
    for i in range(1, len(x)):
        x[i] = x[i] + np.sin(x[i - 1])
    return np.sum(x)


def logistic(w, b, x, y):
    """All points add to the adjoints of the parameters."""
    total, wrong = 0.0, 0
    for i in range(x.shape[0]):
        t = b
        for j in range(x.shape[1]):
            t += w[j] * x[i, j]
        total = np.log(1.0 + np.exp(-y[i] * t)) + total
        total -= 0.01 * t * t
        wrong += 1 if t * y[i] < 0.0 else 0
    return total + wrong


def compensated(x):
    """Kahan's sum carries more than sums, and stays as it is."""
    s = c = 0.0
    for i in range(len(x)):
        t = x[i] * x[i] - c
        u = s + t
        c = (u - s) - t
        s = u
    return s


def scattered(x, k):
    h = np.zeros(4)
    for i in range(len(x)):
        h[k[i] % 4] += np.sin(x[i])
    return np.sum(h ** 3)


def histogram(x):
    h = np.zeros(4)
    for i in range(len(x)):
        h[i % 4] += x[i] ** 2
    return np.sum(h ** 2)


LONG = R.random(400)
PROGRAMS = [(logistic, (R.standard_normal(3), 0.2, R.standard_normal((400, 3)), np.sign(LONG - 0.5)), (0, 1, 2)),
            (logistic, (R.standard_normal(3), 0.2, R.standard_normal((40, 3)), np.sign(LONG[:40] - 0.5)), (0, 1, 2)),
            (compensated, (LONG,), (0,)), (scattered, (LONG, R.integers(0, 9, 400)), (0,)), (histogram, (LONG,), (0,)),
            (chain, (X, X[::-1].copy()), (0, 1)), (heat, (R.random((9, 11)), 0.1), (0, 1)),
            (rows, (R.random((35, 6)),), (0,)),
            (several_sums, (X,), (0,)), (recurrence, (X,), (0,)), (histogram, (X,), (0,)),
            (stencils.upwind_advection, (R.random(30), R.standard_normal(30)), (0, 1)),
            (loops.rosenbrock, (X,), (0,))]


@pytest.mark.parametrize(("program", "args", "wrt"), PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_same_as_on_one_thread(program, args, wrt):
    value, gradients = value_and_grad(program, wrt=wrt, parallel=True)(*args)
    wanted, others = value_and_grad(program, wrt=wrt, mode="python")(*args)
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    for g, w in zip(gradients, others, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("program", CATALOGUE[:30:10], ids=lambda p: p.name)
def test_programs_that_must_be_right(program):
    args = program.arguments()
    value, gradients = value_and_grad(program.function, wrt=program.wrt, parallel=True)(*args)
    wanted, others = value_and_grad(program.function, wrt=program.wrt, mode="python")(*args)
    np.testing.assert_allclose(value, wanted, rtol=1e-12)
    for g, w in zip(gradients, others, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("program", [chain, several_sums, logistic], ids=lambda p: p.__name__)
def test_any_number_of_threads_gives_the_same_bits(program):
    args, wrt = next((args, wrt) for function, args, wrt in PROGRAMS if function is program)     # compiled already
    made = value_and_grad(program, wrt=wrt, parallel=True)
    found = []
    before = numba.get_num_threads()
    try:
        for count in range(1, before + 1):
            numba.set_num_threads(count)
            found.append(made(*args))
    finally:
        numba.set_num_threads(before)
    for value, gradients in found[1:]:
        assert value == found[0][0]
        for gradient, first in zip(gradients, found[0][1], strict=True):
            np.testing.assert_array_equal(gradient, first)


@pytest.mark.parametrize(("program", "args", "wrt"), [
    (chain, (X, X), (0, 1)), (recurrence, (X,), (0,)), (histogram, (X,), (0,))], ids=lambda p: getattr(p, "__name__", ""))
def test_loops_that_depend_stay_serial(program, args, wrt):
    """A recurrence's own loop is not in a block; what stands beside it may be."""
    made = value_and_grad(program, wrt=wrt, parallel=True)              # compiled already
    made(*args)
    if program is chain:
        assert "prange" in made.source and "x_bar[i]" in made.source
    if program is recurrence:
        main = made.source[made.source.index("_parallel(" if "prange" in made.source else "def "):]
        assert "np.cos" in main
    if program is histogram:
        code = "\n".join(line for line in made.source.splitlines() if not line.strip().startswith("#"))
        assert all("h[" not in block for block in code.split("def ")[1:] if "_block_" in block.split("(")[0]
                   and "h_bar" not in block)


def test_sums_for_all_are_kept_block_by_block():
    made = value_and_grad(logistic, wrt=(0, 1, 2), parallel=True)           # compiled already
    made(*PROGRAMS[0][1])
    assert "w_bar_parts" in made.source                     # three numbers
    made.specialize(np.ones(6), 0.1, np.ones((300, 6)), np.ones(300))
    assert "w_bar_parts[block, " in made.source and "if x_0 >= 256" in made.source
    made = value_and_grad(compensated, wrt=(0,), parallel=True)
    made(LONG)
    assert "s_parts" not in made.source


def test_small_arrays_take_one_thread(monkeypatch):
    monkeypatch.setattr(ByThreads, "LARGE", 1000)
    made = value_and_grad(lambda x, w: chain(x, w) * 2.0, parallel=True)
    made(X, X)
    call = made._inspect().call
    assert isinstance(call, ByThreads) and call.several is None
    large = np.linspace(0.3, 1.0, 1001)
    made(large, large)
    assert call.several is not None


def test_primal():
    made = differentiable(chain, parallel=True)
    assert made(X, X) == pytest.approx(chain(X, X), rel=1e-13)
    assert "prange" in made.source


def test_gradient_of_gradient_and_other_modes():
    inner = grad(chain, parallel=True)
    outer = grad(lambda x, w: np.sum(inner(x, w) ** 2), parallel=True)
    plain = grad(lambda x, w: np.sum(grad(chain)(x, w) ** 2), mode="python")
    np.testing.assert_allclose(outer(X, X), plain(X, X), rtol=1e-10)
    np.testing.assert_allclose(grad(chain, parallel=True, mode="python")(X, X), grad(chain, mode="python")(X, X), rtol=1e-12)


def test_an_error_is_raised_as_on_one_thread():
    with pytest.raises(ValueError, match="broadcast"):
        grad(lambda x, w: np.sum(x * w), parallel=True)(X, X[:-1])
