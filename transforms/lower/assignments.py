"""Assignment: names, items, attributes, in place too."""

from __future__ import annotations

from contextlib import contextmanager

import gast
import numpy as np

from ..language.core import Const, written
from ..language.errors import MissingItem, ShapeMismatch, TypeConflict, UnsupportedSyntax
from ..language.ops import is_complex
from .arrays import describe
from .list_operators import kind_of
from .lists import is_list
from .liveness import may_act
from .operators import BINARY, NAMES
from .values import (
    Array,
    Either,
    GrowList,
    Mapping,
    Record,
    Scalar,
    Sequence,
    Slice,
    Static,
    Table,
    Value,
    is_number,
)


class Assignments:
    """Binding names, writing items and attributes."""

    # -- assignment -------------------------------------------------------------------------------------------
    def exec_Assign(self, stmt, rest):
        if isinstance(stmt.value, gast.GeneratorExp):
            raise self.error(UnsupportedSyntax, "a generator expression is evaluated at once here, in Python when its items "
                             "are asked for", "write a list: [...]", node=stmt.value)
        value = self.eval(stmt.value)
        with self.holding(value):
            for target in stmt.targets:
                self.bind(target, value, stmt)

    def exec_AnnAssign(self, stmt, rest):
        if stmt.value is not None:
            self.bind(stmt.target, self.eval(stmt.value), stmt)

    def exec_AugAssign(self, stmt, rest):
        function = BINARY.get(type(stmt.op))
        target = stmt.target
        if isinstance(target, gast.Name):
            load = gast.Name(target.id, gast.Load(), None, None)
            gast.copy_location(load, target)
            old = self.eval_Name(load)
            if isinstance(old, Either) and any(isinstance(o, Array) for o in old.options):
                old = self.settled(old)
            value = self.eval(stmt.value)
            if isinstance(old, Array) and kind_of(old) is list and NAMES.get(function) == "add":
                self.growable(old)
            method = function.__name__.strip("_") if function is not None else "matmul"
            if (made := self.special(old, f"__i{method}__", value)) is not None:
                return self.bind(target, made, stmt)
            if self.changes_in_place(old, target.id):
                return self.augment(old, function, value, stmt)
            arrays = isinstance(value, Array) and not value.is_list and not isinstance(stmt.value, gast.GeneratorExp)
            if isinstance(old, (Sequence, GrowList)) and NAMES.get(function) == "add" and not arrays:   # arrays are added to
                if isinstance(old, GrowList):
                    self.call_method(old, "extend", [value], {})
                    return
                items = self.items_to_add(old, value)
                new = Sequence(old.items + items, old.kind)
                if old.kind is list:
                    self.replace_everywhere(old, new)
                self.env[target.id] = new
                return
            new = self.binary_matmul(old, value) if function is None else self.binary(function, old, value)
            if isinstance(old, (Scalar, Array)) and old.boxed and isinstance(new, Scalar):
                new = self.in_dtype(old, new, NAMES.get(function, "matmul"))
            if isinstance(old, Mapping) and isinstance(new, Mapping):
                return self.replace_everywhere(old, new)
            self.repeated_in_place(old, new)
            self.bind(target, new, stmt)
            return
        owner = self.eval(target.value)
        self.to_be_written(owner)
        if not isinstance(owner, Array):
            return self.augment_part(owner, target, function, stmt)
        block, mark = self.b, len(self.b.stmts)
        with self.key_first(target, stmt.value) as target:
            return self.augment_element(target, function, stmt, block, mark)

    @contextmanager
    def key_first(self, target, value):
        """`target` with its subscript evaluated where that, or `value`, may change what the other reads: Python reads the
        subscript before the value."""
        if not isinstance(target, gast.Subscript) or not (may_act(target.slice) or may_act(value)):
            yield target
            return
        held = f"%key{len(self.env)}"
        self.env[held] = self.eval(target.slice)
        name = gast.copy_location(gast.Name(held, gast.Load(), None, None), target.slice)
        try:
            yield gast.copy_location(gast.Subscript(target.value, name, target.ctx), target)
        finally:
            self.env.pop(held, None)

    def augment_element(self, target, function, stmt, block, mark) -> None:
        value = self.eval(stmt.value)
        if isinstance(target, gast.Subscript):
            owner = self.eval(target.value)
            if isinstance(owner, (Array,)):
                self.node = target
                if block is self.b and written(tuple(block.stmts[mark:])) & owner.roots() and is_number(
                        self.subscript(owner, target.slice)):
                    raise self.error(UnsupportedSyntax, "the right-hand side changes the array whose element Python has "
                                     "read before", "bind it to a name first, or write a[i] = a[i] + value")
                return self.store_subscript(owner, target.slice, value, function, stmt)
            old = self.subscript(owner, target.slice)
        else:
            old = self.attribute(self.eval(target.value), target.attr)
        if self.changes_in_place(old):
            return self.augment(old, function, value, stmt)
        self.bind(target, self.binary(function, old, value), stmt)

    def augment_part(self, owner: Value, target, function, stmt) -> None:
        """`owner[key] op= value` or `owner.name op= value` of an object: the old value is read first."""
        key = self.eval(target.slice) if isinstance(target, gast.Subscript) else None
        old = self.get_item(owner, key) if key is not None else self.attribute(owner, target.attr)
        in_place = self.changes_in_place(old)
        if in_place:
            self.give_memory(old)                   # before the right-hand side reads it: only then do both mean one memory
        held = f"%owner{len(self.env)}"
        self.env[held] = owner                      # which the right-hand side may change
        with self.holding(old):
            value = self.eval(stmt.value)
        owner = self.env.pop(held)
        if in_place:
            return self.augment(old, function, value, stmt)
        made = self.binary_matmul(old, value) if function is None else self.binary(function, old, value)
        self.repeated_in_place(old, made)
        if key is not None:
            self.node = target
            return self.store_item(owner, key, made)
        return self.set_attribute(owner, target.attr, made)

    def set_attribute(self, owner: Value, name: str, value: Value) -> None:
        if isinstance(owner, Record):
            return self.set_record_attribute(owner, name, value)
        if isinstance(owner, Array) and name in ("real", "imag") and (is_complex(owner.dtype) or name == "real"):
            self.give_memory(owner)
            return self.assign(self.attribute(owner, name), value)
        if isinstance(owner, Array) and name == "shape":
            raise self.error(UnsupportedSyntax, "setting `shape` is not supported", "use x = x.reshape(...)")
        raise self.error(UnsupportedSyntax, "a derivative cannot follow writes to this object's attributes",
                         "use a local variable, or a dataclass created in the function")

    def augment(self, target: Array, function, value, stmt) -> None:
        """`target op= value` in place, on all of an array."""
        if function is None:
            value = self.call_static(np.matmul, [target, value], {})
            return self.assign(target, value)
        if not target.rank:
            return self.augment_point(target, function, value)
        name = NAMES[function]
        self.give_memory(target)
        self.check_cast(target, value, name)
        value = self.array(value)
        self.check_output(target, value)
        if name == "sub" and target.dtype != "bool":
            value = self.elementwise("neg", value) if self.dtype_of(value) != "bool" else value
            return self.accumulate(target, value)
        if name == "add" and target.dtype != "bool":
            return self.accumulate(target, value)
        self.assign(target, value, op=name)

    def accumulate(self, target, value):
        """`target += value`: needs no recording of what was there."""
        source = self.array(value)
        if source.roots() & target.roots() and not self.reads_own_elements(
                target, self.broadcast_to(source, target.shape) if source.rank <= target.rank else source):
            source = self.force(source, copy=True)
            return self.assign(target, source, accumulate=True)
        if source.roots() & target.roots():
            return self.assign(target, source, op="add")
        self.assign(target, source, accumulate=True)

    def bind(self, target, value: Value, stmt=None) -> None:
        match target:
            case gast.Name(id=name):
                if name in self.frame.declared:
                    value = self.as_declared(value, self.frame.declared[name])
                self.env[name] = self.bound_list(name, self.named(value, name, stmt))
            case gast.Tuple(elts=elts) | gast.List(elts=elts):
                self.unpack(elts, value, stmt)
            case gast.Subscript():
                owner = self.eval(target.value)
                self.node = target
                if isinstance(owner, Array):
                    self.store_subscript(owner, target.slice, value, None, stmt)
                else:
                    self.store_item(owner, self.eval(target.slice), value)
            case gast.Attribute(value=owner_node, attr=attr):
                self.set_attribute(self.eval(owner_node), attr, value)
            case _:
                raise self.error(UnsupportedSyntax, "this assignment target is not supported", node=target)

    def unpack(self, elts, value, stmt) -> None:
        value = self.known_length(self.by_items(value), elts)
        items = self.items_of(value)
        star = next((k for k, e in enumerate(elts) if isinstance(e, gast.Starred)), None)
        if star is None or len(items) == len(elts) and is_list(items[star]):
            if len(items) != len(elts):
                raise self.error(ShapeMismatch, f"not enough values to unpack (expected {len(elts)}, got {len(items)})"
                                 if len(items) < len(elts) else f"too many values to unpack (expected {len(elts)})")
        else:
            after = len(elts) - star - 1
            if len(items) < len(elts) - 1:
                raise self.error(ShapeMismatch, f"not enough values to unpack (expected at least {len(elts) - 1}, got "
                                                f"{len(items)})")
            middle = Sequence(tuple(items[star:len(items) - after]), list)
            items = (*items[:star], middle, *items[len(items) - after:])
        for e, item in zip(elts, items, strict=True):
            self.bind(e.value if isinstance(e, gast.Starred) else e, item, stmt)

    def known_length(self, value, elts):
        """An array unpacked into names has as many rows as there are names: checked when the program runs."""
        value = self.array(value) if isinstance(value, GrowList) else value
        if isinstance(value, Array) and value.rank and not isinstance(value.shape[0], Const):
            star = next((k for k, e in enumerate(elts) if isinstance(e, gast.Starred)), None)
            if star is not None:
                return self.around_star(value, star, len(elts) - star - 1)
            count = Const(len(elts), "int64")
            self.require_same(value.shape[0], count, f"the array does not unpack into {len(elts)} values")
            return Sequence(tuple(self.index_array(value, (Static(k),)) for k in range(len(elts))))
        return value

    def around_star(self, value: Array, before: int, after: int) -> Sequence:
        """The items of an array unpacked around a starred name, which gets the rest as a list."""
        size = value.shape[0]
        self.guard(self.b.compare("ge", size, Const(before + after, "int64")), "ValueError",
                   f"not enough values to unpack (expected at least {before + after})")
        at = lambda k: self.index_array(value, (Static(k),))  # noqa: E731
        stop = Static(-after) if after else None
        rest = self.index_array(value, (Slice(Static(before), stop, None),))
        rest = self.as_list(self.force(rest, copy=True), self.node)
        return Sequence((*map(at, range(before)), rest, *map(at, range(-after, 0))), tuple)

    def store_item(self, owner, key, value) -> None:
        self.to_be_written(owner)
        if isinstance(key, Either):
            return self.store_by_option(owner, key, value)
        if isinstance(owner, Record) and self.special(owner, "__setitem__", key, value) is not None:
            return None
        if isinstance(owner, Mapping) and isinstance(key, Static):
            return self.replace_everywhere(owner, Mapping({**owner.items, key.value: value}))
        if isinstance(key, Slice) and (isinstance(owner, GrowList) or isinstance(owner, Sequence) and owner.kind is list):
            return self.store_slice(owner, key, value)
        if isinstance(owner, Sequence) and owner.kind is list:
            if isinstance(key, Static) and isinstance(key.value, int):
                items = list(owner.items)
                try:
                    items[key.value] = value
                except IndexError:
                    raise self.certain("IndexError", self.error(
                        MissingItem, "list assignment index out of range")) from None
                return self.replace_everywhere(owner, Sequence(tuple(items), list))
            if isinstance(key, Scalar):
                return self.store_at(owner, key, value)
        if isinstance(owner, Mapping):
            raise self.needs_static(key, "a dict key")
        if isinstance(owner, Table):
            return self.store_row(owner, key, value)
        if isinstance(owner, GrowList):
            self.check_width(owner, value)
            target = self.select(self.array(owner), (key,))
            return self.assign_item(owner, target, value) if target.rank else self.store_number(target, value, "")
        raise self.error(TypeConflict, f"{describe(owner)} does not support item assignment")

    def store_by_option(self, owner, key: Either, value) -> None:
        """`owner[key] = value` for a key that differs by path."""
        *others, last = key.possible
        if not others:
            return self.store_item(owner, key.options[last], value)
        held = f"%owner{len(self.env)}"
        self.env[held] = owner
        rest = Either(key.tag, key.options, key.possible[1:])
        self.conditional(self.among(key, key.possible[:1]),
                         lambda: self.store_item(self.env[held], key.options[key.possible[0]], value),
                         lambda: self.store_by_option(self.env[held], rest, value), set(self.env))
        self.env.pop(held)
        return None
