"""Operations on complex numbers in terms of their parts; `pairs.py` has those that a builder writes directly.

Functions that are not a line of products come from the registry: their value as a Python function of real and imaginary
parts, their derivative as one of complex numbers, joined by the Cauchy-Riemann equations.
"""

from __future__ import annotations

import cmath
from functools import partial

import numpy as np

from ...language.core import Const, Var
from ...language.errors import NonDifferentiable, TypeConflict, UnsupportedSyntax
from ...language.ops import OPS, PARTS, is_complex
from ..arrays.broadcasting import as_array, map_arrays
from ..arrays.layout import copied_when_written
from ..arrays.loop_nests import branch
from ..arrays.points import numpys_number, numpys_own
from ..state import Lowering
from ..table import lowers
from ..values import Array, Delayed, GrowList, Part, Scalar, Sequence, Static, Value, is_number, known_as, leaves
from .conversions import cast, dtype_of, is_weak, truth
from .integer_operations import as_taken
from .pairs import Complex, is_zero, parts_of

DIRECT = ("add", "sub", "mul", "neg", "sum")
POWERS = 100                    # exponents up to here are products, as in NumPy


def operate_complex(lo: Lowering, name: str, atoms, dtype: str, hint: str = "t"):
    """`operate` where a number is complex: the atom of the result, which may be real."""
    kind, part = OPS[name].kind, PARTS[dtype]
    if kind == "logic":
        return lo.b.let(name, *map(partial(truth, lo), atoms), dtype="bool", hint=hint)
    atoms = [cast(lo, a, dtype) for a in atoms]
    if name in ("eq", "ne"):
        return lo.b.compare(name, *atoms)
    if kind == "compare":
        raise lo.error(NonDifferentiable, "complex numbers have no order", "compare np.abs(z), z.real or z.imag")
    if name in ("isnan", "isinf", "isfinite"):
        re, im = (lo.operate(name, (p,), part) for p in parts_of(atoms[0]))
        return lo.b.let("and" if name == "isfinite" else "or", re, im, dtype="bool", hint=hint)
    if name in DIRECT:
        return lo.b.let(name, *atoms, dtype=dtype, hint=hint)
    match name:
        case "pos":
            return atoms[0]
        case "square":
            return lo.b.let("mul", atoms[0], atoms[0], dtype=dtype, hint=hint)
        case "abs":
            return lo.operate("hypot", parts_of(atoms[0]), part, hint)
        case "div" if is_zero(parts_of(atoms[1])[1]):
            (re, im), by = parts_of(atoms[0]), parts_of(atoms[1])[0]
            return Complex(lo.b.let("div", re, by, dtype=part, hint=hint),
                           im if is_zero(im) else lo.b.let("div", im, by, dtype=part, hint=hint))
        case "div" if atoms[0] == Const(1 + 0j, dtype):
            return holomorphic(lo, "reciprocal", atoms[1:], dtype)
        case "pow" | "float_power":
            return complex_power(lo, atoms[0], atoms[1], dtype, hint)
    return holomorphic(lo, name, atoms, dtype)


def complex_power(lo: Lowering, base, exponent, dtype, hint):
    re, im = parts_of(exponent)
    value = complex(re.value, im.value) if isinstance(re, Const) and isinstance(im, Const) else None
    if value is not None and value == 0.5:
        return operate_complex(lo, "sqrt", (base,), dtype, hint)
    if value is not None and value == int(value.real) and abs(value) <= POWERS:
        count = int(value.real)
        power = repeated_product(lo, base, abs(count), dtype)
        return power if count >= 0 else operate_complex(lo, "reciprocal", (power,), dtype, hint)
    return holomorphic(lo, "pow", (base, exponent), dtype)


def repeated_product(lo: Lowering, base, count: int, dtype):
    result = None
    while count:
        if count % 2:
            result = base if result is None else lo.b.let("mul", result, base, dtype=dtype)
        count //= 2
        base = lo.b.let("mul", base, base, dtype=dtype) if count else base
    return Const(1.0, dtype) if result is None else result


