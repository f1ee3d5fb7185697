"""Loops: what is carried from one iteration to the next, and how.

A loop body is lowered once with guesses for what its names hold at the start of an iteration. Where the end of the body
disproves a guess (an integer became a float, an array was rebound), `Again` starts over with a better one.

    scalars           carried
    arrays, same      the name refers to one buffer throughout: its memory changes, nothing is carried
    arrays, permuted  `a, b = b, a`: the buffers are swapped
    arrays, rebound   a buffer of the loop's own takes a copy of the new value at the end of each iteration
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import gast

from ...language.build import ONE, ZERO, integer
from ...language.core import Carry, Const, Merge, Var, written
from ...language.errors import AutodiffError, ShapeMismatch, TypeConflict, UnsupportedSyntax
from ..arrays.loop_nests import branch
from ..arrays.memory import force
from ..checks import must
from ..containers.containers import unpacked
from ..containers.lists import prepare_lists
from ..containers.sharing import children, is_object
from ..functions.names import ITERATED, raised_here
from ..journal import Attempt, environments, restore
from ..needs import NeedsStatic, Raised
from ..numbers.conversions import as_value, parameter_behind
from ..state import Lowering
from ..syntax.catching import errors_caught, run_block
from ..syntax.liveness import assigned, bound_inside, exits, live_after, may_act, names_read, nonlocal_names, target_names
from ..syntax.operators import truth_of
from ..syntax.statements import BREAKS, FALLS, RETURNS, close_way, conditional
from ..syntax.unbound import bound_before, held
from ..table import executes
from ..values import (
    UNSET,
    Array,
    Delayed,
    Generated,
    Mapping,
    Range,
    Record,
    Scalar,
    Sequence,
    Static,
    Undefined,
    Value,
    View,
    as_range,
    leaves,
)
from .carries import open_names
from .generators import loop_over
from .induction_variables import count_iterations
from .iteration import iterate_range, note_written_out
from .iterators import gone_through, unchanged_by_loop
from .lazy_loops import plain_loop
from .loop_ends import close_names, finish_loop
from .peeling import peeled_for, peeled_while, stays_with_lengths
from .plan import Again, Plan, place_of_plan

UNROLL_LIMIT = 64
FEW = 8                     # iterations that are written out rather than have arrays change their length


# -- iteration --------------------------------------------------------------------------------------------


def range_length(lo: Lowering, start, stop, step):
    b = lo.b
    if isinstance(step, Const):
        if step.value == 1:
            return b.imax(b.isub(stop, start), 0)
        if step.value > 0:
            return b.imax(b.let("floordiv", b.iadd(b.isub(stop, start), step.value - 1), step, dtype="int64"), 0)
        if step.value == 0:
            raise lo.error(ShapeMismatch, "range() arg 3 must not be zero")
        return b.imax(b.let("floordiv", b.iadd(b.isub(start, stop), -step.value - 1), integer(-step.value),
                            dtype="int64"), 0)
    if not b.facts.at_least(step, 1):
        must(lo, b.compare("ne", step, ZERO), "ValueError", "range() arg 3 must not be zero")
    sign = branch(lo, b.compare("gt", step, ZERO), lambda: ONE, lambda: integer(-1))
    return b.imax(b.iadd(b.let("floordiv", b.isub(b.isub(stop, start), sign), step, dtype="int64"), 1), 0)


@executes(gast.For)
def exec_for(lo: Lowering, stmt, rest):
    if (plain := plain_loop(lo, stmt)) is not None:
        for s in plain:
            lo.exec(s)
        return
    value = as_range(gone_through(lo, lo.eval(stmt.iter)))
    if isinstance(value, Record):
        value = unpacked(lo, value)
    run_over = value
    if isinstance(value, Generated):
        loop_over(lo, stmt, value)
        after_loop(lo, stmt)
        return
    if isinstance(value, Range):
        length = lo.range_length(lo.atom(value.start, "int64"), lo.atom(value.stop, "int64"),
                                 lo.atom(value.step, "int64"))
    else:
        owner = value
        value = lo.iterate(value)
        length = value.length
        if value.static is not None:
            watched = named_in(lo, stmt)
            unrolled(lo, stmt, owner if isinstance(owner, Sequence) and owner.kind is list else Sequence(value.static),
                     getattr(owner, "again", None), lambda: unchanged_by_loop(lo, run_over, watched),
                     early=isinstance(owner, Static) and isinstance(owner.value, (set, frozenset)))      # of their own
            after_loop(lo, stmt)
            return
    if length == ZERO:
        after_loop(lo, stmt)
        return
    lo.around.static_trips.append(isinstance(length, Const) and length.value <= UNROLL_LIMIT)
    name = f"{ITERATED}{len(lo.env)}"
    lo.env[name] = Sequence(() if isinstance(value, Range) else value.arrays)
    try:
        dynamic_for(lo, stmt, value)
    except NeedsStatic as e:
        if not isinstance(length, Const) or length.value > UNROLL_LIMIT:
            if not peeled_for(lo, stmt, value, partial(dynamic_for, lo, stmt)):
                raise unrolled_by(lo, value, e) from None
        elif length.value <= FEW or not stays_with_lengths(lo, stmt, value, partial(dynamic_for, lo, stmt)):
            iterable = lo.iterate(value)
            items = tuple(iterable.item(integer(k)) for k in range(length.value))
            unrolled(lo, stmt, Sequence(items), lambda k: iterable.item(integer(k)), early=isinstance(value, Range))
    finally:
        lo.around.static_trips.pop()
        lo.env.pop(name, None)
    unchanged_by_loop(lo, run_over)
    after_loop(lo, stmt)


def unrolled_by(lo: Lowering, value, e: NeedsStatic) -> NeedsStatic:
    """Where unrolling this loop would help: a request for the integer parameter that decides its length."""
    if isinstance(value, Range) and parameter_behind(lo, e.value) is None:
        unknown = [x for x in (value.start, value.stop, value.step) if isinstance(x, Scalar)]
        if len(unknown) == 1 and parameter_behind(lo, unknown[0]) is not None:
            return NeedsStatic(e.error, unknown[0])
    return e


def named_in(lo: Lowering, stmt) -> list:
    """What the names hold that say what a loop runs over."""
    return [held(lo.env.get(n)) for n in sorted(names_read(stmt.iter))]


def unrolled(lo: Lowering, stmt, items: Sequence, again=None, between=lambda: None, early: bool = False) -> None:
    """One copy of the body an item, each item as it is when its turn comes: the body may change it.

    again: reads an item, by its number, from the arrays that it was read from; between: called before the next is asked for;
    early: what a range counts is settled before the first.
    """
    name = f"{ITERATED}{len(lo.env)}"
    named = [] if early else named_in(lo, stmt)
    read = [v for v in named if isinstance(v, (Sequence, Mapping)) and is_object(v) and v is not items]
    lo.env[name] = Sequence((items, Sequence(tuple(read))))
    try:
        unroll(lo, stmt, name, read, 0, again, between, len(lo.around.writes))
        note_written_out(lo, stmt, len(items.items))
    finally:
        lo.env.pop(name, None)


def read_now(item: Value, again: Value) -> Value:
    """An item that was read before the loop with the numbers that are read now."""
    if isinstance(item, Sequence) and isinstance(again, Sequence) and item.kind is tuple:
        return Sequence(tuple(map(read_now, item.items, again.items)))
    return again if isinstance(again, Scalar) else item


def unroll(lo: Lowering, stmt, name, read, position, again, between, mark) -> None:
    """Copies of the body from the item at a position on."""
    k = position - 1
    while True:
        k += 1
        held = lo.env[name]
        items, now = held.items if isinstance(held, Sequence) else (None, Sequence(()))
        if not isinstance(items, Sequence) or not isinstance(now, Sequence) or not all(
                unchanged_from(a, b, k) for a, b in zip(read, now.items, strict=True)):
            raise lo.error(UnsupportedSyntax, "what this loop runs over is changed in it, further on than it has come",
                           "run over a copy, or over the indices")
        if k >= len(items.items):
            return
        changed = again is not None and len(lo.around.writes) > mark
        lo.bind(stmt.target, read_now(items.items[k], again(k)) if changed else items.items[k], stmt)
        lo.exec_block(stmt.body)
        code = lo.env["%exit"]
        if isinstance(code, Static):
            if code.value >= BREAKS:
                return
            lo.env["%exit"] = Static(FALLS)
            between()
            continue
        go_on = lo.b.compare("lt", code.atom, integer(BREAKS))
        def more(k=k):
            lo.env["%exit"] = Static(FALLS)
            between()
            unroll(lo, stmt, name, read, k + 1, again, between, mark)
        conditional(lo, go_on, more, lambda: None, stmt.live_head)
        return


def after_loop(lo: Lowering, stmt) -> None:
    """The `else` of a loop, and the end of a break."""
    code = lo.env["%exit"]
    if isinstance(code, Static):
        if code.value == BREAKS:
            lo.env["%exit"] = Static(FALLS)
        elif code.value < RETURNS:
            lo.env["%exit"] = Static(FALLS)
            lo.exec_block(stmt.orelse)
        return
    if stmt.orelse:
        falls = lo.b.compare("le", code.atom, integer(1))
        def other():
            lo.env["%exit"] = Static(FALLS)
            lo.exec_block(stmt.orelse)
        def broken():
            lo.env["%exit"] = unbroken(lo, code.atom, stmt)
        conditional(lo, falls, other, broken, live_after([stmt]))
    else:
        lo.env["%exit"] = unbroken(lo, code.atom, stmt)


def unbroken(lo: Lowering, code, stmt) -> Value:
    if lo.around.trying is not None:
        leaves = lo.b.compare("ge", code, integer(RETURNS))
        return Scalar(branch(lo, leaves, lambda: code, lambda: ZERO, "exit"))
    if "return" not in exits(stmt.body):
        return Static(FALLS)
    returned = lo.b.compare("eq", code, integer(RETURNS))
    left = branch(lo, returned, lambda: integer(RETURNS), lambda: ZERO, "exit")
    lo.exit_codes[left] = returned, integer(RETURNS), ZERO
    return Scalar(left)


# -- the two dynamic loops --------------------------------------------------------------------------------
def own_names(lo: Lowering, names) -> set:
    """Those of some names that the running function binds itself."""
    return names - nonlocal_names(lo.frame.node) - lo.frame.writes_globals


def dynamic_for(lo: Lowering, stmt, value) -> None:
    b = lo.b
    if isinstance(value, Range):
        start, stop = lo.atom(value.start, "int64"), lo.atom(value.stop, "int64")
        step = lo.atom(value.step, "int64")
        item: Callable[..., Value] = partial(as_value, lo)
        if not isinstance(step, Const):
            iterable = iterate_range(lo, value)
            start, stop, step, item = ZERO, iterable.length, ONE, iterable.item
    else:
        start, stop, step, item = ZERO, value.length, ONE, value.item
    names = own_names(lo, assigned(stmt.body) | target_names(stmt.target))
    kept = value.checkpoint if isinstance(value, Range) else None
    arrays = () if isinstance(value, Range) else value.arrays
    attempt_loop(lo, stmt, names, lambda plan: try_for(lo,
        stmt, names, plan, start, stop, step, item, b, kept, arrays))


def attempt_loop(lo: Lowering, stmt, names, attempt) -> None:
    force_live(lo, stmt)
    plan = lo.plans.setdefault(place_of_plan(lo, stmt), Plan())
    lo.keep_alive.append(stmt)
    for _ in range(24):
        before = Attempt(lo)
        lo.around.loops.append((plan, before.environments))
        plan.place, plan.unsettled = (lo.b, len(lo.around.writes)), False
        try:
            prepare_lists(lo, plan)
            return attempt(plan)
        except (Again, NeedsStatic, AutodiffError) as e:
            if isinstance(e, AutodiffError) and not plan.unsettled:
                raise
            before.undo(lo)
            if e.plan not in (None, plan) if isinstance(e, Again) else not plan.unsettled:
                raise
        finally:
            lo.around.loops.pop()
    raise lo.error(TypeConflict, "the types of this loop's variables do not settle",
                   "give them one type before the loop")


def force_live(lo: Lowering, stmt) -> None:
    """Expressions that the loop or what follows reads get memory before it."""
    for frame in lo.frames:
        for name, value in frame.env.items():
            if frame is not lo.frame or name in stmt.live_head or name in stmt.live_out:
                for leaf in leaves(value):
                    if isinstance(leaf, Delayed) and leaf.forced is None and leaf.rank and leaf.builder is not None:
                        force(lo, leaf, name)


def try_for(lo: Lowering, stmt, names, plan, start, stop, step, item, outer, kept, arrays) -> None:
    pending = [d for d in map(innermost, arrays) if isinstance(d, Delayed) and d.forced is None]
    reads = frozenset().union(*(d.roots() for d in pending))
    if plan.items_first:
        for delayed in pending:
            force(lo, delayed)
    leaving = bool({"break", "return"} & exits(stmt.body)) or plan.leaves
    simple = step.value in (1, -1) and kept is None and not leaving
    plan.range = (start, stop, step.value) if simple else ()
    state = open_names(lo, stmt, names, plan)
    hint = next(iter(target_names(stmt.target)), "i") if len(target_names(stmt.target)) == 1 else "i"
    if not isinstance(held(lo.env.get(hint, UNSET)), (Undefined, Scalar, Static)):
        hint = "i"
    index = plan.index = outer.index(hint, start, stop, step.value)
    lo.b = lo.loop_bodies[index] = outer.child(loop=True)
    try:
        bound_before(lo, plan, state, index, start)
        count_iterations(lo, state, index)
        lo.bind(stmt.target, item(index), stmt)
        raised = exec_body(lo, stmt, plan)
        code = lo.env["%exit"]
        stop_when = stop_condition(lo, code) if leaving else None
        carries = close_names(lo, stmt, plan, state, code)
        block = lo.b.block()
    finally:
        lo.b = outer
    if not plan.items_first and reads & written(block):
        plan.items_first = True
        raise Again
    trip = Var("trips", "int64") if stop_when is not None else None
    if stop_when is not None:
        outer.facts.number(trip)
        outer.facts.nonnegative.add(trip)
    outer.repeat(index, start, stop, block, step, carries, exit=stop_when, trip=trip, loc=outer.loc, checkpoint=kept)
    finish_loop(lo, stmt, state, block, plan, outer.compare("lt" if step.value > 0 else "gt", start, stop))
    if raised and isinstance(start, Const) and isinstance(stop, Const):         # it runs at least once
        raise raised


def exec_body(lo: Lowering, stmt, plan) -> Raised | None:
    """Run the statements of an iteration; if they are sure to raise, no name changes, and that is returned."""
    lo.env["%exit"] = Static(FALLS)
    here, before = lo.b, environments(lo)
    caught = errors_caught(lo)
    raised = run_block(lo, here, lambda: lo.exec_block(stmt.body), partial(close_way, lo, stmt.live_head | stmt.live_out))
    if errors_caught(lo) > caught and not plan.leaves:
        plan.leaves = True
        raise Again
    if raised is not None:
        restore(lo, before)
        raised.builder = here.parent
    return raised


def stop_condition(lo: Lowering, code):
    if isinstance(code, Static):
        return Const(True, "bool") if code.value >= BREAKS else None
    return lo.b.compare("ge", code.atom, integer(BREAKS))


@executes(gast.While)
def exec_while(lo: Lowering, stmt, rest):
    first, kept = marked_condition(lo, stmt.test)
    if first == Const(False, "bool"):
        after_loop(lo, stmt)
        return
    lo.around.static_trips.append(False)
    try:
        dynamic_while(lo, stmt, first, kept)
    except NeedsStatic:
        if kept is not None or not peeled_while(lo, stmt, first, partial(dynamic_while, lo, stmt)):
            raise
    finally:
        lo.around.static_trips.pop()
    after_loop(lo, stmt)


def dynamic_while(lo: Lowering, stmt, first=None, kept=None) -> None:
    """first: the condition, if it has been asked."""
    if first is None:
        first, _ = marked_condition(lo, stmt.test)
    if first != Const(False, "bool"):
        names = own_names(lo, assigned([stmt]))
        attempt_loop(lo, stmt, names, lambda plan: try_while(lo, stmt, names, plan, first, kept))


def marked_condition(lo: Lowering, test) -> tuple:
    """The truth of a `while` condition, and the copies to keep where it is `checkpoint(condition, ...)`."""
    around, lo.around.mark = lo.around.mark, None
    try:
        return truth_of(lo, test), lo.around.mark
    finally:
        lo.around.mark = around         # the condition may have called a function with loops of its own


def try_while(lo: Lowering, stmt, names, plan, first, kept) -> None:
    outer = lo.b
    state = open_names(lo, stmt, names, plan)
    go = Var("go_on", "bool")
    counter, trip = Var("iteration", "int64"), Var("trips", "int64")
    for v in (counter, trip):
        outer.facts.number(v)
        outer.facts.nonnegative.add(v)
    lo.b = outer.child(loop=True)
    try:
        raised = exec_body(lo, stmt, plan)
        code = lo.env["%exit"]
        stop_when = stop_condition(lo, code) if {"break", "return"} & exits(stmt.body) or plan.leaves else None
        if stop_when is None:
            again, _ = marked_condition(lo, stmt.test)
        elif isinstance(stop_when, Const):
            again = Const(False, "bool")
        elif may_act(stmt.test):
            again = lo.condition(lo.choose(stop_when, lambda: Scalar(Const(False, "bool"), True), lambda: Scalar(
                marked_condition(lo, stmt.test)[0], True), bound_inside([stmt.test])))
        else:
            inner = lo.b
            lo.b = inner.child()
            again, _ = marked_condition(lo, stmt.test)
            block = lo.b.block()
            lo.b = inner
            merged = Var("again", "bool")
            inner.branch(stop_when, (), block, (Merge(merged, Const(False, "bool"), again),))
            again = merged
        carries = close_names(lo, stmt, plan, state, code)
        block = lo.b.block()
    finally:
        lo.b = outer
    carries = (Carry(go, first, again, Var("go_on", "bool")), *carries)
    outer.repeat_while(go, carries, block, counter, trip, outer.loc, kept)
    finish_loop(lo, stmt, state, block, plan, first)
    if raised and first == Const(True, "bool"):
        raise raised
    if isinstance(stmt.test, gast.Constant) and stmt.test.value and isinstance(code, Static) and code.value < BREAKS:
        raise raised_here(lo, stmt)        # nothing else ends it


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


__all__ = ["Again", "NeedsStatic"]
