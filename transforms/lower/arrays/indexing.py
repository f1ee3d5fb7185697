"""Indexing: integers, slices, ellipsis, newaxis, masks and integer arrays, for reading and writing."""

from __future__ import annotations

import collections
from functools import partial
from typing import TypeGuard

import gast
import numpy as np

from ...language.build import ONE, ZERO, integer
from ...language.core import Const
from ...language.errors import MissingItem, MissingKey, TypeConflict, UnsupportedSyntax, WrongKind
from ..checks import CAREFUL, certain, check_output, refused_by_python
from ..containers.growing import list_dtype, make_growable, row_of, row_read
from ..containers.item_kinds import listed_number, memory_of_list
from ..containers.list_operators import (
    check_width,
    is_pythons_truth,
    item_of_memory,
    kind_of,
    kinds_in,
    list_index,
    slice_of_list,
)
from ..containers.lists import into_list, item_at, rectangular, store_in_row
from ..containers.series import series_item
from ..containers.shared_rows import check_row_write
from ..containers.sharing import holding
from ..functions.outside import has_methods, read_outside, special
from ..functions.places import Place, in_library
from ..functions.recursion import can_be_known
from ..needs import NeedsStatic
from ..numbers.conversions import as_value, dtype_of, needs_static
from ..numbers.integer_operations import check_cast
from ..numbers.kinds_on_paths import ONE_KIND, item_of, own_on_paths
from ..state import Lowering
from ..structures import as_key, describe
from ..syntax.alternatives import decided, split, undecided
from ..syntax.unbound import held
from ..table import NAMES, evaluates
from ..values import (
    Array,
    Delayed,
    Either,
    FancyRead,
    GrowList,
    Mapping,
    Range,
    Record,
    Scalar,
    Sequence,
    Series,
    Slice,
    Static,
    Table,
    Value,
    View,
    as_range,
    as_tuple,
    expression,
    is_number,
    known_as,
    leaves,
    passes,
)
from .broadcasting import as_array, broadcast_to, convert, same_size
from .fancy import augment_masked, replace_masks, select_fancy, store_fancy
from .layout import copied
from .memory import delayed, force, give_memory
from .points import augment_point, numpys_number, point_view, store_number
from .slices import place_along, range_part, slice_bounds, static_slice
from .writing import assign, reads_own_elements, to_be_written


@evaluates(gast.Subscript)
def eval_subscript(lo: Lowering, node):
    owner = lo.eval(node.value)
    lo.node = node
    return subscript(lo, owner, node.slice)


@evaluates(gast.Slice)
def eval_slice(lo: Lowering, node):
    part = lambda n: None if n is None else lo.eval(n)  # noqa: E731
    return Slice(part(node.lower), part(node.upper), part(node.step))


def item_by_number(keys, items, wanted):
    for key, item in zip(keys, items, strict=True):
        if key == wanted:
            return item
    raise KeyError(wanted)


def item_by_truth(items, truth):
    return items[1] if truth else items[0]


MAKERS = (np.mgrid, np.ogrid, np.r_, np.c_)         # what makes an array when it is indexed


IndexExpression = type(np.s_)                       # what gives the index itself


def subscript(lo: Lowering, owner: Value, slice_node) -> Value:
    with holding(lo, owner, node=slice_node) as held:
        index = lo.eval(slice_node)
    owner, = held.now
    if passes(owner) and not in_library(lo):
        raise lo.error(WrongKind, "an iterator, or a view of a dict, is not subscriptable", "make a list of it: list(...)")
    if passes(index) and not in_library(lo):
        raise lo.error(WrongKind, "an iterator, or a view of a dict, is no subscript", "make a list of it: list(...)")
    return lo.get_item(owner, index)


