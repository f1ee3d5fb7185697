"""Hamiltonian Monte Carlo of a hierarchical model, with the generated gradient inside the compiled sampler.

Eight schools tried a coaching programme; each has an estimated effect and its standard error. The effects are
draws from a common law with unknown mean mu and spread tau, which are sampled together with them, in the
parametrisation theta = mu + tau eta that keeps the posterior free of a funnel.

    python examples/hamiltonian_monte_carlo.py [--draws 4000] [--chains 4] [--figure PATH]

The exit status is 1 if the chains have not mixed (split R-hat above 1.05).
Sources: D. Rubin, "Estimation in parallel randomized experiments", Journal of Educational Statistics 6 (1981), for
the data; R. Neal, "MCMC using Hamiltonian dynamics", 2011; A. Gelman et al., Bayesian Data Analysis, 2013, chapter
5 and section 11.4.
"""

import argparse
import sys
import time

import numpy as np
from numba import njit

from autodiff import value_and_grad

EFFECT = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERROR = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def log_density(q, effect, error):
    """Logarithm of the posterior density, up to a constant; q holds mu, log tau and the eight eta."""
    mu, log_tau = q[0], q[1]
    tau = np.exp(log_tau)
    total = -0.5 * (mu / 5.0) ** 2 - np.log(1.0 + (tau / 5.0) ** 2) + log_tau       # normal, half Cauchy, its Jacobian
    for j in range(effect.shape[0]):
        theta = mu + tau * q[2 + j]
        total += -0.5 * q[2 + j] ** 2 - 0.5 * ((effect[j] - theta) / error[j]) ** 2
    return total


posterior = value_and_grad(log_density)


@njit
def sample(q, effect, error, draws, step, leaps, seed):
    """(draws of q after as many for warming up, share of accepted proposals); step sizes are jittered by a fifth."""
    np.random.seed(seed)
    kept = np.empty((draws, q.shape[0]))
    accepted = 0
    value, slope = posterior(q, effect, error)
    for t in range(-draws, draws):
        p = np.random.normal(0.0, 1.0, q.shape[0])
        energy = 0.5 * np.sum(p * p) - value
        h = step * (0.8 + 0.4 * np.random.random())
        place, rise, level = q.copy(), slope, value
        for _ in range(leaps):
            p = p + 0.5 * h * rise
            place = place + h * p
            level, rise = posterior(place, effect, error)
            p = p + 0.5 * h * rise
        if np.log(np.random.random()) < energy - (0.5 * np.sum(p * p) - level):
            q, value, slope = place, level, rise
            accepted += t >= 0
        if t >= 0:
            kept[t] = q
    return kept, accepted / draws


def split_r_hat(chains):
    """How much wider all draws of a number are than those of half a chain; shape (chains, draws)."""
    halves = chains.reshape(2 * chains.shape[0], -1)
    within = halves.var(axis=1, ddof=1).mean()
    between = halves.shape[1] * halves.mean(axis=1).var(ddof=1)
    return np.sqrt(1.0 + (between / within - 1.0) / halves.shape[1])


def draw(path, rows):
    """The schools' estimates, and what is left of them in the posterior; the spread against the mean."""
    from matplotlib.figure import Figure  # only the picture needs it

    figure = Figure(figsize=(7.5, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    schools = np.arange(1, 9)
    left.errorbar(EFFECT, schools - 0.12, xerr=1.645 * ERROR, fmt="o", color="gray", label="estimate, 90 %")
    low, middle, high = (np.array([np.quantile(rows[f"school {j}"], q) for j in schools]) for q in (0.05, 0.5, 0.95))
    left.errorbar(middle, schools + 0.12, xerr=(middle - low, high - middle), fmt="o", color="tab:blue",
                  label="posterior, 90 %")
    left.set(xlabel="effect", ylabel="school")
    left.invert_yaxis()
    left.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize="small")
    right.hexbin(rows["mu"].ravel(), np.log(rows["tau"]).ravel(), gridsize=30, cmap="Blues", bins="log")
    right.set(xlabel="mu", ylabel="log tau", ylim=(-4.0, 4.0))
    figure.savefig(path, dpi=100)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0],
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--draws", type=int, default=4000, help="of each chain, an even number, after as many to warm up")
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--figure", metavar="PATH", help="draw the result into this file (needs matplotlib)")
    options = parser.parse_args()

    sample(np.zeros(10), EFFECT, ERROR, 1, 0.3, 1, 0)           # compilation
    begin = time.perf_counter()
    runs = [sample(np.random.default_rng(k).normal(size=10), EFFECT, ERROR, options.draws, 0.35, 12, k)
            for k in range(options.chains)]
    seconds = time.perf_counter() - begin
    q = np.stack([draws for draws, _ in runs])
    gradients = options.chains * (2 * options.draws * 12 + 1)
    print(f"{gradients} gradients in {seconds:.2f} s, {1e6 * seconds / gradients:.2f} us each with the sampler; "
          f"{np.mean([share for _, share in runs]):.0%} accepted")

    tau = np.exp(q[..., 1])
    rows = {"mu": q[..., 0], "tau": tau} | {f"school {j + 1}": q[..., 0] + tau * q[..., 2 + j] for j in range(8)}
    print(f"{'':9}{'mean':>8}{'5 %':>8}{'95 %':>8}{'R-hat':>8}")
    worst = 0.0
    for name, x in rows.items():
        low, high = np.quantile(x, [0.05, 0.95])
        worst = max(worst, split_r_hat(x))
        print(f"{name:9}{x.mean():8.2f}{low:8.2f}{high:8.2f}{split_r_hat(x):8.3f}")
    if options.figure:
        draw(options.figure, rows)
    return 0 if worst < 1.05 else 1


if __name__ == "__main__":
    sys.exit(main())
