"""Derivatives of functions that a differentiated function makes, or that take such: what these capture becomes arguments."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from ..habits import explained
from ..rules.lifting import FUNCTIONS, Opened, lift
from ..transforms.language.errors import TypeConflict
from ..transforms.lower.functions.binding import positional_names
from ..transforms.lower.structures import describe
from ..transforms.lower.syntax.alternatives import split
from ..transforms.lower.values import Applied, Closure, Either, Static, Value, leaves
from .compiled import Compiled
from .tracebacks import entry

F = TypeVar("F", bound=Callable)
BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class LocalDerivative:
    """What an operator with options makes of a function in a program: called with the function, then its arguments."""

    def __init__(self, operator, options: dict):
        self.operator, self.options, self.__name__ = operator, options, operator.__name__

    def __call__(self, *args):
        raise TypeError("a derivative of a local function is called by the compiler only")

    def __autodiff_lower__(self, lo, args, kwargs):
        function, *given = args
        if isinstance(function, Either):
            return split(lo, function, lambda f: self.__autodiff_lower__(lo, [f, *given], kwargs))
        names = names_of(function)
        options = dict(self.options)
        count = len(given) - getattr(self.operator(unread, **options), "takes", 0)
        further = given[count:]
        own = by_place(lo, self, given[:count], kwargs, names)
        if "wrt" in options:
            options["wrt"] = placed(lo, self, options["wrt"], names, len(own))
        made, own, captured = opened(lo, function, own)
        return self.operator(made, **options).__autodiff_lower__(lo, [*own, *captured, *further], {})


def by_place(lo, operator, given, kwargs, names) -> list:
    """The arguments of a call in the order of their names. TypeConflict where a keyword has no place."""
    found, left = list(given), dict(kwargs)
    for name in names[len(given):]:
        if name not in left:
            break
        found.append(left.pop(name))
    if left:
        raise lo.error(TypeConflict, f"`{operator.__name__}` of a function that this one makes, or with one, gets "
                       f"the keyword `{next(iter(left))}`",
                       "pass the arguments by position, or write a lambda that holds this one")
    return found


def unread(*arguments):
    """Stands for a function of which only the operator is asked."""


def placed(lo, operator, wrt, names, count: int):
    """Positions for names of arguments, of which there are `count` without those captured."""
    if isinstance(wrt, (tuple, list)):
        return tuple(placed(lo, operator, w, names, count) for w in wrt)
    place = names.index(wrt) if wrt in names else wrt
    if not isinstance(place, int) or not -count <= place < count:
        raise lo.error(TypeConflict, f"`{operator.__name__}`: wrt={wrt!r} is no argument that the function is called with",
                       f"it has {', '.join(names)}" if names else "")
    return place % count


def opened(lo, function: Value, args=()) -> tuple:
    """(a function with a source, its arguments, further ones): what functions made by the program, the one called or those
    among the arguments, have captured."""
    if isinstance(function, Static) and not takes_functions(args):
        return function.value, list(args), []
    if not isinstance(function, (Static, *FUNCTIONS)):
        raise lo.error(TypeConflict, f"a derivative is taken of {describe(function)}", "pass a function")
    (called, *given), captured = lift(lo, [function, *args])
    inside = Opened(called, len(captured))

    def local(*arguments):
        return inside(*arguments)
    named: Any = local
    if isinstance(function, Closure):
        named.__name__ = function.name
        named.__autodiff_place__ = function.frame.definition.loc(function.node)
    else:
        named.__autodiff_place__ = lo.place(lo.node)
    return local, given, captured


def takes_functions(args) -> bool:
    return any(isinstance(leaf, FUNCTIONS) for a in args for leaf in leaves(a))


def operator(function: F) -> F:
    """Mark a function that makes compiled objects: called in a differentiated function, it runs while that is lowered.

    Of a function that the program makes it gives what `__autodiff_operator__` does, from (that function,) and the options.
    """
    made: Any = entry(explained(function))
    made.__autodiff_operator__ = lambda local, options: Applied(Static(LocalDerivative(made, options)), local, {})
    return made


def names_of(function: Value) -> list[str]:
    """The parameters that positions are bound to, of a function in a program; none where they are not known."""
    if isinstance(function, Closure):
        return positional_names(function.node.args)
    if isinstance(function, Static) and isinstance(function.value, Compiled):
        compiled = function.value
        signature, held = compiled._call_signature, len(compiled._given[0])
    elif not isinstance(function, Static):
        return []
    else:
        try:
            signature, held = inspect.signature(function.value), 0
        except (TypeError, ValueError):
            return []
    return [] if signature is None else [p.name for p in list(signature.parameters.values())[held:] if p.kind in BY_PLACE]


__all__ = ["BY_PLACE", "LocalDerivative", "by_place", "names_of", "opened", "operator", "placed", "takes_functions"]
