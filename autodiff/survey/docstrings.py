"""What the docstring of a function says of its parameters, in the style of numpydoc: `x : array_like, shape (3,)`."""

from __future__ import annotations

import inspect
import re

SECTION = r"^ *{}\n *-{{3,}} *\n(.*?)(?=^ *\w[\w ]*\n *-{{3,}} *$|\Z)"
ENTRY = re.compile(r"^( *)([\w*]+(?: *, *[\w*]+)*) *: *(\S.*)$", re.M)
NUMBERS = re.compile(r"float|number|numeric|scalar|real\b|quantity", re.I)
ARRAYS = re.compile(r"arr\b|array|matrix|matrices|vector|sequence|list|tuple|iterable", re.I)
LENGTHS = re.compile(
    r"\(( *(?:\w+|\.\.\.) *,(?: *\w+ *,?)*)\)|(?:shape|size) *[=:]? *\(( *\w+ *)\)|\[( *\d+(?: *, *\d+)*) *\]")
OBJECT = re.compile(r"[`:~\w.]*\b[A-Z]\w+`?|(pd|pandas|datetime)\.\w+|datetime.*|time|file.*|path.*|open.*", re.I)
NOT_NUMBERS = frozenset(
    "None NoneType str bytes bool int Tuple tuple List list Figure Axes DataFrame Series Path pd plt".split())
TEXT, COUNT, TRUTH, FUNCTION, DICT = "text", "count", "truth", "function", "dict"


def section(function, title: str) -> str:
    """The text of a section of a function's docstring."""
    found = re.search(SECTION.format(title), inspect.getdoc(function) or "", re.M | re.S)
    return found[1] if found else ""


def documented(function) -> dict[str, str]:
    """The types that the docstring of a function gives for its parameters, as they stand there."""
    found = section(function, "Parameters")
    entries = ENTRY.findall(found)
    depth = min((len(indent) for indent, *_ in entries), default=0)
    return {name.strip(" *"): text for indent, names, text in entries if len(indent) == depth for name in names.split(",")}


def kind_told(text: str) -> str:
    """Which kind of thing a type in a docstring means: TEXT, COUNT, ...; "" for what may be a number or an array; another
    text for an object of some class."""
    plain = re.split(r"\boptional|\bdefault|\(default", text)[0].strip(" ,.")
    if NUMBERS.search(plain) or ARRAYS.search(plain):
        return ""
    for kind, words in ((TEXT, r"(:class:)?`?(str|string|text)\b|^\{ *['\"]"), (TRUTH, "bool"), (COUNT, "(u|positive )?int"),
                        (FUNCTION, "(a )?(callable|function)"), (DICT, "(a )?dict")):
        if re.match(words, plain, re.I):
            return kind
    return plain if re.fullmatch(OBJECT, plain) and (plain[0] == "`" or not plain.isupper()) else ""


def shape_told(text: str, unknown: int) -> tuple[int, ...] | None:
    """The shape that a type in a docstring names: `array, shape (..., 3)`. unknown: in the place of lengths with a name."""
    found = LENGTHS.search(text) if re.search(r"shape|arr|matrix|vector|list|tuple", text, re.I) else None
    lengths = [k.strip() for k in next(filter(None, found.groups())).split(",")] if found else []
    return tuple(int(k) if k.isdigit() else unknown for k in lengths if k and k != "...") if lengths else None


def rank_told(text: str) -> int:
    """The least rank of an array that a type in a docstring names, 0 if it may be a number."""
    ranks = re.search(r"ndim *= *(\d)|\b(\d)[- ]?d\b", text, re.I)
    if ranks and not NUMBERS.search(text.split("array")[0]):
        return int(ranks[1] or ranks[2])
    return int(bool(ARRAYS.search(text)) and not re.search(r"scalar|number|numeric|float(,| or)|(or|,) *float", text, re.I))


def returned(function) -> str:
    """What a function returns by its annotation or docstring, if that is no number or array: a text, a table, a figure."""
    told = getattr(function, "__annotations__", {}).get("return", "")
    names = re.findall(r"\w+", told if isinstance(told, str) else getattr(told, "__name__", str(told)))
    if names and all(n in NOT_NUMBERS for n in names):
        return " ".join(names)
    lines = [line for line in section(function, "Returns").splitlines() if line.strip() and not line.startswith(" ")]
    kinds = [kind_told(line.partition(" : ")[2] or line) for line in lines]
    return kinds[0] if kinds and all(kinds) and kinds[0] != DICT else ""


__all__ = ["COUNT", "DICT", "FUNCTION", "TEXT", "TRUTH", "documented", "kind_told", "rank_told", "returned", "shape_told"]
