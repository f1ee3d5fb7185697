"""Finite differences in time, written with slices."""

import numpy as np

from . import by_hand_slices
from .benchmark import also, benchmark, by_hand


def jacobi(A, B, steps):
    for _ in range(steps):
        B[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        A[1:-1, 1:-1] = 0.2 * (B[1:-1, 1:-1] + B[1:-1, :-2] + B[1:-1, 2:] + B[2:, 1:-1] + B[:-2, 1:-1])
    return A.sum()


@by_hand
def sweep(A, B):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            B[i, j] = 0.2 * (A[i, j] + A[i, j - 1] + A[i, j + 1] + A[i + 1, j] + A[i - 1, j])


@by_hand
def jacobi_primal(A, B, steps):
    A, B = A.copy(), B.copy()
    for _ in range(steps):
        sweep(A, B)
        sweep(B, A)
    return A.sum()


@by_hand
def reader(B_bar, i, j):
    """The cotangent of cell (i, j) where the sweep wrote it, zero at the border."""
    n, m = B_bar.shape
    return B_bar[i, j] if 0 < i < n - 1 and 0 < j < m - 1 else 0.0


@by_hand
def collected(B_bar, i, j):
    return 0.2 * (reader(B_bar, i, j) + reader(B_bar, i - 1, j) + reader(B_bar, i + 1, j) + reader(B_bar, i, j - 1)
                  + reader(B_bar, i, j + 1))


@by_hand
def sweep_adjoint(A_bar, B_bar):
    """Gather form: each cell of A_bar collects from the cells that read it; two rows and columns on each side are peeled."""
    n, m = A_bar.shape
    for i in range(n):
        if 2 <= i < n - 2:
            for j in (0, 1, m - 2, m - 1):
                A_bar[i, j] += collected(B_bar, i, j)
        else:
            for j in range(m):
                A_bar[i, j] += collected(B_bar, i, j)
    for i in range(n - 4):
        for j in range(m - 4):
            A_bar[i + 2, j + 2] += 0.2 * (B_bar[i + 2, j + 2] + B_bar[i + 2, j + 1] + B_bar[i + 2, j + 3]
                                          + B_bar[i + 1, j + 2] + B_bar[i + 3, j + 2])
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            B_bar[i, j] = 0.0


@by_hand
def jacobi_adjoint(A, B, steps):
    value = jacobi_primal(A, B, steps)
    A_bar, B_bar = np.ones_like(A), np.zeros_like(B)
    for _ in range(steps):
        sweep_adjoint(B_bar, A_bar)
        sweep_adjoint(A_bar, B_bar)
    return value, A_bar, B_bar


def jacobi_arguments(r, tiny):
    n, steps = (7, 2) if tiny else (250, 100)
    A = r.random((n, n))
    return A, A.copy(), steps


benchmark("5-point stencil by slices", jacobi, jacobi_arguments, (0, 1), primals=(jacobi_primal,), adjoint=jacobi_adjoint,
          writes=(0, 1))


@also("5-point stencil by slices", "jax")
def jacobi_jax(jax):
    def half(A, B):
        return B.at[1:-1, 1:-1].set(0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1]))

    def loss(A, B, steps):
        def step(pair, _):
            A, B = pair
            B = half(A, B)
            return (half(B, A), B), None
        return jax.lax.scan(step, (A, B), None, length=steps)[0][0].sum()
    return loss


@also("5-point stencil by slices", "torch")
def jacobi_torch(torch):
    def half(A, B):
        new = B.clone()
        new[1:-1, 1:-1] = 0.2 * (A[1:-1, 1:-1] + A[1:-1, :-2] + A[1:-1, 2:] + A[2:, 1:-1] + A[:-2, 1:-1])
        return new

    def loss(A, B, steps):
        for _ in range(steps):
            B = half(A, B)
            A = half(B, A)
        return A.sum()
    return loss


def heat_3d(A, B, steps):
    for _ in range(steps):
        B[1:-1, 1:-1, 1:-1] = (A[1:-1, 1:-1, 1:-1]
                               + 0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[:-2, 1:-1, 1:-1])
                               + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, :-2, 1:-1])
                               + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * A[1:-1, 1:-1, 1:-1] + A[1:-1, 1:-1, :-2]))
        A[1:-1, 1:-1, 1:-1] = (B[1:-1, 1:-1, 1:-1]
                               + 0.125 * (B[2:, 1:-1, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[:-2, 1:-1, 1:-1])
                               + 0.125 * (B[1:-1, 2:, 1:-1] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, :-2, 1:-1])
                               + 0.125 * (B[1:-1, 1:-1, 2:] - 2.0 * B[1:-1, 1:-1, 1:-1] + B[1:-1, 1:-1, :-2]))
    return np.sum(A * A)


