"""Whether a piece of text is the program of a code object: it is compiled, and everything but line numbers compared."""

from __future__ import annotations
import __future__

import ast
import copy
import functools
import inspect
import itertools
import sys
import warnings
from collections.abc import Iterator
from types import CodeType
from typing import Any, NamedTuple

FUTURES = functools.reduce(int.__or__, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
START = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}
UNREADABLE = (SyntaxError, ValueError, MemoryError)     # by parsing and compiling; RecursionError says nothing of it


class Place(NamedTuple):
    """A function or lambda in a syntax tree, and its qualified name."""

    node: Any
    name: str

    @property
    def line(self) -> int:
        """The first line, that of the first decorator included."""
        return min((d.lineno for d in getattr(self.node, "decorator_list", ())), default=self.node.lineno)


class Functions(NamedTuple):
    """The functions in a text by their names, and the names that its module imports."""

    places: dict[str, list[Place]]
    imported: set[str]


def functions_of(text: str, lambdas: bool, prefix: str = "") -> Functions:
    """What a text defines; nothing if it is not Python. prefix: that of qualified names where the text stands."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            todo: list = [(ast.parse(text).body, prefix)]
        except UNREADABLE:
            todo = []
    found: dict[str, list[Place]] = {}
    imported: set[str] = set()
    while todo:
        nodes, prefix = todo.pop()
        for child in nodes:
            if isinstance(child, (*FUNCTIONS, ast.Lambda)):
                name = getattr(child, "name", "<lambda>")
                found.setdefault(name, []).append(Place(child, prefix + name))
                todo += inside_and_around(child, f"{prefix}{name}.<locals>.", prefix)
            elif isinstance(child, ast.ClassDef):
                todo += inside_and_around(child, f"{prefix}{child.name}.", prefix)
            elif isinstance(child, (ast.Import, ast.ImportFrom)):
                imported.update((a.asname or a.name.partition(".")[0]) for a in child.names if not prefix)
            elif lambdas or not isinstance(child, ast.expr):
                todo.append((list(ast.iter_child_nodes(child)), prefix))
    return Functions(found, imported)


def inside_and_around(node, inner: str, outer: str) -> list[tuple[list, str]]:
    """The parts of a function or class with the prefixes of their names: decorators, defaults and bases stand around it."""
    body = node.body if isinstance(node.body, list) else [node.body]
    inside = set(map(id, body))
    return [(body, inner), ([n for n in ast.iter_child_nodes(node) if id(n) not in inside], outer)]


def is_program_of(place: Place, code: CodeType, imported: set[str], loader=None) -> bool:
    """Whether a function of a syntax tree compiles to `code`.

    imported: names that its module imports, whose attributes Python calls in another way, if the import stands in the text
    that was compiled; loader: that of the module, which may have rewritten `assert`.
    """
    names = names_in(code)
    known = sorted(n for n in names & imported if n.isidentifier())
    wanted = program(code)
    place = place._replace(name=getattr(code, "co_qualname", place.name))
    change = functools.partial(with_rewritten_asserts, loader) if "@pytest_ar" in names else None
    return any(wanted in map(program, compiled(place, code.co_freevars, code.co_flags, "<text>", imports, change))
               for imports in ([known, []] if known else [[]]))


def compiled(place: Place, closed_over, flags: int, file: str, imports=(), change=None) -> Iterator[CodeType]:
    """A function of a syntax tree as it is compiled where it has these free variables; nothing if it cannot be.

    It is compiled alone, in empty scopes of the names of those around it; the outermost function has the free variables for
    parameters. change: what is done to the tree of the module first.
    """
    scopes = scopes_of(place.name, closed_over)
    shell = ast.parse("")
    inner: Any = shell
    free = [ast.arg(name, None, None, **START) for name in closed_over]
    for name, is_class in scopes:
        around: Any = ast.parse("class _: pass" if is_class else "def _(): pass").body[0]
        around.name = name
        if not is_class:
            around.args.args, free = free, []
        inner.body, inner = [around], around
    inner.body = [bare(place.node)]
    if imports:
        shell.body.insert(0, ast.parse(f"import {', '.join(imports)}").body[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if change is not None:
                shell = change(shell)
            made = compile(shell, file, "exec", flags & FUTURES, dont_inherit=True)
        except UNREADABLE:
            return
    yield from made_in(made, len(scopes))


def scopes_of(qualified: str, free) -> list[tuple[str, bool]]:
    """(name, whether it is a class) of the scopes around a function with these free variables."""
    names = qualified.split(".")
    scopes = [(name, after != "<locals>") for name, after in itertools.pairwise(names) if name != "<locals>"]
    closed = [name for name in free if name != "__class__" or not scopes]
    return [("_", False), *scopes] if closed and all(is_class for _, is_class in scopes) else scopes


def bare(node):
    """A copy of a function without what its own code does not hold: defaults, decorators, annotations of its parameters."""
    node, args = copy.copy(node), copy.copy(node.args)
    for kind in ("posonlyargs", "args", "kwonlyargs"):
        setattr(args, kind, [unannotated(a) for a in getattr(args, kind)])
    args.vararg, args.kwarg = (a and unannotated(a) for a in (args.vararg, args.kwarg))
    args.defaults, args.kw_defaults = [], [None] * len(args.kwonlyargs)
    node.args = args
    if isinstance(node, ast.Lambda):
        return ast.copy_location(ast.Expr(node), node)
    node.decorator_list, node.returns = [], None
    return node


def unannotated(parameter):
    return ast.copy_location(ast.arg(parameter.arg), parameter)


def made_in(code: CodeType, depth: int):
    """The code objects at a depth of nesting; scopes of type parameters do not count."""
    for c in filter(inspect.iscode, code.co_consts):
        if c.co_name.startswith("<generic parameters"):
            yield from made_in(c, depth)
        elif depth == 0:
            yield c
        else:
            yield from made_in(c, depth - 1)


def names_in(code: CodeType) -> set[str]:
    """The names in a code object, of variables and attributes, nested functions included."""
    inner = (names_in(c) for c in code.co_consts if inspect.iscode(c))
    return set().union(code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, *inner)


def with_rewritten_asserts(loader, tree):
    """A module as pytest makes it, whose `assert` statements say what was compared."""
    rewriting = sys.modules["_pytest.assertion.rewrite"]
    tree = copy.deepcopy(tree)
    rewriting.rewrite_asserts(tree, b"", None, getattr(loader, "config", None))
    return tree


def program(code: CodeType) -> tuple:
    """All that decides what a code object does; its place in a file does not."""
    return (code.co_name, code.co_code, tuple(map(constant, code.co_consts)), code.co_names, code.co_varnames,
            code.co_freevars, code.co_cellvars, code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount,
            code.co_flags & ~inspect.CO_NESTED, getattr(code, "co_exceptiontable", b""))


def constant(value):
    """A constant of a code object as a key: 0.0, -0.0, 0 and False are four, and nan is itself."""
    if isinstance(value, CodeType):
        return program(value)
    if isinstance(value, tuple):
        return tuple, tuple(map(constant, value))
    if isinstance(value, frozenset):
        return frozenset, frozenset(map(constant, value))
    if isinstance(value, (float, complex)):
        return type(value), repr(value.real), repr(value.imag)
    return type(value), value
