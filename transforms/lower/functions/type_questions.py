"""Questions about types, functions and classes, whose answers are known before the program runs."""

from __future__ import annotations

import functools
import inspect

import numpy as np

from ...language.errors import TypeConflict, UnsupportedSyntax
from ...source.definitions import in_class, plain_function
from ..checks import refused_by_python
from ..numbers.conversions import is_weak
from ..state import Lowering
from ..structures import describe
from ..syntax.expressions import array_attribute
from ..syntax.texts import Text
from ..table import lowers
from ..values import Applied, Array, Closure, Scalar, Static, Value, is_number, known_as
from .classes import by_path, class_in_python, classes_of, unknown
from .outside import code_of, defaults_of
from .places import Place
from .purity import call_now


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
    if isinstance(element, (Static, Text)):
        return Static(isinstance(element, Text) or np.isscalar(element.value))
    if not isinstance(element, Scalar):
        return Static(isinstance(element, Array) and class_in_python(lo, element) is None)
    classes = classes_of(lo, element)
    if np.ndarray in classes and len(classes) > 1:
        raise by_path(lo, "whether this is a number or an array of rank 0", classes)
    return Static(np.ndarray not in classes)


@lowers(np.iterable)
def lower_iterable(lo, y):
    if isinstance(y, Static):
        return Static(np.iterable(y.value))
    if isinstance(y, Array) or is_number(y):
        return Static(isinstance(y, Array) and (y.is_list or y.rank > 0))
    kind = class_in_python(lo, y)
    if kind is None and not hasattr(y, "once"):
        raise unknown(lo, y)
    return Static(kind is None or in_class(kind, "__iter__") or in_class(kind, "__getitem__"))


# -- what functions and classes are -------------------------------------------------------------------------
INSPECTED = (inspect.signature, inspect.getfullargspec, inspect.unwrap, inspect.isfunction, inspect.ismethod,
             inspect.isclass, inspect.isbuiltin, inspect.isroutine, inspect.iscoroutinefunction, inspect.isgeneratorfunction)


def inspected(target, lo: Lowering, x, **options) -> Value:
    """What a function of `inspect` says of a function or class that is known now, whose code and defaults must stay."""
    if isinstance(x, (Closure, Applied)) or not all(isinstance(v, Static) for v in options.values()):
        raise lo.error(UnsupportedSyntax, f"`inspect.{target.__name__}` of an inner function is not supported",
                       "define it at module level")
    if not isinstance(x, Static):
        return call_now(lo, callable, [Static(None)], {})           # False: no function, no class
    inner = plain_function(x.value)
    while hasattr(inner, "__code__"):
        code_of(lo, inner)
        defaults_of(lo, inner)
        if not hasattr(inner, "__wrapped__"):
            break
        lo.reads.need(Place.of(inner).attribute("__wrapped__"), "is", inner.__wrapped__)
        inner = plain_function(inner.__wrapped__)
    try:
        found = target(x.value, **{k: v.value for k, v in options.items()})
    except (TypeError, ValueError) as e:
        raise refused_by_python(lo, e) from None
    return lo.wrap(found)


for _function in INSPECTED:
    lowers(_function)(functools.partial(inspected, _function))
