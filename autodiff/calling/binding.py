"""The function behind what users give to an operator, and the arguments of a call as its parameters."""

from __future__ import annotations

import functools
import inspect
import types
from typing import Any

from ..arguments.foreign import taken
from ..arguments.kinds import describe, shared_generators, with_shared_generators
from ..arguments.packing import ITEMS
from ..transforms.source.definitions import complaint, plain_function
from .specialisations import signature_of

LIBRARIES = ("numpy", "scipy", "math")


class Binding:
    """A Python function seen through partial applications, bound methods and objects with `__call__`.

    What these hold comes first among the arguments.
    """

    function: Any
    kind: str
    _others = 0                                 # how often it came to stand for another function, or for other arguments

    def _settle(self) -> None:
        """Find the function behind what was given."""
        self._calls: list = []                  # callable objects, with what their classes have as `__call__`
        self._partials: list = []               # partial applications, outermost first, with what they brought
        before = self.__dict__.get("_held", ())
        self._prefix, self._keywords, self.target = unwrap(self.function, self._calls, self._partials)
        self._held = len(self._prefix), tuple(self._keywords), self.target
        if before and (before[:2] != self._held[:2] or before[2] is not self.target):
            self._others += 1
        self._plain = plain_function(self.target)
        self._written = written(self._plain)
        self._signature = signature_of(self._plain, self._written) if self._written else None

    def _renew(self) -> None:
        """See to what has changed of the function since: the `__call__` of its class, what a partial application brings, its
        parameters."""
        if any(type(made).__call__ is not call for made, call in self._calls) or any(map(changed, self._partials)):
            self._settle()
        elif (now := written(self._plain)) and any(a is not b for a, b in zip(now, self._written, strict=True)):
            self._written, self._signature = now, signature_of(self._plain, now)

    @property
    def _call_signature(self) -> inspect.Signature | None:
        """The parameters of a call in compiled code; None if they are not known by name."""
        return self.target._call_signature if isinstance(self.target, Binding) else self._signature

    @property
    def _takes_any_keyword(self) -> bool:
        """Whether the function gets the keywords that it does not name, in the order of the call, as a dict."""
        if isinstance(self.target, Binding):
            return self.target._takes_any_keyword
        return self._signature is not None and any(
            p.kind is inspect.Parameter.VAR_KEYWORD for p in self._signature.parameters.values())

    @property
    def _given(self) -> tuple[tuple, dict]:
        """The leading arguments and keywords that partial applications and methods bring."""
        if any(map(changed, self._partials)):
            self._settle()
        first, named = self.target._given if isinstance(self.target, Binding) else ((), {})
        return (*first, *self._prefix), {**named, **self._keywords}

    def _bind(self, args, kwargs) -> tuple[list[str], list]:
        """Names and values of the arguments in the order of the function's parameters."""
        self._renew()
        args, kwargs = (*self._prefix, *args), {**self._keywords, **kwargs}
        return self.target._bind(args, kwargs) if isinstance(self.target, Binding) else self._named(args, kwargs)

    def _taken(self, args, kwargs) -> tuple[list[str], list]:
        """As `_bind`, with NumPy arrays in the places of other libraries'; TypeConflict for what cannot stand for one."""
        names, values = self._bind(args, kwargs)
        return names, taken(values)

    def _named(self, args, kwargs) -> tuple[list[str], list]:
        """Names and values of all arguments of the function that is lowered."""
        if self._signature is None:
            return [f"argument_{k}" for k in range(len(args))], list(args)
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as e:
            name = getattr(self._plain, "__qualname__", "function")
            raise TypeError(complaint(self._signature, name, args, kwargs) or str(e)) from None
        names, values = [], []
        for name, value in bound.arguments.items():
            kind = self._signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_KEYWORD:
                names += list(value)
                values += list(value.values())
            elif kind is inspect.Parameter.VAR_POSITIONAL:
                names += [f"*{k}" for k in range(len(value))]
                values += list(value)
            else:
                names.append(name)
                values.append(value)
        return names, values

    def _trees(self, names, values, static) -> tuple[list, dict]:
        """(positional, keyword) trees of argument kinds for the lowering."""
        positional, keyword = [], {}
        by_position = True
        trees = [describe(value, name in static, ITEMS not in static) for name, value in zip(names, values, strict=True)]
        if shared := shared_generators(values):
            trees = with_shared_generators(trees, shared)
        for name, tree in zip(names, trees, strict=True):
            kind = None
            if self._signature is not None and name in self._signature.parameters:
                kind = self._signature.parameters[name].kind
            elif self._signature is not None and not name.startswith("*"):
                kind = inspect.Parameter.KEYWORD_ONLY
            if kind is inspect.Parameter.KEYWORD_ONLY or not by_position or (
                    self._signature is not None and kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
                    and self._skips(name, names)):
                by_position = name.startswith("*")
                keyword[name] = tree
            else:
                positional.append(tree)
        return positional, keyword

    def _skips(self, name, names) -> bool:
        """Whether an earlier parameter is missing, so that `name` must be passed by keyword."""
        assert self._signature is not None
        for p in self._signature.parameters:
            if p == name:
                return False
            if p not in names and self._signature.parameters[p].kind in BY_PLACE:
                return True
        return False


BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def written(function) -> tuple:
    """What says which parameters a Python function has; () for what is none."""
    if not hasattr(function, "__code__"):
        return ()
    return function.__code__, function.__defaults__, function.__kwdefaults__


@functools.lru_cache(maxsize=256)
def calling(function):
    """A Python function that calls one of a library, which is known to the compiler but has no source for it."""
    call = lambda *args, **kwargs: function(*args, **kwargs)  # noqa: E731 (read as source)
    call.__name__ = call.__qualname__ = getattr(function, "__name__", type(function).__name__)
    return call


def changed(known: tuple) -> bool:
    """Whether a partial application brings something else than what is `known` of it."""
    made, function, args, keywords = known
    now = made.keywords
    return (made.func is not function or made.args is not args or [*now] != [*keywords] or any(
        a is not b for a, b in zip(now.values(), keywords.values(), strict=True)))


def unwrap(function, calls: list, partials: list) -> tuple[tuple, dict, Any]:
    """(leading arguments, keywords, function) of partial applications, bound methods and callable objects; the latter are
    appended to `calls`, with the functions that their classes have as `__call__`, the first to `partials`, with what they
    bring now."""
    prefix: tuple = ()
    keywords: dict = {}
    while True:
        if isinstance(function, functools.partial):
            partials.append((function, function.func, function.args, dict(function.keywords)))
            prefix, keywords = (*function.args, *prefix), {**function.keywords, **keywords}
            function = function.func
        elif isinstance(function, Binding) and function.kind == "primal":
            function = function.function
        elif isinstance(function, types.BuiltinFunctionType) or (
                getattr(function, "__module__", None) or type(function).__module__).split(".")[0] in LIBRARIES:
            return prefix, keywords, calling(function)
        elif inspect.ismethod(function):
            prefix, function = (function.__self__, *prefix), function.__func__
        elif hasattr(function, "__autodiff_lower__") and not isinstance(function, Binding):
            return (function, *prefix), keywords, called
        elif isinstance(function, Binding) or hasattr(plain_function(function), "__code__"):
            return prefix, keywords, function
        elif hasattr(type(function).__call__, "__code__"):
            calls.append((function, type(function).__call__))
            prefix, function = (function, *prefix), type(function).__call__
        else:
            return prefix, keywords, function


def called(function, *args):
    """A call of an object that says itself what a call of it means to the compiler."""
    return function(*args)


__all__ = ["Binding", "called", "calling", "unwrap"]
