"""Sets of input numbers, for finding which results of a program depend on which inputs.

A pool is one integer array that holds sets, named by handles: 0 is the empty set, `k + 1` the set of input `k` alone.
Sets of up to `SMALL` numbers are kept sorted, each once, so that stencils meet the same few handles again and again. A
larger set is a pair of two handles, whose numbers are collected at the end: a sum over n elements takes n pairs, not the
n * n / 2 numbers of all its partial sums.

    pool[:HEADER]           handles in use; how many there may be; first free place; the end of the places; slots - 1; inputs
    pool[HEADER + handle]   where the set's numbers stand, after their count; -where for a pair
    ...                     numbers and pairs
    pool[end:]              a hash table of the handles of small sets
"""

from __future__ import annotations

import numpy as np
from numba.extending import register_jitable

from .machine_code.kept import kept as _kept

HEADER = 8
SMALL = 32
POPULAR = 8             # a pair that at least so many others are made of has its numbers collected once for all
KEPT = 1 << 26          # numbers of popular pairs, at most


class PoolFull(MemoryError):
    """A pool has no room for another set."""


def make_pool(inputs: int, handles: int) -> np.ndarray:
    """A pool with the sets of single inputs, and room for `handles` more sets."""
    count = inputs + 1 + handles
    slots = 1 << int(2 * handles).bit_length()
    first = HEADER + count
    end = first + 2 * (inputs + 1) + 6 * handles + 4 * SMALL
    pool = np.zeros(end + slots, np.int64)
    pool[:6] = inputs + 1, count, first + 2 * (inputs + 1), end, slots - 1, inputs
    where = first + 2 * np.arange(inputs + 1)
    pool[HEADER:HEADER + inputs + 1] = where
    pool[where[1:]] = 1
    pool[where[1:] + 1] = np.arange(inputs)
    return pool


@register_jitable
def union_sets(pool, a, b):
    """The handle of the union of two sets. Raises PoolFull where the pool has no room."""
    if a == b or b == 0:
        return a
    if a == 0:
        return b
    left, right = pool[HEADER + a], pool[HEADER + b]
    free = pool[2]
    if free + 2 * SMALL + 2 > pool[3] or pool[0] >= pool[1]:
        raise PoolFull
    if left > 0 and right > 0:
        n, m = pool[left], pool[right]
        i = j = count = 0
        while i < n or j < m:
            if j >= m or (i < n and pool[left + 1 + i] < pool[right + 1 + j]):
                value = pool[left + 1 + i]
                i += 1
            else:
                value = pool[right + 1 + j]
                if i < n and pool[left + 1 + i] == value:
                    i += 1
                j += 1
            count += 1
            pool[free + count] = value
        if count == n:
            return a
        if count == m:
            return b
        if count <= SMALL:
            return small_set(pool, free, count)
    elif left < 0 and (pool[-left] == b or pool[1 - left] == b):
        return a
    elif right < 0 and (pool[-right] == a or pool[1 - right] == a):
        return b
    pool[free], pool[free + 1] = a, b
    made = pool[0]
    pool[0] = made + 1
    pool[2] = free + 2
    pool[HEADER + made] = -free
    return made


@register_jitable
def small_set(pool, free, count):
    """The handle of the set whose numbers stand behind `free`: an earlier one, or a new one."""
    mixed = np.int64(count)
    for k in range(1, count + 1):
        mixed = ((mixed ^ pool[free + k]) * 1000003) & 0x3FFFFFFFFFF
        mixed ^= mixed >> 19
    slot = mixed & pool[4]
    while True:
        found = pool[pool[3] + slot]
        if found == 0:
            break
        start = pool[HEADER + found]
        same = pool[start] == count
        k = 1
        while same and k <= count:
            same = pool[start + k] == pool[free + k]
            k += 1
        if same:
            return found
        slot = (slot + 1) & pool[4]
    made = pool[0]
    pool[free] = count
    pool[pool[3] + slot] = made
    pool[0] = made + 1
    pool[2] = free + count + 1
    pool[HEADER + made] = free
    return made


@register_jitable
def grow_set(pool, a, b):
    """`a` itself where it holds the whole of `b`, else the handle of their union."""
    made = union_sets(pool, a, b)
    if made == a or pool[HEADER + made] > 0:
        return made
    handles = np.empty(2, np.int64)
    handles[0], handles[1] = a, b
    indptr, found = numbers_of(pool, handles, pool[5])
    held = np.zeros(pool[5], np.bool_)
    for k in range(indptr[1]):
        held[found[k]] = True
    for k in range(indptr[1], indptr[2]):
        if not held[found[k]]:
            return made
    return a


@_kept
def _grown(array, size):
    if size <= array.size:
        return array
    made = np.empty(max(size, 2 * array.size), array.dtype)
    for k in range(array.size):
        made[k] = array[k]
    return made


@_kept
def _collect(pool, kept, spans, handle, seen, mark, stack, out, at):
    """Append the numbers of a set to `out` from place `at`; (out, stack, the place behind them)."""
    stack[0] = handle
    top = 1
    while top:
        top -= 1
        h = stack[top]
        where = pool[HEADER + h]
        if where > 0 or spans[h, 1] > 0:
            count = pool[where] if where > 0 else spans[h, 1]
            out = _grown(out, at + count)
            for k in range(count):
                value = pool[where + 1 + k] if where > 0 else kept[spans[h, 0] + k]
                if seen[value] != mark:
                    seen[value] = mark
                    out[at] = value
                    at += 1
        elif h:
            stack = _grown(stack, top + 2)
            stack[top], stack[top + 1] = pool[-where], pool[1 - where]
            top += 2
    return out, stack, at


@_kept
def numbers_of(pool, handles, inputs):
    """(indptr, indices): for each handle the numbers of its set, in any order."""
    count = pool[0]
    uses = np.zeros(count, np.int32)
    first_pair = count
    for h in range(1, count):
        where = pool[HEADER + h]
        if where < 0:
            first_pair = min(first_pair, h)
            uses[pool[-where]] += 1
            uses[pool[1 - where]] += 1
    spans = np.zeros((count, 2), np.int64)
    seen = np.zeros(inputs, np.int64)
    stack = np.empty(64, np.int64)
    kept = np.empty(64, np.int64)
    used = 0
    mark = 1
    for h in range(first_pair, count):              # pairs follow what they are made of
        if pool[HEADER + h] < 0 and uses[h] >= POPULAR and used < KEPT:
            kept, stack, end = _collect(pool, kept, spans, h, seen, mark, stack, kept, used)
            spans[h, 0], spans[h, 1] = used, end - used
            used = end
            mark += 1
    indptr = np.zeros(handles.size + 1, np.int64)
    out = np.empty(max(64, 4 * handles.size), np.int64)
    at = 0
    for r in range(handles.size):
        out, stack, end = _collect(pool, kept, spans, handles[r], seen, mark, stack, out, at)
        mark += 1
        at = end
        indptr[r + 1] = at
    return indptr, out


__all__ = ["grow_set", "make_pool", "numbers_of", "union_sets"]
