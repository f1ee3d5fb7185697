"""Adjoints by hand of finite differences, convolutions and pooling.

Inner loops start at 0: LLVM knows then that no index is negative, and makes vector loops of them.
"""

import numpy as np

from autodiff.runtime.numbers import vectormath as vm

from .benchmark import by_hand


@by_hand
def heat_sweep(A, B):
    n, m, p = A.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            for at in range(p - 2):
                k = at + 1
                B[i, j, k] = 0.25 * A[i, j, k] + 0.125 * (A[i + 1, j, k] + A[i - 1, j, k] + A[i, j + 1, k] + A[i, j - 1, k]
                                                        + A[i, j, k + 1] + A[i, j, k - 1])


@by_hand
def heat_faces(inside, bar):
    """Cells of the border are read by one cell inside each; `inside` is 0 at the border."""
    n, m, p = bar.shape
    for j in range(m):
        for k in range(p):
            bar[0, j, k] += 0.125 * inside[1, j, k]
            bar[n - 1, j, k] += 0.125 * inside[n - 2, j, k]
    for i in range(n):
        for k in range(p):
            bar[i, 0, k] += 0.125 * inside[i, 1, k]
            bar[i, m - 1, k] += 0.125 * inside[i, m - 2, k]
        for j in range(m):
            bar[i, j, 0] += 0.125 * inside[i, j, 1]
            bar[i, j, p - 1] += 0.125 * inside[i, j, p - 2]


@by_hand
def heat(A, B, steps):
    """A sweep is its own transpose inside; cotangents of the border only gather, apart, since no sweep writes there."""
    A, B = A.copy(), B.copy()
    for _ in range(steps):
        heat_sweep(A, B)
        heat_sweep(B, A)
    a, b, A_bar, B_bar = np.zeros_like(A), np.zeros_like(A), 2.0 * A, np.zeros_like(A)
    inner = (slice(1, -1), slice(1, -1), slice(1, -1))
    a[inner] = A_bar[inner]
    for _ in range(steps):
        heat_faces(a, B_bar)
        heat_sweep(a, b)
        heat_faces(b, A_bar)
        heat_sweep(b, a)
    A_bar[inner] = a[inner]
    return np.sum(A * A), A_bar, B_bar


@by_hand
def cavity_source(u, v, dt, dx, dy, scale, c):
    for i in range(2, u.shape[0] - 2):
        for at in range(u.shape[1] - 4):
            j = at + 2
            ux, uy = (u[i, j + 1] - u[i, j - 1]) / (2.0 * dx), (u[i + 1, j] - u[i - 1, j]) / (2.0 * dy)
            vx, vy = (v[i, j + 1] - v[i, j - 1]) / (2.0 * dx), (v[i + 1, j] - v[i - 1, j]) / (2.0 * dy)
            c[i, j] = scale * (1.0 / dt * (ux + vy) - ux * ux - 2.0 * uy * vx - vy * vy)


@by_hand
def cavity_source_back(u, v, dt, dx, dy, scale, c_bar, X, Y, P, Q):
    """By way of the source, the cotangents of u and v are differences of X, Y and of P, Q."""
    for i in range(2, u.shape[0] - 2):
        for at in range(u.shape[1] - 4):
            j = at + 2
            b = scale * c_bar[i, j]
            ux, uy = (u[i, j + 1] - u[i, j - 1]) / (2.0 * dx), (u[i + 1, j] - u[i - 1, j]) / (2.0 * dy)
            vx, vy = (v[i, j + 1] - v[i, j - 1]) / (2.0 * dx), (v[i + 1, j] - v[i - 1, j]) / (2.0 * dy)
            X[i, j], Y[i, j] = b * (1.0 / dt - 2.0 * ux) / (2.0 * dx), -2.0 * b * vx / (2.0 * dy)
            P[i, j], Q[i, j] = b * (1.0 / dt - 2.0 * vy) / (2.0 * dy), -2.0 * b * uy / (2.0 * dx)


@by_hand
def pressure_sweep(p, c, wx, wy, out):
    n, m = p.shape
    for i in range(2, n - 2):
        for at in range(m - 4):
            j = at + 2
            out[i, j] = wx * (p[i, j + 1] + p[i, j - 1]) + wy * (p[i + 1, j] + p[i - 1, j]) - c[i, j]
    for i in range(2, n - 2):
        out[i, m - 2], out[i, 1] = out[i, m - 3], out[i, 2]
    for j in range(1, m - 1):
        out[1, j], out[n - 2, j] = out[2, j], 0.0


