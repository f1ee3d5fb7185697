"""What is asked of the driver besides launches: copies and fills, by NVIDIA's bindings. Streams are handles."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np


@functools.cache
def bindings() -> Any:
    """NVIDIA's bindings of the driver."""
    from cuda.bindings import driver  # an optional package
    return driver


def checked(result: tuple) -> None:
    """RuntimeError if the driver said that something is wrong."""
    if result[0]:
        raise RuntimeError(f"CUDA's driver says {result[0].name}")


def fill_with_zeros(pointer: int, size: int, stream: int) -> None:
    """Set bytes to zero."""
    checked(bindings().cuMemsetD8Async(pointer, 0, size, stream))


def to_device(pointer: int, source: np.ndarray, stream: int) -> None:
    """Copy a contiguous array of the host's to the device; it may be changed when this returns."""
    checked(bindings().cuMemcpyHtoDAsync(pointer, source.ctypes.data, source.nbytes, stream))


def to_host(target: np.ndarray, pointer: int, stream: int) -> None:
    """Copy from the device into a contiguous array of the host's. This waits."""
    checked(bindings().cuMemcpyDtoHAsync(target.ctypes.data, pointer, target.nbytes, stream))
    checked(bindings().cuStreamSynchronize(stream))


__all__ = ["bindings", "checked", "fill_with_zeros", "to_device", "to_host"]
