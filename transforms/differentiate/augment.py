"""The forward sweep that saves what the reverse sweep asked for."""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import Builder, integer, loops, trips
from ..language.core import Const, Ref, Var, array_of
from ..language.dependence import index_of
from ..language.emit import Statements
from ..language.motion import learn
from ..language.queries import called, is_allocation, is_loop, is_store, is_whole
from ..language.substitution import substitute
from .extents import counts_by_index
from .tapes import FlatTape, Overwritten, Tape


class Augmented:
    """A body with the statements that fill the tapes of a plan."""

    def __init__(self, plan):
        self.plan, self.facts, self.tapes, self.promoted = plan, plan.facts, plan.tapes, plan.promoted
        self.heads: dict = {}
        self.mapping: dict = {}
        self.counter_vars: dict = {}
        self.ticket_vars: dict = {}
        for what in self.tapes:
            if isinstance(what, Var) and what not in plan.order.definition:
                self.heads.setdefault(plan.site(what)[1], []).append(what)

    def of(self, body) -> tuple:
        out = []
        for stmt in body:
            made = self.rewrite(stmt)
            out.extend(self.allocations(stmt))
            out.extend(made)
        return substitute(tuple(out), dict(self.mapping), fresh=False) if self.mapping else tuple(out)

    def allocations(self, top) -> list:
        found = Statements()
        for tape in self.plan.all_tapes():
            what = tape.what
            stmt = self.plan.origin(what)
            if self.plan.top_of(stmt) is top:
                fill = what.fill if is_allocation(what) and self.filled_once(tape) else None
                found.make(tape.array, fill, getattr(stmt, "loc", core.NOWHERE))
                if isinstance(tape, FlatTape):
                    found.make(tape.end, Const(0, "int64"))
        for loop, cell in self.plan.cells.items():
            if self.plan.top_of(loop) is top:
                found.make(cell, Const(0, "int64"))
        prelude = self.plan.extents.prelude
        return [*prelude[top].stmts, *found.stmts] if top in prelude else found.stmts

    def filled_once(self, tape: Tape) -> bool:
        """Whether a buffer's fill is that of the whole tape; otherwise each row is filled where the buffer was made."""
        return not tape.grows and not self.plan.reused

    def forward_counter(self, loop):
        if counts_by_index(self.facts, loop):
            return index_of(loop)
        if loop not in self.counter_vars:
            b = Builder(self.facts)
            gap = b.isub(loop.index, loop.start)
            k = gap if loop.step.value == 1 else b.let("floordiv", gap, loop.step, dtype="int64", hint="k")
            self.counter_vars[loop] = (k, b.stmts)
        return self.counter_vars[loop][0]

    def forward_ticket(self, loop):
        if self.plan.is_own_ticket(loop):
            return loop.counter
        if loop not in self.ticket_vars:
            self.ticket_vars[loop] = Var("ticket", "int64")
            self.facts.number(self.ticket_vars[loop])
            self.facts.nonnegative.add(self.ticket_vars[loop])
        return self.ticket_vars[loop]

    def forward_slots(self, tape: Tape) -> tuple:
        ticket = (self.forward_ticket(tape.ticket),) if tape.ticket is not None else ()
        return ticket + tuple(map(self.forward_counter, tape.loops)) or self.plan.alone(tape)

    def rewrite(self, stmt) -> list:
        if stmt in self.plan.checkpoints:
            return self.plan.checkpoints[stmt].forward()
        before, after = Statements(), Statements()
        for v in core.defined(stmt):
            if v in self.tapes:
                tape = self.tapes[v]
                after.write(tape.array, self.forward_slots(tape), v, loc=stmt.loc)
        if is_store(stmt) and stmt in self.tapes:
            old = Var(f"{stmt.array.hint}_old", stmt.array.dtype)
            self.facts.number(old)
            tape = self.tapes[stmt]
            before.read(old, stmt.array, stmt.index, stmt.loc)
            before.write(tape.array, self.forward_slots(tape), old, loc=stmt.loc)
        elif called(stmt):
            for a in (array_of(o) for o in stmt.outs if not isinstance(o, Var)):
                tape = self.tapes.get(Overwritten(stmt, a))
                if tape is not None:
                    before.stmts += tape.saved(a, self, self.facts)
        elif is_allocation(stmt) and stmt.array in self.promoted:
            tape = self.promoted[stmt.array]
            if tape.copied:
                return [stmt]
            slots = self.forward_slots(tape)
            self.mapping[stmt.array] = Ref(tape.array, slots)
            b = Builder(self.facts)
            if stmt.fill is not None and not self.filled_once(tape):
                loops(b, stmt.array.shape, lambda bb, i: bb.store(tape.array, slots + i, stmt.fill))
            return b.stmts
        elif is_loop(stmt):
            inner = self.rewritten(stmt.body)
            before.stmts += self.room_for_all(stmt)
            stmt = replace(stmt, body=(*self.loop_head(stmt), *inner))
        else:
            stmt = core.with_blocks(stmt, lambda block: tuple(self.rewritten(block)))
        return [*before.stmts, stmt, *after.stmts]

    def rewritten(self, block) -> list:
        """A block with what it saves; at its end, the contents of buffers of its own that keep their size."""
        out = [s for stmt in block for s in self.rewrite(stmt)]
        for stmt in block:
            if is_allocation(stmt) and stmt.array in self.promoted and self.promoted[stmt.array].copied:
                out += self.promoted[stmt.array].saved(stmt.array, self, self.facts)
        return out

    def ends_as_told(self, loop) -> bool:
        """Whether it is known before a loop how often it runs."""
        return is_whole(loop) and core.known_value(loop.step) is not None and not self.plan.is_own_ticket(loop)

    def room_for_all(self, loop) -> list:
        """Room on the tapes for all iterations of a loop, before it begins."""
        growing = [t for t in self.plan.all_tapes() if t.ticket is loop]
        b = Builder()               # of the ends as they stand: what else is equal to them may not be there
        if growing and self.ends_as_told(loop):
            first, more = Var("ticket", "int64"), trips(b, loop.start, loop.stop, core.known_value(loop.step))
            b.read(first, self.plan.cell(loop), (integer(0),))
            room = b.iadd(first, more)
            for tape in growing:
                b.add(core.Resize(tape.array, room))
            learn(self.facts, b.stmts)
            self.facts.number(first)
        return b.stmts

    def loop_head(self, loop) -> list:
        """What an iteration does first: draw its ticket, make room, number itself, save what it received."""
        b = Builder(self.facts)
        for tape in self.plan.all_tapes():
            if loop in tape.loops:
                self.forward_counter(loop)
        growing = [t for t in self.plan.all_tapes() if t.ticket is loop]
        if growing or loop in self.plan.cells:
            ticket = self.forward_ticket(loop)
            if not self.plan.is_own_ticket(loop):
                b.read(ticket, self.plan.cell(loop), (integer(0),))
                b.store(self.plan.cell(loop), (integer(0),), b.iadd(ticket, 1))
            room = b.iadd(ticket, 1)
            for tape in () if self.ends_as_told(loop) else growing:
                b.add(core.Resize(tape.array, room))
        if loop in self.counter_vars:
            b.stmts += self.counter_vars[loop][1]
        for v in self.heads.get(loop, ()):
            tape = self.tapes[v]
            b.write(tape.array, self.forward_slots(tape), v, loc=loop.loc)
        return b.stmts


__all__ = ["Augmented"]
