"""The kinds of arguments that functions of the module `math` take: Python raises a TypeError for others."""

from __future__ import annotations

import math

import numpy as np

from ...language.errors import TypeConflict, WrongKind
from ...language.ops import exact
from ..containers.list_operators import kind_of, name_of_kind, not_iterable
from ..state import Lowering
from ..values import Array, Mapping, Scalar, Sequence, Slice, Static, Value, is_iterator, is_number
from .conversions import dtype_of, is_weak
from .kinds_on_paths import ONE_KIND, kinds_of, own_on_paths

OVER_ITEMS = {math.fsum: 1, math.prod: 1, math.dist: 2, getattr(math, "sumprod", math.dist): 2}   # how many arguments
OF_INTEGERS = {math.comb, math.perm, math.factorial, math.gcd, math.lcm, math.isqrt}
OF_ANY_CLASS = {math.floor, math.ceil, math.trunc}                  # by methods of the class


def check_kinds(lo: Lowering, target, args) -> None:
    """Raise what Python would for arguments of kinds that `target`, a function of math, does not take."""
    for k, value in enumerate(args):
        if k < OVER_ITEMS.get(target, 0):
            if is_number(value) or isinstance(value, Array) and not value.rank:
                raise not_iterable(lo, value)
            if isinstance(value, Array) and value.rank > 1 and target is not math.prod:
                raise lo.error(WrongKind, "must be real number, not a row of numbers")
            for item in value.items if isinstance(value, Sequence) and target is not math.prod else ():
                check_number(lo, target, item)
        elif target in OF_INTEGERS:
            check_integer(lo, value)
        elif target is math.ldexp and k == 1:
            check_integer(lo, value)
            if isinstance(value, Scalar) and not own_on_paths(lo, value)[0]:
                raise lo.error(WrongKind, "Expected an int as second argument to ldexp.", "int(...) makes one")
        elif target is math.trunc:
            check_trunc(lo, value)
        elif target is not math.prod:
            check_number(lo, target, value)


def check_number(lo: Lowering, target, value: Value) -> None:
    """Raise for what is no real number: lists, arrays of rank 1 and more, complex numbers, iterators."""
    if isinstance(value, Array) and kind_of(value) is None:
        if value.rank:
            raise lo.error(WrongKind, "only 0-dimensional arrays can be converted to Python scalars",
                           f"write np.{target.__name__}(x)" if hasattr(np, target.__name__) else "")
    elif isinstance(value, (Sequence, Mapping, Slice)) or kind_of(value) is not None or is_iterator(value):
        raise lo.error(WrongKind, f"must be real number, not {name_of_kind(value)}")
    if target not in OF_ANY_CLASS and isinstance(value, (Scalar, Array)) and dtype_of(lo, value).startswith("complex"):
        raise lo.error(WrongKind, "must be real number, not complex")


def check_integer(lo: Lowering, value: Value) -> None:
    """Raise for what is no integer: Python's own or NumPy's, truths of Python's own."""
    whole = isinstance(value, Static) and (value.value is None or isinstance(value.value, (int, np.integer)))
    if isinstance(value, Scalar):
        answers = {np.dtype(kind).kind in "iu" or own and kind == "bool" for kind, own in kinds_of(lo, value)}
        if len(answers) > 1:
            raise lo.error(TypeConflict, "this number is an integer on one path and none on another", ONE_KIND)
        whole = True in answers
    elif isinstance(value, Array):
        whole = not value.rank and np.dtype(exact(value.dtype)).kind in "iu"
    if not whole:
        raise lo.error(WrongKind, f"'{name_of_kind(value)}' object cannot be interpreted as an integer",
                       "int(...) makes one")


def check_trunc(lo: Lowering, value: Value) -> None:
    """NumPy's float64, which is a float, has `__trunc__`; its other numbers and arrays do not."""
    if isinstance(value, Array) or isinstance(value, Scalar) and not is_weak(lo, value) and value.dtype != "float64":
        raise lo.error(WrongKind, f"type {name_of_kind(value)} doesn't define __trunc__ method", "np.trunc(x), int(x)")
