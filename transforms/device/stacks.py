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
needs, what the loop has changed is put back, and it runs again; the host waits for that number. Inside a loop in time the
stacks go on from step to step. Neighbouring threads have neighbouring elements.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import Builder, integer, loops
from ..language.core import Arr, Carry, Const, Function, Ref, Resize, Var, array_of, walk
from ..language.emit import Statements
from ..language.facts import Facts
from ..language.motion import facts_of
from ..language.names import defined_in
from ..language.queries import allocated_in, called, is_access, is_allocation, is_assignment, is_range, is_store
from ..language.rewrite import top_down
from .nests import obstacle

ROOM = 64                   # iterations of a thread that a tape has room for at first
LARGEST = "largest"         # the library call by which the host learns what was needed


def with_stacks(function: Function) -> Function:
    """The program with the growing tapes of independent iterations as one stack for each."""
    return stacked(function, 0)[0]


def stacked(function: Function, size: int) -> tuple[Function, int]:
    """As `with_stacks`; and how many statements the first `size` have become."""
    grown = {s.array for s in walk(function.body) if isinstance(s, Resize)}
    facts = facts_of(function)
    found = users(function.body, function.body, grown, function, facts) if grown else None
    if found is None:
        return function, size
    forward, backward, counters = found
    b = Builder(facts)
    stacks = Stacks(forward, b.imax(b.isub(forward.stop, forward.start), 0), grown, counters, facts)
    body: list = []
    made = 0
    for k, s in enumerate(function.body):
        if k == size:
            made = len(body)
        if is_allocation(s) and s.array in stacks.arrays:
            continue
        inside = set(walk((s,)))
        if forward in inside:
            body += [*b.stmts, *stacks.allocations()]
            body += exchanged((s,), forward, stacks.filled(forward))
        elif backward in inside:
            body += exchanged((s,), backward, list(stacks.moved((backward,), None)))
        else:
            body.append(s)
    return replace(function, body=tuple(body)), made


def exchanged(block, old, new: list) -> tuple:
    """The block with statements in the place of one."""
    return top_down(block, lambda s: new if s is old else None)


def users(first, second, grown: set, function: Function, facts: Facts):
    """(the loop that fills growing tapes, the loop that reads them, the counters of their entries); None if there is no such
    pair of loops with independent iterations, or something else touches the tapes.

    first, second: the blocks that hold the loops, or the loops in time around them.
    """
    here = [[s for s in block if not is_allocation(s) and touched((s,)) & grown] for block in (first, second)]
    if first is second:
        here = [here[0][:1], here[0][1:]]
    if any(len(found) != 1 or not is_range(found[0]) or found[0].exit is not None for found in here):
        return None
    (forward,), (backward,) = here
    if any((isinstance(s, Resize) or is_store(s)) and s.array in grown for s in walk(backward.body)):
        return None
    counters = counters_of((forward, backward), function)
    if counters and matching(forward, backward, facts) and changed_by(forward, grown | counters) is not None:
        at_once = Stacks(forward, integer(1), grown, counters, facts).moved((forward,), integer(ROOM))[0]
        if obstacle(at_once, facts) is None and outside(forward, function):
            return forward, backward, counters
    return users(forward.body, backward.body, grown, function, facts)


def outside(loop, function: Function) -> bool:
    """Whether the range of a loop is known before the outermost loop around it."""
    around = next(s for s in function.body if loop in set(walk((s,))))
    made = defined_in((around,)) if around is not loop else set()
    return loop.start not in made and loop.stop not in made


def touched(block) -> set:
    return {array_of(x) for s in walk(block) for x in core.operands(s) if isinstance(x, (Arr, Ref))}


def counters_of(loops, function: Function) -> set:
    """The buffers of running numbers: integers at fixed places, which these loops alone read and write."""
    own = {s for loop in loops for s in walk(loop.body)}
    inside = [s for s in own if is_access(s)]
    found = {s.array for s in inside if is_store(s) and s.array.dtype == "int64" and all(
        isinstance(x, Const) for x in (*s.array.shape, *s.index))}
    others = {array_of(x) for s in walk(function.body) if s not in own and not is_allocation(s)
              for x in core.operands(s)} | set(function.returns)
    return {a for a in found if a not in others and all(
        all(isinstance(i, Const) for i in s.index) for s in inside if s.array is a)}


def matching(forward, backward, facts: Facts) -> bool:
    """Whether one loop runs through the iterations of the other from the last to the first."""
    b = Builder(facts)
    return forward.step == integer(1) and backward.step == integer(-1) and facts.same(
        backward.start, b.isub(forward.stop, 1)) and facts.same(backward.stop, b.isub(forward.start, 1))


