"""Functions of scipy.special and densities of scipy.stats: values as SciPy's, derivatives in both modes and twice."""

import numpy as np
import pytest
from scipy import special, stats

from autodiff import AutodiffError, NonDifferentiable, check_grads, differentiable, grad, jacobian, value_and_grad, vjp

X = np.array([0.3, 1.7, 2.4, 6.1])
Y = np.array([0.9, 0.4, 3.1, 1.2])
P = np.array([1e-9, 0.02, 0.5, 0.97])
S = np.array([-30.0, -1.3, 0.2, 5.0])

ONE = [(special.erf, S), (special.erfc, S), (special.gammaln, X), (special.gamma, X), (special.psi, X), (special.digamma, X),
       (special.expit, S), (special.logit, P), (special.log_expit, S), (special.entr, X), (special.exp10, Y),
       (special.ndtr, S),
       (special.log_ndtr, S), (special.ndtri, P), (special.erfinv, 2 * P - 1), (special.erfinv, 1e-6 * S),
       (special.erfcinv, P), (special.softmax, S), (special.log_softmax, S), (special.logsumexp, S), (special.cbrt, X)]
TWO = [(special.xlogy, X, Y), (special.xlog1py, X, Y), (special.rel_entr, X, Y), (special.kl_div, X, Y),
    (special.betaln, X, Y),
       (special.beta, X, Y), (special.binom, X + 7, Y)]
LAWS = [(stats.norm.logpdf, (S, 0.3, 1.4)), (stats.norm.pdf, (S, 0.3, 1.4)), (stats.norm.cdf, (S, 0.3, 1.4)),
        (stats.norm.logcdf, (S, 0.3, 1.4)), (stats.lognorm.logpdf, (X, 0.8, 0.1, 1.4)), (stats.t.logpdf, (S, 3.2, 0.3, 1.4)),
        (stats.cauchy.logpdf, (S, 0.3, 1.4)), (stats.laplace.logpdf, (S, 0.3, 1.4)), (stats.logistic.logpdf, (S, 0.3, 1.4)),
        (stats.expon.logpdf, (X, 0.1, 1.4)), (stats.gamma.logpdf, (X, 2.3, 0.1, 1.4)), (stats.invgamma.logpdf, (X, 2.3,
        0.1, 1.4)),
        (stats.beta.logpdf, (P, 2.3, 1.7)), (stats.poisson.logpmf, (np.array([0.0, 2.0, 5.0]), 1.7)),
        (stats.binom.logpmf, (np.array([0.0, 2.0, 5.0]), 7.0, 0.3)), (stats.bernoulli.logpmf, (np.array([0.0, 1.0]), 0.3))]
LAWS += [(law.logpdf, (X, *args)) for law, args in (
    (stats.uniform, (0.1, 8.4)), (stats.chi2, (2.3, 0.1, 1.4)), (stats.weibull_min, (1.7, 0.1, 1.4)),
    (stats.halfnorm, (0.1, 1.4)), (stats.halfcauchy, (0.1, 1.4)), (stats.pareto, (2.3, -2.0, 1.4)),
    (stats.rayleigh, (0.1, 1.4)), (stats.gumbel_r, (0.3, 1.4)), (stats.f, (2.3, 3.1, 0.1, 1.4)))]
LAWS += [(stats.geom.logpmf, (np.array([1.0, 3.0]), 0.3)),
         (stats.norm.ppf, (P[1:], 0.3, 1.4)), (stats.norm.logsf, (S, 0.3, 1.4)),
         (stats.t.pdf, (S, 3.2, 0.3, 1.4)), (stats.poisson.pmf, (np.array([0.0, 2.0]), 1.7))]
# Distribution functions, and how many of their shape parameters have no derivative.
CDFS = [(stats.lognorm, (0.8, 0.1, 1.4), 0), (stats.t, (3.2, 0.3, 1.4), 1), (stats.cauchy, (0.3, 1.4), 0),
        (stats.laplace, (0.3, 1.4), 0), (stats.logistic, (0.3, 1.4), 0), (stats.expon, (0.1, 1.4), 0),
        (stats.gamma, (2.3, 0.1, 1.4), 1), (stats.beta, (2.3, 1.7, -0.1, 8.4), 2), (stats.invgamma, (2.3, 0.1, 1.4), 1),
        (stats.uniform, (0.1, 8.4), 0), (stats.chi2, (2.3, 0.1, 1.4), 1), (stats.weibull_min, (1.7, 0.1, 1.4), 0),
        (stats.halfnorm, (0.1, 1.4), 0), (stats.rayleigh, (0.1, 1.4), 0), (stats.gumbel_r, (0.3, 1.4), 0)]
