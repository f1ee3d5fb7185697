"""What Python iterates over: ranges, pairs, products, and what is made of all items."""

from __future__ import annotations

import functools
import itertools
import operator
from dataclasses import replace
from enum import EnumMeta
from functools import partial
from typing import Any

import numba
import numpy as np

from ....runtime.checkpoint import checkpoint, parse_bytes
from ...language.build import ZERO, integer
from ...language.core import Const
from ...language.errors import TypeConflict, UnsupportedSyntax, WrongKind
from ...language.ops import Narrow
from ..arrays.broadcasting import as_array, require_same, size_of
from ..arrays.memory import delayed, force
from ..checks import certain, must, require
from ..containers.containers import all_items, items_at_once, items_of, unpacked
from ..containers.growing import row_of, row_read
from ..containers.item_kinds import note_copied
from ..containers.list_methods import has_rows, sorted_rows
from ..containers.list_operators import as_list, item_of_memory, kind_of
from ..containers.packing import LEAST
from ..containers.series import series_items, series_numbers
from ..containers.sharing import of_each
from ..functions.outside import rule_of, special
from ..functions.places import in_library, trusted
from ..numbers.conversions import as_value, dtype_of, itemise, needs_static, static_int
from ..numbers.integer_operations import whole_number
from ..numpy_functions.random_draws import no_draws
from ..numpy_functions.reductions import is_true
from ..numpy_functions.shaping import mark
from ..state import Lowering
from ..structures import describe
from ..syntax.alternatives import is_none, settled
from ..table import lowers
from ..values import (
    UNMARKED,
    Array,
    Generated,
    GrowList,
    Iterable,
    Mapping,
    Range,
    Scalar,
    Sequence,
    Series,
    Slice,
    Static,
    Table,
    Value,
    as_range,
    as_tuple,
    is_iterator,
    is_number,
    known_as,
    leaves,
)
from .iterators import passing


@lowers(range, numba.prange)
def lower_range(lo, *args):
    if len(args) == 1:
        parts = (Static(0), args[0], Static(1))
    elif len(args) == 2:
        parts = (*args, Static(1))
    else:
        parts = args
    for p in parts:
        if not is_number(p) or dtype_of(lo, p) != "int64":
            raise lo.error(TypeConflict, f"range() needs integers, not {describe(p)}", "convert it: int(n)")
    start, stop, step = (whole_number(lo, p.atom) if isinstance(p, Scalar) and type(p.dtype) is Narrow else p for p in parts)
    if isinstance(known := lo.atom(step, "int64"), Const):
        require(lo, known, "ne", ZERO, "ValueError", "range() arg 3 must not be zero")
    return Range(start, stop, step)


@lowers(checkpoint)
def lower_checkpoint(lo, iterations, snapshots=Static(None), budget=Static(None)):
    condition = is_number(iterations) and lo.around.mark != UNMARKED
    iterations = iterations if condition else as_range(iterations)
    given = [p for p in (snapshots, budget) if not (isinstance(p, Static) and p.value is None)]
    if not (condition or isinstance(iterations, Range)) or len(given) != 1:
        raise lo.error(TypeConflict, "checkpoint() takes a range, or the condition of a `while`, and either snapshots= or "
                                     "budget=", "for t in checkpoint(range(T), snapshots=10), "
                                                "or while checkpoint(error > tolerance, budget='200MB')")
    if given[0] is snapshots:
        if isinstance(snapshots, Static) and snapshots.value < 1:
            raise lo.error(TypeConflict, f"checkpoint() keeps at least one snapshot, not {snapshots.value}")
        return marked(lo, iterations, ("snapshots", lo.atom(snapshots, "int64")))
    if isinstance(budget, Static):
        try:
            budget = Static(parse_bytes(budget.value))
        except (ValueError, AttributeError):
            raise lo.error(TypeConflict, f"{budget.value!r} is not a number of bytes", "write budget='200MB'") from None
    return marked(lo, iterations, ("bytes", lo.atom(budget, "int64")))


def marked(lo, iterations, kept):
    if isinstance(iterations, Range):
        return replace(iterations, checkpoint=kept)
    lo.around.mark = kept
    return iterations


