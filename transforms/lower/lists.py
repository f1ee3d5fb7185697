"""Python lists and tuples of numbers whose places are known only when the program runs.

While everything about a list is known, it is a `Sequence` of its items. Three things make it memory: an index known
only at run time (reading keeps a copy of the items beside the list, writing turns it into a `GrowList`), a length known
only at run time (`[0.0] * n`, a comprehension: an array that is marked as a list), and `append` in a loop (`growing.py`).
Where they differ from arrays, lists behave as Python's do: `+` joins, `*` repeats, a slice is a copy, and items take any
number.
"""

from __future__ import annotations

import numpy as np

from ..language.build import ONE, integer
from ..language.core import Const, Let, array_of, operands, walk
from ..language.errors import MissingItem, TypeConflict, UnsupportedSyntax
from ..language.ops import is_complex, promote
from .integers import same_dtype
from .list_operators import kind_of, kinds_in
from .plan import Again, Widen
from .structures import rebuild
from .unbound import held
from .values import (
    Array,
    Buffer,
    Column,
    Delayed,
    FancyRead,
    GrowList,
    Iterable,
    Mapping,
    Range,
    Scalar,
    Sequence,
    Series,
    Slice,
    Static,
    Table,
    Value,
    View,
    is_number,
    leaves,
)


class Mirror:
    """The items of a Sequence in memory; `builder` and `forced` as in Delayed, so that a dropped attempt drops it."""

    def __init__(self, builder, buffer):
        self.builder, self.forced = builder, buffer


