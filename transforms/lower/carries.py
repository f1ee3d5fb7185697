"""What a loop carries from one iteration to the next: opening the names at the head of a body, closing them at its end."""

from __future__ import annotations

from ..language.core import Var
from ..language.errors import TypeConflict, UnsupportedSyntax
from ..language.ops import exact
from .arrays import describe
from .branches import MOST_OPTIONS, named
from .carried_shapes import CarriedShapes
from .induction_variables import Counters
from .integers import same_dtype
from .liveness import bound_names, exits, given_away
from .loop_ends import ITERATED, LoopEnds
from .memory import expression
from .plan import Again, OuterName
from .sharing import as_object, children, identity, is_object, objects, same_object, with_children
from .structures import option_key, rebuild
from .unbound import FALSE, TRUE, bound_of, held, maybe
from .values import (
    UNSET,
    Array,
    Buffer,
    Delayed,
    Either,
    GrowList,
    Mapping,
    Maybe,
    Record,
    Scalar,
    Sequence,
    Series,
    Sized,
    Undefined,
    Value,
    differ,
    has_kinds,
    is_number,
    leaves,
    weak_of,
)


class Carries(LoopEnds, CarriedShapes, Counters):
    # -- carried names ----------------------------------------------------------------------------------------
    def open(self, stmt, names, plan):
        """Put the values that names have at the start of an iteration into the environment.

        Objects that other names see too are replaced there as well; names that are not assigned to in the body are carried
        if what they see changes in it (`plan.also`).
        """
        bound = bound_names(stmt)
        carried = sorted(n for n in names if n in stmt.live_head and (n in self.env or n in bound))
        carried += [n for n in plan.also if n not in carried]
        entries = []
        apart = {id(o) for name in plan.apart for o in objects(self.binding(name))}
        plan.opened = []
        leaving = exits(stmt.body)
        if "return" in leaving:
            carried.append("%value")
        for name in carried:
            value = self.binding(name)
            if name == "%value":
                value = UNSET
            if isinstance(value, Undefined):
                template = plan.template.get(name)
                if value.lost:
                    entries.append((name, value, value, []))
                    continue
                if template is None:
                    entries.append((name, value, UNSET, []))
                    self.bind_name(name, Undefined(later=True))
                    continue
                value = maybe(self.blank(name, template), FALSE) if name != "%value" else self.blank(name, template)
            bound = bound_of(value)
            value = held(value)
            if name in plan.either:
                value = self.opened_either(name, value, plan)
            if name in plan.grow and isinstance(value, Sequence):
                value = self.to_grow_list(name, value, plan.grow[name])
            if bound != TRUE or name in plan.maybe:
                value = Maybe(value, Scalar(bound, True))
            leaf_records: list = []
            head_value = self.open_value(name, value, plan, stmt, leaf_records)
            changes = [(a, b) for a, b in zip(objects(value), objects(head_value), strict=True)
                       if a is not b and id(a) not in apart]
            self.bind_name(name, head_value)
            if changes:
                self.rebind(changes)
            if name in plan.apart:
                self.env[f"%apart {name}"] = head_value
            entries.append((name, value, head_value, leaf_records))
        code = None
        if "return" in leaving or (stmt.orelse and "break" in leaving):
            code = Var("exit", "int64")
        heads = [(frame, dict(frame.env)) for frame in self.frames]
        self.open_twins(plan, entries)
        return entries, code, heads, names

    def opened_either(self, name, value, plan) -> Value:
        """The value before a loop as one of the options that the loop leaves, or as one more."""
        options = plan.either[name]
        for option in value.options if isinstance(value, Either) else (value,):
            key = option_key(option)
            if key is None or key not in options and len(options) == MOST_OPTIONS:
                raise self.error(TypeConflict, f"{named(name)} is {describe(value)} before the loop, something else in it",
                                 "bind it to one kind of value")
            if key not in options:
                options[key] = self.template_of(option)
        return self.as_either(value, list(options), lambda k: self.blank(name, list(options.values())[k]))

    def open_value(self, name, value, plan, stmt, records: list) -> Value:
        """The value at the head of an iteration; `records` gets an entry for each leaf."""
        if is_object(value) and any(o is value for o in plan.opened):
            records += [("shared", leaf) for leaf in leaves(value)]         # another name has opened it
            return value
        if isinstance(value, (Sequence, Mapping, Record, Maybe)) or value.inside():
            records += [("static", value)] if value.inside() else []
            made = with_children(value, [self.open_value(name, child, plan, stmt, records) for child in children(value)])
        else:
            heads = []
            for leaf in leaves(value):
                head, record = self.open_leaf(name, len(records), leaf, plan, stmt)
                heads.append(head)
                records.append(record)
            made = rebuild(value, iter(heads))
            if made is not value:
                as_object(made, value)
        if is_object(made):
            plan.opened.append(made)
            if name in plan.listed:
                made.in_table = True
            if name in plan.apart:
                del made.origin
        return made

    def binding(self, name) -> Value:
        frame = name.frame if isinstance(name, OuterName) else self.frame
        return frame.env.get(str(name), UNSET)

    def bind_name(self, name, value) -> None:
        frame = name.frame if isinstance(name, OuterName) else self.frame
        frame.env[str(name)] = value

    def changed_unseen(self, heads, entries, names, plan) -> None:
        """Ask for names to be carried that see a change in the body though nothing is assigned to them."""
        known = {id(o) for entry in entries for o in objects(self.binding(entry[0]))}

        def explained(head, now) -> bool:
            if head is now or id(now) in known:
                return True
            before, after = children(head), children(now)
            return bool(before) and type(head) is type(now) and len(before) == len(after) and all(
                map(explained, before, after))
        for frame, env in heads:
            for name, head in env.items():
                now = frame.env.get(name, head)
                if frame is self.frame and name in names or name.startswith("%") and not name.startswith(
                        ("%list", f"{ITERATED} ")):
                    continue
                if isinstance(head, Undefined) or not (objects(head) or objects(now)) or explained(head, now):
                    continue
                key = name if frame is self.frame else OuterName(name, frame)
                if key in plan.also:
                    raise self.error(UnsupportedSyntax, f"`{name}` is changed in this loop in a way that cannot be followed",
                                     "assign to it in the loop itself")
                plan.also.append(key)
                raise Again

    def rebound_objects(self, entries, heads, plan) -> None:
        """Names bound to other objects in the body must not share what they saw before with other names."""
        for name, value, head_value, _ in entries:
            tail = self.binding(name)
            if name not in plan.listed and any(getattr(o, "in_table", False) for o in objects(tail)) and any(
                    getattr(identity(o), "changed", False) for o in objects(head_value)):
                plan.listed.add(name)
                raise Again
            moved = [(h, t) for h, t in zip(objects(head_value), objects(tail), strict=False) if not same_object(h, t)]
            if name in plan.apart:
                if self.env.get(f"%apart {name}") is not head_value and self.seen_by_others(value, name, heads):
                    raise self.error(UnsupportedSyntax, f"`{name}` is changed in place in this loop and bound to another "
                                     "object there, while a second name sees the first one", "work on a copy")
                continue
            if moved and self.seen_by_others(head_value, name, heads):
                plan.apart.append(name)
                raise Again

    def seen_by_others(self, value, name, heads) -> bool:
        """Whether another name sees one of the objects in a value, at the head of the loop."""
        inside = {id(identity(o)) for o in objects(value)}
        for frame, env in heads:
            for other, seen in env.items():
                mine = other == str(name) and frame is (name.frame if isinstance(name, OuterName) else self.frame)
                if not mine and not other.startswith("%apart") and any(id(identity(o)) in inside for o in objects(seen)):
                    return True
        return False

    def open_leaf(self, name, k, leaf, plan, stmt):
        key = (name, k)
        if is_number(leaf) or (isinstance(leaf, Array) and leaf.rank == 0 and not leaf.has_memory):
            dtype = plan.dtype.get(key, self.dtype_of(leaf))
            init = self.fitted(leaf, dtype)
            var = self.b.var(name.lstrip("%"), dtype)
            self.carried[var] = self.b
            self.b.facts.number(var)
            if has_kinds(leaf):
                plan.kinds.setdefault(key, leaf.mixed)
            mixed = plan.kinds.get(key, getattr(leaf, "mixed", False))
            weak = weak_of(mixed) if differ(mixed) else self.is_weak(leaf) and key not in plan.strong
            if not (mixed or dtype == "bool") and (key in plan.strong or not same_dtype(dtype, self.dtype_of(leaf))):
                mixed = self.kinds_of(leaf) | {(exact(dtype), weak)}
            if plan.range and plan.counters.get(key) is not None:
                return Scalar(var, weak), ("counter", var, init, weak, plan)
            if plan.rising.get(key):
                self.b.facts.nonnegative.add(var)
            mixed = mixed or dtype == "bool" and weak != self.is_weak(leaf)
            boxed = getattr(leaf, "boxed", frozenset()) | plan.boxed.get(key, frozenset())
            return Scalar(var, weak, mixed, boxed), ("scalar", var, init, weak, boxed)
        if isinstance(leaf, GrowList):
            var = Var(f"{name.lstrip('%')}_count", "int64")
            self.carried[var] = self.b
            self.b.facts.number(var)
            self.b.facts.nonnegative.add(var)
            head = GrowList(leaf.arr, var, leaf.weak)
            return head, ("grow", var, leaf.count, leaf.arr)
        if isinstance(leaf, Sized) and name == "%value" or isinstance(leaf, Array) and plan.array.get(key) == "sized":
            arr, count, sizes = (leaf.arr, leaf.count, leaf.shape[1:]) if name == "%value" else self.own_sized(
                name, leaf, stmt, plan.dtype.get(key))
            var = Var("count", "int64")
            self.carried[var] = self.b
            self.b.facts.number(var)
            self.b.facts.nonnegative.add(var)
            return Sized(arr, var, sizes), ("sized", var, count, arr)
        if isinstance(leaf, Array):
            kind = plan.array.get(key, "same")
            if kind == "copy":
                live = stmt.live_head | stmt.live_out
                first = {root for root in self.memory_of(leaf) if self.shared(root, name, live)}
                buffer = self.own_buffer(name, leaf, plan.dtype.get(key))
                buffer.boxed |= plan.boxed.get(key, buffer.boxed)
                return buffer, ("copy", buffer, first)
            if isinstance(leaf, Delayed) and leaf.rank:
                leaf = self.force(leaf, name)
            if kind == "swap" and not isinstance(leaf, Buffer):
                leaf = self.keep_list(self.force(leaf, name, copy=True), leaf)
            return leaf, ("array", leaf)
        return leaf, ("static", leaf)

    def own_buffer(self, name, leaf, dtype=None) -> Buffer:
        """A buffer that only this loop writes, holding the initial value."""
        fresh = leaf.forced if isinstance(leaf, Delayed) and leaf.forced is not None else leaf
        if isinstance(fresh, Buffer) and dtype in (None, fresh.dtype) and fresh.arr not in self.parameters \
                and not any(self.shared(a, name) for a in self.with_twins({fresh.arr})) and self.allocated_here(fresh.arr):
            return fresh
        arr = self.b.alloc(name.lstrip("%"), dtype or leaf.dtype, leaf.shape)
        target = Buffer(arr)
        self.keep_list(target, leaf)
        self.assign_own(target, leaf)
        return target

    def assign_own(self, target, value) -> None:
        """A copy that the loop makes for itself: no write of the program."""
        before, self.own_copies = self.own_copies, True
        try:
            self.assign(target, value)
        finally:
            self.own_copies = before
        inner = expression(value)
        known = isinstance(value, Array) and self.memory_of(value) & set(self.listed)
        if known or isinstance(inner, Delayed) and inner.listed:
            self.note_listed(target)            # what a list has copied goes on under this name

    def joins_of(self, size) -> set:
        """The branches that a size is chosen by: a name, and where."""
        if size not in self.sizes_by_path:
            return set()
        return {self.size_joins[size]}.union(*map(self.joins_of, self.sizes_by_path[size]))

    def allocated_here(self, arr) -> bool:
        from ..language.core import Alloc
        return any(isinstance(s, Alloc) and s.array is arr for s in self.b.stmts)

    def shared(self, arr, name, live=None) -> bool:
        """Whether a name other than `name` (one of `live`, in this function) also sees the memory of `arr`."""
        for frame in self.frames:
            for other, value in frame.env.items():
                running = other.startswith(ITERATED)
                if frame is self.frame and (other == name or live is not None and other not in live and not running):
                    continue
                if frame is not self.frame and frame.calling is not None and given_away(
                        other, frame.statement, frame.calling):
                    continue
                for leaf in leaves(value):
                    if running and isinstance(leaf, Delayed) and leaf.forced is None:
                        continue                        # gets memory of its own if what it reads is written
                    if isinstance(leaf, Array) and arr in leaf.roots() or isinstance(leaf, GrowList) and leaf.arr is arr \
                            or isinstance(leaf, Series) and arr in self.columns:
                        return True
        return False
