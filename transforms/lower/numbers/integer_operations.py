"""What NumPy and Python do with integers that the core language does not: their errors, their limits, their dtypes."""

from __future__ import annotations

import itertools
import math
import sys
from functools import partial

import numpy as np

from ...language.build import integer
from ...language.core import Const, Var
from ...language.errors import OutOfRange, TypeConflict
from ...language.ops import NARROW, OPS, PARTS, Narrow, exact, is_complex, is_inexact
from ..arrays.broadcasting import convert
from ..arrays.loop_nests import branch
from ..checks import EACH_AND_POWERS, NEGATIVE_POWER, add_check, checks_math, in_jitted_code, must, show_number
from ..state import Lowering
from ..values import Array, Scalar, Static, has_kinds, is_number, weak_of
from .conversions import as_value, cast, common_dtype, dtype_of, is_weak
from .integers import LARGEST, ROUNDED, in_range
from .kinds_on_paths import integers_or_floats, kinds_of, own_on_paths
from .overflow import CHECKED, WORD, Integers

KEEP_TRUTHS = ("add", "mul", "maximum", "minimum", "fmax", "fmin", "abs")           # of booleans, booleans


OLD_WORDS = sys.version_info < (3, 14)
WHERE_REFUSES = np.lib.NumpyVersion(np.__version__) >= "2.5.0"          # Python integers that do not fit


WIDE = {**dict.fromkeys(NARROW, "int64"), "float32": "float64", "complex64": "complex128"}       # Python's own numbers
OF_NO_BOOLEANS = ("sub", "neg", "sign", "pos")


def negated(builder, atom) -> bool:
    """Whether a number is written as `-n`."""
    op, args = builder.facts.definition.get(atom, ("", ()))
    return op == "neg" or op == "mul" and any(isinstance(a, Const) and a.value < 0 for a in args)


def is_numpys(target) -> bool:
    return getattr(np, getattr(target, "__name__", ""), None) is target


def float_of(lo: Lowering, name: str, *dtypes: str) -> str:
    """The dtype in which NumPy computes a floating-point function of integers of these dtypes."""
    if name == "reciprocal":
        raise lo.error(TypeConflict, "np.reciprocal of integers is an integer division", "write 1.0 / x")
    widths = [np.dtype(exact(d)).itemsize for d in dtypes]
    if name in ("div", "float_power", "sinc") or max(widths) > 2:
        return "float64"
    if max(widths) < 2:
        raise lo.error(TypeConflict, f"NumPy computes this function of {exact(dtypes[0])} in float16, which is not "
                       "supported", "convert it first: float(x), or x.astype(float)")
    return "float32"


def computed_in(lo: Lowering, name: str, dtype: str, values) -> str:
    """The common dtype of operands, or the one in which NumPy computes a floating-point function of these integers."""
    if OPS[name].kind != "float" or dtype not in ("int64", "bool") or name in ROUNDED:
        return dtype
    return float_of(lo, name, *([dtype_of(lo, v) for v in values if not is_weak(lo, v)] or ["int64"]))


def python_integer(lo: Lowering, name: str, atoms):
    """An operation on Python's integers, with Python's errors."""
    b = lo.b
    if name in ("floordiv", "mod") and not b.facts.at_least(atoms[1], 1):
        must(lo, b.compare("ne", atoms[1], integer(0)), "ZeroDivisionError", "integer modulo by zero" if name == "mod"
             else "integer division or modulo by zero" if OLD_WORDS else "integer division by zero")
    if name in ("lshift", "rshift") and not b.facts.at_least(atoms[1]):
        must(lo, b.compare("ge", atoms[1], integer(0)), "ValueError", "negative shift count")
        if isinstance(atoms[1], Const):             # what stands before may raise first: no number comes of it
            return integer(0)
    if name == "lshift" and isinstance(atoms[1], Const) and atoms[1].value >= 64:
        must(lo, b.compare("eq", atoms[0], integer(0)), "OverflowError", Integers.OWN.value)
    if name == "pow" and isinstance(atoms[1], Const) and atoms[1].value < 0:
        return power_as_float(lo, *atoms)
    if name == "pow" and not isinstance(atoms[1], Const) and not b.facts.at_least(atoms[1]):
        if lo.boundscheck == EACH_AND_POWERS or b.facts.at_most(atoms[1], integer(0)) or negated(b, atoms[1]):
            return power_as_float(lo, *atoms)
        b.start_again_unless(b.compare("ge", atoms[1], integer(0)), "ValueError", NEGATIVE_POWER, b.loc, "power")
    if name == "pow":
        made = power(lo, tuple(cast(lo, a, "int64") for a in atoms), "int64", "t", True)
    elif name == "lshift":                          # by 63 bits nothing fits: one operation, which one check covers
        value, count = (cast(lo, a, "int64") for a in atoms)
        made = b.let(name, b.let("word", value, dtype="int64"), b.imin(count, integer(63)), dtype="int64")
    else:
        made = lo.operate(name, atoms, "int64")
    if name in CHECKED and isinstance(made, Var) and made not in atoms:
        lo.python_integers[made] = Integers.OWN
    return made


