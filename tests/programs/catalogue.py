"""The catalogue: a program is a function, a maker of its arguments, and which of them to differentiate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Program:
    """`wrt`: positions of the float arguments. `twice`: smooth enough for second derivatives at these inputs."""

    function: Callable
    make: Callable
    wrt: tuple[int, ...]
    twice: bool = True

    @property
    def name(self) -> str:
        return self.function.__name__

    def arguments(self) -> tuple:
        return self.make(np.random.default_rng(len(self.name)))


PROGRAMS: list[Program] = []


def program(make, wrt=(0,), twice=True):
    """Record a function with its arguments (a function of a random generator); the function itself is unchanged."""
    def record(function):
        PROGRAMS.append(Program(function, make, wrt, twice))
        return function
    return record
