"""Arrays in memory: when an expression gets a buffer, and assignment by NumPy's rules of aliasing."""

from __future__ import annotations

from ...language.build import integer
from ...language.core import Arr, Const, Var, defined
from ..journal import placed_in, surrounding
from ..numbers.kinds_on_paths import integers_or_floats, may_be_integers
from ..state import Lowering
from ..values import Array, Buffer, Delayed, Value, View, expression, leaves
from .loop_nests import branch, nest

IN_A_LIST = "an array in a list, whose items are copies here,"


# -- memory -----------------------------------------------------------------------------------------------
def store_element(lo: Lowering, arr: Arr, index, value, accumulate=False) -> None:
    before_write(lo, arr)
    lo.b.store(arr, index, value, accumulate)


def before_write(lo: Lowering, arr: Arr, stored: Value | None = None) -> None:
    """Give memory to every pending expression that reads `arr`, before it changes; `stored` is read as it is written."""
    for delayed in waiting(lo, arr, stored):
        force(lo, delayed)


def waiting(lo: Lowering, arr: Arr, stored: Value | None = None) -> list:
    """The expressions, bound to names or half used but for `stored`, that read `arr` and have no memory of their own yet."""
    found: list = []
    if arr not in lo.read_late:
        return found
    half_used = [v for v in lo.around.temporaries if v is not stored]
    for value in (*(v for frame in lo.frames for v in frame.env.values()), *half_used):
        for leaf in leaves(value):
            while isinstance(leaf, View):
                leaf = leaf.source
            if isinstance(leaf, Delayed) and leaf.forced is None and arr in leaf.roots() \
                    and leaf.builder is not None and leaf not in found:
                found.append(leaf)
    return found


def delayed(lo: Lowering, shape, dtype, function, sources=(), hint="t") -> Delayed:
    roots = frozenset().union(*(s.roots() for s in sources if isinstance(s, Array)))
    lo.read_late |= roots
    result = Delayed(shape, dtype, function, roots, hint)
    result.loc = lo.b.loc
    result.builder = lo.b
    result.made_of = tuple(s for s in sources if isinstance(s, Array))
    result.dear = any(map(is_dear, sources))
    result.integers_by_path = dtype.startswith("float") and integers_or_floats(lo, result.made_of)
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
        if value.readers:
            lo.read_late.add(arr)
        if value.listed:
            lo.learnt.listed[arr] = result
        for other in value.copies:
            note_copy(lo, other, arr)
        lo.forced_log.append(value)
    return result


def note_copy(lo: Lowering, arr: Arr, root: Arr) -> None:
    """A list in `arr` has a copy of the array in `root`: neither may be written while the other is seen."""
    for one, other in ((arr, root), (root, arr)):
        lo.learnt.twins.setdefault(one, set()).add(other)
    lo.either_way[frozenset((arr, root))] = IN_A_LIST


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
    if atom in lo.size_choices:
        return chosen_again(lo, atom, probe)
    if atom in lo.joined_sizes:
        p, q = (rematerialise(lo, a, probe) for a in lo.joined_sizes[atom])
        return None if p is None or q is None else atom if probe else longer_size(lo, p, q)
    op, args = lo.b.facts.definition.get(atom, ("", ()))
    if not op or op == "dim":
        return atom if op == "dim" else None
    parts = [rematerialise(lo, a, probe) for a in args]
    if any(p is None for p in parts):
        return None
    return atom if probe else lo.b.let(op, *parts, dtype=atom.dtype, hint=atom.hint)


def chosen_again(lo: Lowering, size, probe: bool):
    """A size that a branch inside this block has chosen, chosen by the same condition here; None if impossible."""
    cond, p, q = (rematerialise(lo, a, probe) for a in (lo.size_choices[size], *lo.sizes_by_path[size]))
    if cond is None or p is None or q is None:
        return None
    return size if probe else choose_size(lo, cond, p, q, lo.size_joins[size])


def choose_size(lo: Lowering, cond, p, q, join: tuple):
    """The size of an array that is one of two by a condition; join: the name that the branch leaves, and where."""
    size = branch(lo, cond, lambda: p, lambda: q, "size")
    if isinstance(size, Var) and size not in (p, q):
        lo.b.facts.nonnegative.add(size)
        lo.sizes_by_path[size], lo.size_joins[size], lo.size_choices[size] = (p, q), join, cond
    return size


def longer_size(lo: Lowering, a, b):
    """The size of two axes side by side that are as long, or of which one is 1 long."""
    size = branch(lo, lo.b.compare("eq", a, integer(1)), lambda: b, lambda: a, "size")
    if isinstance(size, Var):
        lo.b.facts.nonnegative.add(size)
        lo.joined_sizes[size] = a, b
    return size


def visible(lo: Lowering, atom) -> bool:
    if atom in lo.sizes:
        return True
    return any(atom in defined(s) for scope in surrounding(lo) for s in scope.stmts)
