"""`out_axes=None`: results that all examples share, and those that may differ."""

import numpy as np
import pytest

from autodiff import AutodiffError, grad, vmap

from .fuzz.checks import as_tuple, runs
from .fuzz.programs import program
from .vmap_oracle import PYTHON, W, X, looped, same


def with_shared(x, w, scale):
    """Results of examples, and three that none of them changes."""
    small = np.sum(w) * scale
    rows = w * 2.0
    for k in range(2):
        rows = rows + np.tanh(rows) * k
    return {"own": w @ x, "rows": rows, "small": small if scale > 0.0 else -small, "fixed": 3.0}


def test_results_that_all_examples_share():
    outs = {"own": 1, "rows": None, "small": None, "fixed": None}
    axes = (0, None, None)
    made = vmap(with_shared, in_axes=axes, out_axes=outs, **PYTHON)
    same(made(X, W, 2.0), looped(with_shared, (X, W, 2.0), axes, outs))
    complex_ = vmap(lambda x, z: (x * 2.0, z * z, z[0] * 1j), (0, None), (0, None, None), **PYTHON)
    z = np.array([1.0 + 2.0j, 0.5j])
    found = complex_(X, z)
    np.testing.assert_allclose(found[1], z * z)
    np.testing.assert_allclose(found[2], z[0] * 1j)

    def loss(w, x, scale):
        found = vmap(with_shared, in_axes=axes, out_axes=outs)(x, w, scale)
        return np.sum(found["own"] ** 2) + np.sum(found["rows"] ** 2) * found["small"]

    def plain(w, x, scale):
        found = looped(with_shared, (x, w, scale), axes, outs)
        return np.sum(found["own"] ** 2) + np.sum(found["rows"] ** 2) * found["small"]
    step = 1e-6
    moved = [step * e.reshape(W.shape) for e in np.eye(W.size)]
    wanted = np.array([(plain(W + e, X, 2.0) - plain(W - e, X, 2.0)) / (2 * step) for e in moved]).reshape(W.shape)
    np.testing.assert_allclose(grad(loss, **PYTHON)(W, X, 2.0), wanted, rtol=1e-6)
    with pytest.raises(ValueError, match="no examples"):
        made(X[:0], W, 2.0)


@pytest.mark.parametrize("function", [
    lambda x, w: (x[0], w), lambda x, w: w if x[0] > 0.0 else 2.0 * w, lambda x, w: w[int(x[0] > 0.0)],
    lambda x, w: sum([w[0] for _ in range(int(x[0]))]), lambda x, w: np.where(x > 0.0, w[0], 1.0),
    lambda x, w: np.linalg.solve(w @ w.T + x[0], w[:, 0])])
def test_results_that_may_differ_are_not_shared(function):
    with pytest.raises(TypeError, match="may differ between them"):
        vmap(function, (0, None), None, **PYTHON)(X, W)


def test_draws_differ_between_examples():
    with pytest.raises(TypeError, match="may differ between them"):
        vmap(lambda x, rng: rng.normal(), (0, None), None, **PYTHON)(X, np.random.default_rng(1))


def mapped(f, args, place, outs):
    """What vmap gives over two examples that differ in one argument; None where it refuses."""
    examples = np.stack([np.asarray(args[place]), 0.5 - np.asarray(args[place])])
    axes = tuple(0 if k == place else None for k in range(len(args)))
    try:
        return as_tuple(vmap(f, axes, outs, **PYTHON)(*(examples if k == place else x for k, x in enumerate(args))))
    except (AutodiffError, ArithmeticError, ValueError, IndexError):
        return None


@pytest.mark.parametrize("seed", range(7_400_000, 7_400_024, 4))
def test_random_programs_share_what_is_the_same(seed):
    """What is not refused is what each example gives; what no example is part of is not refused."""
    for one in (program(k) for k in range(seed, seed + 4)):
        if not runs(one):
            continue
        f = one.module()["f"]
        alone = mapped(lambda t, *args: f(*args), [1.0, *one.values()], 0, 0)
        count = len(as_tuple(f(*one.values())))
        none = None if count == 1 else (None,) * count
        found = mapped(lambda t, *args: f(*args), [1.0, *one.values()], 0, none)
        assert (alone is None) == (found is None), one.seed
        for a, b in zip(alone or (), found or (), strict=True):
            np.testing.assert_allclose(a[0], b, rtol=1e-12, err_msg=str(one.seed))
        for place, value in enumerate(one.values()):
            if np.asarray(value).dtype.kind != "f":
                continue
            for j in range(count):
                outs = None if count == 1 else tuple(None if k == j else 0 for k in range(count))
                found = mapped(f, one.values(), place, outs)
                if found is not None:
                    other = one.values()
                    other[place] = 0.5 - np.asarray(other[place])
                    for args in (one.values(), other):
                        np.testing.assert_allclose(found[j], as_tuple(f(*args))[j], rtol=1e-9, err_msg=str(one.seed))
