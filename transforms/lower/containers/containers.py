"""The methods of lists and dicts whose length and keys are known, and what functions keep as defaults."""

from __future__ import annotations

import operator
from collections.abc import Callable
from enum import EnumMeta
from functools import partial
from itertools import count

import gast
import numpy as np

from ...language.core import Const, written
from ...language.errors import MissingItem, MissingKey, TypeConflict, UnsupportedSyntax, WrongKind
from ...source.definitions import in_class, own
from ..arrays.broadcasting import as_array
from ..arrays.memory import force
from ..checks import certain
from ..functions.names import GIVEN
from ..functions.outside import record_method
from ..functions.places import trusted
from ..loops.generators import check_ends
from ..loops.iterators import gone_through
from ..numbers.conversions import needs_static
from ..state import Lowering
from ..structures import as_key, describe, rebuild
from ..syntax.alternatives import settled, split
from ..syntax.liveness import own_nodes
from ..values import (
    Applied,
    Array,
    Bound,
    Closure,
    Either,
    Generated,
    GrowList,
    Iterable,
    Mapping,
    Range,
    Record,
    Sequence,
    Series,
    Slice,
    Static,
    Table,
    Value,
    Vectorized,
    as_tuple,
    is_number,
    known_as,
    leaves,
)
from .growing import make_growable
from .item_kinds import note_all
from .list_operators import as_list, kind_of, kinds_in, mark_list, slice_of_list
from .lists import column_of_list, list_of_rows, listed
from .sharing import as_it_is_now, holding, objects, replace_everywhere, same_object


def list_method(lo: Lowering, owner, name, args):
    items = owner.items
    match name:
        case "append":
            replace_everywhere(lo, owner, Sequence((*items, args[0]), list))
        case "extend":
            replace_everywhere(lo, owner, Sequence((*items, *items_to_add(lo, owner, args[0])), list))
        case "insert" if isinstance(args[0], Static):
            new = list(items)
            new.insert(args[0].value, args[1])
            replace_everywhere(lo, owner, Sequence(tuple(new), list))
        case "pop" if not args or isinstance(args[0], Static):
            new = list(items)
            try:
                last = new.pop(*(a.value for a in args))
            except IndexError as e:
                raise certain(lo, "IndexError", lo.error(MissingItem, str(e))) from None
            replace_everywhere(lo, owner, Sequence(tuple(new), list))
            return last
        case "copy":
            return Sequence(items, list)
        case "reverse":
            replace_everywhere(lo, owner, Sequence(items[::-1], list))
        case "clear":
            replace_everywhere(lo, owner, Sequence((), list))
        case _:
            raise lo.error(UnsupportedSyntax, f"the list method `{name}` is not supported")
    return Static(None)


def dict_method(lo: Lowering, owner: Mapping, name: str, args, kwargs) -> Value:
    items = owner.items
    for k, arg in enumerate(args):
        if isinstance(arg, Either):
            return split(lo, arg, lambda v, k=k: dict_method(lo, owner, name, [*args[:k], v, *args[k + 1:]], kwargs))
    match name:
        case "items":
            return view_of(owner, name, tuple(Sequence((Static(k), v)) for k, v in items.items()))
        case "keys":
            return view_of(owner, name, tuple(Static(k) for k in items))
        case "values":
            return view_of(owner, name, tuple(items.values()))
        case "get":
            return items.get(key_of(lo, args[0]), args[1] if len(args) > 1 else Static(None))
        case "copy":
            return owner.with_items(dict(items))
        case "update":
            replace_everywhere(lo, owner, owner.with_items({**items, **(dict_of(lo, args[0]) if args else {}), **kwargs}))
            return Static(None)
        case "clear":
            replace_everywhere(lo, owner, owner.with_items({}))
            return Static(None)
        case "setdefault":
            key = key_of(lo, args[0])
            if key not in items:
                replace_everywhere(lo, owner, owner.with_items({**items, key: args[1] if len(args) > 1 else Static(None)}))
                return args[1] if len(args) > 1 else Static(None)
            return items[key]
        case "pop" | "popitem" if args or items:
            key = key_of(lo, args[0]) if args else next(reversed(items))
            if key not in items:
                if len(args) > 1:
                    return args[1]
                raise lo.error(MissingKey, f"KeyError: {key!r}")
            replace_everywhere(lo, owner, owner.with_items({k: v for k, v in items.items() if k != key}))
            return items[key] if name == "pop" else Sequence((Static(key), items[key]))
    raise lo.error(UnsupportedSyntax, f"the dict method `{name}` is not supported")


