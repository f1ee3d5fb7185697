"""`raise` of anything that Python can raise.

Machine code can hold neither a user's class nor an object. So where the exception is more than a class of `PLAIN` with a
text, the program raises one of `MeantNoted` with a text that stands for it, which gives the exception that is meant.
"""

from __future__ import annotations

import gast

from ...runtime.raising import Items, Meant, OneOf, Part, noted
from ..language.core import Const, Guard
from ..language.errors import UnsupportedSyntax
from .arrays import describe
from .messages import LETTERS, Text, templated
from .values import Either, Mapping, Sequence, Series, Static, is_number

PLAIN = (ValueError, RuntimeError, TypeError, ArithmeticError, ZeroDivisionError, OverflowError, IndexError, AssertionError,
         NotImplementedError, RecursionError, FloatingPointError, StopIteration, Exception)
NEVER = Const(False, "bool")


class Raising:
    def exec_Raise(self, stmt, rest):
        call = stmt.exc if isinstance(stmt.exc, gast.Call) else None
        what, args, keywords = self.raised(stmt, call)
        if what in PLAIN and not keywords and (not args or len(args) == 1 and is_text(args[0])):
            self.guard(NEVER, what.__name__, self.message_of(args), "note")
        else:
            parts: list = []
            meant = Meant(what, tuple(self.told(a, parts) for a in args),
                          tuple((k, self.told(v, parts)) for k, v in keywords.items()))
            self.b.add(Guard(NEVER, "Meant", noted(meant), tuple(parts), self.b.loc, "note"))
        raise self.raised_here(stmt)

    def sure_to_raise(self, error: Exception):
        """What stops lowering where the program raises `error`."""
        self.b.add(Guard(NEVER, "Meant", noted(Meant(type(error), error.args)), (), self.b.loc, "note"))
        return self.raised_here(self.node)

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
            return Part((len(parts) - 1,), None, "" if self.is_weak(value) else LETTERS.get(self.dtype_of(value), ""))
        if isinstance(value, Static):
            return value.value
        if isinstance(value, Series):
            raise self.itemise(value)
        if isinstance(value, Sequence):
            return Items(value.kind, tuple(self.told(item, parts) for item in value.items))
        if isinstance(value, Mapping):
            return Items(dict, tuple(self.told(item, parts) for item in value.items.values()), tuple(value.items))
        if isinstance(value, Either):
            parts.append(value.tag.atom)
            return OneOf(len(parts) - 1, tuple(self.told(option, parts) if k in value.possible else None
                                               for k, option in enumerate(value.options)))
        if not isinstance(value, Text):
            return f"<{describe(value)}>"
        template, atoms = templated(value.parts)
        places = range(len(parts), len(parts) + len(atoms))
        parts += atoms
        return Part(tuple(places), template)


def is_text(value) -> bool:
    if isinstance(value, Either):
        return all(is_text(value.options[k]) for k in value.possible)
    return isinstance(value, Text) or isinstance(value, Static) and isinstance(value.value, str)


__all__ = ["Raising"]
