"""Scalar operations of the core language: their result types, how they print, and the Python callables they stand for."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass

import numpy as np

from ...runtime.library_calls import CALLS
from ...runtime.raising import AT, MARKED, NOTED

# What is not worth computing twice; an addition or a product is.
EXPENSIVE = {"sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "div",
             "pow", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh", "exp2", "cbrt", "arctan2", "hypot",
             "logaddexp", "logaddexp2", "erf", "erfc", "sinc", "maximum", "minimum", "larger", "smaller"}
# Of these the machine code computes several at once, in loops without an order (runtime/numbers/vectormath.py).
VECTOR = frozenset({"exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos",
                    "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt", "arctan2", "hypot", "pow",
                    "erf", "erfc"})


@dataclass(frozen=True)
class Op:
    """`kind` settles the result type: same (promoted operands), float (at least float64 for integers), compare,
    logic, bits, or a dtype's name. `text` prints it, `{0}`, `{1}` being its operands; `helper` names what it imports."""

    name: str
    kind: str
    text: str
    level: int = 100
    helper: str = ""

    @property
    def arity(self) -> int:
        return len({k for k in "0123" if f"{{{k}}}" in self.text})


OPS: dict[str, Op] = {}
CALLABLES: dict = {}


def special_function(name: str, arity: int, *callables) -> None:
    """Make a function of `runtime/numbers/special.py` a scalar operation, named `special.` and its name."""
    places = ", ".join(f"{{{k}}}" for k in range(arity))
    _op(f"special.{name}", "float", f"special.{name}({places})", *callables, helper="special")
    EXPENSIVE.add(f"special.{name}")


def _op(name, kind, text, *callables, level=100, helper=""):
    OPS[name] = Op(name, kind, text, level, helper)
    for c in callables:
        CALLABLES[c] = name


# level: Python's precedence, for parentheses (higher binds tighter)
_op("add", "same", "{0} + {1}", operator.add, np.add, level=50)
_op("sum", "same", "np.add({0}, {1})")      # an addition in a sum whose order the program does not fix
_op("sub", "same", "{0} - {1}", operator.sub, np.subtract, level=50)
_op("mul", "same", "{0} * {1}", operator.mul, np.multiply, level=60)
_op("div", "float", "{0} / {1}", operator.truediv, np.divide, np.true_divide, level=60)
_op("floordiv", "same", "{0} // {1}", operator.floordiv, np.floor_divide, level=60)
_op("mod", "same", "{0} % {1}", operator.mod, np.mod, np.remainder, level=60)
_op("pow", "same", "{0} ** {1}", operator.pow, np.power, level=80)
_op("float_power", "float", "{0} ** {1}", np.float_power, math.pow, level=80)
_op("fmod", "float", "np.fmod({0}, {1})", np.fmod, math.fmod)
_op("neg", "same", "-{0}", operator.neg, np.negative, level=70)
_op("pos", "same", "+{0}", operator.pos, np.positive, level=70)
_op("abs", "same", "abs({0})", operator.abs, abs, np.abs, np.absolute, np.fabs, math.fabs)
_op("square", "same", "{0} * {0}", np.square, level=60)
_op("reciprocal", "float", "1.0 / {0}", np.reciprocal, level=60)
for _name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "expm1", "log", "log1p", "log2", "log10", "sqrt"):
    _op(_name, "float", f"np.{_name}({{0}})", getattr(np, _name), getattr(math, _name))
for _name, _math in (("arcsin", "asin"), ("arccos", "acos"), ("arctan", "atan"), ("arcsinh", "asinh"),
                     ("arccosh", "acosh"), ("arctanh", "atanh")):
    _op(_name, "float", f"np.{_name}({{0}})", getattr(np, _name), getattr(math, _math))