def holomorphic(lo: Lowering, name: str, atoms, dtype: str):
    """A function whose value and derivative the registry knows."""
    value, slopes = lo.registry.complex_functions.get(name, (None, None)) if lo.registry else (None, None)
    if value is None:
        raise lo.error(UnsupportedSyntax, f"`{name}` of complex numbers is not supported",
                       "work with real and imaginary parts: z.real, z.imag")
    parts = [Scalar(p) for a in atoms for p in parts_of(a)]
    re, im = known_as(Sequence, lo.call_python(value, parts, {})).items
    result = Complex(lo.atom(re, PARTS[dtype]), lo.atom(im, PARTS[dtype]))
    given = [a for a in atoms if any(isinstance(p, Var) for p in parts_of(a))]
    for _ in range(2 if given and slopes is not None else 0):      # a slope that reads the value reads a linked one
        made = lo.call_python(slopes, [Scalar(result), *map(Scalar, atoms)], {})
        found = known_as(Sequence, made).items if len(atoms) > 1 else (made,)
        pairs = [x for s, a in zip(found, atoms, strict=True) if a in given for x in (lo.atom(s, dtype), a)]
        result = lo.b.let("link", result, *pairs, dtype=dtype)
    return result


# -- parts ------------------------------------------------------------------------------------------------
def part(lo: Lowering, value: Value, name: str) -> Value:
    """`value.real` or `value.imag` of a number or array: a view of a complex array, which can be written."""
    which = ("real", "imag").index(name)
    if isinstance(value, Array):
        if is_complex(value.dtype):
            return Part(value, which)
        return value if which == 0 else map_arrays(lo, lambda lo, atoms: zero_of(value.dtype), (value,), value.dtype)
    dtype, weak = dtype_of(lo, value), is_weak(lo, value)
    if is_complex(dtype):
        return Scalar(parts_of(lo.atom(value))[which], weak)
    if dtype == "bool" and weak:                    # Python's own bool: its parts are integers
        dtype, value = "int64", Scalar(lo.atom(value, "int64"), True)
    return value if which == 0 else Scalar(zero_of(dtype), weak)


def has_complex(lo: Lowering, values) -> bool:
    """Whether one of these values is complex or holds something complex."""
    for value in values:
        for leaf in leaves(value):
            if isinstance(leaf, GrowList):
                leaf = lo.array(leaf)
            if (isinstance(leaf, (Array, Scalar)) or is_number(leaf)) and is_complex(dtype_of(lo, leaf)):
                return True
    return False


def zero_of(dtype: str) -> Const:
    return Const({"bool": False, "int64": 0}.get(dtype, 0.0), dtype)


def operand(lo, x) -> Value:
    return x if is_number(x) else as_array(lo, x)


@lowers(np.real)
def lower_real(lo, val):
    return part(lo, operand(lo, val), "real")


@lowers(np.imag)
def lower_imag(lo, val):
    return part(lo, operand(lo, val), "imag")


@lowers(np.conjugate)
def lower_conjugate(lo, x):
    x = operand(lo, x)
    if not is_complex(dtype_of(lo, x)):
        return copied_when_written(lo, x) if isinstance(x, Array) and x.rank else numpys_number(lo, x)
    return conjugated(lo, x)


def conjugate_of(x):
    """`x.conj()`, of arrays: real ones as they are, the same memory."""
    return np.conjugate(x) if np.iscomplexobj(x) else x


@lowers(conjugate_of)
def lower_conjugate_of(lo, x):
    x = operand(lo, x)
    return conjugated(lo, x) if is_complex(dtype_of(lo, x)) else x


def conjugated(lo, x):
    """The conjugate of what is complex."""
    def conjugate(lo, atom):
        re, im = parts_of(atom)
        return Complex(re, lo.b.let("neg", im, dtype=im.dtype))
    if is_number(x):
        return Scalar(conjugate(lo, lo.atom(x)), is_weak(lo, x))
    made = map_arrays(lo, lambda lo, atoms: conjugate(lo, atoms[0]), (x,), x.dtype)
    if isinstance(made, Delayed):
        made.conjugate_of = x
    return made


