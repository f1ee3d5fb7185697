"""Additions of adjoint kernels made cheaper: fewer of them, and fewer at one place at one time.

    for j in range(m):                         s = 0.0
        x_bar[i] += y_bar[j] * a      becomes  for j in range(m):
                                                   s += y_bar[j] * a
                                               if m > 0:
                                                   x_bar[i] += s

What all threads of a block add to one element is summed in the block first, and one thread adds the sum:

    if i < n:                                  v = ... if i < n else 0.0
        cuda.atomic.add(p_bar, 0, ...)  becomes    total = block_sum(v)
                                               if place() == 0:
                                                   cuda.atomic.add(p_bar, 0, total)

Atomic additions of all threads of a block to one element wait for each other. Where a loop goes through the elements, each
thread begins at another one:

    for q in range(n):                         first = t % n
        cuda.atomic.add(s_bar, q, ...)  becomes    for q_1 in range(n):
                                                   q = q_1 + first;  if q >= n: q -= n
                                                   cuda.atomic.add(s_bar, q, ...)
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import Builder, integer
from ..language.core import Alloc, Call, Comment, Const, For, Function, If, Let, Load, Merge, Store, Var, While, walk
from ..language.facts import Facts
from ..language.names import defined_in, mentioned
from ..language.queries import operations
from ..language.rewrite import bottom_up
from ..optimise.scalar_replacement import elements, only_added, with_partial_sum
from .threads import Coordinates, Launch
from .uniform import varying_in_block

BLOCK_ADD = "block_add"         # the sum of a number of each thread, added to an element of a buffer


def sums_first(function: Function) -> Function:
    """The program with what a loop adds to one element added up first."""
    def change(s):
        if not isinstance(s, For) or s.exit is not None:
            return None
        s, after = summed(s)
        if after and not runs(s):
            b = Builder(Facts())
            ran = b.compare("lt" if s.step.value > 0 else "gt", s.start, s.stop)
            after = [*b.stmts, If(ran, tuple(after), (), (), s.loc)]
        return [s, *after]
    return replace(function, body=bottom_up(function.body, change))


def summed(loop: For) -> tuple[For, list]:
    inside = defined_in((loop,))
    after: list = []
    for array, places in elements(loop).items():
        if array in inside or places is None or not only_added(loop, array):
            continue
        for index in places:
            if not any(i in inside for i in index):
                loop = with_partial_sum(loop, array, index, after)
    return loop, after


def runs(loop: For) -> bool:
    """Whether constants say that a loop runs at all."""
    return all(isinstance(x, Const) for x in (loop.start, loop.stop)) and len(
        range(core.known_value(loop.start), core.known_value(loop.stop), core.known_value(loop.step))) > 0


# -- sums of a block ----------------------------------------------------------------------------------------------
def collected(function: Function, chosen, shared, at: Coordinates) -> Function:
    """The program with the additions in `chosen`, of all threads of a block to one element, as sums of the block.

    They are taken out of branches that not all threads take; then all threads come to them.
    """
    varying = varying_in_block(function, at, shared)

    def wanted(s) -> bool:
        return s in chosen and not any(i in varying for i in s.index)

    def visit(block) -> tuple:
        """A block that all threads of a block run together."""
        out: list = []
        for s in block:
            if isinstance(s, If) and s.cond in varying:
                s, taken = taken_out(s, wanted)
                out += [s, *(Call((t.array,), BLOCK_ADD, (t.value, *t.index), loc=t.loc) for t in taken)]
            elif isinstance(s, Store) and wanted(s):
                out.append(Call((s.array,), BLOCK_ADD, (s.value, *s.index), loc=s.loc))
            elif isinstance(s, If) or isinstance(s, For) and not any(
                    x in varying for x in (s.start, s.stop, s.exit)) or isinstance(s, While) and s.cond not in varying:
                out.append(core.with_blocks(s, visit))
            else:
                out.append(s)
        return tuple(out)
    return replace(function, body=visit(function.body))


def taken_out(branch: If, wanted, outermost: If | None = None) -> tuple[If, list[Store]]:
    """A branch without additions that may follow it, and those, of zero where the branch had none.

    outermost: the branch around it behind which they go.
    """
    whole = outermost or branch
    bound = defined_in((whole,))
    merges, taken = list(branch.merges), []

    def side(block, first: bool) -> tuple:
        kept: list = []
        for s in block:
            found: list = []
            if isinstance(s, If):
                s, found = taken_out(s, wanted, whole)
            elif isinstance(s, Store) and wanted(s) and only_added_in(whole, s.array) and bound.isdisjoint(s.index):
                found = [s]
            if not isinstance(s, Store) or not found:
                kept.append(s)
            for t in found:
                var, zero = Var(t.array.hint, t.array.dtype), Const(0.0, t.array.dtype)
                merges.append(Merge(var, t.value, zero) if first else Merge(var, zero, t.value))
                taken.append(replace(t, value=var))
        return tuple(kept)
    then, orelse = side(branch.then, True), side(branch.orelse, False)
    return replace(branch, then=then, orelse=orelse, merges=tuple(merges)), taken


def only_added_in(branch: If, array) -> bool:
    return all(isinstance(s, Store) and s.accumulate for s in walk((branch,))
               if array in core.operands(s) and not isinstance(s, If))


# -- where each thread begins -------------------------------------------------------------------------------------
def staggered(function: Function, facts: Facts, atomic, shared, at: Coordinates, launch: Launch) -> Function:
    """The program with loops in which threads meet at one shared element after the other begun at different ones."""
    varying = varying_in_block(function, at, shared)

    return replace(function, body=bottom_up(function.body, lambda s: moved(s, facts, at, launch) if isinstance(
        s, For) and meets(s, atomic, shared, varying) else None))


def meets(loop: For, atomic, shared, varying: set) -> bool:
    """Whether in each iteration all threads add to one element or row, and the iterations may change places."""
    if core.known_value(loop.step) not in (1, -1) or loop.exit is not None or loop.trip is not None or any(
            x in varying for x in (loop.start, loop.stop)):
        return False
    if not any(s in atomic and loop.index in s.index and (s.array in shared or gathers(loop, s, shared, varying))
               for s in loop.body):
        return False
    added, read, own = set(), set(), set()
    for s in walk(loop.body):
        match s:
            case Store(array=a, accumulate=True):
                added.add(a)
            case Store(array=a) if a not in own:
                return False
            case Load(array=a):
                read.add(a)
            case Alloc(array=a):
                own.add(a)
            case core.Call() | core.Swap() | core.Resize():
                return False
    uses = list(mentioned(loop.body))
    sums: dict = operations(loop.body, lambda s: s.op == "sum")
    return not added & read and all(
        c.next in sums and sums[c.next].args[0] is c.var and uses.count(c.var) == 1 and c.next not in uses
        for c in loop.carries)


def gathers(loop: For, s: Store, shared, varying: set) -> bool:
    """Whether in an iteration all threads add to one element of global memory, and do not read there what lies side by side:
    those reads would be far apart if each thread were at another iteration."""
    inside = defined_in((loop,))
    if any(i is not loop.index and (i in varying or i in inside) for i in s.index):
        return False
    for t in walk(loop.body):
        if isinstance(t, Load) and t.array not in shared and not inside.isdisjoint(t.index) and any(
                i is not loop.index and (i in varying or i in inside) for i in t.index):
            return False
    return True


def moved(loop: For, facts: Facts, at: Coordinates, launch: Launch) -> list:
    """The loop run from another place on, and round."""
    before, inside = Builder(facts), Builder(facts)
    up = core.known_value(loop.step) > 0
    low = loop.start if up else before.iadd(loop.stop, 1)
    count = before.isub(loop.stop, loop.start) if up else before.isub(loop.start, loop.stop)
    rank: core.Atom = integer(0)
    for here, threads in zip(reversed(at.thread), reversed(launch.block), strict=True):
        rank = before.iadd(before.imul(rank, threads), here)
    first = before.let("mod", rank, before.imax(count, 1), dtype="int64", hint="first")
    turn = Var(loop.index.hint, "int64")
    place = inside.iadd(turn, first)
    round_again = inside.compare("ge", place, count)
    again = inside.child()
    less = again.isub(place, count)
    wrapped = loop.index if low == integer(0) else Var(loop.index.hint, "int64")
    inside.add(Comment("every thread begins at another element, so that their additions do not wait for each other"))
    inside.add(If(round_again, again.block(), (), (Merge(wrapped, less, place),), loop.loc))
    if wrapped is not loop.index:
        inside.add(Let(loop.index, "add", (low, wrapped), loop.loc))
    made = replace(loop, index=turn, start=integer(0), stop=count, step=integer(1), body=(*inside.stmts, *loop.body))
    return [*before.stmts, made]


__all__ = ["staggered", "sums_first"]
