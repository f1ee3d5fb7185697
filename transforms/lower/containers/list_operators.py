"""Operators on lists and tuples: Python's own, whether their items are known now or lie in memory.

NumPy's meaning holds only beside an array or a number of NumPy's. What cannot be done as Python does it is refused.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import Any, TypeVar

import gast
import numpy as np

from ...language.build import ZERO
from ...language.core import Const
from ...language.errors import MissingAttribute, TypeConflict, UnsupportedSyntax, WrongKind
from ...language.ops import is_complex, is_inexact, promote
from ..arrays.broadcasting import convert
from ..arrays.memory import force
from ..arrays.writing import note_copies
from ..functions.frames import site_of
from ..loops.plan import Widen
from ..numbers.conversions import as_value, dtype_of, is_weak, itemise, truth_value
from ..numbers.integers import same_dtype
from ..numbers.kinds_on_paths import kinds_of
from ..state import Lowering
from ..structures import describe
from ..values import (
    ONLY_HERE,
    Array,
    Buffer,
    GrowList,
    Range,
    Record,
    Scalar,
    Sequence,
    Series,
    Sized,
    Slice,
    Static,
    Table,
    Value,
    View,
    as_tuple,
    is_number,
    known_as,
    leaves,
)
from .item_kinds import later, listed_number, memory_of_list, note_copied, note_made, note_written
from .sharing import is_object, same_object

MANY = 64                       # a list of numbers with more items is memory from the start
TOO_MANY = 4096                 # as many items are not written out
SIGNS = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//",
         operator.mod: "%", operator.pow: "** or pow()", operator.and_: "&", operator.or_: "|", operator.xor: "^",
         operator.lshift: "<<", operator.rshift: ">>", operator.matmul: "@", operator.lt: "<", operator.le: "<=",
         operator.gt: ">", operator.ge: ">="}
ORDER = {operator.lt: gast.Lt, operator.le: gast.LtE, operator.gt: gast.Gt, operator.ge: gast.GtE}
A = TypeVar("A", bound=Array)
AN_ARRAY = "use an array: np.array(...)"


def on_lists(lo: Lowering, function, left: Value, right: Value) -> Value | None:
    """An operator where a list or tuple takes part; None where there is none, or NumPy's meaning holds."""
    kinds = [kind_of(v) for v in (left, right)]
    if kinds == [None, None] or any(isinstance(v, Array) and not v.is_list for v in (left, right)):
        return None
    if function is operator.mul and None in kinds:
        return list_repeated(lo, left, right) if kinds[0] else list_repeated(lo, right, left)
    if by_numpy(lo, left, right):
        return None
    if function is operator.add and kinds[0] is kinds[1]:
        return lists_joined(lo, left, right)
    if function is operator.add and kinds[0]:
        shown = kinds[0].__name__
        raise lo.error(TypeConflict, f'can only concatenate {shown} (not "{name_of_kind(right)}") to {shown}',
                       AN_ARRAY)
    raise lo.error(TypeConflict, f"unsupported operand type(s) for {SIGNS[function]}: '{name_of_kind(left)}' and "
                                 f"'{name_of_kind(right)}'", AN_ARRAY)


def by_numpy(lo: Lowering, *values: Value) -> bool:
    """Whether one of the operands is a number of NumPy's, whose operators take lists."""
    for v in values:
        if is_number(v) and len({weak for _, weak in kinds_of(lo, v)}) > 1:
            raise lo.error(UnsupportedSyntax, "a list beside a number that is Python's own on one path and NumPy's on "
                           "another", "convert it: float(...)")
    return any(is_number(v) and not is_weak(lo, v) for v in values)


def refuse_unary(lo: Lowering, sign: str, value: Value) -> None:
    """Lists and tuples have no such operator, nor have objects whose class does not say what it means."""
    kind = kind_of(as_tuple(value))
    if kind is not None or isinstance(value, Record):
        raise lo.error(WrongKind, f"bad operand for {sign}: '{getattr(value, 'cls', kind or Record).__name__}'", AN_ARRAY)


