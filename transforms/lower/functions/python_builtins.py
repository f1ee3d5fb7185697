"""Python's built-in functions and the small ones of math and numba."""

from __future__ import annotations

import collections
import functools
import math
import operator
import sys
from typing import Any

import numpy as np

from ...language.core import Const
from ...language.errors import NonDifferentiable, TypeConflict, UnsupportedSyntax, WrongKind
from ..arrays.broadcasting import as_array, convert, require_same
from ..containers.containers import dict_of, items_anew, items_of, key_of
from ..containers.list_operators import not_iterable
from ..containers.records import record_operator
from ..containers.series import items_dtype, series_numbers
from ..numbers.conversions import as_value, truth
from ..numbers.integer_operations import whole_number
from ..numpy_functions.reductions import into, is_true, reduce
from ..structures import describe
from ..syntax.expressions import array_attribute, set_of
from ..syntax.statements import print_values
from ..syntax.texts import Text
from ..table import lowers
from ..values import (
    Applied,
    Array,
    GrowList,
    Mapping,
    Range,
    Record,
    Scalar,
    Sequence,
    Series,
    Slice,
    Static,
    Table,
    Value,
    Vectorized,
    as_tuple,
    leaves,
)
from .outside import has_methods, special
from .places import in_library
from .purity import by_method, call_now, python_value

EMPTY = Sequence(())


@lowers(len)
def lower_len(lo, x):
    if hasattr(x, "once") and not in_library(lo):
        raise lo.error(WrongKind, "an iterator has no len()", "make a list of it: list(...)")
    if isinstance(x, Record) and (made := special(lo, x, "__len__")) is not None:
        return made
    x = as_tuple(x)
    match x:
        case Sequence(items=items) | Mapping(items=items):
            return Static(len(items))
        case GrowList(count=count):
            return as_value(lo, count)
        case Table() | Series():
            return as_value(lo, x.count)
        case Array() if x.rank:
            return as_value(lo, x.shape[0])
        case Static(value=v):
            made = by_method(lo, "__len__", x)
            if made is None and isinstance(getattr(v, "__dict__", None), dict) and not isinstance(v, type):
                raise lo.error(UnsupportedSyntax, f"the length of a {type(v).__name__}, which may change, is not supported",
                               "take the length of an array of it")
            return Static(len(v)) if made is None else made
        case Range():
            return as_value(lo, lo.iterate(x).length)
    if isinstance(x, Text):
        raise lo.error(TypeConflict, "the length of a text with numbers of the run in it is known only when it runs",
                       "compute it from the numbers")
    raise lo.error(WrongKind, f"object of type {describe(x)} has no len()")


@lowers(float)
def lower_float(lo, x=Static(0.0)):
    if isinstance(x, Static):
        made = by_method(lo, "__float__", x)
        return call_now(lo, float, [x], {}) if made is None else made
    if (made := special(lo, x, "__float__")) is not None:
        x = made
    return Scalar(lo.atom(x, "float64"), True)


@lowers(int)
def lower_int(lo, x=Static(0)):
    if isinstance(x, Static):
        made = by_method(lo, "__int__", x)
        return call_now(lo, int, [x], {}) if made is None else made
    if (made := special(lo, x, "__int__")) is not None:
        return made
    return whole_number(lo, lo.atom(x))


@lowers(bool)
def lower_bool(lo, x=Static(False)):
    cond = lo.condition(x)
    return Static(cond.value) if isinstance(cond, Const) else Scalar(cond, True)


@lowers(set)
def lower_set(lo, x=EMPTY):
    return set_of(lo, items_of(lo, x), lo.node)


@lowers(frozenset)
def lower_frozenset(lo, x=EMPTY):
    return Static(frozenset(set_of(lo, items_of(lo, x), lo.node).value))


@lowers(tuple)
def lower_tuple(lo, x=EMPTY):
    return items_anew(lo, x, tuple)


@lowers(list)
def lower_list(lo, x=EMPTY):
    return items_anew(lo, x, list)


@lowers(collections.namedtuple)
def lower_namedtuple(lo, *args, **kwargs):
    if not all(isinstance(leaf, Static) for v in (*args, *kwargs.values()) for leaf in leaves(v)):
        raise lo.error(TypeConflict, "namedtuple() needs names known before the program runs")
    make: Any = collections.namedtuple
    made = make(*map(python_value, args), **{k: python_value(v) for k, v in kwargs.items()})
    made.__module__ = lo.frame.root.globals.get("__name__", "")
    return Static(made)


@lowers(dict)
def lower_dict(lo, x=None, /, **kwargs):
    return Mapping({**(dict_of(lo, x) if x is not None else {}), **kwargs})


