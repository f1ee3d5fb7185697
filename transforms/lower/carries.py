"""What a loop carries from one iteration to the next: opening the names at the head of a body, closing them at its end."""

from __future__ import annotations

import gast

from ..language.build import integer
from ..language.core import Carry, Const, Resize, Swap, Var, written
from ..language.errors import TypeConflict, UnsupportedSyntax
from ..language.ops import PARTS, exact, promote
from .alternatives import as_one_choice
from .arrays import ZERO, describe
from .branches import MOST_OPTIONS, named
from .induction_variables import Counters
from .integers import same_dtype
from .list_operators import kinds_in
from .lists import is_list
from .liveness import assigned, bound_names, exits, given_away
from .needs import NeedsStatic
from .plan import Again, OuterName
from .points import BY_PATH, sites_of
from .purity import alike, is_fixed
from .sharing import as_object, children, identity, is_object, objects, same_object, with_children
from .statements import FALLS
from .values import (
    UNSET,
    Array,
    Buffer,
    Delayed,
    Either,
    Generator,
    GrowList,
    Mapping,
    Record,
    Scalar,
    Sequence,
    Series,
    Sized,
    Static,
    Undefined,
    Value,
    differ,
    has_kinds,
    is_number,
    leaves,
    option_key,
    rebuild,
    structure,
    weak_of,
)

ITERATED = "%iterated"              # names under which a loop holds what it runs over: its items are still to be read