# -- + and * ----------------------------------------------------------------------------------------------
def lists_joined(lo: Lowering, left: Value, right: Value) -> Value:
    """`left + right` of two lists or two tuples."""
    left, right = with_items(lo, left), with_items(lo, right)
    if isinstance(left, Sequence) and isinstance(right, Sequence):
        return Sequence(left.items + right.items, left.kind)
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Sequence) and not one.items:
            return slice_of_list(lo, other, (Slice(None, None, None),))
    in_memory(lo, left, right)
    arrays = lo.array(left), lo.array(right)
    if items_are(lo, left) != items_are(lo, right) or arrays[0].rank != arrays[1].rank:
        raise lo.error(UnsupportedSyntax, "lists of unlike items, whose length is known only when the program runs, "
                       "cannot be joined", AN_ARRAY)
    made = force(lo, known_as(Array, lo.call_static(np.concatenate, [Sequence(arrays)], {})))
    return as_list(lo, rows_copied(lo, made, left, right), lo.node)


def list_repeated(lo: Lowering, items: Value, count: Value) -> Value:
    """`items * count`."""
    if not is_number(count) or is_inexact(dtype_of(lo, count)) or dtype_of(lo, count) == "bool" and not \
            is_weak(lo, count):
        raise lo.error(TypeConflict, f"can't multiply sequence by non-int of type '{name_of_kind(count)}'", AN_ARRAY)
    if isinstance(count, Scalar) and count.dtype == "bool":
        raise lo.error(UnsupportedSyntax, "a list is repeated by a truth", "use int(...)")
    items = with_items(lo, items)
    times = lo.atom(count)
    known = Static(times.value) if isinstance(times, Const) else None
    if known is not None and known.value <= 0:
        return Sequence((), kind_of(items) or list)             # whatever its items would be
    if isinstance(items, Sequence):
        if not items.items:
            return Sequence((), items.kind)
        turns = known.value if known is not None else TOO_MANY + 1
        total = len(items.items) * max(turns, 0)
        numbers = all(map(is_number, items.items))
        if total <= MANY or total <= TOO_MANY and (not numbers or items.kind is tuple):
            return Sequence(items.items * turns, items.kind)
        if not numbers and not (total == turns and isinstance(items.items[0], Array) and kind_of(items.items[0]) is None):
            raise lo.error(UnsupportedSyntax, f"a {items.kind.__name__} of objects is repeated by a number known only "
                           "when the program runs", "make them anew: [np.zeros(3) for _ in range(n)], or use np.tile")
    times = lo.b.imax(lo.atom(count, "int64"), ZERO)
    if isinstance(items, Sequence) and len(items.items) == 1 and is_number(items.items[0]):
        made = force(lo, known_as(Array, lo.call_static(np.full, [as_value(lo, times), items.items[0]], {})))
        return as_list_like(lo, made, items)
    in_memory(lo, items)
    source = lo.array(items)
    repeats = Sequence((as_value(lo, times), *(Static(1),) * (source.rank - 1)))
    made = force(lo, known_as(Array, lo.call_static(np.tile, [source, repeats], {})), copy=True)
    if made.rank == 1:
        return as_list_like(lo, made, items)
    shared = View(rows_copied(lo, made, items), made.shape, lambda lo, index: index, prefix=(), writable=False)
    shared.is_list, shared.read_only = True, ONLY_HERE      # an item stands in it several times
    shared.array_axes, shared.kinds = made.array_axes, made.kinds
    return shared


def as_list_like(lo: Lowering, made: Buffer, like: Value) -> Buffer:
    """New memory as the list or tuple that `like` is."""
    made = as_list(lo, made, lo.node)
    made.kinds = (kind_of(like) or list,)
    if isinstance(like, Sequence):
        note_made(lo, made.arr, like.items)
    else:
        note_copied(lo, made, like)
    return made


def with_items(lo: Lowering, value: Value) -> Value:
    """A list that is known now as a Sequence."""
    if isinstance(value, Static):
        return Sequence(tuple(map(lo.wrap, value.value)), type(value.value))
    return value


def in_memory(lo: Lowering, *lists: Value) -> None:
    """Refuse lists that are no one array."""
    for v in lists:
        if isinstance(v, Series):
            raise itemise(lo, v)
        if isinstance(v, Table):
            raise lo.error(UnsupportedSyntax, "a list of tuples or records, of a length known only when the program "
                           "runs, has no operators", "keep a list for each part")


