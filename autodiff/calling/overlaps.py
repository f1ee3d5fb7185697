"""What a program writes must be apart from all else that it is given or reads outside: it is compiled for such arguments.
And the arrays that it writes must be such as may be written."""

from __future__ import annotations

import dataclasses

import numpy as np

from ..arguments.kinds import on_device
from ..arguments.sparse import is_sparse, parts_of
from ..transforms.language.core import results, walk
from ..transforms.language.errors import ReadOnlyArray, UnsupportedSyntax
from ..transforms.lower.functions.places import trusted

NUMBERS = frozenset((float, int, bool, complex, str, type(None), np.float64, np.float32, np.int64, np.bool_))
APART = "pass two objects, or an argument of its own that says whether they are one"
MUTABLE = frozenset(("array", "sized", "packed", "keys", "type"))       # conditions on what may be an object that changes


class Overlaps:
    """What a specialisation asks of its arguments, which differs from call to call."""

    def __init__(self, made):
        lowered = made.generated.lowered
        self.lowered, self.written = lowered, lowered.written
        outside = {h[0]: h[1] for h in made.hidden}
        self.layouts = frozenset(k for k, p in enumerate(made.params) if p in lowered.layouts and p not in outside)
        self.laid_outside = [place for p, place in outside.items() if p in lowered.layouts and place is not None]
        self.params = made.params
        self.own = made.extra.get("own")        # how many of the arguments are the function's; the rest are vectors
        self.outside = [c.place for c in made.reads.conditions.values() if c.kind in MUTABLE and not (
            c.kind == "type" and trusted(c.value.__module__))] if self.written else []
        self.needed = bool(self.written or self.layouts or self.laid_outside)

    def concerns(self, values) -> bool:
        """Whether anything could be shared in calls whose arguments are like these."""
        found: list = []
        collect(list(values[:self.own]), "", found)
        several = len(found) > 2                # the list `values` is one
        return bool(self.layouts or self.laid_outside or self.written and (several or self.outside))

    def __call__(self, numbers, names, values) -> None:
        """UnsupportedSyntax for arguments that share what the program writes, or must lie in C order and do not;
        ReadOnlyArray for arrays that it writes and that may not be written."""
        for k in self.layouts:
            if not numbers[k].flags.c_contiguous:
                raise out_of_order(f"argument `{self.params[k].hint}`", f"pass np.ascontiguousarray({self.params[k].hint})")
        for place in self.laid_outside:
            if not place.now().flags.c_contiguous:
                raise out_of_order(f"array `{place.spelled({})}`", f"bind np.ascontiguousarray({place.spelled({})}) there")
        if not self.written:
            return
        arguments = dict(zip(names[:self.own], values[:self.own], strict=True))
        given: list = []                        # (name of the argument, object or array in it)
        for name, value in arguments.items():
            collect(value, name, given)
        outside: list = []
        for place in self.outside:
            collect(place.now(), place, outside)
        for name, steps in self.written:
            mine = arguments[name]
            for kind, key in steps:
                mine = mine[key] if kind == "item" else getattr(mine, key)
            if (name, steps) in self.lowered.changed and isinstance(mine, np.ndarray) and not (
                    mine.flags.writeable or on_device(mine)):
                raise read_only(self.lowered, name, steps)
            once, writes = False, isinstance(mine, np.ndarray) or (name, steps) in self.lowered.changed
            for other, x in given:
                if x is mine and not once:
                    once = True
                elif same(x, mine):
                    raise shared(name, other, mine, writes)
            for place, x in outside:
                if same(x, mine):
                    raise shared(name, place, mine, writes)


def out_of_order(what: str, hint: str) -> UnsupportedSyntax:
    return UnsupportedSyntax(f"the {what} does not lie in memory row by row; by how it lies, what the function writes, or "
                             "asks with `is`, is a view or a copy", None, hint)


def read_only(lowered, name: str, steps: tuple) -> ReadOnlyArray:
    """The error for an array that may not be written, in this place of an argument, at the line that writes it."""
    array = lowered.changed[name, steps]
    place = next((s.loc for s in walk(lowered.function.body) if array in results(s) and s.loc.line), None)
    spelled = name + "".join(f"[{key!r}]" if kind == "item" else f".{key}" for kind, key in steps)
    return ReadOnlyArray(f"assignment destination is read-only: the function writes to the argument `{spelled}`", place,
                         f"pass {spelled}.copy()")


def collect(value, name, found: list) -> None:
    """The arrays, lists, dicts and records in a value, itself first."""
    kind = type(value)
    if kind in NUMBERS:
        return
    if isinstance(value, np.ndarray):
        found.append((name, value))
    elif isinstance(value, (tuple, list)):
        if isinstance(value, list):
            found.append((name, value))
        for v in value:
            if type(v) not in NUMBERS:
                collect(v, name, found)
    elif isinstance(value, dict):
        found.append((name, value))
        for v in value.values():
            collect(v, name, found)
    elif dataclasses.is_dataclass(kind):
        found.append((name, value))
        for f in dataclasses.fields(kind):
            collect(getattr(value, f.name, None), name, found)
    elif is_sparse(value):
        for part in (parts_of(value) or {}).values():
            collect(part, name, found)


def same(x, y) -> bool:
    """Whether two objects are one, or arrays that may share memory; those on a device do if they are one array."""
    if x is y or not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray)):
        return x is y
    if on_device(x) or on_device(y):
        one, other = (getattr(v, "device_array", None) for v in (x, y))
        return one is not None and one is other
    return np.may_share_memory(x, y)


def shared(name: str, other, value, writes: bool) -> UnsupportedSyntax:
    """The error for what an argument shares with another, or with what is found at a place outside. writes: whether the
    function changes it, and does not just ask with `is` whether the two are one."""
    if isinstance(value, np.ndarray):
        what, does, copy = "memory", "writes to it", ".copy()"
    else:
        what, does, copy = f"a {type(value).__name__}", "changes it", " copied by copy.deepcopy"
    if not isinstance(other, str):
        place = f"`{spelled}`" if (spelled := other.spelled({})) else "what is read"
        if not writes:
            return UnsupportedSyntax(f"the argument `{name}` shares {what} with {place} outside the function, which asks "
                                     "with `is` whether they are one", None, APART)
        return UnsupportedSyntax(f"the argument `{name}` shares {what} with {place} outside the function, which {does}",
                                 None, f"pass {name}{copy}")
    if not writes:
        who = f"parts of the argument `{name}`" if other == name else f"the arguments `{name}` and `{other}`"
        return UnsupportedSyntax(f"{who} share {what}, and the function asks with `is` whether they are one", None, APART)
    if other == name:
        return UnsupportedSyntax(f"parts of the argument `{name}` share {what}, and the function {does}", None,
                                 "pass copies, made one by one: copy.deepcopy of all keeps what is shared")
    return UnsupportedSyntax(f"the arguments `{name}` and `{other}` share {what}, and the function {does}", None,
                             f"pass copies: {other}{copy}")


__all__ = ["Overlaps"]
