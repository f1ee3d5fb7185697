"""Rules for users' own functions: the value comes from the function, the derivative from the rule."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from ..transforms.language.errors import TypeConflict, UnsupportedSyntax
from ..transforms.language.ops import is_inexact, promote
from ..transforms.lower.arrays.broadcasting import map_arrays
from ..transforms.lower.arrays.memory import force
from ..transforms.lower.containers.list_operators import as_list, keep_list
from ..transforms.lower.numbers.conversions import common_dtype, dtype_of, is_weak, itemise
from ..transforms.lower.numpy_functions.random_draws import no_draws
from ..transforms.lower.structures import rebuild
from ..transforms.lower.values import (
    Array,
    GrowList,
    Mapping,
    Record,
    Scalar,
    Sequence,
    Series,
    Static,
    Table,
    is_number,
    leaves,
)
from ..transforms.source.definitions import definition, plain_function


def partials_of(rule, target, result, count: int) -> tuple:
    """What a rule for one element returns, one value for each of `count` arguments of `target`."""
    parts = result.items if isinstance(result, Sequence) else (result,)
    if len(parts) != count:
        at = definition(rule.func if isinstance(rule, functools.partial) else rule)
        returned = counted(len(parts), "partial derivative")
        raise TypeConflict(f"the rule `{named(rule)}` of `{named(target)}` returns {returned} for "
                           f"{counted(count, 'argument')}",
                           at.loc(at.node), "return one value for each argument")
    return parts


def named(function) -> str:
    """What messages call a function; an operation is called by its name."""
    function = getattr(function, "func", function)
    return function if isinstance(function, str) else getattr(function, "__name__", type(function).__name__)


def counted(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


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
        value = lo.call_python(plain_function(function), list(args), {})
        if all(isinstance(a, Static) for a in args):
            return value
        at = [k for k, a in enumerate(args) if not is_object(a)]
        numbers = [args[k] for k in at]
        if any(not isinstance(leaf, Static) for a in args if is_object(a) for leaf in leaves(a)):
            raise lo.error(TypeConflict, f"`{named(self.function)}` has a rule of partial derivatives, which are those of "
                           "numbers, and an argument here is an object that holds numbers", "give it a `pullback`")
        dtype = promote(*(dtype_of(lo, a) for a in numbers), "float32")
        for _ in range(2):
            with no_draws(lo, "a derivative rule", "draw in the function itself"):
                slopes = lo.call_static(self.rule, [value, *args], {})
            slopes = partials_of(self.rule, self.function, slopes, len(args))
            pairs = [lo.atom(x, dtype) for k in at for x in (slopes[k], args[k])]
            value = Scalar(lo.b.let("link", lo.atom(value, dtype), *pairs, dtype=dtype),
                           all(is_weak(lo, a) for a in numbers))
        return value

    def elementwise(self, lo, function, args):
        arrays = [a for a in args if not is_object(a)]
        dtype = common_dtype(lo, arrays)
        def element(lo, atoms):
            at = iter(atoms)
            return lo.atom(self.one(lo, function, [a if is_object(a) else Scalar(next(at)) for a in args]))
        return force(lo, map_arrays(lo, element, arrays, dtype if dtype.startswith("float") else "float64"))


def is_object(value) -> bool:
    """Whether an argument is none that has a partial derivative: the object of a method, an option."""
    return isinstance(value, Record) or isinstance(value, Static) and not is_number(value) and not hasattr(
        value.value, "dtype")


@dataclass(frozen=True)
class PullbackRule:
    """`@pullback` on a user's function of arrays."""

    function: Any
    rule: Any

    def lower_call(self, lo, function, args, kwargs):
        from .call import lower_user_call  # which is made of this
        return lower_user_call(lo, self, function, args, kwargs)


@dataclass(frozen=True)
class ConstantRule:
    function: Any

    def lower_call(self, lo, function, args, kwargs):
        return lo.call_python(plain_function(function), [stopped(lo, a) for a in args], kwargs)


def stopped(lo, value):
    """`value` without a derivative: numbers and arrays inside containers too, arrays as new ones."""
    if isinstance(value, (Sequence, Mapping, Record)):
        return rebuild(value, iter([stopped(lo, leaf) for leaf in leaves(value)]))
    if isinstance(value, Series):
        raise itemise(lo, value)
    if isinstance(value, Table):
        raise lo.error(UnsupportedSyntax, "a growing list of tuples cannot be stopped as a whole",
                       "stop the numbers that are appended")
    if isinstance(value, GrowList):
        return as_list(lo, stopped(lo, lo.array(value)), lo.node)
    if isinstance(value, Array) and value.rank:
        stop = lambda lo, atoms: without_derivative(lo, atoms[0])  # noqa: E731
        return keep_list(lo, force(lo, map_arrays(lo, stop, (value,), value.dtype)), value)
    if isinstance(value, (Scalar, Array)):
        return Scalar(without_derivative(lo, lo.atom(value)), is_weak(lo, value))
    return value


def without_derivative(lo, atom):
    return lo.b.let("stop", atom, dtype=atom.dtype) if is_inexact(atom.dtype) else atom
