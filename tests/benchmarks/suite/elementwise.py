"""Elementwise chains and reductions, where elementary functions take the time."""

import numpy as np

from autodiff.runtime.numbers import vectormath as vm

from .benchmark import also, benchmark, by_hand


def chain(x, w):
    return np.sum(np.sin(x) * np.exp(-w * x) + np.log(x) * w)


@by_hand
def chain_primal(x, w):
    s = 0.0
    for i in range(x.shape[0]):
        s += vm.sin(x[i]) * vm.exp(-w[i] * x[i]) + vm.log(x[i]) * w[i]
    return s


@by_hand
def chain_adjoint(x, w):
    x_bar, w_bar = np.empty_like(x), np.empty_like(w)
    s = 0.0
    for i in range(x.shape[0]):
        sin_x, decay, log_x = vm.sin(x[i]), vm.exp(-w[i] * x[i]), vm.log(x[i])
        s += sin_x * decay + log_x * w[i]
        x_bar[i] = vm.cos(x[i]) * decay - w[i] * decay * sin_x + w[i] / x[i]
        w_bar[i] = log_x - x[i] * decay * sin_x
    return s, x_bar, w_bar


def pair(r, tiny, n=2_000_000):
    n = 30 if tiny else n
    return r.random(n) + 0.5, r.random(n)


benchmark("elementwise chain", chain, pair, (0, 1), primals=(chain_primal,), adjoint=chain_adjoint,
          jax=True, torch=True, autograd=True)


def arc_distance(theta, phi, theta2, phi2):
    """Great-circle distances of pairs of points on the sphere, summed."""
    a = np.sin((theta2 - theta) / 2.0) ** 2 + np.cos(theta) * np.cos(theta2) * np.sin((phi2 - phi) / 2.0) ** 2
    return np.sum(2.0 * np.arctan2(np.sqrt(a), np.sqrt(1.0 - a)))


@by_hand
def arc_primal(theta, phi, theta2, phi2):
    s = 0.0
    for i in range(theta.shape[0]):
        u, v = vm.sin((theta2[i] - theta[i]) / 2.0), vm.sin((phi2[i] - phi[i]) / 2.0)
        a = u * u + vm.cos(theta[i]) * vm.cos(theta2[i]) * v * v
        s += 2.0 * vm.arctan2(np.sqrt(a), np.sqrt(1.0 - a))
    return s


@by_hand
def arc_adjoint(theta, phi, theta2, phi2):
    """The sine of theta2 - theta, which the derivative needs, is made of sines and cosines that are there."""
    total = 0.0
    a_bar, b_bar, c_bar, d_bar = np.empty_like(theta), np.empty_like(phi), np.empty_like(theta2), np.empty_like(phi2)
    for i in range(theta.shape[0]):
        half, v = (phi2[i] - phi[i]) / 2.0, vm.sin((theta2[i] - theta[i]) / 2.0)
        s, c, s2, c2, u = vm.sin(theta[i]), vm.cos(theta[i]), vm.sin(theta2[i]), vm.cos(theta2[i]), vm.sin(half)
        a = v * v + c * c2 * u * u
        root = np.sqrt(a * (1.0 - a))
        total += 2.0 * vm.arctan2(np.sqrt(a), np.sqrt(1.0 - a))
        along, across = 0.5 * (s2 * c - c2 * s) / root, c * c2 * u * vm.cos(half) / root
        a_bar[i], c_bar[i] = -along - s * c2 * u * u / root, along - c * s2 * u * u / root
        b_bar[i], d_bar[i] = -across, across
    return total, a_bar, b_bar, c_bar, d_bar


def arc_arguments(r, tiny):
    n = 30 if tiny else 500_000
    return r.random(n) + 0.3, r.random(n), r.random(n) + 1.4, r.random(n) + 1.1


benchmark("arc distances", arc_distance, arc_arguments, (0, 1, 2, 3), primals=(arc_primal,),
          adjoint=arc_adjoint, jax=True, torch=True, autograd=True)


def softmax_cross_entropy(logits, labels):
    shifted = logits - np.max(logits, axis=1, keepdims=True)
    log_z = np.log(np.sum(np.exp(shifted), axis=1))
    return np.mean(log_z - shifted[np.arange(len(labels)), labels])


