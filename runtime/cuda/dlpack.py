"""DLPack, by which libraries hand each other arrays on a device without a copy: read and written with `ctypes`.

Layout and rules: https://dmlc.github.io/dlpack/latest (version 0.8 of the structures, which all libraries understand). The
names "dltensor" and "used_dltensor" say whether a capsule still owns what it holds.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from .. import capsules

CUDA = 2                                # kDLCUDA
CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}
_LETTERS = {code: letter for letter, code in CODES.items()}


class _DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class _Managed(ctypes.Structure):
    pass


_DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = [("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", _DELETER)]


class Imported:
    """What a capsule held: an object with `__cuda_array_interface__` that keeps the memory alive, and gives it back."""

    def __init__(self, capsule):
        if not capsules.is_valid(capsule, b"dltensor"):
            raise ValueError("this DLPack capsule has been used, or is of a version that is not understood")
        self._managed = ctypes.cast(capsules.pointer(capsule, b"dltensor"), ctypes.POINTER(_Managed))
        tensor = self._managed.contents.tensor
        if tensor.code not in _LETTERS or tensor.lanes != 1:
            raise TypeError("an array of this dtype cannot be passed by DLPack")
        capsules.rename(capsule, b"used_dltensor")
        self.device = tensor.device_id
        dtype = np.dtype(f"{_LETTERS[tensor.code]}{tensor.bits // 8}")
        shape = tuple(tensor.shape[k] for k in range(tensor.ndim))
        strides = tuple(tensor.strides[k] * dtype.itemsize for k in range(tensor.ndim)) if tensor.strides else None
        self.__cuda_array_interface__ = {
            "shape": shape, "strides": strides, "typestr": dtype.str, "version": 3, "stream": None,
            "data": ((tensor.data or 0) + tensor.byte_offset, False)}

    def __del__(self):
        managed = getattr(self, "_managed", None)
        if managed and managed.contents.deleter:
            managed.contents.deleter(managed)


class Exported:
    """An array on a device as something that `from_dlpack` of other libraries takes.

    interface: its `__cuda_array_interface__`; `owner` keeps the memory. stream: Numba's stream that fills it.
    """

    def __init__(self, interface: dict, owner: Any, device: int, stream: Any = 0):
        self.interface, self.owner, self.device, self.stream = interface, owner, device, stream

    def __dlpack_device__(self) -> tuple[int, int]:
        return CUDA, self.device

    def __dlpack__(self, *, stream: Any = None, **_: Any):
        """A capsule. `stream`, the handle of a stream of the taker's (1: the default one; -1: none is needed), waits for
        what has been enqueued to fill the array."""
        theirs = _stream(stream or 1) if self.stream and stream != -1 else None
        if theirs is not None:
            _order(self.stream, theirs)
        interface = self.interface
        dtype = np.dtype(interface["typestr"])
        shape = interface["shape"]
        managed = _Managed()
        sizes = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        steps = None
        if interface.get("strides"):
            steps = (ctypes.c_int64 * len(shape))(*(s // dtype.itemsize for s in interface["strides"]))
        managed.tensor = _DLTensor(interface["data"][0], CUDA, self.device, len(shape), CODES[dtype.kind],
                                   8 * dtype.itemsize, 1, sizes, steps, 0)
        managed.deleter = _release
        address = ctypes.addressof(managed)
        _held[address] = managed, sizes, steps, self.owner, self.stream, theirs
        return capsules.new(address, b"dltensor", ctypes.cast(_unused, ctypes.c_void_p))


def _stream(handle: int) -> Any:
    from numba import cuda  # an optional package
    return cuda.external_stream(handle)


def handle_of(stream: Any) -> int:
    """The handle of one of Numba's streams; 0: the default one."""
    return int(stream.__int__())                # an enumeration for the default one, which `int(stream)` warns of


def _order(first: Any, then: Any) -> None:
    """Have a stream, one of Numba's, wait for what is enqueued on another one. The host does not wait."""
    from numba import cuda  # an optional package
    a, b = handle_of(first), handle_of(then)
    if a != b and {a, b} != {0, 1}:             # two names of the default stream
        event = cuda.event(timing=False)
        event.record(first)
        event.wait(then)


_held: dict[int, Any] = {}              # what has been handed out, until its deleter is called


@_DELETER
def _release(managed):
    """The taker has done with an array: what we enqueue on its memory next comes after what the taker has enqueued."""
    *_, ours, theirs = _held.pop(ctypes.addressof(managed.contents))
    if theirs is not None:
        _order(theirs, ours)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _unused(capsule):
    """The destructor of a capsule: nobody took what it holds."""
    name = _name(capsule)
    if name == b"dltensor":
        _held.pop(_raw_pointer(capsule, name), None)


_name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_GetName", capsules.API))
_raw_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", capsules.API))

__all__ = ["CUDA", "Exported", "Imported", "handle_of"]
