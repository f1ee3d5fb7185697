"""Which scalars of a thread program are the same for all threads of a block."""

from __future__ import annotations

from ..language import core
from ..language.core import Function, Var, defined, sub_blocks
from ..language.queries import is_branch, is_load, is_range, is_size, operation
from .threads import Coordinates


def varying_in_block(function: Function, at: Coordinates, shared) -> set[Var]:
    """The scalars that may differ between threads of a block: what depends on their places, or on memory that changes."""
    varying: set = {v for v in at.thread if isinstance(v, Var)}
    written = core.written(function.body) | set(shared)
    differs = lambda xs: any(x in varying for x in xs if isinstance(x, Var))  # noqa: E731

    def visit(block) -> None:
        for s in block:
            for inner in sub_blocks(s):
                visit(inner)
            if is_size(s):
                continue
            if operation(s) and differs(s.args) or is_load(s) and (s.array in written or differs(s.index)):
                varying.add(s.var)
            elif is_branch(s):
                varying.update(m.var for m in s.merges if differs((s.cond, m.then, m.orelse)))
            elif sub_blocks(s):
                for c in s.carries:
                    if differs((c.init, c.next)):
                        varying.update((c.var, c.result))
                if is_range(s) and differs((s.start, s.step)):
                    varying.add(s.index)
                if differs((s.start, s.stop, s.step, s.exit)) if is_range(s) else differs((s.cond,)):
                    varying.update(v for v in defined(s) if v is not None)

    before = -1
    while before != len(varying):
        before = len(varying)
        visit(function.body)
    return varying


__all__ = ["varying_in_block"]
