"""Pieces of Python text: literals, loosely bound operators, names in expressions, comments that head nothing, signatures."""

from __future__ import annotations

import math
import re
import unicodedata
from typing import Any

from .core import GENERATOR, Arr, Const, Loc, is_generator

SIGNATURE_TYPES = {"float64": "float64", "float32": "float32", "int64": "int64", "bool": "boolean",
                   GENERATOR: "npy_rng"}


class Line(str):
    """A line of generated text. stmt: the statement that it is of, if any; locs: the places of the user's source that it
    computes, that of its statement first."""

    __slots__ = ("locs", "stmt")
    locs: tuple[Loc, ...]
    stmt: Any

    def __new__(cls, text: str, locs=(), stmt=None):
        made = super().__new__(cls, text)
        made.stmt = stmt
        made.locs = tuple(dict.fromkeys(loc.origin or loc for loc in locs if loc is not None and (loc.origin or loc).line))
        return made

    def cut(self, start: int, before: str = "") -> Line:
        """The line from a column on, behind other text."""
        return Line(before + self[start:], self.locs, self.stmt)


def whole(a) -> bool:
    """Whether an exponent is an integer that is known: a power of it is a few products."""
    return isinstance(a, Const) and math.isfinite(a.value) and a.value == int(a.value) and abs(a.value) <= 16


def is_negation(text: str) -> bool:
    """Whether an expression is minus a product, so that `+= -x` may be written `-= x`: `-a % b` is `(-a) % b`."""
    return text.startswith("-") and not has_loose_operator(text[1:], "+") and "%" not in text and "//" not in text


def bare(text: str) -> str:
    """An expression without parentheses around all of it."""
    if not text.startswith("(") or not text.endswith(")"):
        return text
    depth = 0
    for k, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if not depth and k < len(text) - 1:
            return text
    return text[1:-1]


def words(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]\w*", text))


def as_elif(lines: list[Line], depth: int) -> list[Line]:
    """The lines of an `else` at this depth, as an `elif` if one `if` is all there is in it: Python reads few levels."""
    pad = "    " * (depth + 1)
    first = next((k for k, line in enumerate(lines) if k and not line.lstrip().startswith("#")), 0)
    own = [line for line in lines[first + 1:] if not line.startswith((pad + " ", pad + "#", pad + "else:", pad + "elif "))]
    if not first or not lines[first].startswith(pad + "if ") or own:
        return lines
    head = lines[first].cut(len(pad), pad + "el")
    return [line.cut(4) for line in (*lines[1:first], head, *lines[first + 1:])]


def has_loose_operator(text: str, op: str) -> bool:
    """Whether `text` has an operator outside parentheses that binds no tighter than `op`."""
    loose = " +-<>=!&|^" if op in "+-" else "+-*/%<>=!&|^"
    depth = 0
    for k, c in enumerate(text):
        depth += (c in "([") - (c in ")]")
        if depth == 0 and c in loose and c != " " and k:
            return True
        if depth == 0 and text[k:k + 4] in (" if ", " or ", " and"):
            return True
    return False


def literal(c: Const) -> str:
    v = c.value
    if c.dtype.startswith("float"):
        v = float(v)
        text = "np.nan" if math.isnan(v) else ("np.inf" if v == math.inf else "-np.inf" if v == -math.inf else repr(v))
        return f"np.float32({text})" if c.dtype == "float32" else text
    return repr(v)


def commented(text: str) -> str:
    """A comment of one line, whatever the text holds: names of files, and lines of the user's, may hold anything."""
    return "# " + "".join(c if c.isprintable() or c == "\t" else c.encode("unicode_escape").decode() for c in text)


def identifier(text: str) -> str:
    """A name like `text`, as Python's parser normalises it."""
    text = "".join(c if f"_{c}".isidentifier() else "_" for c in unicodedata.normalize("NFKC", text)).lstrip("0123456789")
    return text if text.isidentifier() else f"t{text}"


def tidy(lines: list[Line]) -> list[Line]:
    """Drop comments that head nothing."""
    out: list[Line] = []
    for k, line in enumerate(lines):
        if line.lstrip().startswith("# ") and not line.lstrip().startswith("# ----"):
            indent = len(line) - len(line.lstrip())
            following = lines[k + 1] if k + 1 < len(lines) else ""
            deeper = len(following) - len(following.lstrip()) >= indent
            if following.lstrip().startswith("#") or not deeper or not following:
                continue
        out.append(line)
    return out


def fixed_sizes(params) -> tuple:
    """For each core parameter None, or its sizes, of an array that has some of a program's own: None for the others, and for
    the first one, in which a tape has grown."""
    shapes = [[None, *(n.value if isinstance(n, Const) else None for n in p.shape[1:])] if isinstance(p, Arr) and p.shape
              else [] for p in params]
    return tuple(tuple(shape) if any(n is not None for n in shape) else None for shape in shapes)


def signature_of(params) -> str:
    """Numba's signature of core parameters: C-contiguous arrays and scalars."""
    parts = []
    for p in params:
        base = SIGNATURE_TYPES[p.dtype]
        plain = not isinstance(p, Arr) or is_generator(p)
        parts.append(base if plain else f"{base}[{', '.join([':'] * (len(p.shape) - 1) + ['::1'])}]")
    return f"({', '.join(parts)},)" if len(parts) == 1 else f"({', '.join(parts)})"