@lowers(dict.fromkeys)
def lower_fromkeys(lo, iterable, value=Static(None)):
    return Mapping({key_of(lo, key): value for key in items_of(lo, iterable)})


@lowers(collections.OrderedDict)
def lower_ordered_dict(lo, x=None, /, **kwargs):
    return Mapping(lower_dict(lo, x, **kwargs).items, collections.OrderedDict)


@lowers(print)
def lower_print(lo, *args, sep=Static(None), end=Static(None), file=Static(None), flush=None):
    if not (isinstance(file, Static) and (file.value is None or file.value is sys.stdout)):
        raise lo.error(UnsupportedSyntax, "print() to a file= of its own is not supported",
                       "print to the standard output, or write to the file what the function returns")
    texts = []
    for name, v, usual in (("sep", sep, " "), ("end", end, "\n")):
        if not (isinstance(v, Static) and (v.value is None or isinstance(v.value, str))):
            raise lo.error(UnsupportedSyntax, f"{name}= of print() is no text that is known before the program runs",
                           "write a text, or print it as an argument")
        texts.append(usual if v.value is None else v.value)
    print_values(lo, args, *texts)
    return Static(None)


@lowers(divmod)
def lower_divmod(lo, a, b):
    if has_methods(a) or has_methods(b):
        made = record_operator(lo, "divmod", a, b)
        if made is not None:
            return made
    return Sequence((lo.binary(operator.floordiv, a, b), lo.binary(operator.mod, a, b)))


@lowers(pow)
def lower_pow(lo, a, b, mod=Static(None)):
    if not (isinstance(mod, Static) and mod.value is None):
        if all(isinstance(v, Static) for v in (a, b, mod)):
            return Static(pow(a.value, b.value, mod.value))
        raise lo.error(UnsupportedSyntax, "pow() with a modulus needs numbers known before the program runs")
    return lo.binary(operator.pow, a, b)


def truths(lo, x: Value) -> Value:
    """The items that Python's `any` and `all` ask for their truth."""
    if isinstance(x, (Sequence, Mapping)):
        return Sequence(items_of(lo, x))
    if isinstance(x, Table):
        raise lo.error(UnsupportedSyntax, "any() and all() of tuples are not supported", "write a loop")
    made = series_numbers(lo, x) if isinstance(x, Series) else as_array(lo, x)
    if not made.rank:
        raise not_iterable(lo, x)
    if made.rank > 1:
        raise lo.error(NonDifferentiable, "the truth value of an array with more than one element is ambiguous",
                       "use np.any or np.all")
    return made


@lowers(any)
def lower_python_any(lo, x):
    return of_class(bool, logical(lo, truths(lo, x), None, None, "or"))


@lowers(all)
def lower_python_all(lo, x):
    return of_class(bool, logical(lo, truths(lo, x), None, None, "and"))


@lowers(np.any)
def lower_any(lo, x, axis=None, keepdims=None, out=None):
    return into(lo, out, of_class(np.bool_, logical(lo, x, axis, keepdims, "or")), "unsafe")


@lowers(np.all)
def lower_all(lo, x, axis=None, keepdims=None, out=None):
    return into(lo, out, of_class(np.bool_, logical(lo, x, axis, keepdims, "and")), "unsafe")


def of_class(kind, value: Value) -> Value:
    """A truth value as Python's own, or as NumPy's."""
    if isinstance(value, Static):
        return value if kind is bool else Scalar(Const(value.value, "bool"))
    return Scalar(value.atom, kind is bool) if isinstance(value, Scalar) else value


def logical(lo, x, axis, keepdims, op):
    if isinstance(x, Sequence):
        cond = Const(op == "and", "bool")
        for item in x.items:
            cond = lo.b.let(op, cond, lo.condition(item), dtype="bool")
        return Static(cond.value) if isinstance(cond, Const) else Scalar(cond, True)
    a = as_array(lo, x)
    return reduce(lo, a, axis, keepdims, Const(op == "and", "bool"), "bool",
                  lambda lo, acc, v: lo.b.let(op, acc, truth(lo, v), dtype="bool"), hint=op)


@lowers(functools.partial)
def lower_partial(lo, function, /, *args, **kwargs):
    return Applied(function, args, kwargs)


@lowers(functools.wraps)
def lower_wraps(lo, wrapped, *_):
    """What it writes to a function, its name and `__wrapped__`, is not read here."""
    return Static(unchanged)


def unchanged(function):
    return function


@lowers(np.vectorize)
def lower_vectorize(lo, pyfunc):
    return Vectorized(pyfunc)