def integer_by_path(lo: Lowering, name: str, atoms):
    """An operation on integers that are Python's own on one path and NumPy's on another: where the two differ, an error."""
    if name in ("lshift", "rshift") and not (isinstance(atoms[1], Const) and 0 <= atoms[1].value < 64):
        raise lo.error(TypeConflict, "the numbers of this shift may be Python's own or NumPy's, which differ for negative "
                       "counts and large ones", "convert them: int(...)")
    made = (lo.operate if all(isinstance(a, Const) for a in atoms) else partial(numpy_operation, lo))(name, atoms, "int64")
    if isinstance(made, Const) and not -WORD <= made.value < WORD:
        raise lo.error(OutOfRange, Integers.BY_PATH.value, "convert it: float(...)")
    if name in CHECKED and isinstance(made, Var) and made not in atoms:
        lo.python_integers[made] = Integers.BY_PATH
    return made


def wrapped(lo: Lowering, name: str, atoms, dtype: str):
    """An operation on constants that are NumPy's integers: what does not fit in 64 bits wraps."""
    base, exponent = (*atoms, None)[:2]
    if name == "pow" and exact(dtype) != "uint64" and exponent.value > 64:        # whose digits nobody needs
        made = Const(pow(base.value, exponent.value, 2 ** 64), dtype)
    else:
        made = lo.operate(name, atoms, dtype)
    if isinstance(made, Const) and exact(made.dtype) == "int64":
        return Const(in_range(int(made.value), "int64"), made.dtype)
    return made


def power_as_float(lo: Lowering, base, exponent):
    """A power of Python's integers that is a float for negative exponents, as a float whatever the exponent."""
    b = lo.b
    if not (isinstance(base, Const) and base.value) and not b.facts.at_least(base, 1):
        fine = b.let("or", b.compare("ne", base, integer(0)), b.compare("ge", exponent, integer(0)), dtype="bool")
        must(lo, fine, "ZeroDivisionError", "0.0 cannot be raised to a negative power")
    made = lo.operate("pow", tuple(cast(lo, a, "float64") for a in (base, exponent)), "float64")
    if not isinstance(exponent, Const):
        must(lo, b.compare("lt", b.let("abs", made, dtype="float64"), Const(np.inf, "float64")), "OverflowError",
             Integers.OWN.value)
    return made


def numpy_division(lo: Lowering, a, b):
    """The operands of `//` or `%` of NumPy's integers: 0 where the divisor is 0, in whatever way the program runs."""
    if b == integer(0):
        return b, Const(1, b.dtype)
    zero = lo.b.compare("eq", b, integer(0))
    if zero == Const(False, "bool") or lo.b.facts.at_least(b, 1):
        return a, b
    return (branch(lo, zero, lambda: Const(0, a.dtype), lambda: a),
            branch(lo, zero, lambda: Const(1, b.dtype), lambda: b))


def numpy_operation(lo: Lowering, name: str, atoms, dtype: str):
    """An operation of NumPy's numbers. The lowest integer by -1 wraps to itself, where compiled code has 0."""
    if name != "floordiv" or dtype != "int64":
        return lo.operate(name, atoms, dtype)
    a, b = (cast(lo, v, dtype) for v in atoms)
    if isinstance(b, Const):
        return lo.operate("neg", (a,), dtype) if b.value == -1 else lo.operate(name, (a, b), dtype)
    if lo.b.facts.at_least(b):
        return lo.operate(name, (a, b), dtype)
    return branch(lo, lo.b.compare("eq", b, integer(-1)), lambda: lo.operate("neg", (a,), dtype),
                  lambda: lo.operate(name, (a, b), dtype))


