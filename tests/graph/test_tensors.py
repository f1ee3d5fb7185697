"""Tensors, leaves and the graph (S1 to S14)."""

from __future__ import annotations

import copy
import math
import pickle
import warnings

import numpy as np
import pytest

import autodiff as ad

from .support import leaf, raises, same


def test_s001_tensor_copies_and_numpy_defaults():
    a = np.ones(2)
    t = ad.tensor(a)
    a[0] = 7.0
    same(t, [1, 1])
    assert [ad.tensor(v).dtype for v in (1.0, 1, 1j, [1, 2.5])] == [np.float64, np.int64, np.complex128, np.float64]
    assert ad.tensor([1], dtype=np.float32).dtype == np.float32
    assert ad.tensor([ad.tensor(1.0), 2.0]).tolist() == [1.0, 2.0]
    with pytest.raises(TypeError):
        ad.tensor("abc")


def test_s002_leaf_of_the_user():
    t = leaf(1.0, 2.0)
    assert t.is_leaf and t.grad_fn is None and t.grad is None and t.requires_grad


def test_s003_results_require_grad_if_an_input_does():
    x, c = leaf(1.0, 2.0), ad.tensor([1.0, 2.0])
    y = x * c
    assert y.requires_grad and not y.is_leaf and y.grad_fn is not None
    k = c * 2
    assert not k.requires_grad and k.is_leaf and k.grad_fn is None
    assert (np.ones(2) * x).requires_grad and (2 - x).requires_grad


def test_s004_discrete_results():
    x = leaf(1.0, -2.0)
    for d in (x > 0, x == x, np.argmax(x), x.astype(np.int64), np.isnan(x), x.argsort(), ~(x > 0), np.sign(x) > 0,
              np.zeros_like(x)):
        assert not d.requires_grad


def test_s005_next_functions():
    x = leaf(1.0, 2.0)
    y = x * ad.tensor([3.0, 4.0])
    assert y.grad_fn is y.grad_fn
    (node, number), nothing = y.grad_fn.next_functions
    assert number == 0 and nothing == (None, 0)
    assert node.name() == "AccumulateGrad"


def test_s006_one_accumulation_node_keeps_the_leaf():
    x = leaf(1.0, 2.0)
    y = x * x
    (one, _), (two, _) = y.grad_fn.next_functions
    assert one is two and one.variable is x and "AccumulateGrad" in one.name()
    del x
    y.sum().backward()
    same(one.variable.grad, [2, 4])


def test_s007_names_and_walking():
    y = np.sin(leaf(1.0) * 2)
    assert y.grad_fn.name().startswith("SinBackward")
    assert y.grad_fn.next_functions[0][0].name().startswith("MulBackward")
    y.backward()
    assert y.grad_fn.next_functions[0][0].name().startswith("MulBackward")


def test_s008_integers_cannot_require_grad():
    for data in ([1, 2], [True]):
        with raises(RuntimeError, "floating point"):
            ad.tensor(data, requires_grad=True)
        t = ad.tensor(data)
        with raises(RuntimeError, "floating point"):
            t.requires_grad_()
        assert not t.requires_grad_(False).requires_grad


def test_s009_requires_grad_flags():
    t = ad.tensor([1.0])
    assert t.requires_grad_() is t and t.requires_grad
    y = t * 2
    with raises(RuntimeError, "leaf", "detach"):
        y.requires_grad_(False)
    assert y.requires_grad_() is y
    for flag in (True, False):
        with raises(RuntimeError, "leaf"):
            y.requires_grad = flag
    t.requires_grad = False
    assert not t.requires_grad


def test_s010_grad_of_a_non_leaf_warns():
    y = leaf(1.0, 2.0) * 2
    with pytest.warns(UserWarning, match="retain_grad"):
        assert y.grad is None
    y.retain_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert y.grad is None


def test_s011_iterating_and_len():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    rows = list(x)
    assert len(x) == 2 and all(r.requires_grad for r in rows) and x[0, 1].requires_grad
    (rows[0] * rows[1]).sum().backward()
    same(x.grad, [[3, 4], [1, 2]])
    with pytest.raises(TypeError):
        len(leaf(1.0))
    with pytest.raises(TypeError):
        iter(leaf(1.0)).__next__()


