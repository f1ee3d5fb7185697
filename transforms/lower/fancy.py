"""Subscripts by index arrays and masks: gathers and scatters."""

from __future__ import annotations

import numpy as np

from ..language.build import ONE, ZERO
from ..language.core import Const
from ..language.errors import TypeConflict
from ..language.ops import Narrow, exact, is_inexact
from .arrays import UNINDEXED
from .operators import NAMES
from .values import (
    Array,
    Buffer,
    Delayed,
    FancyRead,
    Scalar,
    Slice,
    Static,
    View,
    is_number,
)


class Fancy:
    """Reading and writing at places that index arrays or masks name."""

    def replace_masks(self, owner, parts) -> list:
        """Boolean arrays become the integer arrays of the places where they are true."""
        out, axis = [], 0
        for p in parts:
            if isinstance(p, Array) and p.dtype == "bool" and p.rank:
                for k in range(p.rank):
                    self.require_mask_size(p.shape[k], owner.shape[axis + k], axis + k)
                out.extend(self.nonzero(p))
                axis += p.rank
            else:
                out.append(p)
                axis += not (isinstance(p, Static) and p.value is None)
        return out

    def nonzero(self, mask: Array) -> list[Array]:
        """One integer array an axis: the indices where `mask` holds, in order."""
        b = self.b
        mask = self.force(mask) if not isinstance(mask, (Buffer, View)) else mask
        def count(index, carried):
            hit = self.branch(self.truth(mask.element(self, index)), lambda: ONE, lambda: ZERO, "hit")
            return (self.b.iadd(carried[0], hit),)
        total, = self.fold_nest(mask.shape, (ZERO,), count, ("count",))
        if not isinstance(total, Const):
            b.facts.nonnegative.add(total)
            b.facts.range[total] = (ZERO, self.size(mask.shape))
        places = [b.alloc(f"where_{k}", "int64", (total,)) for k in range(mask.rank)]
        def fill(index, carried):
            position = carried[0]
            def hit():
                for arr, i in zip(places, index, strict=True):
                    self.b.store(arr, (position,), i)
                return self.b.iadd(position, 1)
            return (self.branch(self.truth(mask.element(self, index)), hit, lambda: position, "count"),)
        self.fold_nest(mask.shape, (ZERO,), fill, ("count",))
        found: list[Array] = []
        for k, arr in enumerate(places):
            buffer = Buffer(arr)
            self.index_bound[arr] = mask.shape[k]
            found.append(buffer)
        return found

    def select_fancy(self, owner: Array, parts) -> Array:
        arrays = [(k, p) for k, p in enumerate(parts) if isinstance(p, Array) and p.rank > 0]
        numbers = [k for k, p in enumerate(parts) if is_number(p) or (isinstance(p, Array) and p.rank == 0)]
        joined = sorted([k for k, _ in arrays] + numbers)
        adjacent = joined == list(range(joined[0], joined[-1] + 1))
        common = self.broadcast_shapes([p.shape for _, p in arrays], UNINDEXED, "IndexError")
        axis, shape_before, shape_after, maps = 0, [], [], []
        for k, p in enumerate(parts):
            where = shape_before if adjacent and k < joined[0] else shape_after
            if isinstance(p, Static) and p.value is None:
                where.append(ONE)
                maps.append(("new", where is shape_before, len(where) - 1))
                continue
            if isinstance(p, Slice):
                start, step, length = self.slice_bounds(p, owner.shape[axis])
                where.append(length)
                maps.append(("slice", where is shape_before, len(where) - 1, start, step))
            elif k in numbers:
                maps.append(("int", self.position(p, owner.shape[axis], axis)))
            else:
                if p.dtype != "int64":
                    raise self.error(TypeConflict, "arrays used as indices must be of integer (or boolean) type")
                if isinstance(p, Delayed) and p.forced is None and not p.roots():
                    pass                            # arange: a formula of the index
                elif not isinstance(p, (Buffer, View)) or p.roots() & owner.roots():
                    p = self.force(p, copy=isinstance(p, Buffer))
                maps.append(("array", self.broadcast_to(p, common), owner.shape[axis]))
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
                    case ("array", p, size):
                        i = p.element(lo, middle)
                        known = any(lo.index_bound.get(r) is size for r in p.roots())
                        out.append(i if known else lo.wrapped(i, size))
            return tuple(out)
        picked = View(owner, shape, index_map)
        picked.fancy = True
        readers = [m[1] for m in maps if m[0] == "array"]
        picked.extra_roots = frozenset().union(*(r.roots() for r in readers))
        plain_roots = picked.roots
        picked.roots = lambda: plain_roots() | picked.extra_roots
        read = FancyRead(picked)
        read.order = "C" if adjacent and not before and self.order(owner) == "C" else None
        return read

    def augment_masked(self, owner, mask, function, value) -> None:
        """`owner[mask] op= number`: one loop over all elements, without a list of places."""
        for k, size in enumerate(mask.shape):
            self.require_mask_size(size, owner.shape[k], k)
        for _ in range(owner.rank - mask.rank):
            mask = View(mask, (*mask.shape, ONE), lambda lo, index: index[:-1])
        self.check_cast(owner, value, NAMES[function])
        changed = self.elementwise(NAMES[function], owner, value)
        self.assign(owner, self.call_static(np.where, [mask, changed, owner], {}))

    def store_number(self, target, value, name):
        if isinstance(value, Array) and value.rank:
            if all(s == ONE for s in value.shape):
                value = Scalar(value.element(self, (ZERO,) * value.rank))
            else:
                raise self.error(TypeConflict, "setting an array element with a sequence")
        place = target.place(self, ()) if target.has_memory else None
        if place is None:
            raise self.error(TypeConflict, "this array cannot be written: it is an expression, not memory",
                             "make a copy first: x = x.copy()")
        arr, index = place
        self.check_writable(arr)
        kind = target.dtype
        if type(kind) is Narrow and not name:
            self.check_fitting((value,), kind)
        atom = self.atom(value)
        if kind in ("int64", "bool") and is_inexact(atom.dtype) and name:
            raise self.error(TypeConflict, f"cannot cast the result of an in-place operation from {atom.dtype} to "
                                           f"{exact(kind)}", "make the array float first: x = x.astype(float)")
        if name in ("add", "sub") and is_inexact(kind):
            atom = self.cast(atom, kind)
            if name == "sub":
                atom = self.b.let("neg", atom, dtype=kind)
            self.store_element(arr, index, atom, accumulate=True)
            return
        if name:
            old = self.b.load(arr, index)
            both = self.common_dtype((Scalar(old), value))
            atom = self.operate(name, (old, atom), both)
        atom = self.truth(atom) if kind == "bool" else self.cast(atom, kind)
        self.store_element(arr, index, atom)

    def store_fancy(self, target, value, name):
        view = target.view
        source = self.array(value)
        if source.rank == 0 and not name:
            return self.assign(view, value)
        if name:
            current = self.force(target, copy=True)
            made = self.array(self.elementwise(name, current, value))
            self.check_output(view, made)
            self.assign(view, self.force(made, copy=True))
            return None
        return self.assign(view, value)
