"""Nonlinear least squares: scipy's solver with a generated Jacobian, and standard errors from the same Jacobian.

The data are Misra1a of the NIST Statistical Reference Datasets (dental research, monomolecular adsorption; 14
points), with the parameters that NIST certifies to eleven digits. The solver starts where NIST suggests.

    python examples/least_squares.py [--figure PATH]

The exit status is 1 if the parameters are not the certified ones to six digits.
Source: https://www.itl.nist.gov/div898/strd/nls/data/misra1a.shtml
"""

import argparse
import sys

import numpy as np
from scipy.optimize import least_squares

from autodiff import jacobian

VOLUME = np.array([10.07, 14.73, 17.94, 23.93, 29.61, 35.18, 40.02, 44.82, 50.76, 55.05, 61.01, 66.40, 75.47, 81.78])
PRESSURE = np.array([77.6, 114.9, 141.1, 190.8, 239.9, 289.0, 332.8, 378.4, 434.8, 477.3, 536.8, 593.1, 689.1, 760.0])
START = np.array([500.0, 1e-4])
CERTIFIED = np.array([2.3894212918e02, 5.5015643181e-04])
CERTIFIED_ERRORS = np.array([2.7070075241, 7.2668688436e-06])


def residuals(b, x, y):
    """Distance of the model b0 (1 - exp(-b1 x)) from the data y; shape of x."""
    return b[0] * (1.0 - np.exp(-b[1] * x)) - y


def draw(path, b, errors):
    """The data, the model, and how far residuals are from it."""
    from matplotlib.figure import Figure  # only the picture needs it

    figure = Figure(figsize=(7.5, 3.2), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    x = np.linspace(70.0, 780.0, 200)
    above.plot(PRESSURE, VOLUME, "o", label="data")
    above.plot(x, residuals(b, x, 0.0), label=f"({b[0]:.1f} ± {errors[0]:.1f}) (1 - exp(-({b[1]:.2e} ± {errors[1]:.0e}) x))")
    above.set(ylabel="volume")
    above.legend(fontsize="small")
    below.axhline(0.0, color="black", linewidth=0.8)
    below.plot(PRESSURE, residuals(b, PRESSURE, VOLUME), "o")
    below.set(xlabel="pressure", ylabel="residual")
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--figure", metavar="PATH", help="draw the result into this file (needs matplotlib)")
    options = parser.parse_args()
    derivative = jacobian(residuals)                    # of the first argument: shape (14, 2)
    fit = least_squares(residuals, START, jac=derivative, args=(PRESSURE, VOLUME), x_scale="jac",
                        xtol=1e-15, ftol=1e-15, gtol=1e-15)
    J = derivative(fit.x, PRESSURE, VOLUME)
    variance = 2.0 * fit.cost / (len(VOLUME) - len(fit.x))
    errors = np.sqrt(variance * np.diag(np.linalg.inv(J.T @ J)))

    print(f"{fit.nfev} evaluations, {fit.njev} Jacobians, cost {fit.cost:.6e}")
    print(f"{'':4}{'found':>16}{'certified':>18}{'error':>14}{'certified':>16}")
    for k in range(2):
        print(f"b{k}  {fit.x[k]:16.9e}{CERTIFIED[k]:18.9e}{errors[k]:14.6e}{CERTIFIED_ERRORS[k]:16.6e}")
    if options.figure:
        draw(options.figure, fit.x, errors)
    close = np.allclose(fit.x, CERTIFIED, rtol=1e-6) and np.allclose(errors, CERTIFIED_ERRORS, rtol=1e-5)
    return 0 if close else 1


if __name__ == "__main__":
    sys.exit(main())
