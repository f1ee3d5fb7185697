"""What the processor computes for several elements at once, apart from what has an order.

    total = 0.0                               log_row = np.empty(256)
    for i in range(n):                        total = 0.0
        total += np.log(x[i])                 for block in range(0, n, 256):
    return total                                  end = min(n, block + 256)
                                  becomes         for i in range(block, end):
                                                      log_row[i - block] = np.log(x[i])
                                                  for i in range(block, end):
                                                      total += log_row[i - block]
                                              return total

Additions in the program's order, and recurrences (`s = a * s + b`), keep a loop from being vectorised, and with it the
exponentials and logarithms that they feed or feed on. Of such a loop each block of iterations runs as up to four loops: the
functions that no recurrence changes, the recurrences and sums, the functions of their numbers, and the sums of those. What
passes from one to the next lies in rows that stay in the first-level cache; numbers are added in the order they were. Roots
and divisions count as functions where there are some and only sums have an order: behind recurrences they cost nothing.
Branches that choose numbers go where they are needed; others stay with the sums.

Without functions, a loop whose numbers have no order but for sums leaves these to a loop of their own, if an iteration is
long enough, and so it does with what it adds to places of cotangents that other iterations add to (`x_bar[i + 1] += g`).

Source: J. R. Allen, K. Kennedy, Automatic translation of Fortran programs to vector form, TOPLAS 9 (1987): loop
distribution; strip mining and scalar expansion as in M. Wolfe, High Performance Compilers for Parallel Computing (1996).
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from itertools import combinations
from math import prod
from typing import Any, TypeGuard

from ..language import core
from ..language.build import Builder, integer
from ..language.core import Alloc, Arr, Carry, Comment, Const, For, Function, Let, Load, Store, Var, While
from ..language.facts import Facts
from ..language.motion import facts_of
from ..language.names import defined_in
from ..language.ops import VECTOR
from ..language.queries import (
    acting,
    adds_freely,
    is_access,
    is_branch,
    is_load,
    is_short,
    is_simple,
    is_store,
    operation,
    operations,
)
from ..language.rewrite import each_loop
from ..language.substitution import substitute
from .simplify import raises
from .store_forwarding import distinct

BLOCK = 256             # iterations: rows of 2 KiB
MOST_ROWS = 6
SLOW = ("div", "sqrt")
NEAR = 4                # numbers, of which LLVM takes one
SMALL = 4               # powers that are products; operations that take time in a branch that is a choice
FEWEST = 32             # iterations, where their number is known
WORTH = 16              # operations of an iteration, from which on ordered sums are worth a loop of their own
DEAR = 5                # those that a root or a quotient counts as
STEPS = (integer(1), integer(-1))
FUNCTIONS, SUMS = (Comment(f"in blocks of {BLOCK} iterations: {what}") for what in (
    "functions in loops of their own, which run several at once", "what is added up in its order is in a loop of its own"))


def distribute(function: Function) -> Function:
    """The program with its innermost loops distributed where functions can be vectorised so. Loops that go back over the
    iterations of one that ends early, as a search does, may be short, and run as they are."""
    if not any(map(may_gain, core.walk(function.body))):
        return function
    facts, rows = facts_of(function), []
    counted: set = set()                        # by a loop that ends early, or computed from such a number
    for s in core.walk(function.body):
        if isinstance(s, (While, For)) and s.trip is not None:
            counted.add(s.trip)
        elif isinstance(s, Store) and s.value in counted:
            counted.add(s.array)
        elif isinstance(s, (Let, Load)) and not counted.isdisjoint(core.operands(s)):
            counted.add(s.var)

    def distributed(loop: For) -> list | None:
        if not may_gain(loop) or not counted.isdisjoint((loop.start, loop.stop)):
            return None
        made = Distributed(loop, facts).made()
        rows.extend([] if made is None else [Alloc(a, loc=loop.loc) for a in made[0]])
        return None if made is None else made[1]
    body = each_loop(function.body, distributed)
    return replace(function, body=(*rows, *body))


def may_gain(loop) -> TypeGuard[For]:
    """Whether a statement is a plain innermost loop that computes what takes time."""
    return isinstance(loop, For) and loop.exit is None and loop.trip is None and loop.checkpoint is None and \
        loop.step in STEPS and not is_short(loop, FEWEST - 1) and (
            any(map(is_slow, core.walk(loop.body))) or bool(loop.carries) and work(loop.body) >= WORTH) and all(
            is_simple(s) or is_branch(s) for s in core.walk(loop.body))


def is_near(load: Load | Store, loop: For, facts: Facts) -> bool:
    """Whether what iterations read lies side by side, or nearly so: LLVM reads several at once, but not from afar."""
    inside = defined_in((loop,))
    forms = [facts.affine(i)[1] for i in load.index]
    moving = [k for k, terms in enumerate(forms) if not inside.isdisjoint(terms)]
    if not moving:
        return True
    k, within = moving[0], load.array.shape[moving[0] + 1:]
    sizes = [int(n.value) for n in within if isinstance(n, Const)]
    return len(moving) == 1 and inside.intersection(forms[k]) == {loop.index} and len(sizes) == len(within) and abs(
        forms[k][loop.index]) * prod(sizes) <= NEAR


def reads(stmt) -> list:
    """What a statement and those inside it read."""
    return [x for s in core.walk((stmt,)) for x in core.operands(s)]


def is_function(s) -> bool:
    """Whether a statement computes a function. A small power is a few products."""
    return operation(s) in VECTOR and not (s.op == "pow" and isinstance(s.args[1], Const) and abs(
        s.args[1].value) <= SMALL and s.args[1].value == int(s.args[1].value))


def is_slow(s) -> bool:
    return is_function(s) or operation(s) in SLOW


def is_choice(stmt) -> bool:
    """Whether a statement is a branch that chooses numbers and does little for it that it may not do always."""
    inside = acting((*stmt.then, *stmt.orelse)) if is_branch(stmt) else [None]
    return all(map(operation, inside)) and sum(map(is_slow, inside)) <= SMALL


def is_pure(branch) -> bool:
    """Whether a branch chooses numbers, and touches no memory."""
    return all(operation(s) or is_branch(s) for s in acting(core.walk((branch,))))


class Distributed:
    """A loop, and which of its statements go where.

    heads: numbers that an iteration hands on and reads; sums: those that are only added to. tied: buffers whose elements
    are met by more than one statement, which keep their order. whole: branches that stay as they are. changing: what
    depends on any of these.
    """

    def __init__(self, loop: For, facts: Facts):
        self.loop, self.facts = loop, facts
        self.defs: dict = {v: s for s in loop.body for v in core.defined(s)}
        self.tied, self.linked = self.met()
        self.sums = {c: self.defs[c.next] for c in loop.carries if self.is_sum(c)}
        self.heads = {c.var for c in loop.carries if c not in self.sums}
        self.whole = [s for s in loop.body if is_branch(s) and not is_choice(s)]
        self.changing = self.depends(self.heads, lambda s: s in self.whole or is_load(s) and s.array in self.tied)
        self.ordered = bool(self.linked) or not all(map(self.is_free, loop.carries))
        alone = self.depends(set(), lambda s: any(map(raises, core.walk((s,)))) or (
            is_load(s) and not is_near(s, loop, facts)))
        self.costly = {s for s in loop.body if any(map(is_function, core.walk((s,)))) and s not in self.whole
                       and alone.isdisjoint(core.defined(s))}
        slow = {s for s in loop.body if operation(s) in SLOW and s.var in self.depends({loop.index}, is_load) - alone}
        if not self.linked and len(slow) > 1 and all(map(self.is_total, loop.carries)):
            self.costly |= slow                 # which recurrences would hide
        self.rows: dict[Var, Arr] = {}

    def met(self) -> tuple[set[Arr], set[Arr]]:
        """The buffers of which two statements may meet one element, and one of them writes it, and those that may be written
        in one place by two iterations; those of them of which others than elements of one iteration's own are met so."""
        own = self.depends({self.loop.index}, lambda s: False) - self.depends(
            set(), lambda s: operation(s) not in ("add", "sub"))
        found: dict[Arr, list] = {}
        for s in core.walk(self.loop.body):
            if is_access(s):
                found.setdefault(s.array, []).append(s)
        tied, linked = set(), set()
        for a, places in found.items():
            pairs = [(s, t) for s, t in combinations(places, 2)
                     if (is_store(s) or is_store(t)) and not distinct(s.index, t.index)]
            loose = [s for s in places if is_store(s) and own.isdisjoint(s.index)]
            if pairs or loose:
                tied.add(a)
                if loose or not all(any(i is j is self.loop.index for i, j in zip(s.index, t.index, strict=True))
                                    for s, t in pairs):
                    linked.add(a)
        return tied, linked

    def is_free(self, c: Carry) -> bool:
        """Whether a carry is a sum whose terms may be added in any order."""
        of, x = self.depends({c.var}, lambda s: False), c.next
        while isinstance(d := self.defs.get(x), Let) and d.op == "sum" and c.var not in d.args:
            x = next((a for a in d.args if a in of), c.var)
        alone = sum(x is c.var for s in self.loop.body for x in reads(s)) == 1
        return isinstance(d, Let) and d.op == "sum" and alone

    def is_total(self, c: Carry) -> bool:
        """Whether a carry is a sum, of which branches may leave out terms."""
        if c in self.sums:
            return True
        branch = self.defs.get(c.next)
        if not is_branch(branch):
            return False
        merge = next(m for m in branch.merges if m.var is c.next)
        inside: dict = operations(core.walk((branch,)))
        made = [inside.get(x, self.defs.get(x)) for x in (merge.then, merge.orelse)]
        return c.var in (merge.then, merge.orelse) and any(
            isinstance(d, Let) and d.op in ("add", "sum") and c.var in d.args for d in made)

    def is_sum(self, c: Carry) -> bool:
        """Whether a carry is a sum of floats that nothing in the loop reads."""
        d = self.defs.get(c.next)
        if not isinstance(d, Let) or d.op not in ("add", "sum") or not c.var.dtype.startswith("float"):
            return False
        read = [x for s in self.loop.body for x in reads(s)] + [k.next for k in self.loop.carries]
        return c.var in d.args and sum(x is c.var for x in read) == 1 and sum(x is c.next for x in read) == 1

    def depends(self, origins: set, also: Callable) -> set:
        """The variables that are computed from some, or by statements that `also` is true of."""
        found = set(origins)
        for s in self.loop.body:
            if also(s) or any(x in found for x in reads(s)):
                found.update(core.defined(s))
        return found

    def closure(self, targets, ready: Collection = ()) -> set:
        """Statements with all that they need of the iteration, but for the variables that are ready."""
        needed, waiting = set(), list(targets)
        while waiting:
            s = waiting.pop()
            if s not in needed:
                needed.add(s)
                waiting += [self.defs[x] for x in reads(s) if x in self.defs and x not in ready]
        return needed

    def term(self, c: Carry):
        """What is added to a sum."""
        return next(x for x in self.sums[c].args if x is not c.var)

    def made(self) -> tuple[list, list] | None:
        """(rows, statements) in the place of the loop; None where nothing is gained."""
        if not self.ordered or any(c.next not in self.defs for c in self.loop.carries):
            return None                         # nothing has an order; or numbers change places
        return (self.by_functions() if self.costly else None) or self.apart()

    def by_functions(self) -> tuple[list, list] | None:
        """Functions in loops of their own."""
        loop, defs = self.loop, self.defs
        ends = [*(defs[c.next] for c in loop.carries if c.var in self.heads), *self.whole,
                *(s for s in loop.body if isinstance(s, (Load, Store)) and s.array in self.tied)]
        core_of_it = self.closure(ends)

        def late(s) -> bool:
            return any(d in self.costly and not self.changing.isdisjoint(core.defined(d))
                       for d in self.closure([s]) - core_of_it)
        stores = [s for s in loop.body if isinstance(s, Store) and s.array not in self.tied]
        ahead = [s for s in stores if self.changing.isdisjoint(core.operands(s))]
        behind = [s for s in stores if late(s)]
        early_sums = [c for c, add in self.sums.items() if add.op == "sum" and self.term(c) not in self.changing]
        late_sums = [c for c, add in self.sums.items() if late(add)]
        own = [c for c in loop.carries if c not in early_sums and c not in late_sums]
        before = [*ends, *(s for s in stores if s not in ahead and s not in behind),
                  *(self.sums[c] for c in own if c in self.sums)]
        first = self.crossing({*ahead, *(self.sums[c] for c in early_sums)})
        if not (first or behind or late_sums or not self.costly.isdisjoint(self.closure(ahead))):
            return None
        ordered = [c for c in late_sums if self.sums[c].op == "add"]
        behind += [self.sums[c] for c in late_sums if c not in ordered]
        terms = [self.term(c) for c in ordered]
        passed = self.cut([*behind, *(defs[v] for v in terms)], self.closure(before, first), first)
        kept = {s.value: s for s in (*before, *ahead) if self.is_row(s) and s.value in (passed if s in before else first)}
        for v in (*(v for v in (*first, *passed) if v not in kept), *terms):
            name = defs[v].op if v in defs and operation(defs[v]) in VECTOR else v.hint
            self.rows[v] = Arr(f"{name}_row", v.dtype, (integer(BLOCK),))
        if len(self.rows) > MOST_ROWS:
            return None
        parts = Parts(self, kept)
        again = any(loop.index not in s.index for s in ahead)           # an element is stored by several iterations
        parts.add([*ahead, *(self.sums[c] for c in early_sums)], (), [v for v in first if v not in kept], early_sums, again)
        parts.add(before, first, [v for v in passed if v not in kept], own, True)
        parts.add(behind, (*first, *passed), terms, [c for c in late_sums if c not in ordered], True)
        parts.add([self.sums[c] for c in ordered], terms, [], ordered, True)
        return list(self.rows.values()), [parts.blocks()]

    def apart(self) -> tuple[list, list] | None:
        """The loop without what keeps all of it from being vectorised, where that is only sums that have an order and
        additions to places of cotangents that other iterations add to; these in loops of their own."""
        loop = self.loop
        ordered = [c for c in loop.carries if c in self.sums and self.sums[c].op == "add"]
        moved = self.moved()
        if not (ordered or moved) or moved is None or self.heads or work(loop.body) < WORTH:
            return None
        values = dict.fromkeys((*map(self.term, ordered), *(s.value for s in moved)))
        if len(values) > MOST_ROWS or not all(v in self.defs for v in values) or not all(map(is_pure, self.whole)) or any(
                raises(s) or is_access(s) and not is_near(s, loop, self.facts) for s in core.walk(loop.body)):
            return None
        self.rows = {v: Arr(f"{v.hint}_row", v.dtype, (integer(BLOCK),)) for v in values}
        parts, adds = Parts(self, {}), [self.sums[c] for c in ordered]
        parts.add([s for s in loop.body if s not in adds and s not in moved and not isinstance(s, Comment)], (),
                  list(values), [c for c in loop.carries if c not in ordered], True)
        for s in moved:
            parts.add([s], [s.value], [], [])
        parts.add(adds, [self.term(c) for c in ordered], [], ordered, True)
        return list(self.rows.values()), [parts.blocks(SUMS)]

    def moved(self) -> list[Store] | None:
        """The additions to cotangents but those at one place of each buffer, if several iterations add to one; None where
        that is not all that links iterations."""
        found: list[Store] = []
        for a in self.linked:
            places: list[Any] = [s for s in core.walk(self.loop.body) if is_access(s) and s.array is a]
            if not all(adds_freely(s) and s in self.loop.body and any(
                    self.loop.index in self.facts.affine(i)[1] for i in s.index) for s in places):
                return None
            if any(not self.beside(s, t) and any(self.facts.affine(i)[1] != self.facts.affine(j)[1] for i, j in zip(
                    s.index, t.index, strict=True)) for s, t in combinations(places, 2)):
                return None                     # they may lie far apart, which LLVM asks when the loop begins
            kept: list[Store] = []
            for s in places:
                (kept if all(s.index == t.index or self.beside(s, t) for t in kept) else found).append(s)
        return found

    def beside(self, s: Store, t: Store) -> bool:
        """Whether two accesses are to different places along an axis, in whichever iterations."""
        forms = [(self.facts.affine(i), self.facts.affine(j)) for i, j in zip(s.index, t.index, strict=True)]
        return any(a[1] == b[1] and self.loop.index not in a[1] and a[0] != b[0] for a, b in forms)

    def is_row(self, s) -> bool:
        """Whether a statement keeps a number of each iteration in a row, which no other touches."""
        return isinstance(s, Store) and not s.accumulate and s.array not in self.tied and s.value in self.defs and \
            s.index[-1:] == (self.loop.index,) and not any(i in self.defs for i in s.index[:-1])

    def crossing(self, ahead: set) -> list:
        """What is read of what no recurrence changes and functions are needed for: the last numbers of that."""
        early = self.depends(set(), lambda s: s in self.costly) - self.changing - {c.next for c in self.sums}
        rest = [s for s in self.loop.body if s not in ahead and not early.issuperset(core.defined(s) or [None])]
        read, waiting = set(), [x for s in rest for x in reads(s)]
        while waiting:
            x = waiting.pop()
            if x in early and x.dtype == "bool":            # compared again
                waiting += reads(self.defs[x])
            else:
                read.add(x)
        return [v for v in self.defs if v in early and v in read]

    def cut(self, targets: list, serial: set, ready: Collection) -> list:
        """What the loop behind the recurrences reads of their numbers."""
        found, waiting, seen = set(), list(targets), set()
        while waiting:
            s = waiting.pop()
            for x in reads(s) if s not in seen else ():
                if x in self.heads or x in self.changing and self.defs.get(x) in serial:
                    found.add(x)
                elif x in self.defs and x not in ready:
                    waiting.append(self.defs[x])
            seen.add(s)
        return [v for v in (*(c.var for c in self.loop.carries), *self.defs) if v in found]


