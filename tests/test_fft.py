"""Fourier transforms of np.fft and scipy.fft: values as theirs, derivatives by transforms."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.fft
from numba import njit

import autodiff
from autodiff import check_grads, grad, jvp, vjp

from .complex_support import assert_derivatives
from .support import module_of

GENERATOR = np.random.default_rng(3)


def normal(*shape):
    return GENERATOR.standard_normal(shape) + 1j * GENERATOR.standard_normal(shape)


Z = {(n,): normal(n) for n in (1, 2, 5, 6)} | {s: normal(*s) for s in ((4, 6), (3, 4, 5))}
NORMS = ("None", "'backward'", "'ortho'", "'forward'")

CASES = []
for name in ("fft", "ifft", "irfft", "hfft"):
    CASES += [(f"np.fft.{name}(z, norm={norm})", (5,), complex) for norm in NORMS]
    CASES += [(f"np.fft.{name}(z, {rest})", (4, 6), complex) for rest in ("7, 0", "axis=0", "n=5", "n=9, norm='ortho'")]
    CASES += [(f"scipy.fft.{name}(z)", (6,), complex), (f"scipy.fft.{name}(z, n=4, axis=0)", (6,), complex)]
for name in ("rfft", "ihfft"):
    CASES += [(f"np.fft.{name}(z, norm={norm})", (n,), float) for norm in NORMS[1:] for n in (5, 6)]
    CASES += [(f"np.fft.{name}(z, {rest})", (4, 6), float) for rest in ("7, 0", "axis=0", "n=5", "n=9")]
    CASES += [(f"scipy.fft.{name}(z)", (1,), float)]
for name in ("fft2", "ifftn", "irfft2", "irfftn"):
    CASES += [(f"np.fft.{name}(z)", (4, 6), complex), (f"np.fft.{name}(z, axes=(2, 0), norm='ortho')", (3, 4, 5), complex),
              (f"scipy.fft.{name}(z, s=(3, 7), axes=(0, 1), norm='forward')", (3, 4, 5), complex)]
CASES += [("np.fft.fftn(z)", (3, 4, 5), complex), ("np.fft.ifft2(z)", (3, 4, 5), complex),
          ("np.fft.fftn(z, axes=(-2,))", (4, 6), float)]
for name in ("rfft2", "rfftn"):
    CASES += [(f"np.fft.{name}(z)", (4, 6), float), (f"scipy.fft.{name}(z, s=(3, 7), axes=(2, 0))", (3, 4, 5), float),
              (f"np.fft.{name}(z, norm='ortho')", (3, 4, 5), float)]
CASES += [("scipy.fft.hfft2(z, norm='ortho')", (4, 6), complex), ("scipy.fft.hfftn(z, s=(3, 6))", (3, 4, 5), complex),
          ("scipy.fft.ihfft2(z)", (4, 6), float), ("scipy.fft.ihfftn(z, axes=(2, 0), norm='forward')", (3, 4, 5), float)]
for name in ("fftshift", "ifftshift"):
    CASES += [(f"np.fft.{name}(z)", (3, 4, 5), complex), (f"scipy.fft.{name}(z, axes=1)", (4, 6), float)]
CASES += [("np.fft.fft(z)", (5,), float), ("np.fft.irfft(z, 1)", (1,), complex), ("np.fft.hfft(z, 2)", (2,), complex),
          ("z * np.fft.fftfreq(5, 0.1)", (5,), complex), ("z * np.fft.fftfreq(z.shape[0])", (6,), complex),
          ("z[:4] * scipy.fft.rfftfreq(7, d=0.3)", (6,), complex), ("z[:4] * np.fft.rfftfreq(6)", (5,), float)]


def function_of(expression):
    text, name = f"def f(z):\n    return {expression}\n", f"<fft {expression}>"
    return module_of(name, text, {"np": np, "scipy": scipy})["f"]


@pytest.mark.parametrize("expression, shape, kind", CASES, ids=[f"{c[0]}-{c[1]}-{c[2].__name__}" for c in CASES])
def test_transforms(expression, shape, kind):
    z = Z[shape] if kind is complex else Z[shape].real.copy()
    assert_derivatives(function_of(expression), (z,))


def misfit(image, magnitude):
    return np.sum((np.abs(np.fft.fft2(image)) ** 2 - magnitude) ** 2)


def filtered(signal, response, n):
    smooth = np.fft.irfft(np.fft.rfft(signal, n) * response, n)
    for k in range(2):
        smooth = smooth + 0.1 * np.fft.fft(smooth * (k + 1)).imag
    return np.sum(smooth ** 2)


IMAGE, MAGNITUDE = Z[4, 6].real.copy(), np.abs(Z[4, 6])


@pytest.mark.parametrize("n", [8, 9])
def test_second_order(n):
    args = (GENERATOR.standard_normal(7), normal(n // 2 + 1), n)
    assert check_grads(filtered, args, order=2, modes=("rev", "fwd"), mode="python").worst < 1e-6


GRADIENT = grad(misfit)


@njit
def compiled_caller(image, magnitude):
    return GRADIENT(image, magnitude)


def test_compiled():
    expected = grad(misfit, mode="python")(IMAGE, MAGNITUDE)
    np.testing.assert_allclose(GRADIENT(IMAGE, MAGNITUDE), expected, rtol=1e-12)
    np.testing.assert_allclose(compiled_caller(IMAGE, MAGNITUDE), expected, rtol=1e-12)
    args = (GENERATOR.standard_normal(7), normal(5), 8)
    reference = grad(filtered, wrt=(0, 1), mode="python")(*args)
    for found, exact in zip(grad(filtered, wrt=(0, 1))(*args), reference, strict=True):
        np.testing.assert_allclose(found, exact, rtol=1e-11)


def test_single_precision_stays_single():
    z = Z[4, 6].astype(np.complex64)
    for function in (lambda z: np.fft.fft2(z), lambda z: np.fft.irfft(z), lambda z: np.fft.rfft(z.real)):
        value, pullback = vjp(function, z, mode="python")
        assert value.dtype == function(z).dtype and pullback(value)[0].dtype == np.complex64
        np.testing.assert_allclose(value, function(z), rtol=1e-5, atol=1e-5)


def test_integers_become_complex():
    assert jvp(lambda z, k: z * np.fft.fft(k), (1.0, np.arange(4)), (1.0, None), mode="python")[1].dtype == np.complex128


def test_lengths():
    with pytest.raises(ValueError, match="data points"):
        vjp(lambda z: np.fft.fft(z), np.zeros((3, 0)), mode="python")
    with pytest.raises((ValueError, autodiff.AutodiffError), match="data points"):
        vjp(lambda z, n: np.fft.rfft(z, n), np.ones(3), 0, mode="python")
    assert vjp(lambda z: np.fft.fft(z), np.zeros((0, 3)), mode="python")[0].shape == (0, 3)


@pytest.mark.parametrize("function", [
    lambda z: np.fft.fftn(z, axes=(0, 0)), lambda z: np.fft.fft(z, norm="other"), lambda z: np.fft.rfft(z * 1j),
    lambda z: np.fft.fftn(z, s=(3,), axes=(0, 1)), lambda z: np.fft.fft(z, axis=3)])
def test_refused(function):
    with pytest.raises(autodiff.AutodiffError):
        vjp(function, IMAGE, mode="python")
