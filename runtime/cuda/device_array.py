"""An array on a device as generated host functions handle it: a pointer with a shape.

A host function makes dozens of arrays a call. One of Numba's takes some 20 microseconds to make, and its type is looked for
at each launch; this one knows from the start what a kernel is passed for it.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from .driver import to_host


class DeviceArray:
    """Memory on a device with a shape, strides in bytes and a dtype.

    owner: the array that it is on, or what else keeps the memory; kept: what must live besides. strides: None for C order
    without gaps. number: of the device. kind: what decides the type that a kernel is compiled for.
    """

    __slots__ = ("__weakref__", "_words", "dtype", "kept", "kind", "number", "owner", "pointer", "shape", "size", "strides")

    def __init__(self, pointer: int, shape: tuple[int, ...], dtype: np.dtype, owner: Any, number: int = 0,
                 strides: tuple[int, ...] | None = None):
        self.pointer, self.shape, self.dtype, self.owner, self.number = pointer, shape, dtype, owner, number
        self.size = math.prod(shape)
        self.strides = None if strides is None or _in_order(shape, strides, dtype.itemsize, -1) else strides
        order = "C" if self.strides is None else "F" if _in_order(shape, strides, dtype.itemsize, 1) else "A"
        self.kind = _kind(dtype, len(shape), order)
        self.kept: Any = None
        self._words: tuple[int, ...] | None = None

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def words(self) -> tuple[int, ...]:
        """What a kernel of Numba's is passed for an array: two pointers that it does not use, the number of elements, their
        size in bytes, the pointer, the shape, the strides."""
        if self._words is None:
            strides = self.strides if self.strides is not None else ordered(self.shape, self.dtype.itemsize)
            self._words = 0, 0, self.size, self.dtype.itemsize, self.pointer, *self.shape, *strides
        return self._words

    @property
    def __cuda_array_interface__(self) -> dict:
        return {"shape": self.shape, "strides": self.strides, "typestr": self.dtype.str, "data": (self.pointer, False),
                "version": 3, "stream": None}

    def is_c_contiguous(self) -> bool:
        return self.strides is None

    def copy_to_host(self) -> np.ndarray:
        """A copy on the host of an array without gaps, after what the default stream does. This waits."""
        found = np.empty(self.shape, self.dtype)
        if self.strides is not None:
            raise ValueError("an array with gaps is copied on the device first")
        if found.size:
            to_host(found, self.pointer, 0)
        return found

    def reshape(self, shape) -> DeviceArray:
        """The same elements in another shape; the array has no gaps."""
        return self.viewed(shape if isinstance(shape, tuple) else (shape,), self.dtype)

    def viewed(self, shape: tuple[int, ...], dtype: np.dtype) -> DeviceArray:
        """The memory of an array without gaps in another shape, or as another dtype."""
        if self.strides is not None:
            raise ValueError("an array with gaps has no other shape")
        return DeviceArray(self.pointer, shape, dtype, self, self.number)

    def __getitem__(self, index) -> DeviceArray:
        """A part at leading indices, integers from 0 and slices with a step of 1: a view."""
        index = index if isinstance(index, tuple) else (index,)
        strides = self.words[5 + self.ndim:]
        pointer, shape, kept = self.pointer, [], []
        for i, n, step in zip(index, self.shape, strides, strict=False):
            if isinstance(i, slice):
                start, stop, _ = i.indices(n)
                shape.append(max(stop - start, 0))
                kept.append(step)
                i = start
            pointer += i * step
        rest = len(index)
        return DeviceArray(pointer, (*shape, *self.shape[rest:]), self.dtype, self, self.number, (*kept, *strides[rest:]))

    def transposed(self) -> DeviceArray:
        """A matrix with its axes exchanged: a view."""
        return DeviceArray(self.pointer, self.shape[::-1], self.dtype, self, self.number, self.words[5 + self.ndim:][::-1])


def ordered(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """The strides of an array in C order without gaps."""
    strides, step = [0] * len(shape), itemsize
    for axis in range(len(shape) - 1, -1, -1):
        strides[axis] = step
        step *= shape[axis]
    return tuple(strides)


def _in_order(shape, strides, itemsize: int, direction: int) -> bool:
    """Whether the elements lie without gaps, the last axis first (direction -1) or the first one (1)."""
    step = itemsize
    for n, stride in list(zip(shape, strides, strict=True))[::direction]:
        if n == 0:
            return True
        if n != 1 and stride != step:
            return False
        step *= n
    return True


@functools.lru_cache(1024)
def _kind(dtype: np.dtype, ndim: int, order: str) -> tuple:
    return dtype.str, ndim, order


__all__ = ["DeviceArray", "ordered"]
