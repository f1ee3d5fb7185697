"""Places that a loop does not change are checked once, before it.

    for e in range(n):                                for e in range(n):
        for k in range(m):                                if 0 < m:
            i = wrap_index(e - p, r, 0)    becomes            i = wrap_index(e - p, r, 0)
            s[e] += x[i, k]                               else:
                                                              i = 0
                                                          for k in range(m):
                                                              s[e] += x[i, k]

As rows of a table that the data name, `x[u[e], k]`, nodes of an element, words of a vocabulary. A loop with such a check
cannot be vectorised. Errors stay those that they were, in their order: a check goes before a loop only if it is the first
of its iteration, or follows those that go, and a loop that does not run checks nothing.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import Builder
from ..language.core import Const, For, Function, If, Let, Load, Merge, Var
from ..language.facts import Facts
from ..language.motion import facts_of
from ..language.names import defined_in, mentioned, names_in
from ..language.queries import is_range, operation
from ..language.rewrite import kept
from ..language.substitution import renamed, substitute
from .simplify import raises


def check_early(function: Function) -> Function:
    """The program with such checks before the loops that do not change what they check."""
    if not any(operation(s) == "wrap_index" for s in core.walk(function.body)):
        return function
    facts = facts_of(function)
    equal: dict = {}

    def visit(block) -> tuple:
        out: list = []
        here: dict = {}
        for s in block:
            s = core.with_blocks(s, visit)
            out += Moving(s, facts, equal, here).made() if is_range(s) and core.known_value(s.step) else [s]
        return kept(block, out)
    return renamed(function, visit(function.body), equal)


def nothing(v: Var) -> Const:
    """What stands for a number that a loop which does not run has not made."""
    return Const({"bool": False, "int64": 0}.get(v.dtype, 0.0), v.dtype)


def is_place(s) -> bool:
    """Whether a statement checks a place, or is a branch that does and no more."""
    return operation(s) == "wrap_index" or isinstance(s, If) and not s.orelse and any(map(raises, s.then)) and all(
        isinstance(t, (Let, Load)) for t in s.then)


class Moving:
    """A loop, and what goes before it. equal: gets the names that places have there, by those that they had; here: gets
    what stands in the block before later loops, by what it is."""

    def __init__(self, loop: For, facts: Facts, equal: dict, here: dict):
        self.loop, self.facts, self.equal, self.here = loop, facts, equal, here
        self.inside = set(core.bound_inside(loop)) | defined_in(loop.body) | core.written(loop.body)
        self.makers: dict = {v: s for s in loop.body for v in core.defined(s)}
        self.before: list = []
        self.known: dict = {}           # what is there already, by what it is
        self.names: dict[Var, Var] = {}

    def made(self) -> list:
        """The statements in the place of the loop."""
        moved = self.first_checks()
        if not moved:
            return [self.loop]
        up = core.known_value(self.loop.step) > 0
        ends = (self.loop.start, self.loop.stop) if up else (self.loop.stop, self.loop.start)
        runs = Builder(self.facts)
        cond = self.here.get(ends) or runs.compare("lt", *ends)
        self.here[ends] = cond
        merges: dict = {}
        for v in (v for s in moved for v in core.defined(s)):
            s = self.makers[v]
            key = (cond, *core.operands(s)) if operation(s) and not self.inside.intersection(core.operands(s)) else v
            place = self.here.get(key) or merges.get(x := self.early(v))
            if place is None and cond == Const(True, "bool"):
                place = x
            if place is None:
                merges[x] = v
            else:
                self.equal[v] = place
            self.here.setdefault(key, place or v)
        rest = replace(self.loop, body=tuple(s for s in self.loop.body if s not in moved))
        if cond == Const(True, "bool"):
            return [*self.before, rest]
        first = If(cond, tuple(self.before), (), tuple(Merge(v, x, nothing(v)) for x, v in merges.items()), self.loop.loc)
        return [*runs.stmts, *([first] if merges else []), rest]

    def first_checks(self) -> list:
        """The places that an iteration checks before anything else that may fail, or shows, if they do not change."""
        found: list = []
        for s in self.loop.body:
            if is_place(s) and self.can_go(s):
                found.append(s)
            elif any(isinstance(t, (core.Call, core.Print, core.While)) or raises(t) for t in core.walk((s,))):
                break
        return found

    def can_go(self, s) -> bool:
        """Whether a statement can stand before the loop, with copies of those that make what it needs."""
        needed = self.inside & (names_in((s,)) - defined_in((s,)))
        return all((m := self.makers.get(x)) is not None and (isinstance(m, (Let, Load)) or is_place(m)) and self.can_go(m)
                   for x in needed)

    def early(self, x):
        """A number of the loop, as it is made before it."""
        if x not in self.makers:
            return x
        if x not in self.names:
            s = self.makers[x]
            needed = dict.fromkeys(y for y in mentioned((s,)) if isinstance(y, Var) and y not in defined_in((s,)))
            made, = substitute((s,), {y: self.early(y) for y in needed})
            key = (s.op, made.args) if isinstance(s, Let) else (s.array, made.index) if isinstance(s, Load) else s
            found = self.known.setdefault(key, made)
            if found is made:
                self.before.append(made)
            self.names.update(zip(core.defined(s), core.defined(found), strict=True))
        return self.names[x]


__all__ = ["check_early"]
