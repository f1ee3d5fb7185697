"""Branches on one condition taken together, and what one has computed used by the next.

    if c:                                  if c:
        a = np.sqrt(x)                         a = np.sqrt(x)
    else:                                      b = 1.0 / a
        a = 0.0                            else:
    if c:                       becomes        a = 0.0
        b = 1.0 / np.sqrt(x)                   b = 1.0
    else:                                  return a, b
        b = 1.0
    return a, b

The reverse sweep asks for the values of a branch one by one; each asks for the branch again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..language import core
from ..language.core import Const, Function, Merge, NoCotangent, Var
from ..language.motion import Touches
from ..language.names import names_in
from ..language.ops import EXPENSIVE
from ..language.queries import is_branch, operation, operations
from ..language.rewrite import kept
from ..language.substitution import renamed, substitute
from .joint import IMPURE, shared


def merge_branches(function: Function) -> Function:
    """The program with branches on one condition joined where nothing stands between, and their values shared."""
    mapping: dict = {}
    body = joined(function.body, Touches(), mapping)
    body = exported(body, mapping)
    return renamed(function, body, mapping)


def joined(block, touches: Touches, mapping: dict) -> tuple:
    position = 0
    while position < len(block):
        made = with_earlier(block, position, touches, mapping) if is_branch(block[position]) else None
        if made is None:
            position += 1
        else:
            block = made
    return tuple(core.with_blocks(s, lambda inner: joined(inner, touches, mapping)) for s in block)


def before(block, position: int) -> int | None:
    """Where the last branch before one stands that is on the same condition; None if there is none."""
    cond = block[position].cond
    return next((k for k in range(position - 1, -1, -1) if is_branch(block[k]) and block[k].cond is cond), None)


def with_earlier(block, position: int, touches: Touches, mapping: dict):
    """The block with the branch at `position` joined to the one before on the same condition; None if that cannot be."""
    second, k = block[position], before(block, position)
    if k is None:
        return None
    first = block[k]
    sized = {s.array for s in core.walk((second,)) if isinstance(s, core.Alloc)}
    if any(m.var in a.shape for m in first.merges for a in sized):
        return None                         # the sizes of memory are not told on either side
    if first.merges:                        # what it needs but for results of the first
        second, = substitute((second,), {m.var: Const(0, m.var.dtype) for m in first.merges}, fresh=False)
    if touches[second].names & touches[first].defines:
        return None
    between = block[k + 1:position]
    early = touches.movable(between, first, second)
    if early is None:
        return None
    late = [s for s in between if s not in early]
    second = block[position]

    def together(a, b) -> tuple:
        body = (*a, *b)
        return shared(body, {}, mapping, names_in(body) - core.written(body))
    sides, merges = [], []
    for side in ("then", "orelse"):
        results = {m.var: getattr(m, side) for m in first.merges}
        sides.append(together(getattr(first, side), substitute(getattr(second, side), results, fresh=False)))
        merges.append([results.get(x, x) for x in (getattr(m, side) for m in second.merges)])
    made = replace(first, then=sides[0], orelse=sides[1], merges=(*first.merges, *(
        Merge(m.var, *ends) for m, *ends in zip(second.merges, *merges, strict=True))))
    made, = substitute((made,), mapping, fresh=False)           # at once: what is moved next must know what it needs
    return (*block[:k], *early, made, *late, *block[position + 1:])


# -- sums of what a branch gives ---------------------------------------------------------------------------------------
def sum_choices(function: Function) -> Function:
    """The program in which a sum of two results of a branch, of which each side leaves one zero, is one result of it."""
    def visit(block) -> tuple:
        out = [core.with_blocks(s, visit) for s in block]
        gone: set = set()
        for k, branch in enumerate(out):
            merges = {m.var: m for m in branch.merges} if is_branch(branch) else {}
            sums = {s: sides for s in out[k + 1:] if operation(s) in ("sum", "add") and merges.keys() >= {*s.args}
                    and (sides := either(*(merges[a] for a in s.args)))}
            if sums:
                more = tuple(Merge(s.var, *sides) for s, sides in sums.items())
                out[k] = replace(branch, merges=(*branch.merges, *more))
                gone |= sums.keys()
        return kept(block, [s for s in out if s not in gone])
    return replace(function, body=visit(function.body))


def either(a: Merge, b: Merge) -> tuple | None:
    """What the sum of two results is on each side, where one of them is no cotangent."""
    for x, y in ((a, b), (b, a)):
        if isinstance(x.orelse, NoCotangent) and isinstance(y.then, NoCotangent):
            return x.then, y.orelse
    return None


# -- values of one branch for a later one on the same condition --------------------------------------------------------
def exported(block, mapping: dict) -> tuple:
    """The block with what a branch computes and an earlier one on the same condition has computed taken from there."""
    block = [core.with_blocks(s, lambda inner: exported(inner, mapping)) for s in block]
    for k, second in enumerate(block):
        j = before(block, k) if is_branch(second) else None
        if j is not None:
            block[j], block[k] = from_first(block[j], second, mapping)
    return tuple(block)


def from_first(first, second, mapping: dict):
    """Both branches with the dear operations of the second that the first has done replaced by new results of the first."""
    get = lambda x: mapping.get(x, x) if isinstance(x, Var) else x  # noqa: E731
    merges = list(first.merges)
    sides: dict[str, Any] = {}
    for side in ("then", "orelse"):
        done = {(s.op, s.var.dtype, *map(get, s.args)): v for v, s in operations(getattr(first, side)).items()
                if s.op not in IMPURE}
        same: dict = {}             # of the second's variables: the first's
        outside: dict = {}          # of the first's variables: the result that carries them out
        kept = []
        for s in getattr(second, side):
            if operation(s) and s.op not in IMPURE:
                key = (s.op, s.var.dtype, *(same.get(a, get(a)) if isinstance(a, Var) else a for a in s.args))
                if key in done:
                    v = same[s.var] = done[key]
                    if s.op in EXPENSIVE:
                        if v not in outside:
                            outside[v] = Var(v.hint, v.dtype)
                            other = Const({"bool": False, "int64": 0}.get(v.dtype, 0.0), v.dtype)
                            merges.append(Merge(outside[v], v if side == "then" else other, other if side == "then" else v))
                        mapping[s.var] = outside[v]
                        continue
            kept.append(s)
        sides[side] = tuple(kept)
    return replace(first, merges=tuple(merges)), replace(second, **sides)


__all__ = ["merge_branches", "sum_choices"]
