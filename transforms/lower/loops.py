"""Loops: what is carried from one iteration to the next, and how.

A loop body is lowered once with guesses for what its names hold at the start of an iteration. Where the end of the body
disproves a guess (an integer became a float, an array was rebound), `Again` starts over with a better one.

    scalars           carried
    arrays, same      the name refers to one buffer throughout: its memory changes, nothing is carried
    arrays, permuted  `a, b = b, a`: the buffers are swapped
    arrays, rebound   a buffer of the loop's own takes a copy of the new value at the end of each iteration
"""

from __future__ import annotations

from ..build import integer
from ..core import Carry, Const, For, If, Merge, Resize, Swap, Var, While, written
from ..errors import TypeConflict, UnsupportedSyntax
from ..ops import promote
from .arrays import ONE, ZERO, describe
from .liveness import assigned, exits, target_names
from .needs import NeedsStatic
from .statements import BREAKS, FALLS, RETURNS
from .values import (
    UNSET,
    Array,
    Buffer,
    Delayed,
    GrowList,
    Iterable,
    Mapping,
    Range,
    Record,
    Scalar,
    Sequence,
    Static,
    Undefined,
    Value,
    View,
    is_number,
    leaves,
    rebuild,
    structure,
)

UNROLL_LIMIT = 64


class Again(Exception):
    """A guess about a loop was wrong: lower it again with what was learnt."""


class Plan:
    """What is known of a loop's carried names, improved from one attempt to the next."""

    def __init__(self):
        self.dtype: dict = {}
        self.strong: set = set()
        self.array: dict = {}
        self.template: dict = {}
        self.grow: dict = {}
        self.code = False

    def learn(self, table: dict, key, value) -> None:
        if table.get(key) == value:
            raise RuntimeError(f"no progress on {key}")
        table[key] = value
        raise Again


