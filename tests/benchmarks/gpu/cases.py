"""The programs that are timed on a GPU, all in float32: their arguments, and what the hardware takes for them at least.

The bound ("floor") of a case is what cannot be avoided: bytes that must go through memory, or arithmetic. Each says how it
was counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

F = np.float32


@dataclass(frozen=True)
class Floor:
    """What must at least be done, forward and in both sweeps: bytes through memory, and float32 arithmetic outside tensor
    cores, where that may take longer. `count`: how the larger of the two was counted."""

    bytes: tuple[float, float]
    count: str
    flops: tuple[float, float] = (0.0, 0.0)

    def seconds(self, both: bool, bandwidth: float, peak: float) -> float:
        """At so many bytes and operations a second."""
        return max(self.bytes[both] / bandwidth, self.flops[both] / peak)


@dataclass(frozen=True)
class Case:
    """A program with its arguments.

    make: arguments from a random generator and sizes. full, checked, tiny: sizes for timing, for the comparison with float64
    on the CPU, and for a dry run. goals: at most this multiple of the floor, at most this fraction of JAX's time.
    """

    name: str
    function: Callable
    wrt: tuple[int, ...]
    make: Callable
    full: dict
    checked: dict
    tiny: dict
    floor: Callable[..., Floor]
    goals: tuple[float, float]

    def arguments(self, sizes: dict) -> list:
        return self.make(np.random.default_rng(0), **sizes)


CASES: dict[str, Case] = {}


def case(name, wrt, full, checked, tiny, floor, goals):
    """Register a case under the name of its program, with the function that makes its arguments."""
    def keep(make):
        CASES[name] = Case(name, PROGRAMS[name], wrt, make, full, checked, tiny, floor, goals)
        return make
    return keep


# ---- programs ---------------------------------------------------------------------------------------------------
def chain(x, y):
    return np.sum(np.tanh(x * y) * np.exp(-x) + np.sqrt(1.0 + y * y))


def stencil(u, kappa, k, dt, target, steps):
    """Nonlinear diffusion; the border stays as it is. The states are kept in one array: a gradient needs them."""
    h, w = u.shape
    v = np.empty((steps + 1, h, w), u.dtype)
    v[0] = u
    for t in range(steps):
        v[t + 1, 0] = v[t, 0]
        v[t + 1, -1] = v[t, -1]
        v[t + 1, :, 0] = v[t, :, 0]
        v[t + 1, :, -1] = v[t, :, -1]
        for i in range(1, h - 1):
            for j in range(1, w - 1):
                c = v[t, i, j]
                north = v[t, i - 1, j] - c
                south = v[t, i + 1, j] - c
                west = v[t, i, j - 1] - c
                east = v[t, i, j + 1] - c
                flux = north / (1.0 + k * north * north) + south / (1.0 + k * south * south)
                flux += west / (1.0 + k * west * west) + east / (1.0 + k * east * east)
                v[t + 1, i, j] = c + dt * kappa[i, j] * flux
    return np.mean((v[steps] - target) ** 2)


def n_body(x, y, z, m, softening):
    """The sum of squared accelerations, all pairs."""
    n = x.shape[0]
    total = 0.0
    for i in range(n):
        ax = ay = az = 0.0
        for j in range(n):
            dx = x[j] - x[i]
            dy = y[j] - y[i]
            dz = z[j] - z[i]
            r2 = dx * dx + dy * dy + dz * dz + softening
            w = m[j] / (r2 * np.sqrt(r2))
            ax += w * dx
            ay += w * dy
            az += w * dz
        total += ax * ax + ay * ay + az * az
    return total / n


def mixture(x, weights, means, factors):
    """Mean log-likelihood of a Gaussian mixture: factors[:, k] times its transpose is the inverse of a covariance."""
    n, d = x.shape
    count = means.shape[0]
    z = (x @ factors.reshape(d, count * d)).reshape(n, count, d)
    offsets = np.einsum("ka,akb->kb", means, factors)
    terms = weights - 0.5 * np.sum((z - offsets) ** 2, axis=2)
    top = np.max(terms, axis=1)
    return np.mean(top + np.log(np.sum(np.exp(terms - top[:, None]), axis=1)))


def asian_option(z, spot, sigma, rate, strike, dt):
    """Value of an average-price call from given normal numbers, a column for each path."""
    steps, paths = z.shape
    drift = (rate - 0.5 * sigma * sigma) * dt
    volatility = sigma * np.sqrt(dt)
    total = 0.0
    for i in range(paths):
        s = spot
        average = 0.0
        for t in range(steps):
            s = s * np.exp(drift + volatility * z[t, i])
            average += s
        total += max(average / steps - strike, 0.0)
    return np.exp(-rate * dt * steps) * total / paths


def network(x, y, w1, b1, w2, b2, w3, b3):
    h1 = np.tanh(x @ w1 + b1)
    h2 = np.tanh(h1 @ w2 + b2)
    return np.mean((h2 @ w3 + b3 - y) ** 2)


PROGRAMS = {"elementwise chain": chain, "stencil": stencil, "n-body": n_body, "Gaussian mixture": mixture,
            "Asian option": asian_option, "network": network}


# ---- floors -----------------------------------------------------------------------------------------------------
def chain_floor(n):
    return Floor((8.0 * n, 16.0 * n), "x and y in, both gradients out")


def stencil_floor(side, steps):
    cells = 4.0 * side * side * steps
    return Floor((3 * cells, 9 * cells), "a step forward: u, kappa in, u out; back: u, kappa, u_bar in, u_bar out, "
                 "kappa_bar in and out")


def n_body_floor(n):
    pairs = float(n) * n
    return Floor((20.0 * n, 36.0 * n), "operations for a pair: forward 3 differences, 6 for r2, 3 for the weight, 6 for the "
                 "sums; back 12 of these again and 26, once for both roles; a root or a division is one",
                 (18 * pairs, 56 * pairs))


def mixture_floor(n, d, count):
    z, product = 4.0 * n * d * count, 2.0 * n * d * d * count
    return Floor((2 * z, 5 * z), "one product forward, one back; the first one's result out and in, in again, its adjoint "
                 "out and in", (product, 2 * product))


def option_floor(paths, steps):
    z = 4.0 * paths * steps
    return Floor((z, 2 * z), "z in, once in each sweep; prices kept on the chip")


def network_floor(rows, inputs, hidden, outputs):
    row, products = 4.0 * rows, 2.0 * rows * hidden * (inputs + hidden + outputs)
    return Floor((row * (inputs + outputs + 4 * hidden), row * (2 * inputs + 2 * outputs + 12 * hidden)),
                 "products by a library: x, y in, h1 and h2 out and in; back x, h1, h2 and two adjoints, for each product",
                 (products, 3 * products - 2.0 * rows * inputs * hidden))


# ---- arguments --------------------------------------------------------------------------------------------------
def normal(r, *shape):
    return r.standard_normal(shape, dtype=F)


@case("elementwise chain", (0, 1), {"n": 100_000_000}, {"n": 1_000_000}, {"n": 70}, chain_floor, (1.2, 1.0))
def chain_arguments(r, n):
    return [normal(r, n), normal(r, n)]


@case("stencil", (0, 1, 2), {"side": 4096, "steps": 100}, {"side": 256, "steps": 100}, {"side": 6, "steps": 2},
      stencil_floor, (1.4, 0.8))
def stencil_arguments(r, side, steps):
    shape = side, side
    return [normal(r, *shape), r.random(shape, F) * F(0.5) + F(0.5), F(1.3), F(0.2), normal(r, *shape), steps]


@case("n-body", (0, 1, 2, 3), {"n": 65536}, {"n": 2048}, {"n": 18}, n_body_floor, (2.0, 0.5))
def n_body_arguments(r, n):
    return [*(normal(r, n) for _ in range(3)), r.random(n, F) + F(0.1), F(0.01)]


@case("Gaussian mixture", (1, 2, 3), {"n": 100_000, "d": 64, "count": 200}, {"n": 500, "d": 64, "count": 200},
      {"n": 20, "d": 3, "count": 4}, mixture_floor, (2.0, 1.1))
def mixture_arguments(r, n, d, count):
    factors = np.eye(d, dtype=F)[:, None, :] + F(0.3 / d) * normal(r, d, count, d)
    return [normal(r, n, d), normal(r, count) * F(0.1), F(0.3) * normal(r, count, d), factors]


@case("Asian option", (1, 2, 3), {"paths": 4_000_000, "steps": 252}, {"paths": 20_000, "steps": 252},
      {"paths": 20, "steps": 4}, option_floor, (1.5, 0.5))
def option_arguments(r, paths, steps):
    return [normal(r, steps, paths), F(1.0), F(0.2), F(0.05), F(1.0), F(1.0 / steps)]


@case("network", (2, 3, 4, 5, 6, 7), {"rows": 1_000_000, "inputs": 32, "hidden": 64, "outputs": 1},
      {"rows": 20_000, "inputs": 32, "hidden": 64, "outputs": 1}, {"rows": 20, "inputs": 3, "hidden": 4, "outputs": 1},
      network_floor, (3.0, 1.0))
def network_arguments(r, rows, inputs, hidden, outputs):
    def layer(n, m):
        return normal(r, n, m) / F(math.sqrt(n)), F(0.1) * normal(r, m)
    return [normal(r, rows, inputs), normal(r, rows, outputs), *layer(inputs, hidden), *layer(hidden, hidden),
            *layer(hidden, outputs)]


__all__ = ["CASES", "Case", "Floor"]
