"""Launching kernels that users wrote, and their adjoints."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np
from numba import cuda

from . import arrays, availability
from .device import Device


def of_user(function, fastmath: bool):
    """A kernel of the user's as Numba compiles it; one that is compiled already as it is."""
    availability.require()
    return cuda.jit(function, fastmath=fastmath) if isinstance(function, FunctionType) else function


def device_of(values, stream, fastmath: bool) -> Device:
    """The device that a launch with these arguments is for. stream: None for the current one."""
    availability.require()
    return Device.of([v for v in values if arrays.library_of(v)], stream, fastmath)


def given(device: Device, x):
    """An argument as kernels take it: arrays of the host are copied, those of the device stay where they are."""
    if isinstance(x, np.ndarray):
        return device.own(x)
    return arrays.wrapped(x, device.handle) if arrays.library_of(x) else x


def memory_of(x):
    """Where an array begins; None for what is no array."""
    if isinstance(x, np.ndarray):
        return x.__array_interface__["data"][0]
    if arrays.library_of(x) is None:
        return None
    found: Any = arrays.wrapped(x)
    return found._ary.__array_interface__["data"][0] if hasattr(found, "_ary") else found.pointer


def counted(device: Device, measure, grid, block, args, count: int) -> list[int]:
    """How many slots each tape needs: the kernel `measure` says. Waits for the device."""
    need = device.zeros((count,), np.int64)
    device.launch_as(measure, grid, block, *args, need)
    return [int(n) for n in device.on_host(need)]


def add_total(device: Device, parts, cell) -> None:
    """Add the sum of the parts, in an order of its own, to a cell."""
    device.assign(cell, device.total(parts, "sum", cell))


def host_values(device: Device, x) -> np.ndarray:
    """A copy on the host. Waits for the device."""
    return device.on_host(device.for_kernels(x))


__all__ = ["add_total", "counted", "device_of", "given", "host_values", "memory_of", "of_user"]
