"""Tapes of `while` loops inside independent iterations: a stack for each thread in the place of one that all share.

    for i in range(n):                                    go_on, room = True, 64
        while v < 10.0:                                   while go_on:
            ticket = tickets[0]                               tape = resize(tape, room)
            tickets[0] = ticket + 1                           for i in range(n):                    # threads
            tape = resize(tape, ticket + 1)    becomes            while v < 10.0:
            tape[ticket] = v                                          ticket = tickets[0, i]
            ...                                                       tickets[0, i] = ticket + 1
                                                                      if ticket < room:
                                                                          tape[ticket, i] = v
                                                              needed = largest(tickets)
                                                              go_on, room = needed > room, max(needed, room)

No thread knows beforehand how often its loop runs. If one needs more room than there is, the tape gets what the longest one
needs, and the loop runs again; the host waits for that number. Neighbouring threads have neighbouring elements.
"""

from __future__ import annotations

from dataclasses import replace

from .. import core
from ..build import Builder, Facts, integer
from ..core import Alloc, Arr, Call, Carry, Const, For, Function, If, Let, Load, Ref, Resize, Store, Var, While, walk
from ..motion import facts_of

ROOM = 64                   # iterations of a thread that a tape has room for at first
LARGEST = "largest"         # the library call by which the host learns what was needed


def with_stacks(function: Function) -> Function:
    """The program with the growing tapes of independent iterations as one stack for each."""
    return stacked(function, 0)[0]


def stacked(function: Function, size: int) -> tuple[Function, int]:
    """As `with_stacks`; and how many statements the first `size` have become."""
    grown = {s.array for s in walk(function.body) if isinstance(s, Resize)}
    pair = users(function.body, grown)
    if not grown or pair is None:
        return function, size
    forward, backward = pair
    counters = counters_of((forward, backward), function)
    facts = facts_of(function)
    if not counters or not matching(forward, backward, facts) or not repeatable(forward, grown | counters):
        return function, size
    b = Builder(facts)
    stacks = Stacks(forward.start, b.imax(b.isub(forward.stop, forward.start), 0), grown, counters)
    body: list = []
    made = 0
    for k, s in enumerate(function.body):
        if k == size:
            made = len(body)
        if isinstance(s, Alloc) and s.array in stacks.arrays:
            continue
        if s is forward:
            body += [*b.stmts, *map(Alloc, stacks.arrays.values()), *stacks.filled(forward)]
        else:
            body.append(stacks.moved((s,), None)[0] if s is backward else s)
    return replace(function, body=tuple(body)), made


def users(block, grown: set):
    """The two loops that fill and read growing tapes, if they are the only statements that touch them."""
    found = [s for s in block if not isinstance(s, Alloc) and touched((s,)) & grown]
    if len(found) != 2 or not all(isinstance(s, For) and s.exit is None for s in found):
        return None
    return found if not any(isinstance(s, (Resize, Store)) and s.array in grown for s in walk(found[1].body)) else None


def touched(block) -> set:
    return {x.array if isinstance(x, Ref) else x for s in walk(block) for x in core.operands(s) if isinstance(x, (Arr, Ref))}


def counters_of(loops, function: Function) -> set:
    """The buffers of running numbers: integers at fixed places, which these loops alone read and write."""
    inside = [s for loop in loops for s in walk(loop.body) if isinstance(s, (Load, Store))]
    found = {s.array for s in inside if isinstance(s, Store) and s.array.dtype == "int64" and all(
        isinstance(x, Const) for x in (*s.array.shape, *s.index))}
    others = touched([s for s in function.body if s not in loops and not isinstance(s, Alloc)]) | set(function.returns)
    return {a for a in found if a not in others and all(
        all(isinstance(i, Const) for i in s.index) for s in inside if s.array is a)}


