"""Long lists and tuples that are given to the program: one array for each number or array of an item, read at run time.

All items of such a list are of one kind. A list of numbers is one array, a list of pairs (W, b) is two, with an item's part
at each place along the first axis; what runs over it is a loop. The program only reads these arrays. Whatever else Python
would do with the list (change it or an item, append, `+`, `is`, return it) is refused, and the caller then lowers again with
the items one by one.
"""

from __future__ import annotations

import operator
from functools import partial

import numpy as np

from ...language.errors import TypeConflict
from ...language.ops import exact
from ..arrays.broadcasting import as_array, convert, stack_items
from ..numbers.conversions import as_value, dtype_of, is_weak, itemise
from ..state import Lowering
from ..structures import mapped, rebuild
from ..values import (
    Array,
    Buffer,
    Column,
    GrowList,
    Iterable,
    Mapping,
    Packed,
    Range,
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
    known_as,
    leaves,
)
from .list_operators import list_kinds
from .sharing import from_outside, kept_in_table

# -- parameters -------------------------------------------------------------------------------------------


def column_of(lo: Lowering, buffer: Buffer, spec, marks) -> Column:
    lo.counts.update((mark, size) for mark, size in zip(marks, buffer.shape, strict=False) if type(mark) is object)
    lo.columns.add(buffer.arr)
    return Column(buffer, spec.weak)


def opened(lo: Lowering, value: Value, depth: int = 0) -> Value:
    """An argument, or what is in `depth` long lists of one, with a Series for each long list in it."""
    match value:
        case Packed(item=item, kind=kind, mark=int(length)):
            row = known_as(Column, opened(lo, item, depth))
            whole = (Slice(None, None, None),) * depth
            return Sequence(tuple(Column(known_as(Array, lo.index_array(row.array, (*whole, Static(k)))), row.weak)
                                  for k in range(length)), kind)
        case Packed(item=item, kind=kind, mark=mark):
            return Series(lo.counts[mark], opened(lo, item, depth + 1), kind)
    return mapped(value, lambda part: opened(lo, part, depth))


# -- items ------------------------------------------------------------------------------------------------
def series_item(lo: Lowering, series: Series, index: Value) -> Value:
    """`series[index]`; a slice is a series again."""
    item = columns_at(lo, series.item, index)
    if isinstance(index, Slice):
        return Series(first_column(item).shape[0], item, series.kind)
    return from_outside(lo, kept_in_table(lo, read(item)))


def columns_at(lo: Lowering, item: Value, index: Value) -> Value:
    """The parts of items by number, with what stands at `index` in the place of each column."""
    match item:
        case Column(array=array, weak=weak):
            found = lo.index_array(array, (index,))
            return Column(found, weak) if isinstance(found, Array) else Scalar(known_as(Scalar, found).atom, bool(weak))
        case Series(count=count, item=inner, kind=kind):
            return Series(count, columns_at(lo, inner, index), kind)
    return mapped(item, lambda part: columns_at(lo, part, index))


def series_items(lo: Lowering, series: Series) -> Iterable:
    return Iterable(series.count, lambda k: series_item(lo, series, as_value(lo, k)), arrays=tuple(arrays_of(series)))


def series_columns(lo: Lowering, series: Series) -> Sequence:
    """`zip(*series)`: each part of the items as a tuple of its own."""
    if not isinstance(series.item, Sequence):
        raise itemise(lo, series)
    return Sequence(tuple(Series(series.count, part, tuple) for part in series.item.items))


# -- the whole --------------------------------------------------------------------------------------------
def series_array(lo: Lowering, series: Series) -> Array:
    """What NumPy makes of the list."""
    match series.item:
        case Column(array=array):
            return array
        case Series():
            return series_array(lo, series.item)
        case Sequence(items=items) if items and all(isinstance(i, Column) and i.weak is not None for i in items):
            return Transposed(stack_items(lo, [i.array for i in items]))
    raise itemise(lo, series)


def series_numbers(lo: Lowering, series: Series) -> Array:
    """The array of a list of Python's own floats, for functions that take numbers one after the other."""
    if isinstance(series.item, Column) and series.item.weak and series.item.array.dtype != "int64":
        return series.item.array
    raise itemise(lo, series)


def series_sum(lo: Lowering, series: Series, start: Value) -> Value:
    """`sum(series, start)`: of Python's integers one after the other, so that it cannot wrap."""
    column = series.item
    if not isinstance(column, Column):
        raise itemise(lo, series)
    if column.weak and column.array.dtype == "int64":
        return lo.call_python(added, [series, start], {})
    return added_up(lo, column.array, start, column.weak)


def items_dtype(lo: Lowering, array) -> Static:
    """The dtype of Python's sum or product of an array's items: theirs, of truths that of Python's integers."""
    return Static(np.dtype("int64" if array.dtype == "bool" else exact(array.dtype)))


def added_up(lo: Lowering, array, start: Value, weak=None) -> Value:
    """`sum(array, start)`: NumPy's numbers (`weak`: Python's own) added one by one, so that small integers wrap."""
    zero = isinstance(start, Static) and type(start.value) is int and start.value == 0
    if not zero and is_number(start) and is_weak(lo, start) and dtype_of(lo, start) == "float64" \
            and array.dtype in ("int64", "bool"):
        array = convert(lo, array, "float64")
    kind = items_dtype(lo, array)
    if not zero and array.dtype == "bool" and not is_weak(lo, start) and dtype_of(lo, start) == "bool":
        kind = Static(np.dtype(bool))
    total = lo.call_static(np.sum, [array], {"dtype": kind, **({"axis": Static(0)} if array.rank > 1 else {})})
    if isinstance(total, Scalar):
        total = Scalar(total.atom, bool(weak))
    return total if zero else lo.binary(operator.add, start, total)


def operand(lo: Lowering, value: Value, other: Value) -> Value:
    """A list or range as an operand beside another one: NumPy's meaning where that is an array, else it is not for here."""
    if isinstance(value, Range) and (isinstance(other, Array) and not other.is_list or is_number(other) and not is_weak(
            lo, other)):
        return as_array(lo, value)
    if not isinstance(value, Series):
        return value
    if isinstance(other, Array) and other.rank and not other.is_list:
        return series_array(lo, value)
    raise itemise(lo, value)


# -- what the program did with it -------------------------------------------------------------------------
def packed_lists(lo: Lowering, result: Value) -> Value:
    """A result with a Packed, of arrays of all items, in the place of each list of run-time length."""
    match result:
        case Column(array=array):
            return array
        case Series(item=item, kind=kind):
            return Packed(packed_lists(lo, item), kind)
        case Table(row=row):
            columns = [in_lists(lo.array(c), list_kinds(lo, c)[1:]) for c in leaves(row)]
            return Packed(rebuild(row, iter(columns)), list)
        case GrowList() | Array(is_list=True):
            return in_lists(lo.array(result), list_kinds(lo, result))
    return mapped(result, partial(packed_lists, lo))


def check_columns(lo: Lowering) -> None:
    """Nothing has been written to what items are read from."""
    if lo.columns & lo.mutated:
        raise lo.error(TypeConflict, "an array in a list is written", "write to a copy")


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


__all__ = ["lists_around"]
