"""Exceptions of checks in generated code: made with a text, the user's place and numbers of the run, in any mode.

`raise IndexErrorAt("index {} is out of bounds", "model.py:12, in f", i)` raises an `IndexError` whose text ends with the
place. `ValueErrorNoted` and the like leave the text as it is, for one the user has written, and give the exception a note.
`IndexErrorAgain` and the like have a mark, `again`: the caller, if it is autodiff, answers them with another program.
"""

from __future__ import annotations

import ast
import string
from dataclasses import dataclass
from typing import Any

import numpy as np

KINDS = (ArithmeticError, AssertionError, AttributeError, Exception, FloatingPointError, IndexError, KeyError,
         NotImplementedError, NameError, OverflowError, RecursionError, RuntimeError, StopIteration, TypeError,
         UnboundLocalError, ValueError, ZeroDivisionError, np.exceptions.AxisError, np.linalg.LinAlgError)
NUMPY = {"b": np.bool_, "d": np.float64, "f": np.float32, "q": np.int64}


DEEPEST = 100                           # texts within texts


class Percent:
    """A number that is written as `%` writes it."""

    def __init__(self, value: Any):
        self.value = value

    def __format__(self, spec: str) -> str:
        return ("%" + spec) % self.value


class Chosen:
    """One of several texts, by its number: `MARK` stands between them, other signs for their braces."""

    def __init__(self, number: Any):
        self.number = int(number)

    def __format__(self, spec: str) -> str:
        return spec.split(MARK)[self.number].translate(UNHIDDEN)


class Done:
    """What a method of strings makes of the text behind the name and arguments of it: `CUT` stands between."""

    def __format__(self, spec: str) -> str:
        called, _, text = spec.translate(UNHIDDEN).partition(CUT)
        return made_of(text, *ast.literal_eval(called))


def made_of(text: str, name: str, args: tuple) -> str:
    """A text after a method of strings, after `format`, or, for `%`, in a template.

    >>> made_of("a.b", "replace", (".", ",")), made_of("a", "format", (">3",)), made_of("a", "%", ("%-3s",))
    ('a,b', '  a', 'a  ')
    """
    return format(text, *args) if name == "format" else args[0] % text if name == "%" else getattr(text, name)(*args)


CUT = "\x05"
MARK = "\x02"
HIDDEN = str.maketrans("{}", "\x03\x04")
UNHIDDEN = str.maketrans("\x03\x04", "{}")


class Numbers(string.Formatter):
    """str.format for numbers of the run, which code compiled by Numba gives as Python's.

    A field `{!f}` is NumPy's float32 of the number, `{!F}` the repr of that; other letters are other types of `NUMPY`.
    `{!%:5.2f}` is the number as `%5.2f` writes it. `{!?:...}` is the text with this number of those in it, whose fields are
    those of the numbers that follow; `{!&:...}` is what a method makes of such a text (`Done`).
    """

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        value = value.item() if isinstance(value, np.generic) else value
        if conversion == "%":
            return Percent(value)
        if conversion == "?":
            return Chosen(value)
        if conversion == "&":
            return Done()
        kind = NUMPY.get((conversion or "").lower())
        if kind is None:
            return super().convert_field(value, conversion)
        return kind(value) if conversion in NUMPY else repr(kind(value))


class Names(Numbers):
    """The same where numbers are only named: the names stand as they are, however the numbers would be written.

    >>> Names().vformat("{:.2f} of {!%:3d}", ("<x>", "<n>"), {})
    '<x> of <n>'
    """

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        return Done() if conversion == "&" else "<a text>" if conversion == "?" else value

    def format_field(self, value: Any, format_spec: str) -> str:
        return value if isinstance(value, str) else format(value, format_spec)

    def vformat(self, format_string: str, args: Any, kwargs: Any) -> str:
        return self._vformat(format_string, args, kwargs, set(), DEEPEST)[0]


def text_of(text: str, numbers: tuple) -> str:
    """The text with the numbers in its fields.

    >>> text_of("{} of {:.2f}", (np.int64(3), 0.5))
    '3 of 0.50'
    """
    return Numbers()._vformat(text, numbers, {}, set(), DEEPEST)[0] if numbers else text


@dataclass(frozen=True)
class Part:
    """An argument of an exception that the run knows: a number, or a text (`template`) with some in it.

    kind: which type of `NUMPY` a number has; Python's own if it is empty.
    """

    places: tuple[int, ...]
    template: str | None = None
    kind: str = ""

    def of(self, numbers: tuple) -> Any:
        mine = tuple(numbers[k] for k in self.places)
        if self.template is not None:
            return text_of(self.template, mine)
        return NUMPY[self.kind](mine[0]) if self.kind else mine[0].item() if isinstance(mine[0], np.generic) else mine[0]


