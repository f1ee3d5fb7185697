"""Rules for users' own functions: the value comes from the function, the derivative from the rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..transforms.errors import TypeConflict
from ..transforms.lower.values import Array, Scalar, Sequence, Static, is_number
from ..transforms.ops import promote


@dataclass(frozen=True)
class PartialsRule:
    """`@partials` on a user's function of numbers: its value, linked to the slopes and the arguments they belong to.

    Slopes that read the value read one that is linked too, so that second derivatives follow from the rule.
    """

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
        value = lo.call_python(plain_function(function), list(args), {})
        if all(isinstance(a, Static) for a in args):
            return value
        dtype = promote(*(lo.dtype_of(a) for a in args), "float32")
        for _ in range(2):
            slopes = lo.call_python(self.rule, [value, *args], {})
            slopes = slopes.items if isinstance(slopes, Sequence) else (slopes,)
            pairs = [lo.atom(x, dtype) for pair in zip(slopes, args, strict=True) for x in pair]
            value = Scalar(lo.b.let("link", lo.atom(value, dtype), *pairs, dtype=dtype), all(map(lo.is_weak, args)))
        return value

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
