"""Anomalies, gradcheck, functional, hooks on saved tensors, edges, and names (S127 to S136)."""

from __future__ import annotations

import gc
import inspect
import weakref

import numpy as np
import pytest

import autodiff as ad

from .support import leaf, raises, same, silent


def test_s127_detect_anomaly():
    x = leaf(0.0, 1.0)
    with np.errstate(all="ignore"):
        with ad.detect_anomaly():
            y = (np.sqrt(x) * x * 0).sum()
            with raises(RuntimeError, "nan", "test_tools.py"):
                y.backward()
        with ad.detect_anomaly(check_nan=False):
            (np.sqrt(x) * x * 0).sum().backward()
    assert np.isnan(x.grad.tolist()[0])
    ad.set_detect_anomaly(True)
    ad.set_detect_anomaly(False)
    with ad.set_detect_anomaly(True), np.errstate(all="ignore"), raises(RuntimeError, "nan"):
        (np.sqrt(x) * x * 0).sum().backward()


def test_s127_other_errors_point_to_the_forward_line():
    class Fails(ad.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise ValueError("mine")
    y = Fails.apply(leaf(1.0))  # recorded here
    with pytest.raises(ValueError, match="mine") as caught:
        y.backward()
    notes = getattr(caught.value, "__notes__", ["# recorded here"])
    assert any("# recorded here" in n for n in notes)


class Wrong(ad.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 3 * ctx.saved_tensors[0] * g


def test_s128_gradcheck():
    x = leaf(0.3, 0.7)
    assert ad.gradcheck(lambda t: np.sin(t) * t, (x,)) is True
    assert ad.gradgradcheck(lambda t: np.sin(t) * t, (x,)) is True
    with raises(ad.GradcheckError, "Jacobian mismatch"):
        ad.gradcheck(Wrong.apply, (x,))
    assert issubclass(ad.GradcheckError, RuntimeError)
    assert ad.gradcheck(Wrong.apply, (x,), raise_exception=False) is False
    with raises(ValueError, "require grad"):
        ad.gradcheck(lambda t: t, (x.detach(),))
    with pytest.warns(UserWarning, match="double"):
        ad.gradcheck(lambda t: t * 2, (leaf(1.0, dtype=np.float32),), atol=1, raise_exception=False)
    assert ad.gradcheck(lambda t: (np.sin(t), t * 2), (x,), check_batched_grad=True)
    assert x.tolist() == [0.3, 0.7]


def test_s128_backwards_that_differ_from_run_to_run():
    class Random(ad.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return g * (1 + 1e-3 * np.random.default_rng().standard_normal())
    with raises(ad.GradcheckError, "reentrant"):
        ad.gradcheck(Random.apply, leaf(1.0))


def test_s129_functional_values():
    F = ad.functional
    x, v = ad.tensor([1.0, 2.0]), ad.tensor([1.0, -1.0])
    jacobian = [[2, 0], [2, 1]]

    def g(t):
        return t * t[0]

    def f(t):
        return (t ** 3).sum()
    same(F.jacobian(g, x), jacobian)
    same(F.jacobian(g, x, vectorize=True), jacobian)
    same(F.jacobian(g, x, strategy="forward-mode"), jacobian)
    same(F.hessian(f, x), [[6, 0], [0, 12]])
    same(F.hessian(f, x, vectorize=True), [[6, 0], [0, 12]])
    out, found = F.vjp(g, x, v)
    same(out, [1, 2])
    same(found, np.array(jacobian).T @ [1, -1])
    same(F.jvp(g, x, v)[1], np.array(jacobian) @ [1, -1])
    same(F.hvp(f, x, v)[1], [6, -12])
    same(F.vhp(f, x, v)[1], [6, -12])
    assert not F.jacobian(g, leaf(1.0, 2.0)).requires_grad


def test_s129_nesting_mirrors():
    F = ad.functional
    x, y = ad.tensor([1.0, 2.0]), ad.tensor(3.0)

    def f(x, y):
        return x * y, y ** 2
    (xx, xy), (yx, yy) = F.jacobian(f, (x, y))
    same(xx, [[3, 0], [0, 3]])
    same(xy, [1, 2])
    same(yx, [0, 0])
    same(yy, 6)
    (hxx, hxy), (hyx, hyy) = F.hessian(lambda x, y: (x * x).sum() * y, (x, y))
    same(hxx, 6 * np.eye(2))
    same(hxy, [2, 4])
    same(hyx, [2, 4])
    same(hyy, 0)
    outs, cotangents = F.vjp(f, (x, y), (ad.tensor([1.0, 1.0]), ad.tensor(1.0)))
    assert isinstance(outs, tuple) and len(cotangents) == 2
    same(cotangents[1], 9)


def test_s129_errors_strict_and_create_graph():
    F = ad.functional
    x = ad.tensor([1.0, 2.0])
    with raises(RuntimeError, "None"):
        F.vjp(lambda t: t * t, x)
    with raises(RuntimeError, "None"):
        F.jvp(lambda t: t * t, x)
    same(F.vjp(lambda t: t.sum(), x)[1], [1, 1])
    for second in (F.hessian, F.hvp, F.vhp):
        with raises(RuntimeError, "single element"):
            second(lambda t: t * t, x, *([x] if second is not F.hessian else []))
    for function in (F.jacobian, lambda f, x: F.vjp(f, x, ad.tensor([1.0]))):
        with pytest.raises(TypeError):
            function(lambda t: 3.0, x)
    same(F.jacobian(lambda t: ad.tensor([1.0]), x), [[0, 0]])
    with raises(RuntimeError, "independent"):
        F.jacobian(lambda t: ad.tensor([1.0]), x, strict=True)
    w = leaf(1.0, 2.0)
    j = F.jacobian(lambda t: t ** 3, w, create_graph=True)
    same(ad.grad(j.sum(), w)[0], [6, 12])
    with raises(RuntimeError, "size"):
        F.vjp(lambda t: t, x, ad.tensor([1.0]))


def test_s129_through_compiled_functions():
    def f(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i] ** 3 * x[0]
        return s
    compiled = ad.differentiable(f, mode="python")
    x = ad.tensor([1.0, 2.0, 0.5])
    eager = ad.functional.hessian(f, x)
    np.testing.assert_allclose(ad.functional.hessian(compiled, x).numpy(), eager.numpy(), rtol=1e-10)


def test_s130_hooks_on_saved_tensors():
    packed, unpacked = [], []

    def pack(t):
        packed.append(t.tolist())
        return t.detach().numpy().astype(np.float32)

    def unpack(a):
        unpacked.append(1)
        return ad.tensor(a.astype(np.float64))
    x = leaf(1.0, 2.0)
    before = x * x
    with ad.saved_tensors_hooks(pack, unpack):
        y = (x * x).sum()
    assert packed == [[1.0, 2.0], [1.0, 2.0]] and not unpacked
    y.backward(retain_graph=True)
    y.backward()
    assert len(unpacked) == 4
    same(x.grad, [4, 8])
    before.sum().backward()
    assert len(unpacked) == 4
    with ad.saved_tensors_hooks(lambda t: 0, lambda p: "not a tensor"):
        y = np.exp(x).sum()
    with pytest.raises(TypeError):
        y.backward()


class Square(ad.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]


@pytest.mark.parametrize("f", [lambda t: t * t, np.exp, Square.apply, lambda t: t @ t, lambda t: np.linalg.norm(t)])
def test_s130_changes_after_packing(f):
    """A copy that the hook made is used; what shares the memory that was changed is an error."""
    x = leaf(1.0, 2.0)
    expected = ad.grad(f(x * 2).sum(), x)[0].tolist()
    same_memory = (lambda t: t, lambda t: t[...], lambda t: t.detach().reshape(-1).reshape(t.shape))
    for pack in (lambda t: t.clone(), lambda t: t * 1, *same_memory):
        for change in (lambda a, y: a.mul_(2), lambda a, y: y.mul_(2), lambda a, y: a[:1].fill_(7)):
            a = x * 2
            with ad.saved_tensors_hooks(pack, lambda p: p):
                y = f(a)
            reads = [p.memory() for p in y.grad_fn.saved]
            change(a, y)
            hit = any(m is t._array for m in reads for t in (a, y) if t._version)
            if pack in same_memory and hit:
                with raises(RuntimeError, "modified by an inplace operation"):
                    y.sum().backward()
            else:
                got = ad.grad(y.sum() / (2 if y._version else 1), x)[0]
                same(got, expected)


def test_s130_changes_in_place_inside():
    x, w = leaf(1.0, 2.0), leaf(3.0)
    with ad.saved_tensors_hooks(lambda t: t, lambda p: p):
        y = x * 1
        y *= w
        y.exp_()
    y.sum().backward()
    same(x.grad, 3 * np.exp([3, 6]))
    same(w.grad, np.exp(3) + 2 * np.exp(6))


@ad.differentiable(mode="python")
def mixed(a, b):
    return np.sin(a) * b + a * a


def test_s130_compiled_functions_differentiated_twice():
    a, b = leaf(0.5, 1.5), leaf(2.0, 3.0)
    with ad.saved_tensors_hooks(lambda t: t.clone(), lambda p: p):
        y = mixed(a, b)
    first, = ad.grad(y.sum(), a, create_graph=True)
    same(ad.grad(first.sum(), b)[0], np.cos([0.5, 1.5]))
    x = leaf(0.5, 1.5)
    t = x * 1
    with ad.saved_tensors_hooks(lambda t: t.clone(), lambda p: p):
        y = mixed(t, b)
    t.zero_()
    assert "test_tools.py" in y.grad_fn.line()
    same(ad.grad(y.sum(), x)[0], first.detach().numpy())


def test_s130_what_hooks_may_not_do():
    x = leaf(1.0, 2.0)
    for pack, words in ((lambda t: t.mul_(2), ("pack hook", "in place")), ):
        with ad.saved_tensors_hooks(pack, lambda p: p), raises(RuntimeError, *words):
            x * x
    with ad.saved_tensors_hooks(lambda t: t, lambda p: p[:1]):
        y = x * x
    with raises(RuntimeError, "unpack", "shape"):
        y.sum().backward()


def test_s131_gradient_edges():
    x = leaf(1.0, 2.0)
    h = x * 3
    e = ad.get_gradient_edge(h)
    assert e.node is h.grad_fn and e.output_nr == 0
    y = (h * h).sum()
    gs = ad.grad(ad.get_gradient_edge(y), [e, ad.get_gradient_edge(x)])
    same(gs[0], [6, 12])
    same(gs[1], [18, 36])
    with pytest.raises(RuntimeError):
        ad.get_gradient_edge(ad.tensor(1.0))


def test_s132_legacy_names_are_keywords():
    for function in (ad.backward, ad.Tensor.backward):
        for name in ("grad_variables", "retain_variables"):
            p = inspect.signature(function).parameters.get(name)
            assert p is None or p.kind is inspect.Parameter.KEYWORD_ONLY
    assert list(inspect.signature(ad.backward).parameters)[:5] == [
        "tensors", "grad_tensors", "retain_graph", "create_graph", "inputs"]
    assert list(inspect.signature(inspect.unwrap(ad.grad)).parameters)[:9] == [      # it shows those of functions
        "outputs", "inputs", "grad_outputs", "retain_graph", "create_graph", "only_inputs", "allow_unused",
        "is_grads_batched", "materialize_grads"]


def test_s134_names_elsewhere():
    for name in ("saved_tensors_hooks", "get_gradient_edge", "register_multi_grad_hook", "Node", "GradientEdge"):
        assert hasattr(ad.graph, name)
    for name in ("inference_mode", "set_detect_anomaly", "bernoulli", "normal", "categorical", "Variable"):
        assert hasattr(ad, name) and name in dir(ad)


def test_s134_multi_grad_hooks():
    x, w = leaf(1.0), leaf(2.0)
    a, b = x * w, x + w
    seen = []
    handle = ad.graph.register_multi_grad_hook(
        [a, b], lambda grads: seen.append([g if g is None else g.item() for g in grads]))
    (a * 3 + b).backward(retain_graph=True)
    assert seen == [[3.0, 1.0]]
    (a * 2).backward(retain_graph=True)
    assert seen[1:] == [[2.0, None]]
    handle.remove()
    a.backward()
    assert len(seen) == 2
    firsts = []
    c, d = leaf(1.0) * 1, leaf(1.0) * 1
    ad.graph.register_multi_grad_hook([c, d], lambda g: firsts.append(g.item()), mode="any")
    (c * 5 + d * 5).backward()
    assert firsts == [5.0]


def test_s135_weak_references_and_members():
    x = ad.tensor([3.0, 1.0])
    ref = weakref.ref(x)
    assert ref() is x
    assert x.max().item() == 3.0 and x.min().item() == 1.0 and x.astype(np.float32).dtype == np.float32
    x.sub_(1.0)
    x.fill_(7.0)
    x.copy_(ad.tensor([1.0, 2.0]))
    same(x, [1, 2])
    y = leaf(1.0, 2.0) * 1
    z = ad.tensor([0.0, 0.0])
    z.copy_(y)
    assert z.requires_grad


def test_graphs_are_freed_without_the_garbage_collector():
    gc.disable()
    try:
        x = leaf(np.ones(10))
        y = np.exp(x * 2)
        node = weakref.ref(y.grad_fn)
        z = (y * y).sum()
        z.backward()
        del y, z
        assert node() is None
    finally:
        gc.enable()


def test_draw_and_source():
    x = leaf(1.0, 2.0)
    y = (np.sin(x) * x).sum()
    text = ad.graph.draw(y)
    for part in ("digraph", "SumBackward0", "MulBackward0", "SinBackward0", "AccumulateGrad", "(2,)"):
        assert part in text
    assert "g * np.cos(x)" in y.grad_fn.next_functions[0][0].next_functions[0][0].source
    with silent():
        assert ad.differentiable(lambda t: t * t, mode="python")(x).grad_fn.source
