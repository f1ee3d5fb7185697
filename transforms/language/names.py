"""The names of a block: what its statements mention, and what they define."""

from __future__ import annotations

from . import core
from .core import Alloc, Arr, For, Ref, Var, defined, operands, walk


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
    found: set = set()
    for stmt in walk(block):
        found.update(defined(stmt))
        if isinstance(stmt, Alloc):
            found.add(stmt.array)
        elif isinstance(stmt, For):
            found.add(stmt.index)
            found.update(c.var for c in stmt.carries)
        elif isinstance(stmt, core.While):
            found.add(stmt.counter)
            found.update(c.var for c in stmt.carries)
    return found
