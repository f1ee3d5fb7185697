"""What interactive users see of a compilation that takes long: one line, gone when it is done.

It is on the standard error at a prompt (Python's, IPython's) and in commands of `python -m autodiff`, on a terminal alone;
and below the cell of a notebook that waits. The environment has it off by AUTODIFF_PROGRESS=0, in scripts too by
AUTODIFF_PROGRESS=1.
"""

from __future__ import annotations

import contextlib
import contextvars
import html
import os
import shutil
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..runtime.machine_code.forks import new_lock
from ..transforms.language.cells import in_cells, session

DELAY = 2.0             # seconds before a line is shown
EVERY = 1.0             # and then from one to the next
LONG = 16               # so many copies of the body of a loop are told of


class Terminal:
    """The last line of a terminal."""

    def __init__(self, stream: Any):
        self.stream, self.width = stream, 0     # of what is shown

    def show(self, text: str) -> None:
        """Put a text in the place of the one shown; "" leaves nothing."""
        text = text[:shutil.get_terminal_size().columns - 1]
        with contextlib.suppress(OSError, ValueError, AttributeError):
            self.stream.write(f"\r{text.ljust(self.width)}" + ("" if text else "\r"))
            self.stream.flush()
        self.width = len(text)


class Cell:
    """A line below the cell of a notebook that runs, which is written anew in its place."""

    def __init__(self, shell: Any):
        self.publish, self.name, self.shown = shell.display_pub.publish, uuid.uuid4().hex, False

    def show(self, text: str) -> None:
        """Put a text in the place of the one shown; "" leaves nothing."""
        page = f'<span style="opacity: 0.6">{html.escape(text)}</span>' if text else ""
        with contextlib.suppress(Exception):            # the front end is gone
            self.publish({"text/plain": text, "text/html": page}, transient={"display_id": self.name}, update=self.shown)
        self.shown = True


class Line:
    """The line of this process. tasks: what is being done, each within the one before it, or in another thread."""

    def __init__(self) -> None:
        self.tasks: list[list[str]] = []
        self.lock = new_lock()
        self.done = threading.Event()
        self.screen: Terminal | Cell | None = None      # what has a text on it
        self.began = 0.0
        self.command = False                    # whether this process is a command of `python -m autodiff`
        self.told: set = set()                  # the loops that were told of

    def reader(self) -> Callable[[], Terminal | Cell] | None:
        """What makes the place of a line; None if there is nobody to read it."""
        setting, shell = os.environ.get("AUTODIFF_PROGRESS", ""), session()
        if setting == "0":
            return None
        if getattr(shell, "kernel", None) is not None:
            return lambda: Cell(shell)
        if not (setting or self.command or hasattr(sys, "ps1")):
            return None
        try:
            return (lambda: Terminal(sys.stderr)) if sys.stderr.isatty() else None
        except (AttributeError, ValueError):    # no stream, or a closed one
            return None

    def begin(self, text: str, reader: Callable[[], Terminal | Cell]) -> list[str]:
        """A task, to be given to `end`."""
        task = [text]
        with self.lock:
            self.tasks.append(task)
            if len(self.tasks) == 1:
                self.done, self.began = threading.Event(), time.monotonic()
                context = contextvars.copy_context()    # in which a kernel knows the cell that runs
                threading.Thread(target=context.run, args=(self.watch, self.done, reader()), daemon=True).start()
        return task

    def end(self, task: list[str]) -> None:
        with self.lock:
            self.tasks = [other for other in self.tasks if other is not task]
            if not self.tasks:
                self.done.set()
                if self.screen is not None:
                    self.screen.show("")
                self.screen = None

    def watch(self, done: threading.Event, screen: Terminal | Cell) -> None:
        """Show what is being done until it is done; a thread of its own."""
        wait = DELAY
        while not done.wait(wait):
            wait = EVERY
            with self.lock:
                if done.is_set():
                    return
                seconds = time.monotonic() - self.began
                self.screen = screen
                screen.show(f"{self.tasks[-1][0]} ... {seconds:.0f} s")


LINE = Line()


@dataclass
class Note:
    """What comes out of a task. loops: those that were written out, by their places, with the numbers of copies."""

    loops: Mapping[Any, int] = field(default_factory=dict)


@contextlib.contextmanager
def progress(text: str) -> Iterator[Note]:
    """Tell of what happens within this, should it take long; and of long loops in its note, each once."""
    note = Note()
    reader = LINE.reader()
    if reader is None:
        yield note
        return
    began, task = time.monotonic(), LINE.begin(text, reader)
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
