"""The functions of the module `operator`: what the operators of Python's syntax do."""

from __future__ import annotations

import operator

import gast

from ...language.errors import UnsupportedSyntax, WrongKind
from ..containers.list_operators import kind_of
from ..state import Lowering
from ..structures import describe
from ..syntax.operators import BINARY, COMPARE, binary_matmul, negated, unary
from ..table import lowers
from ..values import Array, GrowList, Mapping, Static, Value
from .outside import has_methods, special


def registered(handler, *functions) -> None:
    handler.__qualname__ = functions[0].__name__        # as Python's messages about arguments say it
    lowers(*functions)(handler)


def register_binary(function, in_place) -> None:
    """`function(a, b)` is `a op b`; `in_place(a, b)`, which changes a list or an array, is refused of these."""
    def of_two(lo: Lowering, a: Value, b: Value, /) -> Value:
        return binary_matmul(lo, a, b) if function is operator.matmul else lo.binary(function, a, b)

    def changed(lo: Lowering, a: Value, b: Value, /) -> Value:
        name = in_place.__name__
        if has_methods(a) and (made := special(lo, a, f"__{name}__", b)) is not None:
            return made
        if isinstance(a, (Array, GrowList, Mapping)) or kind_of(a) is list:
            raise lo.error(UnsupportedSyntax, f"`operator.{name}` of {describe(a)}, which it changes, is not supported",
                           "write the statement: a += b")
        return of_two(lo, a, b)

    registered(of_two, function)
    registered(changed, in_place)


def register_comparison(op: type, function) -> None:
    def of_two(lo: Lowering, a: Value, b: Value, /) -> Value:
        return lo.compare(op(), a, b)

    registered(of_two, function)


def register_unary(function, *others) -> None:
    def of_one(lo: Lowering, a: Value, /) -> Value:
        return unary(lo, function, a)

    registered(of_one, function, *others)


for _function in (*BINARY.values(), operator.matmul):
    register_binary(_function, getattr(operator, f"i{_function.__name__.strip('_')}"))
for _op, _function in {**COMPARE, gast.Is: operator.is_, gast.IsNot: operator.is_not}.items():
    register_comparison(_op, _function)
register_unary(operator.neg)
register_unary(operator.pos)
register_unary(operator.invert, operator.inv)


@lowers(operator.abs)
def lower_abs(lo: Lowering, a: Value) -> Value:
    return lo.call_static(abs, [a], {})


@lowers(operator.truth)
def lower_truth(lo: Lowering, a: Value) -> Value:
    return lo.call_static(bool, [a], {})


@lowers(operator.not_)
def lower_not(lo: Lowering, a: Value) -> Value:
    return negated(lo, a)


@lowers(operator.contains)
def lower_contains(lo: Lowering, a: Value, b: Value) -> Value:
    return lo.compare(gast.In(), b, a)


@lowers(operator.getitem)
def lower_getitem(lo: Lowering, a: Value, b: Value) -> Value:
    return lo.get_item(a, b)


@lowers(operator.setitem)
def lower_setitem(lo: Lowering, a: Value, b: Value, c: Value) -> Value:
    lo.store_item(a, b, c)
    return Static(None)


@lowers(operator.concat)
def lower_concat(lo: Lowering, a: Value, b: Value) -> Value:
    for value in (a, b):
        if kind_of(value) is None and not (isinstance(value, Static) and isinstance(value.value, (str, bytes))):
            raise lo.error(WrongKind, f"{describe(value)} can't be concatenated")
    return lo.binary(operator.add, a, b)
