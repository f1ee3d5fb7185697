"""What may run while a program is lowered: calls that depend on their arguments alone and change nothing.

Any other call of something without Python source would be frozen: a clock, a file, the environment, the state of an iterator
would be read once, while compiling. It is refused.
"""

from __future__ import annotations

import builtins
import cmath
import collections
import datetime
import decimal
import enum
import itertools
import math
import operator
import sys
import types
from array import array as packed

import numpy as np

from ...language.errors import AutodiffError, MissingRule, TypeConflict, UnsupportedSyntax
from ..checks import sure_to_raise
from ..needs import NeedsStatic
from ..state import Lowering
from ..syntax.texts import name_of
from ..table import lowers
from ..values import Mapping, Record, Scalar, Sequence, Static, Value, known_as
from .outside import class_of, special
from .places import followed

FIXED = frozenset({
    bool, int, float, complex, str, bytes, range, slice, type(None), type(...), type(NotImplemented), np.finfo, np.iinfo,
    decimal.Decimal, datetime.date, datetime.datetime, datetime.time, datetime.timedelta,
    datetime.timezone, operator.itemgetter, operator.attrgetter, operator.methodcaller, np.ufunc})
OF_FIXED = (type, types.ModuleType, types.FunctionType, types.MethodType, types.BuiltinFunctionType, np.dtype, np.generic,
            enum.Enum)
HOLDERS = (tuple, list, dict, frozenset, set, collections.deque, bytearray, packed)     # whose changes a call notices
READING = frozenset({"__contains__", "__getitem__", "__len__", "copy", "count", "difference", "get", "index", "intersection",
                     "isdisjoint", "issubset", "issuperset", "items", "keys", "symmetric_difference", "union", "values"})
ITERATORS = (itertools.accumulate, itertools.compress, itertools.dropwhile, itertools.islice, itertools.pairwise,
             itertools.starmap, itertools.takewhile, itertools.zip_longest)
CONSTRUCTORS = FIXED | {*HOLDERS[:5], type, np.dtype, *ITERATORS}
OF_ANYTHING = frozenset({type, isinstance, issubclass, callable, operator.is_, operator.is_not})
FUNCTIONS = frozenset({
    *(getattr(builtins, name) for name in (
        "abs", "all", "any", "ascii", "bin", "callable", "chr", "divmod", "format", "hex", "isinstance", "issubclass", "len",
        "max", "min", "oct", "ord", "pow", "repr", "round", "sorted", "sum")),
    *(f for space in (math, cmath, operator) for f in vars(space).values() if isinstance(f, types.BuiltinFunctionType)),
    np.can_cast, np.min_scalar_type, np.promote_types, np.result_type, dict.fromkeys, int.from_bytes, float.fromhex,
    bytes.fromhex, str.maketrans, datetime.date.fromisoformat, datetime.datetime.fromisoformat})
SCIENTIFIC = ("numpy", "scipy", "autodiff")                 # whose objects are taken to compute, and to read nothing
DESIGNS = ("scipy.signal._filter_design", "scipy.signal._fir_filter_design", "scipy.signal._savitzky_golay",
           "scipy.signal.windows", "scipy.linalg._special_matrices", "scipy.special._orthogonal", "scipy.special._basic",
           "numpy.polynomial")
                                                            # modules of tables that are computed from a few numbers
OF_COUNTS = ("bernoulli", "euler", "factorial2", "factorialk", "stirling2", "jn_zeros", "jnp_zeros", "yn_zeros", "ai_zeros")
OUTSIDE = "call it outside and pass the result as an argument"
A_SET = "a set that changes is not supported", "use a dict with its items as keys: seen[k] = True, k in seen"
REFLECTED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
SAID = {"breakpoint": "remove it, or step through the generated code with mode='python'",
        "next": "loop over it, or use an index that counts", "iter": "loop over the object itself",
        "setattr": "use a local variable, or a dataclass created in the function",
        "delattr": "use a local variable, or a dataclass created in the function"}


