"""Checkpointed loops: the mark that users write, and the schedule that generated code follows.

Source: A. Griewank and A. Walther, "Algorithm 799: Revolve: an implementation of checkpointing for the reverse or adjoint
mode of computational differentiation", ACM Transactions on Mathematical Software 26 (2000), 19-45.
"""

from __future__ import annotations

from numba.extending import overload, register_jitable

__all__ = ["checkpoint", "parse_bytes", "revolve_split", "segment_length"]

SEGMENT = 1 << 23        # bytes of tape that a segment has: what stays in the caches
SHORTEST = 2             # iterations that a segment has at least: less does not pay for its copy and its second run
LONG = 1 << 24           # bytes of a tape that is one segment
LARGE = 1 << 30          # bytes of a tape that is worth avoiding, whatever that takes
FETCHED = 75             # picoseconds that a byte of a tape takes to memory and back
UNITS = {"b": 1, "kb": 10 ** 3, "mb": 10 ** 6, "gb": 10 ** 9, "tb": 10 ** 12, "kib": 2 ** 10, "mib": 2 ** 20, "gib": 2 ** 30,
         "tib": 2 ** 40}


def checkpoint(iterations, snapshots=None, budget=None):
    """`for t in checkpoint(range(T), snapshots=k)`: the gradient of this loop keeps k copies of what it changes, not T.

    The reverse sweep goes back step by step; what a step needs is computed again from the nearest copy before it. With k
    copies, (k + r)! / (k! r!) steps cost at most r extra runs of the loop: with 10 copies 3 extra runs are enough for
    286 steps, and 5 for 3003.

    iterations: a `range`, or the condition of a `while`: `while checkpoint(error > 1e-6, snapshots=k)`.
    snapshots: how many copies to keep, an integer, at least 1; ValueError for less.
    budget: instead of it, the memory for copies: bytes, or a text as "200MB" or "1.5GiB".
    Returns `iterations`: outside derivatives this does nothing. The loop must stand outside branches and of loops that are
    not checkpointed, and must not change the size of a list; otherwise an AutodiffError is raised before anything runs.
    Where its end is not known (`while`, `break`, `return`), copies are thinned out as it goes on, at equal distances.

    Source: A. Griewank and A. Walther, Algorithm 799: Revolve, ACM TOMS 26 (2000).

    >>> [t for t in checkpoint(range(3), snapshots=2)]
    [0, 1, 2]
    """
    if snapshots is not None and snapshots < 1:
        raise ValueError(f"checkpoint() keeps at least one snapshot, not {snapshots}")
    return iterations


@overload(checkpoint)
def _checkpoint(iterations, snapshots=None, budget=None):
    return lambda iterations, snapshots=None, budget=None: iterations


def parse_bytes(text) -> int:
    """A number of bytes as it is, or of "200MB", "64 KiB". ValueError if it is neither.

    >>> parse_bytes("1.5 MB"), parse_bytes(4096)
    (1500000, 4096)
    """
    if isinstance(text, (int, float)):
        return int(text)
    digits = text.strip().rstrip("BbKkMmGgTtIi ")
    unit = text.strip()[len(digits):].strip().lower() or "b"
    try:
        return int(float(digits) * UNITS[unit])
    except (KeyError, ValueError):
        raise ValueError(f"{text!r} is not a number of bytes") from None


@register_jitable
def revolve_split(steps: int, free: int) -> int:
    """How many of `steps` steps to go before the next snapshot is taken, `free` of them being left; 0: take none.

    The choice is optimal (Griewank and Walther, section 2): with s snapshots and r repetitions, beta(s, r) =
    (s + r)! / (s! r!) steps can be reversed.

    >>> revolve_split(10, 3), revolve_split(10, 0), revolve_split(1, 3)
    (4, 0, 0)
    """
    if steps <= 1 or free <= 0:
        return 0
    # `free` more snapshots and the one at the start: s of them, r the least number of repetitions that is enough.
    s = free + 1
    r, reach = 0, 1                             # beta(s, r)
    while reach < steps:
        r += 1
        reach = reach * (s + r) // r
    before = reach * r // (s + r)               # beta(s, r - 1): what the steps before the snapshot may be
    after = before * s // (s + r - 1)           # beta(s - 1, r - 1): what the steps behind it must be at least
    return max(1, min(before, steps - after))


@register_jitable
def segment_length(steps: int, tape: int, state: int, time: int) -> int:
    """How many of `steps` iterations are one segment, if each needs `tape` bytes and about `time` picoseconds in the forward
    sweep, and the loop's state has `state` bytes.

    The tape of a segment is to stay in the cache, and to be no less than the copy of the state that begins it. All
    iterations are one segment where their tape is short, where a few fill the cache, where two would be half of it each, and
    where it takes longer to run them again than to fetch their tape from memory, if that has room for it.

    >>> segment_length(100, 640_000, 640_000, 0), segment_length(10, 640_000, 640_000, 0)
    (13, 10)
    >>> segment_length(1000, 5_000_000, 8, 0)
    1000
    >>> segment_length(100, 640_000, 640_000, 10 ** 9), segment_length(10_000, 640_000, 640_000, 10 ** 9)
    (100, 13)
    """
    if steps * tape <= LONG or tape * SHORTEST > SEGMENT or time > FETCHED * tape and steps * tape <= LARGE:
        return max(steps, 1)
    length = max(SEGMENT // tape, (state + tape - 1) // tape)
    return length if 2 * length < steps else max(steps, 1)
