"""Sorting and selecting: a permutation is found without a derivative, then elements are gathered with one."""

from __future__ import annotations

import numpy as np

from ...language.build import ONE, ZERO, integer
from ...language.core import Const, Ref, Var
from ...language.errors import ShapeMismatch, TypeConflict
from ...language.ops import exact, is_complex, promote
from ..arrays.arrays import UNINDEXED, as_ref
from ..arrays.broadcasting import broadcast_shapes, broadcast_to, convert, require_same, size_of
from ..arrays.fancy import within
from ..arrays.loop_nests import branch, fold_nest, for_loop, nest
from ..arrays.memory import delayed, force, store_element
from ..arrays.slices import wrapped
from ..arrays.writing import hold_indices
from ..checks import require, require_that, show_size
from ..containers.containers import items_of
from ..numbers.conversions import as_value, cast, dtype_of
from ..table import lowers
from ..values import Array, Buffer, Delayed, Range, Scalar, Slice, Static, View, as_range, is_number, known_as
from .products import library_call
from .reductions import absent, axes_of, axis_or_all, into


@lowers(np.argsort)
def lower_argsort(lo, x, axis=Static(-1), kind=None, order=None, stable=None):
    return ordered(lo, "argsort", x, axis)


def ordered(lo, op: str, x, axis, *places) -> Array:
    """The indices by which a library call orders the elements along an axis."""
    a = lo.array(x)
    if exact(a.dtype) == "uint64":              # in the order of int64, once the first bit is turned
        a = lo.array(lo.elementwise("bitxor", convert(lo, a, "int64"), Static(-2 ** 63)))
    axis = axis_or_all(axis, a.rank)
    if absent(axis):
        a, k = lo.call_static(np.ravel, [a], {}), 0
    else:
        (k,) = axes_of(lo, axis, a.rank)
    if a.rank == 1:
        result = library_call(lo, op, a.shape, "int64", a, *places)
        hold_indices(lo, result.arr, a.shape[0])
        return result
    if k != a.rank - 1:
        moved = lo.call_static(np.moveaxis, [a, Static(k), Static(-1)], {})
        found = ordered(lo, op, force(lo, moved, copy=True), Static(-1), *places)
        return lo.call_static(np.moveaxis, [found, Static(-1), Static(k)], {})
    source = as_ref(lo, force(lo, a)).array
    more = tuple(as_ref(lo, p) for p in places)
    arr = lo.b.alloc("order", "int64", a.shape)
    lane = lo.b.alloc("lane", "int64", (a.shape[-1],))
    def row(index):
        lo.b.call((lane,), op, (Ref(source, index), *more), ())
        lo.b.forget(lane)
        def copy(i, _):
            store_element(lo, arr, (*index, i), lo.b.load(lane, (i,)))
            return ()
        for_loop(lo, ZERO, a.shape[-1], (), copy, "j")
    nest(lo, a.shape[:-1], row)
    hold_indices(lo, arr, a.shape[-1])
    return Buffer(arr)


@lowers(np.sort)
def lower_sort(lo, x, axis=Static(-1), kind=None, order=None, stable=None):
    a = lo.array(x)
    a = force(lo, a) if isinstance(a, Delayed) else a
    if absent(axis):
        a = lo.call_static(np.ravel, [a], {})
        axis = Static(-1)
    axes_of(lo, axis, a.rank)
    return lower_take_along_axis(lo, a, lower_argsort(lo, a, axis), axis)


def places_of(lo, kth) -> Array:
    """The places at which to part an array, in memory."""
    places = lo.call_static(np.ravel, [kth], {})
    if places.dtype != "int64":
        raise lo.error(TypeConflict, "Partition index must be integer", "give integers: int(k)")
    if isinstance(kth, Array):
        return force(lo, places)
    known = [lo.atom(place, "int64") for place in ([kth] if is_number(kth) else items_of(lo, kth))]
    arr = lo.b.alloc("places", "int64", (integer(len(known)),))
    for k, atom in enumerate(known):
        store_element(lo, arr, (integer(k),), atom)
    return Buffer(arr)


def check_places(lo, places: Array, x, axis) -> None:
    """They lie in the array, or it is empty."""
    a = lo.array(x)
    size = size_of(lo, a.shape) if absent(axis) else a.shape[axes_of(lo, axis, a.rank)[0]]

    def check(index):
        atom = places.element(lo, index)
        for op, bound, told in (("ge", lo.b.isub(ZERO, size), lo.b.iadd(atom, size)), ("lt", size, atom)):
            inside = lo.b.let("or", lo.b.compare(op, atom, bound), lo.b.compare("eq", size, ZERO), dtype="bool")
            require_that(lo, inside, "ValueError", f"kth(={show_size(lo, told)}) out of bounds ({show_size(lo, size)})")
    nest(lo, places.shape, check)