@by_hand
def heat_primal(A, B, steps):
    A, B = A.copy(), B.copy()
    for _ in range(steps):
        by_hand_slices.heat_sweep(A, B)
        by_hand_slices.heat_sweep(B, A)
    return np.sum(A * A)


def heat_arguments(r, tiny):
    n, steps = (5, 2) if tiny else (40, 40)
    A = r.random((n, n, n))
    return A, A.copy(), steps


benchmark("heat equation 3-D by slices", heat_3d, heat_arguments, (0, 1), primals=(heat_primal,),
          adjoint=by_hand_slices.heat, writes=(0, 1))


def heat_half(A):
    inner = A[1:-1, 1:-1, 1:-1]
    return (inner + 0.125 * (A[2:, 1:-1, 1:-1] - 2.0 * inner + A[:-2, 1:-1, 1:-1])
            + 0.125 * (A[1:-1, 2:, 1:-1] - 2.0 * inner + A[1:-1, :-2, 1:-1])
            + 0.125 * (A[1:-1, 1:-1, 2:] - 2.0 * inner + A[1:-1, 1:-1, :-2]))


@also("heat equation 3-D by slices", "jax")
def heat_jax(jax):
    def loss(A, B, steps):
        def step(pair, _):
            A, B = pair
            B = B.at[1:-1, 1:-1, 1:-1].set(heat_half(A))
            return (A.at[1:-1, 1:-1, 1:-1].set(heat_half(B)), B), None
        A = jax.lax.scan(step, (A, B), None, length=steps)[0][0]
        return (A * A).sum()
    return loss


@also("heat equation 3-D by slices", "torch")
def heat_torch(torch):
    def set_inner(B, values):
        new = B.clone()
        new[1:-1, 1:-1, 1:-1] = values
        return new

    def loss(A, B, steps):
        for _ in range(steps):
            B = set_inner(B, heat_half(A))
            A = set_inner(A, heat_half(B))
        return (A * A).sum()
    return loss


def cavity(u, v, p, dt, dx, dy, rho, nu, steps, sweeps):
    """Lid-driven cavity flow: explicit momentum steps, the pressure by a fixed number of Jacobi sweeps."""
    for _ in range(steps):
        b = np.zeros_like(p)
        b[1:-1, 1:-1] = rho * (1.0 / dt * ((u[1:-1, 2:] - u[1:-1, :-2]) / (2.0 * dx)
                                           + (v[2:, 1:-1] - v[:-2, 1:-1]) / (2.0 * dy))
                               - ((u[1:-1, 2:] - u[1:-1, :-2]) / (2.0 * dx)) ** 2
                               - 2.0 * ((u[2:, 1:-1] - u[:-2, 1:-1]) / (2.0 * dy)
                                        * (v[1:-1, 2:] - v[1:-1, :-2]) / (2.0 * dx))
                               - ((v[2:, 1:-1] - v[:-2, 1:-1]) / (2.0 * dy)) ** 2)
        for _ in range(sweeps):
            pn = p.copy()
            p[1:-1, 1:-1] = (((pn[1:-1, 2:] + pn[1:-1, :-2]) * dy ** 2 + (pn[2:, 1:-1] + pn[:-2, 1:-1]) * dx ** 2
                              - dx ** 2 * dy ** 2 * b[1:-1, 1:-1]) / (2.0 * (dx ** 2 + dy ** 2)))
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0.0
        un = u.copy()
        vn = v.copy()
        u[1:-1, 1:-1] = (un[1:-1, 1:-1] - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, :-2])
                         - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[:-2, 1:-1])
                         - dt / (2.0 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
                         + nu * (dt / dx ** 2 * (un[1:-1, 2:] - 2.0 * un[1:-1, 1:-1] + un[1:-1, :-2])
                                 + dt / dy ** 2 * (un[2:, 1:-1] - 2.0 * un[1:-1, 1:-1] + un[:-2, 1:-1])))
        v[1:-1, 1:-1] = (vn[1:-1, 1:-1] - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, :-2])
                         - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[:-2, 1:-1])
                         - dt / (2.0 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
                         + nu * (dt / dx ** 2 * (vn[1:-1, 2:] - 2.0 * vn[1:-1, 1:-1] + vn[1:-1, :-2])
                                 + dt / dy ** 2 * (vn[2:, 1:-1] - 2.0 * vn[1:-1, 1:-1] + vn[:-2, 1:-1])))
        u[0, :] = 0.0
        u[:, 0] = 0.0
        u[:, -1] = 0.0
        u[-1, :] = 1.0
        v[0, :] = 0.0
        v[-1, :] = 0.0
        v[:, 0] = 0.0
        v[:, -1] = 0.0
    return np.sum(u * u) + np.sum(v * v) + np.sum(p * p)


