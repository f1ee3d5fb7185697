"""What the handler of a function gives for a call, and what Python says where it gives nothing."""

from __future__ import annotations

import functools
import inspect
import re

from ...language.errors import AutodiffError, UnsupportedSyntax
from ..state import Lowering
from ..syntax.texts import name_of
from ..values import Mapping, Sequence, Static, Value, is_iterator
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


def by_position(target, handler, args, kwargs) -> tuple[list, dict]:
    """Arguments of a NumPy function that NumPy knows by other names than its handler, `np.sum(a=x)`, at their places.
    handler: None of functions of numbers, which know no names."""
    args, kwargs = list(args), dict(kwargs)
    if kwargs and (getattr(target, "__module__", None) or "").split(".")[0] == "numpy":
        for name, place in other_names(target, handler):
            if name in kwargs and len(args) == place and not is_iterator(kwargs[name]):
                args.append(kwargs.pop(name))
    return args, kwargs


@functools.cache
def other_names(target, handler) -> tuple[tuple[str, int], ...]:
    """Names and places of a NumPy function's parameters that its handler has at the same places under other names."""
    try:
        numpys = list(inspect.signature(target).parameters.values())
    except (TypeError, ValueError):
        return ()
    if handler is None:
        return tuple((p.name, k) for k, p in enumerate(numpys) if p.kind is p.POSITIONAL_OR_KEYWORD)
    ours = list(inspect.signature(handler).parameters.values())[1:]
    theirs = {p.name for p in numpys if p.kind is not p.POSITIONAL_ONLY}
    named = {p.name for p in ours if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    rest = next((k for k, p in enumerate(ours) if p.kind is p.VAR_POSITIONAL), None)
    found = []
    for place, p in enumerate(numpys):
        if p.kind is not p.POSITIONAL_OR_KEYWORD or p.name in named:
            continue
        if rest is not None and place >= rest or place < len(ours) and ours[place].name not in theirs and \
                ours[place].kind is p.POSITIONAL_OR_KEYWORD:
            found.append((p.name, place))
    return tuple(found)


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
