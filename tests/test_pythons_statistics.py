"""Python's module `statistics`, which is the oracle."""

import statistics

import numpy as np
import pytest

from autodiff import value_and_grad

from .support import assert_gradient

X = np.array([0.73, 1.31, 2.13, 0.44])
FUNCTIONS = {
    "means": lambda x: statistics.mean([x[0], x[1], x[2]]) + statistics.fmean(list(x), weights=[1, 2, 3, 4]),
    "of generators": lambda x: statistics.mean(v * v for v in x) + statistics.stdev(v * 2 for v in x),
    "of arrays": lambda x: statistics.mean(x) + statistics.variance(x, 0.5) + statistics.pvariance(list(x), mu=1),
    "of integers": lambda x: statistics.stdev([1, 2, 4]) * x[0] + statistics.mean([1, 2, 4]) * x[1],
    "deviations": lambda x: statistics.stdev(list(x)) * statistics.pstdev([float(v) for v in x]),
    "other means": lambda x: statistics.geometric_mean(list(x)) + statistics.harmonic_mean(list(x), weights=[1, 2, 3, 4]),
    "two series": lambda x: statistics.correlation(list(x), [1.0, 2.0, 3.0, 1.0]) * statistics.covariance(x, x[::-1]),
    "a line": lambda x: statistics.linear_regression([1.0, 2.0, 3.0, 1.0], list(x)).intercept,
    "a line through 0": lambda x: statistics.linear_regression(list(x), [1.0, 2.0, 3.0, 1.0], proportional=True).slope,
    "rows": lambda x: sum(statistics.median(list(r)) * statistics.variance(list(r)) for r in x.reshape(2, 2)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_derivatives(name):
    assert_gradient(FUNCTIONS[name], (X,), (0,), "python")


def test_compiled():
    assert_gradient(lambda x: statistics.stdev(list(x)) + statistics.mean(x), (X,), (0,), "numba")


@pytest.mark.parametrize("function", [
    lambda x: statistics.stdev([x[0]]), lambda x: statistics.mean(list(x[:0])),
    lambda x: statistics.geometric_mean(list(-x)),
    lambda x: statistics.correlation(list(x), [1.0]), lambda x: statistics.linear_regression([1.0, 1.0], list(x[:2])).slope])
def test_errors(function):
    with pytest.raises(statistics.StatisticsError) as wanted:
        function(X)
    with pytest.raises(statistics.StatisticsError) as got:
        value_and_grad(function, mode="python")(X)
    assert str(got.value).split("\n")[0] == str(wanted.value)


def test_errors_are_caught():
    def spread(x):
        try:
            return statistics.stdev(list(x[:1]))
        except statistics.StatisticsError:
            return x[0] * 2

    assert_gradient(spread, (X,), (0,), "python")
