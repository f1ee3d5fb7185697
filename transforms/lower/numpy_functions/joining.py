"""Arrays made of several, or cut into several: concatenate, stack, block, split, tile, repeat."""

from __future__ import annotations

import numpy as np

from ...language.build import ONE, ZERO, integer, place_of
from ...language.core import Const
from ...language.errors import ShapeMismatch, TypeConflict, UnsupportedSyntax
from ...language.ops import promote
from ..arrays.broadcasting import convert, require_same, settle, size_of, unequal
from ..arrays.indexing import index_parts
from ..arrays.loop_nests import branch, for_loop, nest
from ..arrays.memory import delayed, force, store_element
from ..checks import require, require_that, show_size, sure_to_raise
from ..containers.containers import items_of
from ..numbers.conversions import as_value, cast, common_dtype, static_int
from ..numbers.kinds_on_paths import in_floats
from ..table import lowers
from ..values import Array, Buffer, GrowList, Sequence, Series, Slice, Static, is_number
from .creation import shape_argument
from .reductions import absent, axis_of, axis_or_all, into, made_of_items
from .shaping import atleast, lower_expand_dims, lower_ravel, permuted, ravel_any, reshaped


@lowers(np.concatenate)
def lower_concatenate(lo, xs, axis=Static(0), out=None, dtype=None):
    rows = rows_of(lo, xs)
    if rows is not None:
        k = 0 if absent(axis) else axis_of(lo, axis, rows.rank - 1)
        moved = permuted(lo, rows, [*range(1, k + 1), 0, *range(k + 1, rows.rank)])
        sizes = (*moved.shape[:k], lo.b.imul(moved.shape[k], moved.shape[k + 1]), *moved.shape[k + 2:])
        if absent(axis):
            sizes = (size_of(lo, rows.shape),)
        return into(lo, out, force(lo, reshaped(lo, moved, sizes), copy=True))
    arrays = [lo.array(x) for x in items_of(lo, xs)]
    if not arrays:
        raise lo.error(ShapeMismatch, "need at least one array to concatenate")
    if absent(axis):
        arrays = [lower_ravel(lo, a) for a in arrays]
        k = 0
    else:
        if any(a.rank == 0 for a in arrays):
            raise lo.error(ShapeMismatch, "zero-dimensional arrays cannot be concatenated")
        k = axis_of(lo, axis, arrays[0].rank)
    kind = lo.dtype_argument(dtype, promote(*(a.dtype for a in arrays)))
    for place, a in enumerate(arrays):
        if a.rank != arrays[0].rank:
            raise lo.error(ShapeMismatch, "all the input arrays must have same number of dimensions, but the array at index "
                           f"0 has {arrays[0].rank} dimension(s) and the array at index {place} has {a.rank} dimension(s)")
    offsets, total = [], ZERO
    shape = list(arrays[0].shape)
    for place, a in enumerate(arrays):
        offsets.append(total)
        total = lo.b.iadd(total, a.shape[k])
        for j in range(a.rank):
            if j != k:
                require_same(lo,
                    shape[j], a.shape[j], "all the input array dimensions except for the concatenation axis must match "
                    f"exactly, but along dimension {j}, the array at index 0 has size {show_size(lo, shape[j])} and the "
                    f"array at index {place} has size {show_size(lo, a.shape[j])}")
    shape[k] = total
    arr = lo.b.alloc("v", kind, shape)
    for a, offset in zip(arrays, offsets, strict=True):
        nest(lo, a.shape, lambda index, a=a, offset=offset: store_element(lo,
            arr, (*index[:k], lo.b.iadd(offset, index[k]), *index[k + 1:]), cast(lo, a.element(lo, index), kind)))
    made = made_of_items(lo, arr, *arrays)
    return into(lo, out, made if absent(dtype) else in_floats(lo, made))


def rows_of(lo, xs):
    """The rows that a loop appended to a list, or those of an array, as one array; None for items of known number."""
    if isinstance(xs, (GrowList, Array, Series)):
        return lo.array(xs)
    return None


