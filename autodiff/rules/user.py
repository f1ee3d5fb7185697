"""Rules for users' own functions: the value comes from the function, the derivative from the rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..transforms.errors import TypeConflict
from ..transforms.lower.values import Array, Scalar, Sequence, Static, is_number
from ..transforms.ops import promote


@dataclass(frozen=True)
class PartialsRule:
    """`@partials` on a user's function of numbers: y + sum of partial * (x - stop(x)), linearised at x."""

    function: Any
    rule: Any

    def lower_call(self, lo, function, args, kwargs):
        if kwargs:
            raise lo.error(TypeConflict, f"`{function.__name__}` has a rule and takes positional arguments only")
        if any(isinstance(a, Array) and a.rank for a in args):
            return self.elementwise(lo, function, args)
        return self.one(lo, function, args)

    def one(self, lo, function, args):
        from ..transforms.source import plain_function
        value = lo.call_python(plain_function(function), [stopped(lo, a) for a in args], {})
        if all(isinstance(a, Static) for a in args):
            return value
        slopes = lo.call_python(self.rule, [stopped(lo, value), *(stopped(lo, a) for a in args)], {})
        slopes = slopes.items if isinstance(slopes, Sequence) else (slopes,)
        dtype = promote(*(lo.dtype_of(a) for a in args), "float32")
        total = None
        for slope, arg in zip(slopes, args, strict=True):
            term = lo.operate("mul", (lo.atom(slope, dtype), lo.atom(arg, dtype)), dtype)
            total = term if total is None else lo.operate("add", (total, term), dtype)
        y = lo.atom(value, dtype)
        return Scalar(lo.b.let("link", y, total, dtype=dtype), all(map(lo.is_weak, args)))

    def elementwise(self, lo, function, args):
        dtype = lo.common_dtype(args)
        def element(lo, atoms):
            return lo.atom(self.one(lo, function, [Scalar(a) for a in atoms]))
        return lo.force(lo.map_arrays(element, args, dtype if dtype.startswith("float") else "float64"))


@dataclass(frozen=True)
class PullbackRule:
    """`@pullback` on a user's function of arrays."""

    function: Any
    rule: Any

    def lower_call(self, lo, function, args, kwargs):
        from .call import lower_user_call
        return lower_user_call(lo, self, function, args, kwargs)


@dataclass(frozen=True)
class ConstantRule:
    function: Any

    def lower_call(self, lo, function, args, kwargs):
        from ..transforms.source import plain_function
        return lo.call_python(plain_function(function), [stopped(lo, a) for a in args], kwargs)


def stopped(lo, value):
    """`value` without a derivative."""
    if isinstance(value, Static):
        return value
    if is_number(value) or (isinstance(value, Array) and value.rank == 0):
        atom = lo.atom(value)
        return Scalar(lo.b.let("stop", atom, dtype=atom.dtype), lo.is_weak(value)) if atom.dtype.startswith("float") \
            else value
    if isinstance(value, Array) and value.dtype.startswith("float"):
        return lo.force(lo.map_arrays(lambda lo, a: lo.b.let("stop", a[0], dtype=a[0].dtype), (value,), value.dtype))
    return value
