"""Methods of lists, and built-in functions of them, when their length or items are known only at run time.

They are the Python functions below, inlined where they are called: `index` is a loop over the list.
"""

from __future__ import annotations

import builtins

import gast
import numpy as np

from ...language.build import ZERO
from ...language.core import Const, known_value
from ...language.errors import ShapeMismatch, TypeConflict, UnsupportedSyntax
from ...language.ops import promote
from ..journal import Attempt
from ..numbers.conversions import needs_static
from ..state import Lowering
from ..structures import rebuild
from ..syntax.texts import said_of_nothing
from ..syntax.unbound import held
from ..values import (
    Array,
    Column,
    GrowList,
    Iterable,
    Mapping,
    Record,
    Sequence,
    Series,
    Slice,
    Static,
    Table,
    Value,
    as_range,
    is_number,
    known_as,
    leaves,
)
from .containers import items_anew, items_of
from .growing import growable, list_dtype, to_grow_list
from .list_operators import kind_of, list_kinds
from .lists import before_loops, store_in_row
from .sharing import has_objects, of_each, replace_everywhere, same_object

EMPTY = {"max": said_of_nothing(max), "min": said_of_nothing(min)}


CHANGING = {"append", "clear", "extend", "insert", "pop", "remove"}


def run_time_method(lo: Lowering, owner: Value, name: str, args, kwargs) -> Value | None:
    """A method of a list in memory, or one of a known list that asks for its numbers; None for any other."""
    in_memory = isinstance(owner, (GrowList, Table)) or isinstance(owner, Array) and owner.is_list
    if kind_of(owner) is tuple and name not in ("index", "count") or not in_memory and name not in (
            "index", "count", "remove", "sort"):
        return None
    if isinstance(owner, Array) and name in CHANGING:
        return lo.call_method(growable(lo, owner), name, args, kwargs)
    if name in ("sort", "reverse") and not getattr(owner, "writable", True) and getattr(owner, "item_of", None) is not None:
        store_in_row(lo, known_as(Array, owner), Static(False))
        raise lo.error(UnsupportedSyntax, f"`{name}` of a list in a list at a place known only when the program runs",
                       "use an array, or make a new list of lists")
    if name == "clear" and not args:
        replace_everywhere(lo, owner, emptied(lo, owner))
        return Static(None)
    if name == "pop" and (not args or isinstance(args[0], Static) and args[0].value == -1) or name not in METHODS:
        return None
    if name == "sort":
        return sorted_in_place(lo, owner, args, kwargs)
    if name == "remove" and len(args) == 1 and isinstance(owner, Sequence) and any(map(has_objects, owner.items)) and \
            removed_known(lo, owner, args[0]):
        return Static(None)
    if name in MOVING:
        check_movable(lo, owner, name)
    if name == "extend" and len(args) == 1 and same_object(args[0], owner):
        args = [lo.call_static(list, args, {})]             # the items that it has now
    method = index_in_tuple if name == "index" and kind_of(owner) is tuple else METHODS[name]
    return lo.call_python(method, [owner, *args], kwargs)


def removed_known(lo: Lowering, owner: Sequence, value: Value) -> bool:
    """Whether it is known which of unlike items is the first that equals `value`: it is removed."""
    for k, item in enumerate(owner.items):
        same = Const(True, "bool") if same_object(item, value) else lo.condition(lo.compare(gast.Eq(), item, value))
        if not isinstance(same, Const):
            return False
        if same.value:
            replace_everywhere(lo, owner, Sequence(owner.items[:k] + owner.items[k + 1:], list))
            return True
    return False


def emptied(lo: Lowering, owner: Value) -> Value:
    """A list that grows without its items."""
    if isinstance(owner, Table):
        return Table(rebuild(owner.row, iter([emptied(lo, c) for c in leaves(owner)])))
    grown = known_as(GrowList, owner)
    return GrowList(grown.arr, ZERO, grown.weak)


