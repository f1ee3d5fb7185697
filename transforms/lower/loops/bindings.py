"""What a body does to names and objects beside those that it assigns to."""

from __future__ import annotations

from functools import partial

from ...language.errors import UnsupportedSyntax
from ..arrays.aliases import memory_of
from ..arrays.writing import assign, note_listed
from ..containers.sharing import children, identity, objects, same_object, seen_as
from ..functions.names import ITERATED, binding
from ..needs import NeedsStatic
from ..state import Lowering
from ..values import UNSET, Array, Delayed, Undefined, expression
from .plan import Again, OuterName


def changed_unseen(lo: Lowering, heads, entries, names, plan) -> None:
    """Ask for names to be carried that see a change in the body though nothing is assigned to them."""
    carried = {name for name, *_ in entries}
    pairs = [pair for name, _, head, _ in entries for pair in zip(objects(head), objects(binding(lo, name)), strict=False)]
    known = {id(now) for before, now in pairs if same_object(before, now)}

    def explained(head, now) -> bool:
        if head is now or id(now) in known:
            return True
        before, after = children(head), children(now)
        return bool(before) and type(head) is type(now) and len(before) == len(after) and all(
            map(explained, before, after))
    for frame, env in heads:
        for name in sorted(frame.rebound - frame.unread - (names if frame is lo.frame else set())):
            key = name if frame is lo.frame else OuterName(name, frame)
            if isinstance(env.get(name, UNSET), Undefined) and not isinstance(frame.env.get(name, UNSET), Undefined) and \
                    key not in plan.also:
                plan.also.append(key)           # bound first in the loop, by another function
                raise Again
        for name, head in env.items():
            now = frame.env.get(name, head)
            if frame is lo.frame and name in names or name.startswith("%") and not name.startswith(
                    ("%list", "%global", f"{ITERATED} ")):
                continue
            key = name if frame is lo.frame else OuterName(name, frame)
            rebound = name in frame.rebound
            if rebound and (head is now or key in carried):
                continue
            if isinstance(head, Undefined) or not (rebound or objects(head) or objects(now)) or explained(head, now):
                continue
            if key in plan.also:
                raise lo.error(UnsupportedSyntax, f"`{name}` is changed in this loop in a way that cannot be followed",
                               "assign to it in the loop itself")
            plan.also.append(key)
            raise Again


def rebound_objects(lo: Lowering, entries, heads, plan) -> None:
    """Names bound to other objects in the body must not share what they saw before with other names."""
    for name, value, head_value, _ in entries:
        tail = binding(lo, name)
        if name not in plan.listed and any(getattr(o, "in_table", False) for o in objects(tail)) and any(
                getattr(identity(o), "changed", False) for o in objects(head_value)):
            plan.listed.add(name)
            raise Again
        moved = [(h, t) for h, t in zip(objects(head_value), objects(tail), strict=False) if not same_object(h, t)]
        if name in plan.apart:
            if lo.env.get(f"%apart {name}") is not head_value and seen_by_others(lo, value, name, heads):
                raise lo.error(UnsupportedSyntax, f"`{name}` is changed in place in this loop and bound to another "
                               "object there, while a second name sees the first one", "work on a copy")
            continue
        if moved and seen_by_others(lo, head_value, name, heads):
            plan.apart.append(name)
            raise Again
        taken = set().union(*({identity(t)} | getattr(t, "either", set()) for _, t in moved))
        taken = {o for o in taken if seen_as(lo, {o}, name)}
        if taken - plan.taken.get(name, set()):
            if lo.around.static_trips[-1]:
                raise NeedsStatic(lo.error(UnsupportedSyntax, f"`{name}` is bound to another name's object in the loop",
                                           "work on a copy"))
            plan.taken[name] = taken | plan.taken.get(name, set())
            raise Again


def seen_by_others(lo: Lowering, value, name, heads) -> bool:
    """Whether another name sees one of the objects in a value, at the head of the loop."""
    inside = {id(identity(o)) for o in objects(value)}
    for frame, env in heads:
        for other, seen in env.items():
            mine = other == str(name) and frame is (name.frame if isinstance(name, OuterName) else lo.frame)
            if not mine and not other.startswith("%apart") and any(id(identity(o)) in inside for o in objects(seen)):
                return True
    return False


def assign_own(lo: Lowering, target, value) -> None:
    """A copy that the loop makes for itself: no write of the program."""
    before, lo.own_copies = lo.own_copies, True
    try:
        assign(lo, target, value)
    finally:
        lo.own_copies = before
    inner = expression(value)
    known = isinstance(value, Array) and memory_of(lo, value) & set(lo.learnt.listed)
    if known or isinstance(inner, Delayed) and inner.listed:
        note_listed(lo, target)            # what a list has copied goes on under this name


def joins_of(lo: Lowering, size) -> set:
    """The branches that a size is chosen by: a name, and where."""
    if size not in lo.sizes_by_path:
        return set()
    return {lo.size_joins[size]}.union(*map(partial(joins_of, lo), lo.sizes_by_path[size]))
