"""Largest and smallest numbers that a loop keeps: what each iteration finds to be equal to them has its share.

    m = 0.0
    for i in range(n):
        m = np.maximum(m, abs(x[i]))
    return m

A loop that only keeps a number is a search, `if abs(x[i]) > m: m = abs(x[i])`, and `last_assignments.py` computes what it
found again, of the place where it was. Numbers that equal it come after that place, and each takes half of the derivative
from those before it, as the rule of `np.maximum` says of two equal numbers. That is a loop after the place which the reverse
sweep alone runs: it compares, and reads no tape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ..language import core
from ..language.core import Atom, Carry, Comment, Const, For, If, Let, Load, Merge, Var
from ..language.facts import Facts
from ..language.names import defined_in, names_in
from ..language.rewrite import bottom_up
from ..language.substitution import substitute
from .congruence import IMPURE
from .loop_fusion import calls

COMPARED = {"larger": ("gt", "ge"), "smaller": ("lt", "le")}       # how operands compare: beyond, not below


def extremum(carry: Carry, loop: For) -> Let | None:
    """The operation by which a loop keeps the largest or the smallest number in what it carries."""
    found = [s for s in core.walk(loop.body) if isinstance(s, Let) and s.op in COMPARED and carry.var in s.args]
    return found[0] if len(found) == 1 and found[0].args != (carry.var, carry.var) else None


def as_search(loop: For, extrema: dict[Carry, Let]) -> For:
    """The loop with branches that assign, for the operations that keep the largest or smallest number."""
    kept = {op: carry.var for carry, op in extrema.items()}

    def change(s) -> list | None:
        if s not in kept:
            return None
        carried, (beyond, not_below) = kept[s], COMPARED[s.op]
        cond, keeps = Var("cond", "bool"), Var("cond", "bool")
        if s.args[0] is carried:
            found = s.args[1]
            compared = [Let(cond, beyond, (found, carried), s.loc)]
        else:                                       # `max(c, m)` is c unless m is beyond it, also where one is no number
            found = s.args[0]
            compared = [Let(keeps, not_below, (carried, found), s.loc), Let(cond, "not", (keeps,), s.loc)]
        return [*compared, If(cond, (), (), (Merge(s.var, found, carried),), s.loc)]
    return replace(loop, body=bottom_up(loop.body, change))


def computing(block, needed: set, changed: set, usable: Callable = lambda s, mine: True) -> tuple[list, set]:
    """The statements of a block that compute what is needed, and what they need: those that give the same behind a loop that
    writes `changed`, and are `usable` for what they define of it."""
    made: list = []
    for s in reversed(block):
        mine = needed & set(core.defined(s))
        if mine and usable(s, mine) and all(is_pure(t, changed) for t in core.walk((s,))):
            made.insert(0, s)
            needed = needed - mine | (names_in((s,)) - defined_in((s,)))
    return made, needed


def is_pure(s, changed: set) -> bool:
    """Whether a statement gives the same behind a loop that writes `changed`."""
    return isinstance(s, (For, If, Comment)) or isinstance(s, Let) and s.op not in IMPURE or isinstance(
        s, Load) and s.array not in changed


def levels(loop: For, path) -> Iterator[tuple]:
    """The statements before each branch of a path into a loop, with the branch that they lead to and its side."""
    block = loop.body
    for branch, side in path:
        yield block[:block.index(branch)], branch, side
        block = branch.then if side else branch.orelse


def comparisons(loop: For, path, found: Atom) -> list | None:
    """For each branch of a path, the statements that its condition needs, of the loop's index alone, with its condition and
    its side, and last those of the number that is compared; None if they need more, or too long to be computed again."""
    changed, inside = core.written(loop.body), defined_in(loop.body) | set(core.bound_inside(loop))
    made: list = []
    needed: set = {found}
    for k, (block, branch, side) in enumerate(reversed(list(levels(loop, path)))):
        needed |= {branch.cond} if k else set()         # the first one is the comparison with what is kept
        mine, needed = computing(block, needed, changed)
        made.insert(0, (mine, branch.cond, side))
    long = any(isinstance(s, For) and calls(s) for block, _, _ in made for s in core.walk(block))
    return made if needed & inside <= {loop.index} and not long else None


def shared(loop: For, carry: Carry, path, last: Atom, first: Var, value: Var, facts: Facts) -> list:
    """What gives the carry's result its derivative: a loop over what comes after the place where the number was found, in
    which whatever equals it takes half of the derivative of those before. path: to the branch that assigns it; last: the
    index of that place, or the one before all; first: what was found there; value: the number."""
    index, start, result = Var(loop.index.hint, "int64"), Var(loop.index.hint, "int64"), twin(carry.var)
    facts.number(index)
    facts.range[index] = facts.range[loop.index]
    at: dict[Atom, Atom] = {loop.index: index}
    found: Atom = path[-1][0].merges[0].then
    compared = comparisons(loop, path, found) or []
    *outer, (inner, _, _) = [(substitute(made, at), at.get(cond, cond), side) for made, cond, side in compared]
    same, half, now, kept = Var("cond", "bool"), twin(carry.var), twin(carry.var), twin(carry.var)
    share, here = Const(0.5, carry.var.dtype), dict(at)
    equal = substitute(compared[-1][0], here)           # once more, so that its derivative is that of a branch
    halved = Let(half, "link", (value, share, kept, share, here.get(found, found)), loop.loc)
    body: tuple = (*inner, Let(same, "eq", (at.get(found, found), value), loop.loc),
                   If(same, (*equal, halved), (), (Merge(now, half, kept),), loop.loc))
    for made, cond, side in reversed(outer):
        merged = twin(carry.var)
        body = (*made, If(cond, body, (), (Merge(merged, now, kept),), loop.loc) if side else
                If(cond, (), body, (Merge(merged, kept, now),), loop.loc))
        now = merged
    carried = (Carry(kept, first, now, result),)
    return [Let(start, "add", (last, loop.step), loop.loc),
            For(index, start, loop.stop, loop.step, carried, body, loc=loop.loc, origin=loop.origin),
            Let(carry.result, "link", (value, Const(1.0, carry.var.dtype), result), loop.loc)]


def twin(v: Var) -> Var:
    return Var(v.hint, v.dtype)


__all__ = ["as_search", "comparisons", "computing", "extremum", "shared", "twin"]
