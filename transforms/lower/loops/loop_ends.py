"""The end of a loop's body: what its names hold is brought into the form that its head has."""

from __future__ import annotations

from functools import partial

import gast

from ...language.build import ZERO, integer
from ...language.core import Carry, Const, Var, written
from ...language.errors import TypeConflict, UnsupportedSyntax
from ...language.names import names_in
from ...language.ops import promote
from ..arrays.aliases import close_twins
from ..arrays.broadcasting import require_same, same_size, unequal
from ..arrays.layout import note_order
from ..arrays.memory import force
from ..arrays.points import BY_PATH, sites_of
from ..checks import CAREFUL
from ..containers.growing import grow_request, list_dtype, make_growable, refill
from ..containers.list_operators import kinds_in, widen
from ..containers.lists import is_list
from ..containers.sharing import as_object, children, identity, is_object, rebind, same_object, with_children
from ..functions.names import ITERATED, bind_name, binding, seen_by_another
from ..needs import NeedsStatic
from ..numbers.conversions import cast, is_weak
from ..numbers.integer_operations import by_path
from ..numbers.integers import same_dtype
from ..numbers.kinds_on_paths import unlike
from ..state import Lowering
from ..structures import describe, option_key, rebuild, structure
from ..syntax.alternatives import as_either, as_one_choice
from ..syntax.branches import MOST_OPTIONS, means_the_same, named
from ..syntax.liveness import assigned
from ..syntax.statements import FALLS
from ..syntax.unbound import FALSE, TRUE, bound_of, held, maybe
from ..values import (
    ON_ALL_PATHS,
    Array,
    Buffer,
    Closure,
    Delayed,
    Either,
    Generator,
    GrowList,
    Mapping,
    Maybe,
    Record,
    Scalar,
    Sequence,
    Sized,
    Static,
    Undefined,
    Value,
    differ,
    is_number,
    known_as,
    leaves,
)
from .bindings import assign_own, changed_unseen, joins_of, rebound_objects
from .carried_shapes import chosen_from, fill_sized, template_of, unrelated, varies
from .carries import learn_integers
from .induction_variables import change_of, counted, learn_change, learn_rising, tell_count
from .plan import LENGTHS, Again
from .swaps import are_swapped, permuted, swap


def close_names(lo: Lowering, stmt, plan, state, code):
    """Compare the end of the body with the guesses; give the carries, or raise Again."""
    entries, code_var, heads, names = state
    changed_unseen(lo, heads, entries, names, plan)
    rebound_objects(lo, entries, heads, plan)
    carries = []
    changed: list = []
    renewed = renewed_lists(lo, entries)
    refuse_changes_of_iterated(lo, entries)
    for k, (name, _value, head_value, records) in enumerate(entries):
        tail = binding(lo, name)
        if isinstance(tail, Undefined) and tail.lost and isinstance(head_value, Undefined):
            entries[k] = (name, tail, head_value, records)
        if not records and isinstance(head_value, Undefined):
            if isinstance(tail, Undefined) or name not in stmt.live_head and name != "%value" and name not in plan.also:
                continue
            plan.template[name], plan.unsettled = template_of(lo, held(tail), name), True
            continue
        if isinstance(tail, Undefined) and (tail.lost or name in plan.apart):
            raise lo.error(TypeConflict, tail.why or f"{named(name)} may be undefined after an iteration",
                           ON_ALL_PATHS if tail.why else "")
        unset = isinstance(tail, Undefined) and name == "%value"
        tail = head_value if unset else as_bound(lo, name, head_value, tail, plan)
        if name in renewed:
            carries.append((name, 0, renew(lo, records[0], renewed[name])))
            grown = GrowList(records[0][3], renewed[name].shape[0], known_as(GrowList, held(head_value)).weak)
            made = as_object(grown, held(tail))
            tail = Maybe(made, tail.bound) if isinstance(tail, Maybe) else made
            bind_name(lo, name, tail)
            bound_by_iterations(lo, name, plan, stmt, records, tail)
            if isinstance(tail, Maybe) and (carry := close_leaf(lo,
                    name, 1, records[1], tail.bound, plan, changed)) is not None:
                carries.append((name, 1, carry))
            continue
        tail = with_options(lo, name, head_value, tail, plan)
        if structure(tail) != structure(head_value):
            head, tail = held(head_value), held(tail)
            if is_list(tail) and is_list(head) and type(tail) is not type(head):
                make_growable(lo, name, promote(*map(partial(list_dtype, lo), (tail, head))))
            grow_request(lo, name, head, tail)
            raise NeedsStatic(lo.error(
                TypeConflict, f"{named(name)} changes from {describe(head)} to {describe(tail)} in the loop"
                if describe(head) != describe(tail) else f"a list or dict inside `{name}` changes its length in "
                "the loop", "keep its structure the same in every iteration, or bind the list to a name of its own"))
        bound_by_iterations(lo, name, plan, stmt, records, tail)
        for k, (record, end) in enumerate(zip(records, leaves(tail), strict=True)):
            carry = close_leaf(lo, name, k, record, end, plan, changed)
            if carry is not None:
                carries.append((name, k, carry))
    if plan.unsettled:
        raise Again
    close_twins(lo, plan, entries)
    close_arrays(lo, plan, refilled(lo, changed), stmt)
    done = []
    for _, _, (var, init, end) in carries:
        nxt = cast(lo, end, var.dtype)
        out = lo.b.var(var.hint, var.dtype)
        lo.b.facts.number(out)
        if var in lo.b.facts.nonnegative:
            lo.b.facts.nonnegative.add(out)
        lo.results[var] = out
        done.append(Carry(var, init, nxt, out))
    if code_var is not None:
        atom = lo.atom(code) if not isinstance(code, Static) else integer(code.value)
        out = Var("exit", "int64")
        lo.b.facts.number(out)
        lo.results[code_var] = out
        done.append(Carry(code_var, ZERO, atom, out))
    return tuple(done)