@dataclass(frozen=True)
class Items:
    """A tuple, list or dict with numbers of the run in it. keys: of a dict."""

    kind: type
    items: tuple
    keys: tuple | None = None

    def of(self, numbers: tuple) -> Any:
        values = [known(item, numbers) for item in self.items]
        return self.kind(values) if self.keys is None else dict(zip(self.keys, values, strict=True))


@dataclass(frozen=True)
class OneOf:
    """One of several things, by a number of the run."""

    place: int
    options: tuple

    def of(self, numbers: tuple) -> Any:
        return known(self.options[int(numbers[self.place])], numbers)


def known(value: Any, numbers: tuple) -> Any:
    """What stands for `value` once the numbers of the run are known."""
    return value.of(numbers) if isinstance(value, (Part, Items, OneOf)) else value


@dataclass(frozen=True)
class Meant:
    """An exception to be raised: an object, or a class with its arguments, in which a `Part` is what the run knows."""

    what: Any
    args: tuple = ()
    keywords: tuple = ()

    def made(self, numbers: tuple) -> BaseException:
        if isinstance(self.what, BaseException):
            return self.what
        values = [known(a, numbers) for a in (*self.args, *(v for _, v in self.keywords))]
        count = len(self.args)
        return self.what(*values[:count], **dict(zip((k for k, _ in self.keywords), values[count:], strict=True)))


_MEANT: dict[str, Meant] = {}           # text that a program raises -> what it means by it; as long as the process


def noted(meant: Meant) -> str:
    """A text that stands for an exception, and says something of it."""
    cls = meant.what if isinstance(meant.what, type) else type(meant.what)
    shown = [a.template or "{}" if isinstance(a, Part) else "..." if isinstance(a, (Items, OneOf)) else str(a)
             for a in meant.args]
    text = name = f"{cls.__name__}: {', '.join(shown)}" if shown else cls.__name__
    k = 1
    while name in _MEANT and not _same(_MEANT[name], meant):
        k += 1
        name = f"{text} ({k})"
    _MEANT[name] = meant
    return name


def _same(a: Meant, b: Meant) -> bool:
    """Whether two programs mean one exception."""
    try:
        return a.what is b.what and repr((a.args, a.keywords)) == repr((b.args, b.keywords))
    except Exception:                   # a user's `__repr__`
        return False


def _with_place(kind: type[BaseException], ending: str = "At", again: str = "") -> type:
    def __new__(cls: type, text: Any, place: str = "", *numbers: Any) -> BaseException:
        if isinstance(text, BaseException):         # Python makes an exception again whose class is not the one raised
            return text
        made = kind(text_of(text, numbers) + (f"\n  {place}" if place else ""))
        if again:
            vars(made)["again"] = again
        return made
    return _named(kind, ending, __new__)


def _with_note(kind: type[BaseException]) -> type:
    def __new__(cls: type, text: Any = "", place: str = "", *numbers: Any) -> BaseException:
        if isinstance(text, BaseException):
            return text
        meant = _MEANT.get(text) if cls.__name__ == MEANT else None
        made = meant.made(numbers) if meant is not None else kind(text_of(text, numbers)) if text else kind()
        if place and not hasattr(made, "__notes__"):
            vars(made)["__notes__"] = [f"  {place}"]        # which Python shows from 3.11 on
        return made
    return _named(kind, "Noted", __new__)


def _named(kind: type[BaseException], ending: str, new: Any) -> type:
    """A class that compiled code can raise, and whose construction gives an exception of `kind` itself."""
    name = kind.__name__ + ending
    return type(name, (kind,), {"__new__": new, "__module__": __name__, "__qualname__": name})


MEANT = "MeantNoted"                    # gives whatever exception its text stands for
# what another program sees to -> how the classes end
AGAIN = {"each": "Again", "power": "OfPower", "out": "OfOut"}
ENDINGS = {"place": "At", "note": "Noted", **AGAIN}             # the same for all that a check may tell
MARKED = {f"{kind.__name__}{ending}": _with_place(kind, ending, again)
          for kind in (IndexError, ValueError) for again, ending in AGAIN.items()}
AT = {f"{kind.__name__}At": _with_place(kind) for kind in KINDS}
NOTED = {f"{kind.__name__}Noted": _with_note(kind) for kind in KINDS}
NOTED[MEANT] = type(MEANT, (NOTED["ExceptionNoted"],), {"__module__": __name__, "__qualname__": MEANT})
globals().update(AT, **NOTED, **MARKED)
IndexErrorAt, ZeroDivisionErrorAt, LinAlgErrorAt = AT["IndexErrorAt"], AT["ZeroDivisionErrorAt"], AT["LinAlgErrorAt"]

__all__ = ["AGAIN", "AT", "CUT", "ENDINGS", "HIDDEN", "KINDS", "MARK", "MARKED", "NOTED", "Items", "Meant", "OneOf", "Part",
           "made_of", "noted", "text_of"]
