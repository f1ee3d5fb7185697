"""Launches of kernels that Numba has compiled.

Numba's own launch takes 60 to 200 microseconds, most of them to find the types of its arguments. Here the first launch with
arguments of some types is Numba's, which compiles; the later ones hand the driver the words of the arguments.
"""

from __future__ import annotations

import ctypes
import struct
import threading

import numpy as np
from numba import cuda

from .device_array import DeviceArray
from .driver import bindings, checked

WORDS = 4096                    # of 8 bytes, that a launch can pass: more than the driver takes
_NUMBERS = {int: "q", np.int64: "q", bool: "?7x", np.bool_: "?7x", float: "d", np.float64: "d", np.float32: "f4x"}


class _Room(threading.local):
    """Where a thread puts the words of a launch, and the pointers to them that the driver reads; it copies both."""

    def __init__(self) -> None:
        self.words = ctypes.create_string_buffer(8 * WORDS)
        base = ctypes.addressof(self.words)
        self.pointers = (ctypes.c_void_p * WORDS)(*range(base, base + 8 * WORDS, 8))
        self.address = ctypes.addressof(self.pointers)


_room = _Room()


def launch(dispatcher, first, grid, block, stream: int, number: int, args) -> None:
    """Enqueue a kernel. dispatcher: one of Numba's. first: a function that launches it by Numba.

    stream: a handle. number: of the device, which is current. args: device arrays and numbers; what else a kernel of the
    user's may take is left to Numba.
    """
    kinds: list = [number]
    words: list = []
    for x in args:
        if type(x) is DeviceArray:
            kinds.append(x.kind)
            words += x.words
        elif type(x) in _NUMBERS:
            kinds.append(type(x))
            words.append(x)
        else:
            first(*map(numbas, args))
            return
    known = dispatcher.__dict__.setdefault("_autodiff_kernels", {})
    key = tuple(kinds)
    ready = known.get(key)
    if ready is None:
        given = [numbas(x) for x in args]
        first(*given)
        known[key] = _ready(dispatcher, given, kinds) or False
    elif ready is False:
        first(*map(numbas, args))
    else:
        function, packing = ready
        packing.pack_into(_room.words, 0, *words)
        checked(bindings().cuLaunchKernel(function, *grid, *block, 0, stream, _room.address, 0))


def numbas(x):
    """An argument as Numba takes it: its own array on the memory, and Python's numbers for NumPy's integers."""
    if type(x) is DeviceArray:
        return cuda.from_cuda_array_interface(x.__cuda_array_interface__, owner=x, sync=False)
    return x.item() if isinstance(x, (np.bool_, np.integer)) else x


def _ready(dispatcher, args, kinds):
    """The driver's function that Numba has compiled for arguments of these types, and how words are packed for it. None
    where a launch is more than that, or Numba is of a version that keeps it elsewhere."""
    try:
        types = tuple(dispatcher.typeof_pyval(x) for x in args)
        kernel = dispatcher.overloads[types]
        if kernel.cooperative or kernel.debug or getattr(kernel, "launch_config_sensitive", False):
            return None
        function = bindings().CUfunction(int(kernel._codelibrary.get_cufunc().handle))
    except (AttributeError, KeyError, TypeError):
        return None
    formats = [_NUMBERS[k] if k in _NUMBERS else f"{5 + 2 * k[1]}q" for k in kinds[1:]]
    packing = struct.Struct("<" + "".join(formats))
    return (function, packing) if packing.size <= 8 * WORDS else None


__all__ = ["launch", "numbas"]
