"""Adjoints of users' own kernels against central differences, under the simulator and on a GPU."""

import numpy as np
import pytest


def copies(args):
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


def run(k, grid, block, args):
    args = copies(args)
    k[grid, block](*args)
    return args


def check(k, grid, block, args):
    """Compare a pullback with central differences along a random direction of each argument."""
    rng = np.random.default_rng(3)
    names = list(k.signature.parameters)
    launched = copies(args)
    pullback = k.vjp[grid, block](*launched)
    made = k.latest
    for x, y in zip(launched, run(k, grid, block, args), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-13, atol=1e-13)
    seeds = {made.names[j]: rng.normal(size=args[j].shape) for j in made.writes if args[j].dtype.kind == "f"}
    found = pullback(**seeds)

    def loss(args):
        out = run(k, grid, block, args)
        return sum(np.sum(bar * out[names.index(name)]) for name, bar in seeds.items())
    for j, (name, x) in enumerate(zip(names, args, strict=True)):
        if np.asarray(x).dtype.kind != "f":
            assert name not in found
            continue
        direction = rng.normal(size=np.shape(x))
        ahead, behind = ([*args[:j], x + h * direction, *args[j + 1:]] for h in (1e-6, -1e-6))
        slope = (loss(ahead) - loss(behind)) / 2e-6
        assert np.sum(direction * found[name]) == pytest.approx(slope, rel=2e-7, abs=2e-7), name
    return made
