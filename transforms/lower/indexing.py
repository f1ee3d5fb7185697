"""Indexing: integers, slices, ellipsis, newaxis, masks and integer arrays, for reading and writing."""

from __future__ import annotations

import numpy as np

from ..language.build import ONE, ZERO, integer
from ..language.core import Const, Var
from ..language.errors import MissingItem, MissingKey, ShapeMismatch, TypeConflict, UnsupportedSyntax
from .arrays import describe
from .fancy import Fancy
from .list_operators import kind_of, kinds_in
from .lists import rectangular
from .memory import expression
from .operators import NAMES
from .outside import Place
from .records import as_tuple
from .slices import SliceBounds
from .unbound import held
from .values import (
    Array,
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


class Indexing(Fancy, SliceBounds):
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
                    raise self.certain("KeyError", self.error(MissingKey, f"KeyError: {index.value!r}"))
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
                numbers = self.as_array(owner)
                known = isinstance(index, Static) and isinstance(index.value, int) and isinstance(numbers.shape[0], Const)
                if known and not -numbers.shape[0].value <= index.value < numbers.shape[0].value:
                    raise self.error(MissingItem, "range object index out of range")
                found = self.index_array(numbers, self.index_parts(index))
                return Scalar(found.atom, True) if isinstance(found, Scalar) else found
            case Scalar(weak=False) if isinstance(index, Sequence) and not index.items:     # a number of NumPy's
                return Scalar(owner.atom) if owner.boxed else owner
            case Scalar() if owner.boxed:
                return self.index_array(self.array(owner), self.index_parts(index))
        if isinstance(owner, Scalar) and not owner.weak:
            raise self.error(MissingItem, "invalid index to scalar variable.")
        raise self.error(TypeConflict, f"{describe(owner)} cannot be indexed")

    def length_may_grow(self, owner) -> None:
        """A short list in a loop or branch may be longer when the program comes there: ask for a growing one."""
        if self.active_loops and isinstance(owner, Sequence) and owner.kind is list and owner.items and all(
                map(is_number, owner.items)):
            name = next((n for n, v in self.env.items() if held(v) is owner), None)
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
                raise self.certain("IndexError", self.error(
                    MissingItem, f"{kind.__name__} index out of range")) from None
        if isinstance(index, Scalar) and isinstance(index.atom, Const):
            return items[index.atom.value]
        if items and isinstance(owner, Sequence) and isinstance(index, Scalar) and rectangular(items):
            return self.item_at(owner, index)
        raise self.needs_static(index, f"the index of a {kind.__name__}")

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
            if isinstance(held(value), (Sequence, Mapping, Record)) for leaf in leaves(value))

    def named_view(self, owner: Array) -> bool:
        """Whether an array is a view of an expression without memory, and a name stands for it that is used again."""
        inner = expression(owner)
        return inner is not owner and isinstance(inner, Delayed) and inner.forced is None and any(
            isinstance(held(v), View) and expression(held(v)) is inner and frame.uses.get(name, 2) > 1
            for frame in self.frames for name, v in frame.env.items())

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

    # -- masks and integer arrays -----------------------------------------------------------------------------
    def require_mask_size(self, size, wanted, axis: int) -> None:
        self.require_same(size, wanted, f"boolean index did not match indexed array along axis {axis}; size of axis is "
                          f"{self.show_size(wanted)} but size of corresponding boolean axis is {self.show_size(size)}",
                          "IndexError")

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


def is_mask(part, owner) -> bool:
    return isinstance(part, Array) and part.dtype == "bool" and 0 < part.rank <= owner.rank


__all__ = ["Indexing"]
