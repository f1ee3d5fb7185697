"""What a loop carries from one iteration to the next: opening the names at the head of a body, closing them at its end."""

from __future__ import annotations

from itertools import combinations

from ...language.core import Arr, Var
from ...language.errors import TypeConflict
from ...language.ops import exact
from ...language.queries import allocations
from ..arrays.aliases import memory_of, open_twins, with_twins
from ..arrays.layout import note_held
from ..arrays.memory import force
from ..containers.growing import grow_parts, to_grow_list
from ..containers.list_operators import keep_list
from ..containers.sharing import as_object, children, is_object, objects, rebind, with_children
from ..functions.names import bind_name, binding, seen_by_another
from ..numbers.conversions import dtype_of, is_weak
from ..numbers.integer_operations import fitted
from ..numbers.integers import same_dtype
from ..numbers.kinds_on_paths import holds_integers, kinds_of, note_integers
from ..state import Lowering
from ..structures import describe, option_key, rebuild
from ..syntax.alternatives import as_either
from ..syntax.branches import MOST_OPTIONS, named
from ..syntax.liveness import bound_names, exits
from ..syntax.unbound import FALSE, TRUE, bound_of, held, maybe
from ..values import (
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
    Sized,
    Undefined,
    Value,
    differ,
    has_kinds,
    is_number,
    known_as,
    leaves,
    weak_of,
)
from .bindings import assign_own
from .carried_shapes import blank, own_sized, template_of
from .induction_variables import still_counted


# -- carried names ----------------------------------------------------------------------------------------
def open_names(lo: Lowering, stmt, names, plan):
    """Put the values that names have at the start of an iteration into the environment.

    Objects that other names see too are replaced there as well; names that are not assigned to in the body are carried
    if what they see changes in it (`plan.also`).
    """
    grow_parts(lo, plan, names)
    for frame in lo.frames:
        for name in frame.rebound & frame.unread if frame is not lo.frame else ():
            if isinstance(held(frame.env.get(name, UNSET)), Undefined):
                frame.env[name] = bound_first(name)
    bound = bound_names([stmt])
    carried = sorted(n for n in names if n in stmt.live_head and (n in lo.env or n in bound))
    carried += [n for n in plan.also if n not in carried]
    entries: list = []
    apart = {id(o) for name in plan.apart for o in objects(binding(lo, name))}
    plan.opened = []
    plan.shared = shared_before(lo, stmt, carried, plan)
    leaving = exits(stmt.body)
    if "return" in leaving:
        carried.append("%value")
    for name in carried:
        value = binding(lo, name)
        if name == "%value":
            value = UNSET
        if isinstance(value, Undefined):
            template = plan.template.get(name)
            if value.lost:
                entries.append((name, value, value, []))
                continue
            if template is None:
                entries.append((name, value, UNSET, []))        # which an iteration before may have bound
                bind_name(lo, name, Undefined(later=True))
                continue
            value = maybe(blank(lo, name, template), FALSE) if name != "%value" else blank(lo, name, template)
        bound = bound_of(value)
        value = held(value)
        if name in plan.either:
            value = opened_either(lo, name, value, plan)
        if (str(name), ()) in plan.grow and isinstance(value, Sequence):
            value = to_grow_list(lo, name, value, plan.grow[str(name), ()])
        if bound != TRUE or name in plan.maybe:
            value = Maybe(value, Scalar(bound, True))
        elif name in plan.always:
            plan.always.pop(name)                   # bound before the loop, this time
        leaf_records: list = []
        head_value = open_value(lo, name, value, plan, stmt, leaf_records)
        changes = [(a, b) for a, b in zip(objects(value), objects(head_value), strict=True)
                   if a is not b and id(a) not in apart]
        bind_name(lo, name, head_value)
        if changes:
            rebind(lo, changes)
        for o in objects(head_value) if name in plan.taken else ():
            o.either = plan.taken[name] | getattr(o, "either", set())
        if name in plan.apart:
            lo.env[f"%apart {name}"] = head_value
        entries.append((name, value, head_value, leaf_records))
    code = None
    if plan.leaves or "return" in leaving or (stmt.orelse and "break" in leaving):
        code = Var("exit", "int64")
    heads = [(frame, dict(frame.env)) for frame in lo.frames]
    open_twins(lo, plan, entries)
    return entries, code, heads, names


