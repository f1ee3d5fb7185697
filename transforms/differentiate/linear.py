"""Linearisation: a program in two parts, the values with everything the derivative depends on, and a linear map of tangents.

    forward     v = f(x, y)                 and the slopes df/dx, df/dy beside it; what the second part cannot find again is
                                            taped
    linear      v_dot = df/dx * x_dot + df/dy * y_dot, for the same statements from first to last

The linear part runs in the order of the program, so it can be run for any number of tangents, and it computes nothing that
does not depend on them but cheap things: indices, sums and products. Values are looked for as in the reverse sweep
(`primal_values.py`, `tape.py`), with one difference: memory is never restored, so that only what is not overwritten
later can be read again.

Source: A. Radul, A. Paszke, R. Frostig, M. Johnson and D. Maclaurin, You Only Linearize Once: Tangents Transpose to
Gradients, POPL 2023 (a tangent program split by what depends on tangents, there by partial evaluation).
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import Builder, headed, integer, loops
from ..language.core import Alloc, Arr, Call, Comment, Const, Function, If, Let, Load, Ref
from ..language.dependence import Order, index_of
from ..language.draws import is_draw
from ..language.facts import Facts
from ..language.ops import EXPENSIVE
from ..language.queries import allocations, is_loop
from .forward import Forward, live_in, pushforward, slopes, swept
from .primal_values import PrimalValues, Scope
from .reverse import linked
from .reverse_calls import as_ref
from .tape import TapePlan


class Slopes:
    """The program with the partial derivatives of its active operations as further statements. `of`: operation -> pairs
    (slope, operand with a tangent)."""

    def __init__(self, function: Function, facts: Facts, live: set, registry):
        self.live, self.registry = live, registry
        self.of: dict = {}
        self.function = replace(function, body=self.block(function.body, Builder(facts)))

    def block(self, block, b: Builder) -> tuple:
        for stmt in block:
            b.loc = stmt.loc
            b.add(core.with_blocks(stmt, lambda inner, b=b, stmt=stmt: self.block(
                inner, b.child(loop=is_loop(stmt)))))
            if isinstance(stmt, Let):
                b.known.setdefault((stmt.op, stmt.args, stmt.var.dtype), stmt.var)
                if stmt.var in self.live and stmt.op not in ("cast", "link"):
                    self.of[stmt] = list(slopes(stmt, b, self.registry, self.live))
        return b.block()


class Kept:
    """The program with copies of what library calls read and other statements overwrite later. `of`: (call, number of the
    operand, results first) -> the copy."""

    def __init__(self, function: Function, order: Order, live: set, registry):
        self.order, self.live, self.registry = order, live, registry
        self.of: dict = {}
        self.function = replace(function, body=self.block(function.body))

    def block(self, block) -> tuple:
        out: list = []
        for stmt in block:
            before, after = Builder(self.order.facts), Builder(self.order.facts)
            if isinstance(stmt, Call) and not is_draw(stmt) and any(x in self.live for x in core.results(stmt)):
                rule = pushforward(stmt, self.live, self.registry)
                for k, (param, x) in enumerate(zip((*rule.outs, *rule.args), (*stmt.outs, *stmt.args), strict=True)):
                    late = k < len(stmt.outs)
                    if isinstance(param, Arr) and param in rule.used and overwritten(
                            self.order, core.array_of(x), stmt, None, late):
                        self.of[stmt, k] = self.copied(after if late else before, x if isinstance(x, Ref) else Ref(x))
            out += [*before.stmts, core.with_blocks(stmt, self.block), *after.stmts]
        return tuple(out)

    @staticmethod
    def copied(b: Builder, ref: Ref) -> Ref:
        own = Arr(f"{ref.array.hint}_kept", ref.dtype, ref.array.shape[len(ref.prefix):])
        b.add(Alloc(own))
        loops(b, own.shape, lambda bb, i: bb.store(own, i, bb.load(ref.array, (*ref.prefix, *i))))
        return Ref(own, (), ref.transposed)


def overwritten(order: Order, a: Arr, stmt, index, after: bool = False) -> bool:
    """Whether what `stmt` reads at `index` of `a` may be gone at the end of the program."""
    if a in order.group or a in order.group.values():
        return True                                     # swapped: which buffer has the name then is not known
    if a in order.resized and order.alloc_path.get(a, ()):
        return True
    return any(kind == "write" and order.precedes(a, stmt, index, s, where, after)
               for s, kind, where in order.accesses.get(order.memory(a), ()))


class LinearPlan(TapePlan):
    """The tape of a linear part: it is read from its beginning, and memory is not restored."""

    def read(self, a: Arr, stmt, index, after: bool = False) -> None:
        """Nothing is saved for it: what is read is not overwritten."""

    def has_bounds(self, a: Arr) -> bool:
        """Whether a buffer made inside a loop can be kept for all iterations: what is known outside bounds its size."""
        if not self.order.alloc_path.get(a, ()):
            return True
        top = self.top_of(allocations(core.walk(self.function.body))[a])
        return all(self.extents.of_size(s, top) is not None for s in a.shape)

    def reverse_ticket(self, loop, sweep):
        if self.is_own_ticket(loop):
            return super().reverse_ticket(loop, sweep)
        scope = self.scope_of(loop, sweep)
        if ("ticket", loop) not in scope.values:
            self.cell(loop)
            cell, b = sweep.tickets_of(loop), scope.b
            number = b.load(cell, (integer(0),), "ticket")
            b.store(cell, (integer(0),), b.iadd(number, 1))
            self.facts.nonnegative.add(number)
            scope.values["ticket", loop] = number
        return scope.values["ticket", loop]


class Linear(PrimalValues, Forward):
    """The linear part: tangents alone, with values of the forward part where they are needed."""

    def __init__(self, function: Function, facts: Facts, live: set, registry, plan: LinearPlan, order: Order, known, kept):
        self.function, self.plan, self.order, self.known, self.kept = function, plan, order, known, kept
        self.top = self.scope = Scope(Builder(facts), function.body, None)
        self.tickets: dict = {}
        super().__init__(facts, live, registry)

    @property
    def b(self) -> Builder:
        return self.scope.b

    @b.setter
    def b(self, b: Builder) -> None:
        self.scope.b = b

    def tickets_of(self, loop) -> Arr:
        """The next running number of an iteration of `loop`."""
        if loop not in self.tickets:
            self.tickets[loop] = Arr("tickets", "int64", (integer(1),))
        return self.tickets[loop]

    # -- values -----------------------------------------------------------------------------------------------
    def overwritten_since(self, array: Arr, stmt, scope: Scope, nested: bool) -> bool:
        return overwritten(self.order, array, stmt, stmt.index if isinstance(stmt, Load) else None) or not (
            self.plan.has_bounds(array))

    def recompute(self, v, scope: Scope, nested: bool):
        stmt = self.order.definition.get(v)
        if isinstance(stmt, Let) and stmt.op in EXPENSIVE:
            return self.before_all(v) if self.is_fixed(v) else self.from_tape(v, scope)
        return super().recompute(v, scope, nested)

    def is_fixed(self, v) -> bool:
        """Whether a float follows from what is known outside all loops, so that it is computed there, once for a tangent."""
        stmt = self.order.definition.get(v)
        return self.is_outside(v) or (isinstance(stmt, Let) and core.is_float(v) and all(map(self.is_fixed, stmt.args)))

    def is_outside(self, v) -> bool:
        return core.is_float(v) and (isinstance(v, Const) or v in self.function.params
                                     or self.order.block_of.get(v) is self.function.body)

    def before_all(self, v):
        if self.is_outside(v):
            return v
        if v not in self.top.values:
            stmt = self.order.definition[v]
            self.top.values[v] = self.top.b.let(stmt.op, *map(self.before_all, stmt.args), dtype=v.dtype, hint=v.hint)
        return self.top.values[v]

    def stored(self, stmt: Call, k: int, ref: Ref) -> Ref:
        where = as_ref(self, self.kept.get((stmt, k), ref))
        found = self.plan.whole(where.array, where.prefix, self)
        return Ref(found.array, found.prefix, where.transposed)

    def slopes(self, stmt: Let):
        return self.known[stmt]

    # -- statements -------------------------------------------------------------------------------------------
    def keep(self, stmt) -> None:
        """The forward part has it."""

    def statement(self, stmt) -> None:
        if not isinstance(stmt, (core.For, core.While, If)) or self.touches(stmt):
            super().statement(stmt)

    def touches(self, stmt) -> bool:
        """Whether any tangent moves in a loop or branch."""
        return any(x in self.live for s in core.walk((stmt,)) for x in (
            *core.results(s), *core.bound_inside(s), *((s.array,) if isinstance(s, Alloc) else ())))

    def block(self, block, after=lambda: None, loop=None, head=None) -> tuple:
        outer = self.scope
        self.scope = Scope(outer.b.child(loop=loop is not None), block, outer, loop)
        if loop is not None:
            self.scope.values[index_of(loop)] = head.index
        try:
            return self.statements(block, after)
        finally:
            self.scope = outer

    def head(self, stmt):
        if isinstance(stmt, If):
            return If(self.need(stmt.cond), (), (), (), stmt.loc)
        start, step = integer(0), integer(1)
        if isinstance(stmt, core.While):
            stop = self.need(stmt.trip)
        else:
            start, step = self.need(stmt.start), stmt.step
            stop = self.need(stmt.stop) if stmt.trip is None else self.b.iadd(start, self.b.imul(
                self.need(stmt.trip), step.value))
        self.last_loc = headed(self.b, stmt.loc, self.last_loc)
        index = self.b.index(index_of(stmt).hint, start, stop, step.value)
        return core.For(index, start, stop, step, (), (), loc=stmt.loc, origin=getattr(stmt, "origin", "user"))


def linearized(function: Function, facts: Facts, wanted, registry, name: str) -> tuple[Function, TapePlan, int]:
    """The program of the values and then of the linear map, joint form.

    wanted: parameters (Var or Arr) that have tangents: the new program takes them after the primal's parameters.
    Returns (program, tape, number of statements of the forward part); the program returns the primal results, then the
    tangents of the float ones.
    """
    function = linked(function, wanted, registry, facts)
    live = live_in(function, wanted, registry)
    with_slopes = Slopes(function, facts, live, registry)
    kept = Kept(with_slopes.function, Order(with_slopes.function, facts), live, registry)
    program = kept.function
    order = Order(program, facts)
    plan = LinearPlan(program, facts, order)
    plan.active = live
    plan.begin()
    sweep = Linear(program, facts, live, registry, plan, order, with_slopes.of, kept.of)
    tangents = swept(sweep, program, wanted)
    cells = [Alloc(cell, Const(0, "int64")) for cell in sweep.tickets.values()]
    forward = plan.augment(program.body)
    made = replace(tangents, name=name, body=(
        *forward, Comment("tangents: the same statements, first to last", True), *cells, *tangents.body),
        returns=(*program.returns, *tangents.returns), tape=plan.report())
    return made, plan, len(forward)


__all__ = ["linearized"]
