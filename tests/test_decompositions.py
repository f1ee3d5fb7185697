"""Decompositions where values coincide or vanish, of nan, of one element, and what is refused."""

import numpy as np
import pytest

from autodiff import (
    AutodiffError,
    UnsupportedSyntax,
    check_grads,
    differentiable,
    grad,
    hessian,
    jacobian,
    jvp,
    value_and_grad,
    vjp,
)

R = np.random.default_rng(4)
A = R.standard_normal((4, 4))


def square_root(a):
    w, v = np.linalg.eigh(a)
    return (v * np.sqrt(w)) @ v.T


def test_equal_eigenvalues():
    """A function of the matrix alone has its derivative there too: that of the square root at 4 I is E / 4."""
    E = A + A.T
    _, dot = jvp(square_root, (4.0 * np.eye(4),), (E,), mode="python")
    np.testing.assert_allclose(np.diag(dot), np.diag(E) / 4.0)
    _, back = vjp(lambda a: np.linalg.eigvalsh(a).sum(), 4.0 * np.eye(4), mode="python")
    np.testing.assert_allclose(back(1.0)[0], np.eye(4))
    assert np.isfinite(grad(lambda a: np.sum(square_root(a) ** 2), mode="python")(4.0 * np.eye(4))).all()


def test_singular_values_of_zero():
    a = np.outer(A[0], A[1])
    found = grad(lambda a: np.linalg.svd(a, compute_uv=False)[0], mode="python")(a)
    u, v = A[0] / np.linalg.norm(A[0]), A[1] / np.linalg.norm(A[1])
    np.testing.assert_allclose(found, np.outer(u, v), atol=1e-12)


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_nan_gives_nan(mode):
    a = A.copy()
    a[1, 2] = np.nan
    cases = (lambda a: np.linalg.eigh(a)[0].sum(), lambda a: np.linalg.pinv(a).sum(),
             lambda a: np.linalg.svd(a, full_matrices=False)[1].sum(), lambda a: np.linalg.qr(a)[1].sum())
    for f in cases[:2] if mode == "numba" else cases:
        assert np.isnan(grad(f, mode=mode)(a)).all()


def test_symmetric_adjoints():
    """As Cholesky's: the adjoint of a symmetric matrix, whichever triangle LAPACK reads."""
    found = grad(lambda a: np.sum(np.linalg.eigh(a)[1][:, 0] ** 4), mode="python")(A + A.T)
    np.testing.assert_allclose(found, found.T)


@pytest.mark.parametrize("a", [A, A + 1j * A.T @ A], ids=["real", "complex"])
def test_eigenvectors_of_the_upper_triangle(a):
    """With NumPy's signs and phases; the other triangle is not read."""
    spectrum = lambda a: tuple(np.linalg.eigh(a, "U"))
    for mode in ("python", "numba"):
        for found, wanted in zip(differentiable(spectrum, mode=mode)(a), spectrum(a)):
            np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)
    check_grads(lambda a: np.abs(np.linalg.eigh(a + a.conj().T, "U")[1]), (a,), modes=("fwd", "rev"), mode="python")


def test_second_order():
    def f(a):
        return np.linalg.eigvalsh(a @ a.T)[-1] + np.linalg.svd(a, compute_uv=False)[1] ** 2
    x = A[:3, :3]
    found = hessian(f, mode="python")(x).reshape(9, 9)
    np.testing.assert_allclose(found, found.T, atol=1e-10)
    g, h, d = grad(f, mode="python"), 1e-6, R.standard_normal((3, 3))
    np.testing.assert_allclose(found @ d.ravel(), ((g(x + h * d) - g(x - h * d)) / (2 * h)).ravel(), rtol=1e-5, atol=1e-7)


def test_jacobian_of_the_eigenvalues():
    a = A @ A.T
    both = [jacobian(lambda a: np.linalg.eigvalsh(a), direction=d, mode="python")(a) for d in ("forward", "reverse")]
    np.testing.assert_allclose(*both, atol=1e-12)
    w, v = np.linalg.eigh(a)
    np.testing.assert_allclose(both[0][2], np.outer(v[:, 2], v[:, 2]), atol=1e-10)


def test_float32_and_one_element():
    one = np.array([[2.0]])
    assert grad(lambda a: np.linalg.eigh(a)[0][0] + np.linalg.svd(a)[1][0] + np.linalg.pinv(a)[0, 0], mode="python")(
        one) == pytest.approx(2.0 - 0.25)
    narrow = grad(lambda a: np.linalg.svd(a, compute_uv=False).sum())(A.astype(np.float32))
    assert narrow.dtype == np.float32
    u, _, vh = np.linalg.svd(A)
    np.testing.assert_allclose(narrow, u @ vh, atol=1e-4)


def test_refused():
    with pytest.raises(ValueError, match="full_matrices=False"):       # where the sizes are known only when it runs
        grad(lambda a: np.sum(np.linalg.svd(a)[0]), mode="python")(A[:3])
    with pytest.raises(AutodiffError, match="full_matrices=False"):
        grad(lambda a: np.sum(np.linalg.svd(np.reshape(a, (2, 8)))[2]), mode="python")(A)
    with pytest.raises(UnsupportedSyntax, match="'reduced' and 'r'"):
        grad(lambda a: np.sum(np.linalg.qr(a, mode="complete")[0]), mode="python")(A)
    with pytest.raises(AutodiffError, match="only the solution"):
        grad(lambda a: np.sum(np.linalg.lstsq(a, a[0])[1]), mode="python")(A)


def aligned(p, q):
    """Kabsch: the rotation that brings p nearest to q, by the square factors of an svd, one of which is written to."""
    p, q = p - p.mean(axis=0), q - q.mean(axis=0)
    u, _, vh = np.linalg.svd(p.T @ q)
    if np.linalg.det(vh.T @ u.T) < 0.0:
        u[:, -1] *= -1.0
    return np.sqrt(np.sum((p @ u @ vh - q) ** 2) / len(p))


def test_square_factors_of_matrices_that_are_square_in_the_run():
    p, q = np.random.default_rng(0).normal(size=(2, 6, 3))
    for other in (q, -q):
        assert np.isclose(value_and_grad(aligned, mode="python")(p, other)[0], aligned(p, other))
        check_grads(aligned, (p, other), modes=("fwd", "rev"), mode="python")
    spectrum = grad(lambda a: np.sum(np.linalg.svd(a)[1]), mode="python")(p)       # reads no square factor
    np.testing.assert_allclose(spectrum, grad(lambda a: np.sum(np.linalg.svdvals(a)), mode="python")(p))