class Loops:
    def needs_static(self, value, what):
        return NeedsStatic(self.error(TypeConflict, f"{what} must be known before the program runs",
                                      "use an array, or a loop over a literal range"), value)

    # -- iteration --------------------------------------------------------------------------------------------
    def iterate(self, value: Value) -> Iterable:
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
            case Record(fields=fields):
                return self.iterate(Sequence(tuple(fields.values())))
            case Static(value=v) if isinstance(v, (tuple, list, str, dict, range)):
                return self.iterate(Sequence(tuple(self.wrap(x) for x in v)))
            case GrowList():
                rows = self.array(value)
                return Iterable(value.count, lambda k: self.index_array(rows, (self.number(k),)))
            case Array() if value.rank:
                return Iterable(value.shape[0], lambda k: self.index_array(value, (self.number(k),)))
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
                raise self.error(TypeConflict, "range() arg 3 must not be zero")
            return b.imax(b.let("floordiv", b.iadd(b.isub(start, stop), -step.value - 1), integer(-step.value),
                                dtype="int64"), 0)
        sign = self.branch(b.compare("gt", step, ZERO), lambda: ONE, lambda: integer(-1))
        return b.imax(b.let("floordiv", b.isub(b.iadd(b.isub(stop, start), step), sign), step, dtype="int64"), 0)

    def exec_For(self, stmt, rest):
        value = self.eval(stmt.iter)
        while isinstance(value, Static) and isinstance(value.value, range):
            r = value.value
            value = Range(Static(r.start), Static(r.stop), Static(r.step))
        if isinstance(value, Range):
            length = self.range_length(self.atom(value.start, "int64"), self.atom(value.stop, "int64"),
                                       self.atom(value.step, "int64"))
        else:
            value = self.iterate(value)
            length = value.length
            if value.static is not None:
                self.unroll(stmt, value.static, 0)
                self.after_loop(stmt)
                return
        if length == ZERO:
            self.after_loop(stmt)
            return
        self.static_trips.append(isinstance(length, Const) and length.value <= UNROLL_LIMIT)
        try:
            self.dynamic_for(stmt, value)
        except NeedsStatic as e:
            if not isinstance(length, Const) or length.value > UNROLL_LIMIT:
                raise e from None
            iterable = self.iterate(value)
            items = tuple(iterable.item(integer(k)) for k in range(length.value))
            self.unroll(stmt, items, 0)
        finally:
            self.static_trips.pop()
        self.after_loop(stmt)

    def unroll(self, stmt, items, position) -> None:
        """One copy of the body an item."""
        for k in range(position, len(items)):
            self.bind(stmt.target, items[k], stmt)
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
                self.unroll(stmt, items, k + 1)
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
        self.attempt_loop(stmt, names, lambda plan: self.try_for(stmt, names, plan, start, stop, step, item, b))

    def attempt_loop(self, stmt, names, attempt) -> None:
        self.force_live(stmt)
        plan = self.plans.setdefault((id(stmt), tuple(id(f) for f in self.frames)), Plan())
        self.keep_alive.append(stmt)
        for _ in range(24):
            state = ([dict(f.env) for f in self.frames], self.b, list(self.b.stmts), dict(self.b.known),
                     dict(self.b.loads), set(self.guarded), self.node, self.frame)
            depth, forced, equal = len(self.frames), len(self.forced_log), dict(self.b.facts.alias)
            try:
                return attempt(plan)
            except (Again, NeedsStatic) as e:
                del self.frames[depth:]
                self.b = state[1]
                self.b.facts.forget_since(equal)        # the checks that made sizes equal are dropped too
                outside = self.surrounding()[1:]
                for delayed in self.forced_log[forced:]:
                    if delayed.builder not in outside:
                        delayed.forced = None           # what gave it memory is dropped
                del self.forced_log[forced:]
                envs, self.b, self.b.stmts, self.b.known, self.b.loads, self.guarded, self.node, \
                    self.frame = state
                self.restore(envs)
                if isinstance(e, NeedsStatic):
                    raise
        raise self.error(TypeConflict, "the types of this loop's variables do not settle",
                         "give them one type before the loop")

    def force_live(self, stmt) -> None:
        """Expressions that the loop or what follows reads get memory before it."""
        for frame in self.frames:
            for name, value in frame.env.items():
                if frame is not self.frame or name in stmt.live_head or name in stmt.live_out:
                    for leaf in leaves(value):
                        if isinstance(leaf, Delayed) and leaf.forced is None and leaf.rank and leaf.builder is not None:
                            self.force(leaf, name)

    def try_for(self, stmt, names, plan, start, stop, step, item, outer) -> None:
        state = self.open(stmt, names, plan)
        hint = next(iter(target_names(stmt.target)), "i") if len(target_names(stmt.target)) == 1 else "i"
        if not isinstance(self.env.get(hint, UNSET), (Undefined, Scalar, Static)):
            hint = "i"
        index = outer.index(hint, start, stop, step.value)
        self.b = outer.child(loop=True)
        try:
            self.bind(stmt.target, item(index), stmt)
            self.env["%exit"] = Static(FALLS)
            self.exec_block(stmt.body)
            code = self.env["%exit"]
            stop_when = self.stop_condition(code)
            carries = self.close(stmt, plan, state, code)
            block = self.b.block()
        finally:
            self.b = outer
        trip = Var("trips", "int64") if stop_when is not None else None
        if stop_when is not None:
            outer.facts.number(trip)
            outer.facts.nonnegative.add(trip)
        outer.add(For(index, start, stop, step, carries, block, stop_when, trip, outer.loc))
        self.finish(stmt, state, block)

    def stop_condition(self, code):
        if isinstance(code, Static):
            return Const(True, "bool") if code.value >= BREAKS else None
        return self.b.compare("ge", code.atom, integer(BREAKS))

    def exec_While(self, stmt, rest):
        test = self.eval(stmt.test)
        first = self.condition(test)
        if first == Const(False, "bool"):
            self.after_loop(stmt)
            return
        names = assigned([stmt])
        self.static_trips.append(False)
        try:
            self.attempt_loop(stmt, names, lambda plan: self.try_while(stmt, names, plan, first))
        finally:
            self.static_trips.pop()
        self.after_loop(stmt)

    def try_while(self, stmt, names, plan, first) -> None:
        outer = self.b
        state = self.open(stmt, names, plan)
        go = Var("go_on", "bool")
        counter, trip = Var("iteration", "int64"), Var("trips", "int64")
        for v in (counter, trip):
            outer.facts.number(v)
            outer.facts.nonnegative.add(v)
        self.b = outer.child(loop=True)
        try:
            self.env["%exit"] = Static(FALLS)
            self.exec_block(stmt.body)
            code = self.env["%exit"]
            stop_when = self.stop_condition(code)
            if stop_when is None:
                again = self.condition(self.eval(stmt.test))
            elif isinstance(stop_when, Const):
                again = Const(False, "bool")
            else:
                inner = self.b
                self.b = inner.child()
                again = self.condition(self.eval(stmt.test))
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
        outer.add(While(go, carries, block, counter, trip, outer.loc))
        self.finish(stmt, state, block)

    # -- carried names ----------------------------------------------------------------------------------------
    def open(self, stmt, names, plan):
        """Put the values that names have at the start of an iteration into the environment."""
        carried = sorted(n for n in names if n in stmt.live_head and n in self.env or
                         (n in stmt.live_head and n not in self.env))
        entries = []
        leaving = exits(stmt.body)
        if "return" in leaving:
            carried.append("%value")
        for name in carried:
            value = self.env.get(name, UNSET)
            if name == "%value":
                value = UNSET
            if isinstance(value, Undefined):
                template = plan.template.get(name)
                if template is None:
                    entries.append((name, value, UNSET, []))
                    self.env[name] = Undefined(f"`{name}` may be undefined here")
                    continue
                value = self.blank(name, template)
            if name in plan.grow and isinstance(value, Sequence):
                value = self.to_grow_list(name, value, plan.grow[name])
            heads, leaf_records = [], []
            for k, leaf in enumerate(leaves(value)):
                head, record = self.open_leaf(name, k, leaf, plan, stmt)
                heads.append(head)
                leaf_records.append(record)
            head_value = rebuild(value, iter(heads))
            self.env[name] = head_value
            entries.append((name, value, head_value, leaf_records))
        code = None
        if "return" in leaving or (stmt.orelse and "break" in leaving):
            code = Var("exit", "int64")
        return entries, code

    def open_leaf(self, name, k, leaf, plan, stmt):
        key = (name, k)
        if is_number(leaf) or (isinstance(leaf, Array) and leaf.rank == 0 and not isinstance(leaf, Buffer)):
            dtype = plan.dtype.get(key, self.dtype_of(leaf))
            init = self.atom(leaf, dtype)
            var = Var(name.lstrip("%"), dtype)
            self.b.facts.number(var)
            weak = (self.is_weak(leaf)) and key not in plan.strong
            return Scalar(var, weak), ("scalar", var, init, weak)
        if isinstance(leaf, GrowList):
            var = Var(f"{name}_count", "int64")
            self.b.facts.number(var)
            self.b.facts.nonnegative.add(var)
            head = GrowList(leaf.arr, var, leaf.weak)
            return head, ("grow", var, leaf.count, leaf.arr)
        if isinstance(leaf, Array):
            kind = plan.array.get(key, "same")
            if kind == "copy":
                aliased = any(
                    self.shared(root, name, stmt.live_head | stmt.live_out) for root in leaf.roots()) and not isinstance(leaf, Delayed)
                buffer = self.own_buffer(name, leaf, plan.dtype.get(key))
                return buffer, ("copy", buffer, aliased)
            if isinstance(leaf, Delayed) and leaf.rank:
                leaf = self.force(leaf, name)
            if kind == "swap" and not isinstance(leaf, Buffer):
                leaf = self.force(leaf, name, copy=True)
            return leaf, ("array", leaf)
        return leaf, ("static", leaf)

    def own_buffer(self, name, leaf, dtype=None) -> Buffer:
        """A buffer that only this loop writes, holding the initial value."""
        fresh = leaf.forced if isinstance(leaf, Delayed) and leaf.forced is not None else leaf
        if isinstance(fresh, Buffer) and dtype in (None, fresh.dtype) and fresh.arr not in self.parameters \
                and fresh.arr not in self.frozen and not self.shared(fresh.arr, name) and self.allocated_here(fresh.arr):
            return fresh
        arr = self.b.alloc(name.lstrip("%"), dtype or leaf.dtype, leaf.shape)
        target = Buffer(arr)
        self.assign(target, leaf)
        return target

    def allocated_here(self, arr) -> bool:
        from ..core import Alloc
        return any(isinstance(s, Alloc) and s.array is arr for s in self.b.stmts)

    def shared(self, arr, name, live=None) -> bool:
        """Whether a name other than `name` (one of `live`, in this function) also sees the memory of `arr`."""
        for frame in self.frames:
            for other, value in frame.env.items():
                if frame is self.frame and (other == name or live is not None and other not in live):
                    continue
                for leaf in leaves(value):
                    if isinstance(leaf, Array) and arr in leaf.roots() or isinstance(leaf, GrowList) and leaf.arr is arr:
                        return True
        return False

    def close(self, stmt, plan, state, code):
        """Compare the end of the body with the guesses; give the carries, or raise Again."""
        entries, code_var = state
        carries = []
        changed = []
        for name, _value, head_value, records in entries:
            tail = self.env.get(name, UNSET)
            if not records and isinstance(head_value, Undefined):
                if isinstance(tail, Undefined) or name not in stmt.live_head and name != "%value":
                    continue
                plan.learn(plan.template, name, self.template_of(tail))
            if isinstance(tail, Undefined):
                if name == "%value":
                    tail = head_value
                else:
                    raise self.error(TypeConflict, tail.why or f"`{name}` may be undefined after an iteration")
            if structure(tail) != structure(head_value):
                self.grow_request(name, head_value, tail)
                raise NeedsStatic(self.error(
                    TypeConflict, f"`{name}` changes from {describe(head_value)} to {describe(tail)} in the loop",
                    "keep its structure the same in every iteration"))
            for k, (record, end) in enumerate(zip(records, leaves(tail), strict=True)):
                carry = self.close_leaf(name, k, record, end, plan, changed)
                if carry is not None:
                    carries.append((name, k, carry))
        result = self.close_arrays(plan, changed, stmt)
        done = []
        for _, _, (var, init, end) in carries:
            nxt = self.cast(end, var.dtype) if end.dtype != var.dtype else end
            out = Var(var.hint, var.dtype)
            self.b.facts.number(out)
            if var in self.b.facts.nonnegative:
                self.b.facts.nonnegative.add(out)
            self.results[var] = out
            done.append(Carry(var, init, nxt, out))
        if code_var is not None:
            atom = self.atom(code) if not isinstance(code, Static) else integer(code.value)
            out = Var("exit", "int64")
            self.b.facts.number(out)
            self.results[code_var] = out
            done.append(Carry(code_var, ZERO, atom, out))
        _ = result
        return tuple(done)

    def close_leaf(self, name, k, record, end, plan, changed):
        key = (name, k)
        match record:
            case ("scalar", var, init, weak):
                if isinstance(end, Array) and end.rank == 0:
                    end = Scalar(self.atom(end))
                if not is_number(end):
                    raise NeedsStatic(self.error(TypeConflict, f"`{name}` is a number at the start of an iteration and "
                                                               f"{describe(end)} at its end"))
                dtype = promote(var.dtype, self.dtype_of(end))
                if weak and not self.is_weak(end):
                    if dtype == "float64" and self.dtype_of(end) == "float32":
                        dtype = "float32"
                    plan.dtype[key] = dtype
                    plan.strong.add(key)
                    raise Again
                if dtype != var.dtype and not (not weak and self.is_weak(end) and var.dtype == "float32"):
                    plan.learn(plan.dtype, key, dtype)
                return var, init, self.atom(end)
            case ("grow", var, init, arr):
                if not isinstance(end, GrowList) or end.arr is not arr:
                    raise self.error(TypeConflict, f"the list `{name}` is replaced in the loop that fills it")
                return var, init, end.count
            case ("static", leaf):
                same = leaf is end or (isinstance(leaf, Static) and isinstance(end, Static)
                                       and (leaf.value is end.value or leaf.value == end.value)) or \
                    not isinstance(end, (Scalar, Array, Static))
                if not same:
                    raise NeedsStatic(self.error(
                        TypeConflict, f"`{name}` changes from {describe(leaf)} to {describe(end)} in the loop",
                        "give it a number or an array before the loop"))
                return None
            case ("array", leaf):
                if end is not leaf:
                    changed.append((key, leaf, end, False))
                else:
                    changed.append((key, leaf, end, True))
            case ("copy", buffer, aliased):
                if aliased and buffer.arr in written(self.b.block()):
                    raise self.error(UnsupportedSyntax, f"`{name}` is written in place in this loop and bound to another "
                                     "array there, while a second name may see the first one",
                                     f"work on a copy: {name} = {name}.copy() before the loop")
                changed.append((key, buffer, end, None))
        return None

    def close_arrays(self, plan, changed, stmt):
        """Swaps and copies at the end of an iteration."""
        swapped = [(key, head, end) for key, head, end, same in changed if same is False]
        if swapped:
            heads = [h for _, h, _ in swapped]
            ends = [e for _, _, e in swapped]
            by_identity = {id(h) for h in heads} == {id(e) for e in ends} and len({id(h) for h in heads}) == len(heads)
            if by_identity and all(plan.array.get(key) != "copy" for key, _, _ in swapped):
                if not all(isinstance(h, Buffer) for h in heads):
                    for key, _, _ in swapped:
                        plan.array[key] = "swap"
                    raise Again
                arrs = {h.arr for h in heads}
                if not self.seen_elsewhere(arrs, {key[0] for key, _, _ in swapped}, stmt):
                    for h in heads:
                        self.before_write(h.arr)
                        self.check_writable(h.arr)
                    shapes = heads[0].shape
                    for h in heads[1:]:
                        for p, q in zip(shapes, h.shape, strict=True):
                            self.require_same(p, q, "arrays that swap names must have one shape")
                    self.b.add(Swap(tuple(h.arr for h in heads), tuple(e.arr for e in ends), self.b.loc))
                    for (name, _), h, _ in swapped:
                        self.env[name] = h
                    return
            for key, _, _ in swapped:
                plan.array[key] = "copy"
            raise Again
        copies = [(key, buffer, end) for key, buffer, end, same in changed if same is None]
        self.copy_back(copies, plan)

    def seen_elsewhere(self, arrs, names, stmt) -> bool:
        for frame in self.frames:
            for name, value in frame.env.items():
                if frame is self.frame and (name in names or (name not in stmt.live_head and name not in stmt.live_out
                                                              and name != "%value")):
                    continue
                for leaf in leaves(value):
                    if isinstance(leaf, Array) and leaf.roots() & arrs:
                        return True
        return False

    def copy_back(self, copies, plan) -> None:
        waiting = []
        for key, buffer, end in copies:
            if end is buffer:
                continue
            if not isinstance(end, Array):
                if not is_number(end) or buffer.rank:
                    raise NeedsStatic(self.error(TypeConflict, f"`{key[0]}` is an array at the start of an iteration "
                                                               f"and {describe(end)} at its end"))
                end = self.array(end)
            if end.rank != buffer.rank:
                raise NeedsStatic(self.error(TypeConflict, f"`{key[0]}` changes its rank from {buffer.rank} to "
                                                           f"{end.rank} in the loop"))
            if promote(buffer.dtype, end.dtype) != buffer.dtype:
                plan.learn(plan.dtype, key, promote(buffer.dtype, end.dtype))
            for p, q in zip(buffer.shape, end.shape, strict=True):
                if not self.same_size(p, q) and self.static_trips[-1]:
                    raise NeedsStatic(self.error(TypeConflict, f"`{key[0]}` changes its shape in the loop"))
                self.require_same(p, q, f"`{key[0]}` changes its shape in the loop")
            waiting.append((key, buffer, end))
        while waiting:
            free = next((w for w in waiting if not any(
                w[1].arr in other[2].roots() for other in waiting if other is not w)), None)
            if free is None:
                key, buffer, end = waiting[0]
                waiting[0] = (key, buffer, self.force(end, copy=True))
                continue
            waiting.remove(free)
            self.assign(free[1], free[2])
            self.env[free[0][0]] = self.env[free[0][0]]

    def finish(self, stmt, state, block) -> None:
        """The environment after the loop: results in the place of the heads."""
        entries, code_var = state
        changed = written(block)
        for arr in changed:
            self.b.forget(arr)
        for name in assigned([stmt]) | {"%value"}:
            if name in self.env and not any(e[0] == name for e in entries) and not self.unchanged_array(name):
                if not name.startswith("%"):
                    self.env[name] = Undefined(f"`{name}` is not available after the loop")
        for name, value, head_value, records in entries:
            if not records and isinstance(head_value, Undefined):
                self.env[name] = value
                continue
            out = []
            for record, head in zip(records, leaves(head_value), strict=True):
                match record:
                    case ("scalar", var, _, weak):
                        out.append(Scalar(self.results.pop(var), weak))
                    case ("grow", var, _, arr):
                        out.append(GrowList(arr, self.results.pop(var), head.weak))
                    case _:
                        out.append(head)
            self.env[name] = rebuild(head_value, iter(out))
        if code_var is not None:
            self.env["%exit"] = Scalar(self.results.pop(code_var))
        else:
            self.env["%exit"] = Static(FALLS)

    def unchanged_array(self, name) -> bool:
        return isinstance(self.env[name], (Array, Mapping, Record, Sequence)) and False

    # -- names first bound in a loop --------------------------------------------------------------------------
    def template_of(self, value):
        """Enough of a value to make a blank one before the loop."""
        def leaf_template(leaf):
            if is_number(leaf):
                return ("scalar", self.dtype_of(leaf), self.is_weak(leaf))
            if isinstance(leaf, Array):
                shape = tuple(self.rematerialise(s, probe=True) for s in leaf.shape)
                if any(s is None for s in shape):
                    raise self.error(TypeConflict, "an array first made inside the loop, of a size known only there, "
                                                   "is used after it", "create it before the loop")
                return ("array", leaf.dtype, leaf.shape)
            return ("static", leaf)
        return rebuild(value, iter([_Template(leaf_template(leaf)) for leaf in leaves(value)]))

    def blank(self, name, template) -> Value:
        made = []
        for leaf in leaves(template):
            match leaf.what:
                case ("scalar", dtype, weak):
                    zero = Const({"bool": False, "int64": 0}.get(dtype, 0.0), dtype)
                    made.append(Scalar(zero, weak))
                case ("array", dtype, shape):
                    sizes = [self.rematerialise(s) for s in shape]
                    zero = Const({"bool": False, "int64": 0}.get(dtype, 0.0), dtype)
                    made.append(Buffer(self.b.alloc(name.lstrip("%"), dtype, sizes, zero)))
                case ("static", value):
                    made.append(value)
        return rebuild(template, iter(made))

    def rematerialise(self, atom, probe: bool = False):
        """An integer atom computed again in the current block from what is visible here; None if impossible."""
        if isinstance(atom, Const):
            return atom
        if self.visible(atom):
            return atom
        op, args = self.b.facts.definition.get(atom, ("", ()))
        if not op or op == "dim":
            return atom if op == "dim" else None
        parts = [self.rematerialise(a, probe) for a in args]
        if any(p is None for p in parts):
            return None
        return atom if probe else self.b.let(op, *parts, dtype=atom.dtype, hint=atom.hint)

    def visible(self, atom) -> bool:
        from ..core import defined
        if atom in self.sizes:
            return True
        scope = self.b
        while scope is not None:
            for s in scope.stmts:
                if atom in defined(s):
                    return True
            scope = scope.parent
        return False

    # -- lists that grow --------------------------------------------------------------------------------------
    def grow_request(self, name, before, after) -> None:
        """A list changed its length in a loop or branch: ask the loop around to make it growable."""
        if isinstance(before, Sequence) and isinstance(after, Sequence) and before.kind is list:
            longer = after if len(after.items) > len(before.items) else before
            item = longer.items[-1]
            if is_number(item):
                what = (self.dtype_of(item), ())
            elif isinstance(item, Array):
                what = (item.dtype, item.shape)
            else:
                return
            for plan in reversed(list(self.plans.values())):
                if name not in plan.grow:
                    plan.grow[name] = what
            raise Again

    def to_grow_list(self, name, value: Sequence, what) -> GrowList:
        dtype, shape = what
        if value.items:
            dtype = promote(dtype, *(self.dtype_of(i) for i in value.items))
        sizes = [self.rematerialise(s) for s in shape]
        if any(s is None for s in sizes):
            raise self.error(TypeConflict, f"the rows appended to `{name}` have a size known only inside the loop",
                             "preallocate an array before the loop")
        arr = self.b.alloc(name, dtype, (integer(max(8, len(value.items))), *sizes))
        for k, item in enumerate(value.items):
            self.assign(self.index_array(Buffer(arr), (Static(k),)), item)
        grown = GrowList(arr, integer(len(value.items)))
        self.replace_everywhere(value, grown)
        return grown

    def append(self, grown: GrowList, item: Value) -> None:
        b = self.b
        count = grown.count
        after = b.iadd(count, 1)
        b.forget(grown.arr)
        b.add(Resize(grown.arr, after, b.loc))
        target = Buffer(grown.arr)
        row = View(target, grown.arr.shape[1:], lambda lo, index: (count, *index), prefix=(count,))
        if len(grown.arr.shape) == 1:
            value = self.atom(item)
            if promote(value.dtype, grown.arr.dtype) != grown.arr.dtype:
                raise self.error(UnsupportedSyntax, f"a {value.dtype} is appended to a list of {grown.arr.dtype}",
                                 "append numbers of one type")
            self.store_element(grown.arr, (count,), self.cast(value, grown.arr.dtype))
        else:
            self.assign(row, item)
        self.replace_everywhere(grown, GrowList(grown.arr, after, grown.weak))


class _Template(Value):
    def __init__(self, what):
        self.what = what


__all__ = ["Again", "Loops", "NeedsStatic"]