def note_written_out(lo: Lowering, node, copies: int) -> None:
    """Remember a loop of the user's code, or of a comprehension, whose body stands once for each item."""
    if not trusted(lo.frame.root.globals.get("__name__")):
        loc, known = lo.place(node), lo.learnt.written_out
        known[loc] = max(copies, known.get(loc, 0))


@lowers(enumerate)
def lower_enumerate(lo, x, start=Static(0)):
    return passing(lo, numbered(lo, x, start), (x,), in_order=True, kind=enumerate)


def numbered(lo, x, start):
    it = lo.iterate(x)
    if it.static is not None:
        made = Sequence(tuple(Sequence((lo.binary(operator.add, Static(k), start), v)) for k, v in enumerate(it.static)))
        if (again := getattr(x, "again", None)) is not None:
            made.again = lambda k: Sequence((made.items[k].items[0], again(k)))
        return made
    first = lo.atom(start, "int64")
    return Iterable(it.length, lambda k: Sequence((as_value(lo, lo.b.iadd(k, first)), it.item(k))), arrays=it.arrays)


@lowers(zip)
def lower_zip(lo, *xs, strict=None):
    return passing(lo, zipped(lo, xs, strict), xs, in_order=True, kind=zip)


def zipped(lo, xs, strict=None):
    ends = [lo.iterate(x) for x in xs if getattr(x, "at", None) is None]
    if xs and not ends:
        raise lo.error(UnsupportedSyntax, "zip() of iterators that do not end is not supported", "give it one that does")
    if not xs:
        return Sequence(())
    others = iter(ends)
    its = [next(others) if getattr(x, "at", None) is None else Iterable(ends[0].length, x.at) for x in xs]
    if not all(isinstance(it.length, Const) for it in its):     # the items of a generator may be as many as they are
        its = [lo.iterate(as_array(lo, Sequence(it.static))) if isinstance(x, Generated) and it.static and all(
            map(is_number, it.static)) else it for it, x in zip(its, xs, strict=True)]
    if is_true(strict):
        for it in its[1:]:
            require_same(lo, its[0].length, it.length, "zip() arguments have different lengths")
    known = [len(it.static) for it in its if it.static is not None]
    if known and min(known) >= LEAST and (long := [x for x in xs if isinstance(x, Series)]):
        raise itemise(lo, long[0])               # which may be shorter
    if known:
        n = min([*known, *(it.length.value for it in its if isinstance(it.length, Const))])
        for it in its:
            if not isinstance(it.length, Const):
                must(lo, lo.b.compare("ge", it.length, integer(n)), "IndexError",
                     f"zip() of {n} things and an array or list that is shorter, where derivatives cannot stop early")
        def row(k):
            return Sequence(tuple(x.again(k) if hasattr(x, "again") else it.static[k] if it.static is not None else
                                  it.item(integer(k)) for x, it in zip(xs, its, strict=True)))
        made = Sequence(tuple(map(row, range(n))))
        made.again = row                            # a loop reads its numbers when their turn comes
        return made
    length = its[0].length
    for it in its[1:]:
        length = lo.b.imin(length, it.length)
    return Iterable(length, lambda k: Sequence(tuple(it.item(k) for it in its)),
                    arrays=tuple(a for it in its for a in (*it.arrays, *leaves(Sequence(it.static or ())))))


@lowers(reversed)
def lower_reversed(lo, x):
    if (is_iterator(x) and not hasattr(x, "viewed") or x.is_flat) and not in_library(lo):
        raise lo.error(WrongKind, "an iterator is not reversible", "make a list of it: list(...)")
    x = as_range(x)
    if isinstance(x, Range) and isinstance(x.step, Static) and x.step.value in (1, -1) and x.checkpoint is None:
        step = x.step.value                             # an empty one stays empty
        first, stop = (lo.b.isub(lo.atom(end, "int64"), step) for end in (x.stop, x.start))
        back = replace(x, start=Scalar(first), stop=Scalar(stop), step=Static(-step))
        return passing(lo, back, (x,), kind=type(reversed(range(0))))
    kind: Any = None if hasattr(x, "viewed") else type(reversed([])) if kind_of(x) is list else reversed
    return passing(lo, backwards(lo, x), (x,), kind=kind)


def backwards(lo, x):
    it = lo.iterate(x)
    if it.static is not None:
        return Sequence(it.static[::-1])
    last = lo.b.isub(it.length, 1)
    return Iterable(it.length, lambda k: it.item(lo.b.isub(last, k)), arrays=it.arrays)


