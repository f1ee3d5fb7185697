"""Checkpointed loops: the reverse sweep goes back one step at a time, from copies of the state instead of a tape.

    for k in range(T):                      forward: u is copied at some steps
        if k == due: ...  u_copies[top] = u
        u = step(u)

    for end in range(T, 0, -1):             reverse
        u = u_copies[top]
        for k in range(position[top], end - 1):
            if k == due: ...  u_copies[top] = u
            u = step(u)
        u, tape = step(u)                   the step itself, with what its adjoint needs
        u_bar = adjoint(u_bar, tape)

The state of a loop is what it carries and every buffer from outside that it writes. Where copies are taken, `revolve_split`
(runtime/checkpoint.py) decides. The step and its adjoint are a program of their own, made by the ordinary reverse pass.

Source: A. Griewank and A. Walther, Algorithm 799: Revolve, ACM TOMS 26 (2000).
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...runtime.generators import WORDS
from ..language import core
from ..language.build import Builder, integer, loops, trips
from ..language.core import Arr, Carry, Const, For, Function, Merge, Var, is_float, is_generator, walk
from ..language.dependence import Order
from ..language.draws import kept_state, restore_state, save_state
from ..language.errors import UnsupportedSyntax
from ..language.motion import learn
from ..language.names import defined_in, mentioned
from ..language.queries import allocated_in, is_load, is_range
from ..language.substitution import substitute
from .primal_values import Scope
from .tape import TapePlan

if TYPE_CHECKING:
    from typing_extensions import Self

WIDTH = {"float64": 8, "int64": 8, "float32": 4, "bool": 1}


class State:
    """What a loop changes, and copies of it: what it carries and every buffer from outside that it writes.

    stmt: the loop as it stands; loop: the same as a `for`, which for a `while` runs as often as that turned out to run.
    `ready`: the statements before the loop that prepare the copies; count: how often the loop runs.
    """

    count: Any

    @classmethod
    def of(cls, sweep, stmt) -> Self:
        """That of a loop whose reverse begins, in each round the same; the reverse reads what the loop only reads."""
        kept = sweep.plan.checkpoints.get(stmt)
        if kept is None:
            kept = sweep.plan.checkpoints[stmt] = cls(stmt, sweep.facts)
        for a in kept.read:
            sweep.plan.read(a, stmt, None)
        sweep.comment(stmt)
        return kept

    def __init__(self, stmt, facts):
        facts = before_checks(facts)
        self.stmt, self.facts = stmt, facts
        loop = self.loop = stmt if isinstance(stmt, For) else For(
            stmt.counter, integer(0), stmt.trip, integer(1), stmt.carries, stmt.body, loc=stmt.loc,
            checkpoint=stmt.checkpoint)
        inside = allocated_in(loop.body)
        if any(isinstance(s, core.Resize) for s in walk(loop.body)):
            raise UnsupportedSyntax("a checkpointed loop changes the length of a list", loop.loc,
                                    "use arrays of fixed size")
        written = core.written(loop.body)
        named = dict.fromkeys(x.array if isinstance(x, core.Ref) else x for s in walk(loop.body) for x in core.operands(s)
                              if isinstance(x, (Arr, core.Ref)))
        self.drawn = [a for a in named if is_generator(a)]          # steps that run again draw the same numbers
        self.arrays = [a for a in named if a in written and a not in inside and a not in self.drawn]
        self.read = [a for a in named if a not in written]

    def keep(self, b: Builder, slots) -> None:
        """Make room for this many copies, after what `b` computes."""
        self.slots = slots
        self.copies = {a: Arr(f"{a.hint}_copies", a.dtype, (slots, *a.shape)) for a in self.arrays}
        self.states = {g: kept_state(g, (slots,)) for g in self.drawn}
        self.numbers = {c: Arr(f"{c.var.hint}_copies", c.var.dtype, (slots,)) for c in self.loop.carries}
        everything = (*self.copies.values(), *self.states.values(), *self.numbers.values())
        for a in everything:
            b.make(a, loc=self.loop.loc)
        self.ready = b.stmts

    def named(self):
        """(name of what is copied, where the copies are)."""
        yield from ((a.hint, copies) for a, copies in (*self.copies.items(), *self.states.items()))
        yield from ((c.var.hint, copies) for c, copies in self.numbers.items())

    def save(self, b: Builder, slot, values: dict) -> None:
        for a, copies in self.copies.items():
            loops(b, a.shape, lambda bb, i, a=a, copies=copies: bb.store(copies, (slot, *i), bb.load(a, i)))
        for g, states in self.states.items():
            save_state(b, g, states, (slot,))
        for c, copies in self.numbers.items():
            b.store(copies, (slot,), values[c])

    def restore(self, b: Builder, slot) -> dict:
        """Statements that bring the buffers back; the carried values of that moment."""
        for a, copies in self.copies.items():
            b.forget(a)
            loops(b, a.shape, lambda bb, i, a=a, copies=copies: bb.store(a, i, bb.load(copies, (slot, *i))))
        for g, states in self.states.items():
            restore_state(b, g, states, (slot,))
        return {c: b.load(copies, (slot,), c.var.hint) for c, copies in self.numbers.items()}

    def buffers(self, b: Builder, slot) -> tuple:
        """The block that brings the buffers back, and no carried values."""
        back = b.child()
        self.restore(back, slot)
        return tuple(s for s in back.block() if not is_load(s))

    def go_back(self, b: Builder) -> None:
        """Leave the buffers as they were before the loop, if it has run."""
        b.branch(b.compare("gt", self.count, integer(0)), self.buffers(b, integer(0)), loc=core.NOWHERE)


class Checkpoints(State):
    """Where copies of one loop's state are kept, and when they are taken."""

    def __init__(self, stmt, facts):
        super().__init__(stmt, facts)
        loop = self.loop
        b = Builder(self.facts)
        self.online = not is_range(stmt) or stmt.exit is not None
        self.planned = self.iterations(b) if is_range(stmt) else None
        self.count = stmt.trip if self.online else self.planned
        kind, amount = loop.checkpoint or ("snapshots", integer(1))
        if kind == "bytes":
            amount = b.let("floordiv", amount, b.imax(self.bytes_of_state(b), 1), dtype="int64")
        slots = b.imax(amount if self.planned is None else b.imin(amount, self.planned), 1)
        self.first_slots = b.isub(slots, b.let("floordiv", slots, integer(3), dtype="int64"))
        self.position = Arr("position", "int64", (slots,))
        self.top = Var("top", "int64")
        self.facts.number(self.top)
        self.keep(b, slots)
        b.make(self.position, Const(0, "int64"), loop.loc)

    def iterations(self, b: Builder):
        return trips(b, self.loop.start, self.loop.stop, core.known_value(self.loop.step))

    def bytes_of_state(self, b: Builder):
        sizes: list[core.Atom] = [integer(WIDTH[c.var.dtype]) for c in self.loop.carries]
        sizes += [integer(8 * WORDS) for _ in self.drawn]
        for a in self.arrays:
            size: core.Atom = integer(WIDTH[a.dtype])
            for s in a.shape:
                size = b.imul(size, s)
            sizes.append(size)
        total = sizes[0] if sizes else integer(1)
        for size in sizes[1:]:
            total = b.iadd(total, size)
        return total

    # -- loops ------------------------------------------------------------------------------------------------
    def advance(self, b: Builder, first, last, end, inits: dict, top, due, own: bool) -> dict:
        """Run steps first .. last - 1 towards `end`, with copies on the way; the carried values and "top" after them.

        own: the results have the names of the user's loop, otherwise new ones. What is inside has new names always: facts
        about the user's names are for the adjoint of a step, which may be generated again.
        """
        loop = self.loop
        k = Var("k", "int64")
        self.facts.number(k)
        inner = Builder(self.facts)
        heads = {c: Var(c.var.hint, c.var.dtype) for c in loop.carries}
        top_head, due_head, top_next, due_next = (Var(h, "int64") for h in ("top", "due", "top", "due"))
        for v in (top_head, due_head, top_next, due_next):
            self.facts.number(v)
        then = Builder(self.facts)
        slot = then.iadd(top_head, 1)
        then.store(self.position, (slot,), k)
        self.save(then, slot, heads)
        split = then.let("revolve_split", then.isub(end, k), then.isub(then.isub(self.slots, 1), slot), dtype="int64")
        following = then.iadd(k, split)
        hit = inner.compare("eq", k, due_head)
        merges = (Merge(top_next, slot, top_head), Merge(due_next, following, due_head))
        inner.branch(hit, then.block(), (), merges, loop.loc)
        mapping: dict = {c.var: heads[c] for c in loop.carries}
        mapping[loop.index] = inner.iadd(loop.start, inner.imul(k, loop.step))
        body = substitute(loop.body, mapping)
        results = {c: c.result if own else Var(c.var.hint, c.var.dtype) for c in loop.carries}
        after = self.top if own else Var("top", "int64")
        self.facts.number(after)
        carries = [Carry(heads[c], inits[c], mapping.get(c.next, c.next), results[c]) for c in loop.carries]
        carries += [Carry(top_head, top, top_next, after), Carry(due_head, due, due_next, Var("due", "int64"))]
        b.repeat(k, first, last, (*inner.block(), *body), carries=tuple(carries), loc=loop.loc)
        for a in self.arrays:
            b.forget(a)
        return {**results, "top": after}

    def advance_online(self, b: Builder) -> None:
        """Run the loop to an end that is not known, with copies at equal distances.

        Where two thirds of the memory are full, every second copy is dropped and the distance doubles; the last third is
        for the reverse sweep, which follows the ordinary schedule between copies.
        """
        stmt = self.stmt
        names = ("top", "due", "stride")
        k, (top, due, stride) = Var("k", "int64"), (Var(h, "int64") for h in names)
        following, results = ([Var(h, "int64") for h in names] for _ in range(2))
        results[0] = self.top
        for v in (k, top, due, stride, *following, *results):
            self.facts.number(v)
        inner, then = Builder(self.facts), Builder(self.facts)
        heads = {c: Var(c.var.hint, c.var.dtype) for c in stmt.carries}
        full = then.compare("eq", top, then.isub(self.first_slots, 1))
        thin = Builder(self.facts)
        kept = thin.let("floordiv", thin.isub(self.first_slots, 1), integer(2), dtype="int64")
        slot = thin.index("slot", integer(1), thin.iadd(kept, 1), 1)
        drop = thin.child(loop=True)
        twice = drop.imul(slot, 2)
        for copies in (*self.copies.values(), *self.states.values()):
            loops(drop, copies.shape[1:], lambda bb, i, copies=copies: bb.store(
                copies, (slot, *i), bb.load(copies, (twice, *i))))
        for copies in (*self.numbers.values(), self.position):
            drop.store(copies, (slot,), drop.load(copies, (twice,)))
        thin.repeat(slot, 1, thin.iadd(kept, 1), drop.block(), loc=stmt.loc)
        last, distance = Var("top", "int64"), Var("stride", "int64")
        for v in (last, distance):
            self.facts.number(v)
        merges = (Merge(last, kept, top), Merge(distance, thin.imul(stride, 2), stride))
        then.branch(full, thin.block(), (), merges, stmt.loc)
        save = Builder(self.facts)
        place = save.iadd(last, 1)
        save.store(self.position, (place,), k)
        self.save(save, place, heads)
        reached = Var("top", "int64")
        self.facts.number(reached)
        then.branch(then.compare("eq", k, then.imul(then.iadd(last, 1), distance)), save.block(), (),
                    (Merge(reached, place, last),), stmt.loc)
        coming = then.imul(then.iadd(reached, 1), distance)
        joined = tuple(Merge(v, new, old) for v, new, old in zip(
            following, (reached, coming, distance), (top, due, stride), strict=True))
        inner.branch(inner.compare("eq", k, due), then.block(), (), joined, stmt.loc)
        mapping: dict = {c.var: heads[c] for c in stmt.carries}
        mapping[self.loop.index] = inner.iadd(self.loop.start, inner.imul(k, self.loop.step))
        body = (*inner.block(), *substitute(stmt.body, mapping))
        carries = [Carry(heads[c], c.init, mapping.get(c.next, c.next), c.result) for c in stmt.carries]
        carries += [Carry(v, integer(init), new, result) for v, init, new, result in zip(
            (top, due, stride), (-1, 0, 1), following, results, strict=True)]
        if not is_range(stmt):
            b.add(replace(stmt, cond=mapping[stmt.cond], carries=tuple(carries), body=body, counter=k, checkpoint=None))
        else:
            assert self.planned is not None
            leave = mapping.get(stmt.exit, stmt.exit)
            b.repeat(k, 0, self.planned, body, carries=tuple(carries), exit=leave, trip=stmt.trip, loc=stmt.loc)
        for a in self.arrays:
            b.forget(a)

    def forward(self) -> list:
        """The loop of the forward sweep."""
        b = Builder(self.facts)
        if self.online:
            self.advance_online(b)
            learn(self.facts, tuple(b.stmts))
            return [*self.ready, *b.stmts]
        inits = {c: c.init for c in self.loop.carries}
        self.advance(b, integer(0), self.count, self.count, inits, integer(-1), integer(0), True)
        learn(self.facts, tuple(b.stmts))
        return [*self.ready, *b.stmts]