def whole_number(lo: Lowering, atom):
    """A number as Python's integer, which has 64 bits here."""
    b = lo.b
    if exact(atom.dtype) == "uint64":
        must(lo, b.compare("ge", cast(lo, atom, "int64"), integer(0)), "OverflowError", Integers.OWN.value)
    if atom.dtype.startswith("float") and checks_math(lo):
        atom = cast(lo, atom, "float64")
        must(lo, b.compare("eq", atom, atom), "ValueError", "cannot convert float NaN to integer")
        size = b.let("abs", atom, dtype="float64")
        must(lo, b.compare("ne", size, Const(np.inf, "float64")), "OverflowError",
             "cannot convert float infinity to integer")
        must(lo, b.compare("lt", size, Const(WORD, "float64")), "OverflowError", Integers.OWN.value)
    return as_value(lo, cast(lo, atom, "int64"))


def pythons_own(lo: Lowering, number):
    """The Python number equal to one of NumPy's."""
    atom = lo.atom(number)
    if exact(atom.dtype) == "uint64":
        return whole_number(lo, atom)
    kinds = frozenset((exact(WIDE.get(kind, kind)), True) for kind, _ in kinds_of(lo, number))
    return Scalar(cast(lo, atom, WIDE.get(exact(atom.dtype), atom.dtype)), True, kinds if len(kinds) > 1 else False)


def numpy_number(lo: Lowering, value, dtype: str):
    """`np.int8(value)` and its like."""
    if type(dtype) is Narrow and own_on_paths(lo, value) == (True, False):
        raise lo.error(TypeConflict, "this number is Python's own on one path and NumPy's on another, and "
                       f"np.{exact(dtype)} refuses the one where it wraps the other", "convert it first: int(...)")
    if dtype == "int64" and is_weak(lo, value) and dtype_of(lo, value) == "int64":
        check_fitting(lo, (value,), dtype)
    elif np.dtype(exact(dtype)).kind in "iu" and is_weak(lo, value) and dtype_of(lo, value) == "float64":
        atom, bounds = lo.atom(value), np.iinfo(exact(dtype))
        must(lo, lo.b.compare("eq", atom, atom), "ValueError", "cannot convert float NaN to integer")
        for op, bound in (("gt", bounds.min - 1.0), ("lt", bounds.max + 1.0)):
            must(lo, lo.b.compare(op, atom, Const(bound, "float64")), "OverflowError",
                 f"Python integer out of bounds for {bounds.dtype}")
    return Scalar(cast(lo, lo.atom(value), dtype))


def of_integers(lo: Lowering, target, args):
    """The operands of a function that treats integers in another way than the operation it stands for."""
    if isinstance(target, np.ufunc) and all(is_number(a) and not has_kinds(a) and dtype_of(lo, a) in (
            "int64", "bool") for a in args) and own_on_paths(lo, *args)[0]:
        args = [Scalar(lo.atom(a)) for a in args]             # which a ufunc makes NumPy's
    elif isinstance(target, np.ufunc) and all(map(is_number, args)) and (
            integers_or_floats(lo, args) or any(map(has_kinds, args)) and own_on_paths(lo, *args)[0]) and all(
            kind in WIDE.values() or kind == "bool" for a in args for kind, _ in kinds_of(lo, a)):
        args = [Scalar(lo.atom(a), is_weak(lo, a) and is_inexact(dtype_of(lo, a)), frozenset(
            (kind, False) for kind, _ in kinds_of(lo, a))) for a in args]
    if not is_numpys(target):
        args = as_taken(lo, target, args)
    if getattr(target, "__module__", "") == "math" and not (lo.integers_wrap or any(map(partial(in_jitted_code, lo),
                                                                                        lo.frames))):
        wide = {**WIDE, "uint64": "float64"}            # functions of Python's numbers, but in compiled code and kernels
        args = [Scalar(cast(lo, a.atom, wide[exact(a.dtype)]), True)
                if isinstance(a, Scalar) and exact(a.dtype) in wide else a for a in args]
    if target in (np.fabs, math.fabs):
        return [convert(lo, a, computed_in(lo, "sqrt", dtype_of(lo, a), (a,))) for a in args]
    return args


def fmod_of_integers(x1, x2, out=None, dtype=None):
    """The remainder with the sign of `x1`: that of `%`, which has the sign of `x2`, or one `x2` less."""
    rest = np.remainder(x1, x2, dtype=dtype)
    rest = np.where((rest != 0) & ((rest < 0) != (np.asarray(x1) < 0)), rest - x2, rest)
    return rest if out is None else np.add(rest, 0, out=out)