def as_bound(lo: Lowering, name, head: Value, tail: Value, plan) -> Value:
    """What a name holds at the end of the body, with the condition under which it is bound if its head has one."""
    if isinstance(head, Maybe) and not isinstance(tail, Maybe):
        tail = Maybe(head.value, Scalar(FALSE, True)) if isinstance(tail, Undefined) else Maybe(tail, Scalar(TRUE, True))
        bind_name(lo, name, tail)
    elif not isinstance(head, Maybe) and (isinstance(tail, (Maybe, Undefined))):
        plan.maybe.add(name)
        raise Again
    return tail


def bound_by_iterations(lo: Lowering, name, plan, stmt, records, tail) -> None:
    """A name that every iteration binds needs no condition that is carried: it is bound once one has run."""
    if not isinstance(tail, Maybe) or records[-1][0] != "scalar":
        return
    _, var, init, *_ = records[-1]
    if tail.bound.atom != TRUE:
        if plan.always.get(name):
            plan.always[name] = False
            raise Again
    elif name in plan.always or var not in names_in(lo.b.block()):
        records[-1] = ("ran", init)
    elif isinstance(stmt, gast.For):
        plan.always[name] = True
        raise Again


def with_options(lo: Lowering, name, head: Value, tail: Value, plan) -> Value:
    """`as_option` of what is bound."""
    made = as_option(lo, name, held(head), held(tail), plan)
    if made is not held(tail):
        tail = Maybe(made, tail.bound) if isinstance(tail, Maybe) else made
        bind_name(lo, name, tail)
    return tail


def as_option(lo: Lowering, name, head: Value, tail: Value, plan) -> Value:
    """What a name holds at the end of the body, in the form of its head: one of the same options, if it has any.

    Where None, a text or a function becomes something else, the name is asked to be an Either from the start.
    """
    tail = as_one_choice(tail)
    if option_key(head) == option_key(tail) is not None:
        return tail
    options = [o for v in (head, tail) for o in (v.options if isinstance(v, Either) else (v,))]
    keys = list(map(option_key, options))
    if None in keys or not (isinstance(head, Either) or isinstance(tail, Either) or any(
            isinstance(o, Closure) or isinstance(o, Static) and not is_number(o) for o in options)):
        return tail
    if isinstance(head, Either):
        if (made := as_either(lo, tail, [option_key(o) for o in head.options], lambda k: head.options[k])) is not None:
            return made
    elif lo.around.static_trips[-1]:
        return tail                                     # to be unrolled
    if len(set(keys)) > MOST_OPTIONS:
        return tail
    plan.either[name] = {option_key(o): template_of(lo, o) for o in options}
    raise Again