def reverse_checkpointed(sweep, stmt, seeds: dict) -> None:
    """Emit the reverse of a checkpointed loop. seeds: carry -> cotangent of its result, or None."""
    outer = sweep.scope
    if outer.parent is not None:
        raise UnsupportedSyntax("a checkpointed loop stands in another loop or in a branch", stmt.loc,
                                "checkpoint the outer loop, or both")
    b, facts = outer.b, sweep.facts
    begin = len(b.stmts)
    kept = Checkpoints.of(sweep, stmt)
    loop = kept.loop
    step = Step(sweep, kept)
    cells = step.cells(b, seeds)
    left = {g: kept_state(g) for g in kept.drawn}               # as the forward sweep has left the generators
    for g, state in left.items():
        save_state(b, g, b.make(state))
    end = b.index("end", kept.count, integer(0), -1)
    inner = b.child(loop=True)
    top = Var("top", "int64")
    facts.number(top)
    first = inner.load(kept.position, (top,), "first")
    values = kept.restore(inner, top)
    split = inner.let("revolve_split", inner.isub(end, first), inner.isub(inner.isub(kept.slots, 1), top), dtype="int64")
    none = inner.let("cast", inner.compare("eq", split, integer(0)), dtype="int64")
    last = inner.isub(end, 1)
    reached = kept.advance(inner, first, last, end, values, top, inner.isub(inner.iadd(first, split), none), False)
    mapping: dict = {loop.index: inner.iadd(loop.start, inner.imul(last, loop.step))}
    for c in loop.carries:
        mapping[c.var] = reached[c]
    for c, v in step.seeds.items():
        mapping[v] = inner.load(cells[c.var], (integer(0),), v.hint)
    inner.stmts.extend(substitute((*step.forward, *step.backward), mapping))
    step.rename(mapping)
    step.leave(inner, cells, mapping)
    place = inner.read(Var("place", "int64"), kept.position, (reached["top"],))
    facts.number(place)
    done = inner.let("cast", inner.compare("eq", place, last), dtype="int64")
    carries = (Carry(top, kept.top, inner.isub(reached["top"], done), Var("top", "int64")),)
    b.repeat(end, kept.count, 0, inner.block(), -1, carries, loc=loop.loc)
    kept.go_back(b)
    sweep.forget_written(outer, b.stmts[-2:])
    for g, state in left.items():
        restore_state(b, g, state)
    learn(facts, tuple(b.stmts[begin:]))
    step.give(b, cells)


