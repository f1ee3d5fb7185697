"""In-place operations, versions, views (S81 to S88)."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff as ad
from autodiff.graph.tensor import COPIES

from .support import leaf, raises, same


def test_s081_versions():
    x = ad.tensor([1.0, 2.0, 3.0])
    assert x._version == 0
    before = x
    x += 1.0
    x.mul_(2.0)
    x[0] = 5.0
    assert x is before and x._version == 3
    v = x[1:]
    v.add_(1.0)
    assert x._version == v._version == 4 and x.clone()._version == 0
    same(x, [5, 7, 9])


def test_s082_leaves_that_require_grad():
    x = leaf(1.0, 2.0)
    for change in (lambda: x.add_(1.0), lambda: x.__setitem__(0, 3.0), lambda: x[0:1].mul_(2.0), lambda: x.zero_()):
        with raises(RuntimeError, "leaf", "in-place"):
            change()
    with pytest.raises(RuntimeError):
        x += 1.0
    assert x.tolist() == [1.0, 2.0] and x._version == 0
    with ad.no_grad():
        x.add_(1.0)
        x -= 0.5
    assert x.tolist() == [1.5, 2.5] and x.requires_grad and x.is_leaf and x._version == 2


def test_s083_saved_tensors_are_checked():
    x = leaf(1.0, 2.0)
    y = np.exp(x)
    y.mul_(2.0)
    with raises(RuntimeError, "modified by an inplace operation", "0", "1"):
        y.sum().backward()
    h = x * 1
    z = h * h
    h.add_(1.0)
    with raises(RuntimeError, "modified by an inplace operation"):
        z.sum().backward()
    c = ad.tensor([3.0, 4.0])
    z = x * c
    c[0] = 9.0
    with raises(RuntimeError, "modified by an inplace operation"):
        z.sum().backward()


def test_s084_operations_that_need_no_values():
    x = leaf(1.0, 2.0)
    q = x * 2
    for made in (q.sum(), q + 1.0, q * 3.0, q.reshape(2, 1), q - q):
        assert not made.grad_fn.saved or made.grad_fn.saved == (3.0,)
    w = q.sum()
    q.zero_()
    w.backward()
    same(x.grad, [2, 2])


def test_s085_new_history():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1
    y[0] = x[1] * x[2]
    y += 1.0
    same(ad.grad((y * y).sum(), x)[0], [0, 2 * 7 * 3 + 2 * 3, 2 * 7 * 2 + 2 * 4])
    c = ad.tensor([0.0, 0.0])
    c[1] = x[2] * 4
    assert c.requires_grad and not c.is_leaf
    same(ad.grad(c.sum(), x)[0], [0, 0, 4])
    y = x * 2
    y *= y
    same(ad.grad(y.sum(), x)[0], 8 * np.array([1.0, 2, 3]))
    y = x * 2
    y[:] = 1.0
    same(ad.grad((y * x).sum(), x)[0], [1, 1, 1])


def test_s086_views_and_bases():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    base = x * 1
    row, column, flat, t = base[0], base[:, 1], base.reshape(4), base.T
    row.mul_(10.0)
    same(base, [[10, 20], [3, 4]])
    for view, expected in ((base, [[10, 10], [1, 1]]), (column, [[0, 10], [0, 1]]), (flat, [[10, 10], [1, 1]]),
                           (t, [[10, 10], [1, 1]]), (row, [[10, 10], [0, 0]])):
        same(ad.grad(view.sum(), x, retain_graph=True)[0], expected)
    base.mul_(2.0)
    same(ad.grad(t[1].sum(), x, retain_graph=True)[0], [[0, 20], [0, 2]])
    c = ad.tensor([1.0, 2.0, 3.0])
    part = c[1:]
    c[1] = x[0, 0] * 5
    assert part.requires_grad
    same(ad.grad(part.sum(), x)[0], [[5, 0], [0, 0]])


def test_s086_views_of_views():
    x = leaf(np.arange(6.0).reshape(2, 3))
    base = x * 1
    inner = base.T[1:][:, 0]
    inner[0] = 7.0
    inner += x[1, :2]
    expected = np.array([[0, 0, 1], [0, 0, 0.0]])
    g = ad.grad(base[0].sum(), x)[0]
    same(base, [[0, 10, 6], [3, 4, 5]])
    same(g, expected + [[1, 0, 0], [1, 1, 0]])


def test_s086_integer_arrays_and_masks_copy():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1
    part = y[[0, 2]]
    part.mul_(100.0)
    same(y, [1, 2, 3])
    y[np.array([0, 2])] = x[1] * np.array([2.0, 3.0])
    same(ad.grad((y * np.array([1.0, 10.0, 100.0])).sum(), x)[0], [0, 312, 0])
    y = x * 1
    y[x > 1.5] = 0.0
    same(ad.grad(y.sum(), x)[0], [1, 0, 0])
    y = x * 1
    y[y > 1.5] *= 5.0
    same(ad.grad(y.sum(), x)[0], [1, 5, 5])


def test_s087_views_that_cannot_be_changed():
    x = leaf(1.0, 2.0)
    y = x * 1
    with ad.no_grad():
        v = y[0:1]
    with raises(RuntimeError, "view", "no_grad"):
        v.mul_(2.0)
    for many in (lambda: list(y)[0], lambda: np.split(y, 2)[0], lambda: y.unbind()[0]):
        with raises(RuntimeError, "multiple views"):
            many().mul_(2.0)


def test_s088_in_no_grad_history_stays():
    x = leaf(1.0, 2.0)
    y = x * 3
    with ad.no_grad():
        y.mul_(10.0)
    same(y, [30, 60])
    assert y._version == 1
    same(ad.grad(y.sum(), x)[0], [3, 3])


def test_second_derivatives_through_in_place_changes():
    x = leaf(1.0, 2.0, 3.0)

    def f(x):
        y = x * x
        y[1:] *= x[:2]
        v = y[::2]
        v += np.sin(x[0])
        y[[0, 1]] = y[[1, 2]] * x[2]
        return y
    assert ad.gradcheck(f, x) and ad.gradgradcheck(f, x)


def test_add_at_and_out():
    x = leaf(1.0, 2.0)
    y = ad.tensor(np.zeros(3))
    np.add.at(y, np.array([0, 2, 0]), x[np.array([0, 1, 1])])
    same(y, [3, 0, 2])
    same(ad.grad((y * np.array([1.0, 5.0, 7.0])).sum(), x)[0], [1, 8])
    z = ad.tensor(np.zeros(2))
    np.multiply(x, x, out=z)
    same(ad.grad(z.sum(), x)[0], [2, 4])
    with raises(TypeError, "out="):
        np.multiply(x, x, out=np.zeros(2))


def test_s136_writes_to_what_may_be_saved_are_right_or_errors():
    x = leaf(0.5, 1.5)
    for function in (np.exp, np.tanh, np.sqrt, np.sin, np.log, lambda t: t * t, lambda t: t / 2, lambda t: t ** 3,
                     np.square):
        expected = ad.grad(function(x).sum(), x)[0].tolist()
        h = x * 1
        y = function(h)
        h.mul_(2.0)
        try:
            same(ad.grad(y.sum(), x)[0], expected)
        except RuntimeError as e:
            assert "modified by an inplace operation" in str(e)


def test_s087_views_made_in_no_grad():
    """What counts is whether a gradient is involved when they are changed, not when they were made."""
    w = leaf(3.0)
    for base in (leaf(1.0, 2.0) * 2, leaf(1.0, 2.0), ad.tensor([1.0, 2.0])):
        with ad.no_grad():
            views = [base[:1], base[:][:1], base.reshape(2, 1)[0]]
        for v in (*views, views[0][:]):
            before = base.tolist()
            with raises(RuntimeError, "view", "no_grad"):
                v *= w
            with raises(RuntimeError, "view", "no_grad"):
                v[0] = w
            assert base.tolist() == before
        with ad.no_grad():
            views[0].mul_(2)
        assert base.tolist() == [2 * before[0], before[1]]
    constant = ad.tensor([1.0, 2.0])
    with ad.no_grad():
        v = constant[:1]
    v.mul_(2)                                       # nothing here has a gradient
    assert constant.tolist() == [2, 2]
    constant.mul_(w)
    with raises(RuntimeError, "view", "no_grad"):
        v * 2
    with ad.no_grad():
        assert (v * 2).tolist() == [12]
    assert "Invalid" in repr(v)


def test_s082_a_view_that_became_a_leaf():
    v = ad.tensor([1.0, 2.0])[:1]
    v.requires_grad_()
    with raises(RuntimeError, "leaf", "in-place"):
        v.mul_(2)


@ad.differentiable(mode="python")
def scaled(x, a):
    return x * x * a


@pytest.mark.parametrize("f", [
    lambda x, a: x * a, lambda x, a: np.divide(x, a), lambda x, a: x @ a, lambda x, a: np.einsum("i,i", x, a),
    lambda x, a: np.where(a > 1, x, 0), lambda x, a: x[a > 1], lambda x, a: np.take(x, a.astype(int) - 1),
    lambda x, a: np.average(x * x, weights=a), scaled, lambda x, a: np.interp(a, np.array([0.0, 2.0, 4.0]), x)])
def test_s083_constant_arrays_are_kept_as_they_were(f):
    """Nothing counts the versions of arrays, so that what backward reads of them is a copy."""
    x, a = leaf(1.0, 2.0, 3.0), np.array([1.0, 2.0, 3.0])
    expected = ad.grad(f(x, a).sum(), x, create_graph=True)[0]
    y = f(x, a).sum()
    a[:] = 2.5
    got = ad.grad(y, x, create_graph=True)[0]
    same(got, expected.detach().numpy())
    if got.requires_grad:
        same(ad.grad(got.sum(), x)[0], ad.grad(expected.sum(), x)[0].numpy())


def test_s083_indices_are_kept_as_they_were():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    for index in (np.array([0, 1]), ad.tensor([0, 1]), np.array([[True, False], [True, True]])):
        y = x[index] * 1
        z = x * 1
        z[index] = 5.0
        index[...] = index[1, 1] if index.ndim == 2 else 1
        g, h = ad.grad(y.sum(), x)[0], ad.grad(z.sum(), x)[0]
        same(g, [[1, 0], [1, 1]] if index.ndim == 2 else np.ones((2, 2)))
        same(h, 1 - g.numpy())


def test_s083_what_is_given_to_backward_is_kept_as_it_was():
    x, seed = leaf(1.0, 2.0), np.array([1.0, 1.0])
    g, = ad.grad(x * x * x, x, seed, create_graph=True)
    p = leaf(0.5, 0.5)
    s, reward = ad.bernoulli(p, rng=1), np.array([1.0, 1.0])
    s.reinforce(reward)
    expected = -(s.detach().numpy() - 0.5) / 0.25
    reward[:] = 7
    seed[:] = 7
    same(ad.grad(g.sum(), x)[0], [6, 12])
    with ad.no_grad():
        s.fill_(9)
    s.backward()
    same(p.grad, expected)


def test_s083_large_constant_arrays_are_copied_again_when_they_changed():
    x = leaf(np.ones((64, 64)))
    a = np.full((64, 64), 2.0)
    first, second = x * a, x * a
    assert first.grad_fn.saved[0] is second.grad_fn.saved[0] is not a
    a[3, 3] = -0.0
    third = x * a
    a[:] = 7.0
    assert ad.grad(first.sum(), x)[0].numpy().min() == 2.0 == ad.grad(second.sum(), x)[0].numpy().max()
    assert ad.grad(third.sum(), x)[0][3, 3].item() == 0.0
    key = id(a)
    assert key in COPIES
    del a
    assert key not in COPIES


def test_every_operand_is_brought_up_to_date():
    """A view whose memory was changed through another name, beside an operand that needs a gradient anyway."""
    a = ad.tensor(np.ones((2, 2)), requires_grad=True)
    b = ad.tensor(np.array(0.5), requires_grad=True)
    memory = ad.tensor(np.array([0.3, -0.2]))
    view = memory[None]
    memory.add_(b)
    np.where(np.array([[True, False]]), a, view).sum().backward()
    assert b.grad.item() == 2.0 and a.grad.numpy().tolist() == [[1.0, 0.0], [1.0, 0.0]]


def test_views_of_a_leaf_that_was_frozen():
    """Their memory requires no grad: what they held has none, as in torch."""
    x = ad.tensor(np.array([0.3, 0.4]), requires_grad=True)
    w = ad.tensor(np.array([2.0, 3.0]), requires_grad=True)
    view, other = x[...], x[1:]
    x.requires_grad_(False)
    view.mul_(w)
    other[0] = w[0]
    view.sum().backward()
    assert x.grad is None and w.grad.numpy().tolist() == [1.3, 0.0]
