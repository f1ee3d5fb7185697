"""Loops in segments: of a long tape only a few iterations are kept at a time.

    for q in range(m):                     forward: the state is copied where a segment begins
        u_copies[q] = u
        for j in range(s):
            tape[j] = ...                  the same memory in every segment
            u = step(u)

    for q in range(m - 1, -1, -1):         reverse: all segments but the last, whose tape is there, run again
        if q < m - 1:
            u = u_copies[q]
            for j in range(s):
                tape[j] = ...
                u = step(u)
        for j in range(s - 1, -1, -1):
            u_bar = adjoint(u_bar, tape[j])

A tape that stays in the cache is read and written several times as fast as one that goes to memory and back, which pays for
the second run of an iteration that does little for each number that it tapes. `segment_length` (runtime/checkpoint.py) says
how many iterations a segment has; a tape that is short, or dear to compute twice, is one segment.

Source: A. Griewank and A. Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, chapter 12 (checkpoints at equal distances).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..language import core
from ..language.build import Builder, integer
from ..language.core import Arr, Atom, Carry, Const, Function, Merge, Var, is_float, is_generator, walk
from ..language.errors import UnsupportedSyntax
from ..language.motion import learn
from ..language.names import mentioned
from ..language.ops import EXPENSIVE
from ..language.queries import allocated_in, called, is_access, is_allocation, is_range, loaded_in, operation, operations
from ..language.substitution import substitute
from ..optimise.simplify import remove_dead
from .checkpointing import WIDTH, State, Step
from .tapes import FlatTape

# picoseconds of operations on one element in loops that run on vectors, and how many times as much one after the other is:
# what makes `segment_length` right for loops of few and of many operations, on a processor of 2023
ARITHMETIC, DIVISION, FUNCTION, ONE_BY_ONE = 20, 200, 650, 8
UNKNOWN = 10 ** 15
QUICK = {"div", "sqrt", "maximum", "minimum", "larger", "smaller"}      # of those not worth computing twice
SIZES = ("add", "sub", "mul", "max", "min", "floordiv", "neg", "dim")


# -- which loops ----------------------------------------------------------------------------------------------
def long_loops(function: Function, plan) -> dict[Any, list[Arr]]:
    """The outermost loops that hand arrays from one iteration to the next and keep arrays of each, with their tapes."""
    tapes: dict = {}
    for tape in plan.all_tapes():
        loops = plan.order.loops(plan.origin(tape.what))
        top = loops[0] if loops else plan.top_of(plan.origin(tape.what))
        if is_range(top):
            tapes.setdefault(top, []).append(tape)
    found = {}
    for loop, kept in tapes.items():
        whole = all(t.ticket is None and not isinstance(t, FlatTape) and t.loops and t.loops[0] is loop for t in kept)
        if whole and any(len(t.array.shape) > 1 for t in kept) and simple(loop) and sequential(loop):
            found[loop] = [t.array for t in kept]
    return found


def simple(loop) -> bool:
    return loop.exit is None and loop.trip is None and loop.checkpoint is None and core.known_value(loop.step) in (1, -1) \
        and not core.rebound(loop.body) and not any(
            isinstance(s, (core.Print, core.While)) or is_range(s) and s.checkpoint
            or called(s) and any(map(is_generator, core.operands(s))) for s in walk(loop.body))


def sequential(loop) -> bool:
    """Whether an iteration reads what others leave in arrays; without that, each is reversed as soon as it has run."""
    inside = allocated_in(loop.body)
    read = loaded_in(loop.body)
    return any(a in read and a not in inside for a in core.written(loop.body))


# -- how long -------------------------------------------------------------------------------------------------
def sizes(function: Function, loops: dict[Any, list[Arr]], plan) -> tuple[list, dict[Any, tuple]] | None:
    """(statements that need only the parameters, (iterations, bytes of tape of each, bytes of state, picoseconds of an
    iteration) of each loop); None where sizes are known only further on."""
    computed = [*walk(function.body), *(s for b in plan.extents.prelude.values() for s in b.stmts)]
    definitions = operations(computed, lambda s: s.var.dtype == "int64")
    params = set(function.params)
    b = Builder(plan.facts)
    made: dict = {}

    def early(atom):
        if isinstance(atom, Const) or atom in params or atom in made:
            return made.get(atom, atom)
        s = definitions.get(atom)
        if s is None:
            if atom in axes:
                return atom
            raise LookupError
        if s.op not in SIZES or s.op == "dim" and (s.args[0] not in params or s.args[0] in resized):
            raise LookupError
        args = s.args if s.op == "dim" else tuple(map(early, s.args))
        made[atom] = b.let(s.op, *args, dtype="int64")
        if s.op == "dim":
            axes.add(made[atom])
        return made[atom]

    def extent(n):
        n = early(n)
        return n if n in axes else b.imax(n, 0)

    def time(block):
        try:
            return time_of(b, block, early)
        except LookupError:
            return integer(UNKNOWN)

    axes = {n for p in params if isinstance(p, Arr) for n in p.shape}
    resized = core.rebound(function.body)
    lengths = {}
    try:
        for loop, tapes in loops.items():
            low, high = (loop.start, loop.stop) if core.known_value(loop.step) == 1 else (loop.stop, loop.start)
            count = b.imax(b.isub(early(high), early(low)), 0)
            inside = allocated_in(loop.body)
            written = core.written(loop.body)
            state = [a for a in dict.fromkeys(mentioned(loop.body)) if a in written and a not in inside]
            lengths[loop] = (count, total(b, [(a, a.shape[1:]) for a in tapes], extent),
                             total(b, [(a, a.shape) for a in state], extent), time(loop.body))
    except LookupError:
        return None
    return b.stmts, lengths


def total(b: Builder, arrays, extent) -> Atom:
    """The bytes of arrays of these shapes. extent: gives an axis' length."""
    found: Atom = integer(0)
    for a, shape in arrays:
        size: Atom = integer(WIDTH[a.dtype])
        for n in shape:
            size = b.imul(size, extent(n))
        found = size if found == integer(0) else b.iadd(found, size)
    return found


