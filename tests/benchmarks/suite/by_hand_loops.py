"""Adjoints by hand of the programs written with loops over elements, and of a hidden Markov model."""

import numpy as np

from autodiff.runtime.numbers import vectormath as vm

from .benchmark import by_hand


@by_hand
def horner(c, x):
    """By blocks of 256 powers of x, whose table stays in the cache: sums without an order, and no tape."""
    n, size = len(c), 256
    c_bar, powers = np.empty(n), np.empty(size)
    powers[0] = 1.0
    for k in range(1, size):
        powers[k] = powers[k - 1] * x
    value, slope, base = c[0], 0.0, 1.0
    c_bar[0] = 1.0
    for k in range(1, n, size):
        s = t = 0.0
        for j in range(min(size, n - k)):
            s += c[k + j] * powers[j]
            t += j * c[k + j] * powers[j]
            c_bar[k + j] = base * x * powers[j]
        value += base * x * s
        slope += base * (k * s + t)
        base *= powers[size - 1] * x
    return value, c_bar, slope


@by_hand
def rosenbrock(x):
    """One pass; each element collects from both terms that read it."""
    n, total = len(x), 0.0
    bar = np.empty(n)
    bar[0] = -400.0 * x[0] * (x[1] - x[0] * x[0]) - 2.0 * (1.0 - x[0])
    bar[n - 1] = 200.0 * (x[n - 1] - x[n - 2] * x[n - 2])
    for i in range(1, n - 1):
        r, s, t = x[i] - x[i - 1] * x[i - 1], x[i + 1] - x[i] * x[i], 1.0 - x[i]
        total += 100.0 * s * s + t * t
        bar[i] = 200.0 * r - 400.0 * x[i] * s - 2.0 * t
    s, t = x[1] - x[0] * x[0], 1.0 - x[0]
    return total + 100.0 * s * s + t * t, bar


@by_hand
def log_sum_exp(x):
    """The maximum first: the exponentials have no order then, and are the gradient but for a factor."""
    top, s, bar = x[0], 0.0, np.empty_like(x)
    for i in range(len(x)):
        top = max(top, x[i])
    for i in range(len(x)):
        e = vm.exp(x[i] - top)
        bar[i] = e
        s += e
    for i in range(len(x)):
        bar[i] *= 1.0 / s
    return top + np.log(s), bar