def test_s012_truth_and_item():
    with raises(RuntimeError, "ambiguous"):
        bool(leaf(1.0, 2.0))
    assert bool(ad.tensor([[3.0]])) and not ad.tensor(0.0)
    with pytest.raises(RuntimeError):
        leaf(1.0, 2.0).item()
    assert leaf([[4.0]]).item() == 4.0


def test_s013_leaving_for_numpy():
    x = leaf(1.0, 2.0)
    for leave in (x.numpy, lambda: np.asarray(x), lambda: np.array(x)):
        with raises(RuntimeError, "detach()"):
            leave()
    assert x.detach().numpy() is x.data.numpy()
    s = leaf(2.5)
    assert (int(s), s.item(), x.tolist()) == (2, 2.5, [1.0, 2.0])
    for leave in (lambda: float(s), lambda: np.zeros(2).__setitem__(0, s), lambda: math.sin(s)):
        with pytest.warns(UserWarning, match="no history"):
            leave()
    with warnings.catch_warnings(), ad.no_grad():
        warnings.simplefilter("error")
        assert float(s) == 2.5 and x.numpy() is x.data.numpy()
    assert isinstance(np.exp(x), ad.Tensor) and np.exp(x).requires_grad
    assert np.asarray(ad.tensor([1.0])).dtype == np.float64


def test_s014_hash_equality_copies():
    x, y = leaf(1.0, 2.0), leaf(1.0, 3.0)
    assert len({x, y, x}) == 2 and (x == y).tolist() == [True, False]
    c = copy.deepcopy(x)
    assert c is not x and c.requires_grad and c.tolist() == x.tolist()
    with raises(RuntimeError, "leaves"):
        copy.deepcopy(x * 2)
    p = pickle.loads(pickle.dumps(x))
    assert p.requires_grad and p.tolist() == x.tolist()


def test_repr_tells_the_history():
    assert repr(leaf(1.0, 2.0)) == "tensor([1., 2.], requires_grad=True)"
    assert repr(leaf(1.0) * 2) == "tensor(2., grad_fn=<MulBackward0>)"
    assert repr(ad.tensor([1], dtype=np.float32)) == "tensor([1.], dtype=float32)"
    assert f"{leaf(1.25):.1f}" == "1.2"


class Length(np.ndarray):
    """An array with a unit, whose operations are its own."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return NotImplemented


@pytest.mark.parametrize("other", [np.ma.array([1.0, 2.0], mask=[0, 1]), np.array([[1.0, 2.0]]).view(np.matrix),
                                   np.array([1.0, 2.0]).view(Length)], ids=["masked", "matrix", "unit"])
def test_arrays_that_mean_something_else_are_refused(other):
    x = leaf(1.0, 2.0)
    for use in (lambda: ad.tensor(other), lambda: ad.tensor([other, other]), lambda: x * other, lambda: np.add(x, other),
                lambda: np.where([True, False], x, other), lambda: np.concatenate([x, other]), lambda: (x * 1).copy_(other),
                lambda: (x * 1).__iadd__(other), lambda: (x * 1).__setitem__(0, other), lambda: np.clip(x, other, None),
                lambda: x[other > 1], lambda: ad.grad(x * 1, x, other), lambda: setattr(x, "data", other)):
        with pytest.raises((TypeError, ValueError, RuntimeError)):
            use()
    assert x.tolist() == [1, 2]


def test_masked_arrays_do_not_take_the_array_of_a_tensor():
    x = leaf(1.0, 2.0)
    with raises(RuntimeError, "detach()"):
        np.ma.array([1.0, 2.0], mask=[0, 1]) * x


def test_numbers_with_operations_of_their_own_are_refused():
    class Metres(float):
        def __mul__(self, other):
            return "metres"
    with raises(TypeError, "operations of its own"):
        leaf(1.0, 2.0) * Metres(2.0)


def test_arguments_of_vjp_are_arrays():
    def f(x):
        return x * x
    for call in (lambda: ad.vjp(f, leaf(1.0)), lambda: ad.jvp(f, (leaf(1.0),), (1.0,)), lambda: ad.linearize(f, leaf(1.0))):
        with raises(ad.TypeConflict, "Tensor", "differentiable(f)(t)"):
            call()