@by_hand
def pressure_sweep_back(q, c_bar, wx, wy, out):
    n, m = q.shape
    for j in range(1, m - 1):
        q[n - 2, j] = 0.0
    q[1, 2] += q[1, 1]
    for i in range(2, n - 2):
        q[i, 2] += q[i, 1]
        q[i, 1] = 0.0
    q[1, 1] = 0.0
    for j in range(2, m - 1):
        q[2, j] += q[1, j]
        q[1, j] = 0.0
    for i in range(2, n - 2):
        q[i, m - 3] += q[i, m - 2]
        q[i, m - 2] = 0.0
    for i in range(1, n - 1):
        for at in range(m - 2):
            j = at + 1
            c_bar[i, j] -= q[i, j]
            out[i, j] = wx * (q[i, j + 1] + q[i, j - 1]) + wy * (q[i + 1, j] + q[i - 1, j])


@by_hand
def cavity_move(u, v, p, a, c, kx, ky, e, g, un, vn):
    z = 1.0 - 2.0 * e - 2.0 * g
    for i in range(2, u.shape[0] - 2):
        for at in range(u.shape[1] - 4):
            j = at + 2
            s, t = a * u[i, j], c * v[i, j]
            un[i, j] = ((z - s - t) * u[i, j] + (s + e) * u[i, j - 1] + (t + g) * u[i - 1, j] + e * u[i, j + 1]
                        + g * u[i + 1, j] - kx * (p[i, j + 1] - p[i, j - 1]))
            vn[i, j] = ((z - s - t) * v[i, j] + (s + e) * v[i, j - 1] + (t + g) * v[i - 1, j] + e * v[i, j + 1]
                        + g * v[i + 1, j] - ky * (p[i + 1, j] - p[i - 1, j]))


@by_hand
def cavity_move_back(u, v, U, V, X, Y, P, Q, a, c, e, g, u_bar, v_bar):
    """Each cell collects from the cells that read it; U and V are 0 at the border."""
    for i in range(1, u.shape[0] - 1):
        for at in range(u.shape[1] - 2):
            j = at + 1
            z = 1.0 - 2.0 * e - 2.0 * g - a * u[i, j] - c * v[i, j]
            right, left, down, up = a * u[i, j + 1] + e, e, c * v[i + 1, j] + g, g
            u_bar[i, j] = (U[i, j] * (z - a * (u[i, j] - u[i, j - 1])) - V[i, j] * a * (v[i, j] - v[i, j - 1])
                           + U[i, j + 1] * right + U[i, j - 1] * left + U[i + 1, j] * down + U[i - 1, j] * up
                           + X[i, j - 1] - X[i, j + 1] + Y[i - 1, j] - Y[i + 1, j])
            v_bar[i, j] = (V[i, j] * (z - c * (v[i, j] - v[i - 1, j])) - U[i, j] * c * (u[i, j] - u[i - 1, j])
                           + V[i, j + 1] * right + V[i, j - 1] * left + V[i + 1, j] * down + V[i - 1, j] * up
                           + Q[i, j - 1] - Q[i, j + 1] + P[i - 1, j] - P[i + 1, j])


@by_hand
def clear_border(a):
    a[1], a[-2], a[:, 1], a[:, -2] = 0.0, 0.0, 0.0, 0.0


@by_hand
def cavity_forward(u, v, p, dt, dx, dy, rho, nu, steps, sweeps):
    """The velocities of each step and the last pressure, with a ring of zeros around all arrays."""
    n, m = u.shape[0] + 2, u.shape[1] + 2
    us, vs = np.zeros((steps + 1, n, m)), np.zeros((steps + 1, n, m))
    us[1:, n - 2, 1:-1] = 1.0
    us[0, 1:-1, 1:-1], vs[0, 1:-1, 1:-1] = u, v
    ps, other, c = np.zeros((n, m)), np.zeros((n, m)), np.zeros((n, m))
    ps[1:-1, 1:-1] = p
    wx, wy = dy ** 2 / (2.0 * (dx ** 2 + dy ** 2)), dx ** 2 / (2.0 * (dx ** 2 + dy ** 2))
    for t in range(steps):
        cavity_source(us[t], vs[t], dt, dx, dy, wx * dx ** 2 * rho, c)
        for _ in range(sweeps):
            pressure_sweep(ps, c, wx, wy, other)
            ps, other = other, ps
        cavity_move(us[t], vs[t], ps, dt / dx, dt / dy, dt / (2.0 * rho * dx), dt / (2.0 * rho * dy), nu * dt / dx ** 2,
                    nu * dt / dy ** 2, us[t + 1], vs[t + 1])
    return us, vs, ps


