"""Sums, products, extrema and cumulative forms, over all elements or along axes."""

from __future__ import annotations

import numpy as np

from ...language.build import ONE, ZERO
from ...language.core import FREELY, Atom, Const, Var
from ...language.errors import MissingAxis, ShapeMismatch, TypeConflict, UnsupportedSyntax, WrongKind
from ...language.ops import exact, is_inexact, normal_dtype, promote
from ..arrays.broadcasting import as_array, broadcast_into, convert, map_arrays, require_same, size_of
from ..arrays.loop_nests import branch, fold_nest, for_loop, nest
from ..arrays.memory import delayed, force, store_element
from ..arrays.writing import assign
from ..checks import fails, require
from ..numbers.conversions import as_value, cast, dtype_of, is_weak, static_int, truth
from ..numbers.integers import in_range
from ..numbers.kinds_on_paths import integers_or_floats, item_of, like_kind
from ..table import lowers
from ..values import Array, Buffer, Scalar, Sequence, Static, Value, View, as_tuple


def axes_of(lo, axis, rank: int) -> tuple[int, ...]:
    """A NumPy `axis` argument as sorted non-negative axes."""
    if axis is None or (isinstance(axis, Static) and axis.value is None):
        return tuple(range(rank))
    axis = as_tuple(axis)
    if isinstance(axis, Sequence):
        found = [static_int(lo, i, "axis") for i in axis.items]
    elif isinstance(axis, Static) and isinstance(axis.value, tuple):
        found = list(axis.value)
    else:
        found = [static_int(lo, axis, "axis")]
    out = [within(lo, a, rank) for a in found]
    if len(set(out)) != len(out):
        raise lo.error(ShapeMismatch, "duplicate value in 'axis'")
    return tuple(sorted(out))


def axis_of(lo, axis, rank: int, called: str = "") -> int:
    """One axis, counted from 0; called: what NumPy's errors call the argument."""
    return within(lo, static_int(lo, axis, "axis"), rank, f"{called}: " if called else "")


def within(lo, axis: int, rank: int, told: str = "") -> int:
    if not -rank <= axis < rank:
        raise lo.error(MissingAxis, f"{told}axis {axis} is out of bounds for array of dimension {rank}")
    return axis % rank


def axis_or_all(axis, rank: int):
    """`axis` of NumPy's functions in C: 0 and -1 of an array without axes stand for all of it."""
    return Static(None) if rank == 0 and isinstance(axis, Static) and axis.value in (0, -1) else axis


def is_true(value) -> bool:
    return isinstance(value, Static) and value.value is True


def absent(value) -> bool:
    return value is None or (isinstance(value, Static) and (value.value is None or value.value is np._NoValue))


def mask_of(lo, where, shape) -> Array:
    """The argument `where=`, of this shape: NumPy takes no arrays of numbers for truths there."""
    if isinstance(where, Array) and not where.is_list and where.dtype != "bool":
        raise lo.error(WrongKind, f"Cannot cast array data from dtype('{exact(where.dtype)}') to dtype('bool') according to "
                       "the rule 'safe'", "compare it: where=mask != 0")
    return broadcast_into(lo, lo.array(where), shape)


def reduce(lo, a: Array, axis, keepdims, start, dtype, step, hint="s", where=None):
    """Fold `step(lo, accumulator, element)` over axes; a number when none is left."""
    axes = axes_of(lo, axis_or_all(axis, a.rank), a.rank)
    rest = [k for k in range(a.rank) if k not in axes]
    mask = None if where is None else mask_of(lo, where, a.shape)

    def folded(outer_index):
        def at(inner):
            index = [None] * a.rank
            for k, i in zip(rest, outer_index, strict=True):
                index[k] = i
            for k, i in zip(axes, inner, strict=True):
                index[k] = i
            return tuple(index)
        def body(inner, carried):
            index = at(inner)
            if mask is None:
                return (step(lo, carried[0], a.element(lo, index)),)
            return (branch(lo, truth(lo, mask.element(lo, index)),
                           lambda: step(lo, carried[0], a.element(lo, index)), lambda: carried[0], hint),)
        return fold_nest(lo, tuple(a.shape[k] for k in axes), (start,), body, (hint,))[0]

    if not rest:
        result = item_of(lo, folded(()), a)
        if is_true(keepdims):
            atom = result.atom
            return like_kind(lo, delayed(lo, (ONE,) * a.rank, atom.dtype, lambda lo, index: atom, ()), a)
        return result
    shape = tuple(a.shape[k] for k in rest)
    if hint == "s" and start.dtype == dtype != "bool" and a.rank - 1 not in axes and where is None:
        arr = lo.b.alloc("v", dtype, shape, start)
        nest(lo, a.shape, lambda index: store_element(lo,
            arr, tuple(index[k] for k in rest), cast(lo, a.element(lo, index), dtype), accumulate=FREELY))
    else:
        arr = lo.b.alloc("v", dtype, shape)
        nest(lo, shape, lambda index: store_element(lo, arr, index, folded(index)))
    made = made_of_items(lo, arr, a)
    return with_kept_axes(lo, made, axes, a.rank) if is_true(keepdims) else made


