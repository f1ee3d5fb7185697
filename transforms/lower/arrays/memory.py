"""Arrays in memory: when an expression gets a buffer, and assignment by NumPy's rules of aliasing."""

from __future__ import annotations

from contextlib import contextmanager

from ...language.core import Arr, Const, defined
from ..journal import placed_in, surrounding
from ..numbers.kinds_on_paths import may_be_integers
from ..state import Lowering
from ..values import Array, Buffer, Delayed, Value, View, expression, leaves
from .loop_nests import nest


# -- memory -----------------------------------------------------------------------------------------------
def store_element(lo: Lowering, arr: Arr, index, value, accumulate=False) -> None:
    before_write(lo, arr)
    lo.b.store(arr, index, value, accumulate)


def before_write(lo: Lowering, arr: Arr) -> None:
    """Give memory to every pending expression that reads `arr`, before it changes."""
    for delayed in waiting(lo, arr):
        force(lo, delayed)


def waiting(lo: Lowering, arr: Arr) -> list:
    """The expressions, bound to names or half used, that read `arr` and have no memory of their own yet."""
    found: list = []
    for value in (*(v for frame in lo.frames for v in frame.env.values()), *lo.around.temporaries):
        for leaf in leaves(value):
            while isinstance(leaf, View):
                leaf = leaf.source
            if isinstance(leaf, Delayed) and leaf.forced is None and arr in leaf.roots() \
                    and leaf.builder is not None and leaf not in found:
                found.append(leaf)
    return found


@contextmanager
def holding(lo: Lowering, *values):
    """While the rest of an expression is evaluated: should that write what `values` read, they get memory first."""
    lo.around.temporaries.extend(values)
    try:
        yield
    finally:
        del lo.around.temporaries[len(lo.around.temporaries) - len(values):]


def delayed(lo: Lowering, shape, dtype, function, sources=(), hint="t") -> Delayed:
    roots = frozenset().union(*(s.roots() for s in sources if isinstance(s, Array)))
    result = Delayed(shape, dtype, function, roots, hint)
    result.loc = lo.b.loc
    result.builder = lo.b
    result.made_of = tuple(s for s in sources if isinstance(s, Array))
    result.dear = any(map(is_dear, sources))
    for source in result.made_of:
        if isinstance(inner := expression(source), Delayed) and inner.forced is None:
            inner.readers.append(result)
    return result


def force(lo: Lowering, value: Array, hint: str = "", copy: bool = False) -> Buffer:
    """`value` in memory of its own (a buffer is returned as it is unless `copy`)."""
    if isinstance(value, Delayed) and value.forced is not None:
        value = value.forced
    if isinstance(value, Buffer) and not copy:
        return value
    block = lo.b.last()
    if isinstance(value, Delayed) and not copy and value.builder is not None and value.builder in surrounding(lo):
        block = value.builder             # where it was made: visible wherever the expression is
    with placed_in(lo, block):
        arr = lo.b.alloc(hint or getattr(value, "hint", "") or "v", value.dtype, value.shape)
        nest(lo, value.shape, lambda index: store_element(lo, arr, index, value.element(lo, index)))
    result = Buffer(arr)
    result.made_of, result.elementwise = (value,), True
    if may_be_integers(lo, value):
        lo.integers_by_path.add(arr)
    if isinstance(value, Delayed) and not copy:
        value.forced = result
        value.has_moved(arr)
        if value.listed:
            lo.learnt.listed[arr] = result
        lo.forced_log.append(value)
    return result


def give_memory(lo: Lowering, value) -> None:
    """An expression that is about to be written to, through views or not, gets memory first."""
    while isinstance(value, View):
        value = value.source
    if isinstance(value, Delayed) and value.forced is None:
        force(lo, value)


def is_dear(value: Value) -> bool:
    """Whether elements of an array are computed at each use, by more than a few cheap operations."""
    value = expression(value)
    return isinstance(value, Delayed) and value.forced is None and value.dear


def rematerialise(lo: Lowering, atom, probe: bool = False):
    """An integer atom computed again in the current block from what is visible here; None if impossible."""
    if isinstance(atom, Const):
        return atom
    if visible(lo, atom):
        return atom
    op, args = lo.b.facts.definition.get(atom, ("", ()))
    if not op or op == "dim":
        return atom if op == "dim" else None
    parts = [rematerialise(lo, a, probe) for a in args]
    if any(p is None for p in parts):
        return None
    return atom if probe else lo.b.let(op, *parts, dtype=atom.dtype, hint=atom.hint)


def visible(lo: Lowering, atom) -> bool:
    if atom in lo.sizes:
        return True
    return any(atom in defined(s) for scope in surrounding(lo) for s in scope.stmts)
