"""`raise` of anything that Python can raise.

Machine code can hold neither a user's class nor an object. So where the exception is more than a class of `PLAIN` with a
text, the program raises one of `MeantNoted` with a text that stands for it, which gives the exception that is meant.
"""

from __future__ import annotations

from dataclasses import replace

import gast

from ....runtime.raising import Items, Meant, Names, OneOf, Part
from ...language.build import integer
from ...language.errors import UnsupportedSyntax
from ..checks import can_be_shown, guard, name_in_text, raise_unless
from ..functions.names import raised_here
from ..numbers.conversions import dtype_of, is_weak, itemise
from ..state import Lowering
from ..structures import describe
from ..table import executes
from ..values import Either, Mapping, Sequence, Series, Static, Undefined, is_number
from .catching import NEVER, check_of, names_error, one_error
from .messages import LETTERS, message_of, text_of
from .texts import ErrorText, Text, templated

PLAIN = (ValueError, RuntimeError, TypeError, ArithmeticError, ZeroDivisionError, OverflowError, IndexError, AssertionError,
         NotImplementedError, RecursionError, FloatingPointError, StopIteration, Exception)


@executes(gast.Raise)
def exec_raise(lo: Lowering, stmt, rest):
    handler = lo.around.handling
    if handler is not None and (stmt.exc is None or names_error(stmt, handler.stmt) and isinstance(
            lo.env.get(stmt.exc.id), (ErrorText, Undefined))):
        raise_again(lo, stmt)
    call = stmt.exc if isinstance(stmt.exc, gast.Call) else None
    what, args, keywords = what_is_raised(lo, stmt, call)
    if what in PLAIN and not keywords and (not args or len(args) == 1 and is_text(args[0]) and not is_empty(args[0])):
        guard(lo, NEVER, what.__name__, message_of(lo, args), "note")
    else:
        parts: list = []
        meant = Meant(what, tuple(told(lo, a, parts) for a in args),
                      tuple((k, told(lo, v, parts)) for k, v in keywords.items()))
        raise_unless(lo, lo.b, check_of(lo, meant, parts), what if isinstance(what, type) else type(what))
    raise raised_here(lo, stmt)


def raise_again(lo: Lowering, stmt) -> None:
    """`raise` in a handler: the error that was caught."""
    handler = lo.around.handling
    points = handler.points[-1:] if one_error(lo, handler) else handler.points
    unseen = any(check.error == "Meant" and not in_view(lo, check) for check, _ in points)
    if unseen or len(points) > handler.span:
        raise lo.error(UnsupportedSyntax, "which error is raised again here is known only when the program runs",
                       "raise one of your own: raise ValueError(...)", node=stmt)
    for k, (check, error) in enumerate(points):
        last = check is points[-1][0]
        cond = NEVER if last else lo.b.compare("ne", lo.atom(handler.came_by), integer(handler.code + k))
        raise_unless(lo, lo.b, replace(in_sight(lo, check), cond=cond), error)
    raise raised_here(lo, stmt)


def in_view(lo: Lowering, check) -> bool:
    """Whether all numbers in the text of a check are visible here."""
    return all(can_be_shown(lo, p, lo.b) for p in check.parts)


def in_sight(lo: Lowering, check):
    """A check whose text has names in the place of numbers that are not visible here."""
    if in_view(lo, check):
        return check
    names = [name_in_text(lo, p, check.tells) for p in check.parts]
    return replace(check, message=Names().vformat(check.message, names, {}), parts=())


def what_is_raised(lo: Lowering, stmt, call) -> tuple:
    """(class or object, arguments, keywords) of a `raise`."""
    if stmt.exc is None:
        raise lo.error(UnsupportedSyntax, "`raise` alone raises again what was caught, and nothing is caught here",
                       "name the exception: raise ValueError(...)", node=stmt)
    value = lo.eval(call.func if call else stmt.exc)
    what = value.value if isinstance(value, Static) else None
    if not (isinstance(what, type) and issubclass(what, BaseException)
            or call is None and isinstance(what, BaseException)):
        raise lo.error(UnsupportedSyntax, "what is raised here is not known before the program runs",
                       "name a class of exceptions: raise ValueError(...)", node=stmt)
    if call is None:
        return what, [], {}
    if any(isinstance(a, gast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        raise lo.error(UnsupportedSyntax, "the arguments of an exception cannot be unpacked here",
                       "write them one by one", node=stmt)
    return what, [lo.eval(a) for a in call.args], {k.arg: lo.eval(k.value) for k in call.keywords}


def told(lo: Lowering, value, parts: list):
    """An argument of an exception, the numbers in it being appended to `parts`."""
    if is_number(value):
        parts.append(lo.atom(value))
        return Part((len(parts) - 1,), None, "" if is_weak(lo, value) else LETTERS.get(dtype_of(lo, value), ""))
    if isinstance(value, Static):
        return value.value
    if isinstance(value, Series):
        raise itemise(lo, value)
    if isinstance(value, Sequence):
        return Items(value.kind, tuple(told(lo, item, parts) for item in value.items))
    if isinstance(value, Mapping):
        return Items(dict, tuple(told(lo, item, parts) for item in value.items.values()), tuple(value.items))
    if isinstance(value, Either):
        parts.append(value.tag.atom)
        return OneOf(len(parts) - 1, tuple(told(lo, option, parts) if k in value.possible else None
                                           for k, option in enumerate(value.options)))
    if isinstance(value, ErrorText):
        value = Text(text_of(lo, value))
    if not isinstance(value, Text):
        return f"<{describe(value)}>"
    template, atoms = templated(value.parts)
    places = range(len(parts), len(parts) + len(atoms))
    parts += atoms
    return Part(tuple(places), template)


def is_empty(value) -> bool:
    """Whether this is the text without letters, which as the text of a check says that there is none."""
    return isinstance(value, Static) and isinstance(value.value, str) and not value.value


def is_text(value) -> bool:
    if isinstance(value, Either):
        return all(is_text(value.options[k]) for k in value.possible)
    return isinstance(value, Text) or isinstance(value, Static) and isinstance(value.value, str)
