"""Changing statements wherever they stand: a pass says what becomes of one, the rest follows."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from operator import is_

from .core import with_blocks
from .queries import is_branch, is_range, operation

Change = Callable[..., Iterable | None]


def kept(block: tuple, made: list) -> tuple:
    """What was made of a block; the block itself, if that is its statements."""
    return block if len(block) == len(made) and all(map(is_, block, made)) else tuple(made)


def top_down(block, change: Change) -> tuple:
    """The block with the statements that `change` gives for one in its place; None: it stays, and its blocks are changed."""
    def visit(block) -> tuple:
        out: list = []
        for s in block:
            made = change(s)
            if made is None:
                out.append(with_blocks(s, visit))
            else:
                out += made
        return kept(block, out)
    return visit(block)


def bottom_up(block, change: Change) -> tuple:
    """The same, but the blocks of a statement are changed before it."""
    def visit(block) -> tuple:
        out: list = []
        for s in block:
            s = with_blocks(s, visit)
            made = change(s)
            if made is None:
                out.append(s)
            else:
                out += made
        return kept(block, out)
    return visit(block)


def without(block, gone: Callable[..., bool]) -> tuple:
    """The block without the statements of which `gone` is true."""
    return top_down(block, lambda s: () if gone(s) else None)


def each_loop(block, change: Change) -> tuple:
    """The block with what `change` gives for a loop over a range in its place, innermost first; None: it stays."""
    return bottom_up(block, lambda s: change(s) if is_range(s) else None)


def each_branch(block, change: Change) -> tuple:
    """The same of branches."""
    return bottom_up(block, lambda s: change(s) if is_branch(s) else None)


def without_operations(block, gone: Container) -> tuple:
    """The block without the operations that compute these scalars."""
    return without(block, lambda s: operation(s) != "" and s.var in gone)