# -- comparisons ------------------------------------------------------------------------------------------
def compare_lists(lo: Lowering, function, left: Value, right: Value) -> Value | None:
    """A comparison where a list or tuple takes part: one truth. None as of `on_lists`."""
    kinds = [kind_of(v) for v in (left, right)]
    if kinds == [None, None] or any(isinstance(v, Array) and not v.is_list for v in (left, right)) or by_numpy(lo,
            *(v for v, k in zip((left, right), kinds, strict=True) if k is None)):
        return None
    equality = function in (operator.eq, operator.ne)
    if kinds[0] is not kinds[1]:
        own = [k for k in kinds if k not in (list, tuple, None)]
        if own and any(issubclass(k, (list, tuple)) for k in own):
            raise lo.error(UnsupportedSyntax, f"comparisons of a {own[0].__name__} with a list or tuple are not supported",
                           f"compare {'list' if issubclass(own[0], list) else 'tuple'}(...) of it")
        if equality and any(isinstance(v, Scalar) for v in (left, right)):      # NumPy's numbers are in lists, too
            raise lo.error(UnsupportedSyntax, f"{describe(left)} and {describe(right)} are compared: that gives an "
                           "array if the number is NumPy's, else one truth", "ask isinstance, or use np.array(...)")
        if equality:
            return Static(function is operator.ne)
        raise lo.error(TypeConflict, f"'{SIGNS[function]}' not supported between instances of '{name_of_kind(left)}' "
                                     f"and '{name_of_kind(right)}'", AN_ARRAY)
    left, right = with_items(lo, left), with_items(lo, right)
    if left is right:
        return Static(function in (operator.eq, operator.le, operator.ge))
    if isinstance(left, Sequence) and isinstance(right, Sequence):
        if not equality:
            return sequences_ordered(lo, function, left, right)
        found = sequences_equal(lo, left, right)
    else:
        in_memory(lo, left, right)
        if not equality:
            return lo.call_python(IN_ORDER[function], [left, right], {})
        found = lo.condition(lo.call_python(lists_equal, [left, right], {}))
    if function is operator.ne:
        found = lo.b.let("not", found, dtype="bool")
    return truth_value(lo, found)


def sequences_equal(lo: Lowering, left: Sequence, right: Sequence):
    if len(left.items) != len(right.items):
        return Const(False, "bool")
    cond = Const(True, "bool")
    for a, b in zip(left.items, right.items, strict=True):
        cond = lo.b.let("and", cond, same_items(lo, a, b), dtype="bool")
    return cond


def same_items(lo: Lowering, a: Value, b: Value):
    if is_object(a) and same_object(a, b):
        return Const(True, "bool")
    return lo.condition(lo.compare(gast.Eq(), a, b))


def sequences_ordered(lo: Lowering, function, left: Sequence, right: Sequence) -> Value:
    """By the first items that differ, whose comparison it gives, a truth of NumPy's own for its numbers; else by length."""
    own = set()

    def ordered(k: int):
        if k == min(len(left.items), len(right.items)):
            own.add(True)
            return Const(function(len(left.items), len(right.items)), "bool")
        a, b = left.items[k], right.items[k]
        same = same_items(lo, a, b)
        if isinstance(same, Const) and same.value:
            return ordered(k + 1)
        truth = lo.compare(ORDER[function](), a, b)
        own.update(weak for _, weak in kinds_of(lo, truth))
        here = lo.condition(truth)
        if isinstance(same, Const):
            return here
        let = lo.b.let
        differs = let("and", let("not", same, dtype="bool"), here, dtype="bool")
        return let("or", differs, let("and", same, ordered(k + 1), dtype="bool"), dtype="bool")
    cond = ordered(0)
    return truth_value(lo, cond) if own == {True} else Scalar(cond, False, len(own) > 1)


# -- items and attributes ---------------------------------------------------------------------------------
def list_index(lo: Lowering, owner: Value, index: Value) -> Value:
    """What finds items of lists, tuples and ranges: a slice or an integer, as Python's truths are."""
    kind = range if isinstance(owner, Range) else kind_of(owner)
    if kind is None or isinstance(index, Slice):
        return index
    whole = is_number(index) or isinstance(index, Array) and not index.rank
    if not whole or is_inexact(dtype_of(lo, index)):
        raise lo.error(TypeConflict, f"{kind.__name__} indices must be integers or slices, not {name_of_kind(index)}",
                       AN_ARRAY)
    return lo.builtins[int](lo, index) if is_pythons_truth(lo, index) else index


def is_pythons_truth(lo: Lowering, value: Value) -> bool:
    return is_number(value) and kinds_of(lo, value) == {("bool", True)}