@by_hand
def cavity_primal(u, v, p, dt, dx, dy, rho, nu, steps, sweeps):
    us, vs, ps = cavity_forward(u, v, p, dt, dx, dy, rho, nu, steps, sweeps)
    return np.sum(us[steps] * us[steps]) + np.sum(vs[steps] * vs[steps]) + np.sum(ps * ps)


@by_hand
def cavity(u, v, p, dt, dx, dy, rho, nu, steps, sweeps):
    """The velocities of each step are kept; the pressure is linear and is not."""
    us, vs, ps = cavity_forward(u, v, p, dt, dx, dy, rho, nu, steps, sweeps)
    n, m = ps.shape
    wx, wy = dy ** 2 / (2.0 * (dx ** 2 + dy ** 2)), dx ** 2 / (2.0 * (dx ** 2 + dy ** 2))
    scale, kx, ky = wx * dx ** 2 * rho, dt / (2.0 * rho * dx), dt / (2.0 * rho * dy)
    u_bar, v_bar, p_bar = 2.0 * us[steps], 2.0 * vs[steps], 2.0 * ps
    value = 0.25 * (np.sum(u_bar * u_bar) + np.sum(v_bar * v_bar) + np.sum(p_bar * p_bar))
    U, V, c_bar, other = np.zeros((n, m)), np.zeros((n, m)), np.empty((n, m)), np.zeros((n, m))
    X, Y, P, Q = np.zeros((n, m)), np.zeros((n, m)), np.zeros((n, m)), np.zeros((n, m))
    for t in range(steps - 1, -1, -1):
        U, V, u_bar, v_bar = u_bar, v_bar, U, V
        clear_border(U)
        clear_border(V)
        for i in range(1, n - 1):
            for at in range(m - 2):
                j = at + 1
                p_bar[i, j] += kx * (U[i, j + 1] - U[i, j - 1]) + ky * (V[i + 1, j] - V[i - 1, j])
        c_bar[:] = 0.0
        for _ in range(sweeps):
            pressure_sweep_back(p_bar, c_bar, wx, wy, other)
            p_bar, other = other, p_bar
        cavity_source_back(us[t], vs[t], dt, dx, dy, scale, c_bar, X, Y, P, Q)
        cavity_move_back(us[t], vs[t], U, V, X, Y, P, Q, dt / dx, dt / dy, nu * dt / dx ** 2, nu * dt / dy ** 2,
                         u_bar, v_bar)
    inner = (slice(1, -1), slice(1, -1))
    return value, u_bar[inner].copy(), v_bar[inner].copy(), p_bar[inner].copy()


BLOCK = 1024        # cells that stay in the first cache through all steps


@by_hand
def three_point(a, b):
    for at in range(len(a) - 2):
        i = at + 1
        b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1])


@by_hand
def three_point_back(inside, out, bar):
    """Of the cells inside into `out`; the two ends, which no sweep writes, add to `bar`. `inside` is 0 at its ends."""
    three_point(inside, out)
    bar[0] += 0.33333 * inside[1]
    bar[1] += 0.33333 * inside[-2]


@by_hand
def jacobi_1d(A, B):
    """Block by block, all sweeps there and back, with 12 more cells on each side, since a sweep spoils one."""
    n, total = len(A), 0.0
    A_bar, B_bar = np.empty(n), np.zeros(n)
    room = np.empty((4, BLOCK + 24))
    for start in range(0, n, BLOCK):
        end = min(start + BLOCK, n)
        low, high = max(start - 12, 0), min(end + 12, n)
        a, b, a_bar, b_bar = room[0, :high - low], room[1, :high - low], room[2, :high - low], room[3, :high - low]
        a[:] = A[low:high]
        b[0], b[-1] = B[low], B[high - 1]
        for _ in range(3):
            three_point(a, b)
            three_point(b, a)
        for i in range(start - low, end - low):
            total += a[i] * a[i]
        for i in range(len(a)):
            a_bar[i] = 2.0 * a[i]
        a_ends, b_ends = np.array([a_bar[0], a_bar[-1]]), np.zeros(2)
        a_bar[0] = a_bar[-1] = b_bar[0] = b_bar[-1] = 0.0
        for _ in range(3):
            three_point_back(a_bar, b_bar, b_ends)
            three_point_back(b_bar, a_bar, a_ends)
        a_bar[0], a_bar[-1] = a_ends
        A_bar[start:end] = a_bar[start - low:end - low]
        if start == 0:
            B_bar[0] = b_ends[0]
        if end == n:
            B_bar[n - 1] = b_ends[1]
    return total, A_bar, B_bar


STRIP = 8           # rows of three arrays that stay in the first caches


