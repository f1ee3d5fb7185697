"""Scatters to neighbours turned into gathers: every element is written once, by one loop, from all that it collects.

    # ---- reverse sweep ----                          for i in range(min(2, n)):
    for i in range(n):                                     a_bar[i] += c * b_bar[i + 1]
        a_bar[i] += c * b_bar[i + 1]                   for i in range(n - 2):
    for i in range(n):                      becomes        a_bar[i + 2] += c * b_bar[i + 3]
        a_bar[i + 2] += c * b_bar[i + 1]                   a_bar[i + 2] += c * b_bar[i + 1]
                                                       for i in range(max(n - 2, 0), n):
                                                           a_bar[i + 2] += c * b_bar[i + 1]

Loops of the reverse sweep that only add, each at its own distance from its index, are moved against each other until they
add at the same place; what sticks out at both ends is peeled. A loop that holds several of them is first distributed over
them, so that this goes on from axis to axis. Indices start at 0 and offsets are not negative: LLVM vectorises that.

Source: J. Hückelheim et al., Automatic differentiation for adjoint stencil loops ("PerforAD"), ICPP 2019, section 3.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ..language.build import Builder, integer
from ..language.core import Arr, Comment, Function, Var, operands, walk, with_blocks
from ..language.facts import Facts
from ..language.motion import facts_of
from ..language.names import names_in
from ..language.queries import acting, is_plain, is_range, is_simple, loaded_in, loads, operation, scalars, stores
from .borders import copy, in_two_nests

MOST_PIECES = 16


def gather(function: Function) -> Function:
    """The program with the neighbourly scatters of its reverse sweep as gathers."""
    return replace(function, body=gathered(function.body, facts_of(function)))


def gathered(block, facts: Facts) -> tuple:
    out: list = []
    for s in block:
        if is_range(s):
            out.extend(distributed(s, facts))
        else:
            out.append(with_blocks(s, lambda inner: gathered(inner, facts)))
    return aligned_runs(out, facts)


@dataclass
class Piece:
    """A loop that adds at one distance from its index. `clear`: it assigns what the others read, and comes last."""

    loop: Any
    shift: int
    clear: bool = False


def distributed(loop, facts: Facts) -> list:
    """The loop, or one for each of its stores, moved against each other, where these add at different distances."""
    loops = singles(loop, facts) if plain(loop) else None
    if loops is not None and 2 <= len(loops) <= MOST_PIECES:
        pieces = [piece_of(made, facts) for made in loops]
        if None not in pieces and apart(pieces) and compatible(pieces) and cleared_where_read(pieces, facts):
            notes = [s for s in loop.body if isinstance(s, Comment)]
            return [*notes, *aligned(pieces, facts)]
    return [replace(loop, body=gathered(loop.body, facts))]


def singles(loop, facts: Facts) -> list | None:
    """The nest as nests with one store each; None if it does more than load, compute and store."""
    body = acting(loop.body)
    if not plain(loop) or not all(is_range(s) or is_simple(s) for s in body):
        return None
    if len(stores(body)) > 1:
        return None                     # `direction.py` has not split it: too much is shared
    others = scalars(body)
    found: list = []
    for s in body:
        parts = singles(s, facts) if is_range(s) else stores((s,))
        if parts is None:
            return None
        for part in parts:
            needed = slice_of(part, others)
            index = Var(loop.index.hint, "int64")
            facts.number(index)
            facts.range[index] = facts.range.get(loop.index, (loop.start, None))
            b = Builder(facts)
            copy(b, (*(t for t in body if t in needed), part), {loop.index: index})
            found.append(replace(loop, index=index, body=b.block()))
    return found


def aligned_runs(block, facts: Facts) -> tuple:
    """The block with loops that follow each other moved against each other."""
    out: list = []
    run: list = []

    def pieces_of(run) -> list:
        return [piece_of(s, facts) for s in acting(run)]

    def finish():
        pieces = pieces_of(run)
        if 2 <= len(pieces) <= MOST_PIECES and apart(pieces) and compatible(pieces):
            out.extend(s for s in run if isinstance(s, Comment))
            out.extend(aligned(pieces, facts))
        else:
            out.extend(run)
        run.clear()
    for s in block:
        if isinstance(s, Comment):
            (run if run else out).append(s)
            continue
        if operation(s):                  # the loops bind nothing that it could need
            out.append(s)
            continue
        piece = piece_of(s, facts)
        first = next(iter(acting(run)), None)
        if piece is None or first is not None and not (facts.same(s.start, first.start) and facts.same(s.stop, first.stop)
                                                       and compatible([*pieces_of(run), piece])):
            finish()
        (run if piece is not None else out).append(s)
    finish()
    return tuple(out)


def plain(stmt) -> bool:
    return is_plain(stmt) and stmt.origin == "reverse"


def slice_of(stmt, others: dict) -> set:
    """The statements that compute what one needs, among `others`, by what they define."""
    needed: set = set()
    waiting = list(names_in((stmt,)))
    while waiting:
        s = others.get(waiting.pop())
        if s is not None and s not in needed:
            needed.add(s)
            waiting.extend(x for x in operands(s) if isinstance(x, Var))
    return needed


def piece_of(loop, facts: Facts) -> Piece | None:
    """The loop as a piece, if all it writes is one buffer, at one distance from its index."""
    if not plain(loop) or not all((plain(s) or is_simple(s)) and operation(s) not in ("wrap_index", "dim")
                                  for s in walk(loop.body)):
        return None
    shifts: set = set()
    found = stores(walk(loop.body))
    for s in found:
        here = {c for i in s.index for c, terms in [facts.affine(i)] if terms == {loop.index: 1}}
        shifts |= here if len(here) == 1 else {None}
    kinds = {s.accumulate for s in found}
    if len(shifts) != 1 or None in shifts or len({s.array for s in found}) != 1 or len(kinds) != 1:
        return None
    return Piece(loop, shifts.pop(), not kinds.pop())


def apart(pieces) -> bool:
    """Whether there is anything to align."""
    return len({p.shift for p in pieces if not p.clear}) > 1


def compatible(pieces) -> bool:
    """Whether the pieces may run in any order, but those that clear after those that read."""
    added = {target(p) for p in pieces if not p.clear}
    cleared = {target(p) for p in pieces if p.clear}
    for k, p in enumerate(pieces):
        read = loaded_in(p.loop.body)
        if read & added or p.clear and (read or any(not q.clear for q in pieces[k + 1:])):
            return False
    return not added & cleared


def cleared_where_read(pieces, facts: Facts) -> bool:
    """Whether what an iteration clears no other iteration reads, so that all may read before any clears."""
    for p in pieces:
        if not p.clear:
            continue
        store = stores(walk(p.loop.body))[0]
        axis = next(k for k, i in enumerate(store.index) if facts.affine(i)[1] == {p.loop.index: 1})
        if any(s.array is store.array and facts.affine(s.index[axis]) != (p.shift, {q.loop.index: 1})
               for q in pieces for s in loads(walk(q.loop.body))):
            return False
    return True


def target(piece: Piece) -> Arr:
    return stores(walk(piece.loop.body))[0].array


def aligned(pieces, facts: Facts) -> list:
    """Loops over what sticks out in front, the common part, and what sticks out behind."""
    adding, clearing = [p for p in pieces if not p.clear], [p for p in pieces if p.clear]
    loops = [loop for p in adding for loop in singles(p.loop, facts) or [p.loop]]
    nests = in_two_nests(loops, facts) if len(loops) <= MOST_PIECES else None
    if nests is not None:
        return [*nests, *(p.loop for p in clearing)]
    count = adding[0].loop.stop
    most, least = max(p.shift for p in adding), min(p.shift for p in adding)
    b = Builder(facts)
    groups: dict = {}
    for p in adding:
        groups.setdefault(p.shift, []).append(p)
    for shift, group in groups.items():
        if shift < most:
            border(b, group, integer(0), b.imin(integer(most - shift), count), facts)
    index = Var(adding[0].loop.index.hint, "int64")
    facts.number(index)
    inner = b.child(loop=True)
    common = b.isub(count, most - least)
    facts.range[index] = (integer(0), b.isub(common, 1))
    for p in adding:
        copy(inner, p.loop.body, {p.loop.index: inner.iadd(index, most - p.shift)})
    b.add(replace(adding[0].loop, index=index, stop=common, body=gathered(inner.block(), facts)))
    for shift, group in groups.items():
        if shift > least:
            border(b, group, b.imax(b.isub(count, shift - least), integer(most - shift)), count, facts)
    for p in clearing:
        b.add(p.loop)
    return b.stmts


def border(b: Builder, group, start, stop, facts: Facts) -> None:
    index = Var(group[0].loop.index.hint, "int64")
    facts.number(index)
    inner = b.child(loop=True)
    for p in group:
        copy(inner, p.loop.body, {p.loop.index: index})
    b.add(replace(group[0].loop, index=index, start=start, stop=stop, body=inner.block()))


__all__ = ["gather"]
