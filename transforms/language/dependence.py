"""Order of execution: what may run before what, and whether two array accesses can meet in one element.

`Order` indexes a program once: where every statement stands, which loops surround it, who defines what, who writes
which buffer. The element test is exact reasoning on affine subscripts over rational numbers (Fourier-Motzkin
elimination): if it finds no solution there is none in integers either; if unsure it says that they may meet.

Source: U. Banerjee, Dependence Analysis, Kluwer 1997, chapters 3-5; A. Schrijver, Theory of Linear and Integer
Programming, Wiley 1986, section 12.2 (elimination).
"""

from __future__ import annotations

import itertools

from . import core
from .core import (
    Arr,
    Atom,
    Function,
    Guard,
    Ref,
    Swap,
    Var,
    array_of,
    bound_inside,
    defined,
    known_value,
    results,
    sub_blocks,
    walk,
)
from .facts import Facts
from .motion import equalities, names_of_equal
from .queries import called, is_access, is_allocation, is_branch, is_load, is_loop, is_range, is_store, operation

LIMIT = 400


class Order:
    def __init__(self, function: Function, facts: Facts):
        self.function, self.facts = function, facts
        self.block_of: dict[Var, tuple] = {}
        self.definition: dict[Var, object] = {}
        self.head: dict = {}          # the loop that binds it for its body
        self.position: dict = {}
        self.path: dict = {}
        self.alloc_path: dict[Arr, tuple] = {}
        self.accesses: dict[Arr, list] = {}
        self.resized: set[Arr] = set()
        self.checks: list = []       # those inside loops and branches that make sizes equal
        self.group: dict[Arr, Arr] = {}
        self._writes: dict = {}
        for stmt in walk(function.body):
            if isinstance(stmt, Swap):
                root = self.memory(stmt.targets[0])
                for a in stmt.targets[1:]:
                    self.group[self.memory(a)] = root
            elif isinstance(stmt, core.Resize):
                self.resized.add(stmt.array)
        self.index(function.body, ())

    def memory(self, a: Arr) -> Arr:
        """The representative of the buffers that `a` may be swapped with."""
        while self.group.get(a, a) is not a:
            a = self.group[a]
        return a

    def same_memory(self, a: Arr, b: Arr) -> bool:
        return self.memory(a) is self.memory(b)

    def index(self, block, path) -> None:
        for k, stmt in enumerate(block):
            self.position[stmt] = (block, k)
            self.path[stmt] = path
            for v in defined(stmt):
                self.block_of[v] = block
                self.definition[v] = stmt
            if is_allocation(stmt):
                self.alloc_path[stmt.array] = path
            elif isinstance(stmt, Guard) and path and equalities(stmt.cond, self.definition):
                self.checks.append(stmt)
            elif is_access(stmt):
                self.accessed(stmt.array, stmt, "read" if is_load(stmt) else "write", stmt.index)
            elif called(stmt):
                for x in stmt.args:
                    if isinstance(x, Ref):
                        self.accessed(x.array, stmt, "read", None)
                for o in stmt.outs:
                    if not isinstance(o, Var):
                        self.accessed(array_of(o), stmt, "write", None)
            elif is_loop(stmt):
                self.block_of.update(dict.fromkeys(bound_inside(stmt), stmt.body))
                self.head.update(dict.fromkeys(bound_inside(stmt), stmt))
            for inner in sub_blocks(stmt):
                self.index(inner, (*path, (stmt, inner)))

    def accessed(self, a: Arr, stmt, kind: str, index) -> None:
        self.accesses.setdefault(self.memory(a), []).append((stmt, kind, index))

    def writes(self, stmt) -> set[Arr]:
        """Buffers a statement may write (a fresh buffer of its own block excluded)."""
        if stmt not in self._writes:
            self._writes[stmt] = {a for s in walk((stmt,)) if not isinstance(s, core.Resize)
                                  for a in results(s) if isinstance(a, Arr)}
        return self._writes[stmt]

    def loops(self, stmt) -> list:
        return [s for s, _ in self.path[stmt] if is_loop(s)]

    def equal_sizes(self, stmt) -> dict[Var, Atom]:
        """What sizes may be called at a statement, by the checks that stand before it inside loops and branches."""
        around = (*self.path[stmt], (stmt, None))
        before = {id(block): self.position[inner][1] for (_, block), (inner, _) in itertools.pairwise(around)}
        pairs = [pair for check in self.checks if (at := self.position[check])[1] < before.get(id(at[0]), 0)
                 for pair in equalities(check.cond, self.definition)]
        return names_of_equal(self.facts, pairs) if pairs else {}

    def is_pure(self, stmt) -> bool:
        """Whether running a branch again has no effect and needs no loop."""
        return all(operation(s) or is_load(s) or is_branch(s) for s in walk((stmt,)))

    def has_effects(self, stmt, active, plan) -> bool:
        """Whether reversing `stmt` does anything although no scalar it leaves has an adjoint."""
        for s in walk((stmt,)):
            if isinstance(s, Swap) or is_store(s) and (s.array in active or s in plan.saves) or called(s) and (
                    s in plan.saves or any(array_of(o) in active for o in s.outs)):
                return True
        return False

    # -- what precedes what -----------------------------------------------------------------------------------
    def lifetime_depth(self, a: Arr) -> int:
        """How many loops surround the allocation of `a` (and of what it may be swapped with)."""
        members = [m for m in self.alloc_path if self.same_memory(m, a)] or [a]
        return min(sum(is_loop(s) for s, _ in self.alloc_path.get(m, ())) for m in members)

    def touched_before(self, a: Arr, stmt, active) -> bool:
        """Whether an active access of `a` may run before `stmt`, or `a` comes from outside."""
        if not any(self.same_memory(a, m) for m in self.alloc_path) or any(
                self.same_memory(a, p) for p in self.function.params if isinstance(p, Arr)):
            return True
        index = stmt.index if is_store(stmt) else None
        swapped = self.memory(a) in self.group.values() or a in self.group
        for other, _, where in self.accesses.get(self.memory(a), ()):
            if is_load(other) and other.var not in active or is_store(other) and other.value not in active:
                continue
            if self.precedes(a, other, None if swapped else where, stmt, None if swapped else index, other is stmt):
                return True
        return False

    def precedes(self, a: Arr, r, r_index, s, s_index, after: bool = False) -> bool:
        """Whether access `r` may run before access `s` on the same element of `a`.

        `after`: `r` reads right after statement `r` has run (so that r is s cannot precede within one iteration).
        """
        if self.group:
            members = set(self.group) | set(self.group.values())
            if a in members:
                r_index = s_index = None
        path_r, path_s = self.path[r], self.path[s]
        common = 0
        while common < min(len(path_r), len(path_s)) and path_r[common][0] is path_s[common][0] \
                and path_r[common][1] is path_s[common][1]:
            common += 1
        shared = [st for st, _ in path_r[:common] if is_loop(st)]
        outside = self.lifetime_depth(a)
        for level in range(outside, len(shared)):
            if self.meets(r, r_index, s, s_index, shared, level):
                return True
        if len(path_r) > common and len(path_s) > common and path_r[common][0] is path_s[common][0]:
            return False                                    # two sides of one branch
        place = lambda st, path: self.position[path[common][0] if len(path) > common else st][1]  # noqa: E731
        first, second = place(r, path_r), place(s, path_s)
        if first < second:
            return self.meets(r, r_index, s, s_index, shared, None)
        return False

    def meets(self, r, r_index, s, s_index, shared, level) -> bool:
        """Whether instances of r and s with equal outer iterations, and r earlier at `level`, can touch one element."""
        if r_index is None or s_index is None:
            return True
        system = System(self.facts)
        equal = shared if level is None else shared[:level]
        for loop in equal:
            system.share(index_of(loop))
        visible = {index_of(loop) for loop in shared}
        for side, stmt in ((0, r), (1, s)):
            for loop in self.loops(stmt):
                system.bound(loop, side)
                visible.add(index_of(loop))
        varying = self.varying(shared[len(equal):]) | self.varying_of(r, shared) | self.varying_of(s, shared)
        system.varying = varying - set(system.shared)
        system.apply()
        if level is not None:
            loop = shared[level]
            i = index_of(loop)
            step = known_value(loop.step) if is_range(loop) else 1
            earlier, later = (0, 1) if step > 0 else (1, 0)
            system.at_least(system.minus(system.form(i, later), system.form(i, earlier)), 1)
        for p, q in zip(r_index, s_index, strict=True):
            system.equal(system.form(p, 0), system.form(q, 1))
        return system.feasible()

    def varying(self, loops) -> set:
        found = set()
        for loop in loops:
            found |= self.locals_of(loop)
        return found

    def varying_of(self, stmt, shared) -> set:
        return self.varying([loop for loop in self.loops(stmt) if loop not in shared])

    def locals_of(self, loop) -> set:
        found = set(bound_inside(loop))
        for st in walk(loop.body):
            found.update(defined(st), bound_inside(st))
        return found


