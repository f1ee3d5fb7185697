"""Arrays of the compiler's own laid out for threads: neighbours read and write neighbouring elements.

    s_tape = empty((n, steps))                    s_tape = empty((steps, n))
    for i in range(n):              # threads     for i in range(n):
        for t in range(steps):          becomes       for t in range(steps):
            s_tape[i, t] = s                              s_tape[t, i] = s
"""

from __future__ import annotations

from dataclasses import replace

from ..language import core
from ..language.core import Arr, Function, array_of, operands, walk
from ..language.motion import facts_of
from ..language.names import defined_in
from ..language.queries import is_access, is_allocation
from ..language.rewrite import top_down
from .from_nest import in_rows
from .nests import collapsed, is_nest, offset


def lay_out(function: Function) -> Function:
    """The program with the axis along which threads lie as the last one, in arrays that nobody else sees."""
    facts = facts_of(function)
    votes: dict[Arr, dict[int, int]] = {}

    def visit(block) -> None:
        for s in block:
            if is_nest(s, facts):
                loops = collapsed(s, facts)
                body = loops[-1].body
                along = in_rows(loops, body, facts)[-1]
                inside = defined_in((s,)) - {x.index for x in loops}
                for t in walk(body):
                    if is_access(t):
                        for axis, i in enumerate(t.index):
                            if offset(i, along.index, inside, facts) is not None:
                                found = votes.setdefault(t.array, {})
                                found[axis] = found.get(axis, 0) + 1
            else:
                for inner in core.sub_blocks(s):
                    visit(inner)
    visit(function.body)
    fixed = set(function.params) | set(function.returns) | core.rebound(function.body)
    for s in walk(function.body):
        if not (is_access(s) or is_allocation(s)):
            fixed.update(array_of(x) for x in operands(s))
    moved: dict = {}
    for array, found in votes.items():
        axis = max(found, key=lambda k: (found[k], k))
        if array not in fixed and axis != len(array.shape) - 1:
            moved[array] = axis
    arrays = {a: Arr(a.hint, a.dtype, to_end(a.shape, k), a.why) for a, k in moved.items()}
    return replace(function, body=turned(function.body, moved, arrays)) if moved else function


def to_end(index: tuple, axis: int) -> tuple:
    return (*index[:axis], *index[axis + 1:], index[axis])


def turned(block, moved: dict, arrays: dict) -> tuple:
    """The block with the new arrays in the places of the old ones."""
    def change(s):
        if is_access(s) and s.array in moved:
            return (replace(s, array=arrays[s.array], index=to_end(s.index, moved[s.array])),)
        return (replace(s, array=arrays[s.array]),) if is_allocation(s) and s.array in moved else None
    return top_down(block, change)


__all__ = ["lay_out"]
