"""Function, stochastic nodes and legacy spellings (S89 to S111)."""

from __future__ import annotations

import numpy as np
import pytest

import autodiff as ad

from .support import leaf, raises, same, silent


class Cube(ad.Function):
    @staticmethod
    def forward(ctx, x, n):
        ctx.save_for_backward(x)
        ctx.n = n
        ctx.seen = list(ctx.needs_input_grad)
        ctx.mode = ad.is_grad_enabled()
        return x ** n

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        ctx.backward_mode = ad.is_grad_enabled()
        return g * ctx.n * x ** (ctx.n - 1), None


def scaled(backward, forward=lambda ctx, x, k: x * k):
    """A Function of (x, k) with this backward."""
    class Scaled(ad.Function):
        pass
    Scaled.forward = staticmethod(forward)
    Scaled.backward = staticmethod(backward)
    return Scaled


def test_s089_one_node_a_call():
    x = leaf(1.0, 2.0)
    y = Cube.apply(x, 3)
    assert y.grad_fn.name() == "CubeBackward" and len(y.grad_fn.next_functions) == 1
    same(ad.grad(y.sum(), x)[0], [3, 12])


def test_s089_setup_context():
    class Square(ad.Function):
        @staticmethod
        def forward(x, power):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, power = inputs
            ctx.save_for_backward(x, output)

        @staticmethod
        def backward(ctx, g):
            x, y = ctx.saved_tensors
            same(y, x.detach().numpy() ** 2)
            return 2 * g * x, None
    x = leaf(3.0)
    g, = ad.grad(Square.apply(x, 2), x, create_graph=True)
    same(g, 6)
    same(ad.grad(g, x)[0], 2)


def test_s090_modes_and_second_order():
    x = leaf(1.0, 2.0)
    y = Cube.apply(x, 3)
    assert y.grad_fn.mode is False
    g, = ad.grad(y.sum(), x, create_graph=True)
    assert y.grad_fn.backward_mode is True
    same(ad.grad(g.sum(), x)[0], [6, 12])
    ad.grad(y.sum(), x)
    assert y.grad_fn.backward_mode is False


def test_s091_save_for_backward():
    def twice(ctx, x, k):
        ctx.save_for_backward(x)
        with pytest.raises(TypeError):
            ctx.save_for_backward(x)
        return x * k

    def wrong(ctx, x, k):
        ctx.save_for_backward(x, k)
        return x * k
    x = leaf(1.0, 2.0)
    scaled(lambda ctx, g: (g, None), twice).apply(x, 2.0)
    with pytest.raises(TypeError):
        scaled(lambda ctx, g: (g, None), wrong).apply(x, 2.0)
    y = Cube.apply(x, 3)
    assert y.grad_fn.n == 3 and y.grad_fn.saved_tensors[0].tolist() == [1.0, 2.0]
    y.sum().backward()
    with raises(RuntimeError, "retain_graph"):
        y.sum().backward()
    with raises(RuntimeError, "freed"):
        y.grad_fn.saved_tensors  # noqa: B018
    h = x * 1
    y = Cube.apply(h, 3)
    h.add_(1.0)
    with raises(RuntimeError, "modified by an inplace operation"):
        y.sum().backward()


def test_s091_saved_none_and_intermediates():
    def forward(ctx, x, k):
        middle = x * 10
        ctx.save_for_backward(None, middle, x)
        return middle * k

    def backward(ctx, g):
        nothing, middle, x = ctx.saved_tensors
        assert nothing is None and not middle.requires_grad and x.requires_grad
        return g * 10 * ctx.needs_input_grad[0] * 3.0, None
    x = leaf(1.0, 2.0)
    same(ad.grad(scaled(backward, forward).apply(x, 3.0).sum(), x)[0], [30, 30])


def test_s092_needs_input_grad():
    x, c = leaf(1.0), ad.tensor(2.0)
    assert Cube.apply(x, 3).grad_fn.seen == [True, False]
    seen = []
    scaled(lambda ctx, g: (g, g), lambda ctx, x, k: (seen.append(ctx.needs_input_grad), x * k)[1]).apply(c, x).backward()
    assert seen == [(False, True)]


def test_s093_tensors_in_lists_are_not_tracked():
    class Total(ad.Function):
        @staticmethod
        def forward(ctx, items):
            return items[0] + items[1]

        @staticmethod
        def backward(ctx, g):
            return None
    assert not Total.apply([leaf(1.0), leaf(2.0)]).requires_grad


@pytest.mark.parametrize(("returned", "kind", "words"), [
    (lambda g: g, RuntimeError, ("number of gradients", "expected 2", "got 1")),
    (lambda g: (g, None, g), RuntimeError, ("number of gradients", "got 3")),
    (lambda g: (g, g), RuntimeError, ("None", "2")),
    (lambda g: (ad.tensor([1.0, 2.0, 3.0]), None), RuntimeError, ("shape",)),
    (lambda g: ("x", None), TypeError, ("Tensor",)),
])
def test_s094_to_s096_what_backward_returns(returned, kind, words):
    x = leaf(1.0, 2.0)
    with raises(kind, *words):
        scaled(lambda ctx, g: returned(g)).apply(x, 3.0).sum().backward()
    assert x.grad is None