_op("exp2", "float", "np.exp2({0})", np.exp2, *([math.exp2] if hasattr(math, "exp2") else []))
_op("cbrt", "float", "np.cbrt({0})", np.cbrt, *([math.cbrt] if hasattr(math, "cbrt") else []))
_op("arctan2", "float", "np.arctan2({0}, {1})", np.arctan2, math.atan2)
_op("hypot", "float", "np.hypot({0}, {1})", np.hypot, math.hypot)
_op("logaddexp", "float", "np.logaddexp({0}, {1})", np.logaddexp)
_op("logaddexp2", "float", "np.logaddexp2({0}, {1})", np.logaddexp2)
_op("copysign", "float", "np.copysign({0}, {1})", np.copysign, math.copysign)
_op("deg2rad", "float", "np.deg2rad({0})", np.deg2rad, np.radians, math.radians)
_op("rad2deg", "float", "np.rad2deg({0})", np.rad2deg, np.degrees, math.degrees)
_op("sinc", "float", "sinc({0})", np.sinc, helper="sinc")
_op("erf", "float", "math.erf({0})", math.erf)
_op("erfc", "float", "math.erfc({0})", math.erfc)
_op("lgamma", "float", "math.lgamma({0})", math.lgamma)
_op("gamma", "float", "math.gamma({0})", math.gamma)
_op("maximum", "same", "np.maximum({0}, {1})", np.maximum)
_op("minimum", "same", "np.minimum({0}, {1})", np.minimum)
_op("larger", "same", "max({0}, {1})")                  # Python's: the first, unless the second is beyond it
_op("smaller", "same", "min({0}, {1})")
_op("fmax", "same", "np.fmax({0}, {1})", np.fmax)
_op("fmin", "same", "np.fmin({0}, {1})", np.fmin)
_op("clip", "same", "np.minimum(np.maximum({0}, {1}), {2})")
_op("heaviside", "float", "heaviside({0}, {1})", np.heaviside, helper="heaviside")
_op("sign", "same", "np.sign({0})", np.sign)
_op("floor", "float", "np.floor({0})", np.floor)
_op("ceil", "float", "np.ceil({0})", np.ceil)
_op("trunc", "float", "np.trunc({0})", np.trunc, np.fix)
_op("rint", "float", "np.rint({0})", np.rint)
_op("nan_to_num", "float", "{0}")
_op("isnan", "bool", "np.isnan({0})", np.isnan, math.isnan)
_op("isinf", "bool", "np.isinf({0})", np.isinf, math.isinf)
_op("isfinite", "bool", "np.isfinite({0})", np.isfinite, math.isfinite)
_op("signbit", "bool", "np.signbit({0})", np.signbit)
_op("lt", "compare", "{0} < {1}", operator.lt, np.less, level=40)
_op("le", "compare", "{0} <= {1}", operator.le, np.less_equal, level=40)
_op("gt", "compare", "{0} > {1}", operator.gt, np.greater, level=40)
_op("ge", "compare", "{0} >= {1}", operator.ge, np.greater_equal, level=40)
_op("eq", "compare", "{0} == {1}", operator.eq, np.equal, level=40)
_op("ne", "compare", "{0} != {1}", operator.ne, np.not_equal, level=40)
_op("and", "logic", "{0} and {1}", np.logical_and, level=30)
_op("or", "logic", "{0} or {1}", np.logical_or, level=25)
_op("xor", "logic", "{0} != {1}", np.logical_xor, level=40)
_op("not", "logic", "not {0}", operator.not_, np.logical_not, level=35)
_op("bitand", "bits", "{0} & {1}", operator.and_, np.bitwise_and, level=46)
_op("bitor", "bits", "{0} | {1}", operator.or_, np.bitwise_or, level=44)
_op("bitxor", "bits", "{0} ^ {1}", operator.xor, np.bitwise_xor, level=45)
_op("lshift", "bits", "{0} << {1}", operator.lshift, np.left_shift, level=48)
_op("rshift", "bits", "{0} >> {1}", operator.rshift, np.right_shift, level=48)
_op("invert", "bits", "~{0}", operator.invert, np.invert, level=70)
_op("max", "same", "max({0}, {1})")
_op("min", "same", "min({0}, {1})")
_op("cast", "cast", "{0}")
_op("wrap_index", "int64", "wrap_index({0}, {1}, {2})", helper="wrap_index")      # and the place, see `emit`
_op("segment_length", "int64", "segment_length({0}, {1}, {2}, {3})", helper="segment_length")
_op("revolve_split", "int64", "revolve_split({0}, {1})", helper="revolve_split")
_op("union_sets", "int64", "union_sets({0}, {1}, {2})", helper="union_sets")      # of handles in a pool of index sets
_op("grow_set", "int64", "grow_set({0}, {1}, {2})", helper="grow_set")
_op("dim", "int64", "{0}.shape[{1}]")
_op("link", "same", "{0}")          # the first operand's value; of the pairs after it, slope and variable, the derivative
_op("copy", "same", "{0}")
_op("stop", "same", "{0}")          # the value without a derivative

