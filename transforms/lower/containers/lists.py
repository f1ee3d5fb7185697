"""Python lists and tuples of numbers whose places are known only when the program runs.

While everything about a list is known, it is a `Sequence` of its items. Three things make it memory: an index known
only at run time (reading keeps a copy of the items beside the list, writing turns it into a `GrowList`), a length known
only at run time (`[0.0] * n`, a comprehension: an array that is marked as a list), and `append` in a loop (`growing.py`).
Where they differ from arrays, lists behave as Python's do: `+` joins, `*` repeats, a slice is a copy, and items take any
number.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import gast
import numpy as np

from ...language.build import integer
from ...language.core import Const, array_of, operands, walk
from ...language.errors import MissingItem, TypeConflict, UnsupportedSyntax, WrongKind
from ...language.ops import promote
from ...language.queries import is_size
from ..arrays.broadcasting import convert, require_same, same_size, stack_items
from ..arrays.memory import force
from ..arrays.writing import note_copies
from ..checks import certain
from ..functions.parameters import hidden_array
from ..journal import surrounding
from ..loops.plan import Again, Widen
from ..numbers.conversions import dtype_of, needs_static
from ..numbers.integer_operations import by_path, fitted
from ..state import Lowering
from ..structures import describe
from ..syntax.unbound import held
from ..values import (
    UNSET,
    Array,
    Buffer,
    Column,
    Delayed,
    GrowList,
    Mapping,
    Record,
    Scalar,
    Sequence,
    Series,
    Slice,
    Static,
    Table,
    Value,
    View,
    is_number,
    known_as,
    leaves,
)
from .growing import growable, list_dtype, popped, to_grow_list
from .list_operators import keep_list, kind_of, list_kinds, mark_list
from .shared_rows import note_row
from .sharing import children, end_names, identity, replace_everywhere


class Mirror:
    """The items of a Sequence in memory; `builder` and `forced` as in Delayed, so that a dropped attempt drops it."""

    def __init__(self, builder, buffer):
        self.builder, self.forced = builder, buffer


# -- indices known only at run time -----------------------------------------------------------------------
def item_at(lo: Lowering, owner: Sequence, index: Scalar) -> Value:
    """`owner[index]` of numbers, or of rows of numbers, which can be read then but not written."""
    if not all(map(is_number, owner.items)):
        rows = known_as(View, lo.get_item(mirror(lo, owner), index))
        rows.writable = False
        rows.item_of = owner
        mark_list(lo, rows, list_kinds(lo, owner)[1:])
        return rows
    if lo.around.static_trips[-1] and all(isinstance(i, Static) and isinstance(i.value, int) for i in owner.items):
        raise needs_static(lo, index, f"the index of a {owner.kind.__name__}")
    found = lo.index_array(mirror(lo, owner), (index,))
    return Scalar(lo.atom(found), *by_path(lo, *owner.items)[1:])


def mirror(lo: Lowering, owner: Sequence) -> Buffer:
    known = constants(owner)
    if known is not None:
        return table(lo, known)
    made = getattr(owner, "mirror", None)
    if made is None or made.forced is None or made.builder not in surrounding(lo):
        before_loops(lo, owner, "mirror")
        items: Iterable[Value] = owner.items
        if all(map(is_number, items)):
            dtype, *_ = by_path(lo, *items)
            items = [Scalar(fitted(lo, i, dtype)) for i in items]
        made = owner.mirror = Mirror(lo.b, stack_items(lo, [lo.array(i) for i in items]))
        lo.forced_log.append(made)
    return made.forced


def table(lo: Lowering, values: tuple) -> Buffer:
    """Constants as an array that the program is given."""
    key = repr(values)
    if key not in lo.tables:
        array = np.array(values)
        lo.tables[key] = hidden_array(lo, array, None, counts=tuple(map(integer, array.shape)))
    return lo.tables[key]


def drop_unused_tables(lo: Lowering) -> None:
    """Tables that only a dropped attempt read are no arguments of the program."""
    tables = {made.arr for made in lo.tables.values()}
    used = {array_of(x) for s in walk(tuple(lo.b.stmts)) for x in operands(s)
            if not is_size(s)}
    unused = tables - used
    lo.hidden = [h for h in lo.hidden if h[0] not in unused]
    lo.b.stmts = [s for s in lo.b.stmts if not (is_size(s) and s.args[0] in unused)]


def before_loops(lo: Lowering, owner: Sequence, what) -> None:
    """Inside loops, have `what` happen to the list before the outermost loop that finds it."""
    for depth, frame in enumerate(lo.frames):
        for name, value in frame.env.items():
            if held(value) is not owner:
                continue
            for plan, envs in lo.around.loops:
                before = held(envs[depth].get(name, UNSET)) if depth < len(envs) else UNSET
                asked = plan.lists.get((depth, name))
                if isinstance(before, Sequence) and before.items and rectangular(before.items) \
                        and before.kind is owner.kind and (asked is None or asked == "mirror" != what):
                    plan.lists[depth, name] = what
                    raise Again(plan)


def prepare_lists(lo: Lowering, plan) -> None:
    """What a loop has asked to happen to lists before it."""
    for (depth, name), what in plan.lists.items():
        value = held(lo.frames[depth].env.get(name))
        if isinstance(value, Sequence):
            if what == "mirror":
                mirror(lo, value)
            elif isinstance(what, Matrix):
                to_matrix(lo, name, value, what.dtype)
            else:
                to_grow_list(lo, name, value, (what, ()))


@dataclass(frozen=True)
class Matrix:
    """What is to happen to a list of lists whose items are set at places known only when the program runs."""

    dtype: str


def store_in_row(lo: Lowering, row: Array, value: Value) -> None:
    """`M[i][j] = value` in a list of lists: has `M` in memory before the loops around, where it can be."""
    owner = getattr(row, "item_of", None)
    if not isinstance(owner, Sequence) or not is_number(value) or list_kinds(lo, owner)[1:] != (list,):
        return
    dtype = promote(dtype_of(lo, value), *(list_dtype(lo, i) for i in owner.items))
    before_loops(lo, owner, Matrix(dtype))
    name = next((n for n, v in lo.env.items() if held(v) is owner and not n.startswith("%")), None)
    if name is not None and ("matrix", lo.frame.definition.name, name) not in lo.widened:
        raise Widen(("matrix", lo.frame.definition.name, name), dtype)


def as_matrix(lo: Lowering, name: str) -> None:
    """A name whose list of lists, if it is one, is in memory from the start."""
    value = lo.env[name]
    if isinstance(value, Sequence) and value.kind is list and value.items and rectangular(value.items) and all(
            kind_of(i) is list for i in value.items):
        to_matrix(lo, name, value, lo.widened["matrix", lo.frame.definition.name, name])


def to_matrix(lo: Lowering, name: str, owner: Sequence, dtype: str) -> None:
    """A list of lists of numbers as memory, which no other name sees a row of."""
    rows = {id(identity(row)) for row in owner.items}

    def seen(value) -> bool:
        return value is not owner and (id(identity(value)) in rows or any(map(seen, children(value))))
    if len(rows) < len(owner.items) or any(seen(v) for frame in lo.frames for v in frame.env.values()):
        raise lo.error(UnsupportedSyntax, f"`{name}` is a list of lists that is changed at places known only when the "
                       "program runs, while one of them has another name", "use an array: np.zeros((n, m))")
    place = ("list", name)
    wide = convert(lo, stack_items(lo, [lo.array(row) for row in owner.items]), promote(dtype, lo.widened.get(place, dtype)))
    made = force(lo, known_as(Array, wide), name, copy=True)
    mark_list(lo, made, (list,) * made.rank)
    lo.list_places[made.arr] = place
    replace_everywhere(lo, owner, made)


def store_at(lo: Lowering, owner: Sequence, index: Scalar, value: Value) -> None:
    """`owner[index] = value` in a list of numbers."""
    if not owner.items or not all(map(is_number, (*owner.items, value))):
        raise needs_static(lo, index, "a list index")
    dtype = promote(dtype_of(lo, value), *map(partial(dtype_of, lo), owner.items))
    before_loops(lo, owner, dtype)
    name = next((n for n, v in lo.env.items() if held(v) is owner), "items")
    lo.store_item(to_grow_list(lo, name, owner, (dtype, ())), index, value)

# -- lists in memory --------------------------------------------------------------------------------------


def list_of_rows(lo: Lowering, array: Array) -> View:
    """`list(array)`: its items are views of the array."""
    source = force(lo, array) if isinstance(array, Delayed) else array
    made = View(source, array.shape, lambda lo, index: index, prefix=())
    made.of_rows = True
    mark_list(lo, made, (list,))
    return made


def into_list(lo: Lowering, owner: Array, parts, value: Value, function) -> Value:
    """What is written to a list: a number for an item, as many items for a slice."""
    target = lo.select(owner, parts)
    if target.rank == 0:
        return value
    if function is None and len(parts) == 1 and is_number(parts[0]) and isinstance(value, Array):
        if getattr(owner, "of_rows", False) or any(
                isinstance(leaf, View) and not leaf.is_list and leaf.roots() & owner.roots()
                for frame in lo.frames for seen in frame.env.values() for leaf in leaves(seen)):
            raise lo.error(UnsupportedSyntax, "an item of a list of rows is replaced while the array, or a name for "
                           "the item, may be seen", "make a list of copies: [row.copy() for row in a]")
        lose_items(lo, owner, parts, value)
        if isinstance(value, View) and value.prefix is not None and value.roots() & owner.roots():
            raise lo.error(UnsupportedSyntax, "an item of a list whose length is known only when the program runs is put "
                           "at a second place in it", "put a copy there: list(row), row.copy()")
        for arr in owner.roots():
            note_copies(lo, arr, value)
        return value
    if function is None and len(parts) == 1 and is_number(parts[0]):
        for arr in owner.roots():
            note_row(lo, arr, value)
    if function is not None or not (is_list(value) or isinstance(value, Array) and value.rank):
        raise lo.error(TypeConflict, "a slice of a list, or a list in a list, is not changed like an array",
                       "use an array: np.array(...)")
    items = lo.array(value)
    lose_items(lo, owner, parts, value)
    if owner.rank == 1 and not same_size(lo, items.shape[0], target.shape[0]) and any(
            held(v) is owner for v in lo.env.values()):
        growable(lo, owner)                # lowers it again, as a list that may change its length
    require_same(lo, items.shape[0], target.shape[0], "a slice of a list gets another number of items (make a new "
                                                 "list: items[:i] + new + items[j:])")
    return items


def lose_items(lo: Lowering, owner: Array, parts, new: Value) -> None:
    """An item of a list in memory is replaced: what sees the one before, which Python keeps, has no value from now on."""
    def sees(leaf) -> bool:
        at = getattr(leaf, "prefix", None)
        apart = at and is_number(parts[0]) and isinstance(at[0], Const) and isinstance(
            place := lo.atom(parts[0], "int64"), Const) and 0 <= place.value != at[0].value
        return isinstance(leaf, View) and leaf.rank < owner.rank and not apart and bool(leaf.roots() & owner.roots()) and (
            leaf.is_list or bool(owner.array_axes))
    problem = "may be an item that has been replaced since in a list whose length is known only when the program runs"
    way_out = "read a copy: list(row), row.copy()"
    if any(sees(leaf) for value in lo.around.temporaries if value is not new for leaf in leaves(value)):
        raise lo.error(UnsupportedSyntax, f"a value {problem}", way_out)
    end_names(lo, lambda value: value is not new and any(map(sees, leaves(value))), problem, way_out)


def exchanged(lo: Lowering, elts, items, node) -> list:
    """What `M[i], M[j] = M[j], M[i]` gives the items of a list in memory: copies, where each goes to another's place."""
    owners = [lo.env.get(e.value.id) if isinstance(e, gast.Subscript) and isinstance(e.value, gast.Name) else None
              for e in elts]
    places = [gast.dump(e).replace("Store()", "Load()") for e in elts]
    if not isinstance(node, gast.Tuple) or len(elts) != len(items) or sorted(places) != sorted(map(gast.dump, node.elts)):
        return list(items)
    return [keep_list(lo, force(lo, item, copy=True), item) if isinstance(item, View) and isinstance(owner, Array)
            and owner.is_list and item.rank == owner.rank - 1 else item for owner, item in zip(owners, items, strict=True)]


