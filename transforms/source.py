"""Finding the syntax tree of a Python function, wherever it was written."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import linecache
import textwrap
from dataclasses import dataclass, replace
from typing import Any

import gast

from .core import Loc
from .errors import SourceUnavailable, UnsupportedSyntax
from .matching import without_match


@dataclass(frozen=True, eq=False)
class Definition:
    """The tree of a function (gast), where it stands, and the names it sees."""

    node: Any
    file: str
    offset: int
    lines: tuple[str, ...]
    name: str

    def loc(self, node) -> Loc:
        line = getattr(node, "lineno", 0)
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        end = getattr(node, "end_col_offset", None) if getattr(node, "end_lineno", line) == line else len(text)
        column = getattr(node, "col_offset", 0)
        return Loc(self.file, line + self.offset, text, self.name, column, (end or column + 1) - column)


def plain_function(function):
    """The Python function behind a Numba dispatcher or a wrapper; `function` itself if there is none."""
    while True:
        if hasattr(function, "py_func"):
            function = function.py_func
        elif hasattr(function, "__wrapped__") and not hasattr(function, "__code__"):
            function = function.__wrapped__
        else:
            return function


@functools.lru_cache(maxsize=2048)
def _definition(code, function) -> Definition:
    try:
        lines, first = _lines(code, function)
    except (OSError, TypeError) as error:
        raise SourceUnavailable(
            f"the source of `{function.__qualname__}` is not available", None,
            "define it in a file, a notebook cell or through linecache; C functions need a rule (autodiff.rules)",
        ) from error
    file = inspect.getsourcefile(code) or code.co_filename
    text = textwrap.dedent("".join(lines))
    if code.co_name == "<lambda>":
        node = _find_lambda(code, text, lines, first)
        return Definition(node[0], file, first - 1 - node[2], tuple(node[1].splitlines()), "<lambda>")
    tree = gast.parse(text)
    made = Definition(tree.body[0], file, first - 1, tuple(text.splitlines()), code.co_name)
    return replace(made, node=without_match(made.node, lambda node, problem, hint: UnsupportedSyntax(
        problem, made.loc(node), hint)))


def _lines(code, function) -> tuple[list[str], int]:
    """The source lines of a function and the number of the first.

    `inspect.getsourcelines` asks every loaded module for its file first, to find the one the code belongs to; a function
    knows its module's globals.
    """
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if code.co_name == "<lambda>" or not 0 < code.co_firstlineno <= len(lines):
        return inspect.getsourcelines(code)
    return inspect.getblock(lines[code.co_firstlineno - 1:]), code.co_firstlineno


def _find_lambda(code, text, lines, first):
    """(tree, source, line offset) of the lambda of `code`: the one at its place whose compiled code is the same."""
    try:
        whole = "".join(inspect.findsource(code)[0])
        tree, source, shift = ast.parse(whole), whole, first - 1
        found = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda) and n.lineno == code.co_firstlineno]
    except (SyntaxError, OSError):
        tree, source, shift = _parse_fragment(text), text, 0
        found = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda)]
    names = list(code.co_varnames[:code.co_argcount])
    candidates = [n for n in found if [a.arg for a in n.args.args] == names]
    if len(candidates) > 1 and source is not text:
        candidates = [n for n in candidates if _stands_at(n, code)]
    if len(candidates) > 1:
        candidates = [n for n in candidates if _compiles_to(n, code)]
    if len({ast.dump(n) for n in candidates}) != 1:
        raise SourceUnavailable("the source of this lambda is not available", None, "write it as a def statement")
    return gast.ast_to_gast(candidates[0]), source, shift


def _stands_at(node, code) -> bool:
    """Whether the code's instructions lie within the body of a lambda (always true before Python 3.11)."""
    if not hasattr(code, "co_positions"):
        return True
    places = [(line, column) for line, _, column, _ in code.co_positions() if line and column]
    body = node.body
    return all((body.lineno, body.col_offset) <= p < (body.end_lineno, body.end_col_offset) for p in places)


def _compiles_to(node, code) -> bool:
    compiled = compile(ast.Expression(node), "<lambda>", "eval").co_consts[0]
    return (getattr(compiled, "co_code", None) == code.co_code and _constants(compiled) == _constants(code)
            and compiled.co_names == code.co_names)


def _parse_fragment(text: str):
    """The longest piece of `text` from a lambda on that parses."""
    start = text.find("lambda")
    for end in range(len(text), start, -1):
        try:
            return ast.parse(text[start:end].strip())
        except SyntaxError:
            continue
    raise SourceUnavailable("the source of this lambda is not available", None, "write it as a def statement")


def _constants(code):
    return tuple(c for c in code.co_consts if not inspect.iscode(c))


def definition(function) -> Definition:
    """The syntax tree of a Python function. Raises SourceUnavailable where there is none."""
    code = getattr(function, "__code__", None)
    if code is None:
        raise SourceUnavailable(f"`{function!r}` has no Python source", None,
                                "give a derivative rule for it with autodiff.rules")
    return _definition(code, function)


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