@lowers(map)
def lower_map(lo, function, *xs):
    def one(row):
        with no_draws(lo, "a function given to map(), which is called when its results are asked for",
                      "write a list: [...]"):
            return lo.call(function, list(row.items), {})
    pairs = zipped(lo, xs)
    made: Value
    if isinstance(pairs, Iterable):
        made = Iterable(pairs.length, lambda k: one(pairs.item(k)), arrays=pairs.arrays)
    else:
        made = Sequence(tuple(of_each(lo, pairs.items, one)[1]), list)
    return passing(lo, made, xs, (function,), kind=map)


def reduce_items(function, iterable, start):
    total = start
    for item in iterable:
        total = function(total, item)
    return total


@lowers(functools.reduce)
def lower_reduce(lo, function, iterable, initial=None):
    iterable = Sequence(items_of(lo, iterable)) if isinstance(iterable, Mapping) else all_items(lo, iterable)
    if initial is None:
        if not isinstance(iterable, (Sequence, Series)):
            iterable = as_array(lo, iterable)
        if isinstance(iterable, Sequence) and not iterable.items:
            raise certain(lo, "TypeError", lo.error(WrongKind, "reduce() of empty iterable with no initial value"))
        initial = lo.get_item(iterable, Static(0))
        iterable = lo.get_item(iterable, Slice(Static(1), None, None))
    return lo.call_python(reduce_items, [function, iterable, initial], {})


@lowers(np.ndindex)
def lower_ndindex(lo, *shape):
    if len(shape) == 1 and not is_number(shape[0]):
        shape = items_of(lo, shape[0])
    made = index_product(lo, [lo.atom(s, "int64") for s in shape],
                         lambda index: Sequence(tuple(map(partial(as_value, lo), index))))
    return passing(lo, made, (), kind=np.ndindex)


@lowers(np.ndenumerate)
def lower_ndenumerate(lo, x):
    a = force(lo, lo.array(x))
    made = index_product(lo, a.shape, lambda index: Sequence((
        Sequence(tuple(map(partial(as_value, lo), index))), Scalar(a.element(lo, index)))))
    return passing(lo, made, (x,), kind=np.ndenumerate)


