"""Products by BLAS: any layout is read where it lies or copied, and added to or replacing what is there."""

from functools import partial

import numpy as np
import pytest

from autodiff.runtime.linear_algebra import blas, linalg

RANDOM = np.random.default_rng(0)
LAYOUTS = {
    "rows": lambda a: a,
    "columns": np.asfortranarray,
    "a slice of columns": lambda a: np.concatenate([a, a], axis=1)[:, :a.shape[1]],
    "every second row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "every second column": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "upside down": lambda a: a[::-1].copy()[::-1],
    "one row for all": lambda a: np.broadcast_to(a[:1], a.shape),
}


@pytest.fixture(autouse=True, scope="module")
def routines():
    blas.provide()


@pytest.mark.parametrize("name, dtype", [*((name, np.float64) for name in LAYOUTS), ("rows", np.float32),
                                         ("columns", np.complex128), ("every second row", np.complex64)])
def test_matrices_of_any_layout(name, dtype):
    lay = LAYOUTS[name]
    tolerance = 1e-12 if dtype in (np.float64, np.complex128) else 1e-4
    factor = 1.0 + 0.5j if np.issubdtype(dtype, np.complexfloating) else 1.0
    for m, k, n in ((9, 12, 10), (1, 5, 3), (4, 1, 6), (3, 7, 1)):
        a, b = (lay((factor * RANDOM.normal(size=shape)).astype(dtype)) for shape in ((m, k), (k, n)))
        out = np.full((m, n), np.nan, dtype)                # what is there must not be read
        blas.matrix_matrix(out, a, b, 0.0)
        np.testing.assert_allclose(out, a @ b, tolerance, tolerance)
        blas.matrix_matrix(out, a, b, 1.0)
        np.testing.assert_allclose(out, 2.0 * (a @ b), tolerance, tolerance)
        x, y = b[:, 0], np.full(m, np.nan, dtype)
        blas.matrix_vector(y, a, x, 0.0)
        np.testing.assert_allclose(y, a @ x, tolerance, tolerance)
        blas.matrix_vector(y, a, x[::-1], 1.0)
        np.testing.assert_allclose(y, a @ x + a @ x[::-1], tolerance, tolerance)
        if factor != 1.0:
            continue
        square = np.full((k, k), np.nan, dtype)
        blas.gram(square, a)
        np.testing.assert_allclose(square, a.T @ a, tolerance, tolerance)
        assert (square == square.T).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_small_matrices(dtype):
    """By loops, in blocks: the sums of NumPy's order, whatever is left beside the blocks."""
    tolerance = 1e-13 if dtype != np.float32 else 1e-5
    for m, k, n in np.ndindex(8, 4, 8):
        a, b, before = (RANDOM.integers(-4, 5, shape).astype(dtype) for shape in ((m, k), (n, k), (n, m)))
        out = np.full((m, n), np.nan, dtype)
        blas.matrix_matrix(out, a, b.T, 0.0)
        np.testing.assert_array_equal(out, a @ b.T)
        out = before.T.copy(order="K")
        blas.matrix_matrix(out, a, b.T, 0.7)
        np.testing.assert_allclose(out, a @ b.T + dtype(0.7) * before.T, tolerance, tolerance)


def test_a_product_into_rows_of_a_larger_array():
    a, b = RANDOM.normal(size=(4, 9)), RANDOM.normal(size=(9, 5))
    whole = np.zeros((4, 8))
    blas.matrix_matrix(whole[:, 2:7], a, b, 0.0)
    np.testing.assert_allclose(whole[:, 2:7], a @ b)
    assert not whole[:, :2].any() and not whole[:, 7:].any()


