"""Programs that print: one that is started again, since a check made once for all failed, prints nothing twice."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..transforms.language.core import Print, walk


def prints(generated) -> bool:
    return any(isinstance(s, Print) for p in generated.programs for s in walk(p.body))


class Output:
    """`sys.stdout`, counting what the thread that made this writes; of that, the first `known` characters are dropped."""

    def __init__(self, out: Any):
        self.out, self.thread = out, threading.get_ident()
        self.count = self.known = 0

    def write(self, text: str) -> Any:
        if threading.get_ident() == self.thread:
            self.count += len(text)
            dropped = min(self.known, len(text))
            self.known -= dropped
            text = text[dropped:]
        return self.out.write(text)

    def again(self) -> None:
        """The program starts again: it will write the same."""
        self.known, self.count = self.count, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.out, name)


@contextmanager
def noted_output() -> Iterator[Output | None]:
    """What a call of a specialisation that prints does print."""
    out = sys.stdout
    if out is None:
        yield None
        return
    noted = Output(out)
    sys.stdout = noted
    try:
        yield noted
    finally:
        if sys.stdout is noted:
            sys.stdout = out


__all__ = ["noted_output", "prints"]
