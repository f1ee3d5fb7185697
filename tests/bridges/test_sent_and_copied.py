"""What bridges give is pickled and copied as functions are; what belongs to one process says so."""

import copy
import pickle

import numpy as np
import pytest

from autodiff import cfunc, entry


def squares(x):
    return np.sum(x * x)


class Scale:
    def __init__(self):
        self.k = 3.0

    def times(self, a):
        return a * self.k


@pytest.mark.parametrize("kind", ["value", "value_and_grad", "jvp"])
def test_entries(kind):
    made = entry(squares, np.ones(2), kind=kind)
    again = pickle.loads(pickle.dumps(made))
    x = [np.array([1.0, 2.0])] * len(made.arguments)
    for found, expected in zip(again(*x), made(*x), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert again.arguments == made.arguments and copy.deepcopy(made) is made and copy.copy(made) is made


def test_c_functions():
    made = cfunc(squares, np.ones(2))
    with pytest.raises(TypeError, match="of this process"):
        pickle.dumps(made)
    assert copy.deepcopy(made) is made


def bridge(name):
    pytest.importorskip(name)
    from importlib import import_module
    return import_module(f"autodiff.{name}").wrap


@pytest.mark.parametrize("tool", ["jax", "torch"])
def test_wrapped(tool):
    wrap = bridge(tool)
    made = wrap(squares)
    x = np.array([1.0, 2.0], np.float32)
    assert float(pickle.loads(pickle.dumps(made))(x)) == 5.0
    assert copy.deepcopy(made) is made and copy.copy(made) is made
    bound = Scale()
    bound.wrapped = wrap(bound.times)
    other = copy.deepcopy(bound)
    other.k = 5.0
    assert other.wrapped.function.__self__ is other
    np.testing.assert_array_equal([np.asarray(s.wrapped(x)) for s in (bound, other)], [3.0 * x, 5.0 * x])


def test_options_are_sent():
    wrap = bridge("jax")
    again = pickle.loads(pickle.dumps(wrap(squares, mode="forward", vmap_method="sequential", boundscheck=False)))
    assert (again.mode, again.method, again.options) == ("forward", "sequential", {"boundscheck": False})


def test_a_module_of_torch_is_copied():
    wrap = bridge("torch")
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.tensor([1.0, 2.0], dtype=torch.float64))
            self.f = wrap(squares)

        def forward(self):
            return self.f(self.w)

    net = Net()
    other = copy.deepcopy(net)
    other().backward()
    assert net.w.grad is None
    torch.testing.assert_close(other.w.grad, 2.0 * net.w.detach())
