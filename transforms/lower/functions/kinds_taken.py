"""The kinds of arguments that a library function takes, asked of the function itself.

Functions of NumPy, `math`, `itertools` and Python's own raise a TypeError by what kinds of things they are given (numbers
and arrays of a dtype, lists, texts, options known now), not by their values. While a call is lowered, the function is called
with stand-ins of the same kinds; of what it says only a TypeError counts (and a ValueError that names an option, `'foo'`, or
of `itertools`, which has looked at no item yet), unless the call turns out to have no meaning here. Numbers of several kinds
by path are asked about kind by kind. What no stand-in is made of (functions of the user's, objects) is not asked about.
"""

from __future__ import annotations

import builtins
import cmath
import collections
import functools
import itertools
import math
import operator
import warnings
from collections.abc import Callable

import numpy as np

from ...language.core import Const
from ...language.errors import AutodiffError, TypeConflict, WrongKind
from ...language.ops import exact
from ..arrays.points import is_point, perhaps_point
from ..checks import fails, in_jitted_code
from ..containers.list_operators import kind_of
from ..numbers.conversions import dtype_of
from ..numbers.kinds_on_paths import ONE_KIND, kinds_of, may_be_integers
from ..state import Lowering
from ..syntax.texts import name_of
from ..values import Array, GrowList, Mapping, Range, Record, Scalar, Sequence, Slice, Static, Value, as_range, is_iterator
from .places import in_library

Maker = Callable[[], object]            # a stand-in is made for each call: some functions change what they are given

SIZE = 3                                # the longest axis, and the largest integer, that a function is asked about
ANY = 2                                 # the length of what has one that is not known
LONGEST = 64                            # and the longest axis that it is asked about again
ALTERNATIVES = 16                       # as many kinds of arguments, by path, are asked about
PURE = frozenset(getattr(builtins, name) for name in (
    "abs", "all", "any", "bool", "complex", "divmod", "enumerate", "float", "int", "iter", "len", "list", "max", "min",
    "pow", "reversed", "round", "sorted", "sum", "tuple", "zip")) | {functools.partial}
SPACES = frozenset((math.__name__, cmath.__name__, itertools.__name__, "_operator", operator.__name__))
GROW = frozenset((np.arange,))          # whose results grow with the values of floats
CLASSES = frozenset((bool, int, float, complex, str, list, tuple, object))
PLAIN = collections.namedtuple("PLAIN", ())        # whose methods are those of every namedtuple
OPTIONS = (type(None), str, bytes, bool, float, complex, np.generic, np.dtype, type(...))


def error_for_these(lo: Lowering, target, args, kwargs) -> Exception | None:
    """What a library function raises for stand-ins of these arguments, where the call has no meaning here."""
    if not can_be_asked(target):
        return None
    said = [error for _, error in asked(lo, target, args, kwargs)]
    return said[0] if said and None not in said else None


def asked(lo: Lowering, target, args, kwargs) -> list[tuple[list, Exception | None]]:
    """(stand-ins, what a function raises for them) for each of the kinds that arguments have by path; none where nothing
    can stand for one of them."""
    values = [*args, *kwargs.values()]
    rows = [stand_ins(lo, v) for v in values]
    found: list[tuple[list, Exception | None]] = []

    def error_of(row) -> tuple[list, Exception | None]:
        given = [make() for make in row]
        return given, raised_by(target, given[:len(args)], dict(zip(kwargs, given[len(args):], strict=True)))
    for k, row in enumerate(itertools.islice(itertools.product(*rows), ALTERNATIVES) if all(rows) else ()):
        given, error = error_of(row)
        for n in lengths_of(values) if isinstance(error, TypeError) else ():
            if isinstance(error, TypeError):                # it may be said of sizes, and is found elsewhere then
                others = itertools.product(*(stand_ins(lo, v, n) for v in values))
                _, error = error_of(next(itertools.islice(others, k, None)))
        found.append((given, error))
    return found


def lengths_of(values) -> list[int]:
    """The lengths that arguments are known to have, which those that are not known may have too."""
    known = {len(leaf.items) for leaf in values if isinstance(leaf, Sequence)}
    known |= {len(v.value) for v in values if isinstance(v, Static) and isinstance(v.value, (list, tuple))}
    known |= {len(range(*(p.value for p in v.inside()))) for v in map(as_range, values) if isinstance(v, Range) and all(
        isinstance(p, Static) for p in v.inside())}
    known |= {s.value for v in values if isinstance(v, Array) for s in v.shape if isinstance(s, Const)}
    return sorted(n for n in known if n <= LONGEST)


def check_kinds(lo: Lowering, target, args, kwargs) -> None:
    """Raise what Python would for arguments of kinds that a library function does not take."""
    if not can_be_asked(target) or in_library(lo) or any(in_jitted_code(lo, f) for f in lo.frames):
        return
    if any(map(is_iterator, args)) and (target.__module__ or "").startswith("numpy"):       # given by us
        return
    said = [refusal(target, given, error) for given, error in asked(lo, target, args, kwargs)]
    wrong = [one for one in said if one is not None]
    if wrong and len(wrong) == len(said):
        error, text = wrong[0]
        if error is ValueError:
            fails(lo, "ValueError", text)
            return
        raise lo.error(WrongKind, f"`{name_of(target)}`: {text}", hint_for(target, args))
    if wrong:
        raise lo.error(TypeConflict, f"`{name_of(target)}` takes these arguments on one path and not on another", ONE_KIND)


