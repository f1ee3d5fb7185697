"""Sizes that must agree, views of arrays by a larger shape, and expressions by element."""

from __future__ import annotations

from functools import partial

from ...language.build import ONE, ZERO, integer, product
from ...language.core import Const, Var
from ...language.errors import ShapeMismatch, TypeConflict
from ...language.ops import promote
from ..checks import CAREFUL, REFUSALS, add_check, guard_builder, guarded, show_shape
from ..journal import bindings_changed, environments, restore
from ..numbers.conversions import cast, dtype_of, truth
from ..numbers.integers import same_dtype
from ..numbers.kinds_on_paths import integers_or_floats, may_be_integers, truths_by_path
from ..state import Lowering
from ..values import Array, Buffer, Delayed, Iterable, Range, Scalar, Sequence, Value, View, as_range, expression
from .loop_nests import nest
from .memory import delayed, force, is_dear, longer_size, store_element

UNBROADCAST = "operands could not be broadcast"      # how NumPy begins to say so


def broadcast_shapes(lo: Lowering, shapes, said=UNBROADCAST, error="ValueError", message="") -> tuple:
    """NumPy's broadcasting; where two sizes are not known to agree, the program checks them when it runs.

    The check is that they are equal. Where it fails, the caller starts again with accesses checked each, and a program
    that lets an axis be 1 long as well (`joined_size`).
    """
    rank = max(map(len, shapes), default=0)
    message = message or f"{said} together with shapes " + " ".join(map(partial(show_shape, lo), shapes))
    result = []
    for axis in range(-rank, 0):
        sizes = [s[axis] for s in shapes if len(s) >= -axis]
        best = ONE
        for size in sizes:
            if size == ONE or size == best:
                continue
            if best == ONE:
                best = size
            elif not same_size(lo, best, size):
                if lo.boundscheck in CAREFUL and not (isinstance(best, Const) and isinstance(size, Const)):
                    best = joined_size(lo, best, size, message, error)
                    continue
                if is_unit(lo, size) != is_unit(lo, best):                # x[:, i:i + 1] beside a longer axis
                    short, best = (size, best) if is_unit(lo, size) else (best, size)
                    require_same(lo, short, ONE, message, error, unequal(lo))
                    continue
                require_same(lo, best, size, message, error, unequal(lo))
                if isinstance(size, Const):
                    best = size
        result.append(best)
    return tuple(result)


def joined_size(lo: Lowering, a, b, message: str, error: str):
    """The size of two axes side by side, either of which may turn out to be 1 long."""
    build = lo.b
    fits = build.compare("eq", a, b)
    for x in (a, b):
        fits = build.let("or", fits, build.compare("eq", x, ONE), dtype="bool")
    add_check(lo, build, fits, error, message)
    if isinstance(a, Const) or isinstance(b, Const):        # a constant here is not 1: the other has its size or 1
        return a if isinstance(a, Const) else b
    return longer_size(lo, a, b)


def is_unit(lo: Lowering, size) -> bool:
    """Whether an axis is 1 long, or empty: a slice from i to i + 1."""
    return size == ONE or (isinstance(size, Var) and lo.b.facts.at_most(size, ONE))


def same_size(lo: Lowering, a, b) -> bool:
    return lo.b.facts.same(a, b)


def unequal(lo: Lowering) -> str:
    """What a check tells that fails where NumPy may broadcast: another program lets axes be 1 long."""
    return "each" if lo.boundscheck is True else "place"


def require_same(lo: Lowering, a, b, message: str, error: str = "ValueError", tells: str = "place") -> None:
    """Check, now or when the program runs, that two sizes agree."""
    if same_size(lo, a, b):
        return
    if isinstance(a, Const) and isinstance(b, Const):
        raise lo.error(REFUSALS[error], message)
    b_atom = b
    b = guard_builder(lo, a, b_atom)
    equal = b.compare("eq", a, b_atom)
    if guarded(lo, equal):
        return
    on_all_ways = add_check(lo, b, equal, error, message, tells)
    lo.learnt.guarded.add((equal, b if on_all_ways else lo.b))
    if b.parent is None and on_all_ways:
        b.facts.equate(a, b_atom)


def size_of(lo: Lowering, shape):
    return product(lo.b, shape)


def scalar_array(lo: Lowering, value: Value) -> Array:
    atom = lo.atom(value)
    made = delayed(lo, (), atom.dtype, lambda lo, index: atom)
    made.boxed = getattr(value, "boxed", made.boxed)
    made.integers_by_path, made.mixed = may_be_integers(lo, value), value.mixed
    return made


def stack_items(lo: Lowering, items: list[Array]) -> Array:
    """The array whose leading index picks one of `items`, all of one shape."""
    if not items:
        return delayed(lo, (ZERO,), "float64", lambda lo, index: Const(0.0, "float64"))
    shape = items[0].shape
    for other in items[1:]:
        if other.rank != len(shape):
            raise lo.error(ShapeMismatch, "setting an array element with a sequence: the rows have different "
                                         "ranks", "give every row the same shape")
        for a, b in zip(shape, other.shape, strict=True):
            require_same(lo, a, b, "all input arrays must have the same shape")
    dtype = promote(*(i.dtype for i in items))
    if truths_by_path(items):
        raise lo.error(TypeConflict, "this would be an array of truths or of numbers, by the way the program went",
                       "make its items one kind: bool(...), int(...)")
    arr = lo.b.alloc("v", dtype, (len(items), *shape))
    for k, item in enumerate(items):
        def body(index, k=k, item=item):
            store_element(lo, arr, (integer(k), *index), cast(lo, item.element(lo, index), dtype))
        nest(lo, shape, body)
    if integers_or_floats(lo, items):
        lo.integers_by_path.add(arr)
    return Buffer(arr)


