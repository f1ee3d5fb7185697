"""Which elements only one thread can touch: what needs no atomic addition, and what is visibly a race.

Two accesses of a buffer meet if two different threads may touch one element through them. Subscripts are affine in the
coordinates of the threads, the indices of loops and integers that are the same for all threads; the first coordinate in
which the threads differ is tried in turn, both ways, and the linear constraints that remain are eliminated. A strided loop

    for i in range(cuda.grid(1), n, cuda.gridsize(1))

runs over i = size * (bx + grid_x * k) + tx: what stands in brackets takes the place of the block's number, since
0 <= bx < grid_x makes it different for different blocks, whatever k is.

Source: see `dependence.py`, whose elimination is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..language import core
from ..language.core import Arr, Const, Function, Var, bound_inside, defined
from ..language.dependence import System
from ..language.facts import Facts
from ..language.queries import called, is_access, is_load, is_loop, is_range, is_size, operation
from ..optimise.store_forwarding import distinct
from .threads import BARRIER, Coordinates, Launch
from .uniform import varying_in_block

FIXED_OPS = ("add", "sub", "mul", "floordiv", "mod", "max", "min", "neg", "abs", "copy")


@dataclass(frozen=True, eq=False)
class Access:
    """A load or store and the loops and branches around it: (statement, block) pairs, outermost first."""

    stmt: Any
    path: tuple

    @property
    def index(self) -> tuple:
        return self.stmt.index


class Owners:
    """What the threads that run one program touch."""

    def __init__(self, function: Function, facts: Facts, at: Coordinates, launch: Launch):
        self.function, self.facts, self.at, self.launch = function, facts, at, launch
        self.accesses: dict[Arr, list[Access]] = {}
        self.logic: dict = {}
        self.loops: dict = {}
        written = core.written(function.body)
        self.fixed = {p for p in function.params if isinstance(p, Var)} - set(at.own)
        for p in function.params:
            if isinstance(p, Arr):
                self.fixed.update(s for s in p.shape if isinstance(s, Var))
        self.around: dict[Var, tuple] = {}              # the loops around what binds a variable
        self.visit(function.body, (), written)
        self.varying = varying_in_block(function, at, ())

    def visit(self, block, path, written) -> None:
        for s in block:
            if is_access(s):
                self.accesses.setdefault(s.array, []).append(Access(s, path))
            loops = tuple(loop for loop, _ in path if is_loop(loop))
            self.around.update(dict.fromkeys(defined(s), loops))
            if is_loop(s):
                inside = (*loops, s)
                self.around.update(dict.fromkeys(bound_inside(s), inside))
            if is_range(s):
                self.loops[s.index] = s
            if operation(s) and s.var.dtype == "bool":
                self.logic[s.var] = s
            if is_size(s) or operation(s) in FIXED_OPS and all(map(self.is_fixed, s.args)):
                self.fixed.add(s.var)
            if is_load(s) and s.array not in written and all(map(self.is_fixed, s.index)):
                self.fixed.add(s.var)
            for inner in core.sub_blocks(s):
                self.visit(inner, (*path, (s, inner)), written)

    def is_fixed(self, atom) -> bool:
        """Whether an integer is the same for all threads and at all times."""
        return isinstance(atom, Const) or atom in self.fixed

    # -- questions --------------------------------------------------------------------------------------------
    def own(self, array: Arr, stmt, in_block: bool) -> bool:
        """Whether no other thread (of the block, if `in_block`) touches what `stmt` does."""
        mine = next(x for x in self.accesses[array] if x.stmt is stmt)
        for other in self.accesses[array]:
            at_once = self.at_once(mine, other) if in_block else frozenset()
            if at_once is not None and self.meet(mine, other, in_block, at_once):
                return False
        return True

    def at_once(self, a: Access, b: Access) -> frozenset | None:
        """None if a barrier always lies between two accesses by different threads of a block; else the loops around both in
        whose same iteration they must be for none to lie between them."""
        level = 0
        while level < min(len(a.path), len(b.path)) and a.path[level] == b.path[level]:
            level += 1
        blocks = [self.function.body, *(inner for _, inner in a.path[:level])]
        p, q = sorted((self.position(blocks[level], a, level), self.position(blocks[level], b, level)))
        near = not any(map(self.is_barrier, blocks[level][p + 1:q]))
        before, after = p, q                    # round a loop: to its end, and from its head
        fenced, same = False, set()
        for k in range(level, 0, -1):
            fenced |= any(map(self.is_barrier, (*blocks[k][:before], *blocks[k][after + 1:])))
            loop, _ = a.path[k - 1]
            if is_loop(loop):
                same |= {loop} if fenced else set()
                near |= not fenced
            before = after = self.position(blocks[k - 1], a, k - 1)
        return frozenset(same) if near else None

    def position(self, block, access: Access, level: int) -> int:
        """Where in a block around an access it stands."""
        stmt = access.path[level][0] if level < len(access.path) else access.stmt
        return next(k for k, s in enumerate(block) if s is stmt)

    @staticmethod
    def is_barrier(stmt) -> bool:
        return called(stmt) == BARRIER

    def meet(self, a: Access, b: Access, in_block: bool = False, same=frozenset()) -> bool:
        """Whether different threads may touch one element, the one through `a` and the other through `b`.

        same: loops in whose same iteration both are.
        """
        if distinct(a.index, b.index):
            return False
        for differ in self.ways_to_differ(a, b, in_block):
            system = Instances(self, a, b, in_block, same=same)
            differ(system)
            if system.feasible():
                return True
        return False

    def ways_to_differ(self, a, b, in_block):
        """For each coordinate, in order, and each sign: those before are equal, this one is less or greater."""
        own = [v for v in (self.at.thread if in_block else self.at.own) if isinstance(v, Var)]
        for k, v in enumerate(own):
            for sign in (1, -1):
                def differ(system, k=k, v=v, sign=sign):
                    for w in own[:k]:
                        system.equal(system.place(w, 0), system.place(w, 1))
                    system.at_least(scaled(system.minus(system.place(v, 1), system.place(v, 0)), sign), 1)
                yield differ

    def visible(self, access: Access) -> bool:
        """Whether the subscripts are affine in coordinates, loops' indices and what is the same for all threads."""
        loops = {s.index for s, _ in access.path if is_range(s)}
        system = Instances(self, access, access, False)
        return all(key in loops or key in self.fixed or key in self.at.own or isinstance(key, tuple)
                   for i in access.index for (key, _) in system.form(i, 0)[0])


