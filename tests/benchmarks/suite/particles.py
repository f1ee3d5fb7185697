"""Many oscillators, alone and coupled; particles with a cut-off."""

import numpy as np

from autodiff.runtime.numbers import vectormath as vm

from .benchmark import also, benchmark, by_hand, looped, scanned

LANES = 64


def runge_kutta(x, p, k, steps, dt):
    """An ensemble of damped pendulums, by four stages a step."""
    def force(x, p):
        return p, -k * np.sin(x) - 0.1 * p
    for _ in range(steps):
        a, b = force(x, p)
        c, d = force(x + 0.5 * dt * a, p + 0.5 * dt * b)
        e, g = force(x + 0.5 * dt * c, p + 0.5 * dt * d)
        h, i = force(x + dt * e, p + dt * g)
        x = x + dt / 6.0 * (a + 2.0 * c + 2.0 * e + h)
        p = p + dt / 6.0 * (b + 2.0 * d + 2.0 * g + i)
    return np.sum(x * x + p * p)


@by_hand
def runge_kutta_step(x, p, k, dt, xn, pn):
    for j in range(len(x)):
        h = 0.5 * dt
        a, b = p[j], -k[j] * vm.sin(x[j]) - 0.1 * p[j]
        c = p[j] + h * b
        d = -k[j] * vm.sin(x[j] + h * a) - 0.1 * c
        e = p[j] + h * d
        g = -k[j] * vm.sin(x[j] + h * c) - 0.1 * e
        q = p[j] + dt * g
        s = -k[j] * vm.sin(x[j] + dt * e) - 0.1 * q
        xn[j] = x[j] + dt / 6.0 * (a + 2.0 * c + 2.0 * e + q)
        pn[j] = p[j] + dt / 6.0 * (b + 2.0 * d + 2.0 * g + s)


@by_hand
def runge_kutta_primal(x, p, k, steps, dt):
    """Members outermost, in blocks that stay in registers and the first cache."""
    total = 0.0
    for begin in range(0, len(x), LANES):
        end = min(begin + LANES, len(x))
        a, b, w = x[begin:end].copy(), p[begin:end].copy(), k[begin:end]
        for _ in range(steps):
            runge_kutta_step(a, b, w, dt, a, b)
        for j in range(end - begin):
            total += a[j] * a[j] + b[j] * b[j]
    return total


@by_hand
def runge_kutta_back(x, p, k, dt, x_bar, p_bar, k_bar):
    for j in range(len(x)):
        h, w = 0.5 * dt, k[j]
        b = -w * vm.sin(x[j]) - 0.1 * p[j]
        x1, c = x[j] + h * p[j], p[j] + h * b
        sin1, cos1 = vm.sin(x1), vm.cos(x1)
        d = -w * sin1 - 0.1 * c
        x2, e = x[j] + h * c, p[j] + h * d
        sin2, cos2 = vm.sin(x2), vm.cos(x2)
        x3 = x[j] + dt * e
        sin3, cos3 = vm.sin(x3), vm.cos(x3)
        u, v = dt / 6.0 * x_bar[j], dt / 6.0 * p_bar[j]
        q_bar = u - 0.1 * v
        x3_bar = -w * cos3 * v
        w_bar = -sin3 * v
        g_bar = 2.0 * v + dt * q_bar
        e_bar = 2.0 * u + dt * x3_bar - 0.1 * g_bar
        x2_bar = -w * cos2 * g_bar
        w_bar -= sin2 * g_bar
        d_bar = 2.0 * v + h * e_bar
        c_bar = 2.0 * u + h * x2_bar - 0.1 * d_bar
        x1_bar = -w * cos1 * d_bar
        w_bar -= sin1 * d_bar
        b_bar = v + h * c_bar
        w_bar -= vm.sin(x[j]) * b_bar
        k_bar[j] += w_bar
        x_bar[j] += x1_bar + x2_bar + x3_bar - w * vm.cos(x[j]) * b_bar
        p_bar[j] += u + h * x1_bar + c_bar + e_bar + q_bar - 0.1 * b_bar


