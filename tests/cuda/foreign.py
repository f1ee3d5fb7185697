"""Stand-ins for CuPy, torch and JAX: classes that carry the protocols of their device arrays, on the host's memory.

They say nothing of the real libraries but which attributes and calls are used of them.
"""

import types

import numpy as np

from autodiff.runtime.cuda import dlpack


class OnDevice:
    """What the three have in common."""

    def __init__(self, array, device=0):
        self.array, self.number = array, device
        self.shape, self.ndim = array.shape, array.ndim

    @property
    def dtype(self):
        return self.array.dtype

    @property
    def address(self):
        return self.array.ctypes.data


class CuPyArray(OnDevice):
    __module__ = "cupy"

    @property
    def device(self):
        return types.SimpleNamespace(id=self.number)

    @property
    def __cuda_array_interface__(self):
        return {**self.array.__array_interface__, "stream": 1}


class Tensor(OnDevice):
    __module__ = "torch"
    is_cuda, requires_grad = True, False

    @property
    def dtype(self):
        return f"torch.{self.array.dtype}"

    @property
    def device(self):
        return types.SimpleNamespace(index=self.number)

    def detach(self):
        return Tensor(self.array, self.number)

    @property
    def __cuda_array_interface__(self):
        if self.requires_grad:
            raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad")
        return self.array.__array_interface__


class JaxArray(OnDevice):
    __module__ = "jaxlib._jax"
    given_back = 0

    def __dlpack_device__(self):
        return dlpack.CUDA, self.number

    def __dlpack__(self, *, stream=None):
        assert stream == 1, "the default stream"
        return dlpack.Exported(self.array.__array_interface__, self, self.number).__dlpack__()


class HostTensor(OnDevice):
    """A tensor on the CPU."""
    __module__ = "torch"
    is_cuda = False


def host(x):
    """The host's array on the memory that one of Numba's simulated arrays, or an import by DLPack, lies on."""
    if isinstance(x, dlpack.Imported):
        return np.asarray(types.SimpleNamespace(__array_interface__={
            k: v for k, v in x.__cuda_array_interface__.items() if k != "stream"}, owner=x))
    return x._ary


MODULES = {
    "cupy": types.SimpleNamespace(empty=lambda shape, dtype: CuPyArray(np.empty(shape, dtype)),
                                  asarray=lambda x: CuPyArray(host(x))),
    "torch": types.SimpleNamespace(float64="float64", float32="float32", int64="int64", bool="bool",
                                   empty=lambda shape, dtype, device: Tensor(np.empty(shape, dtype), int(device[-1])),
                                   as_tensor=lambda x, device: Tensor(host(x), int(device[-1]))),
    "jax": types.SimpleNamespace(dlpack=types.SimpleNamespace(
        from_dlpack=lambda x: JaxArray(host(dlpack.Imported(x.__dlpack__(stream=1))), x.__dlpack_device__()[1]))),
}
ARRAYS = {"cupy": CuPyArray, "torch": Tensor, "jax": JaxArray}
