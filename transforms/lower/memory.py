"""Arrays in memory: when an expression gets a buffer, and assignment by NumPy's rules of aliasing."""

from __future__ import annotations

from contextlib import contextmanager

from ..language.build import ONE, ZERO, Builder
from ..language.core import NOWHERE, Alloc, Arr, For, Load, Store, Var, walk
from ..language.errors import ShapeMismatch, TypeConflict, UnsupportedSyntax
from ..language.ops import Narrow
from .values import Array, Buffer, Delayed, Value, View, is_number, leaves

UNASSIGNED = "could not broadcast input array"


class Memory:
    """Buffers of arrays: filling, copying and writing them."""

    # -- memory -----------------------------------------------------------------------------------------------
    def store_element(self, arr: Arr, index, value, accumulate=False) -> None:
        self.before_write(arr)
        self.b.store(arr, index, value, accumulate)

    def before_write(self, arr: Arr) -> None:
        """Give memory to every pending expression that reads `arr`, before it changes."""
        for delayed in self.waiting(arr):
            self.force(delayed)

    def waiting(self, arr: Arr) -> list:
        """The expressions, bound to names or half used, that read `arr` and have no memory of their own yet."""
        found = []
        for value in (*(v for frame in self.frames for v in frame.env.values()), *self.temporaries):
            for leaf in leaves(value):
                while isinstance(leaf, View):
                    leaf = leaf.source
                if isinstance(leaf, Delayed) and leaf.forced is None and arr in leaf.roots() \
                        and leaf.builder is not None and leaf not in found:
                    found.append(leaf)
        return found

    @contextmanager
    def holding(self, *values):
        """While the rest of an expression is evaluated: should that write what `values` read, they get memory first."""
        self.temporaries.extend(values)
        try:
            yield
        finally:
            del self.temporaries[len(self.temporaries) - len(values):]

    def fresh(self, value):
        """A copy of an array that the program may write, made when it must be."""
        if not isinstance(value, Array):
            return value
        if not value.rank:
            return self.array(self.point(value))
        return self.map_arrays(lambda lo, atoms: atoms[0], (value,), value.dtype)

    def delayed(self, shape, dtype, function, sources=(), hint="t") -> Delayed:
        roots = frozenset().union(*(s.roots() for s in sources if isinstance(s, Array)))
        result = Delayed(shape, dtype, function, roots, hint)
        result.loc = self.b.loc
        result.builder = self.b
        result.made_of = tuple(s for s in sources if isinstance(s, Array))
        result.dear = any(map(is_dear, sources))
        for source in result.made_of:
            if isinstance(inner := expression(source), Delayed) and inner.forced is None:
                inner.readers.append(result)
        return result

    def force(self, value: Array, hint: str = "", copy: bool = False) -> Buffer:
        """`value` in memory of its own (a buffer is returned as it is unless `copy`)."""
        if isinstance(value, Delayed) and value.forced is not None:
            value = value.forced
        if isinstance(value, Buffer) and not copy:
            return value
        here = self.b
        if isinstance(value, Delayed) and not copy and value.builder in self.surrounding():
            self.b = value.builder              # where it was made: visible wherever the expression is
        try:
            arr = self.b.alloc(hint or getattr(value, "hint", "") or "v", value.dtype, value.shape)
            self.nest(value.shape, lambda index: self.store_element(arr, index, value.element(self, index)))
        finally:
            self.b = here
        result = Buffer(arr)
        result.made_of, result.elementwise = (value,), True
        if isinstance(value, Delayed) and not copy:
            value.forced = result
            value.has_moved(arr)
            if value.listed:
                self.listed[arr] = result
            self.forced_log.append(value)
        return result

    def surrounding(self) -> list[Builder]:
        """The current block and those around it."""
        found, scope = [], self.b
        while scope is not None:
            found.append(scope)
            scope = scope.parent
        return found

    def give_memory(self, value) -> None:
        """An expression that is about to be written to, through views or not, gets memory first."""
        while isinstance(value, View):
            value = value.source
        if isinstance(value, Delayed) and value.forced is None:
            self.force(value)

    def assign(self, target: Array, value: Value, accumulate: bool = False, op: str = "") -> None:
        """`target[...] = value` (or `+=`, or `op=`) with NumPy's broadcasting and aliasing."""
        source = self.array(value)
        dtype = target.dtype
        if type(dtype) is Narrow and not op and not accumulate and is_number(value):
            self.check_fitting((value,), dtype)
        if source.rank > target.rank:
            extra = source.rank - target.rank
            if all(s == ONE for s in source.shape[:extra]):
                source = View(source, source.shape[extra:], lambda lo, index: (ZERO,) * extra + index)
        message = f"{UNASSIGNED} from shape {self.show_shape(source.shape)} into shape {self.show_shape(target.shape)}"
        joined = self.broadcast_shapes((source.shape, target.shape), message="" if accumulate or op else message)
        if len(joined) > target.rank:
            raise self.error(ShapeMismatch, message)
        for a, b in zip(joined, target.shape, strict=True):
            if not self.same_size(a, b):
                self.require_same(a, b, message, tells=self.unequal)
        if not target.has_memory:
            self.to_be_written(target)
            raise self.error(TypeConflict, "this array cannot be written: it is an expression, not memory",
                             "make a copy first: x = x.copy()")
        source = self.broadcast_to(source, target.shape)
        roots = target.roots()
        for root in roots:
            self.check_writable(root)
        if source.roots() & roots and not self.reads_own_elements(target, source):
            source = self.force(source, copy=True)
        for root in roots:
            self.before_write(root)

        def body(index):
            value = self.cast(source.element(self, index), dtype if dtype != "bool" else source.dtype)
            value = self.truth(value) if dtype == "bool" else value
            arr, place = target.place(self, index)
            if op and not accumulate:
                old = self.b.load(arr, place)
                value = self.cast(self.operate(op, (old, value), dtype), dtype)
            self.b.store(arr, place, value, accumulate)
        self.nest(target.shape, body)

    def probe(self, rank: int):
        return tuple(Var("probe", "int64") for _ in range(rank))

    def reads_own_elements(self, target: Array, source: Array) -> bool:
        """Whether `source`, at each index, reads of target's memory only the very element written there."""
        if not target.has_memory:
            return False
        here = self.b
        self.b = here.child(loop=True)
        guarded = set(self.guarded)
        try:
            index = self.probe(target.rank)
            for i in index:
                self.b.facts.number(i)
            _, place = target.place(self, index)
            source.element(self, index)
            roots = target.roots()
            statements = list(walk(self.b.block()))
        finally:
            self.b = here
            self.guarded = guarded
        if any(isinstance(s, (Store, For)) and not isinstance(s, Load) and s.loc is not NOWHERE
               and isinstance(s, For) for s in statements):
            return False
        return all(all(self.b.facts.same(a, b) for a, b in zip(s.index, place, strict=False))
                   for s in statements if isinstance(s, Load) and s.array in roots)

    def check_writable(self, arr: Arr) -> None:
        if arr in self.parameters:
            self.mutated.add(arr)
        if self.own_copies:
            return
        if arr in self.parameters and any(h[0] is arr and h[1] is not None for h in self.hidden):
            raise self.error(UnsupportedSyntax, "a derivative cannot follow writes to an array that exists outside this "
                             "function, as a global or a default", "work on a copy, or pass it as an argument")
        self.needs_copies(arr)
        self.refuse_twin_write(arr)
        self.refuse_item_write(arr)
        self.user_writes.append(arr)
        if arr in self.listed:
            raise self.error(UnsupportedSyntax, f"`{arr.hint}` is written after it was appended to a list that grows, whose "
                             "items are copies here", "append a copy if that is meant: x.copy()")

    def note_listed(self, item: Value) -> None:
        """An array is appended to a growing list, which copies it: nothing may write it in this loop or afterwards."""
        inner = expression(item)
        if isinstance(inner, Delayed) and inner.forced is None:
            inner.listed = True
        if not isinstance(item, (Buffer, View, Delayed)) or not item.has_memory:
            return
        for arr in item.roots():
            self.listed[arr] = item
            for builder, mark in self.open_loops():
                if arr in self.user_writes[mark:] and not self.made_within(arr, builder):
                    raise self.error(UnsupportedSyntax, f"`{arr.hint}` is appended to a list that grows, whose items are "
                                     "copies here, and written in the same loop", "append a copy: x.copy()")

    def made_within(self, arr: Arr, outer: Builder) -> bool:
        """Whether a buffer is allocated inside the block that `outer` is around."""
        b: Builder | None = self.b
        while b is not None and b is not outer:
            if any(isinstance(s, Alloc) and s.array is arr for s in b.stmts):
                return True
            b = b.parent
        return False


def is_dear(value: Value) -> bool:
    """Whether elements of an array are computed at each use, by more than a few cheap operations."""
    value = expression(value)
    return isinstance(value, Delayed) and value.forced is None and value.dear


def expression(value: Value) -> Value:
    """What a view is a view of."""
    while isinstance(value, View):
        value = value.source
    return value
