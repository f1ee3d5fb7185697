"""Random programs on inputs of all kinds: integers of every dtype, numbers of Python and NumPy, arrays in every layout.

The oracle is Python running the function: value, dtype, shape and error. A refusal (an AutodiffError) is no failure.
"""

from __future__ import annotations

import linecache
import random
import re
import warnings

import numpy as np

from autodiff import AutodiffError, InternalError, differentiable, vjp

from ..support import module_of
from .checks import Outcome, TookTooLong, limited

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = (*INTEGERS, *INTEGERS, "float64", "float64", "float32", "bool")
LAYOUTS = {
    "plain": "a", "read-only": "locked(a)", "strided": "np.repeat(a, 2, 0)[::2]", "reversed": "a[::-1]",
    "Fortran": "np.asfortranarray(a)", "swapped": "a.astype(a.dtype.newbyteorder('S'))", "unaligned": "unaligned(a)",
    "empty": "a[:0]", "one": "a[:1]", "transposed": "np.ascontiguousarray(a.T).T", "mapped": "a", "broadcast":
    "np.broadcast_to(a[:1], a.shape)"}
ODD = ("np.ma.masked_array(a, [1, 0, 0])", "np.matrix(a)", "a.astype(np.float16)", "a.astype(np.longdouble)",
       "np.float16(1.5)", "np.longdouble(1.5)", "np.array([1, None, 2])", "np.rec.array([(1.0,)], dtype=[('x', float)])")
HEAD = """import math
import numpy as np


def locked(a):
    a = a.copy()
    a.flags.writeable = False
    return a


def unaligned(a):
    b = np.empty(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)
    b[...] = a
    return b


"""
BINARY = ("{a} + {b}", "{a} - {b}", "{a} * {b}", "{a} // {b}", "{a} % {b}", "{a} / {b}", "{a} & {b}", "{a} | {b}",
          "{a} ^ {b}",
          "{a} << ({b} & 7)", "{a} >> ({b} & 7)", "{a} < {b}", "{a} >= {b}", "{a} == {b}", "{a} != {b}", "{a} << {b}",
          "{a} >> {b}", "np.maximum({a}, {b})", "np.minimum({a}, {b})", "divmod({a}, {b})[0]", "divmod({a}, {b})[1]",
          "np.where({a} > 3, {a}, {b})", "np.fmod({a}, {b})", "np.power({a}, 2) + {b}", "np.hypot({a}, {b})",
          "np.floor_divide({a}, {b})", "np.bitwise_xor({a}, {b})", "np.arctan2({a}, {b})", "{a} ** {b}", "np.gcd({a}, {b})",
          "np.equal({a}, {b})", "np.logical_and({a}, {b})", "np.add({a}, {b})", "np.heaviside({a}, {b})",
          "np.copysign({a}, {b})")
UNARY = ("-{a}", "~{a}", "abs({a})", "{a} ** 2", "{a} ** 3", "{a} * 3 + 1", "{a} // 3", "{a} % 5", "{a} / 7", "1 + {a}",
         "{a} - 200", "{a} * 1.5", "np.sqrt(abs({a}))", "np.sign({a})", "np.square({a})", "np.floor({a})", "np.rint({a})",
         "np.exp({a} % 3)", "np.clip({a}, 2, 50)", "{a} > 4", "5 // {a}", "7 % {a}", "2 ** ({a} % 8)", "np.invert({a})",
         "np.fabs({a})", "+{a}", "np.ceil({a})", "np.trunc({a})", "np.isnan({a})", "np.round({a})", "np.logical_not({a})",
         "np.abs({a})", "np.positive({a})", "0.5 * {a}", "{a} & 15", "{a} ^ 3", "1 << ({a} & 15)", "{a} ** 0", "{a} ** 1",
         "{a} ** 0.5", "np.float_power({a}, 2)", "np.reciprocal({a})", "np.nan_to_num({a})")
