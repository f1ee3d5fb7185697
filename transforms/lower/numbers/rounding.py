"""`round` of Python's numbers, to the nearest decimal fraction, and NumPy's, by a product and a quotient."""

from __future__ import annotations

import math

import numpy as np

from ...language.errors import TypeConflict, UnsupportedSyntax, WrongKind
from ..arrays.broadcasting import convert
from ..arrays.points import fresh
from ..containers.list_operators import kind_of
from ..functions.classes import by_path, classes_of
from ..functions.outside import special
from ..numpy_functions.reductions import into
from ..state import Lowering
from ..table import lowers
from ..values import Array, Scalar, Static, Value, is_number
from .conversions import dtype_of, is_weak, static_int
from .integer_operations import float_of, whole_number
from .kinds_on_paths import ONE_KIND, like_kind, own_on_paths

MOST = 22                               # 10 ** 22 is the last power of ten that a float64 holds


@lowers(round)
def lower_python_round(lo: Lowering, x: Value, ndigits: Value = Static(None)) -> Value:
    whole = isinstance(ndigits, Static) and ndigits.value is None
    if (made := special(lo, x, "__round__", *([] if whole else [ndigits]))) is not None:
        return made
    if isinstance(x, Static) and isinstance(ndigits, Static):
        return Static(round(x.value, ndigits.value))
    if isinstance(x, Array) and x.rank:
        kind = kind_of(x)
        raise lo.error(WrongKind, f"type {kind.__name__ if kind else 'numpy.ndarray'} doesn't define __round__ method",
                       "write np.round(x)")
    if not isinstance(x, Scalar):
        return lower_round(lo, x, ndigits)
    classes = classes_of(lo, x)
    if not all(hasattr(kind, "__round__") for kind in classes):
        if len(classes) > 1:
            raise by_path(lo, "whether this number can be rounded", classes)
        name = classes[0].__name__ if classes[0] is complex else f"numpy.{classes[0].__name__}"
        raise lo.error(WrongKind, f"type {name} doesn't define __round__ method", "write np.round(x)")
    if whole:
        return whole_number(lo, lo.atom(x) if x.dtype in ("int64", "bool") else lo.operate("rint", (lo.atom(x),), x.dtype))
    return of_pythons_number(lo, x, static_int(lo, ndigits, "ndigits"))


def of_pythons_number(lo: Lowering, x: Scalar, d: int) -> Value:
    possible, certain = own_on_paths(lo, x)
    if not possible or d >= 0 and x.dtype in ("int64", "bool"):
        return lower_round(lo, x, Static(d))
    if not certain:
        raise lo.error(TypeConflict, "this number is NumPy's own on one path and Python's on another, which are rounded to "
                       "decimals in different ways", ONE_KIND)
    if not -MOST <= d <= MOST or d < -18 and x.dtype == "int64":
        raise lo.error(UnsupportedSyntax, f"round(x, {d}) is not supported: 10 ** {abs(d)} is no float64",
                       f"round to at most {MOST} digits")
    if x.dtype in ("int64", "bool"):
        return lo.call_python(whole_tens, [x, Static(10 ** -d)], {})
    rounded_by = to_decimals if d >= 0 else to_tens
    return lo.call_python(rounded_by, [x, Static(10.0 ** abs(d))], {})


@lowers(np.round, np.around)
def lower_round(lo: Lowering, x: Value, decimals: Value = Static(0), out=None) -> Value:
    made = rounded(lo, x, static_int(lo, decimals, "decimals") or 0)
    return into(lo, out, like_kind(lo, made, x))


def rounded(lo: Lowering, x: Value, d: int) -> Value:
    """A number or an array rounded to `d` decimals, as NumPy does."""
    dtype = dtype_of(lo, x)
    if dtype == "bool":
        float_of(lo, "rint", "bool")
    if isinstance(x, Static):
        return lo.wrap(np.round(x.value, d))
    if dtype == "int64" and d >= 0:
        return fresh(lo, x)
    if d == 0:
        return lo.elementwise("rint", x)
    if dtype == "int64":                    # to tens, hundreds, ...: by way of floats
        scale = Static(10.0 ** -d)
        tens = lo.elementwise("rint", lo.elementwise("div", convert(lo, x, "float64"), scale))
        made = convert(lo, convert(lo, lo.elementwise("mul", tens, scale), "int64"), dtype)
        return Scalar(lo.atom(made), is_weak(lo, x)) if is_number(x) else made
    scale = Static(10.0 ** d)
    return lo.elementwise("div", lo.elementwise("rint", lo.elementwise("mul", x, scale)), scale)


# ---- Python's own: the float64 next to the decimal fraction that is next to the number, ties to even -----------------
def to_decimals(x, scale):
    """`scale` is a power of ten up to 1e22. The error of the product decides ties (Dekker, Numer. Math. 18, 1971)."""
    y = x * scale
    if not abs(y) < 9007199254740992.0:                     # its digits are coarser than that; nan and infinity
        return x
    below = math.floor(y) * 1.0
    part = y - below
    up = part > 0.5
    if part == 0.5:
        split = 134217729.0 * x
        high = split - (split - x)
        split = 134217729.0 * scale
        wide = split - (split - scale)
        low, narrow = x - high, scale - wide
        error = ((high * wide - y) + high * narrow + low * wide) + low * narrow
        up = error > 0.0 or error == 0.0 and below % 2.0 == 1.0
    return math.copysign((below + 1.0 if up else below) / scale, x)


def to_tens(x, tens):
    """`tens` is a power of ten up to 1e22: the remainder and what is left of it are exact."""
    size = abs(x)
    if not size < math.inf:
        return x
    rest = math.fmod(size, tens)
    below, half = size - rest, 0.5 * tens
    up = rest > half or rest == half and math.fmod(below / tens, 2.0) == 1.0
    return math.copysign(below + tens if up else below, x)


def whole_tens(n, tens):
    count = n // tens
    rest = n - count * tens
    return (count + (rest > tens - rest or rest == tens - rest and count % 2 == 1)) * tens
