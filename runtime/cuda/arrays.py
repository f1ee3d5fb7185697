"""Arrays on a device: those of Numba, CuPy, torch and JAX, taken and given back without a copy.

A device array is what has `__cuda_array_interface__`, or DLPack with a CUDA device. No library is imported here that the
caller has not imported. Kernels get Numba's arrays on the same memory (`wrapped`); results are made in the caller's type
(`back`).
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numba import cuda

from . import dlpack
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
    home = type(x).__module__.partition(".")[0]
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
    try:
        found = np.dtype(str(x.dtype).removeprefix("torch."))
    except TypeError:
        found = None
    if found is None or found.isbuiltin != 1:
        raise TypeError(f"device arrays of dtype {x.dtype} are not supported: use float64, float32, integers or booleans")
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
    """Numba's array on the memory of a device array, of any strides; `x` lives as long as it.

    stream: the handle of the stream that will read it, for libraries that keep their own streams (JAX): they see to it that
        what they have enqueued comes first.
    """
    if isinstance(x, DeviceStandIn):
        x = x.device_array
    given, library = x, library_of(x)
    if library == "numba" and hasattr(x, "__cuda_ndarray__"):
        return x
    if library == "torch":
        x = x.detach()                  # torch refuses the interface of what requires a gradient
        x = x.resolve_conj().resolve_neg() if hasattr(x, "resolve_conj") else x
    if library == "jax" or getattr(x, "__cuda_array_interface__", None) is None:
        source: Any = dlpack.Imported(x.__dlpack__(stream=stream or 1))         # 1: the default stream
    else:
        source = x
    found = on_memory(source.__cuda_array_interface__, source)
    found.owner = given
    return found


def on_memory(interface: dict, owner):
    """Numba's array on memory that `__cuda_array_interface__` describes, and `owner` keeps."""
    if SIMULATED:
        from numba.cuda.simulator.cudadrv.devicearray import FakeCUDAArray  # only the simulator has it
        described = {k: interface[k] for k in ("shape", "typestr", "data")}
        return FakeCUDAArray(np.asarray(_Described({**described, "strides": interface.get("strides"), "version": 3}, owner)))
    # Without its stream: we enqueue on the caller's current one, and for a stream that is named CuPy would wait.
    return cuda.from_cuda_array_interface({**interface, "stream": None}, owner=owner, sync=False)


class _Described:
    def __init__(self, interface, owner):
        self.__array_interface__, self.owner = interface, owner


def interface_of(x) -> dict:
    """The `__cuda_array_interface__` of one of Numba's arrays, which the simulator's have not."""
    return x._ary.__array_interface__ if SIMULATED else x.__cuda_array_interface__


def is_contiguous(x) -> bool:
    """Whether the elements of one of Numba's arrays lie in C order without gaps."""
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
    interface = {**x.__cuda_array_interface__, "shape": shape, "typestr": dtype.str, "strides": None}
    return cuda.from_cuda_array_interface(interface, owner=x, sync=False)


def part(x, index=(), transposed: bool = False):
    """The array at leading indices, and if `transposed` with its two axes exchanged: a view. x: one of Numba's arrays."""
    if SIMULATED:
        found = x._ary[tuple(index)] if index else x._ary
        return type(x)(found.T if transposed else found)
    found = x[tuple(index)] if index else x
    if transposed and found.ndim == 2:
        found = type(found)(found.shape[::-1], found.strides[::-1], found.dtype, found.stream, found.gpu_data)
    return found


# ---- out ---------------------------------------------------------------------------------------------------------

def back(x, library: str, device: int = 0, stream: Any = 0):
    """One of Numba's arrays in the type of a library, on the same memory.

    device: the number of the device it lies on. stream: Numba's stream that fills it; a library with streams of its own
        (JAX) has them wait for it.
    """
    owner: Any = getattr(x, "owner", None)
    if library_of(owner) == library and (tuple(owner.shape), dtype_of(owner)) == (tuple(x.shape), x.dtype):
        return owner
    if library == "numba":
        return x
    module: Any = sys.modules[library]
    if library == "cupy":
        return module.asarray(x)
    if library == "torch":
        return module.as_tensor(x, device=f"cuda:{device}")
    if not stream and not SIMULATED:
        stream = cuda.default_stream()          # where Numba enqueues if it is told nothing else
    return module.dlpack.from_dlpack(dlpack.Exported(interface_of(x), x, device, stream))


__all__ = ["DeviceStandIn", "as_complex", "back", "common_library", "device_of", "dtype_of", "in_pairs",
           "interface_of", "is_contiguous", "library_of", "on_memory", "part", "stand_in", "wrapped"]
