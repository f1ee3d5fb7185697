"""Derivatives of each example of a batch."""

import numpy as np

from .benchmark import benchmark, by_hand

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


@by_hand
def layers_by_hand(first, second, x, y):
    """One example after the other, which stays in the nearest cache; what is returned is written once."""
    hidden, inputs = first.shape
    count, outputs = y.shape
    first_bar, second_bar = np.empty((count, hidden, inputs)), np.empty((count, outputs, hidden))
    a, a_bar = np.empty(hidden), np.empty(hidden)
    for b in range(count):
        for h in range(hidden):
            s = 0.0
            for k in range(inputs):
                s += first[h, k] * x[b, k]
            a[h] = s
        for h in range(hidden):
            a[h] = np.tanh(a[h])
            a_bar[h] = 0.0
        for o in range(outputs):
            s = -y[b, o]
            for h in range(hidden):
                s += second[o, h] * a[h]
            for h in range(hidden):
                a_bar[h] += 2.0 * s * second[o, h]
                second_bar[b, o, h] = 2.0 * s * a[h]
        for h in range(hidden):
            t = a_bar[h] * (1.0 - a[h] * a[h])
            for k in range(inputs):
                first_bar[b, h, k] = t * x[b, k]
    return first_bar, second_bar


def by_torch(torch):
    def loss(first, second, x, y):
        return torch.sum((second @ torch.tanh(first @ x) - y) ** 2)
    return torch.func.vmap(torch.func.grad(loss, argnums=(0, 1)), SHARED)


benchmark("two layers, gradients per example", losses, batch, (0, 1), runs={
    "ours": lambda autodiff: autodiff.vmap(autodiff.grad(squared_error, wrt=(0, 1)), in_axes=SHARED),
    "by hand": lambda _: layers_by_hand, "jax": by_jax, "torch": by_torch})


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


@by_hand
def damped_by_hand(p, steps):
    """The adjoint of a step needs the cosine of its angle, which is kept."""
    p_bar, cosines, speeds = np.empty_like(p), np.empty(steps), np.empty(steps)
    for b in range(len(p)):
        angle, speed, friction = p[b]
        ran = 0
        while ran < steps:
            cosines[ran], speeds[ran] = np.cos(angle), speed
            speed -= 0.01 * (9.81 * np.sin(angle) + friction * speed)
            angle += 0.01 * speed
            ran += 1
            if angle * angle + speed * speed < 1e-4:
                break
        angle_bar, speed_bar, friction_bar = 1.0, 0.0, 0.0
        for k in range(ran - 1, -1, -1):
            speed_bar += 0.01 * angle_bar
            angle_bar -= 0.0981 * speed_bar * cosines[k]
            friction_bar -= 0.01 * speed_bar * speeds[k]
            speed_bar *= 1.0 - 0.01 * friction
        p_bar[b] = angle_bar, speed_bar, friction_bar
    return (p_bar,)


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
        autodiff.vmap(autodiff.grad(damped), in_axes=(0, None))), "by hand": lambda _: damped_by_hand, "jax": damped_by_jax})
