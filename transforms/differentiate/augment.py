"""The forward sweep that saves what the reverse sweep asked for."""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import Builder, integer, loops
from ..language.core import Const, For, If, Load, Ref, Store, Var, While, array_of
from ..language.dependence import index_of
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
        found = []
        for tape in self.plan.all_tapes():
            what = tape.what
            stmt = self.plan.origin(what)
            if self.plan.top_of(stmt) is top:
                fill = what.fill if isinstance(what, core.Alloc) and self.filled_once(tape) else None
                found.append(core.Alloc(tape.array, fill, getattr(stmt, "loc", core.NOWHERE)))
                if isinstance(tape, FlatTape):
                    found.append(core.Alloc(tape.end, Const(0, "int64")))
        for loop, cell in self.plan.cells.items():
            if self.plan.top_of(loop) is top:
                found.append(core.Alloc(cell, Const(0, "int64")))
        prelude = self.plan.extents.prelude
        return [*prelude[top].stmts, *found] if top in prelude else found

    def filled_once(self, tape: Tape) -> bool:
        """Whether a buffer's fill is that of the whole tape; otherwise each row is filled where the buffer was made."""
        return not tape.grows and not self.plan.reused

    def forward_counter(self, loop):
        if isinstance(loop, While) or counts_by_index(self.facts, loop):
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
        before, after = [], []
        for v in core.defined(stmt):
            if v in self.tapes:
                tape = self.tapes[v]
                after.append(Store(tape.array, self.forward_slots(tape), v, loc=stmt.loc))
        match stmt:
            case Store(array=a, index=index) if stmt in self.tapes:
                old = Var(f"{a.hint}_old", a.dtype)
                self.facts.number(old)
                tape = self.tapes[stmt]
                before += [Load(old, a, index, stmt.loc), Store(tape.array, self.forward_slots(tape), old, loc=stmt.loc)]
            case core.Call(outs=outs):
                for a in (array_of(o) for o in outs if not isinstance(o, Var)):
                    tape = self.tapes.get(Overwritten(stmt, a))
                    if tape is not None:
                        before += tape.saved(a, self, self.facts)
            case core.Alloc(array=a) if a in self.promoted:
                tape = self.promoted[a]
                if tape.copied:
                    return [stmt]
                slots = self.forward_slots(tape)
                self.mapping[a] = Ref(tape.array, slots)
                if stmt.fill is not None and not self.filled_once(tape):
                    b = Builder(self.facts)
                    loops(b, a.shape, lambda bb, i: bb.store(tape.array, slots + i, stmt.fill))
                    return b.stmts
                return []
            case For(body=body) | While(body=body):
                inner = self.rewritten(body)
                stmt = replace(stmt, body=(*self.loop_head(stmt), *inner))
            case If(then=then, orelse=orelse):
                stmt = replace(stmt, then=tuple(self.rewritten(then)), orelse=tuple(self.rewritten(orelse)))
        return [*before, stmt, *after]

    def rewritten(self, block) -> list:
        """A block with what it saves; at its end, the contents of buffers of its own that keep their size."""
        out = [s for stmt in block for s in self.rewrite(stmt)]
        for stmt in block:
            if isinstance(stmt, core.Alloc) and stmt.array in self.promoted and self.promoted[stmt.array].copied:
                out += self.promoted[stmt.array].saved(stmt.array, self, self.facts)
        return out

    def loop_head(self, loop) -> list:
        """What an iteration does first: draw its ticket, make room, number itself, save what it received."""
        out: list = []
        for tape in self.plan.all_tapes():
            if loop in tape.loops:
                self.forward_counter(loop)
        growing = [t for t in self.plan.all_tapes() if t.ticket is loop]
        if growing or loop in self.plan.cells:
            ticket = self.forward_ticket(loop)
            b = Builder(self.facts)
            if not self.plan.is_own_ticket(loop):
                b.add(Load(ticket, self.plan.cell(loop), (integer(0),)))
                b.store(self.plan.cell(loop), (integer(0),), b.iadd(ticket, 1))
            room = b.iadd(ticket, 1)
            for tape in growing:
                b.add(core.Resize(tape.array, room))
            out += b.stmts
        if loop in self.counter_vars:
            out += self.counter_vars[loop][1]
        for v in self.heads.get(loop, ()):
            tape = self.tapes[v]
            out.append(Store(tape.array, self.forward_slots(tape), v, loc=loop.loc))
        return out


__all__ = ["Augmented"]
