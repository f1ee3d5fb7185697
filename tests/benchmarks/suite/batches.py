"""Derivatives of each example of a batch."""

import numpy as np

from .benchmark import benchmark

SHARED = (None, None, 0, 0)                 # the weights are those of all examples


def squared_error(first, second, x, y):
    return np.sum((second @ np.tanh(first @ x) - y) ** 2)


def losses(first, second, x, y):
    return np.sum((np.tanh(x @ first.T) @ second.T - y) ** 2, axis=1)


def batch(r, tiny):
    count, inputs, hidden, outputs = (3, 4, 5, 2) if tiny else (2000, 32, 64, 10)
    return (r.normal(size=(hidden, inputs)) / inputs, r.normal(size=(outputs, hidden)) / hidden,
            r.normal(size=(count, inputs)), r.normal(size=(count, outputs)))


def by_jax(jax):
    def loss(first, second, x, y):
        return jax.numpy.sum((second @ jax.numpy.tanh(first @ x) - y) ** 2)
    return jax.jit(jax.vmap(jax.grad(loss, argnums=(0, 1)), SHARED))


def by_torch(torch):
    def loss(first, second, x, y):
        return torch.sum((second @ torch.tanh(first @ x) - y) ** 2)
    return torch.func.vmap(torch.func.grad(loss, argnums=(0, 1)), SHARED)


benchmark("two layers, gradients per example", losses, batch, (0, 1), runs={
    "ours": lambda autodiff: autodiff.vmap(autodiff.grad(squared_error, wrt=(0, 1)), in_axes=SHARED),
    "jax": by_jax, "torch": by_torch})


def damped(p, steps):
    """Where a pendulum is, after as many steps as it needs to come to rest, at most `steps`."""
    angle, speed = p[0], p[1]
    for _ in range(steps):
        acceleration = -9.81 * np.sin(angle) - p[2] * speed
        speed += 0.01 * acceleration
        angle += 0.01 * speed
        if angle * angle + speed * speed < 1e-4:
            break
    return angle


def pendulums(p, steps):
    return np.array([damped(row, steps) for row in p])


def swings(r, tiny):
    count, steps = (3, 20) if tiny else (2000, 500)
    return np.column_stack([r.uniform(0.1, 2.0, count), r.normal(size=count), r.uniform(1.0, 8.0, count)]), steps


def damped_by_jax(jax):
    def rest(state):
        angle, speed, _ = state
        return angle * angle + speed * speed < 1e-4

    def one(p, steps):
        def step(state, _):
            angle, speed, done = state
            acceleration = -9.81 * jax.numpy.sin(angle) - p[2] * speed
            faster = speed + 0.01 * acceleration
            further = angle + 0.01 * faster
            new = (jax.numpy.where(done, angle, further), jax.numpy.where(done, speed, faster))
            return (*new, done | rest((*new, done))), None
        (angle, _, _), _ = jax.lax.scan(step, (p[0], p[1], False), None, length=500)
        return angle
    made = jax.jit(jax.vmap(jax.grad(one), (0, None)), static_argnums=())
    return lambda p, steps: (made(p, steps),)


benchmark("damped pendulums, gradients per example", pendulums, swings, (0,), runs={
    "ours": lambda autodiff: (lambda made: lambda p, steps: (made(p, steps),))(
        autodiff.vmap(autodiff.grad(damped), in_axes=(0, None))), "jax": damped_by_jax})
