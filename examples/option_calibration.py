"""Calibrate a volatility surface to option prices, by L-BFGS on gradients of a finite-difference pricer.

The pricer solves Dupire's forward equation by implicit steps, each a tridiagonal system solved in place by loops
(Thomas' algorithm), and reads the prices off its grid. The volatility has a value at each node of a coarse mesh in
strike and time, linear in between. Its gradient is taken through the whole time loop.

    python examples/option_calibration.py [--strikes 81] [--steps 60] [--iterations 120] [--figure PATH]

The exit status is 1 if the prices are not met to a tenth of their noise-free spread.
Source: B. Dupire, "Pricing with a smile", Risk 7 (1994) 18-20; L. H. Thomas, 1949, for the elimination.
"""

import argparse
import sys
import time

import numpy as np
from scipy.optimize import minimize

from autodiff import value_and_grad

SPOT, LOW, HIGH, MATURITY = 100.0, 40.0, 200.0, 1.0
QUOTED = np.array([75.0, 85.0, 92.0, 100.0, 108.0, 118.0, 130.0])      # strikes with a market price
TIMES = np.array([0.25, 0.5, 1.0])                                    # their maturities


def surface(nodes, position, layer):
    """The volatility at a place of the mesh: `position` along strikes and `layer` along time, both in units of its nodes."""
    k = min(int(position), nodes.shape[1] - 2)
    t = min(int(layer), nodes.shape[0] - 2)
    u, v = position - k, layer - t
    return ((1.0 - v) * ((1.0 - u) * nodes[t, k] + u * nodes[t, k + 1])
            + v * ((1.0 - u) * nodes[t + 1, k] + u * nodes[t + 1, k + 1]))


def prices(nodes, n, steps):
    """Call prices at the quoted maturities and strikes, shape (3, 7), without interest.

    nodes: volatilities, shape (times, strikes); n: strikes of the grid; steps: of time, a multiple of 4.
    """
    h, dt = (HIGH - LOW) / (n - 1), MATURITY / steps
    c = np.maximum(SPOT - (LOW + h * np.arange(n)), 0.0)
    upper, right = np.zeros(n), np.zeros(n)
    out = np.zeros((len(TIMES), len(QUOTED)))
    for step in range(1, steps + 1):
        layer = (nodes.shape[0] - 1) * step / steps
        upper[0], right[0] = 0.0, c[0]
        for i in range(1, n - 1):                       # elimination: a c[i-1] + (1 - 2 a) c[i] + a c[i+1] = old c[i]
            strike = LOW + h * i
            sigma = surface(nodes, (nodes.shape[1] - 1) * i / (n - 1), layer)
            a = -0.5 * dt * (sigma * strike / h) ** 2
            pivot = 1.0 - 2.0 * a - a * upper[i - 1]
            upper[i] = a / pivot
            right[i] = (c[i] - a * right[i - 1]) / pivot
        for i in range(n - 2, 0, -1):
            c[i] = right[i] - upper[i] * c[i + 1]
        for m in range(len(TIMES)):
            if step == int(TIMES[m] * steps / MATURITY + 0.5):
                for q in range(len(QUOTED)):
                    place = (QUOTED[q] - LOW) / h
                    k = int(place)
                    out[m, q] = (k + 1 - place) * c[k] + (place - k) * c[k + 1]
    return out


def misfit(nodes, market, n, steps, smoothness):
    """Half the squared distance from market prices, and a penalty on bends of the surface."""
    bends = nodes[:, 2:] - 2.0 * nodes[:, 1:-1] + nodes[:, :-2]
    return 0.5 * np.sum((prices(nodes, n, steps) - market) ** 2) + smoothness * np.sum(bends**2)


def draw(path, strikes, true, nodes, market, found):
    """The volatility surface that was found beside the true one, and the prices."""
    from matplotlib.figure import Figure  # only the picture needs it

    figure = Figure(figsize=(7.5, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for k in range(len(true)):
        left.plot(strikes, true[k], ":", color=f"C{k}")
        left.plot(strikes, nodes[k], "o-", color=f"C{k}", markersize=3, label=f"{k / (len(true) - 1):.2f} years")
    left.axvspan(QUOTED[0], QUOTED[-1], color="gray", alpha=0.15)
    left.set(xlabel="strike (gray: quoted)", ylabel="volatility (dotted: true)", ylim=(0.1, 0.5))
    left.legend(fontsize="small")
    for m, t in enumerate(TIMES):
        right.plot(QUOTED, market[m], "o", color=f"C{m}", label=f"market, {t:.2f} years")
        right.plot(QUOTED, found[m], color=f"C{m}")
    right.set(xlabel="strike", ylabel="price")
    right.legend(fontsize="small")
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--strikes", type=int, default=81, help="strikes of the pricer's grid")
    parser.add_argument("--steps", type=int, default=60, help="time steps, a multiple of 4")
    parser.add_argument("--iterations", type=int, default=120, help="of L-BFGS, at most")
    parser.add_argument("--figure", metavar="PATH", help="draw the result into this file (needs matplotlib)")
    options = parser.parse_args()

    layers, columns = 4, 9
    strikes = np.linspace(LOW, HIGH, columns)
    true = 0.2 + 0.1 * np.exp(-(strikes - 60.0) / 40.0) + 0.03 * np.linspace(1.0, 0.0, layers)[:, None]
    market = prices(true, options.strikes, options.steps)
    start = np.full((layers, columns), 0.25)

    loss = value_and_grad(misfit)

    def on_vectors(flat):
        value, gradient = loss(flat.reshape(start.shape), market, options.strikes, options.steps, 1e-3)
        return value, gradient.ravel()

    begin = time.perf_counter()
    result = minimize(on_vectors, start.ravel(), jac=True, method="L-BFGS-B", bounds=[(0.05, 1.0)] * start.size,
                      options={"maxiter": options.iterations})
    seconds = time.perf_counter() - begin
    found = prices(result.x.reshape(start.shape), options.strikes, options.steps)

    print(f"{start.size} volatilities, {market.size} prices; {result.nit} iterations, {result.nfev} gradients, "
          f"{seconds:.1f} s with compilation")
    print(f"{'strike':>8}" + "".join(f"{f'market {t:.2f} y':>15}{'model':>9}" for t in TIMES))
    for q, strike in enumerate(QUOTED):
        print(f"{strike:8.0f}" + "".join(f"{market[m, q]:15.4f}{found[m, q]:9.4f}" for m in range(len(TIMES))))
    if options.figure:
        draw(options.figure, strikes, true, result.x.reshape(start.shape), market, found)
    worst = np.abs(found - market).max()
    before = np.abs(prices(start, options.strikes, options.steps) - market).max()
    print(f"largest error of a price: {before:.3f} at the start, {worst:.4f} calibrated")
    return 0 if worst < 0.1 * before else 1


if __name__ == "__main__":
    sys.exit(main())
