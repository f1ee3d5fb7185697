"""Functions that rearrange elements: most are index maps and cost nothing."""

from __future__ import annotations

import numpy as np

from ...language.build import ONE, ZERO, integer
from ...language.core import Const
from ...language.errors import ShapeMismatch, TypeConflict, UnsupportedSyntax
from ..arrays.broadcasting import as_array, broadcast_shapes, broadcast_to, require_same, same_size, size_of
from ..arrays.layout import copied, note_assumed, owns_memory, range_of_axes, reshaped_strides, same_or_copy, uncertain_copy
from ..arrays.loop_nests import branch
from ..arrays.memory import delayed, force
from ..arrays.points import point_view
from ..arrays.slices import UNPROVEN, check_size
from ..checks import guard_builder, guarded, must, require, show_shape
from ..containers.containers import items_of
from ..numbers.conversions import as_value
from ..syntax.catching import catches
from ..table import lowers
from ..values import ONLY_HERE, Array, Scalar, Sequence, Slice, Static, Transposed, View, is_number, known_as
from .creation import shape_argument
from .reductions import absent, axes_of, axis_of, axis_or_all, is_true
from .sizes import resolve


@lowers(np.reshape)
def lower_reshape(lo, x, *shape, order=None, newshape=None, copy=None):
    a = lo.array(x)
    if newshape is not None:
        shape = (newshape,)
    if len(shape) == 2 and isinstance(shape[-1], Static) and isinstance(shape[-1].value, str):
        order, shape = shape[-1], shape[:1]
    wanted = shape_atoms(lo, shape[0]) if len(shape) == 1 else [lo.atom(s) for s in shape]
    sizes = resolve(lo, a, wanted)
    made = transposed(reshaped(lo, transposed(a), sizes[::-1])) if columns_first(lo, order) else reshaped(lo, a, sizes)
    return copied(lo, made) if not absent(copy) and is_true(copy) else made


def transposed(a: Array) -> Array:
    return Transposed(a) if a.rank > 1 else a


def columns_first(lo, order) -> bool:
    """Whether an `order` argument asks for Fortran's order of the elements."""
    if absent(order) or order.value == "C":
        return False
    if order.value == "F":
        return True
    raise lo.error(UnsupportedSyntax, f"order={order.value!r} depends on how an array lies in memory", "use 'C' or 'F'")


def shape_atoms(lo, shape):
    if is_number(shape):
        return [lo.atom(shape)]
    return [lo.atom(s) for s in items_of(lo, shape)]


def reshaped(lo, a: Array, shape) -> Array:
    """A view of another shape where NumPy gives one, else a copy."""
    if len(shape) == a.rank and all(same_size(lo, p, q) for p, q in zip(shape, a.shape, strict=True)):
        return same_elements(a)
    given, (found, laid) = a, reshaped_strides(lo, a, shape)
    if not found and owns_memory(lo, a):
        a, laid = force(lo, a, copy=True) if found is False else uncertain_copy(lo, a), None
    made = reindexed(lo, a, shape, laid)
    return made if found is None else note_assumed(lo, given, made)


def reindexed(lo, a: Array, shape, laid=None) -> View:
    """The elements in C order as an array of another shape, on the same memory."""
    new, old = [k for k, s in enumerate(shape) if s != ONE], [k for k, s in enumerate(a.shape) if s != ONE]
    head = []
    while new and old and same_size(lo, shape[new[0]], a.shape[old[0]]):
        head.append((new.pop(0), old.pop(0)))
    tail = []
    while new and old and same_size(lo, shape[new[-1]], a.shape[old[-1]]):
        tail.append((new.pop(), old.pop()))

    def index_map(lo, index):
        out = [ZERO] * a.rank
        for n, o in (*head, *tail):
            out[o] = index[n]
        flat = ZERO
        for n in new:
            flat = lo.b.iadd(lo.b.imul(flat, shape[n]), index[n])
        for position, o in reversed(list(enumerate(old))):
            if position == 0:
                out[o] = flat
                if old:
                    mark(lo, flat, a.shape[o])
            else:
                out[o] = lo.b.let("mod", flat, a.shape[o], dtype="int64")
                mark(lo, out[o], a.shape[o])
                flat = lo.b.let("floordiv", flat, a.shape[o], dtype="int64")
        return tuple(out)
    made = View(a, shape, index_map, laid=laid)
    made.read_only = a.read_only
    made.writable = not made.read_only
    return made


