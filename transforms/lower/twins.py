"""Twins: buffers that in NumPy may be one piece of memory, seen by several names.

A name that is bound to another array in a loop, or to one of two in a branch, gets a buffer with a copy of it. Reading
the copy is right until one of the two is written while a name that is still to be read sees the other: that is refused.
"""

from __future__ import annotations

from ..core import Alloc, Arr, walk
from ..errors import UnsupportedSyntax
from .values import Array, Buffer, Delayed, View


class Twins:
    def with_twins(self, arrs) -> set[Arr]:
        """These buffers, and those that in NumPy may be the same memory as one of them."""
        return set(arrs).union(*(self.twins.get(a, ()) for a in arrs))

    def memory_of(self, value) -> set[Arr]:
        """The buffers that another name for this value would share; none for an expression."""
        inner = value
        while isinstance(inner, View):
            inner = inner.source
        if isinstance(inner, Delayed):
            inner = inner.forced
        return self.with_twins(value.roots()) if isinstance(inner, Buffer) else set()

    def note_twins(self, arrs) -> None:
        for a in arrs:
            self.twins.setdefault(a, set()).update(b for b in arrs if b is not a)

    def refuse_twin_write(self, arr: Arr) -> None:
        """Refuse a write to `arr` while a live name sees a buffer that NumPy might write with it."""
        live = getattr(self.node, "live_out", None)
        if any(self.shared(twin, "", live) for twin in self.twins.get(arr, ())):
            raise self.error(UnsupportedSyntax, f"`{arr.hint}` is one of two arrays, chosen when the program runs, and is "
                             "written to while another name may see the chosen one",
                             "write to the arrays themselves inside the branches, or choose a copy: x.copy()")

    def close_twins(self, stmt, plan, ends) -> None:
        """Which buffers may be one memory at the head of some iteration; refuse writes to them, if other names see it.

        ends: (name, buffer of the loop's own, buffers that the first value shares with other names, value at the end).
        """
        live = stmt.live_head | stmt.live_out
        inside = {s.array for s in walk(self.b.block()) if isinstance(s, Alloc)}
        name_of = {buffer.arr: name for name, buffer, _, _ in ends}
        memory = {buffer.arr: self.memory_of(end) if end is not buffer and isinstance(end, Array) else {buffer.arr}
                  for _, buffer, _, end in ends}
        pairs = one_memory({buffer.arr: set(first) for _, buffer, first, _ in ends}, memory, inside)
        writes = set(self.user_writes[plan.place[1]:])
        for pair in pairs:
            a, b = sorted(pair, key=lambda arr: arr not in name_of)          # a head, and a head or an array from outside
            if writes & pair and (b in name_of or self.shared(b, name_of[a], live)):
                raise self.error(UnsupportedSyntax, f"`{name_of[a]}` is written in place in this loop and bound to another "
                                 "array there, while a second name may see the first one",
                                 f"work on a copy: {name_of[a]} = {name_of[a]}.copy() before the loop")
            self.note_twins(pair)


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
