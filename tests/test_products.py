"""Matrix products: in stacks, with their own transposes, and added where they are wanted."""

import numpy as np
import pytest

from autodiff import check_grads, grad

RANDOM = np.random.default_rng(0)


def checked(f, args, modes=("python",)):
    """The source of the gradient, which agrees with differences in each mode."""
    for mode in modes:
        check_grads(f, args, mode=mode)
    return grad(f, wrt=tuple(range(len(args))), mode="python").specialize(*args).source


def stacked(a, b):
    return np.sum(np.sin(a @ b))


@pytest.mark.parametrize("first, second", [
    ((3, 9, 10), (3, 10, 11)), ((3, 9, 10), (10, 9)), ((9, 10), (3, 10, 9)), ((2, 3, 4, 9), (2, 3, 9, 12)),
    ((2, 1, 4, 9), (3, 9, 10)), ((3, 9, 10), (10,)), ((10,), (3, 10, 9)), ((3, 4, 4), (3, 4, 4)), ((0, 9, 10), (0, 10, 11)),
    ((3, 0, 10), (3, 10, 11)), ((1, 9, 10), (3, 10, 11)),
])
def test_stacks_of_matrices(first, second):
    args = RANDOM.normal(size=first), RANDOM.normal(size=second)
    np.testing.assert_allclose(grad(stacked, mode="python").primal(*args), stacked(*args), 1e-12)
    checked(stacked, args)


@pytest.mark.parametrize("first, second", [((3, 9, 10), (3, 10, 11)), ((9, 10), (3, 10, 9))])
def test_stacks_of_matrices_compiled(first, second):
    checked(stacked, (RANDOM.normal(size=first), RANDOM.normal(size=second)), ["numba"])


def test_large_stacks_call_blas_and_tiny_matrices_do_not():
    shapes = ((2, 9, 10), (2, 10, 11)), ((2, 9, 10), (10, 11)), ((9, 10), (2, 10, 11)), ((900, 3, 3), (900, 3, 3))
    calls = []
    for first, second in shapes:
        gradient = grad(stacked, mode="python").specialize(np.zeros(first), np.zeros(second))
        calls.append("matmul_into(" in gradient.source)
    assert calls == [True, True, True, False]


def spread(a):
    return np.sum(np.tanh(a.T @ a)) + np.sum((a @ a.T)[0] ** 3)


@pytest.mark.parametrize("shape", [(3, 4), (12, 9), (9, 20), (1, 10), (10, 1)])
def test_a_matrix_with_its_own_transpose(shape):
    a = RANDOM.normal(size=shape)
    source = checked(spread, (a,))
    assert source.count("gram_into(") == 2 and source.count("matmul(") + source.count("matmul_into(") == 2
    check_grads(spread, (a,), order=2, modes=("fwd", "rev"), mode="python")


def test_a_matrix_with_its_own_transpose_compiled():
    for shape in (3, 4), (12, 9):
        a = RANDOM.normal(size=shape)
        checked(spread, (a,), ["numba"])
        np.testing.assert_allclose(grad(spread)(np.asfortranarray(a)), grad(spread)(a), 1e-12, 1e-12)


def recurrent(w, u, xs):
    h = np.zeros((xs.shape[1], w.shape[0]))
    s = 0.0
    for t in range(xs.shape[0]):
        h = np.tanh(h @ w.T + xs[t] @ u)
        s += np.sum(h ** 2)
    return s


@pytest.mark.parametrize("n", [3, 12])
def test_adjoints_of_products_are_added_in_place(n):
    args = RANDOM.normal(size=(n, n)), RANDOM.normal(size=(5, n)), RANDOM.normal(size=(4, 6, 5))
    source = checked(recurrent, args, ["numba"])
    assert source.count("add_matmul(") == 4                 # and no loop that only adds


