"""What a Python expression denotes while a program is lowered.

    Static      a value known now: numbers, strings, None, functions, modules
    Scalar      a number known at run time: a core atom
    Buffer      an array that owns memory
    View        an index map over another array: slices, transposes, broadcasts cost nothing
    Delayed     an array expression: a function from indices to an element, run where it is needed
    Either      one of several values that do not fit together, by the way the program went
    Maybe       what a name holds that only some paths bind
    Sequence, Mapping, Record    tuples and lists, dicts, namedtuples and dataclasses of values
    GrowList    a list of scalars or rows that grows in a loop
    Series      a long list that the program was given, with an array for each part of its items
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from ..language.build import ZERO
from ..language.core import Arr, Atom, Const, Var
from ..language.ops import COMPLEX, NARROW, PARTS
from .forms import Applied, Bound, Closure, Range, Slice, Static, Value, Vectorized, as_range, inside
from .numbers.pairs import Complex, PairBuilder, parts_of

V = TypeVar("V")


@dataclass(eq=False)
class Scalar(Value):
    """`weak` marks numbers that came from Python's own int and float, which do not widen float32 arrays. `mixed`: it is of
    another kind by path, Python's own or NumPy's; the kinds (NumPy's dtype, weak), or True for a truth of both."""

    atom: Atom | Complex
    weak: bool = False
    mixed: bool | frozenset = False
    boxed: frozenset = frozenset()      # an array of rank 0 for NumPy: where it was made

    @property
    def dtype(self) -> str:
        return self.atom.dtype


def has_kinds(value: Value) -> bool:
    """Whether a number is of another kind by path, such that arithmetic may differ."""
    return differ(value.mixed)


def differ(kinds) -> bool:
    """Whether arithmetic may differ between these kinds of numbers: some wrap, or are truths."""
    return isinstance(kinds, frozenset) and any(name in NARROW or name == "bool" for name, _ in kinds)


def weak_of(kinds: frozenset) -> bool:
    """Whether a number of these kinds counts as Python's own: where some wrap, it is held as one that does not."""
    return (any if any(name in NARROW for name, _ in kinds) else all)(weak for _, weak in kinds)


class Array(Value):
    """Common face of arrays: `shape` (atoms), `dtype`, and an element at given indices."""

    shape: tuple[Atom, ...]
    dtype: str
    array_axes = 0                  # of a list in memory: how many of its axes, the last ones, are those of arrays in it
    kinds: tuple[type, ...] = ()    # of a list and of the lists in it: `list` or `tuple`; not given: lists
    order: str | None = None        # of its axes in NumPy: "C", "F", "?" if not known; None: that of what it is made of
    made_of: tuple = ()             # the arrays that this one was computed from
    ends: tuple = ()                # what it is in NumPy, by the way the program went
    elementwise = False             # computed element by element: it lies as they do
    boxed: frozenset = frozenset()  # of rank 0: where arrays were made that it is, or is a view of
    view_of: Array | None = None    # for an expression: the view that NumPy has in its place
    repeats = False                 # whether two of its elements may be one in memory

    @property
    def rank(self) -> int:
        return len(self.shape)

    def element(self, lo, index: tuple[Atom, ...]) -> Atom:
        raise NotImplementedError

    def roots(self) -> frozenset[Arr]:
        """The buffers whose contents the elements depend on."""
        raise NotImplementedError

    def written(self) -> frozenset[Arr]:
        """Those of them that a write to an element changes."""
        return self.roots()

    def place(self, lo, index: tuple[Atom, ...]):
        """(buffer, indices) where an element is stored, or None if the array owns no memory."""
        return None

    @property
    def has_memory(self) -> bool:
        """Whether elements can be written."""
        return False


class Buffer(Array):
    """Memory. `real`: read an array of pairs as the core language does, not as one of complex numbers."""

    def __init__(self, arr: Arr, real: bool = False):
        self.arr, self.shape, self.dtype, self.real = arr, arr.shape, arr.dtype, real
        if arr.pairs and not real:
            self.shape, self.dtype = arr.shape[:-1], COMPLEX[arr.dtype]
        self.parameter = False

    def element(self, lo, index):
        found = lo.b.load(self.arr, index)
        if self.arr in lo.index_bound and isinstance(found, Var):
            lo.b.facts.range[found] = ZERO, lo.index_bound[self.arr][1]
        return found

    def roots(self):
        return frozenset((self.arr,))

    def place(self, lo, index):
        return self.arr, index

    @property
    def has_memory(self):
        return True


ONLY_HERE = "only here"


class View(Array):
    """`index_map(lo, index)` gives the source's indices for ours.

    axes: for each axis (the source's axes along which it runs, step); laid: its strides, if they do not follow from these;
    read_only: a view of memory that NumPy does not let be written; ONLY_HERE: one that it does, and that is not followed.
    """

    of_rows = False                 # `list(x)`: a list of views of the rows of an array

    def __init__(self, source: Array, shape, index_map: Callable, prefix=None, writable: bool = True, axes=None, laid=None):
        self.source, self.shape, self.index_map = source, tuple(shape), index_map
        self.dtype, self.axes, self.laid = source.dtype, axes, laid
        self.boxed = source.boxed
        self.item_of: Sequence | None = None        # a list of lists that it is read from, at a place of the run
        self.prefix = prefix          # leading indices, where the view is exactly source[prefix] of a buffer
        self.read_only = source.read_only
        self.writable = writable and not self.read_only

    def element(self, lo, index):
        return self.source.element(lo, self.index_map(lo, index))

    def roots(self):
        return self.source.roots()

    def place(self, lo, index):
        return self.source.place(lo, self.index_map(lo, index)) if self.writable else None

    @property
    def has_memory(self):
        return self.writable and self.source.has_memory


@overload
def expression(value: Array) -> Array: ...
@overload
def expression(value: Value) -> Value: ...
def expression(value):
    """What a view is a view of."""
    while isinstance(value, View):
        value = value.source
    return value


class Transposed(View):
    """The reversal of all axes: library calls read it without a copy."""

    def __init__(self, source: Array):
        super().__init__(source, source.shape[::-1], lambda lo, index: index[::-1])


class Sized(View):
    """An array of a length that is known only where it was chosen: the first `count` rows of growable memory."""

    def __init__(self, arr: Arr, count: Atom, shape):
        super().__init__(Buffer(arr), (count, *shape), lambda lo, index: index)
        self.arr, self.count = arr, count


class Part(View):
    """The real (0) or imaginary (1) parts of a complex array; writing them writes the array."""

    def __init__(self, source: Array, which: int):
        super().__init__(source, source.shape, lambda lo, index: index)
        self.dtype, self.which = PARTS[source.dtype], which

    def element(self, lo, index):
        place = self.source.place(lo, index) if self.source.has_memory else None
        if place is not None:
            return lo.b.load(place[0], (*place[1], self.which))
        return parts_of(self.source.element(lo, index))[self.which]

    def place(self, lo, index):
        place = self.source.place(lo, index)
        return place and (place[0], (*place[1], self.which))


class FancyRead(View):
    """A gathered selection: reading gives a copy, writing goes through the selection."""

    def __init__(self, view: View):
        super().__init__(view.source, view.shape, view.index_map, writable=False)
        self.view = view

    def roots(self):
        return self.view.roots()


class Delayed(Array):
    """An elementwise expression, evaluated where its elements are needed; `force` gives it memory."""

    integers_by_path = False        # floats here, which NumPy has as integers on some path

    def __init__(self, shape, dtype: str, function: Callable, roots=frozenset(), hint: str = "t"):
        self.shape, self.dtype, self.function = tuple(shape), dtype, function
        self.reads = frozenset(roots)
        self.forced: Buffer | None = None
        self.hint = hint
        self.builder: PairBuilder | None = None
        self.loc: Any = None            # where the expression stands
        self.dear = False               # whether an element takes more than a few cheap operations
        self.readers: list[Delayed] = []        # expressions made of this one while it had no memory
        self.listed = False             # whether a growing list has copied it
        self.copies: set[Arr] = set()   # the lists of other kinds that have
        self.conjugate_of: Array | None = None      # if it is the conjugate of a complex array

    def has_moved(self, arr: Arr) -> None:
        """This expression has memory from now on, `arr`: what was made of it reads that."""
        found = list(self.readers)
        while found:
            reader = found.pop()
            if reader.forced is None and arr not in reader.reads:
                reader.reads |= {arr}
                found += reader.readers

    def element(self, lo, index):
        if self.forced is not None:
            return self.forced.element(lo, index)
        key = ("element", id(self), index)
        scope: PairBuilder | None = lo.b
        while scope is not None:
            if key in scope.known:
                return scope.known[key]
            scope = scope.parent
        b, loc = lo.b, lo.b.loc
        if self.loc is not None:
            b.loc = loc.computing(self.loc)
        atom = self.function(lo, index)
        b.loc = loc
        lo.b.known[key] = atom
        lo.keep_alive.append(self)
        return atom

    def roots(self):
        return self.forced.roots() if self.forced is not None else self.reads

    def place(self, lo, index):
        return self.forced.place(lo, index) if self.forced is not None else None

    @property
    def has_memory(self):
        return self.forced is not None


@dataclass(eq=False)
class Generator(Value):
    """A random generator, known to the core program as a buffer that every draw changes."""

    arr: Arr


@dataclass(eq=False)
class GrowList(Value):
    """A list that grows at run time: the first `count` rows of a growable buffer."""

    arr: Arr
    count: Atom
    weak: bool = True


@dataclass(eq=False)
class Table(Value):
    """A list, growing at run time, of tuples or records of numbers: one of them, with a growing list in each place."""

    row: Value

    @property
    def columns(self) -> list[GrowList]:
        return [known_as(GrowList, leaf) for leaf in leaves(self.row)]

    @property
    def count(self) -> Atom:
        return self.columns[0].count


@dataclass(eq=False)
class Packed(Value):
    """A long list or tuple among the arguments: an item, with the whole array of each of its parts in that part's place.

    mark: the same in all trees of one argument; the length, of a short one inside another. lead: how many axes the arrays
    have before those of the lists, in Jacobians.
    """

    item: Value
    kind: type
    mark: Any = None
    lead: int = 0


@dataclass(eq=False)
class Column(Value):
    """A part of the items of a Series, by their numbers. weak: of numbers, whether they are Python's own; None of arrays."""

    array: Array
    weak: bool | None


@dataclass(eq=False)
class Series(Value):
    """A long list or tuple that is only read: how many items, and an item with a Column for each number or array."""

    told = "a long list"

    count: Atom
    item: Value
    kind: type


@dataclass(eq=False)
class Sequence(Value):
    """A tuple or list whose length is known now."""

    items: tuple
    kind: type = tuple


@dataclass(eq=False)
class Mapping(Value):
    """A dict whose keys are known now."""

    items: dict
    kind: type = dict

    def with_items(self, items: dict) -> Mapping:
        return Mapping(items, self.kind)


@dataclass(eq=False)
class Record(Value):
    """A namedtuple or dataclass instance: its class and fields."""

    cls: type
    fields: dict


@dataclass(eq=False)
class Parent(Value):
    """`super()` of a record in a method of the class `after`."""

    told = "super()"

    owner: Record
    after: type


@dataclass(eq=False)
class Either(Value):
    """`options[tag]`: values that do not fit together, by the way the program went. `possible`: which it can be here."""

    tag: Scalar
    options: tuple
    possible: tuple


@dataclass(eq=False)
class Maybe(Value):
    """What a name holds that only some paths bind: `bound` says whether this one did."""

    value: Value
    bound: Scalar


UNMARKED = ("no condition of a loop is being lowered",)         # then `checkpoint(condition)` has no loop to mark


@dataclass(eq=False)
class Iterable(Value):
    """Something to loop over: a length and an item at a position. `static` items are unrolled. `arrays`: what items read."""

    told = "an iterator"

    length: Atom
    item: Callable
    static: tuple | None = None
    arrays: tuple = ()


@dataclass(eq=False)
class Generated(Value):
    """What a call of a generator function gives. run(take, leaves, manages): lowers its statements, `take` being called with
    each item and saying, where `leaves`, whether no more are asked for; manages: whether it is a context of a `with`."""

    told = "a generator"

    run: Callable
    node: Any
    once: Any = None
    at: Any = None                  # of one that does not end: the item at a position


ON_ALL_PATHS = "give it one kind and one shape on all paths, or use it inside the branches"


@dataclass(eq=False)
class Undefined(Value):
    """A name without a value, or (`lost`) one whose values on two paths do not fit together. later: at the head of a loop,
    a name that an iteration before may have bound."""

    why: str = ""
    loc: Any = None
    lost: bool = False
    later: bool = False


UNSET = Undefined()


def leaves(value: Value) -> list[Value]:
    """Scalars, arrays and statics inside a value, left to right; a function or slice stands before what it holds."""
    match value:
        case Sequence(items=items):
            return [leaf for item in items for leaf in leaves(item)]
        case Mapping(items=items) | Record(fields=items):
            return [leaf for item in items.values() for leaf in leaves(item)]
        case Table(row=row) | Packed(item=row):
            return leaves(row)
        case Either(tag=tag, options=options):
            return [tag, *(leaf for option in options for leaf in leaves(option))]
        case Maybe(value=inner, bound=bound):
            return [*leaves(inner), bound]
    return [value, *(leaf for part in inside(value) for leaf in leaves(part))]


def known_as(kind: type[V], value: object) -> V:
    """A value that is of this kind, as the caller knows."""
    assert isinstance(value, kind), f"{type(value).__name__} for {kind.__name__}"
    return value


def passes(value: Value) -> bool:
    """Whether a value is an iterator or a view of a dict, whatever form its items have here."""
    return hasattr(value, "once") or hasattr(value, "viewed")


def is_iterator(value: Value) -> bool:
    """The same, or what `iter(...)` gives."""
    return passes(value) or isinstance(value, Record) and getattr(value.cls, "stands_for", None) is type(iter([]))


def as_tuple(value: Value) -> Value:
    """A namedtuple as the tuple it is; any other value as it is."""
    if isinstance(value, Record) and issubclass(value.cls, tuple):
        return Sequence(tuple(value.fields.values()), tuple)
    return value


def is_number(value: Value) -> bool:
    return isinstance(value, Scalar) or (
        isinstance(value, Static) and isinstance(value.value, (int, float, bool, complex)))


__all__ = ["Applied", "Array", "Bound", "Buffer", "Closure", "Column", "Const", "Delayed", "Either", "FancyRead",
           "Generator", "GrowList", "Iterable", "Mapping", "Maybe", "ON_ALL_PATHS", "Packed", "Parent", "Part", "Range",
           "Record", "Scalar", "Sequence", "Series", "Sized", "Slice", "Static", "Table", "Transposed", "UNSET", "Undefined",
           "Value", "Var", "Vectorized", "View", "as_range", "as_tuple", "expression", "inside", "is_number", "leaves",
           "passes"]
