"""Lists known now that became rows of a list in memory, which has copies: a write to one would be lost to the other."""

from __future__ import annotations

from ...language.core import Arr
from ...language.errors import UnsupportedSyntax
from ..arrays.aliases import stood_for
from ..state import Lowering
from ..values import Array, Value
from .sharing import end_names, identity, is_object, may_be, objects, same_object, seen_as


def note_row(lo: Lowering, arr: Arr, value: Value, by_each: bool = False) -> None:
    """A value becomes a row of the list in `arr`. by_each: an expression that makes every row."""
    if not is_object(value) or not seen_as(lo, {identity(value)}):
        return
    before = [v for _, environments in lo.around.loops for env in environments for v in env.values()]
    if by_each or any(same_object(o, value) for v in before for o in objects(v)):
        lo.learnt.alike.add(arr)
    lo.learnt.rows[arr] = (*lo.learnt.rows.get(arr, ()), value)


def check_row_write(lo: Lowering, owner: Array, parts) -> None:
    """Before a part of a row is written, of the list in memory that `owner` is or is a part of."""
    arrs = stood_for(lo, owner.roots())
    if not arrs & lo.learnt.rows.keys() or len(parts) == 1 and any(owner.rank == len(arr.shape) for arr in owner.roots()):
        return                                          # the row is replaced
    if arrs & lo.learnt.alike:
        raise lo.error(UnsupportedSyntax, "a row of a list is changed, of which several rows may be one list",
                       "make each row anew: [list(row) for k in range(n)]")
    shared = {identity(row) for arr in arrs for row in lo.learnt.rows.get(arr, ())}
    end_names(lo, lambda value: any(may_be(o) & shared for o in objects(value)),
              "may be a row of a list that has changed since", "make each row anew: [list(row) for k in range(n)]")


__all__ = ["check_row_write", "note_row"]