def refuse_changes_of_iterated(lo: Lowering, entries) -> None:
    """A list that a loop runs over keeps its length in it: how often the loop runs is known at its start."""
    running = {root for name, value in lo.env.items() if name.startswith(ITERATED) for leaf in leaves(value)
               if isinstance(leaf, Array) and not (isinstance(leaf, Delayed) and leaf.forced is None)
               for root in leaf.roots()}
    for name, _, head, _ in entries:
        for before, now in zip(leaves(head), leaves(binding(lo, name)), strict=False):
            if isinstance(before, GrowList) and before.arr in running and not (
                    isinstance(now, GrowList) and now.arr is before.arr and now.count == before.count):
                raise lo.error(UnsupportedSyntax, f"{named(name)} changes its length in a loop over it",
                               "loop over a copy, `list(...)`, or use `while`")


def renewed_lists(lo: Lowering, entries) -> dict:
    """Growing lists whose names are bound to other lists at the end of the body: name -> a copy of the new items."""
    found = {}
    for name, _, head, _ in entries:
        head, tail = held(head), held(binding(lo, name))
        if isinstance(head, GrowList) and is_list(tail) and not (isinstance(tail, GrowList) and tail.arr is head.arr):
            if lo.around.static_trips[-1]:
                raise NeedsStatic(lo.error(TypeConflict, f"the list `{name}` changes its length in the loop"))
            if seen_by_another(lo, head.arr, name):
                raise NeedsStatic(lo.error(UnsupportedSyntax, f"the list `{name}` is bound to another list in this "
                                           "loop, while a second name sees the first one", "work on a copy"))
            items = lo.array(tail)
            if items.rank == 1 and not any(seen_by_another(lo, root, name) for root in items.roots()):
                found[name] = force(lo, items, copy=True)
    return found


def renew(lo: Lowering, record, items) -> tuple:
    """Put the items of a new list into the memory of the one that the loop carries."""
    _, var, init, arr = record
    widen(lo, arr, items.dtype)
    refill(lo, arr, items)
    return var, init, items.shape[0]


def close_leaf(lo: Lowering, name, k, record, end, plan, changed):
    key = (name, k)
    learn_integers(lo, plan, key, record, end)
    match record:
        case ("scalar", var, init, weak, boxed):
            if isinstance(end, Array) and end.rank == 0:
                end = Scalar(lo.atom(end), boxed=BY_PATH if end.has_memory else end.boxed)
            if not (sites := sites_of(name, Scalar(var, boxed=boxed), end)) <= boxed:
                plan.learn(plan.boxed, key, sites)
            if not is_number(end):
                raise NeedsStatic(lo.error(TypeConflict, f"{named(name)} is a number at the start of an iteration and "
                                                         f"{describe(end)} at its end"))
            dtype, _, kinds = by_path(lo, Scalar(var, weak, plan.kinds.get(key, False)), end)
            if kinds and kinds != plan.kinds.get(key):
                plan.kinds[key], plan.dtype[key], plan.unsettled = kinds, dtype, True
                return None
            if weak and not is_weak(lo, end) and not differ(kinds):
                plan.dtype[key], plan.unsettled = dtype, True
                return plan.strong.add(key)
            if not same_dtype(dtype, var.dtype):
                plan.learn(plan.dtype, key, dtype)
            learn_change(lo, plan, key, var, init, end)
            learn_rising(lo, plan, key, var, init, lo.atom(end))
            return var, init, lo.atom(end, dtype)
        case ("counter", var, _, _, _):
            if change_of(lo, plan, var, end) != plan.counters[key]:
                plan.learn(plan.counters, key, None)
            return None
        case ("grow", var, init, arr):
            if not isinstance(end, GrowList) or end.arr is not arr:
                raise NeedsStatic(lo.error(
                    TypeConflict, f"the list `{name}` changes its length in the loop by being bound to another list",
                    "append to it, or give it its length before the loop"))
            return var, init, end.count
        case ("sized", var, init, arr, _):
            if not (isinstance(end, Sized) and end.arr is arr):
                held = Buffer(arr)
                if not isinstance(end, Array) or end.rank != held.rank or promote(end.dtype, held.dtype) != held.dtype:
                    raise lo.error(TypeConflict, f"{named(name)} changes from {describe(held)} to "
                                                 f"{describe(end)} in the loop")
                if any(varies(lo, q, p) for p, q in zip(held.shape[1:], end.shape[1:], strict=True)):
                    raise lo.error(UnsupportedSyntax, f"{named(name)} changes its shape in the loop, not only its length",
                                   "keep it in an array of one shape and use a part of it")
                changed.append((key, arr, end, "sized"))
            return var, init, end.shape[0]
        case ("static", leaf):
            if isinstance(leaf, Generator) and end is not leaf:
                raise lo.error(UnsupportedSyntax, f"{named(name)} becomes another random generator in the loop",
                               "give each generator a name of its own")
            if not means_the_same(leaf, end):
                raise NeedsStatic(lo.error(
                    TypeConflict, f"{named(name)} changes from {describe(leaf)} to {describe(end)} in the loop"
                    if describe(leaf) != describe(end) else f"{named(name)} becomes another in the loop",
                    "give it a number or an array before the loop, or choose by `if` inside it"))
            return None
        case ("copy", buffer, _) if not buffer.rank and (is_number(end) or end.boxed & BY_PATH) and not buffer.boxed:
            plan.learn(plan.boxed, key, BY_PATH)
        case ("array", leaf):
            changed.append((key, leaf, end, end is leaf))
        case ("copy", buffer, _):
            note_order(lo, plan, key, buffer, end)
            changed.append((key, buffer, end, None))
    return None


