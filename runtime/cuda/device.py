"""The device as generated host functions see it: memory, launches, sums over blocks, library calls.

Nothing here waits for the device but `Device.read`. Numbers computed on it live in *cells*, device arrays of shape (1,).
"""

from __future__ import annotations

import builtins
import functools
import math
import sys
from typing import Any

import numpy as np
from numba import cuda

from ..raising import MARKED
from . import arrays, copies, dlpack, driver, enqueue, library, reductions
from .compilation import compiled, configured
from .device_array import DeviceArray
from .memory import Lease
from .simulation import SIMULATED

WIDTH = 16 if SIMULATED else 256        # threads of a block at most
WARP = 4 if SIMULATED else 32           # and along x where there are rows; the simulator's blocks are small: it has several
THREADS, SHORTEST = (16, 2) if SIMULATED else (1 << 17, 32)      # see `Device.chunks`
ROWS = 3 if SIMULATED else 64           # see `Device.fold`
FURTHEST = 65535                        # blocks along y, and along z


def above(n: int) -> int:
    """The smallest power of two that is not below n, at least 1."""
    return 1 << max(int(n) - 1, 0).bit_length()          # `int`: sizes may be numbers of NumPy's


@functools.lru_cache(4096)
def geometry(extents) -> tuple[tuple[int, int, int], tuple[int, int]]:
    """(grid, block) for a nest of loops with these extents, outermost first, all positive.

    Threads lie along the last loop, in x. The other loops are one range of rows, along y and on along z. The block has at
    least a warp's threads: a thread asks whether it has work.
    """
    inner, rows = extents[-1], math.prod(extents[:-1])
    if len(extents) == 1:
        x, y = min(WIDTH, max(WARP, above(inner))), 1
    else:
        x = min(WARP, above(inner))
        y = min(WIDTH // x, above(rows))
        x = max(min(WIDTH // y, above(inner)), WARP // y)
    across, down = -(-inner // x), -(-rows // y)
    deep = -(-down // FURTHEST)
    return (across, -(-down // deep), deep), (x, y)


class Device:
    """One device, and the stream that a call of generated code is enqueued on.

    library: whose arrays the caller has ("numba", "cupy", "torch", "jax"): its allocator is used, and its current stream.
    number: which device. stream: a handle or one of Numba's streams, for another stream than the current one.
    fastmath: compile kernels with fast, inexact arithmetic.
    """

    def __init__(self, library: str = "numba", stream: Any = None, number: int = 0, fastmath: bool = False):
        self.library, self.number, self.fastmath = library, number, fastmath
        self.is_current = stream is None            # the library's own current stream
        self.stream: Any = 0 if SIMULATED else _stream(library, number, stream)
        self.handle = 0 if SIMULATED else dlpack.handle_of(self.stream)     # as CUDA knows it; 0: the default stream
        self._entered: Any = None

    @classmethod
    def of(cls, values, stream: Any = None, fastmath: bool = False) -> Device:
        """The device that the device arrays among `values` lie on. TypeError for arrays of two libraries or two devices."""
        library = arrays.common_library(values)
        found = sorted({arrays.device_of(x) for x in values if arrays.library_of(x)})
        if len(found) > 1:
            raise TypeError(f"arrays on devices {found} in one call: bring them to one")
        number = found[0] if found else 0 if SIMULATED else cuda.get_current_device().id
        return cls(library or "numba", stream, number, fastmath)

    def __enter__(self) -> Device:
        """Make the device current for Numba, for a call of generated code."""
        if not SIMULATED and cuda.get_current_device().id != self.number:
            self._entered = cuda.gpus[self.number]
            self._entered.__enter__()
        return self

    def __exit__(self, *error) -> None:
        if self._entered is not None:
            self._entered.__exit__(*error)
            self._entered = None

    # ---- memory ----
    def empty(self, shape, dtype):
        """A C-contiguous array of whatever was there: under the simulator nan, and the smallest integer."""
        shape, dtype = tuple(map(int, shape)), np.dtype(dtype)
        if self.library in ("cupy", "torch"):
            return arrays.made(self.library, shape, dtype, self.number)
        if SIMULATED:
            return cuda.to_device(np.full(shape, _garbage(dtype), dtype))
        lease = Lease(math.prod(shape) * dtype.itemsize, self.number, self.handle)
        return DeviceArray(lease.pointer, shape, dtype, lease, self.number)

    def zeros(self, shape, dtype):
        """An array of zeros."""
        found = self.empty(shape, dtype)
        if SIMULATED:
            found._ary[...] = 0
        elif found.size:
            driver.fill_with_zeros(found.pointer, found.size * found.dtype.itemsize, self.handle)
        return found

    def full(self, shape, value, dtype):
        """An array whose elements are `value`: a number, or a cell."""
        found = self.empty(shape, dtype)
        self._copy(found, value if arrays.is_array(value) else np.dtype(dtype).type(value))
        return found

    def cell(self, value, dtype):
        """A cell with a number of the host's, or the number of another cell, in it."""
        return self.full((1,), value, dtype)

    def own(self, array, dtype=None):
        """A private C-contiguous copy, of another dtype if one is given.

        A NumPy array is copied to the device, which for large ones takes its time: it is for parameters and small tables.
        """
        if isinstance(array, np.ndarray) and not isinstance(array, arrays.DeviceStandIn):
            found = self.empty(array.shape, dtype or array.dtype)
            source = np.ascontiguousarray(array, found.dtype)
            if SIMULATED:
                found.copy_to_device(source)
            elif array.size:
                driver.to_device(found.pointer, source, self.handle)
            return found
        source = arrays.wrapped(array, self.handle)
        found = self.empty(source.shape, dtype or source.dtype)
        self._copy(found, source)
        return found

    def for_kernels(self, array, dtype=None):
        """The array as kernels take it: Numba's, C-contiguous, of the dtype; on the caller's memory if it is that."""
        if isinstance(array, np.ndarray) and not isinstance(array, arrays.DeviceStandIn):
            return self.own(array, dtype)
        found = arrays.wrapped(array, self.handle)
        if arrays.is_contiguous(found) and dtype in (None, found.dtype):
            return found
        return self.own(array, dtype)

    def back(self, array):
        """A result in the caller's type, on the same memory."""
        return arrays.back(array, self.library, self.number, self.stream)

    def part(self, array, *index, transposed: bool = False):
        """The matrix or vector at leading indices of an array, for library calls: a view."""
        return arrays.part(array, index, transposed)

    def read(self, cell):
        """The number in a cell, on the host. This waits for the device."""
        found = self.on_host(cell)
        return found[0] if found.dtype == np.float32 else found[0].item()

    def on_host(self, array) -> np.ndarray:
        """A copy on the host of an array without gaps. This waits for the device."""
        if SIMULATED:
            return array.copy_to_host()
        found = np.empty(array.shape, array.dtype)
        if found.size:
            driver.to_host(found, arrays.wrapped(array).pointer, self.handle)
        return found

    def assign(self, out, value) -> None:
        """Set the elements of `out`: to those of an array of its shape, to a cell's number, or to a number."""
        self._copy(out, value if arrays.is_array(value) else out.dtype.type(value))

    def _copy(self, out, value) -> None:
        if out.size:
            kernel, *args = copies.plan(out, value)
            self.launch(kernel, (out.size,), *args)

    # ---- launches ----
    def launch(self, kernel, extents, *args) -> None:
        """Enqueue a kernel, a plain Python function, over a nest of loops of these extents, outermost first.

        Nothing is launched if one is not positive. Numbers pass as float64, int64 and bool; np.float32 stays float32.
        """
        if min(extents) <= 0:
            return
        grid, block = geometry(extents)
        self.launch_as(kernel, grid, block, *args)

    def launch_as(self, kernel, grid, block, *args) -> None:
        """Enqueue a kernel with this grid of blocks."""
        compiled_kernel = compiled(kernel, self.fastmath, math.prod(block))
        if SIMULATED:
            compiled_kernel[grid, block](*map(_typed, args))
            return
        first = functools.partial(_by_numba, compiled_kernel, tuple(grid), tuple(block), self.stream)
        enqueue.launch(compiled_kernel, first, (*grid, 1, 1)[:3], (*block, 1, 1)[:3], self.handle, self.number, args)

    def partials(self, extents, dtype):
        """An array with one element for each block of a launch with these extents: none if nothing is launched."""
        return self.empty((math.prod(geometry(extents)[0]) if min(extents) > 0 else 0,), dtype)

    def total(self, parts, op: str, init):
        """A cell: `init`, a number or a cell, with all elements of `parts`, in an order that depends on their number alone.

        op: "sum", "max", "min" or "mul". With no elements it is `init`. More than 4096 of them take two launches.
        """
        dtype = parts.dtype
        start = reductions.neutral(op, dtype)
        number = start if arrays.is_array(init) else dtype.type(init)
        while True:
            n = parts.size
            blocks = -(-n // reductions.CHUNK) or 1
            out = self.empty((blocks,), dtype)
            self.launch_as(reductions.total[op], (blocks, 1, 1), (reductions.THREADS, 1), parts, n, reductions.CHUNK, start,
                           number if blocks == 1 else start, out)
            if blocks == 1:
                break
            parts = out
        if arrays.is_array(init):
            self.launch_as(reductions.total_onto[op], (1, 1, 1), (1, 1), init, out, out)
        return out

    def resize(self, array, length: int):
        """The array with room for at least `length` along its first axis, its elements kept; a new one is twice as long."""
        if length <= array.shape[0]:
            return array
        found = self.empty((max(length, 2 * array.shape[0]), *array.shape[1:]), array.dtype)
        self._copy(found[:array.shape[0]], array)
        return found

    def largest(self, array) -> int:
        """The largest of an array's integers, 0 if it has none. This waits for the device."""
        if not array.size:
            return 0
        return int(self.read(self.total(array.reshape((array.size,)), "max", 0)))

    def chunks(self, owners: int, turns: int) -> int:
        """In how many chunks a sum of `turns` terms is cut that each of `owners` threads would else add up alone.

        It follows from the sizes alone, not from the device, so that sums are the same everywhere: as many as give work to
        THREADS threads, of at least SHORTEST terms each; 1 where there are enough owners.
        """
        if owners <= 0 or 2 * owners > THREADS:
            return 1
        return max(1, min(THREADS // owners, turns // SHORTEST))

    def scan(self, out, op: str, *given) -> None:
        """Fill `out` with a running number: the first one, and what each element of the arrays makes of it.

        op, given: "sum", terms, init; "mul", factors, init; "affine", factors, terms, init, which makes x into factor * x +
        term. init: a number or a cell; out: one longer than the arrays. Every thread reduces a few elements, the results are
        scanned in the same way, and the threads go through their elements again: the order follows from the length alone.
        """
        *values, init = given
        n = values[0].size
        chunk = ROWS if n > ROWS else max(n, 1)
        threads = -(-n // chunk)
        if threads > 1:
            parts = [self.empty((threads,), x.dtype) for x in values]
            self.launch(reductions.scan_parts[op], (threads,), *values, n, chunk, *parts)
            starts = self.empty((threads + 1,), out.dtype)
            self.scan(starts, op, *parts, init)
        else:
            starts = self.cell(init, out.dtype)
        if n:
            self.launch(reductions.scan_onto[op], (threads,), *values, n, chunk, starts, out)
        else:
            self.assign(out, starts)

    def fold(self, parts, out) -> None:
        """The sums over the first axis of `parts`, into `out`, in an order that follows from the sizes alone.

        Each thread adds up a few rows, until one is left.
        """
        rows, width = parts.shape[0], out.size
        parts, out = parts.reshape((rows, width)), out.reshape((1, width))
        while rows > 0:
            left = -(-rows // ROWS)
            into = out if left == 1 else self.empty((left, width), parts.dtype)
            self.launch(reductions.fold, (left, width), parts, rows, width, ROWS, into)
            if left == 1:
                return
            parts, rows = into, left

    def check(self, failed, messages) -> None:
        """Raise what a kernel has found wrong: it wrote the number of one of `messages`, (exception, text), from 1 on.

        This waits for the device.
        """
        number = self.read(failed)
        if number:
            error, text = messages[number - 1]
            raise (MARKED[error] if error in MARKED else getattr(builtins, error, RuntimeError))(text)

    # ---- libraries ----
    def call(self, op: str, outs, args, *static) -> None:
        """A library call of a core program, by CuPy or torch; `outs` are arrays or cells that it fills. See `library.py`."""
        library.call(self, op, outs, args, static)


def _garbage(dtype):
    return {"f": lambda: np.nan, "c": lambda: np.nan, "b": lambda: True}.get(dtype.kind, lambda: np.iinfo(dtype).min)()


def _typed(x):
    """A number as a kernel sees it: under the simulator a Python float would take the type of what it meets."""
    return np.float64(x) if type(x) is float else x


def _by_numba(kernel, grid, block, stream, *args) -> None:
    configured(kernel, grid, block, stream)(*args)


def _stream(library: str, number: int, stream):
    """Numba's stream for a given stream, or for the library's current one."""
    if stream is not None and not isinstance(stream, int):
        return stream
    if stream is None:
        if library == "cupy":
            stream = sys.modules["cupy"].cuda.get_current_stream(number).ptr
        elif library == "torch":
            stream = sys.modules["torch"].cuda.current_stream(number).cuda_stream
    key = number, stream or 0
    if key not in _streams:
        _streams[key] = cuda.external_stream(stream) if stream else cuda.default_stream()
    return _streams[key]


_streams: dict[tuple[int, int], Any] = {}


__all__ = ["Device", "geometry"]
