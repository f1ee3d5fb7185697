"""Forward mode, Jacobians and Hessians take long lists as whole arrays, as gradients do."""

import numpy as np
import pytest

from autodiff import AutodiffError, hessian, hvp, jacobian, jvp, linearize

from .test_long_lists import LAYERS, XS, flat, form, network

DRAW = np.random.default_rng(1)


def like(v, numbers):
    """A structure of the same form with these numbers."""
    if isinstance(v, (list, tuple)):
        return type(v)(like(x, numbers) for x in v)
    if isinstance(v, np.ndarray):
        return np.array([next(numbers) for _ in range(v.size)]).reshape(v.shape)
    return float(next(numbers))


def cubes(xs):
    s = 0.0
    for k, v in enumerate(xs):
        s += v ** 3 * (k + 1)
    return s * xs[0]


def scaled(layers):
    return [sum(W[0] * b) for W, b in layers], layers[1][0] * layers[0][1]


def with_items(xs):
    ys = xs + [1.0]
    return sum([v * v for v in ys]) * ys[3]


PAIRS = [(DRAW.uniform(0.5, 1.5, (2, 2)), DRAW.uniform(0.5, 1.5, 2)) for _ in range(18)]
CASES = [(cubes, XS), (with_items, XS), (network, LAYERS), (scaled, PAIRS)]


def parts(value) -> list:
    if isinstance(value, (list, tuple)):
        return [p for v in value for p in parts(v)]
    return [value]


@pytest.mark.parametrize("f, argument", CASES)
def test_forward_mode_takes_them_whole(f, argument):
    short = type(argument)(argument[:5])
    for given in (argument, short):                 # packed, and one by one
        tangent = like(given, iter(np.linspace(0.5, 1.0, 1000)))
        value, dot = jvp(f, (given,), (tangent,), mode="python")
        pushed = linearize(f, given, mode="python")[1](tangent)
        assert form(dot) == form(value) == form(f(given)) and np.allclose(flat(dot), flat(pushed))
        rows = jacobian(f, mode="python")(given)
        h = 1e-6
        ahead, behind = (f(like(given, iter(np.array(flat(given)) + s * h * np.array(flat(tangent))))) for s in (1, -1))
        assert np.allclose(flat(dot), (np.array(flat(ahead)) - np.array(flat(behind))) / (2 * h), atol=1e-6)
        found, results = parts(rows), len(flat(value))
        by_item = [np.reshape(p, (-1, np.size(q))) for p, q in zip(found, parts(given) * len(found), strict=False)]
        count = len(parts(given))
        whole = np.concatenate([np.concatenate(by_item[k:k + count], 1) for k in range(0, len(by_item), count)])
        assert whole.shape == (results, len(flat(given))) and np.allclose(whole @ flat(tangent), flat(dot))


def test_second_derivatives_take_them_whole():
    for f, given in ((cubes, XS), (cubes, tuple(XS)), (with_items, XS), (cubes, XS[:4])):
        tangent = like(given, iter(np.linspace(0.5, 1.0, 1000)))
        product = hvp(f, mode="python")(given, tangent)
        rows = hessian(f, mode="python")(given)
        assert form(product) == form(given) and type(rows) is type(rows[0]) is type(given) and type(rows[0][0]) is float
        assert np.allclose(np.array(rows) @ tangent, product) and np.allclose(rows, np.transpose(rows))


def test_forward_mode_is_one_program_for_all_lengths():
    for make in (jacobian, hessian):
        made = make(lambda xs: cubes(xs), mode="python")
        assert len(made([0.5] * 20)) == 20 and len(made([0.5] * 30)) == 30 and len(made._specialisations) == 1
    product = hvp(lambda xs: cubes(xs), mode="python")
    assert len(product([0.5] * 20, [1.0] * 20)) == 20 and len(product([0.5] * 30, [1.0] * 30)) == 30
    assert len(product._specialisations) == 1
    with pytest.raises(AutodiffError, match="shape"):
        product([0.5] * 20, [1.0] * 19)
    with pytest.raises(AutodiffError, match="shape"):
        jvp(cubes, ([0.5] * 20,), ([1.0] * 19,), mode="python")
    assert jvp(cubes, ([0.5] * 20,), ([None] * 19 + [1.0],), mode="python")[1] > 0.0
    assert hvp(cubes, mode="python")([0.5] * 20, [1] * 20) == hvp(cubes, mode="python")([0.5] * 20, [1.0] * 20)
