"""Find the speed of sound in layered ground from seismograms: full-waveform inversion in one dimension, with
checkpoints.

A source at the surface sends a wave down; receivers near it record what comes back. The misfit of the records has
one unknown per cell, its gradient goes back through every time step, and `checkpoint` keeps a few copies of the
wave instead of a tape of all. The same function runs on the CPU and on an NVIDIA GPU.

    python examples/wave_inversion.py [--target cuda] [--cells 120] [--steps 800] [--iterations 120] [--snapshots 25]

The exit status is 1 if the recovered speeds are not closer to the true ones than the smooth model of the start.
Source: A. Tarantola, "Inversion of seismic reflection data in the acoustic approximation", Geophysics 49 (1984)
1259-1266.
"""

import argparse
import sys
import time

import numpy as np
from scipy.optimize import minimize

from autodiff import checkpoint, value_and_grad

SPACING = 10.0          # metres
STEP = 0.002            # seconds
FREQUENCY = 6.0         # hertz, the peak of the source
RECEIVERS = 6           # in the first cells


def wavelet(t):
    """Ricker's wavelet at time t (s), delayed so that it starts near zero."""
    a = (np.pi * FREQUENCY * (t - 1.2 / FREQUENCY)) ** 2
    return (1.0 - 2.0 * a) * np.exp(-a)


def misfit(speed, records, snapshots):
    """Half the squared distance between computed and recorded waves.

    speed: metres a second, one for each cell; records: shape (steps, RECEIVERS).
    """
    steps = records.shape[0]
    courant = (speed * STEP / SPACING) ** 2
    now, before = np.zeros_like(speed), np.zeros_like(speed)
    total = 0.0
    for t in checkpoint(range(steps), snapshots=snapshots):
        bend = np.zeros_like(now)
        bend[1:-1] = now[2:] - 2.0 * now[1:-1] + now[:-2]
        after = 2.0 * now - before + courant * bend
        after[1] += STEP**2 * 1e5 * wavelet(t * STEP)
        r = speed[-1] * STEP / SPACING                  # the lower end lets waves out (Clayton and Engquist's condition)
        after[-1] = now[-1] - r * (now[-1] - now[-2])
        before, now = now, after
        total += 0.5 * np.sum((now[1:RECEIVERS + 1] - records[t]) ** 2)
    return total


def simulate(speed, steps):
    """What the receivers record: shape (steps, RECEIVERS)."""
    courant = (speed * STEP / SPACING) ** 2
    now, before = np.zeros_like(speed), np.zeros_like(speed)
    records = np.zeros((steps, RECEIVERS))
    for t in range(steps):
        bend = np.zeros_like(now)
        bend[1:-1] = now[2:] - 2.0 * now[1:-1] + now[:-2]
        after = 2.0 * now - before + courant * bend
        after[1] += STEP**2 * 1e5 * wavelet(t * STEP)
        after[-1] = now[-1] - speed[-1] * STEP / SPACING * (now[-1] - now[-2])
        before, now = now, after
        records[t] = now[1:RECEIVERS + 1]
    return records


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--cells", type=int, default=120, help="of 10 m each")
    parser.add_argument("--steps", type=int, default=800, help="of 2 ms each")
    parser.add_argument("--iterations", type=int, default=120, help="of L-BFGS, at most")
    parser.add_argument("--snapshots", type=int, default=25, help="copies of the wave kept by the gradient")
    parser.add_argument("--target", choices=("cpu", "cuda"), default="cpu", help="where the gradient runs")
    options = parser.parse_args(arguments)

    depth = np.arange(options.cells) / options.cells
    start = 1800.0 + 900.0 * depth
    true = start + 250.0 * (np.abs(depth - 0.35) < 0.07) - 200.0 * (np.abs(depth - 0.62) < 0.08)
    records = simulate(true, options.steps)

    loss = value_and_grad(misfit, target=options.target)

    def scaled(x):                                      # unknowns near 1 suit L-BFGS better than metres a second
        value, gradient = loss(start + 100.0 * x, records, options.snapshots)
        return value, 100.0 * gradient

    begin = time.perf_counter()
    result = minimize(scaled, np.zeros(options.cells), jac=True, method="L-BFGS-B", bounds=[(-6.0, 6.0)] * options.cells,
                      options={"maxiter": options.iterations})
    seconds = time.perf_counter() - begin
    found = start + 100.0 * result.x

    first, last = scaled(np.zeros(options.cells))[0], result.fun
    state = 2 * options.cells * 8
    print(f"{options.cells} cells, {options.steps} steps; the gradient keeps {options.snapshots} copies, "
          f"{options.snapshots * state / 1e3:.0f} kB, instead of {options.steps * state / 1e3:.0f} kB")
    print(f"{result.nit} iterations, {result.nfev} gradients on target {options.target!r}, {seconds:.1f} s with "
          f"compilation; misfit {first:.3g} -> {last:.3g}")
    print(f"{'depth (m)':>10}{'start':>9}{'true':>9}{'found':>9}")
    for k in range(0, options.cells, max(options.cells // 12, 1)):
        print(f"{k * SPACING:10.0f}{start[k]:9.0f}{true[k]:9.0f}{found[k]:9.0f}")
    before, after = np.linalg.norm(start - true), np.linalg.norm(found - true)
    print(f"distance from the true speeds: {before:.0f} at the start, {after:.0f} found")
    return 0 if after < before and last < 0.05 * first else 1


if __name__ == "__main__":
    sys.exit(main())
