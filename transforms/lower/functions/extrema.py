"""Python's `sum`, `max` and `min`."""

from __future__ import annotations

import builtins
import operator

import gast
import numpy as np

from ...language.build import ONE, ZERO
from ...language.core import Const
from ...language.errors import ShapeMismatch, TypeConflict, UnsupportedSyntax, WrongKind
from ..arrays.broadcasting import as_array
from ..arrays.memory import force
from ..arrays.points import sites_of
from ..checks import require
from ..containers.containers import items_of, unpacked
from ..containers.item_kinds import listed_number, memory_of_list
from ..containers.list_methods import EMPTY, best_of, has_rows
from ..containers.list_operators import as_list, in_memory, kind_of, kinds_in, name_of_kind, not_iterable, with_items
from ..containers.series import added_up, series_numbers, series_sum
from ..numbers.conversions import cast, dtype_of
from ..numbers.integer_operations import by_path
from ..numbers.kinds_on_paths import kinds_of
from ..structures import describe
from ..syntax.operands import no_operands
from ..table import lowers
from ..values import (
    Array,
    Either,
    Mapping,
    Record,
    Scalar,
    Sequence,
    Series,
    Static,
    Value,
    as_range,
    differ,
    is_number,
    known_as,
    weak_of,
)
from .purity import call_now, is_fixed


@lowers(sum)
def lower_sum(lo, x, start=Static(0)):
    if isinstance(start, Static) and isinstance(start.value, (str, bytes)):
        raise lo.error(WrongKind, f"sum() can't sum {'strings' if isinstance(start.value, str) else 'bytes'}")
    no_operands(lo, start)
    if isinstance(x, (Sequence, Mapping, Record)) or isinstance(x, Static) and isinstance(x.value, (set, frozenset)):
        total = start
        for item in items_of(lo, x):
            plain = kind_of(item) is None and not isinstance(item, (Static, Either, Record)) and not (
                (is_number(item) or isinstance(item, Array)) and dtype_of(lo, item) == "bool")
            total = item if plain and isinstance(total, Static) and total.value == 0 and isinstance(total.value, int) \
                else lo.binary(operator.add, total, item)
        return total
    if is_number(x) or isinstance(x, Array) and not x.rank:
        raise not_iterable(lo, x)
    if isinstance(x, Series):
        return series_sum(lo, x, start)
    in_memory(lo, x)
    arr = as_array(lo, x)
    if arr.is_list and len(kinds_in(arr)) > 1:
        return sum_of_lists(lo, arr, start)
    if arr.rank == 1 and (kind := kind_of(start)) is not None:
        raise lo.error(TypeConflict, f"can only concatenate {kind.__name__} (not a number)",
                       "start sum() with a number, or write start + list(x)")
    made_one_by_one = arr.is_list or not isinstance(x, Array) or hasattr(x, "once")
    total = added_up(lo, arr, start, weak=arr.dtype == "int64" and made_one_by_one)
    if arr.dtype == "bool" and made_one_by_one and isinstance(total, Scalar):           # truths of NumPy's or Python's own
        total.mixed = frozenset({("int64", True), ("int64", False)})
    elif isinstance(total, Scalar) and kind_of(x) is not None:         # of an empty list it is 0
        item = listed_number(lo, memory_of_list(x), total.atom, total.weak)
        kinds = kinds_of(lo, item) | {("int64", True)}
        total.mixed, total.weak = kinds if len(kinds) > 1 else False, weak_of(kinds)
    return total


def sum_of_lists(lo, rows: Array, start: Value) -> Value:
    """`sum(lists, [])`: all of them joined."""
    kind = kinds_in(rows)[1]
    if kind_of(start) is not kind:
        raise lo.error(TypeConflict, f"{describe(start)} and a {kind.__name__} cannot be added",
                       "use an array: np.array(...)")
    if rows.rank > 2:
        raise lo.error(UnsupportedSyntax, "sum() of lists of lists is not supported", "use np.concatenate")
    made = as_list(lo, force(lo, known_as(Array, lo.call_static(np.reshape, [rows, Static(-1)], {})), copy=True), lo.node)
    made.kinds = (kind or list,)
    return lo.binary(operator.add, start, made)