def check_movable(lo: Lowering, owner: Value, what: str) -> None:
    """Items that change places are numbers, or tuples and records of numbers: arrays and lists would be copied."""
    arrays = [lo.array(c) for c in (leaves(owner) if isinstance(owner, Table) else [owner])]
    if any(a.rank > 1 for a in arrays):
        raise lo.error(UnsupportedSyntax, f"`{what}` moves arrays or lists in a list of run-time length",
                       "make a new list: [items[k] for k in order]")


def sorted_in_place(lo: Lowering, owner: Value, args, kwargs) -> Value:
    """`owner.sort(key=None, reverse=False)`."""
    if args:
        raise lo.error(TypeConflict, "sort() takes no positional arguments")
    if isinstance(owner, Sequence):
        made = lo.call_static(sorted, [owner], kwargs)
        count = len(owner.items)
        items = made.items if isinstance(made, Sequence) else [lo.get_item(made, Static(k)) for k in range(count)]
        replace_everywhere(lo, owner, Sequence(tuple(items), list))
        return Static(None)
    check_movable(lo, owner, "sort")
    return lo.call_python(put_back, [owner, lo.call_static(sorted, [owner], kwargs)], {})


def without(lo: Lowering, owner: Value, key: Value) -> None:
    """`del owner[key]` of a list in memory."""
    owner = growable(lo, owner) if isinstance(owner, Array) else owner
    check_movable(lo, owner, "del")
    if not isinstance(key, Slice):
        lo.call_python(METHODS["pop"], [owner, key], {})
    elif key.step is not None and not (isinstance(key.step, Static) and key.step.value in (None, 1)):
        raise lo.error(UnsupportedSyntax, "`del` of items that are not one beside the other",
                       "make a new list without them")
    else:
        ends = [Static(None) if part is None else part for part in (key.start, key.stop)]
        lo.call_python(cut, [owner, *ends], {})


def store_slice(lo: Lowering, owner: Value, key: Slice, value: Value) -> None:
    """`owner[start:stop] = value` of a list, which may change its length."""
    parts = key.inside()
    if isinstance(owner, Sequence) and all(isinstance(p, Static) for p in parts):
        items = list(owner.items)
        try:
            items[slice(*(p.value for p in parts))] = items_of(lo, value)
        except (TypeError, ValueError) as e:
            raise lo.error(ShapeMismatch if isinstance(e, ValueError) else TypeConflict, str(e)) from None
        return replace_everywhere(lo, owner, Sequence(tuple(items), list))
    if isinstance(owner, Sequence):
        if not all(map(is_number, owner.items)):
            raise needs_static(lo, next(p for p in parts if not isinstance(p, Static)), "the slice of a list")
        dtype = promote(list_dtype(lo, owner), list_dtype(lo, value))
        before_loops(lo, owner, dtype)
        name = next((n for n, v in lo.env.items() if held(v) is owner), "items")
        owner = to_grow_list(lo, name, owner, (dtype, ()))
    if not (isinstance(parts[2], Static) and parts[2].value in (None, 1)):
        raise lo.error(UnsupportedSyntax, "items of a list that are not one beside the other are assigned to",
                       "assign them one by one")
    check_movable(lo, owner, "a slice")
    lo.call_python(put_slice, [owner, *parts[:2], value], {})


# -- built-in functions -----------------------------------------------------------------------------------
def has_rows(lo: Lowering, x: Value) -> bool:
    """Whether items of run-time number are tuples, records or lists, or whatever an iterator gives."""
    if isinstance(x, Series):
        return isinstance(x.item, (Sequence, Record, Mapping))
    return isinstance(x, (Table, Iterable)) or isinstance(x, Array) and x.is_list and x.rank > 1 and not x.array_axes


def with_length(lo: Lowering, x: Value) -> Value:
    """An iterator's items as a list; what has a length as it is."""
    return items_anew(lo, x, list) if isinstance(x, Iterable) else x


