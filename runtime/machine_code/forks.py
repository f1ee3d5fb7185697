"""What a forked process must find whole: locks that other threads held, Numba between two compilations.

A fork copies one thread. A lock that another one held would never be released in the child, and what it guarded may be half
done. So a fork waits for the compilation that is running, and the other locks of the package, which guard nothing but who
writes first, are free in the child. Numba's threads are gone there, and OpenMP ends a child that asks for them.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

from llvmlite.binding import ffi
from numba.core.compiler_lock import global_compiler_lock
from numba.np.ufunc import parallel

__all__ = ["child_of_threads", "new_lock"]

LONGEST_WAIT = 60                       # seconds: who compiles may wait in turn for what the forking thread holds

_locks: weakref.WeakSet = weakref.WeakSet()
_held: list[Any] = []                   # Numba's locks, while this process forks
_threads_are_gone = False


def new_lock() -> Any:
    """A reentrant lock that is free in a forked process."""
    lock = threading.RLock()
    _locks.add(lock)
    return lock


def child_of_threads() -> bool:
    """Whether this process was forked from one that ran loops on Numba's threads, of which it has none."""
    return _threads_are_gone


def _numbas() -> tuple:
    return global_compiler_lock._lock, ffi.lib._lock._lock


def _before() -> None:
    for lock in _numbas():
        if lock.acquire(timeout=LONGEST_WAIT):
            _held.append(lock)


def _release() -> None:
    while _held:
        _held.pop().release()


def _in_child() -> None:
    global _threads_are_gone
    for lock in _numbas():
        if lock not in _held:
            lock._at_fork_reinit()
    _release()
    _threads_are_gone = _threads_are_gone or bool(parallel._is_initialized)
    for lock in list(_locks):
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_release, after_in_child=_in_child)