@lowers(np.partition)
def lower_partition(lo, x, kth, axis=Static(-1), kind=None, order=None):
    a = lo.array(x)
    a = force(lo, a) if isinstance(a, Delayed) else a
    if absent(axis):
        a, axis = lo.call_static(np.ravel, [a], {}), Static(-1)
    return lower_take_along_axis(lo, a, lower_argpartition(lo, a, kth, axis), axis)


@lowers(np.argpartition)
def lower_argpartition(lo, x, kth, axis=Static(-1), kind=None, order=None):
    axis = axis_or_all(axis, lo.array(x).rank)
    places = places_of(lo, kth)
    check_places(lo, places, x, axis)
    return ordered(lo, "argpartition", x, axis, places)


def order_at(x, places):
    """`np.argpartition` along the last axis, for definitions: the places are sure to lie in the array."""
    return np.argpartition(x, places, axis=-1)


@lowers(order_at)
def lower_order_at(lo, x, places):
    return ordered(lo, "argpartition", x, Static(-1), places_of(lo, places))


@lowers(np.take_along_axis)
def lower_take_along_axis(lo, x, indices, axis=Static(-1)):
    a, places = lo.array(x), lo.array(indices)
    if isinstance(places, Delayed):
        places = force(lo, places)
    (k,) = axes_of(lo, axis, a.rank)
    size = a.shape[k]
    if places.rank != a.rank:
        raise lo.error(ShapeMismatch, "`indices` and `arr` must have the same number of dimensions")
    around = broadcast_shapes(lo, [(*x.shape[:k], ONE, *x.shape[k + 1:]) for x in (a, places)], UNINDEXED, "IndexError")
    a = broadcast_to(lo, a, (*around[:k], size, *around[k + 1:]))
    places = broadcast_to(lo, places, (*around[:k], places.shape[k], *around[k + 1:]))
    known = within(lo, places, size)
    def index_map(lo, index):
        i = places.element(lo, index)
        return (*index[:k], i if known else wrapped(lo, i, size), *index[k + 1:])
    picked = View(a, places.shape, index_map, writable=False)
    return delayed(lo, places.shape, a.dtype, lambda lo, index: picked.element(lo, index), (a, places))


@lowers(np.take)
def lower_take(lo, x, indices, axis=None, out=None, mode=None):
    a, indices = lo.array(x), lo.array(indices) if isinstance(as_range(indices), Range) else indices
    axis = axis_or_all(axis, a.rank)
    if absent(axis):
        a, k = (lo.call_static(np.ravel, [a], {}) if a.rank != 1 else a), 0
    else:
        (k,) = axes_of(lo, axis, a.rank)
    if not absent(mode) and mode.value != "raise":
        size = as_value(lo, a.shape[k])
        if mode.value not in ("wrap", "clip"):
            raise lo.error(ShapeMismatch, f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode.value!r})")
        if mode.value == "wrap":
            indices = lo.elementwise("mod", indices, size)
        else:
            indices = lo.elementwise("maximum", lo.elementwise("minimum", indices, lo.elementwise(
                "sub", size, Static(1))), Static(0))
    parts = [indices if j == k else Slice(None, None, None) for j in range(a.rank)]
    if ZERO in a.shape[:k]:      # nothing is taken, and no place looked at
        taken = () if is_number(indices) else lo.array(indices).shape
        shape = (*a.shape[:k], *taken, *a.shape[k + 1:])
        return into(lo, out, delayed(lo, shape, a.dtype, lambda lo, index: Const(0, a.dtype), ()), "unsafe")
    return into(lo, out, lo.index_array(a, tuple(parts)), "unsafe")


def vector(lo, x) -> Array:
    """An array of one axis, which NumPy needs here."""
    a = lo.array(x)
    if a.rank != 1:
        raise lo.error(ShapeMismatch, f"object {'of too small depth' if a.rank < 1 else 'too deep'} for desired array",
                       "give an array of one axis")
    return a


