"""Assignment by NumPy's rules of aliasing, and what must not be written."""

from __future__ import annotations

from ...language.build import ONE, ZERO, Builder
from ...language.core import NOWHERE, Arr, Const, Var, walk
from ...language.errors import ReadOnlyArray, ShapeMismatch, TypeConflict, UnsupportedSyntax
from ...language.ops import Narrow
from ...language.queries import allocations, is_range, loads
from ..checks import must, show_shape
from ..functions.frames import site_of
from ..functions.names import name_of_memory, open_loops, seen_by_another
from ..journal import dropped
from ..loops.plan import Widen
from ..numbers.conversions import cast, truth
from ..numbers.integer_operations import check_fitting
from ..numbers.kinds_on_paths import check_written
from ..state import Lowering
from ..values import ONLY_HERE, Array, Buffer, Delayed, FancyRead, Scalar, Static, Value, View, expression, is_number, leaves
from .aliases import memory_of, note_write, stood_for, with_twins
from .broadcasting import broadcast_shapes, broadcast_to, require_same, same_size, unequal
from .loop_nests import nest
from .memory import IN_A_LIST, before_write, force, give_memory, note_copy

WRITES_OUTSIDE = ("a derivative cannot follow writes to an array that exists outside this function, as a global or a "
                  "default", "work on a copy, or pass it as an argument")
UNASSIGNED = "could not broadcast input array"


def refuse_twin_write(lo: Lowering, arr: Arr) -> None:
    """Refuse a write to `arr` while a live name sees a buffer that NumPy might write with it."""
    live = getattr(lo.node, "live_out", None)
    for twin in lo.learnt.twins.get(arr, ()):
        bound = lo.replacing and lo.either_way.get(frozenset((arr, twin))) is IN_A_LIST       # to another, not written
        if bound or not seen_by_another(lo, twin, "", live):
            continue
        refuse_either_way(lo, arr, twin)
        name = lo.taken_over.get((arr, twin))
        if name is not None:
            raise lo.error(UnsupportedSyntax, f"`{name}` is written in place in this loop and bound to another "
                           "array there, while a second name may see the first one",
                           f"work on a copy: {name} = {name}.copy() before the loop")
        written, other = names_of_two(lo, arr, twin)
        chosen = "one of two arrays, chosen when the program runs"
        problem = f"{written}, {chosen}, is written to, and {other} may be the same memory" if arr in lo.stands_for else \
            f"{written} is written to, and {other}, {chosen}, may be the same memory"
        raise lo.error(UnsupportedSyntax, problem,
                       "write to the arrays themselves inside the branches, or choose a copy: x.copy()")


def names_of_two(lo: Lowering, arr: Arr, twin: Arr) -> tuple[str, str]:
    """What messages call two buffers that may be one memory."""
    written = name_of_memory(lo, arr, "an array")
    return written, name_of_memory(lo, twin, "another array", written)


def refuse_item_write(lo: Lowering, arr: Arr) -> None:
    """Refuse a write to an item of a list that grows while a name sees the array that it is a copy of."""
    live = getattr(lo.node, "live_out", None)
    if not lo.replacing and any(seen_by_another(lo, a, "", live) for a in lo.items_from.get(arr, ())):
        raise lo.error(UnsupportedSyntax, f"an item of {name_of_memory(lo, arr, 'a list')}, which grows, is written, and "
                       "a name sees the array that was appended: the item is a copy here", "append a copy: x.copy()")


def needs_copies(lo: Lowering, arr: Arr) -> None:
    """The program writes an array of which a copy was left out."""
    if arr in lo.left_out:
        raise Widen(lo.left_out[arr], True)


def refuse_either_way(lo: Lowering, arr: Arr, twin: Arr):
    what = lo.either_way.get(frozenset((arr, twin)))
    if what is not None:
        written, other = names_of_two(lo, arr, twin)
        raise lo.error(UnsupportedSyntax, f"{written} is written to while {other} may be the same memory: {what} is read as "
                       "well", "say that a copy is meant: x.copy()")


def hold_indices(lo: Lowering, arr: Arr, size) -> None:
    """A buffer that has been filled holds indices of an axis of this size, which are looked up without a check. If the
    program writes it anywhere, everything is lowered again, with checks."""
    if not are_written(lo):
        lo.index_bound[arr] = size, lo.b.isub(size, 1), indices_here(lo)


def are_written(lo: Lowering) -> bool:
    """Whether the program writes indices that are found here."""
    return indices_here(lo) in lo.widened


