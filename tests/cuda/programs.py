"""Programs for the CUDA target: each a function, example arguments, and the positions of what is differentiated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from autodiff import checkpoint


@dataclass(frozen=True)
class Example:
    """A program, how its arguments are made from a random generator, and the positions that derivatives are taken of."""

    function: Callable
    make: Callable
    wrt: tuple[int, ...]

    def arguments(self, dtype=np.float64) -> list:
        """The arguments, arrays of floats and Python's floats in this dtype."""
        def cast(x):
            if isinstance(x, np.ndarray) and x.dtype == np.float64:
                return x.astype(dtype)
            return dtype(x) if type(x) is float and dtype is not np.float64 else x
        return [cast(x) for x in self.make(np.random.default_rng(0))]


EXAMPLES: dict[str, Example] = {}


def example(make, wrt):
    def keep(function):
        EXAMPLES[function.__name__] = Example(function, make, wrt)
        return function
    return keep


@example(lambda r: (r.normal(size=37), r.normal(size=37)), (0, 1))
def chain(x, y):
    """A chain of elementwise functions and a sum."""
    return np.sum(np.tanh(x * y) * np.exp(-x) + np.sqrt(1.0 + y * y))


@example(lambda r: (r.normal(size=(6, 5)), r.normal(size=(6, 5)), 1.3, 0.2, r.normal(size=(6, 5)), 3), (0, 1, 2))
def stencil(u, kappa, k, dt, target, steps):
    """Nonlinear diffusion by loops, with two buffers that change places."""
    h, w = u.shape
    v = u.copy()
    new = np.zeros_like(u)
    for _ in range(steps):
        for i in range(1, h - 1):
            for j in range(1, w - 1):
                north = v[i - 1, j] - v[i, j]
                south = v[i + 1, j] - v[i, j]
                west = v[i, j - 1] - v[i, j]
                east = v[i, j + 1] - v[i, j]
                flux = north / (1.0 + k * north * north) + south / (1.0 + k * south * south)
                flux += west / (1.0 + k * west * west) + east / (1.0 + k * east * east)
                new[i, j] = v[i, j] + dt * kappa[i, j] * flux
        v, new = new, v
    return np.sum((v - target) ** 2)


@example(lambda r: (r.normal(size=(6, 5)), r.normal(size=(6, 5)), 1.3, 0.2, r.normal(size=(6, 5)), 3), (0, 1, 2))
def stencil_slices(u, kappa, k, dt, target, steps):
    """The same by slices, in place."""
    v = u.copy()
    for _ in range(steps):
        c = v[1:-1, 1:-1]
        n, s, w, e = v[:-2, 1:-1] - c, v[2:, 1:-1] - c, v[1:-1, :-2] - c, v[1:-1, 2:] - c
        flux = n / (1 + k * n * n) + s / (1 + k * s * s) + w / (1 + k * w * w) + e / (1 + k * e * e)
        v[1:-1, 1:-1] = c + dt * kappa[1:-1, 1:-1] * flux
    return np.sum((v - target) ** 2)


@example(lambda r: (r.normal(size=5), r.normal(size=5), r.normal(size=5), r.random(5) + 0.1, 0.01), (0, 1, 2, 3))
def n_body(x, y, z, m, softening):
    """Squared accelerations of all bodies: every pair in both roles."""
    n = x.shape[0]
    ax, ay, az = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    for i in range(n):
        sx = sy = sz = 0.0 * x[i]
        for j in range(n):
            dx = x[j] - x[i]
            dy = y[j] - y[i]
            dz = z[j] - z[i]
            r2 = dx * dx + dy * dy + dz * dz + softening
            w = m[j] / (r2 * np.sqrt(r2))
            sx += w * dx
            sy += w * dy
            sz += w * dz
        ax[i] = sx
        ay[i] = sy
        az[i] = sz
    return np.sum(ax * ax + ay * ay + az * az)