def is_fixed(value) -> bool:
    """Whether nobody can change an object unnoticed, and its methods depend on it alone."""
    if type(value) in HOLDERS:
        return all(map(is_fixed, value.values() if isinstance(value, dict) else value))
    if isinstance(value, BaseException):
        return type(value).__str__ in (BaseException.__str__, KeyError.__str__) and is_fixed(value.args)
    return type(value) in FIXED or is_fraction(type(value)) or isinstance(value, OF_FIXED) or (
        of_science(type(value)) and not followed(type(value)))


def alike(a, b) -> bool:
    """Whether two fixed values are the same: of one class, zeros by their sign and nan by nan."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (float, complex, np.inexact)):
        return repr(a) == repr(b)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(alike, a, b))
    return bool(a == b)


def is_fraction(cls: type) -> bool:
    """Whether a class is Fraction, whose module is not imported for this."""
    return cls is getattr(sys.modules.get("fractions"), "Fraction", None)


def of_science(cls: type) -> bool:
    """Whether a class is one of NumPy's or SciPy's that computes."""
    top, _, rest = (cls.__module__ or "").partition(".")
    return top in SCIENTIFIC and rest.partition(".")[0] not in ("io", "random") and cls is not np.memmap and not hasattr(
        cls, "__next__")


def is_pure(target) -> bool:
    """Whether a call of `target` with fixed arguments gives what depends on them alone, and changes nothing."""
    if isinstance(target, type):
        return target in CONSTRUCTORS or is_fraction(target) or of_science(target) or issubclass(
            target, (np.generic, BaseException, enum.Enum))
    owner = getattr(target, "__self__", None)
    if isinstance(target, (types.BuiltinFunctionType, types.MethodWrapperType)) and not isinstance(
            owner, (type, types.ModuleType, type(None))):
        return is_fixed(owner) and (not isinstance(owner, HOLDERS[1:]) or target.__name__ in READING)
    if isinstance(target, (types.MethodDescriptorType, types.WrapperDescriptorType)):
        return target.__objclass__ in FIXED or target.__name__ in READING
    return type(target) in FIXED or target in FUNCTIONS or (getattr(target, "__module__", None) or "").startswith(
        ("scipy.constants.", *DESIGNS))


def table_now(lo: Lowering, target, args, kwargs) -> Value | None:
    """A table of numbers (nodes and weights, coefficients of a filter) that a call gives by numbers and options known now;
    None of any other call."""
    home, name = getattr(target, "__module__", None) or "", getattr(target, "__name__", "")
    if not (isinstance(target, types.FunctionType) and home.startswith(DESIGNS)):
        return None
    if home.startswith("numpy.polynomial") and not name.endswith("gauss") or home.endswith("_orthogonal") and not (
            name.startswith("roots_") or name.endswith("_roots")):
        return None
    if home == "scipy.special._basic" and name not in OF_COUNTS:
        return None
    values = (*args, *kwargs.values())
    if all(map(known_now, values)):
        return call_now(lo, target, args, kwargs)
    counts = [v for v in values if isinstance(v, Scalar) and v.dtype.startswith("int")]
    if counts and all(known_now(v) or v in counts for v in values):
        raise NeedsStatic(lo.error(TypeConflict, f"what `{name_of(target)}` is given must be known before the program runs",
                                   OUTSIDE), counts[0])
    return None


def known_now(value: Value) -> bool:
    """Whether a value is a number or an option known before the program runs, or a list of such."""
    if isinstance(value, Sequence):
        return all(map(known_now, value.items))
    return isinstance(value, Static) and (value.value is None or isinstance(value.value, (bool, int, float, complex, str,
                                                                                         np.generic)))


def call_now(lo: Lowering, target, args, kwargs) -> Value:
    """What a call gives whose arguments are known now: of operators on functions, and of what is known to be pure."""
    if target is type and len(args) == 1:
        class_of(lo, args[0].value if isinstance(args[0], Static) else None)
    if any(map(has_record, (*args, *kwargs.values()))):
        raise no_rule(lo, target)
    given, named = [*map(python_value, args)], {k: python_value(v) for k, v in kwargs.items()}
    if not getattr(target, "__autodiff_operator__", False) and not (is_pure(target) and (
            target in OF_ANYTHING or all(map(is_fixed, (*given, *named.values()))))):
        raise impure(lo, target)
    try:
        made = target(*given, **named)
    except Exception as e:
        raise said_by_python(lo, target, e) from e
    return lo.wrap(tuple(made) if isinstance(made, ITERATORS) else made)


def said_by_python(lo: Lowering, target, error: Exception) -> Exception:
    """What Python raises for a call whose arguments are known now: when the program comes there, but for wrong types."""
    if isinstance(error, (ArithmeticError, LookupError, ValueError)) and not isinstance(error, AutodiffError):
        return sure_to_raise(lo, error)
    return lo.error(TypeConflict, f"{name_of(target)}: {error}")


def impure(lo: Lowering, target):
    """The refusal of a call that might read or change what is not among its arguments."""
    name, owner = name_of(target), getattr(target, "__self__", None)
    if isinstance(owner, set) or name.startswith("set."):
        return lo.error(UnsupportedSyntax, *A_SET)
    return lo.error(UnsupportedSyntax, f"`{name}` is not known to depend on its arguments alone",
                    SAID.get(name, OUTSIDE))


def by_method(lo: Lowering, name: str, owner: Value, *others: Value) -> Value | None:
    """What a special method gives of an object of a class written in Python; None where Python's own do."""
    if not isinstance(owner, Static) or is_fixed(owner.value):
        return None
    made, own = special(lo, owner, name, *others), getattr(type(owner.value), name, None)
    if made is None and own not in (None, getattr(object, name, None)):
        raise impure(lo, own)
    return made