def with_kept_axes(lo, result: Array, axes, rank):
    shape: list[Atom] = []
    k = 0
    for axis in range(rank):
        if axis in axes:
            shape.append(ONE)
        else:
            shape.append(result.shape[k])
            k += 1
    keep = [axis for axis in range(rank) if axis not in axes]
    return View(result, shape, lambda lo, index: tuple(index[axis] for axis in keep))


def source_of(lo, x, axis=None) -> Array:
    a = as_array(lo, x)
    return a


@lowers(np.sum)
def lower_sum(lo, x, axis=None, dtype=None, out=None, keepdims=None, initial=None, where=None):
    a = source_of(lo, x)
    kind = lo.dtype_argument(dtype, held_by(lo, summed(a.dtype), out))
    start = Const(0.0 if is_inexact(kind) else kind != "bool" and 0, kind)
    if not absent(initial):
        start = lo.atom(initial, kind)
    result = reduce(lo, a, axis, keepdims, start, kind,
                    lambda lo, s, v: lo.b.let("or", s, truth(lo, v), dtype="bool") if kind == "bool" else
                    lo.b.sum(s, cast(lo, v, kind), kind),
                    where=None if absent(where) else where)
    return into(lo, out, result, "unsafe")


def summed(dtype: str) -> str:
    """The dtype of NumPy's sums and products."""
    if dtype in ("int64", "bool"):
        return normal_dtype("uint64") if exact(dtype).startswith("uint") else "int64"
    return dtype


def held_by(lo, dtype: str, out) -> str:
    """The dtype of sums that go to `out`: the wider one, if that is its."""
    wide = dtype if absent(out) else lo.array(out).dtype
    return wide if np.can_cast(exact(dtype), exact(wide)) else dtype


def into(lo, out, result, casting="same_kind"):
    """The result, put into `out` where one is given; casting: the conversions of it that NumPy makes."""
    if absent(out):
        return result
    target, made = lo.array(out), lo.array(result)
    if not np.can_cast(exact(made.dtype), exact(target.dtype), casting):
        raise lo.error(WrongKind, f"Cannot cast array data from dtype('{exact(made.dtype)}') to "
                       f"dtype('{exact(target.dtype)}') according to the rule '{casting}'")
    if made.rank != target.rank:
        fails(lo, "ValueError", "output parameter has the wrong number of dimensions")
    else:
        for a, b in zip(made.shape, target.shape, strict=True):
            require_same(lo, a, b, "output parameter has the wrong shape")
    assign(lo, out, result)
    return out


@lowers(np.prod)
def lower_prod(lo, x, axis=None, dtype=None, out=None, keepdims=None, initial=None, where=None):
    a = source_of(lo, x)
    kind = lo.dtype_argument(dtype, held_by(lo, summed(a.dtype), out))
    start = Const(1.0 if is_inexact(kind) else 1, kind)
    if not absent(initial):
        start = lo.atom(initial, kind)
    result = reduce(lo, a, axis, keepdims, start, kind,
                    lambda lo, s, v: lo.b.let("mul", s, cast(lo, v, kind), dtype=kind, hint="p"), "p",
                    None if absent(where) else where)
    return into(lo, out, result, "unsafe")


@lowers(np.count_nonzero)
def lower_count(lo, x, axis=None, keepdims=None):
    a = source_of(lo, x)
    hits = map_arrays(lo, lambda lo, atoms: cast(lo, truth(lo, atoms[0]), "int64"), (a,), "int64")
    return lower_sum(lo, hits, axis, keepdims=keepdims)


