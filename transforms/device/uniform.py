"""Which scalars of a thread program are the same for all threads of a block."""

from __future__ import annotations

from ..language import core
from ..language.core import For, Function, If, Let, Load, Var, While, sub_blocks
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
            match s:
                case Let(op="dim"):
                    pass
                case Let(var=v, args=args) if differs(args):
                    varying.add(v)
                case Load(var=v, array=a, index=index) if a in written or differs(index):
                    varying.add(v)
                case If(cond=cond, merges=merges):
                    for m in merges:
                        if differs((cond, m.then, m.orelse)):
                            varying.add(m.var)
                case For() | While():
                    for c in s.carries:
                        if differs((c.init, c.next)):
                            varying.update((c.var, c.result))
                    uneven = differs((s.start, s.stop, s.step, s.exit)) if isinstance(s, For) else s.cond in varying
                    if isinstance(s, For) and differs((s.start, s.step)):
                        varying.add(s.index)
                    if uneven:
                        varying.update(c.result for c in s.carries)
                        varying.add(s.trip) if s.trip is not None else None

    before = -1
    while before != len(varying):
        before = len(varying)
        visit(function.body)
    return varying


__all__ = ["varying_in_block"]
