"""Remainders of places that hardly leave their range, as in `x[(i + 1) % n]`, without a division.

    for i in range(n):                            for i in range(n):
        v = (i + 1) % n                               v = i + 1
        y[i] = x[v]               becomes             v = v if v < n else 0
                                                      y[i] = x[v]

Inside the loop `n` is above 0; of a number below 0 the remainder is another one. A division takes as long as twenty
additions, and such a choice can be decided outside the loop (`wrapping.py`).
"""

from __future__ import annotations

from ..language.build import ZERO, Builder
from ..language.core import Function, If, Let, Merge, Var, sub_blocks, walk, with_blocks
from ..language.facts import NEAR, Facts, combine
from ..language.motion import behind_checks
from ..language.queries import is_range, operation
from ..language.rewrite import kept
from ..language.substitution import renamed


def without_remainders(function: Function) -> Function:
    """The program with choices in the place of remainders of which it is known that they wrap once, or rarely."""
    if not any(operation(s) == "mod" and s.var.dtype == "int64" for s in walk(function.body)):
        return function
    same: dict = {}
    body = kept(function.body, [made for s, facts in behind_checks(function) for made in chosen((s,), facts, same)])
    return function if body is function.body else renamed(function, body, same)


def chosen(block: tuple, facts: Facts, same: dict) -> tuple:
    """A block with choices in the place of remainders. same: takes what they are."""
    out: list = []
    for s in block:
        if operation(s) == "mod" and s.var.dtype == "int64":
            out += choice(s, facts, same)
            continue
        if sub_blocks(s):
            with facts.assuming(facts.running(s.index) if is_range(s) else ()):
                s = with_blocks(s, lambda inner: chosen(inner, facts, same))
        out.append(s)
    return kept(block, out)


def choice(remainder: Let, facts: Facts, same: dict) -> list:
    """Statements for `a % b` that divide only where `a` leaves the range, and there only if it may be by more than `b`.

    Itself, if it is not known that `b` is above 0, and that `a` leaves the range by less than `b`, or by few.
    """
    a, b = remainder.args
    place, size = facts.affine(a), facts.affine(b)
    above, below = facts.at_least(a), facts.at_most(a, b, 1)
    if above and below:
        same[remainder.var] = a
        return []
    ahead = facts.proven(combine(combine(size, size, 1), combine(place, (1, {}), 1), -1))          # 2 b - 1 - a
    back = facts.proven(combine(place, size, 1))                                                   # a + b
    if not ((below or ahead) and (above or back) or facts.at_least(b, 1)):      # the first says that b is above 0, too
        return [remainder]
    builder, found = Builder(facts), a
    builder.loc = remainder.loc
    for within, once, shift, cond, by_one, one_off, by_few in (
            (below, ahead, "sub", ("lt", a, b), facts.at_most(a, b), ZERO, facts.at_most(a, b, 1 - NEAR)),
            (above, back, "add", ("ge", a, ZERO), facts.at_least(a, -1), None, facts.at_least(a, -NEAR))):
        if within:
            continue
        if not (once or by_few):
            return [remainder]
        test = builder.compare(*cond)
        if by_one:
            other = one_off or builder.isub(b, 1)
        else:
            other = builder.let(shift if once else "mod", a, b, dtype="int64")
        var = Var(remainder.var.hint, "int64")
        builder.add(If(test, (), (), (Merge(var, found, other),)))
        found = var
    same[remainder.var] = found
    return builder.stmts


__all__ = ["without_remainders"]