@lowers(np.angle)
def lower_angle(lo, z, deg=Static(False)):
    """The argument. That of 0 has derivative 0, as torch has it."""
    z = operand(lo, z)
    dtype = dtype_of(lo, z)
    scale = Static(180.0 / np.pi if deg.value else 1.0)
    if not is_complex(dtype):
        return numpys_own(lo, np.angle, lo.call_static(angle_of_real, [*as_taken(lo, np.sqrt, [z]), deg], {}))

    def angle(lo, atom):
        (x, y), part = parts_of(atom), PARTS[dtype]
        away = lo.b.compare("ne", atom, Const(0.0, dtype))
        stop = lambda p: lo.b.let("stop", p, dtype=part)  # noqa: E731
        found = branch(lo, away, lambda: lo.operate("arctan2", (y, x), part),
                       lambda: lo.operate("arctan2", (stop(y), stop(x)), part), "angle")
        return lo.operate("mul", (found, lo.atom(scale, part)), part) if deg.value else found
    if is_number(z):
        return Scalar(angle(lo, lo.atom(z)), is_weak(lo, z))
    result = map_arrays(lo, lambda lo, atoms: angle(lo, atoms[0]), (z,), PARTS[dtype])
    result.dear = True
    return result


def angle_of_real(z, deg):
    return np.where(np.signbit(z), 180.0 if deg else np.pi, np.zeros_like(z))


@lowers(complex)
def lower_complex(lo, real=Static(0.0), imag=None):
    if imag is None:
        imag = Static(0.0)
        if isinstance(real, Static):
            return Static(complex(real.value))
    if isinstance(real, Static) and isinstance(imag, Static):
        return Static(complex(real.value, imag.value))
    if not (isinstance(real, Array) and real.rank == 0 or is_number(real)) or not (
            isinstance(imag, Array) and imag.rank == 0 or is_number(imag)):
        raise lo.error(TypeConflict, "complex() takes numbers", "of arrays: x + 1j * y")
    i = lo.b.let("mul", lo.atom(imag, "complex128"), Const(1j, "complex128"), dtype="complex128")
    return Scalar(lo.b.let("add", lo.atom(real, "complex128"), i, dtype="complex128"), True)


def of_number(op: str):
    """A function of cmath: its argument is made complex first."""
    def lower(lo, z):
        return Scalar(lo.operate(op, (lo.atom(z, "complex128"),), "complex128"), True)
    return lower


for _name, _op in [*((name, name) for name in ("exp", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "isnan",
                                               "isinf", "isfinite")),
                   ("asin", "arcsin"), ("acos", "arccos"), ("atan", "arctan"), ("asinh", "arcsinh"), ("acosh", "arccosh"),
                   ("atanh", "arctanh")]:
    lowers(getattr(cmath, _name))(of_number(_op))


@lowers(cmath.log)
def lower_log(lo, z, base=None):
    log = of_number("log")(lo, z)
    return log if base is None else lo.elementwise("div", log, of_number("log")(lo, base))


@lowers(cmath.phase)
def lower_phase(lo, z):
    return lower_angle(lo, Scalar(lo.atom(z, "complex128"), True))


@lowers(cmath.polar)
def lower_polar(lo, z):
    return Sequence((of_number("abs")(lo, z), lower_phase(lo, z)))


@lowers(cmath.rect)
def lower_rect(lo, r, phi):
    parts = (lo.elementwise("mul", r, lo.elementwise(name, phi)) for name in ("cos", "sin"))
    return lower_complex(lo, *parts)


@lowers(np.iscomplexobj)
def lower_iscomplexobj(lo, x):
    return Static(has_complex(lo, (x,)))


@lowers(np.isrealobj)
def lower_isrealobj(lo, x):
    return Static(not has_complex(lo, (x,)))


@lowers(np.iscomplex)
def lower_iscomplex(lo, x):
    return lo.elementwise("ne", lower_imag(lo, x), Static(0))


@lowers(np.isreal)
def lower_isreal(lo, x):
    return lo.elementwise("eq", lower_imag(lo, x), Static(0))
