"""Matrix and vector products."""

import numpy as np

from .benchmark import also, benchmark, by_hand


def gemver(alpha, beta, A, u1, v1, u2, v2, y, z):
    B = A + np.outer(u1, v1) + np.outer(u2, v2)
    x = beta * (y @ B) + z
    return np.sum((alpha * (B @ x)) ** 2)


def gemver_arguments(r, tiny):
    n = 6 if tiny else 1000
    return (1.5, 1.2 / n, r.random((n, n)), *(r.random(n) for _ in range(6)))


benchmark("gemver", gemver, gemver_arguments, (2, 3, 4, 5, 6, 7, 8), jax=True, autograd=True)


@also("gemver", "torch")
def gemver_torch(torch):
    def loss(alpha, beta, A, u1, v1, u2, v2, y, z):
        B = A + torch.outer(u1, v1) + torch.outer(u2, v2)
        return torch.sum((alpha * (B @ (beta * (y @ B) + z))) ** 2)
    return loss


def three_products(A, B, C, D):
    return np.sum(((A @ B) @ (C @ D)) ** 2)


def four(r, tiny):
    n = 5 if tiny else 250
    return tuple(r.random((n, n)) / n for _ in range(4))


benchmark("3mm", three_products, four, (0, 1, 2, 3), jax=True, torch=True, autograd=True)


def atax(A, x):
    return np.sum((A.T @ (A @ x)) ** 2)


def matrix_vector(r, tiny):
    n, m = (6, 5) if tiny else (1200, 1000)
    return r.random((n, m)) / n, r.random(m)


benchmark("atax", atax, matrix_vector, (0, 1), jax=True, torch=True, autograd=True)


def symm(alpha, beta, A, B, C):
    """C = alpha A B + beta C with the lower triangle of a symmetric A, by loops (PolyBench's order)."""
    m, n = C.shape
    for i in range(m):
        for j in range(n):
            temp = 0.0
            for k in range(i):
                C[k, j] += alpha * B[i, j] * A[i, k]
                temp += B[k, j] * A[i, k]
            C[i, j] = beta * C[i, j] + alpha * B[i, j] * A[i, i] + alpha * temp
    return np.sum(C ** 2)


@by_hand
def symm_primal(alpha, beta, A, B, C):
    C = C.copy()
    m, n = C.shape
    for i in range(m):
        for j in range(n):
            C[i, j] = beta * C[i, j] + alpha * B[i, j] * A[i, i]
        for k in range(i):
            a = alpha * A[i, k]
            for j in range(n):
                C[k, j] += B[i, j] * a
                C[i, j] += B[k, j] * a
    return np.sum(C ** 2)


def symm_arguments(r, tiny):
    m, n = (5, 4) if tiny else (120, 100)
    return 1.5, 1.2, r.random((m, m)) / m, r.random((m, n)), r.random((m, n))


benchmark("symm by loops", symm, symm_arguments, (2, 3, 4), primals=(symm_primal,), writes=(4,))


def syrk(alpha, beta, C, A):
    for i in range(A.shape[0]):
        C[i, :i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, :i + 1] += alpha * A[i, k] * A[:i + 1, k]
    return np.sum(C ** 2)


def syrk_arguments(r, tiny):
    n, m = (5, 4) if tiny else (150, 100)
    return 1.5, 1.2, r.random((n, n)) / n, r.random((n, m))


benchmark("syrk by slices", syrk, syrk_arguments, (2, 3), writes=(2,))


def doitgen(A, C4):
    nr, nq, _ = A.shape
    for r in range(nr):
        for q in range(nq):
            row = A[r, q] @ C4
            A[r, q] = row
    return np.sum(A ** 2)


def doitgen_arguments(r, tiny):
    a, b, c = (3, 2, 4) if tiny else (60, 50, 64)
    return r.random((a, b, c)), r.random((c, c)) / c


benchmark("doitgen", doitgen, doitgen_arguments, (0, 1), writes=(0,))


@also("doitgen", "jax")
def doitgen_jax(jax):
    return lambda A, C4: jax.numpy.sum((A @ C4) ** 2)


@also("doitgen", "torch")
def doitgen_torch(torch):
    return lambda A, C4: torch.sum((A @ C4) ** 2)
