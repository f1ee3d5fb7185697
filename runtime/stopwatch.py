"""A stopwatch for generated text: `lap(k)` adds the time since the lap before to segment k. For `f.times` alone.

Compiled code reads the system's monotonic clock, 20 to 50 ns a time, without a call of Python. There is one stopwatch in a
process: who measures holds `LOCK`.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from typing import Any

import numpy as np
from numba import carray, types
from numba.extending import intrinsic, overload

SEGMENTS = 4096
SIZE = 3 + 2 * SEGMENTS
STATE = np.zeros(SIZE, np.int64)        # the clock's seconds and parts of them, the lap before; nanoseconds, then counts
LOCK = threading.Lock()

if os.name == "nt":
    CLOCK = ctypes.windll.kernel32.QueryPerformanceCounter      # type: ignore[attr-defined]
    CLOCK.argtypes, WHICH, UNIT = (ctypes.c_void_p,), 0, round(1e9 * time.get_clock_info("perf_counter").resolution)
else:
    CLOCK = ctypes.CDLL(None).clock_gettime
    CLOCK.argtypes, WHICH, UNIT = (ctypes.c_int, ctypes.c_void_p), time.CLOCK_MONOTONIC, 0
CLOCK.restype = ctypes.c_int


def laps() -> tuple[np.ndarray, np.ndarray]:
    """(nanoseconds, counts) of all segments."""
    return STATE[3:3 + SEGMENTS].copy(), STATE[3 + SEGMENTS:].copy()


def tally(k: int) -> None:
    """One more of the count of k."""
    STATE[3 + SEGMENTS + k] += 1


def lap(k: int) -> None:
    """The time since the lap before belongs to segment k."""
    now = time.perf_counter_ns()
    STATE[3 + k] += now - STATE[2]
    STATE[3 + SEGMENTS + k] += 1
    STATE[2] = now


def _memory(context):
    """The address of STATE, which machine code that is kept on disk must not hold: Numba keeps none with such addresses."""
    def generate(context, builder, signature, args):
        return context.add_dynamic_addr(builder, STATE.ctypes.data, info="autodiff.stopwatch")
    return types.voidptr(), generate


memory: Any = intrinsic(_memory)


@overload(tally)
def _tally(k):
    def compiled(k):
        carray(memory(), SIZE, np.int64)[3 + SEGMENTS + k] += 1
    return compiled


@overload(lap)
def _lap(k):
    if UNIT:
        def compiled(k):
            state = carray(memory(), SIZE, np.int64)
            CLOCK(memory())
            now = state[0] * UNIT
            state[3 + k] += now - state[2]
            state[3 + SEGMENTS + k] += 1
            state[2] = now
    else:
        def compiled(k):
            state = carray(memory(), SIZE, np.int64)
            CLOCK(WHICH, memory())
            now = state[0] * 1_000_000_000 + state[1]
            state[3 + k] += now - state[2]
            state[3 + SEGMENTS + k] += 1
            state[2] = now
    return compiled


__all__ = ["LOCK", "SEGMENTS", "STATE", "lap", "laps", "tally"]
