"""SciPy's functions that are a few lines of NumPy: values as SciPy's, derivatives in both modes, twice, and compiled."""

import numpy as np
import pytest
from scipy import fft, ndimage, special, stats
from scipy.spatial import distance, distance_matrix

from autodiff import AutodiffError, check_grads, differentiable, grad, vjp

X = np.array([0.3, 0.71, 1.12, 0.55])
A = np.random.default_rng(0).uniform(0.2, 1.4, (4, 5))
W = np.array([[0.5, 1.0, -0.3, 0.2], [0.1, 2.0, 0.7, 0.4]])
METRICS = ("euclidean", "sqeuclidean", "cityblock", "chebyshev")
MODES = ("reflect", "constant", "nearest", "mirror", "wrap")

POLYNOMIALS = {
    "legendre": lambda x: special.eval_legendre(4, x) + special.eval_legendre(0, x) + special.eval_sh_legendre(3, x),
    "chebyshev": lambda x: special.eval_chebyt(4, x) * special.eval_chebyu(3, x),
    "hermite": lambda x: special.eval_hermite(4, x) * special.eval_hermitenorm(3, x),
    "laguerre": lambda x: special.eval_laguerre(3, x) * special.eval_genlaguerre(4, x[0], x),
    "gegenbauer": lambda x: special.eval_gegenbauer(4, 0.7, x) + special.eval_gegenbauer(1, x[1], x),
    "jacobi": lambda x: special.eval_jacobi(4, 0.7, x[0], x) + special.eval_jacobi(1, 0.2, 0.5, x),
    "lambertw": lambda x: special.lambertw(x).real * special.lambertw(-0.3 * x, -1).real,
    "inv_boxcox": lambda x: special.inv_boxcox(x, 0.4) + special.inv_boxcox(x, 0.0),
    "comb": lambda x: special.comb(4.0 + x, 2) * special.gammasgn(-x) + special.comb(5, 2, exact=True) * special.comb(2, 3),
}
LAWS = {
    "frozen": lambda x: stats.norm(x[0], scale=x[1]).logpdf(x) + stats.norm(loc=x[0]).cdf(x) * stats.expon().sf(x),
    "frozen with shapes": lambda x: stats.gamma(x[0], scale=x[1]).pdf(x) + stats.beta(2.0, x[0]).logpdf(0.5 * x),
    "frozen and discrete": lambda x: stats.poisson(x).logpmf(2) + stats.binom(5, 0.5 * x).pmf(3),
    "frozen quantile": lambda x: stats.norm(x[0], x[1]).ppf(0.5 * x),
    "truncnorm": lambda x: stats.truncnorm.logpdf(x, -x[0], 2.0, 0.2, x[1]) + stats.truncnorm.cdf(x, -x[0], 2.0, 0.1, 1.3),
    "truncnorm far out": lambda x: stats.truncnorm.logpdf(9.0 + x, 9.0 - x[0], 12.0) + stats.truncnorm.pdf(x, -np.inf, 3.0),
    "skewnorm": lambda x: stats.skewnorm.logpdf(x, 2 * x[0], 0.1, x[1]) + stats.skewnorm.cdf(x, 2 * x[0], 0.1, x[1]),
    "gumbel_l": lambda x: stats.gumbel_l.logpdf(x, x[0], x[1]) + stats.maxwell.logpdf(x, 0.1, x[1]),
    "invgauss": lambda x: stats.invgauss.logpdf(x, x[0], 0.1, x[1]) + stats.vonmises.logpdf(x, x[0], 0.1),
    "genpareto": lambda x: stats.genpareto.logpdf(x, x[0], 0.1, x[1]) + stats.genpareto.logpdf(x, 0.0),
    "loguniform": lambda x: stats.loguniform.logpdf(x, 0.1, 2.0 * x[2]) + stats.gennorm.pdf(x, x[0], 0.1, x[1]),
}
FILTERS = {
    "gaussian": lambda a: ndimage.gaussian_filter(a, 0.8) + ndimage.gaussian_filter(a, (1, 0.4), mode="wrap", truncate=3),
    "gaussian width": lambda a: ndimage.gaussian_filter1d(a, a[0, 0] + 0.4, axis=0, radius=2),
    "uniform": lambda a: ndimage.uniform_filter(a, 3) + ndimage.uniform_filter(a, (2, 4), mode="wrap"),
    "uniform 1d": lambda a: ndimage.uniform_filter1d(a, 3, axis=0, mode="constant", cval=0.7),
    "convolve": lambda a: ndimage.convolve(a, W) + ndimage.convolve(a, a[:3, :3], mode="constant", cval=0.3),
    "correlate": lambda a: ndimage.correlate(a, W, mode="mirror") + ndimage.correlate(a, a[:3, :2]),
    "convolve 1d": lambda a: ndimage.convolve1d(a, W[0], axis=0) + ndimage.convolve1d(a, W[0, :3]),
    "edges": lambda a: ndimage.sobel(a) * ndimage.prewitt(a, axis=0) + ndimage.laplace(a, mode="wrap"),
    "modes": lambda a: sum([ndimage.correlate1d(a, W[0], mode=mode) for mode in MODES]),
    "cube": lambda a: ndimage.convolve(a.reshape(2, 2, 5), a[:2, :4].reshape(2, 2, 2)),
    "dct": lambda a: sum([fft.dct(a, k) + fft.dct(a, k, norm="ortho", axis=0) for k in (1, 2, 3, 4)]),
    "idct": lambda a: sum([fft.idct(a, k) + fft.idct(a, k, axis=0, norm="forward") for k in (1, 2, 3, 4)]),
    "dst": lambda a: sum([fft.dst(a, k) + fft.dst(a, k, norm="ortho") for k in (1, 2, 3, 4)]),
    "idst": lambda a: sum([fft.idst(a, k) + fft.idst(a, k, norm="ortho") for k in (1, 2, 3, 4)]),
    "several axes": lambda a: fft.dctn(a, norm="ortho") + fft.idstn(a, 3, axes=(0,)) + fft.dct(a, n=7)[:, :5],
}
DISTANCES = {
    "cdist": lambda a: sum([distance.cdist(a, a[:2] ** 2, m) for m in METRICS]),
    "minkowski": lambda a: distance.cdist(a, a[:3] ** 2, "minkowski", p=3) + distance_matrix(a, a[:3] ** 3),
    "pdist": lambda a: distance.squareform(distance.pdist(a)) ** 2 + distance.squareform(distance.pdist(a, "cityblock")),
    "of vectors": lambda a: (distance.euclidean(a[0], a[1]) + distance.sqeuclidean(a[1], a[2])
                             + distance.cityblock(a[0], a[2]) + distance.cosine(a[0], a[3])
                             + distance.minkowski(a[0], a[1], 3)),
}
CASES = [(f, X, name) for name, f in {**POLYNOMIALS, **LAWS}.items()]
CASES += [(f, A, name) for name, f in {**FILTERS, **DISTANCES}.items()]


