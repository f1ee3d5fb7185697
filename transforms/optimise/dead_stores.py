"""What is stored in a buffer that nobody reads again is not stored.

    w = empty(n)
    for i in range(n):
        w[i] = x[i]                         w = empty(n)
    for i in range(n):                      for i in range(n):
        y[i] = 2.0 * w[i]     becomes           w[i] = x[i]
    for i in range(n):                      for i in range(n):
        w[i] = y[i]                             y[i] = 2.0 * w[i]

A reverse sweep restores what a loop has overwritten. Where the tape is read in place of the buffer, that is for nobody;
and where the loop runs in segments, each but the first to be reversed begins with a copy of its state. Buffers are
followed whole, backwards: a load makes one live, and a nest that assigns all of its elements makes it dead before.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.core import Alloc, Arr, Const, For, Function, If, Store, While, array_of
from ..language.motion import Touches, facts_of
from ..language.queries import is_loop, is_range, is_store, operation
from .dead_zeros import fills

Sets = tuple[frozenset, frozenset]          # what a part of a program reads before it assigns it, what it assigns whole
NOTHING: Sets = (frozenset(), frozenset())


def without_dead_stores(function: Function) -> Function:
    """The program without stores in buffers that nothing reads afterwards."""
    seen = {x for x in (*function.returns, *function.tape) if isinstance(x, Arr)} | core.rebound(function.body) | {
        p for p in function.params if isinstance(p, Arr) and p not in function.copied}
    buffers = core.written(function.body) - seen
    if not buffers:
        return function
    return replace(function, body=Liveness(function, buffers).kept(function.body, frozenset()))


class Liveness:
    """buffers: those that are followed."""

    def __init__(self, function: Function, buffers: set):
        self.buffers, self.touches, self.facts = buffers, Touches(), facts_of(function)
        self.known: dict[tuple, Sets] = {}

    def of_block(self, block, later: frozenset = frozenset()) -> Sets:
        """later: conditions that are known to hold."""
        read: frozenset = frozenset()
        assigned: frozenset = frozenset()
        for s in reversed(block):
            more, whole = self.of(s, later)
            read, assigned = more | read - whole, assigned | whole
        return read, assigned

    def of(self, stmt, later: frozenset) -> Sets:
        if not self.touches[stmt].names & self.buffers:
            return NOTHING
        key = stmt, later
        if key not in self.known:
            self.known[key] = self.found(stmt, later)
        return self.known[key]

    def found(self, stmt, later: frozenset) -> Sets:
        match stmt:
            case For(body=body) | While(body=body):
                whole = frozenset(a for a in self.touches[stmt].writes & self.buffers if fills(stmt, a, (), self.facts))
                return self.of_block(body, later)[0] - whole, whole
            case If(cond=cond, then=then, orelse=orelse):
                read, assigned = self.of_block(then, later)
                if cond in later:
                    return read, assigned
                more, whole = self.of_block(orelse, later)
                return read | more, assigned & whole
            case Store():
                return NOTHING
            case Alloc(array=a):
                return frozenset(x for x in (stmt.fill,) if isinstance(x, Arr)), frozenset((a,))
        return frozenset(self.buffers.intersection(map(array_of, core.operands(stmt)))), frozenset()

    def kept(self, block, live: frozenset) -> tuple:
        """The block without its dead stores. live: the buffers that are read after it."""
        out: list = []
        for s in reversed(block):
            if not self.touches[s].names & self.buffers:
                out.append(s)
                continue
            if is_store(s) and s.array in self.buffers and s.array not in live:
                continue
            after = live
            if is_loop(s):
                after |= self.of_block(s.body, frozenset(met_later(s)))[0]      # by the iteration that follows
            out.append(core.with_blocks(s, lambda block, after=after: self.kept(block, after)))
            read, assigned = self.of(s, frozenset())
            live = read | live - assigned
        return tuple(reversed(out))


def met_later(loop) -> list:
    """Conditions in a loop's body that hold in all iterations but the first: that the index has left its start."""
    if not is_range(loop) or loop.step not in (Const(1, "int64"), Const(-1, "int64")):
        return []
    beyond = "gt" if loop.step == Const(1, "int64") else "lt"
    return [s.var for s in loop.body if operation(s) == beyond and s.args == (loop.index, loop.start)]


__all__ = ["without_dead_stores"]