def test_s094_trailing_none_is_ignored():
    x = leaf(1.0, 2.0)
    scaled(lambda ctx, g: (g, None, None, None)).apply(x, 3.0).sum().backward()
    same(x.grad, [1, 1])


def test_s095_unneeded_gradients_are_dropped():
    x, c = leaf(1.0, 2.0), ad.tensor([1.0, 1.0])
    scaled(lambda ctx, g: (g, g)).apply(x, c).sum().backward()
    assert c.grad is None


def test_s096_reducible_shapes_and_dtypes():
    x = leaf([1.0], dtype=np.float32)
    scaled(lambda ctx, g: (ad.tensor(np.ones((3, 1))), None)).apply(x, 2.0).sum().backward()
    same(x.grad, [3])
    assert x.grad.dtype == np.float32


def test_s097_none_is_no_contribution():
    x = leaf(1.0, 2.0)
    f = scaled(lambda ctx, g: (None, None))
    f.apply(x, 2.0).sum().backward()
    assert x.grad is None
    assert ad.grad(f.apply(x, 2.0).sum(), x, allow_unused=True) == (None,)


def several(materialize=True):
    class Several(ad.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            fixed = x * 0 + 7
            ctx.mark_non_differentiable(fixed)
            return x * 2, "text", fixed, x * 3

        @staticmethod
        def backward(ctx, *grads):
            seen.append([g if g is None else g.tolist() for g in grads])
            return grads[0] * 2
    seen: list = []
    return Several, seen


def test_s098_outputs_without_gradient():
    for materialize, absent in ((True, [0.0, 0.0]), (False, None)):
        f, seen = several(materialize)
        a, text, fixed, b = f.apply(leaf(1.0, 2.0))
        assert text == "text" and b.requires_grad
        a.sum().backward()
        assert seen == [[[1.0, 1.0], None, absent, absent]]


def test_s099_non_differentiable_outputs():
    f, _ = several()
    _, _, fixed, _ = f.apply(leaf(1.0, 2.0))
    assert not fixed.requires_grad and fixed.tolist() == [7.0, 7.0]


class Doubled(ad.Function):
    returned = True

    @classmethod
    def run(cls, x):
        return cls.apply(x)

    @staticmethod
    def forward(ctx, x):
        x.mul_(2.0)
        ctx.mark_dirty(x)
        return x if Doubled.returned else x * 1

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_s100_mark_dirty():
    x = leaf(1.0, 2.0)
    h = x * 1
    assert Doubled.apply(h) is h and h.tolist() == [2.0, 4.0] and h.grad_fn.name() == "DoubledBackward"
    same(ad.grad(h.sum(), x)[0], [2, 2])
    base = x * 1
    Doubled.apply(base[0:1])
    same(ad.grad(base.sum(), x)[0], [2, 1])
    with raises(RuntimeError, "leaf", "in-place"):
        Doubled.apply(x)
    Doubled.returned = False
    try:
        with raises(RuntimeError, "dirty"):
            Doubled.apply(x * 1)
    finally:
        Doubled.returned = True


def test_s101_an_input_returned_unchanged():
    x = leaf(1.0, 2.0)
    y = scaled(lambda ctx, g: (g * 5, None), lambda ctx, x, k: x).apply(x, 1)
    assert y is not x and not y.is_leaf
    same(ad.grad(y.sum(), x)[0], [5, 5])


def test_s102_once_differentiable():
    class Square(ad.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @ad.once_differentiable
        def backward(ctx, g):
            assert not ad.is_grad_enabled()
            return 2 * g * ctx.saved_tensors[0]
    x = leaf(3.0)
    same(ad.grad(Square.apply(x), x)[0], 6)
    g, = ad.grad(Square.apply(x), x, create_graph=True)
    assert g.requires_grad and g.item() == 6.0
    with raises(RuntimeError, "once_differentiable"):
        ad.grad(g, x)


def test_s103_no_backward():
    class Half(ad.Function):
        @staticmethod
        def forward(ctx, x):
            return x / 2
    y = Half.apply(leaf(1.0))
    with pytest.raises(NotImplementedError):
        y.backward()
    assert not Half.apply(ad.tensor(1.0)).requires_grad


def test_s104_exceptions_pass():
    class Mine(Exception):
        pass

    def fail(*args):
        raise Mine
    with pytest.raises(Mine):
        scaled(lambda ctx, g: g, fail).apply(leaf(1.0), 2)
    with pytest.raises(Mine):
        scaled(fail).apply(leaf(1.0), 2).backward()


class OldProduct(ad.Function):
    def forward(self, a, b):
        self.save_for_backward(a, b)
        return a * b

    def backward(self, g):
        a, b = self.saved_tensors
        self.info = [self.num_inputs, self.num_outputs, self.needs_input_grad, len(self.saved_variables), self.requires_grad]
        return g * b, g * a


def test_s105_old_style():
    x, c = leaf(1.0, 2.0), ad.tensor([5.0, 7.0])
    f = OldProduct()
    f(x, c).sum().backward()
    same(x.grad, [5, 7])
    assert f.info == [2, 1, (True, False), 2, True]
    with raises(RuntimeError, "once"):
        f(x, c)
    with raises(RuntimeError, "static"):
        OldProduct.apply(x, c)
    g, = ad.grad(OldProduct()(x, x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError):
        ad.grad(g.sum(), x)


def test_gradcheck_of_functions():
    x = leaf(0.3, 0.7)
    assert ad.gradcheck(lambda t: Cube.apply(t, 3), x) and ad.gradgradcheck(lambda t: Cube.apply(t, 3), x)


def test_s106_reinforce_needs_a_sample():
    with raises(RuntimeError, "stochastic"):
        (leaf(1.0, 2.0) * 2).reinforce(ad.tensor([1.0, 1.0]))
    s = ad.bernoulli(leaf(0.5, 0.5), rng=0)
    for reward in (ad.tensor(1.0), [1.0], np.ones((2, 1)), ad.tensor([1.0, 2.0, 3.0])):
        with raises(RuntimeError, "size mismatch", "shape", "(2,)", "Bernoulli", "test_function.py"):
            s.reinforce(reward)
    with raises(TypeError, "reward", "complex"):
        s.reinforce(np.ones(2, complex))


def test_s107_rewards():
    p = leaf(0.25, 0.5)
    s = ad.bernoulli(p, rng=0)
    with raises(RuntimeError, "reward"):
        s.backward()
    s.reinforce(ad.tensor([1.0, 10.0]))
    s.backward()
    v, q = s.detach().numpy(), np.array([0.25, 0.5])
    same(p.grad, -np.array([1.0, 10.0]) * (v - q) / (q * (1 - q)))


def test_s107_incoming_gradients_are_ignored():
    p = leaf(0.25, 0.5)
    s = ad.bernoulli(p, rng=1)
    s.reinforce(np.array([2.0, 2.0]))
    (s * 1000).sum().backward()
    v, q = s.detach().numpy(), np.array([0.25, 0.5])
    same(p.grad, -2 * (v - q) / (q * (1 - q)))


def test_s107_normal_and_categorical_scores():
    mu, sigma = leaf(1.0, 2.0), leaf(0.5)
    s = ad.normal(mu, sigma, rng=0)
    s.reinforce(np.array([1.0, 3.0]))
    s.backward()
    z = (s.detach().numpy() - [1, 2]) / 0.5
    same(mu.grad, -np.array([1.0, 3.0]) * z / 0.5)
    same(sigma.grad, -np.sum(np.array([1.0, 3.0]) * (z * z - 1) / 0.5))
    p = leaf([[0.2, 0.8], [0.5, 0.5]])
    k = ad.categorical(p, rng=0)
    assert k.shape == (2,)
    k.reinforce(np.array([1.0, 2.0]))
    k.backward()
    chosen = np.eye(2)[k.detach().numpy().astype(int)]
    same(p.grad, -np.array([[1.0], [2.0]]) * (chosen / p.detach().numpy() - 1))


def test_the_score_estimator_is_unbiased():
    p = leaf(np.full(200_000, 0.3))
    s = ad.bernoulli(p, rng=0)
    s.reinforce(s.detach().numpy() * 5.0)           # reward 5 s: d E / d p = 5
    s.backward()
    assert abs(-p.grad.numpy().mean() - 5.0) < 0.1


def test_s108_variable():
    v = ad.Variable(ad.tensor([1.0, 2.0]), requires_grad=True)
    (v * v).sum().backward()
    assert isinstance(v, ad.Tensor) and v.grad.data.tolist() == [2.0, 4.0] and v.data.tolist() == [1.0, 2.0]


def test_s109_retain_variables():
    x = leaf(1.0)
    y = x * x
    with pytest.warns(DeprecationWarning):
        y.backward(retain_variables=True)
    with pytest.warns(DeprecationWarning):
        ad.backward(y, retain_variables=True)
    with silent(), pytest.raises(ValueError):
        y.backward(retain_graph=True, retain_variables=True)


def test_s110_grad_variables():
    x = leaf(1.0, 2.0)
    with pytest.warns(FutureWarning):
        ad.backward([x * x], grad_variables=[ad.tensor([1.0, 1.0])])
    same(x.grad, [2, 4])
    with silent(), raises(RuntimeError, "grad_tensors"):
        ad.backward([x * x], [ad.tensor([1.0, 1.0])], grad_variables=[ad.tensor([1.0, 1.0])])


def test_s111_create_graph_none():
    x = leaf(3.0)
    g, = ad.grad(x * x, x, create_graph=None)
    assert not g.requires_grad
    (x * x).backward(create_graph=None)
    assert not x.grad.requires_grad


def test_a_function_of_a_leaf_that_was_frozen_later():
    x, w = leaf(1.0, 2.0), leaf(5.0)
    y = (Cube.apply(x, 3) * w).sum()
    x.requires_grad_(False)
    y.backward()
    assert x.is_leaf and x.grad is None and w.grad.item() == 9
