"""Sensitivities of a stiff system: which rate matters when, in Robertson's three reactions.

The rates differ by nine orders of magnitude; an implicit Runge-Kutta method integrates over eleven decades of
time. One Jacobian gives the derivative of every concentration at every time with respect to the three rates.

    python examples/robertson.py [--decades 5] [--figure PATH]

The exit status is 1 if the sensitivities disagree with differences.
Source: H. Robertson, "The solution of a set of reaction rate equations", 1966; E. Hairer and G. Wanner, Solving
Ordinary Differential Equations II, Springer 1996, section IV.10.
"""

import argparse
import sys
import time

import numpy as np

from autodiff import jacobian, odeint

RATES = np.array([0.04, 1e4, 3e7])


def reactions(y, t, k):
    """dy/dt of the concentrations y: A -> B, B + C -> A + C, 2 B -> B + C."""
    slow = -k[0] * y[0] + k[1] * y[1] * y[2]
    fast = k[2] * y[1] ** 2
    return np.array([slow, -slow - fast, fast])


def concentrations(log_rates, times):
    """The concentrations at each time, shape (len(times), 3), from pure A; rates by their logarithms."""
    return odeint(reactions, np.array([1.0, 0.0, 0.0]), times, np.exp(log_rates), method="rodas", rtol=1e-7, atol=1e-12)


def draw(path, times, y, J):
    """The concentrations over time, and the derivatives of A's by the logarithms of the rates."""
    from matplotlib.figure import Figure  # only the picture needs it

    figure = Figure(figsize=(7.5, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for k, (name, scale) in enumerate((("A", 1.0), ("10,000 B", 1e4), ("C", 1.0))):
        left.semilogx(times, scale * y[:, k], "o-", label=name)
    left.set(xlabel="time (s)", ylabel="concentration")
    for k in range(3):
        right.semilogx(times, J[:, 0, k], "o-", label=f"log k{k + 1}")
    right.set(xlabel="time (s)", ylabel="derivative of A")
    left.legend(fontsize="small")
    right.legend(fontsize="small")
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--decades", type=int, default=5, help="of time, from 0.4 s on")
    parser.add_argument("--figure", metavar="PATH", help="draw the result into this file (needs matplotlib)")
    options = parser.parse_args()

    times = np.concatenate([[0.0], 0.4 * 10.0 ** np.arange(options.decades + 1)])
    logs = np.log(RATES)
    sensitivities = jacobian(concentrations)
    begin = time.perf_counter()
    J = sensitivities(logs, times)                      # (times, 3 concentrations, 3 rates)
    first = time.perf_counter() - begin
    begin = time.perf_counter()
    sensitivities(logs, times)
    again = time.perf_counter() - begin
    y = concentrations(logs, times)

    print(f"Jacobian {J.shape}: {first:.1f} s with compilation, {1e3 * again:.1f} ms again")
    print("derivative of each concentration by the logarithm of each rate")
    print(f"{'time (s)':>10}{'A':>9}{'B':>10}{'C':>9}   {'dA/dk1':>10}{'dA/dk2':>10}{'dA/dk3':>10}"
          f"{'dB/dk1':>11}{'dB/dk2':>11}{'dB/dk3':>11}")
    for t, state, d in zip(times[1:], y[1:], J[1:], strict=True):
        print(f"{t:10.3g}{state[0]:9.5f}{state[1]:10.2e}{state[2]:9.5f}   " + "".join(f"{x:10.5f}" for x in d[0])
              + "".join(f"{x:11.2e}" for x in d[1]))

    if options.figure:
        draw(options.figure, times[1:], y[1:], J[1:])

    h = 1e-3
    worst = 0.0
    for k in range(3):
        step = h * np.eye(3)[k]
        difference = (concentrations(logs + step, times) - concentrations(logs - step, times)) / (2.0 * h)
        worst = max(worst, np.abs(J[1:, 0, k] - difference[1:, 0]).max())
    print(f"largest distance from central differences (A): {worst:.1e}")
    return 0 if worst < 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main())
