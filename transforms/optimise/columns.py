"""Matrices whose columns are walked lie by columns: the program holds their transposes.

    q = empty((n, m))                            q_T = empty((m, n))
    for j in range(m):                           for j in range(m):
        for i in range(n):                           for i in range(n):
            q[i, j] = x[i] * s[j]     becomes            q_T[j, i] = x[i] * s[j]
        for i in range(n):                           for i in range(n):
            y[i] += q[i, j]                              y[i] += q_T[j, i]

A step down a column is a step over a whole row of memory: each element brings a line of the cache of which it uses an
eighth, and LLVM computes one at a time. Arguments and results lie by rows, so theirs are copied, which is worth it where
loops go over all of their columns more than once, and no branch decides whether they do.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from ..language import core
from ..language.build import Builder, integer, loops
from ..language.core import Arr, Const, Function, Var, array_of
from ..language.facts import Facts, combine
from ..language.motion import facts_of
from ..language.names import names_in
from ..language.queries import is_access, is_allocation, is_load, is_loop, is_range, is_size, is_store, is_whole, operation
from ..language.rewrite import top_down

SHORT = 8           # elements of a line of the cache: steps over shorter rows, and loops of fewer iterations, cost nothing


def lie_by_columns(function: Function) -> Function:
    """The program with the transposes of such matrices in their places."""
    chosen = Walks(function).chosen()
    if not chosen:
        return function
    twins = {a: Arr(f"{a.hint}_T", a.dtype, a.shape[::-1], a.why) for a in chosen}
    begin = [a for a in chosen if a in function.params]
    body = turned(function.body, twins)
    for a in begin:
        body = before_first(body, twins[a], transposition(twins[a], a))
    for a in dict.fromkeys(function.returns):
        if a in twins:
            body += transposition(a, twins[a])
    return replace(function, body=body, copied=function.copied - set(begin))


def turned(block, twins: dict[Arr, Arr]) -> tuple:
    """The block with transposes in the places of matrices."""
    def change(s):
        if is_access(s) and s.array in twins:
            return (replace(s, array=twins[s.array], index=s.index[::-1]),)
        return (replace(s, array=twins[s.array]),) if is_allocation(s) and s.array in twins else None
    return top_down(block, change)


def before_first(body: tuple, array: Arr, statements: tuple) -> tuple:
    """The body with statements before the first that mentions an array."""
    at = next(k for k, s in enumerate(body) if array in names_in((s,)))
    return (*body[:at], *statements, *body[at:])


def transposition(target: Arr, source: Arr) -> tuple:
    """Memory for a matrix, and the loops that copy the transpose of another to it."""
    b = Builder(Facts())
    b.make(target)
    loops(b, target.shape, lambda inner, i: inner.store(target, i, inner.load(source, i[::-1])))
    return b.block()


class Walks:
    """How a program walks its matrices. steps: of each, by the depth of loops, how many accesses step along rows, less those
    that step down columns, if it is one column after the other to the last; a store counts twice. again: those of which all
    is walked more than once, and how deep."""

    def __init__(self, function: Function):
        self.function, self.facts = function, facts_of(function)
        self.known: dict[Var, frozenset] = {}           # the loops with whose iterations an integer changes
        self.fixed = set(function.tape) | core.rebound(function.body)
        self.steps: dict[Arr, Counter] = {}
        self.again: set[tuple[Arr, int]] = set()
        self.walked: dict[tuple, set] = {}              # by which loops, of a depth, a matrix is walked
        self.indices = {s.index: s for s in core.walk(function.body) if is_range(s)}
        self.visit(function.body, (), True)

    def visit(self, block, around: tuple, certain: bool) -> None:
        """around: the loops around a block; certain: whether no branch is."""
        for s in block:
            self.learn(s, around)
            if is_access(s):
                self.meet(s, around, certain)
            elif not is_size(s) or s.args[0] not in self.function.params:
                self.fixed.update(x for x in map(array_of, (*core.operands(s), *core.results(s))) if isinstance(x, Arr))
            for inner in core.sub_blocks(s):
                self.visit(inner, (*around, s) if is_loop(s) else around, certain and is_loop(s))

    def learn(self, stmt, around: tuple) -> None:
        """Keep with which loops the integers change that a statement binds."""
        read: tuple = core.operands(stmt) if operation(stmt) else stmt.index if is_load(stmt) else ()
        for v in core.defined(stmt):
            changes = frozenset().union(*map(self.changes, read)) if read else frozenset(around[-1:])
            self.known[v] = changes
        if is_loop(stmt):
            self.known.update(dict.fromkeys(core.bound_inside(stmt), frozenset((stmt,))))

    def changes(self, atom) -> frozenset:
        return self.known.get(atom, frozenset())

    def meet(self, access, around: tuple, certain: bool) -> None:
        """Count an access, but for those to a few columns, for which the others are not to be copied."""
        array = access.array
        if len(access.index) != 2 or array.pairs:
            return
        down, along = map(self.changes, access.index)
        loop = next((loop for loop in reversed(around) if loop in down or loop in along), None)
        if loop is None or is_brief(loop) or loop not in along and not self.spans(access.index[1], array.shape[1], True):
            return
        loops = [s for s in around[:around.index(loop) + 1] if not is_brief(s)]
        where = array, len(loops)
        self.steps.setdefault(array, Counter())[len(loops)] += (1 if loop in along else -1) * (1 + is_store(access))
        if loop in along or not certain or not self.spans(access.index[0], array.shape[0], False):
            return
        self.walked.setdefault(where, set()).add(loop)
        if len(self.walked[where]) > 2 or not set(loops) <= down | along or any(map(self.overlaps, access.index)):
            self.again.add(where)

    def overlaps(self, atom) -> bool:
        """Whether an integer is a sum of indices of loops: in triangles and windows, an element is met more than once."""
        changing = [v for v in self.facts.affine(atom)[1] if self.changes(v)]
        return len(changing) > 1 and self.indices.keys() >= set(changing)

    def spans(self, atom, size, from_start: bool) -> bool:
        """Whether a place goes up to the end of an axis, or down from it; from_start: and all the way, in each iteration of
        the loops around or, as in a triangle, over all of them."""
        form = self.facts.affine(atom)
        loop = next((self.indices[v] for v in reversed(form[1]) if v in self.indices and form[1][v] == 1), None)
        if loop is None or not is_whole(loop) or loop.step not in (integer(1), integer(-1)):
            return False
        ends = loop.start, self.without_limit(loop.stop)
        first, last = (combine(combine(form, self.facts.affine(loop.index), -1), self.facts.affine(end), 1)
                       for end in (ends if loop.step == integer(1) else ends[::-1]))
        missing, gap = combine(self.facts.affine(size), last, -1)
        near = not gap and abs(missing) < SHORT
        return near and (not from_start or abs(first[0]) < SHORT and self.indices.keys() >= first[1].keys())

    def without_limit(self, atom):
        """x of max(x, 0), at which a range may stop."""
        op, args = self.facts.definition.get(atom, ("", ()))
        return next((x for x in args if x != integer(0)), atom) if op == "max" and integer(0) in args else atom

    def chosen(self) -> list[Arr]:
        """The matrices that are to lie by columns."""
        function = self.function
        theirs = core.written(function.body) - function.copied | set(function.returns)
        found = []
        for a, steps in self.steps.items():
            deepest = max(steps)
            if a in self.fixed or steps[deepest] >= 0 or any(isinstance(n, Const) and n.value < SHORT for n in a.shape):
                continue
            if a in function.params and a in theirs or (a in function.params or a in function.returns) and (
                    a, deepest) not in self.again:
                continue
            found.append(a)
        return found


def is_brief(loop) -> bool:
    """Whether a loop is known to have few iterations."""
    if not (is_range(loop) and isinstance(loop.start, Const) and isinstance(loop.stop, Const)):
        return False
    return abs(loop.stop.value - loop.start.value) < SHORT


__all__ = ["lie_by_columns"]
