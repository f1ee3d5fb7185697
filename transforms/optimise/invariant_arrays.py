"""Arrays that a loop makes anew in each iteration, of what it does not change, are made once, before it.

    for k in range(10):                              v = empty(n)
        v = empty(n)                                 for i in range(n):
        for i in range(n):                               v[i] = np.exp(x[i])
            v[i] = np.exp(x[i])          becomes     for k in range(10):
        for i in range(n):                               for i in range(n):
            y[i] += v[i] * c[k]                              y[i] += v[i] * c[k]

As in `p = 0.85 * W @ p`, of which each step keeps its own `0.85 * W` for the reverse sweep. What is cheap to compute, and
goes to no library function, needs no memory and stays. Where the loop may not run, a branch asks whether it does: the
derivative of what it would compute may be infinite, and 0 times that is nan.
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.build import Builder
from ..language.core import Arr, Const, For, Function, If
from ..language.facts import Facts
from ..language.motion import Touches, behind_checks, in_range
from ..language.names import defined_in, names_in
from ..language.ops import EXPENSIVE
from ..language.queries import called, is_allocation, is_load, is_loop, is_ordinary, is_range, operation
from ..language.rewrite import bottom_up
from .dead_zeros import fills


def make_once(function: Function) -> Function:
    """The program that makes such arrays before the loops that read them."""
    if not any(is_allocation(t) for s in core.walk(function.body) if is_loop(s) for t in s.body):
        return function
    touches = Touches()
    body: list = []

    def change(s, facts: Facts):
        moved = invariant(s, facts, touches) if isinstance(s, For) and core.known_value(s.step) else []
        rest = replace(s, body=tuple(t for t in s.body if t not in moved)) if moved else s
        return [*where_it_runs(moved, s, facts), rest] if moved and not left_behind(moved, rest) else None
    for stmt, facts in behind_checks(function):
        body += bottom_up((stmt,), lambda s, facts=facts: change(s, facts))
    return replace(function, body=tuple(body))


def where_it_runs(moved: list, loop: For, facts: Facts) -> list:
    """The statements before a loop: memory and integers, and in a branch, if it may not run, all that computes numbers."""
    b = Builder(facts)
    runs = b.compare("lt" if core.known_value(loop.step) > 0 else "gt", loop.start, loop.stop)
    if runs == Const(True, "bool"):
        return moved
    numbers = [s for s in moved if is_range(s) or is_number(s)]
    return [*b.stmts, *(s for s in moved if s not in numbers), If(runs, tuple(numbers), (), (), loop.loc)]


def is_number(s) -> bool:
    """Whether a statement computes a float."""
    return operation(s) != "" and s.var.dtype not in ("int64", "bool")


def left_behind(moved: list, loop: For) -> bool:
    """Whether the loop still needs a number that was moved."""
    return any(is_number(s) and s.var in names_in((loop,)) for s in moved)


def in_memory(array: Arr, nest, loop: For) -> bool:
    """Whether an array needs memory: a library function takes it, or its elements are dear."""
    return any(operation(s) in EXPENSIVE for s in core.walk((nest,))) or any(
        called(s) and array in map(core.array_of, core.operands(s)) for s in core.walk(loop.body))


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
            if len(makers[a]) == 2 and is_allocation(memory) and fills(s, a, (), facts) and exist(s, facts) and in_memory(
                    a, s, loop) and not (known.names - known.defines - {a} | touches[memory].names) & varying:
                found += [memory, s]
                varying.discard(a)
    needed: set = set()
    for s in reversed(found):
        if not operation(s) or s.var in needed:
            needed |= touches[s].names
    return [s for s in found if not operation(s) or s.var in needed] if any(map(is_allocation, found)) else []


__all__ = ["make_once"]
