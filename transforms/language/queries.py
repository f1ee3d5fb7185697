"""Questions about statements and blocks, for those who need not know the nodes that answer them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeGuard

from .core import (
    Alloc,
    Arr,
    Call,
    Comment,
    Const,
    For,
    Guard,
    If,
    Let,
    Load,
    Merge,
    Store,
    Var,
    While,
    array_of,
    operands,
    results,
    walk,
)

ZERO, ONE = Const(0, "int64"), Const(1, "int64")


# -- one statement --------------------------------------------------------------------------------------------
def operation(stmt) -> str:
    """The operation by which a statement computes a scalar; "" if it does anything else."""
    return stmt.op if isinstance(stmt, Let) else ""


def called(stmt) -> str:
    """The function that a statement calls; "" if it does anything else."""
    return stmt.op if isinstance(stmt, Call) else ""


def is_size(stmt) -> TypeGuard[Let]:
    """Whether a statement asks an array for one of its sizes."""
    return operation(stmt) == "dim"


def is_loop(stmt) -> TypeGuard[For | While]:
    return isinstance(stmt, (For, While))


def is_range(stmt) -> TypeGuard[For]:
    """Whether a statement is a loop over a range."""
    return isinstance(stmt, For)


def is_whole(stmt) -> TypeGuard[For]:
    """Whether a statement is a loop over a range that nothing ends early."""
    return isinstance(stmt, For) and stmt.exit is None and stmt.trip is None


def most_trips(stmt) -> int | None:
    """How often a loop over a range runs, unless something ends it early, if that is known."""
    ends = [int(x.value) for x in (stmt.start, stmt.stop, stmt.step) if isinstance(x, Const)] if is_range(stmt) else []
    return len(range(*ends)) if len(ends) == 3 else None


def is_short(stmt, most: int) -> bool:
    """Whether a loop over a range is known to run so often at most."""
    trips = most_trips(stmt)
    return trips is not None and trips <= most


def counts_up(stmt) -> TypeGuard[For]:
    """Whether a statement is a loop whose index is 0, 1, ... up to its stop."""
    return isinstance(stmt, For) and stmt.exit is None and stmt.start == ZERO and stmt.step == ONE


def is_plain(stmt) -> TypeGuard[For]:
    """Whether a statement is such a loop, and hands nothing on."""
    return counts_up(stmt) and stmt.trip is None and not stmt.carries


def is_branch(stmt) -> TypeGuard[If]:
    return isinstance(stmt, If)


def is_check(stmt) -> TypeGuard[Guard]:
    return isinstance(stmt, Guard)


def is_allocation(stmt) -> TypeGuard[Alloc]:
    return isinstance(stmt, Alloc)


def is_access(stmt) -> TypeGuard[Load | Store]:
    """Whether a statement reads or writes one element."""
    return isinstance(stmt, (Load, Store))


def is_load(stmt) -> TypeGuard[Load]:
    return isinstance(stmt, Load)


def is_store(stmt) -> TypeGuard[Store]:
    return isinstance(stmt, Store)


def is_addition(stmt) -> TypeGuard[Store]:
    """Whether a statement adds to an element."""
    return isinstance(stmt, Store) and bool(stmt.accumulate)


def adds_freely(stmt) -> TypeGuard[Store]:
    """Whether a statement adds to an element, in any order."""
    return isinstance(stmt, Store) and stmt.any_order


def is_assignment(stmt) -> TypeGuard[Store]:
    """Whether a statement gives an element a value."""
    return isinstance(stmt, Store) and not stmt.accumulate


def is_simple(stmt) -> TypeGuard[Let | Load | Store | Comment]:
    """Whether a statement does no more than to compute a scalar, or to read or write one element."""
    return isinstance(stmt, (Let, Load, Store, Comment))


def is_ordinary(stmt) -> bool:
    """Whether a statement, but for those inside it, computes, reads, writes or makes memory, and no more."""
    return isinstance(stmt, (Let, Load, Store, For, If, Alloc, Comment))


# -- some of several ------------------------------------------------------------------------------------------
def operations(statements: Iterable, wanted: Callable[[Let], bool] = lambda s: True) -> dict[Var, Let]:
    """The scalar operations among statements, or those that are wanted, by what they compute."""
    return {s.var: s for s in statements if isinstance(s, Let) and wanted(s)}


def scalars(statements: Iterable) -> dict[Var, Let | Load]:
    """Those of statements that compute or read one scalar, by it."""
    return {s.var: s for s in statements if isinstance(s, (Let, Load))}


def loads(statements: Iterable) -> list[Load]:
    """Those of statements that read an element."""
    return [s for s in statements if isinstance(s, Load)]


def stores(statements: Iterable) -> list[Store]:
    """Those of statements that write an element."""
    return [s for s in statements if isinstance(s, Store)]


def accesses(statements: Iterable, array: Arr) -> list[Load | Store]:
    """Those of statements that read or write an element of an array."""
    return [s for s in statements if isinstance(s, (Load, Store)) and s.array is array]


def touching(block, array: Arr) -> list:
    """The statements of a block, and of those inside, that read, write or pass on an array."""
    return [s for s in walk(block) if any(array_of(x) is array for x in (*operands(s), *results(s)))]


def only_added_freely(block, array: Arr) -> bool:
    """Whether a block does nothing with an array but add to its elements in any order."""
    return all(map(adds_freely, touching(block, array)))


def allocations(statements: Iterable) -> dict[Arr, Alloc]:
    """Those of statements that allocate, by the buffer."""
    return {s.array: s for s in statements if isinstance(s, Alloc)}


# -- a block --------------------------------------------------------------------------------------------------
def acting(block) -> list:
    """The statements of a block without its comments."""
    return [s for s in block if not isinstance(s, Comment)]


def sole(block):
    """The statement that is all there is in a block; None if there is another."""
    inside = acting(block)
    return inside[0] if len(inside) == 1 else None


def allocated_in(block) -> set[Arr]:
    """The buffers that a block allocates, and the blocks inside it."""
    return set(allocations(walk(block)))


def loaded_in(block) -> set[Arr]:
    """The buffers of which a block, or one inside it, reads elements."""
    return {s.array for s in walk(block) if isinstance(s, Load)}


def stored_in(block) -> set[Arr]:
    """The buffers of which a block, or one inside it, writes elements."""
    return {s.array for s in walk(block) if isinstance(s, Store)}


def calls_in(block) -> list[Call]:
    """The library calls of a block and of the blocks inside it."""
    return [s for s in walk(block) if isinstance(s, Call)]


def checks_in(block) -> list[Guard]:
    """The checks of a block and of the blocks inside it."""
    return [s for s in walk(block) if isinstance(s, Guard)]


def merges_in(block) -> dict[Var, Merge]:
    """What the branches of a block and of the blocks inside it merge, by the result."""
    return {m.var: m for s in walk(block) if isinstance(s, If) for m in s.merges}
