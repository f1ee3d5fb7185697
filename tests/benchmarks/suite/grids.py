"""Fields on periodic grids: a reaction in place, waves by `np.roll`; and a tridiagonal system in time."""

import numpy as np

from .benchmark import also, benchmark, by_hand, looped, scanned


def gray_scott(u, v, feed, kill, steps):
    """Two reacting fields; the outermost rows and columns repeat those of the other side."""
    for _ in range(steps):
        lu = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
        lv = v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] - 4.0 * v[1:-1, 1:-1]
        uvv = u[1:-1, 1:-1] * v[1:-1, 1:-1] ** 2
        u[1:-1, 1:-1] += 0.16 * lu - uvv + feed * (1.0 - u[1:-1, 1:-1])
        v[1:-1, 1:-1] += 0.08 * lv + uvv - (feed + kill) * v[1:-1, 1:-1]
        for w in (u, v):
            w[0, :] = w[-2, :]
            w[-1, :] = w[1, :]
            w[:, 0] = w[:, -2]
            w[:, -1] = w[:, 1]
    return np.sum(v * v)


@by_hand
def gray_scott_step(u, v, feed, kill, un, vn):
    n, m = u.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            a, b = u[i, j], v[i, j]
            uvv = a * b * b
            un[i, j] = a + 0.16 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4.0 * a) - uvv + feed * (1.0 - a)
            vn[i, j] = b + 0.08 * (v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1] - 4.0 * b) + uvv - (feed + kill) * b
    for w in (un, vn):
        w[0, :] = w[n - 2, :]
        w[n - 1, :] = w[1, :]
        w[:, 0] = w[:, m - 2]
        w[:, m - 1] = w[:, 1]


@by_hand
def gray_scott_primal(u, v, feed, kill, steps):
    u, v, un, vn = u.copy(), v.copy(), np.empty_like(u), np.empty_like(v)
    for _ in range(steps):
        gray_scott_step(u, v, feed, kill, un, vn)
        u, un = un, u
        v, vn = vn, v
    return np.sum(v * v)


