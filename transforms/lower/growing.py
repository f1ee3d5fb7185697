"""Lists that grow while a program runs."""

from __future__ import annotations

from typing import Any

from ..language.build import integer
from ..language.core import Arr, Const, Resize
from ..language.errors import TypeConflict, UnsupportedSyntax
from ..language.ops import promote
from .arrays import describe
from .list_operators import kind_of
from .plan import Again, Widen
from .structures import rebuild, structure
from .unbound import held
from .values import (
    Array,
    Buffer,
    GrowList,
    Mapping,
    Record,
    Sequence,
    Slice,
    Static,
    Table,
    Value,
    View,
    is_number,
    leaves,
)


class GrowingLists:
    # -- lists that grow --------------------------------------------------------------------------------------
    def grow_request(self, name, before, after) -> None:
        """A list changed its length in a loop or branch: ask the loop around to make it growable."""
        if isinstance(before, Sequence) and isinstance(after, Sequence) and before.kind is list:
            longer = after if len(after.items) > len(before.items) else before
            item = longer.items[-1]
            what: Any
            if is_number(item):
                what = (self.dtype_of(item), ())
            elif isinstance(item, Array):
                what = (item.dtype, item.shape)
            else:
                what = Row.of(self, item)
                if what is None:
                    return
            if not self.active_loops:
                self.make_growable(name, what if isinstance(what, Row) else what[0])
            for plan in reversed(list(self.plans.values())):
                if name not in plan.grow:
                    plan.grow[name] = what
            raise Again

    def make_growable(self, name: str, dtype):
        """Lower everything again with the lists bound to a name growing ones from the start."""
        place = ("grow", self.frame.definition.name, name)
        if place in self.widened or (name.startswith("%") and not name.startswith("%list")):
            shown = "a list" if name.startswith("%") else f"the list `{name}`"
            raise self.error(UnsupportedSyntax, f"{shown} changes its length in a way that cannot be followed",
                             "append to a list that is created once, or give it its length at the start")
        raise Widen(place, dtype)

    def list_dtype(self, value: Value) -> str:
        """The dtype of the items of a list of numbers."""
        if isinstance(value, GrowList):
            return Buffer(value.arr).dtype
        if isinstance(value, Sequence):
            return promote(*(i.dtype if isinstance(i, Array) else self.dtype_of(i) for i in value.items)) \
                if value.items and all(is_number(i) or isinstance(i, Array) for i in value.items) else "float64"
        return value.dtype

    def growable(self, owner: Array) -> GrowList:
        """A list of a length known only at run time, as one that grows."""
        name = next((n for n, v in self.env.items() if held(v) is owner), None)
        if name is None:
            raise self.error(UnsupportedSyntax, "only a list with a name can change its length", "bind it to a name first")
        return self.make_growable(name, owner.dtype)

    def items_to_add(self, owner: Sequence, value: Value) -> tuple:
        """What `owner` is extended by; where that has a length known only at run time, `owner` is to grow from the start."""
        rows = self.array(value) if isinstance(value, GrowList) else value
        if isinstance(rows, Array) and rows.rank == 1 and not isinstance(rows.shape[0], Const) and owner.kind is list:
            name = next((n for n, v in self.env.items() if v is owner), None)
            if name is not None and all(map(is_number, owner.items)):
                self.make_growable(name, rows.dtype)
        return self.items_of(value)

    def bound_list(self, name: str, value: Value) -> Value:
        """A list as it is bound to a name: growing, if that name's lists have to."""
        place = ("grow", self.frame.definition.name, name)
        if place not in self.widened or isinstance(value, (GrowList, Table)):
            return value
        kind = self.widened[place]
        if isinstance(kind, Row):
            return self.to_table(name, value, kind) if isinstance(value, Sequence) and value.kind is list else value
        if isinstance(value, Sequence) and value.kind is list and all(map(is_number, value.items)):
            return self.to_grow_list(name, value, (self.widened[place] if value.items else "float64", ()))
        if isinstance(value, Array) and value.is_list and value.rank == 1:
            arr = self.list_memory(name, value.dtype, 8, ())
            self.b.add(Resize(arr, value.shape[0], self.b.loc))
            grown = GrowList(arr, value.shape[0])
            self.list_places[arr] = self.list_places.get(next(iter(value.roots())), ("list", name))
            self.assign(self.array(grown), value)
            return grown
        return value

    def to_grow_list(self, name, value: Sequence, what) -> Value:
        if isinstance(what, Row):
            return self.to_table(name, value, what)
        dtype, shape = what
        if value.items:
            dtype = promote(dtype, *(self.dtype_of(i) for i in value.items))
        place = ("list", name)
        dtype = promote(dtype, self.widened.get(place, dtype))
        sizes = [self.rematerialise(s) for s in shape]
        if any(s is None for s in sizes):
            raise self.error(TypeConflict, f"the rows appended to `{name}` have a size known only inside the loop",
                             "preallocate an array before the loop")
        arr = self.list_memory(name, dtype, len(value.items), sizes)
        for k, item in enumerate(value.items):
            if sizes:
                self.assign(self.index_array(Buffer(arr), (Static(k),)), item)
            else:
                self.note_copies(arr, item)
                self.store_element(arr, (integer(k),), self.atom(item, dtype))
        grown = GrowList(arr, integer(len(value.items)), all(is_number(i) and self.is_weak(i) for i in value.items))
        self.list_places[arr] = place
        self.replace_everywhere(value, grown)
        return grown

    def to_table(self, name, value: Sequence, what: Row) -> Table:
        """A list of tuples or records as growing lists, one for each of their numbers."""
        columns = []
        for k, (dtype, shape) in enumerate(what.kinds):
            column = f"{name}_{k}"
            columns.append(self.to_grow_list(column, Sequence((), list), (dtype, shape)))
        table = Table(rebuild(what.item, iter(columns)))
        self.replace_everywhere(value, table)
        for item in value.items:
            table = self.append_row(table, item)
        return table

    def as_row(self, item: Value) -> Value:
        """A tuple or list of numbers in memory, of a length that is known, as one of its items."""
        if isinstance(item, Array) and item.is_list and item.rank == 1 and isinstance(item.shape[0], Const):
            return Sequence(tuple(self.get_item(item, Static(k)) for k in range(item.shape[0].value)), kind_of(item))
        return item

    def append_row(self, table: Table, item: Value) -> Table:
        item = self.as_row(item)
        if structure(item) != structure(table.row):
            raise self.error(TypeConflict, f"{describe(item)} is appended to a list whose items have another structure",
                             "use separate lists")
        self.kept_in_table(item)
        longer = [self.appended(column, part) for column, part in zip(leaves(table), leaves(item), strict=True)]
        made = Table(rebuild(table.row, iter(longer)))
        self.replace_everywhere(table, made)
        return made

    def row_of(self, table: Table, index: Value) -> Value:
        """One item of a list of tuples or records."""
        return self.kept_in_table(rebuild(table.row, iter([self.get_item(column, index) for column in leaves(table)])))

    def store_row(self, table: Table, key: Value, item: Value) -> None:
        item = self.as_row(item)
        if structure(item) != structure(table.row):
            raise self.error(TypeConflict, f"{describe(item)} is stored in a list whose items have another structure",
                             "use separate lists")
        self.kept_in_table(item)
        for column, part in zip(leaves(table), leaves(item), strict=True):
            self.check_width(column, part)
            target = self.select(self.array(column), (key,))
            if target.rank:
                self.assign(target, part)
            else:
                self.store_number(target, part, "")

    def columns_of(self, table: Table) -> Sequence:
        """`zip(*table)`: each part of the items as a list of its own."""
        if not isinstance(table.row, Sequence) or not all(isinstance(i, GrowList) for i in table.row.items):
            raise self.error(TypeConflict, "zip(*list) needs a list of tuples of numbers", "write the loop")
        return Sequence(tuple(self.slice_of_list(column, (Slice(None, None, None),)) for column in table.row.items))

    def pop_row(self, table: Table, args) -> Value:
        last, shorter = [], []
        for column in leaves(table):
            item, rest = self.popped(column, args)
            last.append(item)
            shorter.append(rest)
        self.replace_everywhere(table, Table(rebuild(table.row, iter(shorter))))
        return rebuild(table.row, iter(last))

    def list_memory(self, name: str, dtype: str, length: int, sizes) -> Arr:
        """Memory of a list that grows. It is made once, outside all loops, and serves every list made at this place: a list
        from an earlier iteration cannot be seen any more, and what is overwritten is saved like any other value."""
        outermost = self.surrounding()[-1]
        visible = all(self.known_in(s, outermost) for s in sizes)
        builder = outermost if visible else self.b
        arr = builder.alloc(name.lstrip("%"), dtype, (integer(max(8, length)), *sizes))
        if name == "%value":
            self.result_memory.add(arr)
        return arr

    def extend(self, grown, items) -> None:
        for item in items:
            grown = self.append_row(grown, item) if isinstance(grown, Table) else self.append(grown, item)

    def append(self, grown: GrowList, item: Value) -> GrowList:
        longer = self.appended(grown, item)
        self.replace_everywhere(grown, longer)
        return longer

    def appended(self, grown: GrowList, item: Value) -> GrowList:
        b = self.b
        count = grown.count
        after = b.iadd(count, 1)
        b.forget(grown.arr)
        b.add(Resize(grown.arr, after, b.loc))
        target = Buffer(grown.arr)
        row = View(target, target.shape[1:], lambda lo, index: (count, *index), prefix=(count,))
        if target.rank == 1:
            self.check_width(grown, item)
            self.keep_point(item)
            self.note_listed(item)
            value = self.atom(item)
            self.store_element(grown.arr, (count,), self.cast(value, target.dtype))
        else:
            self.note_row(grown.arr, self.list_kinds(item))
            self.assign_item(grown, row, item)
        return GrowList(grown.arr, after, grown.weak)

    def note_row(self, arr: Arr, kinds: tuple) -> None:
        """The rows of a list that grows are arrays (`kinds` is empty) or lists, all of them."""
        if self.row_kinds.setdefault(arr, kinds) != kinds or tuple in kinds[:1]:
            raise self.error(UnsupportedSyntax, "lists and arrays are in one list that grows",
                             "append arrays: np.array(...)")

    def row_read(self, grown: GrowList, found: Value) -> Value:
        """An item of a list that grows: a list, where lists were appended."""
        if isinstance(found, Array):
            self.mark_list(found, self.row_kinds.setdefault(grown.arr, ()))
        return found

    def assign_item(self, grown: GrowList, row: View, item: Value) -> None:
        """Put an array in a list that grows, which has a copy of it."""
        self.items_from.setdefault(grown.arr, set()).update(self.memory_of(item) if isinstance(item, Array) else ())
        self.note_listed(item)
        before, self.replacing = self.replacing, True
        try:
            self.assign(row, item)
        finally:
            self.replacing = before

    def refuse_item_write(self, arr: Arr) -> None:
        """Refuse a write to an item of a list that grows while a name sees the array that it is a copy of."""
        live = getattr(self.node, "live_out", None)
        if not self.replacing and any(self.shared(a, "", live) for a in self.items_from.get(arr, ())):
            raise self.error(UnsupportedSyntax, f"an item of `{arr.hint}`, a list that grows, is written, and a name sees "
                             "the array that was appended: the item is a copy here", "append a copy: x.copy()")


class Row:
    """What the items of a list of tuples or records are: their structure, and the dtype and shape of each place."""

    def __init__(self, item: Value, kinds: tuple):
        self.item, self.kinds = item, kinds

    @staticmethod
    def of(lo, item: Value) -> Row | None:
        kinds = []
        for leaf in leaves(item):
            if is_number(leaf):
                kinds.append((lo.dtype_of(leaf), ()))
            elif isinstance(leaf, Array) and leaf.rank:
                kinds.append((leaf.dtype, leaf.shape))
            else:
                return None
        return Row(item, tuple(kinds)) if kinds and isinstance(item, (Sequence, Mapping, Record)) else None

    def __eq__(self, other):
        return isinstance(other, Row) and structure(self.item) == structure(other.item) and \
            [k[0] for k in self.kinds] == [k[0] for k in other.kinds]

    def __hash__(self):
        return hash(tuple(k[0] for k in self.kinds))
