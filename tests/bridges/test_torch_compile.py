"""`autodiff.torch.wrap` under `torch.compile`, `torch.func`, `torch.export`: against the same call in eager mode."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch.autograd import forward_ad  # noqa: E402

from autodiff import torch as bridge  # noqa: E402
from autodiff.bridges.torch_graph import CALL  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*lru_cache")
DOUBLE = torch.float64


def filtered(x, w, p, n=1):
    y = np.zeros_like(x)
    s = 0.0
    for i in range(x.shape[0]):
        s = np.tanh(w[i] * s + x[i] * p["k"]) * n
        y[i] = s
    return y, {"s": s * 2.0, "i": np.argmax(y), "both": np.concatenate((x, w))}


wrapped = bridge.wrap(filtered)


def used(x, w, k, n):
    """The call in the middle of what torch differentiates."""
    y, more = wrapped(x.sin(), w, {"k": k}, n)
    return (y * y).sum() * more["s"] + more["both"].sum() + more["i"].to(DOUBLE)


def drawn(size, seed=0):
    rng = np.random.default_rng(seed)
    return [torch.tensor(v, dtype=DOUBLE, requires_grad=True) for v in (rng.normal(size=size), rng.normal(size=size), 0.7)]


def backends():
    from shutil import which
    return ["eager", "aot_eager"] + (["inductor"] if which("gcc") or which("cc") else [])


@pytest.mark.parametrize("backend", backends())
def test_one_graph_for_all_sizes(backend):
    torch.compiler.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(used, fullgraph=True, backend=backend)
    for size, n in ((4, 1), (5, 2), (7, 3)):
        x, w, k = drawn(size)
        value, again = compiled(x, w, k, n), used(x, w, k, n)
        assert torch.allclose(value, again, rtol=1e-12)
        for ours, theirs in zip(torch.autograd.grad(value, [x, w, k]), torch.autograd.grad(again, [x, w, k])):
            assert torch.allclose(ours, theirs, rtol=1e-12)
    assert not torch._dynamo.utils.counters["graph_break"]
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] <= 2        # the second is for sizes in general


@pytest.mark.parametrize("needs", [(), (0, 1, 2), (1,)])
def test_opcheck(needs):
    x, w, k = (v.detach().requires_grad_(i in needs) for i, v in enumerate(drawn(4)))
    wrapped(x, w, {"k": k}, 2)
    operation = next(iter(wrapped._latest.values()))
    given = [v for v, is_int in zip((x, w, k, 2), operation.integers, strict=True) if not is_int]
    torch.library.opcheck(CALL, (operation.name, given, [2]))
    pullback, _ = operation.pullback((True, False, True, False))
    torch.library.opcheck(CALL, (pullback.name, [*given, torch.ones(4, dtype=DOUBLE), k, torch.ones(8, dtype=DOUBLE)], [2]))


def test_gradcheck_of_all_orders_and_modes():
    def floats(x, w, k):
        y, more = wrapped(x, w, {"k": k}, 2)
        return y, more["s"], more["both"]
    assert torch.autograd.gradcheck(floats, drawn(3), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(floats, drawn(3), check_fwd_over_rev=True)


def repeated(x, n):
    y = np.zeros((n, x.shape[0]))
    for i in range(n):
        y[i] = x * i
    return y


def positive(x):
    return x[x > 0.0] ** 2


def test_sizes_that_integers_and_data_decide():
    x = torch.linspace(-1.0, 1.0, 5, dtype=DOUBLE, requires_grad=True)
    several, some = bridge.wrap(repeated), bridge.wrap(positive)
    torch.compiler.reset()
    compiled = torch.compile(lambda x, n: several(x, n).sum(0) * 2.0, fullgraph=True, backend="aot_eager")
    for n in (2, 3, 5):
        assert torch.equal(compiled(x, n), several(x, n).sum(0) * 2.0)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        total = torch.compile(lambda x: some(x).sum(), fullgraph=True, backend="aot_eager")(x)
    gradient, = torch.autograd.grad(total, x)
    assert total.item() == 1.25 and gradient.tolist() == [0.0, 0.0, 0.0, 1.0, 2.0]


def test_fakes_run_nothing():
    from torch._subclasses import FakeTensorMode

    def never(x, n):
        if n < 100:
            raise ValueError("it ran")
        return np.zeros((n, x.shape[0] + 1)), np.max(x)
    with FakeTensorMode() as mode:
        found = bridge.wrap(never)(mode.from_tensor(torch.ones(4, dtype=torch.float32)), 3)
    assert [tuple(f.shape) for f in found] == [(3, 5), ()] and [f.dtype for f in found] == [DOUBLE, torch.float32]


SCALE = [2.0]


def scaled(x):
    if x[0] < 0.0:
        raise ValueError(f"negative: {x[0]}")
    return x * SCALE[0]


def test_what_goes_wrong_in_a_graph():
    torch.compiler.reset()
    call = bridge.wrap(scaled)
    compiled = torch.compile(lambda x: call(x).sum(), fullgraph=True, backend="aot_eager")
    assert compiled(torch.ones(3, dtype=DOUBLE)) == 6.0
    with pytest.raises(ValueError, match=r"negative: -1\.0"):
        compiled(-torch.ones(3, dtype=DOUBLE))
    SCALE[0] = 3.0
    try:
        with pytest.raises(TypeError, match="what `scaled` reads outside of its arguments changed"):
            compiled(torch.ones(3, dtype=DOUBLE))
    finally:
        SCALE[0] = 2.0
    refused = pytest.raises(torch._dynamo.exc.Unsupported)
    with pytest.warns(UserWarning, match="TypeConflict: `x` is a tensor of torch.bfloat16"), refused:
        torch.compile(lambda x: call(x.bfloat16()), fullgraph=True, backend="aot_eager")(torch.ones(3))


def test_transforms_of_functions():
    x, w, k = (v.detach() for v in drawn(4))
    xs = torch.stack([x, 2.0 * x, -x])
    func, each = torch.func, (0, None, None, None)

    def of(x, w, k):
        return wrapped(x, w, {"k": k}, 2)[0]

    def loss(x, w, k):
        return (of(x, w, k) ** 2).sum()

    def by_autograd(f, *args):
        args = [a.clone().requires_grad_() for a in args]
        return torch.autograd.grad(f(*args), args)
    gradient = func.grad(loss, argnums=(0, 1, 2))
    same(gradient(x, w, k), by_autograd(loss, x, w, k))
    same(func.vmap(of, in_dims=each[:3])(xs, w, k), torch.stack([of(v, w, k) for v in xs]))
    same(func.vmap(of, in_dims=(1, None, None), out_dims=1)(xs.T, w, k), torch.stack([of(v, w, k) for v in xs], 1))
    same(func.vmap(gradient, in_dims=each[:3])(xs, w, k)[1], torch.stack([by_autograd(loss, v, w, k)[1] for v in xs]))

    def total(w):                                       # what is shared by the batch gets the sum of its gradients
        return func.vmap(loss, in_dims=each[:3])(xs, w, k).sum()
    same(func.grad(total)(w), sum(by_autograd(loss, v, w, k)[1] for v in xs))
    same(func.vmap(func.vmap(of, in_dims=each[:3]), in_dims=(None, 0, None))(xs, xs, k),
         torch.stack([torch.stack([of(v, u, k) for v in xs]) for u in xs]))
    hessian = torch.autograd.functional.hessian(lambda x: loss(x, w, k), x)
    same(func.hessian(loss)(x, w, k), hessian)
    same(func.jacrev(func.jacrev(loss))(x, w, k), hessian)
    same(func.jvp(lambda x: of(x, w, k), (x,), (w,))[1], func.jacfwd(of)(x, w, k) @ w)


def same(a, b):
    for one, other in zip(*((v,) if isinstance(v, torch.Tensor) else v for v in (a, b)), strict=True):
        assert one.shape == other.shape and torch.allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("transformed", [
    lambda x: torch.func.grad(lambda x: (doubled(x.abs()) ** 2).sum())(x),
    lambda x: torch.func.vmap(torch.func.grad(lambda x: (doubled(x.abs()) ** 2).sum()))(x),
    lambda x: torch.func.jvp(lambda x: doubled(x.abs()), (x,), (x,))[1]])
def test_transforms_in_a_graph(transformed):
    torch.compiler.reset()
    x = torch.linspace(-1.0, 1.0, 6, dtype=DOUBLE).reshape(3, 2)
    same(torch.compile(transformed, fullgraph=True, backend="aot_eager")(x), transformed(x))


@bridge.wrap
def doubled(x):
    return x * 2.0


def test_exported_graphs_have_one_call():
    class Model(torch.nn.Module):
        def forward(self, x):
            return doubled(x.abs())
    x = torch.linspace(-1.0, 1.0, 5, dtype=DOUBLE)
    program = torch.export.export(Model(), (x,))
    assert program.graph_module.code.count("autodiff.call") == 1
    assert torch.equal(program.module()(x), doubled(x.abs()))


def test_dual_tensors():
    with forward_ad.dual_level():
        made = doubled(forward_ad.make_dual(torch.ones(3), torch.arange(3.0)))
        assert forward_ad.unpack_dual(made).tangent.tolist() == [0.0, 2.0, 4.0]


ELSEWHERE = """
import sys, warnings
warnings.simplefilter("ignore")
import torch
from autodiff import torch as bridge
from tests.bridges import torch_shifted as programs
for shift in map(float, sys.argv[1:]):
    torch.compiler.reset()
    programs.SHIFT = shift
    call = bridge.wrap(programs.shifted)
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    y = torch.compile(lambda x: call(x).sum(), fullgraph=True)(x)
    y.backward()
    print(y.item(), x.grad.tolist())
