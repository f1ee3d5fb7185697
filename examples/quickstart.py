"""Fit nonlinear regressions of the NIST Statistical Reference Datasets with generated gradients.

Each function below is the sum of squared residuals of one dataset's model, written as anybody would write
it, with a loop or with NumPy. `@grad` turns it into its gradient with respect to the parameters `b`;
`.primal` is the function itself, compiled. scipy minimises, and the answer is compared with the parameters
that NIST certifies to 11 digits.

    python examples/quickstart.py [--show DATASET] [--figure PATH]

The exit status is 1 if any parameter agrees with its certified value to fewer than 6 digits.
"""

import argparse
import math
import re
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize, root

from autodiff import grad

DATA = Path(__file__).resolve().parent / "data"
DIGITS_WANTED = 6


# ---- the models: plain functions of the parameters b, the predictor x and the response y ----

@grad
def misra1a(b, x, y):
    squares = 0.0
    for i in range(x.shape[0]):
        squares += (y[i] - b[0] * (1.0 - math.exp(-b[1] * x[i]))) ** 2
    return squares


@grad
def gauss1(b, x, y):
    decay = b[0] * np.exp(-b[1] * x)
    first_peak = b[2] * np.exp(-((x - b[3]) ** 2) / b[4] ** 2)
    second_peak = b[5] * np.exp(-((x - b[6]) ** 2) / b[7] ** 2)
    return np.sum((y - decay - first_peak - second_peak) ** 2)


@grad
def thurber(b, x, y):
    squares = 0.0
    for i in range(x.shape[0]):
        numerator = b[0] + x[i] * (b[1] + x[i] * (b[2] + x[i] * b[3]))
        denominator = 1.0 + x[i] * (b[4] + x[i] * (b[5] + x[i] * b[6]))
        squares += (y[i] - numerator / denominator) ** 2
    return squares


@grad
def eckerle4(b, x, y):
    residual = y - b[0] / b[1] * np.exp(-0.5 * ((x - b[2]) / b[1]) ** 2)
    return residual @ residual


@grad
def mgh09(b, x, y):
    squares = 0.0
    for i in range(x.shape[0]):
        model = b[0] * (x[i] ** 2 + x[i] * b[1]) / (x[i] ** 2 + x[i] * b[2] + b[3])
        squares += (y[i] - model) ** 2
    return squares


@grad
def rat43(b, x, y):
    growth = b[0] / (1.0 + np.exp(b[1] - b[2] * x)) ** (1.0 / b[3])
    return ((y - growth) ** 2).sum()


# NIST gives two starts, the first far away, the second near; the numbers say which are used. The first starts
# of Eckerle4 and Rat43 lie where the model is flat in some parameters: BFGS from there, however exact its
# gradient, ends far from the certified values.
PROBLEMS = {
    "Misra1a": (misra1a, (1, 2)),
    "Gauss1": (gauss1, (1, 2)),
    "Thurber": (thurber, (1, 2)),
    "Eckerle4": (eckerle4, (2,)),
    "MGH09": (mgh09, (1, 2)),
    "Rat43": (rat43, (2,)),
}


# ---- reading, fitting, reporting ----

class Dataset(NamedTuple):
    """One NIST file: arrays of n observations and of m parameters."""
    name: str
    difficulty: str         # "Lower", "Average" or "Higher"
    x: np.ndarray           # (n,) predictor
    y: np.ndarray           # (n,) response
    starts: np.ndarray      # (2, m) starting values
    certified: np.ndarray   # (m,) certified parameters
    squares: float          # certified residual sum of squares


def read_dataset(path):
    """The dataset in a file of NIST's text format, whose heading says on which lines the data stand."""
    lines = path.read_text(encoding="ascii").splitlines()
    heading = "\n".join(lines[:60])
    first, last = map(int, re.search(r"Data +\(lines (\d+) to +(\d+)\)", heading).groups())
    observations = np.array([line.split() for line in lines[first - 1:last]], dtype=float)
    rows = re.findall(r"^ *b\d+ = *(.*)$", heading, re.M)
    parameters = np.array([row.split()[:3] for row in rows], dtype=float)
    return Dataset(
        name=path.stem,
        difficulty=re.search(r"(\w+) Level of Difficulty", heading).group(1),
        x=np.ascontiguousarray(observations[:, 1]),
        y=np.ascontiguousarray(observations[:, 0]),
        starts=np.ascontiguousarray(parameters[:, :2].T),
        certified=parameters[:, 2],
        squares=float(re.search(r"Residual Sum of Squares: +(\S+)", heading).group(1)),
    )


