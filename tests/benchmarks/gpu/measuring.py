"""What the hardware does: the name of the GPU, its bandwidth and arithmetic as measured, and times of calls."""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .frameworks import Framework

BURST = 20.0                            # milliseconds that calls one after the other shall take
MOST_CALLS = 10
NOMINAL = 4.8e12, 66.9e12               # an H200's bytes a second, and float32 operations a second outside tensor cores


@dataclass(frozen=True)
class Hardware:
    """bandwidth: bytes a second of a copy, read and written. peak: float32 operations a second. source: where these are
    from."""

    name: str
    bandwidth: float
    peak: float
    source: str


def nominal() -> Hardware:
    return Hardware("NVIDIA H200 (not used)", *NOMINAL, "nominal")


def measured() -> Hardware:
    """Of the current device."""
    for _ in range(20):
        peak()                          # until the clock is up
    return Hardware(description(), bandwidth(), peak(), "measured")


def description() -> str:
    """The name of the GPU and the version of its driver."""
    command = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip().splitlines()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        from numba import cuda
        return str(cuda.get_current_device().name)


def by_events(enqueue: Callable, rounds: int = 9) -> float:
    """The median time in seconds of what `enqueue` puts on the default stream."""
    from numba import cuda
    enqueue()
    times = []
    for _ in range(rounds):
        first, last = cuda.event(), cuda.event()
        first.record()
        enqueue()
        last.record()
        last.synchronize()
        times.append(cuda.event_elapsed_time(first, last) * 1e-3)
    return statistics.median(times)


def bandwidth(size: int = 1 << 30) -> float:
    """Bytes a second that a copy of `size` bytes reads and writes."""
    from numba import cuda
    source, target = (cuda.device_array(size // 4, np.float32) for _ in range(2))
    return 2.0 * size / by_events(lambda: target.copy_to_device(source))


def peak(turns: int = 4096) -> float:
    """float32 operations a second of multiplications with additions, eight of them independent in each thread."""
    from numba import cuda

    @cuda.jit
    def chains(out, a, b):
        i = cuda.grid(1)
        x0 = x1 = x2 = x3 = x4 = x5 = x6 = x7 = a
        left = turns
        while left > 0:                 # Numba's ranges cost as much as four of these
            left -= 1
            x0 = x0 * a + b
            x1 = x1 * b + a
            x2 = x2 * a + x2
            x3 = x3 * b + x3
            x4 = x4 * a + a
            x5 = x5 * b + b
            x6 = x6 * x6 + a
            x7 = x7 * x7 + b
        out[i] = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7
    blocks, threads = 132 * 16, 256
    out = cuda.device_array(blocks * threads, np.float32)
    a, b = np.float32(0.5), np.float32(0.25)
    return 16.0 * turns * blocks * threads / by_events(lambda: chains[blocks, threads](out, a, b))


def burst(framework: Framework, call: Callable, calls: int) -> float:
    """Milliseconds a call, of `calls` enqueued one after the other."""
    events = framework.events()
    framework.wait()
    if events is None:
        start = time.perf_counter()
        for _ in range(calls):
            result = call()
        framework.wait(result)
        return (time.perf_counter() - start) * 1e3 / calls
    record, between = events
    first = record()
    for _ in range(calls):
        call()
    return between(first, record()) / calls


def interleaved(calls: dict[str, tuple[Framework, Callable]], rounds: int) -> dict[str, list[float]]:
    """Milliseconds a call of each, round by round: what disturbs the machine disturbs all. Each has been called before."""
    counts = {}
    for name, (framework, call) in calls.items():
        once = burst(framework, call, 1)
        counts[name] = max(1, min(MOST_CALLS, int(BURST / max(once, 1e-3))))
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, (framework, call) in calls.items():
            times[name].append(burst(framework, call, counts[name]))
    return times


__all__ = ["Hardware", "burst", "interleaved", "measured", "nominal"]
