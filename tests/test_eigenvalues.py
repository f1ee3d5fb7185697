"""Eigenvalues and eigenvectors of general matrices: values as NumPy's but always complex, all derivatives."""

import numpy as np
import pytest
import scipy.linalg as la
from numba import njit

from autodiff import AutodiffError, check_grads, grad, hessian, jacobian, jvp, vjp
from autodiff.runtime.linear_algebra.eigenvalues import complex_eig, eig

from .complex_support import assert_derivatives

R = np.random.default_rng(3)
A = R.standard_normal((4, 4))
C = A + 1j * R.standard_normal((4, 4))
GROWTH = np.array([[0.2, 1.4, -0.9], [-0.6, 0.1, 0.3], [0.2, 0.5, 0.3]])         # one real eigenvalue and a pair


@njit
def compiled_eig(a):
    return eig(a)


@njit
def compiled_complex_eig(a):
    return complex_eig(a)


def everything(a):
    """The phases are those of LAPACK, so that the vectors themselves have derivatives."""
    w, v = np.linalg.eig(a)
    return w.astype(complex), v.astype(complex)


def fast_decay(a):
    """A function of the matrix alone: the trace of its exponential, and what its projections are."""
    w, v = la.eig(a)
    projections = np.abs(v * np.linalg.inv(v).T)
    return np.sum(np.exp(w)).real, np.sum(projections ** 2)


MATRICES = {"real": A, "pair": GROWTH, "complex": C, "symmetric": A + A.T, "Hermitian": C + C.conj().T,
            "one element": A[:1, :1], "stack": np.stack((A, A @ A)), "deep": np.stack((C, C @ C))[None]}


@pytest.mark.parametrize("name", MATRICES)
def test_derivatives(name):
    assert_derivatives(everything, (MATRICES[name],), tolerance=1e-6)


@pytest.mark.parametrize("a", [GROWTH, C.astype(np.complex64)], ids=["real", "complex"])
def test_compiled_routine(a):
    """LAPACK's routines, of which the real one gives vectors in parts, beside NumPy, which may differ in signs."""
    part = a.real.dtype
    if a is GROWTH:
        found = compiled_eig(a)
    else:
        found = compiled_complex_eig(np.stack((a.real, a.imag), axis=-1))
        with pytest.raises(np.linalg.LinAlgError, match="infs or NaNs"):
            compiled_complex_eig(np.full((2, 2, 2), np.nan, part))
    w, v = (x[..., 0] + 1j * x[..., 1] for x in found)
    near = {"rtol": 0, "atol": 2e3 * np.finfo(part).eps}
    assert w.dtype == v.dtype == np.result_type(a, np.complex64)
    np.testing.assert_allclose(w, np.linalg.eig(a)[0], **near)
    np.testing.assert_allclose(a @ v, v * w, **near)
    np.testing.assert_allclose(np.abs(np.sum(v.conj() * np.linalg.eig(a)[1], axis=0)), 1.0, **near)
    assert np.all(v.imag[np.argmax(np.abs(v), axis=0), np.arange(len(a))] == 0)


def test_not_finite():
    with pytest.raises(np.linalg.LinAlgError, match="infs or NaNs"):
        grad(lambda a: np.sum(np.abs(np.linalg.eigvals(a))), mode="python")(np.full((2, 2), np.nan))


def test_second_order():
    assert check_grads(fast_decay, (C[:3, :3],), order=2, mode="python").worst < 1e-6
    rate = lambda a: np.max(np.linalg.eigvals(a).real)
    found = hessian(rate, mode="python")(GROWTH).reshape(9, 9)
    np.testing.assert_allclose(found, found.T, atol=1e-10)
    h, d = 1e-4, R.standard_normal((3, 3))
    difference = (rate(GROWTH + h * d) - 2 * rate(GROWTH) + rate(GROWTH - h * d)) / h ** 2
    assert difference == pytest.approx(d.ravel() @ found @ d.ravel(), rel=1e-4)


def test_against_a_formula():
    """d w_k = l_k^H a_dot r_k / (l_k^H r_k) with SciPy's left and right eigenvectors."""
    w, left, right = la.eig(A, left=True)
    k = int(np.argmax(np.abs(w)))
    scale = left[:, k].conj() @ right[:, k]
    expected = np.outer(left[:, k].conj(), right[:, k]) / scale
    found = jacobian(lambda a: np.linalg.eigvals(a), mode="python")(A)[k]
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_equal_eigenvalues():
    """Sums over equal eigenvalues have their derivative: here of tr(a^3), 3 (a^T)^2."""
    t = np.eye(4) + 0.3 * A
    a = t @ np.diag([2.0, 2.0, 2.0, -1.0]) @ np.linalg.inv(t)
    for m in (2.0 * np.eye(4), a):
        found = grad(lambda a: np.sum(np.linalg.eigvals(a) ** 3).real, mode="python")(m)
        np.testing.assert_allclose(found, 3.0 * (m @ m).T, rtol=1e-9, atol=1e-9)


def test_types():
    value, dot = jvp(lambda a: np.linalg.eigvals(a), (np.diag([1.0, 2.0]),), (np.eye(2),), mode="python")
    assert value.dtype == dot.dtype == complex                          # whatever the values are
    (w, v), back = vjp(lambda a: np.linalg.eig(a), GROWTH.astype(np.float32), mode="python")
    assert {w.dtype, v.dtype} == {np.dtype(np.complex64)} and back((np.conj(w), v))[0].dtype == np.float32
    np.testing.assert_allclose(w, np.linalg.eigvals(GROWTH), rtol=1e-5)


def test_defective():
    """One eigenvector: the eigenvalues change as a square root, and the slopes are beyond all bounds."""
    found = grad(lambda a: np.linalg.eigvals(a)[0].real, mode="python")(np.array([[1.0, 1.0], [0.0, 1.0]]))
    assert not np.all(np.abs(found) < 1e12)


def test_roots():
    assert_derivatives(lambda p: np.roots(p).astype(complex), (np.array([2.0, -1.0, 3.0, 0.5]),))
    assert_derivatives(lambda p: np.roots(p), (C[0],))
    with pytest.raises(ValueError, match="first and last"):
        grad(lambda p: np.sum(np.abs(np.roots(p))), mode="python")(np.array([0.0, 1.0, 2.0]))


def test_refused():
    for f, word in ((lambda a: la.eig(a, left=True)[0], "right eigenvectors"), (lambda a: la.eigvals(a, a), "one matrix"),
                    (lambda a: np.sum(np.linalg.eigvals(a)), "real loss")):
        with pytest.raises(AutodiffError, match=word):
            grad(f, mode="python")(A)
