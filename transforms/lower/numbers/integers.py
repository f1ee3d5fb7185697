"""NumPy's integer dtypes: their values as int64 in the core language, and what brings results back into range."""

from __future__ import annotations

import numpy as np

from ...language.build import Builder, integer
from ...language.core import Arr, Const, Var
from ...language.ops import Narrow, exact

SIGN, LARGEST = integer(-2 ** 63), integer(2 ** 63 - 1)
ORDERED = ("lt", "le", "gt", "ge")
ROUNDED = ("floor", "ceil", "trunc") if np.floor(np.int8(1)).dtype == np.int8 else ()      # NumPy leaves integers alone
WITH_SIGN = ("lt", "le", "gt", "ge", "eq", "ne")


def in_range(value: int, width: str) -> int:
    """What an integer becomes in a dtype; of uint64 the int64 with its bits."""
    bits = 8 * np.dtype(width).itemsize
    value %= 2 ** bits
    return value - 2 ** bits if value >= 2 ** (bits - 1) and (width[0] == "i" or bits == 64) else value


class IntegerBuilder(Builder):
    """A builder that knows all of NumPy's integer dtypes: a variable of a narrow one holds a value of its range."""

    def let(self, op: str, *args, dtype: str, hint: str = "t"):
        if op == "cast":
            return self.cast_integer(args[0], dtype, hint)
        if op in WITH_SIGN and any(exact(a.dtype) == "uint64" for a in args):
            return self.compare_unsigned(op, *args)
        if type(dtype) is not Narrow:
            made = super().let(op, *args, dtype=dtype, hint=hint)
            return self.as_integer(made, dtype, hint) if type(made.dtype) is Narrow and dtype == "int64" else made
        if dtype.width == "uint64":
            made = self.unsigned(op, *args, hint=hint)
        else:
            made = super().let(op, *args, dtype="int64", hint=hint)
        return self.as_integer(made, dtype, hint)

    def as_integer(self, atom, dtype: str, hint: str = "t"):
        """An integer in another integer dtype, as NumPy casts it."""
        have, want = exact(atom.dtype), exact(dtype)
        if have == want:
            return atom
        if isinstance(atom, Const):
            return Const(in_range(int(atom.value), want), dtype)
        fits = want in ("int64", "uint64") or np.can_cast(have, want)
        made = super().let(f"{'as' if fits else 'to'}_{want}", atom, dtype=dtype, hint=hint)
        if want == "int64" and have != "uint64" and isinstance(made, Var):
            self.facts.alias[made] = atom
        return made

    def cast_integer(self, atom, dtype: str, hint: str):
        source = atom.dtype
        if source == "int64" and dtype == "int64":
            return self.as_integer(atom, dtype, hint)
        if dtype == "int64" and type(dtype) is Narrow:
            if dtype.width == "uint64" and source != "bool":                # in two halves: floats above 2**63 fit too
                if isinstance(atom, Const):
                    return Const(in_range(int(atom.value), "uint64"), dtype)
                wide = super().let("trunc", super().let("cast", atom, dtype="float64"), dtype="float64")
                high = super().let("floor", super().let("mul", wide, Const(2.0 ** -32, "float64"), dtype="float64"),
                                   dtype="float64")
                low = super().let("sub", wide, super().let("mul", high, Const(2.0 ** 32, "float64"), dtype="float64"),
                                  dtype="float64")
                high, low = (super(IntegerBuilder, self).let("cast", x, dtype="int64") for x in (high, low))
                high = super().let("lshift", super().let("to_int32", high, dtype="int64"), integer(32), dtype="int64")
                return self.as_integer(super().let("bitor", high, low, dtype="int64"), dtype, hint)
            return self.as_integer(super().let("cast", atom, dtype="int64", hint=hint), dtype, hint)
        if exact(source) == "uint64" and dtype.startswith("float"):
            if isinstance(atom, Const):
                return Const(float(int(atom.value) % 2 ** 64), dtype)
            low = super().let("bitand", atom, integer(2 ** 32 - 1), dtype="int64")
            high = super().let("bitand", super().let("rshift", atom, integer(32), dtype="int64"), integer(2 ** 32 - 1),
                               dtype="int64")
            low, high = (super(IntegerBuilder, self).let("cast", x, dtype="float64") for x in (low, high))
            made = super().let("add", super().let("mul", high, Const(2.0 ** 32, "float64"), dtype="float64"), low,
                               dtype="float64", hint=hint)
            return super().let("cast", made, dtype=dtype, hint=hint)
        return super().let("cast", atom, dtype=dtype, hint=hint)

    # -- uint64 -----------------------------------------------------------------------------------------------
    def flipped(self, atom):
        """Numbers without a sign, in the order of numbers with one."""
        return super().let("bitxor", atom, SIGN, dtype="int64")

    def unsigned(self, op: str, *args, hint: str):
        """The bits of a result of uint64, from the bits of the operands."""
        basic = super().let
        args = tuple(self.as_integer(a, "int64") if a.dtype == "int64" and exact(a.dtype) != "uint64" else a for a in args)
        if op in ("max", "min", "maximum", "minimum"):
            return self.flipped(basic("max" if op.startswith("max") else "min", *map(self.flipped, args), dtype="int64"))
        if op == "abs":
            return args[0]
        if op == "sign":
            return basic("cast", basic("ne", args[0], integer(0), dtype="bool"), dtype="int64")
        if op == "pow":                 # only powers of odd numbers are not 0 for exponents above 2**63, and repeat
            base, k = args
            above = basic("bitand", basic("rshift", k, integer(63), dtype="int64"), integer(2 ** 62), dtype="int64")
            return basic(op, base, basic("bitor", basic("bitand", k, LARGEST, dtype="int64"), above, dtype="int64"),
                         dtype="int64", hint=hint)
        if op in ("floordiv", "mod"):
            return basic(f"unsigned_{op}", *args, dtype="int64", hint=hint)
        if op == "rshift":
            a, s = args
            first = basic("min", s, integer(1), dtype="int64")              # then the bit of the sign is 0
            kept = basic("bitor", LARGEST, basic("sub", first, integer(1), dtype="int64"), dtype="int64")
            a = basic("bitand", basic("rshift", a, first, dtype="int64"), kept, dtype="int64")
            return basic("rshift", a, basic("sub", s, first, dtype="int64"), dtype="int64")
        return basic(op, *args, dtype="int64", hint=hint)

    def compare_unsigned(self, op: str, a, b):
        """A comparison of which one side at least is uint64: of the numbers, whatever their signs."""
        basic = super().let
        both = all(exact(x.dtype) == "uint64" or isinstance(x, Const) and x.value >= 0 for x in (a, b))
        if op in ORDERED:
            made = basic(op, self.flipped(a), self.flipped(b), dtype="bool")
        else:
            made = basic(op, a, b, dtype="bool")
        if both:
            return made
        first = exact(a.dtype) != "uint64"                  # the side that may be negative
        negative = basic("lt", a if first else b, integer(0), dtype="bool")
        if op == "ne" or op in (("lt", "le") if first else ("gt", "ge")):
            return basic("or", negative, made, dtype="bool")
        return basic("and", basic("not", negative, dtype="bool"), made, dtype="bool")

    # -- memory -----------------------------------------------------------------------------------------------
    def store(self, array: Arr, index, value, accumulate: bool | str = False) -> None:
        if array.dtype == "int64" and value.dtype == "int64" and exact(array.dtype) != exact(value.dtype):
            if accumulate and type(array.dtype) is Narrow:
                value, accumulate = self.let("add", self.load(array, index), value, dtype=array.dtype), False
            else:
                value = self.as_integer(value, array.dtype)
        elif accumulate and type(array.dtype) is Narrow:
            value, accumulate = self.let("add", self.load(array, index), value, dtype=array.dtype), False
        super().store(array, index, value, accumulate)


def fits(dtype: str, into: str) -> bool:
    """Whether all integers of a dtype are ones of another."""
    return dtype == into == "int64" and np.can_cast(exact(dtype), exact(into))


def same_dtype(a: str, b: str) -> bool:
    return exact(a) == exact(b)


__all__ = ["LARGEST", "ROUNDED", "IntegerBuilder", "fits", "in_range", "same_dtype"]