@pytest.mark.parametrize("f, x", [pytest.param(f, x, id=name) for f, x, name in CASES])
def test_values_and_derivatives(f, x):
    np.testing.assert_allclose(vjp(f, x, mode="python")[0], f(x), rtol=1e-10, atol=1e-12)
    assert check_grads(f, (x,), modes=("fwd", "rev"), mode="python").worst < 2e-6


@pytest.mark.parametrize("name", ["lambertw", "jacobi", "truncnorm", "frozen", "gaussian width", "minkowski"])
def test_second_derivatives(name):
    f, x = next((f, x) for f, x, other in CASES if other == name)
    assert check_grads(lambda x: np.sum(np.sin(f(x))), (x,), order=2, modes=("fwd", "rev"), mode="python").worst < 1e-4


def everything(x, a):
    law = stats.truncnorm(-x[0], 2.0, scale=x[1])
    return (np.sum(law.logpdf(x)) + np.sum(special.eval_legendre(3, x)) + np.sum(special.lambertw(x).real)
            + np.sum(ndimage.gaussian_filter(a, 0.7) ** 2) + np.sum(fft.dct(a) ** 3) + np.sum(distance.cdist(a, a[:2])))


def test_compiled():
    assert check_grads(everything, (X, A)).worst < 1e-6


