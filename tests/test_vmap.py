"""vmap against loops of Python over the same function, and its derivatives against theirs."""

import copy
import functools
import pickle
from collections import namedtuple

import numba
import numpy as np
import pytest

from autodiff import (
    AutodiffError,
    check_grads,
    differentiable,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    linearize,
    tensor,
    value_and_grad,
    vjp,
    vmap,
)

from .vmap_oracle import PYTHON, RNG, Model, W, X, Y, layer, looped, loss, same


def norms(x):
    total = 0.0
    for v in x:
        if v > 0.0:
            total += v * v
    return total, x / (1.0 + total)


Pair = namedtuple("Pair", "a b")


class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return self.factor * x

    def total(self, x):
        return self.factor * x.sum()


# ---- values ---------------------------------------------------------------------------------------------
def shared_and_own(m, x):
    return m.w @ x + m.b


def of_dict(p, x):
    return p["w"] @ x + p["b"]


def outer_product(a, b):
    return a * b


def several(x):
    return x.sum(), {"twice": 2.0 * x, "none": None}, [x[0] > 0.0, x.astype(np.float32)]


def of_keywords(x, k=2.0, *, s=1.0):
    return x * k * s


def of_any(*xs, **named):
    return sum(a.sum() for a in xs) + sum(v.sum() for v in named.values())


@pytest.mark.parametrize("out_axes", [0, 1, -1, -2])
def test_axes_of_arguments_and_results(out_axes):
    for x, axes in ((X, (0, None)), (X.T, (1, None)), (X.T, (-1, None))):
        same(vmap(layer, in_axes=axes, out_axes=out_axes, **PYTHON)(x, W), looped(layer, (x, W), axes, out_axes))
    both = np.stack([W, 2.0 * W, W + 1.0, -W], axis=1)
    same(vmap(layer, (0, 1), out_axes, **PYTHON)(X, both), looped(layer, (X, both), (0, 1), out_axes))


def test_compiled_code():
    wanted = looped(layer, (X, W), (0, None), 1)
    made = vmap(layer, in_axes=(0, None), out_axes=1)
    same(made(X, W), wanted)
    same(made(X[:0], W), wanted[:, :0])
    same(made(X[:1], W), wanted[:, :1])
    by_examples = vmap(grad(loss), in_axes=(None, 0, 0))
    same(by_examples(W, X, Y), np.stack([grad(loss, **PYTHON)(W, x, y) for x, y in zip(X, Y, strict=True)]))


def test_calls_from_compiled_code():
    made = vmap(layer, in_axes=(0, None))

    @numba.njit
    def caller(x, w):
        return made(x, w).sum()
    assert caller(X, W) == pytest.approx(looped(layer, (X, W), (0, None)).sum())


@pytest.mark.parametrize("model, axes", [
    (Model(np.stack([W] * 4), np.ones(4)), Model(0, 0)), (Model(W, np.arange(4.0)), Model(None, 0)),
    (Model(np.stack([W] * 4), np.arange(8.0).reshape(4, 2)), 0), (Model(W, 1.0), None)])
def test_dataclasses(model, axes):
    same(vmap(shared_and_own, in_axes=(axes, 0), **PYTHON)(model, X), looped(shared_and_own, (model, X), (axes, 0)))


def test_dicts_and_other_structures():
    args = {"w": W, "b": np.arange(8.0).reshape(2, 4)}, X
    axes = {"w": None, "b": 1}, 0
    same(vmap(of_dict, in_axes=axes, **PYTHON)(*args), looped(of_dict, args, axes))
    pair = Pair(X, (Y, [np.arange(4.0)]))
    def total(p):
        return p.a.sum() * p.b[0] + p.b[1][0]
    same(vmap(total, **PYTHON)(pair), looped(total, (pair,), (0,)))
    same(vmap(total, in_axes=(Pair(0, (0, [0])),), **PYTHON)(pair), looped(total, (pair,), (0,)))


def test_structures_of_results():
    number, table, (positive, single) = vmap(several, out_axes=(0, {"twice": 1, "none": 0}, 0), **PYTHON)(X)
    same(number, X.sum(axis=1))
    same(table["twice"], 2.0 * X.T)
    assert table["none"] is None and positive.dtype == bool and positive.tolist() == (X[:, 0] > 0.0).tolist()
    same(single, X.astype(np.float32))
    for constant, dtype in ((3, "int64"), (3.0, "float64"), (True, "bool")):
        found = vmap(lambda x, c: c, in_axes=(0, None), **PYTHON)(X, constant)
        assert found.tolist() == [constant] * 4 and found.dtype == dtype
    same(vmap(lambda x: x, **PYTHON)(X), X)
    assert not np.shares_memory(vmap(lambda x: x, **PYTHON)(X), X)


