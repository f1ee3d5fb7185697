"""What the handler of a function gives for a call, and what Python says where it gives nothing."""

from __future__ import annotations

import inspect
import re

from ...language.errors import AutodiffError, UnsupportedSyntax
from ..state import Lowering
from ..syntax.texts import name_of
from ..values import Mapping, Sequence, Static, Value
from .kinds_taken import error_for_these
from .purity import said_by_python


def handled(lo: Lowering, target, handler, args, kwargs) -> Value:
    """`handler(lo, *args, **kwargs)`.

    Python's own errors about values that are known now are the program's, in the function's own words if it has any; those
    about other values are if the function refuses such arguments too.
    """
    try:
        return handler(lo, *args, **kwargs)
    except (TypeError, ValueError, ArithmeticError, LookupError) as e:
        if isinstance(e, TypeError) and not accepts(handler, (lo, *args), kwargs):
            raise lo.error(UnsupportedSyntax, f"`{name_of(target)}`: {clean(str(e))}",
                           "leave that argument out, or compute what it means in steps of its own") from None
        if isinstance(e, AutodiffError):
            raise
        if all(map(is_known, (*args, *kwargs.values()))):
            raise said_by_python(lo, target, error_for_these(lo, target, args, kwargs) or e) from e
        said = error_for_these(lo, target, args, kwargs)
        if said is None:
            raise
        raise said_by_python(lo, target, said) from e


def is_known(value: Value) -> bool:
    """Whether all of a value is known before the program runs."""
    items = value.items if isinstance(value, Sequence) else value.items.values() if isinstance(value, Mapping) else None
    return isinstance(value, Static) if items is None else all(map(is_known, items))


def accepts(function, args, kwargs) -> bool:
    """Whether a function has parameters for these arguments."""
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def clean(text: str) -> str:
    """What Python says of arguments that do not fit a handler, whose names (which 3.13 suggests) are not the user's."""
    return re.sub(r"^\w+\(\) |\. Did you mean .*", "", text).replace("<lambda>() ", "")
