"""Elements by what they are: `np.where`, `np.nonzero`, numbers kept within bounds."""

from __future__ import annotations

import numpy as np

from ...language.errors import ShapeMismatch
from ..arrays.arrays import choose_elements
from ..arrays.broadcasting import convert
from ..arrays.fancy import nonzero
from ..arrays.memory import give_memory
from ..arrays.points import fresh, numpys_number
from ..arrays.writing import assign
from ..numbers.conversions import common_dtype, dtype_of
from ..numbers.integer_operations import check_fitting, narrow_choice
from ..table import lowers
from ..values import Array, Scalar, Sequence, Static, is_number
from .reductions import absent, into
from .shaping import lower_ravel


@lowers(np.where)
def lower_where(lo, cond, x=None, y=None):
    if (x is None) != (y is None):
        raise lo.error(ShapeMismatch, "either both or neither of x and y should be given")
    if x is None:
        mask = lo.array(cond)
        return Sequence(tuple(nonzero(lo, lo.array(convert(lo, mask, "bool")) if mask.dtype != "bool" else mask)))
    if dtype := narrow_choice(lo, (x, y)):
        check_fitting(lo, (x, y), dtype)
    made = choose_elements(lo, cond, x, y)
    return numpys_number(lo, made) if isinstance(made, Scalar) else made


@lowers(np.nonzero)
def lower_nonzero(lo, x):
    if is_number(x) or isinstance(x, Array) and not x.rank:
        raise lo.error(ShapeMismatch, "Calling nonzero on 0d arrays is not allowed",
                       "write np.atleast_1d(x).nonzero()")
    return lower_where(lo, x)


@lowers(np.flatnonzero)
def lower_flatnonzero(lo, x):
    return lower_where(lo, lower_ravel(lo, x)).items[0]


@lowers(np.clip)
def lower_clip(lo, x, a_min=None, a_max=None, out=None, min=None, max=None):
    low = min if absent(a_min) else a_min
    high = max if absent(a_max) else a_max
    if absent(low) and absent(high):
        result = lo.elementwise("pos", x)
    elif absent(low):
        result = lo.elementwise("minimum", x, high)
    elif absent(high):
        result = lo.elementwise("maximum", x, low)
    elif common_dtype(lo, (x, low, high)) == "int64":
        result = lo.elementwise("minimum", lo.elementwise("maximum", x, low), high)
    else:
        result = lo.elementwise("clip", x, low, high)
    return into(lo, out, result)


@lowers(np.nan_to_num)
def lower_nan_to_num(lo, x, copy=None, nan=Static(0.0), posinf=None, neginf=None):
    kept = isinstance(copy, Static) and not copy.value
    if dtype_of(lo, x) in ("int64", "bool"):
        return Scalar(lo.atom(x)) if is_number(x) else x if kept and isinstance(x, Array) else fresh(lo, lo.array(x))
    if isinstance(x, Array) and kept:
        give_memory(lo, x)
        assign(lo, x, without_nan(lo, x, nan, posinf, neginf))
        return x
    return without_nan(lo, x, nan, posinf, neginf)


def without_nan(lo, x, nan, posinf, neginf):
    big = Static(float(np.finfo(dtype_of(lo, x)).max))
    small = Static(-big.value)
    bad = lo.elementwise("isnan", x)
    high = lo.elementwise("eq", x, Static(float("inf")))
    low = lo.elementwise("eq", x, Static(float("-inf")))
    inner = choose_elements(lo, low, small if absent(neginf) else neginf, x)
    return choose_elements(lo, bad, nan, choose_elements(lo, high, big if absent(posinf) else posinf, inner))