def test_arguments_by_name_and_defaults():
    k = np.arange(4.0)
    same(vmap(of_keywords, **PYTHON)(X), 2.0 * X)
    same(vmap(of_keywords, **PYTHON)(X, k), X * k[:, None])
    same(vmap(of_keywords, in_axes=(0, None), **PYTHON)(X, k=3.0), 3.0 * X)
    same(vmap(of_keywords, in_axes=(None, 0), **PYTHON)(k=k, x=X[0]), X[0] * k[:, None])
    same(vmap(of_keywords, in_axes=(0,), **PYTHON)(X, s=k), 2.0 * X * k[:, None])
    same(vmap(of_any, in_axes=(0, None), **PYTHON)(X, Y, q=X), 2.0 * X.sum(axis=1) + Y.sum())

    def inside(x, k):
        return vmap(of_keywords, in_axes=(0, None))(x, k=k).sum() + vmap(lambda x, k: k * x, (0, None))(x, k=k).sum()
    assert grad(inside, wrt="k", **PYTHON)(X, 2.0) == pytest.approx(2.0 * X.sum())


def test_what_brings_arguments():
    scaled = Scaled(3.0)
    same(vmap(scaled, **PYTHON)(X), 3.0 * X)
    same(vmap(scaled.total, **PYTHON)(X), 3.0 * X.sum(axis=1))
    wanted = np.array([loss(W, x, y) for x, y in zip(X, Y, strict=True)])
    same(vmap(functools.partial(loss, W), **PYTHON)(X, Y), wanted)
    same(vmap(functools.partial(loss, y=Y[0]), in_axes=(None, 0), **PYTHON)(W, X), np.array([loss(W, x, Y[0]) for x in X]))
    same(vmap(grad(functools.partial(loss, W)), **PYTHON)(X, Y),
         np.stack([grad(loss, wrt="x", **PYTHON)(W, x, y) for x, y in zip(X, Y, strict=True)]))
    same(vmap(differentiable(layer), in_axes=(0, None), **PYTHON)(X, W), looped(layer, (X, W), (0, None)))
    same(vmap(np.sum, **PYTHON)(X), X.sum(axis=1))
    spd = np.einsum("nij,nkj->nik", RNG.normal(size=(4, 3, 3)), np.ones((4, 3, 3))) + 9.0 * np.eye(3)
    same(vmap(np.linalg.inv, **PYTHON)(spd), np.linalg.inv(spd))


def test_random_draws_are_those_of_a_loop():
    def noisy(x, rng):
        return x + rng.normal()
    wanted = [x + r for r, x in zip(np.random.default_rng(3).normal(size=4), X, strict=True)]
    found = vmap(noisy, in_axes=(0, None), **PYTHON)(X, np.random.default_rng(3))
    np.testing.assert_allclose(found, np.stack(wanted))


def test_lists_inside_an_example():
    def squares(x):
        kept = []
        for v in x:
            if v > 0.0:
                kept.append(v * v)
        total = 0.0
        for v in kept:
            total += v
        return total
    same(vmap(squares, **PYTHON)(X), looped(squares, (X,), (0,)))
    same(grad(lambda x: np.sum(vmap(squares)(x)), **PYTHON)(X), np.where(X > 0.0, 2.0 * X, 0.0))


# ---- derivatives ----------------------------------------------------------------------------------------
def total(w, x, y):
    return np.sum(vmap(loss, in_axes=(None, 0, 0))(w, x, y))


def by_hand(w, x, y):
    s = 0.0
    for b in range(x.shape[0]):
        s += loss(w, x[b], y[b])
    return s


def test_gradients_per_example():
    wanted = np.stack([grad(loss, **PYTHON)(W, x, y) for x, y in zip(X, Y, strict=True)])
    same(vmap(grad(loss), in_axes=(None, 0, 0), **PYTHON)(W, X, Y), wanted)
    same(vmap(grad(loss, wrt="w"), in_axes=(None, 0, 0), **PYTHON)(W, X, Y), wanted)
    values, found = vmap(value_and_grad(loss), in_axes=(None, 0, 0), **PYTHON)(W, X, Y)
    same(found, wanted)
    same(values, looped(loss, (W, X, Y), (None, 0, 0)))
    v = RNG.normal(size=(4, 2, 3))
    same(vmap(hvp(loss), in_axes=(None, 0, 0, 0), **PYTHON)(W, X, Y, v),
         np.stack([hvp(loss, **PYTHON)(W, x, y, u) for x, y, u in zip(X, Y, v, strict=True)]))
    same(vmap(jacobian(layer, wrt="w"), in_axes=(0, None), **PYTHON)(X, W),
         np.stack([jacobian(layer, wrt="w", **PYTHON)(x, W) for x in X]))
    same(vmap(hessian(loss), in_axes=(None, 0, 0), **PYTHON)(W, X, Y),
         np.stack([hessian(loss, **PYTHON)(W, x, y) for x, y in zip(X, Y, strict=True)]))


