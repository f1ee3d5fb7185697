"""Iterators outside of a function, which another call finds further on, are refused before anything is taken from them."""

import collections
import functools
import itertools
import math
import operator

import numpy as np
import pytest

from autodiff import AutodiffError, differentiable

KINDS = {
    "list": lambda: iter([1.0, 2.0, 3.0]),
    "tuple": lambda: iter((1.0, 2.0)),
    "range": lambda: iter(range(3)),
    "dict": lambda: iter({1.0: 2.0}),
    "items": lambda: iter({1.0: 2.0}.values()),
    "set": lambda: iter({1.0, 2.0}),
    "deque": lambda: iter(collections.deque([1.0, 2.0])),
    "array": lambda: iter(np.array([1.0, 2.0])),
    "flat": lambda: np.array([[1.0, 2.0], [3.0, 4.0]]).flat,
    "nditer": lambda: np.nditer(np.array([1.0, 2.0])),
    "generator": lambda: (v for v in (1.0, 2.0)),
    "map": lambda: map(float, (1, 2)),
    "filter": lambda: filter(None, [1.0, 2.0]),
    "reversed": lambda: reversed([1.0, 2.0]),
    "chain": lambda: itertools.chain([1.0], [2.0]),
    "islice": lambda: itertools.islice(itertools.count(), 3),
    "accumulate": lambda: itertools.accumulate([1.0, 2.0]),
    "zip": lambda: zip([1.0, 2.0], [3.0, 4.0], strict=True),
    "enumerate": lambda: enumerate([1.0, 2.0]),
}
ASKED = {
    "max": lambda x, it: x * max(it),
    "min": lambda x, it: x * min(it),
    "default": lambda x, it: x * max(it, default=1.0),
    "default of min": lambda x, it: x * min(it, default=1.0),
    "key": lambda x, it: x * max(it, key=lambda v: -v),
    "branch": lambda x, it: x * max(it) if x < 0 else x,
    "spread": lambda x, it: max(x, *it),
    "sum": lambda x, it: x * sum(it),
    "in": lambda x, it: x * (2.0 in it),
    "not in": lambda x, it: x * (2.0 not in it),
    "countOf": lambda x, it: x * operator.countOf(it, 1.0),
    "indexOf": lambda x, it: x * operator.indexOf(it, 1.0),
    "contains": lambda x, it: x * operator.contains(it, 1.0),
    "next": lambda x, it: x * next(it),
    "__next__": lambda x, it: x * it.__next__(),
    "sorted": lambda x, it: x * sorted(it)[0],
    "any": lambda x, it: x * any(it),
    "fsum": lambda x, it: x * math.fsum(it),
    "reduce": lambda x, it: x * functools.reduce(operator.add, it),
    "zip": lambda x, it: x * len(list(zip(it, it, strict=True))),
    "set": lambda x, it: x * len(set(it)),
}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_nothing_is_taken(kind):
    for name, f in ASKED.items():
        it = KINDS[kind]()
        with pytest.raises(AutodiffError) as raised:
            differentiable(lambda x, f=f, it=it: f(x, it), mode="python")(2.0)
        assert raised.value.loc is not None and raised.value.hint, (name, raised.value)
        assert list(it) == list(KINDS[kind]()), name


def test_where_an_iterator_stands_is_read_at_every_call():
    it = np.array([1.0, 2.0, 3.0]).flat
    f = differentiable(lambda x: x * it.index, mode="python")
    assert f(2.0) == 0.0
    next(it)
    assert f(2.0) == 2.0


def test_the_largest_key_of_a_dict_that_changes():
    weights = {1.0: 2.0, 3.0: 4.0}
    keys = weights.keys()
    with pytest.raises(AutodiffError, match="list of it outside"):
        differentiable(lambda x: x * max(keys), mode="python")(2.0)


class Levels:
    """An object that is run over by what its class says."""

    def __init__(self, *levels):
        self.levels = levels

    def __iter__(self):
        return iter(self.levels)


@pytest.mark.parametrize("outside", [
    {1.0, 3.0}, frozenset({2.0}), collections.deque([1.0, 2.0]), range(4), [1.0, 5.0], (2.0, 1.0), {1.0: 2.0, 4.0: 0.0},
    Levels(1.0, 4.0, 2.0), np.array([1.0, 2.0])], ids=lambda v: type(v).__name__)
def test_what_has_its_items_for_good(outside):
    for f in (lambda x: x * max(outside), lambda x: x * min(outside, default=1.0)):
        assert differentiable(f, mode="python")(2.0) == f(2.0)