def same_elements(a: Array) -> View:
    """Another array object on the same memory."""
    made = View(a, a.shape, lambda lo, index: index, prefix=(), axes=range_of_axes(a.rank))
    made.read_only = a.read_only
    made.writable = not made.read_only
    return made


def mark(lo, atom, size):
    """An index known to be in range by construction."""
    if not isinstance(atom, Const) and atom in lo.b.facts.definition:
        lo.b.facts.range.setdefault(atom, (ZERO, lo.b.isub(size, 1)))


@lowers(np.ravel)
def lower_ravel(lo, x, order=None):
    a = as_array(lo, x)
    if columns_first(lo, order):
        a = transposed(a)
    a = same_or_copy(lo, a, "C")
    return same_elements(a) if a.rank == 1 else reshaped(lo, a, (size_of(lo, a.shape),))


def flat(lo, a: Array) -> View:
    """`a.flat`: writing it writes the array, slices of it are copies."""
    made = same_elements(a) if a.rank == 1 else reindexed(lo, a, (size_of(lo, a.shape),))
    made.is_flat, made.made_in = True, (lo.around, len(lo.around.loops))
    return made


@lowers(np.lib.stride_tricks.sliding_window_view)
def lower_sliding_window_view(lo, x, window_shape, axis=None, subok=None, writeable=None):
    """Windows along new last axes: a view that cannot be written."""
    if is_true(writeable):
        raise lo.error(UnsupportedSyntax, "writing through overlapping windows is not supported", "write to the array")
    a = lo.array(x)
    sizes = [lo.atom(s, "int64") for s in ([window_shape] if is_number(window_shape) else items_of(lo, window_shape))]
    axes = list(range(a.rank)) if absent(axis) else [axis_of(lo, k, a.rank) for k in (
        [axis] if is_number(axis) else items_of(lo, axis))]
    if len(sizes) != len(axes):
        raise lo.error(ShapeMismatch, "Must provide window_shape for all dimensions of `x`, or as many as axes")
    shape = list(a.shape)
    for k, size in zip(axes, sizes, strict=True):
        require(lo, size, "ge", ZERO, "ValueError", "`window_shape` cannot contain negative values")
        require(lo, shape[k], "ge", size, "ValueError", "window shape cannot be larger than input array shape")
        shape[k] = lo.b.iadd(lo.b.isub(shape[k], size), 1)

    def index_map(lo, index):
        out = list(index[:a.rank])
        for k, i in zip(axes, index[a.rank:], strict=True):
            out[k] = lo.b.iadd(out[k], i)
        return tuple(out)
    made = View(a, (*shape, *sizes), index_map, writable=False, axes=[*range_of_axes(a.rank), *(((k,), 1) for k in axes)])
    made.read_only = True
    return made


@lowers(np.transpose)
def lower_transpose(lo, x, *order, axes=None):
    a = lo.array(x)
    axes = order if axes is None else (axes,)
    if len(axes) == 1 and not is_number(axes[0]):
        axes = () if absent(axes[0]) else items_of(lo, axes[0])
    if not axes:
        return Transposed(a) if a.rank > 1 else same_elements(a)
    return permuted(lo, a, [axis_of(lo, k, a.rank) for k in axes])


def permuted(lo, a, order):
    if sorted(order) != list(range(a.rank)):
        raise lo.error(ShapeMismatch, "axes don't match array")
    if order == list(range(a.rank)):
        return a
    if order == list(range(a.rank))[::-1]:
        return Transposed(a)
    inverse = [order.index(k) for k in range(a.rank)]
    made = View(a, tuple(a.shape[k] for k in order), lambda lo, index: tuple(index[inverse[k]] for k in range(a.rank)),
                axes=[((k,), 1) for k in order])
    made.read_only = a.read_only
    return made


@lowers(np.swapaxes)
def lower_swapaxes(lo, x, axis1, axis2):
    a = lo.array(x)
    i, j = axis_of(lo, axis1, a.rank, "axis1"), axis_of(lo, axis2, a.rank, "axis2")
    order = list(range(a.rank))
    order[i], order[j] = order[j], order[i]
    return permuted(lo, a, order)


