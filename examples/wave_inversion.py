"""Find the speed of sound in layered ground from seismograms: full-waveform inversion in one dimension, with
checkpoints.

A source at the surface sends a wave down; receivers near it record what comes back, with some noise. The misfit of
the records has one unknown per cell, its gradient goes back through every time step, and `checkpoint` keeps a few
copies of the wave instead of a tape of all. The same function runs on the CPU and on an NVIDIA GPU. The source is one
push: its spectrum reaches down to zero, and so the slow changes of speed with depth are seen too.

    python examples/wave_inversion.py [--target cuda] [--cells 120] [--steps 800] [--iterations 300] [--snapshots 25]
                                      [--figure PATH]

The exit status is 1 if the recovered speeds are not four times as close to the true ones as the smooth model of the start.
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
FREQUENCY = 10.0        # hertz, about the highest that the source has
NOISE = 0.01            # of the records, by their standard deviation
RECEIVERS = 6           # in the first cells


def push(t):
    """The force of the source at time t (s): Gauss' curve, delayed so that it starts near zero."""
    return np.exp(-(np.pi * FREQUENCY * (t - 1.0 / FREQUENCY)) ** 2)


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
        after[1] += STEP**2 * 1e5 * push(t * STEP)
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
        after[1] += STEP**2 * 1e5 * push(t * STEP)
        after[-1] = now[-1] - speed[-1] * STEP / SPACING * (now[-1] - now[-2])
        before, now = now, after
        records[t] = now[1:RECEIVERS + 1]
    return records


def draw(path, records, start, true, found):
    """What the first receiver records, and the speeds: of the start, true and found."""
    from matplotlib.figure import Figure  # only the picture needs it

    figure = Figure(figsize=(7.5, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(np.arange(len(records)) * STEP, records[:, 0], linewidth=1.0)
    echo = np.abs(records[len(records) // 4:, 0]).max()
    left.set(xlabel="time (s)", ylabel="first receiver (the push is cut off)", xlim=(0.0, len(records) * STEP),
             ylim=(-1.5 * echo, 1.5 * echo))
    depth = np.arange(len(true)) * SPACING
    right.plot(depth, start, ":", color="gray", label="start")
    right.plot(depth, true, color="black", label="true")
    right.plot(depth, found, color="tab:red", label="found")
    right.set(xlabel="depth (m)", ylabel="speed (m/s)")
    right.legend(fontsize="small")
    figure.savefig(path, dpi=100)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--cells", type=int, default=120, help="of 10 m each")
    parser.add_argument("--steps", type=int, default=800, help="of 2 ms each")
    parser.add_argument("--iterations", type=int, default=300, help="of L-BFGS, at most")
    parser.add_argument("--snapshots", type=int, default=25, help="copies of the wave kept by the gradient")
    parser.add_argument("--target", choices=("cpu", "cuda"), default="cpu", help="where the gradient runs")
    parser.add_argument("--figure", metavar="PATH", help="draw the result into this file (needs matplotlib)")
    options = parser.parse_args(arguments)

    depth = np.arange(options.cells) / options.cells
    start = 1800.0 + 900.0 * depth
    true = start + 250.0 * (np.abs(depth - 0.35) < 0.07) - 200.0 * (np.abs(depth - 0.62) < 0.08)
    records = simulate(true, options.steps)
    records += NOISE * records.std() * np.random.default_rng(0).standard_normal(records.shape)

    loss = value_and_grad(misfit, target=options.target)

    first = loss(start, records, options.snapshots)[0]

    def scaled(x):                                      # unknowns and values near 1 suit L-BFGS better
        value, gradient = loss(start + 100.0 * x, records, options.snapshots)
        return value / first, 100.0 * gradient / first

    begin = time.perf_counter()
    result = minimize(scaled, np.zeros(options.cells), jac=True, method="L-BFGS-B", bounds=[(-6.0, 6.0)] * options.cells,
                      options={"maxiter": options.iterations, "maxcor": 20, "ftol": 0.0})
    seconds = time.perf_counter() - begin
    found = start + 100.0 * result.x

    last = first * result.fun
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
    if options.figure:
        draw(options.figure, records, start, true, found)
    return 0 if after < 0.25 * before else 1


if __name__ == "__main__":
    sys.exit(main())