def cavity_arguments(r, tiny):
    n, steps, sweeps = (6, 2, 2) if tiny else (61, 25, 30)
    h = 2.0 / (n - 1)
    return (0.1 * r.random((n, n)), 0.1 * r.random((n, n)), 0.1 * r.random((n, n)), 0.001, h, h, 1.0, 0.1, steps, sweeps)


benchmark("cavity flow by slices", cavity, cavity_arguments, (0, 1, 2), primals=(by_hand_slices.cavity_primal,),
          adjoint=by_hand_slices.cavity, writes=(0, 1, 2))


def cavity_functional(np, put, repeat):
    """The same for tools without assignment: `put(a, key, value)` gives a new array, `repeat(step, state, count)` loops."""
    inner = (slice(1, -1), slice(1, -1))
    every = slice(None)

    def loss(u, v, p, dt, dx, dy, rho, nu, steps, sweeps):
        def step(state):
            u, v, p = state
            ux, uy = (u[1:-1, 2:] - u[1:-1, :-2]) / (2.0 * dx), (u[2:, 1:-1] - u[:-2, 1:-1]) / (2.0 * dy)
            vx, vy = (v[1:-1, 2:] - v[1:-1, :-2]) / (2.0 * dx), (v[2:, 1:-1] - v[:-2, 1:-1]) / (2.0 * dy)
            b = rho * (1.0 / dt * (ux + vy) - ux ** 2 - 2.0 * uy * vx - vy ** 2)

            def sweep(p):
                new = (((p[1:-1, 2:] + p[1:-1, :-2]) * dy ** 2 + (p[2:, 1:-1] + p[:-2, 1:-1]) * dx ** 2
                        - dx ** 2 * dy ** 2 * b) / (2.0 * (dx ** 2 + dy ** 2)))
                p = put(p, inner, new)
                p = put(p, (every, -1), p[:, -2])
                p = put(p, (0, every), p[1, :])
                p = put(p, (every, 0), p[:, 1])
                return put(p, (-1, every), 0.0)
            p = repeat(sweep, p, sweeps)

            def moved(w):
                return (w[inner] - u[inner] * dt / dx * (w[inner] - w[1:-1, :-2])
                        - v[inner] * dt / dy * (w[inner] - w[:-2, 1:-1])
                        + nu * (dt / dx ** 2 * (w[1:-1, 2:] - 2.0 * w[inner] + w[1:-1, :-2])
                                + dt / dy ** 2 * (w[2:, 1:-1] - 2.0 * w[inner] + w[:-2, 1:-1])))
            u_new = put(u, inner, moved(u) - dt / (2.0 * rho * dx) * (p[1:-1, 2:] - p[1:-1, :-2]))
            v_new = put(v, inner, moved(v) - dt / (2.0 * rho * dy) * (p[2:, 1:-1] - p[:-2, 1:-1]))
            for key, value in (((0, every), 0.0), ((every, 0), 0.0), ((every, -1), 0.0), ((-1, every), 1.0)):
                u_new = put(u_new, key, value)
            for key in ((0, every), (-1, every), (every, 0), (every, -1)):
                v_new = put(v_new, key, 0.0)
            return u_new, v_new, p
        u, v, p = repeat(step, (u, v, p), steps)
        return (u * u).sum() + (v * v).sum() + (p * p).sum()
    return loss


@also("cavity flow by slices", "jax")
def cavity_jax(jax):
    def repeat(step, state, count):
        return jax.lax.scan(lambda s, _: (step(s), None), state, None, length=count)[0]
    return cavity_functional(jax.numpy, lambda a, key, value: a.at[key].set(value), repeat)


@also("cavity flow by slices", "torch")
def cavity_torch(torch):
    def put(a, key, value):
        a = a.clone()
        a[key] = value
        return a

    def repeat(step, state, count):
        for _ in range(count):
            state = step(state)
        return state
    return cavity_functional(torch, put, repeat)