def bound_first(name: str) -> Undefined:
    """What a name means at the head of a generator's loop, which binds it first and where it is read no more."""
    return Undefined(f"`{name}` is not available here", None, True)


def opened_either(lo: Lowering, name, value, plan) -> Value:
    """The value before a loop as one of the options that the loop leaves, or as one more."""
    options = plan.either[name]
    for option in value.options if isinstance(value, Either) else (value,):
        key = option_key(option)
        if key is None or key not in options and len(options) == MOST_OPTIONS:
            raise lo.error(TypeConflict, f"{named(name)} is {describe(value)} before the loop, something else in it",
                           "bind it to one kind of value")
        if key not in options:
            options[key] = template_of(lo, option)
    return known_as(Either, as_either(lo, value, list(options), lambda k: blank(lo, name, list(options.values())[k])))


def open_value(lo: Lowering, name, value, plan, stmt, records: list) -> Value:
    """The value at the head of an iteration; `records` gets an entry for each leaf."""
    if is_object(value) and any(o is value for o in plan.opened):
        records += [("shared", leaf) for leaf in leaves(value)]         # another name has opened it
        return value
    if isinstance(value, (Sequence, Mapping, Record, Maybe)) or value.inside():
        records += [("static", value)] if value.inside() else []
        made = with_children(value, [open_value(lo, name, child, plan, stmt, records) for child in children(value)])
    else:
        heads = []
        for leaf in leaves(value):
            head, record = open_leaf(lo, name, len(records), leaf, plan, stmt)
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


def open_leaf(lo: Lowering, name, k, leaf, plan, stmt):
    key = (name, k)
    if is_number(leaf) or (isinstance(leaf, Array) and leaf.rank == 0 and not leaf.has_memory):
        dtype = plan.dtype.get(key, dtype_of(lo, leaf))
        init = fitted(lo, leaf, dtype)
        var = lo.b.var(name.lstrip("%"), dtype)
        lo.carried[var] = lo.b
        lo.b.facts.number(var)
        if has_kinds(leaf):
            plan.kinds.setdefault(key, leaf.mixed)
        mixed = plan.kinds.get(key, leaf.mixed)
        weak = weak_of(mixed) if differ(mixed) else is_weak(lo, leaf) and key not in plan.strong
        if not (mixed or dtype == "bool") and (key in plan.strong or not same_dtype(dtype, dtype_of(lo, leaf))):
            mixed = kinds_of(lo, leaf) | {(exact(dtype), weak)}
        if plan.range and still_counted(lo, plan, key):
            return Scalar(var, weak), ("counter", var, init, weak, plan)
        if plan.rising.get(key):
            lo.b.facts.nonnegative.add(var)
        mixed = mixed or dtype == "bool" and weak != is_weak(lo, leaf)
        boxed = getattr(leaf, "boxed", frozenset()) | plan.boxed.get(key, frozenset())
        return Scalar(var, weak, mixed, boxed), ("scalar", var, init, weak, boxed)
    if isinstance(leaf, GrowList):
        var = Var(f"{name.lstrip('%')}_count", "int64")
        lo.carried[var] = lo.b
        lo.b.facts.number(var)
        lo.b.facts.nonnegative.add(var)
        head = GrowList(leaf.arr, var, leaf.weak)
        return head, ("grow", var, leaf.count, leaf.arr)
    if isinstance(leaf, Sized) and name == "%value" or isinstance(leaf, Array) and plan.array.get(key) == "sized":
        first = memory_of(lo, leaf) & plan.shared.get(key, set())
        arr, count, sizes = (leaf.arr, leaf.count, leaf.shape[1:]) if name == "%value" and isinstance(leaf, Sized) else \
            own_sized(lo, name, leaf, plan.dtype.get(key))
        take_integers(lo, plan, key, arr, leaf)
        var = Var("count", "int64")
        lo.carried[var] = lo.b
        lo.b.facts.number(var)
        lo.b.facts.nonnegative.add(var)
        return Sized(arr, var, sizes), ("sized", var, count, arr, first)
    if isinstance(leaf, Array):
        kind = plan.array.get(key, "same")
        if kind == "copy":
            first = memory_of(lo, leaf) & plan.shared.get(key, set())
            buffer = own_buffer(lo, name, leaf, plan.dtype.get(key))
            take_integers(lo, plan, key, buffer.arr, leaf)
            buffer.boxed |= plan.boxed.get(key, buffer.boxed)
            buffer.order = "?" if key in plan.unordered else buffer.order
            return buffer, ("copy", buffer, first)
        if isinstance(leaf, Delayed) and leaf.rank:
            leaf = force(lo, leaf, name)
        if kind == "swap" and (not isinstance(leaf, Buffer) or leaf.arr in lo.read_only_by):
            leaf, given = keep_list(lo, force(lo, leaf, name, copy=True), leaf), leaf
            note_fixed(lo, leaf, given)
        if isinstance(leaf, Buffer):
            take_integers(lo, plan, key, leaf.arr, leaf)
        return leaf, ("array", leaf)
    return leaf, ("static", leaf)