def operate_now(lo: Lowering, function, *values: Static) -> Value:
    """An operator on values known now, by the methods of their classes where these are written in Python."""
    if all(is_fixed(v.value) for v in values):
        return lo.wrap(function(*(v.value for v in values)))
    name = function.__name__.strip("_")
    tries = [(name, values), (REFLECTED.get(name, f"r{name}"), values[::-1])][:len(values)]
    for method, given in tries:
        made = by_method(lo, f"__{method}__", *given)
        if made is not None and not (isinstance(made, Static) and made.value is NotImplemented):
            return made
    if function is operator.ne and any(by_method(lo, "__eq__", v, w) is not None for v, w in (values, values[::-1])):
        return Static(not truth_now(lo, operate_now(lo, operator.eq, *values)))
    if function in (operator.eq, operator.ne):
        return Static((values[0].value is values[1].value) == (function is operator.eq))
    raise TypeError(f"unsupported operand types for {name}: {' and '.join(type(v.value).__name__ for v in values)}")


def truth_now(lo: Lowering, value: Value) -> bool:
    """The truth of a value known now."""
    if not isinstance(value, Static):
        raise lo.error(TypeConflict, "what __bool__ or __len__ gives must be known before the program runs")
    for name in ("__bool__", "__len__"):
        found = by_method(lo, name, value)
        if found is not None:
            return truth_now(lo, found)
    return bool(value.value) if is_fixed(value.value) else True


@lowers(breakpoint)
def lower_breakpoint(lo, *args, **kwargs):
    raise impure(lo, breakpoint)


def has_record(value: Value) -> bool:
    """Whether an object with fields is in a value: no Python object stands for it while a program is lowered."""
    return isinstance(value, Record) or any(map(has_record, value.items.values() if isinstance(value, Mapping) else getattr(
        value, "items", ())))


def python_value(value: Value):
    """The Python object of a value that is known now, tuples, lists and dicts of such included."""
    if isinstance(value, Sequence):
        return value.kind(map(python_value, value.items))
    if isinstance(value, Mapping):
        return {k: python_value(v) for k, v in value.items.items()}
    return known_as(Static, value).value


def no_rule(lo: Lowering, target):
    name = name_of(target)
    if isinstance(getattr(target, "__self__", None), set):
        return lo.error(UnsupportedSyntax, *A_SET)
    return lo.error(MissingRule, f"`{name}` has neither Python source nor a derivative rule",
                    f"write it with supported operations, or give a rule: @autodiff.rules.pullback({name})")


__all__ = ["is_fixed", "is_pure", "python_value"]
