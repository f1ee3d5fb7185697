"""The names of a block: what its statements mention, and what they define."""

from __future__ import annotations

from .core import Arr, Ref, Var, bound_inside, defined, operands, walk
from .queries import allocated_in


def mentioned(block):
    """The variables and buffers that statements mention, in the order of the text, as often as they stand there."""
    for stmt in walk(block):
        for x in operands(stmt):
            if isinstance(x, Ref):
                yield x.array
                yield from (p for p in x.prefix if isinstance(p, Var))
            elif isinstance(x, (Var, Arr)):
                yield x


def names_in(block) -> set:
    """Every variable and buffer that statements mention."""
    return set(mentioned(block))


def defined_in(block) -> set:
    """Every variable and buffer that statements define, in their own block and in the blocks inside them."""
    found: set = set()
    for stmt in walk(block):
        found.update(defined(stmt), bound_inside(stmt))
    return found | allocated_in(block)