def get_item(lo: Lowering, owner: Value, index: Value) -> Value:
    if isinstance(owner, Either):
        return split(lo, owner, lambda v: lo.get_item(v, index), raises="TypeError")
    if (choice := undecided(index)) is not None:
        return split(lo, choice, lambda v: lo.get_item(owner, decided(index, choice, v)))
    if has_methods(owner) and (made := special(lo, owner, "__getitem__", index)) is not None:
        return made
    if isinstance(owner, Sequence) and is_pythons_truth(lo, index) and len(owner.items) > 1 and not rectangular(owner.items):
        return lo.call_python(item_by_truth, [owner, index], {})
    index = list_index(lo, owner, index)
    if isinstance(owner, Scalar) and owner.mixed and own_on_paths(lo, owner) == (True, False):
        raise lo.error(TypeConflict, "only on one path this number is one of NumPy's, which has subscripts", ONE_KIND)
    match owner:
        case Sequence(items=items):
            return item_of_sequence(lo, owner, items, index)
        case Mapping(items=items):
            index = as_key(index)
            if not isinstance(index, Static):
                numbers = all(isinstance(k, (int, float)) for k in items) and all(map(is_number, (index, *items.values())))
                if not numbers or can_be_known(lo, known_as(Scalar, index)):
                    raise needs_static(lo, index, "a dict key")
                given = [Sequence(tuple(map(Static, items))), Sequence(tuple(items.values())), index]
                return lo.call_python(item_by_number, given, {})
            if index.value not in items and owner.kind is collections.Counter:
                return lo.wrap(0)                       # which is not kept
            if index.value not in items and hasattr(owner.kind, "__missing__"):
                raise lo.error(UnsupportedSyntax, f"{index.value!r} is not in this {owner.kind.__name__} outside",
                               "use d.get(key, default)")
            if index.value not in items:
                raise certain(lo, "KeyError", lo.error(MissingKey, f"KeyError: {index.value!r}"))
            return items[index.value]
        case Record(fields=fields) if issubclass(owner.cls, tuple):
            return item_of_sequence(lo, owner, tuple(fields.values()), index)
        case Static(value=v) if any(v is maker for maker in MAKERS):
            return lo.builtins[v](lo, index)
        case Static(value=IndexExpression() as maker):
            return Sequence((index,)) if maker.maketuple and not is_tuple(index) else index
        case Static(value=v) if not isinstance(index, Slice) and isinstance(index, Static):
            try:
                return read_outside(lo, Place.of(v).item(index.value), v[index.value])
            except (TypeError, KeyError, IndexError) as e:
                if isinstance(e, IndexError):
                    lo.reads.need(Place.of(v), "sized", (type(v), len(v)))
                    raise lo.error(MissingItem, str(e)) from None
                if isinstance(e, KeyError):
                    lo.reads.need(Place.of(v).item(index.value), "missing")
                raise refused_by_python(lo, e) from None
        case Static(value=v) if isinstance(v, (str, tuple, list)) and isinstance(index, Slice):
            return lo.wrap(v[static_slice(lo, index)])
        case Static(value=v) if isinstance(v, (tuple, list)) and isinstance(index, Scalar):
            return lo.get_item(Sequence(tuple(map(lo.wrap, v)), type(v)), index)
        case Series():
            return series_item(lo, owner, index)
        case Table() if not isinstance(index, Slice):
            return row_of(lo, owner, index)
        case GrowList() if isinstance(index, Slice):
            return slice_of_list(lo, owner, (index,))
        case GrowList():
            found = lo.index_array(lo.array(owner), index_parts(lo, index))
            return listed_number(lo, owner.arr, found.atom, owner.weak) if isinstance(found, Scalar) else \
                row_read(lo, owner, found)
        case Array() if owner.is_list:
            if isinstance(index, Slice):
                return slice_of_list(lo, owner, (index,))
            found = lo.index_array(owner, index_parts(lo, index))
            return listed_number(lo, memory_of_list(owner), found.atom, True) if isinstance(found, Scalar) else \
                item_of_memory(lo, owner, found)
        case Array():
            found = lo.index_array(owner, index_parts(lo, index))
            return copied(lo, found) if isinstance(found, Array) and owner.is_flat else found
        case Range() if isinstance(index, Slice) or is_number(index):
            numbers = as_array(lo, owner)
            if isinstance(index, Static) and isinstance(index.value, int) and isinstance(numbers.shape[0], Const) \
                    and not -numbers.shape[0].value <= index.value < numbers.shape[0].value:
                raise lo.error(MissingItem, "range object index out of range")
            if isinstance(index, Slice):
                count = as_value(lo, numbers.shape[0])
                return lo.call_python(range_part, [owner.start, owner.step, count, *index.inside()], {})
            found = lo.index_array(numbers, index_parts(lo, index))
            return Scalar(found.atom, True) if isinstance(found, Scalar) else found
        case Scalar(weak=False) if isinstance(index, Sequence) and not index.items:     # a number of NumPy's
            return numpys_number(lo, owner)
        case Scalar() if owner.boxed or not owner.weak and all(isinstance(p, Static) and (
                p.value is None or p.value is Ellipsis) for p in index_parts(lo, index)):
            found = lo.index_array(lo.array(owner), index_parts(lo, index))
            return numpys_number(lo, owner, found.boxed) if isinstance(found, Scalar) else found
    if isinstance(owner, Scalar) and not owner.weak:
        raise lo.error(MissingItem, "invalid index to scalar variable.")
    if isinstance(owner, Static) and isinstance(owner.value, (str, bytes)) and isinstance(index, Scalar):
        raise NeedsStatic(lo.error(TypeConflict, "a text is indexed by a number that is known only when the program runs",
                                   "take the text apart outside"), index)
    raise lo.error(WrongKind, f"{describe(owner)} cannot be indexed")


