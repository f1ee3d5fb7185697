"""Methods of ufuncs: outer, reduce, accumulate, reduceat, at."""

from __future__ import annotations

import numpy as np

from ...language.build import ONE, ZERO
from ...language.errors import TypeConflict, UnsupportedSyntax
from ...language.ops import CALLABLES
from ..arrays.broadcasting import broadcast_into, convert
from ..arrays.indexing import index_parts
from ..arrays.loop_nests import branch, for_loop, nest
from ..arrays.memory import force, give_memory, store_element
from ..arrays.writing import COPY_IT, check_writable, to_be_written
from ..checks import require
from ..numbers.conversions import cast
from ..values import Buffer, FancyRead, Scalar, Slice, Static, Value
from .products import zero
from .reductions import absent, axes_of, into, is_true


def ufunc_method(lo, ufunc, name, args, kwargs):
    """np.add.at, np.multiply.outer, np.add.reduce, np.add.accumulate, np.add.reduceat."""
    args = list(args)
    if name == "outer":
        a, b = lo.array(args[0]), lo.array(args[1])
        wide = lo.select(a, [Slice(None, None, None)] * a.rank + [Static(None)] * b.rank)
        return lo.call_static(ufunc, [wide, b], kwargs)
    if name == "reduce":
        target = {np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min,
                  np.logical_and: np.all, np.logical_or: np.any}.get(ufunc)
        kwargs = {"axis": Static(0), **kwargs} if len(args) < 2 else kwargs
        return lo.call_static(target, args, kwargs) if target else fold(lo, ufunc, *args, **kwargs)
    if name == "accumulate":
        target = {np.add: np.cumsum, np.multiply: np.cumprod}.get(ufunc)
        if target is not None:
            kwargs = {"axis": Static(0), **kwargs} if len(args) < 2 else kwargs
            return lo.call_static(target, args, kwargs)
        return accumulate(lo, CALLABLES[ufunc], lo.array(args[0]), *args[1:], **kwargs)
    if name == "at" and len(args) <= 3 and not kwargs:
        if ufunc in (np.add, np.subtract):
            return add_at(lo, args[0], args[1], args[2], ufunc is np.subtract)
        return apply_at(lo, CALLABLES[ufunc], *args)
    if name == "reduceat" and ufunc is np.add:
        return lo.call_static(add_reduceat, args, kwargs)
    raise lo.error(UnsupportedSyntax, f"`np.{ufunc.__name__}.{name}` is not supported", "write it as a loop")


def lanes_first(lo, a, axis):
    """The array with one axis in front, and that axis."""
    k, = axes_of(lo, axis, a.rank)
    return (a if k == 0 else lo.call_static(np.moveaxis, [a, Static(k), Static(0)], {})), k


def accumulate(lo, op, a, axis=Static(0)):
    a, k = lanes_first(lo, a, axis)
    arr = lo.b.alloc("v", a.dtype, a.shape)

    def lane(index):
        def body(i, carried):
            v = a.element(lo, (i, *index))
            first = lo.b.compare("eq", i, ZERO)
            s = branch(lo, first, lambda: v, lambda: lo.operate(op, (carried[0], v), a.dtype), "s")
            store_element(lo, arr, (i, *index), s)
            return (s,)
        for_loop(lo, ZERO, a.shape[0], (zero(a.dtype),), body, "i", ("s",))
    nest(lo, a.shape[1:], lane)
    return lo.call_static(np.moveaxis, [Buffer(arr), Static(0), Static(k)], {})


