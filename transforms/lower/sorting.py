"""Sorting and selecting: a permutation is found without a derivative, then elements are gathered with one."""

from __future__ import annotations

import numpy as np

from ..build import integer
from ..core import Call, Const
from ..errors import UnsupportedSyntax
from .arrays import ONE, ZERO
from .indexing import Slice
from .products import library_call
from .reductions import absent, axes_of
from .table import lowers
from .values import Array, Buffer, Delayed, Scalar, Static, View


@lowers(np.argsort)
def lower_argsort(lo, x, axis=Static(-1), kind=None, order=None, stable=None):
    a = lo.array(x)
    if absent(axis):
        a, k = lo.call_static(np.ravel, [a], {}), 0
    else:
        (k,) = axes_of(lo, axis, a.rank)
    if a.rank == 1:
        result = library_call(lo, "argsort", a.shape, "int64", a)
        lo.index_bound[result.arr] = a.shape[0]
        return result
    if k != a.rank - 1:
        moved = lo.call_static(np.moveaxis, [a, Static(k), Static(-1)], {})
        return lo.call_static(np.moveaxis, [lower_argsort(lo, lo.force(moved, copy=True)), Static(-1), Static(k)], {})
    a = lo.force(a)
    arr = lo.b.alloc("order", "int64", a.shape)
    lane = lo.b.alloc("lane", "int64", (a.shape[-1],))
    from ..core import Ref
    def row(index):
        lo.b.add(Call((lane,), "argsort", (Ref(a.arr, index),), (), lo.b.loc))
        lo.b.forget(lane)
        def copy(i, _):
            lo.store_element(arr, (*index, i), lo.b.load(lane, (i,)))
            return ()
        lo.for_loop(ZERO, a.shape[-1], (), copy, "j")
    lo.nest(a.shape[:-1], row)
    lo.index_bound[arr] = a.shape[-1]
    return Buffer(arr)


@lowers(np.sort)
def lower_sort(lo, x, axis=Static(-1), kind=None, order=None, stable=None):
    a = lo.array(x)
    a = lo.force(a) if isinstance(a, Delayed) else a
    if absent(axis):
        a = lo.call_static(np.ravel, [a], {})
        axis = Static(-1)
    return lower_take_along_axis(lo, a, lower_argsort(lo, a, axis), axis)


@lowers(np.take_along_axis)
def lower_take_along_axis(lo, x, indices, axis=Static(-1)):
    a, places = lo.array(x), lo.array(indices)
    if isinstance(places, Delayed):
        places = lo.force(places)
    (k,) = axes_of(lo, axis, a.rank)
    size = a.shape[k]
    known = any(lo.index_bound.get(r) is size for r in places.roots())
    def index_map(lo, index):
        i = places.element(lo, index)
        return (*index[:k], i if known else lo.wrapped(i, size), *index[k + 1:])
    picked = View(a, places.shape, index_map, writable=False)
    return lo.delayed(places.shape, a.dtype, lambda lo, index: picked.element(lo, index), (a, places))


@lowers(np.take)
def lower_take(lo, x, indices, axis=None, out=None, mode=None):
    a = lo.array(x)
    if absent(axis):
        a, k = (lo.call_static(np.ravel, [a], {}) if a.rank > 1 else a), 0
    else:
        (k,) = axes_of(lo, axis, a.rank)
    parts = [indices if j == k else Slice(None, None, None) for j in range(a.rank)]
    return lo.index_array(a, tuple(parts))


@lowers(np.searchsorted)
def lower_searchsorted(lo, a, v, side=Static("left"), sorter=None):
    edges = lo.force(lo.array(a))
    n = edges.shape[0]
    compare = "lt" if side.value == "left" else "le"

    def find(lo, value):
        def body(i, carried):
            less = lo.operate(compare, (edges.element(lo, (i,)), value), edges.dtype)
            return (lo.b.iadd(carried[0], lo.branch(less, lambda: ONE, lambda: ZERO)),)
        at, = lo.for_loop(ZERO, n, (ZERO,), body, "i", ("place",))
        from ..core import Var
        if isinstance(at, Var):
            lo.b.facts.range[at] = (ZERO, n)
        return at
    if not isinstance(v, Array) or v.rank == 0:
        return Scalar(find(lo, lo.atom(v, edges.dtype)), True)
    arr = lo.b.alloc("v", "int64", v.shape)
    lo.nest(v.shape, lambda index: lo.store_element(arr, index, find(lo, lo.cast(v.element(lo, index), edges.dtype))))
    return Buffer(arr)


