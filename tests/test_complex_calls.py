"""Functions of complex numbers and arrays that stay calls, and products with conjugate transposes."""

import numpy as np
import pytest

import autodiff as ad
from autodiff.runtime.linear_algebra import complex_linalg

from .complex_support import assert_derivatives
from .fuzz.array_calls import attempt_complex
from .fuzz.calls import calls
from .support import assert_gradient

R = np.random.default_rng(3)
MODES = ["python", "numba"]
FLIP = np.array([[0, 1], [1, 0]], dtype=complex)
W = np.array([0.5, 1.0, 2.0])
Z = np.diag([1.0 + 0j, -1.0])


def normal(*shape):
    return R.standard_normal(shape) + 1j * R.standard_normal(shape)


def decay(g, omega=1.0, h=0.05):
    """A master equation of Lindblad by Runge-Kutta: the slope reads what the function around it has made."""
    rho = np.array([[0, 0], [0, 1]], dtype=complex)
    lower = np.array([[0, 1], [0, 0]], dtype=complex)
    H = omega / 2 * FLIP

    def slope(r):
        d = -1j * (H @ r - r @ H)
        for c in (np.sqrt(g[0]) * lower, np.sqrt(g[1]) * Z):
            cd = c.conj().T
            d += c @ r @ cd - 0.5 * (cd @ c @ r + r @ cd @ c)
        return d
    for _ in range(4):
        a = slope(rho)
        b = slope(rho + h / 2 * a)
        c = slope(rho + h / 2 * b)
        rho = rho + h / 6 * (a + 2 * b + 2 * c + slope(rho + h * c))
    return np.trace(rho @ Z).real


@pytest.mark.parametrize("mode", MODES)
def test_a_slope_of_complex_matrices_is_one_function(mode):
    assert_gradient(decay, (np.array([0.2, 0.1]),), (0,), mode)
    made = ad.grad(decay, mode="python")
    made(np.array([0.2, 0.1]))
    assert made.source.count("def slope(r, ") == made.source.count("def slope_pullback(r, ") == 1


def response(w, poles, zeros):
    """A frequency response: complex numbers into a function and out of it."""
    def factor(s, roots, k):
        value = 1.0 + 0j
        for r in roots:
            value = value * (s - r) / (1.0 + abs(r))
        return value / k, value.conjugate() * s

    total = 0.0
    for k in range(w.shape[0]):
        top, a = factor(1j * w[k], zeros, 1.0)
        bottom, b = factor(1j * w[k], poles, 2.0)
        again, c = factor(top * b, poles, bottom)
        last, d = factor(bottom + a, zeros, top)
        total += abs(top / bottom) ** 2 + (a * b).imag + (again * c - last * d).real
    return total


@pytest.mark.parametrize("mode", MODES)
def test_complex_numbers_in_and_out(mode):
    with calls(True):
        assert_gradient(lambda re, im: response(W, re + 1j * im, im * (0.2 + 1j)), (W * 0.3, -W), (0, 1), mode)
        made = ad.grad(response, wrt=(0, 1, 2), mode="python")
        made(W, -W * (1 + 1j), W * 1j)
    assert made.source.count("def factor(") == made.source.count("def factor_2(") == 1


@pytest.mark.filterwarnings("ignore::autodiff.AutodiffWarning")
@pytest.mark.parametrize("seed", (3, 17, 26, 41))
def test_random_programs(seed):
    outcome, text = attempt_complex(seed)
    assert outcome.verdict != "failed", f"{outcome}\n{text}"


def first(a, b):
    return a.conj().T @ b


def second(a, b):
    return a @ b.conj().T


@pytest.mark.parametrize("shapes", [
    ((3, 2), (3, 4)), ((9, 12), (9, 10)), ((3, 2), (3,)), ((12, 9), (12,)), ((0, 3), (0, 2))])
@pytest.mark.parametrize("mode", MODES)
def test_conjugate_transpose_first(shapes, mode):
    """The call `matmul_cn` of complex matrices."""
    a, b = (normal(*shape) for shape in shapes)
    for f in (first, lambda a, b: np.conj(a.T) @ b):
        assert_derivatives(f, (a, b), mode)


