"""What Python mode calls instead of `math`: NumPy's numbers, and C's values where `math` raises."""

import math

import numpy as np
import pytest
from scipy import special, stats

from autodiff import differentiable, grad
from autodiff.runtime.numbers import plainmath


@pytest.mark.parametrize("name", plainmath.__all__)
@pytest.mark.parametrize("kind", [float, np.float64, np.float32])
def test_values(name, kind):
    for x in (0.3, 2.5, -1.5):
        found = getattr(plainmath, name)(kind(x))
        assert found == pytest.approx(getattr(math, name)(kind(x)), rel=1e-6)
        assert type(found) is (np.float64 if kind is float else kind)


def test_poles_and_overflow():
    assert plainmath.gamma(200.0) == plainmath.gamma(0.0) == plainmath.lgamma(-1.0) == np.inf
    assert plainmath.gamma(-0.0) == -np.inf and np.isnan(plainmath.gamma(-2.0))
    assert plainmath.lgamma(1e308) == special.gammaln(1e308) == np.inf


def test_division_by_a_result():
    assert differentiable(lambda x: stats.halfnorm.logcdf(x), mode="python")(0.0) == -np.inf
    assert grad(lambda x: stats.halfnorm.logcdf(x), mode="python")(0.0) == np.inf
    assert grad(lambda x: np.float64(1.0) / math.erf(x), mode="python")(0.0) == -np.inf