"""


@pytest.mark.skipif("inductor" not in backends(), reason="needs a C compiler")
def test_graphs_on_disk_call_the_right_function(tmp_path):
    """torch keeps compiled graphs on disk: another process must not get the function of this one, nor miss a derivative."""
    import os
    environment = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    found = [subprocess.run([sys.executable, "-c", ELSEWHERE, *shifts], env=environment, capture_output=True, text=True)
             for shifts in (["1.0"], ["1.0", "2.0"])]
    one, two = "12.0 [4.0, 4.0, 4.0]\n", "27.0 [6.0, 6.0, 6.0]\n"
    assert [f.stdout for f in found] == [one, one + two], found[-1].stderr[-500:]


@pytest.mark.parametrize("seed", range(2))
def test_random_calls_in_graphs(seed):
    """Structures, dtypes, integers and which tensors need gradients are drawn; eager mode decides."""
    rng = np.random.default_rng(seed)
    torch.compiler.reset()
    dtype = [DOUBLE, torch.float32, torch.complex128][rng.integers(3)]

    def model(parts, n, pair):
        y = parts["x"] * pair[0] + pair[1] ** n
        return {"y": y, "n": y.shape[0]}, np.sum(np.abs(y) ** 2)
    call = bridge.wrap(model)
    leaves = [torch.tensor(rng.uniform(0.5, 1.5, 3), dtype=dtype, requires_grad=bool(rng.integers(2))) for _ in range(3)]
    leaves[rng.integers(3)].requires_grad_(True)
    n = int(rng.integers(1, 4))

    def run(a, b, c, n):
        found, total = call({"x": a * 2.0}, n, (b, c))
        return total + (found["y"].abs() ** 2).sum() * found["n"]
    needed = [leaf for leaf in leaves if leaf.requires_grad]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")                 # torch has no fused code for complex numbers, and says so
        value = torch.compile(run, fullgraph=True, backend="aot_eager")(*leaves, n)
    again = run(*leaves, n)
    same(value, again)
    same(torch.autograd.grad(value, needed), torch.autograd.grad(again, needed))
