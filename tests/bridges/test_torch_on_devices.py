"""`autodiff.torch.wrap` of tensors on a GPU, by stand-ins: tensors on the host that say that they are on a device, under
Numba's simulator. What a GPU does is not tested here."""

import types

import pytest

torch = pytest.importorskip("torch")
from autodiff import torch as bridge  # noqa: E402
from autodiff.errors import TypeConflict  # noqa: E402
from autodiff.runtime.cuda import arrays, device  # noqa: E402

from ..cuda.foreign import host  # noqa: E402
from ..cuda.support import cuda  # noqa: E402, F401


class OnGpu(torch.Tensor):
    """A tensor on the host that claims to be on a device."""

    is_cpu, is_cuda = False, True
    device = torch.device("cuda", 0)

    def detach(self):
        return super().detach().as_subclass(OnGpu)

    @property
    def __cuda_array_interface__(self):
        with torch._C.DisableTorchFunctionSubclass():
            return torch.Tensor.detach(self).numpy().__array_interface__


OnGpu.__module__ = "torch"


def placed(values, requires_grad=False):
    made = torch.tensor(values, dtype=torch.float64).as_subclass(OnGpu)
    return made.requires_grad_(requires_grad)


@pytest.fixture(autouse=True)
def stand_ins(monkeypatch):
    """torch, as the runtime for devices sees it."""
    stub = types.SimpleNamespace(
        float64=torch.float64, float32=torch.float32, int64=torch.int64, bool=torch.bool,
        empty=lambda shape, dtype, device: torch.empty(shape, dtype=dtype).as_subclass(OnGpu),
        as_tensor=lambda x, device: torch.from_numpy(host(x)).as_subclass(OnGpu))
    for module in (arrays, device):
        monkeypatch.setattr(module, "sys", types.SimpleNamespace(modules={"torch": stub}))
    monkeypatch.setattr(torch, "as_tensor", lambda x, dtype, device: x.to(dtype))


def springs(x, k):
    e = 0.0
    for i in range(x.shape[0] - 1):
        e += 0.5 * k["k"] * (x[i + 1] - x[i]) ** 2
    return e, x * k["k"]


def test_values_and_two_orders_of_derivatives():
    wrapped = bridge.wrap(springs)

    def run(x, k):
        energy, scaled = wrapped(x, {"k": k})
        first, = torch.autograd.grad(energy + scaled.sum(), x, create_graph=True)
        second, = torch.autograd.grad(first.square().sum(), x)
        return energy, scaled, first, second
    x = [0.0, 1.0, 3.0, 4.5]
    on_device = run(placed(x, True), 2.0)
    assert all(isinstance(r, OnGpu) for r in on_device)
    for a, b in zip(on_device, run(torch.tensor(x, dtype=torch.float64, requires_grad=True), 2.0)):
        assert torch.allclose(a.detach().as_subclass(torch.Tensor), b)


def test_refusals():
    wrapped = bridge.wrap(lambda x, y: x * y)
    with pytest.raises(TypeConflict, match="in one call"):
        wrapped(placed([1.0]), torch.ones(1, dtype=torch.float64))
    with pytest.raises(TypeConflict, match="on meta"):
        wrapped(torch.ones(1, device="meta"), 2.0)
