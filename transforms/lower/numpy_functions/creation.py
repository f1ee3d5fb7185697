"""Arrays made from nothing or from their arguments: zeros, arange, eye, array, meshgrid, ..."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...language.build import ONE, ZERO, integer
from ...language.core import Const
from ...language.errors import ShapeMismatch, TypeConflict, UnsupportedSyntax
from ...language.ops import Narrow, exact, is_complex, promote
from ..arrays.broadcasting import as_array, broadcast_to, convert, scalar_array
from ..arrays.indexing import index_parts
from ..arrays.layout import copied_when_written, same_or_copy
from ..arrays.loop_nests import branch, nest
from ..arrays.memory import delayed, force, store_element
from ..arrays.points import fresh, make_point
from ..arrays.writing import assign
from ..checks import must, require, show_size
from ..containers.containers import items_of
from ..numbers.conversions import cast, common_dtype, dtype_of, is_weak, static_int
from ..numbers.integers import in_range, same_dtype
from ..numbers.kinds_on_paths import in_floats, may_be_integers
from ..numbers.overflow import WORD
from ..table import lowers
from ..values import ONLY_HERE, Array, Buffer, Scalar, Sequence, Slice, Static, View, is_number, known_as
from .reductions import absent, axes_of, is_true


def shape_argument(lo, shape) -> tuple:
    if is_number(shape):
        return (size_atom(lo, shape),)
    return tuple(size_atom(lo, s) for s in items_of(lo, shape))


def size_atom(lo, value, message="negative dimensions are not allowed"):
    atom = lo.atom(value)
    if atom.dtype != "int64":
        raise lo.error(TypeConflict, "'float' object cannot be interpreted as an integer", "convert it: int(n)")
    require(lo, atom, "ge", ZERO, "ValueError", message.replace("{}", show_size(lo, atom)))
    return atom


def constant(value, dtype: str) -> Const:
    made = {"bool": bool, "int64": int}.get(dtype, complex if is_complex(dtype) else float)(value)
    return Const(in_range(made, exact(dtype)) if type(dtype) is Narrow else made, dtype)


def filled(lo, shape, dtype, value):
    return Buffer(lo.b.alloc("v", dtype, shape, None if value is None else constant(value, dtype)))


@lowers(np.zeros)
def lower_zeros(lo, shape, dtype=None, order=None):
    return filled(lo, shape_argument(lo, shape), lo.dtype_argument(dtype, "float64"), 0)


@lowers(np.empty, np.ndarray)
def lower_empty(lo, shape, dtype=None, order=None):
    return filled(lo, shape_argument(lo, shape), lo.dtype_argument(dtype, "float64"), None)


@lowers(np.ones)
def lower_ones(lo, shape, dtype=None, order=None):
    return filled(lo, shape_argument(lo, shape), lo.dtype_argument(dtype, "float64"), 1)


@lowers(np.full)
def lower_full(lo, shape, fill_value, dtype=None, order=None):
    kind = lo.dtype_argument(dtype, dtype_of(lo, fill_value))
    target = filled(lo, shape_argument(lo, shape), kind, None)
    assign(lo, target, fill_value)
    if absent(dtype) and may_be_integers(lo, fill_value):
        lo.integers_by_path.add(target.arr)
    return target


def like(value):
    def lower(lo, x, dtype=None, order=None, subok=None, shape=None):
        a = lo.array(x)
        sizes = a.shape if absent(shape) else shape_argument(lo, shape)
        made = laid_like(lo, filled(lo, sizes, lo.dtype_argument(dtype, a.dtype), value), a, order)
        if absent(dtype) and may_be_integers(lo, a):
            lo.integers_by_path.add(made.arr)
        return made
    return lower


def laid_like(lo, made: Buffer, a, order) -> Buffer:
    """An array made with the shape of another one: its axes lie in NumPy's memory as the other one's do, or by `order`."""
    made.order = wanted_order(lo, order)
    made.made_of, made.elementwise = (a,), made.rank == a.rank
    return made


lowers(np.zeros_like)(like(0))
lowers(np.ones_like)(like(1))
lowers(np.empty_like)(like(None))


@lowers(np.full_like)
def lower_full_like(lo, x, fill_value, dtype=None, order=None):
    a = lo.array(x)
    target = laid_like(lo, filled(lo, a.shape, lo.dtype_argument(dtype, a.dtype), None), a, order)
    assign(lo, target, fill_value)
    return target


def wanted_order(lo, order) -> str | None:
    """An `order=` argument: "C", "F", or None for as it is."""
    if absent(order) or order.value in ("K", "k"):
        return None
    if order.value in ("C", "F", "c", "f"):
        return order.value.upper()
    raise lo.error(UnsupportedSyntax, f"order={order.value!r} depends on how an array lies in memory", "use 'C' or 'F'")


@lowers(np.copy)
def lower_copy(lo, a, order=None, subok=None):
    return lower_array(lo, a, order=order)


@lowers(np.array)
def lower_array(lo, x, dtype=None, order=None, copy=Static(True), ndmin=None, subok=None, like=None):
    if not is_true(copy) and isinstance(x, Array) and not x.is_list:
        return with_axes(lo, keep_asarray(lo, x, dtype, order, copy), ndmin)
    a = as_array(lo, x)
    kind = lo.dtype_argument(dtype, a.dtype)
    if not same_dtype(a.dtype, kind):
        a = convert(lo, a, kind) if a.rank else scalar_array(lo, convert(lo, Scalar(a.element(lo, ())), kind))
    if a.rank == 0:
        return with_axes(lo, lo.array(make_point(lo, a)), ndmin)
    made = force(lo, a, copy=True)
    made.order = wanted_order(lo, order)
    return with_axes(lo, made if absent(dtype) else in_floats(lo, made), ndmin)


def with_axes(lo, a, ndmin):
    """New first axes, up to a wanted number."""
    missing = 0 if absent(ndmin) else max(static_int(lo, ndmin, "ndmin") - a.rank, 0)
    return lo.select(a, [Static(None)] * missing + [Slice(None, None, None)] * a.rank) if missing else a


@lowers(np.asarray, np.asanyarray, *([np.asfarray] if hasattr(np, "asfarray") else []))
def keep_asarray(lo, x, dtype=None, order=None, copy=None, like=None):
    if isinstance(x, Scalar) and x.boxed and not is_true(copy):
        x = lo.array(x)
    if is_true(copy) or not isinstance(x, Array) or x.is_list:
        return lower_array(lo, x, dtype, order)
    kind = lo.dtype_argument(dtype, x.dtype)
    wanted = wanted_order(lo, order)
    if isinstance(copy, Static) and copy.value is False and (not same_dtype(x.dtype, kind) or wanted):
        raise lo.error(UnsupportedSyntax, "copy=False, which raises where a copy is needed, is not supported with a dtype "
                                          "or order", "use np.asarray without it")
    if not same_dtype(x.dtype, kind):
        made = convert(lo, x, kind)
        if isinstance(made, Array):
            made.order = wanted
        return made
    if not absent(dtype) and may_be_integers(lo, x):        # which is copied on one path, and taken as it is on the other
        made = fresh(lo, x)
        made.view_of = View(x, x.shape, lambda lo, index: index, writable=False)
        return in_floats(lo, made)
    return x if wanted is None else same_or_copy(lo, x, wanted)


@lowers(np.ascontiguousarray)
def lower_ascontiguousarray(lo, x, dtype=None, like=None):
    made = keep_asarray(lo, x, dtype, Static("C"))
    return made if made.rank else lo.select(made, [Static(None)])


@lowers(np.asfortranarray)
def lower_asfortranarray(lo, x, dtype=None, like=None):
    return keep_asarray(lo, x, dtype, Static("F"))


@lowers(np.require)
def lower_require(lo, a, dtype=None, requirements=None, like=None):
    wanted = set() if absent(requirements) else {requirements.value} if isinstance(requirements, Static) and isinstance(
        requirements.value, str) else {r.value for r in items_of(lo, requirements)}
    orders = {w[0].upper() for w in wanted} & {"C", "F"}
    if {w[0].upper() for w in wanted} - {"C", "F", "A"} or len(orders) > 1:
        raise lo.error(UnsupportedSyntax, "only the requirements 'C', 'F' and 'A' of np.require are supported",
                       "use x.copy()")
    return keep_asarray(lo, x=a, dtype=dtype, order=Static(orders.pop() if orders else None))


@lowers(np.eye)
def lower_eye(lo, n, m=None, k=None, dtype=None):
    rows = size_atom(lo, n)
    columns = rows if absent(m) else size_atom(lo, m)
    shift = ZERO if absent(k) else lo.atom(k, "int64")
    kind = lo.dtype_argument(dtype, "float64")
    def element(lo, index):
        hit = lo.b.compare("eq", lo.b.iadd(index[0], shift), index[1])
        return branch(lo, hit, lambda: constant(1, kind), lambda: constant(0, kind))
    return delayed(lo, (rows, columns), kind, element)


@lowers(np.identity)
def lower_identity(lo, n, dtype=None):
    return lower_eye(lo, n, dtype=dtype)


@lowers(np.arange)
def lower_arange(lo, *args, dtype=None):
    args, dtype = args[:3], args[3] if len(args) == 4 else dtype
    parts = {1: lambda: (Static(0), args[0], Static(1)), 2: lambda: (*args, Static(1)), 3: lambda: args}[len(args)]()
    kind = promote(*map(partial(dtype_of, lo), parts))
    if kind == "int64":
        start, stop, step = (lo.atom(p, "int64") for p in parts)
        check_step(lo, parts, start, stop, step)
        length = lo.range_length(start, stop, ONE if step == ZERO else step)       # which has raised
        result = delayed(lo, (length,), "int64", lambda lo, index: lo.b.iadd(start, lo.b.imul(index[0], step)))
    else:
        start, stop, step = (lo.atom(p, kind) for p in parts)
        check_step(lo, parts, start, stop, step)
        span = lo.operate("div", (lo.operate("sub", (stop, start), kind), step), kind)
        if not isinstance(span, Const) or not abs(span.value) < WORD:
            must(lo, lo.b.compare("eq", span, span), "ValueError", "arange: cannot compute length")
            must(lo, lo.b.compare("lt", lo.b.let("abs", span, dtype=kind), Const(WORD, kind)), "ValueError",
                 "Maximum allowed size exceeded")
        length = lo.b.imax(cast(lo, lo.operate("ceil", (span,), kind), "int64"), 0)
        result = delayed(lo, (length,), kind, lambda lo, index: lo.operate(
            "add", (start, lo.operate("mul", (cast(lo, index[0], kind), step), kind)), kind))
    target = lo.dtype_argument(dtype, result.dtype)
    return convert(lo, result, target)


def check_step(lo, parts, start, stop, step) -> None:
    """The step of `np.arange` is not 0: a division of Python's numbers, or of NumPy's, by it says how many there are."""
    b, zero = lo.b, Const(0, step.dtype)
    if isinstance(step, Const) and step.value or step.dtype == "int64" and b.facts.at_least(step, 1):
        return
    some = b.compare("ne", step, zero)
    if all(map(partial(is_weak, lo), parts)):
        must(lo, some, "ZeroDivisionError", "division by zero" if step.dtype == "int64" else "float division by zero")
    else:
        any_way = b.let("or", some, b.compare("eq", start, stop), dtype="bool")
        must(lo, any_way, "ValueError", "Maximum allowed size exceeded")
        must(lo, some, "ValueError", "arange: cannot compute length")


@lowers(np.linspace)
def lower_linspace(lo, start, stop, num=Static(50), endpoint=Static(True), dtype=None):
    count = size_atom(lo, num, "Number of samples, {}, must be non-negative.")
    kind = common_dtype(lo, (start, stop, Static(1.0)))
    a, z = lo.atom(start, kind), lo.atom(stop, kind)
    with_end = bool(endpoint.value)
    parts = lo.b.imax(lo.b.isub(count, 1 if with_end else 0), 1)
    step = lo.operate("div", (lo.operate("sub", (z, a), kind), cast(lo, parts, kind)), kind, "step")
    def element(lo, index):
        inside = lambda: lo.operate("add", (a, lo.operate("mul", (cast(lo, index[0], kind), step), kind)), kind)  # noqa: E731
        if not with_end or count == ONE:
            return inside()
        return branch(lo, lo.b.compare("eq", index[0], parts), lambda: z, inside)     # a single one is the start
    result = delayed(lo, (count,), kind, element)
    return convert(lo, result, lo.dtype_argument(dtype, kind))


@lowers(np.meshgrid)
def lower_meshgrid(lo, *xs, indexing=Static("xy"), sparse=None, copy=None):
    arrays = [a if a.rank == 1 else known_as(Array, lo.call_static(np.ravel, [a], {})) for a in map(lo.array, xs)]
    if copy is None or is_true(copy):
        arrays = [copied_when_written(lo, force(lo, a)) for a in arrays]
    else:
        arrays = [a if isinstance(a, View) else force(lo, a) for a in arrays]
    order = list(range(len(arrays)))
    if indexing.value == "xy" and len(arrays) > 1:
        order[0], order[1] = 1, 0
    shape: list = [None] * len(arrays)
    for k, a in enumerate(arrays):
        shape[order[k]] = a.shape[0]
    if is_true(sparse):
        shapes = [tuple(a.shape[0] if j == order[k] else ONE for j in range(len(arrays))) for k, a in enumerate(arrays)]
    else:
        shapes = [tuple(shape)] * len(arrays)
    kept = copy is None or is_true(copy)
    views = [grid_view(a, s, order[k]) for k, (a, s) in enumerate(zip(arrays, shapes, strict=True))]
    return Sequence(tuple(copied_when_written(lo, view) if kept else view for view in views),
                    type(np.meshgrid(0)))                   # a list before NumPy 2


def grid_view(a: Array, shape, axis: int) -> View:
    """A vector along one axis of a grid, which is not written here."""
    made = View(a, shape, lambda lo, index: (index[axis],), writable=False)
    made.read_only = ONLY_HERE
    return made


@lowers(np.indices)
def lower_indices(lo, shape):
    sizes = shape_argument(lo, shape)
    def element(lo, index):
        result = index[1]
        for k in range(1, len(sizes)):
            result = branch(lo, lo.b.compare("eq", index[0], integer(k)), lambda k=k: index[k + 1],
                            lambda r=result: r)
        return result
    return delayed(lo, (integer(len(sizes)), *sizes), "int64", element)


def grid_axes(lo, index):
    """The ranges of an index of np.mgrid or np.ogrid, as arrays."""
    axes = []
    for part in index_parts(lo, index):
        if not isinstance(part, Slice) or part.stop is None:
            raise lo.error(TypeConflict, "np.mgrid and np.ogrid are indexed with slices that have an end")
        start = Static(0) if part.start is None else part.start
        if isinstance(part.step, Static) and isinstance(part.step.value, complex):
            axes.append(lo.array(lo.call_static(points_between, [start, part.stop, Static(int(abs(part.step.value)))], {})))
            continue
        axes.append(lower_arange(lo, start, part.stop, Static(1) if part.step is None else part.step))
    return axes


def points_between(start, stop, count):
    """Both ends included, as NumPy computes them of an imaginary step."""
    return np.arange(count) * ((stop - start) / float(count - 1) if count != 1 else 1.0) + start


@lowers(np.mgrid)
def lower_mgrid(lo, index):
    axes = grid_axes(lo, index)
    if not isinstance(index, Sequence):
        return axes[0]
    kind = promote(*(a.dtype for a in axes))
    shape = tuple(a.shape[0] for a in axes)
    arr = lo.b.alloc("v", kind, (len(axes), *shape))
    for k, a in enumerate(axes):
        nest(lo, shape, lambda place, k=k, a=a: store_element(lo,
            arr, (integer(k), *place), cast(lo, a.element(lo, (place[k],)), kind)))
    return Buffer(arr)


@lowers(np.ogrid)
def lower_ogrid(lo, index):
    axes = grid_axes(lo, index)
    if not isinstance(index, Sequence):
        return axes[0]
    wide = [grid_view(a, tuple(a.shape[0] if j == k else ONE for j in range(len(axes))), k) for k, a in enumerate(axes)]
    return Sequence(tuple(wide), tuple)


@lowers(np.tri)
def lower_tri(lo, n, m=None, k=None, dtype=None):
    rows = lo.b.imax(lo.atom(n, "int64"), 0)            # of a negative number, NumPy makes none
    columns = rows if absent(m) else lo.b.imax(lo.atom(m, "int64"), 0)
    shift = ZERO if absent(k) else lo.atom(k, "int64")
    kind = lo.dtype_argument(dtype, "float64")
    def element(lo, index):
        inside = lo.b.compare("ge", lo.b.iadd(index[0], shift), index[1])
        return branch(lo, inside, lambda: constant(1, kind), lambda: constant(0, kind))
    return delayed(lo, (rows, columns), kind, element)


def triangle(keep):
    def lower(lo, x, k=None):
        a = lo.array(x)
        if a.rank == 1:
            a = broadcast_to(lo, a, (a.shape[0], a.shape[0]))
        elif not a.rank:
            raise lo.error(TypeConflict, "the triangle of a number is not defined", "give an array")
        shift = ZERO if absent(k) else lo.atom(k, "int64")
        def element(lo, index):
            inside = lo.b.compare(keep, lo.b.iadd(index[-2], shift), index[-1])
            return branch(lo, inside, lambda: a.element(lo, index), lambda: constant(0, a.dtype))
        return delayed(lo, a.shape, a.dtype, element, (a,))
    return lower


lowers(np.tril)(triangle("ge"))
lowers(np.triu)(triangle("le"))


@lowers(np.diagflat)
def lower_diagflat(lo, x, k=None):
    return lower_diag(lo, lo.call_static(np.ravel, [x], {}), k)


@lowers(np.diag)
def lower_diag(lo, x, k=None):
    a = lo.array(x)
    shift = 0 if absent(k) else static_int(lo, k, "the diagonal's offset")
    if a.rank == 2:
        return lower_diagonal(lo, a, Static(shift))
    if a.rank != 1:
        raise lo.error(ShapeMismatch, "Input must be 1- or 2-d.")
    n = lo.b.iadd(a.shape[0], abs(shift))
    down, right = max(-shift, 0), max(shift, 0)
    def element(lo, index):
        row = lo.b.isub(index[0], down)
        hit = lo.b.compare("eq", row, lo.b.isub(index[1], right))
        if down or right:
            hit = lo.b.let("and", hit, lo.b.compare("ge", row, ZERO), dtype="bool")
        return branch(lo, hit, lambda: a.element(lo, (row,)), lambda: constant(0, a.dtype))
    return delayed(lo, (n, n), a.dtype, element, (a,))


@lowers(np.diagonal)
def lower_diagonal(lo, x, offset=Static(0), axis1=Static(0), axis2=Static(1)):
    """The diagonals along a new last axis: a view that cannot be written."""
    made = diagonal_view(lo, x, offset, axis1, axis2)
    made.writable, made.read_only = False, True
    return made


def diagonal_view(lo, x, offset=Static(0), axis1=Static(0), axis2=Static(1)):
    a = lo.array(x)
    if a.rank < 2:
        raise lo.error(ShapeMismatch, "diag requires an array of at least two dimensions")
    shift = static_int(lo, offset, "the diagonal's offset")
    (row,), (column,) = axes_of(lo, axis1, a.rank), axes_of(lo, axis2, a.rank)
    if row == column:
        raise lo.error(ShapeMismatch, "axis1 and axis2 cannot be the same")
    down, right = max(-shift, 0), max(shift, 0)
    n = lo.b.imax(lo.b.imin(lo.b.isub(a.shape[row], down), lo.b.isub(a.shape[column], right)), 0)
    rest = [k for k in range(a.rank) if k not in (row, column)]

    def index_map(lo, index):
        out = [None] * a.rank
        for k, i in zip(rest, index[:-1], strict=True):
            out[k] = i
        out[row], out[column] = lo.b.iadd(index[-1], down), lo.b.iadd(index[-1], right)
        return tuple(out)
    return View(a, (*(a.shape[k] for k in rest), n), index_map, axes=[*(((k,), 1) for k in rest), ((row, column), 1)])


@lowers(np.fill_diagonal)
def lower_fill_diagonal(lo, x, value, wrap=None):
    if is_true(wrap):
        raise lo.error(UnsupportedSyntax, "np.fill_diagonal with wrap=True is not supported", "write it as a loop")
    if lo.array(x).rank != 2:
        raise lo.error(UnsupportedSyntax, "np.fill_diagonal of an array that is not a matrix is not supported",
                       "write it as a loop")
    assign(lo, diagonal_view(lo, x), value)
    return Static(None)
