"""Numbers, and arrays of them, that are of other kinds by the way the program goes."""

from __future__ import annotations

import numpy as np

from ...language.core import Arr, Const
from ...language.errors import TypeConflict
from ...language.ops import OPS, Narrow, exact
from ..checks import in_definition
from ..state import Lowering
from ..values import Array, Buffer, Delayed, Scalar, Value, View, is_number
from .conversions import dtype_of, is_weak
from .overflow import Integers

ONE_KIND = "make it one kind: 1.0 for 1, float(...), .astype(float)"


def kinds_of(lo: Lowering, value) -> frozenset:
    """(NumPy's dtype, whether it is Python's own) of a number, for each path."""
    if isinstance(value.mixed, frozenset):
        return value.mixed
    if isinstance(value, Array) and may_be_integers(lo, value):
        return frozenset((kind, False) for kind in ("int64", exact(value.dtype)))
    own = (True, False) if value.mixed else (is_weak(lo, value),)
    return frozenset((exact(dtype_of(lo, value)), weak) for weak in own)


def own_on_paths(lo: Lowering, *values) -> tuple[bool, bool]:
    """(whether numbers may all be Python's own by the way the program goes, whether they are on all ways)."""
    own = [{weak for _, weak in kinds_of(lo, v)} for v in values]
    return all(True in w for w in own), not any(False in w for w in own)


def unlike(a: Array, b: Array) -> str:
    """What is wrong with one array in the place of two of these: truths and numbers differ in arithmetic and as indices,
    and integers of unlike widths wrap in unlike ways. Integers beside floats are held as floats, and known."""
    one, other = (np.dtype(exact(v.dtype)) for v in (a, b))
    if one == other or not {one.kind, other.kind} <= set("biu") and "b" not in (one.kind, other.kind):
        return ""
    return "an array of truths or of numbers" if "b" in (one.kind, other.kind) else f"an array of {one} or of {other}"


def truths_by_path(items) -> bool:
    """Whether an array of these items has truths on one path and numbers on another."""
    kinds = [{kind for kind, _ in v.mixed} if isinstance(v.mixed, frozenset) else {v.dtype} for v in items]
    return all("bool" in k for k in kinds) and any(k != {"bool"} for k in kinds)


def may_be_integers(lo: Lowering, value) -> bool:
    """Whether what is held as floats is an integer for NumPy on some path: a number that is both, an array of such."""
    if isinstance(value, Array):
        if isinstance(value, Delayed):
            return value.integers_by_path
        if isinstance(value, View):
            return may_be_integers(lo, value.source)
        return bool(lo.integers_by_path) and not value.roots().isdisjoint(lo.integers_by_path)
    return is_number(value) and len({np.dtype(kind).kind in "iub" for kind, _ in kinds_of(lo, value)}) > 1


def in_floats(lo: Lowering, made: Array) -> Array:
    """A new array for which a dtype of floats was asked: whatever it is made from, it has no integers."""
    if isinstance(made, Delayed):
        made.integers_by_path = False
    elif isinstance(made, Buffer):
        lo.integers_by_path.discard(made.arr)
    return made


def like_kind(lo: Lowering, made: Value, source: Value) -> Value:
    """Numbers that are integers on the paths where those of `source` are."""
    if may_be_integers(lo, source):
        if isinstance(made, Scalar):
            made.mixed = kinds_of(lo, source)
        elif isinstance(made, Delayed):
            made.integers_by_path = True
    return made


def note_integers(lo: Lowering, arr: Arr, *sources: Array) -> None:
    """The memory takes what one of these arrays holds, by the way the program goes: integers as floats, if there are any."""
    if holds_integers(lo, arr, *sources):
        lo.integers_by_path.add(arr)


def holds_integers(lo: Lowering, arr: Arr, *sources: Array) -> bool:
    """The same, as a question. Of lists it is noted what is put in; what is written to them is not cut off."""
    return arr.dtype.startswith("float") and any(
        not v.is_list and (v.dtype in ("int64", "bool") or may_be_integers(lo, v)) for v in sources)


def item_of(lo: Lowering, atom, source: Array) -> Scalar:
    """A number of an array, or made of its numbers as they are: an integer on some path where theirs are."""
    kinds = frozenset((kind, False) for kind in ("int64", exact(atom.dtype)))
    return Scalar(atom, mixed=kinds if atom.dtype.startswith("float") and may_be_integers(lo, source) else False)


def may_wrap(lo: Lowering, atom) -> bool:
    """Whether an integer is made by arithmetic that wraps at 64 bits: NumPy's; Python's is checked."""
    op, _ = lo.b.facts.definition.get(atom, ("", ()))
    return op in ("add", "sub", "mul", "neg") and lo.python_integers.get(atom) is not Integers.OWN


def integers_or_floats(lo: Lowering, values) -> bool:
    """Whether what is made of these values has NumPy's integers on one path and floats on another."""
    return any(may_be_integers(lo, v) for v in values) and all(may_be_integers(lo, v) or dtype_of(lo, v) in (
        "int64", "bool") for v in values)


def one_kind_beside_integers(lo: Lowering, name: str, values) -> None:
    """Refuse what wraps, or is divided by 0, if it has NumPy's integers on one path and floats on another."""
    divisor = lo.atom(values[-1]) if name in ("floordiv", "mod") and is_number(values[-1]) else None
    if OPS[name].kind in ("compare", "bool", "logic") or not integers_or_floats(lo, values):
        return
    narrow = any(type(v.dtype) is Narrow for v in values if isinstance(v, Array))
    if not narrow and isinstance(divisor, Const) and divisor.value:
        return                                          # the same for both
    if any(isinstance(v, Array) for v in values) or any(
            np.dtype(kind).kind in "iu" and not own for v in values for kind, own in kinds_of(lo, v)):
        raise lo.error(TypeConflict, "this number is an integer on one path and a float on another, and "
                       f"`{OPS[name].text.format('x', 'y', 'z')}` of NumPy's integers differs from that of floats", ONE_KIND)


def check_written(lo: Lowering, roots, source) -> None:
    """What is cut off where the array that is written has integers, on one path, and kept where it has floats."""
    if not roots.isdisjoint(lo.integers_by_path) and np.dtype(exact(dtype_of(lo, source))).kind in "fc" and not (
            may_be_integers(lo, source) or in_definition(lo)):
        raise lo.error(TypeConflict, "this array has integers on one path and floats on another: floats that are written to "
                       "it are cut off on the one", ONE_KIND)