@lowers(slice)
def lower_slice(lo, *parts):
    none = lambda p: None if isinstance(p, Static) and p.value is None else p  # noqa: E731
    start, stop, step = (None, *parts, None) if len(parts) == 1 else (*parts, None)[:3]
    return Slice(*(none(p) if p is not None else None for p in (start, stop, step)))


def _to_integer(op):
    def lower(lo, x):
        if isinstance(x, Static):
            return Static(int(getattr(math, op)(x.value)))
        return whole_number(lo, lo.operate(op, (lo.atom(x),), "float64"))
    return lower


for _name in ("floor", "ceil", "trunc"):
    lowers(getattr(math, _name))(_to_integer(_name))


@lowers(math.fsum)
def lower_fsum(lo, x):
    numbers = series_numbers(lo, x) if isinstance(x, Series) else as_array(lo, x)
    return Scalar(lo.atom(lo.call_static(np.sum, [convert(lo, numbers, "float64")], {})), True)


@lowers(math.prod)
def lower_math_prod(lo, x, start=Static(1)):
    product, x = start, as_tuple(x)
    if isinstance(x, Sequence):
        for item in items_of(lo, x):
            product = lo.binary(operator.mul, product, item)
        return product
    if isinstance(x, Array) and x.rank > 1:
        raise lo.error(UnsupportedSyntax, "math.prod of rows is not supported", "write np.prod(x, axis=0)")
    numbers = series_numbers(lo, x) if isinstance(x, Series) else as_array(lo, x)
    whole = lo.call_static(np.prod, [numbers], {"dtype": items_dtype(lo, numbers)})
    return lo.binary(operator.mul, start, Scalar(lo.atom(whole), True) if isinstance(x, Series) else whole)


@lowers(math.hypot)
def lower_hypot(lo, *coordinates):
    if all(isinstance(x, Static) for x in coordinates):
        return call_now(lo, math.hypot, coordinates, {})
    size = lo.elementwise("abs", convert(lo, coordinates[0], "float64"))
    for x in coordinates[1:]:
        size = lo.elementwise("hypot", size, x)
    return Scalar(lo.atom(size), True)


@lowers(math.dist)
def lower_dist(lo, a, b):
    a, b = convert(lo, as_array(lo, a), "float64"), convert(lo, as_array(lo, b), "float64")
    require_same(lo, a.shape[0], b.shape[0], "both points must have the same number of dimensions")
    d = lo.call_static(np.subtract, [a, b], {})
    size = lo.call_static(np.sqrt, [lo.call_static(np.sum, [lo.call_static(np.multiply, [d, d], {})], {})], {})
    return Scalar(lo.atom(size), True)


@lowers(np.isclose)
def lower_isclose(lo, a, b, rtol=Static(1e-5), atol=Static(1e-8), equal_nan=None):
    gap = lo.elementwise("abs", lo.elementwise("sub", a, b))
    room = lo.elementwise("add", atol, lo.elementwise("mul", rtol, lo.elementwise("abs", b)))
    near = lo.elementwise("and", lo.elementwise("le", gap, room), lo.elementwise("isfinite", b))
    same = lo.elementwise("eq", a, b)
    if is_true(equal_nan):
        same = lo.elementwise("or", same, lo.elementwise("and", lo.elementwise("isnan", a), lo.elementwise("isnan", b)))
    return lo.elementwise("or", near, same)


@lowers(math.isclose)
def lower_math_isclose(lo, a, b, rel_tol=Static(1e-9), abs_tol=Static(0.0)):
    gap = lo.elementwise("abs", lo.elementwise("sub", a, b))
    larger = lo.elementwise("maximum", lo.elementwise("abs", a), lo.elementwise("abs", b))
    room = lo.elementwise("maximum", lo.elementwise("mul", rel_tol, larger), abs_tol)
    near = lo.elementwise("and", lo.elementwise("le", gap, room), lo.elementwise("isfinite", larger))
    return lower_bool(lo, lo.elementwise("or", near, lo.elementwise("eq", a, b)))


@lowers(np.allclose)
def lower_allclose(lo, a, b, rtol=Static(1e-5), atol=Static(1e-8), equal_nan=None):
    return lower_bool(lo, lower_all(lo, lo.array(lower_isclose(lo, a, b, rtol, atol, equal_nan))))


@lowers(np.shape)
def lower_shape(lo, x):
    return array_attribute(lo, lo.array(x), "shape")


@lowers(np.ndim)
def lower_ndim(lo, x):
    return Static(lo.array(x).rank)


@lowers(np.size)
def lower_size(lo, x, axis=None):
    a = lo.array(x)
    if axis is not None and axis.value is not None:
        return as_value(lo, a.shape[axis.value])
    return array_attribute(lo, a, "size")


__all__ = ["leaves"]