@example(lambda r: (r.normal(size=(6, 2)), r.normal(size=(3, 2)), r.normal(size=3)), (0, 1, 2))
def mixture(x, means, log_weights):
    """Log-likelihood of a Gaussian mixture, by broadcasting."""
    distances = np.sum((x[:, None, :] - means[None, :, :]) ** 2, axis=2)
    a = log_weights - 0.5 * distances
    top = np.max(a, axis=1)
    return np.sum(top + np.log(np.sum(np.exp(a - top[:, None]), axis=1)))


@example(lambda r: (r.normal(size=(6, 2)), r.normal(size=(3, 2)), r.normal(size=3)), (0, 1, 2))
def mixture_loops(x, means, log_weights):
    """The same by loops."""
    n, d = x.shape
    count = means.shape[0]
    total = 0.0
    for i in range(n):
        s = 0.0
        for k in range(count):
            q = 0.0
            for j in range(d):
                t = x[i, j] - means[k, j]
                q += t * t
            s += np.exp(log_weights[k] - 0.5 * q)
        total += np.log(s)
    return total


@example(lambda r: (r.normal(size=(6, 4)), 1.0, 0.2, 0.05, 1.0, 0.1), (1, 2))
def asian_option(z, spot, sigma, rate, strike, dt):
    """Value of an average-price call by given normal numbers: a loop in time in each thread, a conditional sum."""
    n, steps = z.shape
    total = 0.0
    for i in range(n):
        s = spot
        average = 0.0
        for t in range(steps):
            s = s * np.exp((rate - 0.5 * sigma * sigma) * dt + sigma * np.sqrt(dt) * z[i, t])
            average += s
        average /= steps
        if average > strike:
            total += average - strike
    return np.exp(-rate * dt * steps) * total / n


@example(lambda r: (r.normal(size=(6, 3)), r.normal(size=(6, 2)), r.normal(size=(3, 4)), r.normal(size=4),
                    r.normal(size=(4, 2)), r.normal(size=2)), (2, 3, 4, 5))
def perceptron(x, y, w1, b1, w2, b2):
    """A network with one hidden layer: matrix products of a library around elementwise kernels."""
    hidden = np.tanh(x @ w1 + b1)
    return np.mean((hidden @ w2 + b2 - y) ** 2)


@example(lambda r: (r.uniform(0.1, 1.0, 21), 0.9), (0, 1))
def until(x, p):
    """A `while` loop in each thread, of different lengths."""
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        v = x[i]
        while v < 10.0:
            v = v * v * p + np.exp(-v) + 1.0
        y[i] = v
    return np.sum(y * y)


@example(lambda r: (r.uniform(0.0, 0.5, 9), 0.001), (0, 1))
def until_late(x, p):
    """As `until`, longer than the tape is at first."""
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        v = x[i]
        while v < 1.0:
            v = v + 0.005 + p * np.sin(v)
        y[i] = v
    return np.sum(y * y)


@example(lambda r: (r.normal(size=6), np.array([1, 2, 2, 5, -1]), r.normal(size=5)), (0, 2))
def by_index(x, index, w):
    """Elements chosen by data: additions to unknown places, and indices that only the device can check."""
    s = 0.0
    for i in range(index.shape[0]):
        s += w[i] * x[index[i]] ** 2
    return s


@example(lambda r: (r.normal(size=9), r.normal(size=3)), (0, 1))
def few_parameters(x, theta):
    """Elements of a small vector that all threads read."""
    total = 0.0
    for i in range(x.shape[0]):
        t = theta[0] + x[i] * (theta[1] + x[i] * theta[2])
        total += t * np.sin(t)
    return total / theta[0]


@example(lambda r: (r.normal(size=11), r.normal(size=11)), (0, 1))
def extrema(x, y):
    """The largest of products, the smallest sum."""
    low = np.min(x + y)
    return np.max(x * y) * low


@example(lambda r: (r.normal(size=(4, 5, 3)), r.normal(size=(5, 3))), (0, 1))
def three_loops(x, y):
    """A nest of three loops, and sums over its outermost."""
    total = np.zeros_like(y)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            for k in range(x.shape[2]):
                total[j, k] += x[i, j, k] * y[j, k] ** 2
    return np.sum(np.sin(total))


