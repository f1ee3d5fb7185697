"""Posterior of a predator-prey model by NUTS: PyMC samples, the likelihood is a plain Python loop over Runge-Kutta steps.

Populations of hares and lynxes follow u' = a u - b u v, v' = -c v + d u v; what is seen of them is off by a factor of
lognormal noise. The function below solves the equations and compares with the data. `autodiff.pytensor.op` makes an Op of
it, whose gradient PyTensor's Numba linker calls without Python between.

    python examples/ode_posterior.py [--draws 500] [--chains 2] [--figure PATH]

The exit status is 1 if the chains have not mixed (R-hat above 1.05). Without PyMC it says so and ends.
Source: B. Carpenter, "Predator-Prey Population Dynamics: the Lotka-Volterra model in Stan", 2018, for the model and
the numbers of pelts (in thousands, from 1900 on) that the Hudson's Bay Company bought.
"""

import argparse
import logging
import sys
import time

import numpy as np

HARES = np.array([30.0, 47.2, 70.2, 77.4, 36.3, 20.6, 18.1, 21.4, 22.0, 25.4, 27.1, 40.3, 57.0, 76.6, 52.3, 19.5, 11.2, 7.6,
                  14.6, 16.2, 24.7])
LYNXES = np.array([4.0, 6.1, 9.8, 35.2, 59.4, 41.7, 19.0, 13.0, 8.3, 9.1, 7.4, 8.0, 12.3, 19.5, 45.7, 51.1, 29.7, 15.8, 9.7,
                   10.1, 8.6])
STEPS = 10                              # of the solver, a year


def rates(theta, u, v):
    return theta[0] * u - theta[1] * u * v, -theta[2] * v + theta[3] * u * v


def populations(theta, start, years):
    """Hares and lynxes at each year, shape (years, 2), by the classical Runge-Kutta method."""
    found = np.zeros((years, 2))
    u, v = start[0], start[1]
    h = 1.0 / STEPS
    for year in range(years):
        found[year, 0] = u
        found[year, 1] = v
        for _ in range(STEPS):
            u1, v1 = rates(theta, u, v)
            u2, v2 = rates(theta, u + h / 2 * u1, v + h / 2 * v1)
            u3, v3 = rates(theta, u + h / 2 * u2, v + h / 2 * v2)
            u4, v4 = rates(theta, u + h * u3, v + h * v3)
            u += h / 6 * (u1 + 2 * u2 + 2 * u3 + u4)
            v += h / 6 * (v1 + 2 * v2 + 2 * v3 + v4)
    return found


def log_likelihood(theta, start, sigma, seen):
    """Of the logarithms of what was seen, shape (years, 2), with noise of scales sigma, up to a constant."""
    off = (np.log(populations(theta, start, seen.shape[0])) - seen) / sigma
    return -0.5 * np.sum(off ** 2) - seen.shape[0] * np.sum(np.log(sigma))


def sample(draws, chains):
    import pymc as pm

    from autodiff.pytensor import op
    seen = np.log(np.stack([HARES, LYNXES], axis=1))
    with pm.Model():
        theta = pm.LogNormal("theta", np.log([0.55, 0.028, 0.8, 0.024]), 0.3, shape=4)
        start = pm.LogNormal("start", np.log([30.0, 5.0]), 0.5, shape=2)
        sigma = pm.LogNormal("sigma", -1.0, 0.5, shape=2)
        pm.Potential("seen", op(log_likelihood)(theta, start, sigma, seen))
        return pm.sample(draws=draws, tune=draws, chains=chains, cores=1, random_seed=1, progressbar=False,
                         compute_convergence_checks=False, compile_kwargs={"mode": "NUMBA"})


def draw(path, theta, start):
    """The data, and the populations that the posterior holds likely."""
    from matplotlib.figure import Figure  # only the picture needs it

    figure = Figure(figsize=(7.5, 3.5), layout="constrained")
    axes = figure.subplots()
    curves = np.array([populations(t, s, 21) for t, s in zip(theta, start, strict=True)])
    for k, (name, seen, color) in enumerate((("hares", HARES, "tab:blue"), ("lynxes", LYNXES, "tab:red"))):
        low, middle, high = np.quantile(curves[..., k], [0.05, 0.5, 0.95], axis=0)
        axes.fill_between(1900 + np.arange(21), low, high, color=color, alpha=0.25, label=f"{name}, 90 % likely")
        axes.plot(1900 + np.arange(21), middle, color=color)
        axes.plot(1900 + np.arange(21), seen, "o", color=color, label=f"{name}, seen")
    axes.set(xlabel="year", ylabel="thousands of pelts", xticks=range(1900, 1921, 4))
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4, fontsize="small")
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--draws", type=int, default=500, help="of each chain, after as many to warm up")
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--figure", metavar="PATH", help="draw the result into this file (needs matplotlib)")
    options = parser.parse_args()
    try:
        import arviz
        import pymc  # noqa: F401
    except ImportError as e:
        print(f"this example needs PyMC ({e}): pip install 'numba-autodiff[pymc]'")
        return 0

    logging.getLogger("pymc").setLevel(logging.ERROR)
    begin = time.perf_counter()
    trace = sample(options.draws, options.chains)
    seconds = time.perf_counter() - begin
    print(f"{options.chains} chains of {options.draws} draws, and as many to warm up, in {seconds:.1f} s with compilation")
    worst = 0.0
    print(f"{'':13}{'mean':>9}{'5 %':>9}{'95 %':>9}{'R-hat':>8}")
    for name, labels in (("theta", "abcd"), ("start", ("hares", "lynxes")), ("sigma", ("hares", "lynxes"))):
        for k, label in enumerate(labels):
            draws = trace.posterior[name].values[..., k]
            r_hat = float(arviz.rhat(draws))
            worst = max(worst, r_hat)
            low, high = np.quantile(draws, [0.05, 0.95])
            shown = label if name == "theta" else f"{label} {name}"
            print(f"{shown:13}{draws.mean():9.3f}{low:9.3f}{high:9.3f}{r_hat:8.3f}")
    if options.figure:
        draw(options.figure, *(trace.posterior[name].values.reshape(-1, n)[::5] for name, n in (("theta", 4), ("start", 2))))
    return 0 if worst < 1.05 else 1


if __name__ == "__main__":
    sys.exit(main())
