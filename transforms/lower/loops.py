"""Loops: what is carried from one iteration to the next, and how.

A loop body is lowered once with guesses for what its names hold at the start of an iteration. Where the end of the body
disproves a guess (an integer became a float, an array was rebound), `Again` starts over with a better one.

    scalars           carried
    arrays, same      the name refers to one buffer throughout: its memory changes, nothing is carried
    arrays, permuted  `a, b = b, a`: the buffers are swapped
    arrays, rebound   a buffer of the loop's own takes a copy of the new value at the end of each iteration
"""

from __future__ import annotations

import gast

from ..language.build import ONE, ZERO, integer
from ..language.core import Carry, Const, For, If, Merge, Var, While, written
from ..language.errors import ShapeMismatch, TypeConflict, UnsupportedSyntax
from .arrays import describe
from .carries import Carries
from .growing import GrowingLists
from .liveness import assigned, bound_inside, exits, names_read, target_names
from .loop_ends import ITERATED
from .needs import NeedsStatic, Raised
from .plan import Again, Plan
from .sharing import children, is_object
from .statements import BREAKS, FALLS, RETURNS
from .unbound import bound_before, held
from .values import (
    UNSET,
    Array,
    Delayed,
    GrowList,
    Iterable,
    Mapping,
    Range,
    Scalar,
    Sequence,
    Series,
    Static,
    Table,
    Undefined,
    Value,
    View,
    as_range,
    leaves,
)

UNROLL_LIMIT = 64