@lowers(np.moveaxis)
def lower_moveaxis(lo, x, source, destination):
    a = lo.array(x)
    src, dst = ([axis_of(lo, i, a.rank, called) for i in ([v] if is_number(v) else items_of(lo, v))]
                for v, called in ((source, "source"), (destination, "destination")))
    if len(src) != len(dst) or len(set(src)) != len(src) or len(set(dst)) != len(dst):
        raise lo.error(ShapeMismatch, "np.moveaxis takes as many destinations as sources, each axis once")
    order = [k for k in range(a.rank) if k not in src]
    for d, s in sorted(zip(dst, src, strict=True)):
        order.insert(d, s)
    return permuted(lo, a, order)


NOT_SQUEEZED = "np.squeeze of an axis whose length may be 1: name the axes, axis=..."


@lowers(np.squeeze)
def lower_squeeze(lo, x, axis=None):
    a = lo.array(x)
    if absent(axis):
        drop = [k for k, s in enumerate(a.shape) if s != ZERO and at_most_one(lo, s)]
        for k, size in enumerate(a.shape):
            if size != ONE and not lo.b.facts.at_least(size, 2):
                must(lo, lo.b.compare("eq" if k in drop else "ne", size, ONE), "ValueError", NOT_SQUEEZED)
        if a.rank and not drop:                     # NumPy gives the array itself
            return a
    else:
        drop = list(axes_of(lo, axis_or_all(axis, a.rank), a.rank))
        for k in drop:
            require_same(lo, a.shape[k], ONE, "cannot select an axis to squeeze out which has size not equal to one")
    keep = [k for k in range(a.rank) if k not in drop]
    if not keep and a.rank:
        return point_view(lo, a, View(a, (), lambda lo, index: (ZERO,) * a.rank))
    if not keep:
        return Scalar(a.element(lo, ()))
    def index_map(lo, index):
        out = [ZERO] * a.rank
        for k, i in zip(keep, index, strict=True):
            out[k] = i
        return tuple(out)
    made = View(a, tuple(a.shape[k] for k in keep), index_map, axes=[((k,), 1) for k in keep])
    made.read_only = a.read_only
    return made


def at_most_one(lo, size) -> bool:
    op, args = lo.b.facts.definition.get(size, ("", ()))
    return lo.b.facts.at_most(size, ONE) or op == "max" and all(at_most_one(lo, a) for a in args)


@lowers(np.expand_dims)
def lower_expand_dims(lo, x, axis):
    a = lo.array(x)
    count = 1 if is_number(axis) else len(items_of(lo, axis))
    new = axes_of(lo, axis, a.rank + count)
    parts = []
    for k in range(a.rank + count):
        parts.append(Static(None) if k in new else Slice(None, None, None))
    return lo.index_array(a, parts)


def atleast(rank):
    def lower(lo, *xs):
        out = []
        for x in xs:
            a = lo.array(x)
            parts = {1: [Static(None)], 2: [Static(None)] * (2 - a.rank) + [Slice(None, None, None)] * a.rank}.get(rank)
            if rank == 3:
                parts = {0: [Static(None)] * 3, 1: [Static(None), Slice(None, None, None), Static(None)],
                         2: [Slice(None, None, None)] * 2 + [Static(None)]}.get(a.rank)
            out.append(a if a.rank >= rank else lo.index_array(a, parts))
        return out[0] if len(out) == 1 else Sequence(tuple(out))
    return lower


lowers(np.atleast_1d)(atleast(1))
lowers(np.atleast_2d)(atleast(2))
lowers(np.atleast_3d)(atleast(3))


@lowers(np.broadcast_to)
def lower_broadcast_to(lo, x, shape):
    a = lo.array(x)
    sizes = shape_argument(lo, shape)
    joined = broadcast_shapes(lo, (a.shape, sizes))
    if len(joined) != len(sizes):
        raise lo.error(ShapeMismatch, f"could not broadcast from shape {show_shape(lo, a.shape)} to {show_shape(lo, sizes)}")
    for old, new in zip(joined, sizes, strict=True):
        require_same(lo, old, new, f"could not broadcast from shape {show_shape(lo, a.shape)} to {show_shape(lo, sizes)}")
    made = broadcast_to(lo, a, sizes)
    made = same_elements(a) if made is a else known_as(View, made)
    made.read_only, made.writable = True, False
    return made


