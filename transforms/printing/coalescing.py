"""Which variables may share a name: a loop's incoming, carried and resulting value, and the sides of a branch.

Every statement gets points on a line. A variable occupies the interval from where it is bound to its last use, extended
to the end of every loop that uses it but does not bind it. Names are also written at the ends of iterations and branches.
Two variables may share a name if neither is bound or written strictly inside the other's interval.
"""

from __future__ import annotations

from ..language import core
from ..language.core import Atom, Function, Ref, Var, defined, operands
from ..language.queries import is_size


class Coalescer:
    def __init__(self, function: Function):
        self.parent: dict[Var, Var] = {}
        self.members: dict[Var, list[Var]] = {}
        self.start: dict[Var, int] = {}
        self.end: dict[Var, int] = {}
        self.writes: dict[Var, list[int]] = {}
        self.depth: dict[Var, int] = {}
        self.point = 0
        self.loops: list = []
        self.waiting: list[list[Var]] = []
        self.fixed: set[Var] = {p for p in function.params if isinstance(p, Var)}
        self.wishes: list[tuple[Atom, Var]] = []
        self.must: list[tuple[Var, Var]] = []
        for p in self.fixed:
            self.bind(p)
        self.block(function.body)
        self.point += 1
        for r in function.returns:
            self.use(r)
        for a, b in self.must:
            self.union(a, b)
        for wish in self.wishes:
            self.unify(*wish)

    # -- intervals --------------------------------------------------------------------------------------------
    def bind(self, v: Var) -> None:
        self.start[v] = self.end[v] = self.point
        self.depth[v] = len(self.loops)

    def use(self, a) -> None:
        if isinstance(a, Ref):
            for p in a.prefix:
                self.use(p)
        if not isinstance(a, Var) or a not in self.start:
            return
        self.end[a] = max(self.end[a], self.point)
        if self.depth[a] < len(self.loops):
            self.waiting[self.depth[a]].append(a)

    def write(self, v: Var) -> None:
        self.writes.setdefault(v, []).append(self.point)

    def enter(self, loop) -> None:
        self.loops.append(loop)
        self.waiting.append([])

    def leave(self) -> None:
        for v in self.waiting.pop():
            self.end[v] = max(self.end[v], self.point)
        self.loops.pop()

    def block(self, block) -> None:
        for stmt in block:
            self.point += 1
            match stmt:
                case core.For() | core.While():
                    self.loop(stmt)
                case core.If():
                    self.branch(stmt)
                case _:
                    for a in operands(stmt):
                        self.use(a)
                    for v in defined(stmt):
                        self.bind(v)
                    if is_size(stmt):
                        self.fixed.add(stmt.var)

    def loop(self, stmt) -> None:
        if isinstance(stmt, core.For):
            for a in (stmt.start, stmt.stop, stmt.step):
                self.use(a)
        for c in stmt.carries:
            self.use(c.init)
            self.write(c.var)
        counter = stmt.index if isinstance(stmt, core.For) else stmt.counter
        if isinstance(stmt, core.While):
            self.write(counter)
        self.enter(stmt)
        self.point += 1
        self.bind(counter)
        self.fixed.add(counter)
        for c in stmt.carries:
            self.bind(c.var)
        if isinstance(stmt, core.While):
            self.use(stmt.cond)
        self.block(stmt.body)
        self.point += 1
        if isinstance(stmt, core.For) and stmt.exit is not None:
            self.use(stmt.exit)
        self.point += 1
        for c in stmt.carries:
            self.use(c.next)
            self.write(c.var)
        if isinstance(stmt, core.While):
            self.write(counter)
            self.end[counter] = self.point
        self.leave()
        self.point += 1
        for v in defined(stmt):
            self.bind(v)
        if isinstance(stmt, core.While):
            self.must.append((stmt.trip, stmt.counter))
        for c in stmt.carries:
            self.must.append((c.result, c.var))
            self.wishes.append((c.next, c.var))
            self.wishes.append((c.init, c.var))

    def branch(self, stmt: core.If) -> None:
        self.use(stmt.cond)
        for side, block in (("then", stmt.then), ("orelse", stmt.orelse)):
            self.block(block)
            self.point += 1
            for m in stmt.merges:
                self.use(getattr(m, side))
            for m in stmt.merges:
                self.write(m.var)
        self.point += 1
        for m in stmt.merges:
            self.bind(m.var)
            self.wishes.append((m.then, m.var))
            self.wishes.append((m.orelse, m.var))

    # -- classes ----------------------------------------------------------------------------------------------
    def find(self, v: Var) -> Var:
        while self.parent.get(v, v) is not v:
            v = self.parent[v]
        return v

    def family(self, v: Var) -> list[Var]:
        return self.members.get(self.find(v), [v])

    def union(self, a: Var, b: Var) -> None:
        ra, rb = self.find(a), self.find(b)
        self.parent.setdefault(ra, ra)
        self.parent.setdefault(rb, rb)
        if ra is not rb:
            joined = self.family(ra) + self.family(rb)
            self.parent[ra] = rb
            self.members[rb] = joined

    def unify(self, a, b: Var) -> None:
        """Join the classes of `a` and `b` if none of their members need the name at once."""
        if not isinstance(a, Var) or a.dtype != b.dtype or self.find(a) is self.find(b):
            return
        left, right = self.family(a), self.family(b)
        if any(v in self.fixed or v not in self.start for v in (*left, *right)):
            return
        if not any(self.interfere(p, q) for p in left for q in right):
            self.union(a, b)

    def interfere(self, p: Var, q: Var) -> bool:
        if self.start[p] == self.start[q]:
            return True
        if self.start[p] < self.end[q] and self.start[q] < self.end[p]:
            return True
        wp, wq = self.writes.get(p, ()), self.writes.get(q, ())
        return (any(self.start[q] < w < self.end[q] for w in wp) or any(self.start[p] < w < self.end[p] for w in wq)
                or bool(set(wp) & set(wq)))