def can_be_asked(target) -> bool:
    """Whether a call of a function does nothing but compute, in little time."""
    if isinstance(target, np.ufunc):
        return getattr(np, target.__name__, None) is target
    if target in PURE or isinstance(target, type) and issubclass(target, np.generic):
        return True
    module = getattr(target, "__module__", None) or ""
    return module in SPACES or module.split(".")[0] == "numpy" and not module.startswith("numpy.random") and not (
        isinstance(target, type) or target in GROW)


def refusal(target, given: list, e: Exception | None) -> tuple[type, str] | None:
    """What of an error that a function raises for stand-ins holds of their kinds, whatever the values."""
    if isinstance(e, TypeError):
        return TypeError, str(e)
    if isinstance(e, ValueError) and target not in PURE:       # those are called where all is known
        options = [repr(a) for a in given if isinstance(a, str)]
        decided = target.__module__ == itertools.__name__ or any(a in str(e) for a in options)
        return (ValueError, str(e)) if decided else None
    return None                                 # it depends on values and sizes, and is found elsewhere


def raised_by(target, args: list, kwargs: dict) -> Exception | None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            target(*args, **kwargs)
        except AutodiffError:
            return None
        except Exception as e:
            return e
    return None


def hint_for(target, args) -> str:
    name = getattr(target, "__name__", "")
    arrays = getattr(target, "__module__", "") == "math" and any(isinstance(a, Array) and a.rank for a in args)
    return f"write np.{name}(x)" if arrays and hasattr(np, name) else ""


def view_of(make: Maker, method: str):
    """A view of a dict that is made."""
    return getattr(make(), method)()


def stand_ins(lo: Lowering, value: Value, n: int = 0) -> list[Maker]:
    """What makes stand-ins of a value, one for each kind that it has by path; none if nothing can stand for it. n: the
    length of arrays along axes whose length is not known, and of long ones; 0 for short ones."""
    if hasattr(value, "viewed"):
        owner, method = value.viewed
        return [functools.partial(view_of, make, method) for make in stand_ins(lo, owner)]
    if is_iterator(value):
        return [lambda: iter(())]
    match value:
        case Static(value=known):
            return stand_in_of(known)
        case Scalar():
            numbers = [number_of(kind, own) for kind, own in kinds_of(lo, value)]
            points = [point_of(make) for make in numbers] if is_point(value) else []
            return numbers + points if perhaps_point(value) else points or numbers
        case Array():
            made = array_of(lo, value, n)
            return [functools.partial(flat_of, make) for make in made] if value.is_flat else made
        case Sequence(items=items, kind=kind) if kind in (list, tuple):
            return together([stand_ins(lo, item, n) for item in items], kind)
        case Mapping(items=items, kind=kind) if kind is dict:
            return together([stand_ins(lo, v) for v in items.values()], lambda made: dict(zip(items, made, strict=True)))
        case Record(cls=cls, fields=items) if issubclass(cls, tuple) and {
                name for name, own in vars(cls).items() if callable(own)} <= {*vars(PLAIN)}:
            return together([stand_ins(lo, v) for v in items.values()], lambda made: tuple.__new__(cls, made))
        case GrowList() if value.weak:
            return [lambda: [1.0] * (n or ANY)]
        case Range():
            return [lambda: range(n or ANY)]
        case Slice():
            return together([stand_ins(lo, part) for part in value.inside()], lambda made: slice(*made))
    return []


def flat_of(make: Maker) -> object:
    return np.asarray(make()).flat


def together(parts: list[list[Maker]], kind: Callable) -> list[Maker]:
    if not all(parts) or math.prod(map(len, parts)) > ALTERNATIVES:
        return []
    return [functools.partial(made_together, kind, row) for row in itertools.product(*parts)]


def made_together(kind: Callable, row) -> object:
    return kind(make() for make in row)


def stand_in_of(known) -> list[Maker]:
    """Of a value known now: itself, with small integers for large ones."""
    if type(known) is int:
        return [lambda: max(-SIZE, min(known, SIZE))]
    if isinstance(known, type):
        return [lambda: known] if known in CLASSES or issubclass(known, np.generic) else []
    if type(known) in (list, tuple, set, frozenset):
        return together([stand_in_of(item) for item in known], type(known))
    if isinstance(known, slice):
        return together([stand_in_of(p) for p in (known.start, known.stop, known.step)], lambda made: slice(*made))
    return [lambda: known] if isinstance(known, OPTIONS) else []


def number_of(kind: str, own: bool) -> Maker:
    number = np.dtype(kind).type(1)
    return lambda: number.item() if own else number


def point_of(make: Maker) -> Maker:
    return lambda: np.array(make())


def array_of(lo: Lowering, value: Array, n: int) -> list[Maker]:
    """An array of ones, with short axes, or the list that an array stands for."""
    shape = tuple(max(0, min(s.value, n or SIZE)) if isinstance(s, Const) else n or ANY for s in value.shape)
    dtypes = ["int64"] * may_be_integers(lo, value) + [exact(dtype_of(lo, value))]
    kind = kind_of(value)
    if kind is None:
        return [functools.partial(np.ones, shape, dtype) for dtype in dtypes]
    made = functools.partial(np.ones, shape, dtypes[-1])
    return [lambda: kind(made().tolist())] if len(shape) == 1 and kind in (list, tuple) and len(dtypes) == 1 else []


__all__ = ["check_kinds", "error_for_these"]
