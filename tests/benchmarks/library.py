"""Library functions beside NumPy and SciPy, as arrays grow: `python -m tests.benchmarks --only library`."""

from __future__ import annotations

import numpy as np
import scipy.fft

from autodiff import value_and_grad

from .sparse import seconds


def table(q, x, y):
    return np.sum(np.interp(q, x, y) ** 2)


def places(q, x, y):
    return np.sum(q * np.searchsorted(x, q))


def places_in_a_loop(q, x, y):
    s = 0.0
    for k in range(q.shape[0]):
        s += q[k] * y[np.searchsorted(x, q[k]) % y.shape[0]]
    return s


def members(q, x, y):
    return np.sum(q * np.isin(np.round(q * 1000.0), np.round(x * 1000.0)))


def median(q, x, y):
    return np.median(q)


def quartiles(q, x, y):
    return np.sum(np.quantile(q, [0.25, 0.75]))


def smallest(q, x, y):
    return np.sum(np.partition(q, 10)[:10])


def ordered(q, x, y):
    return np.sum(np.sort(q) * y)


def counted(q, x, y):
    return np.sum(q[np.unique(np.round(q * 50.0), return_index=True)[1]])


def nine_taps(q, x, y):
    return np.sum(np.convolve(q, y[:9]) ** 2)


def polynomial(q, x, y):
    return np.sum(np.polyfit(x, y * q, 3) ** 2)


def least_squares(q, x, y):
    return np.sum(np.linalg.lstsq(q.reshape(-1, 10), y[:q.shape[0] // 10], rcond=None)[0] ** 2)


def cosine_transform(q, x, y):
    return np.sum(scipy.fft.dct(q) ** 2 * y)


def library(quick: bool) -> None:
    sizes = (30, 60) if quick else (1000, 10_000, 100_000)
    print(f"{'gradient / function':26s}" + "".join(f"{n:>10d}" for n in sizes))
    for f in (table, places, places_in_a_loop, members, median, quartiles, smallest, ordered, counted, nine_taps,
              polynomial, least_squares, cosine_transform):
        gradient, ratios = value_and_grad(f), []
        for n in sizes:
            r = np.random.default_rng(n)
            x = np.sort(r.standard_normal(n))
            args = np.clip(r.standard_normal(n), x[0], x[-1]), x, r.standard_normal(n)
            gradient(*args)
            rounds = 3 if quick else 30
            ratios.append(seconds(lambda g=gradient, a=args: g(*a), rounds) / seconds(lambda f=f, a=args: f(*a), rounds))
        print(f"{f.__name__.replace('_', ' '):26s}" + "".join(f"{ratio:10.2f}" for ratio in ratios))


__all__ = ["library"]