class Lists:
    # -- indices known only at run time -----------------------------------------------------------------------
    def item_at(self, owner: Sequence, index: Scalar) -> Value:
        """`owner[index]` of numbers, or of rows of numbers, which can be read then but not written."""
        if not all(map(is_number, owner.items)):
            rows = self.get_item(self.mirror(owner), index)
            rows.writable = False
            self.mark_list(rows, self.list_kinds(owner)[1:])
            return rows
        if self.static_trips[-1] and all(isinstance(i, Static) and isinstance(i.value, int) for i in owner.items):
            raise self.needs_static(index, f"the index of a {owner.kind.__name__}")
        found = self.index_array(self.mirror(owner), (index,))
        return Scalar(self.atom(found), *self.by_path(*owner.items)[1:])

    def mirror(self, owner: Sequence) -> Buffer:
        known = constants(owner)
        if known is not None:
            return self.table(known)
        made = getattr(owner, "mirror", None)
        if made is None or made.forced is None or made.builder not in self.surrounding():
            self.before_loops(owner, "mirror")
            items = owner.items
            if all(map(is_number, items)):
                dtype, *_ = self.by_path(*items)
                items = [Scalar(self.fitted(i, dtype)) for i in items]
            made = owner.mirror = Mirror(self.b, self.stack_items([self.array(i) for i in items]))
            self.forced_log.append(made)
        return made.forced

    def table(self, values: tuple) -> Buffer:
        """Constants as an array that the program is given."""
        key = repr(values)
        if key not in self.tables:
            array = np.array(values)
            made = self.hidden_array(array, None)
            made.shape = made.arr.shape = tuple(map(integer, array.shape))
            self.tables[key] = made
        return self.tables[key]

    def drop_unused_tables(self) -> None:
        """Tables that only a dropped attempt read are no arguments of the program."""
        tables = {made.arr for made in self.tables.values()}
        used = {array_of(x) for s in walk(self.b.stmts) for x in operands(s)
                if not (isinstance(s, Let) and s.op == "dim")}
        unused = tables - used
        self.hidden = [h for h in self.hidden if h[0] not in unused]
        self.b.stmts = [s for s in self.b.stmts if not (isinstance(s, Let) and s.op == "dim" and s.args[0] in unused)]

    def before_loops(self, owner: Sequence, what) -> None:
        """Inside loops, have `what` happen to the list before the outermost loop that finds it."""
        for depth, frame in enumerate(self.frames):
            for name, value in frame.env.items():
                if held(value) is not owner:
                    continue
                for plan, envs in self.active_loops:
                    before = held(envs[depth].get(name)) if depth < len(envs) else None
                    asked = plan.lists.get((depth, name))
                    if isinstance(before, Sequence) and before.items and rectangular(before.items) \
                            and before.kind is owner.kind and (asked is None or asked == "mirror" != what):
                        plan.lists[depth, name] = what
                        raise Again(plan)

    def prepare_lists(self, plan) -> None:
        """What a loop has asked to happen to lists before it."""
        for (depth, name), what in plan.lists.items():
            value = held(self.frames[depth].env.get(name))
            if isinstance(value, Sequence):
                if what == "mirror":
                    self.mirror(value)
                else:
                    self.to_grow_list(name, value, (what, ()))

    def store_at(self, owner: Sequence, index: Scalar, value: Value) -> None:
        """`owner[index] = value` in a list of numbers."""
        if not owner.items or not all(map(is_number, (*owner.items, value))):
            raise self.needs_static(index, "a list index")
        dtype = promote(self.dtype_of(value), *map(self.dtype_of, owner.items))
        self.before_loops(owner, dtype)
        name = next((n for n, v in self.env.items() if held(v) is owner), "items")
        self.store_item(self.to_grow_list(name, owner, (dtype, ())), index, value)

    # -- lists in memory --------------------------------------------------------------------------------------
    def as_list(self, array: Buffer, node) -> Buffer:
        """A new array that stands for a list made at `node`."""
        array.is_list = True
        key = self.place_of(node)
        self.list_places[array.arr] = key
        wanted = self.widened.get(key, array.dtype)
        if not same_dtype(promote(wanted, array.dtype), array.dtype):
            wide = self.force(self.convert(array, wanted), copy=True)
            self.keep_list(wide, array)
            self.list_places[wide.arr] = key
            return wide
        return array

    def list_of_rows(self, array: Array) -> View:
        """`list(array)`: its items are views of the array."""
        source = self.force(array) if isinstance(array, Delayed) else array
        made = View(source, array.shape, lambda lo, index: index, prefix=())
        made.of_rows = True
        self.mark_list(made, (list,))
        return made

    def note_copies(self, arr, *items: Value) -> None:
        """The list in `arr` holds copies of arrays: neither may be written while the other is seen."""
        for item in items:
            self.keep_point(item)
            if isinstance(item, (Buffer, View)) and not isinstance(item, FancyRead):
                for root in self.memory_of(item):
                    self.note_twins((arr, root))
                    self.either_way[frozenset((arr, root))] = "an array in a list, whose items are copies here,"

    def keep_list(self, copy: Buffer, array: Array) -> Buffer:
        """A copy of a list is one too."""
        if array.is_list:
            copy.is_list, copy.array_axes, copy.kinds = True, array.array_axes, array.kinds
            places = [self.list_places[r] for r in array.roots() if r in self.list_places]
            if places:
                self.list_places[copy.arr] = places[0]
        return copy

    def place_of(self, node):
        return (self.frame.definition.name, getattr(node, "lineno", 0), getattr(node, "col_offset", 0))

    def widen(self, arr, dtype: str) -> None:
        """A list takes numbers of a wider type: lower again, with that type from the start."""
        key = self.list_places.get(arr)
        own = Buffer(arr).dtype
        wide = promote(own, dtype)
        if same_dtype(wide, own):
            return
        if key is None or self.widened.get(key) == wide:
            raise self.error(TypeConflict, f"a list of {own} numbers gets a {dtype}",
                             "make its first items of that type: [0.0] * n")
        raise Widen(key, wide)

    def check_width(self, owner, value) -> None:
        """Before an item of a list is written."""
        if isinstance(owner, GrowList) or getattr(owner, "is_list", False):
            if is_number(value) or isinstance(value, Array):
                for arr in (owner.arr,) if isinstance(owner, GrowList) else owner.roots():
                    kind = Buffer(arr).dtype
                    if kind not in ("float32", "complex64") or not self.is_weak(value):
                        self.widen(arr, self.dtype_of(value))
                    elif is_complex(self.dtype_of(value)):
                        self.widen(arr, "complex64")

    def into_list(self, owner: Array, parts, value: Value, function) -> Value:
        """What is written to a list: a number for an item, as many items for a slice."""
        target = self.select(owner, parts)
        if target.rank == 0:
            return value
        if function is None and len(parts) == 1 and is_number(parts[0]) and isinstance(value, Array):
            if getattr(owner, "of_rows", False) or any(
                    isinstance(leaf, View) and not leaf.is_list and leaf.roots() & owner.roots()
                    for frame in self.frames for seen in frame.env.values() for leaf in leaves(seen)):
                raise self.error(UnsupportedSyntax, "an item of a list of rows is replaced while the array, or a name for "
                                 "the item, may be seen", "make a list of copies: [row.copy() for row in a]")
            for arr in owner.roots():
                self.note_copies(arr, value)
            return value
        if function is not None or not (is_list(value) or isinstance(value, Array) and value.rank):
            raise self.error(TypeConflict, "a slice of a list, or a list in a list, is not changed like an array",
                             "use an array: np.array(...)")
        items = self.array(value)
        if owner.rank == 1 and not self.same_size(items.shape[0], target.shape[0]) and any(
                held(v) is owner for v in self.env.values()):
            self.growable(owner)                # lowers it again, as a list that may change its length
        self.require_same(items.shape[0], target.shape[0], "a slice of a list gets another number of items (make a new "
                                                          "list: items[:i] + new + items[j:])")
        return items

    def slice_of_list(self, owner: Value, parts) -> Value:
        """A slice of a list is a new list."""
        made = self.rows_copied(self.force(self.index_array(self.array(owner), parts), copy=True), owner)
        return self.as_list(made, self.node)

    def rows_copied(self, made: Buffer, *lists: Value) -> Buffer:
        """The memory of a new list of the items of other lists, which are shared in Python where they are arrays."""
        if made.rank > 1:
            self.note_copies(made.arr, *(i for v in lists for i in (v.items if isinstance(v, Sequence) else [
                self.array(v) if isinstance(v, GrowList) else v])))
        kinds = [self.list_kinds(v) for v in lists]
        self.mark_list(made, next((k for k in kinds if len(k) > 1), kinds[0]))
        return made

    def repeated_in_place(self, old: Value, new: Value) -> None:
        """`old` has become `new` by `+=` or `*=`: every name of a list sees that."""
        if kind_of(old) is not list:
            return
        if isinstance(old, Sequence) and isinstance(new, Sequence):
            return self.replace_everywhere(old, new)

        def same(v):
            both = isinstance(v, Array) and isinstance(old, Array) and v.is_list
            return v is old or both and bool(v.roots() & old.roots())
        if sum(same(leaf) for frame in self.frames for name, value in frame.env.items() if not name.startswith("%")
               for leaf in leaves(value)) > 1:
            raise self.error(UnsupportedSyntax, "a list with a second name is repeated or joined in place",
                             "make a new one: xs = xs * 2")

    def items_anew(self, x: Value, kind: type) -> Value:
        """A new list or tuple of what `x` has in it."""
        if isinstance(x, Series):
            return Series(x.count, x.item, kind)
        if isinstance(x, GrowList) or isinstance(x, Array) and x.is_list:
            made = self.slice_of_list(x, (Slice(None, None, None),))
        elif isinstance(x, Table):
            columns = [self.column_of_list(c) for c in leaves(x.row)]
            return Series(x.count, rebuild(x.row, iter(columns)), kind)
        elif not isinstance(x, (Array, Iterable, Range)) or isinstance(self.iterate(x).length, Const):
            return Sequence(self.items_of(x), kind)
        elif isinstance(x, Array) and x.rank > 1:
            made = self.list_of_rows(x)
        elif isinstance(x, Iterable):
            made = self.call_python(listed, [x], {})
            if kind is list or isinstance(made, Table):
                return made if kind is list else self.items_anew(made, kind)
            made = self.slice_of_list(made, (Slice(None, None, None),))
        else:
            made = self.as_list(self.force(self.call_static(np.array, [self.as_array(x)], {})), self.node)
        self.mark_list(made, (kind, *kinds_in(made)[1:]))
        return made

    def column_of_list(self, column: GrowList) -> Value:
        """A copy of one part of the items of a list that grows, as a part of those of a list that is only read."""
        kinds = self.list_kinds(column)[1:]
        if kinds:
            raise self.error(UnsupportedSyntax, "a list of tuples with lists in them, of a length known only when the "
                             "program runs, is copied", "keep a list for each part")
        made = self.force(self.array(column), copy=True)
        return Column(made, column.weak if made.rank == 1 else None)

    # -- growing and shrinking --------------------------------------------------------------------------------
    def pop(self, grown: GrowList, args) -> Value:
        last, rest = self.popped(grown, args)
        self.replace_everywhere(grown, rest)
        return last

    def popped(self, grown: GrowList, args) -> tuple[Value, GrowList]:
        """(the last item, the list without it)."""
        if args and not (isinstance(args[0], Static) and args[0].value == -1):
            raise self.error(TypeConflict, "only the last item of a list can be popped while a loop runs",
                             "keep an index of the first item instead")
        checked, self.boundscheck = self.boundscheck, False
        if checked is not False:
            self.require(grown.count, "ge", ONE, "IndexError", "pop from empty list")
        last = self.index_array(self.array(grown), (Static(-1),))
        self.boundscheck = checked
        if isinstance(last, Scalar):
            last = Scalar(last.atom, grown.weak)
        elif isinstance(last, Array):
            last = self.row_read(grown, self.force(last, copy=True))
        rest = self.b.isub(grown.count, 1)
        if rest not in self.b.facts.nonnegative and not isinstance(rest, type(None)):
            self.b.facts.nonnegative.add(rest)          # as was checked
        return last, GrowList(grown.arr, rest, grown.weak)

    def delete_item(self, owner: Value, key: Value) -> Value:
        """`owner` without the item at `key`."""
        if isinstance(owner, Mapping) and isinstance(key, Static) and key.value in owner.items:
            return Mapping({k: v for k, v in owner.items.items() if k != key.value})
        if isinstance(owner, Sequence) and owner.kind is list and isinstance(key, Static):
            items = list(owner.items)
            try:
                del items[key.value]
            except IndexError:
                raise self.certain("IndexError", self.error(
                    MissingItem, "list assignment index out of range")) from None
            return Sequence(tuple(items), list)
        raise self.error(TypeConflict, "only items of a list or dict at places known before the program runs can be deleted",
                         "build a new list without them")


def listed(items):
    return [item for item in items]  # noqa: C416


def rectangular(items) -> bool:
    """Whether items are numbers, or lists of equally many such items."""
    if all(map(is_number, items)):
        return bool(items)
    return all(isinstance(i, Sequence) and len(i.items) == len(items[0].items) and rectangular(i.items) for i in items)


def constants(value):
    """The Python numbers of a list of constants, else None."""
    if isinstance(value, Static):
        return value.value if isinstance(value.value, (int, float)) else None
    if not isinstance(value, Sequence):
        return None
    found = tuple(map(constants, value.items))
    return None if any(f is None for f in found) else found


def is_list(value: Value) -> bool:
    return kind_of(value) is list and not isinstance(value, (Series, Table))


__all__ = ["Lists", "is_list", "rectangular"]
