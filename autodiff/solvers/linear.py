"""Matrix-free linear solves: conjugate gradients and restarted GMRES, with the adjoint by the transposed product.

For A(theta) x = b the adjoint is A^T lambda = x_bar; then b_bar = lambda, and theta_bar pulls lambda back through
theta -> b - A(theta) x. The product with A^T is the pullback of the product with A, so that nobody has to write it.

Source: Y. Saad, Iterative Methods for Sparse Linear Systems, 2nd ed., SIAM 2003, algorithms 6.9 (GMRES) and 6.18 (CG).
"""

from __future__ import annotations

import numpy as np

from ..api import differentiable, grad
from ..operators.gradients import partial_grad
from ..operators.pushforwards import jvp
from ..rules import pullback, pushforward
from .flat import length, reachable, shaped, vector

METHODS = ("gmres", "cg")


@differentiable
def linear_solve(matvec, b, *theta, method="gmres", tol=1e-10, max_iterations=1000, restart=30):
    """The solution x of matvec(x, *theta) = b, for a product `matvec` that is linear in x: no matrix is formed.

    matvec: takes x, of the shape of `b`, and theta, and returns A(theta) x, of the same shape.
    b: an array of floats. theta: numbers, arrays and structures of them. The solution is differentiated with respect to b,
        theta and what `matvec` captures where it is defined inside the function that calls `linear_solve`: a derivative
        costs another solve, with the transposed product in reverse mode, at the same tolerance.
    method: "gmres" for any matrix; "cg" for symmetric positive definite ones, whose transposed product is the product.
    tol: stop where |b - A x| <= tol * |b|, in the Euclidean norm.
    max_iterations: RuntimeError if more products are needed, here and in derivatives; also where CG meets a direction of
        no positive curvature. restart: GMRES keeps so many vectors.
    Returns x, of the shape of `b`.
    """
    if method != "gmres" and method != "cg":
        raise ValueError(f"linear_solve(): method is 'gmres' or 'cg', not {method!r}")
    return krylov(matvec, b, *theta, method=method, tol=tol, max_iterations=max_iterations, restart=restart)


def krylov(matvec, *operands, method, tol, max_iterations, restart):
    """operands: b, then theta."""
    if method == "cg":
        return conjugate_gradients(matvec, operands[0], operands[1:], tol, max_iterations)
    return gmres(matvec, operands[0], operands[1:], tol, max_iterations, restart)


def product(matvec, v, like, theta):
    return vector(matvec(shaped(v, like), *theta))


def conjugate_gradients(matvec, b, theta, tol, max_iterations):
    r = vector(b)
    x = 0.0 * r
    p = 1.0 * r
    bound = reachable(tol, r) * length(r)
    rho = np.sum(r * r)
    count = 0
    while not np.sqrt(rho) <= bound:
        if count == max_iterations:
            raise RuntimeError(f"linear_solve() did not converge in {max_iterations} iterations: |b - A x| = {np.sqrt(rho)}")
        q = product(matvec, p, b, theta)
        curvature = np.sum(p * q)
        if not curvature > 0.0:
            raise RuntimeError("linear_solve(method='cg') needs a positive definite matrix")
        alpha = rho / curvature
        x = x + alpha * p
        r = r - alpha * q
        rho_new = np.sum(r * r)
        p = r + rho_new / rho * p
        rho = rho_new
        count += 1
    return shaped(x, b)


def gmres(matvec, b, theta, tol, max_iterations, restart):
    """Restarted GMRES: Arnoldi's process with modified Gram-Schmidt, the least squares problem by Givens rotations."""
    right = vector(b)
    n = right.shape[0]
    m = min(restart, n)
    x = 0.0 * right
    r = 1.0 * right
    size = length(r)
    bound = reachable(tol, r) * size
    count = 0
    V = np.zeros((m + 1, n))
    H = np.zeros((m + 1, m))
    cosine = np.zeros(m)
    sine = np.zeros(m)
    g = np.zeros(m + 1)
    while not size <= bound:
        V[0, :] = r / size
        g[:] = 0.0
        g[0] = size
        used = 0
        estimate = size
        while used < m and not estimate <= bound:
            if count == max_iterations:
                raise RuntimeError(f"linear_solve() did not converge in {max_iterations} iterations: |b - A x| = {estimate}")
            w = product(matvec, V[used], b, theta)
            for i in range(used + 1):
                h = np.sum(V[i] * w)
                H[i, used] = h
                w = w - h * V[i]
            below = length(w)
            for i in range(used):
                upper = H[i, used]
                H[i, used] = cosine[i] * upper + sine[i] * H[i + 1, used]
                H[i + 1, used] = cosine[i] * H[i + 1, used] - sine[i] * upper
            hypotenuse = np.sqrt(H[used, used] ** 2 + below ** 2)
            if not hypotenuse > 0.0:
                raise RuntimeError("linear_solve() met a singular matrix")
            cosine[used] = H[used, used] / hypotenuse
            sine[used] = below / hypotenuse
            H[used, used] = hypotenuse
            g[used + 1] = -sine[used] * g[used]
            g[used] = cosine[used] * g[used]
            estimate = np.abs(g[used + 1])
            if below > 0.0:
                V[used + 1, :] = w / below
            used += 1
            count += 1
            if used < m:
                H[used, used] = 0.0
                H[used, used - 1] = 0.0
        for k in range(used):
            i = used - 1 - k
            s = g[i]
            for j in range(i + 1, used):
                s -= H[i, j] * g[j]
            g[i] = s / H[i, i]
        for i in range(used):
            x = x + g[i] * V[i]
        r = right - product(matvec, x, b, theta)
        size = length(r)
        if count >= max_iterations and not size <= bound:
            raise RuntimeError(f"linear_solve() did not converge in {max_iterations} iterations: |b - A x| = {size}")
    return shaped(x, b)


def transposed(v, matvec, theta):
    """A^T v: the gradient by x of the sum of v * A x."""
    return grad(weighted_product)(0.0 * v, matvec, theta, v)


def weighted_product(x, matvec, theta, weights):
    return np.sum(weights * matvec(x, *theta))


def defect(operands, x, matvec):
    """b - A(theta) x."""
    return operands[0] - matvec(x, *operands[1:])


def weighted_defect(operands, x, matvec, weights):
    return np.sum(weights * defect(operands, x, matvec))


@pullback(krylov)
def krylov_pullback(x_bar, x, matvec, operands, *, method, tol, max_iterations, restart):
    if method == "cg":
        adjoint = krylov(matvec, x_bar, *operands[1:], method=method, tol=tol, max_iterations=max_iterations,
                         restart=restart)
    else:
        adjoint = krylov(transposed, x_bar, matvec, operands[1:], method=method, tol=tol, max_iterations=max_iterations,
                         restart=restart)
    return None, partial_grad(weighted_defect)(operands, x, matvec, adjoint)


@pushforward(krylov)
def krylov_pushforward(x, matvec, operands, matvec_dot, operands_dot, *, method, tol, max_iterations, restart):
    right = jvp(defect, (operands, x, matvec), (operands_dot, None, None))[1]
    return None, krylov(matvec, right, *operands[1:], method=method, tol=tol, max_iterations=max_iterations,
                        restart=restart)


__all__ = ["linear_solve"]