def repeated_in_place(lo: Lowering, old: Value, new: Value) -> None:
    """`old` has become `new` by `+=` or `*=`: every name of a list sees that."""
    if kind_of(old) is not list:
        return
    if isinstance(old, Sequence) and isinstance(new, Sequence):
        return replace_everywhere(lo, old, new)

    def same(v):
        return v is old or isinstance(v, Array) and isinstance(old, Array) and v.is_list and bool(v.roots() & old.roots())
    if sum(same(leaf) for frame in lo.frames for name, value in frame.env.items() if not name.startswith("%")
           for leaf in leaves(value)) > 1:
        raise lo.error(UnsupportedSyntax, "a list with a second name is repeated or joined in place",
                       "make a new one: xs = xs * 2")


def column_of_list(lo: Lowering, column: GrowList) -> Value:
    """A copy of one part of the items of a list that grows, as a part of those of a list that is only read."""
    kinds = list_kinds(lo, column)[1:]
    if kinds:
        raise lo.error(UnsupportedSyntax, "a list of tuples with lists in them, of a length known only when the "
                       "program runs, is copied", "keep a list for each part")
    made = force(lo, lo.array(column), copy=True)
    return Column(made, column.weak if made.rank == 1 else None)


# -- growing and shrinking --------------------------------------------------------------------------------
def pop(lo: Lowering, grown: GrowList, args) -> Value:
    last, rest = popped(lo, grown, args)
    replace_everywhere(lo, grown, rest)
    return last


