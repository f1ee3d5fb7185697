"""scipy.linalg: values as SciPy's, derivatives as differences', in both modes, twice, compiled, float32; what is refused."""

import numpy as np
import pytest
import scipy.linalg as la
from numba import njit

from autodiff import AutodiffError, check_grads, grad, hvp, jvp, value_and_grad, vjp
from autodiff.runtime.linear_algebra.matrix_functions import expm, expm_frechet

from .support import assert_gradient

R = np.random.default_rng(0)
A = R.normal(size=(4, 4)) + 3.0 * np.eye(4)
A[[0, 1]] = A[[1, 0]]                                   # so that pivoting moves rows
B, V = R.normal(size=(4, 3)), R.normal(size=4)
T = np.array([A, A.T + 1.0])
S = 0.1 * A @ A.T
AB, D = R.normal(size=(4, 6)) + np.array([[0.0], [0.0], [4.0], [0.0]]), R.normal(size=6)
H = np.array([[0.0, 0.1, 0.2, 0.3, 0.1, 0.2], [3.0, 4.0, 5.0, 4.0, 3.0, 4.0]])

CASES = {
    "solve": (lambda a, b: la.solve(a, b), A, B),
    "solve transposed": (lambda a, b: la.solve(a, b, transposed=True), A, V),
    "solve positive": (lambda a, b: la.solve(a @ a.T, b, assume_a="pos"), A, V),
    "upper": (lambda a, b: la.solve_triangular(a, b), A, V),
    "lower, transposed": (lambda a, b: la.solve_triangular(a, b, lower=True, trans="T"), A, B),
    "upper, transposed, unit": (lambda a, b: la.solve_triangular(a, b, 1, False, True), A, B),
    "stack of triangles": (lambda a, b: la.solve_triangular(a, b), T, B),
    "cho_solve": (lambda a, b: la.cho_solve(la.cho_factor(a @ a.T), b), A, B),
    "cho_solve, lower": (lambda a, b: la.cho_solve(la.cho_factor(a @ a.T, lower=True), b), A, V),
    "banded": (lambda ab, b: la.solve_banded((1, 2), ab, b), AB, D),
    "banded, many": (lambda ab, b: la.solve_banded((1, 2), ab, b), AB, R.normal(size=(6, 2))),
    "symmetric bands": (lambda ab, b: la.solveh_banded(ab, b), H, D),
    "symmetric bands, lower": (lambda ab, b: la.solveh_banded(ab, b, lower=True), H[::-1].copy(), D),
    "solve_toeplitz": (lambda c, r, b: la.solve_toeplitz((c, r), b), V + 5.0 * np.eye(4)[0], 0.3 * V, V),
    "lu": (lambda a: la.lu(a)[0] @ la.lu(a)[1] @ np.sin(la.lu(a)[2]), A),
    "lu permuted": (lambda a: la.lu(a, permute_l=True)[0], A),
    "stack of lu": (lambda a: la.lu_factor(a)[0], T),
    "lu_solve": (lambda a, b: la.lu_solve(la.lu_factor(a), b), A, B),
    "lu_solve transposed": (lambda a, b: la.lu_solve(la.lu_factor(a), b, trans=1), A, V),
    "cholesky": (lambda a: la.cholesky(a @ a.T), A),
    "cholesky, lower": (lambda a: la.cholesky(a @ a.T, lower=True), A),
    "eigh": (lambda a: np.abs(la.eigh(a + a.T, lower=False)[1]), A),
    "generalised eigh": (lambda a, b: la.eigh(a + a.T, b @ b.T)[1] ** 2 + la.eigh(a + a.T, b @ b.T)[0], A, A.T + 1.0),
    "eigvalsh of some": (lambda a: la.eigvalsh(a + a.T, subset_by_index=[1, 2]), A),
    "expm": (lambda a: la.expm(a), A),
    "expm, large": (lambda a: la.expm(-3.0 * a @ a.T), A),
    "stack of expm": (lambda a: la.expm(0.1 * a), T),
    "expm_frechet": (lambda a, e: la.expm_frechet(a, e, compute_expm=False), 0.4 * A, S),
    "toeplitz": (lambda c, r: la.toeplitz(c, r), V, D),
    "hankel": (lambda c, r: la.hankel(c, r) + la.hankel(c)[:, :1], V, D),
    "circulant": (lambda c: la.circulant(c), V),
    "block_diag": (lambda a, b, c: la.block_diag(a, b, c), A, B, V),
    "khatri_rao": (lambda a, b: la.khatri_rao(a, b), B, B[:2].copy()),
    "pinv": (lambda a: la.pinv(a), B),
    "lstsq": (lambda a, b: la.lstsq(a, b)[0], B, V),
    "qr": (lambda a: np.abs(la.qr(a, mode="economic")[0]), B),
    "svdvals": (lambda a: la.svdvals(a) + la.norm(a, "nuc") + la.svd(a, full_matrices=False)[1], B),
    "inv, det": (lambda a: la.inv(a) * la.det(a) + la.inv(a @ a.T, assume_a="pos"), A),
}
TWICE = ("upper, transposed, unit", "banded, many", "stack of lu", "expm", "expm_frechet")


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name):
    f, *args = CASES[name]
    value, pullback = vjp(f, *args, mode="python")
    np.testing.assert_allclose(value, f(*args), rtol=1e-10, atol=1e-12)
    w = np.cos(np.arange(np.size(value))).reshape(np.shape(value))
    bars = pullback(w)
    d = [np.sin(1.0 + np.arange(a.size)).reshape(a.shape) for a in args]
    slope = sum(np.sum(bar * x) for bar, x in zip(bars, d, strict=True))
    along = lambda h: np.sum(w * f(*(a + h * x for a, x in zip(args, d, strict=True))))
    error = min(abs((along(h) - along(-h)) / (2 * h) - slope) for h in (1e-4, 1e-5, 1e-6))
    assert error < 1e-7 * max(1.0, abs(slope))
    assert np.sum(w * jvp(f, tuple(args), tuple(d), mode="python")[1]) == pytest.approx(slope, rel=1e-9)
    if name in TWICE:
        narrow, pull = vjp(f, *(a.astype(np.float32) for a in args), mode="python")
        assert {x.dtype for x in (narrow, *pull(w.astype(np.float32)))} == {np.dtype(np.float32)}
        np.testing.assert_allclose(narrow, value, rtol=1e-3, atol=1e-3 * np.abs(value).max())
        assert check_grads(f, tuple(args), order=2, modes=("rev",), mode="python").worst < 1e-6