@by_hand
def gray_scott_adjoint(u, v, feed, kill, steps):
    """Segments of eight steps are run again from copies, so that the states between stay in the cache."""
    every = 8
    n, m = u.shape
    count = (steps + every - 1) // every
    kept_u, kept_v = np.empty((count + 1, n, m)), np.empty((count + 1, n, m))
    us, vs = np.empty((every + 1, n, m)), np.empty((every + 1, n, m))
    us[0], vs[0] = u, v
    for t in range(steps):
        if t % every == 0:
            kept_u[t // every], kept_v[t // every] = us[0], vs[0]
        gray_scott_step(us[0], vs[0], feed, kill, us[1], vs[1])
        us[0], vs[0] = us[1], vs[1]
    value = np.sum(vs[0] * vs[0])
    ub, vb = np.zeros((n, m)), 2.0 * vs[0]
    uo, vo = np.empty((n, m)), np.empty((n, m))
    feed_bar = kill_bar = 0.0
    for s in range(count - 1, -1, -1):
        us[0], vs[0] = kept_u[s], kept_v[s]
        length = min(every, steps - s * every)
        for t in range(length):
            gray_scott_step(us[t], vs[t], feed, kill, us[t + 1], vs[t + 1])
        for t in range(length - 1, -1, -1):
            u, v = us[t], vs[t]
            for w in (ub, vb):
                w[:, 1] += w[:, m - 1]
                w[:, m - 1] = 0.0
                w[:, m - 2] += w[:, 0]
                w[:, 0] = 0.0
                w[1, :] += w[n - 1, :]
                w[n - 1, :] = 0.0
                w[n - 2, :] += w[0, :]
                w[0, :] = 0.0
            for i in range(1, n - 1):
                for j in range(1, m - 1):
                    a, b, p, q = u[i, j], v[i, j], ub[i, j], vb[i, j]
                    r = q - p
                    feed_bar += p * (1.0 - a) - q * b
                    kill_bar -= q * b
                    uo[i, j] = (p * (1.0 - 0.64 - feed) + r * b * b
                                + 0.16 * (ub[i - 1, j] + ub[i + 1, j] + ub[i, j - 1] + ub[i, j + 1]))
                    vo[i, j] = (q * (1.0 - 0.32 - feed - kill) + 2.0 * r * a * b
                                + 0.08 * (vb[i - 1, j] + vb[i + 1, j] + vb[i, j - 1] + vb[i, j + 1]))
            for w, o, k in ((ub, uo, 0.16), (vb, vo, 0.08)):
                o[0, :], o[n - 1, :] = k * w[1, :], k * w[n - 2, :]
                for i in range(1, n - 1):
                    o[i, 0], o[i, m - 1] = k * w[i, 1], k * w[i, m - 2]
            ub, uo = uo, ub
            vb, vo = vo, vb
    return value, ub, vb, feed_bar, kill_bar


def gray_scott_arguments(r, tiny):
    n, steps = (7, 3) if tiny else (130, 100)
    u, v = 1.0 - 0.5 * r.random((n, n)), 0.25 * r.random((n, n))
    return u, v, 0.035, 0.065, steps


benchmark("Gray-Scott in place", gray_scott, gray_scott_arguments, (0, 1, 2, 3), primals=(gray_scott_primal,),
          adjoint=gray_scott_adjoint, writes=(0, 1))


def gray_scott_functional(np, repeat):
    """Padded anew in every step, for tools without assignment."""
    def padded(w):
        w = np.concatenate((w[-1:], w, w[:1]))
        return np.concatenate((w[:, -1:], w, w[:, :1]), 1)

    def loss(u, v, feed, kill, steps):
        def step(state):
            u, v = state
            a, b = u[1:-1, 1:-1], v[1:-1, 1:-1]
            lu = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * a
            lv = v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] - 4.0 * b
            uvv = a * b ** 2
            return (padded(a + 0.16 * lu - uvv + feed * (1.0 - a)), padded(b + 0.08 * lv + uvv - (feed + kill) * b))
        u, v = repeat(step, (u, v), steps)
        return (v * v).sum()
    return loss


also("Gray-Scott in place", "jax")(lambda jax: gray_scott_functional(jax.numpy, scanned(jax)))
also("Gray-Scott in place", "torch")(lambda torch: gray_scott_functional(torch, looped))


def shallow(h, u, v, steps, dt):
    """Shallow water on a periodic grid, by central differences."""
    for _ in range(steps):
        hx = 0.5 * (np.roll(h, -1, 0) - np.roll(h, 1, 0))
        hy = 0.5 * (np.roll(h, -1, 1) - np.roll(h, 1, 1))
        un = u - dt * hx - dt * u * 0.5 * (np.roll(u, -1, 0) - np.roll(u, 1, 0))
        vn = v - dt * hy - dt * v * 0.5 * (np.roll(v, -1, 1) - np.roll(v, 1, 1))
        div = 0.5 * (np.roll(un, -1, 0) - np.roll(un, 1, 0)) + 0.5 * (np.roll(vn, -1, 1) - np.roll(vn, 1, 1))
        h = h - dt * (1.0 + h) * div
        u, v = un, vn
    return np.sum(h * h)


@by_hand
def shallow_speeds(h, u, v, c, un, vn):
    """c: half a time step. The last column is next to the first one."""
    n, m = h.shape
    for i in range(n):
        up, down = i - 1 if i else n - 1, i + 1 if i < n - 1 else 0
        for j in range(1, m - 1):
            un[i, j] = u[i, j] - c * (h[down, j] - h[up, j]) - c * u[i, j] * (u[down, j] - u[up, j])
            vn[i, j] = v[i, j] - c * (h[i, j + 1] - h[i, j - 1]) - c * v[i, j] * (v[i, j + 1] - v[i, j - 1])
        for j in (0, m - 1):
            left, right = j - 1 if j else m - 1, j + 1 if j < m - 1 else 0
            un[i, j] = u[i, j] - c * (h[down, j] - h[up, j]) - c * u[i, j] * (u[down, j] - u[up, j])
            vn[i, j] = v[i, j] - c * (h[i, right] - h[i, left]) - c * v[i, j] * (v[i, right] - v[i, left])


