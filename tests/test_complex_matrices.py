"""Linear algebra of complex matrices: values as NumPy's and SciPy's, derivatives as differences', both modes, twice."""

import numpy as np
import pytest
import scipy.linalg as la
from numba import njit

from autodiff import check_grads, grad
from autodiff.runtime.linear_algebra.complex_systems import complex_lu_factor, complex_solve_triangular_into

from .complex_support import assert_derivatives

R = np.random.default_rng(5)


def normal(*shape):
    return R.standard_normal(shape) + 1j * R.standard_normal(shape)


A = normal(4, 4) + 3.0 * np.eye(4)
A[[0, 1]] = A[[1, 0]]                                   # so that pivoting moves rows
B, W, Z = normal(4, 3), normal(3, 4), normal(4)
T = np.stack((A, A.T + 1j))
AB, D = normal(4, 6) + np.array([[0.0], [0.0], [5.0], [0.0]]), normal(6)
H = np.array([[0.0, 0.1j, 0.2, 0.3j, 0.1, 0.2], [3.0, 4.0, 5.0, 4.0, 3.0, 4.0]]) + 0j


def gram(a):
    return a @ np.swapaxes(a.conj(), -1, -2)


def polar(a):
    """The phase of a singular vector's element, against that of the other vector's."""
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    return u @ vh, s, u[..., 0, 0] * vh[..., 0, 0], np.abs(u), np.abs(vh) ** 2


CASES = {
    "svd, tall": (polar, B), "svd, wide": (polar, W), "svd, square": (lambda a: la.svd(a)[1], A),
    "svd of a stack": (polar, np.stack((B, 1j * B))), "svdvals": (lambda a: la.svdvals(a) + np.linalg.cond(a), B),
    "norms": (lambda a: (np.linalg.norm(a, 2), np.linalg.norm(a, "nuc"), la.norm(a, -2)), W),
    "qr, tall": (lambda a: tuple(np.linalg.qr(a)), B), "qr, wide": (lambda a: tuple(np.linalg.qr(a)), W),
    "qr of a stack": (lambda a: tuple(np.linalg.qr(a)), T), "qr of SciPy": (lambda a: la.qr(a, mode="economic")[0], A),
    "pinv, tall": (lambda a: np.linalg.pinv(a), B), "pinv, wide": (lambda a: la.pinv(a), W),
    "pinv of a stack": (lambda a: np.linalg.pinv(a), T),
    "pinv of low rank": (lambda a, b: np.linalg.pinv(a @ b[:, :4], 1e-9) @ a, B[:, :2], W[:2]),
    "lstsq": (lambda a, b: (np.linalg.lstsq(a, b, rcond=None)[0], la.lstsq(a, a)[0]), B, Z),
    "tensors": (lambda a: (np.linalg.tensorinv(a, 1), np.linalg.tensorsolve(a, a[0])), A),
    "solve": (lambda a, b: (la.solve(a, b), la.inv(a) * la.det(a)), A, B),
    "solve, mixed": (lambda a, b: (la.solve(a, b), la.lu_solve(la.lu_factor(a.T), b.conj())), A, Z.real),
    "solve positive": (lambda a, b: (la.solve(gram(a), b, assume_a="pos"), la.inv(gram(a), assume_a="her")), A, B),
    "solve symmetric": (lambda a, b: la.solve(a + a.T, b, assume_a="sym"), A, B),
    "upper": (lambda a, b: la.solve_triangular(a, b), A, Z),
    "lower, transposed": (lambda a, b: la.solve_triangular(a, b, lower=True, trans="T"), A, B),
    "upper, adjoint, unit": (lambda a, b: la.solve_triangular(a, b, 2, False, True), A, B),
    "stack of triangles": (lambda a, b: la.solve_triangular(a, b), T, B),
    "cholesky": (lambda a: (la.cholesky(gram(a)), la.cholesky(gram(a), lower=True)), A),
    "cho_solve": (lambda a, b: la.cho_solve(la.cho_factor(gram(a)), b), A, B),
    "cho_solve, lower": (lambda a, b: la.cho_solve(la.cho_factor(gram(a), lower=True), b), A, Z),
    "lu": (lambda a: la.lu(a)[1:], A), "lu, tall": (lambda a: la.lu(a)[1:], B), "lu, wide": (lambda a: la.lu(a)[1:], W),
    "lu_solve": (lambda a, b: (la.lu_solve(la.lu_factor(a), b), la.lu_solve(la.lu_factor(a), b, trans=1),
                               la.lu_solve(la.lu_factor(a), b, trans=2)), A, B),
    "stack of lu": (lambda a: la.lu_factor(a)[0], T),
    "banded": (lambda ab, b: la.solve_banded((1, 2), ab, b), AB, D),
    "banded, many": (lambda ab, b: la.solve_banded((1, 2), ab, b), AB, normal(6, 2)),
    "Hermitian bands": (lambda ab, b: (la.solveh_banded(ab, b), la.solveh_banded(ab[::-1], b, lower=True)), H, D),
    "toeplitz": (lambda c, b: (la.solve_toeplitz(c, b), la.toeplitz(c, b), la.hankel(c, b)), Z + 9 * np.eye(4)[0], Z),
    "eigh": (lambda a: (np.abs(la.eigh(a + a.conj().T, lower=False)[1]), la.eigvalsh(gram(a))), A),
    "generalised eigh": (lambda a, b: (la.eigvalsh(a + a.conj().T, gram(b)),
                                       np.abs(la.eigh(a + a.conj().T, gram(b), lower=False)[1])), A, T[1]),
    "expm": (lambda a: la.expm(a), 0.5 * A), "expm, large": (lambda a: la.expm(-gram(a)), A),
    "stack of expm": (lambda a: la.expm(0.1 * a), T),
    "expm_frechet": (lambda a, e: la.expm_frechet(a, e, compute_expm=False), 0.3 * A, T[1]),
    "blocks": (lambda a, b: (la.block_diag(a, b), la.khatri_rao(a, a), la.circulant(b)), B, Z),
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name):
    function, *args = CASES[name]
    assert_derivatives(function, tuple(args), tolerance=1e-6)


