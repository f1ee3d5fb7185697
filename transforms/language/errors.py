"""The errors users see. Each says what is wrong, where (file, line, caret), and what to do instead."""

from __future__ import annotations

import re

import numpy as np

from .cells import place
from .core import Loc
from .markup import Html, code, element, piece

INTERNAL = re.compile(r"(the list )?`(%[A-Za-z]{3,}|list\d+_\d+)[^`\n]*`")        # the compiler's own names for values


def in_users_words(text: str) -> str:
    """A message without names that only the compiler has: of the function's result, and of what has no name in Python."""
    return INTERNAL.sub(lambda m: "this list" if m[1] or m[2].startswith("list") else
                        "the result" if m[2] == "%value" else "this value", text)


class AutodiffError(Exception):
    """Base class. `problem` is one line, `loc` the user's place (or None), `hint` what to do instead."""

    def __init__(self, problem: str, loc: Loc | None = None, hint: str = ""):
        self.problem, self.loc, self.hint = in_users_words(problem), loc, in_users_words(hint)
        self.stands_for: type | None = None         # the class of the error that Python raises here
        self.within = False                         # it is about a library's code, or ours, that is read there
        self.packed = False             # whether the lowering took lists of the arguments as arrays
        super().__init__(self.render())

    def render(self) -> str:
        lines = [self.problem]
        if self.loc is not None and self.loc.line:
            where = f", in {self.loc.function}" if self.loc.function else ""
            lines.append(f"  {place(self.loc.file, self.loc.line)}{where}")
            if self.loc.text:
                stripped = self.loc.text.strip()
                indent = len(self.loc.text) - len(self.loc.text.lstrip())
                lines.append(f"    {stripped}")
                column = max(self.loc.column - indent, 0)
                width = max(1, min(self.loc.width or 1, len(stripped) - column))
                lines.append("    " + " " * column + "^" * width)
        if self.hint:
            lines.append(f"Try: {self.hint}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """As a notebook shows it: the user's line with the part that is refused marked."""
        parts = [element("b", type(self).__name__, "warn"), ": ", self.problem]
        if self.loc is not None and self.loc.line:
            where = f", in {self.loc.function}" if self.loc.function else ""
            parts.append(element("div", f"{place(self.loc.file, self.loc.line)}{where}", "note"))
            if self.loc.text:
                first, last = self.loc.column, self.loc.column + max(self.loc.width, 1)
                text = self.loc.text.rstrip()
                cut = len(text) - len(text.lstrip())
                parts.append(Html(f"<pre>    {code(text[cut:first])}{element('u', text[max(first, cut):last], 'warn')}"
                                  f"{code(text[last:])}</pre>"))
        return piece(*parts, element("div", f"Try: {self.hint}") if self.hint else "")

    def _repr_pretty_(self, printer, cycle: bool) -> None:
        printer.text(f"{type(self).__name__}: {self.render()}")

    def __reduce__(self):
        return type(self), (self.problem, self.loc, self.hint)


class AutodiffWarning(UserWarning):
    """What is right and may not be what was meant; shown once, when a function is compiled."""


class UnsupportedSyntax(AutodiffError):
    """A construct of Python that has no derivative here."""


class MissingRule(AutodiffError):
    """A call of something with neither Python source nor a derivative rule, on a value that is differentiated."""


class TypeConflict(AutodiffError, TypeError):
    """A value whose type or structure cannot be settled before the program runs."""


class WrongKind(TypeConflict):
    """A value of a kind that a function or operation does not take in Python either."""


class UndefinedName(TypeConflict, NameError):
    """A name that is not defined when the function is read."""


class UnboundName(UndefinedName, UnboundLocalError):
    """A name that a function binds, read where nothing has bound it yet."""


class MissingAttribute(TypeConflict, AttributeError):
    """An attribute that an object does not have when the function is read."""


class MissingModule(AutodiffError, ImportError):
    """A name that other libraries have and this one has not, where it is imported."""


class MissingKey(TypeConflict, KeyError):
    """A key that a dict does not have when the function is read."""

    __str__ = Exception.__str__             # a KeyError shows its text quoted


class MissingItem(TypeConflict, IndexError):
    """A place beyond the end of a list or tuple of known length, or a subscript that an array does not take."""


class OutOfRange(TypeConflict, OverflowError):
    """An integer of Python's that does not fit in the dtype of the array or number beside it."""


class ShapeMismatch(AutodiffError, ValueError):
    """Array shapes that do not fit together, in NumPy's words."""


class MissingAxis(ShapeMismatch, np.exceptions.AxisError):
    """An axis that an array does not have."""

    __str__ = AutodiffError.render          # an AxisError makes its text of what it was given


class NotAMatrix(ShapeMismatch, np.linalg.LinAlgError):
    """An array without the axes of a matrix, where linear algebra needs one."""


class ReadOnlyArray(AutodiffError, ValueError):
    """A write to an array that may not be written: an argument, or a view that NumPy makes read-only."""


class NonDifferentiable(AutodiffError, TypeError):
    """A derivative that does not exist: integer inputs or outputs, a loss that is not a scalar."""


class SourceUnavailable(AutodiffError, OSError):
    """A function whose Python source cannot be found."""


class SparsityError(AutodiffError, ValueError):
    """The structure of a sparse Jacobian: one that cannot be found, or one given by the user that misses an entry."""


class InternalError(AutodiffError):
    """A mistake of the compiler itself, never of the user."""


class CompilationError(InternalError):
    """Numba refused generated code: a mistake of the compiler, reported with the generated source."""


class UnsupportedOnDevice(AutodiffError):
    """A program that cannot run on a CUDA device: a loop whose iterations depend on each other, what threads cannot do."""


for _class in [one for one in globals().values() if isinstance(one, type) and one.__module__ == __name__]:
    _class.__module__ = "autodiff.errors"       # where users find them, and tracebacks say so
