"""What is known of conditions where a statement stands, from the branches around it."""

from __future__ import annotations

from ...language.build import FOLD
from ...language.core import Const
from ...language.facts import ORDERS
from ..journal import surrounding
from ..state import Lowering


def proven(lo: Lowering, cond) -> bool:
    """Whether the branches around say that a condition holds."""
    if isinstance(cond, Const):
        return bool(cond.value)
    return follows(lo, {c: holds for found in lo.around.conditions for c, holds in both_ways(lo, *found)}, cond)


def hold_in(lo: Lowering, block, cond, holds: bool) -> None:
    """A condition holds, or does not, in a block, until it is taken from those around."""
    lo.around.conditions.append((cond, holds))
    block.conditions = len(lo.around.conditions)


def bounds(lo: Lowering) -> list[tuple]:
    """What the branches around the current block say of integers: affine forms that are at least 0 there."""
    known = lo.around.conditions[:lo.b.last().conditions]
    return [form for cond, holds in known for form in least_zero(lo, cond, holds)]


def running(lo: Lowering) -> list[tuple]:
    """The same of the loops around: none of their ranges is empty."""
    blocks = surrounding(lo)
    return [form for i, block in lo.loop_bodies.items() if block in blocks for form in lo.b.facts.running(i)]


def least_zero(lo: Lowering, cond, holds: bool) -> list[tuple]:
    """What is at least 0 where a condition holds or does not."""
    facts = lo.b.facts
    op, args = facts.definition.get(cond, ("", ()))
    if cond in lo.connected:
        is_and, args = lo.connected[cond]
        op = "and" if is_and else "or"
    if op == "not":
        return least_zero(lo, args[0], not holds)
    if op == ("and" if holds else "or"):
        return [form for part in args for form in least_zero(lo, part, holds)]
    if op not in ORDERS or any(a.dtype != "int64" for a in args):
        return []
    a, b = args
    return facts.compared(op, a, b, holds)


def follows(lo: Lowering, known: dict, cond) -> bool:
    """Whether a condition holds where these are known."""
    if isinstance(cond, Const):
        return bool(cond.value)
    if cond in known:
        return known[cond]
    if cond in lo.bound_by:
        test, *sides = lo.bound_by[cond]
        if test in known:
            return follows(lo, known, sides[not known[test]])
        return all(follows(lo, known, side) for side in sides)
    op, args = lo.b.facts.definition.get(cond, ("", ()))
    if op == "not":
        return known.get(args[0]) is False or refuted(lo, known, args[0])
    if op in ORDERS:
        return orders(lo, known, args) <= ORDERS[op]
    return op == "or" and any(follows(lo, known, a) for a in args)


def orders(lo: Lowering, known: dict, args) -> set:
    """How two numbers can compare where these conditions are known."""
    left = {"<", "=", ">"}
    for cond, holds in known.items():
        op, others = lo.b.facts.definition.get(cond, ("", ()))
        if op in ORDERS and others == args:
            left &= ORDERS[op] if holds else {"<", "=", ">"} - ORDERS[op]
    return left


def both_ways(lo: Lowering, cond, holds: bool):
    """A condition that holds or does not, and the one that it is the opposite of."""
    yield cond, holds
    op, args = lo.b.facts.definition.get(cond, ("", ()))
    if op == "not":
        yield from both_ways(lo, args[0], not holds)


def refuted(lo: Lowering, known: dict, cond) -> bool:
    """Whether a condition is sure not to hold: one part of an `and` does not."""
    op, args = lo.b.facts.definition.get(cond, ("", ()))
    return op == "and" and any(known.get(a) is False or refuted(lo, known, a) for a in args)


def meant_by(lo: Lowering, code, op: str, wanted: int) -> tuple:
    """(condition, whether it is to hold) for an exit code to compare so: what a branch decides by its condition alone needs
    no code."""
    cond, *sides = lo.exit_codes.get(code, (None,))
    if cond is not None and all(isinstance(s, Const) for s in sides):
        match [FOLD[op](s.value, wanted) for s in sides]:
            case [True, False]:
                return cond, True
            case [False, True]:
                return cond, False
    return lo.b.compare(op, code, Const(wanted, "int64")), True


def code_where(lo: Lowering, code, cond, holds: bool):
    """The exit code where a condition holds or does not."""
    found = lo.exit_codes.get(code, (None,))
    return found[1 if holds else 2] if found[0] is cond else code


__all__ = ["bounds", "code_where", "hold_in", "least_zero", "meant_by", "proven", "running"]
