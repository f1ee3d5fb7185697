"""Questions about statements and blocks, for those who need not know the nodes that answer them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeGuard

from .core import Alloc, Arr, Call, For, Guard, Let, Load, Store, Var, While, walk


def is_loop(stmt) -> TypeGuard[For | While]:
    return isinstance(stmt, (For, While))


def is_access(stmt) -> TypeGuard[Load | Store]:
    """Whether a statement reads or writes one element."""
    return isinstance(stmt, (Load, Store))


def is_size(stmt) -> TypeGuard[Let]:
    """Whether a statement asks an array for one of its sizes."""
    return isinstance(stmt, Let) and stmt.op == "dim"


def operations(statements: Iterable, wanted: Callable[[Let], bool] = lambda s: True) -> dict[Var, Let]:
    """The scalar operations among statements, or those that are wanted, by what they compute."""
    return {s.var: s for s in statements if isinstance(s, Let) and wanted(s)}


def allocations(statements: Iterable) -> dict[Arr, Alloc]:
    """Those of statements that allocate, by the buffer."""
    return {s.array: s for s in statements if isinstance(s, Alloc)}


def allocated_in(block) -> set[Arr]:
    """The buffers that a block allocates, and the blocks inside it."""
    return set(allocations(walk(block)))


def loaded_in(block) -> set[Arr]:
    """The buffers of which a block, or one inside it, reads elements."""
    return {s.array for s in walk(block) if isinstance(s, Load)}


def calls_in(block) -> list[Call]:
    """The library calls of a block and of the blocks inside it."""
    return [s for s in walk(block) if isinstance(s, Call)]


def checks_in(block) -> list[Guard]:
    """The checks of a block and of the blocks inside it."""
    return [s for s in walk(block) if isinstance(s, Guard)]
