"""The place of a thread, and reductions over the threads of a block and over the blocks of a launch.

A reduction over an array runs in two steps: each block reduces the values of its threads to one element of an array
(`parts`), and one block reduces those. The order depends on the sizes alone: the same sizes give the same bits. No atomics.

On a device the threads of a warp exchange values by shuffles (M. Harris, "Optimizing parallel reduction in CUDA", NVIDIA,
2007; J. Luitjens, "Faster parallel reductions on Kepler", NVIDIA, 2014); the simulator, which has none, uses a tree in
shared memory. Blocks may have any number of threads up to 1024.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda, types

from .scalars import maximum, minimum
from .simulation import SIMULATED, Prepared, device_function

CHUNK = 64 if SIMULATED else 4096           # how many parts one block reduces
THREADS = 16 if SIMULATED else 256


@cuda.jit(device=True)
def place():
    """The number of the thread in its block, from 0."""
    return cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)


@cuda.jit(device=True)
def block():
    """The number of the block in its launch, from 0."""
    return cuda.blockIdx.x + cuda.gridDim.x * (cuda.blockIdx.y + cuda.gridDim.y * cuda.blockIdx.z)


@cuda.jit(device=True)
def row():
    """The number of the thread along y, where z continues y: no grid has more than 65535 blocks along either."""
    return cuda.threadIdx.y + cuda.blockDim.y * (cuda.blockIdx.y + cuda.gridDim.y * cuda.blockIdx.z)


@cuda.jit(device=True)
def threads():
    """How many threads the block has."""
    return cuda.blockDim.x * cuda.blockDim.y * cuda.blockDim.z


def _simulated(combine):
    """The reduction as a tree, by one thread. What only the thread with place() 0 may read is nan in the others."""
    @cuda.jit(device=True)
    def reduce(value):
        shared = cuda.shared.array(1024, object)        # of objects: of whatever type the values are
        t, n = place(), threads()
        shared[t] = value
        cuda.syncthreads()
        step = 1
        while 2 * step < n:
            step *= 2
        while step > 0 and t == 0:
            for k in range(min(step, n - step)):
                shared[k] = combine(shared[k], shared[k + step])
            step //= 2
        found = shared[0] if t == 0 else type(value)(np.nan if isinstance(value, (float, np.floating)) else -99)
        cuda.syncthreads()
        return found
    return reduce


def _compiled(combine):
    """The reduction by shuffles, within each warp and then of the warps' results; of truths by the barrier that votes."""
    from numba.cuda.extending import overload  # the simulator has none
    in_warp = _in_warp(combine)
    vote = {maximum: cuda.syncthreads_or, minimum: cuda.syncthreads_and}.get(combine)

    def reduce(value):
        raise NotImplementedError("a device function")

    @overload(reduce)
    def choose(value):
        if not isinstance(value, types.Boolean):
            return _by_warps(in_warp, value)
        return None if vote is None else lambda value: vote(np.int32(value)) != 0       # shuffles know no truths
    return reduce


def _in_warp(combine):
    """The device function that reduces the values of a warp, in lane 0."""
    @cuda.jit(device=True)
    def in_warp(value, lane, present, count):
        # present: how many lanes come here; count: how many have a value
        mask = 0xffffffff >> (32 - int(present))
        for step in (16, 8, 4, 2, 1):
            other = cuda.shfl_down_sync(mask, value, step)
            if np.int32(lane + step) < count:
                value = combine(value, other)
        return value
    return in_warp


def _by_warps(in_warp, dtype):
    """The reduction over a block of values of one type."""
    def reduction(value):
        of_warps = cuda.shared.array(32, dtype)
        t, n = np.int32(place()), np.int32(threads())           # 64 bits would take more registers
        warp, lane = np.uint32(t >> 5), np.int32(t & 31)
        left = n - (t - lane)
        present = np.int32(left if left < 32 else 32)
        found = in_warp(value, lane, present, present)
        if lane == 0:
            of_warps[warp] = found
        cuda.syncthreads()
        if warp == 0:
            warps = np.int32((n + 31) >> 5)
            found = in_warp(of_warps[np.uint32(min(lane, warps - 1))], lane, present, warps)
        cuda.syncthreads()
        return found
    return reduction


@device_function
def _product(x, y):
    return x * y


@device_function
def _sum(x, y):
    return x + y


COMBINE = {"sum": _sum, "max": maximum, "min": minimum, "mul": _product}
_of_block = {op: (_simulated if SIMULATED else _compiled)(combine) for op, combine in COMBINE.items()}
# The sum (largest value, ...) of a value of each thread of the block, in the thread with place() 0; in the others anything.
# All threads of the block must come here. float64, float32 and integers; nan as in `np.maximum`.
block_sum, block_max, block_min, block_mul = (_of_block[op] for op in ("sum", "max", "min", "mul"))


