"""Joining loops over the same range, so that what one computes is used while it is near.

    e = empty((n, m))                                    e = empty((n, m))
    for i in range(n):                                   s = 0.0
        for j in range(m):                               for i in range(n):
            e[i, j] = x[i, j] - top[i]                       for j in range(m):
    s = 0.0                                   becomes            e[i, j] = x[i, j] - top[i]
    for i in range(n):                                           s = np.add(s, np.exp(e[i, j]))
        for j in range(m):                               return s
            s = np.add(s, np.exp(e[i, j]))
    return s

Two loops may be joined if what one writes and the other touches is touched by both at the iteration's own place only, or
only added to. Innermost loops are joined where both can be vectorised, or neither can.

Source: K. Kennedy and K. McKinley, Maximizing loop parallelism and improving data locality via loop fusion and
distribution, LCPC 1993.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

from ..language import core
from ..language.build import integer
from ..language.core import Arr, Call, Comment, Const, For, Function, Guard, If, Let, Load, Store, Var, While, is_float, walk
from ..language.facts import Facts
from ..language.motion import Touches, facts_of, made_equal, own_rows
from ..language.names import defined_in
from ..language.ops import VECTOR
from ..language.queries import allocated_in, allocations, checks_in, is_access, is_loop
from ..language.substitution import substitute

MOST_PAIRS = 24         # of rows that may overlap, one of them written, in an innermost loop: LLVM compares their addresses


class Merger:
    def __init__(self, function: Function):
        self.facts: Facts = facts_of(function, checks=False)
        self.checks = made_equal(function)
        self.touches = Touches()
        self.depths: dict = {}
        self.simples: dict = {}
        self.fresh = allocations(function.body).keys() | function.copied
        self.moved = {s.var: s.args if s.op == "add" else (s.args[0], integer(-s.args[1].value)) for s in walk(function.body)
                      if isinstance(s, Let) and s.op in ("add", "sub") and s.var.dtype == "int64"
                      and isinstance(s.args[0], Var) and isinstance(s.args[1], Const)}
        self.index: dict[Var, Var] = {}         # of a loop that was joined: that of the one it is now

    def place(self, index) -> tuple:
        """An integer as (variable, constant added to it)."""
        base, more = self.moved.get(index, (index, integer(0)))
        while base in self.index:
            base = self.index[base]
        return base, more.value

    def learn(self, stmt) -> None:
        """Sizes are equal behind the check that makes them so: a loop before it may not run over the other's range."""
        if isinstance(stmt, Guard) and stmt in self.checks:
            for pair in self.checks[stmt]:
                self.facts.equate(*pair)

    def forget(self, alias: dict) -> None:
        if self.facts.alias != alias:
            self.facts.forget_since(dict(alias))

    def simple(self, stmt) -> bool:
        """Whether a statement is a loop of known length that could be joined with another."""
        if stmt not in self.simples:
            self.simples[stmt] = simple(stmt)
        return self.simples[stmt]

    def depth(self, stmt) -> int:
        """How many loops are nested in a statement, itself included."""
        if stmt not in self.depths:
            inner = max((self.depth(s) for block in core.sub_blocks(stmt) for s in block), default=0)
            self.depths[stmt] = inner + is_loop(stmt)
        return self.depths[stmt]

    def common(self, first: For, second: For) -> int:
        """How many loops, from these inwards, could become one."""
        if not same_range(first, second, self.facts):
            return 0
        inner = [[s for s in loop.body if isinstance(s, For)] for loop in (first, second)]
        return 1 + max((self.common(a, b) for a in inner[0] for b in inner[1]), default=0)

    def worthwhile(self, first: For, second: For) -> bool:
        """Whether the loops share a buffer, and joining them costs no vector instructions."""
        if not self.share(first, second):
            return False
        inner = [not any(is_loop(s) for s in walk(loop.body)) for loop in (first, second)]
        if not all(inner):
            return True
        return alike(first, second) and pairs(first, second, self.fresh) <= MOST_PAIRS and same_places(first, second, self)

    def joined(self, first: For, second: For, loop: For) -> None:
        """Told that two loops have become one."""

    def share(self, first: For, second: For) -> bool:
        """Whether the loops touch a buffer in common."""
        arrays = [{x for x in self.touches[loop].names if isinstance(x, Arr)} for loop in (first, second)]
        return bool(arrays[0] & arrays[1])


def merge_nests(function: Function, merger: type[Merger] = Merger) -> Function:
    """The program with adjacent loops over the same range joined, outer ones first.

    merger: says of two loops that may be joined whether they should be.
    """
    return replace(function, body=merged(function.body, merger(function)))


def merged(block, known: Merger) -> tuple:
    """The block with its loops joined: first those with most loops in common, which share the largest buffers."""
    before = dict(known.facts.alias)
    for depth in range(max(map(known.depth, block), default=0), 0, -1):
        position = 0
        known.forget(before)
        while position < len(block):
            known.learn(block[position])
            made = with_earlier(block, position, known, depth) if known.depth(block[position]) >= depth else None
            if made is None:
                position += 1
            else:
                position -= len(block) - len(made) - 1      # the next statement
                block = made
    known.forget(before)
    out = []
    for s in block:
        known.learn(s)
        out.append(core.with_blocks(s, lambda inner: merged(inner, known)))
    return tuple(out)


