"""Primal values where the reverse sweep needs them: visible, computed again, read again from memory, or from the tape."""

from __future__ import annotations

from typing import Any

from ..language import core
from ..language.build import Builder
from ..language.core import Arr, Const, Merge, Var
from ..language.facts import Facts
from ..language.queries import is_branch, is_load, is_size, loads, operation


class Scope:
    """The reversed block under construction and the forward block it mirrors."""

    def __init__(self, builder: Builder, block, parent: Scope | None, loop=None):
        self.b = builder
        self.block = block
        self.parent = parent
        self.loop = loop
        self.values: dict = {}
        self.bars: dict = {}            # (lane, variable) -> its adjoint
        self.position = len(block)
        self.inside = False             # whether a statement nested in block[position] is being reversed
        self.slot = None                # the iteration's number, for tapes


class PrimalValues:
    """The part of `Reverse` that finds values of the forward sweep."""

    function: core.Function
    facts: Facts
    plan: Any
    order: Any
    scope: Any
    asking: Var | None = None           # what is computed again, for which others are needed

    def need(self, v):
        """The atom that holds forward value `v` at this point of the reverse sweep."""
        if isinstance(v, Const):
            return v
        self.plan.askers.setdefault(v, set()).add(self.asking)
        home = self.order.block_of.get(v)
        scope = self.scope
        if home is None and v not in self.function.params and v in self.facts.definition:
            op, args = self.facts.definition[v]             # a bound that no statement of the program needed
            return scope.b.let(op, *(self.need(a) for a in args), dtype=v.dtype, hint=v.hint)
        while scope is not None and scope.block is not home:
            if v in scope.values:
                return scope.values[v]
            scope = scope.parent
        if scope is None or scope.parent is None:
            return v
        if v in scope.values:
            return scope.values[v]
        here, self.scope = self.scope, scope
        asker, self.asking = self.asking, v
        nested = here is not scope
        try:
            value = self.recompute(v, scope, nested)
        finally:
            self.scope, self.asking = here, asker
        scope.values[v] = value
        return value

    def recompute(self, v, scope: Scope, nested: bool):
        stmt = self.order.definition.get(v)
        self.plan.asked.add(v)
        if is_size(stmt):
            return v
        if operation(stmt) and v not in self.plan.decided:
            return scope.b.let(stmt.op, *(self.need(a) for a in stmt.args), dtype=v.dtype, hint=v.hint)
        if is_load(stmt) and not self.overwritten_since(stmt.array, stmt, scope, nested):
            self.plan.read(stmt.array, stmt, stmt.index)
            target, where = self.plan.located(stmt.array, tuple(self.need(i) for i in stmt.index), self)
            return scope.b.load(target, where, v.hint)
        if is_branch(stmt) and v not in self.plan.decided and self.order.is_pure(stmt) and not any(
                self.overwritten_since(s.array, stmt, scope, nested) for s in loads(core.walk((stmt,)))):
            return self.recompute_branch(v, stmt)
        return self.from_tape(v, scope)

    def overwritten_since(self, array: Arr, stmt, scope: Scope, nested: bool) -> bool:
        """Whether `array` may be written between forward statement `stmt` and the one now being reversed."""
        return self.overwriter(array, stmt, scope, nested) is not None

    def overwriter(self, array: Arr, stmt, scope: Scope, nested: bool):
        """The first statement that may write, or swap, `array` between forward statement `stmt` and the one now being
        reversed; None if there is none. Until then it is other memory than all that it may be swapped with."""
        at = self.order.position[stmt][1]
        last = scope.position + (1 if nested or scope.inside else 0)
        return next((s for s in scope.block[at + 1:last] if array in self.order.writes(s)), None)

    def recompute_branch(self, v, stmt):
        """Run a pure branch again for one of its values."""
        merge = next(m for m in stmt.merges if m.var is v)
        cond = self.need(stmt.cond)
        sides = []
        outer = self.scope
        for block, atom in ((stmt.then, merge.then), (stmt.orelse, merge.orelse)):
            self.scope = Scope(outer.b.child(), block, outer)
            self.scope.position = len(block)
            try:
                sides.append((self.need(atom), self.scope.b.block()))
            finally:
                self.scope = outer
        (x, then), (y, orelse) = sides
        if x == y:
            return x
        if isinstance(cond, Const):
            outer.b.stmts.extend(then if cond.value else orelse)
            return x if cond.value else y
        var = Var(v.hint, v.dtype)
        self.facts.number(var)
        outer.b.branch(cond, then, orelse, (Merge(var, x, y),), core.NOWHERE)
        return var

    def from_tape(self, v, scope: Scope):
        return self.plan.pop(v, scope, self)


__all__ = ["PrimalValues", "Scope"]
