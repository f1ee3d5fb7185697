"""Slices: their bounds, brought into range as Python does."""

from __future__ import annotations

from ..language.build import ZERO, integer
from ..language.core import Const, Var
from ..language.errors import ShapeMismatch, TypeConflict
from .values import (
    Scalar,
    Slice,
    Static,
    Value,
)


class SliceBounds:
    """Bounds of slices and positions counted from the end."""

    def static_slice(self, index: Slice) -> slice:
        parts = []
        for p in (index.start, index.stop, index.step):
            parts.append(None if p is None else self.static_int(p, "a slice bound of a tuple or list"))
        return slice(*parts)

    def slice_bounds(self, part: Slice, size):
        """(start, step, length) of a slice over an axis, clipped as Python clips."""
        b = self.b
        step = 1 if part.step is None or (isinstance(part.step, Static) and part.step.value is None) else part.step
        if isinstance(step, Value):
            step = self.static_int(step, "a slice step")
        if step == 0:
            raise self.error(ShapeMismatch, "slice step cannot be zero")
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
