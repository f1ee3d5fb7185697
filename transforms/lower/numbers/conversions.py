"""Kinds of numbers: their dtypes, casts between them, and what is known of them now."""

from __future__ import annotations

from functools import partial

import numpy as np

from ...language.build import integer
from ...language.core import Const, Var
from ...language.errors import TypeConflict, UnsupportedSyntax
from ...language.ops import COMPLEX, OPS, is_complex, normal_dtype, promote
from ...source.plain import SUPPORTED, misfit_dtype
from ..needs import NeedsStatic
from ..state import Lowering
from ..structures import describe
from ..values import Array, Range, Scalar, Static, Value, as_range, as_tuple, leaves
from .integers import same_dtype


def cast(lo: Lowering, atom, dtype: str):
    if same_dtype(atom.dtype, dtype):
        return atom
    return lo.b.let("cast", atom, dtype=dtype, hint=getattr(atom, "hint", "t"))


def is_weak(lo: Lowering, value: Value) -> bool:
    return isinstance(value, Static) or (isinstance(value, Scalar) and value.weak)


def dtype_of(lo: Lowering, value: Value) -> str:
    if isinstance(value, Static):
        return "bool" if isinstance(value.value, bool) else "int64" if isinstance(value.value, int) else (
            "complex128" if isinstance(value.value, complex) else "float64")
    if isinstance(value, (Array, Scalar)):
        return value.dtype
    if as_tuple(value) is not value or isinstance(as_range(value), Range):
        return lo.array(value).dtype
    raise lo.error(TypeConflict, f"a number or an array is needed here, not {describe(value)}")


def common_dtype(lo: Lowering, values) -> str:
    """NumPy 2's promotion: Python numbers are weak beside arrays and NumPy scalars."""
    strong = [dtype_of(lo, v) for v in values if not is_weak(lo, v)]
    weak = [dtype_of(lo, v) for v in values if is_weak(lo, v)]
    if not strong:
        return promote(*weak)
    dtype = promote(*strong)
    for w in weak:
        if w == "float64" and dtype in ("int64", "bool"):
            dtype = "float64"
        elif w == "int64" and dtype == "bool":
            dtype = "int64"
        elif is_complex(w) and not is_complex(dtype):
            dtype = COMPLEX.get(dtype, w)
    return dtype


def truth(lo: Lowering, atom):
    if atom.dtype == "bool":
        return atom
    zero = integer(0) if atom.dtype == "int64" else Const(0.0, atom.dtype)
    return lo.b.compare("ne", atom, zero)


def as_value(lo: Lowering, atom) -> Value:
    return Static(atom.value) if isinstance(atom, Const) else Scalar(atom, True)


def dtype_argument(lo: Lowering, value, default=None):
    """A `dtype=` argument as a core dtype."""
    if value is None or (isinstance(value, Static) and value.value is None):
        return default
    if not isinstance(value, Static):
        raise lo.error(TypeConflict, "dtype must be known before the program runs")
    try:
        dtype = np.dtype(value.value)
    except TypeError as e:
        raise lo.error(TypeConflict, f"{value.value!r} is not a dtype: {e}", SUPPORTED) from None
    if (found := misfit_dtype(dtype)) is not None:
        raise lo.error(TypeConflict, *found)
    return normal_dtype(dtype)


def static_int(lo: Lowering, value: Value, what: str):
    if isinstance(value, Static) and (value.value is None or isinstance(value.value, (int, np.integer))):
        return value.value
    if isinstance(value, Scalar) and isinstance(value.atom, Const):
        return int(value.atom.value)
    if isinstance(value, Scalar):
        raise needs_static(lo, value, what)
    raise lo.error(TypeConflict, f"{what} must be an integer, not {describe(value)}")


def parameter_behind(lo: Lowering, value):
    """The name of an integer parameter that a value, or an item of it, depends on, to be made static; None if there is
    none."""
    waiting, seen = [leaf.atom for leaf in leaves(value) if isinstance(leaf, Scalar)], set()
    while waiting:
        atom = waiting.pop()
        if not isinstance(atom, Var) or atom in seen:
            continue
        seen.add(atom)
        if atom in lo.parameter_leaves and atom.dtype == "int64":
            return lo.origin[atom]
        waiting.extend(lo.b.facts.definition.get(atom, ("", ()))[1])
    return None


def needs_static(lo: Lowering, value, what):
    return NeedsStatic(lo.error(TypeConflict, f"{what} must be known before the program runs",
                                "use an array, or a loop over a literal range"), value)


def of_truths(lo: Lowering, name: str, values) -> tuple:
    """Operands and dtype of an operation on truths alone: Python's own are the integers 0 and 1, NumPy's are not."""
    as_numbers = OPS[name].kind in ("same", "float") and name not in ("maximum", "minimum") or name == "invert"
    if as_numbers and any(v.mixed for v in values):
        raise lo.error(UnsupportedSyntax, "a truth that is Python's own on one path and NumPy's on another differs "
                       "in arithmetic", "convert it: bool(...) or int(...)")
    if not all(map(partial(is_weak, lo), values)):
        if name in ("sub", "neg", "pos", "sign"):
            shown = {"sub": "-", "neg": "-", "pos": "+", "sign": "np.sign"}[name]
            raise lo.error(TypeConflict, f"NumPy's booleans have no `{shown}`",
                           "use `^` or `~`, or convert them: int(...)")
        return values, "bool"
    if as_numbers:
        return tuple(Scalar(lo.atom(v, "int64"), True) for v in values), "int64"
    return values, "bool"


def truth_value(lo: Lowering, cond) -> Value:
    """A condition as a value of Python's own bool."""
    return Static(cond.value) if isinstance(cond, Const) else Scalar(cond, True)


def itemise(lo: Lowering, series: Value):
    """The error for what cannot be done with a list without knowing its items."""
    return lo.error(UnsupportedSyntax, f"this is not supported of {series.told}", "use an array: np.array(...)")
