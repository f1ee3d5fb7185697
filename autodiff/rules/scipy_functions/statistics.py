"""Statistics of samples, from `scipy.stats`."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import special, stats

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines
from ..definitions.extrema import floats


@defines(stats.zscore)
def zscore(a, axis=0, ddof=0, nan_policy="propagate"):
    """nan where the numbers are equal to rounding, and where no degree of freedom is left."""
    if nan_policy != "propagate":
        return unsupported("zscore with this nan_policy", "leave nan out of the data first: data[~np.isnan(data)]")
    x = floats(np.asarray(a))
    mean = np.mean(x, axis=axis, keepdims=True)
    spread = np.std(x, axis=axis, ddof=ddof, keepdims=True)
    equal = spread <= np.abs(np.finfo(x.dtype).eps * mean)
    return (x - mean) / np.where(equal | (x.size <= ddof * mean.size), np.nan, spread)


class Correlation(NamedTuple):
    statistic: Any
    pvalue: Any


@dataclass(frozen=True)
class Regression:
    """A tuple of five, with one more attribute, as SciPy's result is."""

    slope: float
    intercept: float
    rvalue: float
    pvalue: float
    stderr: float
    intercept_stderr: float

    def __iter__(self):
        return iter((self.slope, self.intercept, self.rvalue, self.pvalue, self.stderr))

    def __getitem__(self, k):
        return (self.slope, self.intercept, self.rvalue, self.pvalue, self.stderr)[k]

    def __len__(self):
        return 5


@defines(stats.pearsonr)
def pearsonr(x, y, alternative="two-sided", method=None, axis=0):
    """Of two vectors: the correlation, and how likely one as far from 0 is by chance, from its beta distribution."""
    p, q = floats(np.asarray(x)), floats(np.asarray(y))
    if alternative != "two-sided" or method is not None or p.ndim != 1 or q.ndim != 1:
        return unsupported("pearsonr of matrices, or with an alternative or method", "call it for two vectors")
    n = len(p)
    if n != len(q):
        raise ValueError("`x` and `y` must have the same length along `axis`.")
    if n < 2:
        raise ValueError("`x` and `y` must have length at least 2.")
    u, v = p - np.mean(p), q - np.mean(q)
    constant = np.all(p == p[0]) | np.all(q == q[0])
    r = np.clip(np.sum(u / np.linalg.norm(u) * (v / np.linalg.norm(v))), -1.0, 1.0)
    r = np.where(constant, np.nan, r)
    if n == 2:
        return Correlation(np.sign(r), np.where(constant, np.nan, 1.0))
    return Correlation(r, 2.0 * special.betaincc(0.5 * n - 1.0, 0.5 * n - 1.0, 0.5 * (1.0 + np.abs(r))))


@defines(stats.linregress)
def linregress(x, y, alternative="two-sided"):
    """Least squares of one variable, with standard errors and the p-value of Student's t."""
    p, q = np.asarray(x), np.asarray(y)
    if alternative != "two-sided" or p.ndim != 1 or q.ndim != 1:
        return unsupported("linregress of matrices, or with an alternative", "call it for two vectors")
    n = len(p)
    if n != len(q):
        raise ValueError("all the input array dimensions except for the concatenation axis must match exactly")
    if n < 2:
        return Regression(np.nan, np.nan, np.nan, np.nan, np.nan, np.nan)
    if np.max(p) == np.min(p):
        raise ValueError("Cannot calculate a linear regression if all x values are identical")
    u, v = p - np.mean(p), q - np.mean(q)
    xx, xy, yy = np.mean(u * u), np.mean(u * v), np.mean(v * v)
    slope = xy / xx
    intercept = np.mean(q) - slope * np.mean(p)
    r = np.clip(xy / np.sqrt(xx * yy), -1.0, 1.0) if yy != 0.0 else (0.0 if xy != 0.0 else np.nan)
    if n == 2:
        return Regression(slope, intercept, r, 1.0 if q[0] == q[1] else 0.0, 0.0, 0.0)
    t = r * np.sqrt((n - 2) / ((1.0 - r + 1e-20) * (1.0 + r + 1e-20)))
    error = np.sqrt((1.0 - r * r) * yy / xx / (n - 2))
    return Regression(slope, intercept, r, 2.0 * special.stdtr(n - 2.0, -np.abs(t)), error, error * np.sqrt(
        xx + np.mean(p) ** 2))
