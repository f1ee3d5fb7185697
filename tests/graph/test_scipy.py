"""What the compiler knows beyond NumPy's protocols, on Tensors: transforms, SciPy's ufuncs and its Python functions."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.fft
import scipy.integrate
import scipy.linalg
import scipy.signal
import scipy.special
import scipy.stats

import autodiff as ad

from .support import leaf, raises, same

V = [0.5, 1.5, 0.3, 0.8]
A = np.array([[2.0, 1.0, 0.2], [1.0, 3.0, 0.1], [0.3, 0.2, 2.0]])


@pytest.mark.parametrize("name", "fft rfft irfft ihfft fft2 fftshift".split())
def test_transforms(name):
    f = getattr(np.fft, name)
    x = leaf(A) if name[-1] in "2n" else leaf(V)
    np.testing.assert_allclose(f(x).detach().numpy(), f(x.detach().numpy()))
    assert ad.gradcheck(f, x) and ad.gradgradcheck(f, x)
    if name[0] != "r" and name != "ihfft":
        z = leaf(x.detach().numpy() * (1 + 0.5j))
        assert ad.gradcheck(f, z) and ad.gradgradcheck(f, z)


def test_transforms_with_options():
    x = leaf(A)
    for f in (lambda t: np.fft.fft(t, 5, norm="ortho"), lambda t: np.fft.rfft(t, axis=0),
              lambda t: np.abs(np.fft.fft2(t, axes=(1, 0))) ** 2):
        assert ad.gradcheck(f, x)
    x = leaf(V)
    rows, = ad.grad(np.fft.rfft(x), x, np.ones((2, 3), complex), is_grads_batched=True)
    same(rows[1], ad.grad(np.fft.rfft(x), x, np.ones(3, complex))[0].numpy())


@pytest.mark.parametrize("f", [
    scipy.special.gamma, scipy.special.psi, scipy.special.erf, scipy.special.expit, scipy.special.i0,
    lambda t: scipy.special.jv(2.0, t), lambda t: scipy.special.xlogy(t, t), lambda t: scipy.special.beta(t, 0.7)])
def test_ufuncs(f):
    x = leaf(V)
    np.testing.assert_allclose(f(x).detach().numpy(), f(np.array(V)), rtol=1e-12)
    assert ad.gradcheck(f, x) and ad.gradgradcheck(f, x)
    assert not f(ad.tensor(V)).requires_grad


def test_ufuncs_that_nothing_is_known_of():
    with raises(ad.MissingRule, "`scipy.special.struve`", "detach()", "rule"):
        scipy.special.struve(1, leaf(V))
    with raises(ad.MissingRule, "scipy.special.jv", "first argument"):
        scipy.special.jv(leaf(V), 1.0)
    assert scipy.special.struve(1, ad.tensor(V)).shape == (4,)


FUNCTIONS = {
    "solve": (scipy.linalg.solve, (A, V[:3])), "expm": (scipy.linalg.expm, (A,)), "det": (scipy.linalg.det, (A,)),
    "solve_triangular": (lambda a, b: D(scipy.linalg.solve_triangular)(a, b, lower=True), (A, V[:3])),
    "toeplitz": (scipy.linalg.toeplitz, (V,)),
    "logsumexp": (lambda a: D(scipy.special.logsumexp)(a, axis=0), (A,)),
    "softmax": (lambda a: D(scipy.special.softmax)(a, axis=(0, 1)), (A,)),
    "polygamma": (lambda x: D(scipy.special.polygamma)(1, x), (V,)),
    "norm": (lambda x, s: D(scipy.stats.norm.logpdf)(x, loc=0.3, scale=s), (V, 1.2)),
    "gamma": (lambda x: D(scipy.stats.gamma.logpdf)(x, 2.0), (V,)),
    "rfft": (lambda x: D(scipy.fft.rfft)(x, n=6), (V,)),
    "convolve": (lambda x, y: D(scipy.signal.convolve)(x, y, mode="same"), (V, V[:3])),
    "lfilter": (lambda x: D(scipy.signal.lfilter)([1.0, 0.2], [1.0, 0.5], x), (V,)),
    "trapezoid": (lambda x: D(scipy.integrate.trapezoid)(x, axis=-1), (A,)),
    "sin": (math.sin, (0.3,)),
}


def D(f):
    return ad.differentiable(f, mode="python")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_python_functions_are_called_through_differentiable(name):
    """SciPy's functions of arrays have no protocol: given a Tensor they raise, and say what to call instead."""
    f, values = FUNCTIONS[name]
    inputs = tuple(map(leaf, values))
    f = f if f.__name__ == "<lambda>" else D(f)
    assert f(*inputs).requires_grad
    assert ad.gradcheck(f, inputs)


def test_no_function_of_scipy_loses_a_history():
    x, a = leaf(V[:3]), leaf(A)
    for f in (lambda: scipy.linalg.solve(a, x), lambda: scipy.special.logsumexp(x), lambda: scipy.stats.norm.pdf(x),
              lambda: scipy.fft.fft(x), lambda: scipy.signal.convolve(x, x), lambda: scipy.integrate.simpson(x),
              lambda: np.array([x, x]), lambda: np.array([x[0], 1.0]), lambda: np.full(3, x[0]), lambda: np.ma.array(x)):
        with raises(RuntimeError, "autodiff.differentiable(f)(tensor)", "detach()"):
            f()
