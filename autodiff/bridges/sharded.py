"""A loss that is a sum over shards of data, and its derivatives, by any `map`: threads, processes, other machines.

The sum is a tree that the number of shards decides alone: groups of `fan_in` neighbours are added from left to right, then
groups of these sums. So its bits do not depend on which shard is done first, or on how many workers there are.
"""

from __future__ import annotations

import builtins
import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..api import differentiable, value_and_grad
from ..calling.compiled import Differentiable
from ..calling.tracebacks import entry
from ..operators.hessian_products import hvp
from ..transforms.language.errors import AutodiffError, NonDifferentiable, ShapeMismatch, TypeConflict, UnsupportedSyntax
from .structures import with_parts

REDUCTIONS = ("sum", "mean")
ROWS = ("what all rows need belongs to the parameters or into the loss; or let the loss be a sum, take reduce=\"sum\", and "
        "divide by the number of rows")
BLOCKS = "find their lengths by compute_chunk_sizes(), and rechunk one as the other: y.rechunk({0: X.chunks[0]})"
OPTIONS = ("mode", "boundscheck", "fastmath", "precise", "parallel", "debug")      # those that all three operators have


def added(group):
    """The sum of structures, from left to right; None stands for nothing."""
    terms = [term for term in group if term is not None]
    return functools.reduce(lambda total, term: with_parts(total, lambda a, b: a + b, term), terms) if terms else None


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


def in_order(numbered: Iterable, count: int) -> Iterator:
    """What has the numbers 0 to count - 1 in their order, however they come.

    Raises TypeError for what is not numbered, ValueError for a number that comes twice or not at all.
    """
    waiting: dict[int, Any] = {}
    following = 0
    for found in numbered:
        if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], int)):
            raise TypeError(f"`map` gave a {type(found).__name__} instead of what the function returned for a shard; where "
                            "it gives futures, wait for them: `lambda f, items: client.gather(client.map(f, items))`")
        number, term = found
        if number in waiting or not following <= number < count:
            raise ValueError(f"`map` gave the result of shard {number} twice")
        waiting[number] = term
        while following in waiting:
            yield waiting.pop(following)
            following += 1
    if following < count:
        raise ValueError(f"`map` gave {following + len(waiting)} results for {count} shards: that of shard {following} is "
                         "missing")


def lengths(value) -> set[int]:
    """The lengths of the first axes of all arrays in a shard; none for numbers. TypeConflict for lists of lists."""
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return {shape[0]} if shape else set()
    if isinstance(value, list) and not any(hasattr(v, "shape") or isinstance(v, (Mapping, tuple)) for v in value):
        if any(isinstance(v, list) for v in value):
            raise TypeConflict("a list of lists does not tell how many rows it has", None, "make it an array")
        return {len(value)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = [getattr(value, f.name) for f in dataclasses.fields(value)]
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, (tuple, list)) else ()
    return set().union(*map(lengths, parts))


def rows_of(arrays, way_out: str) -> int:
    """The one length that all arrays of a shard have along their first axis."""
    found = lengths(arrays)
    if len(found) != 1:
        what = f"arrays of {' and '.join(map(str, sorted(found)))} rows" if found else "no array"
        raise ShapeMismatch(f"it is not known how many rows a shard has: it holds {what}", None, way_out)
    return found.pop()


def located(error: Exception, number: int) -> Exception:
    """An error that says which shard it comes from, of the same class and with the same text before that."""
    place = f"  in shard {number}"
    if isinstance(error, AutodiffError):
        error.problem = f"{error.problem}\n{place}"
        error.args = (error.render(),)
    elif error.args and str(error) == error.args[0]:
        error.args = (f"{error.args[0]}\n{place}", *error.args[1:])
    else:                                       # its text is made of what it holds: Python writes notes below it
        error.__notes__ = [*getattr(error, "__notes__", ()), place]
    return error


@dataclass
class Part:
    """What a worker does with a shard. compiled: an operator on the loss; wrt: the number of the parameters' place.

    alike: whether the arrays of a shard must have one length. mean: whether results are weighed by it; then alike too.
    """

    compiled: Any
    wrt: int
    mean: bool
    load: Callable | None = None
    alike: bool = False

    def __call__(self, number: int, shard, given: tuple):
        """(rows, results of the operator, times the rows for a mean). given: the parameters, what comes behind the shard."""
        try:
            shard = shard if self.load is None else self.load(shard)
            arrays = shard if isinstance(shard, (tuple, list)) else (shard,)
            if len(arrays) < self.wrt:
                raise TypeError(f"{self.compiled.__name__}() takes the parameters behind {self.wrt} arrays, not "
                                f"{len(arrays)}")
            rows = rows_of(arrays, BLOCKS if self.alike else ROWS) if self.mean or self.alike else 1
            if self.mean and not rows:
                return None                         # the mean of no rows is nan, of no weight
            found = self.compiled(*arrays[:self.wrt], given[0], *arrays[self.wrt:], *given[1:])
            if isinstance(self.compiled, Differentiable) and np.ndim(found):
                raise NonDifferentiable(f"the loss `{self.compiled.__name__}` gives an array of shape {np.shape(found)}, "
                                        "not a number", None, "reduce it (np.sum, np.mean)")
        except Exception as e:
            raise located(e, number) from e.__cause__
        return rows, with_parts(found, lambda leaf: rows * leaf) if self.mean else found


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
    return with_parts(found, lambda leaf: leaf / rows) if mean else found


