"""Python's math functions raise where NumPy's give nan or infinity: checks beside the calls.

A check in a loop would keep the loop from being vectorised: there the functions give nan and infinity, as they do in Numba.
"""

from __future__ import annotations

import math
import operator
from functools import partial

from ...language.core import Const
from ...language.errors import UnsupportedSyntax
from ..checks import checks_math, in_definition, must, require_that
from ..state import Lowering
from ..syntax.catching import catches
from ..values import Scalar, Static, is_number
from .conversions import dtype_of
from .kinds_on_paths import own_on_paths

DOMAIN, RANGE = "math domain error", "math range error"


def outside(low, high, open_ends=False):
    """Where a number lies outside an interval: (comparison, bound) pairs, any of which is an error."""
    below, above = ("le", "ge") if open_ends else ("lt", "gt")
    return [(op, bound) for op, bound in ((below, low), (above, high)) if bound is not None]


WRONG = {
    math.sqrt: outside(0.0, None), math.acos: outside(-1.0, 1.0), math.asin: outside(-1.0, 1.0),
    math.log: outside(0.0, None, True), math.log2: outside(0.0, None, True), math.log10: outside(0.0, None, True),
    math.log1p: outside(-1.0, None, True), math.atanh: outside(-1.0, 1.0, True), math.acosh: outside(1.0, None),
    **dict.fromkeys((math.sin, math.cos, math.tan), [("eq", -math.inf), ("eq", math.inf)]),
}
BY_PATH = ", of numbers that may be Python's own or NumPy's"
MAY_FAIL = (operator.truediv, operator.floordiv, operator.mod, operator.pow)
GROWS = {math.exp, math.gamma, math.lgamma, math.cosh, math.sinh, math.expm1, getattr(math, "exp2", math.exp)}


def check_argument(lo: Lowering, target, args) -> None:
    """Before a call of `target`, a function of math, on numbers."""
    if target is math.pow and len(args) == 2:
        check_power(lo, *(lo.atom(a, "float64") for a in args))
    if target is math.fmod and len(args) == 2:
        top, below = (lo.atom(a, "float64") for a in args)
        forbid(lo, [("eq", below, Const(0.0, "float64"))], DOMAIN)
        forbid(lo, [("eq", lo.b.let("abs", top, dtype="float64"), Const(math.inf, "float64"))], DOMAIN)
    if target in (math.gamma, math.lgamma):
        atom = lo.atom(args[0], "float64")
        whole = lo.b.compare("eq", lo.b.let("floor", atom, dtype="float64"), atom)
        pole = lo.b.let("and", whole, lo.b.compare("le", atom, Const(0.0, "float64")), dtype="bool")
        require_that(lo, lo.b.let("not", pole, dtype="bool"), "ValueError", DOMAIN)
    for a in args if target in WRONG else ():
        atom = lo.atom(a, "float64")
        forbid(lo, [(op, atom, Const(bound, "float64")) for op, bound in WRONG[target]], DOMAIN)


def check_power(lo: Lowering, base, exponent) -> None:
    zero = Const(0.0, "float64")
    fraction = lo.b.compare("ne", lo.b.let("floor", exponent, dtype="float64"), exponent)
    negative = lo.b.let("and", lo.b.compare("lt", base, zero), fraction, dtype="bool")
    pole = lo.b.let("and", lo.b.compare("eq", base, zero), lo.b.compare("lt", exponent, zero), dtype="bool")
    for wrong in (negative, pole):
        require_that(lo, lo.b.let("not", wrong, dtype="bool"), "ValueError", DOMAIN)


def check_growth(lo: Lowering, target, call, args) -> None:
    """Before a call whose overflow a handler catches: a result of its own is looked at, of which no derivative is taken,
    so that none goes through an infinite one."""
    if target in (*GROWS, operator.pow, math.pow) and catches(lo, OverflowError) and not all(
            isinstance(a, Static) for a in args):
        apart = [Scalar(lo.b.let("stop", lo.atom(a, "float64"), dtype="float64"), True) for a in args]
        check_finite(lo, target, apart, call(apart, {}))


