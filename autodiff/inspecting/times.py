"""What `f.times` shows: how long a call takes, by the user's lines, each sweep apart."""

from __future__ import annotations

import linecache
from collections.abc import Iterable
from dataclasses import dataclass

from ..transforms.language import markup
from ..transforms.language.cells import cell
from .clocked import weight
from .lines import SourceLine, short

SWEEPS = ("forward", "reverse", "tangents")


@dataclass(frozen=True)
class TimedSegment:
    """Lines `first` to `last` of the generated source, the seconds of a call that they take, and how often they run."""

    first: int
    last: int
    seconds: float
    count: int


@dataclass(frozen=True)
class TimedLine:
    """A line of the user's: the seconds of a call for it, by sweep. shared: the part of them that is an estimate, as it is
    of loops that compute other lines too."""

    file: str
    line: int
    text: str
    sweeps: dict[str, float]
    shared: float = 0.0

    @property
    def forward(self) -> float:
        return self.sweeps.get("forward", 0.0)

    @property
    def reverse(self) -> float:
        return self.sweeps.get("reverse", 0.0)

    @property
    def seconds(self) -> float:
        return sum(self.sweeps.values())

    @property
    def where(self) -> str:
        return f"{cell(self.file) or short(self.file)}:{self.line}"


class Times(tuple):
    """The user's lines with their times, in the order of the files. Prints as a table.

    call: the seconds of a call without laps, the fastest of `calls`. segments: what was measured, by lines of the generated
    source. other: seconds of what no line of the user's stands for, such as memory of results.
    """

    call: float
    calls: int
    segments: tuple[TimedSegment, ...]
    other: float

    def __new__(cls, segments: Iterable[TimedSegment], lines: Iterable[SourceLine], call: float, calls: int):
        segments = tuple(segments)
        found, other = by_line(segments, tuple(lines))
        made = super().__new__(cls, found)
        made.call, made.calls, made.segments, made.other = call, calls, segments, other
        return made

    def rows(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Head and rows of the table, in milliseconds."""
        sweeps = [s for s in SWEEPS if any(s in one.sweeps for one in self)]
        rows = [(*(amount(one.sweeps.get(s, 0.0), one.shared > 0) for s in sweeps), one.where, one.text.strip())
                for one in self]
        rest = [""] * len(sweeps)
        if self.other:
            rows.append((amount(self.other), *rest, "memory of results, and what has no line of yours"))
        rows.append((amount(self.call), *rest, f"a call, the fastest of {self.calls}"))
        return (*(f"{s} ms" for s in sweeps), "", ""), rows

    def __str__(self) -> str:
        head, rows = self.rows()
        widths = [max(len(r[k]) for r in (head, *rows)) for k in range(len(head) - 1)]
        count = len(head) - 2

        def joined(row: tuple[str, ...]) -> str:
            numbers = [text.rjust(width) for text, width in zip(row[:count], widths, strict=False)]
            return "  ".join([*numbers, row[count].ljust(widths[count]), row[-1]]).rstrip()
        return "\n".join(map(joined, (head, *rows)))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, rows = self.rows()
        return markup.piece(markup.table(head, rows, numbers=tuple(range(len(head) - 2))))


def amount(seconds: float, estimated: bool = False) -> str:
    """Milliseconds; with a mark where a part of them is an estimate."""
    text = f"{1e3 * seconds:.4f}" if seconds < 1e-3 else f"{1e3 * seconds:.2f}"
    return f"~{text}" if estimated and seconds else text if seconds else ""


def by_line(segments: tuple[TimedSegment, ...], lines: tuple[SourceLine, ...]) -> tuple[list[TimedLine], float]:
    """(the user's lines with their times, the time of what stands for none of them).

    A segment that several of them share is divided by what its generated lines do (`weight`).
    """
    seconds: dict[tuple[str, int], dict[str, float]] = {}
    shared: dict[tuple[str, int], float] = {}
    other = 0.0
    for segment in segments:
        own = [one for one in lines[segment.first - 1:segment.last] if weight(one.text)]
        whole = sum(weight(one.text) for one in own)
        placed = {(place, one.sweep) for one in own for place in one.places}
        for one in own:
            taken = [(place, one.sweep) for place in one.places]
            if not taken and len(placed) == 1:          # a `for` without a place
                taken = list(placed)
            part = segment.seconds * weight(one.text) / whole / max(1, len(taken))
            if not taken:
                other += part
            for place, sweep in taken:
                sweeps = seconds.setdefault(place, {})
                sweeps[sweep] = sweeps.get(sweep, 0.0) + part
                if len(placed) > 1:
                    shared[place] = shared.get(place, 0.0) + part
    return [TimedLine(file, n, linecache.getline(file, n).rstrip("\n"), sweeps, shared.get((file, n), 0.0))
            for (file, n), sweeps in sorted(seconds.items())], other


__all__ = ["TimedLine", "TimedSegment", "Times"]
