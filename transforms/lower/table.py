"""The tables of what the lowering knows: library functions by callable, syntax by the type of its node.

The modules of topics fill them.
"""

from __future__ import annotations

import operator
from typing import Any

NAMES: dict[Any, str] = {operator.add: "add", operator.sub: "sub", operator.mul: "mul", operator.truediv: "div",
         operator.floordiv: "floordiv", operator.mod: "mod", operator.pow: "pow", operator.and_: "bitand",
         operator.or_: "bitor", operator.xor: "bitxor", operator.lshift: "lshift", operator.rshift: "rshift",
         operator.lt: "lt", operator.le: "le", operator.gt: "gt", operator.ge: "ge", operator.eq: "eq",
         operator.ne: "ne", operator.neg: "neg", operator.pos: "pos", operator.invert: "invert"}


BUILTINS: dict = {}
EXPRESSIONS: dict = {}
STATEMENTS: dict = {}


def lowers(*callables):
    """Register `function(lo, *args, **kwargs) -> Value` as what calls of these callables mean."""
    def register(function):
        for c in callables:
            BUILTINS[c] = function
        return function
    return register


def evaluates(*kinds):
    """Register `function(lo, node) -> Value` as what expressions of these kinds of syntax mean."""
    def register(function):
        EXPRESSIONS.update(dict.fromkeys(kinds, function))
        return function
    return register


def executes(*kinds):
    """Register `function(lo, stmt, rest)` as what statements of these kinds do; true if it has also run `rest`."""
    def register(function):
        STATEMENTS.update(dict.fromkeys(kinds, function))
        return function
    return register
