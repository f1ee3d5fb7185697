"""Loops that are not written out although an iteration changes the kinds of names: arrays in memory of lengths known when it
runs, or the first iteration apart (loop peeling).

    total = 0                                       total = 0
    for row in A:                                   if len(A) > 0:
        total = total + row * x      becomes            total = total + A[0] * x            # a number before, an array now
                                                        for k in range(1, len(A)):
                                                            total = total + A[k] * x

If that does not settle the kinds, the loop is lowered as without it.
Source: D. Bacon, S. Graham, O. Sharp, Compiler transformations for high-performance computing, ACM Computing Surveys 1994.
"""

from __future__ import annotations

from collections.abc import Callable

from ...language.build import ONE, ZERO, integer
from ...language.core import Const
from ...language.errors import AutodiffError
from ..journal import Attempt
from ..needs import AlwaysRaises, NeedsStatic, Raised
from ..numbers.conversions import as_value
from ..state import Lowering
from ..syntax.statements import BREAKS, FALLS, conditional
from ..values import Iterable, Range, Static, Value
from .plan import LENGTHS, place_of_plan


def stays(lo: Lowering, stmt, run: Callable[[], None]) -> bool:
    """Whether `run` has lowered a loop; if not, nothing has changed."""
    if not lo.units.lengths:
        return False
    lo.units.stayed = True
    before = Attempt(lo)
    lo.plans.pop(place_of_plan(lo, stmt), None)
    try:
        run()
    except (AutodiffError, AlwaysRaises, NeedsStatic, Raised):
        before.undo(lo)
        lo.plans.pop(place_of_plan(lo, stmt), None)
        return False
    return True


def stays_with_lengths(lo: Lowering, stmt, value, loop: Callable[[Value], None]) -> bool:
    """Whether a loop that could be written out stays one, if arrays may change their length in it, or has only its first
    iteration written out. value: what it runs over; loop: lowers a loop over a value."""
    lo.around.static_trips[-1] = LENGTHS
    stayed = stays(lo, stmt, lambda: loop(value)) or isinstance(value, Range) and peeled_for(lo, stmt, value, loop)
    lo.around.static_trips[-1] = True
    return stayed


def peeled_for(lo: Lowering, stmt, value, loop: Callable[[Value], None]) -> bool:
    """Whether a `for` has been lowered as its first iteration and a loop of the others. value: what it runs over; loop:
    lowers a loop over a value."""
    def run() -> None:
        length = value.length if isinstance(value, Iterable) else lo.range_length(
            *(lo.atom(x, "int64") for x in (value.start, value.stop, value.step)))
        enters = Const(True, "bool") if isinstance(length, Const) else lo.b.compare("gt", length, ZERO)
        peel(lo, stmt, enters, lambda: lo.bind(stmt.target, first_of(lo, value), stmt), lambda: loop(second_on(lo, value)))
    return not (isinstance(value, Range) and value.checkpoint) and stays(lo, stmt, run)


def peeled_while(lo: Lowering, stmt, enters, loop: Callable[[], None]) -> bool:
    """Whether a `while` has been lowered as its first iteration and a loop. enters: its condition; loop: asks it again."""
    return stays(lo, stmt, lambda: peel(lo, stmt, enters, lambda: None, loop))


def peel(lo: Lowering, stmt, enters, begin: Callable[[], None], others: Callable[[], None]) -> None:
    def rest() -> None:
        lo.env["%exit"] = Static(FALLS)
        others()

    def first() -> None:
        begin()
        lo.exec_block(stmt.body)
        code = lo.env["%exit"]
        if not isinstance(code, Static):
            conditional(lo, lo.b.compare("lt", code.atom, integer(BREAKS)), rest, lambda: None, stmt.live_head)
        elif code.value < BREAKS:
            rest()
    if enters == Const(True, "bool"):
        first()
    else:
        conditional(lo, enters, first, lambda: None, stmt.live_head | stmt.live_out)


def first_of(lo: Lowering, value) -> Value:
    return value.item(ZERO) if isinstance(value, Iterable) else as_value(lo, lo.atom(value.start, "int64"))


def second_on(lo: Lowering, value):
    """What a loop runs over without the first item."""
    if isinstance(value, Iterable):
        return Iterable(lo.b.isub(value.length, ONE), lambda k: value.item(lo.b.iadd(k, ONE)), arrays=value.arrays)
    start = lo.b.iadd(lo.atom(value.start, "int64"), lo.atom(value.step, "int64"))
    return Range(as_value(lo, start), value.stop, value.step, value.parallel)


__all__ = ["peeled_for", "peeled_while", "stays_with_lengths"]
