"""The times of a specialisation's lines: which variants of its text run how often, and what is subtracted."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator

import numpy as np

from ..inspecting.clocked import CLOCK, FIRST, affordable, clocked, counting
from ..inspecting.lines import lines_of
from ..inspecting.times import TimedSegment, Times
from ..runtime import stopwatch
from ..transforms.language.core import left_alone
from .building import compile_programs, run

ENOUGH, FEWEST = 0.2, 3                 # seconds of calls, and how many calls there are at least
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
        whole = fastest(lambda given: run(made.call, given), lambda: own(made, leaves))
        counted = counting(text, main.name, skipped)
        function = compiled(counted.text)
        turns = dict(zip(counted.places, laps(function)[1], strict=False))
        cost = max(1, min(laps(function)[0][CLOCK] for _ in range(FEWEST)))         # nanoseconds of a lap
        start = 1 + text[:text.index(f"\ndef {main.name}(") + 1].count("\n")
        entered = affordable(counted, start, turns, DISTURBED * 1e9 * whole[0] / cost)
        chosen = clocked(text, main.name, entered, skipped)
        function = compiled(chosen.text)
        laps(function)
        best, counts = laps(function)
        for _ in enough():
            best = np.minimum(best, laps(function)[0])      # of each segment: a disturbance takes a call, not all of them
        cost = min(cost, best[CLOCK])
    spent, counts = best[FIRST:], counts[FIRST:]
    segments = (TimedSegment(first, last, 1e-9 * max(0, int(spent[k] - counts[k] * cost)), int(counts[k]))
                for k, (first, last) in enumerate(chosen.segments))
    return Times(segments, lines_of(made), *whole)


def fastest(call: Callable, prepare: Callable) -> tuple[float, int]:
    """(seconds of the fastest call for what was prepared, how many there were)."""
    best, calls = float("inf"), 0
    for _ in enough():
        given = prepare()
        before = time.perf_counter()
        call(given)
        best, calls = min(best, time.perf_counter() - before), calls + 1
    return best, calls


def enough() -> Iterator[None]:
    """Turns for ENOUGH seconds, and FEWEST times."""
    began, turns = time.perf_counter(), 0
    while turns < FEWEST or time.perf_counter() - began < ENOUGH:
        yield
        turns += 1


def own(made, leaves: list) -> list:
    """What compiled code receives, with copies of what it writes to."""
    program = made.generated.programs[0]
    alone = set(left_alone(program, made.generated.lowered.mutated))
    return [x if k in alone or not isinstance(x, (np.ndarray, np.random.Generator)) else copy.deepcopy(x)
            for k, x in enumerate(leaves)]


__all__ = ["measured", "own"]