@by_hand
def softmax_primal(logits, labels):
    n, m = logits.shape
    total = 0.0
    for i in range(n):
        row = logits[i]
        top = row[0]
        for j in range(m):
            top = max(top, row[j])
        z = 0.0
        for j in range(m):
            z += vm.exp(row[j] - top)
        total += np.log(z) - (row[labels[i]] - top)
    return total / n


@by_hand
def softmax_adjoint(logits, labels):
    n, m = logits.shape
    bar = np.empty_like(logits)
    total = 0.0
    for i in range(n):
        row, out = logits[i], bar[i]
        top = row[0]
        for j in range(m):
            top = max(top, row[j])
        z = 0.0
        for j in range(m):
            e = vm.exp(row[j] - top)
            out[j] = e
            z += e
        total += np.log(z) - (row[labels[i]] - top)
        scale = 1.0 / (z * n)
        for j in range(m):
            out[j] *= scale
        out[labels[i]] -= 1.0 / n
    return total / n, bar


def softmax_arguments(r, tiny):
    n, m = (6, 4) if tiny else (4000, 250)
    return r.standard_normal((n, m)), r.integers(0, m, n)


benchmark("softmax cross-entropy", softmax_cross_entropy, softmax_arguments, (0,), primals=(softmax_primal,),
          adjoint=softmax_adjoint, jax=True, autograd=True)


@also("softmax cross-entropy", "torch")
def softmax_torch(torch):
    return lambda logits, labels: torch.nn.functional.cross_entropy(logits, labels)


def distances(x, y):
    """A smooth function of all pairwise distances, written with broadcasting."""
    gap = x[:, None, :] - y[None, :, :]
    r = np.sqrt(np.sum(gap * gap, axis=2) + 0.01)
    return np.sum(np.exp(-r) / r)


@by_hand
def distances_primal(x, y):
    n, m, d = x.shape[0], y.shape[0], x.shape[1]
    total = 0.0
    for i in range(n):
        for j in range(m):
            s = 0.01
            for k in range(d):
                gap = x[i, k] - y[j, k]
                s += gap * gap
            r = np.sqrt(s)
            total += vm.exp(-r) / r
    return total


@by_hand
def distances_adjoint(x, y):
    """Row by row, coordinates apart: what both sweeps need of a row stays in the first cache."""
    n, m, d, total = x.shape[0], y.shape[0], x.shape[1], 0.0
    columns, columns_bar, x_bar, squares = y.T.copy(), np.zeros((d, m)), np.empty_like(x), np.empty(m)
    for i in range(n):
        squares[:] = 0.01
        for k in range(d):
            column, p = columns[k], x[i, k]
            for j in range(m):
                squares[j] += (p - column[j]) * (p - column[j])
        for j in range(m):
            r = np.sqrt(squares[j])
            e = vm.exp(-r) / r
            total += e
            squares[j] = -e * (1.0 + r) / squares[j]
        for k in range(d):
            column, bar, p, s = columns[k], columns_bar[k], x[i, k], 0.0
            for j in range(m):
                t = squares[j] * (p - column[j])
                s += t
                bar[j] -= t
            x_bar[i, k] = s
    return total, x_bar, columns_bar.T.copy()


def distances_arguments(r, tiny):
    n = 7 if tiny else 700
    return r.standard_normal((n, 3)), r.standard_normal((n, 3))


benchmark("pairwise distances", distances, distances_arguments, (0, 1), primals=(distances_primal,),
          adjoint=distances_adjoint, jax=True, torch=True, autograd=True)


def rosenbrock(x, y):
    return (1.0 - x) ** 2 + 100.0 * (y - x * x) ** 2


@by_hand
def rosenbrock_adjoint(x, y):
    a, b = 1.0 - x, 200.0 * (y - x * x)
    return a * a + 0.0025 * b * b, -2.0 * (a + b * x), b


benchmark("Rosenbrock 2-D, one call", rosenbrock, lambda r, tiny: (0.3, 0.7), (0, 1), adjoint=rosenbrock_adjoint, jax=True,
          torch=True, autograd=True)