@by_hand
def divergence(un, vn, div):
    """Twice the divergence."""
    n, m = un.shape
    for i in range(n):
        up, down = i - 1 if i else n - 1, i + 1 if i < n - 1 else 0
        for j in range(1, m - 1):
            div[i, j] = un[down, j] - un[up, j] + vn[i, j + 1] - vn[i, j - 1]
        for j in (0, m - 1):
            left, right = j - 1 if j else m - 1, j + 1 if j < m - 1 else 0
            div[i, j] = un[down, j] - un[up, j] + vn[i, right] - vn[i, left]


@by_hand
def shallow_step(h, u, v, c, hn, un, vn, div):
    shallow_speeds(h, u, v, c, un, vn)
    divergence(un, vn, div)
    for i in range(h.shape[0]):
        for j in range(h.shape[1]):
            hn[i, j] = h[i, j] - c * (1.0 + h[i, j]) * div[i, j]


@by_hand
def shallow_primal(h, u, v, steps, dt):
    div, hn, un, vn = np.empty_like(h), np.empty_like(h), np.empty_like(h), np.empty_like(h)
    h, u, v = h.copy(), u.copy(), v.copy()
    for _ in range(steps):
        shallow_step(h, u, v, 0.5 * dt, hn, un, vn, div)
        h, hn, u, un, v, vn = hn, h, un, u, vn, v
    return np.sum(h * h)


@by_hand
def shallow_back(h, u, v, un, vn, c, hb, ub, vb, ho, uo, vo, div):
    """hb, ub, vb: cotangents after a step, overwritten; ho, uo, vo: before it."""
    n, m = h.shape
    divergence(un, vn, div)
    for i in range(n):
        for j in range(m):
            ho[i, j] = hb[i, j] * (1.0 - c * div[i, j])
            hb[i, j] *= -c * (1.0 + h[i, j])                    # the cotangent of div
    for i in range(n):
        up, down = i - 1 if i else n - 1, i + 1 if i < n - 1 else 0
        for j in range(1, m - 1):
            ub[i, j] += hb[up, j] - hb[down, j]
            vb[i, j] += hb[i, j - 1] - hb[i, j + 1]
        for j in (0, m - 1):
            left, right = j - 1 if j else m - 1, j + 1 if j < m - 1 else 0
            ub[i, j] += hb[up, j] - hb[down, j]
            vb[i, j] += hb[i, left] - hb[i, right]
    for i in range(n):
        up, down = i - 1 if i else n - 1, i + 1 if i < n - 1 else 0
        for j in range(1, m - 1):
            ho[i, j] -= c * (ub[up, j] - ub[down, j] + vb[i, j - 1] - vb[i, j + 1])
            uo[i, j] = ub[i, j] * (1.0 - c * (u[down, j] - u[up, j])) - c * (ub[up, j] * u[up, j] - ub[down, j] * u[down, j])
            vo[i, j] = (vb[i, j] * (1.0 - c * (v[i, j + 1] - v[i, j - 1]))
                        - c * (vb[i, j - 1] * v[i, j - 1] - vb[i, j + 1] * v[i, j + 1]))
        for j in (0, m - 1):
            left, right = j - 1 if j else m - 1, j + 1 if j < m - 1 else 0
            ho[i, j] -= c * (ub[up, j] - ub[down, j] + vb[i, left] - vb[i, right])
            uo[i, j] = ub[i, j] * (1.0 - c * (u[down, j] - u[up, j])) - c * (ub[up, j] * u[up, j] - ub[down, j] * u[down, j])
            vo[i, j] = (vb[i, j] * (1.0 - c * (v[i, right] - v[i, left]))
                        - c * (vb[i, left] * v[i, left] - vb[i, right] * v[i, right]))