@lowers(np.bincount)
def lower_bincount(lo, x, weights=None, minlength=Static(0)):
    places = lo.force(lo.array(x))
    largest, = lo.fold_nest(places.shape, (integer(-1),), lambda index, m: (
        lo.b.imax(m[0], places.element(lo, index)),), ("largest",))
    size = lo.b.imax(lo.b.iadd(largest, 1), lo.atom(minlength, "int64"))
    if not isinstance(size, Const):
        lo.b.facts.nonnegative.add(size)
    if absent(weights):
        arr = lo.b.alloc("v", "int64", (size,), ZERO)
        lo.nest(places.shape, lambda index: lo.store_element(arr, (places.element(lo, index),), ONE, accumulate=True))
        return Buffer(arr)
    w = lo.array(weights)
    kind = w.dtype if w.dtype.startswith("float") else "float64"
    arr = lo.b.alloc("v", kind, (size,), Const(0.0, kind))
    lo.nest(places.shape, lambda index: lo.store_element(
        arr, (places.element(lo, index),), lo.cast(w.element(lo, index), kind), accumulate=True))
    return Buffer(arr)


def ufunc_method(lo, ufunc, name, args, kwargs):
    """np.add.at, np.multiply.outer, np.add.reduce, np.add.accumulate."""
    args = list(args)
    if name == "outer":
        a, b = lo.array(args[0]), lo.array(args[1])
        wide = lo.select(a, [Slice(None, None, None)] * a.rank + [Static(None)] * b.rank)
        return lo.call_static(ufunc, [wide, b], kwargs)
    if name == "reduce":
        target = {np.add: np.sum, np.multiply: np.prod, np.maximum: np.max, np.minimum: np.min,
                  np.logical_and: np.all, np.logical_or: np.any}.get(ufunc)
        if target is not None:
            kwargs = {"axis": Static(0), **kwargs} if len(args) < 2 else kwargs
            return lo.call_static(target, args, kwargs)
    if name == "accumulate":
        target = {np.add: np.cumsum, np.multiply: np.cumprod}.get(ufunc)
        if target is not None:
            kwargs = {"axis": Static(0), **kwargs} if len(args) < 2 else kwargs
            return lo.call_static(target, args, kwargs)
        from ..ops import CALLABLES
        return accumulate(lo, CALLABLES[ufunc], lo.array(args[0]))
    if name == "at" and ufunc in (np.add, np.subtract):
        return add_at(lo, args[0], args[1], args[2], ufunc is np.subtract)
    raise lo.error(UnsupportedSyntax, f"`np.{ufunc.__name__}.{name}` is not supported", "write it as a loop")


def accumulate(lo, op, a):
    arr = lo.b.alloc("v", a.dtype, a.shape)
    rest = a.shape[1:]
    def lane(index):
        def body(i, carried):
            place = (i, *index)
            first = lo.b.compare("eq", i, ZERO)
            v = a.element(lo, place)
            s = lo.branch(first, lambda: v, lambda: lo.operate(op, (carried[0], v), a.dtype), "s")
            lo.store_element(arr, place, s)
            return (s,)
        lo.for_loop(ZERO, a.shape[0], (Const(0.0, a.dtype) if a.dtype != "int64" else ZERO,), body, "i", ("s",))
    lo.nest(rest, lane)
    return Buffer(arr)


def add_at(lo, target, places, values, negative):
    from .indexing import FancyRead
    view = lo.select(target, lo.index_parts(places))
    if isinstance(view, FancyRead):
        view = view.view
    source = lo.broadcast_to(lo.array(values), view.shape) if lo.array(values).rank else lo.array(values)
    if source.roots() & view.roots():
        source = lo.force(source, copy=True)
    for root in view.roots() & target.roots():
        lo.check_writable(root)
    kind = target.dtype
    def body(index):
        v = lo.cast(source.element(lo, index if source.rank else ()), kind)
        if negative:
            v = lo.b.let("neg", v, dtype=kind)
        arr, place = view.place(lo, index)
        lo.store_element(arr, place, v, accumulate=True)
    lo.nest(view.shape, body)
    return Static(None)


__all__ = ["ufunc_method"]