UNIT = "unit:"              # a Call of a user's function, its first static operand (`units.py`)
OWN_FUNCTION = "block:"     # a Call of a function of the same module: what its op begins with, before the name
USER_RULE = "rule:"         # a Call of a function with a rule of its own; the value is its first operand
DRAW = "draw:"              # a Call of a method of a random generator, its first operand and its last result
INACTIVE_KINDS = ("compare", "logic", "bits", "bool", "int64")
HOMES = {**{call.helper: call.home for call in CALLS.values()},           # the file of `runtime/` that has a helper
         "special": "numbers", "inline": "machine_code.jit",
         **dict.fromkeys((*AT, *NOTED, *MARKED), "raising"),
         **dict.fromkeys(("empty", "zeros", "assign", "copied"), "memory"), "print_line": "printing",
         **dict.fromkeys(("union_sets", "grow_set"), "index_sets"),
         **dict.fromkeys(("standard_gumbel", "permutation"), "generators")}
RANK = {"bool": 0, "int64": 1, "float32": 2, "float64": 3}
PARTS = {"complex64": "float32", "complex128": "float64"}      # the dtype of the real and imaginary parts
COMPLEX = {part: whole for whole, part in PARTS.items()}


class Narrow(str):
    """int64 to the core language; which of NumPy's other integer dtypes it stands for is known while a program is lowered.

    Values of up to 32 bits are computed in int64 and brought back into range after each operation; uint64 has its bits.
    """

    __slots__ = ("width",)
    width: str

    def __new__(cls, width: str):
        made = super().__new__(cls, "int64")
        made.width = width
        return made

    def __reduce__(self):
        return Narrow, (self.width,)


NARROW = {width: Narrow(width) for width in ("int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64")}
for _width in ("int64", *NARROW):                       # of a value that is in range; bits of uint64 wrap
    _op(f"as_{_width}", "int64", "np.int64({0})" if _width == "uint64" else "{0}")
for _bits in (8, 16, 32):
    _op(f"to_uint{_bits}", "int64", f"{{0}} & {2 ** _bits - 1}", level=46)
    _op(f"to_int{_bits}", "int64", f"(({{0}} & {2 ** _bits - 1}) ^ {2 ** (_bits - 1)}) - {2 ** (_bits - 1)}", level=50)
_op("word", "int64", "np.int64({0})")
_op("unsigned_floordiv", "int64", "unsigned_floordiv({0}, {1})", helper="unsigned_floordiv")
_op("unsigned_mod", "int64", "unsigned_mod({0}, {1})", helper="unsigned_mod")


def exact(dtype: str) -> str:
    """NumPy's name of a dtype: integers that the core has as int64 may be narrower."""
    return dtype.width if type(dtype) is Narrow else dtype


def is_complex(dtype: str) -> bool:
    return dtype in PARTS


def is_inexact(dtype: str) -> bool:
    """Whether numbers of this dtype can have derivatives."""
    return dtype in COMPLEX or dtype in PARTS


def promote(*dtypes: str) -> str:
    """NumPy's promotion on the dtypes this project has."""
    if any(type(d) is Narrow for d in dtypes):
        return normal_dtype(np.result_type(*map(exact, dtypes)))
    if any(d in PARTS for d in dtypes):
        return COMPLEX[promote("float32", *(PARTS.get(d, d) for d in dtypes))]
    result = "bool"
    for d in dtypes:
        if {result, d} == {"int64", "float32"}:
            result = "float64"
        elif RANK[d] > RANK[result]:
            result = d
    return result


def normal_dtype(dtype) -> str:
    """The core dtype for a NumPy dtype that is supported (`plain.misfit_dtype`)."""
    name = np.dtype(dtype).name
    return NARROW.get(name, name)