def work(block) -> int:
    """About how many operations a block is."""
    return sum(DEAR if operation(s) in SLOW else s.var.dtype.startswith("float") if isinstance(s, Let) else is_access(s)
               for s in core.walk(block) if isinstance(s, (Let, Load, Store)))


class Parts:
    """The loops that a block of iterations runs as, under construction. kept: stores that serve as rows, by their values."""

    def __init__(self, of: Distributed, kept: dict):
        self.of, self.kept, self.loop, self.b = of, kept, of.loop, Builder(of.facts)
        self.loc = self.b.loc = replace(of.loop.loc, text="")           # a place, which says nothing of the line
        self.up = self.loop.step == integer(1)
        self.block = Var("block", "int64")
        self.hands = {c: Carry(Var(c.var.hint, c.var.dtype), c.init, c.result, c.result) for c in self.loop.carries}
        if self.up:
            self.low, self.high = self.block, self.b.let("min", self.loop.stop, self.b.let(
                "add", self.block, integer(BLOCK), dtype="int64"), dtype="int64", hint="end")
        else:
            last = self.b.let("max", self.loop.stop, self.b.let("sub", self.block, integer(BLOCK), dtype="int64"),
                              dtype="int64", hint="end")
            self.low, self.high = self.b.iadd(last, 1), self.b.iadd(self.block, 1)

    def add(self, targets: list, ready: Collection, puts: list, sums: list, in_order: bool = False) -> None:
        """A loop with `targets` and what they need but is ready in rows, which puts numbers in rows and hands on others."""
        of, loop, index = self.of, self.loop, Var(self.loop.index.hint, "int64")
        puts = [v for v in puts if v not in ready]
        wanted = of.closure([*targets, *(of.defs[v] for v in puts if v in of.defs)], ready)
        if not wanted and not sums:
            return
        read = {x for s in wanted for x in reads(s)}
        inner = Builder(of.facts)
        inner.loc = self.loc
        at = inner.let("sub", index, self.low, dtype="int64", hint="at")
        mapping: dict = {loop.index: index, **{c.var: Var(c.var.hint, c.var.dtype) for c in sums}}
        for v in ready:
            if v in read:
                mapping[v] = Var(v.hint, v.dtype)
                there = self.kept.get(v)
                inner.add(Load(mapping[v], of.rows[v], (at,), self.loc) if there is None else
                          Load(mapping[v], there.array, (*there.index[:-1], index), self.loc))
        body = substitute(with_comments(loop.body, wanted), mapping)
        carries = []
        for c in sums:
            end = Var(c.result.hint, c.result.dtype)
            carries.append(Carry(mapping[c.var], self.hands[c].var, mapping[c.next], end))
            self.hands[c] = replace(self.hands[c], next=end)
        tails = tuple(Store(of.rows[v], (at,), mapping[v], loc=self.loc) for v in puts)
        down = in_order and not self.up
        start, stop = (self.b.isub(self.high, 1), self.b.isub(self.low, 1)) if down else (self.low, self.high)
        self.b.add(For(index, start, stop, integer(-1 if down else 1), tuple(carries), (*inner.stmts, *body, *tails),
                       loc=self.loc, origin=loop.origin))

    def blocks(self, note: Comment = FUNCTIONS) -> For:
        loop = self.loop
        return For(self.block, loop.start, loop.stop, integer(BLOCK if self.up else -BLOCK), tuple(self.hands.values()),
                   (note, *self.b.stmts), loc=loop.loc, origin=loop.origin)


def with_comments(body, wanted: set) -> tuple:
    """Statements in the order of a block, each with the comment before it. Its sections are no longer apart."""
    out, note = [], None
    for s in body:
        if isinstance(s, Comment):
            note = None if s.section else s
        elif s in wanted:
            out += [s] if note is None else [note, s]
            note = None
    return tuple(out)


__all__ = ["distribute"]
