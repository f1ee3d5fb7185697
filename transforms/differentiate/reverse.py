"""Reverse mode: a core program to the program of its gradient.

    y = f(x)          y = f(x)   and, in the reverse sweep,   x_bar += y_bar * df/dx
    v = a[i]                                                  a_bar[i] += v_bar
    a[i] = v          the old a[i] is saved if a statement that is reversed later reads it
                                                              v_bar += a_bar[i];  a_bar[i] = 0;  a[i] restored
    a[i] += v                                                 v_bar += a_bar[i]
    for / while       the reversed body runs from the last iteration to the first
    if                the reversed side runs

A value the reverse sweep needs is, in this order: visible (top level), recomputed from what is, read again from memory
that holds it at that moment, or taped. Which loads are read again decides which stores must save what they overwrite;
which values cannot be recomputed decides the tape. Both sets start empty and grow while the sweep is generated again, until
it asks for nothing new. A number smaller than those that only it needs is then taped (`dominators.py`), from the start.

Source: A. Griewank and A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapters 3-6 (adjoints, to-be-recorded,
joint and split reversal).
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import Builder, headed, integer, is_one, trips
from ..language.core import Arr, Call, Carry, Comment, Const, Function, If, Let, Load, Loc, Merge, Store, Var, is_float
from ..language.dependence import Order
from ..language.errors import InternalError, UnsupportedSyntax
from ..language.facts import Facts
from ..language.motion import facts_of
from ..language.ops import EXPENSIVE
from ..language.substitution import inlined
from ..language.units import Unit
from ..optimise.simplify import remove_dead
from .activity import active
from .checkpointing import reverse_checkpointed
from .hooks import without_hooks
from .primal_values import PrimalValues, Scope
from .reverse_calls import reverse_call
from .seeds import elements_of, give_seeds
from .segments import in_segments, reverse_segments
from .tape import TapePlan
from .units import preaccumulated

PARTIALS = "_and_partials"      # how the name of a unit that returns its partial derivatives ends


class Reverse(PrimalValues):
    """One generation of the reverse sweep. `plan` holds what earlier generations asked for.

    Several cotangents may go back side by side, each a lane with adjoints of its own, over one set of primal values.
    live: for each lane, the variables and buffers that are active in it.
    """

    def __init__(self, function: Function, facts: Facts, live: list[set], registry, plan: TapePlan, order: Order):
        self.function, self.facts = function, facts
        self.live, self.active = live, set().union(*live)
        self.registry, self.plan, self.order = registry, plan, order
        self.lanes, self.lane = len(live), 0
        self.bar_of: dict[tuple[int, Arr], Arr] = {}
        self.scope: Scope
        self.last_loc: Loc | None = None

    def beside(self, function: Function, live: set, plan: TapePlan, order: Order) -> Reverse:
        """The reverse sweep of another function, by the same rules."""
        return type(self)(function, self.facts, [live], self.registry, plan, order)

    def reversed(self, *what):
        """The program of the pullback of another (`reverse`)."""
        return reverse(*what)

    # -- adjoints ---------------------------------------------------------------------------------------------
    def each_lane(self):
        """Run through the lanes; adjoints named meanwhile are the lane's."""
        for lane in range(self.lanes):
            self.lane = lane
            yield lane

    def bar_hint(self, x) -> str:
        return f"{x.hint}_bar" if self.lanes == 1 else f"{x.hint}_bar_{self.lane}"

    def add_bar(self, v, g) -> None:
        if isinstance(v, Const) or v not in self.live[self.lane] or is_zero(g):
            return
        bars, key = self.scope.bars, (self.lane, v)
        if key in bars:
            bars[key] = self.scope.b.let("add", bars[key], g, dtype=v.dtype, hint=self.bar_hint(v))
        else:
            bars[key] = g

    def take_bar(self, v):
        return self.scope.bars.pop((self.lane, v), None)

    def bar(self, a: Arr) -> Arr:
        key = (self.lane, a)
        if key not in self.bar_of:
            self.bar_of[key] = Arr(self.bar_hint(a), a.dtype, a.shape, core.ADJOINT)
        return self.bar_of[key]

    def scaled(self, g, partial, dtype, hint):
        b = self.scope.b
        if isinstance(partial, Const):
            if partial.value == 0:
                return core.NoCotangent(dtype)
            if partial.value == 1:
                return g
            if partial.value == -1:
                return b.let("neg", g, dtype=dtype, hint=hint)
        if is_one(g):
            return partial
        return b.let("mul", g, partial, dtype=dtype, hint=hint)

    # -- the sweep --------------------------------------------------------------------------------------------
    def block(self, block, allocated: bool = False) -> None:
        """The adjoints of a block's statements, last to first; allocated: its buffers have theirs."""
        scope = self.scope
        if not allocated:
            self.allocate_bars(block)
        for position in range(len(block) - 1, -1, -1):
            scope.position = position
            self.statement(block[position])
        scope.position = -1

    def allocate_bars(self, block) -> None:
        """Adjoints of the buffers this block allocates start at zero."""
        for stmt in block:
            if isinstance(stmt, core.Alloc) and stmt.array in self.active:
                a = stmt.array
                shape = tuple(self.need(s) for s in a.shape)
                if a in self.order.resized:
                    length = Var(f"{a.hint}_length", "int64")
                    self.scope.b.size(length, a, 0)
                    self.facts.number(length)
                    self.facts.nonnegative.add(length)
                    shape = (length, *shape[1:])
                for lane in self.each_lane():
                    if a not in self.live[lane]:
                        continue
                    bar = self.bar(a)
                    if bar.shape != shape:
                        bar = self.bar_of[lane, a] = Arr(bar.hint, bar.dtype, shape, bar.why)
                    self.scope.b.add(core.Alloc(bar, core.NoCotangent(a.dtype)))

    def comment(self, stmt) -> None:
        self.last_loc = headed(self.scope.b, stmt.loc, self.last_loc)

    def statement(self, stmt) -> None:
        self.scope.b.loc = stmt.loc
        match stmt:
            case Let(var=v):
                for _ in self.each_lane():
                    g = self.take_bar(v)
                    if g is not None:
                        self.comment(stmt)
                        self.reverse_let(stmt, g)
            case Load(var=v, array=a, index=index):
                for lane in self.each_lane():
                    g = self.take_bar(v)
                    if g is not None and a in self.live[lane]:
                        self.comment(stmt)
                        self.scope.b.store(self.bar(a), tuple(self.need(i) for i in index), g, accumulate=True)
            case Store():
                self.reverse_store(stmt)
            case core.For() | core.While():
                self.reverse_loop(stmt)
            case If():
                self.reverse_if(stmt)
            case core.Swap(targets=targets, sources=sources):
                self.scope.b.add(core.Swap(sources, targets, stmt.loc))
                for a in targets:
                    self.scope.b.forget(a)
                for lane in self.each_lane():
                    if targets[0] in self.live[lane]:
                        self.scope.b.add(core.Swap(tuple(map(self.bar, sources)), tuple(map(self.bar, targets))))
                        for a in targets:
                            self.scope.b.forget(self.bar(a))
            case Call():
                reverse_call(self, stmt)

    def reverse_let(self, stmt: Let, g) -> None:
        v = stmt.var
        if stmt.op == "cast":
            return self.add_bar(stmt.args[0], self.scope.b.let("cast", g, dtype=stmt.args[0].dtype, hint="t")
                                if stmt.args[0].dtype != v.dtype else g)
        if stmt.op == "link":
            _, *pairs = stmt.args
            found = [(x, self.scaled(g, self.need(slope), v.dtype, f"{getattr(x, 'hint', 't')}_bar"))
                     for slope, x in zip(pairs[::2], pairs[1::2], strict=True)
                     if isinstance(x, Var) and x in self.live[self.lane]]
            for x, value in found:
                self.add_bar(x, self.cast(value, x.dtype))
            return None
        template = self.registry.partials(stmt.op, tuple(a.dtype for a in stmt.args), v.dtype)
        if template is None:
            raise InternalError(f"the operation `{stmt.op}` has no derivative rule", stmt.loc)
        contributions = []
        for k, arg in enumerate(stmt.args):
            if isinstance(arg, Const) or arg not in self.live[self.lane]:
                continue
            body, out, used = template.slice(k, stmt)
            mapping = {p: self.need(a) for p, a in zip(template.params, (v, *stmt.args), strict=True) if p in used}
            partial = inlined(self.scope.b, body, mapping, out)
            contributions.append((arg, self.scaled(g, partial, v.dtype, f"{arg.hint}_bar")))
        for arg, value in contributions:
            self.add_bar(arg, self.cast(value, arg.dtype))
        return None

    def cast(self, value, dtype):
        return value if value.dtype == dtype else self.scope.b.let("cast", value, dtype=dtype, hint="t")

    def reverse_store(self, stmt: Store) -> None:
        a, index, v = stmt.array, stmt.index, stmt.value
        is_active = a in self.active
        saved = stmt in self.plan.saves
        forwarded = isinstance(v, Var) and not stmt.accumulate and v in self.plan.wanted and self.worth_reading(v)
        if not (is_active or saved or forwarded):
            return
        b = self.scope.b
        self.comment(stmt)
        self.scope.inside = True            # the place is looked for before what was there is back
        where = tuple(self.need(i) for i in index)
        self.scope.inside = False
        if is_active:
            for lane in self.each_lane():
                if a not in self.live[lane]:
                    continue
                bar = self.bar(a)
                carries = isinstance(v, Var) and v in self.live[lane]
                if carries:
                    self.add_bar(v, b.load(bar, where, self.bar_hint(v)))
                if not stmt.accumulate and self.order.touched_before(a, stmt, self.active):
                    b.store(bar, where, core.NoCotangent(a.dtype))
        if forwarded and isinstance(v, Var):
            home = self.order.block_of.get(v)
            if home is self.scope.block and self.scope.parent is not None and v not in self.scope.values:
                self.plan.read(a, stmt, index, after=True)
                target, place = self.plan.located(a, where, self)
                self.scope.values[v] = b.load(target, place, v.hint)
        if saved:
            old = self.plan.pop(stmt, self.scope, self)
            target, place = self.plan.located(a, where, self)
            b.store(target, place, old)

    def worth_reading(self, v) -> bool:
        """Whether a stored value is better read back than computed again."""
        stmt = self.order.definition.get(v)
        if isinstance(stmt, Let):
            return stmt.op in EXPENSIVE
        return not isinstance(stmt, Load)

    def reverse_if(self, stmt: If) -> None:
        outer = self.scope
        outer.inside = True
        seeds = [(lane, m, self.take_bar(m.var)) for lane in self.each_lane() for m in stmt.merges]
        cond = self.need(stmt.cond) if any(g is not None for _, _, g in seeds) or self.order.has_effects(
            stmt, self.active, self.plan) else None
        if cond is None:
            outer.inside = False
            return
        self.comment(stmt)
        sides = []
        for block, which in ((stmt.then, "then"), (stmt.orelse, "orelse")):
            self.scope = Scope(outer.b.child(), block, outer)
            saved_loc, self.last_loc = self.last_loc, self.last_loc
            try:
                for self.lane, m, g in seeds:
                    if g is not None:
                        self.add_bar(getattr(m, which), g)
                self.block(block)
                sides.append(self.scope)
            finally:
                self.scope = outer
                self.last_loc = saved_loc
        outer.inside = False
        then, orelse = sides
        merges = []
        contributions = []
        for self.lane, v in dict.fromkeys((*then.bars, *orelse.bars)):
            x, y = (s.bars.get((self.lane, v), core.NoCotangent(v.dtype)) for s in sides)
            if x == y:
                contributions.append((self.lane, v, x))
                continue
            var = Var(self.bar_hint(v), v.dtype)
            self.facts.number(var)
            merges.append(Merge(var, x, y))
            contributions.append((self.lane, v, var))
        if then.b.stmts or orelse.b.stmts or merges:
            outer.b.add(If(cond, then.b.block(), orelse.b.block(), tuple(merges), stmt.loc))
            self.forget_written(outer, (*then.b.stmts, *orelse.b.stmts))
        for self.lane, v, g in contributions:
            self.add_bar(v, g)

    def forget_written(self, scope, stmts) -> None:
        for a in core.written(tuple(stmts)):
            scope.b.forget(a)

    def reverse_loop(self, stmt) -> None:
        outer = self.scope
        seeds = [(lane, c, self.take_bar(c.result)) for lane in self.each_lane() for c in stmt.carries
                 if c.result in self.live[lane] or c.var in self.live[lane]]
        if not any(g is not None for _, _, g in seeds) and not self.order.has_effects(stmt, self.active, self.plan):
            return
        if stmt.checkpoint is not None:
            if self.lanes > 1:
                raise UnsupportedSyntax("a checkpointed loop is reversed for one cotangent at a time", stmt.loc,
                                        "take the gradient of each result, or vjp")
            back = reverse_segments if stmt.checkpoint[0] == "segments" else reverse_checkpointed
            return back(self, stmt, {c: g for _, c, g in seeds})
        outer.inside = True
        self.comment(stmt)
        begin = len(outer.b.stmts)
        start, stop, step, index, values = self.reversed_range(stmt)
        inner = Scope(outer.b.child(loop=True), stmt.body, outer, stmt)
        inner.values.update(values)
        heads = {}
        saved_loc = self.last_loc
        self.scope = inner
        try:
            for self.lane, c, g in seeds:
                head = Var(self.bar_hint(c.var), c.var.dtype)
                self.facts.number(head)
                heads[self.lane, c] = (head, g if g is not None else core.NoCotangent(c.var.dtype))
                self.add_bar(c.next, head) if isinstance(c.next, Var) else None
            self.block(stmt.body)
            carries = []
            after = []
            for self.lane, c, _ in seeds:
                head, init = heads[self.lane, c]
                nxt = self.take_bar(c.var)
                nxt = core.NoCotangent(head.dtype) if nxt is None else nxt
                out = Var(head.hint, head.dtype)
                self.facts.number(out)
                carries.append(Carry(head, init, nxt, out))
                after.append((self.lane, c.init, out))
            for (self.lane, v), g in list(inner.bars.items()):
                hint = self.bar_hint(v)
                head, out = Var(hint, v.dtype), Var(hint, v.dtype)
                self.facts.number(head)
                self.facts.number(out)
                total = inner.b.sum(head, g, v.dtype, hint)
                carries.append(Carry(head, core.NoCotangent(v.dtype), total, out))
                after.append((self.lane, v, out))
        finally:
            self.scope = outer
            outer.inside = False
            self.last_loc = saved_loc
        body = inner.b.block()
        if not body and not after:
            gone = {v for s in outer.b.stmts[begin:] for v in core.defined(s)}
            del outer.b.stmts[begin:]
            outer.b.known = {k: v for k, v in outer.b.known.items() if v not in gone}
            outer.b.loads = {k: v for k, v in outer.b.loads.items() if v not in gone}
            outer.values = {k: v for k, v in outer.values.items() if v not in gone}
            return
        outer.b.add(core.For(index, start, stop, step, tuple(carries), body, loc=stmt.loc, origin="reverse"))
        self.forget_written(outer, body)
        for self.lane, v, g in after:
            self.add_bar(v, g)

    def reversed_range(self, stmt):
        """(start, stop, step, index, known values) of the loop that runs `stmt` backwards."""
        b = self.scope.b
        if isinstance(stmt, core.While):
            trip = self.need(stmt.trip)
            first, stop = b.isub(trip, 1), integer(-1)
            index = b.index(stmt.counter.hint, first, stop, -1)
            return first, stop, integer(-1), index, {stmt.counter: index}
        start, end, step = self.need(stmt.start), self.need(stmt.stop), stmt.step.value
        if stmt.trip is None and step in (1, -1):
            first, stop = (b.isub(end, 1), b.isub(start, 1)) if step == 1 else (b.iadd(end, 1), b.iadd(start, 1))
            index = b.index(stmt.index.hint, first, stop, -step)
            if step == 1:
                self.facts.range[index] = (start, b.isub(b.positive(end), 1))
            return first, stop, integer(-step), index, {stmt.index: index}
        count = self.need(stmt.trip) if stmt.trip is not None else trips(b, start, end, step)
        last = b.iadd(start, b.imul(b.isub(count, 1), step))
        stop = b.iadd(start, -step)
        index = Var(stmt.index.hint, "int64")
        self.facts.number(index)
        low, high = (start, b.isub(end, 1)) if step > 0 else (b.iadd(end, 1), start)
        self.facts.range[index] = (low, high)
        return last, stop, integer(-step), index, {stmt.index: index}


