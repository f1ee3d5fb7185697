"""Recover the initial temperature of a plate from a noisy picture of it after heat has diffused.

The simulation is ordinary NumPy: a time loop whose body updates the field with shifted slices. The misfit to
the data has one unknown per grid point (10,000 at the default size); its gradient, generated from the source,
drives scipy's L-BFGS.

    python examples/heat_inversion.py [--size 100] [--steps 40] [--iterations 200] [--figure PATH]

The exit status is 1 if the recovered field is not closer to the true one than the data are.
"""

import argparse
import sys
import time

import numpy as np
from scipy.optimize import minimize

from autodiff import value_and_grad

RATIO = 0.2             # diffusivity * time step / cell size**2; the explicit scheme is stable up to 0.25
NOISE = 0.01            # standard deviation of the noise, in units of the hottest initial temperature
SMOOTHNESS = 1e-3       # weight of the penalty
EDGE = 0.02             # temperature step from one cell to the next above which the penalty sees an edge


def diffuse(initial, steps, ratio):
    """The temperature after `steps` explicit time steps; the border of the plate is kept as it was."""
    u = initial.copy()
    for _ in range(steps):
        u[1:-1, 1:-1] = u[1:-1, 1:-1] + ratio * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        )
    return u


def misfit(initial, data, steps, ratio, weight, edge):
    """Half the squared distance from the data, plus a penalty on roughness that forgives sharp edges.

    The penalty is smoothed total variation, the sum over cells of sqrt(|gradient|**2 + edge**2): quadratic
    in slopes below `edge`, linear above. Source: Vogel and Oman, "Iterative methods for total variation
    denoising", SIAM Journal on Scientific Computing 17 (1996) 227-238.
    """
    residual = diffuse(initial, steps, ratio) - data
    down = initial[1:, :-1] - initial[:-1, :-1]
    across = initial[:-1, 1:] - initial[:-1, :-1]
    roughness = np.sum(np.sqrt(down**2 + across**2 + edge**2))
    return 0.5 * np.sum(residual**2) + weight * roughness


def true_field(size):
    """A smooth hill, a disc and a bar on a cold plate, temperatures from 0 to 1; shape (size, size)."""
    y, x = np.meshgrid(np.linspace(0.0, 1.0, size), np.linspace(0.0, 1.0, size), indexing="ij")
    hill = 0.9 * np.exp(-((x - 0.3) ** 2 + (y - 0.3) ** 2) / 0.015)
    disc = np.where((x - 0.68) ** 2 + (y - 0.35) ** 2 < 0.018, 1.0, 0.0)
    bar = np.where((np.abs(x - 0.5) < 0.3) & (np.abs(y - 0.75) < 0.06), 0.7, 0.0)
    return np.maximum(np.maximum(hill, disc), bar)


def recover(data, steps, iterations):
    """The field whose diffusion explains `data`, by L-BFGS from the data themselves, and scipy's result."""
    loss = value_and_grad(misfit)

    def on_vectors(flat):
        value, gradient = loss(flat.reshape(data.shape), data, steps, RATIO, SMOOTHNESS, EDGE)
        return value, gradient.ravel()

    result = minimize(on_vectors, data.ravel(), jac=True, method="L-BFGS-B",
                      options={"maxiter": iterations, "maxfun": 2 * iterations, "ftol": 1e-10})
    return result.x.reshape(data.shape), result


def draw(path, panels):
    """The 2-D arrays of `panels`, a dict from title to array, side by side."""
    from matplotlib.figure import Figure  # only the picture needs it

    figure = Figure(figsize=(8, 2.8), layout="constrained")
    axes = figure.subplots(1, len(panels))
    for axis, (title, field) in zip(axes, panels.items(), strict=True):
        image = axis.imshow(field, vmin=0.0, vmax=1.0, cmap="inferno", origin="lower")
        axis.set_title(title, fontsize="medium")
        axis.set_axis_off()
    figure.colorbar(image, ax=axes, label="temperature", shrink=0.8)
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--size", type=int, default=100, help="grid points along each side")
    parser.add_argument("--steps", type=int, default=40, help="time steps of the simulation")
    parser.add_argument("--iterations", type=int, default=200, help="of L-BFGS, at most")
    parser.add_argument("--figure", metavar="PATH", help="draw the result into this file (needs matplotlib)")
    options = parser.parse_args()

    true = true_field(options.size)
    noise = NOISE * np.random.default_rng(0).standard_normal(true.shape)
    data = diffuse(true, options.steps, RATIO) + noise

    start = time.perf_counter()
    recovered, result = recover(data, options.steps, options.iterations)
    seconds = time.perf_counter() - start

    def relative_error(field):
        return np.linalg.norm(field - true) / np.linalg.norm(true)

    before, after = relative_error(data), relative_error(recovered)
    print(f"{true.size} unknowns, {options.steps} time steps, noise {NOISE:.0%}")
    print(f"L-BFGS: {result.nit} iterations, {result.nfev} gradients, {seconds:.1f} s with compilation")
    print(f"relative error of the initial field: {before:.3f} taking the data for it, {after:.3f} recovered")
    if options.figure:
        draw(options.figure, {"initial field": true, "data: diffused, noisy": data, "recovered": recovered})
    return 0 if after < before else 1


if __name__ == "__main__":
    sys.exit(main())
