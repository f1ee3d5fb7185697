"""Hooks of tensors and nodes (S61 to S73)."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff as ad

from .support import leaf, raises, same


def test_s061_registering_and_removing():
    with raises(RuntimeError, "require"):
        ad.tensor([1.0]).register_hook(lambda g: g)
    v = leaf(0.0, 0.0)
    handle = v.register_hook(lambda g: g * 2)
    v.backward(ad.tensor([1.0, 1.0]))
    same(v.grad, [2, 2])
    handle.remove()
    handle.remove()
    v.grad = None
    v.backward(ad.tensor([1.0, 1.0]))
    same(v.grad, [1, 1])


def test_s062_once_with_the_total():
    x = leaf(1.0, 2.0)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    (y.sum() + (y * 3).sum()).backward()
    assert seen == [[4.0, 4.0]]
    same(x.grad, [8, 8])


def test_s063_in_order_each_sees_the_last():
    x = leaf(1.0, 2.0)
    y = x * 2
    seen = []
    y.register_hook(lambda g: (seen.append(g.tolist()), g + 1)[1])
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.register_hook(lambda g: (seen.append(g.tolist()), g * 10)[1])
    y.sum().backward()
    assert seen == [[1, 1], [2, 2], [2, 2]]
    same(x.grad, [40, 40])


def test_s064_replacements_are_checked():
    for wrong, kind, word in ((lambda g: ad.tensor([1.0]), RuntimeError, "size"),
                              (lambda g: g.astype(np.float32), RuntimeError, "type"),
                              (lambda g: 3.0, TypeError, "Tensor")):
        y = leaf(1.0, 2.0) * 2
        y.register_hook(wrong)
        with raises(kind, word):
            y.sum().backward()


def test_s065_a_leafs_hook_sees_this_calls_part():
    x = leaf(1.0, 2.0)
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    for _ in range(2):
        (x * 3).sum().backward()
    assert seen == [[3, 3], [3, 3]]
    same(x.grad, [6, 6])


def test_s066_hooks_run_under_grad_and_in_its_entries():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.register_hook(lambda g: g * 10)
    x.register_hook(lambda g: g + 1)
    gx, gy = ad.grad(y.sum(), [x, y])
    same(gy, [10, 10])
    same(gx, [21, 21])


def test_s067_retain_grad():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.register_hook(lambda g: g * 3)
    y.retain_grad()
    y.retain_grad()
    y.register_hook(lambda g: g * 5)
    y.sum().backward(retain_graph=True)
    same(y.grad, [15, 15])
    y.sum().backward(retain_graph=True)
    same(y.grad, [30, 30])
    ad.grad(y.sum(), x)
    same(y.grad, [45, 45])
    assert y.retains_grad and not x.retains_grad
    x.retain_grad()
    assert not x.retains_grad
    with raises(RuntimeError, "requires_grad"):
        ad.tensor(1.0).retain_grad()


def test_s068_grad_mode_inside_hooks():
    for create in (False, True):
        x = leaf(2.0)
        y = x * x
        modes = []
        y.register_hook(lambda g, modes=modes: modes.append((ad.is_grad_enabled(), ad.grad(leaf(3.0) * 2, []) if 0 else 0)))
        ad.grad(y, x, create_graph=create)
        assert modes[0][0] is create
    inner = []

    def hook(g):
        w = leaf(5.0)
        with ad.enable_grad():
            z = w * w
        z.backward()
        inner.append(w.grad.item())
    y = x * x
    y.register_hook(hook)
    y.backward()
    assert inner == [10.0]


def test_s069_hooks_change_hooks():
    x = leaf(1.0)
    y = x * 1
    ran = []
    handles = []

    def first(g):
        ran.append("first")
        handles[0].remove()
        y.register_hook(lambda g: ran.append("added"))
    handles.append(y.register_hook(first))
    y.backward(retain_graph=True)
    assert ran == ["first"]
    y.backward()
    assert ran == ["first", "added"]


def test_s069_hooks_added_while_it_runs_wait_for_the_next_backward():
    x = leaf(1.0)
    h = x * 1
    y = h * 1
    ran = []
    y.register_hook(lambda g: h.register_hook(lambda g: ran.append(1)) and None)
    y.backward(retain_graph=True)
    assert ran == []
    y.backward()
    assert ran == [1]


def test_s070_exceptions_keep_their_class():
    class Mine(Exception):
        pass

    def fail(g):
        raise Mine("x")
    y = leaf(1.0) * 2
    y.register_hook(fail)
    with pytest.raises(Mine):
        y.backward()


def test_s071_hooks_and_in_place_changes():
    x = leaf(1.0, 2.0)
    y = x * 1
    before, after = [], []
    y.register_hook(lambda g: before.append(g.tolist()))
    y.retain_grad()
    y.mul_(3.0)
    y.register_hook(lambda g: after.append(g.tolist()))
    y.sum().backward()
    assert before == [[3, 3]] and after == [[1, 1]]
    same(y.grad, [1, 1])


def test_s072_hooks_of_nodes():
    x = leaf(1.0, 2.0)
    y = x * 2
    order = []
    y.register_hook(lambda g: order.append("tensor"))
    y.grad_fn.register_prehook(lambda grads: (order.append("pre"), (grads[0] + 1,))[1])
    y.grad_fn.register_hook(lambda inputs, outputs: (order.append("post"), (inputs[0] * 10, None))[1])
    y.sum().backward(retain_graph=True)
    assert order == ["tensor", "pre", "post"]
    same(x.grad, [40, 40])
    order.clear()
    ad.grad((y * 1).sum(), y)
    assert order == ["tensor"]


def test_s073_after_accumulation():
    x = leaf(1.0, 2.0)
    seen = []
    x.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.tolist()))
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    assert seen == [[2, 2], [4, 4]]
    ad.grad((x * 2).sum(), x)
    assert len(seen) == 2
    with raises(RuntimeError, "non-leaf"):
        (x * 1).register_post_accumulate_grad_hook(lambda t: None)
    x.register_post_accumulate_grad_hook(lambda t: 3)
    with pytest.raises(RuntimeError):
        (x * 2).sum().backward()


def returning(*values):
    return lambda *_: values[0] if len(values) == 1 else values


@pytest.mark.parametrize(("place", "result", "kind", "words"), [
    ("before", (np.ones(2),), TypeError, ("position 1", "ndarray")),
    ("before", (ad.tensor(np.ones(3)),), RuntimeError, ("size", "position 1", "(3,)")),
    ("before", (ad.tensor(np.ones(2)),) * 2, RuntimeError, ("number of gradients", "expected 1", "got 2")),
    ("before", (), RuntimeError, ("number of gradients", "got 0")),
    ("before", ad.tensor(np.ones(2)), TypeError, ("tuple",)),
    ("after", (None,), RuntimeError, ("number of gradients", "expected 2", "got 1")),
    ("after", (None, None, None), RuntimeError, ("number of gradients", "expected 2", "got 3")),
    ("after", (None, ad.tensor(np.ones((2, 1)))), RuntimeError, ("size", "position 2")),
    ("after", (None, ad.tensor(np.ones(2, np.float32))), RuntimeError, ("type", "position 2", "float32")),
    ("after", (None, 3.0), TypeError, ("position 2", "float")),
    ("after", [None, None], TypeError, ("tuple", "list")),
])
def test_s072_what_hooks_of_nodes_return_is_checked(place, result, kind, words):
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    z = x * y
    (z.grad_fn.register_prehook if place == "before" else z.grad_fn.register_hook)(returning(result))
    with raises(kind, *words):
        z.sum().backward()
    assert x.grad is None and y.grad is None


def test_s016_a_leaf_that_was_frozen_after_the_call_accumulates_nothing():
    x, w = leaf(1.0, 2.0), leaf(5.0)
    seen = []
    x.register_hook(lambda g: seen.append(g.tolist()))
    y = (x * x * w).sum()
    x.requires_grad_(False)
    y.backward(retain_graph=True)
    assert x.grad is None and w.grad.item() == 5 and seen == [[10, 20]]
    assert not (x * 3).requires_grad
    x.requires_grad_()
    y.backward()
    same(x.grad, [10, 20])
    x = leaf(1.0, 2.0)
    y = (x * 3).sum()
    x.requires_grad_(False)
    x.mul_(w)
    with raises(RuntimeError, "leaf", "moved into the graph"):
        y.backward()


def test_s062_what_a_hook_writes_reaches_no_other_gradient():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    a, b = x * 1, y * 1
    a.register_hook(lambda g: (g.mul_(2), None)[1])
    (a + b).backward(np.ones(2))
    same(x.grad, [2, 2])
    same(y.grad, [1, 1])