DISCRETE = ("logpmf", "pmf")


def name(f):
    return getattr(f, "__name__", str(f))


@pytest.mark.parametrize("f, x", ONE, ids=name)
def test_functions_of_one_argument(f, x):
    def called(x):
        return f(x)
    np.testing.assert_allclose(vjp(called, x, mode="python")[0], f(x), rtol=3e-13, atol=1e-17)
    inner = x if f is not special.erfinv or x[0] > -0.5 else x[1:]
    if f in (special.ndtri, special.erfcinv, special.logit):
        inner = x[1:]
    assert check_grads(called, (inner,), modes=("fwd", "rev"), mode="python").worst < 1e-6


@pytest.mark.parametrize("f, x, y", TWO, ids=name)
def test_functions_of_two_arguments(f, x, y):
    def called(x, y):
        return f(x, y)
    np.testing.assert_allclose(vjp(called, x, y, mode="python")[0], f(x, y), rtol=1e-12)
    assert check_grads(called, (x, y), modes=("fwd", "rev"), mode="python").worst < 1e-6


@pytest.mark.parametrize("law, args", LAWS, ids=lambda x: f"{x.__self__.name}.{x.__name__}" if callable(x) else "")
def test_densities(law, args):
    def called(*args):
        return law(*args)
    np.testing.assert_allclose(vjp(called, *args, mode="python")[0], law(*args), rtol=1e-11, atol=1e-14)
    wrt = tuple(k for k in range(len(args)) if not (law.__name__ in DISCRETE and k < len(args) - 1))
    inner = (args[0][1:], *args[1:]) if law.__self__ is stats.beta else args
    assert check_grads(called, inner, wrt=wrt, modes=("fwd", "rev"), mode="python").worst < 1e-6


@pytest.mark.parametrize("law, args, without", CDFS, ids=lambda x: getattr(x, "name", ""))
def test_distribution_functions(law, args, without):
    """The derivative with respect to the variable is the density; the others as differences'."""
    def called(x, *args):
        return np.sum(law.cdf(x, *args))
    wrt = (0, *range(1 + without, 1 + len(args)))
    value, bars = value_and_grad(called, wrt=wrt, mode="python")(X, *args)
    assert value == pytest.approx(np.sum(law.cdf(X, *args)), rel=1e-13)
    np.testing.assert_allclose(bars[0], law.pdf(X, *args), rtol=1e-10)
    for k, bar in zip(wrt[1:], bars[1:], strict=True):
        moved = lambda h, k=k: called(X, *(a + h * (j == k - 1) for j, a in enumerate(args)))
        assert bar == pytest.approx((moved(1e-6) - moved(-1e-6)) / 2e-6, rel=1e-6, abs=1e-8)
    if without:
        with pytest.raises(NonDifferentiable):
            grad(called, wrt=1, mode="python")(X, *args)

    def others(x, p, *args):
        return np.sum(law.logcdf(x, *args) + law.sf(x, *args) * law.logsf(x, *args)) + np.sum(law.ppf(p, *args))
    wrt = (0, 1, *range(2 + without, 2 + len(args)))
    value, bars = value_and_grad(others, wrt=wrt, mode="python")(X, P[1:], *args)
    assert value == pytest.approx(others(X, P[1:], *args), rel=1e-12)
    moved = lambda h: others(X + h, P[1:] + h, *args[:without], *(a + h for a in args[without:]))
    assert sum(map(np.sum, bars)) == pytest.approx((moved(1e-6) - moved(-1e-6)) / 2e-6, rel=1e-6)


def test_second_derivatives():
    def f(x):
        return np.sum(special.gammaln(x) * special.expit(x)) + special.logsumexp(x) + np.sum(special.log_ndtr(x))
    assert check_grads(f, (X,), order=2, modes=("fwd", "rev"), mode="python").worst < 1e-5
    np.testing.assert_allclose(grad(lambda x: np.sum(special.psi(x)), mode="python")(X), special.polygamma(1, X), rtol=1e-12)
    for n in (1, 2, 3):
        found = vjp(lambda x, n=n: special.polygamma(n, x), np.array([0.2, 3.0, -0.7]), mode="python")[0]
        np.testing.assert_allclose(found[:2], special.polygamma(n, np.array([0.2, 3.0])), rtol=1e-11)
    assert check_grads(lambda x: special.polygamma(2, x), (np.array([0.4, 2.0, -0.7]),), mode="python").worst < 1e-6