def is_zero(g) -> bool:
    return isinstance(g, Const) and g.value == 0


def reverse(function: Function, facts: Facts, wanted, registry, keep_value: bool, name: str,
            seeds: str = "given", segments: bool = False, make=None) -> tuple[Function, TapePlan, int]:
    """The program of the pullback of `function`, joint form: forward sweep, then reverse sweep.

    wanted: parameters (Var or Arr) whose adjoints are returned, after the primal results if `keep_value`.
    seeds: "given" adds one parameter for each float result (its adjoint); "one" uses 1.0 for the first, which is scalar;
        "each" takes every element of every float result in turn, whose sizes must be known: the adjoints of the first
        element come first.
    segments: whether loops with tapes are taken in segments (`segments.py`).
    make: a class of sweeps in the place of `Reverse`.
    Returns (program, tape, number of statements of the forward sweep).
    """
    function = linked(function, wanted, registry, facts, True)
    live = [active(replace(function, returns=returns), wanted, registry.passes_through, registry.inactive_calls)
            for returns in ([(r,) for r, _ in elements_of(function)] if seeds == "each" else [function.returns])]
    order = Order(function, facts)
    plan = TapePlan(function, facts, order)
    plan.active = set().union(*live)
    while True:
        plan.begin()
        sweep = (make or Reverse)(function, facts, live, registry, plan, order)
        seed_params, body, bars = generate(sweep, function, wanted, seeds)
        if plan.settled():
            break
    forward = without_hooks(plan.augment(function.body))
    results = (function.returns if keep_value else ()) + tuple(bars)
    if any(isinstance(s, core.Swap) for s in core.walk(body)):          # of memory that an iteration had, and nobody reads
        body = without_lost_swaps(tuple(body), order)
        body = remove_dead(Function(name, function.params + tuple(seed_params), tuple(body), results)).body
    program = replace(function, name=name, params=function.params + tuple(seed_params), body=(
        *forward, Comment("reverse sweep: the same statements, last to first", True), *body), returns=results,
        tape=plan.report())
    if segments and (divided := in_segments(function, plan)) is not function:
        return reverse(divided, facts, wanted, registry, keep_value, name, seeds)
    return program, plan, len(forward)


