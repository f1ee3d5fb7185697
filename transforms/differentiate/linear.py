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
from ..language.build import Builder, Facts, integer, loops
from ..language.core import (
    Alloc,
    Arr,
    Call,
    Carry,
    Comment,
    Const,
    Function,
    If,
    Let,
    Load,
    Merge,
    Ref,
    Resize,
    Store,
    Swap,
    Var,
)
from ..language.dependence import Order, index_of
from ..language.draws import is_draw
from ..language.ops import EXPENSIVE
from ..language.substitution import inlined, substitute
from .forward import Forward, live_in, results
from .primal_values import PrimalValues, Scope
from .reverse_calls import array_of, as_ref, bind_primal, bind_shape
from .tape import TapePlan


class Slopes:
    """The program with the partial derivatives of its active operations as further statements. `of`: operation -> pairs
    (slope, operand with a tangent)."""

    def __init__(self, function: Function, facts: Facts, live: set, registry):
        self.live, self.registry, self.of = live, registry, {}
        self.function = replace(function, body=self.block(function.body, Builder(facts)))

    def block(self, block, b: Builder) -> tuple:
        for stmt in block:
            b.loc = stmt.loc
            b.add(core.with_blocks(stmt, lambda inner, b=b, stmt=stmt: self.block(
                inner, b.child(loop=isinstance(stmt, (core.For, core.While))))))
            if isinstance(stmt, Let):
                b.known.setdefault((stmt.op, stmt.args, stmt.var.dtype), stmt.var)
                if stmt.var in self.live and stmt.op not in ("cast", "link"):
                    self.of[stmt] = list(self.slopes(stmt, b))
        return b.block()

    def slopes(self, stmt: Let, b: Builder):
        template = self.registry.partials(stmt.op, tuple(a.dtype for a in stmt.args), stmt.var.dtype)
        for k, arg in enumerate(stmt.args):
            if isinstance(arg, Var) and arg in self.live:
                body, out, _ = template.slice(k, stmt)
                mapping = dict(zip(template.params, (stmt.var, *stmt.args), strict=True))
                yield inlined(b, body, mapping, out), arg


class Kept:
    """The program with copies of what library calls read and other statements overwrite later. `of`: (call, number of the
    operand, results first) -> the copy."""

    def __init__(self, function: Function, order: Order, live: set, rule):
        self.order, self.live, self.rule, self.of = order, live, rule, {}
        self.function = replace(function, body=self.block(function.body))

    def block(self, block) -> tuple:
        out: list = []
        for stmt in block:
            before, after = Builder(self.order.facts), Builder(self.order.facts)
            if isinstance(stmt, Call) and not is_draw(stmt) and any(x in self.live for x in results(stmt)):
                rule = self.rule(stmt)
                for k, (param, x) in enumerate(zip((*rule.outs, *rule.args), (*stmt.outs, *stmt.args), strict=True)):
                    late = k < len(stmt.outs)
                    if isinstance(param, Arr) and param in rule.used and overwritten(
                            self.order, array_in(x), stmt, None, late):
                        self.of[stmt, k] = self.copied(after if late else before, x if isinstance(x, Ref) else Ref(x))
            out += [*before.stmts, core.with_blocks(stmt, self.block), *after.stmts]
        return tuple(out)

    @staticmethod
    def copied(b: Builder, ref: Ref) -> Ref:
        own = Arr(f"{ref.array.hint}_kept", ref.dtype, ref.array.shape[len(ref.prefix):])
        b.add(Alloc(own))
        loops(b, own.shape, lambda bb, i: bb.store(own, i, bb.load(ref.array, (*ref.prefix, *i))))
        return Ref(own, (), ref.transposed)