@example(lambda r: (r.normal(size=12), 0.3), (0, 1))
def backwards_by_two(x, c):
    """A loop that counts down by two, and writes every other element."""
    y = np.zeros_like(x)
    for i in range(x.shape[0] - 1, 0, -2):
        y[i] = c * x[i] * x[i - 1]
    return np.sum(y ** 2)


@example(lambda r: (r.normal(size=8), 0.1, 20.0), (0, 1))
def until_small(x, rate, limit):
    """A loop on the host that goes on until a number of the device is small."""
    v = x.copy()
    size = np.sum(v * v) * 100.0
    while size > limit:
        v = v - rate * np.tanh(v)
        size = np.sum(v * v) * 100.0
    return np.sum(v ** 3)


@example(lambda r: (r.normal(size=7), r.normal(size=7)), (0, 1))
def local_arrays(x, y):
    """A small array in each thread."""
    out = np.zeros_like(x)
    for i in range(x.shape[0]):
        c = np.zeros(3, x.dtype)
        c[0] = x[i]
        for k in range(1, 3):
            c[k] = c[k - 1] * y[i] + 1.0
        out[i] = c[0] * c[1] * c[2]
    return np.sum(out)


@example(lambda r: (r.normal(size=(5, 4)), r.normal(size=4), r.normal(size=5)), (0, 1))
def softmax_rows(x, w, v):
    """Rows normalised, weighted and summed."""
    e = np.exp(x - np.max(x, axis=1, keepdims=True))
    return np.sum((e / np.sum(e, axis=1, keepdims=True)) @ w * v)


@example(lambda r: (r.normal(size=(3, 6)), r.normal(size=6)), (0, 1))
def row_by_row(a, x):
    """A matrix times a vector by loops, then a branch on each result."""
    total = 0.0
    for i in range(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j] * x[j]
        if s > 0.0:
            total += s * s
        else:
            total -= s
    return total


@example(lambda r: (r.normal(size=9), 0.3, 7), (0, 1))
def checkpointed(x, c, steps):
    """A loop in time with copies in the place of a tape."""
    v = x.copy()
    for _ in checkpoint(range(steps), snapshots=3):
        change = np.zeros_like(v)
        change[1:-1] = np.sin(v[2:] - v[:-2])
        v = v + c * change
    return np.sum(v ** 2)


@example(lambda r: (r.uniform(1.0, 2.0, 9), 0.3), (0, 1))
def checkpointed_until_small(x, c):
    """The same, until a number of the device is small."""
    v = x.copy()
    while checkpoint(np.sum(v * v) > 1.0, snapshots=3):
        v = v - c * np.tanh(v)
    return np.sum(v ** 3)


@example(lambda r: (r.normal(size=(4, 5)), 0.3, 6), (0, 1))
def history(start, c, steps):
    """A loop in time that keeps every state, and reads the last one at neighbours."""
    h, w = start.shape
    v = np.zeros((steps + 1, h, w), start.dtype)
    for i in range(h):
        for j in range(w):
            v[0, i, j] = start[i, j]
    for t in range(steps):
        for i in range(1, h - 1):
            for j in range(1, w - 1):
                v[t + 1, i, j] = v[t, i, j] + c * np.tanh(v[t, i - 1, j] + v[t, i + 1, j] - v[t, i, j - 1] * v[t, i, j + 1])
    return np.sum(v[steps] ** 2)


@example(lambda r: (r.normal(size=9), r.normal(size=9), 0.2), (0, 1, 2))
def clipped(x, y, k):
    """Maxima, whose derivatives are chosen among constants."""
    total = 0.0
    for i in range(x.shape[0]):
        total += max(x[i] * y[i] - k, 0.0)
    return total + np.sum(np.maximum(x, y))


