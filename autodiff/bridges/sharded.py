"""A loss that is a sum over shards of data, and its derivatives, by any `map`: threads, processes, other machines.

The sum is a tree that the number of shards decides alone: groups of `fan_in` neighbours are added from left to right, then
groups of these sums. So its bits do not depend on which shard is done first, or on how many workers there are.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..api import value_and_grad
from ..arguments.packing import instance
from ..calling.compiled import Differentiable
from ..operators.hessian_products import hvp
from ..transforms.language.errors import AutodiffError

REDUCTIONS = ("sum", "mean")


def changed(value, change: Callable, *others):
    """A structure with `change(leaf, ...)` in the place of each number and array, of others of the same structure too."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(changed(*parts) for parts in zip_with(value, change, others)))
    if isinstance(value, (tuple, list)):
        return type(value)([changed(*parts) for parts in zip_with(value, change, others)])
    if isinstance(value, dict):
        return {k: changed(v, change, *(o[k] for o in others)) for k, v in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: [getattr(x, f.name) for x in (value, *others)] for f in dataclasses.fields(value)}
        return instance(type(value), {name: changed(part, change, *rest) for name, (part, *rest) in parts.items()})
    return value if value is None else change(value, *others)


def zip_with(value, change, others) -> Iterator[tuple]:
    for part, *rest in zip(value, *others, strict=True):
        yield part, change, *rest


def added(group):
    """The sum of structures, from left to right; None stands for nothing."""
    terms = [term for term in group if term is not None]
    return functools.reduce(lambda total, term: changed(total, lambda a, b: a + b, term), terms) if terms else None


def tree_sum(terms: Iterable, fan_in: int):
    """The sum of structures by groups of `fan_in`, and by groups of these; None of none."""
    levels: list[list] = []

    def put(term, level: int) -> None:
        if level == len(levels):
            levels.append([])
        levels[level].append(term)
        if len(levels[level]) == fan_in:
            group, levels[level] = added(levels[level]), []
            put(group, level + 1)
    for term in terms:
        put(term, 0)
    level = 0
    while level < len(levels) - 1 or levels and len(levels[-1]) > 1:        # groups that are not full
        if levels[level]:
            group, levels[level] = added(levels[level]), []
            put(group, level + 1)
        level += 1
    return levels[-1][0] if levels else None


def in_order(numbered: Iterable) -> Iterator:
    """What has the numbers 0, 1, ... in their order, however they come."""
    waiting: dict[int, Any] = {}
    following = 0
    for number, term in numbered:
        waiting[number] = term
        while following in waiting:
            yield waiting.pop(following)
            following += 1


@dataclass
class Part:
    """What a worker does with a shard. compiled: an operator on the loss; wrt: the number of the parameters' place."""

    compiled: Any
    wrt: int
    mean: bool
    load: Callable | None = None

    def __call__(self, number: int, shard, given: tuple):
        """(rows, results of the operator, times the rows for a mean). given: the parameters, what comes behind the shard."""
        try:
            shard = shard if self.load is None else self.load(shard)
            arrays = shard if isinstance(shard, (tuple, list)) else (shard,)
            rows = len(arrays[0]) if self.mean else 1
            if not rows:
                return None                         # the mean of no rows is nan, of no weight
            found = self.compiled(*arrays[:self.wrt], given[0], *arrays[self.wrt:], *given[1:])
        except AutodiffError:
            raise
        except Exception as e:
            if e.args and isinstance(e.args[0], str):
                e.args = (f"{e.args[0]}\n  in shard {number}", *e.args[1:])
            raise
        return rows, changed(found, lambda leaf: rows * leaf) if self.mean else found


@dataclass
class Numbered:
    """A part for a `map`: from (number, shard) to (number, what is found)."""

    part: Part
    given: tuple

    def __call__(self, numbered):
        number, shard = numbered
        return number, self.part(number, shard, self.given)


def whole(term, mean: bool):
    """The sum or the mean, from the sum of what the parts gave."""
    if term is None:
        raise ValueError("there are no rows in any shard" if mean else "there are no shards")
    rows, found = term
    return changed(found, lambda leaf: leaf / rows) if mean else found