def whole_operands(lo: Lowering, args) -> bool:
    """Whether all operands are integers or truths, and their common dtype is one of integers."""
    return all(isinstance(a, (Array, Scalar, Static)) and dtype_of(lo, a) in ("int64", "bool") for a in args) and (
        common_dtype(lo, args) in ("int64", "bool"))


def as_taken(lo: Lowering, target, args):
    """What is given to a ufunc of floats, in the dtypes in which it takes it: integers as floats, and float32 as float64
    where it has no other loop for them all."""
    if not isinstance(target, np.ufunc) or len(args) != target.nin:
        return args
    own = {"bool": bool, "int64": int, "float64": float}
    kinds = [type(a.value) if isinstance(a, Static) else None if not isinstance(a, (Array, Scalar)) else
             own.get(dtype_of(lo, a)) if is_weak(lo, a) else np.dtype(exact(dtype_of(lo, a))) for a in args]
    if None in kinds:
        return args
    try:
        taken = target.resolve_dtypes((*kinds, *[None] * target.nout))
    except TypeError:                   # which the call says in its own words
        return args
    if np.dtype(np.float16) in taken:
        float_of(lo, "sqrt", "int8")
    return [convert(lo, a, taken[k].name) if taken[k].kind == "f" and isinstance(a, (Array, Scalar))
            and kinds[k] not in (taken[k], float) else a for k, a in enumerate(args)]


def check_operands(lo: Lowering, name: str, dtype: str, values) -> None:
    """What NumPy raises TypeError for, and Python integers that a narrow dtype cannot hold."""
    kind = OPS[name].kind
    if kind == "bits" and dtype not in ("int64", "bool"):
        raise lo.error(TypeConflict, f"unsupported operand types for `{OPS[name].text.format('x', 'y')}`: {dtype}",
                       "convert to integers first")
    if name in OF_NO_BOOLEANS and dtype == "bool" and any(isinstance(v, Array) and v.rank for v in values):
        raise lo.error(TypeConflict, f"`{OPS[name].text.format('x', 'y')}` of boolean arrays is an error in NumPy",
                       "use ^ or ~, or convert it: x.astype(int)")
    if dtype == "int64" and type(dtype) is not Narrow and any(
            isinstance(v, Static) and not -2 ** 63 <= v.value < 2 ** 63 for v in values):
        raise lo.error(TypeConflict, "a Python integer does not fit in 64 bits", "write it as a float")
    if type(dtype) is Narrow and kind not in ("compare", "float", "logic", "bool"):
        check_fitting(lo, values, dtype)


def narrow_choice(lo: Lowering, values) -> str | None:
    """The narrow dtype in whose range np.where wants Python's integers, as NumPy does from 2.5 on; before, they wrap."""
    if not WHERE_REFUSES or not all(is_number(v) or isinstance(v, Array) for v in values) or not any(
            is_weak(lo, v) and dtype_of(lo, v) == "int64" for v in values):
        return None
    dtype = common_dtype(lo, values)
    return dtype if type(dtype) is Narrow else None


def check_fitting(lo: Lowering, values, dtype: str) -> None:
    """Python's integers beside arrays of a narrow dtype must be in its range."""
    bounds = np.iinfo(exact(dtype))
    for v in values:
        if not is_weak(lo, v) or dtype_of(lo, v) != "int64":
            continue
        atom = lo.atom(v)
        if isinstance(atom, Const):
            if not bounds.min <= atom.value <= bounds.max:
                raise lo.error(OutOfRange, f"Python integer {atom.value} out of bounds for {bounds.dtype}",
                               "convert the array to a wider dtype first")
            continue
        for op, bound in (("ge", bounds.min), ("le", min(bounds.max, 2 ** 63 - 1))):
            if abs(bound) < 2 ** 63 - 1:
                must(lo, lo.b.compare(op, atom, integer(bound)), "OverflowError",
                     f"Python integer {show_number(lo, atom)} out of bounds for {bounds.dtype}")