def length_may_grow(lo: Lowering, owner) -> None:
    """A short list in a loop or branch may be longer when the program comes there: ask for a growing one."""
    if lo.around.loops and isinstance(owner, Sequence) and owner.kind is list and owner.items and all(
            map(is_number, owner.items)):
        name = next((n for n, v in lo.env.items() if held(v) is owner), None)
        if name is not None and ("grow", lo.frame.definition.name, name) not in lo.widened:
            make_growable(lo, name, list_dtype(lo, owner))


def item_of_sequence(lo: Lowering, owner, items, index):
    kind = owner.kind if isinstance(owner, Sequence) else tuple
    if isinstance(index, Slice):
        return Sequence(items[static_slice(lo, index)], kind)
    if isinstance(index, Static) and isinstance(index.value, int):
        try:
            return items[index.value]
        except IndexError:
            length_may_grow(lo, owner)
            raise certain(lo, "IndexError", lo.error(
                MissingItem, f"{kind.__name__} index out of range")) from None
    if isinstance(index, Scalar) and isinstance(index.atom, Const):
        return items[index.atom.value]
    if items and isinstance(owner, Sequence) and isinstance(index, Scalar) and rectangular(items):
        return item_at(lo, owner, index)
    raise needs_static(lo, index, f"the index of a {kind.__name__}")


def index_parts(lo: Lowering, index: Value) -> tuple:
    if isinstance(index, Array) and kind_of(index) is tuple:
        raise lo.error(UnsupportedSyntax, "a tuple of a length known only when the program runs is no index",
                       "index with a list or an array")
    index = as_tuple(index)
    return tuple(map(partial(part_of_index, lo), index.items if is_tuple(index) else (index,)))


def part_of_index(lo: Lowering, part: Value) -> Value:
    """A range chooses as the array of its numbers does."""
    part = as_range(part)
    return as_array(lo, part) if isinstance(part, Range) else part


def is_tuple(index: Value) -> TypeGuard[Sequence]:
    return isinstance(index, Sequence) and index.kind is tuple


# -- arrays -----------------------------------------------------------------------------------------------
def index_array(lo: Lowering, owner: Array, parts) -> Value:
    """`owner[parts]`: a number, a view where NumPy gives a view, else a gathered copy."""
    owner, parts = as_vectors(lo, owner, parts)
    result = lo.select(owner, parts)
    with_ellipsis = any(isinstance(p, Static) and p.value is Ellipsis for p in parts)
    if isinstance(result, View) and (result.rank or with_ellipsis) and (kept_as_item(lo, owner) or named_view(lo, owner)):
        give_memory(lo, owner)             # the view may be written, which the item has to see
        result = lo.select(owner, parts)
    if result.rank == 0 and not any(is_fancy(lo, p) for p in parts) and not with_ellipsis:
        return item_of(lo, result.element(lo, ()), owner)
    if result.rank == 0:
        return item_of(lo, result.element(lo, ()), owner) if isinstance(result, FancyRead) else \
            point_view(lo, owner, known_as(View, result))
    if isinstance(result, FancyRead) or isinstance(result, View) and not result.writable and not result.read_only:
        made = delayed(lo, result.shape, result.dtype, lambda lo, index: result.element(lo, index), (result,))
        made.view_of, made.boxed = None if isinstance(result, FancyRead) else result, result.boxed
        return made
    return result


def as_vectors(lo: Lowering, owner: Array, parts) -> tuple[Array, tuple]:
    """An array of rank 0 and a truth as its mask, as vectors of one element; any other array and subscript as they are."""
    if owner.rank or len(parts) != 1 or getattr(parts[0], "dtype", "") != "bool" or getattr(parts[0], "rank", 0):
        return owner, parts
    mask = known_as(Array, lo.call_static(np.reshape, [lo.array(parts[0]), Static(1)], {}))
    return View(owner, (ONE,), lambda lo, index: ()), (mask,)


