"""Finding the syntax tree of a Python function, wherever it was written."""

from __future__ import annotations

import builtins
import functools
import inspect
import linecache
import sys
import types
import weakref
from dataclasses import dataclass, replace
from typing import Any

import gast
import numpy as np

from ...runtime.machine_code.apart import apart
from ..language.core import Loc
from ..language.errors import SourceUnavailable, UnsupportedSyntax
from .matching import without_match
from .same_code import Functions, Place, functions_of, is_program_of, names_in, scopes_of
from .texts import block, texts


@dataclass(frozen=True, eq=False)
class Definition:
    """The tree of a function (gast), where it stands, and the names it sees."""

    node: Any
    file: str
    lines: tuple[str, ...]
    name: str

    def loc(self, node) -> Loc:
        line = getattr(node, "lineno", 0)
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        end = getattr(node, "end_col_offset", None) if getattr(node, "end_lineno", line) == line else len(text)
        column = getattr(node, "col_offset", 0)
        return Loc(self.file, line, text, self.name, column, (end or column + 1) - column)


def plain_function(function):
    """The Python function that a call of `function` runs, behind wrappers that only jit or cache it, or put it into
    `np.errstate`; else `function`."""
    while True:
        if isinstance(function, types.FunctionType):
            if (inner := without_errstate(function)) is None:
                break
            function = inner
            continue
        kind = type(function)
        library = kind.__module__.partition(".")[0]
        if not (kind in TRANSPARENT or library in LIBRARIES or hasattr(kind, "__autodiff_lower__")):
            break
        inner = getattr(function, "py_func", None) or getattr(function, "__wrapped__", None)
        if inner is None:
            break
        function = inner
    return function


def generated(method) -> bool:
    """Whether a method was written by `dataclass`."""
    code = getattr(method, "__code__", None)
    return code is not None and code.co_filename == "<string>"


def own(cls: type, name: str):
    """The special method that a user wrote in Python in a class or its bases; None without one."""
    method = getattr(cls, name, None)
    method = plain_function(method) if method is not None else None
    return method if hasattr(method, "__code__") and not generated(method) else None


def in_class(cls: type, name: str) -> bool:
    """Whether objects of a class have a name from it: what the class of the class has is not theirs."""
    return any(name in vars(c) for c in cls.__mro__)


WITH_ERRSTATE = np.errstate()(len).__code__


def without_errstate(target):
    """What `@np.errstate(...)` was put on, where that asks for no errors; None of anything else."""
    if getattr(target, "__code__", None) is not WITH_ERRSTATE:
        return None
    cell = dict(zip(target.__code__.co_freevars, target.__closure__, strict=True)).get("self")
    settings = [getattr(cell and cell.cell_contents, f"_{name}", "raise") for name in ("all", *np.geterr())]
    return None if "raise" in settings or "call" in settings else target.__wrapped__


TRANSPARENT = (functools._lru_cache_wrapper, staticmethod)
REWRITES = (without_match,)                          # what other Python says, in order: (tree, refusal) -> tree
LIBRARIES = ("numba", "numba_cuda", "numpy")        # their objects that wrap a function do what it does

_definitions: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()


def definition(function) -> Definition:
    """The syntax tree of a Python function: of text that compiles to the code it has. Raises SourceUnavailable."""
    code = getattr(function, "__code__", None)
    if code is None:
        raise SourceUnavailable(f"`{function!r}` has no Python source", None,
                                "give a derivative rule for it with autodiff.rules")
    known, made = _definitions.get(function, (None, None))
    if known is not code:
        try:
            made = _definition(code, function)
        except RecursionError:                  # the text nests deeply, or the caller
            made = _deep_definition(code, function)
        _definitions[function] = code, made
    return made


def _deep_definition(code, function) -> Definition:
    try:
        return apart(_definition, code, function)
    except RecursionError:
        raise SourceUnavailable(f"the text of `{function.__qualname__}` nests too deeply to be read", first_line(function),
                                "split its long expressions into several statements") from None


def first_line(function) -> Loc | None:
    """Where a function begins, by its code; None if it has none."""
    code = getattr(function, "__code__", None)
    if code is None:
        return None
    text = linecache.getline(code.co_filename, code.co_firstlineno).rstrip("\n")
    column = len(text) - len(text.lstrip())
    return Loc(code.co_filename, code.co_firstlineno, text, code.co_name, column, max(len(text) - column, 1))


def _definition(code, function) -> Definition:
    place, text = _found(code, function)
    name = place.node.name if code.co_name != "<lambda>" else code.co_name
    made = Definition(gast.ast_to_gast(place.node), code.co_filename, _lines(text), name)
    scope = private_scope(place.name)
    if sys.flags.optimize or scope and any(n.startswith(f"_{scope}__") for n in names_in(code)):
        made = replace(made, node=AsCompiled(scope).visit(made.node))
    refusal = lambda node, problem, hint: UnsupportedSyntax(problem, made.loc(node), hint)  # noqa: E731
    return replace(made, node=functools.reduce(lambda node, rewrite: rewrite(node, refusal), REWRITES, made.node))


