"""Printing a core program as Python: single-use temporaries are nested back, names are made unique, loops carry their
values under one name."""

from __future__ import annotations

from ..language.core import Arr, Function
from ..language.errors import UnsupportedSyntax
from ..language.python_text import Line, identifier, tidy
from ..language.units import Unit, units_in
from .block_text import BlockText
from .docstring import docstring
from .line_text import RESERVED

READABLE = "    " * 99          # Python reads 100 levels of indentation

SHORT = 30                      # items of a tuple; Numba takes no choice, `a if c else b`, inside of a longer one


class Printer(BlockText):
    """A program, from its first line to its last."""

    def private_copy(self, p: Arr) -> str:
        self.helpers.add("copied")
        return f"copied({self.name(p)})"

    def run(self) -> str:
        f = self.function
        params = ", ".join((*self.leading, *map(self.name, f.params)))
        self.put(0, f"def {f.name}({params}):")
        for p in f.params:
            if p in f.copied:
                self.put(1, f"{self.name(p)} = {self.private_copy(p)}")
        self.block(f.body, 1)
        parts = [self.name(r) if isinstance(r, Arr) else self.atom(r) for r in f.returns]
        for k, r in enumerate(f.returns if len(parts) > SHORT else ()):
            if " if " in parts[k]:
                self.put(1, f"{self.name(r)} = {parts[k]}")
                parts[k] = self.name(r)
        self.put(1, f"return {', '.join(parts)}" if parts else "return None")
        told = docstring(f, self.names.given_to)
        if told:
            self.lines.insert(1, Line(f"    {told}"))
        self.lines = tidy(self.lines)
        return "\n".join(self.lines) + "\n"


def names_of(programs) -> dict[Unit, str]:
    """What the functions of the units of programs are called in one module, in the order in which they stand there."""
    taken = {*RESERVED, "np", "math", *(p.name for p in programs)}
    found: dict[Unit, str] = {}
    for unit in units_in(programs):
        base = name = identifier(unit.name)
        k = 1
        while name in taken:
            k += 1
            name = f"{base}_{k}"
        taken.add(name)
        found[unit] = name
    return found


def printed(function: Function, units: dict[Unit, str] | None = None) -> Printer:
    """What printed a program, with its lines and names. units: the names of those that the module has."""
    printer = Printer(function, names_of((function,)) if units is None else units)
    printer.run()
    if any(line.startswith(READABLE) for line in printer.lines):
        raise UnsupportedSyntax(f"`{function.name}` has more than 80 loops and branches inside one another", None,
                                "make functions of parts of it, or look the values up in an array")
    return printer


def emit(function: Function, units: dict[Unit, str] | None = None) -> tuple[str, set[str]]:
    """The Python text of a program and the runtime helpers it calls, see `printed`."""
    printer = printed(function, units)
    return "\n".join(printer.lines) + "\n", printer.helpers
