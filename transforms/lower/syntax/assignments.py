"""Assignment: names, items, attributes, in place too."""

from __future__ import annotations

from contextlib import contextmanager

import gast
import numpy as np

from ...language.core import Const, written
from ...language.errors import MissingItem, ShapeMismatch, TypeConflict, UnsupportedSyntax, WrongKind
from ...language.ops import is_complex
from ...language.queries import allocations
from ..arrays.aliases import stood_for
from ..arrays.arrays import choose_elements
from ..arrays.broadcasting import require_same
from ..arrays.indexing import augment, key_to_store_at, store_subscript, subscript
from ..arrays.memory import give_memory
from ..arrays.points import changes_in_place, in_dtype, store_number
from ..arrays.writing import assign, set_writeable, to_be_written
from ..checks import certain, guard
from ..containers.containers import all_items, items_anew, items_of, items_to_add
from ..containers.growing import assign_item, bound_list, growable, row_of, store_row
from ..containers.list_methods import store_slice, without
from ..containers.list_operators import check_width, kind_of, list_index
from ..containers.lists import as_matrix, delete_item, exchanged, is_list, repeated_in_place, store_at
from ..containers.records import set_record_attribute, sets_plainly
from ..containers.sharing import as_it_is_now, holding, list_changes, replace_everywhere
from ..functions.names import put
from ..functions.outside import eval_name, special
from ..functions.places import in_library
from ..journal import buffers, environments
from ..loops.in_turn import acts
from ..loops.iterators import gone_through, handed_on
from ..numbers.conversions import needs_static
from ..numbers.declared import as_declared
from ..numbers.integer_operations import check_cast
from ..state import Lowering
from ..structures import as_key, describe
from ..table import NAMES, executes, lowers
from ..values import (
    UNSET,
    Array,
    Bound,
    Delayed,
    Either,
    FancyRead,
    GrowList,
    Iterable,
    Mapping,
    Range,
    Record,
    Scalar,
    Sequence,
    Series,
    Slice,
    Static,
    Table,
    Value,
    View,
    expression,
    is_iterator,
    is_number,
    known_as,
    leaves,
)
from .alternatives import among, by_items, decided, settled, undecided
from .liveness import may_act
from .operands import no_operands
from .operators import BINARY, binary_matmul
from .statements import conditional, named


# -- assignment -------------------------------------------------------------------------------------------
@executes(gast.Assign)
def exec_assign(lo: Lowering, stmt, rest):
    unpacks = len(stmt.targets) == 1 and isinstance(stmt.targets[0], (gast.Tuple, gast.List))
    if isinstance(stmt.value, gast.GeneratorExp) and not unpacks:
        value = only_computed(lo, stmt.value)
    else:
        value = lo.eval(stmt.value)
    for target in stmt.targets:
        items = isinstance(target, (gast.Tuple, gast.List))         # which are held one by one
        with holding(lo, *([] if items and target is stmt.targets[-1] else [value]), node=target) as held:
            lo.around.stored = value if target is stmt.targets[-1] and not items else None
            lo.bind(target, value, stmt)
            lo.around.stored = None
        value, = held.now or [value]


def only_computed(lo: Lowering, node) -> Value:
    """A generator expression that a name holds. Its items are made here, in Python when they are asked for, which nobody can
    tell as long as making them only computes."""
    envs, had, mark = environments(lo), buffers(lo), len(lo.b.stmts)
    value = lo.eval(node)
    if acts(lo, lo.b.stmts[mark:], envs, had):
        raise lo.error(UnsupportedSyntax, "a generator expression is evaluated at once here, in Python when its items are "
                       "asked for, and evaluating it may raise an error or do more than compute", "write a list: [...]",
                       node=node)
    return value


@executes(gast.AnnAssign)
def exec_ann_assign(lo: Lowering, stmt, rest):
    if stmt.value is not None:
        lo.bind(stmt.target, lo.eval(stmt.value), stmt)