def neutral(op: str, dtype) -> Any:
    """The number of this dtype that leaves all others as they are under a reduction: "sum", "max", "min" or "mul"."""
    kind = np.dtype(dtype)
    if op in ("sum", "mul"):
        return kind.type(op == "mul")
    if kind.kind == "b":
        return kind.type(op == "min")
    lowest = -np.inf if kind.kind == "f" else np.iinfo(kind).min
    highest = np.inf if kind.kind == "f" else np.iinfo(kind).max
    return kind.type(lowest if op == "max" else highest)


def _total(op: str):
    """The kernel that reduces `chunk` of the n `parts` in each block, onto the number `init`."""
    combine, reduce = COMBINE[op], _of_block[op]

    def total(parts, n, chunk, start, init, out):
        first = block() * chunk
        end = min(first + chunk, n)
        found = start
        for i in range(first + place(), end, threads()):
            found = combine(found, parts[i])
        found = reduce(found)
        if place() == 0:
            out[block()] = combine(init, found)
    return total


def _total_onto(op: str):
    """The kernel that combines a cell and a cell."""
    combine = COMBINE[op]

    def total_onto(init, found, out):
        if cuda.grid(1) == 0:
            out[0] = combine(init[0], found[0])
    return total_onto


def _fold(parts, rows, width, chunk, out):
    """The kernel that adds up `chunk` rows of parts[rows, width], one after the other, in each thread."""
    column, here = cuda.grid(1), row()
    if column < width and here * chunk < rows:
        found = parts[here * chunk, column]
        for k in range(here * chunk + 1, min((here + 1) * chunk, rows)):
            found += parts[k, column]
        out[here, column] = found


def _scan_parts(op: str):
    """The kernel that reduces `chunk` elements one after the other in each thread."""
    combine = COMBINE[op]

    def scan_parts(values, n, chunk, parts):
        t = cuda.grid(1)
        if t * chunk < n:
            found = values[t * chunk]
            for i in range(t * chunk + 1, min((t + 1) * chunk, n)):
                found = combine(found, values[i])
            parts[t] = found
    return scan_parts


def _scan_onto(op: str):
    """The kernel that runs through `chunk` elements in each thread, from `starts[thread]` on, and writes every value."""
    combine = COMBINE[op]

    def scan_onto(values, n, chunk, starts, out):
        t = cuda.grid(1)
        if t * chunk < n:
            found = starts[t]
            for i in range(t * chunk, min((t + 1) * chunk, n)):
                out[i] = found
                found = combine(found, values[i])
            if (t + 1) * chunk >= n:
                out[n] = found
    return scan_onto


def _affine_parts(factors, terms, n, chunk, factor_parts, term_parts):
    """As `scan_parts`, for maps x -> factor * x + term: the map that `chunk` of them make one after the other."""
    t = cuda.grid(1)
    if t * chunk < n:
        factor, term = factors[t * chunk], terms[t * chunk]
        for i in range(t * chunk + 1, min((t + 1) * chunk, n)):
            factor, term = factors[i] * factor, factors[i] * term + terms[i]
        factor_parts[t] = factor
        term_parts[t] = term


def _affine_onto(factors, terms, n, chunk, starts, out):
    """As `scan_onto`, for such maps."""
    t = cuda.grid(1)
    if t * chunk < n:
        found = starts[t]
        for i in range(t * chunk, min((t + 1) * chunk, n)):
            out[i] = found
            found = factors[i] * found + terms[i]
        if (t + 1) * chunk >= n:
            out[n] = found


def _kernels(make):
    return {op: cuda.jit(Prepared(make(op)) if SIMULATED else make(op)) for op in COMBINE}


total, total_onto = _kernels(_total), _kernels(_total_onto)
scan_parts, scan_onto = _kernels(_scan_parts), _kernels(_scan_onto)
fold = cuda.jit(Prepared(_fold) if SIMULATED else _fold)
scan_parts["affine"] = cuda.jit(Prepared(_affine_parts) if SIMULATED else _affine_parts)
scan_onto["affine"] = cuda.jit(Prepared(_affine_onto) if SIMULATED else _affine_onto)

__all__ = ["CHUNK", "COMBINE", "THREADS", "block", "block_max", "block_min", "block_mul", "block_sum", "fold", "neutral",
           "place", "row", "scan_onto", "scan_parts", "threads", "total", "total_onto"]
