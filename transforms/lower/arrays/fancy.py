"""Subscripts by index arrays and masks: gathers and scatters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from ...language.build import ONE, ZERO
from ...language.core import Atom, Const
from ...language.errors import TypeConflict
from ..checks import check_output, require_that, show_size
from ..journal import dropped
from ..numbers.conversions import truth
from ..numbers.integer_operations import check_cast
from ..state import Lowering
from ..syntax.catching import catches
from ..table import NAMES
from ..values import Array, Buffer, Delayed, FancyRead, Slice, Static, View, is_number
from .arrays import UNINDEXED
from .broadcasting import broadcast_shapes, broadcast_to, same_size, size_of
from .layout import order_of
from .loop_nests import branch, fold_nest
from .memory import force
from .slices import in_range, place_along, require_mask_size, slice_bounds, wrapped
from .writing import are_written, assign, hold_indices, probe


class Picked(View):
    """The elements at places that arrays hold; whoever reads it reads these arrays too."""

    def __init__(self, owner: Array, shape, index_map, places: list[Array], repeats: bool):
        super().__init__(owner, shape, index_map)
        self.places = frozenset().union(*(p.roots() for p in places))
        self.repeats = repeats

    def roots(self):
        return super().roots() | self.places

    def written(self):
        return super().roots()


def replace_masks(lo: Lowering, owner, parts) -> list:
    """Boolean arrays become the integer arrays of the places where they are true."""
    out, axis = [], 0
    for p in parts:
        if isinstance(p, Array) and p.dtype == "bool" and p.rank:
            for k in range(p.rank):
                require_mask_size(lo, p.shape[k], owner.shape[axis + k], axis + k)
            out.extend(nonzero(lo, p))
            axis += p.rank
        else:
            out.append(p)
            axis += not (isinstance(p, Static) and p.value is None)
    return out


@dataclass(frozen=True, eq=False)
class Places:
    """Where a mask holds: the mask as it was written, and the arrays of indices that were made of it."""

    mask: Array
    found: list[Array]


def nonzero(lo: Lowering, mask: Array) -> list[Array]:
    """One integer array an axis: the indices where `mask` holds, in order. Those of the same mask are made once, unless the
    program writes them."""
    shared = not are_written(lo)
    for places in places_known(lo, mask) if shared else ():
        if same_elements(lo, places.mask, mask):
            return places.found
    written = mask
    if isinstance(mask, Delayed) and mask.forced is None:
        written = Delayed(mask.shape, mask.dtype, mask.function, mask.reads)
    mask = force(lo, mask) if not isinstance(mask, (Buffer, View)) else mask
    found = indices_of(lo, mask)
    loads = lo.b.last().loads
    for places in (Places(written, found), Places(mask, found)) if shared else ():
        for root in places.mask.roots():
            loads[root, PLACES] = (*loads.get((root, PLACES), ()), places)
    return found


PLACES = ("places",)                    # where a builder keeps them, beside what it has loaded: a write forgets both


def places_known(lo: Lowering, mask: Array) -> Iterator[Places]:
    """The places of masks of the same memory, none of which was written since."""
    roots = mask.roots()
    scope = lo.b.last() if roots else None
    while scope is not None:
        first, *others = (scope.loads.get((root, PLACES), ()) for root in roots)
        yield from (p for p in first if p.mask.roots() == roots and all(p in more for more in others))
        scope = None if scope.is_loop else scope.parent


def same_elements(lo: Lowering, a: Array, b: Array) -> bool:
    """Whether two arrays, read now, have the same elements."""
    if a is b or len(a.shape) != len(b.shape) or not all(map(partial(same_size, lo), a.shape, b.shape)):
        return a is b
    with dropped(lo, loop=True):
        index = probe(lo, a.rank)
        return a.element(lo, index) == b.element(lo, index)


def indices_of(lo: Lowering, mask: Array) -> list[Array]:
    """`nonzero` of a mask in memory, listed anew."""
    b = lo.b
    def count(index, carried):
        hit = branch(lo, truth(lo, mask.element(lo, index)), lambda: ONE, lambda: ZERO, "hit")
        return (lo.b.iadd(carried[0], hit),)
    total, = fold_nest(lo, mask.shape, (ZERO,), count, ("count",))
    if not isinstance(total, Const):
        b.facts.nonnegative.add(total)
        b.facts.range[total] = (ZERO, size_of(lo, mask.shape))
    places = [b.alloc(f"where_{k}", "int64", (total,)) for k in range(mask.rank)]
    def fill(index, carried):
        position = carried[0]
        def hit():
            for arr, i in zip(places, index, strict=True):
                lo.b.store(arr, (position,), i)
            return lo.b.iadd(position, 1)
        return (branch(lo, truth(lo, mask.element(lo, index)), hit, lambda: position, "count"),)
    fold_nest(lo, mask.shape, (ZERO,), fill, ("count",))
    found: list[Array] = []
    for k, arr in enumerate(places):
        buffer = Buffer(arr)
        hold_indices(lo, arr, mask.shape[k])
        found.append(buffer)
    return found


def select_fancy(lo: Lowering, owner: Array, parts, repeats: bool = True) -> Array:
    """The elements at the places that `parts` tell; repeats: whether one place may be told twice."""
    arrays = [(k, p) for k, p in enumerate(parts) if isinstance(p, Array) and p.rank > 0]
    numbers = [k for k, p in enumerate(parts) if is_number(p) or (isinstance(p, Array) and p.rank == 0)]
    joined = sorted([k for k, _ in arrays] + numbers)
    adjacent = joined == list(range(joined[0], joined[-1] + 1))
    common = broadcast_shapes(lo, [p.shape for _, p in arrays], UNINDEXED, "IndexError")
    axis = 0
    shape_before: list[Atom] = []
    shape_after: list[Atom] = []
    maps: list[tuple] = []
    for k, p in enumerate(parts):
        where = shape_before if adjacent and k < joined[0] else shape_after
        if isinstance(p, Static) and p.value is None:
            where.append(ONE)
            maps.append(("new", where is shape_before, len(where) - 1))
            continue
        if isinstance(p, Slice):
            start, step, length = slice_bounds(lo, p, owner.shape[axis])
            where.append(length)
            maps.append(("slice", where is shape_before, len(where) - 1, start, step))
        elif k in numbers:
            maps.append(("int", place_along(lo, p, owner.shape[axis], axis)))
        else:
            if p.dtype != "int64":
                raise lo.error(TypeConflict, "arrays used as indices must be of integer (or boolean) type")
            if isinstance(p, Delayed) and p.forced is None and not p.roots():
                pass                            # arange: a formula of the index
            elif not isinstance(p, (Buffer, View)) or p.roots() & owner.roots():
                p = force(lo, p, copy=isinstance(p, Buffer))
            size = owner.shape[axis]
            maps.append(("array", broadcast_to(lo, p, common), size, check_places(lo, p, size, axis)))
        axis += 1
    before = len(shape_before)
    shape = (*shape_before, *common, *shape_after)

    def index_map(lo, index):
        middle = index[before:before + len(common)]
        after = index[before + len(common):]
        out = []
        for m in maps:
            match m:
                case ("int", a):
                    out.append(a)
                case ("slice", is_before, k, start, step):
                    i = index[k] if is_before else after[k]
                    out.append(lo.b.iadd(start, lo.b.imul(i, step)))
                case ("array", p, size, checked):
                    i = p.element(lo, middle)
                    out.append(i if within(lo, p, size) else wrapped(lo, i, size, 0, checked))
        return tuple(out)
    read = FancyRead(Picked(owner, shape, index_map, [m[1] for m in maps if m[0] == "array"], repeats))
    read.order = "C" if adjacent and not before and order_of(lo, owner) == "C" else None
    return read


def within(lo: Lowering, places: Array, size) -> bool:
    """Whether indices are known to lie in an axis of this size: those in a buffer that holds such, or a part of it."""
    held: Array | None = places
    while isinstance(held, (View, Delayed)):
        held = held.source if isinstance(held, View) else held.forced
    return isinstance(held, Buffer) and held.arr in lo.index_bound and same_size(lo, lo.index_bound[held.arr][0], size)


def check_places(lo: Lowering, places: Array, size, axis: int) -> bool:
    """Where a handler catches an IndexError: check an array of indices where it is used, before its elements are needed."""
    if not catches(lo, IndexError) or within(lo, places, size):
        return False

    def both(index, carried):
        return (lo.b.let("and", carried[0], in_range(lo, places.element(lo, index), size), dtype="bool"),)
    inside, = fold_nest(lo, places.shape, (Const(True, "bool"),), both, ("inside",))
    require_that(lo, inside, "IndexError", f"an index is out of bounds for axis {axis} with size {show_size(lo, size)}")
    return True


def augment_masked(lo: Lowering, owner, mask, function, value) -> None:
    """`owner[mask] op= number`: one loop over all elements, without a list of places."""
    for k, size in enumerate(mask.shape):
        require_mask_size(lo, size, owner.shape[k], k)
    for _ in range(owner.rank - mask.rank):
        mask = View(mask, (*mask.shape, ONE), lambda lo, index: index[:-1])
    check_cast(lo, owner, value, NAMES[function])
    changed = lo.elementwise(NAMES[function], owner, value)
    assign(lo, owner, lo.call_static(np.where, [mask, changed, owner], {}))


def store_fancy(lo: Lowering, target, value, name):
    view = target.view
    source = lo.array(value)
    if source.rank == 0 and not name:
        return assign(lo, view, value)
    if name:
        current = force(lo, target, copy=True) if view.repeats else target
        made = lo.array(lo.elementwise(name, current, value))
        check_output(lo, view, made)
        assign(lo, view, force(lo, made, copy=True) if view.repeats else made)
        return None
    return assign(lo, view, value)