def time_of(b: Builder, block, early) -> Atom:
    """About how long a block runs once, in picoseconds. LookupError where a library function is called, or a size is not
    known early."""
    own, inner = 0, integer(0)
    for s in block:
        if is_range(s):
            low, high = (s.start, s.stop) if (core.known_value(s.step) or 1) > 0 else (s.stop, s.start)
            count, once = b.imax(b.isub(early(high), early(low)), 0), time_of(b, s.body, early)
            if any(is_float(c.var) for c in s.carries):
                once = b.imul(once, ONE_BY_ONE)
            inner = b.iadd(inner, b.imul(count, once))
        elif called(s) or isinstance(s, core.While):
            raise LookupError
        elif operation(s) and is_float(s.var):
            own += DIVISION if s.op in QUICK else FUNCTION if s.op in EXPENSIVE else ARITHMETIC
        elif is_access(s):
            own += ARITHMETIC
        for branch in () if is_range(s) else core.sub_blocks(s):
            inner = b.iadd(inner, time_of(b, branch, early))
    return b.iadd(inner, own)


def asking(plan, name: str) -> Function | None:
    """A function of the parameters that says whether a tape is so long that its loop is to be taken in segments; None
    where no loop can be, or sizes are known only further on."""
    loops = long_loops(plan.function, plan)
    found = sizes(plan.function, loops, plan)
    if not loops or found is None:
        return None
    stmts, lengths = found
    b = Builder(plan.facts)
    b.stmts = list(stmts)
    long = None
    for count, *iteration in lengths.values():
        length = b.let("segment_length", count, *iteration, dtype="int64", hint="length")
        one = b.compare("lt", length, count)
        long = one if long is None else b.let("or", long, one, dtype="bool")
    return remove_dead(Function(name, plan.function.params, b.block(), (long,)))


def in_segments(function: Function, plan) -> Function:
    """The program with the loops of long tapes in two: segments, and their iterations. The plan's facts get those of it."""
    loops, facts = long_loops(function, plan), plan.facts
    found = sizes(function, loops, plan)
    if not loops or found is None:
        return function
    stmts, lengths = found
    body: list = list(stmts)
    for s in function.body:
        body += divided(s, lengths[s], facts) if s in lengths else [s]
    learn(facts, tuple(body))
    return replace(function, body=tuple(body))


