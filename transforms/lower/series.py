"""Long lists and tuples that are given to the program: one array for each number or array of an item, read at run time.

All items of such a list are of one kind. A list of numbers is one array, a list of pairs (W, b) is two, with an item's part
at each place along the first axis; what runs over it is a loop. The program only reads these arrays. Whatever else Python
would do with the list (change it or an item, append, `+`, `is`, return it) is refused, and the caller then lowers again with
the items one by one.
"""

from __future__ import annotations

import operator

import numpy as np

from ..language.errors import TypeConflict, UnsupportedSyntax
from ..language.ops import exact
from .structures import mapped, rebuild
from .values import (
    Array,
    Buffer,
    Column,
    GrowList,
    Iterable,
    Mapping,
    Packed,
    Record,
    Scalar,
    Sequence,
    Series,
    Slice,
    Static,
    Table,
    Transposed,
    Value,
    is_number,
    leaves,
)


class SeriesItems:
    # -- parameters -------------------------------------------------------------------------------------------
    def column_parameter(self, name: str, spec, marks) -> Column:
        """The array of a part of all items; `marks` of the lists it is in: its first axes are as long as they are."""
        return self.column_of(self.array_parameter(name, spec, [self.counts.get(mark) for mark in marks]), spec, marks)

    def column_of(self, buffer: Buffer, spec, marks) -> Column:
        self.counts.update((mark, size) for mark, size in zip(marks, buffer.shape, strict=False) if type(mark) is object)
        self.columns.add(buffer.arr)
        return Column(buffer, spec.weak)

    def series_outside(self, found, place) -> Value:
        """A long list outside, packed: its arrays are extra arguments."""
        tree, made, numbers = found.tree, [], iter(range(len(found.arrays)))
        around = lists_around(tree)
        for leaf in leaves(tree):
            if id(leaf) in around and hasattr(leaf, "spec"):
                k, marks = next(numbers), around[id(leaf)]
                buffer = self.hidden_array(found.arrays[k], place.column(k), leaf.spec, [self.counts.get(m) for m in marks])
                leaf = self.column_of(buffer, leaf.spec, marks)
            made.append(leaf)
        return self.opened(rebuild(tree, iter(made)))

    def opened(self, value: Value, depth: int = 0) -> Value:
        """An argument, or what is in `depth` long lists of one, with a Series for each long list in it."""
        match value:
            case Packed(item=item, kind=kind, mark=int(length)):
                row = self.opened(item, depth)
                whole = (Slice(None, None, None),) * depth
                return Sequence(tuple(Column(self.index_array(row.array, (*whole, Static(k))), row.weak)
                                      for k in range(length)), kind)
            case Packed(item=item, kind=kind, mark=mark):
                return Series(self.counts[mark], self.opened(item, depth + 1), kind)
        return mapped(value, lambda part: self.opened(part, depth))

    # -- items ------------------------------------------------------------------------------------------------
    def series_item(self, series: Series, index: Value) -> Value:
        """`series[index]`; a slice is a series again."""
        item = self.columns_at(series.item, index)
        if isinstance(index, Slice):
            return Series(first_column(item).shape[0], item, series.kind)
        return self.from_outside(self.kept_in_table(read(item)))

    def columns_at(self, item: Value, index: Value) -> Value:
        """The parts of items by number, with what stands at `index` in the place of each column."""
        match item:
            case Column(array=array, weak=weak):
                found = self.index_array(array, (index,))
                return Column(found, weak) if isinstance(found, Array) else Scalar(found.atom, weak)
            case Series(count=count, item=inner, kind=kind):
                return Series(count, self.columns_at(inner, index), kind)
        return mapped(item, lambda part: self.columns_at(part, index))

    def series_items(self, series: Series) -> Iterable:
        return Iterable(series.count, lambda k: self.series_item(series, self.number(k)), arrays=tuple(arrays_of(series)))

    def series_columns(self, series: Series) -> Sequence:
        """`zip(*series)`: each part of the items as a tuple of its own."""
        if not isinstance(series.item, Sequence):
            raise self.itemise(series)
        return Sequence(tuple(Series(series.count, part, tuple) for part in series.item.items))

    # -- the whole --------------------------------------------------------------------------------------------
    def series_array(self, series: Series) -> Array:
        """What NumPy makes of the list."""
        match series.item:
            case Column(array=array):
                return array
            case Series():
                return self.series_array(series.item)
            case Sequence(items=items) if items and all(isinstance(i, Column) and i.weak is not None for i in items):
                return Transposed(self.stack_items([i.array for i in items]))
        raise self.itemise(series)

    def series_numbers(self, series: Series) -> Array:
        """The array of a list of Python's own floats, for functions that take numbers one after the other."""
        if isinstance(series.item, Column) and series.item.weak and series.item.array.dtype != "int64":
            return series.item.array
        raise self.itemise(series)

    def series_sum(self, series: Series, start: Value) -> Value:
        """`sum(series, start)`: of Python's integers one after the other, so that it cannot wrap."""
        column = series.item
        if not isinstance(column, Column):
            raise self.itemise(series)
        if column.weak and column.array.dtype == "int64":
            return self.call_python(added, [series, start], {})
        return self.added_up(column.array, start, column.weak)

    def items_dtype(self, array) -> Static:
        """The dtype of Python's sum or product of an array's items: theirs, of truths that of Python's integers."""
        return Static(np.dtype("int64" if array.dtype == "bool" else exact(array.dtype)))

    def added_up(self, array, start: Value, weak=None) -> Value:
        """`sum(array, start)`: NumPy's numbers (`weak`: Python's own) added one by one, so that small integers wrap."""
        zero = isinstance(start, Static) and type(start.value) is int and start.value == 0
        if not zero and is_number(start) and self.is_weak(start) and self.dtype_of(start) == "float64" \
                and array.dtype in ("int64", "bool"):
            array = self.convert(array, "float64")
        kind = self.items_dtype(array)
        if not zero and array.dtype == "bool" and not self.is_weak(start) and self.dtype_of(start) == "bool":
            kind = Static(np.dtype(bool))
        total = self.call_static(np.sum, [array], {"dtype": kind, **({"axis": Static(0)} if array.rank > 1 else {})})
        if isinstance(total, Scalar):
            total = Scalar(total.atom, bool(weak))
        return total if zero else self.binary(operator.add, start, total)

    def operand(self, value: Value, other: Value) -> Value:
        """A list as an operand beside another one: NumPy's meaning where that is an array, else it is not for here."""
        if not isinstance(value, Series):
            return value
        if isinstance(other, Array) and other.rank and not other.is_list:
            return self.series_array(value)
        raise self.itemise(value)

    def itemise(self, series: Value):
        """The error for what cannot be done with a list without knowing its items."""
        return self.error(UnsupportedSyntax, f"this is not supported of {series.told}", "use an array: np.array(...)")

    # -- what the program did with it -------------------------------------------------------------------------
    def packed_lists(self, result: Value) -> Value:
        """A result with a Packed, of arrays of all items, in the place of each list of run-time length."""
        match result:
            case Column(array=array):
                return array
            case Series(item=item, kind=kind):
                return Packed(self.packed_lists(item), kind)
            case Table(row=row):
                columns = [in_lists(self.array(c), self.list_kinds(c)[1:]) for c in leaves(row)]
                return Packed(rebuild(row, iter(columns)), list)
            case GrowList() | Array(is_list=True):
                return in_lists(self.array(result), self.list_kinds(result))
        return mapped(result, self.packed_lists)

    def check_columns(self) -> None:
        """Nothing has been written to what items are read from."""
        if self.columns & self.mutated:
            raise self.error(TypeConflict, "an array in a list is written", "write to a copy")


