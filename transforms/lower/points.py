"""Arrays of rank 0. NumPy changes them in place, as it does other arrays; numbers (its own, such as `x[0]`, and Python's) it
replaces.

Such an array is a number here while nothing can tell: `boxed` then says where it was made. Where it is written while
another name may see it, the program is lowered again, with memory for what is made there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..language.errors import ShapeMismatch, TypeConflict, UnsupportedSyntax
from ..language.ops import exact, is_complex
from .operators import NAMES
from .plan import Widen
from .unbound import held
from .values import Array, Buffer, Closure, Scalar, Value, View, is_number, leaves

BY_PATH = frozenset([("by path",)])      # an array of rank 0 or a number, by the way the program goes
OF_NUMBERS = {np.round, np.around, np.clip, np.nan_to_num, np.fix, np.sinc}       # no ufuncs, but what they give is NumPy's
MAKERS = {np.where, np.select, np.piecewise, np.roll, np.tensordot, np.i0, np.real_if_close}
SAME = {np.squeeze, np.reshape, np.transpose, np.real, np.moveaxis, np.swapaxes}        # of an array of rank 0: a view of it


class Points:
    """What the lowering does with arrays of rank 0."""

    def point(self, value: Value, site: tuple = ()) -> Value:
        """A new array of rank 0 that holds a number; made at `site`, by default where the program is."""
        site = site or ("point", *self.place_of(self.node))
        value = value if isinstance(value, Scalar) else Scalar(self.atom(value))
        if site not in self.widened:
            return Scalar(value.atom, boxed=frozenset([site]))
        arr = self.b.alloc("v", value.dtype, ())
        self.store_element(arr, (), value.atom)
        return Buffer(arr)

    def point_view(self, owner: Array, view: View) -> Value:
        """An element of `owner` as an array of rank 0 that is a view of it."""
        if not owner.has_memory and not view.read_only:
            if (site := ("point", *self.place_of(self.node))) not in self.widened:
                return Scalar(view.element(self, ()), boxed=owner.boxed | {site})
            self.give_memory(owner)
            view.writable = owner.has_memory
        return view

    def made_by(self, target, args, made: Value) -> Value:
        """What a function of NumPy has made: a number it gives as an array of rank 0 is marked so."""
        if not isinstance(made, (Scalar, Array)) or isinstance(made, Array) and (made.rank or made.has_memory):
            return made
        if target is np.real and is_complex(self.dtype_of(args[0])):        # a part of it: a view that is not followed
            return Scalar(self.atom(made), boxed=BY_PATH) if is_point(args[0]) else made
        if target in SAME and is_point(args[0]):
            return args[0]
        if target in SAME and is_number(args[0]):           # NumPy's own numbers stay numbers
            if self.is_weak(args[0]):
                return args[0] if target is np.real else self.point(args[0])
            return Scalar(self.atom(args[0]))
        if target in OF_NUMBERS and isinstance(made, Scalar):
            return replace(made, weak=False)
        return self.point(made) if target in MAKERS else made

    # -- writing ----------------------------------------------------------------------------------------------
    def changes_in_place(self, old: Value, name: str = "") -> bool:
        """Whether `old op= value` writes an array, where `old` is what `name` holds; a number is replaced."""
        if not isinstance(old, (Array, Scalar)) or getattr(old, "is_list", False):
            return False
        if isinstance(old, Array) and old.rank:
            return True
        if old.boxed & BY_PATH:
            self.need_memory(old)
        self.changed_points |= old.boxed
        if old.boxed and (old.boxed & self.kept_points or self.point_seen(old, name)):
            self.need_memory(old)
        if old.boxed and not has_memory(old):
            return False
        if isinstance(old, View):
            self.give_memory(old)
        return has_memory(old) or isinstance(old, View)

    def point_seen(self, point: Value, name: str) -> bool:
        """Whether another name may see an array of rank 0, or a view of it."""
        frames = dict.fromkeys((*self.frames, *self.kept_frames))
        seen = [v for frame in frames for other, v in frame.env.items() if not (frame is self.frame and other == name)]
        seen += self.temporaries
        made = [c for c in map(held, seen) if isinstance(c, Closure) and c.frame not in frames]
        seen += [v for c in made for v in c.frame.env.values()]
        return any(isinstance(leaf, (Scalar, Array)) and leaf.boxed & point.boxed for v in seen for leaf in leaves(v))

    def keep_point(self, item: Value) -> None:
        """A list takes a copy of an array of rank 0: it is not to be written, before or afterwards, unless in memory."""
        if isinstance(item, (Scalar, Array)):
            self.kept_points |= item.boxed
            if item.boxed & self.changed_points:
                self.need_memory(item)

    def need_memory(self, point: Value) -> None:
        """An array of rank 0 is written: lower again, with memory for it from where it is made."""
        for site in sorted(point.boxed):
            if site[0] == "point" and site not in self.widened:
                raise Widen(site, True)
        raise self.error(UnsupportedSyntax, "this is an array of rank 0 on one path and a number on another, or one of two "
                         "such arrays: what is changed in place differs", "write t = t + value, or use an array of one "
                         "element")

    def to_be_written(self, target: Value) -> None:
        """Before an array, or a part of it, is written."""
        if isinstance(target, (Scalar, Array)) and target.boxed:
            self.need_memory(target)

    def augment_point(self, target: Array, function, value: Value) -> None:
        """`target op= value` for an array of rank 0."""
        name = NAMES[function]
        if not is_number(value) and self.array(value).rank:
            shape = self.show_shape(self.array(value).shape)
            raise self.error(ShapeMismatch, "non-broadcastable output operand with shape () doesn't match the broadcast "
                             f"shape {shape}")
        if name in ("add", "sub") and target.dtype == "float64" and self.dtype_of(value) == "float64":
            return self.store_number(target, value, name)
        return self.store_number(target, self.in_dtype(target, self.binary(function, target, value), name), "")

    def in_dtype(self, target: Value, made: Value, name: str) -> Value:
        """What `target op= value` makes of an array of rank 0: of its dtype, if NumPy casts it so."""
        if not np.can_cast(exact(made.dtype), exact(target.dtype), "same_kind"):
            raise self.error(TypeConflict, f"Cannot cast ufunc '{name}' output from dtype('{exact(made.dtype)}') to "
                             f"dtype('{exact(target.dtype)}') with casting rule 'same_kind'",
                             "make the array float first: x = x.astype(float)")
        return Scalar(self.atom(made, target.dtype), boxed=target.boxed)


def sites_of(name: str, *values: Value) -> frozenset:
    """Where a number was made that is one of these by the way the program goes; marked if one is no array of rank 0."""
    boxes = [getattr(v, "boxed", frozenset()) for v in values]
    return frozenset().union(*boxes, [("perhaps", name)] if any(boxes) and not all(boxes) else [])


def like(made: Value, old: Value) -> Value:
    """What a method of `old` has made: where that is an array of rank 0 or a number by path, so is this."""
    if any(site[0] != "point" for site in old.boxed):
        made.boxed |= BY_PATH
    return made


def has_memory(value: Value) -> bool:
    return isinstance(value, Array) and value.has_memory


def is_point(value: Value) -> bool:
    """Whether a value is known to be an array of rank 0, not a number."""
    return isinstance(value, (Scalar, Array)) and not getattr(value, "rank", 0) and (
        bool(value.boxed) or isinstance(value, (Buffer, View)))


__all__ = ["BY_PATH", "OF_NUMBERS", "Points", "is_point", "like", "sites_of"]