def indices_here(lo: Lowering) -> tuple:
    return "indices", *site_of(lo, lo.node)


def forget_indices(lo: Lowering, arr: Arr) -> None:
    """A buffer is written, or one that may be the same memory."""
    for one in with_twins(lo, [arr]):
        if one in lo.index_bound:
            raise Widen(lo.index_bound[one][-1], True)


COPY_IT = "make a copy first: x = x.copy()"


def unwritable(lo: Lowering, target: Value):
    """The error for writing what NumPy does not let be written, or what has no memory here."""
    fixed = target.read_only
    if fixed == ONLY_HERE:
        return lo.error(TypeConflict, "a write to an array of which several elements may be one in memory is not supported",
                        COPY_IT)
    if fixed:
        return lo.error(ReadOnlyArray, "assignment destination is read-only", COPY_IT)
    return lo.error(TypeConflict, "this array cannot be written: it is an expression, not memory", COPY_IT)


def assign(lo: Lowering, target: Array, value: Value, accumulate: bool | str = False, op: str = "") -> None:
    """`target[...] = value` (or `+=`, or `op=`) with NumPy's broadcasting and aliasing."""
    source = lo.array(value)
    dtype = target.dtype
    if type(dtype) is Narrow and not op and not accumulate and is_number(value):
        check_fitting(lo, (value,), dtype)
    if source.rank > target.rank:
        extra = source.rank - target.rank
        if all(s == ONE for s in source.shape[:extra]):
            source = View(source, source.shape[extra:], lambda lo, index: (ZERO,) * extra + index)
    message = f"{UNASSIGNED} from shape {show_shape(lo, source.shape)} into shape {show_shape(lo, target.shape)}"
    joined = broadcast_shapes(lo, (source.shape, target.shape), message="" if accumulate or op else message)
    if len(joined) > target.rank:
        raise lo.error(ShapeMismatch, message)
    for a, b in zip(joined, target.shape, strict=True):
        if not same_size(lo, a, b):
            require_same(lo, a, b, message, tells=unequal(lo))
    if not target.has_memory:
        to_be_written(lo, target)
        give_memory(lo, target)             # an item or a field, say, that nothing needed in memory so far
    if not target.has_memory:
        raise unwritable(lo, target)
    source = broadcast_to(lo, source, target.shape)
    roots = target.written()
    if not lo.own_copies:
        check_written(lo, roots, value if is_number(value) else source)
    for root in roots:
        check_writable(lo, root)
    own = bool(source.roots() & roots) and reads_own_elements(lo, target, source)
    if source.roots() & roots and not own:
        source = force(lo, source, copy=True)
    for root in roots:
        before_write(lo, root, value if own and value is lo.around.stored else None)

    def body(index):
        value = cast(lo, source.element(lo, index), dtype if dtype != "bool" else source.dtype)
        value = truth(lo, value) if dtype == "bool" else value
        arr, place = target.place(lo, index)
        if op and not accumulate:
            old = lo.b.load(arr, place)
            value = cast(lo, lo.operate(op, (old, value), dtype), dtype)
        lo.b.store(arr, place, value, accumulate)
    nest(lo, target.shape, body)


def probe(lo: Lowering, rank: int) -> tuple[Var, ...]:
    """Indices that stand for any others, to find out what is read and written there."""
    index = tuple(Var("probe", "int64") for _ in range(rank))
    for i in index:
        lo.b.facts.number(i)
    return index


def reads_own_elements(lo: Lowering, target: Array, source: Array) -> bool:
    """Whether `source`, at each index, reads of target's memory only the very element written there."""
    if not target.has_memory or target.repeats:
        return False
    with dropped(lo, loop=True):
        index = probe(lo, target.rank)
        arr, place = target.place(lo, index)
        source.element(lo, index)
        statements = list(walk(lo.b.block()))
    if any(is_range(s) and s.loc is not NOWHERE for s in statements):
        return False
    return all(all(lo.b.facts.same(a, b) for a, b in zip(s.index, place, strict=False))
               for s in loads(statements) if s.array is arr)