def kept_as_item(lo: Lowering, owner: Array) -> bool:
    """Whether an expression without memory is an item of a list, dict or record."""
    return isinstance(owner, Delayed) and owner.forced is None and any(
        leaf is owner for frame in lo.frames for value in frame.env.values()
        if isinstance(held(value), (Sequence, Mapping, Record)) for leaf in leaves(value))


def named_view(lo: Lowering, owner: Array) -> bool:
    """Whether an array is a view of an expression without memory, and a name stands for it that is used again."""
    inner = expression(owner)
    return inner is not owner and isinstance(inner, Delayed) and inner.forced is None and any(
        isinstance(held(v), View) and expression(held(v)) is inner and frame.uses.get(name, 2) > 1
        for frame in lo.frames for name, v in frame.env.items())


def is_fancy(lo: Lowering, part) -> bool:
    return (isinstance(part, Array) and part.rank > 0) or (isinstance(part, Sequence) and part.kind is list) \
        or isinstance(part, GrowList) or isinstance(part, Series) and part.kind is list


def expand(lo: Lowering, owner: Array, parts) -> list:
    """Parts with the ellipsis written out, masks as arrays, one part an axis of the source or None for newaxis."""
    parts = [convert(lo, lo.array(p), "int64") if isinstance(p, Sequence) and not p.items else         # no places
             lo.array(p) if isinstance(p, (Sequence, GrowList, Series)) else p for p in parts]
    used = 0
    for p in parts:
        if isinstance(p, Static) and (p.value is None or p.value is Ellipsis):
            continue
        used += p.rank if isinstance(p, Array) and p.dtype == "bool" else 1
    if used > owner.rank:
        raise lo.error(MissingItem, f"too many indices for array: array is {owner.rank}-dimensional, but {used} "
                                     "were indexed")
    whole = Slice(None, None, None)
    out, seen = [], False
    for p in parts:
        if isinstance(p, Static) and p.value is Ellipsis:
            if seen:
                raise lo.error(MissingItem, "an index can only have a single ellipsis ('...')")
            seen = True
            out.extend([whole] * (owner.rank - used))
        else:
            out.append(p)
    if not seen:
        out.extend([whole] * (owner.rank - used))
    return out


def select(lo: Lowering, owner: Array, parts) -> Array:
    parts = expand(lo, owner, parts)
    arrays = [p for p in parts if isinstance(p, Array) and p.rank > 0]
    masks = [p for p in arrays if p.dtype == "bool"]
    if masks:
        parts = replace_masks(lo, owner, parts)
    if arrays:
        return select_fancy(lo, owner, parts, repeats=len(arrays) > 1 or not masks)
    return select_basic(lo, owner, parts)


def select_basic(lo: Lowering, owner: Array, parts) -> View:
    shape, maps, axis = [], [], 0
    leading = True
    prefix: list | None = []
    axes: list = []
    for p in parts:
        if isinstance(p, Static) and p.value is None:
            shape.append(ONE)
            maps.append(("new", None, None))
            axes.append(((), 1))
            leading, prefix = False, None
        elif isinstance(p, Slice):
            start, step, length = slice_bounds(lo, p, owner.shape[axis])
            if not (start == ZERO and step == ONE and length is owner.shape[axis]) and prefix is not None \
                    and not (start == ZERO and step == ONE and same_size(lo, length, owner.shape[axis])):
                prefix = None
            leading = False
            shape.append(length)
            maps.append(("slice", start, step))
            axes.append(((axis,), step.value))
            axis += 1
        else:
            position = place_along(lo, p, owner.shape[axis], axis)
            if leading and prefix is not None:
                prefix.append(position)
            else:
                prefix = None
            maps.append(("int", position, None))
            axis += 1

    def index_map(lo, index):
        out: list = []
        k = 0
        for kind, a, step in maps:
            if kind == "int":
                out.append(a)
                continue
            if kind == "slice":
                out.append(lo.b.isub(a, index[k]) if step == integer(-1) else lo.b.iadd(
                    a, lo.b.imul(index[k], step)))
            k += 1
        return tuple(out)
    made = View(owner, shape, index_map, tuple(prefix) if prefix is not None else None,
                writable=owner.has_memory, axes=axes)
    made.read_only = owner.read_only
    return made


