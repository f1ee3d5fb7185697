"""The times of a specialisation's lines: which variants of its text run how often, and what is subtracted."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable

import numpy as np

from ..inspecting.clocked import CLOCK, FIRST, affordable, clocked, counting
from ..inspecting.lines import lines_of
from ..inspecting.times import TimedSegment, Times
from ..runtime import stopwatch
from ..transforms.language.core import left_alone
from .building import compile_programs, run

ENOUGH, FEWEST, MOST = 0.2, 3, 200      # seconds of calls, and how many calls there are at least and at most
DISTURBED = 0.1                         # of the time of a call laps in loops may take


def measured(made, leaves: list, options) -> Times:
    """The times of a specialisation for what its compiled code receives."""
    generated = made.generated
    threads = generated.threads
    programs = generated.programs if threads is None else threads.programs
    text, main = (generated.text, programs[0]) if threads is None else (threads.text, programs[-1])
    skipped = () if threads is None else threads.names[:-1]
    how = {} if threads is None else {"names": threads.names, "parallel": threads.loops}

    def compiled(text: str) -> Callable:
        return compile_programs(text, [main], options, generated.lowered.mutated, **how)[main.name]

    def laps(function) -> tuple[np.ndarray, np.ndarray]:
        stopwatch.STATE[:] = 0
        run(function, own(made, leaves))
        return stopwatch.laps()

    with stopwatch.LOCK:
        whole = fastest(lambda: run(made.call, own(made, leaves)), lambda: own(made, leaves))
        counted = counting(text, main.name, skipped)
        function = compiled(counted.text)
        turns = dict(zip(counted.places, laps(function)[1], strict=False))
        cost = max(1, min(laps(function)[0][CLOCK] for _ in range(FEWEST)))         # nanoseconds of a lap
        start = 1 + text[:text.index(f"\ndef {main.name}(") + 1].count("\n")
        entered = affordable(counted, start, turns, DISTURBED * 1e9 * whole[0] / cost)
        chosen = clocked(text, main.name, entered, skipped)
        function = compiled(chosen.text)
        laps(function)
        best: tuple = ()
        began = time.perf_counter()
        for k in range(MOST):
            found = laps(function)
            if not best or found[0][CLOCK:].sum() < best[0][CLOCK:].sum():
                best = found
            if k + 1 >= FEWEST and time.perf_counter() - began > ENOUGH:
                break
        cost = min(cost, best[0][CLOCK])
    spent, counts = best[0][FIRST:], best[1][FIRST:]
    segments = (TimedSegment(first, last, 1e-9 * max(0, int(spent[k] - counts[k] * cost)), int(counts[k]))
                for k, (first, last) in enumerate(chosen.segments))
    return Times(segments, lines_of(made), *whole)


def fastest(call: Callable, prepare: Callable) -> tuple[float, int]:
    """(seconds of the fastest call, how many there were)."""
    best, began = float("inf"), time.perf_counter()
    for k in range(MOST):
        before = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - before)
        if k + 1 >= FEWEST and time.perf_counter() - began > ENOUGH:
            break
    return best, k + 1


def own(made, leaves: list) -> list:
    """What compiled code receives, with copies of what it writes to."""
    program = made.generated.programs[0]
    alone = set(left_alone(program, made.generated.lowered.mutated))
    return [x if k in alone or not isinstance(x, (np.ndarray, np.random.Generator)) else copy.deepcopy(x)
            for k, x in enumerate(leaves)]


__all__ = ["measured", "own"]