@lowers(np.r_)
def lower_r(lo, index):
    def vector(a):
        return reshaped(lo, a, (ONE,)) if a.rank == 0 else a
    return lower_concatenate(lo, Sequence(tuple(parts_joined(lo, index, vector))))


@lowers(np.c_)
def lower_c(lo, index):
    def column(a):
        return reshaped(lo, a, (size_of(lo, a.shape), ONE)) if a.rank < 2 else a
    return lower_concatenate(lo, Sequence(tuple(parts_joined(lo, index, column))), Static(-1))


def parts_joined(lo, index, formed) -> list:
    """The arrays that np.r_ and np.c_ join: arrays, ranges for slices, and numbers, of which Python's own are weak."""
    made: list = []
    for part in index_parts(lo, index):
        if isinstance(part, Static) and isinstance(part.value, str):
            raise lo.error(UnsupportedSyntax, "np.r_ and np.c_ with directions as text are not supported",
                           "use np.concatenate or np.stack with axis=")
        made.append(range_of_slice(lo, part) if isinstance(part, Slice) else part)
    kind = common_dtype(lo, [p if is_number(p) else lo.array(p) for p in made])
    return [formed(lo.array(convert(lo, p, kind) if is_number(p) else p)) for p in made]


def range_of_slice(lo, part):
    """np.arange, or np.linspace where the step is imaginary: a count."""
    if part.stop is None:
        raise lo.error(TypeConflict, "a slice in np.r_ or np.c_ needs an end")
    start, step = part.start or Static(0), part.step or Static(1)
    if isinstance(step, Static) and isinstance(step.value, complex):
        return lo.call_static(np.linspace, [start, part.stop, Static(int(abs(step.value)))], {})
    return lo.call_static(np.arange, [start, part.stop, step], {})


UNLIKE = "all input arrays must have the same shape"


@lowers(np.stack)
def lower_stack(lo, xs, axis=Static(0), out=None, dtype=None):
    rows = rows_of(lo, xs)
    if rows is not None:
        k = axis_of(lo, axis, rows.rank)
        moved = permuted(lo, rows, [*range(1, k + 1), 0, *range(k + 1, rows.rank)])
        return into(lo, out, force(lo, moved, copy=True))
    arrays = [lo.array(x) for x in items_of(lo, xs)]
    for a in arrays:
        if a.rank != arrays[0].rank:
            raise lo.error(ShapeMismatch, UNLIKE)
        for m, n in zip(arrays[0].shape, a.shape, strict=True):
            require_same(lo, m, n, UNLIKE)
    k = axis_of(lo, axis, arrays[0].rank + 1)
    wide = [lower_expand_dims(lo, a, Static(k)) for a in arrays]
    return lower_concatenate(lo, Sequence(tuple(wide)), Static(k), out, dtype)


@lowers(np.hstack)
def lower_hstack(lo, xs):
    rows = rows_of(lo, xs)
    if rows is not None:
        return lower_concatenate(lo, rows, Static(0 if rows.rank <= 2 else 1)) if rows.rank > 1 else rows
    arrays = [atleast(1)(lo, x) for x in items_of(lo, xs)]
    return lower_concatenate(lo, Sequence(tuple(arrays)), Static(0 if arrays[0].rank == 1 else 1))


@lowers(np.vstack, *([np.row_stack] if "row_stack" in np.__dict__ else []))
def lower_vstack(lo, xs):
    rows = rows_of(lo, xs)
    if rows is not None:
        if rows.rank > 2:
            return lower_concatenate(lo, rows, Static(0))
        return lower_expand_dims(lo, rows, Static(1)) if rows.rank == 1 else lower_stack(lo, rows)
    return lower_concatenate(lo, Sequence(tuple(atleast(2)(lo, x) for x in items_of(lo, xs))), Static(0))


@lowers(np.dstack)
def lower_dstack(lo, xs):
    return lower_concatenate(lo, Sequence(tuple(atleast(3)(lo, x) for x in items_of(lo, xs))), Static(2))


