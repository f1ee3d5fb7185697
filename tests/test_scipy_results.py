"""What SciPy gives of narrow and unsigned dtypes: its values, its dtypes, and Python's floats where it has those."""

import numpy as np
import pytest
from scipy import linalg, spatial, special
from scipy.spatial import distance

from autodiff import AutodiffError, differentiable, grad
from autodiff.rules.registry import REGISTRY
from autodiff.rules.scipy_functions import special as _  # noqa: F401  (it fills the registry)

PAIRS = ("euclidean", "sqeuclidean", "cityblock", "chebyshev", "cosine", "correlation", "minkowski")


def same(function, *args):
    wanted, got = function(*args), differentiable(function, mode="python")(*args)
    assert np.asarray(got).dtype == np.asarray(wanted).dtype
    assert isinstance(wanted, np.generic) or not isinstance(got, np.generic)
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("dtype", ["u1", "u8", "i2", "i8", "f4", "f8"])
def test_distances_of_two_vectors(dtype):
    a, b = np.array([1, 2, 3]).astype(dtype), np.array([3, 1, 9]).astype(dtype)
    for name in PAIRS:
        if name not in ("cosine", "correlation") or dtype not in ("u1", "u8", "i2"):     # halves, and roots of what wrapped
            same(getattr(distance, name), a, b)
    same(linalg.norm, a)
    same(lambda u: linalg.norm(u, 2) * np.ones(2, "f4"), a)
    same(lambda u: linalg.norm(u, 1), a)


@pytest.mark.parametrize("dtype", ["u1", "i8", "f4", "f8"])
def test_matrices_of_distances(dtype):
    a = np.array([[5, 2], [1, 2], [3, 7]]).astype(dtype)
    for function in (distance.pdist, lambda a: distance.cdist(a, a[:2], "cityblock"), spatial.distance_matrix,
                     lambda a: distance.squareform(distance.pdist(a, "chebyshev"))):
        same(function, *[a] * (2 if function is spatial.distance_matrix else 1))


def test_weights_of_distances():
    a, b, w = np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.5, 5.0]), np.array([1.0, 0.5, 2.0])
    for name in PAIRS[:5]:
        function = getattr(distance, name)
        same(function, a, b, *([2, w] if name == "minkowski" else [w]))
        steps = [(function(a + e, b, w=w) - function(a - e, b, w=w)) / 2e-6 for e in 1e-6 * np.eye(3)]
        np.testing.assert_allclose(grad(lambda a, f=function: f(a, b, w=w), mode="python")(a), steps, atol=1e-6)


# those whose meaning is written here with other functions, whose dtypes might be others
UFUNCS = sorted((f.__name__, f) for f in REGISTRY.definitions if isinstance(f, np.ufunc) and f.nout == 1
                and getattr(special, f.__name__, None) is f)


@pytest.mark.parametrize("kinds", ["f4", "i1", "u2", ("f4", "f8"), ("i8", "f4")])
def test_ufuncs(kinds):
    """Refusals are no failures here: those of loops in float16, of degrees that are arrays."""
    seen = 0
    for name, function in UFUNCS:
        given = [np.array([1, 2]).astype(k) for k in ((kinds,) if isinstance(kinds, str) else kinds) * 4][:function.nin]
        given = [3, *given[1:]] if name.startswith("eval_") else given
        try:
            same(function, *given)
        except (AutodiffError, TypeError):
            continue
        seen += 1
    assert seen > 10
