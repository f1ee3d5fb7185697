"""Tracebacks of errors that leave autodiff: they end at the user's call, with none of the compiler's frames."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np

from ..options import Options
from ..runtime.machine_code import store
from ..transforms.language import errors
from ..transforms.language.cells import in_cells

F = TypeVar("F", bound=Callable[..., Any])
OURS = tuple({str(Path(file).resolve().parents[k]) + os.sep for file, k in (
    (__file__, 1), (errors.__file__, 1), (store.__file__, 1))})
LIBRARIES = tuple(str(Path(str(module.__file__)).parents[1] / name) + os.sep for module in (np, numba)
                  for name in ("numpy", "numba", "scipy", "llvmlite"))
STANDARD = sysconfig.get_path("stdlib") + os.sep
KEEPS_FRAMES = sys.version_info < (3, 11)       # a bare `raise` brings back the traceback that an error came with


def shortened(error: BaseException, debug: bool = False) -> BaseException:
    """`error`, to be raised where the user's call came in, without the frames below it that are autodiff's.

    A refusal tells its place itself and keeps none; what is raised while a program runs keeps those of the user's functions
    that it called, and of what they call. Places in cells of a notebook get the cells' names. With `debug`, or
    AUTODIFF_DEBUG=1 in the environment, all stay.
    """
    if debug or os.environ.get("AUTODIFF_DEBUG", "0") not in ("", "0"):
        return error
    error.__suppress_context__ = True
    if isinstance(error, errors.AutodiffError):
        error.__cause__ = None
        return error.with_traceback(None)
    if error.args and isinstance(error.args[0], str) and "\n  " in error.args[0]:
        error.args = (in_cells(error.args[0]), *error.args[1:])
    if notes := getattr(error, "__notes__", None):
        notes[:] = map(in_cells, notes)
    return error.with_traceback(of_users(error.__traceback__))


def of_users(frames: types.TracebackType | None) -> types.TracebackType | None:
    """A traceback without the frames of this package, of generated code and of what it calls itself."""
    kept: list[types.TracebackType] = []
    while frames is not None:                   # a loop: a RecursionError has a thousand of them
        file = frames.tb_frame.f_code.co_filename
        if not file.startswith(OURS) and not store.is_stored(file) and (kept or not of_library(file)):
            kept.append(frames)
        frames = frames.tb_next
    rest = None
    for one in reversed(kept):
        rest = types.TracebackType(rest, one.tb_frame, one.tb_lasti, one.tb_lineno)
    return rest


def of_library(file: str) -> bool:
    """Whether a file is of what generated code calls: NumPy and its like, or Python's own library."""
    own = file.startswith(STANDARD) and "-packages" not in file[len(STANDARD):]
    return own or file.startswith((*LIBRARIES, "<frozen ", "<__array_function__"))


def entry(function: F) -> F:
    """A function that users call, or a method of a compiled object, with shortened tracebacks of what it raises; with the
    option `debug` they are whole. From Python 3.11 on they end at the caller's line, else one frame below it."""
    @functools.wraps(function)
    def called(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except Exception as e:
            options = getattr(args[0], "options", None) if args else None
            debug = kwargs.get("debug", isinstance(options, Options) and options.debug)
            shortened(e, debug)
            if KEEPS_FRAMES:
                __tracebackhide__ = not debug           # pytest and IPython read it
                raise e
            raise                               # bare: it adds no frame of its own
    return cast(F, called)


__all__ = ["entry", "of_users", "shortened"]