@lowers(np.column_stack)
def lower_column_stack(lo, xs):
    rows = rows_of(lo, xs)
    if rows is not None:
        if rows.rank == 1:                              # each number is a column
            return lower_expand_dims(lo, rows, Static(0))
        return lower_stack(lo, rows, Static(1)) if rows.rank == 2 else lower_concatenate(lo, rows, Static(1))
    columns = []
    for x in items_of(lo, xs):
        a = lo.array(x)
        if a.rank == 0:
            a = lower_expand_dims(lo, a, Static(0))
        columns.append(lower_expand_dims(lo, a, Static(1)) if a.rank == 1 else a)
    return lower_concatenate(lo, Sequence(tuple(columns)), Static(1))


@lowers(np.append)
def lower_append(lo, x, values, axis=None):
    return lower_concatenate(lo, Sequence((lo.array(x), lo.array(values))
                                          if not absent(axis) else
                                          (ravel_any(lo, lo.array(x)), ravel_any(lo, lo.array(values)))),
                             Static(0) if absent(axis) else axis)


@lowers(np.split)
def lower_split(lo, x, sections, axis=Static(0)):
    a = lo.array(x)
    k = axis_of(lo, axis, a.rank)
    if is_number(sections):
        n = static_int(lo, sections, "the number of sections")
        if n == 0:
            raise sure_to_raise(lo, ZeroDivisionError("integer modulo by zero"))
        require(lo, integer(n), "ge", ONE, "ValueError", "number sections must be larger than 0.")
        part = lo.b.let("floordiv", a.shape[k], integer(n), dtype="int64")
        require_same(lo, lo.b.imul(part, n), a.shape[k], "array split does not result in an equal division")
        return pieces(lo, a, k, [lo.b.imul(part, j) for j in range(n)] + [a.shape[k]])
    return pieces(lo, a, k, [ZERO, *(lo.atom(i) for i in items_of(lo, sections)), a.shape[k]])


@lowers(np.array_split)
def lower_array_split(lo, x, sections, axis=Static(0)):
    """The first pieces are longer by one where the division leaves a rest."""
    if not is_number(sections):
        return lower_split(lo, x, sections, axis)
    a = lo.array(x)
    k = axis_of(lo, axis, a.rank)
    n = static_int(lo, sections, "the number of sections")
    require(lo, integer(n), "ge", ONE, "ValueError", "number sections must be larger than 0.")
    part = lo.b.let("floordiv", a.shape[k], integer(n), dtype="int64")
    rest = lo.b.let("mod", a.shape[k], integer(n), dtype="int64")
    return pieces(lo, a, k, [lo.b.iadd(lo.b.imul(part, j), lo.b.imin(rest, j)) for j in range(n)] + [a.shape[k]])


def pieces(lo, a, k, bounds):
    parts = []
    for low, high in zip(bounds, bounds[1:], strict=False):
        cut = Slice(as_value(lo, low), as_value(lo, high), None)
        parts.append(lo.index_array(a, [cut if j == k else Slice(None, None, None) for j in range(a.rank)]))
    return Sequence(tuple(parts), list)


lowers(np.vsplit)(lambda lo, x, sections: lower_split(lo, x, sections, Static(0)))
lowers(np.hsplit)(lambda lo, x, sections: lower_split(lo, x, sections, Static(0 if lo.array(x).rank == 1 else 1)))
lowers(np.dsplit)(lambda lo, x, sections: lower_split(lo, x, sections, Static(2)))


@lowers(np.block)
def lower_block(lo, arrays):
    """Nested lists: the innermost along the last axis, each level outside along the axis before."""
    def depth(value):
        return 1 + max((depth(i) for i in items_of(lo, value)), default=0) if is_nest(value) else 0

    def ranks(value):
        return max(map(ranks, items_of(lo, value))) if is_nest(value) else lo.array(value).rank
    levels = depth(arrays)
    rank = max(levels, ranks(arrays))

    def join(value, level):
        if level == levels:
            a = lo.array(value)
            missing = [Static(None)] * (rank - a.rank)
            return lo.index_array(a, missing + [Slice(None, None, None)] * a.rank) if missing else a
        parts = Sequence(tuple(join(i, level + 1) for i in items_of(lo, value)))
        return lower_concatenate(lo, parts, Static(rank - levels + level))
    return join(arrays, 0)