def test_at_the_edges():
    value, gradient = value_and_grad(lambda x: np.sum(special.xlogy(x, x)), mode="python")(np.array([0.0, 1.0]))
    assert value == 0.0 and np.isfinite(gradient[1])
    assert vjp(lambda p: special.ndtri(p), np.array([0.0, 1.0]), mode="python")[0].tolist() == [-np.inf, np.inf]
    assert np.isneginf(vjp(lambda x: stats.expon.logpdf(x), np.array([-1.0]), mode="python")[0][0])
    np.testing.assert_array_equal(grad(lambda x: np.sum(special.expit(x)), mode="python")(np.array([-800.0, 800.0])),
        [0.0, 0.0])
    found = vjp(lambda a: special.logsumexp(a, axis=1, b=np.array([1.0, 2.0])), np.array([[1.0, 2.0], [800.0, 801.0]]),
                mode="python")[0]
    np.testing.assert_allclose(found, special.logsumexp(np.array([[1.0, 2.0], [800.0, 801.0]]), axis=1, b=np.array([1.0,
        2.0])))


def posterior(mean, spread, data):
    """As a statistician would write it."""
    prior = stats.norm.logpdf(mean, 0.0, 10.0) + stats.gamma.logpdf(spread, 2.0, 0.0, 1.0)
    return prior + np.sum(stats.t.logpdf(data, 4.0, mean, spread)) + special.logsumexp(data * mean)


def test_compiled():
    assert check_grads(posterior, (0.4, 1.3, S)).worst < 1e-6


def test_dirichlet():
    """With respect to the parameters: SciPy takes points of the simplex only."""
    x, alpha = np.array([0.2, 0.3, 0.5]), np.array([1.2, 2.0, 0.7])
    found = grad(lambda a: stats.dirichlet.logpdf(x, a), mode="python")(alpha)
    np.testing.assert_allclose(found, np.log(x) - special.psi(alpha) + special.psi(alpha.sum()), rtol=1e-12)


def test_points_of_several_dimensions():
    """Densities of stacks of points, of the covariances that SciPy makes matrices of, and points without their last part."""
    generator = np.random.default_rng(3)
    x, mean, variances = generator.normal(size=(2, 4, 3)), generator.normal(size=3), np.array([0.5, 1.0, 2.0])
    alpha, points = np.array([1.5, 2.0, 0.7]), generator.dirichlet(np.ones(3), size=(2, 2)).transpose(2, 0, 1)
    normal = stats.multivariate_normal.logpdf
    cases = ((lambda x, m, c: normal(x, m, c @ c.T + np.eye(3)), x, mean, x[0, :3]), (normal, x, mean, variances),
             (lambda x, m: normal(x, m, 0.7), x[0], mean), (lambda x: np.exp(normal(x, mean)), x[0, 0]),
             (lambda x, a: stats.dirichlet.logpdf(x / (x.sum(axis=0) + 1.0), a), points[:2, 0], alpha),
             (lambda x, a: stats.dirichlet.pdf(x / (x.sum() + 1.0), a), points[:2, 0, 0], alpha),
             (lambda x, a: stats.dirichlet.logpdf(x / x.sum(axis=0), a), points[:, 1], alpha))
    for f, *args in cases:
        np.testing.assert_allclose(vjp(f, *args, mode="python")[0], f(*args), rtol=1e-12)
        assert check_grads(f, tuple(args), mode="python").worst < 1e-6


def test_laws_that_are_refused():
    for f in (lambda x: stats.multivariate_normal.logpdf(x, 0.0),
              lambda x: stats.multivariate_normal.logpdf(x, cov=np.ones(3)),
              lambda x: np.sum(stats.multivariate_normal.logpdf(x, cov=np.stack((np.eye(3), np.eye(3))))),
              lambda x: stats.dirichlet.logpdf(x, np.ones((3, 1)))):
        with pytest.raises(AutodiffError, match="not supported"):
            grad(f, mode="python")(np.ones(3))
    with pytest.raises(ValueError, match="coordinates"):
        grad(lambda x: stats.dirichlet.logpdf(x, np.ones(5)), mode="python")(np.ones(3) / 3)


