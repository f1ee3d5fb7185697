"""grad, batches, higher orders, inputs= and accumulation (S38 to S60)."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import autodiff as ad

from .support import leaf, raises, same, silent


def test_s038_a_tuple_and_no_accumulation():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    g = ad.grad((x * w).sum(), x)
    assert isinstance(g, tuple) and len(g) == 1
    assert x.grad is None and w.grad is None
    positional = ad.grad((x * w).sum(), [x, w], None, None, False, True, None, False, False)
    same(positional[1], [1, 2])
    same(ad.grad(outputs=(x * w).sum(), inputs=x)[0], [3, 4])


def test_s039_sums_and_kinds_of_inputs():
    x = leaf(1.0, 2.0)
    y = x * x
    z = (y * 3).sum()
    gs = ad.grad([y.sum(), z], [x, y, x, ad.graph.get_gradient_edge(y)], retain_graph=True)
    same(gs[0], [8, 16])
    same(gs[1], [4, 4])
    same(gs[2], [8, 16])
    same(gs[3], [4, 4])
    same(ad.grad(y, [y, x], ad.tensor([5.0, 6.0]))[0], [5, 6])


def test_s040_inputs_must_require_grad():
    x, c = leaf(1.0), ad.tensor(2.0)
    for allow in (None, True, False):
        with raises(RuntimeError, "does not require grad"):
            ad.grad(x * c, c, allow_unused=allow)


def test_s041_a_view_made_afterwards_is_unused():
    x = leaf(1.0, 2.0)
    y = (x * 2).sum()
    with raises(RuntimeError, "allow_unused"):
        ad.grad(y, x[0], retain_graph=True)
    assert ad.grad(y, x[:], allow_unused=True) == (None,)


def test_s042_empty_and_wrong_arguments():
    x = leaf(1.0)
    with raises(RuntimeError, "inputs", "empty"):
        ad.grad(x * 1, [])
    with pytest.raises((TypeError, RuntimeError)):
        ad.grad(x * 1, [3])
    with raises(RuntimeError, "allow_unused"):
        ad.grad([], [x])
    assert ad.grad([], [x], allow_unused=True) == (None,)


def test_s043_only_nodes_on_a_path_run():
    x, w = leaf(1.0), leaf(2.0)
    ran = []
    other = w * w
    other.register_hook(lambda g: ran.append(1))
    y = x * x + other
    y.grad_fn.next_functions[1][0].register_hook(lambda a, b: ran.append(2))
    ad.grad(y, x)
    assert 2 not in ran
    same(ad.grad(other, w)[0], 4)               # it was not freed


def test_s044_unused_inputs():
    x, z = leaf(1.0, 2.0), leaf([[1.0, 2.0, 3.0]])

    def go(**options):
        return ad.grad((x * 2).sum(), [x, z], **options)
    for allow in (None, False):
        with raises(RuntimeError, "allow_unused=True", "1"):
            go(allow_unused=allow)
    assert go(allow_unused=True)[1] is None
    for allow in (None, True):
        same(go(allow_unused=allow, materialize_grads=True)[1], np.zeros((1, 3)))
    with raises(ValueError, "allow_unused", "materialize_grads"):
        go(allow_unused=False, materialize_grads=True)
    zeros = go(materialize_grads=True, create_graph=True)[1]        # as torch's: a second gradient of them is one, too
    assert zeros.requires_grad and zeros.is_leaf
    assert not go(materialize_grads=True)[1].requires_grad
    y = (x * x).sum()
    with pytest.raises(RuntimeError):
        ad.grad(y, [x, z])
    with raises(RuntimeError, "second time"):
        ad.grad(y, x)


def test_s045_only_inputs():
    x, w = leaf(1.0), leaf(2.0)
    with pytest.warns(FutureWarning):
        same(ad.grad(x * w, x, only_inputs=False)[0], 2)
    assert w.grad is None


def test_s046_batched_cotangents():
    rng = np.random.default_rng(0)
    x = leaf(rng.standard_normal((3, 2)))
    w = leaf(rng.standard_normal(2))
    y = np.sin(x * w) @ w
    z = np.concatenate((x, x * x)).sum(axis=0)
    a, b = ad.tensor(rng.standard_normal((4, 3))), ad.tensor(rng.standard_normal((4, 2)))
    batched = ad.grad([y, z], [x, w], [a, b], retain_graph=True, is_grads_batched=True)
    assert [g.shape for g in batched] == [(4, 3, 2), (4, 2)]
    for k in range(4):
        single = ad.grad([y, z], [x, w], [a[k], b[k]], retain_graph=True)
        for g, s in zip(batched, single, strict=True):
            same(g[k], s.numpy())
    rich = ad.grad(y, x, a, is_grads_batched=True, create_graph=True)[0]
    assert rich.requires_grad
    ad.grad(rich.sum(), x)


def test_s047_errors_of_batches():
    x = leaf(1.0, 2.0)
    y = x * x
    for wrong in ([1.0, 1.0], [[1.0, 1.0, 1.0]]):
        with raises(RuntimeError, "shape", "is_grads_batched"):
            ad.grad(y, x, ad.tensor(wrong), is_grads_batched=True)
    with pytest.raises((RuntimeError, ValueError)):
        ad.grad([y, y], x, [np.ones((2, 2)), np.ones((3, 2))], is_grads_batched=True)
    for missing in (None, [None]):
        with pytest.raises((RuntimeError, ValueError)):
            ad.grad(y, x, missing, is_grads_batched=True)


def test_s048_unused_inputs_of_batches():
    x, z = leaf(1.0, 2.0), leaf(1.0, 2.0, 3.0)
    g = ad.grad(x * x, [x, z], np.ones((5, 2)), is_grads_batched=True, materialize_grads=True)
    assert g[0].shape == (5, 2) and g[1].shape == (3,)


def test_s049_to_any_order():
    x = leaf(2.0)
    y = x ** 4
    values = []
    for _ in range(4):
        y, = ad.grad(y, x, create_graph=True)
        values.append(y.item())
    assert values == [32.0, 48.0, 48.0, 24.0]
    a, b = leaf(1.5), leaf(0.5)
    ga, = ad.grad(np.sin(a * b) * a, a, create_graph=True)
    gab, = ad.grad(ga, b)
    u, v = 1.5, 0.5
    same(gab, 2 * u * np.cos(u * v) - u * u * v * np.sin(u * v))
    constant, = ad.grad((x * 3).sum(), x, create_graph=True)
    assert not constant.requires_grad
    with raises(RuntimeError, "does not require grad"):
        ad.grad(constant, x)


def test_s050_without_create_graph_results_are_constants():
    x = leaf(2.0)
    with ad.enable_grad():
        g, = ad.grad(x ** 3, x)
    assert not g.requires_grad and g.grad_fn is None


def test_s051_a_derivative_may_lose_an_input():
    x, z = leaf(2.0), leaf(3.0)
    g, = ad.grad(x * z, x, create_graph=True)
    with raises(RuntimeError, "allow_unused"):
        ad.grad(g, x, retain_graph=True)
    same(ad.grad(g, [x, z], materialize_grads=True)[0], 0)


def test_s052_double_backward_with_respect_to_the_cotangent():
    x, v = leaf(1.0, 2.0), leaf(3.0, 4.0)
    g, = ad.grad(x ** 3, x, v, create_graph=True)
    gx, gv = ad.grad(g.sum(), [x, v])
    same(gx, 6 * np.array([1.0, 2.0]) * [3, 4])
    same(gv, [3, 12])


def test_s053_backward_with_create_graph():
    x = leaf(3.0)
    with pytest.warns(UserWarning, match="create_graph"):
        (x ** 3).backward(create_graph=True)
    first = x.grad
    assert first.requires_grad
    value = first.item()
    with silent():
        (x ** 3).backward(create_graph=True)
    assert x.grad is not first and first.item() == value and x.grad.item() == 2 * value
    x.grad = None
    first.backward()
    same(x.grad, 18)


def test_s054_inside_no_grad():
    x = leaf(3.0)
    y = x ** 3
    with ad.no_grad():
        g, = ad.grad(y, x, create_graph=True)
    same(ad.grad(g, x)[0], 18)


def test_s055_backward_into_some():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    ran = []
    w.register_hook(lambda g: ran.append(1))
    h = x * w
    (h * h).sum().backward(inputs=[x, h])
    assert w.grad is None and not ran
    same(x.grad, [18, 64])
    same(h.grad, [6, 16])
    (x * w).sum().backward(inputs=x)
    same(x.grad, [21, 68])


def test_s056_errors_of_inputs():
    x, w, c = leaf(1.0), leaf(2.0), ad.tensor(1.0)
    with raises(RuntimeError, "inputs", "empty"):
        (x * 1).backward(inputs=[])
    (x * 1).backward(inputs=[x, w])
    assert w.grad is None
    with raises(RuntimeError, "requires_grad"):
        (x * c).backward(inputs=[c])


def test_s057_grad_is_one_object_in_fresh_memory():
    x, w = leaf(1.0, 2.0), leaf(1.0, 2.0)
    seed = ad.tensor([1.0, 1.0])
    (x + w).backward(seed)
    first = x.grad
    assert not np.shares_memory(x.grad.numpy(), w.grad.numpy())
    assert not np.shares_memory(x.grad.numpy(), seed.numpy())
    (x + w).backward(seed)
    assert x.grad is first
    same(first, [2, 2])
    same(seed, [1, 1])


def test_s058_assigning_grad():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    del x.grad
    assert x.grad is None
    with raises(RuntimeError, "size"):
        x.grad = ad.tensor([1.0])
    with raises(RuntimeError, "dtype"):
        x.grad = ad.tensor([1, 2])
    with pytest.raises(TypeError):
        x.grad = np.ones(2)
    with pytest.raises(RuntimeError):
        x.grad = x
    mine = ad.tensor([10.0, 20.0])
    x.grad = mine
    (x * 1).sum().backward()
    assert x.grad is mine
    same(mine, [11, 21])


def test_s059_dtype_and_shape_of_grad():
    x = leaf([[1.0, 2.0]], dtype=np.float32)
    (x * ad.tensor(np.ones((3, 2)))).sum().backward()
    assert x.grad.dtype == np.float32 and x.grad.shape == (1, 2) and not x.grad.requires_grad
    same(x.grad, [[3, 3]])


def test_s060_concurrent_accumulation():
    x = leaf(np.zeros(1000))

    def work():
        for _ in range(50):
            (x * 2).sum().backward()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    same(x.grad, np.full(1000, 400.0))


def test_results_of_grad_do_not_share_memory():
    x, w = leaf(1.0, 2.0), leaf(1.0, 2.0)
    seed = np.ones(2)
    a, b = ad.grad(x + w, [x, w], seed)
    a.add_(5.0)
    same(b, [1, 1])
    same(seed, [1, 1])