@executes(gast.AugAssign)
def exec_aug_assign(lo: Lowering, stmt, rest):
    function = BINARY.get(type(stmt.op))
    target = stmt.target
    if isinstance(target, gast.Name):
        load = gast.Name(target.id, gast.Load(), None, None)
        gast.copy_location(load, target)
        old = eval_name(lo, load)
        if isinstance(old, Either) and any(isinstance(o, Array) for o in old.options):
            old = settled(lo, old)
        with holding(lo, old, node=stmt.value) as held:
            value = lo.eval(stmt.value)
        old, = held.now
        no_operands(lo, old)
        if isinstance(old, Static) and isinstance(old.value, set):
            raise lo.error(UnsupportedSyntax, "a set that changes is not supported", "make another one: a | b", node=stmt)
        if isinstance(old, Array) and kind_of(old) is list and NAMES.get(function) == "add":
            growable(lo, old)
        method = function.__name__.strip("_") if function is not None else "matmul"
        if (made := special(lo, old, f"__i{method}__", value)) is not None:
            return lo.bind(target, made, stmt)
        if changes_in_place(lo, old, target.id):
            return augment(lo, known_as(Array, old), function, value, stmt)
        arrays = isinstance(value, Array) and not value.is_list and not isinstance(stmt.value, gast.GeneratorExp)
        if isinstance(old, (Sequence, GrowList)) and NAMES.get(function) == "add" and not arrays:   # arrays are added to
            if isinstance(old, GrowList):
                lo.call_method(old, "extend", [value], {})
                return
            if kind_of(old) is tuple and kind_of(value) is not tuple:
                raise lo.error(WrongKind, f"can only concatenate tuple (not {describe(value)}) to tuple")
            items = items_to_add(lo, old, value)
            longer = Sequence(old.items + items, old.kind)
            if old.kind is list:
                replace_everywhere(lo, old, longer)
            put(lo, target.id, longer)
            return
        new = binary_matmul(lo, old, value) if function is None else lo.binary(function, old, value)
        if isinstance(old, (Scalar, Array)) and old.boxed and isinstance(new, Scalar):
            new = in_dtype(lo, old, new, NAMES.get(function, "matmul"))
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            return replace_everywhere(lo, old, new)
        repeated_in_place(lo, old, new)
        lo.bind(target, new, stmt)
        return
    owner = lo.eval(target.value)
    changeable(lo, owner)
    to_be_written(lo, owner)
    if not isinstance(owner, Array):
        return augment_part(lo, owner, target, function, stmt)
    block, mark = lo.b, len(lo.b.stmts)
    with key_first(lo, target, stmt.value) as target:
        return augment_element(lo, target, function, stmt, block, mark)


@contextmanager
def key_first(lo: Lowering, target, value):
    """`target` with its subscript evaluated where that, or `value`, may change what the other reads: Python reads the
    subscript before the value."""
    if not isinstance(target, gast.Subscript) or not (may_act(target.slice) or may_act(value)):
        yield target
        return
    held = f"%key{len(lo.env)}"
    lo.env[held] = lo.eval(target.slice)
    name = gast.copy_location(gast.Name(held, gast.Load(), None, None), target.slice)
    try:
        yield gast.copy_location(gast.Subscript(target.value, name, target.ctx), target)
    finally:
        lo.env.pop(held, None)


def augment_element(lo: Lowering, target, function, stmt, block, mark) -> None:
    value = lo.eval(stmt.value)
    if isinstance(target, gast.Subscript):
        owner = lo.eval(target.value)
        if isinstance(owner, (Array,)):
            lo.node = target
            if block is lo.b and written(tuple(block.stmts[mark:])) & owner.roots() and is_copy(
                    subscript(lo, owner, target.slice)):
                raise lo.error(UnsupportedSyntax, "the right-hand side changes the array whose element Python has "
                               "read before", "bind it to a name first, or write a[i] = a[i] + value")
            return store_in_array(lo, owner, target.slice, value, function, stmt)
        old = subscript(lo, owner, target.slice)
    else:
        old = lo.attribute(lo.eval(target.value), target.attr)
    if changes_in_place(lo, old):
        return augment(lo, known_as(Array, old), function, value, stmt)
    lo.bind(target, lo.binary(function, old, value), stmt)


def is_copy(value: Value) -> bool:
    """Whether what a subscript gives is no view: a number, or what a mask or indices choose."""
    return is_number(value) or isinstance(value, (Delayed, FancyRead))


