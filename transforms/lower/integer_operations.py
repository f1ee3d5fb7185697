"""What NumPy and Python do with integers that the core language does not: their errors, their limits, their dtypes."""

from __future__ import annotations

import math
import sys

import numpy as np

from ..build import integer
from ..core import Const, Var
from ..errors import TypeConflict
from ..ops import OPS, Narrow, exact
from ..overflow import CHECKED
from .integers import LARGEST
from .values import Array, Scalar, Static, is_number

OLD_WORDS = sys.version_info < (3, 14)


OF_NO_BOOLEANS = ("sub", "neg", "sign", "pos")


class Integers:
    """The part of the lowering that knows how NumPy's integers differ from the core's."""

    def float_of(self, name: str, dtype: str) -> str:
        """The dtype in which NumPy computes a floating-point function of integers."""
        if name == "reciprocal":
            raise self.error(TypeConflict, "np.reciprocal of integers is an integer division", "write 1.0 / x")
        width = exact(dtype)
        if width in ("int8", "uint8") and name not in ("div", "float_power"):
            raise self.error(TypeConflict, f"NumPy computes this function of {width} in float16, which is not supported",
                             "convert it first: float(x), or x.astype(float)")
        return "float32" if width in ("int16", "uint16") and name not in ("div", "float_power") else "float64"

    def python_integer(self, name: str, atoms):
        """An operation on Python's integers, with Python's errors."""
        b = self.b
        if name in ("floordiv", "mod") and not b.facts.at_least(atoms[1], 1):
            self.must(b.compare("ne", atoms[1], integer(0)), "ZeroDivisionError", "integer modulo by zero" if name == "mod"
                      else "integer division or modulo by zero" if OLD_WORDS else "integer division by zero")
        if name in ("lshift", "rshift") and not b.facts.at_least(atoms[1]):
            self.must(b.compare("ge", atoms[1], integer(0)), "ValueError", "negative shift count")
        if name == "pow" and isinstance(atoms[1], Const) and atoms[1].value < 0:
            return self.operate(name, atoms, "float64")
        if name == "pow" and not isinstance(atoms[1], Const) and not b.facts.at_least(atoms[1]):
            self.must(b.compare("ge", atoms[1], integer(0)), "ValueError",
                      "a Python integer to a negative power is a float: make the base a float, float(n) ** k")
        if name == "pow":
            made = self.power(tuple(self.cast(a, "int64") for a in atoms), "int64", "t", True)
        else:
            made = self.operate(name, atoms, "int64")
        if name in CHECKED and isinstance(made, Var):
            self.python_integers.add(made)
        return made

    def numpy_division(self, a, b):
        """The operands of `//` or `%` of NumPy's integers: 0 where the divisor is 0, in whatever way the program runs."""
        zero = self.b.compare("eq", b, integer(0))
        if zero == Const(False, "bool") or self.b.facts.at_least(b, 1):
            return a, b
        return self.branch(zero, lambda: integer(0), lambda: a), self.branch(zero, lambda: integer(1), lambda: b)

    def must(self, condition, error: str, message: str) -> None:
        """Raise an error where the program runs, unless a condition holds."""
        if condition != Const(True, "bool"):
            self.add_check(self.b, condition, error, message)

    def numpy_number(self, value, dtype: str):
        """`np.int8(value)` and its like."""
        if dtype == "int64" and self.is_weak(value) and self.dtype_of(value) == "int64":
            self.check_fitting((value,), dtype)
        return Scalar(self.cast(self.atom(value), dtype))

    def of_integers(self, target, args):
        """The operands of a function that treats integers in another way than the operation it stands for."""
        if isinstance(target, np.ufunc) and all(is_number(a) and self.is_weak(a) and self.dtype_of(a) in ("int64", "bool")
                                                for a in args):
            args = [Scalar(self.atom(a)) for a in args]             # which a ufunc makes NumPy's
        if target is np.fmod and all(self.dtype_of(a) in ("int64", "bool") for a in args if isinstance(
                a, (Array, Scalar, Static))):
            raise self.error(TypeConflict, "np.fmod of integers is not supported", "write %, or convert them to floats")
        if not any(isinstance(a, (Array, Scalar)) and a.dtype == "int64" for a in args):
            return args
        if getattr(target, "__module__", "") == "math":             # of Python's integers
            args = [Scalar(self.cast(a.atom, "float64" if exact(a.dtype) == "uint64" else "int64"), True)
                    if isinstance(a, Scalar) and type(a.dtype) is Narrow else a for a in args]
        if target in (np.fabs, math.fabs):
            return [self.convert(a, self.float_of("fabs", self.dtype_of(a))) for a in args]
        return args

    def check_operands(self, name: str, dtype: str, values) -> None:
        """What NumPy raises TypeError for, and Python integers that a narrow dtype cannot hold."""
        kind = OPS[name].kind
        if kind == "bits" and dtype not in ("int64", "bool"):
            raise self.error(TypeConflict, f"unsupported operand types for `{OPS[name].text.format('x', 'y')}`: {dtype}",
                             "convert to integers first")
        if name in OF_NO_BOOLEANS and dtype == "bool" and any(isinstance(v, Array) and v.rank for v in values):
            raise self.error(TypeConflict, f"`{OPS[name].text.format('x', 'y')}` of boolean arrays is an error in NumPy",
                             "use ^ or ~, or convert it: x.astype(int)")
        if dtype == "int64" and type(dtype) is not Narrow and any(
                isinstance(v, Static) and not -2 ** 63 <= v.value < 2 ** 63 for v in values):
            raise self.error(TypeConflict, "a Python integer does not fit in 64 bits", "write it as a float")
        if type(dtype) is Narrow and kind not in ("compare", "float"):
            self.check_fitting(values, dtype)

    def check_fitting(self, values, dtype: str) -> None:
        """Python's integers beside arrays of a narrow dtype must be in its range."""
        bounds = np.iinfo(exact(dtype))
        for v in values:
            if not self.is_weak(v) or self.dtype_of(v) != "int64":
                continue
            atom = self.atom(v)
            message = f"Python integer out of bounds for {bounds.dtype}"
            if isinstance(atom, Const):
                if not bounds.min <= atom.value <= bounds.max:
                    raise self.error(TypeConflict, f"Python integer {atom.value} out of bounds for {bounds.dtype}",
                                     "convert the array to a wider dtype first")
                continue
            for op, bound in (("ge", bounds.min), ("le", min(bounds.max, 2 ** 63 - 1))):
                if abs(bound) < 2 ** 63 - 1:
                    self.must(self.b.compare(op, atom, integer(bound)), "OverflowError", message)

    def check_exponent(self, exponent) -> None:
        """Integers to negative powers are an error in NumPy, and a float in Python."""
        message = "Integers to negative integer powers are not allowed."
        if isinstance(exponent, Const):
            if exponent.value < 0:
                raise self.error(TypeConflict, message, "make the base a float: float(x) ** n")
        elif not self.b.facts.at_least(exponent):
            self.add_check(self.b, self.b.compare("ge", exponent, integer(0)), "ValueError", message)

    def shift(self, name: str, a, s, dtype: str, hint: str):
        """A shift: by more bits than there are (or, for NumPy, by fewer than none), nothing is left."""
        b = self.b
        if isinstance(s, Const) and 0 <= s.value < 64:
            return b.let(name, a, s, dtype=dtype, hint=hint)
        s = b.let("bitand", s, LARGEST, dtype="int64")
        most = b.let("min", s, integer(63), dtype="int64")
        if name == "rshift" and exact(dtype) != "uint64":
            return b.let(name, a, most, dtype=dtype, hint=hint)
        rest = b.let("min", b.let("sub", s, most, dtype="int64"), integer(1), dtype="int64")
        return b.let(name, b.let(name, a, most, dtype=dtype, hint=hint), rest, dtype=dtype, hint=hint)


__all__ = ["Integers"]
