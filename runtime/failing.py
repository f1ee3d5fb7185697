"""Errors of library calls, which do not know the user's line: whoever calls them from compiled code leaves word of it.

`LinAlgErrorThere("Singular matrix")` is a `np.linalg.LinAlgError`. Its text ends with the place that the last call of
`note_failure` in this thread stands for; `unplaced` is the text without it.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np

_here = threading.local()                       # `tell`: what tells the places of the program that is about to fail
_known: list[Callable[[str], str]] = []         # what a number in compiled code stands for
_SYMBOL = "autodiff_note_failure"
NOTHING = -1                                    # nothing is about to fail


def number_of(tell: Callable[[str], str]) -> int:
    """The number by which compiled code says that errors are told by `tell`: from the text of one to its places, if any."""
    _known.append(tell)
    return len(_known) - 1


@ctypes.CFUNCTYPE(None, ctypes.c_int64)
def _note(number: int) -> None:
    _here.tell = _known[number] if number != NOTHING else None


llvm.add_symbol(_SYMBOL, ctypes.cast(_note, ctypes.c_void_p).value)
note_failure = numba.types.ExternalFunction(_SYMBOL, numba.void(numba.int64))       # for compiled code


class LinAlgErrorThere(np.linalg.LinAlgError):
    """What library calls raise, compiled or not: the exception made is a `LinAlgError` itself."""

    def __new__(cls, text: Any) -> Any:
        if isinstance(text, BaseException):     # Python makes an exception again whose class is not the one raised
            return text
        tell = getattr(_here, "tell", None)     # may be asked twice: Numba makes an exception, and Python another of it
        places = tell(text) if tell is not None else ""
        made = np.linalg.LinAlgError(f"{text}\n  {places}" if places else text)
        vars(made)["unplaced"] = text
        return made


__all__ = ["NOTHING", "LinAlgErrorThere", "note_failure", "number_of"]
