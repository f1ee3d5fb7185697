"""Statements without loops: assignment, branches, returns, checks."""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from dataclasses import replace

import gast
import numpy as np

from ..language.build import located
from ..language.core import Const, Guard, If, Merge, Print, Var, written
from ..language.errors import ShapeMismatch, TypeConflict, UnsupportedSyntax
from ..language.ops import is_complex
from .alternatives import whole
from .arrays import describe
from .branches import Joiner
from .indexing import Slice
from .list_operators import kind_of
from .lists import is_list
from .liveness import always_exits, exits, may_act
from .messages import Text, templated
from .needs import Raised
from .operators import BINARY, NAMES
from .pairs import Complex, parts_of
from .sharing import Sharing
from .values import (
    UNSET,
    Array,
    Buffer,
    Delayed,
    Either,
    GrowList,
    Mapping,
    Record,
    Scalar,
    Sequence,
    Static,
    Table,
    Undefined,
    Value,
    is_number,
)

TEMPORARY = ("t", "v", "draw")          # what is named so takes the name it is bound to
FALLS, CONTINUES, BREAKS, RETURNS = range(4)
UNREACHED: dict = {}    # the names where a program has raised
DEEPEST = 250           # branches inside one another: passes take time with the square of it
ADVICE = {
    "Try": ("`try` cannot be differentiated", "test the condition with `if` instead"),
    "TryStar": ("`try` cannot be differentiated", "test the condition with `if` instead"),
    "With": ("`with` is not supported", "move it outside the differentiated function"),
    "AsyncWith": ("`async` code cannot be differentiated", "write a plain function"),
    "AsyncFor": ("`async` code cannot be differentiated", "write a plain function"),
    "AsyncFunctionDef": ("`async` code cannot be differentiated", "write a plain function"),
    "Global": ("a derivative cannot follow writes to a global", "pass the value in and return the new one"),
    "Nonlocal": ("a derivative cannot follow writes to an outer variable", "pass the value in and return the new one"),
    "ClassDef": ("classes cannot be defined inside a differentiated function", "define it at module level"),
    "Delete": ("`del` is not supported on names still in use", "let the name go out of use instead"),
}


