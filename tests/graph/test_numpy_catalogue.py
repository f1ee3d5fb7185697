"""The catalogue of NumPy's calls on Tensors: what the compiler accepts, a graph does, or refuses with the reason."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff as ad

from ..numpy_catalogue import CATALOGUE
from ..test_numpy_catalogue import FLOATS, exists, function_of, inputs, source_of
from .support import silent

# Arrays made of Tensors, and results put into arrays, would lose the history: refused, each with a way out.
REFUSED = ("np.stack to make one Tensor", "only the solution", "out= is an array", "into a Tensor",
           "np.add.at, or an assignment")
LOST = ("np.fromiter", "x.item(", "x if np.isscalar(v[0])")        # leave for Python's own numbers, or ask for them


def flat(value):
    return [v for part in value for v in flat(part)] if isinstance(value, (tuple, list)) else [value]


def weighted(results, weights):
    return sum((r * w).sum() for r, w in zip(results, weights, strict=True) if r.dtype.kind == "f")


@pytest.mark.parametrize("topic", CATALOGUE)
def test_on_tensors(topic):
    arrays = inputs()
    generator = np.random.default_rng(1)
    steps = {n: generator.standard_normal(arrays[n].shape) for n in FLOATS}
    done = 0
    for k, entry in enumerate(filter(None, map(str.strip, CATALOGUE[topic].splitlines()))):
        if not exists(entry) or entry.startswith(LOST):
            continue
        f = function_of(source_of(entry), f"<catalogue {topic} {k}>")
        leaves = {n: ad.tensor(arrays[n], requires_grad=True) for n in FLOATS}
        with silent():
            try:
                found = flat(f(**{**arrays, **leaves}))
            except (RuntimeError, TypeError, ad.MissingRule) as e:
                assert any(r in str(e) for r in REFUSED), entry
                continue
            expected = [np.asarray(v) for v in flat(f(**{n: np.array(a) for n, a in arrays.items()}))]
            for a, b in zip(found, expected, strict=True):
                a = a.detach().numpy() if isinstance(a, ad.Tensor) else a
                np.testing.assert_allclose(a, b, rtol=1e-9, err_msg=entry)
            weights = [generator.standard_normal(b.shape) for b in expected]
            if not any(isinstance(a, ad.Tensor) and a.requires_grad for a in found):
                assert all(b.dtype.kind != "f" for b in expected), entry
                continue
            loss = weighted([a if isinstance(a, ad.Tensor) else ad.tensor(a) for a in found], weights)
            gradients = ad.grad(loss, list(leaves.values()), materialize_grads=True)

            def value(h, f=f, weights=weights):
                moved = {n: arrays[n] + h * steps[n] if n in FLOATS else np.array(arrays[n]) for n in arrays}
                return weighted([np.asarray(v) for v in flat(f(**moved))], weights)
            slope = (value(1e-6) - value(-1e-6)) / 2e-6
            own = sum((g.numpy() * steps[n]).sum() for n, g in zip(FLOATS, gradients, strict=True))
        assert abs(slope - own) < 1e-5 * (1 + abs(slope)), entry
        done += 1
    assert done


def test_a_number_is_not_run_over():
    with pytest.raises(TypeError, match="0-d"):
        iter(ad.tensor(1.0))
