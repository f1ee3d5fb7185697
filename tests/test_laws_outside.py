"""Laws of `scipy.stats` with their parameters, made outside of the function that is differentiated."""

import numpy as np
import pytest
from scipy import stats

from autodiff import AutodiffError, check_grads, grad, value_and_grad

X = np.array([0.3, 0.7, 1.1])
prior = stats.norm(0.5, scale=2.0)
LAWS = [stats.norm(), stats.gamma(2.5, scale=1.3), stats.beta(2.0, 3.0, 0.0, 2.0), stats.t(4), prior]


def test_laws_made_outside():
    def loss(x):
        return np.sum(prior.logpdf(x)) + prior.cdf(x[0]) * prior.pdf(x[1])
    assert value_and_grad(loss, mode="python")(X)[0] == pytest.approx(loss(X), rel=1e-13)
    assert check_grads(loss, (X,), modes=("fwd", "rev"), mode="python").worst < 1e-6
    counts = stats.poisson(3.0)
    assert grad(lambda x: x * counts.pmf(2), mode="python")(2.0) == pytest.approx(counts.pmf(2))


class Model:
    law = prior

    def loss(self, x):
        return np.sum(self.law.logpdf(x))


def test_another_law_is_noticed():
    model = Model()
    gradient = value_and_grad(lambda x: model.loss(x), mode="python")
    for model.law in (*LAWS, stats.norm(0.5, scale=2.5), prior):
        assert gradient(X)[0] == pytest.approx(model.loss(X), rel=1e-12), model.law.dist.name


class Own(type(stats.norm)):
    def _logpdf(self, x):
        return -x ** 4


def test_a_law_of_ones_own_is_no_law_of_scipy():
    law = Own(name="norm")(0.0, 1.0)
    with pytest.raises(AutodiffError):
        grad(lambda x: law.logpdf(x), mode="python")(1.0)
