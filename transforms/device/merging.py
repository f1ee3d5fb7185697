"""Kernels joined: two nests over the same elements are one, if that leaves as many threads."""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.core import Arr, Const, Function, Var, operands
from ..language.motion import Touches, facts_of, own_axes
from ..language.ops import EXPENSIVE
from ..language.queries import is_load, operation
from ..language.substitution import substitute
from ..optimise.loop_fusion import Merger
from .nests import collapsed, is_nest


class KernelMerger(Merger):
    """Joins nests that share a buffer, where each thread of the joined nest does the work of one thread of both."""

    def __init__(self, function: Function):
        super().__init__(function)
        self.levels: dict = {}           # of joined loops, until their inner loops are joined too

    def threads(self, loop) -> list[tuple]:
        """The loops whose iterations are threads, level by level."""
        return self.levels.get(loop) or [(x,) for x in collapsed(loop, self.facts)]

    def worthwhile(self, first, second) -> bool:
        if not self.share(first, second):
            return False
        nests = [is_nest(loop, self.facts) for loop in (first, second)]
        if not all(nests):
            return not any(nests)
        a, b = self.threads(first), self.threads(second)
        return len(a) == len(b) and self.common(first, second) >= len(a) and all(
            self.at_one_place(x, y) for p, q in zip(a, b, strict=True) for x in p for y in q)

    def joined(self, first, second, loop) -> None:
        inner = [(*p, *q) for p, q in zip(self.threads(first), self.threads(second), strict=False)][1:]
        self.levels[loop] = [(loop,), *inner]

    def at_one_place(self, first, second) -> bool:
        """Whether what one loop writes and the other touches is touched at the index of the iteration."""
        a, b = self.touches[first], self.touches[second]
        return all(own_axes(first, array) & own_axes(second, array) for array in (a.writes & b.names) | (b.writes & a.names)
                   if isinstance(array, Arr) and (array in a.plain or array in b.plain))


def sink(function: Function) -> Function:
    """The program with elements that are read outside the nests, and cheap operations on them, where they are used.

    A thread reads an element as fast as a number it was given; read outside, it would need a kernel of its own.
    """
    return replace(function, body=sunk(function.body, facts_of(function), Touches()))


def sunk(block, facts, touches: Touches) -> tuple:
    out: list = []
    known: dict = {}                    # variable -> (statements that compute it, buffers they read)
    for s in block:
        if is_nest(s, facts):
            outside = operands(s)               # what decides which iterations there are
            needed = {v: known[v] for v in touches[s].names if isinstance(v, Var) and v in known and v not in outside
                      and not known[v][1] & touches[s].writes}
            if needed:
                s = with_head(s, needed)
        else:
            s = core.with_blocks(s, lambda inner: sunk(inner, facts, touches))
        for v, (_, arrays) in list(known.items()):
            if arrays & touches[s].writes:
                del known[v]
        if is_load(s) and all(isinstance(i, Const) for i in s.index):
            known[s.var] = ((s,), {s.array})
        elif operation(s) not in ("", *EXPENSIVE, "wrap_index") and any(a in known for a in s.args):
            parts = [known[a] for a in s.args if a in known]
            steps = tuple(dict.fromkeys((*(t for p in parts for t in p[0]), s)))
            if len(steps) <= 8:
                known[s.var] = (steps, set().union(*(p[1] for p in parts)))
        out.append(s)
    return tuple(out)


def with_head(loop, needed: dict):
    """The nest with the statements that compute some of its numbers in each thread."""
    mapping: dict = {}
    head = substitute(tuple(dict.fromkeys(t for steps, _ in needed.values() for t in steps)), mapping)
    (made,) = substitute((loop,), {v: mapping[v] for v in needed}, fresh=False)
    return replace(made, body=(*head, *made.body))


__all__ = ["KernelMerger", "sink"]
