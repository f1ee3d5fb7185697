"""Exceptions of checks in generated code: made with a text, the user's place and numbers of the run, in any mode.

`raise IndexErrorAt("index {} is out of bounds", "model.py:12, in f", i)` raises an `IndexError` whose text ends with the
place. `ValueErrorNoted` and the like leave the text as it is, for one the user has written, and give the exception a note.
"""

from __future__ import annotations

import string
from typing import Any

import numpy as np

KINDS = (ArithmeticError, AssertionError, Exception, FloatingPointError, IndexError, KeyError, NotImplementedError,
         OverflowError, RuntimeError, StopIteration, TypeError, ValueError, ZeroDivisionError, np.linalg.LinAlgError)
NUMPY = {"b": np.bool_, "d": np.float64, "f": np.float32, "q": np.int64}


class Percent:
    """A number that is written as `%` writes it."""

    def __init__(self, value: Any):
        self.value = value

    def __format__(self, spec: str) -> str:
        return ("%" + spec) % self.value


class Numbers(string.Formatter):
    """str.format for numbers of the run, which code compiled by Numba gives as Python's.

    A field `{!f}` is NumPy's float32 of the number, `{!F}` the repr of that; other letters are other types of `NUMPY`.
    `{!%:5.2f}` is the number as `%5.2f` writes it.
    """

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        value = value.item() if isinstance(value, np.generic) else value
        if conversion == "%":
            return Percent(value)
        kind = NUMPY.get((conversion or "").lower())
        if kind is None:
            return super().convert_field(value, conversion)         # type: ignore[arg-type]
        return kind(value) if conversion in NUMPY else repr(kind(value))


def text_of(text: str, numbers: tuple) -> str:
    """The text with the numbers in its fields.

    >>> text_of("{} of {:.2f}", (np.int64(3), 0.5))
    '3 of 0.50'
    """
    return Numbers().vformat(text, numbers, {}) if numbers else text


def _with_place(kind: type[BaseException]) -> type:
    def __new__(cls: type, text: Any, place: str = "", *numbers: Any) -> BaseException:
        if isinstance(text, BaseException):         # Python makes an exception again whose class is not the one raised
            return text
        return kind(text_of(text, numbers) + (f"\n  {place}" if place else ""))
    return _named(kind, "At", __new__)


def _with_note(kind: type[BaseException]) -> type:
    def __new__(cls: type, text: Any = "", place: str = "", *numbers: Any) -> BaseException:
        if isinstance(text, BaseException):
            return text
        made = kind(text_of(text, numbers)) if text else kind()
        if place:
            made.__notes__ = [f"  {place}"]         # type: ignore[attr-defined]  (shown from Python 3.11 on)
        return made
    return _named(kind, "Noted", __new__)


def _named(kind: type[BaseException], ending: str, new: Any) -> type:
    """A class that compiled code can raise, and whose construction gives an exception of `kind` itself."""
    name = kind.__name__ + ending
    return type(name, (kind,), {"__new__": new, "__module__": __name__, "__qualname__": name})


AT = {f"{kind.__name__}At": _with_place(kind) for kind in KINDS}
NOTED = {f"{kind.__name__}Noted": _with_note(kind) for kind in KINDS}
globals().update(AT, **NOTED)
IndexErrorAt, ZeroDivisionErrorAt, LinAlgErrorAt = AT["IndexErrorAt"], AT["ZeroDivisionErrorAt"], AT["LinAlgErrorAt"]

__all__ = ["AT", "KINDS", "NOTED", "text_of"]
