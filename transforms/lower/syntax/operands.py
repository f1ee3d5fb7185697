"""What has no operators, in Python or here: iterators, views, texts, ranges without an array."""

from __future__ import annotations

from ...language.errors import TypeConflict, UnsupportedSyntax, WrongKind
from ..containers.list_operators import by_numpy
from ..functions.places import in_library
from ..numbers.kinds_on_paths import may_be_integers
from ..state import Lowering
from ..structures import describe
from ..values import Array, Range, Record, Static, Value, as_range, is_iterator


def is_flat(lo: Lowering, value: Value) -> bool:
    """Whether a value is `x.flat` in a user's code, which has no arithmetic and few of the attributes of arrays."""
    return value.is_flat and not in_library(lo)


def no_operands(lo: Lowering, *values: Value) -> None:
    """Iterators, views of dicts and `x.flat` have no arithmetic, a range only with arrays and numbers of NumPy's."""
    for v in values:
        if is_iterator(v) and not in_library(lo) or is_flat(lo, v):
            known = hasattr(v, "viewed") or any(isinstance(other, Array) and not is_flat(lo, other) for other in values)
            told = "unsupported operand type(s): an iterator, a view of a dict, or `x.flat`"
            raise lo.error(UnsupportedSyntax if known else WrongKind, told, "make a list of it, or write x.ravel()")
        if isinstance(as_range(v), Range) and not in_library(lo) and not by_numpy(lo, *values) and not any(
                isinstance(other, Array) and not other.is_list for other in values):
            raise lo.error(WrongKind, "unsupported operand type(s): a range", "make an array of it: np.arange(...)")


def text_check(lo: Lowering, *values):
    for v in values:
        no_array = isinstance(v, Record) and not any(isinstance(other, Array) and not other.is_list for other in values)
        if no_array or isinstance(v, Static) and isinstance(v.value, (str, bytes, set, type(None))):
            raise lo.error(TypeConflict if any(may_be_integers(lo, other) for other in values)     # one may be an operand
                           else WrongKind, f"unsupported operand: {describe(v)}")
