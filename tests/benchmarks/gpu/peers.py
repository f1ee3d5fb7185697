"""The programs of the cases for torch and JAX, as their users would write them; they take arrays and give a number."""

from __future__ import annotations

import math

CHUNK = 2048            # bodies whose pairs are handled at once: all pairs of 65536 bodies do not fit into memory


# ---- torch ------------------------------------------------------------------------------------------------------
def torch_programs(torch, compiled) -> dict:
    """By case. compiled: `torch.compile`, or what leaves a function as it is; of loops it gets the body."""
    from torch.utils.checkpoint import checkpoint

    @compiled
    def chain(x, y):
        return torch.sum(torch.tanh(x * y) * torch.exp(-x) + torch.sqrt(1.0 + y * y))

    @compiled
    def step(v, kappa, k, dt):
        c = v[1:-1, 1:-1]
        flux = 0.0
        for other in (v[:-2, 1:-1], v[2:, 1:-1], v[1:-1, :-2], v[1:-1, 2:]):
            d = other - c
            flux = flux + d / (1.0 + k * d * d)
        new = v.clone()
        new[1:-1, 1:-1] = c + dt * kappa[1:-1, 1:-1] * flux
        return new

    def stencil(u, kappa, k, dt, target, steps):
        v = u
        for _ in range(steps):
            v = checkpoint(step, v, kappa, k, dt, use_reentrant=False)  # what a step computes does not fit 100 times
        return torch.mean((v - target) ** 2)

    @compiled
    def attraction(here, bodies, m, softening):
        dx, dy, dz = (a[None, :] - b[:, None] for a, b in zip(bodies, here, strict=True))
        r = torch.rsqrt(dx * dx + dy * dy + dz * dz + softening)
        w = m * r * r * r
        return torch.sum((w * dx).sum(1) ** 2 + (w * dy).sum(1) ** 2 + (w * dz).sum(1) ** 2)

    def n_body(x, y, z, m, softening):
        n = x.shape[0]
        total = 0.0
        for first in range(0, n, CHUNK):
            here = tuple(a[first:first + CHUNK] for a in (x, y, z))
            total = total + checkpoint(attraction, here, (x, y, z), m, softening, use_reentrant=False)
        return total / n

    @compiled
    def mixture(x, weights, means, factors):
        n, d = x.shape
        count = means.shape[0]
        z = (x @ factors.reshape(d, count * d)).reshape(n, count, d)
        offsets = torch.einsum("ka,akb->kb", means, factors)
        return torch.mean(torch.logsumexp(weights - 0.5 * torch.sum((z - offsets) ** 2, dim=2), dim=1))

    @compiled
    def option(z, spot, sigma, rate, strike, dt):
        steps = z.shape[0]
        drift, volatility = (rate - 0.5 * sigma * sigma) * dt, sigma * torch.sqrt(dt)
        prices = spot * torch.exp(torch.cumsum(drift + volatility * z, dim=0))
        return torch.exp(-rate * dt * steps) * torch.mean(torch.relu(prices.mean(dim=0) - strike))

    @compiled
    def network(x, y, w1, b1, w2, b2, w3, b3):
        h1 = torch.tanh(torch.addmm(b1, x, w1))
        h2 = torch.tanh(torch.addmm(b2, h1, w2))
        return torch.mean((torch.addmm(b3, h2, w3) - y) ** 2)

    return {"elementwise chain": chain, "stencil": stencil, "n-body": n_body, "Gaussian mixture": mixture,
            "Asian option": option, "network": network}


# ---- JAX --------------------------------------------------------------------------------------------------------
def jax_programs(jax) -> dict:
    """By case."""
    jnp, lax = jax.numpy, jax.lax

    def chain(x, y):
        return jnp.sum(jnp.tanh(x * y) * jnp.exp(-x) + jnp.sqrt(1.0 + y * y))

    def stencil(u, kappa, k, dt, target, steps):
        def step(v, _):
            c = v[1:-1, 1:-1]
            flux = 0.0
            for other in (v[:-2, 1:-1], v[2:, 1:-1], v[1:-1, :-2], v[1:-1, 2:]):
                d = other - c
                flux = flux + d / (1.0 + k * d * d)
            return v.at[1:-1, 1:-1].set(c + dt * kappa[1:-1, 1:-1] * flux), None
        return jnp.mean((lax.scan(jax.checkpoint(step), u, None, length=steps)[0] - target) ** 2)

    def n_body(x, y, z, m, softening):
        @jax.checkpoint
        def some(bodies):
            dx, dy, dz = (a[None, :] - b[:, None] for a, b in zip((x, y, z), bodies, strict=True))
            r = lax.rsqrt(dx * dx + dy * dy + dz * dz + softening)
            w = m * r * r * r
            return jnp.sum((w * dx).sum(1) ** 2 + (w * dy).sum(1) ** 2 + (w * dz).sum(1) ** 2)
        n = x.shape[0]
        size = math.gcd(n, CHUNK)
        return jnp.sum(lax.map(some, tuple(a.reshape(n // size, size) for a in (x, y, z)))) / n

    def mixture(x, weights, means, factors):
        n, d = x.shape
        count = means.shape[0]
        z = (x @ factors.reshape(d, count * d)).reshape(n, count, d)
        offsets = jnp.einsum("ka,akb->kb", means, factors)
        return jnp.mean(jax.nn.logsumexp(weights - 0.5 * jnp.sum((z - offsets) ** 2, axis=2), axis=1))

    def option(z, spot, sigma, rate, strike, dt):
        drift, volatility = (rate - 0.5 * sigma * sigma) * dt, sigma * jnp.sqrt(dt)

        def step(state, now):
            s, average = state
            s = s * jnp.exp(drift + volatility * now)
            return (s, average + s), None
        steps, paths = z.shape
        (_, average), _ = lax.scan(step, (jnp.full(paths, spot), jnp.zeros(paths, z.dtype)), z)
        return jnp.exp(-rate * dt * steps) * jnp.mean(jnp.maximum(average / steps - strike, 0.0))

    def network(x, y, w1, b1, w2, b2, w3, b3):
        h1 = jnp.tanh(x @ w1 + b1)
        h2 = jnp.tanh(h1 @ w2 + b2)
        return jnp.mean((h2 @ w3 + b3 - y) ** 2)

    return {"elementwise chain": chain, "stencil": stencil, "n-body": n_body, "Gaussian mixture": mixture,
            "Asian option": option, "network": network}


__all__ = ["jax_programs", "torch_programs"]
