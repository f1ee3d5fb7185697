"""Array expressions: element functions, broadcasting, loop nests, assignment and reduction."""

from __future__ import annotations

import collections
from functools import partial

from ...language.build import integer
from ...language.core import Atom, Const, Ref
from ...language.errors import TypeConflict, UnsupportedSyntax
from ...language.ops import EXPENSIVE, NARROW, OPS, Narrow, exact, is_complex
from ..containers.series import series_array
from ..numbers.complex_numbers import operate_complex
from ..numbers.conversions import cast, common_dtype, dtype_of, is_weak, of_truths, truth
from ..numbers.integer_operations import (
    KEEP_TRUTHS,
    after_kinds,
    check_operands,
    chosen,
    computed_in,
    float_of,
    integer_by_path,
    integers_on_all_paths,
    numpy_division,
    numpy_operation,
    of_kinds,
    power,
    python_integer,
    result_dtype,
    shift,
    wrapped,
)
from ..numbers.integers import ROUNDED, fits
from ..numbers.kinds_on_paths import integers_or_floats, may_be_integers, may_wrap, one_kind_beside_integers, own_on_paths
from ..numbers.pairs import Complex
from ..state import Lowering
from ..structures import describe
from ..syntax.alternatives import settled
from ..values import (
    Array,
    Buffer,
    Delayed,
    GrowList,
    Mapping,
    Part,
    Range,
    Record,
    Scalar,
    Sequence,
    Series,
    Static,
    Table,
    Transposed,
    Undefined,
    Value,
    View,
    as_range,
    as_tuple,
    has_kinds,
    is_number,
    leaves,
)
from .broadcasting import as_array, broadcast_shapes, broadcast_to, map_arrays, scalar_array, stack_items
from .loop_nests import branch
from .memory import delayed, force

UNINDEXED = "shape mismatch: indexing arrays could not be broadcast"
SMALL = ("floordiv", "mod", "pow", "square", "lshift", "rshift")                    # of booleans, int8


# -- scalars ----------------------------------------------------------------------------------------------
def atom(lo: Lowering, value: Value, dtype: str | None = None):
    """The core atom of a number, cast to `dtype` if given."""
    value = settled(lo, value, "a number")
    if isinstance(value, Array) and value.rank == 0:
        value = Scalar(value.element(lo, ()))
    atom: Atom | Complex
    if isinstance(value, Static):
        v = value.value
        if isinstance(v, bool):
            atom = Const(v, "bool")
        elif isinstance(v, int):
            atom = integer(v)
        elif isinstance(v, float):
            atom = Const(v, "float64")
        elif isinstance(v, complex):
            atom = Const(v, "complex128")
        else:
            raise lo.error(TypeConflict, f"a number is needed here, not {describe(value)}")
    elif isinstance(value, Scalar):
        atom = value.atom
    else:
        raise not_one(lo, value, "a number")
    return cast(lo, atom, dtype) if dtype else atom


def operate(lo: Lowering, name: str, atoms, dtype: str, hint: str = "t"):
    """One scalar operation on atoms whose computation type is `dtype` (before comparison or float promotion)."""
    if is_complex(dtype):
        return operate_complex(lo, name, atoms, dtype, hint)
    kind = OPS[name].kind
    if kind == "compare" and all(a.dtype in ("int64", "bool") for a in atoms):      # exact, whatever the signs
        return lo.b.let(name, *(a if a.dtype == "int64" else cast(lo, a, "int64") for a in atoms), dtype="bool",
                        hint=hint)
    if dtype in ("int64", "bool") and name in ROUNDED:
        return cast(lo, atoms[0], dtype)
    if kind == "float" and dtype in ("int64", "bool"):
        dtype = float_of(lo, name, dtype)
    if kind == "same" and dtype == "bool":
        dtype = "int64"
        if name == "abs":
            return cast(lo, atoms[0], "bool")
        if name in KEEP_TRUTHS and all(a.dtype == "bool" for a in atoms):
            name, dtype = ("or" if name in ("add", "maximum", "fmax") else "and"), "bool"
    if kind == "logic":
        atoms = tuple(truth(lo, a) for a in atoms)
        return lo.b.let(name, *atoms, dtype="bool", hint=hint)
    if kind == "bits" and dtype == "bool":
        name = {"bitand": "and", "bitor": "or", "bitxor": "xor", "invert": "not"}.get(name, name)
        return lo.b.let(name, *atoms, dtype="bool", hint=hint)
    atoms = tuple(a if fits(a.dtype, dtype) else cast(lo, a, dtype) for a in atoms)
    if name in ("lshift", "rshift"):
        return shift(lo, name, atoms[0], atoms[1], dtype, hint)
    result = {"compare": "bool", "bool": "bool"}.get(kind, dtype)
    if name == "square":
        return lo.b.let("mul", atoms[0], atoms[0], dtype=dtype, hint=hint)
    if name == "pos":
        return cast(lo, atoms[0], dtype)
    if name == "reciprocal":
        return lo.b.let("div", Const(1.0, dtype), atoms[0], dtype=dtype, hint=hint)
    if name == "float_power":
        name, dtype = "pow", "float64"
        atoms = tuple(cast(lo, a, dtype) for a in atoms)
    if name == "pow":
        return power(lo, atoms, dtype, hint)
    if name in ("maximum", "minimum", "fmax", "fmin") and dtype == "int64":
        let = lo.b.let_anew if any(may_wrap(lo, a) for a in atoms) else lo.b.let
        return let("max" if "max" in name else "min", *atoms, dtype=dtype, hint=hint)
    return lo.b.let(name, *atoms, dtype=result, hint=hint)