def test_multivariate_normal():
    def f(x, mean, factor):
        return np.sum(stats.multivariate_normal.logpdf(x, mean, factor @ factor.T))
    factor = np.array([[1.0, 0.0], [0.4, 1.3]])
    points = np.array([[0.3, 1.0], [2.0, -1.0], [0.1, 0.2]])
    args = (points, np.array([0.2, 0.1]), factor)
    assert value_and_grad(f, mode="python")(*args)[0] == pytest.approx(f(*args))
    assert check_grads(f, args, modes=("fwd", "rev"), mode="python").worst < 1e-6


def test_entropies_of_points():
    factor = np.array([[1.0, 0.0], [0.4, 1.3]])
    variances = np.array([0.5, 2.0])
    cases = ((lambda f: stats.multivariate_normal.entropy(np.zeros(2), f @ f.T), factor),
             (lambda f: stats.multivariate_normal.entropy(cov=f @ f.T), factor),
             (lambda v: stats.multivariate_normal.entropy(np.ones(2), v), variances),
             (lambda v: stats.dirichlet.entropy(v), variances))
    for f, x in cases:
        assert value_and_grad(f, mode="python")(x)[0] == pytest.approx(f(x))
        assert check_grads(f, (x,), modes=("fwd", "rev"), mode="python").worst < 1e-6


def poisson_pmf(k, mu):
    return stats.poisson.pmf(k, mu)


def bernoulli_pmf(k, p):
    return stats.bernoulli.pmf(k, p)


def binom_pmf(k, p):
    return stats.binom.pmf(k, 5, p)


def geom_pmf(k, p):
    return stats.geom.pmf(k, p)


def nbinom_pmf(k, p):
    return stats.nbinom.pmf(k, 4.0, p)


@pytest.mark.parametrize("pmf", [poisson_pmf, bernoulli_pmf, binom_pmf, geom_pmf, nbinom_pmf])
def test_probabilities_are_zero_off_the_support(pmf):
    k = np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 2.5, 5.0, 6.0])
    np.testing.assert_allclose(differentiable(pmf, mode="python")(k, 0.3), pmf(k, 0.3), 1e-12)
    slopes = jacobian(pmf, wrt="p" if pmf is not poisson_pmf else "mu", mode="python")(k, 0.3)
    differences = (pmf(k, 0.3 + 1e-6) - pmf(k, 0.3 - 1e-6)) / 2e-6
    np.testing.assert_allclose(slopes, differences, 1e-6, 1e-8)


@pytest.mark.parametrize("f, x, value, slope", [
    (lambda x: stats.expon.logsf(x), 800.0, -800.0, -1.0),
    (lambda x: stats.weibull_min.logsf(x, 2.0), 30.0, -900.0, -60.0),
    (lambda x: stats.rayleigh.logsf(x), 60.0, -1800.0, -60.0),
    (lambda x: stats.logistic.logcdf(x), -800.0, -800.0, 1.0),
    (lambda x: stats.logistic.logsf(x), 800.0, -800.0, -1.0),
    (lambda x: stats.laplace.logsf(x), 900.0, -900.0 - np.log(2.0), -1.0),
    (lambda x: stats.gumbel_r.logcdf(x), -38.0, -np.exp(38.0), np.exp(38.0)),
])
def test_logarithms_of_tails_stay_finite(f, x, value, slope):
    found, gradient = value_and_grad(f, mode="python")(x)
    assert found == pytest.approx(value, rel=1e-14) and gradient == pytest.approx(slope, rel=1e-14)


@pytest.mark.parametrize("function, a", [
    (lambda a: special.xlogy(a, 0.3), 0.0), (lambda a: special.xlog1py(a, -0.3), 0.0),
    (lambda a: np.sum(special.xlogy(np.array([0.0, 1.0]) + a, 0.3)), 0.0), (lambda a: stats.gamma.logpdf(0.5, a), 1.0),
    (lambda a: stats.beta.logpdf(0.3, a, a), 1.0), (lambda a: stats.weibull_min.logpdf(0.3, a), 1.0),
    (lambda a: stats.chi2.logpdf(0.3, a), 2.0), (lambda a: stats.f.logpdf(0.3, a, 3.0), 2.0),
    (lambda a: stats.dirichlet.logpdf(np.array([0.3, 0.7]), np.array([a, 2.0])), 1.0),
    (lambda a: stats.binom.logpmf(0, 3, a), 0.3)])