def take_integers(lo: Lowering, plan, key, arr, leaf) -> None:
    """What a loop carries may be integers at the head of an iteration: those from before it, or of the iteration before."""
    note_integers(lo, arr, leaf)
    if key in plan.whole:
        lo.integers_by_path.add(arr)


def learn_integers(lo: Lowering, plan, key, record, end) -> None:
    """Arrays of floats at the head of an iteration that are of integers at its end."""
    arr = next((v if isinstance(v, Arr) else v.arr for v in record if isinstance(v, (Arr, Buffer))), None)
    if isinstance(end, Array) and arr is not None and arr not in lo.integers_by_path and holds_integers(lo, arr, end):
        plan.learn(plan.whole, key, True)


def shared_before(lo: Lowering, stmt, carried, plan) -> dict:
    """(name, which leaf) of each array that gets a copy of the loop's own: the memory that is seen otherwise too, by another
    name or by another part of what this name holds. All of it is found before any name is bound to its copy."""
    live = stmt.live_head | stmt.live_out
    found, memory = {}, {}
    for name, k in [key for key, kind in plan.array.items() if kind in ("copy", "sized") and key[0] in carried]:
        parts = leaves(held(binding(lo, name)))
        if k < len(parts) and isinstance(parts[k], Array):
            beside = set().union(*(p.roots() for p in (*parts[:k], *parts[k + 1:]) if isinstance(p, Array)))
            memory[name, k] = memory_of(lo, parts[k])
            found[name, k] = {root for root in memory[name, k] if root in beside or seen_by_another(lo, root, name, live)}
    for one, other in combinations(memory, 2):          # each gets a copy of what may be one memory
        for key in (one, other):
            found[key] |= memory[one] & memory[other]
    return found


def own_buffer(lo: Lowering, name, leaf, dtype=None) -> Buffer:
    """A buffer that only this loop writes, holding the initial value."""
    fresh = leaf.forced if isinstance(leaf, Delayed) and leaf.forced is not None else leaf
    if isinstance(fresh, Buffer) and dtype in (None, fresh.dtype) and fresh.arr not in lo.parameters \
            and not any(seen_by_another(lo, a, name) for a in with_twins(lo, {fresh.arr})) and allocated_here(
                lo, fresh.arr) and fresh.arr not in lo.read_only_by and not seen_twice(lo, fresh.arr, name):
        return fresh
    arr = lo.b.alloc(name.lstrip("%"), dtype or leaf.dtype, leaf.shape)
    target = Buffer(arr)
    note_held(lo, target, leaf)
    keep_list(lo, target, leaf)
    assign_own(lo, target, leaf)
    note_fixed(lo, target, fresh)
    return target


def seen_twice(lo: Lowering, arr, name) -> bool:
    """Whether two members of what a name holds see the memory of `arr`."""
    return sum(isinstance(leaf, Array) and arr in leaf.roots() for leaf in leaves(binding(lo, name))) > 1


def note_fixed(lo: Lowering, made: Buffer, leaf) -> None:
    """Where what a loop starts with cannot be written on some path, what it is in an iteration cannot be told."""
    if getattr(leaf, "arr", None) in lo.read_only_by:
        lo.read_only_by[made.arr] = None


def allocated_here(lo: Lowering, arr) -> bool:
    return arr in allocations(lo.b.stmts)