def everything(a, b, ab, d):
    """Each library call that scipy.linalg adds, once; the exponential's are compiled in `test_exponential`."""
    factors = la.lu_factor(a)
    x = la.solve_triangular(a, b, lower=True, trans=1) + la.lu_solve(factors, b)
    y = la.solve_banded((1, 2), ab, d)
    return np.sum(np.sin(x)) + np.sum(y * y)


def test_compiled():
    args = (A, B, AB, D)
    wrt = ("a", "b", "ab", "d")
    value, bars = value_and_grad(everything, wrt=wrt)(*args)
    expected, references = value_and_grad(everything, wrt=wrt, mode="python")(*args)
    assert value == pytest.approx(expected, rel=1e-12) == pytest.approx(everything(*args), rel=1e-12)
    for bar, reference in zip(bars, references, strict=True):
        np.testing.assert_allclose(bar, reference, rtol=1e-9, atol=1e-11)


def test_exponential():
    """The compiled exponential and its derivative beside SciPy's, without and with scaling."""
    both = njit(lambda a, e: (expm(a), expm_frechet(a, e)))
    for size in (1e-3, 0.3, 4.0, 40.0):
        a = -size * S / np.abs(S).sum(axis=0).max()
        value, slope = both(a, B @ B.T)
        np.testing.assert_allclose(value, la.expm(a), rtol=1e-11, atol=1e-13)
        np.testing.assert_allclose(slope, la.expm_frechet(a, B @ B.T, compute_expm=False), rtol=1e-9, atol=1e-11)
    assert np.isnan(both(np.full((2, 2), np.nan), np.eye(2))[0]).all()


