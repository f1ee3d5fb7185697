"""Python files read for the sake of their functions, without what they do when they are run.

Of a file's own level, these are run, in order: imports, definitions of functions and classes (with their decorators), calls
that change `sys.path` or give a rule (`constant(f)`, `partials(f)(g)`), and, of the rest, what binds or changes a name that
the wanted functions need, directly or through other such statements: assignments, deletions, calls of methods that change
lists, dicts, sets and arrays (`TABLE.append(row)`). Of `if`, `try`, `with` and loops those parts are run. Nothing else is:
no other calls that stand alone, hence no prints, plots and fits, and nothing under `if __name__ == "__main__"`.
"""

from __future__ import annotations

import ast
import copy
import functools
import importlib
import linecache
import os
import symtable
import sys
import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

TRIES: Any = (ast.Try, ast.TryStar) if sys.version_info >= (3, 11) else (ast.Try,)
future: Any = importlib.import_module("__future__")        # not a statement of that name
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)
BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
CHANGES = frozenset("""add add_argument append appendleft clear difference_update discard extend extendleft fill insert
    intersection_update itemset partition pop popitem put remove resize reverse rotate set_defaults setdefault setflags sort
    symmetric_difference_update update""".split())
VIEWS = frozenset("""asarray asanyarray ascontiguousarray atleast_1d atleast_2d atleast_3d broadcast_to diagonal expand_dims
    iter moveaxis next ravel real imag reshape reversed enumerate zip squeeze swapaxes transpose values items""".split())
WAYS = (ast.Break, ast.Continue, ast.Raise)
RULES = ("constant", "partials", "pullback", "pushforward", "defines")


class Mistake(Exception):
    """What the user of a command has to mend: a line that says so."""


# -- names --------------------------------------------------------------------------------------------------------


def symbols(node: ast.stmt) -> symtable.SymbolTable:
    return symtable.symtable(ast.unparse(node), "statement", "exec")


@functools.lru_cache(maxsize=10_000)
def reads(node: ast.stmt) -> frozenset[str]:
    """The names of the file's own level that a statement reads, also in functions that it makes."""
    top = symbols(node)
    found = {s.get_name() for s in top.get_symbols() if s.is_referenced()}

    def inside(table: symtable.SymbolTable) -> None:
        for child in table.get_children():
            found.update(s.get_name() for s in child.get_symbols() if s.is_global())
            inside(child)
    inside(top)
    for part in own_parts(node):
        if isinstance(part, (ast.AugAssign, ast.Delete)):       # which symtable has as bindings alone
            found.update(map(root, [part.target] if isinstance(part, ast.AugAssign) else part.targets))
    return frozenset(found - {""})


@functools.lru_cache(maxsize=10_000)
def without_bodies(node: ast.stmt) -> ast.stmt:
    """A definition with nothing in the functions that it makes: what runs when it is run itself."""
    made = copy.deepcopy(node)
    for part in ast.walk(made):
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
            part.body = [ast.Pass()]
    return made


def root(node: ast.AST) -> str:
    """The name at the start of `name.attribute[item]`; "" where something else is."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


@functools.lru_cache(maxsize=10_000)
def binds(node: ast.stmt) -> frozenset[str]:
    """The names of the file's own level that a statement binds or deletes, and those whose objects it changes."""
    if isinstance(node, DEFINITIONS):
        return frozenset({node.name})
    found = {s.get_name() for s in symbols(node).get_symbols() if s.is_assigned() or s.is_imported()}
    return frozenset(found | changes(node) | {part.id for part in own_parts(node) if isinstance(part, ast.Name)
                                              and isinstance(part.ctx, ast.Del)})


def changes(node: ast.stmt) -> set[str]:
    """The names whose objects a statement changes."""
    targets: list[ast.AST] = [part for part in own_parts(node) if isinstance(part, (ast.Subscript, ast.Attribute))
                              and isinstance(part.ctx, (ast.Store, ast.Del))]
    if isinstance(node, ast.AugAssign):
        targets.append(node.target)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute) \
            and node.value.func.attr in CHANGES:
        targets.append(node.value.func)
    return set(map(root, targets)) - {""}


def shares(value: ast.expr) -> set[str]:
    """The names whose objects, or parts and views of them, an expression may be."""
    if isinstance(value, ast.Call):
        name = value.func.attr if isinstance(value.func, ast.Attribute) else ast.unparse(value.func)
        given = value.args if name in VIEWS else []
        base = [value.func.value] if isinstance(value.func, ast.Attribute) else []
        return set().union(*map(shares, [*given, *base]))
    if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)):
        return {root(value)} - {""} if root(value) or not isinstance(value, (ast.Attribute, ast.Subscript)) else shares(
            value.value)
    if isinstance(value, (ast.Tuple, ast.List, ast.Dict, ast.IfExp, ast.BoolOp, ast.NamedExpr, ast.Starred)):
        return set().union(*(shares(part) for part in ast.iter_child_nodes(value) if isinstance(part, ast.expr)))
    return set()