def augment_part(lo: Lowering, owner: Value, target, function, stmt) -> None:
    """`owner[key] op= value` or `owner.name op= value` of an object: the old value is read first."""
    key = lo.eval(target.slice) if isinstance(target, gast.Subscript) else None
    old = lo.get_item(owner, key) if key is not None else lo.attribute(owner, target.attr)
    in_place = changes_in_place(lo, old)
    if in_place:
        give_memory(lo, old)                   # before the right-hand side reads it: only then do both mean one memory
    held = f"%owner{len(lo.env)}"
    lo.env[held] = as_it_is_now(lo, owner)    # which reading the item, and the right-hand side, may change
    with holding(lo, old) as before:
        value = lo.eval(stmt.value)
    old, = before.now
    owner = lo.env.pop(held)
    if in_place:
        augment(lo, known_as(Array, old), function, value, stmt)
        if key is not None and (isinstance(owner, Record) or isinstance(owner, Sequence) and owner.kind is tuple):
            lo.store_item(owner, key, old)          # the array has changed already: Python puts it back all the same
        elif isinstance(owner, Record) and not sets_plainly(lo, owner, target.attr):
            set_attribute(lo, owner, target.attr, old)
        return
    made = binary_matmul(lo, old, value) if function is None else lo.binary(function, old, value)
    repeated_in_place(lo, old, made)
    if key is not None:
        lo.node = target
        return lo.store_item(owner, key, made)
    return set_attribute(lo, owner, target.attr, made)


def set_attribute(lo: Lowering, owner: Value, name: str, value: Value) -> None:
    changeable(lo, owner)
    if isinstance(owner, Record):
        return set_record_attribute(lo, owner, name, value)
    if isinstance(owner, Array) and name in ("real", "imag") and (is_complex(owner.dtype) or name == "real"):
        give_memory(lo, owner)
        return assign(lo, known_as(Array, lo.attribute(owner, name)), value)
    if isinstance(owner, Array) and name == "shape":
        return set_shape(lo, owner, value)
    if isinstance(owner, Bound) and isinstance(owner.owner, Array) and (owner.name, name) == ("flags", "writeable"):
        return set_writeable(lo, owner.owner, value)
    if isinstance(owner, (Array, Scalar)) or is_number(owner):
        lo.attribute(owner, name)              # arrays and numbers get no new attributes: this raises as Python does
    raise lo.error(UnsupportedSyntax, "a derivative cannot follow writes to this object's attributes",
                   "use a local variable, or a dataclass created in the function")


def set_shape(lo: Lowering, owner: Array, value: Value) -> None:
    """`x.shape = value`: all names of this array see the other shape, names of other views of its memory do not.

    Where an array was made before the branch or loop that changes its shape, names would hold arrays of two shapes.
    """
    give_memory(lo, owner)
    made = known_as(Array, lo.call_method(owner, "reshape", [value], {}))
    if expression(made) is not expression(owner) or not owner.roots() <= allocations(lo.b.stmts).keys():
        raise lo.error(UnsupportedSyntax, "the shape of an array is set where it cannot be followed: of a new array only, "
                       "in the block where it is made", "bind a reshaped one to the name: x = x.reshape(...)")
    memory = stood_for(lo, owner.roots())

    def may_be(leaf) -> bool:
        return isinstance(leaf, Array) and leaf.roots() != owner.roots() and not memory.isdisjoint(
            stood_for(lo, leaf.roots()))
    for frame in dict.fromkeys((*lo.frames, *lo.kept_frames)):
        for name, held in frame.env.items():
            if held is owner:
                frame.env[name] = made
            elif any(leaf is owner or may_be(leaf) for leaf in leaves(held)):
                raise lo.error(UnsupportedSyntax, f"the shape of an array is set that `{name.lstrip('%')}` may hold too",
                               "bind a reshaped one to the name: x = x.reshape(...)")


