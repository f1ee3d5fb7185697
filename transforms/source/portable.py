"""Functions as text, by which they are made again in another process."""

from __future__ import annotations

import functools
from types import CodeType, FunctionType
from typing import NamedTuple

from .definitions import definition
from .same_code import FUTURES, compiled, functions_of
from .texts import receive


class Portable(NamedTuple):
    """What the code of a function is made of. text: at its lines in an otherwise empty file."""

    name: str
    qualified: str
    file: str
    text: str
    free: tuple[str, ...]
    flags: int


def portable(function) -> Portable:
    """The text of a function. Raises SourceUnavailable."""
    made, code = definition(function), function.__code__
    node = made.node
    if code.co_name == "<lambda>":
        coded = [line.encode() for line in made.lines[node.lineno - 1:node.end_lineno]]
        coded[-1] = coded[-1][:node.end_col_offset]
        coded[0] = coded[0][node.col_offset:]
        text = "\n" * (node.lineno - 1) + "(" + b"\n".join(coded).decode() + ")\n"
    else:
        first = min((d.lineno for d in node.decorator_list), default=node.lineno)
        lines = made.lines[first - 1:node.end_lineno]
        indented = lines[0][:1].isspace()
        text = "\n" * (first - 1 - indented) + "if 1:\n" * indented + "\n".join(lines) + "\n"
    return Portable(code.co_name, getattr(code, "co_qualname", function.__qualname__), made.file, text, code.co_freevars,
                    code.co_flags & FUTURES)


@functools.lru_cache(maxsize=1024)
def code_of(given: Portable) -> CodeType:
    """The code of a function from its text, which is found again under the name of its file."""
    prefix = given.qualified.removesuffix(given.name)
    places = functions_of(given.text, given.name == "<lambda>", prefix).places[given.name]
    place = min(places, key=lambda p: (p.node.lineno, p.node.col_offset))
    code = next(compiled(place._replace(name=given.qualified), given.free, given.flags, given.file))
    receive(given.file, given.text)
    return code


def function_from(given: Portable, namespace: dict, cells: tuple) -> FunctionType:
    """A function of this text without its defaults."""
    made = FunctionType(code_of(given), namespace, given.name, None, cells)
    made.__qualname__ = given.qualified
    return made
