"""Texts that are made when the program runs: messages of checks, and what the user's code makes of numbers of the run.

A `Text` holds what is known now and, between, `Shown` numbers with the way they are written. A check keeps one string with
fields as those of `str.format`, and the numbers beside it; `runtime/raising.py` puts them together. In messages of our own,
numbers are tokens in a string meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from ....runtime.raising import CUT, HIDDEN, MARK, made_of
from ...language.build import integer
from ...language.core import Const
from ...language.errors import ShapeMismatch, TypeConflict, UnsupportedSyntax, WrongKind
from ...language.ops import exact, is_complex
from ..checks import show_number
from ..functions.outside import record_method
from ..functions.purity import by_method, is_fixed
from ..numbers.conversions import itemise
from ..state import Lowering
from ..structures import describe
from ..table import lowers
from ..values import Array, Either, Mapping, Record, Scalar, Sequence, Series, Static, Value, is_number, known_as
from .texts import CLOCK, ErrorText, Placeholder, Shown, Text, known_now, templated

PERCENT = re.compile(r"%(?:\((\w+)\))?([#0\- +]*)(\*|\d+)?(?:\.(\*|\d+))?[hlL]?([diouxXeEfFgGcrsa%])")
FIELD = re.compile(r"\{\{|\}\}|\{([\w.\[\]]*)(?:!([rsa]))?(?::([^{}]*))?\}")
CONVERSIONS: dict[str, Callable] = {"r": repr, "a": ascii, "s": str}
GIVE_TEXTS = ("capitalize", "casefold", "center", "expandtabs", "ljust", "lower", "lstrip", "removeprefix", "removesuffix",
              "replace", "rjust", "rstrip", "strip", "swapcase", "title", "upper", "zfill")
LETTERS = {"bool": "b", "float64": "d", "float32": "f", "int64": "q"}      # of NumPy's types in fields


# -- texts of the user's --------------------------------------------------------------------------------
def message_of(lo: Lowering, values) -> str:
    """The text of an exception made of these arguments, one or none."""
    parts = [p for value in values for p in text_of(lo, value)]
    return "".join(p if isinstance(p, str) else show_number(lo, p.atom, p.field, p.inner) for p in parts)


def text_of(lo: Lowering, value: Value, conversion: str = "", spec: str = "") -> tuple:
    """The parts of `format(value, spec)`, after str, repr or ascii if `conversion` is "s", "r" or "a"."""
    quoted = conversion in ("r", "a")
    if isinstance(value, Array) and value.rank == 0:
        value = Scalar(lo.atom(value))
    if isinstance(value, Scalar) and isinstance(known := value.atom, Const) and not is_complex(value.dtype):
        value = Static(known.value if value.weak else np.dtype(exact(known.dtype)).type(known.value))
    if isinstance(value, Scalar) and not is_complex(value.dtype):
        return (Shown(lo.atom(value), field_of(lo, value, conversion, spec)),)
    if isinstance(value, Static):
        return text_of_static(lo, value, conversion, spec)
    if isinstance(value, Series):
        raise itemise(lo, value)
    if isinstance(value, Either):
        return chosen_text(lo, value, lambda option: text_of(lo, option, conversion, spec))
    made: tuple = (Placeholder(f"<{describe(value)}>"),)
    if value is CLOCK:
        return made
    if isinstance(value, Text) and not quoted:
        made = value.parts
    elif isinstance(value, ErrorText) and not quoted:
        made = (Shown(integer(0), made_field("format", ("",), value.template), value.numbers),)
    elif isinstance(value, Sequence):
        ends = "[]" if value.kind is list else "()"
        inner = joined(lo, [text_of(lo, i, "r") for i in value.items], ", ")
        made = (ends[0], *inner, "," if value.kind is tuple and len(value.items) == 1 else "", ends[1])
    elif isinstance(value, Mapping):
        items = [(repr(k), ": ", *text_of(lo, v, "r")) for k, v in value.items.items()]
        made = ("{", *joined(lo, items, ", "), "}")
    elif isinstance(value, Record) and own_repr(value.cls):
        items = [(f"{k}=", *text_of(lo, v, "r")) for k, v in value.fields.items()]
        made = (f"{value.cls.__qualname__}(", *joined(lo, items, ", "), ")")
    elif isinstance(value, Record):
        name = "__repr__" if quoted or value.cls.__str__ is object.__str__ else "__str__"
        if hasattr(getattr(value.cls, name), "__code__"):
            made = text_of(lo, record_method(lo, value, name, [], {}))
    if not spec:
        return made
    kind = WrongKind if isinstance(value, (Array, Sequence, Mapping, Record)) else ShapeMismatch
    return after(lo, made, "format", (spec,), kind)


def after(lo: Lowering, parts, name: str, args: tuple, refusal: type = ShapeMismatch) -> tuple:
    """The parts of what `made_of` makes of a text, which may have numbers of the run in it."""
    known = known_now(parts)
    try:
        done = made_of("".join(parts) if known else "", name, args)
    except (TypeError, ValueError) as e:
        raise lo.error(refusal, str(e)) from None
    if known:
        return (done,)
    inner = "".join(p.field if isinstance(p, Shown) else p.translate(HIDDEN) for p in parts)
    return (Shown(integer(0), made_field(name, args, inner), tuple(templated(parts)[1])),)


def made_field(name: str, args: tuple, inner: str) -> str:
    """The field of what `made_of` makes of a text with fields in it."""
    return "{!&:" + repr((name, args)).translate(HIDDEN) + CUT + inner + "}"


def chosen_text(lo: Lowering, value: Either, parts_of) -> tuple:
    """The parts of a text that says which option a value is; `parts_of(option)`: what it says of one."""
    texts, inner = [], []
    for k, option in enumerate(value.options):
        parts = parts_of(option) if k in value.possible else ()
        texts.append("".join(p.field if isinstance(p, Shown) else p.translate(HIDDEN) for p in parts))
        inner += templated(parts)[1]
    return (Shown(lo.atom(value.tag), "{!?:" + MARK.join(texts) + "}", tuple(inner)),)


def text_of_static(lo: Lowering, value: Static, conversion: str, spec: str) -> tuple:
    """The parts of what is known now, or of what its class, written in Python, says of it."""
    names = ("__repr__",) if conversion in ("r", "a") else ("__format__", "__str__", "__repr__")
    for name in names:
        given = (Static(spec),) if name == "__format__" else ()
        made = by_method(lo, name, value, *given)
        if made is not None:
            return text_of(lo, made, "", "" if name == "__format__" else spec)
    try:
        return (format(CONVERSIONS[conversion](value.value) if conversion else value.value, spec),)
    except (TypeError, ValueError) as e:
        raise lo.error(TypeConflict, str(e)) from None


def field_of(lo: Lowering, value: Scalar, conversion: str, spec: str) -> str:
    """The field of a number in the template of a text."""
    letter = "" if value.weak else LETTERS.get(value.dtype, "")
    if conversion in ("r", "a") and letter:
        conversion = letter.upper()
    elif letter == "f" and not spec:
        conversion = letter
    return "{" + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "") + "}"


def joined(lo: Lowering, items, separator: str) -> tuple:
    return tuple(p for k, item in enumerate(items) for p in ((separator,) if k else ()) + tuple(item))


def text_operator(lo: Lowering, function, left: Value, right: Value) -> Value | None:
    """`left + right` or `left % right` of texts, not all of them known now, and what arithmetic makes of a clock; None for
    anything else."""
    if CLOCK in (left, right) and all(v is CLOCK or is_number(v) for v in (left, right)):
        return CLOCK
    texts = [isinstance(v, Text) or isinstance(v, Static) and isinstance(v.value, str) for v in (left, right)]
    if function.__name__ == "add" and all(texts) and (isinstance(left, Text) or isinstance(right, Text)):
        return Text.of((*text_of(lo, left), *text_of(lo, right)))
    if function.__name__ == "mul" and any(isinstance(v, Text) for v in (left, right)):
        text, count = (left, right) if isinstance(left, Text) else (right, left)
        if isinstance(count, Static) and isinstance(count.value, int):
            return Text.of(known_as(Text, text).parts * count.value)
    if function.__name__ == "mod" and isinstance(left, Text):
        return by_percent(lo, left.parts, right)
    if function.__name__ == "mod" and isinstance(left, Static) and texts[0] and not isinstance(right, Static):
        return by_percent(lo, (left.value,), right)
    return None


def by_percent(lo: Lowering, template: tuple, given: Value) -> Value:
    """`template % given`, of a template in parts, in which no number is written with a `%`."""
    values = list(given.items) if isinstance(given, Sequence) and given.kind is tuple else [given]
    parts: list = []
    used = 0
    for part in template:
        if isinstance(part, Shown):
            if "%}" in part.field or "&" in part.field or "?" in part.field:
                raise lo.error(TypeConflict, "a text with numbers of the run in it is a template here", "use an f-string")
            parts.append(part)
        else:
            used = fill_percent(lo, part, given, values, used, parts)
    if used < len(values) and not isinstance(given, Mapping):
        raise lo.error(TypeConflict, "not all arguments converted during string formatting")
    return Text.of(parts)


def fill_percent(lo: Lowering, template: str, given: Value, values, used: int, parts: list) -> int:
    """Add the parts of a piece of a template; how many of the values are used then."""
    end = 0
    for m in PERCENT.finditer(template):
        parts.append(template[end:m.start()])
        end = m.end()
        key, flags, width, digits, kind = m.groups()
        if kind == "%":
            parts.append("%")
            continue
        if "*" in (width, digits) or key is None and used >= len(values) or key and not isinstance(given, Mapping):
            raise lo.error(TypeConflict, "not enough arguments for format string")
        value = known_as(Mapping, given).items[key] if key else values[used]
        used += key is None
        spec = f"{flags}{width or ''}{f'.{digits}' if digits is not None else ''}{kind}"
        parts += percent_parts(lo, value, spec)
    if "%" in template[end:]:
        raise lo.error(TypeConflict, "incomplete format")
    parts.append(template[end:])
    return used


def percent_parts(lo: Lowering, value: Value, spec: str) -> tuple:
    """The parts of `%spec` of a value."""
    kind = spec[-1]
    if isinstance(value, Either):
        return chosen_text(lo, value, lambda option: percent_parts(lo, option, spec))
    if isinstance(value, Scalar) and not is_complex(value.dtype) and kind not in "rsa":
        return (Shown(lo.atom(value), f"{{!%:{spec}}}"),)
    if isinstance(value, Static) and kind not in "rsa":
        return (percent_now(lo, "%" + spec, value.value),)
    inner = text_of(lo, value, kind)
    return after(lo, inner, "%", (f"%{spec[:-1]}s",)) if spec[:-1] else inner


def percent_now(lo: Lowering, template: str, value) -> str:
    try:
        return template % (value,)
    except (TypeError, ValueError) as e:
        raise lo.error(TypeConflict, str(e)) from None


def text_method(lo: Lowering, method, args, kwargs) -> Value | None:
    """`"...".format(...)` and `", ".join(...)` of what is not known now; None for other methods of strings."""
    if method.__name__ == "join" and len(args) == 1 and isinstance(args[0], Sequence) and any(
            isinstance(i, (Text, Either)) for i in args[0].items):
        return Text.of(joined(lo, [text_of(lo, i) for i in args[0].items], method.__self__))
    if method.__name__ != "format" or all(isinstance(v, Static) and is_fixed(v.value) for v in (*args, *kwargs.values())):
        return None
    parts: list = []
    template, end, count = method.__self__, 0, 0
    for m in FIELD.finditer(template):
        parts.append(template[end:m.start()])
        end = m.end()
        if m[0] in ("{{", "}}"):
            parts.append(m[0][0])
            continue
        name, conversion, spec = m[1], m[2] or "", m[3] or ""
        key: int | str = count if not name else int(name) if name.isdigit() else name
        count += not name
        found = kwargs.get(key) if isinstance(key, str) else args[key] if key < len(args) else None
        if found is None:
            raise lo.error(TypeConflict if name.isidentifier() or not name.strip("0123456789") else UnsupportedSyntax,
                           f"the field {m[0]} of this text has no argument here",
                           "use an f-string")
        parts += text_of(lo, found, conversion, spec)
    return Text.of((*parts, template[end:]))


def method_of_text(lo: Lowering, text: Text, name: str, args, kwargs) -> Value | None:
    """A method of a text with numbers of the run in it that gives another text; None of any other."""
    if name not in GIVE_TEXTS or kwargs or not all(isinstance(a, Static) for a in args):
        return None
    return Text.of(after(lo, text.parts, name, tuple(a.value for a in args), TypeConflict))


def own_repr(cls: type) -> bool:
    """Whether a class shows its fields as dataclasses and namedtuples do."""
    written = cls.__repr__
    return cls.__str__ is object.__str__ and (hasattr(cls, "_fields") and written.__qualname__ == f"{cls.__name__}.__repr__"
                                              or getattr(written, "__wrapped__", None) is not None
                                              and hasattr(cls, "__dataclass_fields__"))


@lowers(str)
def lower_str(lo, x=Static("")):
    return Text.of(text_of(lo, x, "s"))


@lowers(repr)
def lower_repr(lo, x):
    return Text.of(text_of(lo, x, "r"))


@lowers(format)
def lower_format(lo, x, spec=Static("")):
    return Text.of(text_of(lo, x, "", spec.value))
