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
        """What may be one memory in a loop. ends: (name, buffer of the loop's own, buffers that the first value shares
        with other names, value at the end of the body)."""
        live = stmt.live_head | stmt.live_out
        heads = {buffer.arr for _, buffer, _, _ in ends}
        inside = {s.array for s in walk(self.b.block()) if isinstance(s, Alloc)}
        classes: list[tuple[set, set]] = []                     # (buffers, names whose copies they are)
        for name, buffer, first, end in ends:
            members, names = {buffer.arr, *first}, {name}
            if end is not buffer and isinstance(end, Array):
                members |= self.memory_of(end)
            for other in [c for c in classes if c[0] & members]:
                members, names = members | other[0], names | other[1]
                classes.remove(other)
            classes.append((members, names))
        writes = set(self.user_writes[plan.place[1]:])
        for members, names in classes:
            name = min(names)
            seen = {a for a in members if a in heads or a not in inside and self.shared(
                a, name if len(names) == 1 else "", live)}
            if len(seen) < 2:
                continue
            if writes & (seen | (members - inside)):
                raise self.error(UnsupportedSyntax, f"`{name}` is written in place in this loop and bound to another "
                                 "array there, while a second name may see the first one",
                                 f"work on a copy: {name} = {name}.copy() before the loop")
            self.note_twins(seen)
