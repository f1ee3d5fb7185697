"""Statistics of samples, from scipy.stats: values, dtypes and errors as SciPy's, derivatives in both modes and twice."""

import numpy as np
import pytest
from scipy import stats

from autodiff import UnsupportedSyntax, check_grads, differentiable, grad, value_and_grad

X = np.array([[1.2, -0.7, 3.1, 0.4], [2.2, 0.3, -1.9, 0.6], [0.1, 1.5, 0.8, -2.4]])
W = np.cos(np.arange(12.0)).reshape(3, 4)


def standardised(x):
    return np.sum(W * stats.zscore(x) * x) + np.sum(W[0] * stats.zscore(x[1], ddof=1) ** 2)


@pytest.mark.parametrize("options", [{}, {"axis": 1}, {"axis": -1, "ddof": 1}, {"axis": None}, {"axis": (0, 1), "ddof": 2}])
def test_zscore(options):
    def f(x):
        return W * stats.zscore(x, **options)
    np.testing.assert_allclose(differentiable(f, mode="python")(X), f(X), rtol=1e-13)
    assert check_grads(f, (X,), modes=("fwd", "rev"), mode="python").worst < 1e-6


def test_zscore_twice_and_compiled():
    assert check_grads(standardised, (X,), order=2, modes=("fwd", "rev"), mode="python").worst < 1e-5
    for mode in ("numba", "python"):
        value, gradient = value_and_grad(standardised, mode=mode)(X)
        narrow, slopes = value_and_grad(lambda x: np.sum(stats.zscore(x) ** 3), mode=mode)(X.astype(np.float32))
        assert value == pytest.approx(standardised(X), rel=1e-13)
        np.testing.assert_allclose(gradient, grad(standardised, mode="python")(X), rtol=1e-12)
        assert narrow.dtype == slopes.dtype == np.float32
        wide = grad(lambda x: np.sum(stats.zscore(x) ** 3), mode="python")(X)
        np.testing.assert_allclose(slopes, wide, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("x, ddof", [
    (np.zeros(0), 0), (np.ones(1), 0), (np.array([0.1, 0.1, 0.1]), 0), (np.array([1.0, 2.0]), 2), (np.array([1.0, 2.0]), 3),
    (np.array([1.0, np.nan]), 0), (np.zeros((0, 3)), 0), (np.zeros((3, 0)), 0), (np.array([[1.0, 2.0], [1.0, 3.0]]), 0),
    (np.array([1e-9, 3e-9]), 1)])
@pytest.mark.filterwarnings("ignore")
def test_zscore_at_the_edges(x, ddof):
    """One column of equal numbers leaves the others as they are."""
    f = lambda x: stats.zscore(x, ddof=ddof)
    found = differentiable(f, mode="python")(x)
    np.testing.assert_allclose(found, f(x), rtol=1e-13)
    assert found.shape == x.shape


def test_zscore_of_equal_numbers_beside_others():
    x = np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 5.0]])
    slopes = grad(lambda x: np.sum(stats.zscore(x)[:, 1] * W[0, :3]), mode="python")(x)
    alone = grad(lambda v: np.sum(stats.zscore(v) * W[0, :3]), mode="python")(x[:, 1].copy())
    np.testing.assert_allclose(slopes[:, 1], alone)


def test_zscore_of_integers():
    k = np.array([1, 2, 4], dtype=np.int8)
    found = differentiable(lambda k: stats.zscore(k), mode="python")(k)
    assert found.dtype == stats.zscore(k).dtype == float
    np.testing.assert_allclose(found, stats.zscore(k), rtol=1e-14)


def test_zscore_refused():
    with pytest.raises(UnsupportedSyntax, match="nan_policy"):
        grad(lambda x: np.sum(stats.zscore(x, nan_policy="omit")), mode="python")(X)
    with pytest.raises(np.exceptions.AxisError):
        grad(lambda x: np.sum(stats.zscore(x, axis=2)), mode="python")(X)


def test_multivariate_normal_with_allow_singular():
    """As without it where the covariance is positive definite, else on the space that it spans."""
    mean, factor = np.array([0.1, 0.2]), np.array([[1.3, 0.0], [0.4, 0.9]])
    density = stats.multivariate_normal.logpdf
    program = differentiable(lambda x, f: stats.multivariate_normal.logpdf(x, mean, f @ f.T, allow_singular=True),
                             mode="python")
    assert np.isclose(program(mean * 3, factor), density(mean * 3, mean, factor @ factor.T, True))
    check_grads(program, (mean * 3, factor), mode="python")
    flat = np.ones((2, 2))
    along = mean + np.array([[0.5], [-1.1]])
    assert np.allclose(program(along, flat), density(along, mean, flat @ flat.T, True), rtol=1e-12)
    assert program(mean * 3, flat) == density(mean * 3, mean, flat @ flat.T, True) == -np.inf
    check_grads(lambda s, a: program(mean + np.array([s, s]), a * flat), (0.7, 1.2), mode="python", order=2)

    def with_equal_eigenvalues(spread):
        covariance = np.zeros((3, 3))
        covariance[:2, :2] = spread @ spread.T
        return stats.multivariate_normal.logpdf(np.array([0.3, -0.8, 0.0]), np.zeros(3), covariance, allow_singular=True)
    check_grads(with_equal_eigenvalues, (np.eye(2),), mode="python")
    with pytest.raises(ValueError, match="semidefinite"):
        grad(lambda x: density(x, np.zeros(3), np.diag([1.0, -1.0, 0.0]), allow_singular=True), mode="python")(np.zeros(3))


def correlated(x, y):
    found = stats.pearsonr(x, y)
    return found.statistic * 2.0 + found[1] + tuple(stats.pearsonr(y, x))[0]


def regressed(x, y):
    slope, intercept, r, p, error = stats.linregress(x, y)
    line = stats.linregress(x, y)
    return slope + intercept * r + p * error + line.intercept_stderr + line[1] + len(line) + np.sum(line[:2])


@pytest.mark.parametrize("f", [correlated, regressed])
def test_correlation_and_regression(f):
    x, y = np.cos(np.arange(7.0)), np.sin(1.3 * np.arange(7.0) ** 1.5)
    assert np.isclose(value_and_grad(f, mode="python")(x, y)[0], f(x, y), rtol=1e-13)
    check_grads(f, (x, y), modes=("fwd", "rev"), mode="python")
    check_grads(f, (x, y))
    for a, b in ((x[:2], y[:2]), (x, 2.0 * x)):
        assert np.isclose(differentiable(f, mode="python")(a, b), f(a, b))
    for a, b in ((x, y[:3]), *([(x[:1], y[:1]), (x[:0], y[:0])] if f is correlated else [(0.0 * x, y)])):
        with pytest.raises(ValueError):
            f(a, b)
        with pytest.raises(ValueError):
            differentiable(f, mode="python")(a, b)
    assert np.isnan(differentiable(lambda x, y: stats.linregress(x, y).slope, mode="python")(x[:1], y[:1]))     # as SciPy's
    with pytest.raises(UnsupportedSyntax, match="alternative"):
        grad(lambda x: stats.pearsonr(x, y, alternative="less")[0], mode="python")(x)