class Carries(Counters):
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
        plan.opened, plan.blanks = [], set()
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
                    self.env[name] = Undefined(f"{named(name)} may be undefined here")
                    continue
                value = self.blank(name, template)
                plan.blanks.add(name)
            if name in plan.either:
                value = self.as_either(value, list(plan.either[name]), lambda k, name=name: self.blank(
                    name, list(plan.either[name].values())[k]))
            if name in plan.grow and isinstance(value, Sequence):
                value = self.to_grow_list(name, value, plan.grow[name])
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

    def open_value(self, name, value, plan, stmt, records: list) -> Value:
        """The value at the head of an iteration; `records` gets an entry for each leaf."""
        if is_object(value) and any(o is value for o in plan.opened):
            records += [("shared", leaf) for leaf in leaves(value)]         # another name has opened it
            return value
        if isinstance(value, (Sequence, Mapping, Record)):
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

    def varies(self, size, before) -> bool:
        """Whether the size of an array at the end of an iteration is another one than `before`, or known only there."""
        if self.same_size(size, before):
            return False
        if isinstance(size, Const) and isinstance(before, Const):
            return True
        here, self.b = self.b, self.active_loops[-1][0].place[0]
        try:
            if self.rematerialise(size, probe=True) is None:
                return True
        finally:
            self.b = here
        return bool(self.made_of(size) & self.made_of(before))

    def made_of(self, size) -> set:
        """The variables that an integer is computed from, itself included."""
        waiting, seen = [size], set()
        while waiting:
            atom = waiting.pop()
            if isinstance(atom, Var) and atom not in seen:
                seen.add(atom)
                waiting.extend(self.b.facts.definition.get(atom, ("", ()))[1])
        return seen

    def chosen_from(self, size) -> set:
        """The sizes that a size is one of, by the branches that were taken."""
        return set().union(*map(self.chosen_from, self.sizes_by_path[size])) if size in self.sizes_by_path else {size}

    def joins_of(self, size) -> set:
        """The branches that a size is chosen by: a name, and where."""
        if size not in self.sizes_by_path:
            return set()
        return {self.size_joins[size]}.union(*map(self.joins_of, self.sizes_by_path[size]))

    def unrelated(self, sizes) -> bool:
        """Whether no two of these are computed from one variable: then a program means them to be equal."""
        found = list(map(self.made_of, sizes))
        return not any(a & b for k, a in enumerate(found) for b in found[:k])

    def own_sized(self, name, leaf, stmt, dtype) -> tuple:
        """Growable memory that a loop carries an array in, as it changes its length."""
        arr = self.list_memory(name, dtype or leaf.dtype, 0, leaf.shape[1:])
        live = stmt.live_head | stmt.live_out
        for root in self.memory_of(leaf):
            if self.shared(root, name, live):
                self.note_twins((arr, root))
        self.fill_sized(arr, leaf)
        return arr, leaf.shape[0], leaf.shape[1:]

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

    def close(self, stmt, plan, state, code):
        """Compare the end of the body with the guesses; give the carries, or raise Again."""
        entries, code_var, heads, names = state
        self.changed_unseen(heads, entries, names, plan)
        self.rebound_objects(entries, heads, plan)
        carries = []
        changed = []
        renewed = self.renewed_lists(entries)
        for k, (name, _value, head_value, records) in enumerate(entries):
            tail = self.binding(name)
            if isinstance(tail, Undefined) and tail.lost and isinstance(head_value, Undefined):
                entries[k] = (name, tail, head_value, records)
            if not records and isinstance(head_value, Undefined):
                if isinstance(tail, Undefined) or name not in stmt.live_head and name != "%value":
                    continue
                plan.learn(plan.template, name, self.template_of(tail, name))
            if isinstance(tail, Undefined):
                if name == "%value":
                    tail = head_value
                else:
                    raise self.error(TypeConflict, tail.why or f"{named(name)} may be undefined after an iteration")
            if name in renewed:
                carries.append((name, 0, self.renew(records[0], renewed[name])))
                continue
            tail = self.as_option(name, head_value, tail, plan)
            if structure(tail) != structure(head_value):
                if is_list(tail) and is_list(head_value) and type(tail) is not type(head_value):
                    self.make_growable(name, promote(*map(self.list_dtype, (tail, head_value))))
                self.grow_request(name, head_value, tail)
                raise NeedsStatic(self.error(
                    TypeConflict, f"{named(name)} changes from {describe(head_value)} to {describe(tail)} in the loop"
                    if describe(head_value) != describe(tail) else f"a list or dict inside `{name}` changes its length in "
                    "the loop", "keep its structure the same in every iteration, or bind the list to a name of its own"))
            for k, (record, end) in enumerate(zip(records, leaves(tail), strict=True)):
                carry = self.close_leaf(name, k, record, end, plan, changed)
                if carry is not None:
                    carries.append((name, k, carry))
        self.close_twins(plan, entries)
        self.close_arrays(plan, changed, stmt)
        done = []
        for _, _, (var, init, end) in carries:
            nxt = self.cast(end, var.dtype)
            out = self.b.var(var.hint, var.dtype)
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
        return tuple(done)

    def as_option(self, name, head: Value, tail: Value, plan) -> Value:
        """What a name holds at the end of the body, in the form of its head: one of the same options, if it has any.

        Where None, a text or a function becomes something else, the name is asked to be an Either from the start.
        """
        tail = as_one_choice(tail)
        if option_key(head) == option_key(tail) is not None:
            return tail
        options = [o for v in (head, tail) for o in (v.options if isinstance(v, Either) else (v,))]
        keys = list(map(option_key, options))
        if None in keys or not (isinstance(head, Either) or isinstance(tail, Either) or any(
                isinstance(o, Static) and not is_number(o) for o in options)):
            return tail
        if isinstance(head, Either):
            made = self.as_either(tail, [option_key(o) for o in head.options], lambda k: head.options[k])
            if made is not None:
                self.bind_name(name, made)
                return made
        elif self.static_trips[-1]:
            return tail                                     # to be unrolled
        if len(set(keys)) > MOST_OPTIONS:
            return tail
        plan.either[name] = {option_key(o): self.template_of(o) for o in options}
        raise Again

    def renewed_lists(self, entries) -> dict:
        """Growing lists whose names are bound to other lists at the end of the body: name -> a copy of the new items."""
        found = {}
        for name, _, head, _ in entries:
            tail = self.binding(name)
            if isinstance(head, GrowList) and is_list(tail) and not (isinstance(tail, GrowList) and tail.arr is head.arr):
                if self.static_trips[-1]:
                    raise NeedsStatic(self.error(TypeConflict, f"the list `{name}` changes its length in the loop"))
                items = self.array(tail)
                if items.rank == 1 and not any(self.shared(root, name) for root in items.roots()):
                    found[name] = self.force(items, copy=True)
        return found

    def renew(self, record, items) -> tuple:
        """Put the items of a new list into the memory of the one that the loop carries."""
        _, var, init, arr = record
        self.widen(arr, items.dtype)
        self.b.forget(arr)
        self.b.add(Resize(arr, items.shape[0], self.b.loc))
        self.assign(self.array(GrowList(arr, items.shape[0])), items)
        return var, init, items.shape[0]

    def close_leaf(self, name, k, record, end, plan, changed):
        key = (name, k)
        match record:
            case ("scalar", var, init, weak, boxed):
                if isinstance(end, Array) and end.rank == 0:
                    end = Scalar(self.atom(end), boxed=BY_PATH if end.has_memory else end.boxed)
                if not (sites := sites_of(name, Scalar(var, boxed=boxed), end)) <= boxed:
                    plan.learn(plan.boxed, key, sites)
                if not is_number(end):
                    raise NeedsStatic(self.error(TypeConflict, f"{named(name)} is a number at the start of an iteration and "
                                                               f"{describe(end)} at its end"))
                dtype, _, kinds = self.by_path(Scalar(var, weak, plan.kinds.get(key, False)), end)
                if differ(kinds) and kinds != plan.kinds.get(key):
                    plan.kinds[key], plan.dtype[key] = kinds, dtype
                    raise Again
                if weak and not self.is_weak(end) and not differ(kinds):
                    plan.dtype[key] = dtype
                    plan.strong.add(key)
                    raise Again
                if not same_dtype(dtype, var.dtype):
                    plan.learn(plan.dtype, key, dtype)
                by = self.change_of(var, end)
                if plan.range and by and key not in plan.counters and self.starts_in_sight(init):
                    plan.learn(plan.counters, key, by)
                self.learn_rising(plan, key, var, init, self.atom(end))
                return var, init, self.atom(end, dtype)
            case ("counter", var, _, _, _):
                if self.change_of(var, end) != plan.counters[key]:
                    plan.learn(plan.counters, key, None)
                return None
            case ("grow", var, init, arr):
                if not isinstance(end, GrowList) or end.arr is not arr:
                    raise NeedsStatic(self.error(
                        TypeConflict, f"the list `{name}` changes its length in the loop by being bound to another list",
                        "append to it, or give it its length before the loop"))
                return var, init, end.count
            case ("sized", var, init, arr):
                if not (isinstance(end, Sized) and end.arr is arr):
                    if not isinstance(end, Array) or end.rank != len(arr.shape) or promote(
                            end.dtype, arr.dtype) != arr.dtype:
                        raise self.error(TypeConflict, f"{named(name)} changes from {describe(Buffer(arr))} to "
                                                       f"{describe(end)} in the loop")
                    if name != "%value":
                        if arr in self.user_writes[plan.place[1]:]:
                            raise self.error(UnsupportedSyntax, f"`{name}` changes its length in the loop and is written in "
                                             "place there", "make a new array in every iteration")
                        for root in self.memory_of(end):
                            if self.shared(root, name):
                                self.note_twins((arr, root))
                    self.fill_sized(arr, end)
                return var, init, end.shape[0]
            case ("static", leaf):
                if isinstance(leaf, Generator) and end is not leaf:
                    raise self.error(UnsupportedSyntax, f"{named(name)} becomes another random generator in the loop",
                                     "give each generator a name of its own")
                same = leaf is end or (isinstance(leaf, Static) and isinstance(end, Static)
                                       and (leaf.value is end.value or all(map(is_fixed, (
                                           leaf.value, end.value))) and alike(leaf.value, end.value))) or \
                    not (isinstance(end, (Scalar, Array, Static, Series)) or isinstance(leaf, Series))
                if not same:
                    raise NeedsStatic(self.error(
                        TypeConflict, f"{named(name)} changes from {describe(leaf)} to {describe(end)} in the loop",
                        "give it a number or an array before the loop"))
                return None
            case ("shared", _):
                return None
            case ("copy", buffer, _) if not buffer.rank and (is_number(end) or end.boxed & BY_PATH) and not buffer.boxed:
                plan.learn(plan.boxed, key, BY_PATH)
            case ("array", leaf):
                if end is not leaf:
                    changed.append((key, leaf, end, False))
                else:
                    changed.append((key, leaf, end, True))
            case ("copy", buffer, _):
                changed.append((key, buffer, end, None))
        return None

    def close_arrays(self, plan, changed, stmt):
        """Swaps and copies at the end of an iteration."""
        swapped = [(key, head, end) for key, head, end, same in changed if same is False]
        if swapped:
            heads = [h for _, h, _ in swapped]
            ends = [e for _, _, e in swapped]
            by_identity = {id(h) for h in heads} == {id(e) for e in ends} and len({id(h) for h in heads}) == len(heads)
            whole = all(self.binding(key[0]) is end for key, _, end in swapped)         # not inside a dict or list
            if by_identity and whole and all(plan.array.get(key) != "copy" for key, _, _ in swapped):
                if not all(isinstance(h, Buffer) for h in heads):
                    for key, _, _ in swapped:
                        plan.array[key] = "swap"
                    raise Again
                self.one_dtype(heads)
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
                        self.bind_name(name, h)
                    return
            for key, _, _ in swapped:
                plan.array[key] = "copy"
            raise Again
        copies = [(key, buffer, end) for key, buffer, end, same in changed if same is None]
        self.copy_back(copies, plan)

    def one_dtype(self, heads) -> None:
        """Arrays that change places have one dtype; lists can take the wider one from the start."""
        wide = promote(*(h.dtype for h in heads))
        for h in heads:
            if not same_dtype(h.dtype, wide) and h.is_list:
                self.widen(h.arr, wide)
            if not same_dtype(h.dtype, wide):
                raise self.error(TypeConflict, f"arrays of dtypes {h.dtype} and {wide} change places in the loop",
                                 "create them with one dtype")

    def seen_elsewhere(self, arrs, names, stmt) -> bool:
        arrs = self.with_twins(arrs)
        for frame in self.frames:
            for name, value in frame.env.items():
                if frame is self.frame and (name in names or (name not in stmt.live_head and name not in stmt.live_out
                                                              and name != "%value" and not name.startswith(ITERATED))):
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
                    raise NeedsStatic(self.error(TypeConflict, f"{named(key[0])} is an array at the start of an iteration "
                                                               f"and {describe(end)} at its end"))
                end = self.array(end)
            if end.is_list and buffer.is_list and kinds_in(end) != kinds_in(buffer):
                raise self.error(UnsupportedSyntax, f"{named(key[0])} is a list in one iteration of the loop and a tuple, "
                                 "or a list of others, in another", "keep it a list")
            if end.rank != buffer.rank:
                raise NeedsStatic(self.error(TypeConflict, f"{named(key[0])} changes its rank from {buffer.rank} to "
                                                           f"{end.rank} in the loop"))
            if not same_dtype(promote(buffer.dtype, end.dtype), buffer.dtype):
                plan.learn(plan.dtype, key, promote(buffer.dtype, end.dtype))
            for p, q in zip(buffer.shape, end.shape, strict=True):
                if not self.same_size(p, q) and self.static_trips[-1]:
                    raise NeedsStatic(self.error(TypeConflict, f"{named(key[0])} changes its shape in the loop"))
                joins = self.joins_of(q) - plan.one_size
                if joins and self.unrelated({p} | self.chosen_from(q)):
                    plan.one_size |= joins
                    raise Again
                if self.varies(q, p):
                    if p is not buffer.shape[0] or buffer.dtype in PARTS or buffer.is_list:
                        raise self.error(UnsupportedSyntax, f"{named(key[0])} changes its shape in the loop",
                                         "keep it in an array of one shape and use its first rows")
                    plan.learn(plan.array, key, "sized")
                self.require_same(p, q, f"{named(key[0])} changes its shape in the loop ({self.b.loc.short()})")
            waiting.append((key, buffer, end))
        while waiting:
            free = next((w for w in waiting if not any(
                w[1].arr in other[2].roots() for other in waiting if other is not w)), None)
            if free is None:
                key, buffer, end = waiting[0]
                waiting[0] = (key, buffer, self.force(end, copy=True))
                continue
            waiting.remove(free)
            self.assign_own(free[1], free[2])

    def finish(self, stmt, state, block, plan, ran) -> None:
        """The environment after the loop: results in the place of the heads; `ran`: whether its body runs at all."""
        entries, code_var, _, _ = state
        changed = written(block)
        for arr in changed:
            self.b.forget(arr)
        header = [stmt.test] if isinstance(stmt, gast.While) else [gast.Assign([stmt.target], stmt.iter, None)]
        for name in assigned([*header, *stmt.body]) | {"%value"}:
            if name in self.env and not any(e[0] == name for e in entries) and not name.startswith("%"):
                self.env[name] = Undefined(f"{named(name)} is not available after the loop", None, True)
        after: dict = {}                # object at the end of an iteration -> the same after the loop
        for name, value, head_value, records in entries:
            if not records and isinstance(head_value, Undefined):
                self.bind_name(name, value)
                continue
            tail = self.binding(name)
            out = []
            for record, head, end in zip(records, leaves(head_value), leaves(tail), strict=True):
                match record:
                    case ("scalar", var, _, weak, boxed):
                        out.append(Scalar(self.results.pop(var), weak, getattr(head, "mixed", False), boxed))
                    case ("counter", _, init, weak, plan):
                        out.append(Scalar(self.counted(init, plan, (name, len(out))), weak))
                    case ("grow", var, _, arr):
                        out.append(GrowList(arr, self.results.pop(var), head.weak))
                    case ("sized", var, _, arr):
                        out.append(Sized(arr, self.results.pop(var), head.shape[1:]))
                    case ("shared", _):
                        out.append(end)
                    case _:
                        out.append(head)
            result = self.result_of(head_value, tail, iter(out), after)
            if name in plan.blanks and isinstance(result, (Scalar, Array)) and ran != Const(True, "bool") and not hasattr(
                    tail, "bound_if"):
                result.bound_if = ran
            self.bind_name(name, result)
            self.env.pop(f"%apart {name}", None)
        self.rebind(after.values())
        if code_var is not None:
            self.env["%exit"] = Scalar(self.results.pop(code_var))
        else:
            self.env["%exit"] = Static(FALLS)

    def result_of(self, head, tail, out, after: dict) -> Value:
        """A name's value after the loop. `after` gets the objects that other names see as they were left."""
        if isinstance(head, (Sequence, Mapping, Record)):
            made = with_children(head, [self.result_of(h, t, out, after)
                                        for h, t in zip(children(head), children(tail), strict=True)])
        else:
            made = rebuild(head, out)
            if made is not head:
                as_object(made, head)
        if is_object(made):
            if same_object(head, tail):
                return after.setdefault(id(tail), (tail, made))[1]
            del made.origin
            made.either = {identity(head), identity(tail)}
        return made

    # -- names first bound in a loop --------------------------------------------------------------------------
    def fill_sized(self, arr, value: Array) -> None:
        """Put an array into growable memory."""
        if arr in value.roots():
            value = self.force(value, copy=True)
        self.b.forget(arr)
        self.b.add(Resize(arr, value.shape[0], self.b.loc))
        self.assign_own(Sized(arr, value.shape[0], arr.shape[1:]), value)

    def template_of(self, value, name=""):
        """Enough of a value to make a blank one before the loop."""
        here, self.b = self.b, self.active_loops[-1][0].place[0]
        try:
            return self.template(value, name)
        finally:
            self.b = here

    def template(self, value, name):
        def leaf_template(leaf):
            if isinstance(leaf, GrowList):
                raise self.error(TypeConflict, "a list first made inside the loop is used after it",
                                 "create it before the loop")
            if is_number(leaf):
                return ("scalar", self.dtype_of(leaf), self.is_weak(leaf))
            if isinstance(leaf, Array):
                shape = tuple(self.rematerialise(s, probe=True) for s in leaf.shape)
                if name == "%value" and shape and (shape[0] is None or isinstance(leaf, Sized)) and None not in shape[1:] \
                        and leaf.dtype not in PARTS:
                    return ("sized", leaf.dtype, leaf.shape[1:])
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
                case ("sized", dtype, shape):
                    sizes = [self.rematerialise(s) for s in shape]
                    made.append(Sized(self.list_memory(name, dtype, 0, sizes), ZERO, sizes))
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
        from ..language.core import defined
        if atom in self.sizes:
            return True
        scope = self.b
        while scope is not None:
            for s in scope.stmts:
                if atom in defined(s):
                    return True
            scope = scope.parent
        return False


class _Template(Value):
    def __init__(self, what):
        self.what = what
