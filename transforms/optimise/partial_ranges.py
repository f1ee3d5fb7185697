"""A loop that copies or clears, before one over a part of its range: the part is left to that one, but for the ends.

    for i in range(n):                                 count_1 = min(1, n)
        y_bar[i] = x_bar[i]                            for i in range(count_1):
        x_bar[i] = 0.0                                     y_bar[i] = x_bar[i]
    for i in range(1, n - 1):               becomes        x_bar[i] = 0.0
        x_bar[i] = x_bar[i] + w * y_bar[i]             for i in range(max(count_1, n - 1), n):
                                                           y_bar[i] = x_bar[i]
                                                           x_bar[i] = 0.0
                                                       for i in range(1, n - 1):
                                                           y_bar[i] = x_bar[i]
                                                           x_bar[i] = 0.0
                                                           x_bar[i] = x_bar[i] + w * y_bar[i]

What the second loop reads it has at hand then, and what it writes over is not written before.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import Builder
from ..language.core import Comment, For, Function, Load, Store, Var, walk
from ..language.motion import own_axes
from ..language.queries import is_range
from ..language.substitution import substitute
from .loop_fusion import Merger, with_earlier

MOST = 4                # iterations at each end


def split_copies(function: Function) -> Function:
    """The program in which such loops run over the ends alone."""
    return replace(function, body=split(function.body, Merger(function)))


def split(block, known: Merger) -> tuple:
    before = dict(known.facts.alias)
    position = 0
    while position < len(block):
        known.learn(block[position])
        made = joined(block, position, known)
        if made is None:
            position += 1
        else:
            position -= len(block) - len(made) - 1
            block = made
    known.forget(before)
    out: list = []
    for s in block:
        known.learn(s)
        out.append(core.with_blocks(s, lambda inner: split(inner, known)))
    return tuple(out)


def joined(block, position: int, known: Merger) -> tuple | None:
    """The block in which the loop at `position` does its part of an earlier one; None if there is none."""
    second = block[position]
    if not known.simple(second):
        return None
    for k in range(position - 1, -1, -1):
        first = block[k]
        if not (is_range(first) and known.simple(first) and only_moves(first)):
            continue
        room = [apart(second.start, first.start, known), apart(first.stop, second.stop, known)]
        if None in room or not any(room):
            continue
        b = Builder(known.facts)
        start, stop = b.iadd(first.start, room[0]), b.isub(first.stop, room[1])
        middle = part(first, start, stop)
        made = with_earlier((*block[:k], middle, *block[k + 1:]), position, known, 1)
        if made is not None and middle not in made:
            low = b.imin(start, first.stop)             # the second loop may not run
            ends = [part(first, first.start, low)] if room[0] else []
            ends += [part(first, b.imax(low, stop), first.stop)] if room[1] else []
            return (*made[:k], *b.stmts, *ends, *made[k:])
    return None


def only_moves(loop: For) -> bool:
    """Whether a loop copies and assigns constants, does nothing else, and may run in any order."""
    return not loop.carries and all(
        isinstance(s, (Load, Comment)) or isinstance(s, Store) and not s.accumulate or isinstance(s, For) and not s.carries
        for s in walk(loop.body)) and all(own_axes(loop, array) for array in core.written(loop.body))


def apart(high, low, known: Merger) -> int | None:
    """How much one integer is above another, if that is a small number."""
    facts = known.facts
    return next((k for k in range(MOST + 1) if facts.at_most(low, high, k) and facts.at_most(high, low, -k)), None)


def part(loop: For, start, stop) -> For:
    """The iterations of a loop in another range."""
    index = Var(loop.index.hint, "int64")
    return replace(loop, index=index, start=start, stop=stop, body=substitute(loop.body, {loop.index: index}))


__all__ = ["split_copies"]