@lowers(np.broadcast_arrays)
def lower_broadcast_arrays(lo, *xs):
    arrays = [lo.array(x) for x in xs]
    shape = broadcast_shapes(lo, [a.shape for a in arrays])
    made = [broadcast_to(lo, a, shape) for a in arrays]
    for view, a in zip(made, arrays, strict=True):
        if isinstance(view, View) and view is not a:
            view.read_only, view.writable = ONLY_HERE, False    # NumPy warns of such writes
    return Sequence(tuple(made))


@lowers(np.flip)
def lower_flip(lo, m, axis=None):
    a = lo.array(m)
    axes = axes_of(lo, axis, a.rank)
    back = Slice(None, None, Static(-1))
    return lo.index_array(a, [back if k in axes else Slice(None, None, None) for k in range(a.rank)])


lowers(np.flipud)(lambda lo, m: lower_flip(lo, m, Static(0)))
lowers(np.fliplr)(lambda lo, m: lower_flip(lo, m, Static(1)))


def ravel_any(lo, a):
    return atleast(1)(lo, a) if a.rank == 0 else lower_ravel(lo, a)


@lowers(np.roll)
def lower_roll(lo, x, shift, axis=None):
    a = lo.array(x)
    shifts = [shift] if is_number(shift) else items_of(lo, shift)
    if absent(axis):
        flat = lower_ravel(lo, a)
        for s in shifts:
            flat = roll_axis(lo, flat, whole(lo, s), 0)
        return reshaped(lo, force(lo, flat), a.shape)
    axes = [axis] if is_number(axis) else items_of(lo, axis)
    count = len(axes) if len(shifts) == 1 else len(shifts)
    if len(axes) not in (1, count):
        raise lo.error(ShapeMismatch, "shape mismatch: shifts and axes cannot be broadcast to a single shape")
    axes, shifts = [*axes] * (count // len(axes)), [*shifts] * (count // len(shifts))
    for s, k in zip(shifts, axes, strict=True):
        a = roll_axis(lo, a, whole(lo, s), axis_of(lo, k, a.rank))
    return a


def whole(lo, shift):
    """A shift as NumPy takes it: int(shift)."""
    return lo.atom(lo.call_static(int, [shift], {}))


def roll_axis(lo, a, shift, k):
    """`a` with axis k moved: a place has what stood `shift` before it, or that and a whole turn further."""
    size = a.shape[k]
    if isinstance(shift, Const) and longer(lo, size, abs(shift.value)):
        by = abs(shift.value)
        gap = lo.b.isub(size, integer(by))
        ahead, edge = (integer(by), gap) if shift.value < 0 else (gap, integer(by))
    else:
        b = lo.b
        back = b.let("neg", shift, dtype="int64") if not isinstance(shift, Const) else integer(-shift.value)
        ahead = b.let("mod", back, b.imax(size, 1), dtype="int64")
        edge = b.isub(size, ahead)

    def element(lo, index):
        def at(i):
            return a.element(lo, (*index[:k], i, *index[k + 1:]))
        moved = lo.b.iadd(index[k], ahead)
        inside = lo.b.compare("lt", index[k], edge)
        return branch(lo, inside, lambda: at(moved), lambda: at(lo.b.isub(index[k], edge)))
    return delayed(lo, a.shape, a.dtype, element, (a,))


def longer(lo, size, by: int) -> bool:
    """Whether an axis is longer than a number; a check outside the loops makes sure, but in the program run if it fails."""
    if not by or isinstance(size, Const) or lo.boundscheck is not True or catches(lo, IndexError):
        return not by or isinstance(size, Const) and size.value > by
    if size in lo.sizes:
        check_size(lo, size, by + 1, UNPROVEN)
        return True
    b = guard_builder(lo, size)
    ok = b.compare("gt", size, integer(by))
    if not guarded(lo, ok):
        lo.learnt.guarded.add((ok, b))
        b.start_again_unless(ok, "IndexError", UNPROVEN, lo.b.loc)
    return True


COMPUTED_PADS = ("linear_ramp", "mean", "maximum", "minimum")


def pad_by_axes(x, widths, mode, values, ends):
    """np.pad with what is computed, or differs by axis and side; the rules define it."""
    return np.pad(x, widths, mode, **({"end_values": ends} if mode == "linear_ramp" else
                                      {"constant_values": values} if mode == "constant" else {}))


@lowers(np.pad)
def lower_pad(lo, x, pad_width, mode=Static("constant"), constant_values=Static(0.0), end_values=Static(0.0)):
    a = lo.array(x)
    widths = pad_widths(lo, pad_width, a.rank)
    for width in (w for pair in widths for w in pair):
        require(lo, width, "ge", ZERO, "ValueError", "index can't contain negative values")
    kind = mode.value
    if kind in COMPUTED_PADS and a.dtype in ("float64", "float32") or kind == "constant" and not is_number(constant_values):
        pairs = Sequence(tuple(Sequence(tuple(as_value(lo, w) for w in pair)) for pair in widths))
        return lo.call_static(pad_by_axes, [a, pairs, mode, constant_values, end_values], {})
    if kind not in ("constant", "edge", "reflect", "wrap", "symmetric"):
        raise lo.error(UnsupportedSyntax, f"pad mode {kind!r} of {a.dtype} is not supported",
                       f"use constant, edge, reflect, symmetric or wrap, or of floats {', '.join(COMPUTED_PADS)}")
    shape = tuple(lo.b.iadd(lo.b.iadd(s, low), high) for s, (low, high) in zip(a.shape, widths, strict=True))
    for new, old in zip(shape, a.shape, strict=True) if kind != "constant" else ():
        require(lo, lo.b.imin(new, ONE), "le", old, "ValueError", "can't extend an empty axis in this mode")

    def element(lo, index):
        b = lo.b
        source, inside = [], None
        for i, s, (low, high) in zip(index, a.shape, widths, strict=True):
            j = b.isub(i, low)
            if low == ZERO and high == ZERO:
                source.append(j)
                continue
            last = b.isub(s, 1)
            if kind == "constant":
                ok = b.let("and", b.compare("ge", j, ZERO), b.compare("lt", j, s), dtype="bool")
                inside = ok if inside is None else b.let("and", inside, ok, dtype="bool")
            elif kind == "edge":
                j = b.imin(b.imax(j, 0), last)
            elif kind == "wrap":
                j = b.let("mod", j, s, dtype="int64")
            else:
                j = reflected(lo, j, last, int(kind == "symmetric"))
            source.append(j)
        if inside is None:
            return a.element(lo, tuple(source))
        return branch(lo, inside, lambda: a.element(lo, tuple(source)), lambda: lo.atom(constant_values, a.dtype))
    return delayed(lo, shape, a.dtype, element, (a,))


def reflected(lo, j, last, twice: int):
    """The element of 0..last that a subscript outside means, reflected at the ends, which come twice if `twice` is 1."""
    def often(lo):                                  # further out than the axis is long
        turn = lo.b.imax(lo.b.imul(lo.b.iadd(last, twice), 2), 1)
        j_turn = lo.b.let("mod", j, turn, dtype="int64")
        return lo.b.imin(j_turn, lo.b.isub(lo.b.isub(turn, twice), j_turn))

    def below():
        k = lo.b.isub(lo.b.imul(j, -1), twice)
        return branch(lo, lo.b.compare("gt", k, last), lambda: often(lo), lambda: k)

    def above():
        k = lo.b.isub(lo.b.iadd(lo.b.imul(last, 2), twice), j)
        return branch(lo, lo.b.compare("lt", k, ZERO), lambda: often(lo), lambda: k)
    return branch(lo, lo.b.compare("lt", j, ZERO), below, lambda: branch(lo,
        lo.b.compare("gt", j, last), above, lambda: j))


def pad_widths(lo, value, rank):
    if is_number(value):
        w = lo.atom(value)
        return [(w, w)] * rank
    items = items_of(lo, value)
    if not items or any(not is_number(i) and not items_of(lo, i) for i in items):
        raise lo.error(ShapeMismatch, "operands could not be broadcast together: pad_width has no items")
    if all(is_number(i) for i in items):
        pair = tuple(lo.atom(i) for i in items)
        return [pair if len(pair) == 2 else (pair[0], pair[0])] * rank
    pairs = [tuple(lo.atom(j) for j in items_of(lo, i)) for i in items]
    pairs = [p if len(p) == 2 else (p[0], p[0]) for p in pairs]
    if len(pairs) == 1:
        pairs = pairs * rank
    if len(pairs) != rank:
        raise lo.error(TypeConflict, "pad_width does not fit the array's rank")
    return pairs