def extremum(lo, args, kwargs, name):
    key = kwargs.pop("key", None)
    if key is not None and not (isinstance(key, Static) and key.value is None):
        x = args[0] if len(args) == 1 else Sequence(tuple(args))
        x = Sequence(items_of(lo, x)) if isinstance(x, Mapping) else known_items(lo, unpacked(lo, x))
        return best_of(lo, x, name, key, kwargs.get("default"))
    if not args:
        raise lo.error(TypeConflict, f"{name} expected at least 1 argument, got 0")
    if len(args) == 1 and has_rows(lo, args[0]):
        return best_of(lo, args[0], name, None, kwargs.get("default"))
    if len(args) == 1:
        return of_items(lo, known_items(lo, unpacked(lo, as_range(args[0]))), name, **kwargs)
    if kwargs:
        raise lo.error(TypeConflict, f"Cannot specify a default for {name}() with multiple positional arguments")
    if all(isinstance(a, Static) for a in args):
        return call_now(lo, getattr(builtins, name), args, {})
    result = args[0]
    for a in args[1:]:
        result = larger(lo, result, a, name)
    return result


def known_items(lo, x: Value) -> Value:
    """What has items that are known now as a Sequence. Others, such as an iterator, are run over as a loop would."""
    if isinstance(x, Static) and not is_fixed(x.value) and hasattr(type(x.value), "__iter__"):
        return Sequence(items_of(lo, x))
    return with_items(lo, x)


def of_items(lo, x: Value, name: str, default=None) -> Value:
    """`max(x, default=default)`."""
    if is_number(x):
        raise lo.error(WrongKind, f"'{name_of_kind(x)}' object is not iterable", f"give {name}() two numbers, or a list")
    if isinstance(x, (Sequence, Mapping)) or isinstance(x, Static):
        items = items_of(lo, x)
        if not items and default is None:
            raise lo.error(ShapeMismatch, EMPTY[name], f"give {name}(..., default=...)")
        if len(items) == 1:
            return items[0]
        return extremum(lo, items, {}, name) if items else default
    in_memory(lo, *(() if isinstance(x, Series) else (x,)))
    whole = series_numbers(lo, x) if isinstance(x, Series) else as_array(lo, x)
    if whole.rank != 1:
        raise lo.error(UnsupportedSyntax, f"{name}() of arrays, or of lists in a list, known only when the "
                       "program runs, is not supported", f"of all elements: np.{name}(x); of tuples: compare them in a loop")
    if default is not None:
        return lo.choose(lo.b.compare("gt", whole.shape[0], ZERO), lambda: of_items(lo, x, name), lambda: default, set())
    require(lo, whole.shape[0], "ge", ONE, "ValueError", EMPTY[name])
    made = lo.call_static(np.max if name == "max" else np.min, [whole], {})
    if kind_of(x) is not None:
        return listed_number(lo, memory_of_list(x), lo.atom(made), getattr(x, "weak", True))
    return made


def larger(lo, result: Value, a: Value, name: str) -> Value:
    """The larger of two values, or the smaller one."""
    if kind_of(result) or kind_of(a) or any(isinstance(v, (Array, Record)) for v in (result, a)):
        better = lo.condition(lo.compare(gast.Gt() if name == "max" else gast.Lt(), a, result))
        if isinstance(better, Const):
            return a if better.value else result
        return lo.choose(better, lambda: a, lambda: result, set())
    dtype, weak, mixed = by_path(lo, result, a)
    boxed = sites_of(name, result, a)
    if differ(mixed) and dtype == "int64":
        return Scalar(lo.b.let(name, lo.atom(result, dtype), lo.atom(a, dtype), dtype=dtype), weak, mixed, boxed)
    op, pythons = ("maximum", "larger") if name == "max" else ("minimum", "smaller")
    if dtype_of(lo, result) == dtype_of(lo, a) == "int64":
        made = lo.elementwise(op, result, a)
        if isinstance(made, Scalar):                        # one of the two, of which the first stands for both if equal
            made.weak, made.mixed, made.boxed = weak, mixed, boxed
        return made
    atoms = lo.atom(result), lo.atom(a)
    if dtype.startswith("float") and (lo.checks_in_loops or not any(atom in lo.carried for atom in atoms)):
        op = pythons                # on devices, threads combine what loops keep, as NumPy does
    return Scalar(lo.b.let(op, *(cast(lo, atom, dtype) for atom in atoms), dtype=dtype), weak, mixed, boxed)


@lowers(max)
def lower_max(lo, *args, **kwargs):
    return extremum(lo, args, kwargs, "max")


@lowers(min)
def lower_min(lo, *args, **kwargs):
    return extremum(lo, args, kwargs, "min")


__all__ = ["lower_sum"]