def view_of(owner: Mapping, method: str, items: tuple) -> Sequence:
    """What a method of a dict gives that sees its later changes."""
    made = Sequence(items)
    made.viewed = owner, method
    return made


def key_of(lo: Lowering, key: Value):
    """A key of a dict as a Python object."""
    if hasattr(key, "viewed") or isinstance(key, Mapping) or kind_of(key) is list:
        raise lo.error(WrongKind, f"{describe(key)} is no key of a dict: it has no hash")
    key = as_key(key)
    if not isinstance(key, Static):
        raise needs_static(lo, key, "a dict key")
    return key.value


def dict_of(lo: Lowering, value: Value) -> dict:
    """The items of a dict, or of pairs of keys and values."""
    if isinstance(value, Mapping):
        return value.items
    if isinstance(value, Record) and hasattr(value.cls, "keys"):
        value = record_method(lo, value, "items", [], {})
    pairs = [items_of(lo, pair) for pair in items_of(lo, value)]
    if any(len(pair) != 2 for pair in pairs):
        raise lo.error(TypeConflict, "a dict is made of pairs of a key and a value")
    return {key_of(lo, key): item for key, item in pairs}


def dict_operator(lo: Lowering, function, left: Value, right: Value) -> Value | None:
    """`left | right` of dicts."""
    if function is operator.or_ and isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.with_items({**left.items, **right.items})
    return None


# -- defaults ---------------------------------------------------------------------------------------------
def closure_defaults(lo: Lowering, closure) -> tuple[list, dict]:
    """The defaults of an inner function, made once when it is defined: a call sees what earlier ones did to them."""
    now = partial(as_it_is_now, lo)
    return list(map(now, closure.defaults)), {k: now(v) for k, v in (closure.keyword_defaults or {}).items()}


def given_functions(lo: Lowering, values, call: Callable[[], Value]) -> Value:
    """The result of a library function that is called with `values`. Functions among them that hold lists, dicts or objects
    have a name meanwhile, by which changes of these are found; what an iterator calls later keeps it."""
    called = [v for v in values if isinstance(v, (Closure, Applied, Bound, Vectorized)) or is_callable_object(v)]
    if not any(map(objects, called)):
        return call()
    env = lo.env
    free = (f"{GIVEN} {getattr(lo.node, 'lineno', 0)} {getattr(lo.node, 'col_offset', 0)} {k}" for k in count())
    name = next(n for n in free if n not in env)
    env[name] = Sequence(tuple(called))
    made = call()
    if not hasattr(made, "once"):
        env.pop(name, None)
    return made


def is_callable_object(value: Value) -> bool:
    return isinstance(value, Record) and in_class(value.cls, "__call__")


def eval_items(lo: Lowering, elts):
    items: list = []
    for e in elts:
        with holding(lo, *items, node=e) as held:
            if isinstance(e, gast.Starred):
                made = items_of(lo, gone_through(lo, lo.eval(e.value)))
            else:
                made = (lo.eval(e),)
                if hasattr(made[0], "once"):
                    raise lo.error(UnsupportedSyntax, "an iterator in a list or tuple is not supported",
                                   "make a list of it: list(...) or [...]", node=e)
        items = [*held.now, *made]
    return tuple(items)


def items_of(lo: Lowering, value) -> tuple:
    """The items of something of known length."""
    value = unpacked(lo, all_items(lo, settled(lo, value, "something to unpack")))
    if isinstance(value, Sequence):
        return value.items
    if isinstance(value, Mapping):
        return tuple(Static(k) for k in value.items)
    if isinstance(value, Static) and isinstance(value.value, (str, tuple, list, range, dict, set, frozenset, EnumMeta)):
        return tuple(lo.wrap(v) for v in value.value)
    iterable = lo.iterate(value)
    if iterable.static is not None:
        return iterable.static
    if isinstance(iterable.length, Const):
        return tuple(iterable.item(Const(k, "int64")) for k in range(iterable.length.value))
    raise lo.error(TypeConflict, f"the length of {describe(value)} must be known here before the program runs",
                   "loop over it")


