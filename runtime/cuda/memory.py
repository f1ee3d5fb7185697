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
_blocks: dict[int, Any] = {}    # by their addresses, all that there are: Numba frees what nobody holds
_free: dict[tuple, list[int]] = {}
_kept = 0
_lock = threading.RLock()               # reentrant: collecting garbage inside may end other leases


def rounded(size: int) -> int:
    """The size of the block for so many bytes: a multiple of 512, and for many of an eighth of the power of two below."""
    step = max(512, 1 << max(size.bit_length() - 4, 0))
    return -(-max(size, 1) // step) * step


class Lease:
    """A block of memory while arrays lie on it; they hold it as their owner.

    It holds the block's address, not the block: in a cycle that is collected, such as a traceback with its frames, the
    collector ends everything that only the cycle holds, and Numba would free a block that goes back to the free ones.
    """

    def __init__(self, size: int, device: int, stream: int):
        global _kept
        self.key = rounded(size), device, stream
        with _lock:
            blocks = _free.get(self.key)
            self.pointer = blocks.pop() if blocks else 0
            _kept -= self.key[0] if self.pointer else 0
        if not self.pointer:
            self.pointer = _allocate(self.key[0])

    def __del__(self):
        global _kept
        if not getattr(self, "pointer", 0):
            return
        with _lock:
            if _kept + self.key[0] <= LARGEST:
                _kept += self.key[0]
                _free.setdefault(self.key, []).append(self.pointer)
            else:
                del _blocks[self.pointer]


def _allocate(size: int) -> int:
    try:
        block = cuda.device_array(size, "uint8")
    except Exception:           # Numba's error for a full device is a general one; without free blocks it counts
        forget()
        block = cuda.device_array(size, "uint8")
    pointer = int(block.__cuda_array_interface__["data"][0])
    _blocks[pointer] = block
    return pointer


def forget() -> None:
    """Give the free blocks back to the device."""
    global _kept
    with _lock:
        for pointers in _free.values():
            for pointer in pointers:
                del _blocks[pointer]
        _free.clear()
        _kept = 0


__all__ = ["Lease", "forget", "rounded"]
