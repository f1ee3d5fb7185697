"""Arrays that a loop makes anew in each iteration, of what it does not change, are made once, before it.

    for k in range(10):                              v = empty(n)
        v = empty(n)                                 for i in range(n):
        for i in range(n):                               v[i] = 0.85 * x[i]
            v[i] = 0.85 * x[i]           becomes     for k in range(10):
        for i in range(n):                               for i in range(n):
            y[i] += v[i] * c[k]                              y[i] += v[i] * c[k]

As in `p = 0.85 * W @ p`, of which each step keeps its own `0.85 * W` for the reverse sweep. What a loop over elements
computes cannot raise where these are known to exist, so that it may be computed for a loop that does not run.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.core import Arr, Function
from ..language.facts import Facts
from ..language.motion import Touches, facts_of, in_range, made_equal
from ..language.names import defined_in
from ..language.queries import is_allocation, is_load, is_loop, is_ordinary, is_range, operation
from ..language.rewrite import bottom_up
from .dead_zeros import fills


def make_once(function: Function) -> Function:
    """The program that makes such arrays before the loops that read them."""
    if not any(is_allocation(t) for s in core.walk(function.body) if is_loop(s) for t in s.body):
        return function
    facts, equal, touches = facts_of(function, checks=False), made_equal(function), Touches()

    def change(s):
        moved = invariant(s, facts, touches) if is_loop(s) else []
        return [*moved, replace(s, body=tuple(t for t in s.body if t not in moved))] if moved else None
    body: list = []
    for s in function.body:
        body += bottom_up((s,), change)
        for pair in equal.get(s, ()):               # sizes are equal behind the check, not before it
            facts.equate(*pair)
    return replace(function, body=tuple(body))


def exist(nest, facts: Facts) -> bool:
    """Whether all elements that a nest reads are known to be there, even for a loop around it that does not run."""
    return all(in_range(facts, s.array, s.index) for s in core.walk((nest,)) if is_load(s)) and not any(
        operation(s) == "wrap_index" for s in core.walk((nest,)))


def invariant(loop, facts: Facts, touches: Touches) -> list:
    """The statements of a loop's body that make such arrays, in order."""
    varying = {*core.bound_inside(loop), *defined_in(loop.body), *core.written(loop.body)}
    makers: dict[Arr, list] = {}
    for s in loop.body:
        for a in touches[s].writes:
            makers.setdefault(a, []).append(s)
    found: list = []
    for s in loop.body:
        known = touches[s]
        if operation(s) and not known.checks and not known.names & varying:
            found.append(s)
            varying.discard(s.var)
        elif is_range(s) and len(known.writes) == 1 and all(map(is_ordinary, core.walk((s,)))) and not known.checks:
            a, = known.writes
            memory = makers[a][0]
            if len(makers[a]) == 2 and is_allocation(memory) and fills(s, a, (), facts) and exist(s, facts) and not (
                    known.names - known.defines - {a} | touches[memory].names) & varying:
                found += [memory, s]
                varying.discard(a)
    needed: set = set()
    for s in reversed(found):
        if not operation(s) or s.var in needed:
            needed |= touches[s].names
    return [s for s in found if not operation(s) or s.var in needed] if any(map(is_allocation, found)) else []


__all__ = ["make_once"]
