"""The table of library functions the lowering knows, filled by the modules of `library`."""

from __future__ import annotations

BUILTINS: dict = {}


def lowers(*callables):
    """Register `function(lo, *args, **kwargs) -> Value` as what calls of these callables mean."""
    def register(function):
        for c in callables:
            BUILTINS[c] = function
        return function
    return register
