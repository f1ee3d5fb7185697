"""Which number is taped in the place of several that nothing else needs.

    if d[i, k] + d[k, j] < d[i, j]:         the reverse sweep asks which side ran: three numbers, all of them overwritten
        d[i, j] = d[i, k] + d[k, j]         later; or the answer, in one byte

What the reverse sweep asks for, and what that is computed again from, is a graph; its leaves are taped, or read from memory
that has to be restored. Where all ways to some leaves lead through one number, that number is taped instead, if it is
smaller: the dominators of the graph, of which those that save most come first.

Source: T. Lengauer, R. E. Tarjan, A fast algorithm for finding dominators in a flowgraph, TOPLAS 1 (1979), for the tree; the
choice of what is taped as a cut of this graph is that of W. S. Moses and others, Reverse-mode automatic differentiation and
optimization of GPU kernels via Enzyme, SC 2021.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping

import numpy as np

from ..language.core import For, Var
from ..language.facts import Facts, combine, integer
from ..language.queries import is_access, is_branch, is_load, is_size, is_whole, operation

ROOT = None
STEPS = {integer(1), integer(-1)}


def immediate(askers: Mapping[Hashable, set]) -> dict:
    """The immediate dominator of each node of a graph that has no cycles, by the nodes that ask for each; `ROOT` is asked by
    nobody. Nodes in a cycle, or asked for by one, have none."""
    depth: dict = {ROOT: 0}
    above: dict = {}
    asked_for: dict = {}
    waiting = {v: len(by) for v, by in askers.items()}
    for v, by in askers.items():
        for p in by:
            asked_for.setdefault(p, []).append(v)
    ready = [ROOT]
    while ready:
        p = ready.pop()
        for v in asked_for.get(p, ()):
            waiting[v] -= 1
            if waiting[v]:
                continue
            least, *others = askers[v]
            for q in others:                                # where the ways to both come together
                while least is not q:
                    if depth[least] < depth[q]:
                        q = above[q]
                    else:
                        least = above[least]
            above[v], depth[v] = least, depth[least] + 1
            ready.append(v)
    return above


def better(plan) -> set[Var]:
    """The numbers that are better taped than what they are computed from, by a plan for which a sweep has run."""
    order = plan.order
    leaves: dict = {v: [v] for v in plan.used if isinstance(v, Var) and v in plan.tapes and v in plan.askers}
    askers = {v: set(by) for v, by in plan.askers.items()}
    for stmt in plan.saves:
        if is_access(stmt):
            leaves.setdefault(order.memory(stmt.array), []).append(stmt)
    for a, stmt, _, _ in plan.reads:
        memory = order.memory(a)
        if memory in leaves:
            askers.setdefault(memory, set()).add(stmt.var if is_load(stmt) and stmt.var in askers else ROOT)
    above = immediate(askers)
    loops = {v: order.loops(order.definition[v]) for v in above if isinstance(v, Var) and v in order.definition}

    def saves(v, leaf) -> int:
        """The bytes of a leaf that there are for each time that a number is computed."""
        return sum(size(what if isinstance(what, Var) else what.array) for what in leaves[leaf]
                   if as_often(plan.facts, around(order, what), loops[v]))
    below: dict[Var, list] = {}
    for leaf in leaves:
        v = above.get(leaf)
        while v is not ROOT:
            stmt = order.definition.get(v)
            if loops.get(v) and (operation(stmt) or is_branch(stmt)) and not is_size(stmt) and v not in leaves:
                below.setdefault(v, []).append(leaf)
            v = above[v]
    found: set[Var] = set()
    gone: set = set()
    while below:
        gains = {v: sum(saves(v, leaf) for leaf in mine if leaf not in gone) - size(v) for v, mine in below.items()}
        best = max(gains, key=gains.__getitem__)
        if gains[best] <= 0:
            break
        found.add(best)
        gone.update(below.pop(best))
    return found


def around(order, what) -> list:
    """The loops around what is taped."""
    if not isinstance(what, Var):
        return order.loops(what)
    stmt = order.definition.get(what)
    return order.loops(stmt) if stmt is not None else [*order.loops(order.head[what]), order.head[what]]


def as_often(facts: Facts, loops: list, others: list) -> bool:
    """Whether what is in some loops happens at least as often as what is in others, as far as their bounds tell."""
    return len(loops) >= len(others) and all(a is b or no_fewer(facts, a, b) for a, b in zip(loops, others, strict=False))


def no_fewer(facts: Facts, a, b) -> bool:
    """Whether a loop over a range is known to run at least as often as another, by a constant more."""
    if not (is_whole(a) and is_whole(b) and {a.step, b.step} <= STEPS):
        return False
    constant, terms = combine(trips(facts, a), trips(facts, b), -1)
    return not terms and constant >= 0


def trips(facts: Facts, loop: For) -> tuple[int, dict]:
    up = loop.step == integer(1)
    return combine(facts.affine(loop.stop if up else loop.start), facts.affine(loop.start if up else loop.stop), -1)


def size(x) -> int:
    return np.dtype(x.dtype).itemsize


__all__ = ["better"]
