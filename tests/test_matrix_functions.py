"""Roots, powers, logarithms and trigonometric functions of matrices, Sylvester and Lyapunov equations: values as SciPy's,
derivatives as differences'."""

import numpy as np
import pytest
import scipy.linalg as la

from autodiff import AutodiffError, check_grads, differentiable, grad, jvp, vjp

from .complex_support import assert_derivatives

R = np.random.default_rng(8)
A = 0.4 * R.standard_normal((3, 3)) + 2.0 * np.eye(3)
C = A + 0.5j * R.standard_normal((3, 3))
B, Q = R.standard_normal((2, 2)) + 2.0 * np.eye(2), R.standard_normal((3, 2))
TURN = np.array([[0.3, -2.0, 0.1], [2.1, 0.2, 0.0], [0.1, 0.4, 1.0]])       # a pair of complex eigenvalues

CASES = {
    "sqrtm": (lambda a: la.sqrtm(a), A), "sqrtm, complex": (lambda a: la.sqrtm(a), C),
    "sqrtm, turning": (lambda a: la.sqrtm(a), TURN), "sqrtm, negative": (lambda a: la.sqrtm(a + 0j), -A),
    "stack of sqrtm": (lambda a: la.sqrtm(a), np.stack((A, TURN))),
    "logm": (lambda a: la.logm(a), A), "logm, complex": (lambda a: la.logm(a), C),
    "logm, turning": (lambda a: la.logm(a), TURN),
    "power": (lambda a, t: la.fractional_matrix_power(a, t), A, 0.7),
    "power, complex": (lambda a, t: la.fractional_matrix_power(a, t), C, -0.4),
    "power, whole": (lambda a: la.fractional_matrix_power(a, 3) + la.fractional_matrix_power(a, -2.0), A),
    "trigonometric": (lambda a: (la.cosm(a), la.sinm(a), la.tanm(a)), A),
    "hyperbolic": (lambda a: (la.coshm(a) + la.tanhm(a), la.cosm(a) + 2.0 * la.sinm(a)), 0.5 * C),
    "sylvester": (lambda a, b, q: la.solve_sylvester(a, b, q), A, B, Q),
    "sylvester, complex": (lambda a, b, q: la.solve_sylvester(a, b, q), C, B, Q),
    "lyapunov": (lambda a, q: (la.solve_continuous_lyapunov(a, q), la.solve_discrete_lyapunov(0.3 * a, q),
                               la.solve_discrete_lyapunov(0.3 * a, q, method="direct")), C, A + 0j),
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name):
    function, *args = CASES[name]
    assert_derivatives(function, tuple(args), tolerance=1e-6)


@pytest.mark.parametrize("name", ["sqrtm", "logm", "sylvester"])
def test_second_order(name):
    function, *args = CASES[name]
    assert check_grads(function, tuple(args), order=2, modes=("rev",), mode="python").worst < 1e-6


def test_equal_eigenvalues():
    """Where a derivative by eigenvectors would lose terms: at 4 I that of the root is E / 4, that of the logarithm E / 4."""
    e = R.standard_normal((3, 3))
    for f in (la.sqrtm, la.logm):
        _, dot = jvp(lambda a: f(a), (4.0 * np.eye(3),), (1e9 * e,), mode="python")
        np.testing.assert_allclose(dot, 1e9 * e / 4.0, rtol=1e-12)
    _, back = vjp(lambda a: la.logm(a), np.array([[1.0, 1.0], [0.0, 1.0]]), mode="python")
    np.testing.assert_allclose(back(np.array([[0.0, 1.0], [0.0, 0.0]]))[0], [[-0.5, 1.0], [1.0 / 3.0, -0.5]], atol=1e-12)


def test_float32():
    for f, *args in (CASES["sqrtm"], CASES["logm"], CASES["power"], CASES["sylvester"]):
        value, back = vjp(f, *(x.astype(np.float32) if np.ndim(x) else x for x in args), mode="python")
        assert value.dtype == back(value)[0].dtype == np.float32
        np.testing.assert_allclose(value, f(*args), rtol=1e-5, atol=1e-5)


def test_compiled():
    def f(a, t):
        return np.sum(la.logm(a) * la.sqrtm(a)) + la.fractional_matrix_power(a, t)[0, 1]
    found, expected = (grad(f, wrt=("a", "t"), mode=mode)(A, 0.3) for mode in ("numba", "python"))
    for bar, reference in zip(found, expected, strict=True):
        np.testing.assert_allclose(bar, reference, rtol=1e-10)


@pytest.mark.filterwarnings("ignore:Matrix is singular")
def test_real_matrices_without_real_roots():
    for f in (la.sqrtm, la.logm, lambda a: la.fractional_matrix_power(a, 0.3)):
        with pytest.raises(np.linalg.LinAlgError, match="complex"):
            grad(lambda a: np.sum(f(a)), mode="python")(np.diag([1.0, -2.0]))
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        grad(lambda a: np.sum(la.sqrtm(a)), mode="python")(np.diag([1.0, 0.0]))
    assert np.isnan(grad(lambda a: np.sum(la.logm(a)), mode="python")(np.full((2, 2), np.nan))).all()


def test_refused():
    with pytest.raises(AutodiffError, match="disp"):
        vjp(lambda a: la.sqrtm(a, disp=False), A, mode="python")
    with pytest.raises(AutodiffError, match="derivative rule"):
        vjp(lambda a: la.signm(a), A, mode="python")


def test_powers_known_only_in_the_run():
    def polynomial(a):
        return sum(np.sum(np.linalg.matrix_power(a, i)[0]) * (i + 1) for i in range(len(a) + 2))

    def power(a, n):
        return np.sum(np.linalg.matrix_power(a, n)[0])
    a = np.array([[1.3, 0.2], [0.4, 0.9]])
    check_grads(polynomial, (a,), modes=("fwd", "rev"), order=2, mode="python")
    for n in (-3, -1, 0, 1, 5):
        assert np.isclose(differentiable(power, mode="python")(a, n), power(a, n))
        check_grads(power, (a, n), mode="python")
