"""Arrays on a device: those of Numba, CuPy, torch and JAX, taken and given back without a copy.

A device array is what has `__cuda_array_interface__`, or DLPack with a CUDA device. No library is imported here that the
caller has not imported. Kernels get a `DeviceArray` on the same memory (`wrapped`), under the simulator one of its arrays;
results are made in the caller's type (`back`).
"""

from __future__ import annotations

import functools
import math
import sys
from typing import Any

import numpy as np
from numba import cuda

from . import dlpack
from .device_array import DeviceArray
from .simulation import SIMULATED


class DeviceStandIn(np.ndarray):
    """An array of the shape and dtype of a device array, without memory of its own: what autodiff's handling of arguments
    sees. `device_array` is the caller's object."""

    device_array: Any = None


def library_of(x) -> str | None:
    """Whose array on a device `x` is: "cupy", "torch", "jax" or "numba" (any other with the protocols, too); else None."""
    if isinstance(x, DeviceStandIn):
        return library_of(x.device_array)
    if x is None or isinstance(x, (np.ndarray, np.generic, int, float, complex)):
        return None
    if type(x) is DeviceArray:
        return "numba"
    home = type(x).__module__.partition(".")[0]
    if home == "cupy" and type(x).__name__ == "ndarray":        # its interface takes a microsecond to ask for
        return "cupy"
    if home == "torch":
        return "torch" if getattr(x, "is_cuda", False) else None
    if home in ("jax", "jaxlib"):
        return "jax" if _on_device(x) else None
    if SIMULATED and hasattr(x, "__cuda_ndarray__"):
        return "numba"
    if getattr(x, "__cuda_array_interface__", None) is not None:
        return "cupy" if home == "cupy" else "numba"
    return "numba" if _on_device(x) else None


def _on_device(x) -> bool:
    where = getattr(x, "__dlpack_device__", None)
    return where is not None and not isinstance(x, type) and where()[0] == dlpack.CUDA


def common_library(arrays) -> str | None:
    """The library of the device arrays among these; None if there is none. TypeError for arrays of two libraries."""
    found = dict.fromkeys(filter(None, map(library_of, arrays)))
    if len(found) > 1:
        raise TypeError(f"arrays of {' and '.join(found)} in one call: convert them to one library")
    return next(iter(found), None)


def device_of(x) -> int:
    """The number of the device that an array lies on."""
    if isinstance(x, DeviceStandIn):
        x = x.device_array
    if type(x) is DeviceArray:
        return x.number
    library = library_of(x)
    if library == "torch":
        return x.device.index or 0
    if library == "cupy":
        return x.device.id
    if hasattr(x, "gpu_data"):
        return x.gpu_data.context.device.id
    return x.__dlpack_device__()[1] if hasattr(x, "__dlpack_device__") else cuda.get_current_device().id


def dtype_of(x) -> np.dtype:
    """The dtype as NumPy's. TypeError for one that NumPy does not have, such as bfloat16 (which other libraries may add)."""
    return _numpys(x.dtype)


@functools.lru_cache(64)
def _numpys(dtype) -> np.dtype:
    try:
        found = np.dtype(str(dtype).removeprefix("torch."))
    except TypeError:
        found = None
    if found is None or found.isbuiltin != 1:
        raise TypeError(f"device arrays of dtype {dtype} are not supported: use float64, float32, integers or booleans")
    return found


def stand_in(x) -> DeviceStandIn:
    """A `DeviceStandIn` for a device array."""
    found = np.ndarray.__new__(DeviceStandIn, tuple(x.shape), dtype_of(x), _NOTHING, 0, (0,) * len(x.shape))
    found.flags.writeable = False
    found.device_array = x
    return found


_NOTHING = np.zeros(16, np.uint8)       # the widest element, complex128


# ---- in ----------------------------------------------------------------------------------------------------------

def wrapped(x, stream: int = 0):
    """The memory of a device array, of any strides, as kernels take it; `x` lives as long as it.

    stream: the handle of the stream that will read it, for libraries that keep their own streams (JAX): they see to it that
        what they have enqueued comes first.
    """
    if isinstance(x, DeviceStandIn):
        x = x.device_array
    if type(x) is DeviceArray or SIMULATED and hasattr(x, "__cuda_ndarray__"):
        return x
    given, library = x, library_of(x)
    if library == "torch":
        x = x.detach()                  # torch refuses the interface of what requires a gradient
        x = x.resolve_conj().resolve_neg() if hasattr(x, "resolve_conj") else x
    if library == "jax" or getattr(x, "__cuda_array_interface__", None) is None:
        source: Any = dlpack.Imported(x.__dlpack__(stream=stream or 1))         # 1: the default stream
    else:
        source = x
    found = on_memory(source.__cuda_array_interface__, source, device_of(given))
    found.owner = given
    if not SIMULATED:
        found.kept = source
    return found