def best_of(lo: Lowering, x: Value, name: str, key, default) -> Value:
    """`max` or `min` of items of run-time number, by their order as Python compares them."""
    if default is not None:
        raise lo.error(UnsupportedSyntax, f"{name}(default=...) of such items is not supported", "ask len() first")
    x = with_length(lo, as_range(x))
    if key is None:
        return lo.call_python(BEST[name], [x], {})
    if isinstance(x, Sequence) and any(map(has_objects, x.items)) and (
            chosen := best_by_known(lo, x.items, name, key)) is not None:
        return chosen
    return lo.call_python(BEST_BY[name], [x, key], {})


class NotKnown(Exception):
    """A key is not known before the program runs."""


def best_by_known(lo: Lowering, items, name: str, key) -> Value | None:
    """The one of the items, some of which are objects, whose key is the best, if the keys are known; else None."""
    before = Attempt(lo)

    def known(item):
        found = lo.call(key, [item], {})
        if not isinstance(found, Static):
            raise NotKnown
        return found
    try:
        items, keys = of_each(lo, items, known)
        best = getattr(builtins, name)(range(len(items)), key=lambda k: keys[k].value)
    except (NotKnown, TypeError):
        before.undo(lo)
        return None
    return items[best]


def sorted_rows(lo: Lowering, x: Value, key: Value, reverse: bool) -> Value:
    """`sorted(x, key=key, reverse=reverse)` by keys that are numbers, or tuples of numbers."""
    x = with_length(lo, as_range(x))
    by_value = isinstance(key, Static) and key.value is None
    keys = x if by_value else lo.call_python(keys_of, [x, key], {})
    parts = parts_of_keys(lo, keys)
    if parts is None:
        raise lo.error(UnsupportedSyntax, "sorted() by keys that are neither numbers nor tuples of numbers, of a "
                       "list whose length is known only when the program runs", "give a key= that is a number")
    if not parts:
        order = lo.call_python(order_of, [keys, Static(reverse)], {})
    else:
        order = lo.call_python(order_of_parts, [keys, Static(parts[::-1]), Static(reverse)], {})
    return lo.call_python(reordered, [x, order], {})


def parts_of_keys(lo: Lowering, keys: Value) -> tuple | None:
    """The places of tuples of numbers, () for numbers; None for anything else."""
    if isinstance(keys, Table) and isinstance(keys.row, Sequence):
        numbers = all(isinstance(c, GrowList) and lo.array(c).rank == 1 for c in keys.row.items)
        return tuple(range(len(keys.row.items))) if numbers else None
    if isinstance(keys, Series) and isinstance(keys.item, Sequence):
        numbers = all(isinstance(c, Column) and c.array.rank == 1 for c in keys.item.items)
        return tuple(range(len(keys.item.items))) if numbers else None
    if isinstance(keys, Series):
        return () if isinstance(keys.item, Column) and keys.item.array.rank == 1 else None
    array = lo.array(keys) if isinstance(keys, (Array, GrowList)) else None
    if array is None or array.rank > 2 or array.rank == 2 and not (
            len(list_kinds(lo, keys)) == 2 and isinstance(array.shape[1], Const)):
        return None
    return tuple(range(known_value(array.shape[1]))) if array.rank == 2 else ()


def place_of(items, value, start, stop):
    """The first place of an item, -1 if there is none."""
    count = len(items)
    if start < 0:
        start = max(start + count, 0)
    if stop is not None and stop < count:
        count = stop + count if stop < 0 else stop
    for k in range(start, count):
        if items[k] == value:
            return k
    return -1


def index(items, value, start=0, stop=None):
    place = place_of(items, value, start, stop)
    if place < 0:
        raise ValueError("list.index(x): x not in list")
    return place


def index_in_tuple(items, value, start=0, stop=None):
    place = place_of(items, value, start, stop)
    if place < 0:
        raise ValueError("tuple.index(x): x not in tuple")
    return place


def count(items, value):
    found = 0
    for item in items:
        if item == value:
            found += 1
    return found


def holds(items, value):
    for item in items:
        if item == value:
            return True
    return False


def within(number, start, stop, step):
    inside = start <= number < stop if step > 0 else stop < number <= start
    return inside and (number - start) % step == 0


