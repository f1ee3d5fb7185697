"""What a forked process must find whole: locks that other threads held, Numba between two compilations.

A fork copies one thread. A lock that another one held would never be released in the child, and what it guarded may be half
done. So a fork waits for the compilation that is running and for modules that are being loaded, and the other locks of the
package, which guard nothing but who writes first, are free in the child. Numba's threads are gone there, and OpenMP ends a
child that asks for them.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import Any

from llvmlite.binding import ffi
from numba.core.compiler_lock import global_compiler_lock
from numba.np.ufunc import parallel

__all__ = ["LOADING", "child_of_threads", "new_lock"]

LONGEST_WAIT = 60                       # seconds: who compiles may wait in turn for what the forking thread holds

_locks: weakref.WeakSet = weakref.WeakSet()
_waited_for: list[Any] = [global_compiler_lock._lock, ffi.lib._lock._lock]
_held: list[Any] = []                   # those, while this process forks
_threads_are_gone = False


def new_lock(whole: bool = False) -> Any:
    """A reentrant lock that is free in a forked process. whole: a fork waits for who holds it; for locks that stay."""
    lock = threading.RLock()
    if whole:
        _waited_for.append(lock)
    else:
        _locks.add(lock)
    return lock


LOADING = new_lock(whole=True)          # held while a module is loaded, which a child would find half executed


def child_of_threads() -> bool:
    """Whether this process was forked from one that ran loops on Numba's threads, of which it has none."""
    return _threads_are_gone


def _before() -> None:
    """Take all that a fork waits for. It holds none while it waits: who has one of them may need another."""
    end = time.monotonic() + LONGEST_WAIT
    first = None
    while True:
        taken: list[Any] = []
        for lock in sorted(_waited_for, key=lambda lock: lock is not first):        # first the one that was waited for
            if lock.acquire(timeout=0.0 if taken else max(end - time.monotonic(), 0.0)):
                taken.append(lock)
            elif time.monotonic() < end:
                first = lock
                break
        else:
            _held.extend(taken)
            return
        for lock in taken:
            lock.release()


def _release() -> None:
    while _held:
        _held.pop().release()


def _in_child() -> None:
    global _threads_are_gone
    for lock in _waited_for:
        if lock not in _held:
            lock._at_fork_reinit()
    _release()
    _threads_are_gone = _threads_are_gone or bool(parallel._is_initialized)
    for lock in list(_locks):
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_release, after_in_child=_in_child)