@lowers(np.mean)
def lower_mean(lo, x, axis=None, dtype=None, out=None, keepdims=None, where=None):
    a = source_of(lo, x)
    kind = lo.dtype_argument(dtype, a.dtype if is_inexact(a.dtype) else "float64")
    if not is_inexact(kind):
        raise lo.error(TypeConflict, f"np.mean in {kind} is not supported", "take the mean, and convert it")
    axes = axes_of(lo, axis, a.rank)
    total = lower_sum(lo, convert(lo, a, kind), axis, keepdims=keepdims, where=where)
    if not absent(where):
        count = lower_sum(lo, force(lo, mask_of(lo, where, a.shape), copy=True), axis, keepdims=keepdims)
    else:
        count = as_value(lo, size_of(lo, [a.shape[k] for k in axes]))
    return into(lo, out, divide_as(lo, total, count, kind), "unsafe")


def divide_as(lo, total, count, kind):
    if isinstance(count, Array):
        return lo.elementwise("div", total, convert(lo, count, kind))
    atom = lo.atom(count, kind)
    return lo.elementwise("div", total, Scalar(atom))


def extremum_value(lo, x, axis, keepdims, name, empty=None):
    """The largest or smallest element, without its derivative."""
    a = source_of(lo, x)
    axes = axes_of(lo, axis_or_all(axis, a.rank), a.rank)
    for k in axes if not is_true(empty) else ():
        require(lo, a.shape[k], "ge", ONE, "ValueError",
                f"zero-size array to reduction operation {name} which has no identity")
    if a.dtype.startswith("float"):
        start = Const(float("-inf") if name == "maximum" else float("inf"), a.dtype)
    else:
        width = exact(a.dtype) if a.dtype == "int64" else "int64"
        bounds = np.iinfo(width)
        start = Const(in_range(int(bounds.min if name == "maximum" else bounds.max), width), a.dtype if a.dtype == "int64"
                      else "int64")
    kind = a.dtype if a.dtype != "bool" else "int64"
    return reduce(lo, a, axis, keepdims, start, kind,
                  lambda lo, m, v: lo.operate(name, (m, cast(lo, v, kind)), kind, hint="m"), "m")


def max_value(a, axis=None, keepdims=False, empty=False):
    """For definitions: NumPy's max without a derivative; `empty`: -inf where there are no elements, no error."""
    return np.max(a, axis=axis, keepdims=keepdims)


def min_value(a, axis=None, keepdims=False, empty=False):
    """For definitions: NumPy's min without a derivative; `empty`: inf where there are no elements, no error."""
    return np.min(a, axis=axis, keepdims=keepdims)


def known(value):
    """For definitions: `value` if it is settled before the program runs, else False."""
    return value


@lowers(known)
def lower_known(lo, value):
    if isinstance(value, Scalar) and isinstance(value.atom, Const):
        return Static(value.atom.value)
    return value if isinstance(value, Static) else Static(False)


def unsupported(what, hint):
    """For definitions: a form of a call that has no derivative here."""
    raise NotImplementedError(f"{what}: {hint}")


@lowers(unsupported)
def lower_unsupported(lo, what, hint):
    raise lo.error(UnsupportedSyntax, f"{what.value} is not supported", hint.value)


def with_derivative_of(value, surrogate):
    """For definitions: `value`, differentiated as if it were `surrogate` (equal in value, simpler to differentiate)."""
    return value


@lowers(max_value)
def lower_max_value(lo, x, axis=None, keepdims=None, empty=None):
    return extremum_value(lo, x, axis, keepdims, "maximum", empty)


@lowers(min_value)
def lower_min_value(lo, x, axis=None, keepdims=None, empty=None):
    return extremum_value(lo, x, axis, keepdims, "minimum", empty)


@lowers(with_derivative_of)
def lower_link(lo, value, surrogate):
    if not is_inexact(dtype_of(lo, value)):
        return value
    if not isinstance(value, Array):
        dtype = dtype_of(lo, value)
        one = Const(1.0, dtype)
        made: Value = Scalar(lo.b.let("link", lo.atom(value), one, lo.atom(surrogate, dtype), dtype=dtype),
                             is_weak(lo, value))
    else:
        made = map_arrays(lo, lambda lo, atoms: lo.b.let("link", atoms[0], Const(1.0, atoms[0].dtype), atoms[1],
                                                         dtype=atoms[0].dtype), (value, surrogate), value.dtype)
    return like_kind(lo, made, value)


def arg_into(lo, out, made):
    if not absent(out) and not np.can_cast(exact(lo.array(out).dtype), "int64"):
        raise lo.error(WrongKind, "Cannot cast the places of extrema to the dtype of `out`", "give an array of integers")
    return into(lo, out, made, "unsafe")


@lowers(np.argmax)
def lower_argmax(lo, x, axis=None, out=None, keepdims=None):
    return arg_into(lo, out, arg_kept(lo, x, axis, keepdims, arg_extremum(lo, x, axis, "gt")))


