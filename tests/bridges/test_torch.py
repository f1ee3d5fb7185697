"""`autodiff.torch.wrap`: against torch's own derivatives and differences."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from autodiff import torch as bridge  # noqa: E402
from autodiff.errors import TypeConflict  # noqa: E402


def filtered(x, w, p):
    y = np.zeros_like(x)
    s = 0.0
    for i in range(x.shape[0]):
        s = np.tanh(w[i] * s + x[i] * p["k"])
        y[i] = s
    return y, {"s": s * 2.0, "i": np.argmax(y)}


def test_derivatives_of_two_orders():
    wrapped = bridge.wrap(filtered)
    x, w, k = (torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in ([0.1, 0.4, 0.9], [0.5, 0.2, 0.3], 2.0))

    def floats(x, w, k):
        y, more = wrapped(x, w, {"k": k})
        assert not more["i"].requires_grad
        return y, more["s"]
    assert torch.autograd.gradcheck(floats, (x, w, k)) and torch.autograd.gradgradcheck(floats, (x, w, k))


@pytest.mark.parametrize("needs", [(True, False), (False, True)])
def test_some_of_the_arguments_need_gradients(needs):
    def weighted(found, w):
        return np.sum(found * w ** 2)
    x, w = (torch.tensor(v, dtype=torch.float64, requires_grad=r) for v, r in zip(([1.0, 2.0], 3.0), needs))
    bridge.wrap(weighted)(x, w).backward()
    assert [v.grad is not None for v in (x, w)] == list(needs)
    assert x.grad.tolist() == [9.0, 9.0] if needs[0] else w.grad.item() == 18.0


def careful(x):
    if x[0] < 0.0:
        raise ValueError(f"negative: {x[0]}")
    return x * 2.0


def test_what_goes_wrong():
    wrapped = bridge.wrap(careful)
    with pytest.raises(ValueError, match="negative: -1.0"):
        wrapped(-torch.ones(3, dtype=torch.float64))
    with pytest.raises(TypeConflict, match="`x` is a tensor of torch.bfloat16"):
        wrapped(torch.ones(3, dtype=torch.bfloat16))
    x = torch.ones(6, dtype=torch.float32, requires_grad=True)
    y = wrapped(x[::2])
    assert y.dtype is torch.float32
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 0.0] * 3


def test_what_is_outside_is_as_it_is_at_the_call():
    scale = [2.0]

    def scaled(x):
        return scale[0] * x
    wrapped, x = bridge.wrap(scaled), torch.ones(2, dtype=torch.float64, requires_grad=True)
    early = wrapped(x)
    scale[0] = 3.0
    assert wrapped(x).tolist() == [3.0, 3.0]
    early.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]                # compiled with the call
    later, = torch.autograd.grad(wrapped(x).sum(), x, create_graph=True)
    assert later.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("seed", range(4))
def test_random_arguments(seed):
    """Structures, dtypes and which of the tensors need gradients are drawn; torch's own gradients decide."""
    chosen, rng = np.random.default_rng(seed + 100), np.random.default_rng(seed)
    dtype = [torch.float64, torch.float32][chosen.integers(2)]

    def model(parts, power, flag):
        y = parts["x"] * parts["pair"][0] + parts["pair"][1]
        if flag:
            y = y ** power
        return {"y": y, "n": y.shape[0]}, np.sum(y * y)
    wrapped = bridge.wrap(model)
    leaves = [torch.tensor(rng.uniform(0.5, 1.5, 3), dtype=dtype, requires_grad=bool(chosen.integers(2))) for _ in range(3)]
    leaves[chosen.integers(3)].requires_grad_(True)
    parts, flag = {"x": leaves[0], "pair": (leaves[1], leaves[2])}, bool(chosen.integers(2))
    found, total = wrapped(parts, 3, flag)
    y = leaves[0] * leaves[1] + leaves[2]
    y = y ** 3 if flag else y
    assert found["y"].dtype is dtype is total.dtype and int(found["n"]) == 3 and torch.allclose(found["y"], y, rtol=1e-5)
    needed = [leaf for leaf in leaves if leaf.requires_grad]
    ours = torch.autograd.grad(total + found["y"].sum(), needed)
    theirs = torch.autograd.grad((y * y).sum() + y.sum(), needed)
    for a, b in zip(ours, theirs):
        assert a.dtype is dtype and torch.allclose(a, b, rtol=1e-4)


def test_torch_is_imported_only_when_it_is_asked_for():
    import subprocess
    import sys
    code = "import sys, autodiff; autodiff.entry; assert 'torch' not in sys.modules; autodiff.torch.wrap"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