@by_hand
def runge_kutta_adjoint(x, p, k, steps, dt):
    total = 0.0
    x_bar, p_bar, k_bar = np.empty_like(x), np.empty_like(p), np.zeros_like(k)
    xs, ps = np.empty((steps + 1, LANES)), np.empty((steps + 1, LANES))
    for begin in range(0, len(x), LANES):
        end = min(begin + LANES, len(x))
        n, w = end - begin, k[begin:end]
        xs[0, :n], ps[0, :n] = x[begin:end], p[begin:end]
        for t in range(steps):
            runge_kutta_step(xs[t, :n], ps[t, :n], w, dt, xs[t + 1, :n], ps[t + 1, :n])
        a, b, c = x_bar[begin:end], p_bar[begin:end], k_bar[begin:end]
        for j in range(n):
            total += xs[steps, j] ** 2 + ps[steps, j] ** 2
            a[j], b[j] = 2.0 * xs[steps, j], 2.0 * ps[steps, j]
        for t in range(steps - 1, -1, -1):
            runge_kutta_back(xs[t, :n], ps[t, :n], w, dt, a, b, c)
    return total, x_bar, p_bar, k_bar


def ensemble(r, tiny):
    n, steps = (5, 3) if tiny else (2000, 200)
    return r.random(n), r.random(n), 1.0 + r.random(n), steps, 0.01


benchmark("Runge-Kutta ensemble", runge_kutta, ensemble, (0, 1, 2), primals=(runge_kutta_primal,),
          adjoint=runge_kutta_adjoint, autograd=True)


def runge_kutta_functional(np, repeat):
    def loss(x, p, k, steps, dt):
        def force(x, p):
            return p, -k * np.sin(x) - 0.1 * p

        def step(state):
            x, p = state
            a, b = force(x, p)
            c, d = force(x + 0.5 * dt * a, p + 0.5 * dt * b)
            e, g = force(x + 0.5 * dt * c, p + 0.5 * dt * d)
            h, i = force(x + dt * e, p + dt * g)
            return x + dt / 6.0 * (a + 2.0 * c + 2.0 * e + h), p + dt / 6.0 * (b + 2.0 * d + 2.0 * g + i)
        x, p = repeat(step, (x, p), steps)
        return (x * x + p * p).sum()
    return loss


also("Runge-Kutta ensemble", "jax")(lambda jax: runge_kutta_functional(jax.numpy, scanned(jax)))
also("Runge-Kutta ensemble", "torch")(lambda torch: runge_kutta_functional(torch, looped))


def kuramoto(theta, w, coupling, steps, dt):
    """Oscillators that pull each other; how far they agree at the end."""
    n = theta.shape[0]
    for _ in range(steps):
        gap = theta[None, :] - theta[:, None]
        theta = theta + dt * (w + coupling / n * np.sum(np.sin(gap), axis=1))
    return np.abs(np.sum(np.cos(theta)))


@by_hand
def kuramoto_step(theta, w, c, dt, new):
    n = len(theta)
    for i in range(n):
        s = 0.0
        for j in range(n):
            s += vm.sin(theta[j] - theta[i])
        new[i] = theta[i] + dt * (w[i] + c * s)


@by_hand
def kuramoto_primal(theta, w, coupling, steps, dt):
    theta, new = theta.copy(), np.empty_like(theta)
    for _ in range(steps):
        kuramoto_step(theta, w, coupling / len(theta), dt, new)
        theta, new = new, theta
    s = 0.0
    for i in range(len(theta)):
        s += vm.cos(theta[i])
    return abs(s)


@by_hand
def kuramoto_adjoint(theta, w, coupling, steps, dt):
    n, c = len(theta), coupling / len(theta)
    tape = np.empty((steps + 1, n))
    tape[0] = theta
    for t in range(steps):
        kuramoto_step(tape[t], w, c, dt, tape[t + 1])
    s = 0.0
    for i in range(n):
        s += vm.cos(tape[steps, i])
    bar, new, w_bar, c_bar = np.empty(n), np.empty(n), np.zeros(n), 0.0
    for i in range(n):
        bar[i] = -np.sign(s) * vm.sin(tape[steps, i])
    for t in range(steps - 1, -1, -1):
        theta = tape[t]
        for i in range(n):
            w_bar[i] += dt * bar[i]
            c_bar += bar[i] * (tape[t + 1, i] - theta[i] - dt * w[i])           # over c
            a, b = 0.0, bar[i]
            for j in range(n):
                a += vm.cos(theta[j] - theta[i]) * (bar[j] - b)
            new[i] = bar[i] + dt * c * a
        bar, new = new, bar
    return abs(s), bar, w_bar, c_bar / c / n


