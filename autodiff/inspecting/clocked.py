"""Generated text with a stopwatch in it: which of its statements end a lap, and which loops have laps inside.

    for t in range(n):              the loop over t is entered: a lap after each loop, and after the statements between
        for i in range(m): ...      an innermost loop is one segment

A clock inside an innermost loop would change what it measures: no vector instructions, and reading it takes as long as many
iterations. The loops around, and the module's functions that are called, are entered while all laps together take a small
part of a call. That is known after a run that only counts how often each of them turns or is called (`counting`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..runtime.library_calls import CALLS
from ..runtime.stopwatch import SEGMENTS

LIBRARY = {call.helper for call in CALLS.values()}
LOOPS, LEAVING = (ast.For, ast.While), (ast.Return, ast.Raise, ast.Break, ast.Continue)
BEFORE, CLOCK, FIRST = 0, 1, 2      # what is before the first lap; the time that a lap takes; the segments
IMPORT = "from autodiff.runtime.stopwatch import lap, tally"


@dataclass
class Clocked:
    """A text with laps or tallies.

    segments: the first and last lines of each, in the generated text, from FIRST on. places: what may be entered, by the
    line of a loop or of `def`; inside: what is in each; laps: how many laps, those of inner places left out.
    """

    text: str = ""
    segments: list[tuple[int, int]] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    inside: dict[int, set[int]] = field(default_factory=dict)
    laps: dict[int, int] = field(default_factory=dict)


class Clocking:
    """One reading of a generated module. enters: which places have laps inside, by their lines."""

    def __init__(self, text: str, entry: str, enters: Callable[[int], bool], skipped: Iterable[str] = ()):
        self.lines = text.split("\n")
        self.functions = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)
                          and not node.decorator_list and node.name not in skipped}      # those marked @inline are short
        self.entry, self.enters, self.made = self.functions[entry], enters, Clocked()
        self.laps: dict[int, list[str]] = {}            # new lines, by the line that they follow
        self.tallies: dict[int, list[str]] = {}
        self.waiting = [self.entry]
        done: set[int] = set()
        for node in self.waiting:                       # grows
            if node.lineno not in done:
                done.add(node.lineno)
                self.block(body_of(node), node.lineno)

    def with_lines(self, new: dict[int, list[str]]) -> Clocked:
        out: list[str] = []
        for number, line in enumerate(self.lines, 1):
            out += [line, *new.get(number, ())]
        first = body_of(self.entry)[0]
        head = out.index(self.lines[self.entry.lineno - 1])
        start = out.index(self.lines[first.lineno - 1], head)
        pad = " " * first.col_offset
        out[start:start] = [f"{pad}lap({BEFORE})", f"{pad}lap({CLOCK})"]
        head = next(k for k, line in enumerate(out) if line.startswith(("import ", "from ", "def ", "@")))
        self.made.text = "\n".join([*out[:head], IMPORT, *out[head:]])
        return self.made

    def is_entered(self, node, place: int) -> bool:
        """Whether laps go into a loop or function that is met in a place."""
        self.made.inside.setdefault(place, set()).add(node.lineno)
        if node.lineno not in self.made.places:
            if len(self.made.places) >= SEGMENTS:
                return False
            self.tallies.setdefault(body_of(node)[0].lineno - 1, []).append(
                f"{' ' * node.body[0].col_offset}tally({len(self.made.places)})")
            self.made.places.append(node.lineno)
        return self.enters(node.lineno)

    def block(self, block: list[ast.stmt], place: int) -> None:
        """The laps of a block: after each loop, and after statements of one line that follow each other."""
        run: list[ast.stmt] = []
        for stmt in block:
            met = [n for n in ast.walk(stmt) if isinstance(n, LOOPS)]
            calls = [self.functions[n.func.id] for n in ast.walk(stmt) if isinstance(n, ast.Call)
                     and isinstance(n.func, ast.Name) and n.func.id in self.functions]
            if isinstance(stmt, LEAVING):
                self.lap(run, place)
                continue
            if not met and not (calls and isinstance(stmt, ast.If)):
                self.reach(calls, place)
                run.append(stmt)
                continue
            self.lap(run, place)
            if isinstance(stmt, ast.If):
                self.block(stmt.body, place)
                self.block(stmt.orelse, place)
            elif isinstance(stmt, LOOPS) and self.has_laps(stmt, met, calls) and self.is_entered(stmt, place):
                self.block(stmt.body, stmt.lineno)
            else:
                self.lap([stmt], place)
        self.lap(run, place)

    def has_laps(self, stmt, met: list, calls: list) -> bool:
        """Whether a loop has more inside than a lap would disturb: loops, functions with loops, library calls."""
        return len(met) > 1 or bool(calls) or any(
            isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in LIBRARY for n in ast.walk(stmt))

    def reach(self, calls: list, place: int) -> None:
        for node in calls:
            if self.is_entered(node, place):
                self.waiting.append(node)

    def lap(self, run: list[ast.stmt], place: int) -> None:
        """A lap after statements; those of a run are one segment."""
        number = FIRST + len(self.made.segments)
        if run and number < SEGMENTS:
            first, last = run[0].lineno, run[-1].end_lineno or run[-1].lineno
            self.made.segments.append((first, last))
            self.made.laps[place] = self.made.laps.get(place, 0) + 1
            self.laps.setdefault(last, []).append(f"{' ' * run[-1].col_offset}lap({number})")
        run.clear()


def body_of(node) -> list[ast.stmt]:
    """The statements of a loop or function, without a docstring."""
    first = node.body[0]
    told = isinstance(node, ast.FunctionDef) and isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return node.body[1:] if told else node.body


def counting(text: str, entry: str, skipped: Iterable[str] = ()) -> Clocked:
    """The module with a tally in each place that might be entered: `tally(k)` for `places[k]`."""
    reading = Clocking(text, entry, lambda line: True, skipped)
    return reading.with_lines(reading.tallies)


def clocked(text: str, entry: str, entered: set[int], skipped: Iterable[str] = ()) -> Clocked:
    """The module with laps in the places that are entered."""
    reading = Clocking(text, entry, entered.__contains__, skipped)
    return reading.with_lines(reading.laps)


def affordable(counted: Clocked, entry: int, turns: dict[int, int], most: float) -> set[int]:
    """The places to enter: those with the fewest laps first, as long as there are no more than `most` in a call. turns: how
    often each turns or is called; entry: the line of the function that is called."""
    found: set[int] = set()
    waiting, spent = set(counted.inside.get(entry, ())), 0.0
    while waiting:
        cost, place = min((turns[p] * counted.laps.get(p, 0), p) for p in waiting)
        spent += cost
        if spent > most:
            break
        found.add(place)
        waiting = waiting - {place} | counted.inside.get(place, set()) - found
    return found


COSTLY = re.compile(r"\b(?:np|math)\.(?!add\b|float32|float64|int64|bool_|nan|inf|empty|zeros|ones|full|divide)\w+\(")


def weight(text: str) -> int:
    """How much of its segment a line is taken to be: an elementary function as ten other lines."""
    return 0 if not text.strip() or text.lstrip().startswith("#") else 1 + 10 * len(COSTLY.findall(text))


__all__ = ["CLOCK", "FIRST", "affordable", "clocked", "counting", "weight"]
