"""`raise` of anything that Python can raise.

Machine code can hold neither a user's class nor an object. So where the exception is more than a class of `PLAIN` with a
text, the program raises RuntimeError with a text that stands for it, and who called the program raises what is meant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gast

from ..core import Const, Guard
from ..errors import UnsupportedSyntax
from .arrays import describe
from .messages import TOKEN
from .statements import RETURNS
from .values import UNSET, Static, is_number

PLAIN = (ValueError, RuntimeError, TypeError, ArithmeticError, ZeroDivisionError, OverflowError, IndexError, AssertionError,
         NotImplementedError, FloatingPointError, StopIteration, Exception)
NEVER = Const(False, "bool")
_MEANT: dict[str, Meant] = {}           # text that a program raises -> what it means by it; as long as the process


@dataclass(frozen=True)
class Meant:
    """An exception to be raised: an object, or a class with its arguments; a `Part` stands for what the run knows."""

    what: Any
    args: tuple = ()
    keywords: tuple = ()

    def made(self, numbers) -> BaseException:
        if isinstance(self.what, BaseException):
            return self.what
        values = [a.of(numbers) if isinstance(a, Part) else a for a in (*self.args, *(v for _, v in self.keywords))]
        count = len(self.args)
        return self.what(*values[:count], **dict(zip((k for k, _ in self.keywords), values[count:], strict=True)))


@dataclass(frozen=True)
class Part:
    """A number of the run, or a text (`template`) with some in it."""

    places: tuple[int, ...]
    template: str | None = None

    def of(self, numbers):
        mine = [numbers[k] for k in self.places]
        return mine[0] if self.template is None else self.template.format(*mine)


def meant_by(error: Exception) -> BaseException:
    """The exception that a compiled program means by the one it raised."""
    if not error.args or not isinstance(error.args[0], str):
        return error
    meant = _MEANT.get(error.args[0])
    return error if meant is None else meant.made(error.args[1:])


def noted(meant: Meant, escaped: bool) -> str:
    """A text that stands for an exception, and says something of it; `escaped`: braces in it are those of numbers."""
    cls = meant.what if isinstance(meant.what, type) else type(meant.what)
    shown = [str(a) if not isinstance(a, Part) else "{}" if a.template is None else a.template for a in meant.args]
    if escaped:
        shown = [s if isinstance(a, Part) else s.replace("{", "{{").replace("}", "}}")
                 for s, a in zip(shown, meant.args, strict=True)]
    text = name = f"{cls.__name__}: {', '.join(shown)}" if shown else cls.__name__
    k = 1
    while name in _MEANT and not same(_MEANT[name], meant):
        k += 1
        name = f"{text} ({k})"
    _MEANT[name] = meant
    return name


def same(a: Meant, b: Meant) -> bool:
    """Whether two programs mean one exception."""
    try:
        return a.what is b.what and repr((a.args, a.keywords)) == repr((b.args, b.keywords))
    except Exception:                   # a user's `__repr__`
        return False


class Raising:
    def exec_Raise(self, stmt, rest):
        call = stmt.exc if isinstance(stmt.exc, gast.Call) else None
        what, args, keywords = self.raised(stmt, call)
        if what in PLAIN and not keywords and (not args or len(args) == 1 and is_text(args[0])):
            self.guard(NEVER, what.__name__, args[0].value if args else "")
        else:
            parts: list = []
            meant = Meant(what, tuple(self.told(a, parts) for a in args),
                          tuple((k, self.told(v, parts)) for k, v in keywords.items()))
            self.b.add(Guard(NEVER, "RuntimeError", noted(meant, escaped=bool(parts)), tuple(parts), self.b.loc))
        self.env["%exit"] = Static(RETURNS)
        self.env["%value"] = UNSET

    def raised(self, stmt, call) -> tuple:
        """(class or object, arguments, keywords) of a `raise`."""
        if stmt.exc is None:
            raise self.error(UnsupportedSyntax, "`raise` alone raises again what was caught, and nothing is caught here",
                             "name the exception: raise ValueError(...)", node=stmt)
        value = self.eval(call.func if call else stmt.exc)
        what = value.value if isinstance(value, Static) else None
        if not (isinstance(what, type) and issubclass(what, BaseException)
                or call is None and isinstance(what, BaseException)):
            raise self.error(UnsupportedSyntax, "what is raised here is not known before the program runs",
                             "name a class of exceptions: raise ValueError(...)", node=stmt)
        if call is None:
            return what, [], {}
        if any(isinstance(a, gast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
            raise self.error(UnsupportedSyntax, "the arguments of an exception cannot be unpacked here",
                             "write them one by one", node=stmt)
        return what, [self.eval(a) for a in call.args], {k.arg: self.eval(k.value) for k in call.keywords}

    def told(self, value, parts: list):
        """An argument of an exception, the numbers in it being appended to `parts`."""
        if is_number(value):
            parts.append(self.atom(value))
            return Part((len(parts) - 1,))
        if not isinstance(value, Static):
            return f"<{describe(value)}>"
        if not is_text(value) or not TOKEN.search(value.value):
            return value.value
        places: list = []

        def place(match):
            atom, spec = self.shown[int(match[1])]
            places.append(len(parts))
            parts.append(atom)
            return f"{{:{spec}}}" if spec else "{}"
        template = TOKEN.sub(place, value.value.replace("{", "{{").replace("}", "}}"))
        return Part(tuple(places), template)


def is_text(value) -> bool:
    return isinstance(value, Static) and isinstance(value.value, str)


__all__ = ["Raising", "meant_by"]
