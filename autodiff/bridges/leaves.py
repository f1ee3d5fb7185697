"""Examples of arguments as Numba types, and the numbers and arrays in them and in results, with their paths."""

from __future__ import annotations

import dataclasses
import functools
import re
from typing import Any, NamedTuple

import numba
import numpy as np

from ..arguments.packing import instance
from ..calling.inside_numba import parts_of
from ..transforms.language.errors import TypeConflict
from ..transforms.lower.values import Array, Mapping, Packed, Record, Scalar, Sequence


class Place(NamedTuple):
    """A number (rank 0) or an array that an entry takes or gives. path: where it stands in the user's structures."""

    name: str
    path: str
    dtype: str
    rank: int


def as_kinds(value):
    """An example with Numba types, of arrays in C order, in the places of its numbers and arrays; what is neither stays."""
    if isinstance(value, numba.types.BaseTuple):
        parts: Any = tuple(map(as_kinds, parts_of(value)))
        return value.instance_class(*parts) if hasattr(value, "instance_class") else parts
    if isinstance(value, numba.types.Array):
        return array_of(value.dtype, value.ndim)
    if isinstance(value, numba.types.Type):
        return numba.types.unliteral(value)
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return numba.typeof(value)
    if isinstance(value, np.random.Generator) or type(value).__module__.startswith("scipy.sparse"):
        raise TypeConflict(f"an entry takes numbers and arrays, not a {type(value).__name__}", None,
                           "draw outside and pass what was drawn" if isinstance(value, np.random.Generator) else
                           "pass the entries and build the product of them in the function")
    if isinstance(value, (tuple, list, dict)) or dataclasses.is_dataclass(value) and not isinstance(value, type):
        return of_parts(value, as_kinds)
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return array_of(numba.from_dtype(np.dtype(value.dtype)), len(value.shape))
    return value


@functools.lru_cache(maxsize=256)
def array_of(scalar, rank: int):
    """The Numba type of arrays in C order, or of numbers."""
    return numba.types.Array(scalar, rank, "C") if rank else scalar


def of_parts(value, change, *others):
    """A structure with `change(part, ...)` in the place of each part, of others of the same structure too."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(change(*parts) for parts in zip(value, *others, strict=True)))
    if isinstance(value, (tuple, list)):
        return type(value)([change(*parts) for parts in zip(value, *others, strict=True)])
    if isinstance(value, dict):
        return {k: change(v, *(other[k] for other in others)) for k, v in value.items()}
    return instance(type(value), {f.name: change(*(getattr(x, f.name) for x in (value, *others)))
                                  for f in dataclasses.fields(value)})


def paths(kind, path: str):
    """(path, Numba type) of the numbers and arrays in an argument."""
    if isinstance(kind, numba.types.Type):
        if not isinstance(kind, (numba.types.NoneType, numba.types.Omitted)):
            yield path, kind
    elif isinstance(kind, tuple) and hasattr(kind, "_fields"):
        for field, part in zip(kind._fields, kind, strict=True):
            yield from paths(part, f"{path}.{field}")
    elif isinstance(kind, (tuple, list)):
        for k, part in enumerate(kind):
            yield from paths(part, f"{path}[{k}]")
    elif isinstance(kind, dict):
        for k, part in kind.items():
            yield from paths(part, f"{path}[{k!r}]")
    elif dataclasses.is_dataclass(kind) and not isinstance(kind, type):
        for field in dataclasses.fields(kind):
            yield from paths(getattr(kind, field.name), f"{path}.{field.name}")


def with_kinds(kind, change):
    """A structure of Numba types with `change(type)` in the place of each number and array."""
    if isinstance(kind, numba.types.Type):
        return kind if isinstance(kind, (numba.types.NoneType, numba.types.Omitted)) else change(kind)
    if isinstance(kind, (tuple, list, dict)) or dataclasses.is_dataclass(kind) and not isinstance(kind, type):
        return of_parts(kind, lambda part: with_kinds(part, change))
    return kind


def leaves_at(tree, path: str):
    """(path, kind) of the numbers and arrays of a result."""
    match tree:
        case Sequence(items=items):
            for k, item in enumerate(items):
                yield from leaves_at(item, f"{path}[{k}]")
        case Packed(item=item):                 # a list: an array for each part of its items
            yield from leaves_at(item, f"{path}[:]")
        case Mapping(items=items):
            for k, item in items.items():
                yield from leaves_at(item, f"{path}[{k!r}]")
        case Record(fields=fields):
            for k, item in fields.items():
                yield from leaves_at(item, f"{path}.{k}")
        case Scalar() | Array():
            yield path, tree


def beside(path: str, suffix: str) -> str:
    """The path of the adjoint ("bar") or tangent ("dot") of what stands at a path.

    >>> beside("p['k'][0]", "bar")
    "p_bar['k'][0]"
    """
    return re.sub(r"^\*?\w+", lambda found: f"{found[0]}_{suffix}", path)


def unique(texts: list[str], taken=()) -> list[str]:
    """Names that differ, after these paths; taken: names that none of them may be."""
    names: list[str] = []
    for text in texts:
        base = name = re.sub(r"\W+_*", "_", text).strip("_")
        count = 1
        while name in names or name in taken:
            count += 1
            name = f"{base}_{count}"
        names.append(name)
    return names


__all__ = ["Place", "array_of", "as_kinds", "beside", "leaves_at", "paths", "unique", "with_kinds"]