@by_hand
def fdtd_step(ex, ey, hz, source):
    """Strip by strip: rows of hz follow the rows of ex and ey that they read; these read rows of hz that are still old."""
    n, m = hz.shape
    ey[0] = source
    for low in range(0, n, STRIP):
        high, last = min(low + STRIP, n), min(low + STRIP, n - 1)
        for i in range(low, high):
            for j in range(m - 1):
                ex[i, j + 1] -= 0.5 * (hz[i, j + 1] - hz[i, j])
        for i in range(low, last):
            for j in range(m):
                ey[i + 1, j] -= 0.5 * (hz[i + 1, j] - hz[i, j])
        for i in range(low, last):
            for j in range(m - 1):
                hz[i, j] -= 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])


@by_hand
def fdtd_step_back(ex, ey, hz):
    """Of cotangents, strips in the other order; the last row and column of hz, which no step writes, only gather."""
    n, m = hz.shape
    for low in range((n - 1) // STRIP * STRIP, -1, -STRIP):
        high, last = min(low + STRIP, n), min(low + STRIP, n - 1)
        for i in range(low, last):
            ex[i, 0] += 0.7 * hz[i, 0]
            ex[i, m - 1] -= 0.7 * hz[i, m - 2]
            for j in range(m - 2):
                ex[i, j + 1] += 0.7 * (hz[i, j + 1] - hz[i, j])
        for i in range(max(low, 1) - 1, last - 1):
            for j in range(m - 1):
                ey[i + 1, j] += 0.7 * (hz[i + 1, j] - hz[i, j])
        if low == 0:
            ey[0, :-1] += 0.7 * hz[0, :-1]
        if high == n:
            ey[n - 1, :-1] -= 0.7 * hz[n - 2, :-1]
        for i in range(low, high):
            hz[i, 0] += 0.5 * ex[i, 1]
            hz[i, m - 1] -= 0.5 * ex[i, m - 1]
            for j in range(m - 2):
                hz[i, j + 1] += 0.5 * (ex[i, j + 2] - ex[i, j + 1])
        for i in range(max(low, 1), last):
            for j in range(m):
                hz[i, j] += 0.5 * (ey[i + 1, j] - ey[i, j])
        if low == 0:
            hz[0] += 0.5 * ey[1]
        if high == n:
            hz[n - 1] -= 0.5 * ey[n - 1]


@by_hand
def fdtd(ex, ey, hz, source):
    ex, ey, hz, source_bar = ex.copy(), ey.copy(), hz.copy(), np.empty_like(source)
    for t in range(len(source)):
        fdtd_step(ex, ey, hz, source[t])
    value = np.sum(hz * hz)
    ex[:], ey[:] = 0.0, 0.0
    hz *= 2.0
    for t in range(len(source) - 1, -1, -1):
        fdtd_step_back(ex, ey, hz)
        source_bar[t] = np.sum(ey[0])
        ey[0] = 0.0
    return value, ex, ey, hz, source_bar


@by_hand
def on_ring(a, low, out):
    """out = a[low], a[low + 1], ..., with the ends of a joined."""
    n = len(a)
    if low >= 0 and low + len(out) <= n:
        out[:] = a[low:low + len(out)]
    else:
        for k in range(len(out)):
            out[k] = a[(low + k) % n]


@by_hand
def upwind_step(x, right, left, y):
    for at in range(len(x) - 2):
        k = at + 1
        y[k] = x[k] - right[k] * (x[k] - x[k - 1]) - left[k] * (x[k + 1] - x[k])


@by_hand
def upwind_step_back(x, right, left, bar, w_bar, new):
    for at in range(len(x) - 2):
        k = at + 1
        before, after = x[k] - x[k - 1], x[k + 1] - x[k]
        w_bar[k] -= 0.1 * bar[k] * (before if right[k] > 0.0 else after)
    for at in range(len(x) - 2):
        k = at + 1
        new[k] = bar[k] * (1.0 - right[k] + left[k]) + right[k + 1] * bar[k + 1] - left[k - 1] * bar[k - 1]


@by_hand
def upwind(u, c):
    """Block by block, all steps there and back, with 6 more cells on each side, since a step spoils one."""
    n, total = len(u), 0.0
    u_bar, c_bar = np.empty(n), np.empty(n)
    room = np.empty((9, BLOCK + 12))
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start) + 12
        states, right, left = room[:4, :size], room[4, :size], room[5, :size]
        bar, new, w_bar = room[6, :size], room[7, :size], room[8, :size]
        on_ring(u, start - 6, states[0])
        on_ring(c, start - 6, w_bar)
        for k in range(size):
            right[k], left[k] = 0.05 * (w_bar[k] + abs(w_bar[k])), 0.05 * (w_bar[k] - abs(w_bar[k]))
        for t in range(3):
            states[t + 1, 0], states[t + 1, -1] = states[t, 0], states[t, -1]
            upwind_step(states[t], right, left, states[t + 1])
        x = states[3]
        for k in range(6, size - 6):
            total += x[k] * x[k] * x[k]
        for k in range(size):
            bar[k], w_bar[k] = 3.0 * x[k] * x[k], 0.0
        new[0] = new[-1] = 0.0
        for t in range(2, -1, -1):
            upwind_step_back(states[t], right, left, bar, w_bar, new)
            bar, new = new, bar
        u_bar[start:start + size - 12] = bar[6:-6]
        c_bar[start:start + size - 12] = w_bar[6:-6]
    return total, u_bar, c_bar