def delete_item(lo: Lowering, owner: Value, key: Value) -> Value:
    """`owner` without the item at `key`."""
    if isinstance(owner, Mapping) and isinstance(key, Static) and key.value in owner.items:
        return owner.with_items({k: v for k, v in owner.items.items() if k != key.value})
    if isinstance(owner, Sequence) and owner.kind is list and isinstance(key, Static):
        items = list(owner.items)
        try:
            del items[key.value]
        except IndexError:
            raise certain(lo, "IndexError", lo.error(
                MissingItem, "list assignment index out of range")) from None
        return Sequence(tuple(items), list)
    if isinstance(owner, Sequence) and owner.kind is list and isinstance(key, Slice) and all(
            isinstance(part, Static) for part in key.inside()):
        items = list(owner.items)
        del items[slice(*(known_as(Static, part).value for part in key.inside()))]
        return Sequence(tuple(items), list)
    if kind_of(owner) not in (list, dict) and not isinstance(owner, Mapping):
        ours = isinstance(owner, Record) and hasattr(owner.cls, "stands_for")
        raise lo.error(UnsupportedSyntax if ours else WrongKind, f"{describe(owner)} has no items that can be deleted")
    raise lo.error(TypeConflict, "only items of a list or dict at places known before the program runs can be deleted",
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


__all__ = ["is_list", "rectangular"]
