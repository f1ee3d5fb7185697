"""`scipy.sparse` arrays as arguments and globals of differentiated functions."""

import numpy as np
import pytest
import scipy.sparse

from autodiff import NonDifferentiable, TypeConflict, UnsupportedSyntax, grad, jacobian, jvp, value_and_grad, vjp

from .support import assert_slope

DENSE = np.array([[0.0, 0.4, 0.0, 1.2], [0.7, 0.0, -0.3, 0.0], [0.0, 0.0, 0.0, 0.0], [0.9, -0.8, 0.1, 0.0],
                  [0.0, 0.6, 0.0, -0.5]])
A = scipy.sparse.csr_array(DENSE)
X, Y = np.array([0.3, -0.2, 0.8, 0.5]), np.array([0.1, 0.7, -0.4, 0.2, 0.9])
KINDS = [A, A.tocsc(), scipy.sparse.csr_matrix(DENSE), scipy.sparse.csc_matrix(DENSE)]


def both_ways(A, x, y):
    return np.sum(np.sin(A @ x) * y) + np.sum((A.T @ y) ** 2)


@pytest.mark.parametrize("kind, mode", [*((k, "python") for k in range(4)), (0, "numba"), (1, "numba")])
def test_gradients(kind, mode):
    given = KINDS[kind]
    value, found = value_and_grad(both_ways, wrt=(0, 1, 2), mode=mode)(given, X, Y)
    wanted_value, wanted = value_and_grad(both_ways, wrt=(0, 1, 2), mode="python")(DENSE, X, Y)
    assert np.isclose(value, both_ways(given, X, Y)) and np.isclose(value, wanted_value)
    assert found[0].format == given.format and found[0].shape == given.shape
    np.testing.assert_array_equal(found[0].indices, given.indices)
    np.testing.assert_array_equal(found[0].indptr, given.indptr)
    np.testing.assert_allclose(found[0].toarray(), np.where(DENSE, wanted[0], 0.0), rtol=1e-12)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-12)
    np.testing.assert_allclose(found[2], wanted[2], rtol=1e-12)
    found[0].indices[:] = 0                             # the caller's own
    assert given.indices.any()


def test_against_differences():
    found, = value_and_grad(both_ways, wrt=(0,), mode="python")(A, X, Y)[1]

    def of_entries(data):
        return both_ways(scipy.sparse.csr_array((data, A.indices, A.indptr), shape=A.shape), X, Y)
    direction = np.linspace(-1.0, 1.0, A.nnz)
    assert_slope(found.data @ direction, of_entries, (A.data,), 0, direction)


FORMS = [lambda A, x, y: np.sum((y @ A) ** 3), lambda A, x, y: np.sum((A @ np.outer(x, y)) ** 3),
         lambda A, x, y: np.sum((np.outer(x, y).T @ A.T) ** 3), lambda A, x, y: np.sum(A.dot(x) ** 3) + A.shape[0] * x[0],
         lambda A, x, y: np.sum(A.toarray() @ x * y), lambda A, x, y: np.sum(A.transpose() @ (y * x[0]))]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("given", KINDS[:2], ids=["csr", "csc"])
def test_forms(form, given):
    value, found = value_and_grad(form, wrt=(0, 1, 2), mode="python")(given, X, Y)

    def of_entries(data, x, y):
        return form(type(given)((data, given.indices, given.indptr), shape=given.shape), x, y)
    assert np.isclose(value, form(given, X, Y))
    for k, (at, bar) in enumerate(zip((given.data, X, Y), (found[0].data, *found[1:]), strict=True)):
        d = np.cos(np.arange(len(at)))
        assert_slope(bar @ d, of_entries, (given.data, X, Y), k, d)


def test_parts():
    def f(A):
        s = 0.0
        for i in range(A.shape[0]):
            for k in range(A.indptr[i], A.indptr[i + 1]):
                s += A.data[k] ** 2 * (1 + A.indices[k])
        return s * A.nnz
    found = grad(f, mode="python")(A)
    np.testing.assert_allclose(found.toarray(), 2 * DENSE * (1 + np.arange(4)) * A.nnz)


def test_pullbacks_and_tangents():
    out, pull = vjp(lambda A, x: A @ x, A, X, mode="python")
    np.testing.assert_allclose(out, DENSE @ X)
    A_bar, x_bar = pull(Y)
    np.testing.assert_allclose(A_bar.toarray(), np.where(DENSE, np.outer(Y, X), 0.0))
    np.testing.assert_allclose(x_bar, DENSE.T @ Y)
    assert A_bar.format == "csr"
    _, tangent = jvp(lambda A, x: A @ x ** 2, (A, X), (None, np.ones(4)), mode="python")
    np.testing.assert_allclose(tangent, DENSE @ (2 * X))


def test_sparse_jacobian_of_a_sparse_product():
    J = jacobian(lambda x, A: A @ np.sin(x), sparse=True, mode="python")
    found = J(X, A)
    np.testing.assert_allclose(found.toarray(), DENSE * np.cos(X))
    assert found.nnz == A.nnz
    other = A.copy()
    other.indices[:2] = [0, 2]                          # another structure, of as many entries
    np.testing.assert_allclose(J(X, other).toarray(), other.toarray() * np.cos(X))


GLOBAL = scipy.sparse.csc_array(DENSE)


def test_a_global():
    def f(x):
        return np.sum((GLOBAL @ x) ** 2)
    made = grad(f, mode="python")
    np.testing.assert_allclose(made(X), 2 * DENSE.T @ (DENSE @ X))
    GLOBAL.data *= 2.0
    try:
        np.testing.assert_allclose(made(X), 8 * DENSE.T @ (DENSE @ X))
    finally:
        GLOBAL.data *= 0.5


def test_single_precision_and_integers():
    for dtype in (np.float32, np.int64):
        B = scipy.sparse.csr_array((10 * DENSE).astype(dtype))
        found = grad(lambda x, B: np.sum((B @ x) ** 2), mode="python")(X, B)
        np.testing.assert_allclose(found, 2 * B.T @ (B @ X), rtol=1e-6)


@pytest.mark.parametrize("function, error, text", [
    (lambda A, x: np.sum(A * x), TypeConflict, "not a CsrArray"), (lambda A, x: np.sum(A), TypeConflict, "not a CsrArray"),
    (lambda A, x: np.sum(A[0]), TypeConflict, "cannot be indexed"), (lambda A, x: len(A) * x[0], TypeConflict, "no len"),
    (lambda A, x: np.sum((A @ A.T) @ x), UnsupportedSyntax, "products of a CsrArray and a CscArray are not supported"),
    (lambda A, x: A.sum() * x[0], UnsupportedSyntax, "has no method `sum`")])
def test_other_uses_are_refused(function, error, text):
    with pytest.raises(error, match=text):
        grad(function, wrt=1)(A, X)


def test_refusals():
    with pytest.raises(TypeConflict, match=r"format coo and dtype float64 are not supported\nTry: convert it"):
        grad(both_ways, wrt=1)(A.tocoo(), X, Y)
    with pytest.raises(NonDifferentiable, match="only gradients and pullbacks follow the entries of the sparse array `A`"):
        jacobian(both_ways)(A, X, Y)
    with pytest.raises(ValueError, match="dimension mismatch"):
        grad(both_ways, wrt=1, mode="python")(A, X[:3], Y)
