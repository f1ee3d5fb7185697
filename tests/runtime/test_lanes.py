"""Small products by vectors: all sizes, layouts and ways, and nothing outside the result is touched."""

import numba
import numpy as np
import pytest

from autodiff.runtime.linear_algebra import blas, complex_linalg, lanes, linalg

RANDOM = np.random.default_rng(0)
LAYOUTS = {
    "rows": lambda a: a,
    "columns": np.asfortranarray,
    "every second": lambda a: np.repeat(np.repeat(a, 2, 0), 2, 1)[::2, ::2],
    "from the end": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "rows apart": lambda a: np.pad(a, ((0, 0), (0, 3)))[:, :a.shape[1]],
}


def inside(shape, dtype):
    """A view of a larger array, and that array, full of another number."""
    whole = np.full((shape[0] + 2, shape[1] + 3), 77.0, dtype)
    return whole[1:-1, 1:-2], whole


@pytest.fixture(autouse=True, scope="module")
def routines():
    blas.provide()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_real_products(layout, dtype):
    """Of whole numbers, whose sums are exact in any order."""
    lay = LAYOUTS[layout]
    for m, k, n in [*np.ndindex(9, 3, 10), (9, 4, 9), (8, 9, 3), (4, 7, 8), (8, 8, 8)]:
        a, b, before = (RANDOM.integers(-4, 5, shape).astype(dtype) for shape in ((m, k), (k, n), (m, n)))
        for keep in (0.0, 1.0, -0.5):
            out, whole = inside((m, n), dtype)
            out[...] = before if keep else np.nan
            lanes.matrix_matrix(out, lay(a), lay(b), keep)
            np.testing.assert_array_equal(out, a @ b + keep * before if keep else a @ b)
            out[...] = 77.0
            assert (whole == 77.0).all()
        other = lay(before.copy())
        lanes.matrix_matrix(other, lay(a), lay(b), 1.0)
        np.testing.assert_array_equal(other, a @ b + before)


def test_numbers_that_are_not_finite():
    for value in (np.nan, np.inf, -0.0, 5e-324):
        for m in range(1, 9):
            a, b = RANDOM.normal(size=(3, m)), RANDOM.normal(size=(m, 5))
            b[RANDOM.integers(m), RANDOM.integers(5)] = value
            out = np.empty((3, 5))
            lanes.matrix_matrix(out, a, b, 0.0)
            np.testing.assert_allclose(out, a @ b, 1e-13, 1e-14)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_complex_products(dtype):
    def pairs(*shape):
        return RANDOM.integers(-4, 5, (*shape, 2)).astype(dtype)

    def numbers(x):
        return x[..., 0] + 1j * x[..., 1]

    ways = {(False, False): ("complex_matmul", "add_complex_matmul"),
            (True, False): ("complex_matmul_cn", "add_complex_matmul_cn"),
            (False, True): ("complex_matmul_nc", "add_complex_matmul_nc")}
    for m, k, n in [*np.ndindex(4, 4, 6), (12, 5, 12), (13, 2, 3), (3, 13, 2), (2, 12, 7), (12, 12, 12)]:
        for (first, second), (plain, adding) in ways.items():
            a, b, before = pairs(*((k, m) if first else (m, k))), pairs(*((n, k) if second else (k, n))), pairs(m, n)
            product = (numbers(a).conj().T if first else numbers(a)) @ (numbers(b).conj().T if second else numbers(b))
            out = before.copy()
            KEPT(out, a, b, first, second, 0.0)
            np.testing.assert_array_equal(numbers(out), product)
            KEPT(out, a, b, first, second, 1.0)
            np.testing.assert_array_equal(numbers(out), 2.0 * product)
            out = before.copy()
            getattr(complex_linalg, plain + "_into")(out, a, b)         # as Python runs it
            np.testing.assert_allclose(numbers(out), product)
            getattr(complex_linalg, adding)(out, a, b)
            np.testing.assert_allclose(numbers(out), 2.0 * product)


KEPT = complex_linalg._product


def test_products_of_two_dtypes():
    """As by BLAS's loops: vectors are of one dtype."""
    @numba.njit
    def product(out, a, b):
        linalg.matmul_into(out, a, b)

    a, b = RANDOM.integers(-4, 5, (3, 4)), RANDOM.integers(-4, 5, (4, 2))
    for kinds in ((np.float64, np.float64, np.float32), (np.float64, np.float32, np.float32)):
        out = np.empty((3, 2), kinds[0])
        product(out, a.astype(kinds[1]), b.astype(kinds[2]))
        np.testing.assert_array_equal(out, a @ b)


@pytest.mark.parametrize("shapes", [((2, 3), (3, 2), (2, 3)), ((2, 2), (3, 2), (2, 2)), ((3, 2), (2, 2), (2, 2)),
                                    ((2, 2), (2, 0), (3, 2))])
def test_shapes_that_do_not_fit(shapes):
    out, a, b = map(np.ones, shapes)
    with pytest.raises(ValueError, match="shapes"):
        lanes.matrix_matrix(out, a, b, 0.0)