def test_operators_outside():
    same(grad(total, wrt=(0, 1, 2), **PYTHON)(W, X, Y), grad(by_hand, wrt=(0, 1, 2), **PYTHON)(W, X, Y))
    same(hessian(total, **PYTHON)(W, X, Y), hessian(by_hand, **PYTHON)(W, X, Y))
    same(hvp(total, **PYTHON)(W, X, Y, W), hvp(by_hand, **PYTHON)(W, X, Y, W))
    per = vmap(loss, in_axes=(None, 0, 0), **PYTHON)
    same(jacobian(per, wrt="w", **PYTHON)(W, X, Y), vmap(grad(loss), in_axes=(None, 0, 0), **PYTHON)(W, X, Y))
    value, pullback = vjp(per, W, X, Y, **PYTHON)
    same(value, per(W, X, Y))
    same(pullback(np.ones(4)), grad(by_hand, wrt=(0, 1, 2), **PYTHON)(W, X, Y))
    _, slope = jvp(per, (W, X, Y), (W, None, Y), **PYTHON)
    _, linear = linearize(per, W, X, Y, **PYTHON)
    same(linear(W, None, Y), slope)
    assert slope.sum() == pytest.approx(np.sum(W * pullback(np.ones(4))[0]) + np.sum(Y * pullback(np.ones(4))[2]))
    check_grads(total, (W, X, Y), mode="python")
    check_grads(per, (W, X, Y), mode="python")          # of the map, not of the function of one example
    same(grad(lambda x: np.sum(vmap(norms)(x)[1] ** 2), **PYTHON)(X),
         np.stack([grad(lambda x: np.sum(norms(x)[1] ** 2), **PYTHON)(x) for x in X]))


def test_operators_outside_and_inside():
    def penalty(w, x, y):
        return np.sum(vmap(grad(loss), in_axes=(None, 0, 0))(w, x, y) ** 2)

    def penalty_by_hand(w, x, y):
        s = 0.0
        for b in range(x.shape[0]):
            s += np.sum(grad(loss)(w, x[b], y[b]) ** 2)
        return s
    same(grad(penalty, **PYTHON)(W, X, Y), grad(penalty_by_hand, **PYTHON)(W, X, Y), 1e-10)

    def of_sums(x):
        return np.sum(grad(vmap_total)(x) ** 2)
    same(grad(of_sums, **PYTHON)(X), 8.0 * X)


def vmap_total(x):
    return np.sum(vmap(lambda r: r * r, in_axes=1, out_axes=1)(x))


def test_closures_and_nesting():
    def weighted(w, x):
        return np.sum(vmap(lambda r: np.sum(w * r) ** 2)(x))
    same(grad(weighted, **PYTHON)(X[0], X), 2.0 * X.T @ (X @ X[0]))
    table = vmap(vmap(outer_product, in_axes=(None, 0)), in_axes=(0, None), **PYTHON)
    same(table(np.arange(3.0), np.arange(4.0)), np.outer(np.arange(3.0), np.arange(4.0)))
    same(jacobian(table, **PYTHON)(np.arange(3.0), np.arange(4.0)).sum(axis=(0, 1)), np.full(3, 6.0))
    twice = vmap(vmap(layer, in_axes=(0, None)), in_axes=(0, 0), out_axes=2, **PYTHON)
    xs, ws = RNG.normal(size=(5, 4, 3)), RNG.normal(size=(5, 2, 3))
    same(twice(xs, ws), np.moveaxis(2.0 * np.tanh(np.einsum("nij,nbj->nbi", ws, xs)), 0, 2))

    @vmap(in_axes=1, mode="python")
    def decorated(x):
        return x.sum()
    same(decorated(X), X.sum(axis=0))


def test_pullbacks_and_tangent_maps():
    _, pullback = vjp(layer, X[0], W, **PYTHON)
    for found, wanted in zip(vmap(pullback)(np.eye(2)), pullback.batched(np.eye(2)), strict=True):
        same(found, wanted)
    with pytest.raises(AutodiffError, match="takes the leading axis"):
        vmap(pullback, in_axes=1)


def test_an_operator_of_a_map_of_a_function_inside():
    def program(x):
        return np.sum(jacobian(vmap(lambda r: np.sum(r ** 3) * x[0, 0]))(x) * x)
    check_grads(program, (X,), **PYTHON)


