"""A grid whose loops ask at each place which neighbours are there."""

import numpy as np

from .benchmark import also, benchmark, by_hand, scanned


def diffusion(u, k, steps):
    """Diffusion between neighbours, with a conductivity at each place; nothing leaves at the borders."""
    n, m = u.shape
    for _ in range(steps):
        d = np.zeros((n, m))
        for i in range(n):
            for j in range(m):
                s = 0.0
                if i > 0:
                    s += u[i - 1, j] - u[i, j]
                if i < n - 1:
                    s += u[i + 1, j] - u[i, j]
                if j > 0:
                    s += u[i, j - 1] - u[i, j]
                if j < m - 1:
                    s += u[i, j + 1] - u[i, j]
                d[i, j] = k[i, j] * s
        u = u + d
    return np.sum(u ** 2)


@by_hand
def neighbours(u, i, j):
    """What the four neighbours differ by; a place at the border is its own neighbour."""
    n, m = u.shape
    rows = u[max(i - 1, 0), j] + u[min(i + 1, n - 1), j]
    return rows + u[i, max(j - 1, 0)] + u[i, min(j + 1, m - 1)] - 4.0 * u[i, j]


@by_hand
def neighbours_of_all(u, out):
    n, m = u.shape
    for i in range(n):
        for j in range(0, m, max(m - 1, 1)):
            out[i, j] = neighbours(u, i, j)
        up, down = max(i - 1, 0), min(i + 1, n - 1)
        for j in range(1, m - 1):
            out[i, j] = u[up, j] + u[down, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * u[i, j]


@by_hand
def diffusion_primal(u, k, steps):
    u, s = u.copy(), np.empty_like(u)
    for _ in range(steps):
        neighbours_of_all(u, s)
        for i in range(u.shape[0]):
            for j in range(u.shape[1]):
                u[i, j] += k[i, j] * s[i, j]
    return np.sum(u * u)


@by_hand
def diffusion_adjoint(u, k, steps):
    """The differences of neighbours are their own adjoint."""
    n, m = u.shape
    states, s = np.empty((steps + 1, n, m)), np.empty((n, m))
    states[0] = u
    for t in range(steps):
        neighbours_of_all(states[t], s)
        for i in range(n):
            for j in range(m):
                states[t + 1, i, j] = states[t, i, j] + k[i, j] * s[i, j]
    value = np.sum(states[steps] * states[steps])
    bar, k_bar, weighted = 2.0 * states[steps], np.zeros((n, m)), np.empty((n, m))
    for t in range(steps - 1, -1, -1):
        neighbours_of_all(states[t], s)
        for i in range(n):
            for j in range(m):
                k_bar[i, j] += bar[i, j] * s[i, j]
                weighted[i, j] = bar[i, j] * k[i, j]
        neighbours_of_all(weighted, s)
        for i in range(n):
            for j in range(m):
                bar[i, j] += s[i, j]
    return value, bar, k_bar


def diffusion_arguments(r, tiny):
    shape, steps = ((4, 5), 3) if tiny else ((80, 80), 30)
    return r.random(shape), 0.2 * r.random(shape), steps


benchmark("diffusion with borders", diffusion, diffusion_arguments, (0, 1), primals=(diffusion_primal,),
          adjoint=diffusion_adjoint)


@also("diffusion with borders", "jax")
def diffusion_jax(jax):
    def loss(u, k, steps):
        def step(u):
            wide = jax.numpy.pad(u, 1, mode="edge")
            return u + k * (wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:] - 4.0 * u)
        return jax.numpy.sum(scanned(jax)(step, u, steps) ** 2)
    return loss
