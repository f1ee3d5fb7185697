"""Bodies that attract each other."""

import numpy as np

from .benchmark import also, benchmark, by_hand


def n_body(x, v, mass, dt, steps):
    """Leapfrog steps of gravitating bodies, written with pairwise arrays; the final energy."""
    for _ in range(steps):
        gap = x[None, :, :] - x[:, None, :]
        r2 = np.sum(gap * gap, axis=2) + 0.01
        acc = np.sum(gap * (mass[None, :] / (r2 * np.sqrt(r2)))[:, :, None], axis=1)
        v = v + dt * acc
        x = x + dt * v
    return 0.5 * np.sum(mass[:, None] * v * v) + np.sum(x * x)


@by_hand
def n_body_primal(x, v, mass, dt, steps):
    n = x.shape[0]
    x, v = x.copy(), v.copy()
    for _ in range(steps):
        for i in range(n):
            a, b, c = 0.0, 0.0, 0.0
            for j in range(n):
                p, q, s = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
                r2 = p * p + q * q + s * s + 0.01
                f = mass[j] / (r2 * np.sqrt(r2))
                a += p * f
                b += q * f
                c += s * f
            v[i, 0] += dt * a
            v[i, 1] += dt * b
            v[i, 2] += dt * c
        for i in range(n):
            for k in range(3):
                x[i, k] += dt * v[i, k]
    total = 0.0
    for i in range(n):
        for k in range(3):
            total += 0.5 * mass[i] * v[i, k] * v[i, k] + x[i, k] * x[i, k]
    return total


@by_hand
def n_body_adjoint(x, v, mass, dt, steps):
    """The positions of every step are kept; the forces are computed again."""
    n = x.shape[0]
    tape = np.empty((steps + 1, n, 3))
    tape[0] = x
    v = v.copy()
    for t in range(steps):
        x = tape[t]
        for i in range(n):
            a, b, c = 0.0, 0.0, 0.0
            for j in range(n):
                p, q, s = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
                r2 = p * p + q * q + s * s + 0.01
                f = mass[j] / (r2 * np.sqrt(r2))
                a += p * f
                b += q * f
                c += s * f
            v[i, 0] += dt * a
            v[i, 1] += dt * b
            v[i, 2] += dt * c
        for i in range(n):
            for k in range(3):
                tape[t + 1, i, k] = x[i, k] + dt * v[i, k]
    x = tape[steps]
    x_bar, v_bar, mass_bar = np.empty_like(x), np.empty_like(v), np.zeros_like(mass)
    total = 0.0
    for i in range(n):
        for k in range(3):
            total += 0.5 * mass[i] * v[i, k] * v[i, k] + x[i, k] * x[i, k]
            x_bar[i, k] = 2.0 * x[i, k]
            v_bar[i, k] = mass[i] * v[i, k]
            mass_bar[i] += 0.5 * v[i, k] * v[i, k]
    for t in range(steps - 1, -1, -1):
        x = tape[t]
        for i in range(n):
            for k in range(3):
                v_bar[i, k] += dt * x_bar[i, k]
        for i in range(n):
            a, b, c = dt * v_bar[i, 0], dt * v_bar[i, 1], dt * v_bar[i, 2]
            u, w, y = 0.0, 0.0, 0.0
            for j in range(n):
                p, q, s = x[j, 0] - x[i, 0], x[j, 1] - x[i, 1], x[j, 2] - x[i, 2]
                r2 = p * p + q * q + s * s + 0.01
                g = 1.0 / (r2 * np.sqrt(r2))
                f = mass[j] * g
                along = a * p + b * q + c * s
                mass_bar[j] += along * g
                r2_bar = -3.0 * along * f / r2
                p_bar, q_bar, s_bar = a * f + r2_bar * p, b * f + r2_bar * q, c * f + r2_bar * s
                x_bar[j, 0] += p_bar
                x_bar[j, 1] += q_bar
                x_bar[j, 2] += s_bar
                u += p_bar
                w += q_bar
                y += s_bar
            x_bar[i, 0] -= u
            x_bar[i, 1] -= w
            x_bar[i, 2] -= y
    return total, x_bar, v_bar, mass_bar


def bodies(r, tiny):
    n, steps = (4, 2) if tiny else (25, 40)
    return r.standard_normal((n, 3)), 0.1 * r.standard_normal((n, 3)), 0.5 + r.random(n), 0.01, steps


benchmark("n-body", n_body, bodies, (0, 1, 2), primals=(n_body_primal,), adjoint=n_body_adjoint, torch=True, autograd=True)


@also("n-body", "torch")
def n_body_torch(torch):
    def loss(x, v, mass, dt, steps):
        for _ in range(steps):
            gap = x[None, :, :] - x[:, None, :]
            r2 = torch.sum(gap * gap, dim=2) + 0.01
            acc = torch.sum(gap * (mass[None, :] / (r2 * torch.sqrt(r2)))[:, :, None], dim=1)
            v = v + dt * acc
            x = x + dt * v
        return 0.5 * torch.sum(mass[:, None] * v * v) + torch.sum(x * x)
    return loss


@also("n-body", "jax")
def n_body_jax(jax):
    jnp = jax.numpy

    def loss(x, v, mass, dt, steps):
        def step(state, _):
            x, v = state
            gap = x[None, :, :] - x[:, None, :]
            r2 = jnp.sum(gap * gap, axis=2) + 0.01
            v = v + dt * jnp.sum(gap * (mass[None, :] / (r2 * jnp.sqrt(r2)))[:, :, None], axis=1)
            return (x + dt * v, v), None
        x, v = jax.lax.scan(step, (x, v), None, length=steps)[0]
        return 0.5 * jnp.sum(mass[:, None] * v * v) + jnp.sum(x * x)
    return loss