def bind(lo: Lowering, target, value: Value, stmt=None) -> None:
    match target:
        case gast.Name(id=name):
            if name in lo.frame.declared:
                value = as_declared(lo, value, lo.frame.declared[name])
            put(lo, name, bound_list(lo, name, named(lo, handed_on(value), name, stmt)))
            if ("matrix", lo.frame.definition.name, name) in lo.widened:
                as_matrix(lo, name)
        case gast.Tuple(elts=elts) | gast.List(elts=elts):
            unpack(lo, elts, value, stmt)
        case gast.Subscript():
            with holding(lo, value, node=target.value) as held:
                owner = lo.eval(target.value)
            value, = held.now
            lo.node = target
            changeable(lo, owner)
            if isinstance(owner, Array):
                return store_in_array(lo, owner, target.slice, value, None, stmt)
            with holding(lo, value, owner, node=target.slice) as held:
                key = lo.eval(target.slice)
            value, owner = held.now
            lo.store_item(owner, key, value)
        case gast.Attribute(value=owner_node, attr=attr):
            with holding(lo, value, node=owner_node) as held:
                owner = lo.eval(owner_node)
            value, = held.now
            set_attribute(lo, owner, attr, value)
        case _:
            raise lo.error(UnsupportedSyntax, "this assignment target is not supported", node=target)


def unpack(lo: Lowering, elts, value, stmt) -> None:
    value = known_length(lo, by_items(lo, gone_through(lo, value)), elts)
    items = items_of(lo, value)
    star = next((k for k, e in enumerate(elts) if isinstance(e, gast.Starred)), None)
    if star is None or len(items) == len(elts) and is_list(items[star]):
        if len(items) != len(elts):
            raise lo.error(ShapeMismatch, f"not enough values to unpack (expected {len(elts)}, got {len(items)})"
                           if len(items) < len(elts) else f"too many values to unpack (expected {len(elts)})")
    else:
        after = len(elts) - star - 1
        if len(items) < len(elts) - 1:
            raise lo.error(ShapeMismatch, f"not enough values to unpack (expected at least {len(elts) - 1}, got "
                                          f"{len(items)})")
        middle = Sequence(tuple(items[star:len(items) - after]), list)
        items = (*items[:star], middle, *items[len(items) - after:])
    rest = exchanged(lo, elts, items, getattr(stmt, "value", None))
    for e in elts:
        item, *rest = rest
        target = e.value if isinstance(e, gast.Starred) else e
        with holding(lo, item, *rest, node=target) as held:
            lo.bind(target, item, stmt)
        rest = held.now[1:]


def known_length(lo: Lowering, value, elts):
    """An array unpacked into names has as many rows as there are names: checked when the program runs."""
    value = all_items(lo, value)
    value = lo.array(value) if isinstance(value, GrowList) else value
    if isinstance(value, Table) and not any(isinstance(e, gast.Starred) for e in elts):
        require_same(lo, value.count, Const(len(elts), "int64"), f"the list does not unpack into {len(elts)} values")
        return Sequence(tuple(row_of(lo, value, Static(k)) for k in range(len(elts))))
    if isinstance(value, Array) and value.rank and not isinstance(value.shape[0], Const):
        star = next((k for k, e in enumerate(elts) if isinstance(e, gast.Starred)), None)
        if star is not None:
            return around_star(lo, value, star, len(elts) - star - 1)
        count = Const(len(elts), "int64")
        require_same(lo, value.shape[0], count, f"the array does not unpack into {len(elts)} values")
        return Sequence(tuple(lo.index_array(value, (Static(k),)) for k in range(len(elts))))
    if isinstance(value, (Iterable, Range, Series)):
        items = lo.iterate(value)
        if items.static is None and not isinstance(items.length, Const):
            if any(isinstance(e, gast.Starred) for e in elts):
                return known_length(lo, items_anew(lo, value, list), elts) if isinstance(value, Iterable) else value
            require_same(lo, items.length, Const(len(elts), "int64"), f"{describe(value)} does not unpack into {len(elts)} "
                         "values")
            return Sequence(tuple(items.item(Const(k, "int64")) for k in range(len(elts))))
    return value


def around_star(lo: Lowering, value: Array, before: int, after: int) -> Sequence:
    """The items of an array unpacked around a starred name, which gets the rest as a list."""
    size = value.shape[0]
    guard(lo, lo.b.compare("ge", size, Const(before + after, "int64")), "ValueError",
          f"not enough values to unpack (expected at least {before + after})")
    at = lambda k: lo.index_array(value, (Static(k),))  # noqa: E731
    stop = Static(-after) if after else None
    rest = items_anew(lo, lo.index_array(value, (Slice(Static(before), stop, None),)), list)
    return Sequence((*map(at, range(before)), rest, *map(at, range(-after, 0))), tuple)


