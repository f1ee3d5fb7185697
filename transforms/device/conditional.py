"""Sums to which only some iterations add: what is added becomes 0 for the others, so that threads can sum it up.

    if a > k:                       if a > k:
        total_1 = total + (a - k)       d = a - k
    else:                 becomes   else:
        total_1 = total                 d = 0.0
                                    total_1 = total + d
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.core import Const, Function, Merge, Var, is_float
from ..language.emit import Statements
from ..language.queries import operations
from ..language.rewrite import each_branch

SUMS = ("add", "sum", "sub")


def add_always(function: Function) -> Function:
    """The program with conditional additions as additions of conditional terms."""
    return replace(function, body=each_branch(function.body, with_terms))


def with_terms(s) -> list:
    """The branch, and the sums that come out of it after it."""
    sides = [operations(block, lambda t: t.op in SUMS) for block in (s.then, s.orelse)]
    then, orelse, merges, after = list(s.then), list(s.orelse), [], Statements()
    for m in s.merges:
        base = common_base(m, sides)
        if base is None:
            merges.append(m)
            continue
        parts = [term(value, base, known, block) for value, known, block in
                 zip((m.then, m.orelse), sides, (then, orelse), strict=True)]
        added = Var(m.var.hint, m.var.dtype)
        merges.append(Merge(added, *parts))
        after.bind(m.var, "add", base, added, loc=s.loc)
    return [replace(s, then=tuple(then), orelse=tuple(orelse), merges=tuple(merges)), *after.stmts]


def chain(value, known: dict) -> list:
    """A value and what it is the sum of something and, from the last to the first."""
    found = [value]
    while found[-1] in known:
        found.append(known[found[-1]].args[0])
    return found


def common_base(m: Merge, sides):
    """The value to which both sides add something, or nothing on one of them; None if there is none."""
    if not (is_float(m.var) or m.var.dtype == "int64"):
        return None
    first, second = (chain(v, known) for v, known in zip((m.then, m.orelse), sides, strict=True))
    if len(first) == len(second) == 1 or first[-1] is not second[-1] or not isinstance(first[-1], Var):
        return None
    return first[-1]


def term(value, base, known: dict, block: list):
    """What a side adds to the base: a value that `block` computes."""
    steps = []
    while value is not base:
        steps.append(known[value])
        value = known[value].args[0]
    dtype = base.dtype
    total: core.Atom = Const(0.0 if dtype in core.FLOATS else 0, dtype)
    for step in reversed(steps):
        added = step.args[1]
        made = Var(base.hint, dtype)
        if step is steps[-1] and step.op != "sub":
            total = added
            continue
        block.append(replace(step, var=made, args=(total, added)))
        total = made
    return total


__all__ = ["add_always"]
