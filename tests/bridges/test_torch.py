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


def test_no_silent_forward_mode():
    with torch.autograd.forward_ad.dual_level(), pytest.raises(TypeConflict, match="no forward mode"):
        bridge.wrap(careful)(torch.autograd.forward_ad.make_dual(torch.ones(3), torch.ones(3)))