def refilled(lo: Lowering, changed) -> list:
    """Fill the arrays that change their length, and give the other changes: all is read before any of them is written."""
    targets = {arr for _, arr, _, kind in changed if kind == "sized"}
    ends = [force(lo, end, key[0], copy=True) if isinstance(end, Array) and end.roots() & (targets - {head}) else end
            for key, head, end, _ in changed]
    for (_, arr, _, kind), end in zip(changed, ends, strict=True):
        if kind == "sized":
            fill_sized(lo, arr, end)
    return [(key, head, end, kind) for (key, head, _, kind), end in zip(changed, ends, strict=True) if kind != "sized"]


def close_arrays(lo: Lowering, plan, changed, stmt):
    """Copies and swaps at the end of an iteration; what is copied is read before it changes its name."""
    groups = permuted([(key, head, end) for key, head, end, same in changed if same is False])
    kept = [are_swapped(lo, plan, group, stmt) for group in groups]
    if not all(kept):
        raise Again
    copy_back(lo, [(key, buffer, end) for key, buffer, end, same in changed if same is None], plan)
    for group in groups:
        swap(lo, group)


def may_stay(lo: Lowering, p, q) -> bool:
    """Whether a loop stays one whose sizes may differ: those of arguments, or a number beside, are checked to agree."""
    trips = lo.around.static_trips[-1]
    return not trips or trips == LENGTHS and varies(lo, q, p) or lo.boundscheck is True and not lo.sizes.isdisjoint(
        (p, q)) and all(s in lo.sizes or isinstance(s, Const) and s.value > 1 for s in (p, q))


def copy_back(lo: Lowering, copies, plan) -> None:
    waiting = []
    for key, buffer, end in copies:
        if end is buffer:
            continue
        if not isinstance(end, Array):
            if not is_number(end) or buffer.rank:
                raise NeedsStatic(lo.error(TypeConflict, f"{named(key[0])} is an array at the start of an iteration "
                                                         f"and {describe(end)} at its end"))
            end = lo.array(end)
        if end.is_list and buffer.is_list and kinds_in(end) != kinds_in(buffer):
            raise lo.error(UnsupportedSyntax, f"{named(key[0])} is a list in one iteration of the loop and a tuple, "
                           "or a list of others, in another", "keep it a list")
        if end.rank != buffer.rank or (what := unlike(buffer, end)):
            told = f"changes its rank from {buffer.rank} to {end.rank} in the loop" if end.rank != buffer.rank else \
                f"is {what}, by the iteration"
            raise NeedsStatic(lo.error(TypeConflict, f"{named(key[0])} {told}", "convert it"))
        if not same_dtype(promote(buffer.dtype, end.dtype), buffer.dtype):
            plan.learn(plan.dtype, key, promote(buffer.dtype, end.dtype))
        for p, q in zip(buffer.shape, end.shape, strict=True):
            if not same_size(lo, p, q) and not may_stay(lo, p, q):
                raise NeedsStatic(lo.error(TypeConflict, f"{named(key[0])} changes its shape in the loop"))
            careful = lo.boundscheck in CAREFUL
            joins = joins_of(lo, q) - plan.one_size
            if joins and not careful and unrelated(lo, {p} | chosen_from(lo, q)):
                plan.one_size |= joins
                raise Again
            if varies(lo, q, p) or careful and not same_size(lo, p, q):
                if p is not buffer.shape[0] or buffer.is_list:
                    raise lo.error(UnsupportedSyntax, f"{named(key[0])} changes its shape in the loop",
                                   "keep it in an array of one shape and use its first rows")
                plan.learn(plan.array, key, "sized")
            require_same(lo, p, q, f"{named(key[0])} changes its shape in the loop ({lo.b.loc.short()})", tells=unequal(lo))
        waiting.append((key, buffer, end))
    while waiting:
        free = next((w for w in waiting if not any(
            w[1].arr in other[2].roots() for other in waiting if other is not w)), None)
        if free is None:                # one that reads what another is about to write; its copy does not
            at = next(k for k, w in enumerate(waiting) if w[2].roots() & {o[1].arr for o in waiting if o is not w})
            waiting[at] = (*waiting[at][:2], force(lo, waiting[at][2], copy=True))
            continue
        waiting.remove(free)
        assign_own(lo, free[1], free[2])