@by_hand
def thomas(a, b, c, d, w):
    """The cotangent of d solves the transposed system: both systems are solved in the same two loops."""
    n = len(d)
    inverse, m, x, y = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    inverse[0], x[0], y[0] = 1.0 / b[0], d[0], w[0] / b[0]
    for i in range(1, n):
        m[i] = a[i] * inverse[i - 1]
        inverse[i] = 1.0 / (b[i] - m[i] * c[i - 1])
        x[i] = d[i] - m[i] * x[i - 1]
        y[i] = (w[i] - c[i - 1] * y[i - 1]) * inverse[i]
    a_bar, b_bar, c_bar = np.empty(n), np.empty(n), np.empty(n)
    x[n - 1] *= inverse[n - 1]
    a_bar[0], b_bar[n - 1], c_bar[n - 1] = 0.0, -y[n - 1] * x[n - 1], 0.0
    total = w[n - 1] * x[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = (x[i] - c[i] * x[i + 1]) * inverse[i]
        y[i] -= m[i + 1] * y[i + 1]
        total += w[i] * x[i]
        a_bar[i + 1], b_bar[i], c_bar[i] = -y[i + 1] * x[i], -y[i] * x[i], -y[i] * x[i + 1]
    return total, a_bar, b_bar, c_bar, y


@by_hand
def levinson_durbin(t, w):
    """The reflections alone are kept: the step-down recursion gives the earlier coefficients again.

    Arrays whose name begins with r are the others from the last element to the first, so that no loop runs backwards.
    """
    n = len(t)
    a, ra, rt, refs, es = np.zeros(n), np.zeros(n), t[::-1].copy(), np.empty(n), np.empty(n)
    a[0] = ra[n - 1] = 1.0
    es[0] = t[0]
    for k in range(1, n):
        acc, shift = 0.0, n - 1 - k
        r, rs = ra[shift:], rt[shift:]
        for j in range(k):
            acc += a[j] * rs[j]
        ref = -acc / es[k - 1]
        for j in range(k + 1):
            p, q = a[j], r[j]
            a[j], r[j] = p + ref * q, q + ref * p
        refs[k], es[k] = ref, es[k - 1] * (1.0 - ref * ref)
    value, w_bar = w @ a + es[n - 1], a.copy()
    a_bar, ra_bar, rt_bar, e_bar = w.copy(), w[::-1].copy(), np.zeros(n), 1.0
    for k in range(n - 1, 0, -1):
        ref, e, shift = refs[k], es[k - 1], n - 1 - k
        scale = 1.0 / (1.0 - ref * ref)
        a_bar[0] = ra_bar[n - 1] = 0.0
        ref_bar = -2.0 * ref * e * e_bar
        r, r_bar, rs, rs_bar = ra[shift:], ra_bar[shift:], rt[shift:], rt_bar[shift:]
        for j in range(k + 1):
            p, q, p_bar, q_bar = a[j], r[j], a_bar[j], r_bar[j]
            old = (p - ref * q) * scale
            a[j], r[j] = old, (q - ref * p) * scale
            a_bar[j], r_bar[j] = p_bar + ref * q_bar, q_bar + ref * p_bar
            ref_bar += q_bar * old
        acc_bar = -ref_bar / e
        e_bar = e_bar * (1.0 - ref * ref) + acc_bar * ref
        for j in range(k + 1):
            a_bar[j] += acc_bar * rs[j]
            r_bar[j] += acc_bar * t[j]
        for j in range(k):
            rs_bar[j] += acc_bar * a[j]
    rt_bar[n - 1] += e_bar
    return value, rt_bar[::-1].copy(), w_bar


@by_hand
def pulls(x, y, m, a, b):
    """Accelerations: sums alone in the inner loop, to which a body adds 0 of its own."""
    for i in range(len(x)):
        s = t = 0.0
        for j in range(len(x)):
            dx, dy = x[j] - x[i], y[j] - y[i]
            r2 = dx * dx + dy * dy + 0.1
            f = m[j] / (r2 * np.sqrt(r2))
            s += f * dx
            t += f * dy
        a[i], b[i] = s, t


@by_hand
def pulls_back(x, y, m, a_bar, b_bar, x_bar, y_bar, m_bar):
    """As the pulls: a body collects what it has as the one that is pulled and as the one that pulls."""
    for i in range(len(x)):
        s = t = u = 0.0
        for j in range(len(x)):
            dx, dy = x[j] - x[i], y[j] - y[i]
            r2 = dx * dx + dy * dy + 0.1
            f = 1.0 / (r2 * np.sqrt(r2))
            p, q = m[j] * a_bar[i] - m[i] * a_bar[j], m[j] * b_bar[i] - m[i] * b_bar[j]
            g = 3.0 * f / r2 * (p * dx + q * dy)
            s += f * p - g * dx
            t += f * q - g * dy
            u += f * (a_bar[j] * dx + b_bar[j] * dy)
        x_bar[i] -= s
        y_bar[i] -= t
        m_bar[i] -= u


@by_hand
def leapfrog(x, v, m):
    """Coordinates apart, places of each step kept, forces again in the reverse sweep."""
    n, dt, steps = len(x), 0.05, 3
    xs, ys, vx, vy = np.empty((steps + 1, n)), np.empty((steps + 1, n)), v[:, 0].copy(), v[:, 1].copy()
    xs[0], ys[0] = x[:, 0], x[:, 1]
    a, b = np.empty(n), np.empty(n)
    for k in range(steps):
        pulls(xs[k], ys[k], m, a, b)
        for i in range(n):
            vx[i] += dt * a[i]
            vy[i] += dt * b[i]
            xs[k + 1, i], ys[k + 1, i] = xs[k, i] + dt * vx[i], ys[k, i] + dt * vy[i]
    value = np.sum(xs[steps] * xs[steps]) + np.sum(ys[steps] * ys[steps]) + np.sum(vx)
    x_bar, y_bar, vx_bar, vy_bar, m_bar = 2.0 * xs[steps], 2.0 * ys[steps], np.ones(n), np.zeros(n), np.zeros(n)
    for k in range(steps - 1, -1, -1):
        for i in range(n):
            vx_bar[i] += dt * x_bar[i]
            vy_bar[i] += dt * y_bar[i]
            a[i], b[i] = dt * vx_bar[i], dt * vy_bar[i]
        pulls_back(xs[k], ys[k], m, a, b, x_bar, y_bar, m_bar)
    return value, np.stack((x_bar, y_bar), axis=1), np.stack((vx_bar, vy_bar), axis=1), m_bar


@by_hand
def chained(s, two, g):
    """g[j] = s[j] + g[j - 1] / 4 by four chains; all begin with four zeros, and g[4] = s[4]."""
    for at in range(len(s) - 4):
        j = at + 4
        two[j] = s[j] + 0.25 * s[j - 1]
    for at in range(len(s) - 4):
        j = at + 4
        g[j] = two[j] + 0.0625 * two[j - 2] + 0.00390625 * g[j - 4]


@by_hand
def seidel_row(above, row, below, f, s):
    """What of a row does not wait for its left neighbours."""
    for at in range(len(row) - 2):
        j = at + 1
        s[j] = 0.25 * (above[j] + below[j] + row[j + 1] - f[j] * row[j])


@by_hand
def seidel_row_back(g, above, row, below, f, old, f_bar):
    """What the cotangents g of a row's sums do to what the row reads."""
    m = len(row)
    row[0] += g[1]
    row[m - 1] += g[m - 2]
    for at in range(m - 2):
        j = at + 1
        f_bar[j] -= g[j] * old[j]
        row[j] = g[j - 1] - f[j] * g[j]
    for j in range(m):
        above[j] += g[j]
        below[j] += g[j]


@by_hand
def gauss_seidel(u, f):
    """What each sweep reads is kept. The reverse sweep is a sweep too, from the last row to the first, right to left."""
    n, m, sweeps, total = u.shape[0], u.shape[1], 3, 0.0
    us, s, two, g = np.empty((sweeps, n, m)), np.zeros(m + 8), np.zeros(m + 8), np.zeros(m + 8)
    for t in range(sweeps):
        old, new = u if t == 0 else us[t - 1], us[t]
        new[0], new[n - 1] = u[0], u[n - 1]
        for i in range(1, n - 1):
            s[4] = u[i, 0]
            seidel_row(new[i - 1], old[i], old[i + 1], f[i], s[4:])
            chained(s[:m + 3], two, g)
            new[i], new[i, m - 1] = g[4:m + 4], u[i, m - 1]
    bar, f_bar = 2.0 * us[sweeps - 1], np.zeros_like(f)
    for i in range(n):
        for j in range(m):
            total += us[sweeps - 1, i, j] * us[sweeps - 1, i, j]
    g[:], two[:] = 0.0, 0.0
    for t in range(sweeps - 1, -1, -1):
        old = u if t == 0 else us[t - 1]
        for i in range(n - 2, 0, -1):
            row = bar[i]
            for j in range(1, m - 2):
                two[j] = 0.25 * (row[j] + 0.25 * row[j + 1])
            two[m - 2] = 0.25 * row[m - 2]
            for j in range(m - 2, 0, -1):
                g[j] = two[j] + 0.0625 * two[j + 2] + 0.00390625 * g[j + 4]
            seidel_row_back(g[:m], bar[i - 1], row, bar[i + 1], f[i], old[i], f_bar[i])
    return total, bar, f_bar


@by_hand
def life_row(above, row, below, columns, payoff, weight, weights, new):
    """Who lives next: neighbours and half of the cell itself are 2.5, 3 or 3.5. Returns the squared payoffs of these."""
    s = 0.0
    for j in range(len(row)):
        columns[j] = above[j] + row[j] + below[j]
    for j in range(len(payoff)):
        count = columns[j] + columns[j + 1] + columns[j + 2] - 0.5 * row[j + 1]
        lives = 1.0 if abs(count - 3.0) < 0.75 else 0.0
        new[j + 1] = lives
        s += lives * payoff[j] * payoff[j]
    for j in range(len(payoff)):
        weights[j] += weight * new[j + 1]
    return s


@by_hand
def game_of_life(alive, payoff, discount):
    """Neighbours by a ring around the board, in numbers of the payoff's type; the weights of a cell's lives are summed."""
    n, m = alive.shape
    state, new, columns = np.zeros((n + 2, m + 2)), np.zeros((n + 2, m + 2)), np.empty(m + 2)
    weights, weight, slope, total, discount_bar = np.zeros((n, m)), 1.0, 0.0, 0.0, 0.0
    state[1:-1, 1:-1] = alive
    for _ in range(3):
        state[0], state[n + 1] = state[n], state[1]
        state[:, 0], state[:, m + 1] = state[:, m], state[:, 1]
        s = 0.0
        for i in range(n):
            s += life_row(state[i], state[i + 1], state[i + 2], columns, payoff[i], weight, weights[i], new[i + 1])
        total += weight * s
        discount_bar += slope * s
        slope = slope * discount + weight
        weight *= discount
        state, new = new, state
    for i in range(n):
        for j in range(m):
            weights[i, j] *= 2.0 * payoff[i, j]
    return total, weights, discount_bar


@by_hand
def softest(p, q, cost, low, R):
    """The soft minimum of three neighbours, of all cells of a diagonal."""
    for i in range(len(R)):
        least = min(p[i], min(q[i], q[i + 1]))
        s = vm.exp((least - p[i]) / 0.5) + vm.exp((least - q[i]) / 0.5) + vm.exp((least - q[i + 1]) / 0.5)
        low[i] = least - 0.5 * vm.log(s)
        R[i] = cost[i] + low[i]


@by_hand
def softest_back(R, one, two, one_bar, two_bar, bar):
    """The share of a cell in a soft minimum is the exponential of its distance to it."""
    for i in range(len(R)):
        bar[i] = (vm.exp((two[i] - R[i]) / 0.5) * two_bar[i] + vm.exp((one[i + 1] - R[i]) / 0.5) * one_bar[i + 1]
                  + vm.exp((one[i] - R[i]) / 0.5) * one_bar[i])


@by_hand
def soft_dtw(D, unused):
    """Diagonal by diagonal, whose cells do not wait for each other; an element is in row i and column d - i."""
    n, m = D.shape
    last = n + m
    R, low, bar = np.empty((last + 1, n + 1)), np.empty((last + 3, n + 2)), np.empty((last + 3, n + 2))
    R[:, 0], R[0, 0] = 1e3, 0.0
    low[:, n + 1], bar[:, n + 1] = -1e300, 0.0
    for i in range(1, n + 1):
        R[i, i] = 1e3
        low[i + m + 1, i], bar[i + m + 1, i] = -1e300, 0.0
        for j in range(m):
            bar[i + j + 1, i] = D[i - 1, j]                             # its place until the cotangent is known
    for d in range(2, last + 1):
        a, b = max(1, d - m), min(n, d - 1) + 1
        softest(R[d - 2, a - 1:b - 1], R[d - 1, a - 1:b], bar[d, a:b], low[d, a:b], R[d, a:b])
    bar[last, n] = 1.0
    for d in range(last - 1, 1, -1):
        a, b = max(1, d - m), min(n, d - 1) + 1
        softest_back(R[d, a:b], low[d + 1, a:b + 1], low[d + 2, a + 1:b + 1], bar[d + 1, a:b + 1], bar[d + 2, a + 1:b + 1],
                     bar[d, a:b])
    D_bar = np.empty_like(D)
    for i in range(n):
        for j in range(m):
            D_bar[i, j] = bar[i + j + 2, i + 1]
    return R[last, n], D_bar


@by_hand
def row_times(x, A, out):
    """out = x A, four rows at a time."""
    n, m = A.shape
    out[:] = 0.0
    for i in range(0, n - 3, 4):
        a, b, c, d, p, q, r, s = A[i], A[i + 1], A[i + 2], A[i + 3], x[i], x[i + 1], x[i + 2], x[i + 3]
        for j in range(m):
            out[j] += (p * a[j] + q * b[j]) + (r * c[j] + s * d[j])
    for i in range(n - n % 4, n):
        for j in range(m):
            out[j] += x[i] * A[i, j]


@by_hand
def hmm(start, transition, emission, observed):
    """Forward and backward; the backward probabilities by the scale of the step are the cotangents of what is scaled."""
    T, n, back = len(observed), len(start), transition.T.copy()
    chances, value = emission.T.copy(), 0.0
    chances_bar = np.zeros_like(chances)
    before, after, cotangent = np.empty((T, n)), np.empty((T, n)), np.empty((T, n))
    scales, beta = np.empty(T), np.ones(n)
    before[0] = start
    for t in range(T):
        if t > 0:
            row_times(after[t - 1], transition, before[t])
        p, e, out, s = before[t], chances[observed[t]], after[t], 0.0
        for j in range(n):
            s += p[j] * e[j]
        for j in range(n):
            out[j] = p[j] * e[j] / s
        scales[t] = s
        value += np.log(s)
    for t in range(T - 1, -1, -1):
        p, e, e_bar, out, s = before[t], chances[observed[t]], chances_bar[observed[t]], cotangent[t], 1.0 / scales[t]
        for j in range(n):
            u = beta[j] * s
            e_bar[j] += u * p[j]
            out[j] = u * e[j]
        row_times(out, back, beta)
    return value, cotangent[0].copy(), after[:-1].T @ cotangent[1:], chances_bar.T.copy()
