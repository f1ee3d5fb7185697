"""Work on a thread of its own: deep recursion has room there, and Ctrl-C cannot leave it half done.

Numba registers what it knows in tables that are never filled again, and recurs once for every block of a program. So it
compiles on such a thread, while the caller waits: an interrupt ends the waiting, and the work goes on to its end.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import sys
import threading
from collections.abc import Callable
from typing import Any

from numba.core.compiler_lock import global_compiler_lock

from .forks import new_lock

__all__ = ["apart"]

STACK = 512 << 20                       # bytes of address space: only what is used takes memory
DEPTH = 40_000                          # calls of Python that surely fit there

_lock = new_lock(whole=True)
_running = 0
_limit = 0                              # that of recursion, before the first of those that run


def apart(function: Callable[..., Any], *args: Any, depth: int = DEPTH) -> Any:
    """`function(*args)`; on this thread if it is in the middle of a compilation by Numba, whose lock it holds.

    depth: the least limit of recursion.
    """
    if threading.current_thread().name == __name__ or global_compiler_lock.is_locked():
        return function(*args)
    outcome: list[Any] = []
    done = threading.Event()
    context = contextvars.copy_context()

    def run(limit: int) -> None:
        try:
            with _deep(limit):
                outcome.append((context.run(function, *args), None))
        except BaseException as error:
            outcome.append((None, error))
        finally:
            done.set()

    thread = _started(run, depth)
    if thread is None:
        return function(*args)
    done.wait()
    result, error = outcome.pop()
    if error is not None:
        try:
            raise error
        finally:
            del error                   # it holds this frame
    return result


def _started(run: Callable[[int], None], depth: int) -> threading.Thread | None:
    """A thread with a large stack, or the usual one, that runs `run(limit of recursion)`; None if there can be none."""
    for size, limit in ((STACK, depth), (0, 0)):
        thread = threading.Thread(target=run, args=(limit,), name=__name__)
        with _lock, contextlib.suppress(RuntimeError, ValueError):
            before = threading.stack_size(size)
            try:
                thread.start()
                return thread
            finally:
                threading.stack_size(before)
    return None


@contextlib.contextmanager
def _deep(limit: int):
    """At least this limit of recursion while any such thread runs: the limit is one for all threads."""
    global _running, _limit
    with _lock:
        if not _running:
            _limit = sys.getrecursionlimit()
            sys.setrecursionlimit(max(_limit, limit))
        _running += 1
    try:
        yield
    finally:
        with _lock:
            _running -= 1
            if not _running:
                sys.setrecursionlimit(_limit)


def _in_child() -> None:
    """None of these threads is in a forked process, unless one of them forked."""
    global _running
    if _running and threading.current_thread().name != __name__:
        _running = 0
        sys.setrecursionlimit(_limit)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