class Sharded:
    """What `sharded` gives: the loss over all shards, called with the parameters; see there."""

    def __init__(self, loss, shards, map, wrt, reduce, fan_in, load, options):
        if reduce not in REDUCTIONS:
            raise ValueError(f"reduce={reduce!r}: \"sum\" or \"mean\"")
        if not isinstance(fan_in, int) or fan_in < 2:
            raise ValueError(f"fan_in={fan_in!r}: an integer of at least 2")
        if not callable(map):
            raise TypeError(f"map={map!r}: a function that is called as map(function, items), such as executor.map")
        if isinstance(shards, (str, bytes, Mapping)):
            raise TypeError(f"the shards are a {type(shards).__name__}, not a sequence of tuples of arrays")
        if unknown := sorted(options.keys() - set(OPTIONS)):
            raise TypeError(f"a loss over shards takes no `{unknown[0]}`; its options are {', '.join(OPTIONS)}")
        self.loss, self.map = loss, map
        self.shards = shards if hasattr(shards, "__len__") else list(shards)       # each call goes through them again
        self.reduce, self.fan_in, self.load = reduce, fan_in, load
        self.wrt = place_of(loss, wrt)
        self._value = differentiable(loss, **options)
        self._joint = value_and_grad(loss, wrt=self.wrt, **options)
        self._product = hvp(loss, wrt=self.wrt, **options)

    def __repr__(self):
        return f"<{self.reduce} of {self._value.__name__} over {len(self.shards)} shards>"

    def __autodiff_lower__(self, lo, args, kwargs):
        raise lo.error(UnsupportedSyntax, f"a loss over shards, of `{self._value.__name__}`, is not differentiated again",
                       "call its grad, value_and_grad or hvp")

    def _over_shards(self, compiled, *given):
        mean = self.reduce == "mean"
        done = self.map(Numbered(Part(compiled, self.wrt, mean, self.load), given), list(enumerate(self.shards)))
        return whole(tree_sum(in_order(done, len(self.shards)), self.fan_in), mean)

    @entry
    def __call__(self, parameters):
        """The loss."""
        return self.value(parameters)

    @entry
    def value(self, parameters):
        """The loss."""
        return self._over_shards(self._value, parameters)

    @entry
    def value_and_grad(self, parameters):
        """(loss, gradient of the structure of the parameters): for `scipy.optimize.minimize(..., jac=True)`."""
        return self._over_shards(self._joint, parameters)

    @entry
    def grad(self, parameters):
        """The gradient."""
        return self.value_and_grad(parameters)[1]

    @entry
    def hvp(self, parameters, v):
        """The product of the Hessian with `v`, which has the structure of the parameters."""
        return self._over_shards(self._product, parameters, v)


def place_of(loss, wrt) -> int:
    """The number of the argument that holds the parameters, among those that a call gives by position."""
    compiled = differentiable(loss)
    signature = compiled._call_signature
    if signature is None:
        names, any_number = [], True
    else:
        taken = list(signature.parameters.values())[len(compiled._given[0]):]      # behind what a partial application holds
        names = [p.name for p in taken if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        any_number = any(p.kind is p.VAR_POSITIONAL for p in taken)
        if wrt in [p.name for p in taken if p.kind is p.KEYWORD_ONLY]:
            raise TypeError(f"`{wrt}` of `{compiled.__name__}` takes keywords only: the parameters and the shard's arrays "
                            "are passed by position")
    if isinstance(wrt, str):
        if wrt not in names:
            raise TypeError(f"`{compiled.__name__}` has no argument `{wrt}`; it takes {', '.join(names)}")
        return names.index(wrt)
    if not isinstance(wrt, (int, np.integer)) or isinstance(wrt, bool) or wrt < 0 or not any_number and wrt >= len(names):
        raise TypeError(f"wrt={wrt!r}: the name or number of one argument of `{compiled.__name__}`, the parameters")
    return int(wrt)


def sharded(loss, shards, *, map: Callable = builtins.map, wrt=0, reduce: str = "sum", fan_in: int = 8,
            load: Callable | None = None, **options) -> Sharded:
    """A loss over shards of data, with `value_and_grad`, `grad` and `hvp`, computed by any `map`.

    loss: a scalar function of parameters and of a shard's arrays, `loss(w, X, y)`.
    shards: a sequence; each a tuple of arrays (one array alone stands for a tuple of it), or what `load` makes that of.
    map: called as `map(function, items)`: the built-in one, `executor.map` of concurrent.futures or mpi4py.futures,
        `pool.imap` or `imap_unordered`, joblib's `lambda f, ks: Parallel(2)(delayed(f)(k) for k in ks)`. What it
        gives may be in any order, and must be all.
    wrt: number or name of the argument that holds the parameters: a number, an array, or a structure of them.
    reduce: "sum": of the shards' losses. "mean": the losses are means over their rows, and the result is the mean over all
        rows: each shard weighs as many rows as it has, one without rows nothing. The rows are the length of the first axis,
        which all arrays of a shard must share.
    fan_in: how many neighbours are added at a time. Results have the same bits for the same shards and fan_in, whatever the
        order in which they are done and wherever.
    load: called by the worker with the shard, to read it where it is needed: shards may then be names of files.
    options: `mode`, `boundscheck`, `fastmath`, `precise`, `parallel`, `debug`, as for `grad`.

    Processes get the loss as text, and compile it once each; the parameters go to them with each shard.
    Raises TypeError and ValueError for options that do not fit, and where `map` gives no result for a shard, or two. With
    "mean", ShapeMismatch for a shard whose arrays differ in length. What a shard raises keeps its class and text, and names
    the shard.
    """
    return Sharded(loss, shards, map, wrt, reduce, fan_in, load, options)


__all__ = ["Sharded", "sharded"]
