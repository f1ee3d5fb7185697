"""Arrays that change places at the end of a loop's body, as two do in `u, v = v, u`: nothing is copied."""

from __future__ import annotations

from ...language.core import Swap
from ...language.errors import TypeConflict
from ...language.ops import promote
from ..arrays.aliases import memory_of, one_for_two, with_twins
from ..arrays.broadcasting import may_differ, require_same, unequal
from ..arrays.memory import before_write
from ..arrays.writing import check_writable
from ..containers.list_operators import widen
from ..functions.names import ITERATED, bind_name, binding
from ..numbers.integers import same_dtype
from ..state import Lowering
from ..values import Array, Buffer, leaves


def permuted(swapped) -> list[list]:
    """Names in groups, in each of which arrays may change places among themselves."""
    groups: list[list] = []
    for one in swapped:
        mine = [g for g in groups if any(one[2] is head or one[1] is end for _, head, end in g)]
        groups = [g for g in groups if g not in mine] + [[*(x for g in mine for x in g), one]]
    return groups


def are_swapped(lo: Lowering, plan, swapped, stmt) -> bool:
    """Whether arrays that are bound to other names can be swapped; if not, the plan says what to do when the loop is lowered
    again."""
    heads = [h for _, h, _ in swapped]
    ends = [e for _, _, e in swapped]
    by_identity = {id(h) for h in heads} == {id(e) for e in ends} and len({id(h) for h in heads}) == len(heads)
    whole = all(binding(lo, key[0]) is end for key, _, end in swapped)         # not inside a dict or list
    if by_identity and whole and all(plan.array.get(key) != "copy" for key, _, _ in swapped):
        if not all(isinstance(h, Buffer) for h in heads):
            shared = set().union(*(memory_of(lo, h) for h in heads if not isinstance(h, Buffer)))
            seen = seen_elsewhere(lo, shared, {key[0] for key, _, _ in swapped}, stmt) or one_for_two(lo, heads)
            for key, _, _ in swapped:
                plan.array[key] = "copy" if seen else "swap"
            return False
        one_dtype(lo, heads)
        alike = len({h.rank for h in heads}) == 1 and not any(
            may_differ(lo, p, q) for h in heads for p, q in zip(heads[0].shape, h.shape, strict=True))
        if alike and not seen_elsewhere(lo, {h.arr for h in heads}, {key[0] for key, _, _ in swapped}, stmt):
            return True
    for key, _, _ in swapped:
        plan.array[key] = "copy"
    return False


def swap(lo: Lowering, swapped) -> None:
    heads = [h for _, h, _ in swapped]
    for h in heads:
        before_write(lo, h.arr)
        check_writable(lo, h.arr)
    for h in heads[1:]:
        for p, q in zip(heads[0].shape, h.shape, strict=True):
            require_same(lo, p, q, "arrays that swap names must have one shape", tells=unequal(lo))
    lo.b.add(Swap(tuple(h.arr for h in heads), tuple(e.arr for _, _, e in swapped), lo.b.loc))
    for (name, _), h, _ in swapped:
        bind_name(lo, name, h)


def one_dtype(lo: Lowering, heads) -> None:
    """Arrays that change places have one dtype; lists can take the wider one from the start."""
    wide = promote(*(h.dtype for h in heads))
    for h in heads:
        if not same_dtype(h.dtype, wide) and h.is_list:
            widen(lo, h.arr, wide)
        if not same_dtype(h.dtype, wide):
            raise lo.error(TypeConflict, f"arrays of dtypes {h.dtype} and {wide} change places in the loop",
                           "create them with one dtype")


def seen_elsewhere(lo: Lowering, arrs, names, stmt) -> bool:
    arrs = with_twins(lo, arrs)
    for frame in lo.frames:
        for name, value in frame.env.items():
            if frame is lo.frame and (name in names or (name not in stmt.live_head and name not in stmt.live_out
                                                        and name != "%value" and not name.startswith(ITERATED))):
                continue
            if any(isinstance(leaf, Array) and leaf.roots() & arrs for leaf in leaves(value)):
                return True
    return False


__all__ = ["are_swapped", "permuted", "swap"]