ARRAYS = ("np.sum({a})", "np.prod({a})", "np.cumsum({a})", "np.cumprod({a})", "np.max({a})", "np.min({a})", "np.mean({a})",
          "np.argmax({a})", "np.sort({a})", "np.argsort({a}, kind='stable')", "np.any({a})", "np.all({a})", "{a}[::-1]",
          "{a}[0]", "{a}[-1]", "{a}.sum()", "{a}.astype(np.{d})", "np.{d}({a})", "np.dot({a}, {a})", "np.diff({a})",
          "np.array({a}, dtype=np.{d})", "np.zeros_like({a}) + 3", "np.full({a}.shape, 7, dtype=np.{d})", "np.std({a})",
          "np.concatenate([{a}, {a}])", "np.stack([{a}, {a}])", "np.arange(5, dtype=np.{d}) * {a}[0]", "np.ptp({a})",
          "np.sum({a}, dtype=np.{d})", "np.count_nonzero({a})", "{a}.reshape(-1) @ {a}.reshape(-1)", "np.median({a})",
          "np.unique({a})", "np.cumsum({a})[-1]", "np.ones_like({a}) - {a}", "np.arange({a}.size)[abs({a}) % {a}.size]",
          "np.outer({a}, {a})", "np.roll({a}, 1)", "np.tile({a}, 2)", "np.repeat({a}, 2)", "np.mean({a}, axis=0)",
          "np.searchsorted(np.sort({a}), 3)", "np.bincount(abs({a}) % 4)", "np.average({a})", "np.var({a})")
NUMBERS = ("int({a})", "float({a})", "bool({a})", "np.{d}({a})", "abs({a})", "round({a})", "math.sqrt(abs({a}))",
           "math.floor({a})", "{a} * {a} * {a}", "min({a}, 3)", "max({a}, 3)", "pow({a}, 2)", "10 ** {a}", "1 << {a}",
           "{a} if {a} > 2 else 0", "sum(k * {a} for k in range(4))", "sum([{a}, 1])", "range(0, 9, {a})[0]",
           "len(range(0, 9, {a}))", "math.factorial(abs({a}) % 5)", "divmod({a}, 3)[1]", "{a} == 3", "not {a}", "-{a} // 2",
           "math.gcd({a}, 6)", "np.array([{a}, 1])", "np.full(2, {a})", "{a} / 3", "{a} // 0.5")