class Step:
    """One iteration and its adjoint, as statements in the names of the user's loop.

    seeds: active carry -> the variable that stands for the cotangent of what it leaves; bars: cotangents of what the
    iteration gets; constants: those of them that no iteration changes.
    """

    def __init__(self, sweep, kept: State, before_all: bool = False):
        """before_all: tapes have the sizes of all iterations, where these are known."""
        loop, facts, live = kept.loop, sweep.facts, sweep.active
        self.kept, self.sweep = kept, sweep
        free = dict.fromkeys(x for x in (*mentioned(loop.body), *(c.next for c in loop.carries), loop.index,
                                         *(c.var for c in loop.carries)) if isinstance(x, (Var, Arr)))
        inside = defined_in(loop.body)
        if before_all:                          # sizes are made of numbers that the body need not mention
            earlier = sweep.function.body[:sweep.function.body.index(kept.stmt)]
            free |= dict.fromkeys(v for s in earlier for v in core.defined(s) if v.dtype == "int64")
        params = tuple(x for x in free if x not in inside)
        function = Function("step", params, loop.body, ())
        order = Order(function, facts)
        changing = {loop.index, *(c.var for c in loop.carries)}
        self.fixed = frozenset(p for p in params if isinstance(p, Var) and p not in changing)
        plan = self.plan = TapePlan(function, facts, order, self.fixed if before_all else frozenset(), before_all)
        plan.active = live
        self.seeds = {c: Var(f"{c.var.hint}_bar", c.var.dtype) for c in loop.carries
                      if is_float(c.var) and (c.var in live or c.result in live)}
        while True:
            plan.begin()
            one = sweep.beside(function, live, plan, order)
            one.bar_of = {(0, a): sweep.bar(a) for a in params if isinstance(a, Arr) and a in live}
            one.last_loc = sweep.last_loc
            builder = Builder(facts)
            one.scope = Scope(builder, loop.body, None)
            for c, v in self.seeds.items():
                facts.number(v)
                if isinstance(c.next, Var):
                    one.add_bar(c.next, v)
            one.block(loop.body)
            if plan.settled():
                break
        self.forward, self.backward = plan.augment(loop.body), builder.block()
        self.bars = {v: g for (_, v), g in one.scope.bars.items() if v in params}
        carried = {c.var for c in loop.carries}
        self.constants = [v for v in self.bars if v not in carried]

    def cells(self, b: Builder, seeds: dict) -> dict[Var, Arr]:
        """Where cotangents wait between iterations: those of what is carried, and sums of those of constants."""
        cells = {}
        for v in (*(c.var for c in self.seeds), *self.constants):
            cells[v] = b.make(Arr(f"{v.hint}_bar", v.dtype, (integer(1),), core.ADJOINT), Const(0.0, v.dtype))
        for c in self.seeds:
            if seeds.get(c) is not None:
                b.store(cells[c.var], (integer(0),), seeds[c])
        return cells

    def leave(self, b: Builder, cells: dict, mapping: dict) -> None:
        """What an iteration leaves in the cells; mapping: its names."""
        for c in self.seeds:
            g = self.bars.get(c.var, Const(0.0, c.var.dtype))
            b.write(cells[c.var], (integer(0),), mapping.get(g, g))
        for v in self.constants:
            g = self.bars[v]
            b.write(cells[v], (integer(0),), mapping.get(g, g), True)

    def give(self, b: Builder, cells: dict) -> None:
        """The cotangents after all iterations."""
        for c in self.kept.loop.carries:
            if c in self.seeds:
                self.sweep.add_bar(c.init, b.load(cells[c.var], (integer(0),), f"{c.var.hint}_bar"))
        for v in self.constants:
            self.sweep.add_bar(v, b.load(cells[v], (integer(0),), f"{v.hint}_bar"))

    def rename(self, mapping: dict) -> None:
        """Tell the outer tape what the step's own tape is called there."""
        for tape in self.plan.all_tapes():
            tape.array = mapping.get(tape.array, tape.array)
        self.sweep.plan.steps[self.kept.stmt] = self.plan


def before_checks(facts):
    """Facts without the sizes that checks have made equal: a loop may stand before those checks."""
    made = copy.copy(facts)
    made.alias, made._affine = {}, {}
    return made


__all__ = ["WIDTH", "Checkpoints", "State", "Step", "reverse_checkpointed"]
