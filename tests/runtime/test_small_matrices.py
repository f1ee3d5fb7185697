"""Small matrices are factored and multiplied by loops, as LAPACK and NumPy do: each size up to the limit, and beyond it."""

import numba
import numpy as np
import pytest
import scipy.linalg

from autodiff.runtime.linear_algebra import complex_linalg, factored, lapack, linalg, small

SIZES = (0, 1, 2, 3, 5, 8)
KINDS = {np.float64: 1e-9, np.float32: 2e-3, np.complex128: 1e-9}


def matrix(r, kind, *shape):
    a = r.standard_normal(shape)
    return (a + 1j * r.standard_normal(shape) if kind is np.complex128 else a).astype(kind)


@pytest.mark.parametrize("kind", KINDS)
def test_factors_as_python_runs_them(kind):
    """Pivots in every order: random matrices and permutations."""
    r, tolerance = np.random.default_rng(0), KINDS[kind]
    for n in SIZES:
        for trial in range(6):
            a = matrix(r, kind, n, n) if trial < 4 else np.eye(n, dtype=kind)[r.permutation(n)]
            a = np.asfortranarray(a) if trial % 2 else a
            factors, pivots = small.lu.py_func(a)
            rows = factors.T.copy()                                     # L and U
            made = (np.tril(rows, -1) + np.eye(n)) @ np.triu(rows)
            for k in range(n - 1, -1, -1):
                made[[k, pivots[k]]] = made[[pivots[k], k]]
            np.testing.assert_allclose(made, a, atol=tolerance)
            assert (np.abs(np.tril(rows, -1)) <= 1.0 + tolerance).all()
            for transposed in (False, True):
                b = matrix(r, kind, n, 3)
                x = b.copy()
                small.substitute.py_func(factors, pivots, x, transposed)
                np.testing.assert_allclose((a.T if transposed else a) @ x, b, atol=20.0 * tolerance)
                if not n:
                    continue
                one = b[:, :1].copy()
                small.substitute.py_func(factors, pivots, one, transposed)
                vector = b[:, 0].copy()
                small.substitute_vector.py_func(factors, pivots, vector, transposed)
                np.testing.assert_allclose(vector, one[:, 0], tolerance, tolerance)


@pytest.mark.parametrize("kind", KINDS)
def test_triangles(kind):
    r, tolerance = np.random.default_rng(2), KINDS[kind]
    for n in SIZES:
        for count in (1, 4, 300):                                       # more than go at a time
            for lower, trans, unit in np.ndindex(2, 2, 2):
                a, b = matrix(r, kind, n, n) + 3 * np.eye(n, dtype=kind), matrix(r, kind, n, count)
                t = np.tril(a) if lower else np.triu(a)
                t = t - np.diag(np.diag(t)) + np.eye(n) if unit else t
                for order in (np.ascontiguousarray, np.asfortranarray):
                    x = compiled_triangle(order(a), order(b), bool(lower), bool(trans), bool(unit))
                    np.testing.assert_allclose((t.T if trans else t) @ x, b, atol=200.0 * tolerance)
    with pytest.raises(np.linalg.LinAlgError):
        compiled_triangle(np.zeros((2, 2)), np.ones(2), True, False, False)


@numba.njit
def compiled_triangle(a, b, lower, trans, unit):
    return lapack.solve_triangular(a, b, lower, trans, unit)


def triangle_into(kind, rank):
    """Compiled for arrays of any layout."""
    dtype, flag = numba.from_dtype(np.dtype(kind)), numba.boolean
    given = numba.types.Array(dtype, rank, "A"), dtype[:, :], numba.types.Array(dtype, rank, "A"), flag, flag, flag
    return numba.njit(numba.void(*given))(
        lambda out, a, b, lower, trans, unit: lapack.solve_triangular_into(out, a, b, lower, trans, unit))


LAYOUTS = {"rows": np.ascontiguousarray, "columns": np.asfortranarray,
           "gaps between rows": lambda x: np.hstack([x, x])[:, :x.shape[1]],
           "gaps between columns": lambda x: np.asfortranarray(np.vstack([x, x]))[:len(x)],
           "gaps everywhere": lambda x: np.repeat(np.repeat(x, 2, 0), 2, 1)[::2, ::2],
           "backwards": lambda x: x[::-1, ::-1].copy()[::-1, ::-1]}