@lowers(np.searchsorted)
def lower_searchsorted(lo, a, v, side=Static("left"), sorter=None):
    edges = vector(lo, a)
    if not isinstance(side, Static) or side.value not in ("left", "right"):
        raise lo.error(ShapeMismatch, "search side must be 'left' or 'right'", "write it as a string where it is given")
    if not absent(sorter):
        edges = lo.index_array(edges, (sorter,))
    kind = promote(edges.dtype, dtype_of(lo, v if is_number(v) else lo.array(v)))
    if is_complex(kind):
        raise lo.error(TypeConflict, "np.searchsorted of complex numbers is not supported", "search their absolute values")
    kind = "int64" if kind == "bool" else kind
    edges = force(lo, edges)
    n = edges.shape[0]
    compare = "lt" if side.value == "left" else "le"
    steps = halvings(lo, n)

    def find(lo, value):
        def search(holds):
            return bisect(lo, n, steps, lambda place: holds(cast(lo, edges.element(lo, (place,)), kind)))
        at = search(lambda edge: lo.operate(compare, (edge, value), kind))
        if kind.startswith("float"):                # nan is sorted behind all numbers, and beside the other nans
            at = branch(lo, lo.b.compare("ne", value, value), lambda: n if side.value == "right" else search(
                lambda edge: lo.b.compare("eq", edge, edge)), lambda: at)
        if isinstance(at, Var):
            lo.b.facts.range[at] = (ZERO, n)
        return at
    if not isinstance(v, Array) or v.rank == 0:
        return Scalar(find(lo, lo.atom(v, kind)))
    arr = lo.b.alloc("v", "int64", v.shape)
    nest(lo, v.shape, lambda index: store_element(lo, arr, index, find(lo, cast(lo, v.element(lo, index), kind))))
    return Buffer(arr)


def halvings(lo, size):
    """How often a number of places can be halved, the greater half kept, until one is left."""
    if isinstance(size, Const):
        return integer(max(size.value - 1, 0).bit_length())
    digits = lo.b.let("log2", cast(lo, lo.b.imax(size, 1), "float64"), dtype="float64")
    return cast(lo, lo.b.let("ceil", digits, dtype="float64", hint="steps"), "int64")


def bisect(lo, size, steps, holds):
    """How many of `size` places hold, where none does after one that does not. steps: `halvings` of the size.

    Each step halves what is left, without a branch that could not be foreseen. Source: P.-V. Khuong and P. Morin, Array
    layouts for comparison-based searching, ACM Journal of Experimental Algorithmics 22, 2017, section 2.1.
    """
    def chosen(holds, k):
        return branch(lo, holds, lambda: k, lambda: ZERO)

    def step(_, carried):
        place, left = carried
        half = lo.b.let("rshift", left, ONE, dtype="int64", hint="half")
        return lo.b.iadd(place, chosen(holds(lo.b.iadd(place, half)), half)), lo.b.isub(left, half)

    def search():
        place, _ = for_loop(lo, ZERO, steps, (ZERO, size), step, "step", ("place", "left"))
        return lo.b.iadd(place, chosen(holds(place), ONE))
    return branch(lo, lo.b.compare("gt", size, ZERO), search, lambda: ZERO)


@lowers(np.bincount)
def lower_bincount(lo, x, weights=None, minlength=Static(0)):
    places: Array = force(lo, vector(lo, x))
    if places.dtype not in ("int64", "bool"):
        raise lo.error(TypeConflict, f"Cannot cast array data from {places.dtype} to int64 according to the rule 'safe'",
                       "give integers: x.astype(int)")
    places = known_as(Array, convert(lo, places, "int64"))
    require(lo, lo.atom(minlength, "int64"), "ge", ZERO, "ValueError", "'minlength' must not be negative")
    if not absent(weights):
        require_same(lo, places.shape[0], vector(lo, weights).shape[0], "The weights and list don't have the same length.")
    nest(lo, places.shape, lambda index: require_that(lo, lo.b.compare("ge", places.element(lo, index), ZERO), "ValueError",
                                                      "'list' argument must have no negative elements"))
    largest, = fold_nest(lo, places.shape, (integer(-1),), lambda index, m: (
        lo.b.imax(m[0], places.element(lo, index)),), ("largest",))
    size = lo.b.imax(lo.b.iadd(largest, 1), lo.atom(minlength, "int64"))
    if not isinstance(size, Const):
        lo.b.facts.nonnegative.add(size)
    if absent(weights):
        arr = lo.b.alloc("v", "int64", (size,), ZERO)
        nest(lo, places.shape, lambda index: store_element(lo, arr, (places.element(lo, index),), ONE, accumulate=True))
        return Buffer(arr)
    w = lo.array(weights)
    kind = "float64"
    arr = lo.b.alloc("v", kind, (size,), Const(0.0, kind))
    nest(lo, places.shape, lambda index: store_element(lo,
        arr, (places.element(lo, index),), cast(lo, w.element(lo, index), kind), accumulate=True))
    return Buffer(arr)