def fit(gradient, start, x, y):
    """The parameters that minimise `gradient.primal(b, x, y)`, found from `start`; `start` is left unchanged.

    Also returned: how often the function or its gradient was evaluated. The unknowns are scaled by the
    start and the sum of squares by its value there, since the parameters of one model can differ by seven
    orders of magnitude. BFGS finds the valley; solving gradient = 0 then gives more digits than comparing
    sums of squares can, as these are flat at their minimum.
    """
    scale = np.abs(start)
    first = gradient.primal(start, x, y)
    valley = minimize(
        lambda t: gradient.primal(scale * t, x, y) / first,
        np.sign(start),
        jac=lambda t: gradient(scale * t, x, y) * scale / first,
        method="BFGS",
        options={"gtol": 1e-10, "maxiter": 5000},
    )
    scale = np.abs(scale * valley.x)
    bottom = root(lambda t: gradient(scale * t, x, y) * scale, np.sign(valley.x))
    return scale * bottom.x, valley.nfev + bottom.nfev


def digits_of_agreement(found, certified):
    """Decimal digits to which `found` agrees with `certified`, elementwise: -log10 of the relative error.

    At most 11, the digits that are certified. Source: McCullough, "Assessing the reliability of statistical
    software: part I", The American Statistician 52 (1998) 358-366.
    """
    error = np.abs(found - certified) / np.abs(certified)
    return np.clip(-np.log10(np.maximum(np.nan_to_num(error, nan=1.0), 1e-11)), 0.0, 11.0)


def report(name):
    """Fit one dataset, print what was found, and return the fewest digits of agreement of any parameter."""
    gradient, starts = PROBLEMS[name]
    data = read_dataset(DATA / f"{name}.dat")
    print(f"{name}, {data.difficulty.lower()} difficulty: "
          f"{data.x.size} observations, {data.certified.size} parameters")
    fewest = 11.0
    for start in starts:
        found, evaluations = fit(gradient, data.starts[start - 1], data.x, data.y)
        digits = digits_of_agreement(found, data.certified)
        squares = gradient.primal(found, data.x, data.y)
        print(f"  from start {start}, {evaluations} evaluations")
        print("         certified            found               digits")
        for k in range(found.size):
            print(f"    b{k + 1}  {data.certified[k]:17.10e}  {found[k]:17.10e}  {digits[k]:6.1f}")
        print(f"    sum of squares {squares:.10e}, certified {data.squares:.10e}")
        fewest = min(fewest, digits.min())
    print()
    return fewest


def draw(path, digits):
    """The digits of agreement of each dataset's worst parameter."""
    from matplotlib.figure import Figure  # only the picture needs it

    figure = Figure(figsize=(7.5, 2.8), layout="constrained")
    axes = figure.subplots()
    names = list(digits)
    axes.barh(names, [digits[name] for name in names], color="tab:blue")
    axes.axvline(DIGITS_WANTED, color="black", linestyle=":", label="wanted")
    axes.set(xlabel="digits that agree with the certified parameters (11 are certified)", xlim=(0.0, 11.5))
    axes.invert_yaxis()
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize="small")
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--show", choices=PROBLEMS, default="Thurber",
                        help="the dataset whose generated gradient is printed (default: %(default)s)")
    parser.add_argument("--figure", metavar="PATH", help="draw the result into this file (needs matplotlib)")
    options = parser.parse_args()
    shown = options.show
    digits = {name: report(name) for name in PROBLEMS}
    print(f"The gradient generated for {shown}:\n")
    print(PROBLEMS[shown][0].source)
    failed = [name for name, agreement in digits.items() if agreement < DIGITS_WANTED]
    print(f"{len(digits) - len(failed)} of {len(digits)} datasets agree with their certified parameters to "
          f"{DIGITS_WANTED} digits or more; fewest: {min(digits.values()):.1f}")
    if failed:
        print("not reached:", ", ".join(failed), file=sys.stderr)
    if options.figure:
        draw(options.figure, digits)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