@pytest.mark.parametrize("m, k, n", [(0, 9, 9), (9, 0, 9), (9, 9, 0), (0, 0, 0)])
def test_empty_matrices(m, k, n):
    a, b = np.ones((m, k)), np.ones((k, n))
    out = np.full((m, n), 5.0)
    blas.matrix_matrix(out, a, b, 1.0)
    np.testing.assert_array_equal(out, 5.0)
    blas.matrix_matrix(out, a, b, 0.0)
    np.testing.assert_array_equal(out, 0.0)
    y = np.full(m, 5.0)
    blas.matrix_vector(y, a, np.ones(k), 1.0)
    np.testing.assert_array_equal(y, 5.0 + k)
    blas.matrix_vector(y, a, np.ones(k), 0.0)
    np.testing.assert_array_equal(y, k)
    square = np.full((k, k), 5.0)
    blas.gram(square, a)
    np.testing.assert_array_equal(square, np.full((k, k), m))


@pytest.mark.parametrize("shape", [(3, 5, 4), (64, 225, 225), (64, 700, 400), (2, 1, 70), (0, 3, 4), (3, 0, 4), (3, 4, 0),
                                   (64, 3, 9000), (64, 9000, 3)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_outer_products(shape, dtype):
    """In one part or in several, by BLAS and in plain Python."""
    k, n, m = shape
    columns, rows = (RANDOM.normal(size=(k, length)).astype(dtype) for length in (n, m))
    wanted = np.full((n, m), 2.0, dtype) + columns.T @ rows
    for add in (blas.add_outer_products, linalg.add_outer_products):
        out = np.full((n, m), 2.0, dtype)
        add(out, columns, rows)
        np.testing.assert_allclose(out, wanted, rtol=1e-4 if dtype == "float32" else 1e-12, atol=1e-4)


@pytest.mark.parametrize("shape", [(3, 5, 4), (60, 300, 70), (65, 66, 67), (130, 64, 200), (300, 300, 300), (0, 3, 4),
                                   (3, 0, 4), (3, 4, 0)])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("turned", ["", "a", "b", "out", "a out"])
def test_products_in_parts(shape, dtype, turned):
    """Whole or in parts, of transposed matrices too, by BLAS and in plain Python."""
    n, k, m = shape
    a, b, zero = (matrix(name, size, turned, dtype) for name, size in (("a", (n, k)), ("b", (k, m)), ("out", (n, m))))
    close = partial(np.testing.assert_allclose, rtol=1e-3 if dtype == "float32" else 1e-11, atol=1e-4)
    for into, add in ((partial(blas.in_parts, keep=0.0), partial(blas.in_parts, keep=1.0)),
                      (partial(blas.multiples, keep=0.0), partial(blas.multiples, keep=1.0)),
                      (linalg.block_product_into, linalg.add_block_product), (linalg.multiples_into, linalg.add_multiples)):
        out = zero.copy(order="K")
        into(out, a, b)
        close(out, a @ b)
        add(out, a, b)
        close(out, 2 * (a @ b))


def matrix(name, size, turned, dtype):
    made = RANDOM.normal(size=size).astype(dtype)
    return np.asfortranarray(made) if name in turned.split() else made


@pytest.mark.parametrize("into", [partial(blas.multiples, keep=0.0), linalg.multiples_into])
@pytest.mark.parametrize("turned", ["", "out"])
def test_zeros_multiply_nothing(into, turned):
    a, b = RANDOM.normal(size=(5, 4)), RANDOM.normal(size=(4, 6))
    a[:, 2] = 0.0
    wanted = a @ b
    b[2], a[3, 1], b[1, 5] = np.nan, 0.0, np.inf
    out = matrix("out", (5, 6), turned, "float64")
    into(out, a, b)
    assert np.isinf(np.delete(out[:, 5], 3)).all()
    np.testing.assert_allclose(np.delete(out[:, :5], 3, axis=0), np.delete(wanted[:, :5], 3, axis=0), rtol=1e-12)
    assert np.isfinite(out[3]).all()


def test_the_same_words_in_plain_python():
    a, b = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=(4, 2))
    out = np.full((3, 2), np.nan)
    linalg.matmul_into(out, a, b)
    linalg.add_matmul(out, a, b)
    np.testing.assert_allclose(out, 2.0 * (a @ b))
    square = np.empty((4, 4))
    linalg.gram_into(square, a)
    np.testing.assert_allclose(square, a.T @ a)