def test_the_ends_of_lambertw():
    for k in (0, -1):
        x = np.array([-0.37, -0.3678, -0.3, -1e-3, -1e-300, 0.0, 1e-300, 3.0, 1e10, 1e300, np.inf])
        expected = special.lambertw(x, k)
        found = vjp(lambda x, k=k: special.lambertw(x, k).real, x, mode="python")[0]
        real = expected.imag == 0.0
        np.testing.assert_allclose(found[real], expected.real[real], rtol=1e-7)
        assert np.all(np.isnan(found[~real]))


def test_signs_of_gamma():
    x = np.array([-2.5, -1.5, -0.3, -2.0, 0.0, -0.0, 1.0, np.nan, np.inf])
    np.testing.assert_array_equal(vjp(lambda x: special.gammasgn(x), x, mode="python")[0], special.gammasgn(x))


def test_laws_outside_their_support():
    x = np.array([-5.0, -0.2, 0.0, 0.4, 7.0])
    for law, args in ((stats.truncnorm, (-1.0, 2.0)), (stats.truncnorm, (1.0, 2.0)), (stats.maxwell, ()),
                      (stats.invgauss, (0.7,)), (stats.genpareto, (-0.4,)), (stats.loguniform, (0.1, 2.0))):
        np.testing.assert_allclose(vjp(lambda x, f=law.logpdf, args=args: f(x, *args), x, mode="python")[0],
                                   law.logpdf(x, *args), rtol=1e-12)
    np.testing.assert_allclose(vjp(lambda x: stats.truncnorm.cdf(x, -1.0, 2.0), x, mode="python")[0],
                               stats.truncnorm.cdf(x, -1.0, 2.0), atol=1e-15)


def test_errors_as_scipys():
    for f, x in ((lambda x: np.sum(distance.cdist(x, x[:, :2])), A), (lambda x: np.sum(distance.squareform(x)), X[:2]),
                 (lambda x: np.sum(fft.dct(x, 5)), X), (lambda x: np.sum(ndimage.convolve(x, X)), A),
                 (lambda x: np.sum(ndimage.correlate1d(x, X, mode="none")), X)):
        with pytest.raises((ValueError, RuntimeError)) as raised:
            f(x)
        with pytest.raises(raised.type):
            grad(f, mode="python")(x)


def test_refused_with_a_way_out():
    for f, told in ((lambda x: np.sum(special.eval_legendre(np.arange(4), x)), "for each degree"),
                    (lambda x: np.sum(special.lambertw(x, 1).real), "k=0 and k=-1"),
                    (lambda x: np.sum(ndimage.gaussian_filter1d(x, 1.0, order=1)), "np.gradient"),
                    (lambda x: np.sum(distance.pdist(x[:, None], "canberra")), "write it in NumPy"),
                    (lambda x: np.sum(ndimage.uniform_filter1d(x, 3, origin=1)), "roll")):
        with pytest.raises(AutodiffError, match=told):
            grad(f, mode="python")(X)


@pytest.mark.parametrize("name", ["dct", "idct", "dst", "idst"])
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_cosine_and_sine_transforms_of_every_length(name, kind):
    """They are as exact as SciPy's, and of its dtype."""
    r = np.random.default_rng(kind)
    for norm in (None, "ortho", "forward"):
        f = lambda x, norm=norm: getattr(fft, name)(x, kind, norm=norm)
        g = lambda x, norm=norm: getattr(fft, name)(x, kind, n=9, norm=norm, axis=0)
        for function, shape in ((f, (2,)), (f, (3,)), (f, (16,)), (f, (2, 37)), (g, (5, 2)), (g, (12,))):
            for dtype in (np.float64, np.float32):
                x = r.standard_normal(shape).astype(dtype)
                found, expected = differentiable(function, mode="python")(x), function(x)
                assert found.dtype == expected.dtype
                np.testing.assert_allclose(found, expected, rtol=0, atol=np.finfo(dtype).eps * 8 * np.max(np.abs(expected)))
    if (name, kind) in (("dct", 1), ("idct", 1)):
        with pytest.raises(RuntimeError, match="DCT-I is not defined"):
            differentiable(f, mode="python")(x[:1])