@pytest.mark.parametrize("name", ["svd, tall", "lu, wide"])
def test_second_order(name):
    function, *args = CASES[name]
    assert check_grads(function, tuple(args), order=2, modes=("rev",), mode="python").worst < 1e-6


def test_compiled_routines():
    """What compiled code calls, against what plain Python calls."""
    def systems(a, b):
        x = np.empty_like(b)
        complex_solve_triangular_into(x, a, b, True, True, False)
        return x, *complex_lu_factor(b)
    args = [np.stack((z.real, z.imag), axis=-1).astype(np.float32) for z in (A, B)]
    for found, expected in zip(njit(systems)(*args), systems(*args), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-4)


def test_singular_values_that_vanish():
    """A function of the matrix alone has its derivative where singular values are 0 or equal."""
    unitary = np.linalg.qr(A)[0]
    found = grad(lambda a: np.linalg.norm(a, "nuc"), mode="python")(2.0 * unitary)
    np.testing.assert_allclose(found, unitary, atol=1e-12)
    u, v = Z / np.linalg.norm(Z), B[:, 0] / np.linalg.norm(B[:, 0])
    found = grad(lambda a: np.linalg.norm(a, 2), mode="python")(np.outer(u, v.conj()))
    np.testing.assert_allclose(found, np.outer(u, v.conj()), atol=1e-12)


def test_not_finite():
    for f in (lambda a: np.sum(np.linalg.svd(a)[1]), lambda a: np.sum(np.abs(np.linalg.qr(a)[1])),
              lambda a: np.sum(np.abs(np.linalg.pinv(a)))):
        assert np.isnan(grad(f, mode="python")(np.where(np.arange(4) == 2, np.nan, A))).all()