def item_of_memory(lo: Lowering, owner: Array, found: Value) -> Value:
    """An item of a list in memory: a list or tuple, if it is one of such."""
    if isinstance(found, Scalar):
        return listed_number(lo, memory_of_list(owner), found.atom, False)
    if isinstance(found, Array):
        mark_list(lo, found, kinds_in(owner)[1:])
        if found.is_list:
            row: Any = found
            row.item_of = getattr(owner, "item_of", owner)
            row.writable = getattr(owner, "writable", True)         # else a copy, which its list would not see written
    return found


def mark_list(lo: Lowering, array: Array, kinds: tuple) -> None:
    """An array stands for lists of these kinds, one for each of its first axes, with arrays in the innermost ones."""
    array.is_list, array.kinds, array.array_axes = bool(kinds), kinds, array.rank - len(kinds) if kinds else 0


def list_kinds(lo: Lowering, value: Value) -> tuple:
    """The kinds of a list and of the lists in it, outermost first; of arrays and numbers none."""
    if isinstance(value, Sequence) and len(inner := set(map(partial(list_kinds, lo), value.items))) != 1:
        if not inner:
            return (value.kind,)
        raise lo.error(UnsupportedSyntax, "lists, tuples and arrays are in one list that is read at places known only "
                       "when the program runs", AN_ARRAY)
    if isinstance(value, Sequence):
        return (value.kind, *inner.pop())
    return (list, *lo.row_kinds.setdefault(value.arr, ())) if isinstance(value, GrowList) else kinds_in(value)


def no_list(lo: Lowering, target, made: Value, args) -> Value:
    """What a function of NumPy's gives, where that is the list in memory that it was given: a copy, as an array."""
    if isinstance(made, Array) and made.is_list and any(made is a for a in args) and (
            getattr(target, "__module__", None) or "").split(".")[0] == "numpy":
        return force(lo, made, copy=True)
    return made


def no_attribute(lo: Lowering, owner: Value, name: str):
    """The error for an attribute that lists and tuples do not have, or that is not supported of them."""
    kind = kind_of(owner) or list
    if hasattr(kind, name):
        return lo.error(UnsupportedSyntax, f"{describe(owner)} has no method `{name}` here", AN_ARRAY)
    return lo.error(MissingAttribute, f"'{kind.__name__}' object has no attribute '{name}'", AN_ARRAY)


def not_iterable(lo: Lowering, value: Value):
    """The error for a number, or an array of rank 0, where items are asked for."""
    if isinstance(value, Array):
        return lo.error(WrongKind, "iteration over a 0-d array")
    return lo.error(WrongKind, f"'{name_of_kind(value)}' object is not iterable")


def kind_of(value: Value) -> type | None:
    """`list` or `tuple` for what is one in Python."""
    match value:
        case Sequence(kind=kind) | Series(kind=kind):
            return kind
        case GrowList() | Table():
            return list
        case Array() if value.is_list:
            return value.kinds[0] if value.kinds else list
        case Static(value=v) if type(v) in (list, tuple):
            return type(v)
    return None


def kinds_in(value: Value) -> tuple:
    """The kinds of a list and of the lists in it, outermost first."""
    kind = kind_of(value)
    if kind is None:
        return ()
    if isinstance(value, Sequence):
        inner = {kinds_in(i) for i in value.items}
        return (kind, *inner.pop()) if len(inner) == 1 else (kind,)
    if not isinstance(value, Array):
        return (kind,)
    axes = value.rank - value.array_axes
    return (*value.kinds, *[list] * axes)[:axes]


def items_are(lo, value: Value):
    """What the items of a list in memory, or to be put there, are."""
    if isinstance(value, Sequence):
        found = {"array" if isinstance(i, Array) and not i.is_list and i.rank else kind_of(i) for i in value.items}
        return found.pop() if len(found) == 1 else "unlike"
    array = lo.array(value)
    if array.rank == 1:
        return None
    kinds = list_kinds(lo, value)
    return kinds[1] if len(kinds) > 1 else "array"


def name_of_kind(value: Value) -> str:
    """The name of a value's class, for messages."""
    match value:
        case Static(value=v):
            return type(v).__name__
        case Scalar(weak=True, dtype=dtype):
            return {"bool": "bool", "int64": "int", "complex128": "complex"}.get(dtype, "float")
        case Scalar(dtype=dtype):
            return f"numpy.{dtype}"
        case Slice():
            return "slice"
    kind = kind_of(value)
    return kind.__name__ if kind is not None else "numpy.ndarray" if isinstance(value, Array) else describe(value)


