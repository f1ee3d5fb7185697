"""Arrays that units take and return (`kept_calls.py`): parameters with sizes of their own, and memory for results.

A unit knows what holds at all its calls: which of its arrays are the same, which of their sizes are equal, and which are
constants or at least 1 or 2. The sizes of its results are integers that follow from those of its parameters, computed where
it is called.
"""

from __future__ import annotations

from ...language.build import FOLD, integer
from ...language.core import FLOATS, Arr, Const, Let, Ref, Var
from ...language.ops import PARTS, Narrow, is_complex
from ..arrays.arrays import as_ref, pairs_ref
from ..arrays.layout import order_of, parameters_behind
from ..arrays.memory import force
from ..numbers.pairs import parts_of
from ..state import Lowering
from ..values import Array, Buffer, Delayed, FancyRead, Scalar, Transposed, Value, View, expression, leaves

DTYPES = (*FLOATS, *PARTS, "int64", "bool")


def is_plain(value: Array) -> bool:
    """Whether an array can be handed to a unit: of one axis or more, no list, no narrow integers."""
    return bool(value.rank) and value.dtype in DTYPES and type(value.dtype) is not Narrow and not (
        value.is_list or value.boxed)


def in_core(value: Value) -> tuple:
    """A number's atoms, two if it is complex, or an array's memory: what a unit takes or returns for a leaf."""
    if isinstance(value, Scalar):
        return parts_of(value.atom) if is_complex(value.dtype) else (value.atom,)
    return (value.arr,) if isinstance(value, Buffer) else ()


def parts_given(value: Scalar) -> list:
    """The atoms that a unit takes for a number: constant parts of complex numbers are constants of the unit."""
    return [a for a in in_core(value) if not (is_complex(value.dtype) and isinstance(a, Const))]


def memory_of(value: Array):
    """What two arrays have in common if they are one."""
    if isinstance(value, Delayed) and value.forced is not None:
        value = value.forced
    return value.arr if isinstance(value, Buffer) else value


def known_of_arrays(lo: Lowering, arrays: list[Array]) -> tuple:
    """What can be known of arrays in the places of parameters, apart from their dtypes and ranks: for each, which of all it
    is; for each of its sizes the constant, or which of all sizes it is and what it is at least (0, 1 or 2)."""
    facts = lo.b.facts
    same: list = []
    sizes: list = []

    def known(size):
        if isinstance(size, Const):
            return size.value, size.value
        k = next((k for k, s in enumerate(sizes) if facts.same(s, size)), len(sizes))
        if k == len(sizes):
            sizes.append(size)
        return ("size", k), next((n for n in (2, 1) if facts.at_least(size, n)), 0)
    found = []
    for a in arrays:
        memory = memory_of(a)
        if memory not in same:
            same.append(memory)
        found.append((same.index(memory), *map(known, a.shape)))
    return tuple(found)


class Parameters:
    """A unit's own arrays, and their sizes, in the places of those that it is called with."""

    def __init__(self, lo: Lowering, known: tuple):
        self.lo, self.known = lo, iter(known)
        self.arrays: dict[int, Buffer] = {}
        self.sizes: dict = {}

    def array(self, value: Array, hint: str) -> Buffer:
        which, *sizes = next(self.known)
        if which not in self.arrays:
            names = [f"{hint}_{k}" if value.rank > 1 else f"{hint}_size" for k in range(value.rank)]
            shape = tuple(map(self.size, sizes, names))
            if pairs := is_complex(value.dtype):
                shape = (*shape, integer(2))
            self.arrays[which] = Buffer(Arr(hint, PARTS.get(value.dtype, value.dtype), shape, pairs=pairs))
            self.arrays[which].order = "?"              # another call may give it in another order
        return self.arrays[which]

    def size(self, known, hint: str):
        name, least = known
        if not isinstance(name, tuple):
            return integer(name)
        if name not in self.sizes:
            facts, var = self.lo.b.facts, Var(hint, "int64")
            facts.number(var)
            facts.nonnegative.add(var)
            facts.home[var] = None
            if least:
                facts.range[var] = (integer(least), None)
            self.lo.sizes.add(var)
            self.sizes[name] = var
        return self.sizes[name]


def sizes_read(arrays) -> dict:
    """The statements that read the sizes of parameters, by size."""
    found: dict = {}
    for a in arrays:
        for axis, s in enumerate(a.shape):
            if isinstance(s, Var) and s not in found:
                found[s] = Let(s, "dim", (a, axis))
    return found


def in_memory(lo: Lowering, result: Value, own: set[Arr], known: set) -> list | None:
    """The leaves of a unit's result, arrays in memory that nothing else sees; None if that cannot be.

    own: buffers that the unit has allocated; known: its parameters, and the sizes of these and of arrays outside.
    """
    found: list = []
    for leaf in leaves(result):
        if isinstance(leaf, Array):
            leaf = leaf.forced or leaf if isinstance(leaf, Delayed) else leaf
            buffer = memory_of(leaf)
            if not isinstance(buffer, Arr):
                base = expression(leaf)
                if not is_plain(leaf) or isinstance(leaf, View) and not isinstance(leaf, FancyRead) and not (
                        isinstance(base, (Buffer, Delayed)) and memory_of(base) in own
                        and sum(bool(x.roots() & base.roots()) for x in leaves(result) if isinstance(x, Array)) == 1):
                    return None
                in_order = order_of(lo, leaf) == "C" and not parameters_behind(lo, leaf)
                leaf = force(lo, leaf)
                leaf.order = "C" if in_order else "?"
                own.add(leaf.arr)
                buffer = leaf.arr
            if buffer in own and not all(follows(lo, s, known) for s in buffer.shape):
                return None
        found.append(leaf)
    return found


def follows(lo: Lowering, size, known: set) -> bool:
    """Whether an integer follows from what is known."""
    if isinstance(size, Const) or size in known:
        return True
    op, args = lo.b.facts.definition.get(size, ("", ()))
    return op in FOLD and all(follows(lo, a, known) for a in args)


def at_call(lo: Lowering, size, values: dict):
    """The size of a result where the unit is called."""
    op, args = lo.b.facts.definition.get(size, ("", ()))
    if size in values or op not in FOLD:                # or of an array outside
        return values.get(size, size)
    return lo.b.let(op, *(at_call(lo, a, values) for a in args), dtype=size.dtype, hint=size.hint)


def handed(lo: Lowering, value: Array) -> Ref:
    """An array as an argument of a unit: memory as it lies, or a copy of a view."""
    if not isinstance(value, Transposed):
        found = (pairs_ref if is_complex(value.dtype) else as_ref)(lo, value)
        if not found.transposed:
            return found
    return Ref(force(lo, value).arr)


__all__ = ["Parameters", "at_call", "handed", "in_core", "in_memory", "is_plain", "known_of_arrays", "memory_of",
           "parts_given", "sizes_read"]