def changed_by(loop, stacks: set) -> list[Arr] | None:
    """The buffers that a loop reads and writes, or adds to: what to put back if it runs again. None if it does more."""
    if any(called(s) or isinstance(s, core.Swap) for s in walk(loop.body)):
        return None
    private = allocated_in(loop.body)
    written = core.written(loop.body) - private - stacks
    return list(dict.fromkeys(s.array for s in walk(loop.body) if is_access(s) and s.array in written
                              and not is_assignment(s)))


class Stacks:
    """The tapes and counters with an axis for the iterations, and the loops that use them."""

    def __init__(self, forward, size, grown: set, counters: set, facts: Facts):
        self.start, self.size, self.grown, self.counters, self.facts = forward.start, size, grown, counters, facts
        self.arrays = {a: Arr(a.hint, a.dtype, ((integer(ROOM), *a.shape[1:]) if a in grown else a.shape) + (size,), a.why)
                       for a in (*grown, *counters)}
        changed = [*(self.arrays[a] for a in counters), *(changed_by(forward, grown | counters) or [])]
        self.before = {a: Arr(a.hint, a.dtype, a.shape) for a in changed}

    def allocations(self) -> list:
        """Memory for the stacks, with nothing in them, and for what may have to be put back."""
        made = Statements()
        for a in self.arrays.values():
            made.make(a)
        made.stmts += [s for a in self.counters for s in set_all(self.arrays[a], None)]
        for a in self.before.values():
            made.make(a)
        return made.stmts

    def moved(self, block, room, index=None) -> tuple:
        """The block with each iteration at its own places. room: how many entries there are, where the tapes are filled."""
        out = Statements()
        for s in block:
            if is_range(s) and index is None:
                b = Builder(self.facts)
                place = b.isub(s.index, self.start)
                out.add(replace(s, body=(*b.stmts, *self.moved(s.body, room, place))))
            elif is_access(s) and s.array in self.arrays:
                made = replace(s, array=self.arrays[s.array], index=(*s.index, index))
                if is_store(s) and s.array in self.grown:
                    out.branch(out.bind(Var("fits", "bool"), "lt", s.index[0], room, loc=s.loc), (made,), loc=s.loc)
                else:
                    out.add(made)
            elif not isinstance(s, Resize):
                out.add(core.with_blocks(s, lambda inner: self.moved(inner, room, index)))
        return tuple(out.stmts)

    def filled(self, loop) -> list:
        """The loop, run again from where it began if the tapes were too short; in a loop in time the tapes go on."""
        go_on, room, counter, trip = Var("go_on", "bool"), Var("room", "int64"), Var("run", "int64"), Var("runs", "int64")
        start = Var("room", "int64")
        first = Statements(loop.loc)
        first.stmts += [s for a, before in self.before.items() for s in set_all(before, a)]
        first.bind(start, "dim", self.arrays[next(iter(self.grown))], 0)
        body: list = [Resize(self.arrays[a], room) for a in self.grown]
        body += [s for a, before in self.before.items() for s in set_all(a, before)]
        results = tuple(replace(c, result=Var(c.result.hint, c.result.dtype)) for c in loop.carries)
        body += self.moved((replace(loop, carries=results),), room)
        most: core.Atom = room
        b = Builder(Facts())
        needs = []
        for a in self.counters:
            needed = Var("needed", "int64")
            b.call((needed,), LARGEST, (Ref(self.arrays[a]),), loc=loop.loc)
            needs.append(needed)
        for needed in needs:
            most = b.let("max", most, needed, dtype="int64")
        again = b.let("gt", most, room, dtype="bool")
        carries = [Carry(go_on, Const(True, "bool"), again, Var("go_on", "bool")),
                   Carry(room, start, most, Var("room", "int64"))]
        carries += [Carry(Var(c.var.hint, c.var.dtype), c.init, made.result, c.result)
                    for c, made in zip(loop.carries, results, strict=True)]
        first.repeat_while(go_on, tuple(carries), (*body, *b.stmts), counter, trip, loop.loc)
        return first.stmts


def set_all(array: Arr, source: Arr | None) -> list:
    """A nest that writes the elements of another array of the same shape, or zeros."""
    b = Builder(Facts())
    loops(b, array.shape, lambda inner, index: inner.store(
        array, index, integer(0) if source is None else inner.load(source, index)))
    return b.stmts


__all__ = ["LARGEST", "stacked", "with_stacks"]
