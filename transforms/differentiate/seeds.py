"""What a reverse sweep starts from: adjoints of results that are given, or of each element of the results in turn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..language import core
from ..language.build import integer, loops
from ..language.core import Arr, Function, Var, is_float
from ..language.substitution import substitute


def elements_of(function: Function) -> list:
    """(float result, index in it) for every element of the float results; arrays must have constant shapes."""
    found: list = []
    for r in function.returns:
        if is_float(r):
            found += [(r, tuple(map(integer, k))) for k in np.ndindex(*map(core.known_value, r.shape))] if isinstance(
                r, Arr) else [(r, ())]
    return found


def give_seeds(sweep, function: Function) -> list:
    """Start from adjoints of the float results that are parameters: those, in order."""
    found: list = []
    builder = sweep.scope.b
    for r in function.returns:
        if isinstance(r, Arr) and is_float(r):
            seed = Arr(f"{r.hint}_bar_in", r.dtype, r.shape)
            found.append(seed)
            if r in sweep.active:
                loops(builder, r.shape, lambda b, index, r=r, seed=seed: b.store(
                    sweep.bar(r), index, b.load(seed, index), accumulate=True))
        elif is_float(r):
            scalar = Var(f"{getattr(r, 'hint', 'result')}_bar", r.dtype)
            found.append(scalar)
            sweep.facts.number(scalar)
            sweep.add_bar(r, scalar)
    return found


def with_checked_seeds(program: Function, forward: int, first: int) -> Function:
    """The joint pullback with sizes of its own for the adjoints that it is given, compared with those of the results after
    the forward sweep. forward: how many statements that has; first: how many parameters come before the adjoints."""
    mapping: dict = {}
    checks: list = []
    for seed in program.params[first:]:
        if not isinstance(seed, Arr):
            continue
        axes = len(seed.shape) - seed.pairs
        own = [Var("n", "int64") for _ in range(axes)]
        given = mapping[seed] = Arr(seed.hint, seed.dtype, (*own, *seed.shape[axes:]), pairs=seed.pairs)
        for k, size in enumerate(own):
            fits = Var("fits", "bool")
            checks += [core.Let(size, "dim", (given, k)), core.Let(fits, "eq", (size, seed.shape[k])),
                       core.Guard(fits, "ValueError", "a cotangent has another shape than the result that it belongs to")]
    return replace(program, params=tuple(mapping.get(p, p) for p in program.params), body=(
        *program.body[:forward], *checks, *substitute(program.body[forward:], mapping, False)))


__all__ = ["elements_of", "give_seeds", "with_checked_seeds"]
