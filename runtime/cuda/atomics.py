"""Additions to elements that several threads may share, as device functions.

Threads of a warp that add to one element add among themselves first, and one of them does the atomic addition: additions to
few places would else wait for each other. The order of atomic additions is not fixed, so neither are the last bits of a sum.
"""

from __future__ import annotations

from numba import cuda

from .simulation import SIMULATED


@cuda.jit(device=True)
def _among_peers(key, value):
    """(whether the thread has the sum, the sum of the values of the threads of its warp with its key).

    A. Adinetz, "Voting and shuffling to optimize atomic operations", NVIDIA, 2015: the sum is a tree over the threads with
    one key, for all keys at once.
    """
    present = cuda.activemask()
    below = cuda.lanemask_lt()
    peers = cuda.match_any_sync(present, key) & 0xffffffff      # not its sign in the upper half of 64 bits
    rank = cuda.popc(peers & below)
    first = rank == 0
    lane = cuda.popc(below)
    peers &= ~below & ~(1 << lane)                      # those above
    while cuda.any_sync(present, peers != 0):
        following = cuda.ffs(peers)                     # 1 more than its number; 0: there is none
        other = cuda.shfl_sync(present, value, following - 1 if following > 0 else lane)
        if following > 0:
            value += other
        peers &= cuda.ballot_sync(present, (rank & 1) == 0)
        rank >>= 1
    return first, value


def add_at(array, index, value):
    """`array[index] += value`, by as many threads as like. index: an integer, or as many of them as the array has axes."""
    cuda.atomic.add(array, index, value)


if SIMULATED:
    add_at = cuda.jit(device=True)(add_at)
else:
    from numba.cuda.extending import overload

    @overload(add_at)
    def _add_at(array, index, value):
        axes = array.ndim

        def along(array, index, value):
            first, total = _among_peers(index, value)
            if first:
                cuda.atomic.add(array, index, total)

        def plane(array, index, value):
            first, total = _among_peers(index[0] * array.shape[1] + index[1], value)
            if first:
                cuda.atomic.add(array, index, total)

        def space(array, index, value):
            key = (index[0] * array.shape[1] + index[1]) * array.shape[2] + index[2]
            first, total = _among_peers(key, value)
            if first:
                cuda.atomic.add(array, index, total)

        def anywhere(array, index, value):
            cuda.atomic.add(array, index, value)
        return {1: along, 2: plane, 3: space}.get(axes, anywhere)

__all__ = ["add_at"]
