"""Python's module `statistics`: exact sums there, correctly rounded ones here."""

import math
import statistics

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines


def items_of(data, least, problem):
    items = data if isinstance(data, (list, tuple)) else list(data)
    if len(items) < least:
        raise statistics.StatisticsError(problem)
    return items


def like(items, number):
    """A result as `statistics` converts it: to NumPy's float32, where the items are such."""
    return items[0].dtype.type(number) if hasattr(items[0], "dtype") and items[0].dtype.kind == "f" else number


def squares(items, center):
    """The sum of squared distances from `center`, None for the mean."""
    c = math.fsum(items) / len(items) if center is None else center
    return math.fsum([(v - c) * (v - c) for v in items])


@defines(statistics.mean)
def mean(data):
    items = items_of(data, 1, "mean requires at least one data point")
    return like(items, math.fsum(items) / len(items))


@defines(statistics.fmean)
def fmean(data, weights=None):
    items = items_of(data, 1, "fmean requires at least one data point")
    if weights is None:
        return math.fsum(items) / len(items)
    shares = list(weights)
    if len(shares) != len(items):
        raise statistics.StatisticsError("data and weights must be the same length")
    whole = math.fsum(shares)
    if whole == 0:
        raise statistics.StatisticsError("sum of weights must be non-zero")
    return math.fsum([v * w for v, w in zip(items, shares, strict=True)]) / whole


@defines(statistics.variance)
def variance(data, xbar=None):
    items = items_of(data, 2, "variance requires at least two data points")
    return like(items, squares(items, xbar) / (len(items) - 1))


@defines(statistics.pvariance)
def pvariance(data, mu=None):
    items = items_of(data, 1, "pvariance requires at least one data point")
    return like(items, squares(items, mu) / len(items))


@defines(statistics.stdev)
def stdev(data, xbar=None):
    items = items_of(data, 2, "stdev requires at least two data points")
    return root(squares(items, xbar) / (len(items) - 1))


@defines(statistics.pstdev)
def pstdev(data, mu=None):
    items = items_of(data, 1, "pstdev requires at least one data point")
    return root(squares(items, mu) / len(items))


def root(square):
    """Of equal numbers the derivative is 0, as for `np.std`."""
    return math.sqrt(square) if square > 0 else 0.0 * square


@defines(statistics.geometric_mean)
def geometric_mean(data):
    items = items_of(data, 1, "geometric mean requires a non-empty dataset containing positive numbers")
    if not all(v > 0 for v in items):
        raise statistics.StatisticsError("geometric mean requires a non-empty dataset containing positive numbers")
    return math.exp(math.fsum([math.log(v) for v in items]) / len(items))


@defines(statistics.harmonic_mean)
def harmonic_mean(data, weights=None):
    items = items_of(data, 1, "harmonic_mean requires at least one data point")
    shares = [1.0] * len(items) if weights is None else list(weights)
    if len(shares) != len(items):
        raise statistics.StatisticsError("Number of weights does not match data size")
    if any(v < 0 for v in items) or any(w < 0 for w in shares):
        raise statistics.StatisticsError("harmonic mean does not support negative values")
    whole = math.fsum(shares)
    if whole <= 0:
        raise statistics.StatisticsError("Weighted sum must be positive")
    if any(v == 0 for v in items):
        return 0
    return like(items, whole / math.fsum([w / v for v, w in zip(items, shares, strict=True)]))


def products_of(x, y, what, least, center=True):
    """The sums of products of two series' distances from their means: of both, of the first and of the second."""
    first, second = list(x), list(y)
    if len(first) != len(second):
        raise statistics.StatisticsError(f"{what} requires that both inputs have same number of data points")
    if len(first) < least:
        raise statistics.StatisticsError(f"{what} requires at least two data points")
    p = math.fsum(first) / len(first) if center else 0.0
    q = math.fsum(second) / len(second) if center else 0.0
    both = math.fsum([(a - p) * (b - q) for a, b in zip(first, second, strict=True)])
    return both, math.fsum([(a - p) * (a - p) for a in first]), math.fsum([(b - q) * (b - q) for b in second]), p, q


@defines(statistics.covariance)
def covariance(x, y, /):
    return products_of(x, y, "covariance", 2)[0] / (len(x) - 1)


@defines(statistics.correlation)
def correlation(x, y, /, *, method="linear"):
    if method != "linear":
        return unsupported("the correlation of ranks", "rank the numbers with scipy.stats.rankdata")
    sxy, sxx, syy, _, _ = products_of(x, y, "correlation", 2)
    if sxx * syy == 0:
        raise statistics.StatisticsError("at least one of the inputs is constant")
    return sxy / math.sqrt(sxx * syy)


@defines(statistics.linear_regression)
def linear_regression(x, y, /, *, proportional=False):
    sxy, sxx, _, xbar, ybar = products_of(x, y, "linear regression", 2, not proportional)
    if sxx == 0:
        raise statistics.StatisticsError("x is constant")
    slope = sxy / sxx
    return statistics.LinearRegression(slope=slope, intercept=0.0 if proportional else ybar - slope * xbar)
