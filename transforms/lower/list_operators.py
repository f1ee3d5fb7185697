"""Operators on lists and tuples: Python's own, whether their items are known now or lie in memory.

NumPy's meaning holds only beside an array or a number of NumPy's. What cannot be done as Python does it is refused.
"""

from __future__ import annotations

import operator

import gast
import numpy as np

from ..language.build import ZERO
from ..language.core import Const
from ..language.errors import MissingAttribute, TypeConflict, UnsupportedSyntax
from ..language.ops import is_inexact
from .arrays import describe
from .sharing import is_object, same_object
from .values import (
    Array,
    Buffer,
    GrowList,
    Scalar,
    Sequence,
    Series,
    Slice,
    Static,
    Table,
    Value,
    View,
    is_number,
)

MANY = 64                       # a list of numbers with more items is memory from the start
TOO_MANY = 4096                 # as many items are not written out
SIGNS = {operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/", operator.floordiv: "//",
         operator.mod: "%", operator.pow: "** or pow()", operator.and_: "&", operator.or_: "|", operator.xor: "^",
         operator.lshift: "<<", operator.rshift: ">>", operator.matmul: "@", operator.lt: "<", operator.le: "<=",
         operator.gt: ">", operator.ge: ">="}
ORDER = {operator.lt: gast.Lt, operator.le: gast.LtE, operator.gt: gast.Gt, operator.ge: gast.GtE}
AN_ARRAY = "use an array: np.array(...)"