# -- shapes -----------------------------------------------------------------------------------------------


# -- arrays from values -----------------------------------------------------------------------------------
def array(lo: Lowering, value: Value) -> Array:
    """Any number, array or nested sequence as an array."""
    value = as_tuple(settled(lo, value))
    if isinstance(value, Array):
        return value
    if is_number(value):
        return scalar_array(lo, value)
    if isinstance(value, GrowList):
        items = Buffer(value.arr)
        return View(items, (value.count, *items.shape[1:]), lambda lo, i: i)
    if isinstance(value, Table):
        if any(isinstance(part, (Sequence, Mapping, Record)) for part in getattr(value.row, "items", (value,))) or any(
                Buffer(column.arr).rank > 1 for column in value.columns):
            raise lo.error(TypeConflict, "an array is needed here, not a list of tuples of different parts",
                           "build a separate list for each part")
        return Transposed(stack_items(lo, [lo.array(column) for column in leaves(value)]))
    if isinstance(value, Sequence):
        return stack_items(lo, [lo.array(v) for v in value.items])
    if isinstance(value, Series):
        return series_array(lo, value)
    if isinstance(value, Record) and getattr(value.cls, "stands_for", None) is collections.deque:
        return lo.array(value.fields["items"])
    if isinstance(as_range(value), Range):
        return as_array(lo, value)
    raise not_one(lo, value, "an array")


def not_one(lo: Lowering, value: Value, wanted: str) -> Exception:
    """The refusal of a value where a number or an array is needed."""
    if isinstance(value, Undefined) and value.why:
        return lo.error(TypeConflict, value.why, "give it one shape on all paths, or a copy of one size")
    passing = isinstance(value, Static) and hasattr(type(value.value), "__next__")
    return lo.error(TypeConflict, f"{wanted} is needed here, not {describe(value)}",
                    "make a list or an array of its items outside" if passing else "")


# -- expressions ------------------------------------------------------------------------------------------


def elementwise(lo: Lowering, name: str, *values: Value) -> Value:
    """A scalar operation applied with broadcasting; scalars stay scalars."""
    made = operated(lo, name, values)
    if isinstance(made, Scalar) and any(v.mixed or isinstance(v, Array) and may_be_integers(lo, v) for v in values):
        made.weak, made.mixed = after_kinds(lo, name, made, values)
    return made


def operated(lo: Lowering, name: str, values: tuple) -> Value:
    values = tuple(Static(v.value.item()) if isinstance(v, Static) and hasattr(v.value, "dtype")
                   and getattr(v.value, "ndim", 1) == 0 and v.value.dtype.kind in "iufcb"
                   and v.value.dtype not in ("float32", "complex64") else v for v in values)
    values = tuple(v if is_number(v) else lo.array(v) for v in values)
    if name == "pow" and may_be_negative(lo, values[1]):
        integers_on_all_paths(lo, *values)
    if OPS[name].kind not in ("compare", "bool", "logic") and any(map(has_kinds, values)):
        values = of_kinds(lo, name, values)
    if name in ("floordiv", "mod") or any(type(v.dtype) is Narrow for v in values if isinstance(v, Array)):
        one_kind_beside_integers(lo, name, values)
    dtype = common_dtype(lo, values)
    if dtype == "bool" and OPS[name].kind in ("same", "float", "bits"):
        values, dtype = of_truths(lo, name, values)
        dtype = NARROW["int8"] if dtype == "bool" and name in SMALL else dtype
    check_operands(lo, name, dtype, values)
    dtype = computed_in(lo, name, dtype, values)
    if all(is_number(v) or (isinstance(v, Array) and v.rank == 0) for v in values):
        atoms = tuple(lo.atom(v) for v in values)
        weak = all(map(partial(is_weak, lo), values))
        if weak and dtype == "int64":
            return Scalar(python_integer(lo, name, atoms), True)
        if dtype == "int64" and own_on_paths(lo, *values)[0]:
            return Scalar(integer_by_path(lo, name, atoms))
        if name in ("floordiv", "mod") and dtype == "int64":
            atoms = numpy_division(lo, *(cast(lo, a, dtype) for a in atoms))
        if dtype == "int64" and not weak and all(isinstance(a, Const) for a in atoms):
            return Scalar(wrapped(lo, name, atoms, dtype))
        return Scalar(lo.operate(name, atoms, dtype) if weak else numpy_operation(lo, name, atoms, dtype), weak)
    def element(lo, atoms):
        if name in ("floordiv", "mod") and dtype == "int64":
            atoms = numpy_division(lo, *(cast(lo, a, dtype) for a in atoms))
        return numpy_operation(lo, name, atoms, dtype)
    result = map_arrays(lo, element, values,
                        result_dtype(lo, name, dtype, values))
    result.dear |= name in EXPENSIVE
    result.integers_by_path = OPS[name].kind not in ("float", "compare", "bool", "logic") and integers_or_floats(lo, values)
    if name == "pow" and dtype == "int64" and may_be_negative(lo, values[1]):
        return force(lo, result)            # which NumPy refuses whatever is read of it
    return result


