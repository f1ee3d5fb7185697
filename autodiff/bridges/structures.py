"""Structures of arguments and results around flat numbers and arrays, as bridges pass them; derivatives as programs."""

from __future__ import annotations

import dataclasses
import itertools
import linecache
from collections.abc import Callable, Iterator

import numpy as np

from ..arguments.packing import instance, parts_in
from ..operators.pushforwards import jvp
from ..operators.splits import vjp
from ..transforms.language.ops import is_inexact
from ..transforms.lower.values import Array, Mapping, Packed, Record, Scalar, Sequence, Static
from .leaves import leaves_at, of_parts

_count = itertools.count()


def is_leaf(value) -> bool:
    """Whether a part of an argument is a number or an array."""
    return isinstance(value, (bool, int, float, complex, np.generic)) or hasattr(value, "shape") and hasattr(value, "dtype")


def parts_of(value) -> Iterator:
    """The numbers and arrays in an argument, in the order of an entry's arguments."""
    return filter(is_leaf, parts_in(value))


def with_parts(value, change: Callable):
    """An argument with `change(leaf)` in the place of each number and array; what is neither stays."""
    if isinstance(value, (tuple, list, dict)) or dataclasses.is_dataclass(value) and not isinstance(value, type):
        return of_parts(value, lambda part: with_parts(part, change))
    return change(value) if is_leaf(value) else value


def structured(tree, leaves: Iterator, floats_only: bool = False):
    """The result with these numbers and arrays; floats_only: `leaves` has only those of floats, others are None."""
    match tree:
        case Sequence(items=items, kind=kind):
            return kind([structured(item, leaves, floats_only) for item in items])
        case Mapping(items=items):
            return {k: structured(item, leaves, floats_only) for k, item in items.items()}
        case Record(cls=cls, fields=fields):
            return instance(cls, {k: structured(item, leaves, floats_only) for k, item in fields.items()})
        case Packed(item=item):
            parts = [next(leaves) for _ in leaves_at(item, "")]
            return [structured(item, iter([part[k] for part in parts])) for k in range(len(parts[0]))] if parts else []
        case Scalar() | Array():
            return next(leaves) if is_inexact(str(tree.dtype)) or not floats_only else None
        case Static(value=value):
            return value
    raise TypeError(tree)


def written(text: str, name: str, **names) -> Callable:
    """The function of a text that the compiler can read."""
    file = f"<autodiff bridge {next(_count)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), names)
    return names[name]


def pulled(function, count: int, chosen: tuple[int, ...]) -> Callable:
    """The function from `count` arguments and a cotangent to the cotangents of the arguments at the places `chosen`."""
    names = ", ".join(f"a{k}" for k in range(count))
    return written(f"def pulled({names}, bar):\n    _, pullback = vjp(function, {names})\n    bars = pullback(bar)\n"
                   f"    return ({''.join(f'bars[{k}], ' for k in chosen)})\n", "pulled", function=function, vjp=vjp)


def pushed(function, count: int) -> Callable:
    """The function from `count` arguments and their tangents to (result, its tangent)."""
    primals, tangents = ("".join(f"{letter}{k}, " for k in range(count)) for letter in "ad")
    return written(f"def pushed({primals}{tangents}):\n    return jvp(function, ({primals}), ({tangents}))\n", "pushed",
                   function=function, jvp=jvp)


def with_constants(function, count: int, constants: dict[int, int]) -> Callable:
    """A function of `count` arguments as one of those that are not among the constants."""
    names = [f"a{k}" for k in range(count) if k not in constants]
    given = ", ".join(repr(constants[k]) if k in constants else f"a{k}" for k in range(count))
    return written(f"def fixed({', '.join(names)}):\n    return function({given})\n", "fixed", function=function)


__all__ = ["is_leaf", "parts_of", "pulled", "pushed", "structured", "with_constants", "with_parts"]