def check_cast(lo: Lowering, target: Array, value, name: str) -> None:
    """Refuse `integers op= floats` and its like, as NumPy does."""
    value = value if is_number(value) else lo.array(value)
    if target.dtype not in ("int64", "bool") or has_kinds(value):
        return
    own, kind = exact(dtype_of(lo, value)), np.dtype(exact(target.dtype))
    made = np.result_type(kind, {"bool": True, "int64": 1, "float64": 1.0}.get(own, own) if is_weak(lo, value) else own)
    made = np.result_type(made, float) if name == "div" else made
    if not np.can_cast(made, kind, "same_kind"):
        raise lo.error(TypeConflict, f"cannot cast the result of an in-place operation from {made} to {kind}",
                       f"make the array {made} first: x = x.astype({'float' if made.name == 'float64' else made})")


def fitted(lo: Lowering, value, dtype: str):
    """The atom of a number in a dtype, which must be able to hold it if it is a Python integer."""
    if type(dtype) is Narrow:
        check_fitting(lo, (value,), dtype)
    return lo.atom(value, dtype)


# -- numbers of another kind by path ----------------------------------------------------------------------
def by_path(lo: Lowering, *values) -> tuple:
    """(dtype, weak, mixed) of a number that is one of these by the way the program goes, as `Scalar` has them.

    Integers of other kinds than Python's own and int64 wrap, each kind in its own way: they are held in int64.
    """
    kinds = frozenset().union(*map(partial(kinds_of, lo), values))
    dtype = common_dtype(lo, values)
    if dtype == "bool":
        return dtype, all(map(partial(is_weak, lo), values)), len(kinds) > 1
    if len(kinds) == 1 or not any(name in NARROW for name, _ in kinds):
        return dtype, all(map(partial(is_weak, lo), values)), kinds if len(kinds) > 1 else False
    if dtype == "float64" and all(np.dtype(name).kind in "iub" for name, _ in kinds):
        raise lo.error(TypeConflict, "a number is uint64 on one path and an integer with a sign on another",
                       "convert both: int(...)")
    return "int64" if exact(dtype) in NARROW and exact(dtype) != "uint64" else dtype, weak_of(kinds), kinds


def chosen(lo: Lowering, atom, sides) -> Scalar:
    """One of two numbers, in the dtype that holds both."""
    rows = itertools.product(*([Scalar(Const(0, NARROW.get(kind, kind)), weak) for kind, weak in kinds_of(lo, v)]
                               for v in sides))
    kinds = frozenset((exact(common_dtype(lo, row)), all(v.weak for v in row)) for row in rows)
    return Scalar(atom, all(map(partial(is_weak, lo), sides)), kinds if len(kinds) > 1 else False)


def after_kinds(lo: Lowering, name: str, made, operands) -> tuple:
    """(weak, mixed) of what an operation makes of operands of which some are of other kinds by path: the result is Python's
    own where all of them are, and an integer where it is one of theirs."""
    rows = list(itertools.product(*([Scalar(Const(0, NARROW.get(kind, kind)), weak) for kind, weak in kinds_of(lo, v)]
                                    for v in operands)))
    weak = {all(v.weak for v in row) for row in rows}
    if made.dtype == "bool":
        return (*weak, False) if len(weak) == 1 else (made.weak, True)
    if is_complex(made.dtype) or any(is_complex(v.dtype) for row in rows for v in row):
        return (*weak, False) if len(weak) == 1 else (made.weak, frozenset((exact(made.dtype), w) for w in weak))
    kinds = frozenset((exact(result_dtype(lo, name, common_dtype(lo, row), row)), all(v.weak for v in row)) for row in rows)
    return (weak.pop() if len(weak) == 1 else made.weak, kinds if len(kinds) > 1 else False)


def of_kinds(lo: Lowering, name: str, values) -> tuple:
    """Operands of which some are of other kinds by path: as numbers of the result's dtype, if all paths have one."""
    choices = [[Scalar(Const(0, NARROW.get(kind, kind)), weak) for kind, weak in kinds_of(lo, v)]
               if has_kinds(v) else [v] for v in values]
    if not any(name in NARROW for v in values if has_kinds(v) for name, _ in v.mixed):
        truths = [row for row in itertools.product(*choices) if all(dtype_of(lo, v) == "bool" for v in row)]
        if OPS[name].kind != "float" and not all(map(partial(is_weak, lo), itertools.chain(*truths))):
            raise lo.error(TypeConflict, "this number is one of NumPy's truths by the way the program goes, and "
                           f"`{OPS[name].text.format('x', 'y', 'z')}` of truths is not that of numbers",
                           "convert it: float(...)")
        return values
    found = {exact(result_dtype(lo, name, common_dtype(lo, row), row)) for row in itertools.product(*choices)}
    if len(found) > 1:
        kinds = sorted("Python's own" if weak else f"a NumPy {kind}" for v in values if has_kinds(v)
                       for kind, weak in v.mixed)
        which = " or ".join(dict.fromkeys(kinds))
        raise lo.error(TypeConflict, f"this number is {which} by the way the program goes, "
                       f"and `{OPS[name].text.format('x', 'y', 'z')}` differs for them", "convert it: int(...)")
    dtype = NARROW.get(*found, *found)
    return tuple(Scalar(fitted(lo, Scalar(v.atom, True), dtype)) if has_kinds(v) else v for v in values)


