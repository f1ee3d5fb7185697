"""Indexing: integers, slices, ellipsis, newaxis, masks and integer arrays, for reading and writing."""

from __future__ import annotations

import numpy as np

from ..language.build import integer
from ..language.core import Const, Var
from ..language.errors import MissingItem, MissingKey, ShapeMismatch, TypeConflict, UnsupportedSyntax
from ..language.ops import Narrow, exact, is_inexact
from .arrays import ONE, UNINDEXED, ZERO, describe, expression
from .list_operators import kind_of, kinds_in
from .lists import rectangular
from .operators import NAMES
from .outside import Place
from .records import as_tuple
from .values import (
    Array,
    Buffer,
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
    is_number,
    leaves,
)

UNPROVEN = "an index may leave its array"


class Indexing:
    def eval_Subscript(self, node):
        owner = self.eval(node.value)
        self.node = node
        return self.subscript(owner, node.slice)

    def eval_Slice(self, node):
        part = lambda n: None if n is None else self.eval(n)  # noqa: E731
        return Slice(part(node.lower), part(node.upper), part(node.step))

    def subscript(self, owner: Value, slice_node) -> Value:
        index = self.eval(slice_node)
        return self.get_item(owner, index)

    def get_item(self, owner: Value, index: Value) -> Value:
        if isinstance(owner, Either):
            return self.split(owner, lambda v: self.get_item(v, index), raises="TypeError")
        if isinstance(index, Either):
            return self.split(index, lambda v: self.get_item(owner, v))
        if isinstance(index, Slice):
            for part in ("start", "stop", "step"):
                if isinstance(end := getattr(index, part), Either):
                    return self.split(end, lambda v, part=part: self.get_item(owner, index.with_part(part, v)))
        if isinstance(owner, Record) and (made := self.special(owner, "__getitem__", index)) is not None:
            return made
        self.check_list_index(owner, index)
        match owner:
            case Sequence(items=items):
                return self.item_of_sequence(owner, items, index)
            case Mapping(items=items):
                if isinstance(index, Sequence) and all(isinstance(i, Static) for i in index.items):
                    index = Static(tuple(i.value for i in index.items))
                if not isinstance(index, Static):
                    raise self.needs_static(index, "a dict key")
                if index.value not in items:
                    raise self.error(MissingKey, f"KeyError: {index.value!r}")
                return items[index.value]
            case Record() if issubclass(owner.cls, tuple):
                return self.item_of_sequence(owner, as_tuple(owner).items, index)
            case Static(value=v) if v is np.mgrid or v is np.ogrid:
                return self.builtins[v](self, index)
            case Static(value=v) if not isinstance(index, Slice) and isinstance(index, Static):
                if (made := self.special(owner, "__getitem__", index)) is not None:
                    return made
                try:
                    return self.read(Place.of(v).item(index.value), v[index.value])
                except (TypeError, KeyError, IndexError) as e:
                    raise self.error(TypeConflict, f"{type(e).__name__}: {e}") from None
            case Static(value=v) if isinstance(v, (str, tuple, list)) and isinstance(index, Slice):
                return self.wrap(v[self.static_slice(index)])
            case Static(value=v) if isinstance(v, (tuple, list)) and isinstance(index, Scalar):
                return self.get_item(Sequence(tuple(map(self.wrap, v)), type(v)), index)
            case Series():
                return self.series_item(owner, index)
            case Table() if not isinstance(index, Slice):
                return self.row_of(owner, index)
            case GrowList() if isinstance(index, Slice):
                return self.slice_of_list(owner, (index,))
            case GrowList():
                found = self.index_array(self.array(owner), self.index_parts(index))
                return Scalar(found.atom, owner.weak) if isinstance(found, Scalar) else self.row_read(owner, found)
            case Array() if owner.is_list:
                if isinstance(index, Slice):
                    return self.slice_of_list(owner, (index,))
                found = self.index_array(owner, self.index_parts(index))
                return Scalar(found.atom, True) if isinstance(found, Scalar) else self.item_of_memory(owner, found)
            case Array():
                found = self.index_array(owner, self.index_parts(index))
                return self.copied(found) if isinstance(found, Array) and getattr(owner, "is_flat", False) else found
            case Range():
                found = self.index_array(self.as_array(owner), self.index_parts(index))
                return Scalar(found.atom, True) if isinstance(found, Scalar) else found
            case Scalar(weak=False) if isinstance(index, Sequence) and not index.items:     # a number of NumPy's
                return Scalar(owner.atom) if owner.boxed else owner
            case Scalar() if owner.boxed:
                return self.index_array(self.array(owner), self.index_parts(index))
        raise self.error(TypeConflict, f"{describe(owner)} cannot be indexed")

    def length_may_grow(self, owner) -> None:
        """A short list in a loop or branch may be longer when the program comes there: ask for a growing one."""
        if self.active_loops and isinstance(owner, Sequence) and owner.kind is list and owner.items and all(
                map(is_number, owner.items)):
            name = next((n for n, v in self.env.items() if v is owner), None)
            if name is not None and ("grow", self.frame.definition.name, name) not in self.widened:
                self.make_growable(name, self.list_dtype(owner))

    def item_of_sequence(self, owner, items, index):
        kind = owner.kind if isinstance(owner, Sequence) else tuple
        if isinstance(index, Slice):
            return Sequence(items[self.static_slice(index)], kind)
        if isinstance(index, Static) and isinstance(index.value, int):
            try:
                return items[index.value]
            except IndexError:
                self.length_may_grow(owner)
                raise self.error(MissingItem, f"{kind.__name__} index out of range") from None
        if isinstance(index, Scalar) and isinstance(index.atom, Const):
            return items[index.atom.value]
        if items and isinstance(owner, Sequence) and isinstance(index, Scalar) and rectangular(items):
            return self.item_at(owner, index)
        raise self.needs_static(index, f"the index of a {kind.__name__}")

    def static_slice(self, index: Slice) -> slice:
        parts = []
        for p in (index.start, index.stop, index.step):
            parts.append(None if p is None else self.static_int(p, "a slice bound of a tuple or list"))
        return slice(*parts)

    def index_parts(self, index: Value) -> tuple:
        if isinstance(index, Array) and kind_of(index) is tuple:
            raise self.error(UnsupportedSyntax, "a tuple of a length known only when the program runs is no index",
                             "index with a list or an array")
        return index.items if isinstance(index, Sequence) and index.kind is tuple else (index,)

    # -- arrays -----------------------------------------------------------------------------------------------
    def index_array(self, owner: Array, parts) -> Value:
        """`owner[parts]`: a number, a view where NumPy gives a view, else a gathered copy."""
        result = self.select(owner, parts)
        if isinstance(result, View) and result.rank and (self.kept_as_item(owner) or self.named_view(owner)):
            self.give_memory(owner)             # the view may be written, which the item has to see
            result = self.select(owner, parts)
        if result.rank == 0 and not any(self.is_fancy(p) for p in parts) and not any(
                isinstance(p, Static) and p.value is Ellipsis for p in parts):
            return Scalar(result.element(self, ()))
        if result.rank == 0:
            return Scalar(result.element(self, ())) if isinstance(result, FancyRead) else self.point_view(owner, result)
        if isinstance(result, FancyRead) or isinstance(result, View) and not result.writable and not result.read_only:
            made = self.delayed(result.shape, result.dtype, lambda lo, index: result.element(lo, index), (result,))
            made.view_of, made.boxed = None if isinstance(result, FancyRead) else result, result.boxed
            return made
        return result

    def kept_as_item(self, owner: Array) -> bool:
        """Whether an expression without memory is an item of a list, dict or record."""
        return isinstance(owner, Delayed) and owner.forced is None and any(
            leaf is owner for frame in self.frames for value in frame.env.values()
            if isinstance(value, (Sequence, Mapping, Record)) for leaf in leaves(value))

    def named_view(self, owner: Array) -> bool:
        """Whether an array is a view of an expression without memory, and a name stands for it that is used again."""
        inner = expression(owner)
        return inner is not owner and isinstance(inner, Delayed) and inner.forced is None and any(
            isinstance(value, View) and expression(value) is inner and frame.uses.get(name, 2) > 1
            for frame in self.frames for name, value in frame.env.items())

    def is_fancy(self, part) -> bool:
        return (isinstance(part, Array) and part.rank > 0) or (isinstance(part, Sequence) and part.kind is list) \
            or isinstance(part, GrowList) or isinstance(part, Series) and part.kind is list

    def expand(self, owner: Array, parts) -> list:
        """Parts with the ellipsis written out, masks as arrays, one part an axis of the source or None for newaxis."""
        parts = [self.array(p) if isinstance(p, (Sequence, GrowList, Series)) else p for p in parts]
        used = 0
        for p in parts:
            if isinstance(p, Static) and (p.value is None or p.value is Ellipsis):
                continue
            used += p.rank if isinstance(p, Array) and p.dtype == "bool" else 1
        if used > owner.rank:
            raise self.error(MissingItem, f"too many indices for array: array is {owner.rank}-dimensional, but {used} "
                                           "were indexed")
        whole = Slice(None, None, None)
        out, seen = [], False
        for p in parts:
            if isinstance(p, Static) and p.value is Ellipsis:
                if seen:
                    raise self.error(MissingItem, "an index can only have a single ellipsis ('...')")
                seen = True
                out.extend([whole] * (owner.rank - used))
            else:
                out.append(p)
        if not seen:
            out.extend([whole] * (owner.rank - used))
        return out

    def select(self, owner: Array, parts) -> Array:
        parts = self.expand(owner, parts)
        if any(isinstance(p, Array) and p.rank > 0 and p.dtype == "bool" for p in parts):
            parts = self.replace_masks(owner, parts)
        if any(isinstance(p, Array) and p.rank > 0 for p in parts):
            return self.select_fancy(owner, parts)
        return self.select_basic(owner, parts)

    def select_basic(self, owner: Array, parts) -> View:
        shape, maps, axis = [], [], 0
        leading = True
        prefix, axes = [], []
        for p in parts:
            if isinstance(p, Static) and p.value is None:
                shape.append(ONE)
                maps.append(("new", None, None))
                axes.append(((), 1))
                leading, prefix = False, None
            elif isinstance(p, Slice):
                start, step, length = self.slice_bounds(p, owner.shape[axis])
                if not (start == ZERO and step == ONE and length is owner.shape[axis]) and prefix is not None \
                        and not (start == ZERO and step == ONE and self.same_size(length, owner.shape[axis])):
                    prefix = None
                leading = False
                shape.append(length)
                maps.append(("slice", start, step))
                axes.append(((axis,), step.value))
                axis += 1
            else:
                position = self.position(p, owner.shape[axis], axis)
                if leading and prefix is not None:
                    prefix.append(position)
                else:
                    prefix = None
                maps.append(("int", position, None))
                axis += 1

        def index_map(lo, index):
            out, k = [], 0
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
        made.read_only = getattr(owner, "read_only", False)
        return made

    def position(self, part: Value, size, axis: int = 0):
        """An integer index proven or made to lie in 0 .. size - 1."""
        if isinstance(part, Array) and part.rank == 0:
            part = Scalar(self.atom(part))
        if not is_number(part):
            raise self.error(MissingItem, f"only integers, slices, ellipsis, newaxis and integer or boolean arrays are "
                                           f"valid indices, not {describe(part)}")
        atom = self.atom(part)
        if any(kind == "bool" for kind, _ in self.kinds_of(part)):
            raise self.error(UnsupportedSyntax, "a boolean number as an index is not supported", "convert it: int(i)")
        if atom.dtype != "int64":
            raise self.error(MissingItem, "only integers, slices, ellipsis, newaxis and integer or boolean arrays are "
                                           "valid indices, not a float", "convert it: int(i)")
        return self.wrapped(atom, size, axis)

    def wrapped(self, atom, size, axis: int = 0):
        facts, b = self.b.facts, self.b
        of_axis = f"is out of bounds for axis {axis} with size"
        if size == ONE and isinstance(atom, Var) and self.boundscheck and not (
                facts.at_least(atom) and facts.at_most(atom, ZERO)):
            inside = b.let("or", b.compare("eq", atom, ZERO), b.compare("eq", atom, integer(-1)), dtype="bool")
            self.require_that(inside, "IndexError", f"index {self.show_number(atom)} {of_axis} 1")
            return ZERO
        if isinstance(atom, Const) and atom.value < 0:
            shifted = b.iadd(size, atom)
            if isinstance(size, Const):
                if shifted.value < 0:
                    raise self.error(ShapeMismatch, f"index {atom.value} {of_axis} {size.value}")
                return shifted
            if not facts.at_least(shifted):
                self.check_size(size, -atom.value, f"index {atom.value} {of_axis} {self.show_number(size)}")
            return shifted
        if isinstance(atom, Const) and isinstance(size, Const) and atom.value >= size.value:
            raise self.error(ShapeMismatch, f"index {atom.value} {of_axis} {size.value}")
        if isinstance(atom, Const):
            if not facts.at_most(atom, size, 1):
                self.check_size(size, atom.value + 1, f"index {atom.value} {of_axis} {self.show_number(size)}")
            return atom
        if not self.boundscheck or (facts.at_least(atom) and facts.at_most(atom, size, 1)):
            return atom
        if self.boundscheck is True and self.checked_outside(atom, size):
            return atom
        fixed = b.let("wrap_index", atom, size, integer(axis), dtype="int64", hint=getattr(atom, "hint", "i"))
        facts.range.setdefault(fixed, (ZERO, b.isub(size, 1)))
        return fixed

    def checked_outside(self, atom, size) -> bool:
        """Check once, before all loops, that an affine index stays in range; where that fails, the caller starts again
        with a check at every access."""
        facts = self.b.facts
        b = self.b
        while b.parent is not None:
            b = b.parent
        outside = lambda v: self.known_in(v, b)  # noqa: E731
        if self.b is b or not outside(size):
            return False
        conditions = []
        if not facts.at_least(atom):
            low = facts.bound(atom, False, outside, b)
            if low is None:
                return False
            conditions.append(("ge", low, ZERO))
        if not facts.at_most(atom, size, 1):
            high = facts.bound(atom, True, outside, b)
            if high is None:
                return False
            conditions.append(("lt", high, size))
        for op, x, y in conditions:
            ok = b.compare(op, x, y)
            if ok == Const(False, "bool"):
                return False
            if ok not in self.guarded and not isinstance(ok, Const):
                self.guarded.add(ok)
                b.start_again_unless(ok, "IndexError", UNPROVEN, self.b.loc)
        return True

    def check_size(self, size, least, message):
        if not self.boundscheck:
            return
        if self.boundscheck is True and size in self.sizes:
            if least > self.least_sizes.get(size, 0):
                self.least_sizes[size], self.least_places[size] = least, self.b.loc
            self.b.facts.range[size] = (integer(max(2, self.least_sizes[size])), None)
            return
        ok = self.b.compare("ge", size, integer(least))
        if ok not in self.guarded:
            self.add_check(self.b, ok, "IndexError", message)

    def slice_bounds(self, part: Slice, size):
        """(start, step, length) of a slice over an axis, clipped as Python clips."""
        b = self.b
        step = 1 if part.step is None or (isinstance(part.step, Static) and part.step.value is None) else part.step
        if isinstance(step, Value):
            step = self.static_int(step, "a slice step")
        if step == 0:
            raise self.error(TypeConflict, "slice step cannot be zero")
        none = lambda p: p is None or (isinstance(p, Static) and p.value is None)  # noqa: E731
        if step > 0:
            start = ZERO if none(part.start) else self.lower_bound(part.start, size)
            stop = size if none(part.stop) else self.upper_bound(part.stop, size)
            span = b.isub(stop, start)
            if step == 1:
                length = span if b.facts.at_least(span) else b.imax(span, 0)
                apart = self.distance(part) if isinstance(length, Var) else None
                if apart is not None and apart >= 0:
                    length = b.imin(length, apart)      # says what the clipped bounds do not
            else:
                length = b.imax(b.let("floordiv", b.iadd(span, step - 1), integer(step), dtype="int64"), 0)
        else:
            start = b.isub(size, 1) if none(part.start) else self.clip_bound(part.start, size, -1)
            stop = integer(-1) if none(part.stop) else self.clip_bound(part.stop, size, -1)
            span = b.isub(start, stop)
            if step == -1:
                length = span if b.facts.at_least(span) else b.imax(span, 0)
            else:
                length = b.imax(b.let("floordiv", b.iadd(span, -step - 1), integer(-step), dtype="int64"), 0)
        return start, integer(step), length

    def distance(self, part: Slice) -> int | None:
        """The known difference of the bounds as they are written: 2 of i:i + 2, 1 of 2:3."""
        if isinstance(part.start, Static) and isinstance(part.stop, Static):
            a, b = part.start.value, part.stop.value
            return max(b - a, 0) if isinstance(a, int) and isinstance(b, int) and (a >= 0) == (b >= 0) else None
        if not (isinstance(part.start, Scalar) and isinstance(part.stop, Scalar)):
            return None
        apart = self.b.isub(part.stop.atom, part.start.atom)
        return apart.value if isinstance(apart, Const) else None

    def lower_bound(self, part: Value, size):
        """Where a slice of positive step starts: not clipped at the end, since the length then is 0."""
        atom = self.integer_bound(part)
        if isinstance(atom, Const):
            return atom if atom.value >= 0 else self.b.imax(self.b.iadd(size, atom), 0)
        return self.b.imax(self.counted_from_end(atom, size), 0)

    def upper_bound(self, part: Value, size):
        """Where a slice of positive step ends; may be negative, the length is clipped."""
        atom = self.integer_bound(part)
        if isinstance(atom, Const):
            return self.b.imin(atom, size) if atom.value >= 0 else self.b.iadd(size, atom)
        return self.b.imin(self.counted_from_end(atom, size), size)

    def integer_bound(self, part: Value):
        atom = self.atom(part)
        if atom.dtype != "int64":
            raise self.error(TypeConflict, "slice indices must be integers", "convert it: int(i)")
        return atom

    def counted_from_end(self, atom, size):
        facts = self.b.facts
        if facts.at_least(atom):
            return atom
        if facts.at_most(atom, integer(-1)):
            return self.b.iadd(atom, size)
        return self.branch(self.b.compare("lt", atom, ZERO), lambda: self.b.iadd(atom, size), lambda: atom, "bound")

    def clip_bound(self, part: Value, size, low: int = 0):
        """A slice bound wrapped and clipped to low .. size + low."""
        b = self.b
        atom = self.integer_bound(part)
        high = size if low == 0 else b.isub(size, 1)
        if isinstance(atom, Const):
            if atom.value < 0:
                return b.imax(b.iadd(size, atom), low)
            return b.imin(atom, high)
        atom = self.counted_from_end(atom, size)
        return b.imin(b.imax(atom, low), high)

    # -- masks and integer arrays -----------------------------------------------------------------------------
    def require_mask_size(self, size, wanted, axis: int) -> None:
        self.require_same(size, wanted, f"boolean index did not match indexed array along axis {axis}; size of axis is "
                          f"{self.show_size(wanted)} but size of corresponding boolean axis is {self.show_size(size)}",
                          "IndexError")

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

    # -- writing ----------------------------------------------------------------------------------------------
    def store_subscript(self, owner: Array, slice_node, value: Value, function, stmt) -> None:
        self.check_width(owner, value)
        if owner.is_list and not getattr(owner, "writable", True):
            raise self.error(UnsupportedSyntax, "an item of a list in a list is set at a place known only when the program "
                             "runs", "make the list an array, M = np.zeros((3, 3)) for one, and write M[i, j] = value",
                             node=stmt or self.node)
        self.to_be_written(owner)
        self.give_memory(owner)
        key = self.eval(slice_node)
        self.check_list_index(owner, key)
        if kind_of(owner) is tuple:
            raise self.error(TypeConflict, "'tuple' object does not support item assignment", "use a list")
        parts = self.index_parts(key)
        if owner.is_list and (function is None or owner.rank == 1 or len(kinds_in(owner)) > 1):
            value = self.into_list(owner, parts, value, function)
        elif function is not None and len(parts) == 1 and is_mask(parts[0], owner) and is_number(value):
            return self.augment_masked(owner, parts[0], function, value)
        target = self.select(owner, parts)
        name = NAMES[function] if function is not None else ""
        self.node = stmt or self.node
        if isinstance(target, FancyRead):
            return self.store_fancy(target, value, name)
        if target.rank == 0:
            return self.store_number(target, value, name)
        if function is None:
            return self.assign(target, value)
        return self.augment(target, function, value, stmt)

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


def is_mask(part, owner) -> bool:
    return isinstance(part, Array) and part.dtype == "bool" and 0 < part.rank <= owner.rank


__all__ = ["Indexing", "Slice"]
