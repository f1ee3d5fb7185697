"""Grad modes, volatile, detach and shared storage (S74 to S80)."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import autodiff as ad

from .support import leaf, raises, same, silent


def test_s074_no_grad_and_enable_grad():
    x = leaf(1.0)
    with ad.no_grad():
        assert not (x * 2).requires_grad
        with ad.enable_grad():
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad
    with pytest.raises(ValueError, match="inside"), ad.no_grad():
        raise ValueError("inside")
    assert ad.is_grad_enabled()

    @ad.no_grad()
    def one(t):
        return t * 2

    @ad.no_grad
    def two(t):
        return t * 2

    @ad.enable_grad()
    def three(t):
        return t * 2
    assert not one(x).requires_grad and not two(x).requires_grad and two.__name__ == "two"
    with ad.no_grad():
        assert three(x).requires_grad


def test_s074_generators():
    @ad.no_grad()
    def numbers():
        try:
            got = yield ad.is_grad_enabled()
            yield got, ad.is_grad_enabled()
        finally:
            ended.append(ad.is_grad_enabled())
    ended = []
    g = numbers()
    assert next(g) is False and ad.is_grad_enabled()
    assert g.send("sent") == ("sent", False) and ad.is_grad_enabled()
    g.close()
    assert ended == [False] and ad.is_grad_enabled()


def test_s074_one_mode_object_nests():
    mode = ad.no_grad()
    with mode:
        with mode:
            pass
        assert not ad.is_grad_enabled()
    assert ad.is_grad_enabled()


def test_s075_set_grad_enabled_is_per_thread():
    x = leaf(1.0)
    with ad.set_grad_enabled(False):
        assert not (x * 1).requires_grad
    assert ad.is_grad_enabled()
    ad.set_grad_enabled(False)
    assert not ad.is_grad_enabled()
    seen = []
    t = threading.Thread(target=lambda: seen.append(ad.is_grad_enabled()))
    t.start()
    t.join()
    ad.set_grad_enabled(True)
    assert seen == [True]

    @ad.set_grad_enabled(False)
    def f(t):
        return t * 1
    assert ad.is_grad_enabled() and not f(x).requires_grad


def test_s076_results_in_no_grad():
    x = leaf(1.0)
    with ad.no_grad():
        y = x ** 2
        assert not y.requires_grad and y.is_leaf and y.grad_fn is None
        assert leaf(1.0).requires_grad


def test_inference_mode():
    x = leaf(1.0)
    with ad.inference_mode():
        y = x * 2
        assert not y.requires_grad and ad.is_inference_mode_enabled()
        with ad.inference_mode(False):
            assert (x * 2).requires_grad
    with raises(RuntimeError, "inference_mode"):
        y.requires_grad_()
    assert y.clone().requires_grad_().requires_grad

    @ad.inference_mode
    def f(t):
        return t * 2
    assert not f(x).requires_grad


def test_s077_volatile():
    with pytest.warns(DeprecationWarning):
        v = ad.Variable([1.0, 2.0], volatile=True)
    w = leaf(1.0, 2.0)
    y = np.sin(v * w).sum()
    assert v.volatile and y.volatile and not y.requires_grad and not w.volatile
    assert y.detach().volatile and v[0].volatile
    with raises(RuntimeError, "does not require grad"):
        y.backward()
    with pytest.raises(ValueError):
        ad.Variable([1.0], volatile=True, requires_grad=True)
    u = ad.Variable([1.0])
    u.volatile = True
    assert (u * w[0]).volatile
    u.volatile = False
    assert (u * w[0]).requires_grad
    with raises(RuntimeError, "leaf"):
        (w * 2).volatile = True


def test_s078_detach_shares_memory_and_counter():
    x = leaf(1.0, 2.0)
    d = x.detach()
    assert not d.requires_grad and d.is_leaf and d.grad_fn is None
    y = (x * x).sum()
    d[0] = 50.0
    assert x.tolist() == [50.0, 2.0] and x._version == d._version == 1
    with raises(RuntimeError, "modified", "inplace"):
        y.backward()
    assert x.detach().requires_grad_().requires_grad


def test_s079_data_has_its_own_counter():
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    x.data[0] = 10.0
    assert x._version == 0 and x.data._version == 0
    y.backward()
    same(x.grad, [20, 4])
    x.data = np.array([5.0, 6.0])
    assert x.requires_grad and x.is_leaf and x.tolist() == [5.0, 6.0]
    x.data *= 2.0
    assert x.tolist() == [10.0, 12.0]


def test_s080_detach_in_place_and_clone():
    x = leaf(1.0, 2.0)
    y = x * 2
    assert y.detach_() is y and y.is_leaf and not y.requires_grad
    with raises(RuntimeError, "view"):
        (x * 2)[0].detach_()
    c = x.clone()
    (c * c).sum().backward()
    same(x.grad, [2, 4])
    assert not np.shares_memory(c.detach().numpy(), x.detach().numpy())


def test_variable_is_tensor():
    with silent():
        assert ad.Variable is ad.Tensor and isinstance(ad.tensor(1.0), ad.Variable)


class Keep(ad.Function):
    @staticmethod
    def forward(ctx, x, a):
        ctx.save_for_backward(a)
        return x * a

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0], None


@ad.differentiable(mode="python")
def product(x, a):
    return x * a


def test_tensors_of_inference_mode():
    x = leaf(1.0, 2.0)
    y = x * 2
    with ad.inference_mode():
        a = ad.tensor([3.0, 4.0])
        b = ad.tensor([1.0, 1.0], requires_grad=True)
        inside = y[:1]
        y.mul_(1)
        a.mul_(1)
        assert not (b * 2).requires_grad
    assert all(t.is_inference() for t in (a, b, a[:1], a.detach(), a.data, a.T))
    assert not any(t.is_inference() for t in (x, y, inside, a * 2, a.clone()))
    with raises(RuntimeError, "version"):
        assert a._version
    for use in (lambda: x * a, lambda: np.exp(x) / a, lambda: x @ a, lambda: Keep.apply(x, a), lambda: product(x, a),
                lambda: np.einsum("i,i", x, a), lambda: b * b, lambda: ad.normal(x, a)):
        with raises(RuntimeError, "inference", "saved for backward", "clone()"):
            use()
    for change in (lambda: a.add_(1), lambda: a.__setitem__(0, 1.0), lambda: a[:1].fill_(2)):
        with raises(RuntimeError, "inference_mode", "in-place"):
            change()
        with ad.no_grad(), raises(RuntimeError, "inference_mode"):
            change()
    with raises(RuntimeError, "view"):
        inside.mul_(2)
    (x + a).sum().backward()                        # an addition saves nothing
    same(x.grad, [1, 1])
    same(ad.grad((x * a.clone()).sum(), x)[0], [3, 4])
    with ad.no_grad():
        assert (x * a).tolist() == [3, 8]