def _found(code, function) -> tuple[Place, str]:
    """(the function in a syntax tree, the text of the whole) whose program is that of `code`."""
    seen = False
    name = function.__qualname__
    for text in texts(code.co_filename, function.__globals__):
        seen = True
        for read in (functools.partial(_block, code, function), _functions):
            places, imported = read(text, code.co_name == "<lambda>")
            likely = sorted(places.get(code.co_name, ()), key=lambda p: (p.name != name, abs(p.line - code.co_firstlineno)))
            for place in likely:
                if is_program_of(place, code, imported, function.__globals__.get("__loader__")):
                    return place, text
    if seen and not code.co_filename.startswith("<"):
        raise SourceUnavailable(f"the file changed since `{name}` was imported: it holds another program now", None,
                                "reload it (importlib.reload), or start Python again")
    raise SourceUnavailable(
        f"the source of `{name}` is not available", None,
        "define it in a file, a notebook cell or through linecache; C functions need a rule (autodiff.rules)")


@functools.lru_cache(maxsize=32)
def _functions(text: str, lambdas: bool) -> Functions:
    return functions_of(text, lambdas)


@functools.lru_cache(maxsize=32)
def _lines(text: str) -> tuple[str, ...]:
    return tuple(text.split("\n"))


def _block(code, function, text: str, lambdas: bool) -> Functions:
    """The functions in the statement where `code` says that its function stands: most often there is no need to read on."""
    lines = _lines(text)
    if not 0 < code.co_firstlineno <= len(lines):
        return Functions({}, set())
    prefix = getattr(code, "co_qualname", function.__qualname__).removesuffix(code.co_name)
    found = functions_of(block(lines, code.co_firstlineno - 1), lambdas, prefix)
    modules = {name for name, value in function.__globals__.items() if isinstance(value, types.ModuleType)}
    return Functions(found.places, modules)


def private_scope(qualified: str) -> str:
    """The name of the class that private names in a function belong to, without its first underscores; "" without one."""
    return next((name.lstrip("_") for name, is_class in reversed(scopes_of(qualified, ())) if is_class), "")


class AsCompiled(gast.NodeTransformer):
    """What Python makes of names that are private in a class, and of `assert` with -O."""

    def __init__(self, scope: str):
        self.scope = scope

    def visit(self, node):
        if self.scope and not isinstance(node, gast.keyword):
            for field in ("id", "attr", "arg", "name"):
                name = getattr(node, field, None)
                if isinstance(name, str) and name.startswith("__") and not name.endswith("__") and "." not in name:
                    setattr(node, field, f"_{self.scope}{name}")
        return super().visit(node)

    def visit_Assert(self, node):
        return gast.copy_location(gast.Pass(), node) if sys.flags.optimize else self.generic_visit(node)


MISSING = object()


def outer_names(function) -> tuple[dict, dict]:
    """(closure cells by name, globals) of a function."""
    cells = {}
    if function.__closure__:
        cells = dict(zip(function.__code__.co_freevars, function.__closure__, strict=True))
    return cells, function.__globals__


def look_up(name: str, cells: dict, namespace: dict):
    """The value an outer name has now, or MISSING."""
    if name in cells:
        try:
            return cells[name].cell_contents
        except ValueError:
            return MISSING
    if name in namespace:
        return namespace[name]
    return getattr(builtins, name, MISSING)


def signature_of(spec: gast.arguments, optional: int, named) -> inspect.Signature:
    """The signature of a function by its definition. optional: how many positional defaults; named: keywords with one."""
    kinds, empty = inspect.Parameter, inspect.Parameter.empty
    plain = [*((a.id, kinds.POSITIONAL_ONLY) for a in spec.posonlyargs),
             *((a.id, kinds.POSITIONAL_OR_KEYWORD) for a in spec.args)]
    parameters = [kinds(name, kind, default=empty if k < len(plain) - optional else None)
                  for k, (name, kind) in enumerate(plain)]
    parameters += [kinds(spec.vararg.id, kinds.VAR_POSITIONAL)] if spec.vararg else []
    parameters += [kinds(a.id, kinds.KEYWORD_ONLY, default=None if a.id in named else empty) for a in spec.kwonlyargs]
    parameters += [kinds(spec.kwarg.id, kinds.VAR_KEYWORD)] if spec.kwarg else []
    return inspect.Signature(parameters)


def complaint(signature: inspect.Signature, name: str, args, kwargs) -> str:
    """What Python says of a call with arguments that a function of this signature does not take; "" if it takes them."""
    empty = inspect.Parameter.empty
    parameters = [p.replace(annotation=empty, default=p.default if p.default is empty else None)
                  for p in signature.parameters.values()]
    stub = eval(f"lambda {str(inspect.Signature(parameters))[1:-1]}: None")
    stub.__qualname__ = name
    try:
        stub(*args, **kwargs)
    except TypeError as e:
        return str(e)
    return ""