def without_lost_swaps(body: tuple, order: Order) -> tuple:
    """The reverse sweep without the swaps that would give buffers back to iterations which made them: these are gone.

    UnsupportedSyntax where a buffer that had changed places with one is read from there on, loops around included."""
    for k, stmt in enumerate(body):
        for s in core.walk((stmt,)):
            if not (isinstance(s, core.Swap) and any(map(order.alloc_path.get, s.targets))):
                continue
            members = {order.memory(a) for a in s.targets}
            for x in core.walk(body[k:]):
                if not isinstance(x, (Store, core.Swap)) and any(
                        not isinstance(a, (Var, Const)) and order.memory(core.array_of(a)) in members
                        for a in core.operands(x)):
                    lost = next(a for a in s.targets if order.alloc_path.get(a))
                    raise UnsupportedSyntax(f"`{lost.hint}` is made inside a loop and then swapped, and the gradient "
                                            "needs its contents", s.loc, "create it before the loop")
    gone = lambda s: isinstance(s, core.Swap) and any(map(order.alloc_path.get, s.targets))  # noqa: E731

    def kept(block):
        return tuple(core.with_blocks(s, kept) for s in block if not gone(s))
    return kept(body)


def linked(function: Function, wanted, registry, facts: Facts | None = None, pullbacks: bool = False) -> Function:
    """The program in which active calls of units are values linked to the arguments by partial derivatives (`units.py`).
    pullbacks: whether those of arrays stay calls."""
    return preaccumulated(function, wanted, registry, with_partials, facts, pullbacks)