class Sharded:
    """What `sharded` gives: the loss over all shards, called with the parameters; see there."""

    def __init__(self, loss, shards, map, wrt, reduce, fan_in, load, options):
        if reduce not in REDUCTIONS:
            raise ValueError(f"reduce={reduce!r}: \"sum\" or \"mean\"")
        if not isinstance(fan_in, int) or fan_in < 2:
            raise ValueError(f"fan_in={fan_in!r}: an integer of at least 2")
        self.loss, self.shards, self.map = loss, shards, map
        self.reduce, self.fan_in, self.load = reduce, fan_in, load
        self.wrt = place_of(loss, wrt)
        self._value = Differentiable(loss)
        self._joint = value_and_grad(loss, wrt=self.wrt, **options)
        self._product = hvp(loss, wrt=self.wrt, **options)

    def _over_shards(self, compiled, *given):
        mean = self.reduce == "mean"
        done = self.map(Numbered(Part(compiled, self.wrt, mean, self.load), given), list(enumerate(self.shards)))
        return whole(tree_sum(in_order(done), self.fan_in), mean)

    def __call__(self, parameters):
        """The loss."""
        return self._over_shards(self._value, parameters)

    def value_and_grad(self, parameters):
        """(loss, gradient of the structure of the parameters): for `scipy.optimize.minimize(..., jac=True)`."""
        return self._over_shards(self._joint, parameters)

    def grad(self, parameters):
        """The gradient."""
        return self.value_and_grad(parameters)[1]

    def hvp(self, parameters, v):
        """The product of the Hessian with `v`, which has the structure of the parameters."""
        return self._over_shards(self._product, parameters, v)


def place_of(loss, wrt) -> int:
    """The number of the argument that holds the parameters."""
    compiled = Differentiable(loss)
    signature = compiled._call_signature
    names = list(signature.parameters) if signature is not None else []
    if isinstance(wrt, str):
        if wrt not in names:
            raise TypeError(f"`{compiled.__name__}` has no argument `{wrt}`; it takes {', '.join(names)}")
        return names.index(wrt)
    if not isinstance(wrt, (int, np.integer)) or isinstance(wrt, bool) or wrt < 0 or names and wrt >= len(names):
        raise TypeError(f"wrt={wrt!r}: the name or number of one argument of `{compiled.__name__}`, the parameters")
    return int(wrt)


def sharded(loss, shards, *, map: Callable = builtins.map, wrt=0, reduce: str = "sum", fan_in: int = 8,
            load: Callable | None = None, **options) -> Sharded:
    """A loss over shards of data, with `value_and_grad`, `grad` and `hvp`, computed by any `map`.

    loss: a scalar function of parameters and of a shard's arrays, `loss(w, X, y)`.
    shards: a sequence; each a tuple of arrays (one array alone stands for a tuple of it), or what `load` makes that of.
    map: called as `map(function, items)`: the built-in one, `executor.map` of concurrent.futures or mpi4py.futures,
        `pool.imap` or `imap_unordered`, joblib's `lambda f, ks: Parallel(2)(delayed(f)(k) for k in ks)`. What it
        gives may be in any order.
    wrt: number or name of the argument that holds the parameters: a number, an array, or a structure of them.
    reduce: "sum": of the shards' losses. "mean": the losses are means over their rows (the length of their first array), and
        the result is the mean over all rows: each shard weighs as many rows as it has, one without rows nothing.
    fan_in: how many neighbours are added at a time. Results have the same bits for the same shards and fan_in, whatever the
        order in which they are done and wherever.
    load: called by the worker with the shard, to read it where it is needed: shards may then be names of files.
    options: those of `value_and_grad` (`fastmath`, `boundscheck`, ...).

    Processes get the loss as text, and compile it once each; the parameters go to them with each shard.
    Raises TypeError and ValueError for options that do not fit. What a shard raises keeps its class and text, and names the
    shard.
    """
    return Sharded(loss, shards, map, wrt, reduce, fan_in, load, options)


__all__ = ["Sharded", "sharded"]