def test_derivatives_by_a_power_that_is_zero(function, a):
    """x log y is zero at x = 0, and its derivative by x is not."""
    h = 1e-6
    assert grad(function, mode="python")(a) == pytest.approx((function(a + h) - function(a - h)) / (2.0 * h), rel=1e-7)
    assert vjp(lambda x, y: special.xlogy(x, y), 0.0, 0.0, mode="python")[0] == 0.0


# ---- outside of the support, at its edges, and parameters that no law has ----------------------------------
SHAPES = {"norm": (), "lognorm": (0.7,), "t": (3.0,), "cauchy": (), "laplace": (), "logistic": (), "expon": (),
          "gamma": (2.0,), "invgamma": (2.0,), "beta": (2.0, 3.0), "uniform": (), "chi2": (3.0,),
          "weibull_min": (1.5,), "halfnorm": (), "halfcauchy": (), "pareto": (2.0,), "rayleigh": (), "gumbel_r": (),
          "f": (3.0, 4.0)}
WITHOUT_CDF = ("halfcauchy", "pareto", "f")


@pytest.mark.parametrize("name", SHAPES)
def test_parameters_that_no_law_has(name):
    """Every parameter in turn at -1 and 0, at points in and out of the support: nan where SciPy gives nan."""
    law, good = getattr(stats, name), (*SHAPES[name], 1.0)
    rows = [(x, *good) for x in (0.5, -0.5, 0.0, 1.5)]
    rows += [(x, *good[:k], wrong, *good[k + 1:]) for x in (0.5, -0.5) for k in range(len(good)) for wrong in (-1.0, 0.0)]
    x, *shapes, scale = np.array(rows).T
    methods = ("logpdf", "pdf", "cdf", "sf", "ppf")[:2 if name in WITHOUT_CDF else 5]
    for method in methods:
        called = getattr(law, method)
        found = differentiable(lambda *args, called=called: called(*args), mode="python")(x, *shapes, 0.25 * x, scale)
        with np.errstate(all="ignore"):
            wanted = called(x, *shapes, 0.25 * x, scale)
        np.testing.assert_allclose(found, wanted, rtol=1e-10, atol=1e-300)


@pytest.mark.parametrize("name", ["lognorm", "expon", "gamma", "invgamma", "beta", "chi2", "weibull_min", "halfnorm",
                                  "pareto", "rayleigh", "f"])
def test_densities_are_flat_outside_of_their_support(name):
    """A mixture has the gradient of its other parts there."""
    law, shapes = getattr(stats, name), SHAPES[name]

    def mixture(x, scale):
        return law.pdf(x, *shapes, 0.0, scale) + stats.norm.pdf(x)
    x_bar, scale_bar = grad(mixture, wrt=(0, 1), mode="python")(-0.5, 1.5)
    assert x_bar == pytest.approx(0.5 * stats.norm.pdf(-0.5)) and scale_bar == 0.0


@pytest.mark.parametrize("law, at, slope", [
    (lambda x, s: stats.gamma.logpdf(x, 2.0, 0.0, s), 0.0, -2.0), (lambda x, s: stats.rayleigh.logpdf(x, 0.0, s), 0.0, -2.0),
    (lambda x, s: stats.beta.logpdf(x, 2.0, 3.0, 0.0, s), 0.0, -2.0), (lambda x, s: stats.rayleigh.pdf(x, 0.0, s), 0.0, 0.0),
    (lambda x, s: stats.weibull_min.logpdf(x, 1.5, 0.0, s), 0.0, -1.5),
    (lambda x, s: stats.gamma.pdf(x, 1.0, 0.0, s), 0.0, -1.0),
    (lambda x, s: stats.f.logpdf(x, 3.0, 4.0, 0.0, s), 0.0, -1.5)])
def test_derivatives_by_the_scale_at_an_edge(law, at, slope):
    """d log f / ds is finite where the density is a power of x / s; rayleigh and exponential densities have slopes too."""
    x_bar, scale_bar = grad(law, wrt=(0, 1), mode="python")(at, 1.0)
    assert scale_bar == pytest.approx(slope, abs=1e-12) and not np.isnan(x_bar)