def may_differ(lo: Lowering, p, q) -> bool:
    """Whether two sizes may differ in the program that checks each access; the other one has checked that they agree."""
    return lo.boundscheck in CAREFUL and not same_size(lo, p, q)


def move(lo: Lowering, own, size):
    """1 if an axis of `own` elements runs along one of `size`, 0 where it is 1 long beside a longer one."""
    if is_unit(lo, own) and not same_size(lo, own, size):
        return ZERO
    if not may_differ(lo, own, size):
        return ONE
    return lo.b.let("cast", lo.b.compare("ne", own, ONE), dtype="int64", hint="moves")


def broadcast_to(lo: Lowering, source: Array, shape) -> Array:
    """A view of `source` with `shape` (sizes already known to fit)."""
    if len(source.shape) == len(shape) and all(same_size(lo, a, b)
                                               for a, b in zip(source.shape, shape, strict=True)):
        return source
    settle(lo, source)
    skip = len(shape) - source.rank
    moves = tuple(move(lo, s, t) for s, t in zip(source.shape, shape[skip:], strict=True))
    def index_map(lo, index):
        return tuple(lo.b.imul(i, moved) for moved, i in zip(moves, index[skip:], strict=True))
    along: list[tuple[int, ...]] = [()] * skip + [() if moved == ZERO else (k,) for k, moved in enumerate(moves)]
    axes = [(a, 1) for a in along] if all(isinstance(moved, Const) for moved in moves) else None
    return View(source, shape, index_map, writable=False, axes=axes)


def broadcast_into(lo: Lowering, source: Array, shape, message: str = "") -> Array:
    """A view of `source` with `shape`, which must not have to grow for it. message: of the error, else NumPy's."""
    joined = broadcast_shapes(lo, (shape, source.shape), message=message)
    message = message or "operands could not be broadcast together with remapped shapes"
    if len(joined) > len(shape):
        raise lo.error(ShapeMismatch, message)
    for a, b in zip(joined, shape, strict=True):
        require_same(lo, a, b, message)
    return broadcast_to(lo, source, shape)


def settle(lo: Lowering, source: Array) -> Array:
    """`source`, in memory if its elements are dear: they are going to be used more than once."""
    if is_dear(source):
        force(lo, expression(source))
    return source


def map_arrays(lo: Lowering, function, values, dtype: str, hint="t") -> Delayed:
    """The delayed array of `function(lo, atoms)` over broadcast operands (arrays or numbers)."""
    arrays = [v if isinstance(v, Array) else scalar_array(lo, v) for v in values]
    shape = broadcast_shapes(lo, [a.shape for a in arrays])
    views = [broadcast_to(lo, a, shape) if a.rank else a for a in arrays]
    def element(lo, index):
        return function(lo, tuple(v.element(lo, index if v.rank else ()) for v in views))
    made = delayed(lo, shape, dtype, element, arrays, hint)
    made.elementwise = True
    return made


def convert(lo: Lowering, value: Value, dtype: str) -> Value:
    """A number or array in another dtype."""
    if isinstance(value, Array) and value.rank:
        if same_dtype(value.dtype, dtype):
            return value
        return map_arrays(lo, lambda lo, atoms: truth(lo, atoms[0]) if dtype == "bool" else
                          cast(lo, atoms[0], dtype), (value,), dtype)
    atom = lo.atom(value)
    return Scalar(truth(lo, atom) if dtype == "bool" else cast(lo, atom, dtype))


def stand_in(lo: Lowering, dtype):
    """A number that stands for any other, to find out what a computation gives."""
    probe = lo.b.var("probe", dtype)
    lo.b.facts.number(probe)
    return probe


def as_array(lo: Lowering, x):
    """An array from anything iterable: generators, ranges and lists included."""
    x = as_range(x)
    if isinstance(x, Range):
        it = lo.iterate(x)
        return delayed(lo, (it.length,), "int64", lambda lo, index: lo.atom(it.item(index[0])))
    if isinstance(x, Iterable):
        if x.static is not None:
            return lo.array(Sequence(x.static))
        probe = stand_in(lo, "int64")
        lo.b.facts.range[probe] = (ZERO, lo.b.isub(x.length, ONE))
        before = environments(lo)
        here, lo.b = lo.b, lo.b.child(loop=True)
        lo.b.tentative = True
        try:
            dtype = dtype_of(lo, x.item(probe))
        finally:
            lo.b = here
        if bindings_changed(lo, before):                # by what makes the items, one after the other
            restore(lo, before)
            return lo.array(lo.call_static(list, [x], {}))
        arr = lo.b.alloc("v", dtype, (x.length,))
        nest(lo, (x.length,), lambda index: store_element(lo, arr, index, lo.atom(x.item(index[0]), dtype)))
        return Buffer(arr)
    return lo.array(x)
