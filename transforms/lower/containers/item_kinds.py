"""Whether the numbers of a list of run-time length are Python's own or NumPy's, integers or floats: of that memory keeps
nothing. What is put in a list is noted as long as all of it is known; else its items may be of either kind."""

from __future__ import annotations

from functools import partial

from ...language.core import Arr
from ...language.ops import Narrow, exact
from ..loops.plan import Widen
from ..numbers.conversions import dtype_of
from ..numbers.kinds_on_paths import kinds_of, may_be_integers
from ..state import Lowering
from ..values import Array, Buffer, GrowList, Scalar, Value, is_number

EITHER = ("int64", "float64", "complex128")         # dtypes that Python's own numbers have, too


def note_made(lo: Lowering, arr: Arr, items) -> None:
    """A list's memory, whose place in the source is known, is made with these numbers in it."""
    lo.item_kinds[arr] = later(lo, arr).union(*map(partial(kinds_of, lo), items))


def note_all(lo: Lowering, made: Buffer, own: bool) -> None:
    """A list is made of numbers that are all NumPy's, or all Python's own."""
    whole = {("int64", own)} if may_be_integers(lo, made) else set()
    lo.item_kinds[made.arr] = later(lo, made.arr) | {(exact(made.dtype), own)} | whole


def note_copied(lo: Lowering, made: Buffer, owner: Value) -> None:
    """A list is made of the items of another one, or of some of them."""
    memory = memory_of_list(owner)
    if memory is not None and memory in lo.item_kinds:
        lo.item_kinds[made.arr] = later(lo, made.arr) | lo.item_kinds[memory]
        lo.kinds_read.add(memory)


def later(lo: Lowering, arr: Arr) -> frozenset:
    """What is put in a list after its items are read, as was found when the program was lowered before."""
    return lo.widened.get(("kinds", lo.list_places[arr]), frozenset())


def note_written(lo: Lowering, arr: Arr, item: Value) -> None:
    """A number, or those of an array, are put in a list: where its items were read before, the program is lowered again."""
    known = lo.item_kinds.get(arr)
    if known is None:
        return
    kinds = known | (kinds_of(lo, item) if is_number(item) else {(exact(dtype_of(lo, item)), False)})
    lo.item_kinds[arr] = kinds
    if kinds != known and arr in lo.kinds_read:
        raise Widen(("kinds", lo.list_places[arr]), kinds)


def memory_of_list(owner: Value) -> Arr | None:
    """The memory that a list of run-time length lies in, if it is one array."""
    if isinstance(owner, GrowList):
        return owner.arr
    return next(iter(owner.roots()), None) if isinstance(owner, Array) else None


def listed_number(lo: Lowering, arr: Arr | None, atom, weak: bool) -> Scalar:
    """A number of a list. weak: whether it counts as Python's own where that is not known."""
    if atom.dtype == "bool":
        return Scalar(atom, weak and type(atom.dtype) is not Narrow, True)
    kinds = lo.item_kinds.get(arr) if arr is not None else None
    if arr is not None and kinds:
        lo.kinds_read.add(arr)
        as_held = {name for name, _ in kinds} == {exact(atom.dtype)}            # else the list holds integers as floats
        return Scalar(atom, all(own for _, own in kinds), False if as_held and len(kinds) == 1 else kinds)
    if type(atom.dtype) is Narrow or atom.dtype not in EITHER:
        return Scalar(atom)
    own = {("int64", True)} if atom.dtype == "float64" else set()           # which the list holds as floats
    return Scalar(atom, weak, frozenset({(exact(atom.dtype), True), (exact(atom.dtype), False), *own}))


__all__ = ["later", "listed_number", "memory_of_list", "note_all", "note_copied", "note_made", "note_written"]
