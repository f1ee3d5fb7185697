"""Device memory for callers whose arrays are Numba's own or JAX's: blocks that are used again.

`cudaMalloc` and `cudaFree` wait for the device; CuPy and torch keep freed blocks and hand them out again without waiting.
So does this. A block goes back when the last array on it is collected, to the free blocks of its stream: whoever gets it
next writes it in the order of that stream, after all that was enqueued before.
"""

from __future__ import annotations

import threading
from typing import Any

from numba import cuda

LARGEST = 1 << 33               # bytes of free blocks that are kept, in all
_free: dict[tuple, list] = {}
_kept = 0
_lock = threading.RLock()               # reentrant: collecting garbage inside may end other leases


def rounded(size: int) -> int:
    """The size of the block for so many bytes: a multiple of 512, and for many of an eighth of the power of two below."""
    step = max(512, 1 << max(size.bit_length() - 4, 0))
    return -(-max(size, 1) // step) * step


class Lease:
    """A block of memory while arrays lie on it; they hold it as their owner."""

    def __init__(self, size: int, device: int, stream: int):
        global _kept
        self.key = rounded(size), device, stream
        with _lock:
            blocks = _free.get(self.key)
            self.block: Any = blocks.pop() if blocks else None
            _kept -= self.key[0] if self.block is not None else 0
        if self.block is None:
            self.block = _allocate(self.key[0])

    @property
    def pointer(self) -> int:
        return self.block.__cuda_array_interface__["data"][0]

    def __del__(self):
        global _kept
        if getattr(self, "block", None) is None:
            return
        with _lock:
            if _kept + self.key[0] <= LARGEST:
                _kept += self.key[0]
                _free.setdefault(self.key, []).append(self.block)


def _allocate(size: int):
    try:
        return cuda.device_array(size, "uint8")
    except Exception:           # Numba's error for a full device is a general one; without free blocks it counts
        forget()
        return cuda.device_array(size, "uint8")


def forget() -> None:
    """Give the free blocks back to the device."""
    global _kept
    with _lock:
        _free.clear()
        _kept = 0


__all__ = ["Lease", "forget", "rounded"]
