"""What was compiled of a function, by the kinds of the arguments, and whether it still holds."""

from __future__ import annotations

import functools
import inspect
import types
import weakref
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import pipeline
from ..arguments.kinds import as_passed, flatten, key_of, passes
from ..arguments.packing import ITEMS
from ..runtime.machine_code.forks import new_lock
from ..transforms.lower.functions.places import Reads
from .building import check_generators
from .collecting import rarely
from .overlaps import Overlaps

KEPT = 8            # how many specialisations are kept for the same kinds of arguments, made for other things outside
SEVERAL = 3         # after how many values a number outside becomes a parameter
_SHARED: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()            # of what is no plain function


@dataclass(eq=False)
class Specialisation:
    """Compiled code for one combination of argument kinds."""

    generated: pipeline.Generated
    functions: dict[str, Any]
    params: tuple
    result: Any
    reads: Reads
    hidden: list
    call: Any = None
    holds: Any = None                       # whether all that was read outside is as it was
    static: frozenset = frozenset()
    packs: bool = False                     # whether long lists of alike items are arrays
    narrow: tuple = ()                      # which of the values returned are float32 numbers
    prints: bool = False
    drawn: tuple = ()                       # the places of random generators drawn from among what compiled code receives
    linear: Any = None                      # of `vjp` and `linearize`: a function for calls of their maps
    extra: dict = field(default_factory=dict)

    @functools.cached_property
    def overlaps(self) -> Overlaps:
        """What a call checks of the arguments that the function writes."""
        return Overlaps(self)

    def numbers(self, names, values) -> list:
        """The numbers and arrays among the arguments that compiled code receives."""
        numbers: list = []
        for name, value in zip(names, values, strict=True):
            fixed = (int, np.integer) if name in self.static else ()
            numbers += (v for v in flatten(value, self.packs and not fixed) if passes(v) and not isinstance(v, fixed))
        return numbers

    def leaves(self, names, values) -> list:
        """All that compiled code receives: those of the arguments, and of what was read outside."""
        numbers = self.numbers(names, values)
        passed = [as_passed(x, p) for x, p in zip(numbers, self.params, strict="raises" not in self.extra)]
        for arr, origin, value in self.hidden:
            passed.append(as_passed(value if origin is None else origin.now(), arr))
        if len(self.drawn) > 1:
            check_generators([passed[k] for k in self.drawn])
        if self.overlaps.needed:
            self.overlaps(numbers, names, values)
        return passed


class Specialisations:
    """Those of one function in one operator, and what was learned of its arguments and of what it reads outside."""

    def __init__(self) -> None:
        self.by_key: dict[Any, tuple[Specialisation, ...]] = {}     # those made, the one that held last first
        self.static: dict[Any, frozenset] = {}      # by kinds of arguments: the names of those that must be known
        self.met: dict[Any, set | None] = {}        # the floats met at a place outside; None where they must be constants
        self.fast: list = []                        # functions for calls like the latest ones
        self.forms: dict = {}                       # these functions by what they are for
        self.lock = new_lock()

    def __len__(self) -> int:
        return len(self.by_key)

    def values(self):
        return self.by_key.values()

    def key(self, kinds, names, values, packs: bool):
        """What the specialisation for these arguments depends on. packs: whether long lists may be arrays."""
        static = self.static.get(kinds)
        if not static:
            return kinds
        lists = tuple(key_of(v) for n, v in zip(names, values, strict=True) if n in static or ITEMS in static) \
            if packs else ()
        return kinds, lists, tuple(int(i) for n, v in zip(names, values, strict=True) if n in static
                                   for i in flatten(v) if isinstance(i, (int, np.integer)))

    def known(self, key) -> Specialisation | None:
        """One that holds, with what it reads outside as it is now."""
        for k, made in enumerate(self.by_key.get(key, ())):
            if made.holds():
                if k:
                    with self.lock:
                        self.keep(key, made)
                return made
        return None

    def known_or_made(self, kinds, names, values, packs: bool, make) -> Specialisation:
        """The one for these arguments; `make(kinds, names, values)` makes it if there is none."""
        with self.lock:
            found = self.known(self.key(kinds, names, values, packs))
            if found is None:
                with rarely():
                    found = make(kinds, names, values)
                self.keep(self.key(kinds, names, values, packs), found)
            return found

    def keep(self, key, made: Specialisation) -> None:
        """Put one before the others of its key."""
        rest = [other for other in self.by_key.get(key, ()) if other is not made]
        self.by_key[key] = (made, *rest)[:KEPT]

    def latest(self) -> Specialisation | None:
        return next((made[0] for made in reversed(self.by_key.values())), None)

    def note(self, numbers: dict) -> None:
        """The values found where numbers stand outside."""
        for key, value in numbers.items():
            if (known := self.met.setdefault(key, set())) is not None:
                known.add(value)

    def changing(self) -> frozenset:
        """Where numbers stand outside that have had several values: they become parameters."""
        return frozenset(key for key, known in self.met.items() if known is not None and len(known) >= SEVERAL)


class Shared(dict):
    """What was compiled of a function, kept with it: what refers to it again goes when nothing else does.

    A wrapper that has copied the function's attributes, and a function in another process, start with an empty one.
    """

    NAME = "__autodiff_compiled__"

    def __init__(self, function=None):
        super().__init__()
        self.owner = weakref.ref(function) if function is not None else lambda: None

    def __reduce__(self):
        return Shared, ()

    @staticmethod
    def of(function) -> dict:
        """Of this function; raises TypeError if it cannot be hashed or referred to weakly."""
        if type(function) is not types.FunctionType:
            return _SHARED.setdefault(function, {})
        found = vars(function).get(Shared.NAME)
        if found is None or found.owner() is not function:
            found = vars(function)[Shared.NAME] = Shared(function)
        return found


def specialisations_of(function, *use) -> Specialisations:
    """Those of a function for one use of it, whose objects share them: `grad(f)(x)` in a loop is cheap."""
    try:
        known = Shared.of(function)
        found = known.get(use)
        return known.setdefault(use, Specialisations()) if found is None else found
    except TypeError:                           # not hashable, or no weak references to it
        return Specialisations()


def signature_of(function, written: tuple) -> inspect.Signature:
    """The signature of a Python function. written: what says which parameters it has."""
    known = Shared.of(function)
    found = known.get("signature")
    if found is None or any(a is not b for a, b in zip(found[0], written, strict=True)):
        found = known["signature"] = written, inspect.signature(function)
    return found[1]


__all__ = ["Specialisation", "Specialisations", "signature_of", "specialisations_of"]
