"""The two forms of a tape: an array with an index for each loop, or flat memory for arrays of any lengths.

An array whose size no number from outside its loops bounds (what a mask chooses in each time step, say) goes to the end of
one growing array, element by element. Where it begins there is a number of the iteration, and is taped as any other.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..language import core
from ..language.build import Builder, integer, loops, place_of, product
from ..language.core import Arr, Var
from ..language.dependence import Order


@dataclass(frozen=True)
class Overwritten:
    """What a library call overwrites in one of the buffers it fills."""

    stmt: core.Call
    array: Arr

    @property
    def loc(self):
        return self.stmt.loc


class Tape:
    """copied: a buffer whose size changes with the iteration, and that library calls take as a whole, stays a buffer of its
    size; the tape, which has room for the largest, takes its elements at the end of the block."""

    def __init__(self, array: Arr, loops: list, ticket, what):
        self.array, self.loops, self.ticket, self.what = array, loops, ticket, what
        self.copied = False

    @property
    def grows(self) -> bool:
        """Whether its length is known only when the forward sweep has run."""
        return self.ticket is not None

    def element(self, index, slots, sweep, b: Builder) -> tuple:
        """The place of an element of what is saved; slots: the tape's indices in this iteration."""
        return slots() + index

    def saved(self, source: Arr, plan, facts) -> list:
        """The statements of the forward sweep that put an array here."""
        b = Builder(facts)
        slots = plan.forward_slots(self)
        loops(b, source.shape, lambda bb, i: bb.store(self.array, slots + i, bb.load(source, i)))
        return b.stmts


class FlatTape(Tape):
    """source: the array that is saved; start: where it begins, in each iteration; end: a cell: where the next will."""

    def __init__(self, hint: str, source: Arr, what, stmt, order: Order):
        super().__init__(Arr(hint, source.dtype, (integer(16),)), [], None, what)
        self.copied, self.source = True, source
        self.start = Var(f"{source.hint}_start", "int64")
        self.end = Arr(f"{source.hint}_end", "int64", (integer(1),))
        order.facts.number(self.start)
        order.facts.nonnegative.add(self.start)
        order.block_of[self.start] = order.position[stmt][0]
        order.definition[self.start] = stmt         # it has a tape of its own

    @property
    def grows(self) -> bool:
        return True

    def element(self, index, slots, sweep, b: Builder) -> tuple:
        start = sweep.need(self.start)
        sizes = [sweep.need(s) for s in self.source.shape]
        return (self.place(b, start, sizes, index),)

    @staticmethod
    def place(b: Builder, start, sizes, index):
        return b.iadd(start, place_of(b, index, sizes))

    def saved(self, source: Arr, plan, facts) -> list:
        b = Builder(facts)
        b.read(self.start, self.end, (integer(0),))
        if self.start in plan.tapes:
            starts = plan.tapes[self.start]
            b.store(starts.array, plan.forward_slots(starts), self.start)
        end = b.iadd(self.start, product(b, source.shape))
        b.add(core.Resize(self.array, end))
        loops(b, source.shape, lambda bb, i: bb.store(
            self.array, (self.place(bb, self.start, source.shape, i),), bb.load(source, i)))
        b.store(self.end, (integer(0),), end)
        return b.stmts


__all__ = ["FlatTape", "Overwritten", "Tape"]
