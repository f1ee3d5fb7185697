"""Branches that leave out one iteration of a loop, as `if j != i` does: computed in all of them, and chosen.

    e = 0.0                                             e = 0.0
    for i in range(n):                                  for i in range(n):
        for j in range(n):                                  for j in range(n):
            if j != i:                      becomes            v = np.exp(x[j] - x[i])
                e += np.exp(x[j] - x[i])                       v = v if j != i else -0.0
    return e                                                   e += v
                                                        return e

A loop with a branch for all that it does is not vectorised. One iteration more costs little, and what it computes is not
used: nothing in it raises, reads beyond an array or writes. Only branches with functions, roots and divisions are so made.

Source: J. R. Allen, K. Kennedy, C. Porterfield, J. Warren, Conversion of control dependence to data dependence, POPL 1983.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import ONE
from ..language.core import FLOATS, Arr, Const, For, Function, If, Let, Merge, Var
from ..language.motion import facts_of, in_range, learn_check
from ..language.names import defined_in
from ..language.ops import VECTOR
from ..language.queries import (
    acting,
    is_branch,
    is_check,
    is_load,
    is_simple,
    is_store,
    is_whole,
    operation,
    operations,
)
from ..language.rewrite import each_loop
from .chosen_stores import nothing
from .loop_distribution import SLOW, is_near

BACK = Const(-1, "int64")
WHOLE = ("add", "sub", "mul", "neg", "cast", "dim")         # of integers: none raises, whatever it is given


def convert_branches(function: Function) -> Function:
    """The program with the branches of innermost loops that leave out one iteration made choices."""
    if not any(is_branch(s) and slow(s.then, s.orelse) for s in core.walk(function.body)):
        return function
    facts = facts_of(function)

    def converted(loop: For) -> tuple | None:
        if not is_whole(loop) or not all(is_simple(s) or is_branch(s) for s in core.walk(loop.body)):
            return None
        made = [Converted(loop, s, facts).made() if leaves_out_one(s, loop) else None for s in loop.body]
        if not any(made):
            return None
        return (replace(loop, body=tuple(t for s, new in zip(loop.body, made, strict=True) for t in new or (s,))),)
    tests = operations(function.body, lambda s: s.var.dtype == "bool")
    body: list = []
    for s in function.body:
        if is_check(s):
            learn_check(facts, s.cond, tests)
        body += each_loop((s,), converted)
    return replace(function, body=tuple(body))


def slow(*blocks) -> bool:
    """Whether statements compute what is worth computing for several iterations at once."""
    found = [operation(s) for block in blocks for s in block]
    return any(op in VECTOR for op in found) or sum(op in SLOW for op in found) > 1


def leaves_out_one(branch, loop: For) -> bool:
    """Whether a branch of a loop does one thing in the iteration that an index from outside numbers, another in the rest."""
    if not is_branch(branch) or not slow(branch.then, branch.orelse):
        return False
    inside = defined_in((loop,))
    tests: dict = operations(loop.body)
    test = tests.get(branch.cond)
    if test is None or test.op not in ("eq", "ne") or loop.index not in test.args or loop.step not in (ONE, BACK):
        return False
    rare, often = (branch.then, branch.orelse) if test.op == "eq" else (branch.orelse, branch.then)
    return slow(often) and not slow(rare) and all(x is loop.index or x not in inside for x in test.args)


class Converted:
    """A branch, and what takes its place."""

    def __init__(self, loop: For, branch: If, facts):
        self.loop, self.branch, self.facts = loop, branch, facts
        self.defs: dict = operations((*branch.then, *branch.orelse))
        self.heads = {c.var for c in loop.carries}
        self.read = {v for s in loop.body for v in core.defined(s) if is_load(s)}       # what comes of arrays
        for s in (*acting(branch.then), *acting(branch.orelse)):
            if is_load(s) or operation(s) and not self.read.isdisjoint(s.args):
                self.read.update(core.defined(s))

    def made(self) -> tuple | None:
        branch = self.branch
        sides = [acting(branch.then), acting(branch.orelse)]
        written = {s.array for s in core.walk(self.loop.body) if is_store(s)}
        if not all(self.harmless(s, written) for side in sides for s in side):
            return None
        computed = [s for block in (branch.then, branch.orelse) for s in block if not is_store(s)]
        merges: list[Merge] = []
        after: list = []
        gone: set = set()
        for m in branch.merges:
            terms = self.terms(m)
            if terms is None:
                merges.append(m)
                continue
            op, head, values = terms
            chosen = Merge(named(values), *values)
            merges.append(chosen)
            after.append(Let(m.var, op, (head, chosen.var), branch.loc))
            gone.update((m.then, m.orelse))
        for k, side in enumerate(sides):
            for s in side:
                if is_store(s):
                    values = [s.value, nothing(s.array)]
                    merges.append(Merge(named(values), *(values if k == 0 else values[::-1])))
                    after.append(replace(s, value=merges[-1].var))
        kept = [s for s in computed if not (operation(s) and s.var in gone)]
        return (*kept, If(branch.cond, (), (), tuple(merges), branch.loc), *after)

    def harmless(self, s, written: set[Arr]) -> bool:
        """Whether a statement may run in the iteration that is left out: it neither raises nor changes anything there. One
        that reads from afar keeps the loop from being vectorised in any case."""
        if is_store(s):
            return bool(s.accumulate) and in_range(self.facts, s.array, s.index)
        if is_load(s):
            return s.array not in written and in_range(self.facts, s.array, s.index) and is_near(s, self.loop, self.facts)
        if not isinstance(s, Let):
            return False
        if s.var.dtype not in FLOATS:
            return s.var.dtype == "bool" or s.op in WHOLE and all(x.dtype != "float64" for x in s.args)
        return s.op != "div" or not self.read.isdisjoint(s.args)        # other numbers Python mode divides as Python does

    def terms(self, merge: Merge) -> tuple | None:
        """(operation, carry, what each side adds to it) where both sides hand on a carry with something added or nothing."""
        found: list = []
        ops, heads = set(), set()
        for x in (merge.then, merge.orelse):
            d = self.defs.get(x)
            if x in self.heads:
                head, term = x, None
            elif d is not None and d.op in ("add", "sum") and len(h := [a for a in d.args if a in self.heads]) == 1:
                head, term = h[0], next((a for a in d.args if a is not h[0]), None)
                ops.add(d.op)
            else:
                return None
            heads.add(head)
            found.append(term)
        reads = [a for s in core.walk(self.loop.body) for a in core.operands(s)]
        if len(ops) != 1 or len(heads) != 1 or merge.var.dtype not in FLOATS or found == [None, None]:
            return None
        read = sum(reads.count(x) for x in {merge.then, merge.orelse, *heads})
        if read != len([x for x in found if x is not None]) + 2:
            return None                             # something else reads the sum
        zero = Const(-0.0, merge.var.dtype)
        return ops.pop(), heads.pop(), [zero if term is None else term for term in found]


def named(values: list) -> Var:
    """A variable for one of two numbers, with the name of one that is not known."""
    return next(Var(x.hint, x.dtype) for x in (*values, Var("choice", values[0].dtype)) if isinstance(x, Var))


__all__ = ["convert_branches"]
