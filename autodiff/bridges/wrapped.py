"""What the objects that `autodiff.jax.wrap` and `autodiff.torch.wrap` give have in common: how they are copied and sent."""

from __future__ import annotations

import copy
from typing import Any

from ..calling.compiled import Compiled
from ..calling.pickling import Reference, importable, load_global


class Sendable:
    """A function in a bridge, pickled by its name or as the function and its options; a copy is the object itself."""

    function: Any

    def options_of(self) -> dict:
        """What `wrap` was told besides the function."""
        return {}

    def __reduce__(self):
        if importable(self) is self:
            return load_global, (self.__module__, self.__qualname__)
        return rebuilt, (type(self), function_sent(self.function), self.options_of())

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        function = copy.deepcopy(self.function, memo)       # of a method another, of the copied object
        return self if function == self.function else rebuilt(type(self), function, self.options_of())


def function_sent(function):
    """A function as it is pickled."""
    return function if isinstance(function, Compiled) else Reference(function)


def rebuilt(cls: Any, function, options: dict):
    return cls(function, **options)


__all__ = ["Sendable", "function_sent"]
