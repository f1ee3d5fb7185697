"""Sparse Jacobians and Hessians beside the function itself: `python -m tests.benchmarks --only sparse`."""

from __future__ import annotations

import time

import numpy as np

from autodiff import differentiable, hessian, jacobian

from .suite.bundle import projected


def burgers_by_slices(u, nu, dx):
    r = np.empty(len(u))
    r[1:-1] = u[1:-1] * (u[2:] - u[:-2]) / (2 * dx) - nu * (u[2:] - 2 * u[1:-1] + u[:-2]) / dx ** 2
    r[0], r[-1] = u[0], u[-1]
    return r


def burgers_on_a_ring(u, nu, dx):
    left, right = np.roll(u, 1), np.roll(u, -1)
    return u * (right - left) / (2 * dx) - nu * (right - 2 * u + left) / dx ** 2


def burgers_by_loops(u, nu, dx):
    n = len(u)
    r = np.empty(n)
    for i in range(n):
        left, right = u[(i - 1) % n], u[(i + 1) % n]
        r[i] = u[i] * (right - left) / (2 * dx) - nu * (right - 2 * u[i] + left) / dx ** 2
    return r


def reprojections(cams, points, w, feat, cam_of, point_of):
    """ADBench's residuals, of observations that share cameras and points."""
    e = np.empty((len(w), 2))
    for i in range(len(w)):
        u, v = projected(cams[cam_of[i]], points[point_of[i]])
        e[i, 0] = w[i] * (u - feat[i, 0])
        e[i, 1] = w[i] * (v - feat[i, 1])
    return e


def chain_energy(x):
    """Springs that stiffen, between neighbours."""
    stretch = x[1:] - x[:-1]
    return np.sum(0.5 * stretch ** 2 + 0.25 * stretch ** 4) + np.sum(1.0 - np.cos(x))


def cases(quick: bool):
    r = np.random.default_rng(0)
    n = 200 if quick else 100_000
    u = np.sin(np.linspace(0.0, 6.0, n))
    for function in (burgers_by_slices, burgers_on_a_ring, burgers_by_loops):
        yield function.__name__.replace("_", " "), function, (u, 0.1, 0.3), jacobian(function, sparse=True)
    c, p, k = (3, 10, 30) if quick else (50, 5000, 30_000)
    scene = (r.random((c, 11)) * 0.1 + 0.3, r.random((p, 3)) + 1.0, r.random(k), r.random((k, 2)), r.integers(0, c, k),
             r.integers(0, p, k))
    yield "bundle adjustment", reprojections, scene, jacobian(reprojections, wrt=(0, 1, 2), sparse=True)
    yield "chain energy, Hessian", chain_energy, (u,), hessian(chain_energy, sparse=True)


def seconds(call, rounds: int) -> float:
    """The lower quartile: what disturbs the machine makes calls longer only."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return float(np.quantile(times, 0.25))


def sparse(quick: bool) -> None:
    for name, function, args, derivative in cases(quick):
        plain = differentiable(function)
        plain(*args)
        start = time.perf_counter()
        derivative(*args)
        first = time.perf_counter() - start
        rounds = 3 if quick else 40
        a, b = seconds(lambda f=plain, x=args: f(*x), rounds), seconds(lambda f=derivative, x=args: f(*x), rounds)
        s = derivative.sparsity
        print(f"{name:26s} {s.shape[0]:7d} x {s.shape[1]:6d}  {s.nnz:8d} entries  {s.colours:3d} colours   function "
              f"{a * 1e3:7.3f} ms   derivative {b * 1e3:7.3f} ms   {b / a:5.1f} times   first call {first:5.1f} s")


__all__ = ["sparse"]
