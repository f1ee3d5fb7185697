"""Operators of functions of complex numbers, from Python, in programs and in compiled code, and what they refuse."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numba import njit

import autodiff
from autodiff import check_grads, differentiable, grad, hessian, hvp, jacobian, jvp, linearize, value_and_grad, vjp
from autodiff.rules import partials

from .test_complex import A, B, floats_only


def loss(z, a):
    return np.sum(np.abs(z * z * z[0] - a * 1j) ** 2) + np.sum(np.exp(z) / (1.0 + z * z)).real


def squares(z):
    return z * z * z[0]


def holomorphic(z):
    return np.exp(z) * z ** 2 + 1 / z


def phases(x):
    return np.exp(1j * x) * x[0]


PYTHON = {"mode": "python"}
POINT, VECTOR, PHASES = np.array([1 + 1j, 0.3 - 0.2j, 0.2 - 1j]), np.array([1j, 2, 1 - 1j]), np.array([1.0, 2.0, 3.0])


def test_the_convention_is_torchs():
    """|z|**2 has the gradient 2 z, Re z the gradient 1, Im z the gradient i."""
    z = 1.5 - 2.0j
    for mode in ("python", "numba"):
        assert grad(lambda z: abs(z) ** 2, mode=mode)(z) == pytest.approx(2 * z)
        assert grad(lambda z: z.real, mode=mode)(z) == 1.0 + 0.0j
        assert grad(lambda z: z.imag, mode=mode)(z) == 1.0j
    assert isinstance(grad(lambda z: z.real, **PYTHON)(z), complex)


@pytest.mark.parametrize("function, args", [(loss, (POINT, PHASES)), (squares, (POINT,)), (holomorphic, (0.7 - 0.4j,))],
                         ids=["loss", "arrays", "number"])
def test_second_order(function, args):
    report = check_grads(function, args, order=2, modes=("rev", "fwd"), **PYTHON)
    assert report.worst < 1e-6


def test_hessian_products_are_changes_of_the_gradient():
    h = 1e-6
    gradient = grad(loss, **PYTHON)
    slope = (gradient(POINT + h * VECTOR, PHASES) - gradient(POINT - h * VECTOR, PHASES)) / (2 * h)
    np.testing.assert_allclose(hvp(loss, **PYTHON)(POINT, PHASES, VECTOR), slope, rtol=1e-7, atol=1e-6)


def test_holomorphic_gradients():
    z = 0.7 - 0.4j
    first = np.exp(z) * (z ** 2 + 2 * z) - 1 / z ** 2
    second = np.exp(z) * (z ** 2 + 4 * z + 2) + 2 / z ** 3
    derivative = grad(holomorphic, holomorphic=True, **PYTHON)
    assert derivative(z) == pytest.approx(first, rel=1e-14)
    value, found = value_and_grad(holomorphic, holomorphic=True)(z)
    assert (value, found) == (pytest.approx(holomorphic(z)), pytest.approx(first))
    assert grad(derivative, holomorphic=True, **PYTHON)(z) == pytest.approx(second, rel=1e-13)

    def residual(z):
        return abs(grad(holomorphic, holomorphic=True)(z)) ** 2
    gradient = grad(residual, **PYTHON)(z)
    assert gradient == pytest.approx(2 * first * np.conj(second), rel=1e-12)


@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_jacobians(direction):
    h, options = 1e-6, {"direction": direction, **PYTHON}
    columns = lambda f, x: np.stack([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(3)], -1)
    np.testing.assert_allclose(jacobian(phases, **options)(PHASES), columns(phases, PHASES), atol=1e-8)
    np.testing.assert_allclose(jacobian(squares, holomorphic=True, **options)(POINT), columns(squares, POINT), atol=1e-8)
    modulus = lambda z: np.abs(squares(z))
    expected = columns(modulus, POINT) + 1j * np.stack(
        [(modulus(POINT + 1j * h * e) - modulus(POINT - 1j * h * e)) / (2 * h) for e in np.eye(3)], -1)
    np.testing.assert_allclose(jacobian(modulus, **options)(POINT), expected, atol=1e-8)
    scalar = jacobian(lambda z: z * z, holomorphic=True, **options)(1.0 + 2.0j)
    assert isinstance(scalar, complex) and scalar == pytest.approx(2.0 + 4.0j)


def test_pullbacks_in_batches():
    _, pullback = vjp(squares, POINT, **PYTHON)
    many = pullback.batched(np.stack([VECTOR, 2j * VECTOR, POINT]))[0]
    each = [pullback(c)[0] for c in (VECTOR, 2j * VECTOR, POINT)]
    np.testing.assert_allclose(many, np.stack(each), rtol=1e-13)


def test_linear_maps():
    value, push = linearize(squares, POINT, **PYTHON)
    np.testing.assert_array_equal(value, squares(POINT))
    expected = jvp(squares, (POINT,), (VECTOR,), **PYTHON)[1]
    np.testing.assert_allclose(push(VECTOR), expected, rtol=1e-13)
    np.testing.assert_allclose(push.batched(np.stack([VECTOR, 1j * VECTOR])), [expected, 1j * expected], rtol=1e-13)
    out, push = linearize(lambda c, x: (c * c, x * abs(c)), 1 + 2j, PHASES, **PYTHON)
    dots = push(1j, None)
    assert dots[0] == pytest.approx(2j * (1 + 2j))
    np.testing.assert_allclose(dots[1], PHASES * 2 / np.sqrt(5))


def inner_maps(z, c):
    """Pullbacks and tangent maps made and used inside a program."""
    out, pullback = vjp(squares, z)
    bar, = pullback(np.conj(out))
    number, push = linearize(holomorphic, c)
    return np.sum(np.abs(bar) ** 2) + np.abs(push(1j * c)) ** 2 + np.abs(jvp(squares, (z,), (z * c,))[1][0])


def test_maps_inside_programs():
    assert check_grads(inner_maps, (POINT, 0.7 - 0.4j), modes=("rev", "fwd"), **PYTHON).worst < 1e-6


def test_stopped_gradients():
    z = 1.0 + 2.0j
    assert grad(lambda z: (z * np.conj(autodiff.stop_gradient(z))).real, **PYTHON)(z) == z
    np.testing.assert_array_equal(grad(lambda z: np.sum(autodiff.stop_gradient(z).real), **PYTHON)(POINT), 0.0)


def test_arguments_of_any_layout():
    gradient = grad(loss)
    wide = np.zeros((3, 2), dtype=complex)
    wide[:, 0] = POINT
    frozen = POINT.copy()
    frozen.flags.writeable = False
    expected = grad(loss, **PYTHON)(POINT, PHASES)
    for z in (POINT, wide[:, 0], POINT[::-1].copy()[::-1], frozen, POINT.astype(">c16")):
        for _ in range(2):
            np.testing.assert_allclose(gradient(z, PHASES), expected, rtol=1e-12)
    out = np.empty(3, dtype=complex)
    assert gradient(POINT, PHASES, out=out) is out
    np.testing.assert_allclose(out, expected, rtol=1e-12)
    slope = grad(holomorphic, wrt=0, holomorphic=True, **PYTHON)
    with_array = grad(lambda z: np.sum(z ** 3), holomorphic=True, **PYTHON)
    assert with_array(POINT, out=out) is out
    np.testing.assert_allclose(out, 3.0 * POINT ** 2, rtol=1e-12)
    assert slope(0.3 + 0.2j) == DERIVATIVE(0.3 + 0.2j)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(gradient))(POINT, PHASES), expected, rtol=1e-12)


def test_one_function_of_real_and_complex_arguments():
    """A repeated call may not take code made for another kind of argument."""
    double = differentiable(lambda x: x * 2.0)
    for _ in range(3):
        assert double(np.ones(3)).dtype == np.float64
        assert double(1j * np.ones(3)).dtype == np.complex128
        assert isinstance(double(1.5), float) and double(1.5j) == 3.0j


GRADIENT, BOTH, DERIVATIVE = grad(loss), value_and_grad(lambda z: abs(z * z) + z.imag), grad(holomorphic, holomorphic=True)


@njit
def compiled_caller(z, a, c):
    value, slope = BOTH(c)
    return GRADIENT(z, a) * 2.0, value, slope, DERIVATIVE(c)


def test_inside_compiled_code():
    c = 0.7 - 0.4j
    gradient, value, slope, derivative = compiled_caller(POINT, PHASES, c)
    np.testing.assert_allclose(gradient, 2.0 * GRADIENT(POINT, PHASES), rtol=1e-14)
    assert (value, slope) == BOTH(c)
    assert derivative == DERIVATIVE(c)
    np.testing.assert_allclose(compiled_caller(np.repeat(POINT, 2)[::2], PHASES, c)[0], gradient, rtol=1e-14)


def test_single_precision_stays_single():
    z, a = POINT.astype(np.complex64), PHASES.astype(np.float32)
    for mode in ("python", "numba"):
        gradients = grad(loss, wrt=(0, 1), mode=mode)(z, a)
        assert [g.dtype for g in gradients] == [np.complex64, np.float32]
        np.testing.assert_allclose(gradients[0], GRADIENT(POINT, PHASES), rtol=1e-5)
    value, pullback = vjp(holomorphic, np.complex64(1 + 1j), **PYTHON)
    assert isinstance(value, np.complex64) and isinstance(pullback(np.complex64(1))[0], np.complex64)
    assert jvp(squares, (z,), (z,), **PYTHON)[1].dtype == np.complex64
    assert differentiable(lambda x: x * 1j, **PYTHON)(a).dtype == np.complex64
    assert differentiable(lambda a, b: a @ b, **PYTHON)(A.astype(np.complex64), B.astype(np.complex64)).dtype == np.complex64


def test_zero():
    """|z| and the angle have derivative 0 at 0."""
    def f(z):
        return np.abs(z) + np.angle(z)
    np.testing.assert_array_equal(grad(lambda z: np.sum(f(z)), **PYTHON)(np.zeros(2, dtype=complex)), 0.0)


def test_generated_text_is_real():
    gradient = grad(lambda z: np.sum((z * np.conj(z)).real), **PYTHON)
    np.testing.assert_array_equal(gradient(POINT), 2 * POINT)
    assert "z_bar[i, 1] += z_im + z_im" in gradient.source
    gradient = grad(lambda x: np.sum(np.exp(1j * x).imag), **PYTHON)
    np.testing.assert_allclose(gradient(PHASES), np.cos(PHASES), rtol=1e-15)
    code = [line for line in gradient.source.splitlines() if not line.lstrip().startswith("#")]
    assert not any("exp" in line for line in code)


# -- what is refused ----------------------------------------------------------------------------------------------

@partials(floats_only)
def floats_only_rule(y, x):
    return 1.0


REFUSED = {
    "comparison": (lambda z: np.sum(z[z > 0]), "order"),
    "sort": (lambda z: np.sum(np.sort(np.outer(z, z))), "complex"), "floor": (lambda z: np.floor(z), "complex"),
    "float": (lambda z: float(z[0]), "real"), "cast": (lambda z: z.astype(float), "real"),
    "rule": (lambda z: floats_only(z), "rule"), "index": (lambda z: z[z[0]], "float"),
    "builtin": (lambda z: max(z[0], z[1]), "complex"), "median": (lambda z: np.median(z), "complex"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_before_anything_runs(what):
    function, word = REFUSED[what]
    with pytest.raises(autodiff.AutodiffError, match=word):
        vjp(function, POINT, **PYTHON)


def test_cotangents_and_tangents_of_the_wrong_kind():
    _, pullback = vjp(lambda z: np.abs(z), POINT, **PYTHON)
    with pytest.raises(autodiff.TypeConflict, match="complex"):
        pullback(VECTOR)
    with pytest.raises(autodiff.TypeConflict, match="complex"):
        jvp(phases, (PHASES,), (VECTOR,), **PYTHON)
    _, pullback = vjp(squares, POINT, **PYTHON)
    with pytest.raises(autodiff.ShapeMismatch):
        pullback(VECTOR[:2])
    np.testing.assert_array_equal(pullback(PHASES)[0], pullback(PHASES + 0j)[0])        # a real one is complex too


def test_what_has_no_complex_derivative():
    with pytest.raises(autodiff.NonDifferentiable, match="real loss"):
        grad(holomorphic, **PYTHON)(1j)
    with pytest.raises(autodiff.NonDifferentiable, match="holomorphic"):
        jacobian(squares, **PYTHON)(POINT)
    with pytest.raises(autodiff.NonDifferentiable, match="hvp"):
        hessian(loss, **PYTHON)(POINT, PHASES)
    with pytest.raises(autodiff.NonDifferentiable, match="holomorphic=True"):
        grad(lambda z: abs(z), holomorphic=True, **PYTHON)(1j)
    with pytest.raises(autodiff.AutodiffError, match="Jacobian"):
        grad(lambda x: np.sum(np.abs(jacobian(phases)(x))), **PYTHON)(PHASES)
    np.testing.assert_allclose(hessian(loss, wrt=1, **PYTHON)(POINT, PHASES), 2 * np.eye(3))


def test_tensors():
    real = autodiff.tensor([1.0, 2.0], requires_grad=True)
    turned = differentiable(lambda x: x * 1j, **PYTHON)(real)
    turned.imag.sum().backward()
    np.testing.assert_array_equal(real.grad.numpy(), 1.0)
