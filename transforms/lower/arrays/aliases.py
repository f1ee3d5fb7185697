"""Twins: buffers that in NumPy may be one piece of memory, seen by several names.

A name that is bound to another array in a loop, or to one of two in a branch, gets a buffer with a copy of it. Reading
the copy is right until one of the two is written while a name that is still to be read sees the other: that is refused.
"""

from __future__ import annotations

from itertools import product

from ...language.core import Arr
from ...language.queries import allocated_in
from ..functions.names import binding
from ..journal import surrounding
from ..loops.plan import Again
from ..state import Lowering
from ..values import Array, Buffer, Delayed, View, expression, leaves
from .memory import force


def with_twins(lo: Lowering, arrs) -> set[Arr]:
    """These buffers, and those that in NumPy may be the same memory as one of them."""
    return set(arrs).union(*(lo.learnt.twins.get(a, ()) for a in arrs))


def memory_of(lo: Lowering, value) -> set[Arr]:
    """The buffers that another name for this value would share; none for an expression."""
    inner = value
    while isinstance(inner, View):
        inner = inner.source
    if isinstance(inner, Delayed):
        inner = inner.forced
    return with_twins(lo, value.roots()) if isinstance(inner, Buffer) else set()


def give_memory_if_seen(lo: Lowering, value: Array, live) -> None:
    """An expression that a branch chooses gets memory if a list, say, has it too: a write to one is a write to both."""
    inner = expression(value)
    if not (isinstance(inner, Delayed) and inner.forced is None and inner.rank and inner.builder in surrounding(lo)):
        return
    if any(expression(leaf) is inner for frame in lo.frames for name, held in frame.env.items()
           if frame is not lo.frame or name in live or name.startswith("%") for leaf in leaves(held)):
        force(lo, inner)


def one_for_two(lo: Lowering, heads) -> bool:
    """Whether two of the arrays `heads` are, or may be, one memory, which two buffers are not."""
    found = [memory_of(lo, h) for h in heads]
    return any(a & b for k, a in enumerate(found) for b in found[:k])


def note_stand_in(lo: Lowering, arr: Arr, others) -> None:
    """A buffer has a copy of what is, for Python, one of these: what writes to it writes to one of them."""
    lo.stands_for.setdefault(arr, set()).update(others)


def stood_for(lo: Lowering, arrs) -> set[Arr]:
    """These buffers, and all that they, or their twins, may stand for."""
    found: set[Arr] = set()
    todo = set(arrs)
    while todo:
        arr = todo.pop()
        found.add(arr)
        todo |= (with_twins(lo, [arr]) | lo.stands_for.get(arr, set())) - found
    return found


def note_write(lo: Lowering, arr: Arr) -> None:
    lo.writes += 1
    lo.touched[arr] = lo.writes


def note_twins(lo: Lowering, arrs) -> None:
    for a in arrs:
        lo.learnt.twins.setdefault(a, set()).update(b for b in arrs if b is not a)


def open_twins(lo: Lowering, plan, entries) -> None:
    """At the head of a loop: what earlier attempts found to be one memory, of the copies of this attempt."""
    made: dict = {}
    for name, k, arr, before in own_memory(entries):
        made[name, k] = [arr]
        made["before", name, k] = before
    for pair in plan.twins:
        arrs = [made.get(x, ()) if isinstance(x, tuple) else [x] for x in pair]
        for one in product(*arrs) if len(arrs) == 2 else ():
            note_twins(lo, one)
            names: list = [x[-2] if isinstance(x, tuple) else None for x in pair]
            for k, arr in enumerate(one):
                lo.taken_over[arr, one[1 - k]] = names[k] or names[1 - k]


def close_twins(lo: Lowering, plan, entries) -> None:
    """Learn which buffers may be one memory when an iteration begins; writes to them are judged where they stand.

    Pairs are remembered by the names of the copies, which each attempt makes anew: (name, which of its leaves), and
    ("before", name, which) for what the first value of that copy shares its memory with.
    """
    inside = allocated_in(lo.b.block())
    first, memory = {}, {}
    key: dict = {}
    for name, k, arr, before in own_memory(entries):
        end = leaves(binding(lo, name))[k]
        first[arr] = set(before)
        memory[arr] = memory_of(lo, end) if getattr(end, "arr", None) is not arr and isinstance(end, Array) else {arr}
        key.update(dict.fromkeys(before, ("before", name, k)))
    for name, k, arr, before in own_memory(entries):
        key[arr] = (name, k)
        note_stand_in(lo, arr, memory[arr] | set(before))
    found = {frozenset(key.get(a, a) for a in pair) for pair in one_memory(first, memory, inside | lo.result_memory)}
    if not found <= plan.twins:
        plan.twins |= found
        raise Again


def own_memory(entries):
    """(name, place among its leaves, memory, what shared the memory of the first value) of each array that a loop carries in
    memory of its own: a copy, or one that changes its length. Each attempt makes them anew."""
    for name, _, _, found in entries:
        for k, (what, *record) in enumerate(found):
            if what == "copy":
                yield name, k, record[0].arr, record[1]
            elif what == "sized":
                yield name, k, *record[2:]


def one_memory(first: dict, memory: dict, inside: set) -> set[frozenset]:
    """Pairs of buffers that may be one memory when an iteration begins.

    first: buffer of a loop's own -> arrays that are the same memory before the loop; memory: -> what it takes over at the
    end of an iteration; inside: arrays made in the body.
    """
    pairs = {frozenset((h, o)) for h, others in first.items() for o in others}
    pairs |= {frozenset((h, g)) for h in first for g in first if h is not g and first[h] & first[g]}
    while True:
        grown = set(pairs)
        for h, taken in memory.items():
            same = taken | {a for pair in pairs if pair & taken for a in pair}
            outer = {a for a in same if a not in memory and a not in inside}
            grown |= {frozenset((h, o)) for o in outer}
            grown |= {frozenset((h, g)) for g, other in memory.items() if g is not h and (
                taken & other or any(frozenset((p, q)) in pairs for p in taken for q in other))}
        if grown == pairs:
            return pairs
        pairs = grown
