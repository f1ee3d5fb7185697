"""Calls of compiled objects from the user's own `@njit` functions."""

from __future__ import annotations

import weakref

import numba
from numba.core.errors import TypingError
from numba.extending import overload

from .transforms.errors import AutodiffError

_REGISTERED: weakref.WeakSet = weakref.WeakSet()


def register(compiled) -> None:
    """Let Numba's typing ask `compiled` for the specialisation of a call's argument types."""
    if compiled in _REGISTERED:
        return
    _REGISTERED.add(compiled)

    @overload(compiled, strict=False)
    def typed(*args):
        given = args[0] if len(args) == 1 and isinstance(args[0], (tuple, numba.types.BaseTuple)) else args
        kinds = [numba.types.unliteral(a) for a in tuple(given)]  # type: ignore[arg-type]
        try:
            made = compiled._find(*compiled._bind(tuple(kinds), {}))
        except AutodiffError as e:
            raise TypingError(str(e)) from None
        if "fast" not in made.extra or made.hidden or made.static:
            raise TypingError(f"{compiled!r} cannot be called from compiled code: it returns a structure, reads global "
                              "arrays, or needs a value known before the program runs")
        function = made.extra["fast"]

        def call(*args):
            return function(*args)
        return call