@by_hand
def shallow_adjoint(h, u, v, steps, dt):
    """Segments of five steps are run again from copies."""
    every, c = 5, 0.5 * dt
    n, m = h.shape
    count = (steps + every - 1) // every
    kept, states = np.empty((count + 1, 3, n, m)), np.empty((every + 1, 3, n, m))
    div = np.empty((n, m))
    states[0, 0], states[0, 1], states[0, 2] = h, u, v
    for t in range(steps):
        if t % every == 0:
            kept[t // every] = states[0]
        a, b = states[0], states[1]
        shallow_step(a[0], a[1], a[2], c, b[0], b[1], b[2], div)
        states[0] = b
    bars, others = np.zeros((3, n, m)), np.empty((3, n, m))
    bars[0] = 2.0 * states[0, 0]
    value = np.sum(states[0, 0] * states[0, 0])
    for s in range(count - 1, -1, -1):
        states[0] = kept[s]
        length = min(every, steps - s * every)
        for t in range(length):
            a, b = states[t], states[t + 1]
            shallow_step(a[0], a[1], a[2], c, b[0], b[1], b[2], div)
        for t in range(length - 1, -1, -1):
            a, b = states[t], states[t + 1]
            shallow_back(a[0], a[1], a[2], b[1], b[2], c, bars[0], bars[1], bars[2], others[0], others[1], others[2], div)
            bars, others = others, bars
    return value, bars[0], bars[1], bars[2]


def shallow_arguments(r, tiny):
    n, steps = (5, 3) if tiny else (128, 50)
    return 1.0 + 0.1 * r.random((n, n)), 0.1 * r.random((n, n)), 0.1 * r.random((n, n)), steps, 0.05


benchmark("shallow water by rolls", shallow, shallow_arguments, (0, 1, 2), primals=(shallow_primal,),
          adjoint=shallow_adjoint, autograd=True)


def shallow_functional(np, repeat):
    def slope(x, axis):
        return 0.5 * (np.roll(x, -1, axis) - np.roll(x, 1, axis))

    def loss(h, u, v, steps, dt):
        def step(state):
            h, u, v = state
            un = u - dt * slope(h, 0) - dt * u * slope(u, 0)
            vn = v - dt * slope(h, 1) - dt * v * slope(v, 1)
            div = slope(un, 0) + slope(vn, 1)
            return h - dt * (1.0 + h) * div, un, vn
        h, u, v = repeat(step, (h, u, v), steps)
        return (h * h).sum()
    return loss


also("shallow water by rolls", "jax")(lambda jax: shallow_functional(jax.numpy, scanned(jax)))
also("shallow water by rolls", "torch")(lambda torch: shallow_functional(torch, looped))


def crank_nicolson(u, k, dx, dt, steps):
    """Implicit diffusion with a tridiagonal solve by elimination in each step; the ends stay."""
    n = u.shape[0]
    r = k * dt / (2.0 * dx * dx)
    b = 1.0 + 2.0 * r
    cp = np.empty(n)
    dp = np.empty(n)
    for _ in range(steps):
        d = u.copy()
        for i in range(1, n - 1):
            d[i] = u[i] + r * (u[i - 1] - 2.0 * u[i] + u[i + 1])
        cp[0] = 0.0
        dp[0] = d[0]
        for i in range(1, n - 1):
            m = b + r * cp[i - 1]
            cp[i] = -r / m
            dp[i] = (d[i] + r * dp[i - 1]) / m
        un = d.copy()
        for i in range(n - 2, 0, -1):
            un[i] = dp[i] - cp[i] * un[i + 1]
        u = un
    return np.sum(u * u)


@by_hand
def crank_factors(n, r):
    """The elimination is the same in every step: 1 / m and cp."""
    inverse, cp = np.empty(n), np.zeros(n)
    for i in range(1, n - 1):
        inverse[i] = 1.0 / (1.0 + 2.0 * r + r * cp[i - 1])
        cp[i] = -r * inverse[i]
    return inverse, cp


@by_hand
def crank_step(u, r, inverse, cp, un):
    n = u.shape[0]
    last = un[0] = u[0]
    for i in range(1, n - 1):
        last = un[i] = (u[i] + r * (u[i - 1] - 2.0 * u[i] + u[i + 1]) + r * last) * inverse[i]
    last = un[n - 1] = u[n - 1]
    for i in range(n - 2, 0, -1):
        last = un[i] = un[i] - cp[i] * last


@by_hand
def crank_primal(u, k, dx, dt, steps):
    n, r = u.shape[0], k * dt / (2.0 * dx * dx)
    inverse, cp = crank_factors(n, r)
    u, un = u.copy(), np.empty(n)
    for _ in range(steps):
        crank_step(u, r, inverse, cp, un)
        u, un = un, u
    return np.sum(u * u)


@by_hand
def crank_adjoint(u, k, dx, dt, steps):
    """The matrix is symmetric inside, so its adjoint is a solve with the same factors: w = A^-1 u_bar, then
    r_bar = w . (second difference of the old and the new state)."""
    n, r = u.shape[0], k * dt / (2.0 * dx * dx)
    inverse, cp = crank_factors(n, r)
    states = np.empty((steps + 1, n))
    states[0] = u
    for t in range(steps):
        crank_step(states[t], r, inverse, cp, states[t + 1])
    value, u_bar, w, r_bar = 0.0, 2.0 * states[steps], np.zeros(n), 0.0
    for i in range(n):
        value += states[steps, i] * states[steps, i]
    for t in range(steps - 1, -1, -1):
        old, new = states[t], states[t + 1]
        last = 0.0
        for i in range(1, n - 1):
            last = w[i] = (u_bar[i] + r * last) * inverse[i]
        last = 0.0
        for i in range(n - 2, 0, -1):
            last = w[i] = w[i] - cp[i] * last
        for i in range(1, n - 1):
            r_bar += w[i] * (old[i - 1] - 2.0 * old[i] + old[i + 1] + new[i - 1] - 2.0 * new[i] + new[i + 1])
            u_bar[i] = w[i] + r * (w[i - 1] - 2.0 * w[i] + w[i + 1])
        u_bar[0] += 2.0 * r * w[1]                      # once of the old state, once of the new one
        u_bar[n - 1] += 2.0 * r * w[n - 2]
    return value, u_bar, r_bar * dt / (2.0 * dx * dx)


def crank_arguments(r, tiny):
    n, steps = (6, 3) if tiny else (500, 200)
    return r.random(n), 0.1, 0.01, 0.001, steps


benchmark("Crank-Nicolson by elimination", crank_nicolson, crank_arguments, (0, 1), primals=(crank_primal,),
          adjoint=crank_adjoint)


@also("Crank-Nicolson by elimination", "jax")
def crank_jax(jax):
    jnp = jax.numpy

    def loss(u, k, dx, dt, steps):
        n, r = u.shape[0], k * dt / (2.0 * dx * dx)
        inside = (jnp.arange(n) > 0) & (jnp.arange(n) < n - 1)
        lower = jnp.where(inside, -r, 0.0)
        diagonal = jnp.where(inside, 1.0 + 2.0 * r, 1.0)

        def step(u, _):
            d = u.at[1:-1].add(r * (u[:-2] - 2.0 * u[1:-1] + u[2:]))
            return jax.lax.linalg.tridiagonal_solve(lower, diagonal, lower, d[:, None])[:, 0], None
        return jnp.sum(jax.lax.scan(step, u, None, length=steps)[0] ** 2)
    return loss
