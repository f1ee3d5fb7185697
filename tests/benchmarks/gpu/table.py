"""The table of a run and the same as JSON."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

from .cases import CASES
from .running import Row

HEAD = ("case", "framework", "relative error", "forward ms", "forward+backward ms", "floor ms", "x floor", "goal",
        "jax / ours", "goal", "torch / ours")


def number(x: float, digits: int = 3) -> str:
    return "" if math.isnan(x) else f"{x:.{digits}g}"


def ratio(a: float, b: float) -> float:
    return a / b if b else float("nan")


def lines_of(rows: list[Row]) -> list[tuple[str, ...]]:
    """A line for each row; what compares frameworks stands in ours."""
    by_case: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_case.setdefault(row.case, {})[row.framework] = row
    lines = []
    for name, found in by_case.items():
        to_floor, to_jax = CASES[name].goals
        for row in found.values():
            forward, both = row.floor
            line = [name, row.framework, number(row.error, 2), number(row.forward_ms), number(row.both_ms),
                    f"{number(forward)} + {number(both - forward)}", number(ratio(row.both_ms, both))]
            if row.failure:
                line = [name, row.framework, row.failure]
            elif row.framework == "autodiff":
                torch = min((found[n].both_ms for n in ("torch", "torch.compile") if n in found and found[n].both),
                            default=float("nan"))
                jax = found["jax"].both_ms if "jax" in found else float("nan")
                line += [f"<= {to_floor:g}", number(ratio(jax, row.both_ms)), f">= {1.0 / to_jax:.2g}",
                         number(ratio(torch, row.both_ms))]
            lines.append(tuple(line))
    return lines


def aligned(head, lines) -> str:
    """Columns under their heads. A line that is shorter than the head ends in a message."""
    whole = [head, *(line for line in lines if len(line) != 3)]
    widths = [max(len(line[k]) if k < len(line) else 0 for line in whole) for k in range(len(head))]
    out = []
    for line in (head, tuple("-" * w for w in widths), *lines):
        cells = [text.ljust(w) if k < 2 else text.rjust(w) for k, (text, w) in enumerate(zip(line, widths, strict=False))]
        if len(line) == 3:
            cells[2] = line[2]
        out.append("  ".join(cells).rstrip())
    return "\n".join(out)


def markdown(head, lines) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in (head, tuple("---" for _ in head), *lines))


def text_of(rows: list[Row]) -> str:
    return aligned(HEAD, lines_of(rows))


def write(path: str, facts: dict, rows: list[Row]) -> None:
    """The rows with all times, and what is known of the machine, as JSON."""
    made = [{**dataclasses.asdict(r), "forward_ms": r.forward_ms, "both_ms": r.both_ms} for r in rows]
    made = [{k: None if isinstance(v, float) and math.isnan(v) else v for k, v in r.items()} for r in made]
    Path(path).write_text(json.dumps({**facts, "rows": made}, indent=1) + "\n", encoding="utf-8")


__all__ = ["aligned", "markdown", "text_of", "write"]
