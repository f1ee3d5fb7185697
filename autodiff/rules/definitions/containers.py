"""Python's iterators and the containers of `collections`, as classes that are lowered like a user's own."""

import builtins
import collections
from dataclasses import dataclass
from typing import Any, ClassVar

from ...transforms.lower.numpy_functions.reductions import unsupported
from ..decorators import defines
from ..registry import REGISTRY

SPENT, A_LIST = "an iterator that is read again after something has run over it", "make a list of it: list(...)"


@dataclass
class Iterator:
    """What `iter` gives of a list, tuple or array: its next item is `items[position]`; -1 once all were asked for."""

    stands_for: ClassVar[type] = type(iter([]))
    items: Any
    position: int

    def __iter__(self):
        return self

    def rest(self):
        """The items that were not asked for, for who runs over all of them."""
        start = self.position
        if start < 0:
            return unsupported(SPENT, A_LIST)
        self.position = -1
        return self.items if start == 0 else (self.items[k] for k in range(start, len(self.items)))


@defines(builtins.iter)
def iter_(object, *sentinel):
    if sentinel:
        return unsupported("iter() of a function that is called again and again", "write a loop: while True")
    if isinstance(object, (list, tuple)):
        return Iterator(object, 0)
    if hasattr(object, "ndim"):
        if object.ndim == 0:
            raise TypeError("iteration over a number, or a 0-d array")
        return Iterator(object, 0)
    return Iterator(list(object), 0)


@defines(builtins.next)
def next_(iterator, *default):
    if not isinstance(iterator, Iterator):
        return unsupported("next() of this", "make an iterator of a list, or loop over it")
    at = iterator.position
    if at < 0:
        return unsupported(SPENT, A_LIST)
    if default:
        if at >= len(iterator.items):
            return default[0]
    elif at >= len(iterator.items):
        raise StopIteration
    iterator.position = at + 1
    return iterator.items[at]


@dataclass(eq=False)
class Deque:
    """`collections.deque`."""

    stands_for: ClassVar[type] = collections.deque
    items: list
    maxlen: Any

    def append(self, x):
        self.items.append(x)
        if self.maxlen is not None and len(self.items) > self.maxlen:
            self.items.pop(0)

    def appendleft(self, x):
        self.items.insert(0, x)
        if self.maxlen is not None and len(self.items) > self.maxlen:
            self.items.pop()

    def extend(self, iterable):
        for x in list(iterable):
            self.append(x)

    def extendleft(self, iterable):
        for x in list(iterable):
            self.appendleft(x)

    def pop(self):
        return self.items.pop()

    def popleft(self):
        return self.items.pop(0)

    def rotate(self, n=1):
        for _ in range(abs(n) % len(self.items) if self.items else 0):
            if n > 0:
                self.items.insert(0, self.items.pop())
            else:
                self.items.append(self.items.pop(0))

    def reverse(self):
        self.items.reverse()

    def clear(self):
        self.items.clear()

    def copy(self):
        return Deque(list(self.items), self.maxlen)

    def count(self, x):
        return self.items.count(x)

    def index(self, x):
        return self.items.index(x)

    def insert(self, i, x):
        if self.maxlen is not None and len(self.items) >= self.maxlen:
            raise IndexError("deque already at its maximum size")
        self.items.insert(i, x)

    def remove(self, x):
        self.items.remove(x)

    def __len__(self):
        return len(self.items)

    def __iter__(self):
        return iter(self.items)

    def __getitem__(self, i):
        if isinstance(i, slice):
            raise TypeError("sequence index must be integer, not 'slice'")
        return self.items[i]

    def __setitem__(self, i, x):
        self.items[i] = x

    def __contains__(self, x):
        return x in self.items

    def __eq__(self, other):
        return self.items == other.items if isinstance(other, Deque) else NotImplemented

    def __iadd__(self, other):
        self.extend(other)
        return self

    def __add__(self, other):
        made = self.copy()
        made.extend(other)
        return made


@defines(collections.deque)
def deque(iterable=(), maxlen=None):
    made = Deque([], maxlen)
    made.extend(iterable)
    return made


@dataclass(eq=False)
class DefaultDict:
    """`collections.defaultdict`."""

    stands_for: ClassVar[type] = collections.defaultdict
    keeps: ClassVar[bool] = True
    data: dict
    factory: Any

    def __getitem__(self, key):
        if key in self.data:
            return self.data[key]
        if self.factory is None:
            raise KeyError(key)
        made = self.factory()
        if self.keeps:
            self.data[key] = made
        return made

    def __setitem__(self, key, value):
        self.data[key] = value

    def __contains__(self, key):
        return key in self.data

    def __len__(self):
        return len(self.data)

    def __iter__(self):
        return iter(list(self.data))

    def keys(self):
        return self.data.keys()

    def values(self):
        return self.data.values()

    def items(self):
        return self.data.items()

    def get(self, key, default=None):
        return self.data.get(key, default)

    def pop(self, key, *default):
        return self.data.pop(key, *default)

    def setdefault(self, key, default=None):
        return self.data.setdefault(key, default)

    def clear(self):
        self.data.clear()

    def copy(self):
        return DefaultDict(dict(self.data), self.factory)

    def update(self, other=(), /, **more):
        self.data.update(other, **more)

    def __eq__(self, other):
        if isinstance(other, DefaultDict):
            return self.data == other.data
        return self.data == other if isinstance(other, dict) else NotImplemented


@dataclass(eq=False)
class Counter(DefaultDict):
    """`collections.Counter`, which does not keep what it makes."""

    stands_for: ClassVar[type] = collections.Counter
    keeps: ClassVar[bool] = False

    def copy(self):
        return Counter(dict(self.data), int)

    def update(self, other=(), /, **more):
        self.count(other)
        self.count(more)

    def count(self, found):
        """As a Counter does: add numbers by their keys, or one for each item."""
        if isinstance(found, (dict, DefaultDict)):
            for key, number in found.items():
                self.data[key] = self.data.get(key, 0) + number
        else:
            for key in found:
                self.data[key] = self.data.get(key, 0) + 1

    def total(self):
        return sum(self.data.values())

    def __eq__(self, other):
        if isinstance(other, Counter):          # what is not counted is there no time
            return all(self[key] == other[key] for key in [*self.data, *other.data])
        return DefaultDict.__eq__(self, other)


@defines(collections.defaultdict)
def defaultdict(default_factory=None, /, *args, **kwargs):
    return DefaultDict(dict(*args, **kwargs), default_factory)


@defines(collections.Counter)
def counter(*iterable, **counts):
    made = Counter({}, int)
    if iterable:
        made.count(iterable[0])
    made.count(counts)
    return made


REGISTRY.complex_definitions.update((builtins.iter, builtins.next, collections.deque, collections.defaultdict))
