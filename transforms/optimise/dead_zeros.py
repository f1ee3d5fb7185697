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
from ..language.core import Const, Function, walk
from ..language.motion import Touches, facts_of
from ..language.queries import acting, counts_up, is_access, is_addition, is_allocation, is_assignment, operation, sole


def assign_first(function: Function) -> Function:
    """The program with buffers of zeros made empty, and rows of zeros not written, where a nest over all of their elements
    comes first."""
    facts, touches = facts_of(function), Touches()

    def visit(block) -> tuple:
        body: list = [core.with_blocks(s, visit) for s in block]
        for k, s in enumerate(body):
            zeros = zeros_of(s)
            if zeros is None:
                continue
            array, prefix, sizes = zeros
            first = next((j for j in range(k + 1, len(body)) if array in touches[body[j]].names), None)
            made = None if first is None else covered(body[first], array, sizes, prefix, (), facts)
            if first is not None and made is not None:
                body[k] = replace(s, fill=None) if is_allocation(s) else None
                body[first] = made
        return tuple(s for s in body if s is not None)
    return replace(function, body=visit(function.body))


def zeros_of(stmt) -> tuple | None:
    """(buffer, leading indices, sizes of the axes behind them) of what a statement does nothing but fill with zeros."""
    if is_allocation(stmt):
        return (stmt.array, (), stmt.array.shape) if is_zero(stmt.fill) and stmt.array.shape else None
    stops: dict = {}
    while counts_up(stmt):
        stops[stmt.index], stmt = stmt.stop, sole(stmt.body)
    if not (stops and is_assignment(stmt) and is_zero(stmt.value)):
        return None
    own = tuple(stops)
    prefix = stmt.index[:-len(own)]
    return (stmt.array, prefix, tuple(stops.values())) \
        if stmt.index == (*prefix, *own) and not set(prefix) & set(own) else None


def is_zero(value) -> bool:
    return isinstance(value, Const) and value.value == 0


def covered(stmt, array, sizes, prefix, indices, facts):
    """The nest with its one addition to `array` made an assignment; None if it does not reach every element once."""
    axis = len(indices)
    if not (counts_up(stmt) and facts.same(stmt.stop, sizes[axis])):
        return None
    indices = (*indices, stmt.index)
    inside = [s for s in acting(stmt.body) if any(touches_array(t, array) for t in walk((s,)))]
    if len(indices) == len(sizes):
        s = inside[0] if inside else None
        own = all(is_access(t) and t.index == (*prefix, *indices)
                  for t in walk(stmt.body) if touches_array(t, array))
        if not (is_addition(s) and own):
            return None
        made = replace(s, accumulate=False)
    elif len(inside) != 1:
        return None
    else:
        made = covered(inside[0], array, sizes, prefix, indices, facts)
    if made is None:
        return None
    return replace(stmt, body=tuple(made if s is inside[0] else s for s in stmt.body))


def overwritten_first(function: Function, array):
    """The statement that writes all of a parameter before anything reads it; None if there is none."""
    first = next((s for s in function.body if any(
        touches_array(t, array) and not operation(t) for t in walk((s,)))), None)
    return first if first is not None and array.shape and fills(first, array, (), facts_of(function)) else None


def fills(stmt, array, indices, facts) -> bool:
    """Whether a nest assigns every element of `array`, and does nothing else with it."""
    if len(indices) == len(array.shape):
        return is_assignment(stmt) and stmt.index == indices
    if not (counts_up(stmt) and facts.same(stmt.stop, array.shape[len(indices)])):
        return False
    inside = [s for s in stmt.body if any(touches_array(t, array) for t in walk((s,)))]
    return len(inside) == 1 and fills(inside[0], array, (*indices, stmt.index), facts)


def touches_array(stmt, array) -> bool:
    if is_access(stmt):
        return stmt.array is array
    return any((x.array if isinstance(x, core.Ref) else x) is array for x in core.operands(stmt))


__all__ = ["assign_first", "overwritten_first"]