class Loops(Carries, GrowingLists):
    def needs_static(self, value, what):
        return NeedsStatic(self.error(TypeConflict, f"{what} must be known before the program runs",
                                      "use an array, or a loop over a literal range"), value)

    # -- iteration --------------------------------------------------------------------------------------------
    def iterate(self, value: Value) -> Iterable:
        value = self.unpacked(self.settled(value, "something to run over"))
        match value:
            case Iterable():
                return value
            case Range():
                return self.iterate_range(value)
            case Sequence(items=items):
                return Iterable(integer(len(items)), lambda k: items[k.value], items)
            case Mapping(items=items):
                keys = tuple(Static(k) for k in items)
                return Iterable(integer(len(keys)), lambda k: keys[k.value], keys)
            case Static(value=v) if isinstance(v, (tuple, list, str, dict, range)):
                return self.iterate(Sequence(tuple(self.wrap(x) for x in v)))
            case GrowList():
                rows = self.array(value)
                return Iterable(value.count, lambda k: self.row_read(value, self.index_array(rows, (self.number(k),))),
                                arrays=(rows,))
            case Series():
                return self.series_items(value)
            case Table():
                return Iterable(value.count, lambda k: self.row_of(value, self.number(k)), arrays=tuple(leaves(value)))
            case Array() if value.rank:
                at = lambda k: self.index_array(value, (self.number(k),))  # noqa: E731
                item = (lambda k: self.item_of_memory(value, at(k))) if value.is_list else at
                return Iterable(value.shape[0], item, arrays=(value,))
        if isinstance(value, Static) and hasattr(type(value.value), "__iter__"):
            raise self.error(UnsupportedSyntax, f"a loop over a {type(value.value).__name__} is not supported: it may give "
                             "other items at the next call", "make a tuple or a list of it outside")
        raise self.error(TypeConflict, f"{describe(value)} is not iterable")

    def iterate_range(self, r: Range) -> Iterable:
        start, stop = self.atom(r.start, "int64"), self.atom(r.stop, "int64")
        step = self.atom(r.step, "int64")
        length = self.range_length(start, stop, step)
        item = lambda k: self.number(self.b.iadd(start, self.b.imul(k, step)))  # noqa: E731
        return Iterable(length, item)

    def range_length(self, start, stop, step):
        b = self.b
        if isinstance(step, Const):
            if step.value == 1:
                return b.imax(b.isub(stop, start), 0)
            if step.value > 0:
                return b.imax(b.let("floordiv", b.iadd(b.isub(stop, start), step.value - 1), step, dtype="int64"), 0)
            if step.value == 0:
                raise self.error(ShapeMismatch, "range() arg 3 must not be zero")
            return b.imax(b.let("floordiv", b.iadd(b.isub(start, stop), -step.value - 1), integer(-step.value),
                                dtype="int64"), 0)
        if not b.facts.at_least(step, 1):
            self.must(b.compare("ne", step, ZERO), "ValueError", "range() arg 3 must not be zero")
        sign = self.branch(b.compare("gt", step, ZERO), lambda: ONE, lambda: integer(-1))
        return b.imax(b.iadd(b.let("floordiv", b.isub(b.isub(stop, start), sign), step, dtype="int64"), 1), 0)

    def exec_For(self, stmt, rest):
        value = as_range(self.eval(stmt.iter))
        if isinstance(value, Range):
            length = self.range_length(self.atom(value.start, "int64"), self.atom(value.stop, "int64"),
                                       self.atom(value.step, "int64"))
        else:
            owner = value
            value = self.iterate(value)
            length = value.length
            if value.static is not None:
                self.unrolled(stmt, owner if isinstance(owner, Sequence) and owner.kind is list else Sequence(value.static))
                self.after_loop(stmt)
                return
        if length == ZERO:
            self.after_loop(stmt)
            return
        self.static_trips.append(isinstance(length, Const) and length.value <= UNROLL_LIMIT)
        name = f"{ITERATED}{len(self.env)}"
        self.env[name] = Sequence(() if isinstance(value, Range) else value.arrays)
        try:
            self.dynamic_for(stmt, value)
        except NeedsStatic as e:
            if not isinstance(length, Const) or length.value > UNROLL_LIMIT:
                raise self.unrolled_by(value, e) from None
            iterable = self.iterate(value)
            items = tuple(iterable.item(integer(k)) for k in range(length.value))
            self.unrolled(stmt, Sequence(items))
        finally:
            self.static_trips.pop()
            self.env.pop(name, None)
        self.after_loop(stmt)

    def unrolled_by(self, value, e: NeedsStatic) -> NeedsStatic:
        """Where unrolling this loop would help: a request for the integer parameter that decides its length."""
        if isinstance(value, Range) and self.parameter_behind(e.value) is None:
            unknown = [x for x in (value.start, value.stop, value.step) if isinstance(x, Scalar)]
            if len(unknown) == 1 and self.parameter_behind(unknown[0]) is not None:
                return NeedsStatic(e.error, unknown[0])
        return e

    def unrolled(self, stmt, items: Sequence) -> None:
        """One copy of the body an item, each item as it is when its turn comes: the body may change it."""
        name = f"{ITERATED}{len(self.env)}"
        seen = [held(self.env.get(n)) for n in sorted(names_read(stmt.iter))]
        read = [v for v in seen if isinstance(v, (Sequence, Mapping)) and is_object(v) and v is not items]
        self.env[name] = Sequence((items, Sequence(tuple(read))))
        try:
            self.unroll(stmt, name, read, 0)
        finally:
            self.env.pop(name, None)

    def unroll(self, stmt, name, read, position) -> None:
        k = position - 1
        while True:
            k += 1
            held = self.env[name]
            items, now = held.items if isinstance(held, Sequence) else (None, Sequence(()))
            if not isinstance(items, Sequence) or not isinstance(now, Sequence) or not all(
                    unchanged_from(a, b, k) for a, b in zip(read, now.items, strict=True)):
                raise self.error(UnsupportedSyntax, "what this loop runs over is changed in it, further on than it has come",
                                 "run over a copy, or over the indices")
            if k >= len(items.items):
                return
            self.bind(stmt.target, items.items[k], stmt)
            self.exec_block(stmt.body)
            code = self.env["%exit"]
            if isinstance(code, Static):
                if code.value >= BREAKS:
                    return
                self.env["%exit"] = Static(FALLS)
                continue
            go_on = self.b.compare("lt", code.atom, integer(BREAKS))
            def more(k=k):
                self.env["%exit"] = Static(FALLS)
                self.unroll(stmt, name, read, k + 1)
            self.conditional(go_on, more, lambda: None, stmt.live_head)
            return

    def after_loop(self, stmt) -> None:
        """The `else` of a loop, and the end of a break."""
        code = self.env["%exit"]
        if isinstance(code, Static):
            if code.value == BREAKS:
                self.env["%exit"] = Static(FALLS)
            elif code.value != RETURNS:
                self.env["%exit"] = Static(FALLS)
                self.exec_block(stmt.orelse)
            return
        if stmt.orelse:
            falls = self.b.compare("le", code.atom, integer(1))
            def other():
                self.env["%exit"] = Static(FALLS)
                self.exec_block(stmt.orelse)
            def broken():
                self.env["%exit"] = self.unbroken(code.atom, stmt)
            self.conditional(falls, other, broken, stmt.live_out)
        else:
            self.env["%exit"] = self.unbroken(code.atom, stmt)

    def unbroken(self, code, stmt) -> Value:
        if "return" not in exits(stmt.body):
            return Static(FALLS)
        returned = self.b.compare("eq", code, integer(RETURNS))
        return Scalar(self.branch(returned, lambda: integer(RETURNS), lambda: ZERO, "exit"))

    # -- the two dynamic loops --------------------------------------------------------------------------------
    def dynamic_for(self, stmt, value) -> None:
        b = self.b
        if isinstance(value, Range):
            start, stop = self.atom(value.start, "int64"), self.atom(value.stop, "int64")
            step = self.atom(value.step, "int64")
            item = self.number
            if not isinstance(step, Const):
                iterable = self.iterate_range(value)
                start, stop, step, item = ZERO, iterable.length, ONE, iterable.item
        else:
            start, stop, step, item = ZERO, value.length, ONE, value.item
        names = assigned(stmt.body) | target_names(stmt.target)
        kept = value.checkpoint if isinstance(value, Range) else None
        arrays = () if isinstance(value, Range) else value.arrays
        self.attempt_loop(stmt, names, lambda plan: self.try_for(
            stmt, names, plan, start, stop, step, item, b, kept, arrays))

    def attempt_loop(self, stmt, names, attempt) -> None:
        self.force_live(stmt)
        plan = self.plans.setdefault((id(stmt), tuple(id(f) for f in self.frames)), Plan())
        self.keep_alive.append(stmt)
        for _ in range(24):
            before = self.snapshot()
            self.active_loops.append((plan, before[0]))
            plan.place = self.b, len(self.user_writes)
            try:
                self.prepare_lists(plan)
                return attempt(plan)
            except (Again, NeedsStatic) as e:
                self.rollback(before)
                if isinstance(e, NeedsStatic) or e.plan not in (None, plan):
                    raise
            finally:
                self.active_loops.pop()
        raise self.error(TypeConflict, "the types of this loop's variables do not settle",
                         "give them one type before the loop")

    def open_loops(self):
        """(builder around it, number of writes before it) of each loop being lowered."""
        return [plan.place for plan, _ in self.active_loops]

    def environments(self) -> list:
        """What the names of the functions being lowered mean now."""
        return [dict(f.env) for f in self.frames]

    def snapshot(self) -> tuple:
        """What an attempt at lowering changes, to go back to."""
        return (self.environments(), self.b, list(self.b.stmts), dict(self.b.known), dict(self.b.loads),
                set(self.guarded), self.node, self.frame, len(self.forced_log), dict(self.b.facts.alias), dict(self.listed),
                {a: set(others) for a, others in self.twins.items()})

    def rollback(self, before: tuple) -> None:
        envs, b, stmts, known, loads, guarded, node, frame, forced, equal, self.listed, self.twins = before
        del self.frames[len(envs):]
        self.b, self.guarded, self.node, self.frame = b, set(guarded), node, frame
        b.facts.forget_since(dict(equal))               # the checks that made sizes equal are dropped too
        outside = self.surrounding()[1:]
        for delayed in self.forced_log[forced:]:
            if delayed.builder not in outside:
                delayed.forced = None                   # what gave it memory is dropped
        del self.forced_log[forced:]
        b.stmts, b.known, b.loads = stmts, known, loads
        self.restore(envs)

    def force_live(self, stmt) -> None:
        """Expressions that the loop or what follows reads get memory before it."""
        for frame in self.frames:
            for name, value in frame.env.items():
                if frame is not self.frame or name in stmt.live_head or name in stmt.live_out:
                    for leaf in leaves(value):
                        if isinstance(leaf, Delayed) and leaf.forced is None and leaf.rank and leaf.builder is not None:
                            self.force(leaf, name)

    def try_for(self, stmt, names, plan, start, stop, step, item, outer, kept, arrays) -> None:
        pending = [d for d in map(innermost, arrays) if isinstance(d, Delayed) and d.forced is None]
        reads = frozenset().union(*(d.roots() for d in pending))
        if plan.items_first:
            for delayed in pending:
                self.force(delayed)
        simple = step.value in (1, -1) and kept is None and not {"break", "return"} & exits(stmt.body)
        plan.range = (start, stop, step.value) if simple else ()
        state = self.open(stmt, names, plan)
        hint = next(iter(target_names(stmt.target)), "i") if len(target_names(stmt.target)) == 1 else "i"
        if not isinstance(held(self.env.get(hint, UNSET)), (Undefined, Scalar, Static)):
            hint = "i"
        index = outer.index(hint, start, stop, step.value)
        self.b = outer.child(loop=True)
        try:
            bound_before(plan, state, self.b.compare("ne", index, start) if plan.always else None)
            self.count(state, index)
            self.bind(stmt.target, item(index), stmt)
            raised = self.exec_body(stmt)
            code = self.env["%exit"]
            stop_when = self.stop_condition(code) if {"break", "return"} & exits(stmt.body) else None
            carries = self.close(stmt, plan, state, code)
            block = self.b.block()
        finally:
            self.b = outer
        if not plan.items_first and reads & written(block):
            plan.items_first = True
            raise Again
        trip = Var("trips", "int64") if stop_when is not None else None
        if stop_when is not None:
            outer.facts.number(trip)
            outer.facts.nonnegative.add(trip)
        outer.add(For(index, start, stop, step, carries, block, stop_when, trip, outer.loc, checkpoint=kept))
        self.finish(stmt, state, block, plan, outer.compare("lt" if step.value > 0 else "gt", start, stop))
        if raised and isinstance(start, Const) and isinstance(stop, Const):         # it runs at least once
            raise raised

    def exec_body(self, stmt) -> Raised | None:
        """Run the statements of an iteration; if they are sure to raise, no name changes, and that is returned."""
        self.env["%exit"] = Static(FALLS)
        here, before = self.b, self.environments()
        try:
            self.exec_block(stmt.body)
        except Raised as e:
            if e.builder is not here:
                raise
            self.restore(before)
            e.builder = here.parent
            return e
        return None

    def stop_condition(self, code):
        if isinstance(code, Static):
            return Const(True, "bool") if code.value >= BREAKS else None
        return self.b.compare("ge", code.atom, integer(BREAKS))

    def exec_While(self, stmt, rest):
        first, kept = self.marked_condition(stmt.test)
        if first == Const(False, "bool"):
            self.after_loop(stmt)
            return
        names = assigned([stmt])
        self.static_trips.append(False)
        try:
            self.attempt_loop(stmt, names, lambda plan: self.try_while(stmt, names, plan, first, kept))
        finally:
            self.static_trips.pop()
        self.after_loop(stmt)

    def marked_condition(self, test) -> tuple:
        """The truth of a `while` condition, and the copies to keep where it is `checkpoint(condition, ...)`."""
        around, self.loop_mark = self.loop_mark, None
        try:
            return self.truth_of(test), self.loop_mark
        finally:
            self.loop_mark = around         # the condition may have called a function with loops of its own

    def try_while(self, stmt, names, plan, first, kept) -> None:
        outer = self.b
        state = self.open(stmt, names, plan)
        go = Var("go_on", "bool")
        counter, trip = Var("iteration", "int64"), Var("trips", "int64")
        for v in (counter, trip):
            outer.facts.number(v)
            outer.facts.nonnegative.add(v)
        self.b = outer.child(loop=True)
        try:
            raised = self.exec_body(stmt)
            code = self.env["%exit"]
            stop_when = self.stop_condition(code) if {"break", "return"} & exits(stmt.body) else None
            if stop_when is None:
                again, _ = self.marked_condition(stmt.test)
            elif isinstance(stop_when, Const):
                again = Const(False, "bool")
            elif names_bound := bound_inside([stmt.test]):
                again = self.condition(self.choose(stop_when, lambda: Scalar(Const(False, "bool"), True), lambda: Scalar(
                    self.marked_condition(stmt.test)[0], True), names_bound))
            else:
                inner = self.b
                self.b = inner.child()
                again, _ = self.marked_condition(stmt.test)
                block = self.b.block()
                self.b = inner
                merged = Var("again", "bool")
                inner.add(If(stop_when, (), block, (Merge(merged, Const(False, "bool"), again),), inner.loc))
                again = merged
            carries = self.close(stmt, plan, state, code)
            block = self.b.block()
        finally:
            self.b = outer
        carries = (Carry(go, first, again, Var("go_on", "bool")), *carries)
        outer.add(While(go, carries, block, counter, trip, outer.loc, kept))
        self.finish(stmt, state, block, plan, first)
        if raised and first == Const(True, "bool"):
            raise raised
        if isinstance(stmt.test, gast.Constant) and stmt.test.value and isinstance(code, Static) and code.value < BREAKS:
            raise self.raised_here(stmt)        # nothing else ends it


def innermost(array: Array) -> Array:
    """What a view, or a view of a view, looks into."""
    while isinstance(array, View):
        array = array.source
    return array


def unchanged_from(before: Value, now: Value, k: int) -> bool:
    """Whether a list or dict that a loop's items were made of has the same items from number `k` on."""
    if before is now:
        return True
    a, b = children(before), children(now)
    return isinstance(now, (Sequence, Mapping)) and len(a) == len(b) and all(
        x is y or is_object(x) for x, y in zip(a[k:], b[k:], strict=True))


__all__ = ["Again", "Loops", "NeedsStatic"]
