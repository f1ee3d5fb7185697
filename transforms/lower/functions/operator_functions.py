"""The functions of the module `operator`: what the operators of Python's syntax do."""

from __future__ import annotations

import operator

import gast

from ...language.errors import WrongKind
from ..containers.list_operators import kind_of
from ..state import Lowering
from ..structures import describe
from ..syntax.operators import BINARY, COMPARE, binary_matmul, negated, unary
from ..table import lowers
from ..values import Static, Value, is_number


def registered(handler, *functions) -> None:
    handler.__qualname__ = functions[0].__name__        # as Python's messages about arguments say it
    lowers(*functions)(handler)


def register_binary(function, in_place, statement) -> None:
    """`function(a, b)` is `a op b`; `in_place(a, b)` is what the statement `a op= b` makes of `a`."""
    def of_two(lo: Lowering, a: Value, b: Value, /) -> Value:
        return binary_matmul(lo, a, b) if function is operator.matmul else lo.binary(function, a, b)

    def changed(lo: Lowering, a: Value, b: Value, /) -> Value:
        return of_two(lo, a, b) if is_number(a) else lo.call_python(statement, [a, b], {})

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


# ---- statements, as functions -----------------------------------------------------------------------------------
def iadd(a, b):
    a += b
    return a


def isub(a, b):
    a -= b
    return a


def imul(a, b):
    a *= b
    return a


def itruediv(a, b):
    a /= b
    return a


def ifloordiv(a, b):
    a //= b
    return a


def imod(a, b):
    a %= b
    return a


def ipow(a, b):
    a **= b
    return a


def iand(a, b):
    a &= b
    return a


def ior(a, b):
    a |= b
    return a


def ixor(a, b):
    a ^= b
    return a


def ilshift(a, b):
    a <<= b
    return a


def irshift(a, b):
    a >>= b
    return a


def imatmul(a, b):
    a @= b
    return a


for _function in (*BINARY.values(), operator.matmul):
    _in_place = f"i{_function.__name__.strip('_')}"
    register_binary(_function, getattr(operator, _in_place), globals()[_in_place])
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


@lowers(operator.iconcat)
def lower_iconcat(lo: Lowering, a: Value, b: Value) -> Value:
    for value in (a, b):
        if kind_of(value) is None and not (isinstance(value, Static) and isinstance(value.value, (str, bytes))):
            raise lo.error(WrongKind, f"{describe(value)} can't be concatenated")
    return lo.call_static(operator.iadd, [a, b], {})