def divided(loop, lengths: tuple, facts) -> list:
    """The loop in two. lengths: what `segment_length` takes, how often it runs first."""
    b = Builder(facts)
    count = lengths[0]
    length = b.let("segment_length", *lengths, dtype="int64", hint="length")
    facts.range[length] = (integer(1), None)
    facts.nonnegative.add(length)
    number = b.let("floordiv", b.iadd(count, b.isub(length, 1)), length, dtype="int64", hint="segments")
    highest = b.isub(length, 1)
    q = b.index("segment", integer(0), number)
    outer = b.child(loop=True)
    first = outer.imul(q, length)
    here = outer.imin(length, outer.isub(count, first))
    j = outer.index("j", integer(0), here)
    facts.range[j] = (integer(0), highest)          # which is known before all segments
    inner = outer.child(loop=True)
    t = inner.iadd(loop.start, inner.imul(loop.step, inner.iadd(first, j)))
    heads = {c: (Var(c.var.hint, c.var.dtype), Var(c.var.hint, c.var.dtype)) for c in loop.carries}
    for v, w in heads.values():
        facts.number(v)
        facts.number(w)
    inside = substitute(loop.body, {loop.index: t}, fresh=False)
    outer.repeat(j, 0, here, (*inner.block(), *inside), carries=tuple(
        replace(c, init=heads[c][0], result=heads[c][1], next=t if c.next is loop.index else c.next) for c in loop.carries),
        loc=loop.loc, origin=loop.origin)
    carries = tuple(Carry(heads[c][0], c.init, heads[c][1], c.result) for c in loop.carries)
    b.repeat(q, 0, number, outer.block(), carries=carries, loc=loop.loc, origin=loop.origin, checkpoint=("segments", length))
    return b.stmts


# -- the sweeps -----------------------------------------------------------------------------------------------
class Segments(State):
    """Where copies of one loop's state are kept, one for each segment; step: a segment and its adjoint."""

    step: Step

    def __init__(self, stmt, facts):
        super().__init__(stmt, facts)
        self.count = stmt.stop
        self.keep(Builder(self.facts), stmt.stop)

    def parts(self) -> tuple[list, list, Any]:
        """(what stands before all segments: the tapes; what a segment computes first; its iterations, with their tape)."""
        tapes = {t.array for t in self.step.plan.all_tapes()}
        *head, steps = self.step.forward
        early: list = [s for s in head if is_allocation(s) and s.array in tapes]
        needed = {n for s in early for n in s.array.shape}
        for s in reversed(head):
            if operation(s) and s.var in needed:
                needed |= set(s.args)
                early.insert(0, s)
        both = set(operations(early))
        free = needed - both - self.step.fixed
        if any(isinstance(x, Var) for x in free) or not all(
                operation(s) or s in early or isinstance(s, core.Comment) for s in head):
            raise UnsupportedSyntax("a loop cannot be taken in segments", self.loop.loc)
        return early, [s for s in head if not is_allocation(s) and not (operation(s) and s.var in both)], steps

    def forward(self) -> list:
        early, head, steps = self.parts()
        b = Builder(self.facts)
        self.save(b, self.loop.index, {c: c.var for c in self.loop.carries})
        loop = replace(self.loop, body=(*b.stmts, *head, steps), checkpoint=None)
        return [*self.ready, *early, loop]


def reverse_segments(sweep, stmt, seeds: dict) -> None:
    """Emit the reverse of a loop over segments. seeds: carry -> cotangent of its result, or None."""
    outer = sweep.scope
    b, facts = outer.b, sweep.facts
    begin = len(b.stmts)
    kept = Segments.of(sweep, stmt)
    loop = kept.loop
    for a in kept.arrays:                       # the last segment goes back from what the loop has left
        sweep.plan.read(a, stmt, None, True)
    step = kept.step = Step(sweep, kept, True)
    _, head, steps = kept.parts()
    if {c.result for c in steps.carries} & set(mentioned(step.backward)):
        raise UnsupportedSyntax("a loop cannot be taken in segments", loop.loc)
    cells = step.cells(b, seeds)
    last = b.isub(kept.count, 1)
    q = b.index("segment", last, integer(-1), -1)
    inner = b.child(loop=True)
    mapping: dict = {loop.index: q}
    inner.stmts.extend(substitute(head, mapping))
    for c, copies in kept.numbers.items():
        mapping[c.var] = inner.load(copies, (q,), c.var.hint)
    count = Var("count", "int64")
    facts.number(count)
    here = mapping.get(steps.stop, steps.stop)
    inner.branch(inner.compare("lt", q, last), kept.buffers(inner, q), (), (Merge(count, here, integer(0)),), loop.loc)
    inner.stmts.extend(substitute((replace(steps, stop=count),), dict(mapping)))
    for a in kept.arrays:
        inner.forget(a)
    for c, v in step.seeds.items():
        mapping[v] = inner.load(cells[c.var], (integer(0),), v.hint)
    inner.stmts.extend(substitute(step.backward, mapping))
    step.rename({})
    step.leave(inner, cells, mapping)
    b.repeat(q, last, -1, inner.block(), -1, loc=loop.loc, origin="reverse")
    kept.go_back(b)
    sweep.forget_written(outer, b.stmts[-2:])
    learn(facts, tuple(b.stmts[begin:]))
    step.give(b, cells)


__all__ = ["asking", "in_segments", "long_loops", "reverse_segments"]
