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
from ..language.queries import (
    acting,
    counts_up,
    is_access,
    is_addition,
    is_allocation,
    is_assignment,
    is_range,
    operation,
    sole,
)
from .merged_axes import products


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


def covered(stmt, array, sizes, prefix, loops, facts):
    """The nest with its one addition to `array` made an assignment; None if it does not reach every element once."""
    if not counts_up(stmt):
        return None
    loops = (*loops, stmt)
    inside = [s for s in acting(stmt.body) if any(touches_array(t, array) for t in walk((s,)))]
    s = inside[0] if inside else None
    if len(inside) == 1 and is_range(s):
        made = covered(s, array, sizes, prefix, loops, facts)
    elif is_addition(s) and s.index[:len(prefix)] == prefix and all(
            is_access(t) and t.index == s.index for t in walk(stmt.body) if touches_array(t, array)) and reached(
            s.index[len(prefix):], sizes, loops, facts):
        made = replace(s, accumulate=False)
    else:
        made = None
    if made is None:
        return None
    return replace(stmt, body=tuple(made if t is s else t for t in stmt.body))


def reached(places, sizes, loops, facts) -> bool:
    """Whether the loops, from the outermost in, run over all places of these axes, each along one axis or with the next
    ones along one."""
    if not (places and loops):
        return not (places or loops)
    return any(reached(places[1:], sizes[1:], loops[k:], facts) for k in range(1, len(loops) + 1)
               if facts.same(places[0], loops[0].index) and facts.same(sizes[0], loops[0].stop) and k == 1
               or k > 1 and in_order(places[0], sizes[0], loops[:k], facts))


def in_order(place, size, loops, facts) -> bool:
    """Whether a place is that of the loops' indices in the order of C, in an axis that is as long as all of them."""
    *outer, last = loops
    if not outer:
        return facts.same(place, last.index) and facts.same(size, last.stop)
    op, args = facts.definition.get(place, ("", ()))
    return op == "add" and facts.same(args[1], last.index) and any(
        facts.same(length, last.stop) and facts.same(other, last.stop) and in_order(start, count, outer, facts)
        for start, length in products(args[0], facts) for count, other in products(size, facts))


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