def oscillators(r, tiny):
    n, steps = (4, 2) if tiny else (200, 20)
    return 6.0 * r.random(n), r.random(n), 1.5, steps, 0.05


benchmark("Kuramoto oscillators", kuramoto, oscillators, (0, 1, 2), primals=(kuramoto_primal,), adjoint=kuramoto_adjoint,
          autograd=True)


def kuramoto_functional(np, repeat):
    def loss(theta, w, coupling, steps, dt):
        n = theta.shape[0]

        def step(theta):
            return theta + dt * (w + coupling / n * np.sin(theta[None, :] - theta[:, None]).sum(1))
        return np.abs(np.sum(np.cos(repeat(step, theta, steps))))
    return loss


also("Kuramoto oscillators", "jax")(lambda jax: kuramoto_functional(jax.numpy, scanned(jax)))
also("Kuramoto oscillators", "torch")(lambda torch: kuramoto_functional(torch, looped))


def lennard_jones(x, box, cut):
    """Energy of particles in a periodic box; pairs farther apart than `cut` do not count."""
    n = x.shape[0]
    e = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            r2 = 0.0
            for k in range(3):
                d = x[i, k] - x[j, k]
                d -= box * np.round(d / box)
                r2 += d * d
            if r2 < cut * cut:
                i6 = 1.0 / (r2 * r2 * r2)
                e += 4.0 * (i6 * i6 - i6)
    return e


@by_hand
def lennard_jones_adjoint(x, box, cut):
    n, e, x_bar = x.shape[0], 0.0, np.zeros_like(x)
    for i in range(n):
        a, b, c = 0.0, 0.0, 0.0
        for j in range(i + 1, n):
            p, q, s = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
            p -= box * np.round(p / box)
            q -= box * np.round(q / box)
            s -= box * np.round(s / box)
            r2 = p * p + q * q + s * s
            if r2 < cut * cut:
                r = 1.0 / r2
                i6 = r * r * r
                e += 4.0 * (i6 * i6 - i6)
                f = (24.0 * i6 - 48.0 * i6 * i6) * r
                a += f * p
                b += f * q
                c += f * s
                x_bar[j, 0] -= f * p
                x_bar[j, 1] -= f * q
                x_bar[j, 2] -= f * s
        x_bar[i, 0] += a
        x_bar[i, 1] += b
        x_bar[i, 2] += c
    return e, x_bar


def box_of_particles(r, tiny):
    n = 2 if tiny else 7
    at = np.stack(np.meshgrid(*3 * [np.arange(n)], indexing="ij"), -1).reshape(-1, 3) * 1.2
    return at + 0.1 * r.random(at.shape), 1.2 * n, 2.5


benchmark("Lennard-Jones with a cut-off", lennard_jones, box_of_particles, (0,), adjoint=lennard_jones_adjoint)


@also("Lennard-Jones with a cut-off", "jax")
def lennard_jones_jax(jax):
    jnp = jax.numpy

    def loss(x, box, cut):
        gap = x[:, None, :] - x[None, :, :]
        gap = gap - box * jnp.round(gap / box)
        counts = jnp.triu(jnp.ones((len(x), len(x)), bool), 1)
        r2 = jnp.where(counts, jnp.sum(gap * gap, axis=2), jnp.inf)
        i6 = jnp.where(r2 < cut * cut, 1.0 / (r2 * r2 * r2), 0.0)
        return jnp.sum(4.0 * (i6 * i6 - i6))
    return loss


@also("Lennard-Jones with a cut-off", "torch")
def lennard_jones_torch(torch):
    def loss(x, box, cut):
        i, j = torch.triu_indices(len(x), len(x), 1)
        gap = x[i] - x[j]
        gap = gap - box * torch.round(gap / box)
        r2 = torch.sum(gap * gap, dim=1)
        i6 = 1.0 / r2[r2 < cut * cut] ** 3
        return torch.sum(4.0 * (i6 * i6 - i6))
    return loss
