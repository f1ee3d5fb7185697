"""`autodiff.torch.wrap` where torch sees only the call: each function has graphs of its own, tangents are not dropped."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch.autograd import forward_ad  # noqa: E402

from autodiff.torch import wrap  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*lru_cache")
DOUBLE = torch.float64
X = torch.linspace(0.1, 1.0, 4, dtype=DOUBLE)


def sine(x):
    return np.sin(x)


def cosine(x):
    return np.cos(x)


def product(x, w):
    return np.tanh(w * x) * x


def reference(x, w):
    return torch.tanh(w * x) * x


PAIRS = [(wrap(sine), torch.sin), (wrap(cosine), torch.cos), (wrap(lambda x: x * 2.0), lambda x: x * 2.0)]


def test_each_function_has_a_graph_of_its_own():
    torch.compiler.reset()
    for ours, theirs in PAIRS:
        assert torch.allclose(torch.compile(ours, backend="eager")(X), theirs(X))


def test_functions_that_are_gone():
    torch.compiler.reset()
    for f, theirs in ((sine, torch.sin), (cosine, torch.cos), (sine, torch.sin)):
        assert torch.allclose(torch.compile(wrap(f), backend="eager")(X), theirs(X))


def test_functions_as_arguments_and_globals():
    torch.compiler.reset()

    @torch.compile(backend="eager", fullgraph=True)
    def given(f, x):
        return f(x) + 1.0

    @torch.compile(backend="eager", fullgraph=True)
    def read(x):
        return bound(x) + 1.0

    for ours, theirs in PAIRS:
        bound = ours
        assert torch.allclose(given(ours, X), theirs(X) + 1.0)
        assert torch.allclose(read(X), theirs(X) + 1.0)


w = torch.tensor(0.5, dtype=DOUBLE)
f = wrap(product)


@pytest.mark.parametrize("leaf", [X, torch.nn.Parameter(X.clone())])
def test_linearize(leaf):
    for made, expected in ((f, reference), (lambda x, w: f(x, 0.5).sum(), lambda x, w: reference(x, 0.5).sum())):
        ours, theirs = (torch.func.linearize(g, leaf, w)[1](X, w) for g in (made, expected))
        assert torch.allclose(ours, theirs) and theirs.abs().sum() > 0.5


def test_dual_numbers_in_graphs():
    torch.compiler.reset()

    def pushed(x, v):
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(f(forward_ad.make_dual(x, v), w) + x).tangent

    expected = torch.func.jvp(lambda x: reference(x, w), (X,), (X + 1.0,))[1]
    assert torch.allclose(pushed(X, X + 1.0), expected)
    assert torch.allclose(torch.compile(pushed, backend="aot_eager")(X, X + 1.0), expected)


@pytest.mark.parametrize("transform", [
    lambda g, x: torch.func.vmap(g, (0, None))(x, w),
    lambda g, x: torch.func.vmap(torch.func.grad(lambda x, w: g(x, w).sum(), (0, 1)), (0, None))(x, w),
    lambda g, x: torch.func.grad(lambda w: torch.func.vmap(g, (0, None))(x, w).sum())(w),
    lambda g, x: torch.func.vmap(torch.func.vmap(g, (0, None)), (0, None))(x.reshape(2, 0, 4), w)])
def test_batches_of_nothing(transform):
    empty = torch.zeros(0, 4, dtype=DOUBLE)
    found, expected = (torch.utils._pytree.tree_leaves(transform(g, empty)) for g in (f, reference))
    assert [(a.shape, a.dtype) for a in found] == [(b.shape, b.dtype) for b in expected]
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("array", [
    np.linspace(0.1, 1.0, 4)[::-1], np.linspace(0.1, 1.0, 4).astype(">f8"), np.broadcast_to(0.3, (2, 3)),
    np.frombuffer(np.arange(3.0).tobytes()), np.asfortranarray(np.ones((2, 3))), np.arange(6.0)[::2], np.float64(0.3)])
def test_arrays_of_any_memory(array):
    np.testing.assert_allclose(f(array, 0.5).numpy(), product(array, 0.5))
