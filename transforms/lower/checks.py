"""What NumPy and Python raise where arguments do not fit, when the program runs."""

from __future__ import annotations

from ..language.core import Const
from ..language.errors import ShapeMismatch
from .needs import Raised
from .values import Array

NEGATIVE_POWER = "a Python integer to a negative power is a float: make the base a float, float(n) ** k"
# boundscheck of the programs made where a check of the first one fails: every access is checked; in the second, powers of
# Python's integers whose exponent may be negative are floats
EACH_AND_POWERS = "each access and powers"
CAREFUL = ("each", EACH_AND_POWERS)

FAILS = {"ge": lambda a, b: a < b, "gt": lambda a, b: a <= b, "le": lambda a, b: a > b, "lt": lambda a, b: a >= b,
         "ne": lambda a, b: a == b}


class Checks:
    def require(self, a, op: str, b, error: str, message: str) -> None:
        """Raise `error(message)`, now or when the program runs, unless the integers `a op b`."""
        facts = self.b.facts
        if isinstance(a, Const) and isinstance(b, Const):
            if FAILS[op](a.value, b.value):
                self.fails(error, message)
            return
        low, high = (a, b) if op in ("le", "lt") else (b, a)
        if op != "ne" and facts.at_most(low, high, int(op in ("lt", "gt"))):
            return
        self.require_that(self.b.compare(op, a, b), error, message)

    def require_that(self, holds, error: str, message: str) -> None:
        """The same, for a condition."""
        if isinstance(holds, Const):
            if not holds.value:
                self.fails(error, message)
        elif holds not in self.guarded:
            self.add_check(self.b, holds, error, message)

    def check_output(self, target, made) -> None:
        """What an operation makes is not cut down to fewer axes, as an assigned value is."""
        if isinstance(made, Array) and made.rank > target.rank:
            shapes = [self.show_shape(v.shape) for v in (target, made)]
            self.fails("ValueError", f"non-broadcastable output operand with shape {shapes[0]} doesn't match the broadcast "
                                     f"shape {shapes[1]}")

    def fails(self, error: str, message: str) -> None:
        """What is certain to fail is an error now, but in branches and loops, which may not run."""
        if self.b.parent is None:
            raise self.error(ShapeMismatch, message)
        self.add_check(self.b, Const(False, "bool"), error, message)

    def certain(self, kind: str, refusal) -> Exception:
        """What to raise where an expression has no value: a refusal, or, in branches and loops, which may not run, Python's
        error of this kind when the program comes there."""
        if self.b.parent is None:
            return refusal
        self.add_check(self.b, Const(False, "bool"), kind, refusal.problem)
        return Raised(self.b, refusal)


__all__ = ["CAREFUL", "EACH_AND_POWERS", "NEGATIVE_POWER", "Checks"]