def written_between(a, b):
    c = np.zeros((a.shape[0], b.shape[1]))
    for t in range(3):
        p = a @ b
        a[0] = a[0] * 0.5 + t           # the product must be that of before
        c += p
    return np.sum(c ** 2)


def test_a_product_is_not_moved_past_a_change_of_its_operands():
    args = RANDOM.normal(size=(9, 10)), RANDOM.normal(size=(10, 8))
    primal = grad(written_between, mode="python").primal
    np.testing.assert_allclose(primal(*args), written_between(args[0].copy(), args[1]), 1e-12)
    checked(written_between, args)


def into_its_operand(a):
    for t in range(2):
        a = a @ a * 0.1
        a[:] = a @ a
    return np.sum(a)


def transposed_sum(a, b):
    c = np.ones((b.shape[1], a.shape[0]))
    c += (a @ b).T
    c[:] += 0.5 * (a @ b).T
    return np.sum(c ** 3)


def part_of_an_array(a, b):
    c = np.zeros((3, a.shape[0] + 1, b.shape[1]))
    c[1, 1:] = a @ b
    c[2, :-1] += a @ b
    c[0, 0] += (a @ b)[0]
    return np.sum(c[:, 0] * c[:, 1]) + np.sum(np.sin(c))


@pytest.mark.parametrize("f, shapes", [(into_its_operand, ((9, 9),)), (transposed_sum, ((9, 12), (12, 8))),
                                       (part_of_an_array, ((9, 12), (12, 8)))])
def test_where_products_go(f, shapes):
    args = tuple(RANDOM.normal(size=s) for s in shapes)
    np.testing.assert_allclose(grad(f, mode="python").primal(*args), f(*(a.copy() for a in args)), 1e-12)
    checked(f, args)


def blocks(a, x, first, last):
    """Blocks, columns and steps of a matrix times vectors, in a loop that writes to it."""
    s = 0.0
    for k in range(first, last):
        y = x[:k] @ a[:k, k:]
        z = a[k:, :k] @ np.exp(x[:k])
        u = a[1:k, :].T @ x[1:k]
        w = a.T[:, ::-1][k:, :] @ x[::-1]
        q = a[::2, :3] @ a[k, :3]
        s += np.sum(y * y) + np.sum(z * z) + u @ u + w[0] + np.sum(q ** 3) + (a.reshape(-1, 2)[:, :1].T @ np.ones(18))[0]
        a[:k, k] = 0.1 * a[:k, :k] @ a[:k, k]
    return s


@pytest.mark.parametrize("first, last", [(1, 5), (0, 2), (5, 6), (2, 2)])
def test_blocks_times_vectors(first, last):
    args = RANDOM.random((6, 6)), RANDOM.random(6)
    np.testing.assert_allclose(grad(blocks, mode="python").primal(*args, first, last),
                               blocks(args[0].copy(), args[1], first, last), 1e-12)
    check_grads(lambda a, x: blocks(a.copy(), x, first, last), args, mode="python", modes=("fwd", "rev"))


def test_blocks_times_vectors_are_read_once_where_they_lie():
    """No copy, and no tape: nothing is overwritten. Where memory is not in steps along axes, the product is a call."""
    def covariance(x):
        s = 0.0
        for i in range(x.shape[1]):
            c = x[:, i] @ x[:, i:] + x[:, i:].T @ x[:, i]
            s += c @ c
        return s
    made = grad(covariance, mode="python")
    x = RANDOM.normal(size=(5, 4))
    made(x)
    assert len(made.tape) == 0 and "matmul" not in made.source
    checked(covariance, (x,), ("python", "numba"))
    for f in (lambda x: np.sum((x.reshape(2, 10)[:, 1:] @ np.ones(9)) ** 2), lambda x: np.sum((x @ np.ones(4)) ** 2),
              lambda x: np.sum((np.exp(x)[:, 1:] @ np.ones(3)) ** 2)):
        assert "matmul" in checked(f, (x,))