def with_partials(unit: Unit, outs: tuple, args: tuple, registry) -> Unit:
    """The unit that returns the results of another, then the partial derivatives of those of its results `outs`, one after
    the other, with respect to its arguments `args`."""
    key = ("partials", outs, args)
    if key not in unit.made:
        function = unit.function
        wanted = [function.params[k] for k in args]
        base, again, order = function.name.partition(PARTIALS)
        name = f"{base}{PARTIALS}" + (f"_{int(order[1:] or 1) + 1}" if again else "")
        made, _, _ = reverse(replace(function, returns=tuple(function.returns[j] for j in outs)), facts_of(function), wanted,
                             registry, True, name, "each")
        unit.made[key] = Unit(replace(made, returns=(*function.returns, *made.returns[len(outs):]), tape=()))
    return unit.made[key]


def generate(sweep: Reverse, function: Function, wanted, seeds: str):
    builder = Builder(sweep.facts)
    top = Scope(builder, function.body, None)
    sweep.scope = top
    for p in function.params:
        for lane in sweep.each_lane():
            if isinstance(p, Arr) and p in sweep.live[lane]:
                builder.add(core.Alloc(sweep.bar(p), core.NoCotangent(p.dtype)))
    sweep.allocate_bars(function.body)
    seed_params = give_seeds(sweep, function) if seeds == "given" else []
    if seeds != "given":
        elements = elements_of(function) if seeds == "each" else [(next(r for r in function.returns if is_float(r)), ())]
        for sweep.lane, (r, index) in enumerate(elements):
            one = Const(1.0, r.dtype)
            if not isinstance(r, Arr):
                sweep.add_bar(r, one)
            elif r in sweep.live[sweep.lane]:
                builder.store(sweep.bar(r), index, one, accumulate=True)
    sweep.block(function.body, allocated=True)
    bars = []
    for lane in sweep.each_lane():
        for p in wanted:
            if isinstance(p, Arr) and p not in sweep.live[lane]:
                builder.add(core.Alloc(sweep.bar(p), core.NoCotangent(p.dtype)))
            bars.append(sweep.bar(p) if isinstance(p, Arr) else top.bars.get((lane, p), core.NoCotangent(p.dtype)))
    return seed_params, builder.block(), bars


__all__ = ["Reverse", "linked", "reverse"]
