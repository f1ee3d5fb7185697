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


def with_constants(function, texts: Sequence[str]) -> Callable:
    """The function of as many arguments with what the texts say of them, `a0`, `a1` and so on, in their places."""
    own = ", ".join(f"a{k}" for k in range(len(texts)))
    return written(f"def fixed({own}):\n    return function({', '.join(texts)})\n", "fixed", function=function,
                   replace=dataclasses.replace)


def text_of(value, name: str) -> str:
    """The text of an argument of this name in which Python's integers, in structures too, are constants."""
    if type(value) in (bool, int):
        return repr(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return changed(name, f"{name}._replace(", {f: (v, f"{name}.{f}") for f, v in zip(value._fields, value, strict=True)})
    if isinstance(value, (tuple, list)):
        items = [text_of(v, f"{name}[{k}]") for k, v in enumerate(value)]
        if all(text == f"{name}[{k}]" for k, text in enumerate(items)):
            return name
        return f"[{', '.join(items)}]" if isinstance(value, list) else f"({''.join(f'{item}, ' for item in items)})"
    if isinstance(value, dict):
        parts = {repr(k): text_of(v, f"{name}[{k!r}]") for k, v in value.items() if isinstance(k, (str, int))}
        given = "".join(f", {k}: {text}" for k, text in parts.items() if text != f"{name}[{k}]")
        return f"{{**{name}{given}}}" if given else name
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return changed(name, f"replace({name}, ", {f.name: (getattr(value, f.name), f"{name}.{f.name}")
                                                   for f in dataclasses.fields(value)})
    return name


def changed(name: str, call: str, fields: dict) -> str:
    """The text of a record with constants in some of its fields."""
    texts = {field: text_of(value, place) for field, (value, place) in fields.items()}
    given = ", ".join(f"{field}={text}" for field, text in texts.items() if text != fields[field][1])
    return f"{call}{given})" if given else name


__all__ = ["is_leaf", "parts_of", "pulled", "pushed", "structured", "text_of", "with_constants", "with_parts"]