def test_empty_batches():
    for made, args, shape in (
            (vmap(layer, in_axes=(0, None), **PYTHON), (X[:0], W), (0, 2)),
            (vmap(layer, in_axes=(1, None), out_axes=1, **PYTHON), (X.T[:, :0], W), (2, 0)),
            (vmap(grad(loss), in_axes=(None, 0, 0), **PYTHON), (W, X[:0], Y[:0]), (0, 2, 3))):
        assert made(*args).shape == shape
    same(grad(total, **PYTHON)(W, X[:0], Y[:0]), np.zeros((2, 3)))


# ---- errors ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("make, args, error, text", [
    (lambda: vmap(layer), (X, W), ValueError, "axis 0 of `x` has 4 examples, axis 0 of `w` has 2"),
    (lambda: vmap(loss, (None, 0, 0)), (W, X, Y[:3]), ValueError, "axis 0 of `x` has 4 examples, axis 0 of `y` has 3"),
    (lambda: vmap(of_dict, (0, None)), ({"w": X, "b": Y[:3]}, X), ValueError, r"axis 0 of `p`\['b'\] has 3"),
    (lambda: vmap(of_any), (X, Y[:1]), ValueError, "axis 0 of argument 1 has 1"),
    (lambda: vmap(layer, (2, None)), (X, W), ValueError, "axis 2 of `x`, which has 2 axes"),
    (lambda: vmap(layer, (0, None), 2), (X, W), ValueError, "axis 2 of the result, which has 2 axes"),
    (lambda: vmap(layer, (0,)), (X, W), TypeError, "in_axes has 1 entries, and the function is called with 2"),
    (lambda: vmap(layer, None), (X, W), TypeError, "no array to run over"),
    (lambda: vmap(of_keywords), (X, 2.0), TypeError, r"axis 0 of `k`, which is a number \(float64\)"),
    (lambda: vmap(of_dict, ({"w": 0, "c": 0}, 0)), ({"w": W, "b": X}, X), TypeError, "another structure than `p`, a dict"),
    (lambda: vmap(layer, (0, None), None), (X, W), TypeError, "no axis of examples, and it may differ"),
    (lambda: vmap(layer, (0, None), (0, 0)), (X, W), TypeError, "out_axes has another structure than the result"),
    (lambda: vmap(lambda x: x[x > 0.0]), (X,), TypeError, "the result of .* has a size that each example finds for itself"),
    (lambda: vmap(lambda x: (x, "a")), (X,), TypeError, r"the result\[1\] of .* is the str 'a'"),
])
def test_what_does_not_fit(make, args, error, text):
    made = make()._like(mode="python")
    with pytest.raises(error, match=text):
        made(*args)


def test_refused_before_anything_runs():
    for axes in ("x", True, {"x": 0}, 1.0):
        with pytest.raises(TypeError, match="in_axes="):
            vmap(layer, in_axes=axes)

    def in_place(x):
        x[0] = 1.0
        return x.sum()

    def counting(x, seen):
        seen.append(x[0])
        return x.sum()

    def setting(x, table):
        table["first"] = x[0]
        return x.sum()

    def of_object(x, model):
        model.b = x[0]
        return x.sum()

    def into_all(x, out):
        out += x
        return out.sum()
    for function, args, axes in ((in_place, (X,), 0), (counting, (X, []), (0, None)),
                                 (of_object, (X, Model(W, 1.0)), (0, None)),
                                 (setting, (X, {"first": 1.0}), (0, None)), (into_all, (X, X[0]), (0, None))):
        with pytest.raises(AutodiffError, match="under vmap"):
            vmap(function, in_axes=axes, **PYTHON)(*copy.deepcopy(args))


def test_errors_of_examples():
    def checked(x):
        if x[0] > 10.0:
            raise ValueError("too large")
        return x.sum()
    made = vmap(checked, **PYTHON)
    same(made(X), X.sum(axis=1))
    with pytest.raises(ValueError, match="too large"):
        made(X + 10.0 * np.arange(4.0)[:, None])


# ---- the object -----------------------------------------------------------------------------------------
def test_the_object():
    made = vmap(loss, in_axes=(None, 0, 0), **PYTHON)
    assert repr(made) == "<map of loss>" and made.__name__ == "loss"
    wanted = made(W, X, Y)
    assert "def loss_vmap(w, x, y)" in made.source and "for b in range(" in made.source
    for other in (pickle.loads(pickle.dumps(made)), copy.copy(made), made._like(debug=True)):
        same(other(W, X, Y), wanted)
    assert vmap(layer, in_axes=(0, None), **PYTHON).specialize(X, W).source.count("for b in") == 1


def test_tensors():
    w = tensor(W, requires_grad=True)
    out = vmap(loss, in_axes=(None, 0, 0), **PYTHON)(w, X, Y)
    out.sum().backward()
    same(np.asarray(w.grad), grad(by_hand, **PYTHON)(W, X, Y))
