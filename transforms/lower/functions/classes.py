"""What class a value has in Python: `type`, `isinstance`, `callable`."""

from __future__ import annotations

import functools
import types

import numpy as np

from ...language.errors import TypeConflict, UnsupportedSyntax, WrongKind
from ...language.ops import exact
from ...source.definitions import MISSING, in_class
from ..arrays.points import is_point, perhaps_point
from ..containers.list_operators import kind_of
from ..numbers.kinds_on_paths import kinds_of
from ..state import Lowering
from ..structures import describe
from ..syntax.alternatives import split
from ..syntax.texts import ErrorText, Text
from ..table import lowers
from ..values import (
    Applied,
    Array,
    Bound,
    Closure,
    Either,
    Generated,
    Generator,
    Mapping,
    Range,
    Record,
    Scalar,
    Sequence,
    Slice,
    Static,
    Undefined,
    Value,
    Vectorized,
    known_as,
)
from .outside import class_attribute, class_of

FORMS = {Slice: slice, Range: range, Closure: types.FunctionType, Applied: functools.partial, Vectorized: np.vectorize,
         Text: str, Generator: np.random.Generator}
VIEWS: dict[str, type] = {"keys": type({}.keys()), "items": type({}.items()), "values": type({}.values())}


def class_in_python(lo: Lowering, x: Value) -> type | None:
    """The class of a value that is no number; None where that is not known here."""
    if isinstance(x, Static):
        return class_of(lo, x.value)
    if isinstance(x, Record):
        no_stand_in(lo, x)
        return getattr(x.cls, "stands_for", x.cls)
    if isinstance(x, Mapping):
        return x.kind
    if hasattr(x, "viewed"):
        return VIEWS[x.viewed[1]]
    if hasattr(x, "once"):
        return x.once.kind
    if isinstance(x, Generated):
        return types.GeneratorType
    if isinstance(x, Bound) and isinstance(x.owner, Array):
        return types.BuiltinFunctionType
    if isinstance(x, ErrorText):
        return x.error
    if type(x) in FORMS:
        return FORMS[type(x)]
    if (kind := kind_of(x)) is not None or not isinstance(x, Array):
        return kind
    if perhaps_point(x):
        raise by_path(lo, "the class of this number or array of rank 0", [np.ndarray, np.dtype(exact(x.dtype)).type])
    return np.flatiter if x.is_flat else np.ndarray


def classes_of(lo: Lowering, x: Scalar) -> list[type]:
    """The class of a number, or those that it may have by the way the program goes."""
    own = {"bool": bool, "int64": int, "complex128": complex}
    numbers = [own.get(name, float) if weak else np.dtype(name).type for name, weak in sorted(kinds_of(lo, x))]
    return [np.ndarray] * is_point(x) + (numbers if not is_point(x) or perhaps_point(x) else [])


def by_path(lo: Lowering, what: str, classes):
    return lo.error(TypeConflict, f"{what} differs by the way the program goes: " + " or ".join(
        ("a Python " if c.__module__ == "builtins" else "a NumPy ") + c.__name__ for c in classes),
        "give it one type: float(...)")


def no_stand_in(lo: Lowering, x: Record) -> None:
    """An object of a library has a class of ours here, which answers no question about it."""
    if lo.registry and lo.registry.is_ours(x.cls.__module__) and not hasattr(x.cls, "stands_for"):
        raise lo.error(UnsupportedSyntax, f"the class of {describe(x)}, which stands for an object of SciPy, is not known",
                       "decide what depends on it outside of the function")


def unknown(lo: Lowering, x: Value):
    return lo.error(UnsupportedSyntax, f"which class {describe(x)} has in Python is not known here",
                    "decide what depends on it in another way")


@lowers(type)
def lower_type(lo, x, *rest):
    if rest:
        raise lo.error(UnsupportedSyntax, "classes cannot be made inside a differentiated function",
                       "define it at module level")
    if isinstance(x, Either):
        return split(lo, x, lambda v: lower_type(lo, v))
    if isinstance(x, Scalar):
        classes = classes_of(lo, x)
        if len(classes) > 1:
            raise by_path(lo, "the type of this number", classes)
        return Static(*classes)
    kind = class_in_python(lo, x)
    if kind is None:
        raise unknown(lo, x)
    return Static(kind)


@lowers(isinstance)
def lower_isinstance(lo, x, kinds):
    check_classes(lo, kinds)
    if isinstance(x, Undefined):
        raise lo.error(TypeConflict, describe(x))
    if isinstance(x, Static):
        class_of(lo, x.value)
        return Static(isinstance(x.value, classes_named(kinds)))
    if isinstance(x, Scalar):
        answers = {issubclass(own, classes_named(kinds)) for own in classes_of(lo, x)}
        if len(answers) > 1:
            raise by_path(lo, "whether this number is an instance", classes_of(lo, x))
        return Static(*answers)
    kind = class_in_python(lo, x)
    if kind is None:
        raise unknown(lo, x)
    named = classes_named(kinds)
    return Static(issubclass(kind, named) or isinstance(x, Record) and issubclass(x.cls, named))


def check_classes(lo: Lowering, kinds: Value) -> None:
    """What Python takes for classes in `isinstance`."""
    if isinstance(kinds, Sequence) and kinds.kind is tuple:
        for kind in kinds.items:
            check_classes(lo, kind)
    elif not isinstance(kinds, Static) or not accepts_class(kinds.value):
        raise lo.error(WrongKind, "isinstance() arg 2 must be a type, a tuple of types, or a union")


def accepts_class(value) -> bool:
    try:
        isinstance(None, value)
    except TypeError:
        return False
    return True


def classes_named(kinds: Value):
    return tuple(map(classes_named, kinds.items)) if isinstance(kinds, Sequence) else known_as(Static, kinds).value


@lowers(callable)
def lower_callable(lo, x):
    if isinstance(x, Either):
        return split(lo, x, lambda v: lower_callable(lo, v), pure=True)
    if isinstance(x, Record):
        return Static(class_attribute(lo, x.cls, "__call__") is not MISSING)
    if isinstance(x, Static):
        return Static(callable(x.value))
    if isinstance(x, Bound):
        return Static(True)
    if isinstance(x, Scalar) or (kind := class_in_python(lo, x)) is None:
        return Static(False)
    return Static(in_class(kind, "__call__"))