def index_of(loop) -> Var:
    return loop.index if is_range(loop) else loop.counter


class System:
    """Linear constraints over two instances (side 0 and side 1) of a program's integers."""

    def __init__(self, facts: Facts):
        self.facts = facts
        self.shared: set[Var] = set()
        self.varying: set[Var] = set()
        self.equalities: list = []
        self.inequalities: list = []
        self.bounds: list = []

    def share(self, v) -> None:
        self.shared.add(v)

    def form(self, atom, side):
        constant, terms = self.facts.affine(atom)
        named: dict = {}
        for v, c in terms.items():
            key = (v, side) if v in self.varying else (v, 0)
            named[key] = named.get(key, 0) + c
            if v in self.facts.nonnegative:
                self.bounds.append(({key: 1}, 0))
        return named, constant

    @staticmethod
    def minus(a, b):
        terms = dict(a[0])
        for v, c in b[0].items():
            terms[v] = terms.get(v, 0) - c
        return {v: c for v, c in terms.items() if c}, a[1] - b[1]

    def bound(self, loop, side) -> None:
        self.bounds.append((loop, side))

    def apply(self) -> None:
        waiting, self.bounds = self.bounds, []
        for loop, side in waiting:
            if not is_range(loop):
                self.at_least(self.form(loop.counter, side), 0)
                continue
            i = self.form(loop.index, side)
            if loop.index in self.facts.range:
                low, high = self.facts.range[loop.index]
                self.at_least(self.minus(i, self.form(low, side)), 0)
                self.at_least(self.minus(self.form(high, side), i), 0)

    def at_least(self, form, bound) -> None:
        self.inequalities.append((form[0], form[1] - bound))

    def equal(self, a, b) -> None:
        self.equalities.append(self.minus(a, b))

    def feasible(self) -> bool:
        equalities = [(dict(t), c) for t, c in self.equalities]
        inequalities = [(dict(t), c) for t, c in (*self.inequalities, *self.bounds)]
        while equalities:
            terms, constant = equalities.pop()
            terms = {v: c for v, c in terms.items() if c}
            if not terms:
                if constant != 0:
                    return False
                continue
            v = next(iter(terms))
            equalities = [insert(e, v, (terms, constant)) for e in equalities]
            inequalities = [insert(e, v, (terms, constant)) for e in inequalities]
        return eliminate(inequalities)