def added(items, total):
    for item in items:
        total = total + item
    return total


def read(item: Value) -> Value:
    """An item with the arrays themselves in the places of its columns; of lists in it, the columns."""
    return item.array if isinstance(item, Column) else mapped(item, read)


def in_lists(array: Array, kinds: tuple) -> Value:
    """An array as lists in lists of these kinds, outermost first."""
    tree: Value = array
    for kind in reversed(kinds):
        tree = Packed(tree, kind)
    return tree


def columns_in(item: Value) -> list[Column]:
    return [c for leaf in leaves(item) for c in (columns_in(leaf.item) if isinstance(leaf, Series) else [leaf])
            if isinstance(c, Column)]


def first_column(item: Value) -> Array:
    return columns_in(item)[0].array


def arrays_of(series: Series) -> list[Array]:
    """The arrays that items are read from."""
    return [c.array for c in columns_in(series.item)]


def lists_around(tree: Value, marks: tuple = ()) -> dict[int, tuple]:
    """For each leaf of a tree that is in long lists, by its `id`, the marks of these, outermost first."""
    match tree:
        case Packed(item=item, mark=mark):
            return lists_around(item, (*marks, mark))
        case Sequence(items=items):
            return {k: v for i in items for k, v in lists_around(i, marks).items()}
        case Mapping(items=items) | Record(fields=items):
            return {k: v for i in items.values() for k, v in lists_around(i, marks).items()}
    return {id(tree): marks} if marks else {}


__all__ = ["SeriesItems", "lists_around"]