def same_range(a, b):
    n, m = len(range(a[0], a[1], a[2])), len(range(b[0], b[1], b[2]))
    return n == m and (n == 0 or a[0] == b[0] and (n == 1 or a[2] == b[2]))


def insert(items, place, value):
    last = len(items)
    if place < 0:
        place += last
    place = min(max(place, 0), last)
    items.append(value)
    for k in range(last, place, -1):
        items[k] = items[k - 1]
    items[place] = value


def pop(items, place):
    last = len(items) - 1
    if last < 0:
        raise IndexError("pop from empty list")
    if place < 0:
        place += last + 1
    if place < 0 or place > last:
        raise IndexError("pop index out of range")
    taken = items[place]
    for k in range(place, last):
        items[k] = items[k + 1]
    items.pop()
    return taken


def remove(items, value):
    place = place_of(items, value, 0, None)
    if place < 0:
        raise ValueError("list.remove(x): x not in list")
    last = len(items) - 1
    for k in range(place, last):
        items[k] = items[k + 1]
    items.pop()


def extend(items, others):
    for item in others:
        items.append(item)


def cut(items, start, stop):
    count = len(items)
    start = 0 if start is None else start
    stop = count if stop is None else stop
    start = min(max(start + count if start < 0 else start, 0), count)
    stop = max(min(stop + count if stop < 0 else stop, count), start)
    for k in range(stop, count):
        items[k - (stop - start)] = items[k]
    for _ in range(stop - start):
        items.pop()


def put_slice(items, start, stop, others):
    count = len(items)
    start = 0 if start is None else start
    stop = count if stop is None else stop
    start = min(max(start + count if start < 0 else start, 0), count)
    stop = max(min(stop + count if stop < 0 else stop, count), start)
    new = list(others) + [items[k] for k in range(stop, count)]
    for _ in range(count - start):
        items.pop()
    for v in new:
        items.append(v)


def reverse(items):
    last = len(items) - 1
    for k in range((last + 1) // 2):
        first = items[k]
        items[k] = items[last - k]
        items[last - k] = first


def put_back(items, others):
    for k in range(len(others)):
        items[k] = others[k]


def largest(items):
    if len(items) == 0:
        raise ValueError(EMPTY["max"])
    best = items[0]
    for k in range(1, len(items)):
        if items[k] > best:
            best = items[k]
    return best


def smallest(items):
    if len(items) == 0:
        raise ValueError(EMPTY["min"])
    best = items[0]
    for k in range(1, len(items)):
        if items[k] < best:
            best = items[k]
    return best


def largest_by(items, key):
    if len(items) == 0:
        raise ValueError(EMPTY["max"])
    place, best = 0, key(items[0])
    for k in range(1, len(items)):
        found = key(items[k])
        if found > best:
            place, best = k, found
    return items[place]


def smallest_by(items, key):
    if len(items) == 0:
        raise ValueError(EMPTY["min"])
    place, best = 0, key(items[0])
    for k in range(1, len(items)):
        found = key(items[k])
        if found < best:
            place, best = k, found
    return items[place]


def keys_of(items, key):
    return [key(item) for item in items]


def order_of(keys, back):
    found = np.array(keys)
    if back:                                    # equal ones stay in their order
        return len(keys) - 1 - np.argsort(found[::-1], kind="stable")[::-1]
    return np.argsort(found, kind="stable")


def order_of_parts(keys, parts, back):
    order = np.arange(len(keys))
    order = order[::-1] if back else order
    for part in parts:
        order = order[np.argsort(np.array([keys[k][part] for k in order]), kind="stable")]
    return order[::-1] if back else order


def reordered(items, order):
    return [items[k] for k in order]


METHODS = {"index": index, "count": count, "insert": insert, "pop": pop, "remove": remove, "extend": extend,
           "reverse": reverse, "sort": None}
MOVING = {"insert", "pop", "remove", "reverse"}
BEST = {"max": largest, "min": smallest}
BEST_BY = {"max": largest_by, "min": smallest_by}
