"""Counts of events in files, fitted by two processes: `sharded` sums losses and gradients in one order, whoever is first.

A Poisson regression: the rate of an event is exp(b + x . w). Each file holds some of the observations, and is read by the
process that works on it. L-BFGS gets the loss and the gradient over all of them.

    python examples/sharded_fit.py [--files 6] [--rows 20000] [--figure PATH]
"""

import argparse
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

from autodiff import sharded

TRUTH = {"b": 0.3, "w": np.array([0.5, -0.4, 0.0, 0.2])}


def surprise(p, table):
    """The mean of rate - count * log(rate) over the rows of a table: counts, then what they depend on."""
    total = 0.0
    for i in range(table.shape[0]):
        log_rate = p[0]
        for j in range(1, table.shape[1]):
            log_rate += p[j] * table[i, j]
        total += np.exp(log_rate) - table[i, 0] * log_rate
    return total / table.shape[0]


def write(path, rows, rng):
    x = rng.normal(size=(rows, len(TRUTH["w"])))
    counts = rng.poisson(np.exp(TRUTH["b"] + x @ TRUTH["w"]))
    np.save(path, np.column_stack([counts.astype(float), x]))


def draw(path, fitted, errors):
    """Fitted coefficients with three standard errors, beside the truth."""
    from matplotlib.figure import Figure  # only the picture needs it

    figure = Figure(figsize=(6, 2.8), layout="constrained")
    axes = figure.subplots()
    names = ["b", *(f"w[{k}]" for k in range(len(TRUTH["w"])))]
    axes.errorbar(names, fitted - [TRUTH["b"], *TRUTH["w"]], yerr=3.0 * errors, fmt="o", capsize=4,
                  label="fitted, three standard errors")
    axes.axhline(0.0, color="black", linewidth=0.8, label="truth")
    axes.set(ylabel="distance from the truth")
    axes.legend(fontsize="small")
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=6)
    parser.add_argument("--rows", type=int, default=20_000, help="of the largest file")
    parser.add_argument("--figure", metavar="PATH", help="draw the result into this file (needs matplotlib)")
    chosen = parser.parse_args()
    rng = np.random.default_rng(0)
    start = np.zeros(1 + len(TRUTH["w"]))
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{k}.npy" for k in range(chosen.files)]
        for k, path in enumerate(files):
            write(path, chosen.rows // (k + 1), rng)
        alone = sharded(surprise, files, load=np.load, reduce="mean")
        with ProcessPoolExecutor(2, get_context("spawn")) as pool:
            total = sharded(surprise, files, load=np.load, map=pool.map, reduce="mean")
            began = time.perf_counter()
            found = minimize(total.value_and_grad, start, jac=True, method="L-BFGS-B", tol=1e-12)
            seconds = time.perf_counter() - began
            bits = np.array_equal(total.grad(found.x), alone.grad(found.x))
        curvature = np.array([alone.hvp(found.x, unit) for unit in np.eye(len(start))])
        rows = sum(chosen.rows // (k + 1) for k in range(chosen.files))
    errors = np.sqrt(np.diag(np.linalg.inv(curvature)) / rows)
    print(f"{rows} observations in {chosen.files} files, {found.nfev} losses with gradients in {seconds:.1f} s;")
    print(f"gradients on one process and on two have the same bits: {bits}\n")
    print("           fitted   standard error     truth")
    for name, value, error, truth in zip(["b", *(f"w[{k}]" for k in range(len(TRUTH["w"])))], found.x, errors,
                                         [TRUTH["b"], *TRUTH["w"]], strict=True):
        print(f"{name:8} {value:8.4f} {error:16.4f} {truth:9.2f}")
    if chosen.figure:
        draw(chosen.figure, found.x, errors)
    assert bits and np.all(np.abs(found.x - [TRUTH["b"], *TRUTH["w"]]) < 5 * errors)


if __name__ == "__main__":
    main()
