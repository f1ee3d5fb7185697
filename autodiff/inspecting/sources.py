"""`f.source`: a generated program as a text that shows itself as a program."""

from __future__ import annotations

from ..transforms.language.cells import in_cells
from ..transforms.language.markup import piece, program


class Source(str):
    """The text of a generated program: a str in every respect, which prompts and notebooks show line by line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str.__str__(self)

    def _repr_pretty_(self, printer, cycle: bool) -> None:
        """As IPython shows it: places in cells have the cells' names."""
        printer.text(in_cells(str.__str__(self)))

    def _repr_html_(self) -> str:
        return piece(program(str.__str__(self)))


__all__ = ["Source"]
