"""Derivatives of a function as functions, and an entry for each of them and each kind of arguments."""

from __future__ import annotations

import hashlib
import weakref
from typing import Any

import numpy as np

from ..arguments.kinds import flatten, passes
from ..options import Options
from ..transforms.language.errors import TypeConflict
from .entries import Entry, made_of, own_of
from .structures import pulled, pushed


class Family:
    """A function with all of its derivatives that were asked for, as it was when the first of them was compiled."""

    def __init__(self, function, options: Options):
        self.function, self.options = function, options
        self._functions: dict[tuple, Any] = {(): function}
        self._entries: dict[tuple, tuple] = {}

    def function_of(self, chain: tuple):
        """A derivative as a Python function of flat arguments. chain: what was derived, each (kind, taken, given): "vjp"
        or "jvp", whether each argument holds floats, and whether each result does, () for a result that is no tuple."""
        if chain not in self._functions:
            *before, (kind, taken, given) = chain
            function, places = self.function_of(tuple(before)), [k for k, floats in enumerate(taken) if floats]
            found = [k for k, floats in enumerate(given) if floats]
            if kind == "vjp":
                leaves = [f"result[{k}]" for k in found] if given else ["result"]
                self._functions[chain] = pulled(function, len(taken), leaves, places)
            else:
                returned = f"({''.join(f'dots[{k}], ' for k in found)})" if given else "dots"
                self._functions[chain] = pushed(function, len(taken), places, returned)
        return self._functions[chain]

    def entry(self, chain: tuple, kind: str, kinds: tuple, building: bool = True, wrt: tuple | None = None) -> Entry:
        """The entry for arguments of these Numba types; building: for a new part of a graph; wrt: as `entry` takes it.

        Raises TypeConflict if what the function reads outside is another by now than it was: no graph may mix them.
        """
        key = chain, kind, kinds, wrt
        if (building or key not in self._entries) and not self.current():
            raise TypeConflict(f"what `{name_of(self.function)}` reads outside of its arguments changed after the op was "
                               "first applied", None, "make a new op, or pass it as an argument")
        if key not in self._entries:
            compiled = made_of(self.function_of(chain), kinds, wrt, kind, self.options)
            names, values = compiled._bind(kinds, {})
            made = Entry(compiled, names, values, own_of(compiled, names, values))
            self._entries[key] = made, Outside(compiled, kinds, (names, values))
        return self._entries[key][0]

    def current(self) -> bool:
        """Whether the function still reads outside what its entries have."""
        return all(outside.current() for _, outside in self._entries.values())


class Outside:
    """What a function reads outside of its arguments, as it is now. key: the same while that is the same.

    arguments: what `_bind` gives for the kinds, if that is known.
    """

    def __init__(self, compiled, kinds: tuple, arguments=None):
        self.compiled, self.arguments = compiled, compiled._bind(kinds, {}) if arguments is None else arguments
        self.found = compiled._find(*self.arguments)
        first, named = compiled._given
        self._bound = [x for value in (*first, *named.values()) for x in flatten(value) if passes(x)]
        self.key = id(self.found), self.digests()

    def digests(self) -> tuple:
        """Of what is outside and of what is bound beforehand, as they are now."""
        if not self._bound and not self.found.hidden:
            return ()
        values = [*self._bound, *(value if origin is None else origin.now() for _, origin, value in self.found.hidden)]
        return tuple((np.shape(v), hashlib.sha256(np.ascontiguousarray(v).tobytes()).digest()) for v in values)

    def current(self) -> bool:
        """Whether it is the same by now."""
        return self.found.holds() and self.digests() == self.key[1]

    def check(self) -> None:
        """Raise TypeConflict if it is another by now: a derivative compiled later would be that of another program."""
        if not self.current():
            name = name_of(self.compiled.function)
            raise TypeConflict(f"what `{name}` reads outside of its arguments changed between its call and the first "
                               "derivative of it", None, "pass it as an argument")


_families: weakref.WeakValueDictionary = weakref.WeakValueDictionary()


def family_of(function, options: Options) -> Family:
    """The family of a function: the same for the same function, while it reads the same outside."""
    bound = getattr(function, "__self__", None), getattr(function, "__func__", function)
    key = (*map(id, bound), options)
    found = _families.get(key)
    if found is None or not found.current():
        found = _families[key] = Family(function, options)
    return found


def name_of(function) -> str:
    return str(getattr(function, "__name__", None) or getattr(getattr(function, "func", None), "__name__", "function"))


__all__ = ["Family", "Outside", "family_of", "name_of"]