def may_be_negative(lo: Lowering, x: Value) -> bool:
    x = Static(x.atom.value) if isinstance(x, Scalar) and isinstance(x.atom, Const) else x
    if isinstance(x, Static):
        return isinstance(x.value, (int, float)) and x.value < 0
    return exact(dtype_of(lo, x))[0] != "u"


def choose_elements(lo: Lowering, cond: Value, x: Value, y: Value) -> Value:
    """Elementwise choice; only the chosen side is evaluated."""
    values = tuple(v if is_number(v) else lo.array(v) for v in (cond, x, y))
    dtype = common_dtype(lo, values[1:])
    if not any(isinstance(v, Array) and v.rank for v in values):
        c, *sides = values
        atom = branch(lo, truth(lo, lo.atom(c)), lambda: cast(lo, lo.atom(sides[0]), dtype),
                      lambda: cast(lo, lo.atom(sides[1]), dtype))
        return chosen(lo, atom, sides)
    c, a, b = (v if isinstance(v, Array) else scalar_array(lo, v) for v in values)
    shape = broadcast_shapes(lo, [c.shape, a.shape, b.shape])
    cv, av, bv = (broadcast_to(lo, v, shape) if v.rank else v for v in (c, a, b))
    pick = lambda v, index: index if v.rank else ()  # noqa: E731
    def element(lo, index):
        return branch(lo, truth(lo, cv.element(lo, pick(cv, index))),
                      lambda: cast(lo, av.element(lo, pick(av, index)), dtype),
                      lambda: cast(lo, bv.element(lo, pick(bv, index)), dtype))
    made = delayed(lo, shape, dtype, element, (c, a, b))
    made.elementwise = True
    return made


def as_ref(lo: Lowering, value: Array):
    """An operand of a library call: memory as it lies if possible, else a copy. Complex ones are refused: a call that
    takes them says so, and reads the last axis with the parts."""
    if exact(value.dtype) == "uint64":
        raise lo.error(TypeConflict, "this function is not supported for uint64", "convert it: x.astype(np.int64)")
    if is_complex(value.dtype):
        raise lo.error(UnsupportedSyntax, "this function is not supported for complex arrays",
                       "write it with functions that are, or on real and imaginary parts")
    if isinstance(value, Delayed) and value.forced is not None:
        value = value.forced
    if isinstance(value, Buffer):
        return Ref(value.arr)
    if isinstance(value, Transposed):
        inner = as_ref(lo, value.source)
        if len(inner.shape) == 2:
            return Ref(inner.array, inner.prefix, not inner.transposed)
        return Ref(force(lo, value, copy=True).arr)
    if isinstance(value, View) and value.prefix is not None:
        source = value.source.forced if isinstance(value.source, Delayed) else value.source
        if isinstance(source, Buffer):
            return Ref(source.arr, value.prefix)
        if isinstance(source, View) and source.prefix is not None:
            inner = as_ref(lo, source)
            return Ref(inner.array, inner.prefix + value.prefix)
    return Ref(force(lo, value).arr)


def pairs_ref(lo: Lowering, value: Array):
    """A complex operand of a library call that reads its parts along a last axis: memory as it lies, or a copy."""
    value = value.forced if isinstance(value, Delayed) and value.forced is not None else value
    if isinstance(value, View) and not isinstance(value, Part) and value.prefix is not None:
        source = value.source.forced if isinstance(value.source, Delayed) else value.source
        if isinstance(source, Buffer):
            return Ref(source.arr, value.prefix)
    return Ref(force(lo, value).arr)