def with_earlier(block, position: int, known: Merger, depth: int):
    """The block with the loop at `position` joined to an earlier one with `depth` loops in common; None if there is none."""
    second = block[position]
    if not known.simple(second):
        return None
    for k in range(position - 1, -1, -1):
        first = block[k]
        if isinstance(first, (For, While, If, Call)) and not known.simple(first) and known.touches.conflict(first, second):
            return None
        if known.depth(first) < depth or not known.simple(first) or known.common(first, second) < depth \
                or not known.worthwhile(first, second):
            continue
        if known.touches[second].names & known.touches[first].defines \
                or not meet_in_own_rows(first, second, known) or checks_in(first.body) and not in_known_bounds(second):
            continue
        between = block[k + 1:position]
        early = known.touches.movable(between, first, second)
        if early is None:
            if not known.touches.passes(first, between):
                continue
            early = [s for s in between if not isinstance(s, Comment)]      # the first loop comes down to the second
        late = [s for s in between if s not in early]
        heading = [late.pop()] if late and isinstance(late[-1], Comment) and not late[-1].section else []
        body = (*first.body, *heading, *substitute(second.body, {second.index: first.index}, fresh=False))
        carries = tuple(replace(c, next=first.index if c.next is second.index else c.next) for c in second.carries)
        loop = replace(first, carries=(*first.carries, *carries), body=body)
        known.index[second.index] = first.index
        known.joined(first, second, loop)
        return (*block[:k], *early, loop, *late, *block[position + 1:])
    return None


def simple(loop) -> bool:
    return (isinstance(loop, For) and loop.exit is None and loop.trip is None and loop.step == integer(1)
            and not any(isinstance(s, (core.Swap, core.Resize, core.Print)) for s in walk(loop.body)))


def same_range(a: For, b: For, facts) -> bool:
    return facts.same(a.start, b.start) and facts.same(a.stop, b.stop)


def pairs(first: For, second: For, fresh) -> int:
    """How many pairs of rows that may overlap the joined innermost loop would touch, of which one is written."""
    written: set = set()
    read: set = set()
    for loop in (first, second):
        for s in loop.body:
            if is_access(s):
                place = (s.array, *(first.index if i is loop.index else i for i in s.index))
                (written if isinstance(s, Store) else read).add(place)
    both = (*combinations(written, 2), *product(written, read - written))
    return sum(x[0] is y[0] or not {x[0], y[0]} & fresh for x, y in both)


def same_places(first: For, second: For, known: Merger) -> bool:
    """Whether innermost loops touch each buffer that one of them writes at one element: neighbours defeat vector code."""
    a, b = known.touches[first], known.touches[second]
    shared = (a.writes & b.names) | (b.writes & a.names)
    places: dict = {}
    for loop in (first, second):
        own = known.place(loop.index)
        for s in walk(loop.body):
            if is_access(s) and s.array in shared:
                found = (known.place(i) for i in s.index)
                places.setdefault(s.array, set()).add(tuple((None, more) if base is own[0] else (base, more)
                                                            for base, more in found))
    return all(len(found) == 1 for found in places.values())


def alike(first: For, second: For) -> bool:
    """Whether vector code can have both innermost loops or neither, or one takes so long that the other does not matter."""
    plain, other = sorted((first, second), key=vectorisable, reverse=True)
    return vectorisable(plain) == vectorisable(other) or calls(other) and not calls(plain)


def calls(loop: For) -> bool:
    """Whether an iteration calls a function that takes longer than arithmetic."""
    return any(isinstance(s, Let) and s.op in VECTOR for s in walk(loop.body))


def vectorisable(loop: For) -> bool:
    """Whether LLVM may run several iterations of an innermost loop at once."""
    if not all(isinstance(s, (Let, Load, Store, Comment)) or isinstance(s, If) and chooses(s) for s in loop.body):
        return False
    sums = {s.var for s in loop.body if isinstance(s, Let) and (s.op == "sum" or s.op == "add" and s.var.dtype == "int64")}
    if any(c.next not in sums for c in loop.carries):
        return False
    return all(any(i is loop.index for i in s.index) or has_own_place(s, loop) for s in loop.body if isinstance(s, Store))


def has_own_place(store: Store, loop: For) -> bool:
    """Whether iterations store apart from each other, at a constant from their index, and touch no other element."""
    at = {s.var for s in loop.body if isinstance(s, Let) and s.op in ("add", "sub") and s.args[0] is loop.index
          and isinstance(s.args[1], Const)}
    return not at.isdisjoint(store.index) and all(
        s.index == store.index for s in loop.body if is_access(s) and s.array is store.array)


def chooses(branch: If) -> bool:
    """Whether a branch only chooses between numbers that vector code can have both of."""
    return all(is_float(m.var) or isinstance(m.then, Const) and isinstance(m.orelse, Const) for m in branch.merges) and all(
        isinstance(s, (Let, Load, Comment)) and not (isinstance(s, Let) and s.op in VECTOR)
        for s in walk((*branch.then, *branch.orelse)))


def in_known_bounds(loop: For) -> bool:
    """Whether what a loop touches follows from sizes alone: else all the checks of a loop before it may be for that."""
    inside = defined_in(loop.body)
    fixed = {loop.index} | {s.index for s in walk(loop.body) if isinstance(s, For) and inside.isdisjoint((s.start, s.stop))}
    return all(i in fixed or i not in inside for s in walk(loop.body) if is_access(s) for i in s.index)


def meet_in_own_rows(first: For, second: For, known: Merger) -> bool:
    """Whether buffers that both loops touch, and one writes, are touched at the place that belongs to the iteration."""
    a, b = known.touches[first], known.touches[second]
    private = allocated_in((*first.body, *second.body))
    for array in ((a.writes & b.names) | (b.writes & a.names)) - private:
        if array not in a.plain and array not in b.plain:
            continue
        rows = [own_rows(loop, array, known.place, (other,)).items() for loop, other in ((first, second), (second, first))]
        if not rows[0] & rows[1]:
            return False
    return True


__all__ = ["Merger", "merge_nests"]