def check_result(lo: Lowering, target, args, result) -> None:
    """After a call: infinity from a finite number is an overflow."""
    if len(args) == 1 + (target is math.pow) and target in (*GROWS, math.pow) and not catches(lo, OverflowError):
        check_finite(lo, target, args, result)


def check_finite(lo: Lowering, target, args, result) -> None:
    infinite = Const(math.inf, "float64")
    grown = lo.b.compare("eq", lo.b.let("abs", lo.atom(result), dtype="float64"), infinite)
    for a in args:
        size = lo.b.let("abs", lo.atom(a, "float64"), dtype="float64")
        grown = lo.b.let("and", grown, lo.b.compare("ne", size, infinite), dtype="bool")
    require_that(lo, lo.b.let("not", grown, dtype="bool"), "OverflowError",
                 "(34, 'Numerical result out of range')" if target is operator.pow else RANGE)


def check_floats(lo: Lowering, function, left, right) -> None:
    """Before an operation on Python's own numbers: its errors by zero, where the result is a float; no complex ones."""
    if function not in MAY_FAIL or in_definition(lo) or not (is_number(left) and is_number(right)):
        return
    possible, certain = own_on_paths(lo, left, right)
    kinds = {dtype_of(lo, left), dtype_of(lo, right)}
    by_path = not certain
    if not possible or not kinds <= {"float64", "int64", "bool", *(("float32",) if by_path else ())}:
        return
    whole = kinds.isdisjoint(("float64", "float32"))
    if by_path and function is operator.pow and whole and not catches(lo, ValueError) and lo.boundscheck is not False:
        must(lo, lo.b.compare("ge", lo.atom(right), Const(0, "int64")), "ValueError",
             "an integer to a negative integer power" + BY_PATH)
        return
    if by_path and function is operator.pow and any(map(partial(catches, lo), (ValueError, OverflowError))):
        raise lo.error(UnsupportedSyntax, f"a handler would catch the error of a power{BY_PATH}",
                       "convert them: float(x) is Python's own, np.float64(x) NumPy's")
    if not checks_math(lo) or whole and not by_path and function is not operator.truediv:
        return
    zero = Const(0.0, "float64")
    note = BY_PATH if by_path else ""
    fine = isinstance(right, Static) and (right.value >= 0 if function is operator.pow else right.value != 0)
    if by_path and catches(lo, ZeroDivisionError) and not fine:
        raise lo.error(UnsupportedSyntax, f"a handler would catch the error of a division by zero{BY_PATH}",
                       "convert them: float(x) is Python's own, np.float64(x) NumPy's")
    if function is not operator.pow:
        if not (isinstance(right, Static) and right.value):
            must(lo, lo.b.compare("ne", lo.atom(right, "float64"), zero), "ZeroDivisionError", "division by zero" + note)
        return
    base, exponent = lo.atom(left, "float64"), lo.atom(right, "float64")
    if not isinstance(right, Static) or right.value < 0:
        pole = lo.b.compare("lt", exponent, zero)
        pole = lo.b.let("and", pole, lo.b.compare("eq", base, zero), dtype="bool")
        must(lo, lo.b.let("not", pole, dtype="bool"), "ZeroDivisionError", "0.0 cannot be raised to a negative power" + note)
    if (not isinstance(right, Static) or right.value % 1) and not (isinstance(left, Static) and left.value >= 0):
        negative = lo.b.compare("lt", base, zero)
        if not isinstance(right, Static):
            fraction = lo.b.compare("ne", lo.b.let("floor", exponent, dtype="float64"), exponent)
            negative = lo.b.let("and", fraction, negative, dtype="bool")
        must(lo, lo.b.let("not", negative, dtype="bool"), "ValueError", "a fractional power of a negative number is "
             "complex: write abs(x) ** p, or give the function complex(x)" + note)
    check_growth(lo, function, lambda args, _: lo.elementwise("pow", *args), [left, right])


def forbid(lo: Lowering, cases, message: str) -> None:
    for op, atom, bound in cases:
        wrong = lo.b.compare(op, atom, bound)
        if wrong != Const(False, "bool"):
            require_that(lo, lo.b.let("not", wrong, dtype="bool"), "ValueError", message)