def array_in(x) -> Arr:
    return x.array if isinstance(x, Ref) else x


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
        top = self.top_of(next(s for s in core.walk(self.function.body) if isinstance(s, Alloc) and s.array is a))
        with self.before_checks():
            return all(self.outside(s, True, top, self.prelude_of(top)) is not None for s in a.shape)

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

    def __init__(self, function: Function, facts: Facts, live: set, registry, plan: LinearPlan, order: Order, slopes, kept):
        self.function, self.facts, self.live, self.registry = function, facts, live, registry
        self.plan, self.order, self.slopes, self.kept = plan, order, slopes, kept
        self.dots: dict = {}
        self.last_loc = None
        self.top = self.scope = Scope(Builder(facts), function.body, None)
        self.tickets: dict = {}

    @property
    def b(self) -> Builder:                             # type: ignore[override]
        return self.scope.b

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

    def where(self, index) -> tuple:
        return tuple(map(self.need, index))

    def array(self, a: Arr) -> Arr:
        if a not in self.dots:
            self.dots[a] = Arr(f"{a.hint}_dot", a.dtype, self.where(a.shape))
        return self.dots[a]

    # -- statements -------------------------------------------------------------------------------------------
    def block(self, block, after=lambda: None, loop=None, values=()) -> tuple:
        outer = self.scope
        self.scope = Scope(outer.b.child(loop=loop is not None), block, outer, loop)
        self.scope.values.update(values)
        try:
            for stmt in block:
                self.b.loc = stmt.loc
                self.statement(stmt)
            after()
            return self.b.block()
        finally:
            self.scope = outer

    def statement(self, stmt) -> None:
        match stmt:
            case core.For() | core.While():
                if self.touches(stmt):
                    self.loop(stmt)
                return
            case If():
                if self.touches(stmt):
                    self.branch(stmt)
                return
            case Alloc(array=a) if a in self.live:
                self.b.add(Alloc(self.array(a), Const(0.0, a.dtype), stmt.loc))
                return
        if not any(x in self.live for x in results(stmt)):
            return
        self.comment(stmt)
        match stmt:
            case Let():
                self.let(stmt)
            case Load(var=v, array=a, index=index):
                source, place = self.array(a), self.where(index)
                self.b.add(Load(self.new(v), source, place, stmt.loc))
            case Store(array=a, index=index):
                value = self.dot(stmt.value)
                if value is not None or not stmt.accumulate:
                    value = Const(0.0, a.dtype) if value is None else value
                    self.b.add(Store(self.array(a), self.where(index), value, stmt.accumulate, stmt.loc))
            case Resize(array=a, length=n):
                self.b.add(Resize(self.array(a), self.need(n), stmt.loc))
            case Swap(targets=targets, sources=sources):
                self.b.add(Swap(tuple(map(self.array, targets)), tuple(map(self.array, sources)), stmt.loc))
            case Call() if is_draw(stmt):
                self.draw(stmt)
            case Call():
                self.call(stmt, self.rule(stmt))

    def draw(self, stmt: Call) -> None:
        for ref in (as_ref(self, x) for x in stmt.outs if array_of(x) in self.live):
            dot = self.array(ref.array)
            loops(self.b, [self.need(s) for s in ref.shape], lambda b, i, ref=ref, dot=dot: b.store(
                dot, (*ref.prefix, *i), Const(0.0, ref.dtype)))

    def touches(self, stmt) -> bool:
        """Whether any tangent moves in a loop or branch."""
        return any(x in self.live for s in core.walk((stmt,)) for x in (*results(s), *(
            c.var for c in getattr(s, "carries", ())), *((s.array,) if isinstance(s, Alloc) else ())))

    def partials(self, stmt: Let):
        if stmt.op == "link":
            _, *pairs = stmt.args
            found = zip(pairs[::2], pairs[1::2], strict=True)
        else:
            found = self.slopes[stmt]
        yield from ((self.need(slope), self.dot(x)) for slope, x in found if self.dot(x) is not None)

    def loop(self, stmt) -> None:
        start, stop, step = integer(0), None, integer(1)
        if isinstance(stmt, core.While):
            stop = self.need(stmt.trip)
        else:
            start, step = self.need(stmt.start), stmt.step
            stop = self.need(stmt.stop) if stmt.trip is None else self.b.iadd(start, self.b.imul(
                self.need(stmt.trip), step.value))
        self.comment(stmt)
        index = self.b.index(index_of(stmt).hint, start, stop, step.value)
        moving = self.moving(stmt)
        inits = [self.dot_or_zero(c.init) for c in moving]
        heads = [self.new(c.var) for c in moving]
        body = self.block(stmt.body, loop=stmt, values=((index_of(stmt), index),))
        carries = tuple(Carry(head, init, self.dot_or_zero(c.next), self.new(c.result))
                        for c, head, init in zip(moving, heads, inits, strict=True))
        self.b.add(core.For(index, start, stop, step, carries, body, loc=stmt.loc, origin=getattr(stmt, "origin", "user")))

    def branch(self, stmt: If) -> None:
        cond = self.need(stmt.cond)
        then, orelse = self.block(stmt.then), self.block(stmt.orelse)
        merges = tuple(Merge(self.new(m.var), self.dot_or_zero(m.then), self.dot_or_zero(m.orelse))
                       for m in stmt.merges if m.var in self.live)
        self.b.add(If(cond, then, orelse, merges, stmt.loc))

    def call(self, stmt: Call, rule) -> None:
        mapping: dict = {}
        for k, (param, x) in enumerate(zip((*rule.outs, *rule.args), (*stmt.outs, *stmt.args), strict=True)):
            if not isinstance(param, Arr):
                if param in rule.used:
                    mapping[param] = self.need(x)
            elif param in rule.used:
                bind_primal(self, mapping, param, self.kept.get((stmt, k), x))
            elif set(param.shape) & rule.used:
                bind_shape(self, mapping, param, as_ref(self, x))
        for param, x in (*zip(rule.arg_dots, stmt.args, strict=True), *zip(rule.out_dots, stmt.outs, strict=True)):
            if isinstance(param, Arr):
                ref = as_ref(self, x)
                if ref.array not in self.live:              # another result of the call is
                    self.b.add(Alloc(self.array(ref.array), Const(0.0, ref.dtype), stmt.loc))
                mapping[param] = Ref(self.array(ref.array), ref.prefix, ref.transposed)
                bind_shape(self, mapping, param, ref)
            elif param in rule.arg_dots and param is not None:
                mapping[param] = self.dot_or_zero(x)
        self.b.stmts.extend(substitute(rule.body, mapping))
        for param, x in zip(rule.out_dots, stmt.outs, strict=True):
            if not isinstance(param, Arr) and x in self.live:
                self.dots[x] = mapping.get(param, param)