@lowers(itertools.product)
def lower_product(lo, *xs, repeat=Static(1)):
    its = [lo.iterate(x) for x in xs] * static_int(lo, repeat, "repeat")
    if all(isinstance(it.length, Const) for it in its):
        pools = [it.static or tuple(it.item(integer(k)) for k in range(it.length.value)) for it in its]
        return passing(lo, Sequence(tuple(Sequence(row) for row in itertools.product(*pools))), xs, kind=itertools.product)
    its = [lo.iterate(pool_of(lo, x)) for x in xs] * (len(its) // len(xs))
    made = index_product(lo, [it.length for it in its], lambda index: Sequence(tuple(
        it.item(i) for it, i in zip(its, index, strict=True))))
    return passing(lo, replace(made, arrays=tuple(a for it in its for a in it.arrays)), xs, kind=itertools.product)


def pool_of(lo, x: Value) -> Value:
    """What `product` goes through, as it was when the product was made."""
    x = unpacked(lo, x)
    if isinstance(x, Sequence):
        if not all(map(is_number, x.items)):
            raise lo.error(UnsupportedSyntax, "itertools.product of an array of unknown length and other things than "
                           "numbers is not supported", "write the two loops")
        x = as_array(lo, x)
    if isinstance(x, Array) and x.rank == 1:
        return delayed(lo, x.shape, x.dtype, lambda lo, index: x.element(lo, index), (x,))
    return x


def index_product(lo, sizes, item) -> Iterable:
    """An iteration over all indices of a shape, the last index fastest."""

    def at(k):
        index = []
        for s in reversed(sizes[1:]):
            i = lo.b.let("mod", k, s, dtype="int64")
            mark(lo, i, s)
            index.append(i)
            k = lo.b.let("floordiv", k, s, dtype="int64")
        mark(lo, k, sizes[0])
        return item((k, *reversed(index)))
    return Iterable(size_of(lo, sizes), at)


@lowers(itertools.count)
def lower_count(lo, start=Static(0), step=Static(1)):
    made = known_as(Generated, in_python(lo, itertools.count, start, step))
    made.at = lambda k: lo.binary(operator.add, start, lo.binary(operator.mul, step, as_value(lo, k)))
    return made


@lowers(itertools.cycle)
def lower_cycle(lo, iterable):
    items = lo.call_static(list, [iterable], {})
    made = known_as(Generated, in_python(lo, itertools.cycle, items))
    made.at = lambda k: lo.get_item(items, lo.binary(operator.mod, as_value(lo, k), lo.call_static(len, [items], {})))
    return made


@lowers(itertools.repeat)
def lower_repeat(lo, object, times=None):
    if times is not None:
        return in_python(lo, itertools.repeat, object, times)
    made = known_as(Generated, in_python(lo, itertools.repeat, object))
    made.at = lambda k: object
    return made


def in_python(lo: Lowering, target, *args) -> Value:
    """What a call gives by the definition of the function in Python."""
    made = lo.call_python(rule_of(lo, "definitions", target), list(args), {})
    if hasattr(made, "once"):
        made.once.kind = getattr(target, "__self__", target)
    return made


@lowers(itertools.chain)
def lower_chain(lo, *xs):
    if not all(map(of_known_length, xs)):
        return in_python(lo, itertools.chain.from_iterable, Sequence(xs))
    return passing(lo, Sequence(tuple(item for x in xs for item in items_of(lo, x))), xs, kind=itertools.chain)


def of_known_length(x: Value) -> bool:
    """Whether it is known now how many items a value has."""
    match as_tuple(x):
        case Sequence() | Mapping() | Static():
            return True
        case Array(shape=shape):
            return isinstance(shape[0], Const)
        case Iterable(static=static, length=length):
            return static is not None or isinstance(length, Const)
        case Range(start=start, stop=stop, step=step):
            return all(isinstance(p, Static) for p in (start, stop, step))
    return False


@lowers(sorted)
def lower_sorted(lo, x, *, key=Static(None), reverse=Static(False)):
    if not isinstance(reverse, Static):
        raise needs_static(lo, reverse, "reverse=")
    x = unpacked(lo, x)
    by_value = isinstance(key, Static) and key.value is None
    if not isinstance(x, (Sequence, Mapping, Static)) and not (by_value and not has_rows(lo, x)):
        return sorted_rows(lo, x, key, bool(reverse.value))
    items = list(items_of(lo, x)) if isinstance(x, (Sequence, Mapping, Static)) else [x]
    items, keys = (items, items) if by_value else of_each(lo, items, lambda item: lo.call(key, [item], {}))
    if isinstance(x, (Sequence, Mapping, Static)) and all(isinstance(k, Static) for k in keys):
        order = sorted(range(len(items)), key=lambda i: keys[i].value, reverse=bool(reverse.value))
        return Sequence(tuple(items[i] for i in order), list)
    known = [known_part(k) for k in keys]
    if isinstance(x, (Sequence, Mapping)) and len(items) > 1 and known[0] and len(set(known)) == len(known) and len(
            {tuple(map(type, k)) for k in known}) == 1:
        order = sorted(range(len(items)), key=lambda i: known[i], reverse=bool(reverse.value))
        return Sequence(tuple(items[i] for i in order), list)
    if not by_value and isinstance(x, Sequence) and all(map(is_number, (*items, *keys))):
        places = lo.call_static(np.argsort, [negated(lo, keys, bool(reverse.value))], {"kind": Static("stable")})
        made = lo.index_array(as_array(lo, x), (places,))
        return as_list(lo, force(lo, made, copy=True), lo.node)
    if not by_value:
        raise lo.error(UnsupportedSyntax, "sorted(key=...) of values known only when the program runs is not supported",
                       "use np.argsort of the keys")
    whole = series_numbers(lo, x) if isinstance(x, Series) else as_array(lo, x)
    if whole.rank != 1:
        raise lo.error(UnsupportedSyntax, "sorted() of lists or arrays is not supported", "use np.argsort of a key")
    made = lo.call_static(np.sort, [whole], {})
    made = lo.get_item(made, Slice(None, None, Static(-1))) if reverse.value else made
    made = as_list(lo, force(lo, made, copy=True), lo.node)
    note_copied(lo, made, x)
    return made


def over_items(function):
    """Iterators over choices of items; of unknown number, in turns with what runs over them."""
    def lower(lo, x, r=None):
        if not of_known_length(x):
            return in_python(lo, function, x, *([] if r is None else [r]))
        items = items_of(lo, x)
        count = len(items) if r is None else static_int(lo, r, "the number of items chosen")
        return passing(lo, Sequence(tuple(Sequence(row) for row in function(items, count))), (x,), kind=function)
    return lower


for _iterator in (itertools.combinations, itertools.permutations, itertools.combinations_with_replacement):
    lowers(_iterator)(over_items(_iterator))


@lowers(itertools.accumulate)
def lower_accumulate(lo, x, func=Static(None), *, initial=Static(None)):
    add = func.value is None if isinstance(func, Static) else False
    x = unpacked(lo, x)
    if isinstance(x, Array) and x.rank == 1 and not isinstance(x.shape[0], Const) and add and is_none(initial):
        return passing(lo, lo.iterate(lo.call_static(np.cumsum, [x], {})), (x,), kind=itertools.accumulate)
    if not of_known_length(x):
        return in_python(lo, itertools.accumulate, x, func, initial)
    items = [*([] if is_none(initial) else [initial]), *items_of(lo, x)]
    found = items[:1]
    for item in items[1:]:
        found.append(lo.binary(operator.add, found[-1], item) if add else lo.call(func, [found[-1], item], {}))
    return passing(lo, lo.iterate(Sequence(tuple(found))), (x, func, initial), kind=itertools.accumulate)


def known_part(key: Value) -> tuple:
    """What a key begins with that is known now: where all differ there, the rest takes no part in the order."""
    found: list = []
    for part in key.items if isinstance(key, Sequence) else (key,):
        if not isinstance(part, Static) or not isinstance(part.value, (str, int, float)):
            break
        found.append(part.value)
    return tuple(found)


def negated(lo: Lowering, keys, falling: bool) -> Value:
    """Keys as an array, such that their stable order is Python's: equal ones stay as they stand, also where it falls."""
    made = lo.array(Sequence(tuple(keys)))
    return lo.elementwise("neg", made) if falling else made


def iterate(lo: Lowering, value: Value) -> Iterable:
    value = unpacked(lo, settled(lo, value, "something to run over"))
    match value:
        case Iterable():
            return value
        case Generated():
            return lo.iterate(items_at_once(lo, value))
        case Range():
            return iterate_range(lo, value)
        case Sequence(items=items):
            return Iterable(integer(len(items)), lambda k: items[k.value], items)
        case Mapping(items=items):
            keys = tuple(Static(k) for k in items)
            return Iterable(integer(len(keys)), lambda k: keys[k.value], keys)
        case Static(value=v) if isinstance(v, (tuple, list, str, dict, range, set, frozenset, EnumMeta)):
            return lo.iterate(Sequence(tuple(lo.wrap(x) for x in v)))
        case GrowList():
            rows = lo.array(value)
            return Iterable(value.count, lambda k: row_read(lo, value, lo.index_array(rows, (as_value(lo, k),))),
                            arrays=(rows,))
        case Series():
            return series_items(lo, value)
        case Table():
            return Iterable(value.count, lambda k: row_of(lo, value, as_value(lo, k)), arrays=tuple(leaves(value)))
        case Array() if value.rank:
            at = lambda k: lo.index_array(value, (as_value(lo, k),))  # noqa: E731
            item = (lambda k: item_of_memory(lo, value, at(k))) if value.is_list else at
            return Iterable(value.shape[0], item, arrays=(value,))
    if isinstance(value, Static) and hasattr(type(value.value), "__iter__"):
        if (made := special(lo, value, "__iter__")) is not None:
            return lo.iterate(all_items(lo, made))
        raise lo.error(UnsupportedSyntax, f"a loop over a {type(value.value).__name__} is not supported: it may give "
                       "other items at the next call", "make a tuple or a list of it outside")
    raise lo.error(WrongKind, "iteration over a 0-d array" if isinstance(value, Array) else
                   f"{describe(value)} is not iterable")


def iterate_range(lo: Lowering, r: Range) -> Iterable:
    start, stop = lo.atom(r.start, "int64"), lo.atom(r.stop, "int64")
    step = lo.atom(r.step, "int64")
    length = lo.range_length(start, stop, step)
    item = lambda k: as_value(lo, lo.b.iadd(start, lo.b.imul(k, step)))  # noqa: E731
    return Iterable(length, item)
