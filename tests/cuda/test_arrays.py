"""Arrays of other libraries, by stand-ins that carry their protocols on the host's memory, under the simulator."""

import ctypes
import gc
import sys
import types

import numpy as np
import pytest

import autodiff
from autodiff.runtime.cuda import arrays, availability, dlpack
from autodiff.runtime.cuda.device import Device

from .foreign import ARRAYS, MODULES, CuPyArray, HostTensor, JaxArray, Tensor
from .support import cuda  # isort: split


@pytest.fixture
def modules(monkeypatch):
    for name, module in MODULES.items():
        monkeypatch.setitem(sys.modules, name, module)


def double(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * x.dtype.type(2)


@pytest.mark.parametrize("library", ARRAYS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_in_and_out_without_a_copy(library, dtype, modules):
    given = ARRAYS[library](np.arange(5, dtype=dtype), 1)
    device = Device.of([3.0, given, None])
    assert (device.library, device.number) == (library, 1)
    taken = device.for_kernels(given)
    assert taken._ary.ctypes.data == given.address and taken.dtype == dtype
    out = device.empty((5,), dtype)
    device.launch(double, (5,), taken, out)
    result = device.back(out)
    assert type(result) is ARRAYS[library] and np.array_equal(result.array, 2 * np.arange(5))
    assert result.address == out._ary.ctypes.data and result.number in (0, 1)
    again = device.back(taken)
    assert again is given                                           # what the caller gave is what the caller gets


@pytest.mark.parametrize("library", ARRAYS)
def test_other_strides_are_copied(library, modules):
    x = np.arange(24.0).reshape(4, 6)
    for view in (x.T, x[::2, ::-1], x[1:3, 2:5], x[:0]):
        given = ARRAYS[library](view)
        taken = Device.of([given]).for_kernels(given)
        assert np.array_equal(taken.copy_to_host(), view) and taken.is_c_contiguous()
    assert np.array_equal(x, np.arange(24.0).reshape(4, 6))


def test_whose_an_array_is(modules):
    numbas = cuda.to_device(np.ones(3))
    found = [arrays.library_of(x) for x in (numbas, CuPyArray(np.ones(3)), Tensor(np.ones(3)), JaxArray(np.ones(3)))]
    assert found == ["numba", "cupy", "torch", "jax"]
    class Other:
        __cuda_array_interface__ = np.ones(3).__array_interface__
    assert arrays.library_of(Other()) == "numba"
    for x in (np.ones(3), 2.0, None, "text", [1.0], HostTensor(np.ones(3)), np.float32(1)):
        assert arrays.library_of(x) is None
    with pytest.raises(TypeError, match="arrays of cupy and torch in one call"):
        Device.of([CuPyArray(np.ones(3)), Tensor(np.ones(3))])
    with pytest.raises(TypeError, match=r"devices \[0, 1\] in one call"):
        Device.of([Tensor(np.ones(3), 0), Tensor(np.ones(3), 1)])
    assert Device.of([np.ones(3)]).library == "numba"


def test_stand_ins():
    for given in (cuda.to_device(np.ones((3, 0, 2), np.float32)), Tensor(np.ones((2, 3), np.float32)),
                  CuPyArray(np.ones((10 ** 3, 4), np.float32))):
        x = arrays.stand_in(given)
        assert isinstance(x, np.ndarray) and x.shape == tuple(given.shape) and x.dtype == np.float32
        assert x.device_array is given and not x.flags.writeable and not any(x.strides)
        assert arrays.library_of(x) == arrays.library_of(given)
    taken = Device().for_kernels(arrays.stand_in(cuda.to_device(np.arange(3.0))))
    assert list(taken.copy_to_host()) == [0.0, 1.0, 2.0]
    assert np.ones(3)[1:].view(arrays.DeviceStandIn).device_array is None
    with pytest.raises(TypeError, match="bfloat16"):
        arrays.stand_in(types.SimpleNamespace(shape=(3,), dtype="torch.bfloat16"))


def test_a_tensor_that_requires_a_gradient(modules):
    given = Tensor(np.arange(3.0))
    given.requires_grad = True
    assert list(Device.of([given]).for_kernels(given).copy_to_host()) == [0.0, 1.0, 2.0]


def loss(x, w, k):
    return np.sum(np.exp(-k * x * x) * w)


@pytest.mark.parametrize("library", ARRAYS)
def test_gradients_come_back_in_the_callers_type(library, modules):
    x, w = np.linspace(-1.0, 1.0, 7), np.linspace(1.0, 2.0, 7)
    value, expected = autodiff.value_and_grad(loss, wrt=(0, 1), mode="python")(x, w, 1.5)
    for target in ("cuda", "auto"):
        given = [ARRAYS[library](x.copy(), 1), ARRAYS[library](w.copy(), 1)]
        if library == "torch":
            given[0].requires_grad = True
        found, gradients = autodiff.value_and_grad(loss, wrt=(0, 1), target=target)(*given, 1.5)
        assert all(type(g) is ARRAYS[library] for g in (found, *gradients))
        assert found.shape == () and np.isclose(found.array, value)
        for g, e in zip(gradients, expected):
            np.testing.assert_allclose(g.array, e, rtol=1e-12)
        assert np.array_equal(given[0].array, x)


def test_complex_arrays_are_pairs():
    z = cuda.to_device(np.array([[1 + 2j, 3 - 1j]]))
    parts = arrays.in_pairs(z)
    assert parts.shape == (1, 2, 2) and np.array_equal(parts.copy_to_host(), [[[1, 2], [3, -1]]])
    assert np.array_equal(arrays.as_complex(parts).copy_to_host(), z.copy_to_host())


def test_other_types_of_the_interpreters_functions(monkeypatch):
    """Those of `ctypes.pythonapi` are the whole process': another library may give them others."""
    for function in (ctypes.pythonapi.PyCapsule_New, ctypes.pythonapi.PyCapsule_GetPointer):
        monkeypatch.setattr(function, "argtypes", [ctypes.CFUNCTYPE(None)])
    test_dlpack_gives_memory_back()


def test_dlpack_gives_memory_back():
    array = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    exported = dlpack.Exported(array.__array_interface__, array, 3)
    held = len(dlpack._held)
    capsule = exported.__dlpack__(stream=-1)
    assert len(dlpack._held) == held + 1
    taken = dlpack.Imported(capsule)
    assert taken.device == 3 and taken.__cuda_array_interface__["shape"] == (2, 3)
    assert taken.__cuda_array_interface__["data"][0] == array.ctypes.data
    with pytest.raises(ValueError, match="has been used"):
        dlpack.Imported(capsule)
    del taken
    gc.collect()
    assert len(dlpack._held) == held
    exported.__dlpack__()                                           # nobody takes this one
    gc.collect()
    assert len(dlpack._held) == held
    flipped = array[:, ::-1]
    strides = dlpack.Imported(dlpack.Exported(flipped.__array_interface__, flipped, 0).__dlpack__())
    assert strides.__cuda_array_interface__["strides"] == (12, -4)


def test_dlpack_is_what_others_mean_by_it():
    x = np.arange(6.0).reshape(2, 3)[:, 1:]
    taken = dlpack.Imported(x.__dlpack__())
    interface = taken.__cuda_array_interface__
    assert interface["data"][0] == x.ctypes.data and interface["strides"] == x.strides and interface["typestr"] == "<f8"


def test_without_numba_cuda_or_a_gpu_there_is_one_clear_error(monkeypatch):
    availability.require()                                          # the simulator is enough
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(availability.CudaUnavailable, match=r"numba-cuda.*\nTry: pip install 'numba-autodiff\[cuda\]'"):
        availability.require.__wrapped__()