@example(lambda r: (r.normal(size=23), r.random(23)), (0, 1))
def running_sums(x, w):
    """Cumulative sums of arrays and a running sum in a loop."""
    total = np.cumsum(x * w)
    out = np.zeros_like(x)
    level = w[0]
    for i in range(x.shape[0]):
        level += x[i] * x[i]
        if x[i] > 0.0:
            level += w[i]
        out[i] = level * total[i]
    return np.sum(out) + np.sum(total ** 2)


@example(lambda r: (r.uniform(0.5, 1.5, 14),), (0,))
def products(x):
    """A product of all, and cumulative products."""
    return np.prod(x) + np.sum(np.cumprod(x) ** 2)


@example(lambda r: (r.normal(size=37), 0.3), (0, 1))
def moving_average(x, a):
    """An exponential moving average, and a filter that runs back and changes sign."""
    smooth = np.zeros_like(x)
    level = x[0]
    for i in range(x.shape[0]):
        level = (1.0 - a) * level + a * x[i]
        smooth[i] = level
    back = np.zeros_like(x)
    level = 0.0 * a
    for i in range(x.shape[0] - 1, -1, -1):
        level = smooth[i] - a * level
        back[i] = level
    return np.sum(back ** 2)


@example(lambda r: (r.normal(size=(5, 3)), r.normal(size=(3, 2, 3)), r.normal(size=(2, 3))), (0, 1, 2))
def reshaped(x, w, c):
    """Arrays reshaped before and after a matrix product: subscripts that are digits of a number."""
    n, d = x.shape
    k = c.shape[0]
    z = (x @ w.reshape(d, k * d)).reshape(n, k, d)
    return np.sum((z - c) ** 2)


@example(lambda r: (r.normal(size=14), 0.7), (0, 1))
def every_third(x, c):
    """Steps of three, whose last index has to be checked."""
    y = np.zeros_like(x)
    for i in range(0, x.shape[0] - 1, 3):
        y[i + 1] = c * x[i + 1] * x[i]
    return np.sum(y * y)


@example(lambda r: (np.array([-1, 0, 0, 1]), r.normal(size=(4, 3, 3))), (1,))
def tree_of_products(parents, local):
    """Matrices multiplied along a tree: which ones, the data says."""
    whole = np.zeros_like(local)
    for b in range(parents.shape[0]):
        if parents[b] < 0:
            whole[b] = local[b]
        else:
            whole[b] = whole[parents[b]] @ local[b]
    return np.sum(whole ** 2)


@example(lambda r: (r.uniform(0.2, 1.0, 11), 0.6, 4), (0, 1))
def newton_in_time(x, c, steps):
    """A loop in time around threads that each run their own `while` loop."""
    y = np.zeros_like(x)
    for _ in range(steps):
        for i in range(x.shape[0]):
            v = x[i] + y[i]
            while v > 0.05:
                v = v * c * np.exp(-v)
            y[i] += v
    return np.sum(y * y)


@example(lambda r: (r.uniform(0.1, 1.0, 21), 0.9), (0, 1))
def any_and_all(x, c):
    """Reductions of conditions, and a branch of the host on one."""
    s = np.sum(x * x) if np.any(x > c) else np.sum(x)
    return s * np.all(x > 0.0) + np.nanmin(c * x)


@example(lambda r: (r.uniform(0.1, 1.0, 9),), (0,))
def uneven_differences(x):
    """Arrays of n and n - 1 elements, whose adjoints one kernel collects."""
    return np.sum(np.gradient(x, x.cumsum()) ** 2)


@example(lambda r: (r.normal(size=(5, 6)), r.normal(size=(5, 6)), 0.2, 3), (0, 1, 2))
def periodic(u, k, dt, steps):
    """Diffusion and transport on a torus: subscripts modulo the sizes, and rolled arrays."""
    n, m = u.shape
    v = u.copy()
    for _ in range(steps):
        new = np.zeros_like(v)
        for i in range(n):
            for j in range(m):
                east, west = v[(i + 1) % n, j], v[(i - 1) % n, j]
                new[i, j] = v[i, j] + dt * k[i, j] * (east * west + v[i, (j + 2) % m] - v[i, j])
        v = new
    return np.sum(np.roll(v, 1, axis=0) * v ** 2)
