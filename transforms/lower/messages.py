"""Texts that are made when the program runs: messages of checks, and what the user's code makes of numbers of the run.

A `Text` holds what is known now and, between, `Shown` numbers with the way they are written. A check keeps one string with
fields as those of `str.format`, and the numbers beside it; `runtime/raising.py` puts them together. In messages of our own,
numbers are tokens in a string meanwhile.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from ...runtime.raising import HIDDEN, MARK
from ..language.core import Atom, Const, Guard
from ..language.errors import TypeConflict
from ..language.ops import is_complex
from .arrays import describe
from .table import lowers
from .values import Array, Either, Mapping, Record, Scalar, Sequence, Series, Static, Value

TOKEN = re.compile("\x01(\\d+)\x01")
PERCENT = re.compile(r"%(?:\((\w+)\))?([#0\- +]*)(\*|\d+)?(?:\.(\*|\d+))?[hlL]?([diouxXeEfFgGcrsa%])")
FIELD = re.compile(r"\{\{|\}\}|\{([\w.\[\]]*)(?:!([rsa]))?(?::([^{}]*))?\}")
LETTERS = {"bool": "b", "float64": "d", "float32": "f", "int64": "q"}      # of NumPy's types in fields


@dataclass(frozen=True)
class Shown:
    """A number of the run in a text: `field` says how it is written. inner: further numbers in the field."""

    atom: Atom
    field: str
    inner: tuple = ()


@dataclass(eq=False)
class Text(Value):
    """A text with numbers of the run in it: strings and `Shown` numbers."""

    told = "a text with numbers of the run in it"
    parts: tuple

    @staticmethod
    def of(parts) -> Value:
        """A text of parts, which is known now if no number is in it."""
        parts = tuple(parts)
        return Text(parts) if any(isinstance(p, Shown) for p in parts) else Static("".join(parts))


def templated(parts) -> tuple[str, list]:
    """(template with a field for each number, the numbers) of the parts of a text."""
    template = "".join(p.field if isinstance(p, Shown) else p.replace("{", "{{").replace("}", "}}") for p in parts)
    return template, [atom for p in parts if isinstance(p, Shown) for atom in (p.atom, *p.inner)]


class Messages:
    def show_shape(self, shape) -> str:
        """A shape as NumPy writes it."""
        return f"({','.join(map(self.show_size, shape))}{',' if len(shape) == 1 else ''})"

    def show_size(self, size) -> str:
        return str(size.value) if isinstance(size, Const) else self.show_number(size)

    def core_mismatch(self, name: str, signature: str, size, other) -> str:
        """What NumPy says of the second operand of a product or a system."""
        return (f"{name}: Input operand 1 has a mismatch in its core dimension 0, with gufunc signature {signature} "
                f"(size {self.show_size(size)} is different from {self.show_size(other)})")

    def show_number(self, atom, field: str = "{}", inner: tuple = ()) -> str:
        self.shown.append((atom, field, inner))
        return f"\x01{len(self.shown) - 1}\x01"

    def known_text(self, message: str) -> str:
        """The message with names in the place of numbers."""
        return TOKEN.sub(lambda m: self.name_in_text(self.shown[int(m[1])][0]), message)

    def name_in_text(self, atom) -> str:
        """What stands for a number that is not at hand."""
        return str(atom.value) if isinstance(atom, Const) else getattr(atom, "hint", "?")

    def add_check(self, builder, cond, error: str, message: str, tells: str = "place") -> None:
        """`raise error(message)` unless `cond`, in `builder`; numbers not visible there are left as names."""
        parts = []

        def place(match):
            atom, field, inner = self.shown[int(match[1])]
            if not all(self.known_in(a, builder) for a in (atom, *inner)):
                return self.name_in_text(atom)
            parts.extend((atom, *inner))
            return field
        if TOKEN.search(message):
            escaped = message.replace("{", "{{").replace("}", "}}")
            message = TOKEN.sub(place, escaped)
        builder.add(Guard(cond, error, message, tuple(parts), builder.loc, tells))

    # -- texts of the user's --------------------------------------------------------------------------------
    def message_of(self, values) -> str:
        """The text of an exception made of these arguments, one or none."""
        parts = [p for value in values for p in self.text_of(value)]
        return "".join(p if isinstance(p, str) else self.show_number(p.atom, p.field, p.inner) for p in parts)

    def text_of(self, value: Value, conversion: str = "", spec: str = "") -> tuple:
        """The parts of `format(value, spec)`, after str, repr or ascii if `conversion` is "s", "r" or "a"."""
        quoted = conversion in ("r", "a")
        if isinstance(value, Array) and value.rank == 0:
            value = Scalar(self.atom(value))
        if isinstance(value, Scalar) and not is_complex(value.dtype):
            return (Shown(value.atom, self.field_of(value, conversion, spec)),)
        if isinstance(value, Static):
            return self.text_of_static(value, conversion, spec)
        if isinstance(value, Series):
            raise self.itemise(value)
        if isinstance(value, Either):
            return self.chosen_text(value, lambda option: self.text_of(option, conversion, spec))
        made: tuple = (f"<{describe(value)}>",)
        if isinstance(value, Text) and not quoted:
            made = value.parts
        elif isinstance(value, Sequence):
            ends = "[]" if value.kind is list else "()"
            inner = self.joined([self.text_of(i, "r") for i in value.items], ", ")
            made = (ends[0], *inner, "," if value.kind is tuple and len(value.items) == 1 else "", ends[1])
        elif isinstance(value, Mapping):
            items = [(repr(k), ": ", *self.text_of(v, "r")) for k, v in value.items.items()]
            made = ("{", *self.joined(items, ", "), "}")
        elif isinstance(value, Record) and own_repr(value.cls):
            items = [(f"{k}=", *self.text_of(v, "r")) for k, v in value.fields.items()]
            made = (f"{value.cls.__qualname__}(", *self.joined(items, ", "), ")")
        elif isinstance(value, Record):
            name = "__repr__" if quoted or value.cls.__str__ is object.__str__ else "__str__"
            if hasattr(getattr(value.cls, name), "__code__"):
                made = self.text_of(self.record_method(value, name, [], {}))
        return (format(self.settled_text(made), spec),) if spec else made

    def settled_text(self, parts) -> str:
        """A text that is known now, as it must be to be padded or cut."""
        if any(isinstance(p, Shown) for p in parts):
            raise self.error(TypeConflict, "a text with numbers of the run in it cannot be padded or cut",
                             "give the numbers a width: f\"{x:10.3f}\"")
        return "".join(parts)

    def chosen_text(self, value: Either, parts_of) -> tuple:
        """The parts of a text that says which option a value is; `parts_of(option)`: what it says of one."""
        texts, inner = [], []
        for k, option in enumerate(value.options):
            parts = parts_of(option) if k in value.possible else ()
            texts.append("".join(p.field if isinstance(p, Shown) else p.translate(HIDDEN) for p in parts))
            inner += templated(parts)[1]
        return (Shown(value.tag.atom, "{!?:" + MARK.join(texts) + "}", tuple(inner)),)

    def text_of_static(self, value: Static, conversion: str, spec: str) -> tuple:
        """The parts of what is known now, or of what its class, written in Python, says of it."""
        names = ("__repr__",) if conversion in ("r", "a") else ("__format__", "__str__", "__repr__")
        for name in names:
            given = (Static(spec),) if name == "__format__" else ()
            made = self.by_method(name, value, *given)
            if made is not None:
                return self.text_of(made, "", "" if name == "__format__" else spec)
        try:
            found = {"r": repr, "a": ascii, "s": str}.get(conversion, lambda v: v)(value.value)
            return (format(found, spec),)
        except (TypeError, ValueError) as e:
            raise self.error(TypeConflict, str(e)) from None

    def field_of(self, value: Scalar, conversion: str, spec: str) -> str:
        """The field of a number in the template of a text."""
        letter = "" if value.weak else LETTERS.get(value.dtype, "")
        if conversion in ("r", "a") and letter:
            conversion = letter.upper()
        elif letter == "f" and not spec:
            conversion = letter
        return "{" + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "") + "}"

    def joined(self, items, separator: str) -> tuple:
        return tuple(p for k, item in enumerate(items) for p in ((separator,) if k else ()) + tuple(item))

    def text_operator(self, function, left: Value, right: Value) -> Value | None:
        """`left + right` or `left % right` of texts, not all of them known now; None for anything else."""
        texts = [isinstance(v, Text) or isinstance(v, Static) and isinstance(v.value, str) for v in (left, right)]
        if function.__name__ == "add" and all(texts) and (isinstance(left, Text) or isinstance(right, Text)):
            return Text.of((*self.text_of(left), *self.text_of(right)))
        if function.__name__ == "mod" and isinstance(left, Static) and texts[0] and not isinstance(right, Static):
            return self.by_percent(left.value, right)
        return None

    def by_percent(self, template: str, given: Value) -> Value:
        """`template % given`."""
        values = list(given.items) if isinstance(given, Sequence) and given.kind is tuple else [given]
        parts: list = []
        end = used = 0
        for m in PERCENT.finditer(template):
            parts.append(template[end:m.start()])
            end = m.end()
            key, flags, width, digits, kind = m.groups()
            if kind == "%":
                parts.append("%")
                continue
            if "*" in (width, digits) or key is None and used >= len(values) or key and not isinstance(given, Mapping):
                raise self.error(TypeConflict, "not enough arguments for format string")
            value = given.items[key] if key else values[used]
            used += key is None
            spec = f"{flags}{width or ''}{f'.{digits}' if digits is not None else ''}{kind}"
            parts += self.percent_parts(value, spec)
        if used < len(values) and not isinstance(given, Mapping):
            raise self.error(TypeConflict, "not all arguments converted during string formatting")
        return Text.of((*parts, template[end:]))

    def percent_parts(self, value: Value, spec: str) -> tuple:
        """The parts of `%spec` of a value."""
        kind = spec[-1]
        if isinstance(value, Either):
            return self.chosen_text(value, lambda option: self.percent_parts(option, spec))
        if isinstance(value, Scalar) and not is_complex(value.dtype) and kind not in "rsa":
            return (Shown(value.atom, f"{{!%:{spec}}}"),)
        if isinstance(value, Static) and kind not in "rsa":
            return (self.percent_now("%" + spec, value.value),)
        inner = self.text_of(value, kind)
        return (self.percent_now(f"%{spec[:-1]}s", self.settled_text(inner)),) if spec[:-1] else inner

    def percent_now(self, template: str, value) -> str:
        try:
            return template % (value,)
        except (TypeError, ValueError) as e:
            raise self.error(TypeConflict, str(e)) from None

    def text_method(self, method, args, kwargs) -> Value | None:
        """`"...".format(...)` and `", ".join(...)` of what is not known now; None for other methods of strings."""
        if method.__name__ == "join" and len(args) == 1 and isinstance(args[0], Sequence) and any(
                isinstance(i, (Text, Either)) for i in args[0].items):
            return Text.of(self.joined([self.text_of(i) for i in args[0].items], method.__self__))
        if method.__name__ != "format" or all(isinstance(v, Static) for v in (*args, *kwargs.values())):
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
                raise self.error(TypeConflict, f"the field {m[0]} of this text has no argument here",
                                 "use an f-string")
            parts += self.text_of(found, conversion, spec)
        return Text.of((*parts, template[end:]))


def own_repr(cls: type) -> bool:
    """Whether a class shows its fields as dataclasses and namedtuples do."""
    written = cls.__repr__
    return cls.__str__ is object.__str__ and (hasattr(cls, "_fields") and written.__qualname__ == f"{cls.__name__}.__repr__"
                                              or getattr(written, "__wrapped__", None) is not None
                                              and hasattr(cls, "__dataclass_fields__"))


@lowers(str)
def lower_str(lo, x=Static("")):
    return Text.of(lo.text_of(x, "s"))


@lowers(repr)
def lower_repr(lo, x):
    return Text.of(lo.text_of(x, "r"))


@lowers(format)
def lower_format(lo, x, spec=Static("")):
    return Text.of(lo.text_of(x, "", spec.value))


def name_of(target) -> str:
    module = getattr(target, "__module__", None) or ""
    name = getattr(target, "__qualname__", getattr(target, "__name__", type(target).__name__))
    if isinstance(target, np.ufunc) and getattr(np, name, None) is not target:
        return f"scipy.special.{name}"
    if module.split(".")[0] == "numpy" or isinstance(target, np.ufunc):
        spaces = (sub for sub in ("fft", "linalg", "random") if getattr(getattr(np, sub), name, None) is target)
        return ".".join(("np", *spaces, name))
    return f"{module}.{name}" if module not in ("", "builtins", "__main__") else name


__all__ = ["TOKEN", "Messages", "Shown", "Text", "name_of"]
