"""What stops lowering where it stands: a value that must be known before the program runs, a `raise` that is certain."""

from __future__ import annotations

from typing import Any

from ..language.errors import NonDifferentiable


class NeedsStatic(Exception):
    """A value must be known before the program runs; unrolling the loop around may provide it."""

    def __init__(self, error, value=None):
        self.error, self.value = error, value


class Raised(Exception):
    """What follows is not reached: the program has raised. builder: the block in which it does; error: a refusal for
    those who do not know what an expression without a value means."""

    def __init__(self, builder, error):
        self.builder, self.error = builder, error


class AlwaysRaises(NonDifferentiable):
    """A function raises for all values of its arguments. lowered: its program, without results."""

    lowered: Any = None