def check_exponent(lo: Lowering, exponent) -> None:
    """Integers to negative powers are an error in NumPy, and a float in Python."""
    if exact(exponent.dtype) != "uint64" and not lo.b.facts.at_least(exponent):
        add_check(lo, lo.b, lo.b.compare("ge", exponent, integer(0)), "ValueError",
                  "Integers to negative integer powers are not allowed.")


def integers_on_all_paths(lo: Lowering, *operands) -> None:
    """Powers of NumPy's integers may be errors where those of floats are not. Of integers that may all be Python's own the
    exponent is looked at when the program runs."""
    kinds = [{(np.dtype(name).kind in "iub", own) for name, own in kinds_of(lo, v)} for v in operands]
    exponent = lo.atom(operands[1]) if is_number(operands[1]) else None
    negative = isinstance(exponent, Const) and exponent.value < 0
    if any(not any(whole for whole, _ in k) for k in kinds) or not negative and all(
            any(own for _, own in k) and all(whole for whole, _ in k) for k in kinds):
        return
    for k in kinds:
        if len({whole and not own for whole, own in k}) > 1:
            raise lo.error(TypeConflict, "this number is an integer of NumPy's on one path and no such on another, and "
                           "powers differ for them", "convert it: float(...), int(...)")


def shift(lo: Lowering, name: str, a, s, dtype: str, hint: str):
    """A shift: by more bits than there are (or, for NumPy, by fewer than none), nothing is left."""
    b = lo.b
    if isinstance(s, Const) and 0 <= s.value < 64:
        return b.let(name, a, s, dtype=dtype, hint=hint)
    below = b.let("bitand", b.let("rshift", s, integer(63), dtype="int64"), integer(127), dtype="int64")
    s = b.let("bitor", b.let("bitand", s, LARGEST, dtype="int64"), below, dtype="int64")
    a = b.let("word", a, dtype=dtype)              # in Python too, it has no more than 64 bits
    most = b.let("min", s, integer(63), dtype="int64")
    if name == "rshift" and exact(dtype) != "uint64":
        return b.let(name, a, most, dtype=dtype, hint=hint)
    rest = b.let("min", b.let("sub", s, most, dtype="int64"), integer(1), dtype="int64")
    return b.let(name, b.let(name, a, most, dtype=dtype, hint=hint), rest, dtype=dtype, hint=hint)


def power(lo: Lowering, atoms, dtype, hint, checked: bool = False):
    base, exponent = atoms
    if isinstance(exponent, Const):
        if exponent.value == 2:
            return lo.b.let("mul", base, base, dtype=dtype, hint=hint)
        if exponent.value == 1:
            return cast(lo, base, dtype)
        if exponent.value == 0.5 and dtype != "int64":
            return lo.b.let("sqrt", base, dtype=dtype, hint=hint)
        if abs(exponent.value) < 2 ** 31 and exponent.value == int(exponent.value) and dtype != "int64":
            exponent = integer(int(exponent.value))
    if dtype == "int64" and not checked:
        check_exponent(lo, exponent)
        if isinstance(exponent, Const) and exponent.value < 0:
            return integer(0)                   # what follows the check has some number
    return lo.b.let("pow", base, exponent, dtype=dtype, hint=hint)


def result_dtype(lo: Lowering, name, dtype, values) -> str:
    kind = OPS[name].kind
    if kind in ("compare", "bool", "logic"):
        return "bool"
    if is_complex(dtype):
        return PARTS[dtype] if name == "abs" else dtype
    if name == "float_power":
        return "float64"
    dtype = computed_in(lo, name, dtype, values)
    keeps = name in ROUNDED or kind != "same" or name in KEEP_TRUTHS
    return dtype if dtype != "bool" or keeps else "int64"