# -- masks and integer arrays -----------------------------------------------------------------------------


# -- writing ----------------------------------------------------------------------------------------------
def key_to_store_at(lo: Lowering, owner: Array, slice_node, value: Value, stmt) -> Value:
    """The subscript of an array that is about to be written."""
    if owner.is_list and not getattr(owner, "writable", True):
        store_in_row(lo, owner, value)
    check_width(lo, owner, value)
    if owner.is_list and not getattr(owner, "writable", True):
        raise lo.error(UnsupportedSyntax, "an item of a list in a list is set at a place known only when the program "
                       "runs", "make the list an array, M = np.zeros((3, 3)) for one, and write M[i, j] = value",
                       node=stmt or lo.node)
    to_be_written(lo, owner)
    give_memory(lo, owner)
    return lo.eval(slice_node)


def store_subscript(lo: Lowering, owner: Array, key: Value, value: Value, function, stmt) -> None:
    """`owner[key] = value`, or `op=`."""
    key = list_index(lo, owner, key)
    if kind_of(owner) is tuple:
        raise lo.error(TypeConflict, "'tuple' object does not support item assignment", "use a list")
    owner, parts = as_vectors(lo, owner, index_parts(lo, key))
    if owner.is_list:
        check_row_write(lo, owner, parts)
    if owner.is_list and (function is None or owner.rank == 1 or len(kinds_in(owner)) > 1):
        value = into_list(lo, owner, parts, value, function)
    elif function is not None and len(parts) == 1 and is_mask(parts[0], owner) and is_number(value) and not may_be_empty(
            lo, parts[0]):
        return augment_masked(lo, owner, parts[0], function, value)
    if function is None and len(parts) == 1 and is_mask(parts[0], owner) and parts[0].rank == owner.rank and (
            rank := lo.array(value).rank) > 1:
        raise lo.error(TypeConflict, "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, input "
                       f"has {rank} dimensions", "flatten it: np.ravel(value)")
    target = lo.select(owner, parts)
    name = NAMES[function] if function is not None else ""
    lo.node = stmt or lo.node
    if isinstance(target, FancyRead):
        if name in ("add", "sub") and not target.view.repeats and lo.array(value).rank <= target.rank:
            lo.elementwise(name, target, value)         # which tells how shapes do not fit
            return augment(lo, target.view, function, value, stmt)
        return store_fancy(lo, target, value, name)
    if target.rank == 0:
        return store_number(lo, target, value, name)
    if function is None:
        before, lo.replacing = lo.replacing, owner.is_list and len(parts) == 1 and is_number(parts[0])
        try:
            return assign(lo, target, value)
        finally:
            lo.replacing = before
    return augment(lo, target, function, value, stmt)


def may_be_empty(lo: Lowering, mask: Array) -> bool:
    """Whether a mask may have no elements, where what it chooses from has some."""
    return lo.boundscheck in CAREFUL or ZERO in mask.shape


def is_mask(part, owner) -> bool:
    return isinstance(part, Array) and part.dtype == "bool" and 0 < part.rank <= owner.rank


def augment(lo: Lowering, target: Array, function, value, stmt) -> None:
    """`target op= value` in place, on all of an array."""
    if function is None:
        value = lo.call_static(np.matmul, [target, value], {})
        return assign(lo, target, value)
    if not target.rank:
        return augment_point(lo, target, function, value)
    name = NAMES[function]
    give_memory(lo, target)
    check_cast(lo, target, value, name)
    value = lo.array(value)
    check_output(lo, target, value)
    if name == "sub" and target.dtype != "bool":
        value = lo.elementwise("neg", value) if dtype_of(lo, value) != "bool" else value
        return accumulate(lo, target, value)
    if name == "add" and target.dtype != "bool":
        return accumulate(lo, target, value)
    assign(lo, target, value, op=name)


def accumulate(lo: Lowering, target, value):
    """`target += value`: needs no recording of what was there."""
    source = lo.array(value)
    if source.roots() & target.written() and not reads_own_elements(lo,
            target, broadcast_to(lo, source, target.shape) if source.rank <= target.rank else source):
        source = force(lo, source, copy=True)
        return assign(lo, target, source, accumulate=True)
    if source.roots() & target.written():
        return assign(lo, target, source, op="add")
    assign(lo, target, source, accumulate=True)