def test_symmetric_arguments():
    """What is taken as symmetric has a symmetric adjoint, whichever triangle is read."""
    spd, other = A @ A.T, S + np.eye(4)
    for f in (lambda a: np.sum(la.solve(a, V, assume_a="pos")), lambda a: np.sum(la.cholesky(a)),
              lambda a: la.eigvalsh(a)[1], lambda a: la.eigh(other, a)[0][1], lambda a: la.eigh(a, other)[0][1]):
        found = grad(f, mode="python")(spd)
        np.testing.assert_allclose(found, found.T, atol=1e-12)
        e = B @ B.T
        assert np.sum(found * e) == pytest.approx((f(spd + 1e-5 * e) - f(spd - 1e-5 * e)) / 2e-5, rel=1e-6)


def test_second_order_of_stacked_parts():
    """Both parts of a decomposition are restored, each to its own contents."""
    def f(a):
        q, r = np.linalg.qr(a)
        w, v = np.linalg.eigh(a + np.swapaxes(a, -1, -2))
        return np.sum(np.sin(r) * q) + np.sum(np.sin(w) * v[:, 0] ** 2)
    g, h, d = grad(f, mode="python"), 1e-5, R.normal(size=T.shape)
    nested = grad(lambda a: np.sum(g(a) * d), mode="python")(T)
    np.testing.assert_allclose(nested, hvp(f, mode="python")(T, d), atol=1e-9)
    np.testing.assert_allclose(nested, (g(T + h * d) - g(T - h * d)) / (2 * h), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("mode", ["python", "numba"])
def test_singular(mode):
    with pytest.raises(np.linalg.LinAlgError):
        grad(lambda a: np.sum(la.solve_triangular(a, V)), mode=mode)(np.triu(A, 1))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex64])
def test_cutoffs(dtype):
    """Which singular values of a matrix of low rank count as zero."""
    a = (R.normal(size=(30, 3)) @ R.normal(size=(3, 20))).astype(dtype)
    b = a[:, 0] + a[:, 1]
    for f in (lambda a: np.linalg.pinv(a, rtol=None), lambda a: la.pinv(a), lambda a: la.lstsq(a, b)[0]):
        value, expected = vjp(f, a, mode="python")[0], f(a)
        np.testing.assert_allclose(value, expected, rtol=0, atol=1e3 * np.finfo(dtype).eps * np.abs(expected).max())
        assert value.dtype == dtype


def test_refused():
    for f, words in ((lambda a: la.qr(a)[0], "economic"), (lambda a: la.qr(a, pivoting=True)[0], "pivoting"),
                     (lambda a: la.eigh(a, type=2)[0], "type 1"), (lambda a: la.schur(a)[0], "derivative rule")):
        with pytest.raises(AutodiffError, match=words):
            vjp(f, A, mode="python")


@pytest.mark.parametrize("lower", [True, False])
def test_signs_of_eigenvectors_are_scipys(lower):
    """Which are those of LAPACK's syevr, and may differ from NumPy's; the triangle that is not read does not matter."""
    def vectors(a):
        return la.eigh(a, lower=lower)[1]
    draw = np.random.default_rng(1)
    for n in (1, 2, 3, 4, 7):
        for a in draw.normal(size=(6, n, n)):
            np.testing.assert_allclose(vjp(vectors, a, mode="python")[0], vectors(a), atol=1e-12)
    stack = draw.normal(size=(2, 4, 4))
    np.testing.assert_allclose(vjp(vectors, stack)[0], vectors(stack), atol=1e-12)
    narrow = stack[0].astype(np.float32)
    np.testing.assert_allclose(vjp(vectors, narrow)[0], vectors(narrow), atol=1e-5)
    check_grads(lambda a: (np.abs(vectors(a + a.T)), la.eigh(a + a.T, lower=lower)[0]), (stack[1],), modes=("fwd", "rev"))


def by_turns(a, b):
    s = 0.0
    for k in range(3):
        b = la.solve_triangular(a, b, lower=k % 2 == 0)
        s += np.sum(b * b)
    return s


def test_which_triangle_may_be_known_in_an_iteration():
    assert_gradient(by_turns, (A, B), (0, 1), "python")


def as_told(a, b, trans):
    return np.sum(la.solve_triangular(a, b, trans=trans))


def test_how_a_triangle_is_read_must_be_known():
    with pytest.raises(AutodiffError, match="must be known before the program runs"):
        grad(as_told, mode="python")(A, V, 1)