def is_nest(value):
    return isinstance(value, Sequence) and value.kind is list


@lowers(np.resize)
def lower_resize(lo, a, new_shape):
    """The elements in order, from the start again where there are too few; zeros where there are none."""
    flat = ravel_any(lo, settle(lo, lo.array(a)))
    shape = shape_argument(lo, new_shape)

    def element(lo, index):
        place = place_of(lo.b, index, shape)
        size = flat.shape[0]
        again = lambda: flat.element(lo, (lo.b.let("mod", place, size, dtype="int64"),))  # noqa: E731
        if lo.b.facts.at_least(size, 1):
            return again()
        return branch(lo, lo.b.compare("eq", size, ZERO), lambda: cast(lo, ZERO, flat.dtype), again)
    return delayed(lo, shape, flat.dtype, element, (flat,))


@lowers(np.tile)
def lower_tile(lo, x, reps):
    a = settle(lo, lo.array(x))
    counts = [reps] if is_number(reps) else items_of(lo, reps)
    counts = [lo.atom(count) for count in counts]
    counts = [ONE] * (a.rank - len(counts)) + counts
    if len(counts) > a.rank:
        a = lo.select(a, [Static(None)] * (len(counts) - a.rank) + [Slice(None, None, None)] * a.rank)
    shape = tuple(lo.b.imul(c, s) for c, s in zip(counts, a.shape, strict=True))
    for c, size in zip(counts, shape, strict=True):
        require_not_negative(lo, c, size)
    def element(lo, index):
        out = []
        for i, c, s in zip(index, counts, a.shape, strict=True):
            j = i if c == ONE else (ZERO if s == ONE else lo.b.let("mod", i, s, dtype="int64"))
            out.append(j)
        return a.element(lo, tuple(out))
    return delayed(lo, shape, a.dtype, element, (a,))


@lowers(np.repeat)
def lower_repeat(lo, x, repeats, axis=None):
    a = settle(lo, lo.array(x))
    axis = axis_or_all(axis, a.rank)
    if absent(axis):
        a = ravel_any(lo, a)
        k = 0
    else:
        k = axis_of(lo, axis, a.rank)
    if not is_number(repeats):
        counts = force(lo, lo.array(repeats))
        places = repeat_places(lo, counts, a.shape[k])
        parts = [places if j == k else Slice(None, None, None) for j in range(a.rank)]
        return lo.index_array(a, tuple(parts))
    n = lo.atom(repeats)
    if n.dtype != "int64":
        raise lo.error(TypeConflict, "repeats must be integers", "convert it: int(n)")
    shape = (*a.shape[:k], lo.b.imul(a.shape[k], n), *a.shape[k + 1:])
    require_not_negative(lo, n, shape[k])
    return delayed(lo, shape, a.dtype, lambda lo, index: a.element(lo, (
        *index[:k], lo.b.let("floordiv", index[k], n, dtype="int64"), *index[k + 1:])), (a,))


def require_not_negative(lo, count, size) -> None:
    """A negative number of copies is an error, if they are of anything. size: of all the copies."""
    if isinstance(count, Const) or not lo.b.facts.at_least(count):
        require(lo, size, "ge", ZERO, "ValueError", "negative dimensions are not allowed")


def repeat_places(lo, counts, size):
    require_same(lo, counts.shape[0], size, "operands could not be broadcast together: np.repeat of another number of items",
                 tells=unequal(lo))
    nest(lo, counts.shape, lambda i: require_that(lo,
        lo.b.compare("ge", counts.element(lo, i), ZERO), "ValueError", "repeats may not contain negative values."))
    total = lo.atom(lo.call_static(np.sum, [counts], {}))
    arr = lo.b.alloc("v", "int64", (total,))
    def outer(i, carried):
        stop = lo.b.iadd(carried[0], counts.element(lo, (i,)))
        def inner(j, _):
            lo.b.store(arr, (j,), i)
            return ()
        for_loop(lo, carried[0], stop, (), inner, "j")
        return (stop,)
    for_loop(lo, ZERO, counts.shape[0], (ZERO,), outer, "i", ("place",))
    return Buffer(arr)
