"""Neighbours on a ring, by `%` and from the end; and arrays of several axes as one."""

import numpy as np

from autodiff.runtime.numbers import vectormath as vm

from .benchmark import also, benchmark, by_hand, scanned


def lorenz_96(x, forcing, dt, steps):
    """A model of the weather on a circle of latitude (E. N. Lorenz, "Predictability: a problem partly solved", 1996)."""
    n = x.shape[0]
    d = np.empty(n)
    for _ in range(steps):
        for i in range(n):
            d[i] = (x[(i + 1) % n] - x[i - 2]) * x[i - 1] - x[i] + forcing
        x = x + dt * d
    return np.sum(x ** 2)


@by_hand
def lorenz_step(x, forcing, dt, new):
    """Two places before the first one and two behind the last one repeat those of the other end."""
    n = len(x) - 4
    for i in range(n):
        new[i + 2] = x[i + 2] + dt * ((x[i + 3] - x[i]) * x[i + 1] - x[i + 2] + forcing)
    new[:2], new[n + 2:] = new[n:n + 2], new[2:4]


@by_hand
def around(x):
    n = len(x)
    wide = np.empty(n + 4)
    wide[2:n + 2], wide[:2], wide[n + 2:] = x, x[n - 2:], x[:2]
    return wide


@by_hand
def lorenz_primal(x, forcing, dt, steps):
    x = around(x)
    new = np.empty_like(x)
    for _ in range(steps):
        lorenz_step(x, forcing, dt, new)
        x, new = new, x
    return np.sum(x[2:-2] ** 2)


@by_hand
def lorenz_back(x, bar, dt, new):
    """Each place gathers from the four that read it."""
    n, total = len(x) - 4, 0.0
    for i in range(n):
        total += bar[i + 2]
        given = bar[i + 1] * x[i] - bar[i + 4] * x[i + 3] + bar[i + 3] * (x[i + 4] - x[i + 1])
        new[i + 2] = bar[i + 2] + dt * (given - bar[i + 2])
    new[:2], new[n + 2:] = new[n:n + 2], new[2:4]
    return total


@by_hand
def lorenz_adjoint(x, forcing, dt, steps):
    n = len(x)
    states = np.empty((steps + 1, n + 4))
    states[0] = around(x)
    for t in range(steps):
        lorenz_step(states[t], forcing, dt, states[t + 1])
    value, forcing_bar = np.sum(states[steps, 2:n + 2] ** 2), 0.0
    bar, new = 2.0 * states[steps], np.empty(n + 4)
    for t in range(steps - 1, -1, -1):
        forcing_bar += lorenz_back(states[t], bar, dt, new)
        bar, new = new, bar
    return value, bar[2:n + 2].copy(), dt * forcing_bar


def lorenz_arguments(r, tiny):
    n, steps = (5, 3) if tiny else (1000, 200)
    return 8.0 + 0.1 * r.random(n), 8.0, 0.005, steps


benchmark("Lorenz 96 on a ring", lorenz_96, lorenz_arguments, (0, 1), primals=(lorenz_primal,), adjoint=lorenz_adjoint)


@also("Lorenz 96 on a ring", "jax")
def lorenz_jax(jax):
    roll = jax.numpy.roll

    def loss(x, forcing, dt, steps):
        def step(x):
            return x + dt * ((roll(x, -1) - roll(x, 2)) * roll(x, 1) - x + forcing)
        return jax.numpy.sum(scanned(jax)(step, x, steps) ** 2)
    return loss


def raveled(x, w):
    """Weights for all elements of three axes as one."""
    return np.sum(np.exp(x.ravel()) * w)


@by_hand
def raveled_primal(x, w):
    flat, total = x.ravel(), 0.0
    for i in range(len(w)):
        total += vm.exp(flat[i]) * w[i]
    return total


@by_hand
def raveled_adjoint(x, w):
    flat, total = x.ravel(), 0.0
    x_bar, w_bar = np.empty(x.shape), np.empty(len(w))
    flat_bar = x_bar.ravel()
    for i in range(len(w)):
        e = vm.exp(flat[i])
        w_bar[i] = e
        flat_bar[i] = e * w[i]
        total += e * w[i]
    return total, x_bar, w_bar


def raveled_arguments(r, tiny):
    shape = (2, 3, 4) if tiny else (40, 50, 60)
    return r.random(shape), r.random(np.prod(shape))


benchmark("weights of raveled axes", raveled, raveled_arguments, (0, 1), primals=(raveled_primal,),
          adjoint=raveled_adjoint, autograd=True)
also("weights of raveled axes", "jax")(True)
also("weights of raveled axes", "torch")(lambda torch: lambda x, w: torch.sum(torch.exp(x.ravel()) * w))
