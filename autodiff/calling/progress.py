"""What interactive users see of a compilation that takes long: one line on the standard error, gone when it is done.

It is there at a prompt (Python's, IPython's) and in commands of `python -m autodiff`, on a terminal alone. The environment's
AUTODIFF_PROGRESS=0 turns it off, AUTODIFF_PROGRESS=1 has it in scripts too.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..runtime.machine_code.forks import new_lock
from ..transforms.language.cells import in_cells

DELAY = 2.0             # seconds before a line is shown
EVERY = 1.0             # and then from one to the next
LONG = 16               # so many copies of the body of a loop are told of


class Line:
    """The line of this process. tasks: what is being done, each within the one before it, or in another thread."""

    def __init__(self) -> None:
        self.tasks: list[list[str]] = []
        self.lock = new_lock()
        self.done = threading.Event()
        self.width = 0                          # of what is shown
        self.began = 0.0
        self.command = False                    # whether this process is a command of `python -m autodiff`
        self.told: set = set()                  # the loops that were told of

    def interactive(self) -> bool:
        """Whether there is somebody to read a line."""
        setting = os.environ.get("AUTODIFF_PROGRESS", "")
        if setting == "0" or not (setting or self.command or hasattr(sys, "ps1")):
            return False
        try:
            return sys.stderr.isatty()
        except (AttributeError, ValueError):    # no stream, or a closed one
            return False

    def begin(self, text: str) -> list[str]:
        """A task, to be given to `end`."""
        task = [text]
        with self.lock:
            self.tasks.append(task)
            if len(self.tasks) == 1:
                self.done, self.began = threading.Event(), time.monotonic()
                threading.Thread(target=self.watch, args=(self.done, sys.stderr), daemon=True).start()
        return task

    def end(self, task: list[str]) -> None:
        with self.lock:
            self.tasks = [other for other in self.tasks if other is not task]
            if not self.tasks:
                self.done.set()
                if self.width:
                    self.write(sys.stderr, "")
                self.width = 0

    def watch(self, done: threading.Event, stream: Any) -> None:
        """Show what is being done until it is done; a thread of its own."""
        wait = DELAY
        while not done.wait(wait):
            wait = EVERY
            with self.lock:
                if done.is_set():
                    return
                seconds = time.monotonic() - self.began
                self.write(stream, f"{self.tasks[-1][0]} ... {seconds:.0f} s")

    def write(self, stream: Any, text: str) -> None:
        """Put a text in the place of the one shown."""
        text = text[:shutil.get_terminal_size().columns - 1]
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.write(f"\r{text.ljust(self.width)}" + ("" if text else "\r"))
            stream.flush()
        self.width = len(text)


LINE = Line()


@dataclass
class Note:
    """What comes out of a task. loops: those that were written out, by their places, with the numbers of copies."""

    loops: Mapping[Any, int] = field(default_factory=dict)


@contextlib.contextmanager
def progress(text: str) -> Iterator[Note]:
    """Tell of what happens within this, should it take long; and of long loops in its note, each once."""
    note = Note()
    if not LINE.interactive():
        yield note
        return
    began, task = time.monotonic(), LINE.begin(text)
    try:
        yield note
    finally:
        LINE.end(task)
    if time.monotonic() - began < DELAY:
        return
    for loc, copies in note.loops.items():
        if copies >= LONG and loc not in LINE.told:
            LINE.told.add(loc)
            print(f"autodiff: {in_cells(loc.short())}: this loop is written out {copies} times, a copy for each item: over "
                  "an array, or a list of alike items, it would be one loop, and compile sooner", file=sys.stderr)


__all__ = ["LINE", "progress"]
