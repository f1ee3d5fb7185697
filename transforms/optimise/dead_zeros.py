"""A buffer of zeros whose first use writes every element needs no zeros.

    a_bar = zeros((n, m))                            a_bar = empty((n, m))
    for i in range(n):                               for i in range(n):
        for j in range(m):                becomes        for j in range(m):
            a_bar[i, j] += g[i] * x[j]                       a_bar[i, j] = g[i] * x[j]
    return a_bar                                     return a_bar
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import integer
from ..language.core import Alloc, Comment, Const, For, Function, Load, Store, walk
from ..language.motion import Touches, facts_of


def assign_first(function: Function) -> Function:
    """The program with buffers of zeros made empty where a nest over all of their elements comes first."""
    facts, touches = facts_of(function), Touches()
    body = list(function.body)
    for k, s in enumerate(body):
        if not (isinstance(s, Alloc) and isinstance(s.fill, Const) and s.fill.value == 0 and s.array.shape):
            continue
        first = next((j for j in range(k + 1, len(body)) if s.array in touches[body[j]].names), None)
        if first is None:
            continue
        made = covered(body[first], s.array, s.array.shape, (), facts)
        if made is not None:
            body[k] = replace(s, fill=None)
            body[first] = made
    return replace(function, body=tuple(body))


def covered(stmt, array, shape, indices, facts):
    """The nest with its one addition to `array` made an assignment; None if it does not reach every element once."""
    axis = len(indices)
    if not (isinstance(stmt, For) and stmt.exit is None and stmt.start == integer(0) and stmt.step == integer(1)
            and facts.same(stmt.stop, shape[axis])):
        return None
    indices = (*indices, stmt.index)
    inside = [s for s in stmt.body if not isinstance(s, Comment) and any(touches_array(t, array) for t in walk((s,)))]
    if len(indices) == len(shape):
        s = inside[0] if inside else None
        own = all(isinstance(t, (Load, Store)) and t.index == indices
                  for t in walk(stmt.body) if touches_array(t, array))
        if not (isinstance(s, Store) and s.accumulate and own):
            return None
        made = replace(s, accumulate=False)
    elif len(inside) != 1:
        return None
    else:
        made = covered(inside[0], array, shape, indices, facts)
    if made is None:
        return None
    return replace(stmt, body=tuple(made if s is inside[0] else s for s in stmt.body))


def overwritten_first(function: Function, array):
    """The statement that writes all of a parameter before anything reads it; None if there is none."""
    first = next((s for s in function.body if any(
        touches_array(t, array) and not isinstance(t, core.Let) for t in walk((s,)))), None)
    return first if first is not None and array.shape and fills(first, array, (), facts_of(function)) else None


def fills(stmt, array, indices, facts) -> bool:
    """Whether a nest assigns every element of `array`, and does nothing else with it."""
    if len(indices) == len(array.shape):
        return isinstance(stmt, Store) and not stmt.accumulate and stmt.index == indices
    if not (isinstance(stmt, For) and stmt.exit is None and stmt.start == integer(0) and stmt.step == integer(1)
            and facts.same(stmt.stop, array.shape[len(indices)])):
        return False
    inside = [s for s in stmt.body if any(touches_array(t, array) for t in walk((s,)))]
    return len(inside) == 1 and fills(inside[0], array, (*indices, stmt.index), facts)


def touches_array(stmt, array) -> bool:
    if isinstance(stmt, (Load, Store)):
        return stmt.array is array
    return any((x.array if isinstance(x, core.Ref) else x) is array for x in core.operands(stmt))


__all__ = ["assign_first", "overwritten_first"]
