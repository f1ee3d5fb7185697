"""The debugger of Python in generated text: pdb, which stops first in one sweep of a derivative."""

from __future__ import annotations

import linecache
import pdb
import sys
from bdb import BdbQuit
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ..inspecting.lines import SECTION
from .building import RUNNER

SWEEPS = ("forward", "reverse")
APART = ["autodiff.*", "numpy.*", "numba.*", "scipy.*"]      # modules that `step` goes over: generated ones have other names


class Debugger(pdb.Pdb):
    """pdb, which stops first at a line of one function, or behind it.

    code: of that function. line: its number in the file.
    """

    def __init__(self, code, line: int):
        super().__init__(skip=APART)
        self.code, self.line, self.there = code, line, False

    def stop_here(self, frame) -> bool:
        """Whether to stop at a frame; nothing is told of what runs before the first stop."""
        self.there = self.there or frame.f_code is self.code and frame.f_lineno >= self.line
        return self.there and super().stop_here(frame)


def first_of(function: FunctionType, sweep: str) -> int:
    """The number of the first line of a sweep of a generated function that does something.

    ValueError if the function has no such sweep.
    """
    code = function.__code__
    first = code.co_firstlineno
    lines = sorted({line for _, _, line in code.co_lines() if line and line > first})
    if sweep == "reverse":
        text = linecache.getlines(code.co_filename)
        marks = (k for k in range(first, lines[-1]) if (found := SECTION.match(text[k - 1])) and "reverse" in found[2])
        first = next(marks, 0)
        if not first:
            raise ValueError(f"{code.co_name} has no reverse sweep: leave sweep= out")
    return next(line for line in lines if line > first)


def debugged(call: Callable[[], Any], sweep: str = "forward") -> Any:
    """The result of a call in which generated Python text runs in a debugger, None after `quit`.

    A trace function that was there before (another debugger's, or one that measures coverage) is there again after it.
    ValueError for a sweep that there is not.
    """
    if sweep not in SWEEPS:
        raise ValueError(f"sweep must be 'forward' or 'reverse', not {sweep!r}")

    def run(function, *args):
        debugger = Debugger(function.__code__, first_of(function, sweep))
        before = sys.gettrace()
        debugger.reset()
        sys.settrace(debugger.trace_dispatch)           # `runcall` would not tell a program that was quit
        try:
            return function(*args)
        finally:
            sys.settrace(before)
    token = RUNNER.set(run)
    try:
        return call()
    except BdbQuit:
        return None
    finally:
        RUNNER.reset(token)


__all__ = ["debugged"]
