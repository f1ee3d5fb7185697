"""Tracebacks of errors that leave autodiff: the caller's frames and the one that was called, none of the compiler's."""

from __future__ import annotations

import functools
import os
import types
from pathlib import Path

from ..options import Options
from ..transforms.language import errors

OURS = tuple({str(Path(file).resolve().parents[1]) + os.sep for file in (__file__, errors.__file__)})


def shortened(error: BaseException, debug: bool = False) -> BaseException:
    """`error`, to be raised where the user's call came in, without the frames below it that are autodiff's.

    A refusal tells its place itself and keeps none; what is raised while a program runs keeps those of other files. With
    `debug`, or AUTODIFF_DEBUG=1 in the environment, all stay.
    """
    if debug or os.environ.get("AUTODIFF_DEBUG", "0") not in ("", "0"):
        return error
    if isinstance(error, errors.AutodiffError):
        error.__cause__, error.__suppress_context__ = None, True
        return error.with_traceback(None)
    return error.with_traceback(of_others(error.__traceback__))


def of_others(frames: types.TracebackType | None) -> types.TracebackType | None:
    """A traceback without the frames of this package."""
    kept = []
    while frames is not None:                   # a loop: a RecursionError has a thousand of them
        if not frames.tb_frame.f_code.co_filename.startswith(OURS):
            kept.append(frames)
        frames = frames.tb_next
    rest = None
    for frame in reversed(kept):
        rest = types.TracebackType(rest, frame.tb_frame, frame.tb_lasti, frame.tb_lineno)
    return rest


def entry(function):
    """A function that users call, or a method of a compiled object, with shortened tracebacks of what it raises; with the
    option `debug` they are whole."""
    @functools.wraps(function)
    def called(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except Exception as e:
            options = getattr(args[0], "options", None) if args else None
            debug = kwargs.get("debug", isinstance(options, Options) and options.debug)
            raise shortened(e, debug) from e.__cause__
    return called


__all__ = ["entry", "shortened"]
