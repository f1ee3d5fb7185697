"""Compiled functions called with Tensors (S121 to S126, S133)."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest

import autodiff as ad
from autodiff.graph import compiled

from .support import leaf, raises, same


def series(a, b):
    s = 0.0
    for i in range(3):
        s = s + np.sin(a * i) * b
    return s


def smoothed(u, k):
    for _ in range(4):
        u = u + k * np.sin(u * u)
    return u


@pytest.fixture(params=["numba", "python"])
def mode(request):
    return request.param


def test_s121_one_call_is_one_node(mode):
    f = ad.differentiable(series, mode=mode)
    a, b = leaf(0.5), leaf(2.0)
    y = f(a, b)
    assert isinstance(y, ad.Tensor) and y.requires_grad and y.shape == () and len(y.grad_fn.next_functions) == 2
    assert y.grad_fn.name() == "SeriesBackward0" and "def series_vjp" in y.grad_fn.source.replace("_forward", "_vjp")
    y.backward()
    same(a.grad, 2 * (np.cos(0.5) + 2 * np.cos(1.0)))
    same(b.grad, np.sin(0.5) + np.sin(1.0))


class Pair(NamedTuple):
    first: object
    second: object


def several(x, k):
    return Pair((x * k).sum(), {"list": [x[0], np.sqrt(x)]})


def test_s121_structures_of_results():
    f = ad.differentiable(several, mode="python")
    x = leaf(1.0, 4.0)
    y = f(x, 3)
    assert isinstance(y, Pair) and y.first.item() == 15.0
    loss = y.first + y.second["list"][0] * 2 + (y.second["list"][1] * np.array([1.0, 10.0])).sum()
    same(ad.grad(loss, x, create_graph=True)[0], [5.5, 5.5])
    g, = ad.grad(loss, x, create_graph=True)
    same(ad.grad(g.sum(), x)[0], [-0.25, -0.3125])
    c, = ad.grad(y.second["list"][0], x)
    same(c, [1, 0])


@dataclasses.dataclass
class Model:
    weight: object
    bias: object
    name: str = "m"


def predicted(model, inputs, power, *, scale=1.0):
    return scale * np.tanh(inputs["x"] @ model.weight + model.bias[0]) ** power


def test_s121_structures_of_arguments():
    f = ad.differentiable(predicted, mode="python")
    w, b = leaf(0.1, -0.2), leaf(0.3)
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    y = f(Model(w, (b, 1.0)), {"x": x}, 2, scale=2.0)
    assert len(y.grad_fn.next_functions) == 2

    def eager(w, b):
        return 2.0 * np.tanh(x @ w + b) ** 2
    for create in (False, True):
        gw, gb = ad.grad(y.sum(), [w, b], retain_graph=True, create_graph=create)
        ew, eb = ad.grad(eager(w, b).sum(), [w, b])
        same(gw, ew.numpy())
        same(gb, eb.numpy())


def test_s122_the_tape_lives_as_saved_tensors_do(mode):
    f = ad.differentiable(smoothed, mode=mode)
    x = leaf(0.5, 1.0)
    y = f(x, 0.1)
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    with raises(RuntimeError, "second time", "retain_graph"):
        y.sum().backward()
    h = x * 1
    y = f(h, 0.1)
    h.add_(1.0)
    with raises(RuntimeError, "modified by an inplace operation"):
        y.sum().backward()


def test_s123_derivatives_of_every_order():
    f = ad.differentiable(smoothed, mode="python")
    x, k = leaf(0.5, 1.0), leaf(0.3)
    assert ad.gradcheck(f, (x, k)) and ad.gradgradcheck(f, (x, k))
    y = f(x, k).sum()
    z = smoothed(x, k).sum()
    for _ in range(3):
        y, = ad.grad(y, k, create_graph=True)
        z, = ad.grad(z, k, create_graph=True)
        np.testing.assert_allclose(y.item(), z.item(), rtol=1e-10)
    assert y.grad_fn is not None


def test_s123_mixed_eager_and_compiled_graphs():
    f = ad.differentiable(smoothed)
    x = leaf(0.5, 1.0)

    def mixed(x):
        return np.exp(f(np.sin(x), 0.2)) * x

    def plain(x):
        return np.exp(smoothed(np.sin(x), 0.2)) * x
    g, = ad.grad(mixed(x).sum(), x, create_graph=True)
    e, = ad.grad(plain(x).sum(), x, create_graph=True)
    same(ad.grad((g * g).sum(), x)[0], ad.grad((e * e).sum(), x)[0].numpy())


def test_s124_nothing_is_kept_where_nothing_is_needed(mode):
    f = ad.differentiable(series, mode=mode)
    a, b = leaf(0.5), ad.tensor(2.0)
    with ad.no_grad():
        y = f(a, b)
        assert isinstance(y, ad.Tensor) and not y.requires_grad
    assert not f(b, b).requires_grad
    y = f(a, b)
    assert y.grad_fn.next_functions[1] == (None, 0)
    assert y.grad_fn.values(False)[-1].of_leaves([np.ones(())])[1:] == ()


def overwritten(x):
    x[0] = 5.0
    x *= x
    return x.sum()


def test_s125_writes_are_private():
    f = ad.differentiable(overwritten)
    x = leaf(1.0, 2.0)
    y = f(x)
    assert x.tolist() == [1.0, 2.0] and x._version == 0
    y.backward()
    same(x.grad, [0, 4])


def test_s126_grad_of_functions_and_of_tensors():
    def f(x):
        return x ** 3 + np.exp(x)
    assert abs(ad.grad(f)(1.5) - (3 * 1.5 ** 2 + np.exp(1.5))) < 1e-12
    assert abs(ad.grad(ad.grad(f))(1.5) - (6 * 1.5 + np.exp(1.5))) < 1e-12
    x = leaf(1.5)
    g = ad.grad(f)(x)
    assert isinstance(g, ad.Tensor) and g.requires_grad
    same(ad.grad(g, x)[0], 6 * 1.5 + np.exp(1.5))
    value, g = ad.value_and_grad(f)(x)
    same(ad.grad(value + g, x)[0], 3 * 1.5 ** 2 + 2 * np.exp(1.5) + 6 * 1.5)


def picked(x, i):
    return x[i] * 2.0


def test_s133_indices_out_of_range():
    f = ad.differentiable(picked)
    x = leaf(1.0, 2.0)
    same(f(x, -1), 4)
    with pytest.raises(IndexError):
        f(x, 5)


def test_batched_cotangents_of_compiled_nodes():
    f = ad.differentiable(smoothed, mode="python")
    rng = np.random.default_rng(0)
    x, k = leaf(rng.standard_normal((4, 3))), leaf(0.3)
    y = f(x, k)
    seeds = rng.standard_normal((5, 4, 3))
    gx, gk = ad.grad(y, [x, k], seeds, is_grads_batched=True, retain_graph=True)
    for b in range(5):
        ex, ek = ad.grad(y, [x, k], seeds[b], retain_graph=True)
        same(gx[b], ex.numpy())
        same(gk[b], ek.numpy())


def test_float32_and_integer_arguments():
    f = ad.differentiable(smoothed, mode="python")
    x = leaf(0.5, 1.0, dtype=np.float32)
    y = f(x, np.float32(0.5))
    assert y.dtype == np.float32
    y.sum().backward()
    assert x.grad.dtype == np.float32
    n = ad.tensor([1, 0])
    g = ad.differentiable(lambda x, n: x[n[0]] * 3.0, mode="python")
    w = leaf(1.0, 2.0)
    same(ad.grad(g(w, n), w)[0], [0, 3])


@ad.differentiable(mode="python")
def transfer(z, w):
    return z * np.exp(1j * w) / (1 + z * np.conj(z)), np.abs(z) ** 2


def test_complex_tensors():
    z, w = leaf(0.5 + 1j, 1.5, 0.3j), leaf(0.5, 1.5, 0.3)
    for inputs in ((z, w), (leaf(1.0 + 2.0j), leaf(0.3)), (w, z)):
        assert ad.gradcheck(transfer, inputs) and ad.gradgradcheck(transfer, inputs)
    single = ad.tensor(np.array([1 + 2j, 3], np.complex64), requires_grad=True)
    spectrum, power = transfer(single, ad.tensor(np.ones(2, np.float32)))
    assert (spectrum.dtype, power.dtype) == (np.complex64, np.float32)
    assert ad.grad(power.sum(), single)[0].dtype == np.complex64
    rows = ad.grad(transfer(z, w)[0], [z, w], np.eye(3) * (1 + 1j), is_grads_batched=True, retain_graph=True)
    same(rows[0][1], ad.grad(transfer(z, w)[0], z, np.array([0, 1 + 1j, 0]))[0].numpy())
    assert rows[1].dtype == np.float64


def test_refusals_of_the_compiler_reach_the_user():
    f = ad.differentiable(lambda x: x.tobytes())
    with pytest.raises(ad.AutodiffError):
        f(leaf(1.0))


def test_functions_of_numpy_as_machine_code(monkeypatch):
    monkeypatch.setattr(compiled, "LIBRARY_MODE", "numba")
    monkeypatch.setattr(compiled, "_LIBRARY", {})
    x = leaf(3.0, 1.0)
    same(ad.grad(np.interp(x, np.array([0.0, 2.0, 4.0]), np.array([0.0, 4.0, 0.0])).sum(), x)[0], [-2, 2])
    assert [f.options.mode for f in compiled._LIBRARY.values()] == ["numba"]


class Layer:
    """Something with a Tensor."""

    def __init__(self, weight):
        self.weight, self.items = weight, {"w": weight, "all": (weight,)}

    @property
    def its(self):
        return self.weight


OUTSIDE = ad.tensor([3.0, 4.0], requires_grad=True)
LAYER = Layer(OUTSIDE)
CONSTANTS = ad.tensor([3.0, 4.0]), ad.tensor(5.0)


def by_name(x):
    return x * OUTSIDE


def by_attribute(x):
    return x * LAYER.weight


def by_property(x):
    return x * LAYER.its


def by_item(x):
    return x * LAYER.items["w"]


def by_nested_item(x):
    return x * LAYER.items["all"][0]


def by_default(x, w=OUTSIDE):
    return x * w


def by_number(x):
    return x * float(OUTSIDE[0])


def by_helper(x):
    return (lambda v: v * OUTSIDE)(x)


@pytest.mark.parametrize("function", [by_name, by_attribute, by_property, by_item, by_nested_item, by_default, by_number,
                                      by_helper])
def test_a_tensor_outside_that_requires_grad_is_refused(function):
    """No node would have it as an input: its gradient would be lost."""
    compiled = ad.differentiable(function, mode="python")
    for call in (lambda: compiled(ad.tensor([1.0, 2.0], requires_grad=True)), lambda: compiled(np.array([1.0, 2.0])),
                 lambda: ad.grad(lambda x: function(x).sum(), mode="python")(np.array([1.0, 2.0]))):
        with pytest.raises(ad.errors.TypeConflict, match="is a Tensor that requires grad(.|\n)*pass it as an argument"):
            call()


def test_a_tensor_outside_that_requires_no_grad_is_its_array_at_each_call():
    @ad.differentiable(mode="python")
    def f(x):
        return (x * CONSTANTS[0] * CONSTANTS[1]).sum() * CONSTANTS[0].shape[0]

    x = ad.tensor([1.0, 2.0], requires_grad=True)
    f(x).backward()
    assert x.grad.numpy().tolist() == [30.0, 40.0]
    y = f(x)
    CONSTANTS[1][...] = 1.0
    CONSTANTS[0][0] = 0.0
    x.grad = None
    y.backward()
    assert x.grad.numpy().tolist() == [30.0, 40.0]
    assert float(f(x.detach())) == 16.0
    CONSTANTS[0].requires_grad_()
    try:
        with pytest.raises(ad.errors.TypeConflict, match=r"`CONSTANTS\[0\]` is a Tensor that requires grad"):
            f(x)
    finally:
        CONSTANTS[0].requires_grad_(False)
