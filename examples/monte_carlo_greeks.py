"""Sensitivities ("Greeks") of average-price options by Monte Carlo: the gradient of every path, on the CPU or a GPU.

A call option pays what the average of prices on some days exceeds the strike by. Its value is the mean over simulated paths,
and the mean of the paths' derivatives is the derivative of the value (the pathwise method), though the payoff has a kink.
For the geometric average there is a closed form: estimates and their standard errors are set against it. For the arithmetic
average there is none: they are set against differences of values of the same paths.

    python examples/monte_carlo_greeks.py [--target cuda] [--paths 200000] [--steps 52] [--figure PATH]

The exit status is 1 if an estimate is further off than chance allows.
Sources: M. Broadie, P. Glasserman, "Estimating security price derivatives using simulation", Management Science 42 (1996)
269-285; A. Kemna, A. Vorst, "A pricing method for options based on average asset values", J. Banking & Finance 14 (1990).
"""

import argparse
import math
import sys
import time

import numpy as np

from autodiff import grad, value_and_grad

STRIKE, MATURITY = 100.0, 1.0
MARKET = {"spot": 100.0, "volatility": 0.3, "rate": 0.05}
GREEKS = {"spot": "delta", "volatility": "vega", "rate": "rho"}


def value(market, normals, geometric):
    """Mean discounted payoff over paths; normals: shape (steps, paths), a column for each path."""
    steps, paths = normals.shape
    dt = MATURITY / steps
    drift = (market["rate"] - 0.5 * market["volatility"] ** 2) * dt
    spread = market["volatility"] * math.sqrt(dt)
    total = 0.0
    for i in range(paths):
        log = math.log(market["spot"])
        logs = prices = 0.0
        for t in range(steps):
            log += drift + spread * normals[t, i]
            logs += log
            prices += math.exp(log)
        average = math.exp(logs / steps) if geometric else prices / steps
        total += max(average - STRIKE, 0.0)
    return math.exp(-market["rate"] * MATURITY) * total / paths


def closed_form(market, steps):
    """Value for the geometric average, which is lognormal (Kemna and Vorst)."""
    volatility, rate = market["volatility"], market["rate"]
    mean = math.log(market["spot"]) + (rate - 0.5 * volatility**2) * MATURITY * (steps + 1) / (2 * steps)
    spread = volatility * math.sqrt(MATURITY * (steps + 1) * (2 * steps + 1) / (6 * steps**2))
    d = (mean - math.log(STRIKE)) / spread
    above, below = [0.5 * (1.0 + math.erf(x / math.sqrt(2.0))) for x in (d + spread, d)]
    return math.exp(-rate * MATURITY) * (math.exp(mean + 0.5 * spread**2) * above - STRIKE * below)


def estimates(target, paths, steps, geometric, batches=20):
    """(means, standard errors) of value, delta, vega, rho, from batches with normal numbers of their own."""
    estimate = value_and_grad(value, target=target)
    found = []
    for batch in range(batches):
        normals = np.random.default_rng(batch).standard_normal((steps, paths // batches))
        v, g = estimate(MARKET, normals, geometric)
        found.append([float(x) for x in (v, *g.values())])
    return np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / math.sqrt(batches)


def differences(target, paths, steps, geometric, batches=20, width=1e-4):
    """Delta, vega, rho by central differences, with the same normal numbers."""
    run = value_and_grad(value, target=target).primal
    found = []
    for batch in range(batches):
        normals = np.random.default_rng(batch).standard_normal((steps, paths // batches))
        ends = [[float(run({**MARKET, name: MARKET[name] * (1.0 + side)}, normals, geometric)) for side in (width, -width)]
                for name in MARKET]
        found.append([(up - down) / (2.0 * width * x) for (up, down), x in zip(ends, MARKET.values(), strict=True)])
    return np.mean(found, axis=0)


def draw(path, *averages):
    """The sensitivities by gradients of the paths, with four standard errors, beside the closed form and the differences."""
    from matplotlib.figure import Figure  # only the picture needs it

    figure = Figure(figsize=(7.5, 2.8), layout="constrained")
    for k, (axes, name) in enumerate(zip(figure.subplots(1, 3), GREEKS.values(), strict=True)):
        for where, (found, errors, others) in enumerate(averages):
            axes.errorbar([where], [found[k + 1]], yerr=[4.0 * errors[k + 1]], fmt="o", capsize=6, color="tab:blue",
                          label=None if where else "gradients of paths")
            axes.plot([where], [others[k + 1]], "x", color="black", markersize=9,
                      label=None if where else "closed form, differences")
        axes.set(title=name, xticks=(0, 1), xticklabels=("geometric", "arithmetic"), xlim=(-0.5, 1.5))
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize="small")
    figure.savefig(path, dpi=100)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--target", choices=("cpu", "cuda"), default="cpu", help="where the paths are simulated")
    parser.add_argument("--paths", type=int, default=200_000)
    parser.add_argument("--steps", type=int, default=52, help="days that the average is taken over")
    parser.add_argument("--figure", metavar="PATH", help="draw the result into this file (needs matplotlib)")
    options = parser.parse_args(arguments)
    size = options.target, options.paths, options.steps

    exact = [closed_form(MARKET, options.steps), *grad(closed_form)(MARKET, options.steps).values()]
    start = time.perf_counter()
    (geometric, errors), (arithmetic, others) = (estimates(*size, geometric) for geometric in (True, False))
    seconds = time.perf_counter() - start
    against = differences(*size, False)

    print(f"2 x {options.paths} paths of {options.steps} steps on target {options.target!r}: values and gradients in "
          f"{seconds:.1f} s with compilation")
    print(f"{'':8}{'geometric average':>32}{'closed form':>14}{'arithmetic average':>38}{'differences':>14}")
    for k, name in enumerate(("value", *GREEKS.values())):
        print(f"{name:8}{geometric[k]:20.4f} ± {errors[k]:9.4f}{exact[k]:14.4f}{arithmetic[k]:26.4f} ± {others[k]:9.4f}"
              + (f"{against[k - 1]:14.4f}" if k else ""))
    if options.figure:
        draw(options.figure, (geometric, errors, exact), (arithmetic, others, [np.nan, *against]))
    right = np.all(np.abs(geometric - exact) < 4.0 * errors) and np.all(np.abs(arithmetic[1:] - against) < others[1:])
    print("within four standard errors of the closed form, and one of the differences" if right else "too far off")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