def fold(lo, ufunc, x, axis=Static(0), dtype=None, out=None, keepdims=None, initial=None):
    """The elements of an axis combined from the first to the last; of none, what the ufunc has for that."""
    a, op = lo.array(x), CALLABLES[ufunc]
    if absent(axis):
        a, axis = lo.call_static(np.ravel, [a], {}), Static(0)
    if not absent(dtype):
        a = convert(lo, a, lo.dtype_argument(dtype))
    rank = a.rank
    a, k = lanes_first(lo, a, axis)
    start = None if absent(initial) else lo.atom(initial, a.dtype)
    if start is None and ufunc.identity is None:
        require(lo, a.shape[0], "ge", ONE, "ValueError",
                f"zero-size array to reduction operation {ufunc.__name__} which has no identity")

    def folded(index):
        def body(i, carried):
            v = a.element(lo, (i, *index))
            if start is not None:
                return (lo.operate(op, (carried[0], v), a.dtype),)
            first = lo.b.compare("eq", i, ZERO)
            return (branch(lo, first, lambda: v, lambda: lo.operate(op, (carried[0], v), a.dtype), "s"),)
        begin = start if start is not None else zero(a.dtype) if ufunc.identity is None else \
            lo.atom(Static(ufunc.identity), a.dtype)
        total, = for_loop(lo, ZERO, a.shape[0], (begin,), body, "i", ("s",))
        return total
    if rank == 1:
        result: Value = Scalar(folded(()))
    else:
        arr = lo.b.alloc("v", a.dtype, a.shape[1:])
        nest(lo, a.shape[1:], lambda index: store_element(lo, arr, index, folded(index)))
        result = Buffer(arr)
    if is_true(keepdims):
        result = lo.call_static(np.expand_dims, [result, Static(k)], {})
    return into(lo, out, result, "unsafe")


def add_reduceat(array, indices, axis=0):
    """Sums of the pieces between neighbouring indices; a single element where an index is not below the next."""
    first = np.moveaxis(np.asarray(array), axis, 0)
    places = np.asarray(indices)
    sums = np.zeros((places.shape[0], *first.shape[1:]), dtype=first.dtype)
    for k in range(places.shape[0]):
        stop = places[k + 1] if k + 1 < places.shape[0] else first.shape[0]
        sums[k] = first[places[k]]
        for i in range(places[k] + 1, stop):
            sums[k] += first[i]
    return np.moveaxis(sums, 0, axis)


def apply_at(lo, op, target, places, values=None):
    """`target[place] = op(target[place], value)`, one place after the other, so that repeated ones combine."""
    view, source = scattered(lo, target, places, values)

    def body(index):
        arr, place = view.place(lo, index)
        operands = (lo.b.load(arr, place),) if source is None else (
            lo.b.load(arr, place), cast(lo, source.element(lo, index if source.rank else ()), target.dtype))
        store_element(lo, arr, place, cast(lo, lo.operate(op, operands, target.dtype), target.dtype))
    nest(lo, view.shape, body)
    return Static(None)


def scattered(lo, target, places, values):
    """The view that integer arrays select, for writing, and the values broadcast to it."""
    to_be_written(lo, target)
    give_memory(lo, target)
    if target.read_only:                 # NumPy does not look
        raise lo.error(TypeConflict, "`at` of a ufunc writes to an array that is read-only", COPY_IT)
    view = lo.select(target, index_parts(lo, places))
    if isinstance(view, FancyRead):
        view = view.view
    for root in view.roots() & target.roots():
        check_writable(lo, root)
    if values is None:
        return view, None
    source = lo.array(values)
    if source.rank:
        source = broadcast_into(lo, source, view.shape, "array is not broadcastable to correct shape")
    if source.roots() & view.roots():
        source = force(lo, source, copy=True)
    return view, source


def add_at(lo, target, places, values, negative):
    view, source = scattered(lo, target, places, values)
    kind = target.dtype

    def body(index):
        v = cast(lo, source.element(lo, index if source.rank else ()), kind)
        if negative:
            v = lo.b.let("neg", v, dtype=kind)
        arr, place = view.place(lo, index)
        store_element(lo, arr, place, v, accumulate=True)
    nest(lo, view.shape, body)
    return Static(None)
