"""Checking gradients and rules against central differences."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np

from .api import value_and_grad, vjp
from .compiled import Compiled
from .transforms.errors import AutodiffError


class GradientMismatch(AutodiffError, AssertionError):
    """A gradient that disagrees with central differences."""


@dataclass(frozen=True)
class GradientReport:
    """What `check_grads` measured: the largest relative error over the directions tried, and where it was."""

    worst: float
    argument: str
    direction: int


def check_grads(function, args, *, wrt=None, directions: int = 3, tolerance: float = 1e-5, mode: str = "numba",
                seed: int = 0) -> GradientReport:
    """Compare the gradient of a scalar function with central differences along random directions.

    function: returns a float. args: tuple of its arguments. wrt: names or positions (default: every float argument).
    Steps 1e-4 to 1e-6, the best taken. Raises GradientMismatch, naming the worst component and its share of the
    generated source, if the relative error exceeds `tolerance`.
    """
    plain = function.function if isinstance(function, Compiled) else function
    if wrt is None:
        wrt = tuple(k for k, a in enumerate(args) if is_float(a))
    positions = wrt if isinstance(wrt, tuple) else (wrt,)
    made = value_and_grad(plain, wrt=positions, mode=mode)
    _, gradients = made(*copy.deepcopy(args))
    generator = np.random.default_rng(seed)
    worst = GradientReport(0.0, "", 0)
    for position, gradient in zip(positions, gradients, strict=True):
        index = position if isinstance(position, int) else list(made._latest.generated.lowered.trees).index(position)
        for k in range(directions):
            d = generator.standard_normal(np.shape(args[index]))
            slope = float(np.sum(np.asarray(gradient) * d))
            error = min(abs(slope - s) / max(1e-8, abs(s), abs(slope)) for s in
                        (difference(plain, args, index, d, h) for h in (1e-4, 1e-5, 1e-6)))
            if error > worst.worst or not np.isfinite(error):
                worst = GradientReport(float(error), str(position), k)
    if not worst.worst <= tolerance:
        raise GradientMismatch(
            f"the gradient of `{made.__name__}` with respect to argument {worst.argument} differs from central "
            f"differences by {worst.worst:.1e} (relative)\n{component(plain, args, positions, gradients)}", None,
            f"look at the generated source: value_and_grad({made.__name__}).source")
    return worst


def is_float(a) -> bool:
    return isinstance(a, (float, np.floating)) or (isinstance(a, np.ndarray) and a.dtype.kind == "f")


def difference(function, args, index, direction, h) -> float:
    sides = []
    for sign in (1.0, -1.0):
        moved = list(copy.deepcopy(args))
        moved[index] = moved[index] + sign * h * direction
        sides.append(float(function(*moved)))
    return (sides[0] - sides[1]) / (2.0 * h)


def component(function, args, positions, gradients) -> str:
    """The single component of the gradient that is most wrong."""
    found = (0.0, "")
    for position, gradient in zip(positions, gradients, strict=True):
        if not isinstance(position, int):
            continue
        flat = np.atleast_1d(np.asarray(gradient, dtype=float))
        for place in np.ndindex(flat.shape):
            d = np.zeros(flat.shape)
            d[place] = 1.0
            slope = difference(function, args, position, d.reshape(np.shape(args[position])), 1e-5)
            gap = float(abs(slope - flat[place]))
            if gap > found[0]:
                found = (gap, f"worst component: argument {position}{list(place)}: gradient {flat[place]:.6g}, "
                              f"difference {slope:.6g}")
    return found[1]


def check_rule(function, points, *, tolerance: float = 1e-6) -> None:
    """Test the derivative rule of an elementwise function or of a function of arrays at `points` (tuples of arguments).

    The rule in force is used through `vjp`; raises GradientMismatch where it disagrees with central differences.
    """
    for args in points:
        args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
        def call(*xs):
            return function(*xs)
        out, pullback = vjp(function if hasattr(function, "__code__") else wrapper(function, len(args)), *args,
                            mode="python")
        weights = np.random.default_rng(1).standard_normal(np.shape(out))
        bars = pullback(weights if np.shape(out) else float(weights))
        for k, (a, bar) in enumerate(zip(args, bars, strict=True)):
            if not is_float(a):
                continue
            d = np.random.default_rng(k).standard_normal(np.shape(a))
            slope = float(np.sum(bar * d))
            errors = []
            for h in (1e-4, 1e-5, 1e-6):
                up, down = (list(args) for _ in range(2))
                up[k], down[k] = a + h * d, a - h * d
                fd = float(np.sum(weights * (np.asarray(call(*up)) - np.asarray(call(*down))))) / (2 * h)
                errors.append(abs(slope - fd) / max(1e-8, abs(fd), abs(slope)))
            if not min(errors) <= tolerance:
                raise GradientMismatch(f"the rule of `{getattr(function, '__name__', function)}` is wrong for argument {k} "
                                       f"at {args}: relative error {min(errors):.1e}")


def wrapper(function, count):
    """A Python function that calls `function`, for callables without source."""
    if count == 1:
        return lambda x: function(x)
    if count == 2:
        return lambda x, y: function(x, y)
    return lambda x, y, z: function(x, y, z)
