"""Time loops whose tape leaves the cache: in segments, as they are taken by themselves, beside one tape."""

from __future__ import annotations

import numpy as np

from autodiff import differentiable
from autodiff.operators.gradients import Gradient
from autodiff.options import Options

from .tools import paired


def diffused(u, c, steps):
    for _ in range(steps):
        u = u + c * (np.roll(u, 1) - 2.0 * u + np.roll(u, -1)) * u
    return np.sum(u * u)


def shallow_water(h, u, v, steps, dt):
    for _ in range(steps):
        hx, hy = 0.5 * (np.roll(h, -1, 0) - np.roll(h, 1, 0)), 0.5 * (np.roll(h, -1, 1) - np.roll(h, 1, 1))
        ux, uy = 0.5 * (np.roll(u, -1, 0) - np.roll(u, 1, 0)), 0.5 * (np.roll(u, -1, 1) - np.roll(u, 1, 1))
        vx, vy = 0.5 * (np.roll(v, -1, 0) - np.roll(v, 1, 0)), 0.5 * (np.roll(v, -1, 1) - np.roll(v, 1, 1))
        across, along = u - dt * (u * ux + v * uy + 9.8 * hx), v - dt * (u * vx + v * vy + 9.8 * hy)
        h = h - dt * (u * hx + v * hy + h * (ux + vy))
        u, v = across, along
    return np.sum(h * h) + np.sum(u * v)


def reaction(u, v, steps, k):
    for _ in range(steps):
        r = u * v ** 2
        around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        u[1:-1, 1:-1] += 0.1 * (around - 4.0 * u[1:-1, 1:-1]) - r[1:-1, 1:-1]
        v += r - k * v
    return np.sum(v * v) + np.sum(u)


def oscillating(u, c, steps):
    """Its sine takes longer than the way of a number to memory and back: one tape is better."""
    for _ in range(steps):
        u = u + c * np.sin(np.roll(u, 1) - u)
    return np.sum(u * u)


def segments(quick: bool) -> None:
    """Nanoseconds an element and step, by each of the two programs, and the bytes of their buffers."""
    r = np.random.default_rng(0)
    side, line, steps = (12, 40, 3) if quick else (128, 10_000, 300)
    water = 1.0 + 0.1 * r.random((side, side)), *0.1 * r.random((2, side, side)), steps, 1e-3
    fields = r.random((2, 3 * side // 2, 3 * side // 2))
    cases = [(shallow_water, water, (0, 1, 2)), (reaction, (*fields, steps, 0.1), (0, 1)),
             (diffused, (r.random(line), 0.01, 4 * steps), 0), (oscillating, (r.random(line), 0.1, 4 * steps), 0)]
    for function, args, wrt in cases:
        def run(call, args=args):
            return lambda: call(*(a.copy() if isinstance(a, np.ndarray) else a for a in args))
        primal = differentiable(function)
        whole = Gradient(function, wrt, options=Options(segments="never"))
        asked = Gradient(function, wrt)
        each = 1e-9 * args[0].size * next(a for a in args if isinstance(a, int))
        for call in (primal, whole, asked):
            run(call)()
        a, b = paired(run(whole), run(asked), 3 if quick else 9)
        c, _ = paired(run(primal), run(asked), 3)
        sizes = [made.tape.bill(*args).total / 1e6 for made in (whole, asked)]
        print(f"{function.__name__:16s} primal {c / each:5.2f} ns   one tape {a / each:6.2f} ns, {sizes[0]:6.1f} MB   "
              f"by itself {b / each:6.2f} ns, {sizes[1]:6.1f} MB   {a / b:4.2f} times")