class Statements(Sharing):
    def exec_block(self, stmts) -> None:
        """Run statements in order; what follows a possible exit runs only if it was not taken."""
        for position, stmt in enumerate(stmts):
            rest = stmts[position + 1:]
            if self.exec(stmt, rest):
                return
            code = self.env["%exit"]
            if isinstance(code, Static):
                if code.value:
                    return
                continue
            if rest:
                falls = self.b.compare("eq", code.atom, Const(FALLS, "int64"))
                live = rest[-1].live_out
                def run(rest=rest):
                    self.env["%exit"] = Static(FALLS)
                    self.exec_block(rest)
                self.conditional(falls, run, lambda: None, live)
                return

    def exec(self, stmt, rest=()) -> bool:
        """Run one statement; true if it has also run `rest`."""
        name = type(stmt).__name__
        method = getattr(self, "exec_" + name, None)
        previous = self.node, self.b.loc
        frame = self.frame
        around = frame.statement
        self.node = frame.statement = stmt
        if method is None:
            problem, hint = ADVICE.get(name, (f"`{name.lower()}` statements are not supported", ""))
            raise self.error(UnsupportedSyntax, problem, hint, node=stmt)
        try:
            with located(self.b, self.place(stmt)):
                return bool(method(stmt, rest))
        finally:
            self.node = previous[0]
            frame.statement = around

    # -- simple statements ------------------------------------------------------------------------------------
    def exec_Pass(self, stmt, rest):
        pass

    def exec_Expr(self, stmt, rest):
        if isinstance(stmt.value, gast.Constant):
            return
        self.eval(stmt.value)

    def exec_Return(self, stmt, rest):
        self.env["%value"] = self.eval(stmt.value) if stmt.value is not None else Static(None)
        self.env["%exit"] = Static(RETURNS)

    def exec_Break(self, stmt, rest):
        self.env["%exit"] = Static(BREAKS)

    def exec_Continue(self, stmt, rest):
        self.env["%exit"] = Static(CONTINUES)

    def exec_FunctionDef(self, stmt, rest):
        if stmt.decorator_list:
            names = [gast.unparse(d) if hasattr(gast, "unparse") else "" for d in stmt.decorator_list]
            if not all("jit" in n for n in names):
                raise self.error(UnsupportedSyntax, "decorators on inner functions are not supported",
                                 "define the function at module level", node=stmt)
        self.env[stmt.name] = self.make_closure(stmt, stmt.name)

    def exec_Delete(self, stmt, rest):
        for target in stmt.targets:
            if isinstance(target, gast.Subscript):
                owner, key = self.eval(target.value), self.eval(target.slice)
                if isinstance(owner, (Array, GrowList, Table)) and kind_of(owner) is list:
                    self.without(owner, key)
                else:
                    self.replace_everywhere(owner, self.delete_item(owner, key))
                continue
            if not isinstance(target, gast.Name) or target.id in stmt.live_out:
                raise self.error(UnsupportedSyntax, *ADVICE["Delete"], node=stmt)
            self.env.pop(target.id, None)

    def exec_Import(self, stmt, rest):
        for alias in stmt.names:
            module = self.imported(alias.name)
            if alias.asname is None:
                self.env[alias.name.split(".")[0]] = Static(self.imported(alias.name.split(".")[0]))
            else:
                self.env[alias.asname] = Static(module)

    def exec_ImportFrom(self, stmt, rest):
        if stmt.level:
            raise self.error(UnsupportedSyntax, "relative imports inside a differentiated function are not supported",
                             "import at module level")
        module = self.imported(stmt.module)
        for alias in stmt.names:
            found = self.attribute_outside(module, alias.name)
            if found is None:
                found = Static(self.imported(f"{stmt.module}.{alias.name}"))
            self.env[alias.asname or alias.name] = found

    def imported(self, name):
        try:
            return importlib.import_module(name)
        except ImportError as e:
            raise self.error(UnsupportedSyntax, f"{type(e).__name__}: {e}") from None

    def exec_With(self, stmt, rest):
        """`np.errstate` changes no value, unless it asks for errors; other contexts are refused."""
        for item in stmt.items:
            call = item.context_expr
            if not (isinstance(call, gast.Call) and isinstance(function := self.eval(call.func), Static)
                    and function.value is np.errstate):
                raise self.error(UnsupportedSyntax, *ADVICE["With"], node=stmt)
            if any(isinstance(k.value, gast.Constant) and k.value.value in ("raise", "call") for k in call.keywords):
                raise self.error(UnsupportedSyntax, "np.errstate(...='raise') is not supported",
                                 "test for the condition with `if`", node=stmt)
        self.exec_block(stmt.body)

    def exec_Assert(self, stmt, rest):
        test = self.truth_of(stmt.test)
        self.guard(test, "AssertionError", self.message_of([self.eval(stmt.msg)] if stmt.msg else []), "note")
        if isinstance(test, Const) and not test.value:
            raise self.raised_here(stmt)

    def raised_here(self, stmt) -> Raised:
        return Raised(self.b, self.error(UnsupportedSyntax, "this is sure to raise, in a place where a value is needed",
                                         "test for it with `if`, in a statement of its own", node=stmt))

    def guard(self, cond, error, message, tells="place"):
        if isinstance(cond, Const) and cond.value:
            return
        self.add_check(self.b, cond, error, message, tells)

    def print_values(self, args):
        if any(isinstance(a, (Text, Sequence, Mapping, Record, Either)) or isinstance(a, Scalar) and a.dtype == "float32"
               for a in args):
            template, numbers = templated(self.joined(map(self.text_of, args), " "))
            self.b.add(Print(tuple(numbers), self.b.loc, template if numbers else template.format()))
            return
        parts = []
        for a in args:
            if isinstance(a, Static):
                parts.append(str(a.value))
            elif isinstance(a, (Scalar,)) or (isinstance(a, Array) and a.rank == 0):
                parts.append(self.atom(a))
            else:
                parts.append(f"<{describe(a)}>")
        self.b.add(Print(tuple(parts), self.b.loc))

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
            if isinstance(old, (Sequence, GrowList)) and NAMES.get(function) == "add":
                items = self.items_of(value)
                if isinstance(old, GrowList):
                    return self.extend(old, items)
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

    def named(self, value: Value, name: str, stmt=None) -> Value:
        """`value` as it is bound to a name: temporaries take the name; expressions used often get memory."""
        if isinstance(value, Scalar) and isinstance(value.atom, Var) and (
                value.atom.hint in (*TEMPORARY, "both", "either") or value.atom in self.sizes and "_" in value.atom.hint
                and value.atom not in self.parameter_leaves and not self.frames[1:]):
            value.atom.hint = name
        if isinstance(value, Scalar) and isinstance(value.atom, Complex):
            for part, which in zip(parts_of(value.atom), ("re", "im"), strict=True):
                if isinstance(part, Var) and part.hint in ("t", "v"):
                    part.hint = f"{name}_{which}"
        if isinstance(value, Delayed) and value.forced is None:
            value.hint = name
            if value.rank and self.frame.uses.get(name, 2) > 1 and value.roots():
                self.force(value, name)
            elif value.rank and self.frame.uses.get(name, 2) > 1:
                self.force(value, name)
        if isinstance(value, Buffer) and value.arr.hint in TEMPORARY:
            value.arr.hint = name
        if isinstance(value, Delayed) and value.forced is not None and value.forced.arr.hint in TEMPORARY:
            value.forced.arr.hint = name
        return value

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
        if isinstance(owner, Sequence) and owner.kind is list:
            if isinstance(key, Static) and isinstance(key.value, int):
                items = list(owner.items)
                try:
                    items[key.value] = value
                except IndexError:
                    raise self.error(TypeConflict, "list assignment index out of range") from None
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

    # -- branches ---------------------------------------------------------------------------------------------
    def raised_if(self, cond, block) -> None:
        """A branch that raises where `cond` holds."""
        match block.block():
            case (Guard(cond=Const(value=False)) as check,):
                self.b.add(replace(check, cond=self.b.let("not", cond, dtype="bool")))
            case stmts:
                self.b.add(If(cond, stmts, (), (), self.b.loc))

    def exec_If(self, stmt, rest):
        cond = self.truth_of(stmt.test)
        if isinstance(cond, Const):
            self.exec_block(stmt.body if cond.value else stmt.orelse)
            return False
        then, orelse, live, consumed = stmt.body, stmt.orelse, stmt.live_out, False
        if rest and (exits(then) | exits(orelse) or always_exits(then) or always_exits(orelse)):
            if always_exits(then):
                orelse, live, consumed = [*orelse, *rest], rest[-1].live_out, True
            elif always_exits(orelse):
                then, live, consumed = [*then, *rest], rest[-1].live_out, True
        if orelse and isinstance(orelse[-1], gast.Raise):       # the side that raises comes first
            cond, then, orelse = self.b.let("not", cond, dtype="bool"), orelse, then
        self.conditional(cond, lambda: self.exec_block(then), lambda: self.exec_block(orelse), live)
        return consumed

    def conditional(self, cond, then, orelse, live) -> None:
        """Run both sides of a branch in copies of the environment and join the names that are live afterwards.

        Where a side raises, all that follows belongs to the other one.
        """
        before = [dict(f.env) for f in self.frames]
        sides = []
        outer = self.b
        if self.branches_around == DEEPEST:
            raise self.error(UnsupportedSyntax, f"more than {DEEPEST} branches stand inside one another",
                             "each `elif`, and each `if` that ends in a return, stands inside the one before: look the "
                             "values up in an array instead")
        for side in (then, orelse):
            self.restore(before)
            self.b = here = outer.child()
            self.branches_around += 1
            self.known_conditions.append((cond, side is then))
            try:
                self.narrow(cond, side is then)
                side()
                sides.append(([dict(f.env) for f in self.frames], here))
            except Raised as e:
                if e.builder is not here:
                    raise
                sides.append(([], here))
            finally:
                self.b = outer
                self.branches_around -= 1
                self.known_conditions.pop()
            if not sides[0][0]:
                self.restore(before)
                self.raised_if(cond, here)
                self.narrow(cond, False)
                return orelse()
        self.restore(before)
        (then_envs, then_b), (else_envs, else_b) = sides
        merges: list[Merge] = []
        joiner = Joiner(self, cond, (then_b, else_b), (then_envs, else_envs), merges, live)
        for frame, a, c in zip(self.frames, then_envs, else_envs or [UNREACHED] * len(then_envs), strict=True):
            innermost = frame is self.frame
            for name in dict.fromkeys((*a, *c)):
                x, y = a.get(name, UNSET), c.get(name, UNSET)
                if c is UNREACHED and (x is frame.env.get(name) or isinstance(x, Undefined)):
                    frame.env[name] = x
                elif whole(x) is whole(y):
                    frame.env[name] = x if x is y else whole(x)
                elif innermost and not name.startswith("%") and name not in live:
                    frame.env[name] = Undefined(f"`{name}` is not available here")
                else:
                    frame.env[name] = (joiner.join if c is UNREACHED else joiner.join_name)(name, x, y)
        joiner.note_twins()
        outer.add(If(cond, then_b.block(), else_b.block(), tuple(merges), outer.loc))
        for m in merges:
            outer.facts.number(m.var)

    def bindings_changed(self, envs) -> bool:
        """Whether a name of an active function sees another value than it did."""
        return any(frame.env.get(name) is not value for frame, env in zip(self.frames, envs, strict=True)
                   for name, value in env.items())

    def restore(self, envs) -> None:
        for frame, env in zip(self.frames, envs, strict=True):
            frame.env = dict(env)

    def choose(self, cond, then, orelse, names=frozenset()) -> Value:
        """The value of a conditional expression; `names`: what its sides bind with `:=`."""
        results = {}
        def run(key, side):
            results[key] = side()
            self.env["%choice"] = results[key]
        self.conditional(cond, lambda: run(0, then), lambda: run(1, orelse), {"%choice"} | names | set(self.env))
        return self.env.pop("%choice")