@pytest.mark.parametrize("kind", KINDS)
def test_triangles_of_every_layout(kind):
    """Into memory of every layout, or that of the right-hand sides, as SciPy solves them."""
    r, tolerance, of_many, of_one = np.random.default_rng(4), KINDS[kind], triangle_into(kind, 2), triangle_into(kind, 1)
    for trial in range(150):
        n, count = r.integers(1, 10), r.choice([0, 1, 2, 15, 16, 17, 127, 128, 129, 300])
        lower, trans, unit, same = map(bool, r.integers(0, 2, 4))
        of_a, of_b, of_out = ([*LAYOUTS.values()][k] for k in r.integers(0, len(LAYOUTS), 3))
        a, b = of_a(matrix(r, kind, n, n) + 4 * np.eye(n, dtype=kind)), of_b(matrix(r, kind, n, count))
        expected = scipy.linalg.solve_triangular(a, b, trans=int(trans), lower=lower, unit_diagonal=unit)
        out = b if same else of_out(np.full((n, count), np.nan, kind))
        of_many(out, a, b, lower, trans, unit)
        np.testing.assert_allclose(out, expected, 100 * tolerance, 100 * tolerance, err_msg=f"{trial} {n} {count}")
        if count:
            x, v = np.full((n, 2), np.nan, kind)[:, trial % 2], expected[:, 0]
            of_one(x, a, v, lower, trans, unit)
            np.testing.assert_allclose(x, scipy.linalg.solve_triangular(
                a, v, trans=int(trans), lower=lower, unit_diagonal=unit), 100 * tolerance, 100 * tolerance)


def test_cholesky_as_python_runs_it():
    r = np.random.default_rng(1)
    for n in SIZES:
        a = matrix(r, np.float64, n, n)
        a = a @ a.T + np.eye(n)
        found = np.full((n, n), np.nan)
        assert small.cholesky.py_func(np.tril(a), found)                # the upper triangle is not read
        np.testing.assert_allclose(found, np.linalg.cholesky(a), atol=1e-12)
        for wrong in (-1.0, np.nan):
            if n:
                a[n - 1, n - 1] = wrong
                assert not small.cholesky.py_func(a, found)


@numba.njit(error_model="numpy")
def everything(a, b, v, spd):
    factors, pivots = factored.factored(a)
    x, y, z = np.empty_like(b), np.empty_like(v), np.empty_like(b)
    factored.solve_factored_into(x, factors, pivots, b, False)
    factored.solve_factored_into(y, factors, pivots, v, True)
    factored.solve_factored_into(z, factors, pivots, b, True)
    return (linalg.solve(a, b), linalg.solve(a, v), linalg.inv(a), linalg.det(a), linalg.cholesky(spd), x, y, z,
            linalg.is_invertible(a), linalg.is_positive_definite(spd), linalg.is_positive_definite(-spd))


def test_compiled_as_numpy():
    r = np.random.default_rng(2)
    for n in (1, 2, 4, 8, 9):
        a, b, v = matrix(r, np.float64, n, n), matrix(r, np.float64, n, 3), matrix(r, np.float64, n)
        spd = a @ a.T + np.eye(n)
        wanted = (np.linalg.solve(a, b), np.linalg.solve(a, v), np.linalg.inv(a), np.linalg.det(a), np.linalg.cholesky(spd),
                  np.linalg.solve(a, b), np.linalg.solve(a.T, v), np.linalg.solve(a.T, b), 1.0, 1.0, 0.0)
        for one, other in zip(everything(a, b, v, spd), wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10)


def test_singular_matrices_raise():
    ok = np.eye(2)
    for a in (np.zeros((2, 2)), np.array([[1.0, 2.0], [2.0, 4.0]])):
        with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
            everything(a, ok, ok[0], ok)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        everything(ok, ok, ok[0], -ok)


@numba.njit(error_model="numpy")
def complex_product(out, a, b):
    complex_linalg.complex_matmul_into(out, a, b)


def test_complex_products():
    """By loops up to 7 rows and columns, by BLAS beyond, also empty ones."""
    r = np.random.default_rng(3)
    for n, k, m in ((4, 4, 4), (1, 7, 3), (7, 1, 7), (0, 3, 2), (2, 0, 3), (8, 4, 2), (2, 4, 8), (20, 30, 10)):
        a, b, out = (matrix(r, np.float64, *shape, 2) for shape in ((n, k), (k, m), (n, m)))
        complex_product(out, a, b)
        np.testing.assert_allclose(out @ (1, 1j), (a @ (1, 1j)) @ (b @ (1, 1j)), atol=1e-12)


def test_complex_products_that_do_not_fit():
    with pytest.raises(ValueError, match="do not fit"):
        complex_product(np.empty((2, 2, 2)), np.empty((2, 3, 2)), np.empty((2, 2, 2)))