def items_to_add(lo: Lowering, owner: Sequence, value: Value) -> tuple:
    """What `owner` is extended by; where that has a length known only at run time, `owner` is to grow from the start."""
    rows = lo.array(value) if isinstance(value, GrowList) else value
    if isinstance(rows, Array) and rows.rank == 1 and not isinstance(rows.shape[0], Const) and owner.kind is list:
        name = next((n for n, v in lo.env.items() if v is owner), None)
        if name is not None and all(map(is_number, owner.items)):
            make_growable(lo, name, rows.dtype)
    return items_of(lo, value)


def items_anew(lo: Lowering, x: Value, kind: type) -> Value:
    """A new list or tuple of what `x` has in it."""
    x = all_items(lo, x)
    if isinstance(x, Series):
        return Series(x.count, x.item, kind)
    made: Value
    if isinstance(x, GrowList) or isinstance(x, Array) and x.is_list:
        made = slice_of_list(lo, x, (Slice(None, None, None),))
    elif isinstance(x, Table):
        columns = [column_of_list(lo, c) for c in x.columns]
        return Series(x.count, rebuild(x.row, iter(columns)), kind)
    elif not isinstance(x, (Array, Iterable, Range)) or isinstance(lo.iterate(x).length, Const):
        return Sequence(items_of(lo, x), kind)
    elif isinstance(x, Array) and x.rank > 1:
        made = list_of_rows(lo, x)
    elif isinstance(x, Iterable):
        made = lo.call_python(listed, [x], {})
        if kind is list or isinstance(made, Table):
            return made if kind is list else items_anew(lo, made, kind)
        made = slice_of_list(lo, made, (Slice(None, None, None),))
    else:
        made = as_list(lo, force(lo, known_as(Array, lo.call_static(np.array, [as_array(lo, x)], {}))), lo.node)
        if isinstance(x, Range) or isinstance(x, Array) and not x.is_list:
            note_all(lo, made, isinstance(x, Range))
    mark_list(lo, known_as(Array, made), (kind, *kinds_in(made)[1:]))
    return made


def all_items(lo: Lowering, value: Value) -> Value:
    """What is made of an iterable by who asks for all its items: those of a generator or of an object in a list; others as
    they are."""
    value = unpacked(lo, value) if isinstance(value, Record) else value
    if isinstance(value, Generated):
        check_ends(lo, value)
        held, item = f"%generator{len(lo.env)}", " item"
        lo.env[held] = value
        made = gast.ListComp(gast.Name(item, gast.Load(), None, None), [gast.comprehension(
            gast.Name(item, gast.Store(), None, None), gast.Name(held, gast.Load(), None, None), [], 0)])
        for n in gast.walk(made):
            gast.copy_location(n, lo.node)
        items = lo.eval(made)
        lo.env.pop(held, None)
        return items
    return value


def items_at_once(lo: Lowering, value: Generated) -> Value:
    """The items of a generator that Python runs in turns with something else, where it does not matter when it runs."""
    seen = {(f, n): v for f in lo.frames for n, v in f.env.items() if n.startswith("%global") or not n.startswith("%")}
    memory = {r for v in seen.values() for leaf in leaves(v) if isinstance(leaf, Array) for r in leaf.roots()}
    mark, block = len(lo.b.stmts), lo.b
    made = None if any(isinstance(n, gast.While) for n in own_nodes(value.node)) else all_items(lo, value)
    if made is None or block is not lo.b or written(tuple(block.stmts[mark:])) & memory or any(
            f.env.get(n) is not v for (f, n), v in seen.items()):
        raise lo.error(UnsupportedSyntax, "a generator is run over here in turns with something else",
                       "make a list of it: list(...)")
    value.once.late = False                     # its items are made: what they read may not change before they are run over
    return made


def unpacked(lo: Lowering, value: Value) -> Value:
    """A namedtuple as the tuple whose items it gives."""
    if isinstance(value, Record) and own(value.cls, "__iter__") is not None:
        ours = trusted(value.cls.__module__) and hasattr(value.cls, "rest")
        made = record_method(lo, value, "rest" if ours else "__iter__", [], {})
        if isinstance(made, Record) and same_object(made, value):
            raise lo.error(UnsupportedSyntax, f"{describe(value)} is an iterator of its class's own, which is not supported",
                           "run over a list of its items")
        return unpacked(lo, made)
    if isinstance(value, Record) and own(value.cls, "__getitem__") is not None:
        return lo.call_python(items_by_place, [value], {})
    return as_tuple(value)


def items_by_place(items):
    """What Python runs over where a class has `__getitem__` and no `__iter__`."""
    place = 0
    while True:
        try:
            item = items[place]
        except IndexError:
            return
        yield item
        place += 1
