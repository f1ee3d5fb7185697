"""Names that only some paths bind: a condition of the run says whether this one did, and every read checks it."""

from __future__ import annotations

import sys

from ...language.core import Const
from ...language.errors import UnboundName, UndefinedName
from ..checks import certain, guard, guarded
from ..values import Maybe, Scalar, Undefined, Value
from .known_conditions import proven

TRUE, FALSE = Const(True, "bool"), Const(False, "bool")


def held(value: Value) -> Value:
    """What a name holds where something has bound it."""
    return value.value if isinstance(value, Maybe) else value


def bound_of(value: Value):
    """Whether a name is bound, as an atom."""
    if isinstance(value, Undefined):
        return TRUE if value.lost else FALSE
    return value.bound.atom if isinstance(value, Maybe) else TRUE


def maybe(value: Value, bound) -> Value:
    """What a name holds that is bound where `bound`."""
    return held(value) if bound == TRUE or isinstance(value, Undefined) else Maybe(held(value), Scalar(bound, True))


def read(lo, name: str, value: Value, frame) -> Value:
    """What a name holds, checked to be bound."""
    if isinstance(value, Maybe):
        bound = value.bound.atom
        if not proven(lo, bound) and not guarded(lo, bound) and lo.boundscheck is not False:
            guard(lo, bound, *python_error(lo, name, frame))
        value = value.value
    return value


def python_error(lo, name: str, frame) -> tuple[str, str]:
    """The class and the text of Python's error."""
    if sys.version_info < (3, 11):
        if frame is lo.frame:
            return "UnboundLocalError", f"local variable '{name}' referenced before assignment"
        return "NameError", f"free variable '{name}' referenced before assignment in enclosing scope"
    if frame is lo.frame:
        return "UnboundLocalError", f"cannot access local variable '{name}' where it is not associated with a value"
    return "NameError", f"cannot access free variable '{name}' where it is not associated with a value in enclosing scope"


def unbound(lo, name: str, frame):
    """The error where nothing has bound a name: now, or in branches and loops, which may not run, when one comes there."""
    kind, text = python_error(lo, name, frame)
    refusal = lo.error(UnboundName if kind == "UnboundLocalError" else UndefinedName, text,
                       "bind it on every way that leads here")
    return certain(lo, kind, refusal)


def bound_before(lo, plan, state, index, start) -> None:
    """In an iteration of a loop that binds names in each one: they are bound if it is not the first."""
    for name, value, head, _ in state[0]:
        if plan.always.get(name):
            later = lo.b.let("or", bound_of(value), lo.b.compare("ne", index, start), dtype="bool")
            head.bound = Scalar(later, True)


__all__ = ["FALSE", "TRUE", "bound_before", "bound_of", "held", "maybe", "python_error", "read", "unbound"]
