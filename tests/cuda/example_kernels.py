"""Kernels as users write them, for the tests of `autodiff.cuda.kernel`. `real` is the type of shared and local arrays."""

import math
import os

import numba
import numpy as np
from numba import cuda

real = getattr(numba, os.environ.get("KERNELS_OF", "float64"))
TILE, ONE_MORE, TWO_MORE = 4, 5, 6      # the shapes of shared arrays are constants
TABLE = np.array([1.0, 2.0, 3.0], str(real))


def saxpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


def in_place(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = math.sin(x[i]) * x[i]


def strided(x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = math.exp(-x[i]) * x[i]


def strided_while(x, y):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    while i < x.size:
        y[i] = x[i] ** 3 + 1 / x[i] ** 2
        i += cuda.gridsize(1)


def newton(x, y):
    """y = x**1.5, by as many steps as the element needs."""
    i = cuda.grid(1)
    if i >= x.size:
        return
    v = x[i]
    w = 1.0
    while abs(w * w - v) > 1e-5 * v:
        w = 0.5 * (w + v / w)
    y[i] = w * v


def inner_while(x, y):
    i = cuda.grid(1)
    if i < x.size:
        s = x[i]
        for _ in range(3):
            w = s
            while w < 4.0:
                w = w * 1.5 + 0.1 * w * s
            if w > 5.0:
                continue
            s = math.sqrt(w) + 0.01 * s
        y[i] = s


def sparse_rows(starts, columns, values, x, y):
    i = cuda.grid(1)
    if i < y.size:
        s = 0.0
        for j in range(starts[i], starts[i + 1]):
            s = math.sin(s) + values[j] * x[columns[j]]
        y[i] = s


def gather_scatter(x, source, target, y, count):
    i = cuda.grid(1)
    if i < source.size:
        cuda.atomic.add(y, target[i], math.exp(x[source[i]]))
        cuda.atomic.sub(y, 0, x[source[i]])
        cuda.atomic.add(count, target[i], 1)


def permuted(x, places, y):
    i = cuda.grid(1)
    if i < x.size:
        y[places[i]] = x[i] * TABLE[i % 3] * x[i]


def local_array(x, y, steps):
    c = cuda.local.array(3, real)
    i = cuda.grid(1)
    if i < x.size:
        for q in range(3):
            c[q] = x[i] * (q + 1)
        for _ in range(steps):
            for q in range(3):
                c[q] = math.tanh(c[(q + 1) % 3]) + c[q]
        y[i] = c[0] * c[1] + c[2]


def own_steps(u, k, steps):
    i = cuda.grid(1)
    if i < u.size:
        for _ in range(steps):
            u[i] = u[i] + k * math.tanh(u[i])
            u[i] *= 1.1


@cuda.jit(device=True)
def length(a, i):
    s = 0.0
    for j in range(a.shape[1]):
        s += a[i, j] * a[i, j]
    return math.sqrt(s)


def device_function(a, y):
    i = cuda.grid(1)
    if i < a.shape[0]:
        y[i] = length(a, i) * length(a, (i + 1) % a.shape[0])


def three_axes(x, y):
    i, j, k = cuda.grid(3)
    if i < x.shape[0] and j < x.shape[1] and k < x.shape[2]:
        y[i, j, k] = x[i, j, k] ** 2 * (i + 1) + 0.5 * j * k


def red_black(u):
    """The odd points from the even ones, in place."""
    k = 2 * cuda.grid(1) + 1
    if k + 1 < u.size:
        u[k] = 0.5 * (u[k - 1] + u[k + 1]) + u[k] ** 2


def stencil(u, v, c):
    """A tile with its border in shared memory."""
    tile = cuda.shared.array((TWO_MORE, TWO_MORE), real)
    j, i = cuda.grid(2)
    n, m = u.shape
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    if i < n and j < m:
        tile[ty + 1, tx + 1] = u[i, j]
        if ty == 0 and i > 0:
            tile[0, tx + 1] = u[i - 1, j]
        if ty == TILE - 1 and i + 1 < n:
            tile[TILE + 1, tx + 1] = u[i + 1, j]
        if tx == 0 and j > 0:
            tile[ty + 1, 0] = u[i, j - 1]
        if tx == TILE - 1 and j + 1 < m:
            tile[ty + 1, TILE + 1] = u[i, j + 1]
    cuda.syncthreads()
    if 0 < i < n - 1 and 0 < j < m - 1:
        here = tile[ty + 1, tx + 1]
        around = tile[ty, tx + 1] + tile[ty + 2, tx + 1] + tile[ty + 1, tx] + tile[ty + 1, tx + 2]
        v[i, j] = here + c * (around - 4 * here * here)


def sum_of_squares(x, total):
    """A tree in shared memory, the blocks' sums by an atomic addition."""
    s = cuda.shared.array(8, real)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] ** 2 if i < x.size else 0.0
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half > 0:
        if t < half:
            s[t] += s[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        cuda.atomic.add(total, 0, s[0])


def products(x, out):
    """The tree of a product, whose factors the adjoint needs."""
    s = cuda.shared.array(8, real)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else 1.0
    cuda.syncthreads()
    half = 4
    while half > 0:
        if t < half:
            s[t] *= s[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


def bodies(position, acceleration, softening):
    """Gravity of all bodies on each, by tiles."""
    tile = cuda.shared.array((TILE, 3), real)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    n = position.shape[0]
    ax = ay = az = px = py = pz = 0.0
    if i < n:
        px, py, pz = position[i, 0], position[i, 1], position[i, 2]
    for k in range((n + TILE - 1) // TILE):
        j = k * TILE + t
        if j < n:
            for c in range(3):
                tile[t, c] = position[j, c]
        cuda.syncthreads()
        for q in range(min(TILE, n - k * TILE)):
            dx, dy, dz = tile[q, 0] - px, tile[q, 1] - py, tile[q, 2] - pz
            r = 1.0 / math.sqrt(dx * dx + dy * dy + dz * dz + softening)
            f = r * r * r
            ax += f * dx
            ay += f * dy
            az += f * dz
        cuda.syncthreads()
    if i < n:
        acceleration[i, 0] = ax
        acceleration[i, 1] = ay
        acceleration[i, 2] = az


def all_pairs(x, y):
    """Blocks stride over the targets; every thread reads all of x."""
    for i in range(cuda.threadIdx.x + cuda.blockIdx.x * 4, x.size, cuda.gridDim.x * 4):
        total = 0.0
        for j in range(x.size):
            total += math.exp(-(x[i] - x[j]) ** 2)
        y[i] = total


def matrix_product(A, B, C):
    sa = cuda.shared.array((TILE, TILE), real)
    sb = cuda.shared.array((TILE, TILE), real)
    x, y = cuda.grid(2)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    total = 0.0
    for k in range((A.shape[1] + TILE - 1) // TILE):
        sa[ty, tx] = A[y, tx + k * TILE] if y < A.shape[0] and tx + k * TILE < A.shape[1] else 0.0
        sb[ty, tx] = B[ty + k * TILE, x] if x < B.shape[1] and ty + k * TILE < B.shape[0] else 0.0
        cuda.syncthreads()
        for j in range(TILE):
            total += sa[ty, j] * sb[j, tx]
        cuda.syncthreads()
    if y < C.shape[0] and x < C.shape[1]:
        C[y, x] = total


def half_filled(x, y, steps):
    """Every iteration fills a part of the shared array and reads all of it: what earlier ones wrote must be kept."""
    s = cuda.shared.array(4, real)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    total = 0.0
    for k in range(steps):
        if k == 0 or t < 2:
            s[t] = math.exp(x[i] - k)
        cuda.syncthreads()
        for j in range(4):
            total += s[j] ** 2 * (k + 1)
        cuda.syncthreads()
    y[i] = total


def tile_of_two_loops(x, y, steps):
    """One shared array is the tile of two loops, filled in two orders."""
    s = cuda.shared.array(4, real)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    total = 0.3
    for k in range(steps):
        s[t] = x[(k * 4 + t) % 8]
        cuda.syncthreads()
        for j in range(4):
            total += math.tanh(s[j] * x[i])
        cuda.syncthreads()
    for k in range(steps):
        s[3 - t] = x[(k * 4 + t + 1) % 8] * x[i]
        cuda.syncthreads()
        for j in range(4):
            total += s[j] * s[j] * total * 0.1
        cuda.syncthreads()
    y[i] = total


def border_of_three(x, y, steps):
    """A tile that three stores fill."""
    s = cuda.shared.array(6, real)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    total = 0.0
    for k in range(steps):
        s[t + 1] = x[i] * (k + 1)
        if t == 0:
            s[0] = x[i - 1] if i > 0 else 0.3
        if t == 3:
            s[5] = x[i + 1] if i + 1 < x.size else 0.7
        cuda.syncthreads()
        total += s[t] * s[t + 1] * math.cos(s[t + 2])
        cuda.syncthreads()
    y[i] = total


def exchange(x, y, steps):
    """Two shared arrays, each computed from the other."""
    a = cuda.shared.array(8, real)
    b = cuda.shared.array(8, real)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    a[t] = x[i] if i < x.size else 0.1
    cuda.syncthreads()
    k = steps
    while k > 0:
        b[t] = math.sin(a[t]) + 0.3 * a[(t + 1) % 8] * a[t]
        cuda.syncthreads()
        a[t] = math.cos(b[(t + 3) % 8]) * b[t]
        cuda.syncthreads()
        k -= 2
    if i < x.size:
        y[i] = a[t]


def scan(x, y):
    """Hillis and Steele's prefix sum, of something less linear."""
    s = cuda.shared.array(8, real)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    d = 1
    while d < 8:
        v = 0.0
        if t >= d:
            v = s[t - d]
        cuda.syncthreads()
        s[t] = math.tanh(s[t]) + v * s[t] + v
        cuda.syncthreads()
        d *= 2
    if i < x.size:
        y[i] = s[t]


def histogram(x, y):
    """Atomic additions to shared memory."""
    s = cuda.shared.array(3, real)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if t < 3:
        s[t] = 0.0
    cuda.syncthreads()
    if i < x.size:
        cuda.atomic.add(s, i % 3, math.tanh(x[i]))
    cuda.syncthreads()
    if t < 3:
        cuda.atomic.add(y, t, s[t] ** 2)


def added_between(x, y):
    """A shared element that is read, added to by all threads, and read again."""
    s = cuda.shared.array(8, real)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = math.tanh(x[i])
    cuda.syncthreads()
    before = s[0] * s[t]
    cuda.syncthreads()
    cuda.atomic.add(s, 0, 0.1 * x[i] * before)
    cuda.syncthreads()
    y[i] = s[0] * before * before


def through_global(x, g, y):
    """Threads of a block exchange values in global memory."""
    t = cuda.threadIdx.x
    b = cuda.blockIdx.x
    i = cuda.grid(1)
    g[b, t] = x[i] ** 2
    cuda.syncthreads()
    y[i] = math.tanh(g[b, (t + 1) % 8]) * g[b, t]


def softmax(x, y):
    """A row a block: the largest element, the sum, the quotients."""
    s = cuda.shared.array(8, real)
    t = cuda.threadIdx.x
    b = cuda.blockIdx.x
    n = x.shape[1]
    m = -1e30
    for j in range(t, n, 8):
        m = max(m, x[b, j])
    s[t] = m
    cuda.syncthreads()
    for k in range(3):
        if t < 4 >> k:
            s[t] = max(s[t], s[t + (4 >> k)])
        cuda.syncthreads()
    m = s[0]
    cuda.syncthreads()
    total = 0.0
    for j in range(t, n, 8):
        total += math.exp(x[b, j] - m)
    s[t] = total
    cuda.syncthreads()
    for k in range(3):
        if t < 4 >> k:
            s[t] += s[t + (4 >> k)]
        cuda.syncthreads()
    for j in range(t, n, 8):
        y[b, j] = math.exp(x[b, j] - m) / s[0]


def transposed(x, y):
    s = cuda.shared.array((TILE, ONE_MORE), real)
    tx = cuda.threadIdx.x
    ty = cuda.threadIdx.y
    i, j = cuda.grid(2)
    s[ty, tx] = x[j, i] ** 2
    cuda.syncthreads()
    y[cuda.blockIdx.x * TILE + ty, cuda.blockIdx.y * TILE + tx] = s[tx, ty]


def cases(dtype=np.float64):
    """(kernel, grid, block, arguments): small launches, their arguments with values."""
    rng = np.random.default_rng(7)
    f = lambda *shape: rng.normal(size=shape).astype(dtype)
    one = dtype
    starts, columns = np.array([0, 2, 2, 5, 9, 11]), rng.integers(0, 6, 11).astype(np.int32)
    return [
        (saxpy, 2, 8, (one(1.3), f(13), f(13))),
        (in_place, 2, 8, (f(13),)),
        (strided, 2, 4, (f(19), f(19))),
        (strided_while, 2, 4, (1 + np.abs(f(19)), f(19))),
        (newton, 2, 8, (1 + np.abs(f(13)), f(13))),
        (inner_while, 2, 4, (np.abs(f(7)) + one(0.5), f(7))),
        (sparse_rows, 1, 8, (starts, columns, f(11), f(6), f(5))),
        (gather_scatter, 2, 8, (f(5), rng.integers(0, 5, 13), rng.integers(0, 4, 13), f(4), np.zeros(4, np.int32))),
        (permuted, 2, 8, (f(13), rng.permutation(13), f(13))),
        (local_array, 2, 4, (f(7), f(7), 3)),
        (own_steps, 2, 4, (f(7), one(0.3), 3)),
        (device_function, 2, 4, (f(7, 3), f(7))),
        (three_axes, (2, 2, 1), (2, 2, 3), (f(3, 4, 3), f(3, 4, 3))),
        (red_black, 2, 4, (f(14),)),
        (stencil, (2, 2), (TILE, TILE), (f(6, 7), f(6, 7), one(0.2))),
        (sum_of_squares, 2, 8, (f(13), f(1))),
        (products, 2, 8, (f(13), f(2))),
        (bodies, 2, TILE, (f(7, 3), f(7, 3), one(0.1))),
        (all_pairs, 2, 4, (f(11), f(11))),
        (matrix_product, (2, 2), (TILE, TILE), (f(6, 5), f(5, 7), f(6, 7))),
        (half_filled, 2, 4, (f(8), f(8), 3)),
        (tile_of_two_loops, 2, 4, (f(8), f(8), 3)),
        (border_of_three, 2, 4, (f(8), f(8), 3)),
        (exchange, 2, 8, (f(13), f(13), 3)),
        (scan, 2, 8, (f(13), f(13))),
        (histogram, 2, 8, (f(13), f(3))),
        (added_between, 2, 8, (f(16), f(16))),
        (through_global, 2, 8, (f(16), f(2, 8), f(16))),
        (softmax, 3, 8, (f(3, 19), f(3, 19))),
        (transposed, (2, 2), (TILE, TILE), (f(8, 8), f(8, 8))),
    ]