class Writer:
    """One random program: `arguments`, a dict of expressions, and the text of `f`."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.arguments: dict[str, str] = {}
        self.arrays: list[str] = []
        self.numbers: list[str] = []
        self.lines: list[str] = []
        for name in ("x", "y", "z")[:self.random.choice((1, 1, 2, 2, 3))]:
            self.argument(name)
        for k in range(self.random.choice((1, 1, 2, 2, 3, 4))):
            self.statement(f"t{k}")
        last = self.lines[-1].split(" = ")[0].strip()
        body = "\n".join(f"    {line}" for line in self.lines)
        self.text = f"{HEAD}def f({', '.join(self.arguments)}):\n{body}\n    return {last}\n"

    def argument(self, name: str) -> None:
        pick, choose = self.random.random(), self.random.choice
        dtype = choose(DTYPES)
        if pick < 0.04:
            self.arguments[name] = f"(lambda a: {choose(ODD)})(np.array([1.0, 2.0, 3.0]))"
            self.arrays.append(name)
        elif pick < 0.25:
            self.arguments[name] = choose(("0", "1", "3", "-2", "7", "True", "0.0", "1.5", "-2.5", "12", "63", "-1"))
            self.numbers.append(name)
        elif pick < 0.4:
            self.arguments[name] = f"np.{dtype if dtype != 'bool' else 'bool_'}({self.value(dtype)})"
            self.numbers.append(name)
        else:
            values = ", ".join(self.value(dtype) for _ in range(3))
            array = f"np.array([{values}], np.{dtype})"
            if self.random.random() < 0.15:
                array = f"np.array([[{values}], [{values}]], np.{dtype})"
            layout = choose(list(LAYOUTS)) if self.random.random() < 0.4 else "plain"
            if layout == "plain" and self.random.random() < 0.06:
                array = f"np.array({self.value(dtype)}, np.{dtype})"
                self.numbers.append(name)
            else:
                self.arrays.append(name)
            self.arguments[name] = f"(lambda a: {LAYOUTS[layout]})({array})"

    def value(self, dtype: str) -> str:
        if dtype == "bool":
            return self.random.choice(("True", "False"))
        if dtype.startswith("float"):
            return self.random.choice(("0.0", "1.0", "-1.5", "2.25", "3.5", "-7.0"))
        bounds = np.iinfo(dtype)
        value = self.random.choice((0, 1, 2, 3, 5, 7, 11, -1, -3, bounds.max, bounds.min, bounds.max - 1,
                                    self.random.randint(bounds.min, bounds.max)))
        return str(min(max(value, bounds.min), bounds.max))

    def operand(self) -> tuple[str, bool]:
        if self.numbers and (not self.arrays or self.random.random() < 0.4):
            return self.random.choice(self.numbers), True
        return self.random.choice(self.arrays), False

    def statement(self, name: str) -> None:
        a, number = self.operand()
        pick = self.random.random()
        if pick < 0.4:
            b, other = self.operand()
            if self.random.random() < 0.25:
                b, other = self.random.choice(("3", "0", "2.5", "200", "-1", "True")), True
            text, number = self.random.choice(BINARY), number and other
        elif pick < 0.65:
            text, b = self.random.choice(UNARY), ""
        else:
            text, b = self.random.choice(NUMBERS if number else ARRAYS), ""
            number = number or any(word in text for word in ("sum(", "prod(", "max(", "min(", "mean({a})", "[0]"))
        self.lines.append(f"{name} = " + text.format(a=a, b=b, d=self.random.choice(INTEGERS)))
        (self.numbers if number else self.arrays).append(name)


def attempt(seed: int) -> tuple[Outcome, str]:
    """One program: what came of it, and a script that shows it."""
    made = Writer(seed)
    script = f"{made.text}\n\nprint(f({', '.join(made.arguments.values())}))\n"
    name = f"<inputs {seed}>"
    space = module_of(name, made.text, {"__name__": name})
    given = lambda: [eval(text, space) for text in made.arguments.values()]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = run(lambda *args: differentiable(space["f"], mode="python")(*args), given())
        # What is refused does not run in NumPy either: np.stack of matrices writes behind the end of its result.
        expected = None if isinstance(found, AutodiffError) else run(space["f"], given())
        outcome = compared(expected, found)
        if outcome.verdict == "failed":
            outcome = known_difference(outcome, expected, found, script, lambda: space["f"](*given()))
        if outcome.verdict == "ok" and not isinstance(expected, Exception):
            outcome = gradients(space["f"], given())
    linecache.cache.pop(name, None)
    return outcome, script


def run(function, args):
    try:
        with limited(20):
            return function(*args)
    except Exception as e:
        return e


def public(error) -> type:
    """The class of an error, or what it is for those who cannot name NumPy's own."""
    return next(cls for cls in type(error).__mro__ if not cls.__module__.startswith(("numpy._core", "numpy.core")))


def compared(expected, found) -> Outcome:
    if isinstance(found, InternalError):
        return Outcome("failed", "InternalError", str(found))
    if isinstance(found, AutodiffError):
        return Outcome("refused", found.problem if hasattr(found, "problem") else str(found))
    if isinstance(expected, Exception) or isinstance(found, Exception):
        if public(expected) is public(found):
            return Outcome("ok")
        if isinstance(expected, (MemoryError, TookTooLong)) or isinstance(found, OverflowError) and "64 bits" in str(found):
            return Outcome("refused", "a large integer")
        if isinstance(found, ValueError) and "negative power" in str(found):
            return Outcome("refused", "a negative power")
        kind = f"{type(expected).__name__} expected" if isinstance(expected, Exception) else f"{type(found).__name__} found"
        return Outcome("failed", kind, f"expected {shown(expected)}, found {shown(found)}")
    if type(expected).__module__.startswith("numpy.ma") or isinstance(expected, np.matrix):
        return Outcome("failed", "subclass", f"expected {shown(expected)}, found {shown(found)}")
    one, other = np.asarray(expected), np.asarray(found)
    if isinstance(expected, int) and one.dtype == object and type(found) is int and found == expected:
        return Outcome("ok")                # known before the program runs
    if isinstance(expected, int) and one.dtype == object:
        return Outcome("failed", "value", f"expected {shown(expected)}, found {shown(found)}")
    if one.dtype.newbyteorder("=") != other.dtype:
        return Outcome("failed", "dtype", f"expected {shown(expected)} ({one.dtype}), found {shown(found)} ({other.dtype})")
    if one.shape != other.shape:
        return Outcome("failed", "shape", f"expected {shown(expected)}, found {shown(found)}")
    tolerance = 0.0 if one.dtype.kind in "iub" else 1e-4 if one.dtype == np.float32 else 1e-12
    if not np.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=one.dtype.kind == "f"):
        return Outcome("failed", "value", f"expected {shown(expected)}, found {shown(found)}")
    return Outcome("ok")


