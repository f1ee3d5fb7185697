"""Python's math functions raise where NumPy's give nan or infinity: checks beside the calls.

A check in a loop would keep the loop from being vectorised: there the functions give nan and infinity, as they do in Numba.
"""

from __future__ import annotations

import math
import operator

import gast

from ..language.core import Const
from .values import Static, is_number

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
MAY_FAIL = (operator.truediv, operator.floordiv, operator.mod, operator.pow)
GROWS = {math.exp, math.gamma, math.lgamma, math.cosh, math.sinh, math.expm1, getattr(math, "exp2", math.exp)}


class MathErrors:
    def checks_math(self) -> bool:
        """Whether errors of math functions are raised here: in a function of Python's, outside loops."""
        b = self.b
        while b is not None:
            if b.is_loop:
                return False
            b = b.parent
        return not (self.boundscheck is False or self.in_definition() or any(map(self.is_jitted, self.frames)))

    def in_definition(self) -> bool:
        """Whether a definition or rule of ours is being lowered, which means NumPy's arithmetic: it never raises."""
        return bool(self.registry and self.frames) and self.registry.is_ours(self.frame.globals.get("__name__"))

    def is_jitted(self, frame) -> bool:
        """Whether Numba compiles the function of a frame for its users, whose math functions do not raise."""
        return frame.jitted or is_jitted(frame.node)

    def check_argument(self, target, args) -> None:
        """Before a call of `target`, a function of math, on numbers."""
        if target is math.pow and len(args) == 2:
            self.check_power(*(self.atom(a, "float64") for a in args))
        if target is math.fmod and len(args) == 2:
            top, below = (self.atom(a, "float64") for a in args)
            self.forbid([("eq", below, Const(0.0, "float64"))], DOMAIN)
            self.forbid([("eq", self.b.let("abs", top, dtype="float64"), Const(math.inf, "float64"))], DOMAIN)
        if target in (math.gamma, math.lgamma):
            atom = self.atom(args[0], "float64")
            whole = self.b.compare("eq", self.b.let("floor", atom, dtype="float64"), atom)
            pole = self.b.let("and", whole, self.b.compare("le", atom, Const(0.0, "float64")), dtype="bool")
            self.require_that(self.b.let("not", pole, dtype="bool"), "ValueError", DOMAIN)
        for a in args if target in WRONG else ():
            atom = self.atom(a, "float64")
            self.forbid([(op, atom, Const(bound, "float64")) for op, bound in WRONG[target]], DOMAIN)

    def check_power(self, base, exponent) -> None:
        zero = Const(0.0, "float64")
        fraction = self.b.compare("ne", self.b.let("floor", exponent, dtype="float64"), exponent)
        negative = self.b.let("and", self.b.compare("lt", base, zero), fraction, dtype="bool")
        pole = self.b.let("and", self.b.compare("eq", base, zero), self.b.compare("lt", exponent, zero), dtype="bool")
        for wrong in (negative, pole):
            self.require_that(self.b.let("not", wrong, dtype="bool"), "ValueError", DOMAIN)

    def check_result(self, target, args, result) -> None:
        """After a call: infinity from a finite number is an overflow."""
        if target not in GROWS or len(args) != 1:
            return
        infinite = Const(math.inf, "float64")
        size = self.b.let("abs", self.atom(args[0], "float64"), dtype="float64")
        grown = self.b.let("and", self.b.compare("eq", self.b.let("abs", self.atom(result), dtype="float64"), infinite),
                           self.b.compare("ne", size, infinite), dtype="bool")
        self.require_that(self.b.let("not", grown, dtype="bool"), "OverflowError", RANGE)

    def check_floats(self, function, left, right) -> None:
        """Before an operation on Python's own numbers: its errors by zero, where the result is a float; no complex ones."""
        if not all(is_number(v) and all(weak for _, weak in self.kinds_of(v)) for v in (left, right)):
            return
        kinds = {self.dtype_of(left), self.dtype_of(right)}
        if not kinds <= {"float64", "int64", "bool"} or function not in MAY_FAIL or not self.checks_math() or not (
                "float64" in kinds or function is operator.truediv):
            return
        zero = Const(0.0, "float64")
        if function is not operator.pow:
            if not (isinstance(right, Static) and right.value):
                self.must(self.b.compare("ne", self.atom(right, "float64"), zero), "ZeroDivisionError", "division by zero")
            return
        base, exponent = self.atom(left, "float64"), self.atom(right, "float64")
        if not isinstance(right, Static) or right.value < 0:
            pole = self.b.compare("lt", exponent, zero)
            pole = self.b.let("and", pole, self.b.compare("eq", base, zero), dtype="bool")
            self.must(self.b.let("not", pole, dtype="bool"), "ZeroDivisionError", "0.0 cannot be raised to a negative power")
        if (not isinstance(right, Static) or right.value % 1) and not (isinstance(left, Static) and left.value >= 0):
            fraction = self.b.compare("ne", self.b.let("floor", exponent, dtype="float64"), exponent)
            negative = self.b.let("and", fraction, self.b.compare("lt", base, zero), dtype="bool")
            self.must(self.b.let("not", negative, dtype="bool"), "ValueError", "a fractional power of a negative number is "
                      "complex: write abs(x) ** p, or give the function complex(x)")

    def forbid(self, cases, message: str) -> None:
        for op, atom, bound in cases:
            wrong = self.b.compare(op, atom, bound)
            if wrong != Const(False, "bool"):
                self.require_that(self.b.let("not", wrong, dtype="bool"), "ValueError", message)


def is_jitted(node) -> bool:
    """Whether a function stands under a decorator of Numba, whose math functions do not raise."""
    marks = [m.func if isinstance(m, gast.Call) else m for m in getattr(node, "decorator_list", ())]
    return any(getattr(m, "attr", getattr(m, "id", "")) in ("njit", "jit", "vectorize", "guvectorize") for m in marks)


__all__ = ["MathErrors"]
