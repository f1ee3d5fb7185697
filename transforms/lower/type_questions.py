"""NumPy's questions about types, whose answers are known before the program runs."""

from __future__ import annotations

import numpy as np

from ..language.errors import TypeConflict
from .checks import refused_by_python
from .conversions import is_weak
from .expressions import array_attribute
from .purity import call_now
from .state import Lowering
from .structures import describe
from .table import lowers
from .values import (
    Array,
    GrowList,
    Mapping,
    Range,
    Record,
    Scalar,
    Sequence,
    Series,
    Static,
    Table,
    Value,
    is_number,
    known_as,
)

ITERABLE = (Sequence, Mapping, GrowList, Series, Table, Range)


def dtype_or_number(lo: Lowering, value: Value):
    """What NumPy's promotion sees of a value: the dtype of an array or NumPy number, one of Python's numbers, a type."""
    if isinstance(value, Array) and not value.is_list or isinstance(value, Scalar) and not is_weak(lo, value):
        return known_as(Static, array_attribute(lo, lo.array(value), "dtype")).value
    if isinstance(value, Scalar):
        return {"bool": True, "int64": 1, "float64": 1.0}.get(value.dtype, 1j)
    if isinstance(value, Static):
        return value.value
    raise lo.error(TypeConflict, f"a dtype, an array or a number is needed here, not {describe(value)}")


@lowers(np.result_type)
def lower_result_type(lo, *values):
    return call_now(lo, np.result_type, [Static(dtype_or_number(lo, v)) for v in values], {})


@lowers(np.common_type)
def lower_common_type(lo, *arrays):
    samples = [np.empty(0, dtype_or_number(lo, lo.array(a))) for a in arrays]
    try:
        return Static(np.common_type(*samples))
    except TypeError as e:
        raise refused_by_python(lo, e) from None


@lowers(np.issubdtype)
def lower_issubdtype(lo, arg1, arg2):
    if not (isinstance(arg1, Static) and isinstance(arg2, Static)):
        raise lo.error(TypeConflict, "np.issubdtype needs two types", "give the dtype of an array: a.dtype")
    try:
        return Static(np.issubdtype(arg1.value, arg2.value))
    except TypeError as e:
        raise refused_by_python(lo, e) from None


@lowers(np.isscalar)
def lower_isscalar(lo, element):
    if isinstance(element, Static):
        return Static(np.isscalar(element.value))
    return Static(isinstance(element, Scalar) and not element.boxed)


@lowers(np.iterable)
def lower_iterable(lo, y):
    if isinstance(y, Static):
        return Static(np.iterable(y.value))
    if isinstance(y, Array):
        return Static(y.is_list or y.rank > 0)
    if isinstance(y, Record):
        return Static(hasattr(y.cls, "__iter__") or hasattr(y.cls, "__getitem__"))
    return Static(not is_number(y) and isinstance(y, ITERABLE))