class ListOperators:
    def on_lists(self, function, left: Value, right: Value) -> Value | None:
        """An operator where a list or tuple takes part; None where there is none, or NumPy's meaning holds."""
        kinds = [kind_of(v) for v in (left, right)]
        if kinds == [None, None] or any(isinstance(v, Array) and not v.is_list for v in (left, right)):
            return None
        if function is operator.mul and None in kinds:
            return self.list_repeated(left, right) if kinds[0] else self.list_repeated(right, left)
        if self.by_numpy(left, right):
            return None
        if function is operator.add and kinds[0] is kinds[1]:
            return self.lists_joined(left, right)
        if function is operator.add and kinds[0]:
            shown = kinds[0].__name__
            raise self.error(TypeConflict, f'can only concatenate {shown} (not "{name_of_kind(right)}") to {shown}',
                             AN_ARRAY)
        raise self.error(TypeConflict, f"unsupported operand type(s) for {SIGNS[function]}: '{name_of_kind(left)}' and "
                                       f"'{name_of_kind(right)}'", AN_ARRAY)

    def by_numpy(self, *values: Value) -> bool:
        """Whether one of the operands is a number of NumPy's, whose operators take lists."""
        for v in values:
            if is_number(v) and len({weak for _, weak in self.kinds_of(v)}) > 1:
                raise self.error(UnsupportedSyntax, "a list beside a number that is Python's own on one path and NumPy's on "
                                 "another", "convert it: float(...)")
        return any(is_number(v) and not self.is_weak(v) for v in values)

    def refuse_unary(self, sign: str, value: Value) -> None:
        """Lists and tuples have no such operator."""
        if (kind := kind_of(value)) is not None:
            raise self.error(TypeConflict, f"bad operand type for {sign}: '{kind.__name__}'", AN_ARRAY)

    # -- + and * ----------------------------------------------------------------------------------------------
    def lists_joined(self, left: Value, right: Value) -> Value:
        """`left + right` of two lists or two tuples."""
        left, right = self.with_items(left), self.with_items(right)
        if isinstance(left, Sequence) and isinstance(right, Sequence):
            return Sequence(left.items + right.items, left.kind)
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Sequence) and not one.items:
                return self.slice_of_list(other, (Slice(None, None, None),))
        self.in_memory(left, right)
        arrays = self.array(left), self.array(right)
        if items_are(self, left) != items_are(self, right) or arrays[0].rank != arrays[1].rank:
            raise self.error(UnsupportedSyntax, "lists of unlike items, whose length is known only when the program runs, "
                             "cannot be joined", AN_ARRAY)
        made = self.force(self.call_static(np.concatenate, [Sequence(arrays)], {}))
        return self.as_list(self.rows_copied(made, left, right), self.node)

    def list_repeated(self, items: Value, count: Value) -> Value:
        """`items * count`."""
        if not is_number(count) or is_inexact(self.dtype_of(count)) or self.dtype_of(count) == "bool" and not \
                self.is_weak(count):
            raise self.error(TypeConflict, f"can't multiply sequence by non-int of type '{name_of_kind(count)}'", AN_ARRAY)
        if isinstance(count, Scalar) and count.dtype == "bool":
            raise self.error(UnsupportedSyntax, "a list is repeated by a truth", "use int(...)")
        items = self.with_items(items)
        known = count if isinstance(count, Static) else Static(count.atom.value) if isinstance(count.atom, Const) else None
        if isinstance(items, Sequence):
            if not items.items:
                return Sequence((), items.kind)
            total = len(items.items) * max(known.value, 0) if known is not None else TOO_MANY + 1
            numbers = all(map(is_number, items.items))
            if total <= MANY or total <= TOO_MANY and (not numbers or items.kind is tuple):
                return Sequence(items.items * known.value, items.kind)
            if not numbers:
                raise self.error(UnsupportedSyntax, f"a {items.kind.__name__} of objects is repeated by a number known only "
                                 "when the program runs", "make them anew: [np.zeros(3) for _ in range(n)], or use np.tile")
        times = self.b.imax(self.atom(count, "int64"), ZERO)
        if isinstance(items, Sequence) and len(items.items) == 1:
            made = self.force(self.call_static(np.full, [self.number(times), items.items[0]], {}))
            return self.as_list_like(made, items)
        self.in_memory(items)
        source = self.array(items)
        repeats = Sequence((self.number(times), *(Static(1),) * (source.rank - 1)))
        made = self.force(self.call_static(np.tile, [source, repeats], {}), copy=True)
        if made.rank == 1:
            return self.as_list_like(made, items)
        shared = View(self.rows_copied(made, items), made.shape, lambda lo, index: index, prefix=(), writable=False)
        shared.is_list = shared.read_only = True            # an item stands in it several times
        shared.array_axes, shared.kinds = made.array_axes, made.kinds
        return shared

    def as_list_like(self, made: Buffer, like: Value) -> Buffer:
        """New memory as the list or tuple that `like` is."""
        made = self.as_list(made, self.node)
        made.kinds = (kind_of(like),)
        return made

    def with_items(self, value: Value) -> Value:
        """A list that is known now as a Sequence."""
        if isinstance(value, Static):
            return Sequence(tuple(map(self.wrap, value.value)), type(value.value))
        return value

    def in_memory(self, *lists: Value) -> None:
        """Refuse lists that are no one array."""
        for v in lists:
            if isinstance(v, Series):
                raise self.itemise(v)
            if isinstance(v, Table):
                raise self.error(UnsupportedSyntax, "a list of tuples or records, of a length known only when the program "
                                 "runs, has no operators", "keep a list for each part")

    # -- comparisons ------------------------------------------------------------------------------------------
    def compare_lists(self, function, left: Value, right: Value) -> Value | None:
        """A comparison where a list or tuple takes part: one truth. None as of `on_lists`."""
        kinds = [kind_of(v) for v in (left, right)]
        if kinds == [None, None] or any(isinstance(v, Array) and not v.is_list for v in (left, right)) or self.by_numpy(
                *(v for v, k in zip((left, right), kinds, strict=True) if k is None)):
            return None
        equality = function in (operator.eq, operator.ne)
        if kinds[0] is not kinds[1]:
            if equality and any(isinstance(v, Scalar) for v in (left, right)):      # NumPy's numbers are in lists, too
                raise self.error(UnsupportedSyntax, f"{describe(left)} and {describe(right)} are compared: that gives an "
                                 "array if the number is NumPy's, else one truth", "ask isinstance, or use np.array(...)")
            if equality:
                return Static(function is operator.ne)
            raise self.error(TypeConflict, f"'{SIGNS[function]}' not supported between instances of '{name_of_kind(left)}' "
                                           f"and '{name_of_kind(right)}'", AN_ARRAY)
        left, right = self.with_items(left), self.with_items(right)
        if left is right:
            return Static(function in (operator.eq, operator.le, operator.ge))
        if isinstance(left, Sequence) and isinstance(right, Sequence):
            found = self.sequences_equal(left, right) if equality else self.sequences_ordered(function, left, right)
        else:
            self.in_memory(left, right)
            if equality:
                found = self.call_python(lists_equal, [left, right], {})
            else:
                found = self.call_python(IN_ORDER[function], [left, right], {})
            found = self.condition(found)
        if function is operator.ne:
            found = self.b.let("not", found, dtype="bool")
        return self.truth_value(found)

    def sequences_equal(self, left: Sequence, right: Sequence):
        if len(left.items) != len(right.items):
            return Const(False, "bool")
        cond = Const(True, "bool")
        for a, b in zip(left.items, right.items, strict=True):
            cond = self.b.let("and", cond, self.same_items(a, b), dtype="bool")
        return cond

    def same_items(self, a: Value, b: Value):
        if is_object(a) and same_object(a, b):
            return Const(True, "bool")
        return self.condition(self.compare(gast.Eq(), a, b))

    def sequences_ordered(self, function, left: Sequence, right: Sequence, k: int = 0):
        """By the first items that differ, else by length."""
        if k == min(len(left.items), len(right.items)):
            return Const(function(len(left.items), len(right.items)), "bool")
        a, b = left.items[k], right.items[k]
        same = self.same_items(a, b)
        if isinstance(same, Const) and same.value:
            return self.sequences_ordered(function, left, right, k + 1)
        here = self.condition(self.compare(ORDER[function](), a, b))
        if isinstance(same, Const):
            return here
        let = self.b.let
        differs = let("and", let("not", same, dtype="bool"), here, dtype="bool")
        rest = let("and", same, self.sequences_ordered(function, left, right, k + 1), dtype="bool")
        return let("or", differs, rest, dtype="bool")

    # -- items and attributes ---------------------------------------------------------------------------------
    def check_list_index(self, owner: Value, index: Value) -> None:
        """Items of lists and tuples are found by an integer or a slice."""
        kind = kind_of(owner)
        if kind is None or isinstance(index, Slice):
            return
        whole = is_number(index) or isinstance(index, Array) and not index.rank
        if not whole or is_inexact(self.dtype_of(index)):
            raise self.error(TypeConflict, f"{kind.__name__} indices must be integers or slices, not {name_of_kind(index)}",
                             AN_ARRAY)

    def item_of_memory(self, owner: Array, found: Value) -> Value:
        """An item of a list in memory: a list or tuple, if it is one of such."""
        if isinstance(found, Array):
            self.mark_list(found, kinds_in(owner)[1:])
        return found

    def mark_list(self, array: Array, kinds: tuple) -> None:
        """An array stands for lists of these kinds, one for each of its first axes, with arrays in the innermost ones."""
        array.is_list, array.kinds, array.array_axes = bool(kinds), kinds, array.rank - len(kinds) if kinds else 0

    def list_kinds(self, value: Value) -> tuple:
        """The kinds of a list and of the lists in it, outermost first; of arrays and numbers none."""
        if isinstance(value, Sequence) and len(inner := set(map(self.list_kinds, value.items))) != 1:
            if not inner:
                return (value.kind,)
            raise self.error(UnsupportedSyntax, "lists, tuples and arrays are in one list that is read at places known only "
                             "when the program runs", AN_ARRAY)
        if isinstance(value, Sequence):
            return (value.kind, *inner.pop())
        return (list, *self.row_kinds.setdefault(value.arr, ())) if isinstance(value, GrowList) else kinds_in(value)

    def no_list(self, target, made: Value, args) -> Value:
        """What a function of NumPy's gives, where that is the list in memory that it was given: a copy, as an array."""
        if isinstance(made, Array) and made.is_list and any(made is a for a in args) and (
                getattr(target, "__module__", None) or "").split(".")[0] == "numpy":
            return self.force(made, copy=True)
        return made

    def no_attribute(self, owner: Value, name: str):
        """The error for an attribute that lists and tuples do not have, or that is not supported of them."""
        kind = kind_of(owner)
        if hasattr(kind, name):
            return self.error(UnsupportedSyntax, f"{describe(owner)} has no method `{name}` here", AN_ARRAY)
        return self.error(MissingAttribute, f"'{kind.__name__}' object has no attribute '{name}'", AN_ARRAY)


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
    kinds = lo.list_kinds(value)
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

__all__ = ["ListOperators", "kind_of", "kinds_in"]