@pytest.mark.parametrize("shapes", [((3, 2), (4, 2)), ((9, 12), (10, 12)), ((2, 0), (3, 0))])
@pytest.mark.parametrize("mode", MODES)
def test_conjugate_transpose_second(shapes, mode):
    """The call `matmul_nc` of complex matrices."""
    assert_derivatives(second, tuple(normal(*shape) for shape in shapes), mode)


def test_no_conjugate_is_copied():
    made = ad.grad(lambda a, b: np.abs(np.sum(first(a, second(b, a)))) ** 2, wrt=(0, 1), mode="python")
    made(normal(9, 9), normal(9, 9))
    code = "\n".join(line for line in made.source.splitlines() if "# " not in line)
    assert code.count("matmul_") >= 6 and "= -" not in code


def written(a, b):
    """A conjugate that is written is memory of its own, and one of what changes later is of what it was."""
    c = a.conj().T
    c[0] = b[0] * 2.0
    d = b.conj()
    b = b * 1.0
    b[1] = a[0]
    e = b.conj().T
    b[0] = a[1]
    return c @ b, d.T @ a, e @ a


@pytest.mark.parametrize("mode", MODES)
def test_a_conjugate_that_is_written(mode):
    assert_derivatives(written, (normal(3, 3), normal(3, 3)), mode)


def mixed(a, b):
    return a.conj().T @ b, a @ b.conj().T, b.conj().T @ a


@pytest.mark.parametrize("kinds", [(np.complex64, np.complex64), (np.complex64, np.complex128)])
def test_other_dtypes(kinds):
    a, b = (normal(3, 3).astype(kind) for kind in kinds)
    for mode in MODES:
        for found, wanted in zip(ad.differentiable(mixed, mode=mode)(a, b), mixed(a, b), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-6)
            assert found.dtype == wanted.dtype


def steps(w, x):
    """Products in a loop: their adjoints are added to memory without loops of their own."""
    s = 0.0
    for t in range(x.shape[0]):
        h = w @ x[t]
        s += np.sum(np.abs(w.conj().T @ h @ w) ** 2)
    return s


@pytest.mark.parametrize("n", [2, 9])
def test_adjoints_of_products_are_added_in_place(n):
    w, x = 0.3 * normal(n, n), normal(3, n, n)
    assert ad.check_grads(steps, (w, x)).worst < 1e-6
    made = ad.grad(steps, wrt=(0, 1), mode="python")
    made(w, x)
    assert made.source.count("add_complex_matmul") >= 4


@pytest.mark.parametrize("n", [0, 1, 3, 9])
def test_words_of_the_library_in_plain_python(n):
    pairs = lambda z: np.ascontiguousarray(z).reshape((*z.shape, 1)).view(float)
    a, b, kept = normal(n, n), normal(n, n), normal(n, n)
    for name, wanted in (("", a @ b), ("_cn", a.conj().T @ b), ("_nc", a @ b.conj().T)):
        out = pairs(kept.copy())
        getattr(complex_linalg, f"complex_matmul{name}_into")(out, pairs(a), pairs(b))
        np.testing.assert_allclose(out, pairs(wanted), atol=1e-13)
        getattr(complex_linalg, f"add_complex_matmul{name}")(out, pairs(a), pairs(b))
        np.testing.assert_allclose(out, pairs(2.0 * wanted), atol=1e-13)


@pytest.mark.parametrize("f", [np.max, np.ptp, lambda z: np.min(z, axis=0), lambda z: np.max(z, axis=-1, keepdims=True)])
def test_extrema_by_real_and_then_imaginary_parts(f):
    z = normal(3, 4)
    assert np.array_equal(ad.differentiable(f, mode="python")(z), f(z))
    ad.check_grads(f, (z,), order=2, modes=("fwd", "rev"), mode="python", directions=1)
    z[:, 1] = z[:, 0].real + 2j                     # equal real parts; nan
    z[1, 2] = np.nan
    assert np.array_equal(ad.differentiable(f, mode="python")(z), f(z), equal_nan=True)