def lists_equal(a, b):
    if len(a) != len(b):
        return False
    for i in range(len(a)):
        if a[i] != b[i]:
            return False
    return True


def lists_less(a, b):
    for i in range(min(len(a), len(b))):
        if a[i] != b[i]:
            return a[i] < b[i]
    return len(a) < len(b)


def lists_at_most(a, b):
    for i in range(min(len(a), len(b))):
        if a[i] != b[i]:
            return a[i] <= b[i]
    return len(a) <= len(b)


def lists_greater(a, b):
    return lists_less(b, a)


def lists_at_least(a, b):
    return lists_at_most(b, a)


IN_ORDER = {operator.lt: lists_less, operator.le: lists_at_most, operator.gt: lists_greater, operator.ge: lists_at_least}


def as_list(lo: Lowering, array: Buffer, node) -> Buffer:
    """A new array that stands for a list made at `node`."""
    array.is_list = True
    key = site_of(lo, node)
    lo.list_places[array.arr] = key
    if array.arr in lo.item_kinds:
        lo.item_kinds[array.arr] |= later(lo, array.arr)
    wanted = lo.widened.get(key, array.dtype)
    if not same_dtype(promote(wanted, array.dtype), array.dtype):
        wide = force(lo, known_as(Array, convert(lo, array, wanted)), copy=True)
        keep_list(lo, wide, array)
        lo.list_places[wide.arr] = key
        if array.arr in lo.item_kinds:
            lo.item_kinds[wide.arr] = lo.item_kinds[array.arr]
        return wide
    return array


def keep_list(lo: Lowering, copy: A, array: Array) -> A:
    """A copy of a list is one too."""
    if array.is_list:
        copy.is_list, copy.array_axes, copy.kinds = True, array.array_axes, array.kinds
        places = [lo.list_places[r] for r in array.roots() if r in lo.list_places]
        if places and isinstance(copy, (Buffer, Sized)):
            lo.list_places[copy.arr] = places[0]
    return copy


def widen(lo: Lowering, arr, dtype: str) -> None:
    """A list takes numbers of a wider type: lower again, with that type from the start."""
    key = lo.list_places.get(arr)
    own = Buffer(arr).dtype
    wide = promote(own, dtype)
    if same_dtype(wide, own):
        return
    if key is None or lo.widened.get(key) == wide:
        raise lo.error(TypeConflict, f"a list of {own} numbers gets a {dtype}",
                       "make its first items of that type: [0.0] * n")
    raise Widen(key, wide)


def check_width(lo: Lowering, owner, value) -> None:
    """Before an item of a list is written."""
    if not isinstance(owner, GrowList) and not owner.is_list:
        return
    for arr in (owner.arr,) if isinstance(owner, GrowList) else owner.roots():
        if is_number(value) or isinstance(value, Array):
            kind = Buffer(arr).dtype
            if kind not in ("float32", "complex64") or not is_weak(lo, value):
                widen(lo, arr, dtype_of(lo, value))
            elif is_complex(dtype_of(lo, value)):
                widen(lo, arr, "complex64")
        for part in leaves(value):
            if is_number(part) or isinstance(part, Array):
                note_written(lo, arr, part)


def slice_of_list(lo: Lowering, owner: Value, parts) -> Value:
    """A slice of a list is a new list."""
    made = rows_copied(lo, force(lo, known_as(Array, lo.index_array(lo.array(owner), parts)), copy=True), owner)
    made = as_list(lo, made, lo.node)
    note_copied(lo, made, owner)
    return made


def rows_copied(lo: Lowering, made: Buffer, *lists: Value) -> Buffer:
    """The memory of a new list of the items of other lists, which are shared in Python where they are arrays."""
    if made.rank > 1:
        note_copies(lo, made.arr, *(i for v in lists for i in (v.items if isinstance(v, Sequence) else [
            lo.array(v) if isinstance(v, GrowList) else v])))
    kinds = [list_kinds(lo, v) for v in lists]
    mark_list(lo, made, next((k for k in kinds if len(k) > 1), kinds[0]))
    return made


__all__ = ["kind_of", "kinds_in"]
