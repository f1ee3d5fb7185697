"""Reductions of bottleneck, where it is installed."""

import numpy as np
import pytest

from autodiff import check_grads, vjp

bn = pytest.importorskip("bottleneck")
X = np.array([[0.3, 1.2, -0.7, 0.1], [2.0, -0.4, 0.9, 1.1], [0.6, 0.2, 1.7, -1.3]])
HOLES = np.where(X == 0.9, np.nan, X)


@pytest.mark.parametrize("name", ["nansum", "nanmean", "nanstd", "nanvar", "nanmin", "nanmax", "median", "nanmedian", "ss"])
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_reductions(name, axis):
    function = getattr(bn, name)
    check_grads(lambda x: np.sum(function(x, axis=axis) * 1.5), (X,), modes=("fwd", "rev"), mode="python")
    np.testing.assert_allclose(vjp(lambda x: function(x, axis), HOLES, mode="python")[0], function(HOLES, axis))


def test_places_and_questions():
    assert vjp(lambda x: x[0, bn.nanargmax(x, axis=1)[0]] * (1 + bn.anynan(x)), HOLES, mode="python")[0] == 2.4
    assert vjp(lambda x: np.sum(bn.allnan(x, axis=0)) + bn.nanstd(x, ddof=1), X, mode="python")[0] == bn.nanstd(X, ddof=1)