def on_memory(interface: dict, owner, number: int = 0):
    """An array on memory that `__cuda_array_interface__` describes, and `owner` keeps. number: of the device.

    Its stream is left out: we enqueue on the caller's current one, and for a stream that is named CuPy would wait.
    """
    if SIMULATED:
        from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray  # only the simulator has it
        described = {k: interface[k] for k in ("shape", "typestr", "data")}
        return FakeCUDAArray(np.asarray(_Described({**described, "strides": interface.get("strides"), "version": 3}, owner)))
    return DeviceArray(interface["data"][0] or 0, tuple(interface["shape"]), np.dtype(interface["typestr"]), owner, number,
                       interface.get("strides"))


def made(library: str, shape, dtype: np.dtype, number: int):
    """An array on memory of CuPy's or torch's, with whatever was in it."""
    module: Any = sys.modules[library]
    if library == "cupy":
        owner = module.empty(shape, dtype)
    else:
        owner = module.empty(shape, dtype=getattr(module, dtype.name), device=f"cuda:{number}")
    if SIMULATED:
        found = on_memory(owner.__cuda_array_interface__, owner)
        found.owner = owner
        return found
    return DeviceArray(owner.data.ptr if library == "cupy" else owner.data_ptr(), shape, dtype, owner, number)


class _Described:
    def __init__(self, interface, owner):
        self.__array_interface__, self.owner = interface, owner


def interface_of(x) -> dict:
    """The `__cuda_array_interface__` of an array, which the simulator's have not."""
    return x._ary.__array_interface__ if SIMULATED else x.__cuda_array_interface__


def is_array(x) -> bool:
    """Whether an operand of a host function's is an array on the device, not a number."""
    return type(x) is DeviceArray or hasattr(x, "__cuda_ndarray__")


def is_contiguous(x) -> bool:
    """Whether the elements of an array lie in C order without gaps."""
    return x.size == 0 or x.is_c_contiguous()


def in_pairs(x):
    """A contiguous complex array as the real array of its parts, on the same memory, with a last axis of length 2."""
    return _reinterpreted(x, (*x.shape, 2), np.dtype(f"f{x.dtype.itemsize // 2}"))


def as_complex(x):
    """A contiguous array of pairs as the complex array on its memory."""
    return _reinterpreted(x, tuple(x.shape[:-1]), np.dtype(f"c{x.dtype.itemsize * 2}"))


def _reinterpreted(x, shape, dtype):
    if SIMULATED:
        return type(x)(x._ary.view(dtype).reshape(shape))
    return x.viewed(shape, dtype)


def part(x, index=(), transposed: bool = False):
    """The array at leading indices, and if `transposed` with its two axes exchanged: a view."""
    if SIMULATED:
        found = x._ary[tuple(index)] if index else x._ary
        return type(x)(found.T if transposed else found)
    found = x[tuple(index)] if index else x
    return found.transposed() if transposed and found.ndim == 2 else found


# ---- out ---------------------------------------------------------------------------------------------------------

def back(x, library: str, device: int = 0, stream: Any = 0):
    """An array in the type of a library, on the same memory.

    device: the number of the device it lies on. stream: Numba's stream that fills it; a library with streams of its own
        (JAX) has them wait for it.
    """
    owner: Any = getattr(x, "owner", None)
    while type(owner) is DeviceArray and x.strides is owner.strides is None and owner.size == x.size:
        owner = owner.owner                     # `x` is all of it in another shape
    if library_of(owner) == library and type(owner) is not DeviceArray and dtype_of(owner) == x.dtype:
        if tuple(owner.shape) == tuple(x.shape):
            return owner
        if library in ("cupy", "torch") and not SIMULATED and x.strides is None and math.prod(owner.shape) == x.size:
            return owner.reshape(x.shape)
    if library == "numba":
        return x if SIMULATED else cuda.from_cuda_array_interface(x.__cuda_array_interface__, owner=x, sync=False)
    module: Any = sys.modules[library]
    if library == "cupy":
        return module.asarray(x)
    if library == "torch":
        return module.as_tensor(x, device=f"cuda:{device}")
    if not stream and not SIMULATED:
        stream = cuda.default_stream()          # where Numba enqueues if it is told nothing else
    return module.dlpack.from_dlpack(dlpack.Exported(interface_of(x), x, device, stream))


__all__ = ["DeviceStandIn", "as_complex", "back", "common_library", "device_of", "dtype_of", "in_pairs",
           "interface_of", "is_array", "is_contiguous", "library_of", "on_memory", "part", "stand_in", "wrapped"]
