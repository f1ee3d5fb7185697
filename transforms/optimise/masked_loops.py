"""Loops over the places where a mask holds, as loops over the mask with a branch.

    where = empty(count)                                for i in range(n):
    place = 0                                               if x[i] > 0.0:
    for i in range(n):                                          y[i] = np.exp(x[i])
        if x[i] > 0.0:
            where[place] = i
            after = place + 1                becomes
        else:
            after = place
        place = after
    for k in range(count):
        y[where[k]] = np.exp(x[where[k]])

`y[x > 0] = np.exp(x[x > 0])` is lowered to the left one. The right one has no lists of places, joins with the loops
around it, and its adjoint neither gathers nor scatters.

A list of places is given up as a whole: where it is read by a loop that needs to know which of the places it has come
to, or inside another loop, which would look at all of the mask each time, it stays.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..language import core
from ..language.core import Arr, Atom, Carry, Const, For, Function, If, Let, Merge, Var, operands, walk
from ..language.facts import Facts
from ..language.names import defined_in, mentioned, names_in
from ..language.queries import acting, counts_up, is_allocation, is_branch, is_load, is_store, operation
from ..language.rewrite import kept, without
from ..language.substitution import substitute

FIRST, ONE = Const(0, "int64"), Const(1, "int64")


@dataclass(frozen=True, eq=False)
class Listing:
    """A nest that lists the places where a mask holds. condition: the statements that find out whether it holds at `index`;
    holds: what they bind; places: the arrays that get the indices, by which of them."""

    loops: tuple[For, ...]
    condition: tuple
    holds: Atom
    places: dict[Arr, int]

    @property
    def index(self) -> tuple[Var, ...]:
        return tuple(loop.index for loop in self.loops)


def guard_masked(function: Function, facts: Facts) -> Function:
    """The program with branches on masks in the place of lists of places; facts: of the program, to be told of new loops."""
    uses: dict[Arr, list] = {}
    for s in walk(function.body):
        for x in operands(s):
            array = core.array_of(x)
            if isinstance(array, Arr):
                uses.setdefault(array, []).append(s)
    uses |= {r: [None] for r in function.returns if isinstance(r, Arr)}

    def visit(block) -> tuple:
        made = [core.with_blocks(s, visit) for s in block]
        for k, s in enumerate(made):
            listing = listed(s)
            guarded = readers(listing, made[k + 1:], uses) if listing else {}
            if listing and guarded:
                made[k + 1:] = [with_branch(t, listing, guarded, facts) for t in made[k + 1:]]
        return kept(block, made)
    return replace(function, body=visit(function.body))


# -- what a list of places is ---------------------------------------------------------------------------------------------
def listed(stmt) -> Listing | None:
    """The nest as one that lists places; None if it is none."""
    loops: list[For] = []
    while counts_up(stmt) and stmt.trip is None and stmt.checkpoint is None and len(stmt.carries) == 1:
        carry = stmt.carries[0]
        if loops and (carry.init is not loops[-1].carries[0].var or loops[-1].carries[0].next is not carry.result):
            return None
        loops.append(stmt)
        body = acting(stmt.body)
        stmt = body[0] if len(body) == 1 else None
    if not loops or loops[0].carries[0].init != FIRST or not acting(loops[-1].body):
        return None
    *condition, choice = acting(loops[-1].body)
    carry = loops[-1].carries[0]
    if not (is_branch(choice) and not acting(choice.orelse) and len(choice.merges) == 1
            and all(is_load(s) or operation(s) for s in condition)):
        return None
    merge, places = choice.merges[0], {}
    index: list[Atom] = [loop.index for loop in loops]
    for s in acting(choice.then):
        if is_store(s) and s.index == (carry.var,) and not s.accumulate and s.value in index:
            places[s.array] = index.index(s.value)
        elif not (operation(s) == "add" and s.var is merge.then and set(s.args) == {carry.var, ONE}):
            return None
    if carry.next is not merge.var or merge.orelse is not carry.var or not operation_of(choice.then, merge.then):
        return None
    return Listing(tuple(loops), tuple(condition), choice.cond, places)


def operation_of(block, var) -> bool:
    return any(isinstance(s, Let) and s.var is var for s in block)


# -- who reads it ---------------------------------------------------------------------------------------------------------
def readers(listing: Listing, after, uses) -> dict[For, set[Var]]:
    """The loops behind a listing that read its lists, and the places that they read; none if something else does."""
    found: dict[For, set[Var]] = {}
    given = names_in(listing.condition) - defined_in(listing.condition)
    accounted = set(walk(listing.loops[:1]))
    changed: set = set()                # since the mask was looked at

    def visit(block) -> bool:
        for s in block:
            if isinstance(s, For) and any(is_load(t) and t.array in listing.places for t in walk((s,))):
                changed.update(core.written(s.body))
                if not one_by_one(s, listing) or changed & given:
                    return False
                found[s] = {t.var for t in walk(s.body) if is_load(t) and t.array in listing.places}
                accounted.update(walk(s.body))
            elif is_branch(s):
                if not (visit(s.then) and visit(s.orelse)):
                    return False
            else:
                changed.update(core.written((s,)))
        return True
    every = [s for array in listing.places for s in uses[array]]
    return found if visit(after) and all(is_allocation(s) or s in accounted for s in every) else {}


def one_by_one(loop: For, listing: Listing) -> bool:
    """Whether a loop goes through the places in order, and needs its index for nothing else."""
    count = next(iter(listing.places)).shape
    if not (counts_up(loop) and loop.trip is None and loop.checkpoint is None and (loop.stop,) == count):
        return False
    reads = [s for s in walk(loop.body) if is_load(s) and s.array in listing.places and s.index == (loop.index,)]
    needed = sum(x is loop.index for x in mentioned(loop.body)) + sum(c.next is loop.index for c in loop.carries)
    return needed == len(reads)


# -- the branch in its place ----------------------------------------------------------------------------------------------
def with_branch(stmt, listing: Listing, guarded: dict[For, set[Var]], facts: Facts):
    """A statement with the loops that are `guarded` made nests over the mask."""
    if stmt in guarded:
        return nest(stmt, listing, guarded[stmt], facts)
    return core.with_blocks(stmt, lambda block: tuple(with_branch(s, listing, guarded, facts) for s in block))


def nest(loop: For, listing: Listing, read: set[Var], facts: Facts) -> For:
    mapping: dict = {}
    for outer in listing.loops:
        i = mapping[outer.index] = Var(outer.index.hint, "int64")
        facts.number(i)
        facts.range[i] = facts.range[outer.index]
    own: tuple[Var, ...] = tuple(mapping[i] for i in listing.index)
    condition = substitute(listing.condition, mapping)
    place: dict = {s.var: own[listing.places[s.array]] for s in walk(loop.body) if is_load(s) and s.var in read}
    for s in walk(loop.body):           # a place lies in the axes of the mask
        if operation(s) == "wrap_index" and s.args[0] in place and facts.at_most(place[s.args[0]], s.args[1], 1):
            place[s.var] = place[s.args[0]]
    body = substitute(without(loop.body, lambda s: (is_load(s) or operation(s) == "wrap_index") and s.var in place), place,
                      fresh=False)
    merges = tuple(Merge(Var(c.var.hint, c.var.dtype), place.get(c.next, c.next), c.var) for c in loop.carries)
    holds = mapping.get(listing.holds, listing.holds)
    block: tuple = (*condition, If(holds, body, (), merges, loop.loc))
    made: For = loop
    carries = tuple(replace(c, next=m.var) for c, m in zip(loop.carries, merges, strict=True))
    for depth in range(len(own) - 1, -1, -1):         # from the innermost loop, each of which hands on to that around it
        if depth:
            heads = [Var(c.var.hint, c.var.dtype) for c in carries]
            inner = tuple(Carry(c.var, head, c.next, Var(c.result.hint, c.result.dtype))
                          for c, head in zip(carries, heads, strict=True))
            carries = tuple(Carry(head, c.init, i.result, c.result)
                            for c, head, i in zip(carries, heads, inner, strict=True))
        else:
            inner = carries
        made = replace(loop, index=own[depth], stop=listing.loops[depth].stop, carries=inner, body=block)
        block = (made,)
    return made


__all__ = ["guard_masked"]
