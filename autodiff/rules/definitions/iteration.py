"""`itertools` in Python: generators, which loops run over in turns. Some have forms of their own where lengths are known."""

import itertools

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines
from ..registry import REGISTRY


@defines(itertools.count)
def count(start=0, step=1):
    n = start
    while True:
        yield n
        n += step


@defines(itertools.cycle)
def cycle(iterable):
    items = list(iterable)
    k = 0
    while k < len(items):
        yield items[k]
        k = k + 1 if k + 1 < len(items) else 0


@defines(itertools.repeat)
def repeat(object, times=None):
    return endlessly(object) if times is None else several_times(object, times)


def endlessly(item):
    while True:
        yield item


def several_times(item, times):
    for _ in range(times):
        yield item


@defines(itertools.accumulate)
def accumulate(iterable, func, initial):
    items = iterable if hasattr(iterable, "ndim") else list(iterable)
    start = 1 if initial is None else 0
    if start <= len(items):
        total = items[0] if initial is None else initial
        yield total
        for k in range(start, len(items)):
            total = total + items[k] if func is None else func(total, items[k])
            yield total


@defines(itertools.islice)
def islice(iterable, *bounds):
    start = 0 if len(bounds) == 1 or bounds[0] is None else bounds[0]
    stop = bounds[0] if len(bounds) == 1 else bounds[1]
    step = 1 if len(bounds) < 3 or bounds[2] is None else bounds[2]
    wanted = start
    if stop is None:
        for k, item in enumerate(iterable):
            if k == wanted:
                yield item
                wanted += step
    elif stop > 0:
        k = 0
        for item in iterable:
            if k == wanted and k < stop:
                yield item
                wanted += step
            k += 1
            if k >= stop:
                break


@defines(itertools.takewhile)
def takewhile(predicate, iterable):
    for item in iterable:
        if not predicate(item):
            break
        yield item


@defines(itertools.dropwhile)
def dropwhile(predicate, iterable):
    begun = False
    for item in iterable:
        if not begun and not predicate(item):
            begun = True
        if begun:
            yield item


@defines(itertools.filterfalse)
def filterfalse(predicate, iterable):
    for item in iterable:
        if not (item if predicate is None else predicate(item)):
            yield item


@defines(itertools.pairwise)
def pairwise(iterable):
    items = iterable if hasattr(iterable, "ndim") else list(iterable)
    for k in range(len(items) - 1):
        yield items[k], items[k + 1]


@defines(itertools.starmap)
def starmap(function, iterable):
    for args in iterable:
        yield function(*args)


@defines(itertools.compress)
def compress(data, selectors):
    for item, wanted in zip(data, selectors):  # noqa: B905 (the shorter one ends it)
        if wanted:
            yield item


@defines(itertools.zip_longest)
def zip_longest(*iterables, fillvalue=None):
    lists = [list(it) for it in iterables]
    for k in range(max([len(items) for items in lists])):
        yield tuple([items[k] if k < len(items) else fillvalue for items in lists])


@defines(itertools.chain.from_iterable)
def from_iterable(iterables):
    for items in iterables:
        yield from items


def places(n, r, first, step):
    """The places of all choices of 1, 2 or 3 items; each is `step` or more behind the one before, the first at `first`."""
    if r == 1:
        for i in range(n):
            yield (i,)
    elif r == 2:
        for i in range(n):
            for j in range(i + step if first is None else first, n):
                yield i, j
    elif r == 3:
        for i in range(n):
            for j in range(i + step if first is None else first, n):
                for k in range(j + step if first is None else first, n):
                    yield i, j, k
    else:
        unsupported("choices of more than three items of a length known only when the program runs", "write the loops")


def chosen(iterable, r, step):
    items = iterable if hasattr(iterable, "ndim") else list(iterable)
    for at in places(len(items), r, None, step):
        yield tuple([items[k] for k in at])


@defines(itertools.combinations)
def combinations(iterable, r):
    return chosen(iterable, r, 1)


@defines(itertools.combinations_with_replacement)
def combinations_with_replacement(iterable, r):
    return chosen(iterable, r, 0)


@defines(itertools.permutations)
def permutations(iterable, r=None):
    items = iterable if hasattr(iterable, "ndim") else list(iterable)
    if r is None:
        return unsupported("permutations of all items, of a length known only when the program runs", "give r=")
    return distinct(items, r)


def distinct(items, r):
    for at in places(len(items), r, 0, 1):
        if r == 1 or r == 2 and at[0] != at[1] or r == 3 and at[0] != at[1] and at[0] != at[2] and at[1] != at[2]:
            yield tuple([items[k] for k in at])


REGISTRY.complex_definitions.update(getattr(itertools, name) for name in (
    "cycle", "repeat", "islice", "takewhile", "dropwhile", "filterfalse", "pairwise", "starmap", "compress", "zip_longest",
    "combinations", "combinations_with_replacement", "permutations"))
