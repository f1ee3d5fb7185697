"""What `f.tape` shows: every saved quantity with its size in bytes as a formula, and the reason."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .transforms.core import Const


@dataclass(frozen=True)
class SavedQuantity:
    """`name` in the generated source; `shape`, `bytes`: formulas in its names; `reason`; `where`: for which line."""

    name: str
    dtype: str
    shape: tuple[str, ...]
    bytes: str
    reason: str
    where: str

    def __str__(self):
        return f"{self.name}[{', '.join(self.shape)}] {self.dtype}, {self.bytes} bytes: {self.reason} ({self.where})"


SYMBOLS = {"add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "floordiv": "{} // {}", "max": "max({}, {})",
           "min": "min({}, {})"}


def formula(atom, facts) -> str:
    """An integer of the program in the names of its source."""
    if isinstance(atom, Const):
        return str(atom.value)
    op, args = facts.definition.get(atom, ("", ()))
    if op not in SYMBOLS:
        return atom.hint
    text = SYMBOLS[op].format(*(formula(a, facts) for a in args))
    return text if op in ("max", "min") else f"({text})"


def describe_entry(tape, reason: str, where: str, facts) -> SavedQuantity:
    array = tape.array
    sizes = [formula(s, facts) for s in array.shape]
    if tape.ticket is not None:
        sizes[0] = "iterations"
    item = np.dtype(array.dtype).itemsize
    fixed = item
    symbols = []
    for s in sizes:
        if s.isdigit():
            fixed *= int(s)
        else:
            symbols.append(s)
    return SavedQuantity(array.hint, array.dtype, tuple(sizes), " * ".join([str(fixed), *symbols]), reason, where)


class Tape(tuple):
    """The saved quantities of a reverse sweep; prints as a table."""

    def __new__(cls, entries):
        return super().__new__(cls, tuple(describe_entry(*e) for e in entries))

    def __str__(self):
        if not self:
            return "the tape is empty: everything the reverse sweep needs is recomputed or still in memory"
        return "\n".join(map(str, self))

    __repr__ = __str__