def finish_loop(lo: Lowering, stmt, state, block, plan, ran) -> None:
    """The environment after the loop: results in the place of the heads; `ran`: whether its body runs at all."""
    entries, code_var, heads, names = state
    changed = written(block)
    for arr in changed:
        lo.b.forget(arr)
    header = [stmt.test] if isinstance(stmt, gast.While) else [gast.Assign([stmt.target], stmt.iter, None)]
    for name in assigned([*header, *stmt.body]) | {"%value"}:
        if name in lo.env and not any(e[0] == name for e in entries) and not name.startswith("%"):
            lo.env[name] = Undefined(f"{named(name)} is not available after the loop", None, True)
    for frame, env in heads:
        if frame is not lo.frame:               # one that was left in the loop is left by what has called this
            frame.env["%exit"] = env["%exit"]
        for name in frame.rebound & frame.unread if frame is not lo.frame else ():
            if isinstance(env.get(name), Undefined):
                frame.env[name] = env[name]
    after: dict = {}                # object at the end of an iteration -> the same after the loop
    for name, value, head_value, records in entries:
        if not records and isinstance(head_value, Undefined):
            bind_name(lo, name, value)
            continue
        tail = binding(lo, name)
        out: list[Value] = []
        for record, head, end in zip(records, leaves(head_value), leaves(tail), strict=True):
            match record:
                case ("scalar", var, init, weak, boxed):
                    tell_count(lo, lo.results[var], init, plan, (name, len(out)))
                    out.append(Scalar(lo.results.pop(var), weak, head.mixed, boxed))
                case ("counter", _, init, weak, plan):
                    out.append(Scalar(counted(lo, init, plan, (name, len(out))), weak))
                case ("grow", var, _, arr):
                    out.append(GrowList(arr, lo.results.pop(var), known_as(GrowList, head).weak))
                case ("sized", var, _, arr, _):
                    out.append(Sized(arr, lo.results.pop(var), known_as(Array, head).shape[1:]))
                case ("shared", _):
                    out.append(end)
                case ("ran", init):
                    out.append(Scalar(lo.b.let("or", init, ran, dtype="bool"), True))
                case _:
                    out.append(head)
        result = result_of(lo, head_value, tail, iter(out), after)
        bind_name(lo, name, maybe(result, bound_of(result)) if isinstance(result, Maybe) else result)
        lo.env.pop(f"%apart {name}", None)
    rebind(lo, after.values())
    if code_var is not None:
        lo.env["%exit"] = Scalar(lo.results.pop(code_var))
        return
    lo.env["%exit"] = Static(FALLS)


def result_of(lo: Lowering, head, tail, out, after: dict) -> Value:
    """A name's value after the loop. `after` gets the objects that other names see as they were left."""
    if isinstance(head, (Sequence, Mapping, Record, Maybe)) or head.inside():
        if head.inside():
            next(out)
        both = zip(children(head), children(tail), strict=True)
        made = with_children(head, [result_of(lo, h, t, out, after) for h, t in both])
    else:
        made = rebuild(head, out)
        if made is not head:
            as_object(made, head)
    if is_object(made) and same_object(head, tail):
        return after.setdefault(id(tail), (tail, made))[1]
    if is_object(made):
        del made.origin
        made.either = {identity(head), identity(tail)} | getattr(head, "either", set()) | getattr(tail, "either", set())
    return made