def linearized(function: Function, facts: Facts, wanted, registry, name: str) -> tuple[Function, TapePlan, int]:
    """The program of the values and then of the linear map, joint form.

    wanted: parameters (Var or Arr) that have tangents: the new program takes them after the primal's parameters.
    Returns (program, tape, number of statements of the forward part); the program returns the primal results, then the
    tangents of the float ones.
    """
    live = live_in(function, wanted, registry)
    slopes = Slopes(function, facts, live, registry)
    rule = Forward(facts, live, registry).rule
    kept = Kept(slopes.function, Order(slopes.function, facts), live, rule)
    program = kept.function
    order = Order(program, facts)
    plan = LinearPlan(program, facts, order)
    plan.active = live
    plan.begin()
    sweep = Linear(program, facts, live, registry, plan, order, slopes.of, kept.of)
    tangents = tuple(sweep.array(p) if isinstance(p, Arr) else sweep.new(p) for p in wanted)
    head = [Alloc(sweep.array(p), Const(0.0, p.dtype)) for p in function.params if p in live and p not in wanted]
    for stmt in program.body:
        sweep.b.loc = stmt.loc
        sweep.statement(stmt)
    body = sweep.top.b.block()
    tail, dots = [], []
    for r in filter(core.is_float, program.returns):
        if isinstance(r, Arr) and r not in sweep.dots:
            tail.append(Alloc(sweep.array(r), Const(0.0, r.dtype)))
        dots.append(sweep.array(r) if isinstance(r, Arr) else sweep.dot_or_zero(r))
    cells = [Alloc(cell, Const(0, "int64")) for cell in sweep.tickets.values()]
    forward = plan.augment(program.body)
    copied = function.copied | {t for p, t in zip(wanted, tangents, strict=True) if p in function.copied}
    made = replace(program, name=name, params=program.params + tangents, body=(
        *forward, Comment("tangents: the same statements, first to last", True), *head, *cells, *body, *tail),
        returns=(*program.returns, *dots), copied=frozenset(copied), tape=plan.report())
    return made, plan, len(forward)


__all__ = ["linearized"]
