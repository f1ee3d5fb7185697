"""Statements without loops: assignment, branches, returns, checks."""

from __future__ import annotations

import importlib
from dataclasses import replace

import gast
import numpy as np

from ..language.build import located
from ..language.core import Const, Guard, If, Merge, Print, Var
from ..language.errors import UnsupportedSyntax
from .alternatives import whole
from .arrays import describe
from .assignments import Assignments
from .branches import Joiner
from .list_operators import kind_of
from .liveness import always_exits, exits
from .messages import Text, templated
from .needs import Raised
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
    "Delete": ("`del` is supported of names and items only", "leave it as it is"),
}


class Statements(Assignments, Sharing):
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
            if not isinstance(target, gast.Name):
                raise self.error(UnsupportedSyntax, *ADVICE["Delete"], node=stmt)
            self.eval_Name(target)                      # which is an error if nothing has bound it
            self.env[target.id] = UNSET

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
            if item.optional_vars is not None or call.args or any(k.arg is None for k in call.keywords):
                raise self.error(UnsupportedSyntax, "this form of np.errstate is not supported",
                                 "write `with np.errstate(divide=\"ignore\"):`", node=stmt)
            for setting in (self.eval(k.value) for k in call.keywords):
                if not (isinstance(setting, Static) and setting.value in (None, "ignore", "warn", "print", "log")):
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
                    frame.env[name] = joiner.join_reached(name, x) if c is UNREACHED else joiner.join_name(name, x, y)
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