def check_writable(lo: Lowering, arr: Arr) -> None:
    if arr in lo.parameters:
        lo.mutated.add(arr)
    note_write(lo, arr)
    forget_indices(lo, arr)
    lo.apart |= with_twins(lo, [arr]) & lo.parameters
    if lo.own_copies:
        return
    if arr in lo.read_only_by:
        if lo.read_only_by[arr] is None:
            raise lo.error(UnsupportedSyntax, f"{name_of_memory(lo, arr, 'an array')} is written to, and may be one that "
                           "cannot be, by the path and the iteration", "make it a copy before the loop: x.copy()")
        must(lo, lo.b.let("not", lo.read_only_by[arr], dtype="bool"), "ValueError", "assignment destination is read-only")
    outside = {h[0] for h in lo.hidden if h[1] is not None}
    if outside and outside & stood_for(lo, [arr]):
        raise lo.error(UnsupportedSyntax, *WRITES_OUTSIDE)
    needs_copies(lo, arr)
    refuse_twin_write(lo, arr)
    refuse_item_write(lo, arr)
    lo.around.writes.append(arr)
    if not stood_for(lo, [arr]).isdisjoint(lo.learnt.listed):
        raise lo.error(UnsupportedSyntax, f"{name_of_memory(lo, arr, 'an array')} is written after it was appended to a "
                       "list that grows, whose items are copies here", "append a copy if that is meant: x.copy()")


def note_listed(lo: Lowering, item: Value) -> None:
    """An array is appended to a growing list, which copies it: nothing may write it in this loop or afterwards."""
    inner = expression(item)
    if isinstance(inner, Delayed) and inner.forced is None:
        inner.listed = True
    if not isinstance(item, (Buffer, View, Delayed)) or not item.has_memory:
        return
    for arr in item.roots():
        lo.learnt.listed[arr] = item
        for builder, mark in open_loops(lo):
            if arr in lo.around.writes[mark:] and not made_within(lo, arr, builder):
                raise lo.error(UnsupportedSyntax, f"{name_of_memory(lo, arr, 'an array')} is appended to a list that grows, "
                               "whose items are copies here, and written in the same loop", "append a copy: x.copy()")


def note_copies(lo: Lowering, arr, *items: Value) -> None:
    """The list in `arr` holds copies of arrays: neither may be written while the other is seen."""
    for item in (leaf for v in items for leaf in leaves(v)):
        keep_point(lo, item)
        if isinstance(inner := expression(item), Delayed) and inner.forced is None:
            inner.copies.add(arr)
        elif isinstance(item, (Buffer, View, Delayed)) and not isinstance(item, FancyRead):
            for root in memory_of(lo, item):
                note_copy(lo, arr, root)


def made_within(lo: Lowering, arr: Arr, outer: Builder) -> bool:
    """Whether a buffer is allocated inside the block that `outer` is around."""
    b: Builder | None = lo.b
    while b is not None and b is not outer:
        if arr in allocations(b.stmts):
            return True
        b = b.parent
    return False


def keep_point(lo: Lowering, item: Value) -> None:
    """A list takes a copy of an array of rank 0: it is not to be written, before or afterwards, unless in memory."""
    if isinstance(item, (Scalar, Array)):
        lo.kept_points |= item.boxed
        if item.boxed & lo.changed_points:
            need_memory(lo, item)


def need_memory(lo: Lowering, point: Scalar | Array) -> None:
    """An array of rank 0 is written: lower again, with memory for it from where it is made."""
    for site in sorted(point.boxed):
        if site[0] == "point" and site not in lo.widened:
            raise Widen(site, True)
    if ("outside", "") in point.boxed:
        raise lo.error(UnsupportedSyntax, *WRITES_OUTSIDE)
    raise lo.error(UnsupportedSyntax, "this is an array of rank 0 on one path and a number on another, or one of two "
                   "such arrays: what is changed in place differs", "write t = t + value, or use an array of one "
                   "element")


def to_be_written(lo: Lowering, target: Value) -> None:
    """Before an array, or a part of it, is written."""
    if isinstance(target, (Scalar, Array)) and target.boxed:
        need_memory(lo, target)


def set_writeable(lo: Lowering, owner: Value, value: Value) -> None:
    """`x.flags.writeable = value`, of an array made here: its memory is not written from here on, on this way."""
    if not isinstance(value, Static):
        raise lo.error(TypeConflict, "whether an array can be written must be known before the program runs")
    arr = force(lo, owner).arr if isinstance(owner, Array) and owner.rank and not isinstance(owner, View) else None
    fixed = owner.read_only or lo.read_only_by.get(arr)
    if bool(value.value) == (not fixed):
        return
    if value.value or arr is None or arr not in allocations(lo.b.stmts):
        raise lo.error(UnsupportedSyntax, "which arrays can be written is changed for new arrays only, and in the block "
                       "where they are made", "leave it out, or copy the array first: x = x.copy()")
    lo.read_only_by[arr] = Const(True, "bool")
