"""The tape: what the reverse sweep cannot find again, where it is kept, and the forward sweep that saves it.

A taped quantity has one slot for each iteration of the loops around it. Loops whose trip count is bounded by what is
known outside all loops give the tape a dimension, indexed by the loop's own counter. From an unbounded loop (`while`,
or bounds that come from inside) inwards, iterations draw a running number, the ticket, and the tape grows by doubling.
"""

from __future__ import annotations

import re

from ..language import core
from ..language.build import Builder, integer, loops
from ..language.core import Arr, Const, Function, Ref, Var, array_of
from ..language.dependence import Order, index_of
from ..language.errors import InternalError, UnsupportedSyntax
from ..language.facts import Facts
from ..language.queries import allocations, is_access, is_range
from .augment import Augmented
from .dominators import better
from .extents import Extents, counts_by_index
from .tapes import FlatTape, Overwritten, Tape

MOST_ROUNDS = 40                # generations of a sweep that ask for more


class TapePlan:
    def __init__(self, function: Function, facts: Facts, order: Order, fixed=frozenset(), reused: bool = False):
        """fixed: numbers that are known before everything. reused: tapes serve several runs of the function."""
        self.function, self.facts, self.order = function, facts, order
        self.extents = Extents(function, facts, order, fixed)
        self.reused = reused
        self.active: set = set()
        self.saves: set = set()
        self.wanted: set = set()
        self.asked: set = set()
        self.reads: list = []
        self.askers: dict[Var, set] = {}    # value -> those that are computed again of it; None: adjoints need it
        self.rounds = 0
        self.decided: set[Var] = set()      # values that are taped though they could be computed again
        self.tapes: dict = {}
        self.promoted: dict[Arr, Tape] = {}
        self.used: set = set()
        self.cells: dict = {}
        self.reasons: dict = {}
        self.checkpoints: dict = {}         # checkpointed loop -> where its copies are
        self.steps: dict = {}               # checkpointed loop -> the tape of one of its steps

    # -- rounds -----------------------------------------------------------------------------------------------
    def begin(self) -> None:
        self.rounds += 1
        if self.rounds > MOST_ROUNDS:
            raise InternalError(f"the tape of `{self.function.name}` does not settle")
        self.reads, self.asked, self.used, self.askers = [], set(), set(), {}

    def grew(self) -> bool:
        """Whether the last generation asked for anything new."""
        if not self.asked <= self.wanted:       # settle what is wanted first: saves follow from it
            self.wanted |= self.asked
            return True
        before = len(self.saves)
        for a, r, r_index, after in self.reads:
            for s, kind, s_index in self.order.accesses.get(self.order.memory(a), ()):
                if any(loop in self.checkpoints for loop, _ in self.order.path[s]):
                    continue                # its reverse restores what it found
                if kind == "write" and s not in self.saves and self.order.precedes(a, r, r_index, s, s_index, after):
                    self.saves.add(s)
                    self.reasons[s] = r
        return len(self.saves) != before

    def settled(self) -> bool:
        """Whether the last generation asked for nothing new, and taped nothing that something smaller can stand for. If
        something can, all that was asked for is forgotten."""
        if self.grew():
            return False
        found = better(self)
        if found:
            self.decided |= found
            self.wanted, self.saves, self.reasons, self.rounds = set(), set(), {}, 0
        return not found

    def read(self, a: Arr, stmt, index, after: bool = False) -> None:
        """The reverse sweep reads `a` as it was at (or right after) forward statement `stmt`."""
        self.reads.append((a, stmt, index, after))

    # -- slots ------------------------------------------------------------------------------------------------
    def top_of(self, stmt):
        path = self.order.path[stmt]
        return path[0][0] if path else stmt

    def layout(self, stmt, body_of=None):
        """(ticket loop or None, bounded loops inside it) for a statement, or for the head of loop `body_of`."""
        loops = self.order.loops(stmt) + ([body_of] if body_of is not None else [])
        for k in range(len(loops) - 1, -1, -1):
            if self.extents.of_loop(loops[k], self.top_of(loops[k])) is None:
                return loops[k], loops[k + 1:]
        return None, loops

    # -- tapes ------------------------------------------------------------------------------------------------
    def tape_for(self, what) -> Tape:
        """The tape of a scalar (Var) or of what a store or a library call overwrites."""
        self.used.add(what)
        if what in self.tapes:
            return self.tapes[what]
        if isinstance(what, Var):
            hint, dtype = f"{what.hint}_tape", what.dtype
            stmt, head = self.site(what)
            ticket, loops = self.layout(stmt, head)
            extra: tuple = ()
            top = self.top_of(stmt)
        else:
            hint, dtype = f"{what.array.hint}_tape", what.array.dtype
            ticket, loops = self.layout(self.origin(what))
            top = self.top_of(self.origin(what))
            extra = () if is_access(what) else what.array.shape
        self.tapes[what] = self.make(hint, dtype, ticket, loops, extra, top, what)
        return self.tapes[what]

    def make(self, hint, dtype, ticket, loops, extra, top, what) -> Tape:
        shape: list = [self.extents.of_loop(loop, top) for loop in loops]
        for s in extra:
            bound = self.extents.of_size(s, top)
            if bound is None:
                return self.flat(hint, what)
            shape.append(bound)
        if ticket is not None:
            shape.insert(0, integer(16))
        if not shape:
            shape = [integer(1)]
        array = Arr(hint, dtype, tuple(shape))
        return Tape(array, loops, ticket, what)

    def flat(self, hint, what) -> Tape:
        """The tape of an array whose size no number from outside bounds."""
        return FlatTape(hint, what.array, what, self.origin(what), self.order)

    def origin(self, what):
        """The statement that makes a taped quantity."""
        return self.site(what)[0] if isinstance(what, Var) else what.stmt if isinstance(what, Overwritten) else what

    def site(self, v: Var):
        """(statement, loop whose head defines v or None)."""
        stmt = self.order.definition.get(v)
        return (stmt, None) if stmt is not None else (self.order.head[v],) * 2

    def slots(self, tape: Tape, sweep) -> tuple:
        """The tape's indices at this point of the reverse sweep."""
        found = []
        if tape.ticket is not None:
            found.append(self.reverse_ticket(tape.ticket, sweep))
        for loop in tape.loops:
            found.append(self.reverse_counter(loop, sweep))
        return tuple(found) or self.alone(tape)

    def alone(self, tape: Tape) -> tuple:
        """The index of the single slot of a value taped outside loops (inside a branch)."""
        return (integer(0),) if isinstance(tape.what, Var) or is_access(tape.what) else ()

    def scope_of(self, loop, sweep):
        scope = sweep.scope
        while scope is not None and scope.loop is not loop:
            scope = scope.parent
        return scope

    def reverse_counter(self, loop, sweep):
        scope = self.scope_of(loop, sweep)
        index = scope.values[index_of(loop)]
        if counts_by_index(self.facts, loop):
            return index
        key = ("counter", loop)
        if key not in scope.values:
            here, sweep.scope = sweep.scope, scope
            start = sweep.need(loop.start)
            sweep.scope = here
            b = scope.b
            gap = b.isub(index, start)
            scope.values[key] = gap if loop.step.value == 1 else b.let("floordiv", gap, loop.step, dtype="int64")
            if not isinstance(scope.values[key], Const):
                self.facts.nonnegative.add(scope.values[key])
        return scope.values[key]

    def is_own_ticket(self, loop) -> bool:
        """A `while` outside all loops numbers its iterations itself."""
        return not is_range(loop) and not self.order.loops(loop)

    def reverse_ticket(self, loop, sweep):
        scope = self.scope_of(loop, sweep)
        if self.is_own_ticket(loop):
            return scope.values[loop.counter]
        key = ("ticket", loop)
        if key not in scope.values:
            cell = self.cell(loop)
            b = scope.b
            last = b.load(cell, (integer(0),), "ticket")
            number = b.isub(last, 1)
            b.store(cell, (integer(0),), number)
            self.facts.nonnegative.add(number) if isinstance(number, Var) else None
            scope.values[key] = number
        return scope.values[key]

    def cell(self, loop) -> Arr:
        if loop not in self.cells:
            self.cells[loop] = Arr("tickets", "int64", (integer(1),))
        self.used.add(("cell", loop))
        return self.cells[loop]

    # -- the reverse sweep's side -----------------------------------------------------------------------------
    def pop(self, what, scope, sweep):
        """The taped value of a scalar, or what a store overwrote."""
        tape = self.tape_for(what)
        here, sweep.scope = sweep.scope, scope
        try:
            return scope.b.load(tape.array, self.slots(tape, sweep),
                                what.hint if isinstance(what, Var) else f"{what.array.hint}_old")
        finally:
            sweep.scope = here

    def restore_array(self, stmt, a: Arr, sweep) -> None:
        tape = self.tape_for(Overwritten(stmt, a))
        shape = [sweep.need(s) for s in a.shape]
        def body(b, index):
            target, place = self.located(a, index, sweep, b)
            b.store(target, place, b.load(tape.array, tape.element(index, lambda: self.slots(tape, sweep), sweep, b)))
        loops(sweep.scope.b, shape, body)

    def located(self, a: Arr, index, sweep, b: Builder | None = None):
        """Where element `index` of `a` lies: a buffer made inside a loop or branch is made before it instead, with a
        copy for each iteration."""
        if not self.order.alloc_path.get(a, ()):
            return a, index
        tape = self.promote(a)
        return tape.array, tape.element(tuple(index), lambda: self.slots(tape, sweep), sweep, b or sweep.scope.b)

    def promote(self, a: Arr) -> Tape:
        self.used.add(a)
        if a not in self.promoted:
            stmt = allocations(core.walk(self.function.body))[a]
            if a in self.order.resized or a in self.order.group or a in self.order.group.values():
                raise UnsupportedSyntax(f"`{a.hint}` is made inside a loop and then grows or is swapped, and the gradient "
                                        "needs its contents", stmt.loc, "create it before the loop")
            ticket, loops = self.layout(stmt)
            tape = self.promoted[a] = self.make(a.hint, a.dtype, ticket, loops, a.shape, self.top_of(stmt), stmt)
            whole = any(array_of(x) is a for s in core.walk(self.function.body)
                        if isinstance(s, core.Call) for x in core.operands(s))
            tape.copied = tape.copied or whole and tape.array.shape[len(tape.array.shape) - len(a.shape):] != a.shape
        return self.promoted[a]

    def whole(self, a: Arr, prefix, sweep) -> Ref:
        """`a`, or the part of it behind leading indices, for a library call of the reverse sweep."""
        if not self.order.alloc_path.get(a, ()) or not self.promote(a).copied:
            return Ref(*self.located(a, prefix, sweep))
        b = sweep.scope.b
        own = Arr(a.hint, a.dtype, tuple(sweep.need(s) for s in a.shape[len(prefix):]))
        b.add(core.Alloc(own))
        loops(b, own.shape, lambda bb, i: bb.store(own, i, bb.load(*self.located(a, (*prefix, *i), sweep, bb))))
        return Ref(own)

    # -- the forward sweep ------------------------------------------------------------------------------------
    def augment(self, body) -> tuple:
        """The forward sweep with everything saved that the reverse sweep asked for."""
        self.tapes = {w: t for w, t in self.tapes.items() if w in self.used}
        self.promoted = {a: t for a, t in self.promoted.items() if a in self.used}
        self.cells = {loop: c for loop, c in self.cells.items() if ("cell", loop) in self.used}
        with self.extents.before_checks():
            return Augmented(self).of(body)

    def all_tapes(self):
        return [*self.tapes.values(), *self.promoted.values()]

    # -- the bill ---------------------------------------------------------------------------------------------
    def report(self) -> tuple:
        def where(loop):
            kind, length = loop.checkpoint
            return f"where segments of `{length.hint}` iterations begin" if kind == "segments" and isinstance(length, Var) \
                else "for the steps of a checkpointed loop"
        entries = [(Tape(array, [], None, loop), f"copies of `{what}` {where(loop)}",
                    loop.loc.short(), self.facts)
                   for loop, kept in self.checkpoints.items() for what, array in kept.named()]
        for plan in self.steps.values():
            entries.extend(plan.report())
        for tape in self.all_tapes():
            what = tape.what
            stmt = self.origin(what)
            if isinstance(what, Var):
                name = "whether a condition holds" if what.dtype == "bool" else \
                    f"`{what.hint}`" if not re.fullmatch(r"t\d*", what.hint) else "a number of this line"
                reason = f"{name} is needed again, and " + (
                    "smaller than what it is computed from" if what in self.decided else "is not cheap to compute again")
            elif isinstance(what, core.Alloc):
                reason = f"the contents of `{what.array.hint}` are needed again"
            else:
                reader = self.reasons.get(stmt)
                name = what.array.hint
                by = f" by {reader.loc.short()}" if reader is not None and reader.loc.line else ""
                reason = f"`{name}` is overwritten after it is read{by}"
            entries.append((tape, reason, stmt.loc.short(), self.facts))
        return tuple(entries)
