"""The kinds of arguments: what a specialisation knows of the numbers and arrays that it takes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..language.core import GENERATOR
from .values import Value

MANY = "two or more"
SHORT, LONG = 4, 16


@dataclass(frozen=True)
class ArrayArg:
    """An array argument: dtype and, for each axis, what is known of its size: the size, MANY (two or more), None (nothing).

    Broadcasting depends on sizes of 1, and empty axes are rare: telling them apart keeps the generated code plain. A short
    last axis of a long array (points in space) is known, so that loops over it can be written out.
    """

    dtype: str
    sizes: tuple[int | str | None, ...]

    @staticmethod
    def of(array: np.ndarray, dtype: str) -> ArrayArg:
        return ArrayArg(dtype, known_sizes(array.shape))


def known_sizes(shape: tuple[int, ...]) -> tuple[int | str | None, ...]:
    """What a specialisation knows of an array's sizes."""
    sizes: list[int | str | None] = [s if s < 2 else MANY for s in shape]
    if len(shape) > 1 and 2 <= shape[-1] <= SHORT and math.prod(shape[:-1]) >= LONG:
        sizes[-1] = shape[-1]
    return tuple(sizes)


@dataclass(frozen=True)
class ScalarArg:
    """A number argument; `weak` for Python's own numbers, `point` for what is an array of rank 0."""

    dtype: str
    weak: bool = True
    point: bool = False


@dataclass(frozen=True)
class ColumnArg(ArrayArg):
    """A number or array of all items of a long list, as one array; `weak` as in Column."""

    weak: bool | None


@dataclass(frozen=True)
class GeneratorArg:
    """A random generator as an argument. `same`: arguments of which this is equal, and not None, are one generator."""

    same: object = None
    dtype = GENERATOR


class Leaf(Value):
    """A parameter leaf waiting to be created."""

    def __init__(self, spec):
        self.spec = spec