def matching(forward: For, backward: For, facts: Facts) -> bool:
    """Whether one loop runs through the iterations of the other from the last to the first."""
    b = Builder(facts)
    return forward.step == integer(1) and backward.step == integer(-1) and facts.same(
        backward.start, b.isub(forward.stop, 1)) and facts.same(backward.stop, b.isub(forward.start, 1))


def repeatable(loop: For, stacks: set) -> bool:
    """Whether a loop may run a second time: it reads nothing that it writes."""
    private = {s.array for s in walk(loop.body) if isinstance(s, Alloc)}
    written = core.written(loop.body) - private - stacks
    return not any(isinstance(s, Load) and s.array in written or isinstance(s, Store) and s.accumulate and s.array in written
                   or isinstance(s, (Call, core.Swap)) for s in walk(loop.body))


class Stacks:
    """The tapes and counters with an axis for the iterations, and the loops that use them."""

    def __init__(self, start, size, grown: set, counters: set):
        self.start, self.size, self.grown, self.counters = start, size, grown, counters
        self.arrays = {a: Arr(a.hint, a.dtype, ((integer(ROOM), *a.shape[1:]) if a in grown else a.shape) + (size,), a.why)
                       for a in (*grown, *counters)}

    def moved(self, block, room, index=None) -> tuple:
        """The block with each iteration at its own places. room: how many entries there are, where the tapes are filled."""
        out: list = []
        for s in block:
            if isinstance(s, For) and index is None:
                b = Builder(Facts())
                place = b.isub(s.index, self.start)
                out.append(replace(s, body=(*b.stmts, *self.moved(s.body, room, place))))
            elif isinstance(s, (Load, Store)) and s.array in self.arrays:
                made = replace(s, array=self.arrays[s.array], index=(*s.index, index))
                if isinstance(s, Store) and s.array in self.grown:
                    fits = Var("fits", "bool")
                    out += [Let(fits, "lt", (s.index[0], room), s.loc), If(fits, (made,), (), (), s.loc)]
                else:
                    out.append(made)
            elif not isinstance(s, Resize):
                out.append(core.with_blocks(s, lambda inner: self.moved(inner, room, index)))
        return tuple(out)

    def filled(self, loop: For) -> list:
        """The loop, run again where the tapes were too short."""
        go_on, room, counter, trip = Var("go_on", "bool"), Var("room", "int64"), Var("run", "int64"), Var("runs", "int64")
        body: list = [Resize(self.arrays[a], room) for a in self.grown]
        for a in self.counters:
            body.append(cleared(self.arrays[a]))
        results = tuple(replace(c, result=Var(c.result.hint, c.result.dtype)) for c in loop.carries)
        body += self.moved((replace(loop, carries=results),), room)
        most = room
        b = Builder(Facts())
        needs = []
        for a in self.counters:
            needed = Var("needed", "int64")
            b.add(Call((needed,), LARGEST, (Ref(self.arrays[a]),), loc=loop.loc))
            needs.append(needed)
        for needed in needs:
            most = b.let("max", most, needed, dtype="int64")
        again = b.let("gt", most, room, dtype="bool")
        carries = [Carry(go_on, Const(True, "bool"), again, Var("go_on", "bool")),
                   Carry(room, integer(ROOM), most, Var("room", "int64"))]
        carries += [Carry(Var(c.var.hint, c.var.dtype), c.init, made.result, c.result)
                    for c, made in zip(loop.carries, results, strict=True)]
        return [While(go_on, tuple(carries), (*body, *b.stmts), counter, trip, loop.loc)]


def cleared(array: Arr):
    """A nest that writes zeros."""
    indices = [Var("ijkl"[k % 4], "int64") for k in range(len(array.shape))]
    body: tuple = (Store(array, tuple(indices), integer(0)),)
    for index, stop in zip(reversed(indices), reversed(array.shape), strict=True):
        body = (For(index, integer(0), stop, integer(1), (), body, origin="array"),)
    return body[0]


__all__ = ["LARGEST", "stacked", "with_stacks"]
