"""Matrix and vector products."""

import numpy as np

from .benchmark import also, benchmark, by_hand


@by_hand
def there_and_back(A, x, t, scale):
    """t = scale (t + A x) in place, and A.T t; A is read once, four rows at a time."""
    n, m = A.shape
    out = np.zeros(m)
    for i in range(0, n - 3, 4):
        p, q, r, s = A[i], A[i + 1], A[i + 2], A[i + 3]
        a, b, c, d = t[i], t[i + 1], t[i + 2], t[i + 3]
        for j in range(m):
            a += p[j] * x[j]
            b += q[j] * x[j]
            c += r[j] * x[j]
            d += s[j] * x[j]
        a, b, c, d = scale * a, scale * b, scale * c, scale * d
        t[i], t[i + 1], t[i + 2], t[i + 3] = a, b, c, d
        for j in range(m):
            out[j] += (a * p[j] + b * q[j]) + (c * r[j] + d * s[j])
    for i in range(n - n % 4, n):
        a = t[i]
        for j in range(m):
            a += A[i, j] * x[j]
        t[i] = scale * a
        for j in range(m):
            out[j] += t[i] * A[i, j]
    return out


@by_hand
def two_outer(a, x, b, y):
    """a x.T + b y.T, written once."""
    out = np.empty((len(a), len(x)))
    for i in range(len(a)):
        for j in range(len(x)):
            out[i, j] = a[i] * x[j] + b[i] * y[j]
    return out


def gemver(alpha, beta, A, u1, v1, u2, v2, y, z):
    B = A + np.outer(u1, v1) + np.outer(u2, v2)
    x = beta * (y @ B) + z
    return np.sum((alpha * (B @ x)) ** 2)


def gemver_arguments(r, tiny):
    n = 6 if tiny else 1000
    return (1.5, 1.2 / n, r.random((n, n)), *(r.random(n) for _ in range(6)))


@by_hand
def gemver_adjoint(alpha, beta, A, u1, v1, u2, v2, y, z):
    """B is never made: products with it are products with A and of rank one."""
    x = beta * (y @ A + (y @ u1) * v1 + (y @ u2) * v2) + z
    r = u1 * (v1 @ x) + u2 * (v2 @ x)
    x_bar = there_and_back(A, x, r, 2.0 * alpha * alpha)
    x_bar += v1 * (u1 @ r) + v2 * (u2 @ r)
    s = beta * x_bar
    y_bar = A @ s + u1 * (v1 @ s) + u2 * (v2 @ s)
    return ((r @ r) / (4.0 * alpha * alpha), two_outer(r, x, y, s), r * (x @ v1) + y * (s @ v1), x * (r @ u1) + s * (y @ u1),
            r * (x @ v2) + y * (s @ v2), x * (r @ u2) + s * (y @ u2), y_bar, x_bar)


benchmark("gemver", gemver, gemver_arguments, (2, 3, 4, 5, 6, 7, 8), adjoint=gemver_adjoint, jax=True, autograd=True)


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


@by_hand
def doubled(out):
    """The sum of squares, and what its cotangent is: in place, 2 out."""
    total, flat = 0.0, out.ravel()
    for i in range(len(flat)):
        total += flat[i] * flat[i]
        flat[i] *= 2.0
    return total


@by_hand
def three_products_adjoint(A, B, C, D):
    E, F = A @ B, C @ D
    G = E @ F
    value = doubled(G)
    E_bar, F_bar = G @ F.T, E.T @ G
    return value, E_bar @ B.T, A.T @ E_bar, F_bar @ D.T, C.T @ F_bar


benchmark("3mm", three_products, four, (0, 1, 2, 3), adjoint=three_products_adjoint, jax=True, torch=True, autograd=True)


def atax(A, x):
    return np.sum((A.T @ (A @ x)) ** 2)


def matrix_vector(r, tiny):
    n, m = (6, 5) if tiny else (1200, 1000)
    return r.random((n, m)) / n, r.random(m)


@by_hand
def atax_adjoint(A, x):
    t, t_bar = np.zeros(len(A)), np.zeros(len(A))
    y = there_and_back(A, x, t, 1.0)
    value = doubled(y)
    x_bar = there_and_back(A, y, t_bar, 1.0)
    return value, two_outer(t, y, t_bar, x), x_bar


benchmark("atax", atax, matrix_vector, (0, 1), adjoint=atax_adjoint, jax=True, torch=True, autograd=True)


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


@by_hand
def symm_adjoint(alpha, beta, A, B, C):
    """By products with the whole symmetric matrix."""
    m = len(A)
    S, A_bar = np.empty_like(A), np.zeros_like(A)
    for i in range(m):
        for k in range(i + 1):
            S[i, k] = S[k, i] = alpha * A[i, k]
    out = S @ B
    out += beta * C
    value = doubled(out)
    S_bar = out @ B.T
    for i in range(m):
        for k in range(i):
            A_bar[i, k] = alpha * (S_bar[i, k] + S_bar[k, i])
        A_bar[i, i] = alpha * S_bar[i, i]
    return value, A_bar, S @ out, beta * out


benchmark("symm by loops", symm, symm_arguments, (2, 3, 4), primals=(symm_primal,), adjoint=symm_adjoint, writes=(4,))


def syrk(alpha, beta, C, A):
    for i in range(A.shape[0]):
        C[i, :i + 1] *= beta
        for k in range(A.shape[1]):
            C[i, :i + 1] += alpha * A[i, k] * A[:i + 1, k]
    return np.sum(C ** 2)


def syrk_arguments(r, tiny):
    n, m = (5, 4) if tiny else (150, 100)
    return 1.5, 1.2, r.random((n, n)) / n, r.random((n, m))


@by_hand
def syrk_adjoint(alpha, beta, C, A):
    """By two products; the cotangent of the lower triangle is made symmetric, with the diagonal twice."""
    n, total = len(A), 0.0
    P, C_bar = A @ A.T, np.empty_like(C)
    for i in range(n):
        for k in range(i + 1):
            c = beta * C[i, k] + alpha * P[i, k]
            total += c * c
            C_bar[i, k] = 2.0 * beta * c
            P[i, k] = P[k, i] = 2.0 * alpha * c
        P[i, i] *= 2.0
        for k in range(i + 1, n):
            total += C[i, k] * C[i, k]
            C_bar[i, k] = 2.0 * C[i, k]
    return total, C_bar, P @ A


benchmark("syrk by slices", syrk, syrk_arguments, (2, 3), adjoint=syrk_adjoint, writes=(2,))


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


@by_hand
def doitgen_adjoint(A, C4):
    """With G = A.T A of all rows the sum is that of C4 (G C4): two products of many rows, not three."""
    flat = A.reshape(-1, A.shape[2])
    C4_bar = 2.0 * ((flat.T @ flat) @ C4)
    return 0.5 * np.sum(C4 * C4_bar), (flat @ (2.0 * (C4 @ C4.T))).reshape(A.shape), C4_bar


benchmark("doitgen", doitgen, doitgen_arguments, (0, 1), adjoint=doitgen_adjoint, writes=(0,))


@also("doitgen", "jax")
def doitgen_jax(jax):
    return lambda A, C4: jax.numpy.sum((A @ C4) ** 2)


@also("doitgen", "torch")
def doitgen_torch(torch):
    return lambda A, C4: torch.sum((A @ C4) ** 2)