def insert(form, v, equality):
    """A positive multiple of the form, without `v`, where the form `equality` is zero: integers stay integers."""
    terms, constant = form
    d = terms.get(v, 0)
    if d:
        whole, offset = equality
        c = whole[v]
        scale, share = abs(c), d if c > 0 else -d
        terms = {u: k * scale for u, k in terms.items() if u != v}
        for u, k in whole.items():
            if u != v:
                terms[u] = terms.get(u, 0) - share * k
        constant = constant * scale - share * offset
    return {u: k for u, k in terms.items() if k}, constant


def eliminate(inequalities) -> bool:
    """Whether rationals satisfy every `form >= 0` (true also when there are too many to tell)."""
    while True:
        live = []
        for terms, constant in inequalities:
            if terms:
                live.append((terms, constant))
            elif constant < 0:
                return False
        if not live:
            return True
        if len(live) > LIMIT:
            return True
        counts: dict = {}
        for terms, _ in live:
            for v, c in terms.items():
                low, high = counts.get(v, (0, 0))
                counts[v] = (low + (c > 0), high + (c < 0))
        v = min(counts, key=lambda u: counts[u][0] * counts[u][1])
        lower = [f for f in live if f[0].get(v, 0) > 0]
        upper = [f for f in live if f[0].get(v, 0) < 0]
        inequalities = [f for f in live if not f[0].get(v, 0)]
        for p in lower:
            for q in upper:
                a, b = p[0][v], -q[0][v]
                terms = {u: k * b for u, k in p[0].items() if u != v}
                for u, k in q[0].items():
                    if u != v:
                        terms[u] = terms.get(u, 0) + k * a
                inequalities.append(({u: k for u, k in terms.items() if k}, p[1] * b + q[1] * a))


__all__ = ["Order", "index_of"]
