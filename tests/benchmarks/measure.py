"""Paired timing: the two sides of a ratio take turns, so that a busy machine slows both."""

from __future__ import annotations

import gc
import statistics
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One measured figure. `goal` is an upper bound in the same unit, None for a figure given for information."""

    name: str
    figure: float
    unit: str = "x"
    goal: float | None = None
    detail: str = ""

    def __str__(self):
        goal = "" if self.goal is None else f"{self.goal:g}"
        verdict = "" if self.goal is None else ("met" if self.figure <= self.goal else "MISSED")
        return f"{self.name:<44} {self.figure:>9.3f} {self.unit:<5} {goal:>6}  {verdict:<6}  {self.detail}"


HEAD = f"{'measurement':<44} {'figure':>9} {'unit':<5} {'goal':>6}  {'':<6}  detail"


def seconds(function, repeats: int) -> float:
    """Seconds a call, over `repeats` calls."""
    start = time.perf_counter()
    for _ in range(repeats):
        function()
    return (time.perf_counter() - start) / repeats


def paired(functions, rounds: int, repeats: int = 1) -> list[list[float]]:
    """Seconds of every function in every round; within a round they run one after the other."""
    for function in functions:
        function()
    gc.collect()
    gc.disable()
    try:
        return [[seconds(f, repeats) for f in functions] for _ in range(rounds)]
    finally:
        gc.enable()


def ratio(times, above: int, below: int) -> float:
    """Median over the rounds of one function's time over another's."""
    return statistics.median(t[above] / t[below] for t in times)


def gap(times, above: int, below: int) -> float:
    """Median over the rounds of one function's time minus another's."""
    return statistics.median(t[above] - t[below] for t in times)


def median(times, which: int) -> float:
    return statistics.median(t[which] for t in times)


def milliseconds(times, **which) -> str:
    """The median of each function named, for a table."""
    return ", ".join(f"{name} {1e3 * median(times, k):.3g} ms" for name, k in which.items())