class Instances(System):
    """The constraints on two threads that touch one element: side 0 through `a`, side 1 through `b`."""

    def __init__(self, owners: Owners, a: Access, b: Access, in_block: bool, alone: bool = False, same=frozenset()):
        """alone: one thread and one access, `a`; nothing is said of which element it touches."""
        super().__init__(owners.facts)
        self.owners, self.in_block, self.same = owners, in_block, same
        self.told: set = set()
        mine, other = ({}, {}) if in_block else (self.strides(a), self.strides(b))
        self.moved = {v: (mine[v], other[v]) for v in mine if v in other}      # by side
        for side, access in ((0, a),) if alone else ((0, a), (1, b)):
            for s, block in access.path:
                if is_loop(s):
                    self.bound(s, side)
                else:
                    self.condition(s.cond, block is s.then, side)
            for v in owners.at.own:
                self.coordinate(v, side)
        self.apply()
        if alone:
            return
        for p, q in zip(a.index, b.index, strict=True):
            self.equal(self.form(p, 0), self.form(q, 1))
            self.same_remainders(self.equalities[-1])
        for e in self.split_index(a.index):
            if e in self.split_index(b.index):
                self.equal(self.form(e, 0), self.form(e, 1))

    def same_remainders(self, equality) -> None:
        """Coordinates that an equality of subscripts makes equal: t + 8 k = t' + 8 k', where 0 <= t, t' <= 7."""
        terms, constant = dict(equality[0]), equality[1]
        found = True
        while found:
            found = False
            for v, size in zip(self.owners.at.thread, self.owners.launch.block, strict=True):
                c = terms.get((v, 0), 0)
                if c and terms.get((v, 1)) == -c:
                    rest = [constant, *(d for key, d in terms.items() if key[0] != v)]
                    if all(d % (c * size) == 0 for d in rest):
                        self.equal(({(v, 0): 1}, 0), ({(v, 1): 1}, 0))
                        del terms[v, 0], terms[v, 1]
                        found = True

    def is_common(self, v) -> bool:
        if v in self.owners.fixed or not self.in_block:
            return v in self.owners.fixed
        return v in self.owners.at.block or v not in self.owners.varying and v in self.owners.around and all(
            loop in self.same for loop in self.owners.around[v])

    def coordinate(self, v: Var, side) -> None:
        low, high = self.facts.range[v]
        if v in self.moved:                     # with what a strided loop adds, its end is not known
            return
        self.at_least(self.form(v, side), 0)
        self.at_least(self.minus(self.form(high, side), self.form(v, side)), 0)

    def place(self, v: Var, side):
        """A coordinate, or what a strided loop makes of it."""
        if v in self.moved:
            return {(("strided", v), side): 1}, 0
        return self.form(v, side)

    def form(self, atom, side):
        constant, terms = self.facts.affine(atom)
        named: dict = {}
        for v, (mine, other) in self.moved.items():
            u = other if side else mine
            if u in terms and terms.get(v) == terms[u] * self.stride(u)[1]:
                named[("strided", v), side] = terms[v]          # the block's number and what the loop adds to it
                terms = {w: c for w, c in terms.items() if w is not u and w is not v}
        for v, c in terms.items():
            loop = self.owners.loops.get(v)
            if loop is not None and isinstance(loop.step, Const) and abs(loop.step.value) > 1:     # start + step * count
                start, offset = self.form(loop.start, side)
                constant += c * offset
                start = {**start, (("count", v), side): loop.step.value}
                self.inequalities.append(({(("count", v), side): 1}, 0))
                for key, d in start.items():
                    named[key] = named.get(key, 0) + c * d
                continue
            key = (v, 0 if self.is_common(v) else side)
            named[key] = named.get(key, 0) + c
            self.tell(v, key, side)
        return {key: c for key, c in named.items() if c}, constant

    def tell(self, v: Var, key, side) -> None:
        """What is known of a variable by itself: that it is not negative, the extrema it is one of, remainders."""
        if key in self.told:
            return
        self.told.add(key)
        if v in self.facts.nonnegative:
            self.inequalities.append(({key: 1}, 0))
        op, args = self.facts.definition.get(v, ("", ()))
        if op in ("min", "max"):
            for a in args:
                gap = self.minus(self.form(a, side), ({key: 1}, 0))
                self.at_least(gap if op == "min" else scaled(gap, -1), 0)
        elif op == "mod" and isinstance(args[1], Const) and args[1].value > 0:
            self.inequalities.append(({key: 1}, 0))
            self.inequalities.append(({key: -1}, args[1].value - 1))

    def stride(self, v):
        """(coordinate of the block, factor) where `v` is k * factor * (number of blocks on that axis)."""
        op, args = self.facts.definition.get(v, ("", ()))
        if op != "mul":
            return None
        for a in args:
            constant, terms = self.facts.affine(a)
            if constant == 0 and len(terms) == 1:
                (blocks, factor), = terms.items()
                if blocks in self.owners.at.blocks:
                    return self.owners.at.block[self.owners.at.blocks.index(blocks)], factor
        return None

    def strides(self, access: Access) -> dict:
        """For the blocks' coordinates that occur in the subscripts together with one stride of the grid: that stride."""
        found: dict = {}
        for i in access.index:
            _, terms = self.facts.affine(i)
            for u, c in terms.items():
                s = self.stride(u)
                if s is not None and terms.get(s[0]) == c * s[1]:
                    found.setdefault(s[0], set()).add(u)
        return {v: next(iter(us)) for v, us in found.items() if len(us) == 1}

    def split_index(self, index) -> list:
        """What stands in the subscripts as i // w and i % w, which together tell what i is."""
        parts = [self.facts.definition.get(i, ("", ())) for i in index if isinstance(i, Var)]
        return [args[0] for op, args in parts if op == "floordiv" and ("mod", args) in parts]

    def condition(self, cond, holds: bool, side) -> None:
        """What a branch that was taken says of integers."""
        let = self.owners.logic.get(cond)
        if let is None:
            return
        op, args = let.op, let.args
        if op == "not":
            return self.condition(args[0], not holds, side)
        if op in ("and", "or"):
            if holds == (op == "and"):
                for a in args:
                    self.condition(a, holds, side)
            return
        if any(a.dtype != "int64" for a in args):
            return
        if not holds:
            op = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}.get(op, op)
        left, right = (self.form(a, side) for a in args)
        match op:
            case "eq":
                self.equal(left, right)
            case "lt" | "le":
                self.at_least(self.minus(right, left), 1 if op == "lt" else 0)
            case "gt" | "ge":
                self.at_least(self.minus(left, right), 1 if op == "gt" else 0)


def scaled(form, sign: int):
    return {v: sign * c for v, c in form[0].items()}, sign * form[1]


__all__ = ["Access", "Instances", "Owners", "scaled"]
