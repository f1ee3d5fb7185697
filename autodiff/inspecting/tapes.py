"""What `f.tape` shows: every saved quantity with its size in bytes as a formula, and the reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..transforms.language import markup
from ..transforms.language.core import Const
from .bills import Bill


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


def formula(atom, facts, name_of) -> str:
    """An integer of the program in the names of its source."""
    if isinstance(atom, Const):
        return str(atom.value)
    op, args = facts.definition.get(atom, ("", ()))
    if op not in SYMBOLS:
        return name_of(atom) or atom.hint
    text = SYMBOLS[op].format(*(formula(a, facts, name_of) for a in args))
    return text if op in ("max", "min") else f"({text})"


def describe_entry(name_of, tape, reason: str, where: str, facts) -> SavedQuantity:
    array = tape.array
    sizes = [formula(s, facts, name_of) for s in array.shape]
    if tape.grows:
        sizes[0] = "iterations" if tape.ticket is not None else "elements"
    item = np.dtype(array.dtype).itemsize
    fixed = item
    symbols = []
    for s in sizes:
        if s.isdigit():
            fixed *= int(s)
        else:
            symbols.append(s)
    size = " * ".join([str(fixed), *symbols])
    return SavedQuantity(name_of(array) or array.hint, array.dtype, tuple(sizes), size, reason, where)


class Tape(tuple):
    """The saved quantities of a reverse sweep; prints as a table.

    reckon: gives the bill for arguments. name_of: what buffers and numbers are called in the source, None without a name.
    """

    _reckon: Callable | None = None

    def __new__(cls, entries, reckon: Callable | None = None, name_of: Callable = lambda x: None):
        made = super().__new__(cls, tuple(describe_entry(name_of, *e) for e in entries))
        made._reckon = reckon
        return made

    def bill(self, *args, **kwargs) -> Bill:
        """The memory of the reverse sweep for given arguments, buffer by buffer with its line: nothing is run for it.

        args: those of the function; a shape, as a tuple, may stand for an array. What only the run decides (how often a
        `while` turns) is listed with unknown size. Buffers inside loops count once. Prints as a table; `total` is the sum.
        Raises ValueError for sizes that this specialisation has not, such as other last axes where that is short.
        """
        assert self._reckon is not None
        return self._reckon(args, kwargs)

    def __str__(self):
        if not self:
            return "the tape is empty: everything the reverse sweep needs is recomputed or still in memory"
        return "\n".join(map(str, self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if not self:
            return markup.piece(str(self))
        return markup.piece(markup.table(("name", "shape", "dtype", "bytes", "for", "why"), (
            (s.name, f"[{', '.join(s.shape)}]", s.dtype, s.bytes, s.where, s.reason) for s in self)))