def own_parts(node: ast.AST) -> Iterator[ast.AST]:
    """A node and its parts, but not those of functions and classes in it."""
    yield node
    for part in ast.iter_child_nodes(node):
        if not isinstance(part, (*DEFINITIONS, ast.Lambda)):
            yield from own_parts(part)


def blocks(node: ast.stmt) -> dict[str, list]:
    """The blocks of statements of a compound one, by the names of its fields; {} for others."""
    if isinstance(node, DEFINITIONS):
        return {}
    found = {name: value for name in BLOCKS if isinstance(value := getattr(node, name, None), list)}
    return found if "body" in found or "cases" in found else {}


def is_main(node: ast.stmt) -> bool:
    """Whether it is `if __name__ == "__main__":`."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Compare) and {"__name__", "'__main__'"} == {
        ast.unparse(side) for side in (node.test.left, *node.test.comparators)}


# -- files --------------------------------------------------------------------------------------------------------


class Script:
    """A Python file. module: what was run of it.

    Raises Mistake where there is no such file, or one that is not Python.
    """

    def __init__(self, path: str):
        self.path = Path(path)
        try:
            self.text = self.path.read_bytes()
            self.tree = ast.parse(self.text, str(self.path))
        except (OSError, ValueError, SyntaxError) as e:
            raise Mistake(why_unread(path, e)) from None
        self.flags = sum({getattr(future, a.name).compiler_flag for node in self.tree.body
                          if isinstance(node, ast.ImportFrom) and node.module == "__future__" for a in node.names})
        self.imported = {name for node in ast.walk(self.tree) if isinstance(node, IMPORTS) for name in binds(node)}
        self.rules = {a.asname or a.name for node in self.tree.body if isinstance(node, ast.ImportFrom)
                      and (node.module or "").startswith("autodiff") for a in node.names if a.name in (*RULES, "rules")}
        self.module = types.ModuleType(self.path.stem, ast.get_docstring(self.tree, clean=False))

    def functions(self) -> list[str]:
        """The names of the functions that it defines."""
        return [node.name for node in self.tree.body if isinstance(node, DEFINITIONS[:2])]

    def needed(self, wanted: Iterable[str] | None) -> tuple[set[str], list[ast.stmt]]:
        """(names, statements) that must be there for some names of the file; None: for all functions and classes.

        A statement of several parts has those that must be there.
        """
        names = {n.name for n in self.tree.body if isinstance(n, DEFINITIONS)} if wanted is None else set(wanted)
        shared = self.shared()
        while True:
            for one, other in shared:
                names |= one if other & names else set()
            kept = [k for s in self.tree.body if (k := self.part(s, names)) is not None]
            run = (without_bodies(s) if isinstance(s, DEFINITIONS) and s.name not in names else s for s in kept)
            more: set[str] = set().union(names, *map(reads, run))
            if more == names:
                return names, kept
            names = more

    def shared(self) -> list[tuple[set[str], set[str]]]:
        """(names, others whose objects they may hold) where the former are changed: then the latter are."""
        parts = [p for p in own_parts(self.tree) if isinstance(p, ast.stmt)]
        changed = set().union(*map(changes, parts))
        found = []
        for p in parts:
            if isinstance(p, (ast.Assign, ast.AnnAssign)) and p.value is not None:
                targets: list[ast.AST] = list(p.targets) if isinstance(p, ast.Assign) else [p.target]
                value = p.value
            elif isinstance(p, (ast.For, ast.AsyncFor)):
                targets, value = [p.target], p.iter
            else:
                continue
            bound = {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)} & changed
            if bound and (others := shares(value)):
                found.append((bound, others))
        return found

    def part(self, node: ast.stmt, names: set[str] | None, ways: bool = False) -> ast.stmt | None:
        """What of a statement is run for the sake of some names (None: of all); None: nothing. ways: also for ways out of a
        block."""
        if isinstance(node, (*IMPORTS, *DEFINITIONS)):
            return node
        found = blocks(node)
        if not found:
            return node if self.acts(node, names) or ways and isinstance(node, WAYS) else None
        made: Any = copy.copy(node)
        some = False
        for name, block in found.items():
            if name in ("handlers", "cases"):
                parts = []
                for one in block:
                    parts.append(copy.copy(one))
                    parts[-1].body = self.parts(one.body, names, ways) or [ast.copy_location(ast.Pass(), one.body[0])]
                    some |= not isinstance(parts[-1].body[0], ast.Pass)
            else:
                parts = [] if name == "body" and is_main(node) else self.parts(block, names, ways)
                some |= bool(parts)
                if name == "body" and not parts:
                    parts = [ast.copy_location(ast.Pass(), block[0])]
            setattr(made, name, parts)
        if isinstance(node, TRIES) and names is not None and any(self.parts(one.body, names, ways) for one in node.handlers):
            made.body = self.parts(node.body, None, ways) or made.body          # of which any may raise
        return made if some else None

    def parts(self, block: list[ast.stmt], names: set[str] | None, ways: bool) -> list[ast.stmt]:
        """What of a block is run; with the ways out, if anything is."""
        ways = ways or any(self.part(s, names) is not None for s in block)
        return [part for s in block if (part := self.part(s, names, ways)) is not None]

    def acts(self, node: ast.stmt, names: set[str] | None) -> bool:
        """Whether a statement without parts does something for these names, or for any; no call that stands alone does."""
        if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Delete, ast.Expr, *TYPES)):
            return False
        bound = binds(node)
        if isinstance(node, ast.Expr):
            if ast.unparse(node).startswith("sys.path.") or isinstance(node.value, ast.Call) and self.gives_rule(node.value):
                return True
            bound -= self.imported
            if names is None:
                return bool(bound) or not any(isinstance(part, ast.Call) for part in own_parts(node))
        return names is None or bool(bound & names)

    def gives_rule(self, call: ast.Call) -> bool:
        """Whether a call gives a derivative rule: of `constant`, or of what `pullback(f)` and its like return."""
        function = call.func.func if isinstance(call.func, ast.Call) else call.func
        if isinstance(function, ast.Attribute):
            return function.attr in RULES and (root(function) in ("autodiff", "ad") or root(function) in self.rules)
        return isinstance(function, ast.Name) and function.id in self.rules

    def run(self, wanted: Iterable[str] | None = None, strict: bool = True) -> types.ModuleType:
        """Run what some names of the file need (None: all its functions and classes); its module.

        Raises Mistake, with the line, where that raises. strict: else that is told on the standard error, and what comes
        after it is run.
        """
        names, kept = self.needed(wanted)
        with self.as_imported():
            for node in kept:
                try:
                    code = compile(ast.Module([node], []), str(self.path), "exec", self.flags, dont_inherit=True)
                    exec(code, vars(self.module))
                except (Exception, SystemExit) as e:
                    everything = isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
                    if strict and not everything and not binds(node) & names:
                        continue                # nothing that is wanted needs it
                    told = f"{self.path}:{line_of(e, self.path, node)}: {type(e).__name__}: {e}".split("\n")[0]
                    told += NOT_RUN * isinstance(e, NameError)
                    if strict:
                        raise Mistake(told) from None
                    print(f"autodiff: {told}", file=sys.stderr)
        return self.module

    @contextmanager
    def as_imported(self) -> Iterator[None]:
        """The module with the names that an import gives it, its folder among those that are searched."""
        folder, parts = self.path.absolute().parent, [self.path.stem]
        while (folder / "__init__.py").exists():
            parts.insert(0, folder.name)
            folder = folder.parent
        name = ".".join(parts if parts[-1] != "__init__" or len(parts) == 1 else parts[:-1])
        if str(folder) not in sys.path:
            sys.path.insert(0, str(folder))
        package = ".".join(parts[:-1])
        vars(self.module).update(__name__=name, __file__=str(self.path), __package__=package)
        if package:
            with suppress(Exception, SystemExit):       # an import of the file that needs it says what is wrong
                importlib.import_module(package)
        if getattr(sys.modules.get(name), "__spec__", None) is None:        # not a module that stands there by right
            sys.modules[name] = self.module
        linecache.checkcache(str(self.path))
        given, sys.argv = sys.argv, [str(self.path)]        # whoever parses it sees no arguments of ours
        try:
            yield
        finally:
            sys.argv = given


NOT_RUN = " (of a file, only definitions, imports and the assignments that they need are run)"
TYPES = (ast.TypeAlias,) if sys.version_info >= (3, 12) else ()         # type: ignore[attr-defined,unused-ignore]


def why_unread(path: str, error: Exception) -> str:
    """A line about a file that could not be read."""
    if isinstance(error, SyntaxError):
        return f"{path}:{error.lineno or 1}: {type(error).__name__}: {error.msg}"
    if isinstance(error, OSError):
        return f"there is no Python file {path}" if not os.path.exists(path) else f"{path} cannot be read: {error.strerror}"
    return f"{path} is not a Python file: {error}"


def line_of(error: BaseException, path: Path, node: ast.stmt) -> int:
    """The line of a file at which an error was raised."""
    frames, line = error.__traceback__, node.lineno
    while frames is not None:
        if frames.tb_frame.f_code.co_filename == str(path):
            line = frames.tb_lineno
        frames = frames.tb_next
    return line


__all__ = ["Mistake", "Script"]
