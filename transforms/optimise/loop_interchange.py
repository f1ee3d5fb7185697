"""Loops in the order in which memory lies.

    # ---- reverse sweep ----                        for i in range(n):
    for j in range(m):                                   for j in range(m):
        for i in range(n):                becomes            a_bar[i, j] += v[i] * w[j]
            a_bar[i, j] += v[i] * w[j]

Two loops that are a perfect nest change places if the inner one strides through more buffers than the outer one would,
and no iteration depends on another: each element that is written is the iteration's own, or only added to, in any order.
"""

from __future__ import annotations

from dataclasses import replace

from ..language.core import Comment, Function, Var
from ..language.queries import (
    accesses,
    is_access,
    is_loop,
    is_range,
    is_simple,
    is_whole,
    only_added_freely,
    operations,
    sole,
    stores,
)
from ..language.rewrite import each_loop


def interchange(function: Function) -> Function:
    """The program with nests turned so that their innermost loops run along rows."""
    return replace(function, body=each_loop(function.body, lambda s: (better(s),)))


def better(outer):
    """The nest with its two innermost loops exchanged if that strides less."""
    inner = only_loop(outer)
    if inner is None or not exchangeable(outer, inner):
        return outer
    if strided(inner.body, inner.index) <= strided(inner.body, outer.index):
        return outer
    notes = tuple(s for s in outer.body if isinstance(s, Comment))
    return replace(inner, body=(*notes, replace(outer, body=inner.body)))


def only_loop(outer):
    inner = sole(outer.body)
    return inner if is_range(inner) and not any(map(is_loop, inner.body)) else None


def exchangeable(outer, inner) -> bool:
    for loop in (outer, inner):
        if loop.carries or not is_whole(loop) or loop.origin == "user":
            return False                # the order in which a user's loop adds is the user's
    if outer.index in (inner.start, inner.stop, inner.step) or not all(map(is_simple, inner.body)):
        return False
    for array in {s.array for s in stores(inner.body)}:
        if only_added_freely(inner.body, array):
            continue
        places = {s.index for s in accesses(inner.body, array)}
        if len(places) != 1 or not {outer.index, inner.index} <= set(next(iter(places))):
            return False
    return True


def strided(body, index: Var) -> int:
    """How many accesses an innermost loop over `index` would make across rows; a store counts twice."""
    across = [s for s in body if is_access(s) and moves(index, s.index[:-1], body)]
    return len(across) + len(stores(across))


def moves(index: Var, places, body) -> bool:
    """Whether subscripts depend on a loop's index."""
    made = operations(body)
    waiting = list(places)
    while waiting:
        x = waiting.pop()
        if x is index:
            return True
        if x in made:
            waiting.extend(made[x].args)
    return False


__all__ = ["interchange"]
