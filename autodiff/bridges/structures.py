"""Structures of arguments and results around flat numbers and arrays, as bridges pass them; derivatives as programs."""

from __future__ import annotations

import dataclasses
import itertools
import linecache
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..arguments.packing import instance, parts_in
from ..operators.pushforwards import jvp
from ..operators.splits import vjp
from ..transforms.lower import values
from ..transforms.lower.values import Array, Mapping, Packed, Record, Scalar, Static
from .leaves import leaves_at, of_parts

_count = itertools.count()


def is_leaf(value) -> bool:
    """Whether a part of an argument is a number or an array."""
    return isinstance(value, (bool, int, float, complex, np.generic)) or hasattr(value, "shape") and hasattr(value, "dtype")


def parts_of(value) -> Iterator:
    """The numbers and arrays in an argument, in the order of an entry's arguments."""
    return filter(is_leaf, parts_in(value))


def with_parts(value, change: Callable, *others):
    """A structure with `change(leaf, ...)` in the place of each number and array, of others of the same structure too; what
    is neither stays."""
    if isinstance(value, (tuple, list, dict)) or dataclasses.is_dataclass(value) and not isinstance(value, type):
        return of_parts(value, lambda *parts: with_parts(parts[0], change, *parts[1:]), *others)
    return change(value, *others) if is_leaf(value) else value


def structured(tree, leaves: Iterator):
    """The result with these numbers and arrays."""
    match tree:
        case values.Sequence(items=items, kind=kind):
            return kind([structured(item, leaves) for item in items])
        case Mapping(items=items):
            return {k: structured(item, leaves) for k, item in items.items()}
        case Record(cls=cls, fields=fields):
            return instance(cls, {k: structured(item, leaves) for k, item in fields.items()})
        case Packed(item=item):
            parts = [next(leaves) for _ in leaves_at(item, "")]
            return [structured(item, iter([part[k] for part in parts])) for k in range(len(parts[0]))] if parts else []
        case Scalar() | Array():
            return next(leaves)
        case Static(value=value):
            return value
    raise TypeError(tree)


def written(text: str, name: str, **names) -> Callable:
    """The function of a text that the compiler can read."""
    file = f"<autodiff bridge {next(_count)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), names)
    return names[name]


def pulled(function, count: int, leaves: Sequence[str], chosen: Sequence[int]) -> Callable:
    """The pullback as a program: from `count` arguments, and a cotangent for each of the `leaves`, to a tuple of the
    cotangents of the arguments at the places `chosen`.

    leaves: where the numbers and arrays of the result stand that have cotangents, such as "result" or "result[1]['k']".
    """
    own = ", ".join(f"a{k}" for k in range(count))
    bars = ", ".join(f"bar{k}" for k in range(len(leaves)))
    text = (f"def leaves({own}):\n    result = function({own})\n    return {', '.join(leaves)}\n\n\n"
            f"def pulled({own}, {bars}):\n    found = vjp(leaves, {own})[1]({bars if len(leaves) == 1 else f'({bars})'})\n"
            f"    return ({''.join(f'found[{k}], ' for k in chosen)})\n")
    return written(text, "pulled", function=function, vjp=vjp)


def pushed(function, count: int, places: Sequence[int], returned: str = "result, dots") -> Callable:
    """The pushforward as a program: from `count` arguments, and a tangent for each of those at `places` (the others have
    none), to what is returned of the result and its tangents `dots`, by default both."""
    own = ", ".join(f"a{k}" for k in range(count))
    given = "".join(f", dot{k}" for k in places)
    tangents = "".join(f"dot{k}, " if k in places else "None, " for k in range(count))
    return written(f"def pushed({own}{given}):\n    result, dots = jvp(function, ({own},), ({tangents}))\n"
                   f"    return {returned}\n", "pushed", function=function, jvp=jvp)


def with_constants(function, count: int, constants: dict[int, int]) -> Callable:
    """A function of `count` arguments as one of those that are not among the constants."""
    names = [f"a{k}" for k in range(count) if k not in constants]
    given = ", ".join(repr(constants[k]) if k in constants else f"a{k}" for k in range(count))
    return written(f"def fixed({', '.join(names)}):\n    return function({given})\n", "fixed", function=function)


__all__ = ["is_leaf", "parts_of", "pulled", "pushed", "structured", "with_constants", "with_parts"]