def shown(value) -> str:
    """A value as text; integers of thousands of digits have none."""
    try:
        return repr(value)
    except ValueError:
        return f"<a {type(value).__name__} of too many digits>"


def known_difference(outcome: Outcome, expected, found, script: str, again) -> Outcome:
    """What the documentation says is another, and what no language defines, count as refused. again: runs it in NumPy."""
    chosen = any(word in script.split("def f(")[1] for word in (" if ", "min(", "max("))
    if outcome.kind == "dtype" and chosen and np.shape(expected) == np.shape(found) and np.allclose(expected, found, 1e-4):
        return Outcome("refused", "a number of another kind by path has the kind that holds all")
    if chosen and isinstance(expected, int) and np.asarray(found).dtype == np.float32:
        return Outcome("refused", "a number of another kind by path has the kind that holds all")
    if isinstance(found, ZeroDivisionError) and str(found) in ("float floor division by zero", "float modulo"):
        return Outcome("refused", "division by zero of Python's numbers in Python mode")
    if isinstance(found, ValueError) and "is complex" in str(found):
        return Outcome("refused", "fractional powers of negative numbers")
    if isinstance(expected, OverflowError) and "Numerical result out of range" in str(expected):
        return Outcome("refused", "a power of Python's floats that is too large is infinite")
    if isinstance(expected, TypeError) and "__round__" in str(expected):
        return Outcome("refused", "an array without axes is NumPy's number")
    if chosen and isinstance(expected, ValueError) and "negative shift count" in str(expected):
        return Outcome("refused", "a number of another kind by path has the kind that holds all")
    if outcome.kind == "value" and "dtype=np." in script and re.search(r"\d{10}", script):
        return Outcome("refused", "a sum in an integer dtype of floats that do not fit in it")
    if outcome.kind == "value":
        with warnings.catch_warnings(record=True) as told, np.errstate(invalid="warn"):
            warnings.simplefilter("always")
            again()
        if any("encountered in cast" in str(w.message) for w in told):
            return Outcome("refused", "a float that does not fit in an integer dtype")
    return outcome


def gradients(f, args) -> Outcome:
    """What comes back has the shapes and dtypes of what was given."""
    pulled = run(lambda *a: vjp(f, *a, mode="python"), args)
    if isinstance(pulled, AutodiffError):
        return Outcome("ok")
    if isinstance(pulled, Exception):
        return Outcome("failed", "vjp", repr(pulled))
    value, pull = pulled
    bars = run(lambda: pull(np.ones_like(value) if np.ndim(value) else 1.0), ())
    if isinstance(bars, Exception):
        return Outcome("failed", "pullback", repr(bars))
    for arg, bar in zip(args, bars, strict=True):
        floating = np.asarray(arg).dtype.kind == "f"
        if (bar is None) == floating or floating and (
                np.shape(bar) != np.shape(arg) or np.asarray(bar).dtype != np.asarray(arg).dtype.newbyteorder("=")):
            return Outcome("failed", "gradient", f"of {arg!r}: {bar!r}")
    return Outcome("ok", checks=("gradient",))


__all__ = ["attempt"]
