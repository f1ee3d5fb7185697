"""Gradients whose tape may be long: at each call a question of the arguments says whether it is.

Where it is, `LongTape` is raised before anything runs, and `running.guarded` takes the program with loops in segments
(`transforms/differentiate/segments.py`). So the program for short tapes stays free of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..pipeline import LONG
from .building import run


class LongTape(ValueError):
    """The tape is so long that another program is to run."""

    again = "segments"


class AtFirstCall(dict):
    """Compiled functions by name; `make` compiles them when the first is asked for."""

    def __init__(self, make: Callable[[], dict]):
        super().__init__()
        self.make = make

    def __missing__(self, name: str) -> Any:
        self.update(self.make())
        return self[name]


class ShortTape:
    """A compiled gradient for arguments whose tape is short; LongTape for others.

    question: the text of the function that says which they are. functions: where the gradient is found, by `name`.
    """

    def __init__(self, question: str, functions: dict, name: str):
        self.functions, self.name = functions, name
        namespace: dict[str, Any] = {}
        exec(question, namespace)
        self.is_long = namespace[LONG]

    def __call__(self, *args):
        self.check(args)
        return run(self.function, args)

    def check(self, args) -> None:
        if self.is_long(*args):
            raise LongTape

    @property
    def function(self):
        """The gradient, compiled, without the question."""
        return self.functions[self.name]


__all__ = ["AtFirstCall", "ShortTape"]