@by_hand
def convolution(image, kernel):
    """Row by row of the result: its cotangent is used while its rows of the image are in the cache."""
    n, m, size, total = image.shape[0], image.shape[1], kernel.shape[0], 0.0
    image_bar, kernel_bar, out = np.zeros_like(image), np.zeros_like(kernel), np.empty(m - size + 1)
    for i in range(n - size + 1):
        out[:] = 0.0
        for a in range(size):
            row = image[i + a]
            for b in range(size):
                w = kernel[a, b]
                for j in range(len(out)):
                    out[j] += w * row[j + b]
        for j in range(len(out)):
            t = vm.tanh(out[j])
            total += t
            out[j] = 1.0 - t * t
        for a in range(size):
            row, bar = image[i + a], image_bar[i + a]
            for b in range(size):
                w, s = kernel[a, b], 0.0
                for j in range(len(out)):
                    bar[j + b] += w * out[j]
                    s += row[j + b] * out[j]
                kernel_bar[a, b] += s
    return total, image_bar, kernel_bar


@by_hand
def convolution_3(image, kernel):
    """A kernel of 3 by 3. Three rows of the result's cotangent, with two zeros at each end, make a row of the image's."""
    n, m = image.shape
    total, image_bar, rows = 0.0, np.empty_like(image), np.zeros((3, m + 2))
    (a, b, c), (d, e, f), (g, h, k) = kernel[0], kernel[1], kernel[2]
    sa = sb = sc = sd = se = sf = sg = sh = sk = 0.0
    for i in range(n):
        out, above, top, to = rows[i % 3], rows[(i + 2) % 3], rows[(i + 1) % 3], image_bar[i]
        if i < n - 2:
            x, y, z = image[i], image[i + 1], image[i + 2]
            for j in range(m - 2):
                s = (a * x[j] + b * x[j + 1] + c * x[j + 2] + d * y[j] + e * y[j + 1] + f * y[j + 2]
                     + g * z[j] + h * z[j + 1] + k * z[j + 2])
                total += s * s
                s *= 2.0
                out[j + 2] = s
                sa, sb, sc = sa + s * x[j], sb + s * x[j + 1], sc + s * x[j + 2]
                sd, se, sf = sd + s * y[j], se + s * y[j + 1], sf + s * y[j + 2]
                sg, sh, sk = sg + s * z[j], sh + s * z[j + 1], sk + s * z[j + 2]
        else:
            out[:] = 0.0
        for j in range(m):
            to[j] = (a * out[j + 2] + b * out[j + 1] + c * out[j] + d * above[j + 2] + e * above[j + 1] + f * above[j]
                     + g * top[j + 2] + h * top[j + 1] + k * top[j])
    return total, image_bar, np.array([[sa, sb, sc], [sd, se, sf], [sg, sh, sk]])


@by_hand
def max_pooling(image):
    """The first of equal maxima has the cotangent."""
    n, m = image.shape
    total, bar = 0.0, np.empty_like(image)
    bar[n - n % 2:] = 0.0
    bar[:, m - m % 2:] = 0.0
    for i in range(n // 2):
        x, y, x_bar, y_bar = image[2 * i], image[2 * i + 1], bar[2 * i], bar[2 * i + 1]
        for j in range(m // 2):
            a, b, c, d = x[2 * j], x[2 * j + 1], y[2 * j], y[2 * j + 1]
            top = max(max(a, b), max(c, d))
            total += top * top
            p, q, r = a == top, b == top, c == top
            x_bar[2 * j] = 2.0 * top if p else 0.0
            x_bar[2 * j + 1] = 2.0 * top if q and not p else 0.0
            y_bar[2 * j] = 2.0 * top if r and not (p or q) else 0.0
            y_bar[2 * j + 1] = 0.0 if p or q or r else 2.0 * top
    return total, bar