@lowers(np.argmin)
def lower_argmin(lo, x, axis=None, out=None, keepdims=None):
    return arg_into(lo, out, arg_kept(lo, x, axis, keepdims, arg_extremum(lo, x, axis, "lt")))


def arg_kept(lo, x, axis, keepdims, result):
    if not is_true(keepdims):
        return result
    rank = source_of(lo, x).rank
    return with_kept_axes(lo, lo.array(result), axes_of(lo, axis_or_all(axis, rank), rank), rank)


def arg_extremum(lo, x, axis, better):
    a = source_of(lo, x)
    axis = axis_or_all(axis, a.rank)
    for size in a.shape if absent(axis) else [a.shape[k] for k in axes_of(lo, axis, a.rank)]:
        require(lo, size, "ge", ONE, "ValueError",
                f"attempt to get arg{'max' if better == 'gt' else 'min'} of an empty sequence")
    if absent(axis):
        flat = lo.call_static(np.ravel, [a], {}) if a.rank != 1 else a
        return Scalar(arg_lane(lo, flat.shape[0], lambda i: flat.element(lo, (i,)), better, flat.dtype))
    (k,) = axes_of(lo, axis, a.rank)
    if a.rank == 1:
        return Scalar(arg_lane(lo, a.shape[0], lambda i: a.element(lo, (i,)), better, a.dtype))
    shape = (*a.shape[:k], *a.shape[k + 1:])
    arr = lo.b.alloc("v", "int64", shape)
    nest(lo, shape, lambda index: store_element(lo, arr, index, arg_lane(
        lo, a.shape[k], lambda i: a.element(lo, (*index[:k], i, *index[k:])), better, a.dtype)))
    return Buffer(arr)


def arg_lane(lo, size, element, better, dtype):
    first = element(ZERO)
    def body(i, carried):
        v = element(i)
        hit = lo.operate(better, (v, carried[0]), dtype)
        if dtype.startswith("float"):                   # the first nan is the extremum
            nan, whole = lo.b.compare("ne", v, v), lo.b.compare("eq", carried[0], carried[0])
            hit = lo.b.let("or", hit, lo.b.let("and", nan, whole, dtype="bool"), dtype="bool")
        best = branch(lo, hit, lambda: v, lambda: carried[0], "best")
        at = branch(lo, hit, lambda: i, lambda: carried[1], "at")
        return best, at
    _, at = for_loop(lo, ZERO, size, (first, ZERO), body, "i", ("best", "at"))
    if isinstance(at, Var):
        lo.b.facts.range[at] = (ZERO, lo.b.isub(size, 1))
    return at


@lowers(np.cumsum)
def lower_cumsum(lo, x, axis=None, dtype=None, out=None):
    return into(lo, out, cumulative(lo, x, axis, dtype, "add", out), "unsafe")


@lowers(np.cumprod)
def lower_cumprod(lo, x, axis=None, dtype=None, out=None):
    return into(lo, out, cumulative(lo, x, axis, dtype, "mul", out), "unsafe")


def cumulative(lo, x, axis, dtype, op, out=None):
    a = source_of(lo, x)
    axis = axis_or_all(axis, a.rank)
    if absent(axis):
        a = lo.call_static(np.ravel, [a], {}) if a.rank != 1 else a
        k = 0
    else:
        (k,) = axes_of(lo, axis, a.rank)
    kind = lo.dtype_argument(dtype, held_by(lo, summed(a.dtype), out))
    arr = lo.b.alloc("v", kind, a.shape)
    unit = 0 if op == "add" else 1
    start = Const(float(unit) if is_inexact(kind) else unit, kind)
    others = (*a.shape[:k], *a.shape[k + 1:])

    def lane(index):
        def body(i, carried):
            place = (*index[:k], i, *index[k:])
            s = lo.operate(op, (carried[0], cast(lo, a.element(lo, place), kind)), kind, "s")
            store_element(lo, arr, place, s)
            return (s,)
        for_loop(lo, ZERO, a.shape[k], (start,), body, "i", ("s",))
    nest(lo, others, lane)
    return made_of_items(lo, arr, a)


def made_of_items(lo, arr, *sources: Array) -> Buffer:
    """Memory that holds the elements of arrays, or their sums, products or extrema."""
    made = Buffer(arr)
    made.made_of = sources
    if arr.dtype.startswith("float") and integers_or_floats(lo, sources):
        lo.integers_by_path.add(arr)
    return made


__all__ = ["axes_of", "max_value", "min_value", "promote", "reduce", "unsupported", "with_derivative_of"]