@executes(gast.Delete)
def exec_delete(lo: Lowering, stmt, rest):
    for target in stmt.targets:
        if isinstance(target, gast.Subscript):
            with holding(lo, lo.eval(target.value), node=target.slice) as held:
                key = lo.eval(target.slice)
            owner, = held.now
            changeable(lo, owner)
            if isinstance(owner, (Array, GrowList, Table)) and kind_of(owner) is list:
                without(lo, owner, key)
            else:
                replace_everywhere(lo, owner, delete_item(lo, owner, key))
            continue
        if not isinstance(target, gast.Name):
            raise lo.error(UnsupportedSyntax, "`del` is supported of names and items only", "leave it as it is", node=stmt)
        eval_name(lo, target)                      # which is an error if nothing has bound it
        put(lo, target.id, UNSET)


def changeable(lo: Lowering, owner: Value) -> None:
    """Iterators and views of dicts have no items or attributes that a program could set or delete."""
    if is_iterator(owner) and not in_library(lo):
        raise lo.error(WrongKind, "an iterator, or a view of a dict, cannot be changed",
                       "make a list of it: list(...)")
    if isinstance(owner, GrowList):
        list_changes(lo, owner)


def store_item(lo: Lowering, owner, key, value) -> None:
    changeable(lo, owner)
    to_be_written(lo, owner)
    if isinstance(key, Either):
        return store_by_option(lo, owner, key, lambda owner, option: lo.store_item(owner, option, value))
    if isinstance(owner, Record) and special(lo, owner, "__setitem__", key, value) is not None:
        return None
    key = list_index(lo, owner, key)
    if isinstance(owner, Mapping) and isinstance(key := as_key(key), Static):
        return replace_everywhere(lo, owner, owner.with_items({**owner.items, key.value: value}))
    if isinstance(key, Slice) and (isinstance(owner, GrowList) or isinstance(owner, Sequence) and owner.kind is list):
        return store_slice(lo, owner, key, value)
    if isinstance(owner, Sequence) and owner.kind is list:
        if isinstance(key, Static) and isinstance(key.value, int):
            items = list(owner.items)
            try:
                items[key.value] = value
            except IndexError:
                raise certain(lo, "IndexError", lo.error(
                    MissingItem, "list assignment index out of range")) from None
            return replace_everywhere(lo, owner, Sequence(tuple(items), list))
        if isinstance(key, Scalar):
            return store_at(lo, owner, key, value)
    if isinstance(owner, Mapping):
        raise needs_static(lo, key, "a dict key")
    if isinstance(owner, Table):
        return store_row(lo, owner, key, value)
    if isinstance(owner, GrowList):
        check_width(lo, owner, value)
        target = lo.select(lo.array(owner), (key,))
        if target.rank:
            return assign_item(lo, owner, known_as(View, target), value)
        return store_number(lo, target, value, "")
    raise lo.error(TypeConflict, f"{describe(owner)} does not support item assignment")


def store_in_array(lo: Lowering, owner: Array, slice_node, value: Value, function, stmt) -> None:
    key = key_to_store_at(lo, owner, slice_node, value, stmt)
    found = undecided(key)
    if found is None:
        return store_subscript(lo, owner, key, value, function, stmt)
    return store_by_option(lo, owner, found, lambda owner, option: store_subscript(
        lo, owner, decided(key, found, option), value, function, stmt))


def store_by_option(lo: Lowering, owner, key: Either, store) -> None:
    """`store(owner, option)` for the option of a key that differs by path."""
    *others, last = key.possible
    if not others:
        return store(owner, key.options[last])
    held = f"%owner{len(lo.env)}"
    lo.env[held] = owner
    rest = Either(key.tag, key.options, key.possible[1:])
    conditional(lo, among(lo, key, key.possible[:1]),
                lambda: store(lo.env[held], key.options[key.possible[0]]),
                lambda: store_by_option(lo, lo.env[held], rest, store), set(lo.env))
    lo.env.pop(held)
    return None


@lowers(np.copyto)
def lower_copyto(lo, dst, src, casting=None, where=None):
    if where is not None:
        src = choose_elements(lo, where, src, dst)
    if not isinstance(dst, Array):
        raise lo.error(WrongKind, f"copyto() argument 1 must be numpy.ndarray, not {describe(dst)}")
    check_cast(lo, dst, src, "copyto")
    assign(lo, dst, src)
    return Static(None)
